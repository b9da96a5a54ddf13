// SPDX-License-Identifier: MIT
/* A driver that pins GPU memory for a card. It shows what the driver of a card needs: pinning,
 * holding the page table, mapping it for the peer, and the free callback. It moves no data itself.
 *
 * The free callback comes when the memory is freed while it is pinned, and when the process ends
 * and NVIDIA's file is closed before ours. NVIDIA's driver holds locks of its own meanwhile, which
 * nvidia_p2p_get_pages() and nvidia_p2p_put_pages() take too. So:
 *
 * - No lock of ours is held across a call of NVIDIA's driver. A callback that waits for such a lock
 *   would wait for a thread that waits for NVIDIA's.
 * - The callback never calls nvidia_p2p_put_pages(). It frees the page table; the driver unmaps the
 *   memory after it returns.
 * - The callback waits for transfers of the card, and for nothing of the GPU.
 * - Callback and unpin may meet. Who changes `state` under the spin lock has the pin. When unpin
 *   was faster and the driver was revoking already, put_pages fails and the callback frees the
 *   table.
 *
 * Unpin runs in the process that pinned, as the guide demands: a file that another process got is
 * refused. Linked against nvidia.ko (the guide, 3.6). */
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "culvert_rdma.h"
#include "nv_p2p.h"

#define REVOKE_TIMEOUT (5 * HZ)

enum pin_state { PINNING, PINNED, UNPINNING, FREED };

struct pin {
    struct kref refs; /* the file's, and NVIDIA's as long as a callback may come */
    spinlock_t lock;  /* of `state` and of who frees what */
    enum pin_state state;
    struct completion revoked; /* the callback has been through */
    u64 address, size;
    bool persistent;
    struct nvidia_p2p_page_table *table;
    struct nvidia_p2p_dma_mapping *mapping;
    struct pci_dev *peer;
};

struct session {       /* an open file */
    struct mutex lock; /* of `pins`; never held across a call of NVIDIA's driver */
    struct idr pins;
    struct mm_struct *mm; /* the process that pins; compared, not used */
};

static void pin_release(struct kref *refs)
{
    struct pin *pin = container_of(refs, struct pin, refs);

    if (pin->peer != NULL) pci_dev_put(pin->peer);
    kfree(pin);
}

/* Where the driver of a card stops its transfers and waits for those that are on their way. */
static void stop_transfers(struct pin *pin)
{
    (void)pin;
}

/* The memory is going. The tables are ours to free, by the calls that are for callbacks. */
static void revoked(void *data)
{
    struct pin *pin = data;
    enum pin_state before;

    spin_lock(&pin->lock);
    before = pin->state;
    pin->state = FREED;
    spin_unlock(&pin->lock);
    /* Still in nvidia_p2p_get_pages(), or in pin_map(): that thread has nothing that it could lose
     * but the tables, and sees the state when it is done. */
    if (before != PINNING) {
        stop_transfers(pin);
        /* An unpin that was faster has unmapped for the peer already. */
        if (before == PINNED && pin->mapping != NULL) nvidia_p2p_free_dma_mapping(pin->mapping);
        nvidia_p2p_free_page_table(pin->table);
    }
    complete(&pin->revoked);
    kref_put(&pin->refs, pin_release);
}

static int pin_get(struct pin *pin)
{
    int err;

    if (pin->persistent)
        return nvidia_p2p_get_pages_persistent(pin->address, pin->size, &pin->table, 0);
    kref_get(&pin->refs); /* the callback's */
    /* Tokens are 0 since CUDA 6.0: the memory is the calling process's. */
    err = nvidia_p2p_get_pages(0, 0, pin->address, pin->size, &pin->table, revoked, pin);
    if (err) kref_put(&pin->refs, pin_release);
    return err;
}

/* Without a lock. It has the pin to itself: `state` is not PINNED. */
static void pin_put(struct pin *pin)
{
    stop_transfers(pin);
    if (pin->mapping != NULL) nvidia_p2p_dma_unmap_pages(pin->peer, pin->table, pin->mapping);
    pin->mapping = NULL;
    if (pin->persistent) {
        nvidia_p2p_put_pages_persistent(pin->address, pin->table, 0);
    } else if (nvidia_p2p_put_pages(0, 0, pin->address, pin->table) == 0) {
        kref_put(&pin->refs, pin_release); /* no callback comes any more */
    } else if (!wait_for_completion_timeout(&pin->revoked, REVOKE_TIMEOUT)) {
        pr_warn("culvert_rdma: pages at %#llx were neither put nor revoked\n", pin->address);
    }
}

static int pin_check(const struct pin *pin)
{
    if (NVIDIA_P2P_MAJOR_VERSION(pin->table->version) != NVIDIA_P2P_PAGE_TABLE_MAJOR) {
        pr_err("culvert_rdma: page tables of version %#x\n", pin->table->version);
        return -EPROTO;
    }
    return 0;
}

static int pin_map(struct pin *pin)
{
    int err;

    if (pin->peer == NULL) return 0;
    err = nvidia_p2p_dma_map_pages(pin->peer, pin->table, &pin->mapping);
    if (err) return err;
    if (NVIDIA_P2P_MAJOR_VERSION(pin->mapping->version) == NVIDIA_P2P_DMA_MAPPING_MAJOR) return 0;
    pr_err("culvert_rdma: mappings of version %#x\n", pin->mapping->version);
    return -EPROTO;
}

/* Makes it one that callbacks take apart. -EFAULT: it was freed meanwhile. */
static int pin_publish(struct pin *pin)
{
    bool freed;

    spin_lock(&pin->lock);
    freed = pin->state == FREED;
    if (!freed) pin->state = PINNED;
    spin_unlock(&pin->lock);
    if (!freed) return 0;
    /* The callback left the tables to us. */
    if (pin->mapping != NULL) nvidia_p2p_free_dma_mapping(pin->mapping);
    nvidia_p2p_free_page_table(pin->table);
    return -EFAULT;
}

/* Of one that may be published. */
static void pin_drop(struct pin *pin)
{
    bool mine;

    spin_lock(&pin->lock);
    mine = pin->state == PINNED;
    if (mine) pin->state = UNPINNING;
    spin_unlock(&pin->lock);
    if (mine) pin_put(pin);
    kref_put(&pin->refs, pin_release);
}

static struct pci_dev *find_peer(u32 peer)
{
    if (peer == 0) return NULL;
    return pci_get_domain_bus_and_slot(peer >> 16, peer >> 8 & 0xff, peer & 0xff);
}

static u32 page_bytes(u32 page_size)
{
    static const u32 bytes[] = {4096, 65536, 131072};

    /* The guide's tables have the number of bytes itself. */
    return page_size < ARRAY_SIZE(bytes) ? bytes[page_size] : page_size;
}

static int pin_new(struct session *session, struct culvert_rdma_pin *args)
{
    struct pin *pin;
    u64 end;
    int err, id;

    if (args->size == 0 || args->address % CULVERT_RDMA_CHUNK != 0 ||
        args->size % CULVERT_RDMA_CHUNK != 0 || args->reserved != 0 ||
        (args->flags & ~CULVERT_RDMA_PERSISTENT) != 0 ||
        check_add_overflow((u64)args->address, (u64)args->size, &end))
        return -EINVAL;
    pin = kzalloc(sizeof(*pin), GFP_KERNEL);
    if (pin == NULL) return -ENOMEM;
    kref_init(&pin->refs);
    spin_lock_init(&pin->lock);
    init_completion(&pin->revoked);
    pin->state = PINNING;
    pin->address = args->address;
    pin->size = args->size;
    pin->persistent = (args->flags & CULVERT_RDMA_PERSISTENT) != 0;
    pin->peer = find_peer(args->peer);
    err = args->peer != 0 && pin->peer == NULL ? -ENODEV : pin_get(pin);
    if (err) goto put_ref;
    err = pin_check(pin);
    if (err == 0) err = pin_map(pin);
    args->page_size = page_bytes(pin->table->page_size);
    args->entries = pin->table->entries;
    if (pin_publish(pin) != 0) {
        err = -EFAULT;
        goto put_ref;
    }
    if (err) goto drop;
    mutex_lock(&session->lock);
    id = idr_alloc(&session->pins, pin, 1, 0, GFP_KERNEL);
    mutex_unlock(&session->lock);
    if (id < 0) {
        err = id;
        goto drop;
    }
    args->id = id;
    return 0;
drop:
    pin_drop(pin);
    return err;
put_ref:
    kref_put(&pin->refs, pin_release);
    return err;
}

static int unpin(struct session *session, u32 id)
{
    struct pin *pin;

    mutex_lock(&session->lock);
    pin = idr_remove(&session->pins, id);
    mutex_unlock(&session->lock);
    if (pin == NULL) return -ENOENT;
    pin_drop(pin);
    return 0;
}

static int look(struct session *session, struct culvert_rdma_look *args)
{
    struct pin *pin;
    int err = -ENOENT;

    mutex_lock(&session->lock);
    pin = idr_find(&session->pins, args->id);
    if (pin != NULL) {
        spin_lock(&pin->lock);
        args->freed = pin->state == FREED;
        spin_unlock(&pin->lock);
        err = 0;
    }
    mutex_unlock(&session->lock);
    return err;
}

static long do_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
    struct session *session = file->private_data;
    void __user *user = (void __user *)argument;
    struct culvert_rdma_pin pin;
    struct culvert_rdma_look looked;
    u32 id;
    int err;

    if (session->mm != current->mm) return -EPERM;
    switch (command) {
    case CULVERT_RDMA_IOC_PIN:
        if (copy_from_user(&pin, user, sizeof(pin))) return -EFAULT;
        err = pin_new(session, &pin);
        if (err) return err;
        if (copy_to_user(user, &pin, sizeof(pin)) == 0) return 0;
        unpin(session, pin.id);
        return -EFAULT;
    case CULVERT_RDMA_IOC_UNPIN:
        if (copy_from_user(&id, user, sizeof(id))) return -EFAULT;
        return unpin(session, id);
    case CULVERT_RDMA_IOC_LOOK:
        if (copy_from_user(&looked, user, sizeof(looked))) return -EFAULT;
        err = look(session, &looked);
        if (err) return err;
        return copy_to_user(user, &looked, sizeof(looked)) ? -EFAULT : 0;
    default: return -ENOTTY;
    }
}

static int do_open(struct inode *inode, struct file *file)
{
    struct session *session = kzalloc(sizeof(*session), GFP_KERNEL);

    if (session == NULL) return -ENOMEM;
    mutex_init(&session->lock);
    idr_init(&session->pins);
    session->mm = current->mm;
    file->private_data = session;
    return 0;
}

/* Where the process ended and NVIDIA's file was closed first, all of them were revoked by now. */
static int do_release(struct inode *inode, struct file *file)
{
    struct session *session = file->private_data;
    struct pin *pin;
    int id;

    idr_for_each_entry(&session->pins, pin, id) pin_drop(pin);
    idr_destroy(&session->pins);
    kfree(session);
    return 0;
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .open = do_open,
    .release = do_release,
    .unlocked_ioctl = do_ioctl,
    .compat_ioctl = compat_ptr_ioctl,
    .llseek = noop_llseek,
};

static struct miscdevice device = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "culvert_rdma",
    .fops = &operations,
    .mode = 0600,
};

module_misc_device(device);
MODULE_DESCRIPTION("Culvert's sample: pins GPU memory for a card");
MODULE_LICENSE("Dual MIT/GPL");
