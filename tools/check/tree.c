/* SPDX-License-Identifier: MIT */
/* culvert-check among the processes of a tree: the file that they share, its lock, which of them
 * live, and messages that carry descriptors. */
#include "tree.h"

#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 2 /* seconds: a process may be stopped while it has the lock */

static check_region *region;
static unsigned self;
static bool has_slot; /* `self` is this process's, not its parent's before fork() */
static bool locked;   /* under the model's lock */

/* ---- which processes live ---- */

static bool is_alive(const check_region *r, unsigned process)
{
    check_inside++;
    const int error = errno;
    const bool alive = check_tree_lives(&r->processes[process]);
    errno = error;
    check_inside--;
    return alive;
}

/* ---- the lock ---- */

static void leave(void)
{
    if (has_slot) region->left |= UINT64_C(1) << self;
    region = NULL;
    check_note("Another process held what the processes of the tree share for long (is it "
               "stopped?); from then on this one was watched alone");
}

static bool enter(void)
{
    struct timespec until;
    if (region == NULL) return false;
    if (locked) return true;
    int result = pthread_mutex_trylock(&region->lock);
    if (result == EBUSY && clock_gettime(CLOCK_REALTIME, &until) == 0) {
        until.tv_sec += PATIENCE;
        result = pthread_mutex_timedlock(&region->lock, &until);
    }
    /* Records are whole or off, whoever died. */
    if (result == EOWNERDEAD) result = pthread_mutex_consistent(&region->lock);
    if (result != 0) {
        leave();
        return false;
    }
    locked = true;
    return true;
}

static void ring(void)
{
    region->bell++;
    (void)syscall(SYS_futex, &region->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void make_pause(void)
{
    const struct timespec moment = {.tv_nsec = 200000};
    check_tree_unlock();
    (void)nanosleep(&moment, NULL);
    (void)enter();
}

static bool listens;

static void *listen_to_bell(void *user)
{
    const struct timespec long_time = {.tv_sec = 1};
    check_region *r = user;
    check_inside++; /* nothing here is the program's */
    for (;;) {
        const uint32_t heard = r->bell;
        check_model *m = check_open();
        if (m == NULL) return NULL;
        check_model_run(m);
        check_close();
        (void)syscall(SYS_futex, &r->bell, FUTEX_WAIT, heard, &long_time, NULL, 0);
    }
}

void check_tree_listen(check_model *m)
{
    sigset_t all, before;
    pthread_t thread;
    if (listens || region == NULL || !check_model_active(m)) return;
    listens = true;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, listen_to_bell, region) == 0) (void)pthread_detach(thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void check_tree_unlock(void)
{
    if (!locked) return;
    locked = false;
    pthread_mutex_unlock(&region->lock);
}

/* ---- call sites ---- */

#define CACHE 512
static struct placed {
    const void *frame;
    uint16_t module;
    uint32_t offset;
    bool start; /* of the program: it says nothing */
} cache[CACHE];

/* Names of modules are kept; a module that comes later is put behind them. */
static uint16_t number_of_module(const char *path)
{
    char whole[sizeof region->modules[0].path] = {0};
    const bool clear = path[0] == '/' && strncmp(path, "/proc/", 6) != 0;
    char *real = clear ? NULL : realpath(path, NULL); /* "/proc/self/exe" is another one's, there */
    if (real != NULL) path = real;
    const size_t length = strlen(path);
    if (length < sizeof whole) memcpy(whole, path, length);
    free(real);
    if (length >= sizeof whole) return TREE_MODULES;
    for (uint16_t i = 0; i < TREE_MODULES; i++) {
        if (region->modules[i].used == 0) {
            memcpy(region->modules[i].path, whole, sizeof whole);
            region->modules[i].used = 1;
            return i;
        }
        if (strcmp(region->modules[i].path, whole) == 0) return i;
    }
    return TREE_MODULES;
}

typedef struct module_at {
    uintptr_t frame, base;
    char path[PATH_MAX];
} module_at;

static int find_module(struct dl_phdr_info *info, size_t size, void *user)
{
    module_at *at = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || at->frame < begin ||
            at->frame - begin >= info->dlpi_phdr[i].p_memsz)
            continue;
        at->base = info->dlpi_addr;
        if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
            (void)snprintf(at->path, sizeof at->path, "%s", info->dlpi_name);
        } else {
            const ssize_t length = readlink("/proc/self/exe", at->path, sizeof at->path - 1);
            at->path[length > 0 ? length : 0] = '\0';
        }
        return 1;
    }
    return 0;
}

/* The model's lock is held. dladdr() takes the lock that dlopen() holds while constructors run, and
 * a constructor may wait for the model's; dl_iterate_phdr() takes another one. */
static struct placed place_of(void *frame)
{
    static module_at at;
    struct placed *p = &cache[((uintptr_t)frame >> 2 ^ (uintptr_t)frame >> 11) % CACHE];
    if (p->frame == frame) return *p;
    *p = (struct placed){.frame = frame, .module = TREE_MODULES};
    at.frame = (uintptr_t)frame;
    if (dl_iterate_phdr(find_module, &at) == 0) return *p;
    p->module = number_of_module(at.path);
    p->offset = (uint32_t)(at.frame - at.base);
    p->start = at.frame - (uintptr_t)getauxval(AT_ENTRY) < 64; /* of _start(), which is short */
    return *p;
}

static void write_site(tree_site *out, const check_site *site)
{
    memset(out, 0, sizeof *out);
    if (site->call == NULL) return;
    (void)snprintf(out->call, sizeof out->call, "%s", site->call);
    out->pid = region->processes[self].pid;
    memcpy(out->program, region->processes[self].program, sizeof out->program);
    for (int i = 0; i < site->count && i < TREE_FRAMES; i++) {
        const struct placed p = place_of(site->frames[i]);
        if (p.start) continue;
        out->modules[out->count] = p.module;
        out->offsets[out->count] = p.offset;
        out->count++;
    }
}

/* Texts live as long as findings that name them; there are few different ones. */
static const char *keep_text(const char *text)
{
    static char *texts[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i] == NULL) texts[i] = strdup(text);
        if (texts[i] == NULL) break;
        if (strcmp(texts[i], text) == 0) return texts[i];
    }
    return "a call";
}

static check_site read_site(const tree_site *site)
{
    check_site out = {.call = NULL};
    char of[64];
    if (site->call[0] == '\0') return out;
    out.call = keep_text(site->call);
    (void)snprintf(of, sizeof of, "process %ld, %s", (long)site->pid, site->program);
    out.of = keep_text(of);
    for (int i = 0; i < site->count && i < TREE_FRAMES; i++)
        out.frames[out.count++] =
            (void *)(((uintptr_t)site->modules[i] + 1) << 40 | site->offsets[i]);
    return out;
}

const char *check_tree_module(const void *frame, uint64_t *offset)
{
    const uintptr_t module = ((uintptr_t)frame >> 40) - 1;
    *offset = (uintptr_t)frame & 0xffffffff;
    return region != NULL && module < TREE_MODULES ? region->modules[module].path : NULL;
}

uint64_t check_tree_place(void *frame)
{
    if (!enter()) return (uintptr_t)frame;
    const struct placed p = place_of(frame);
    return p.module == TREE_MODULES ? (uintptr_t)frame : ((uint64_t)p.module + 1) << 40 | p.offset;
}

bool check_tree_new(uint64_t finding)
{
    if (!enter()) return true;
    const uint32_t count = region->num_seen;
    for (uint32_t i = 0; i < count; i++)
        if (region->seen[i] == finding) return false;
    if (count < TREE_SEEN) {
        region->seen[count] = finding;
        region->num_seen = count + 1;
    }
    return true;
}

/* ---- coming and going ---- */

void check_tree_saw(uint32_t what)
{
    check_region *r = region;
    if (r != NULL) (void)atomic_fetch_or(&r->saw, what);
}

bool check_tree_joined(void)
{
    return region != NULL && region->joined > 1;
}

const char *check_tree_program(void)
{
    static char program[20];
    uint64_t start;
    bool ends;
    if (program[0] == '\0') {
        check_inside++;
        if (!check_tree_look(getpid(), &start, &ends, program)) program[0] = '?';
        check_inside--;
    }
    return program;
}

static void take_slot(check_model *m)
{
    const check_tree tree = {.region = region,
                             .enter = enter,
                             .ring = ring,
                             .pause = make_pause,
                             .alive = is_alive,
                             .write_site = write_site,
                             .read_site = read_site};
    tree_process is = {.pid = getpid()};
    unsigned found = TREE_PROCESSES;
    bool ends;
    has_slot = false;
    if (!check_tree_look(is.pid, &is.start, &ends, is.program) || !enter()) {
        region = NULL;
        return;
    }
    /* After exec() it is the same process. Another one's slot is free when that has ended. */
    for (unsigned i = 0; i < TREE_PROCESSES && found == TREE_PROCESSES; i++)
        if (region->processes[i].used != 0 && region->processes[i].pid == is.pid &&
            region->processes[i].start == is.start)
            found = i;
    for (unsigned i = 0; i < TREE_PROCESSES && found == TREE_PROCESSES; i++)
        if (region->processes[i].used == 0) found = i;
    for (unsigned i = 0; i < TREE_PROCESSES && found == TREE_PROCESSES; i++)
        if (!is_alive(region, i)) found = i;
    if (found == TREE_PROCESSES) {
        check_tree_unlock();
        region = NULL;
        check_note("There are more processes at a time than culvert-check follows; this one was "
                   "watched alone");
        return;
    }
    self = found;
    has_slot = true;
    tree_process *p = &region->processes[self];
    /* What was there has ended with all that it had. */
    check_tree_clear(region, self);
    p->used = 0;
    p->pid = is.pid;
    p->start = is.start;
    memcpy(p->program, is.program, sizeof p->program);
    p->ended = p->stuck = 0;
    region->left &= ~(UINT64_C(1) << self);
    p->used = 1;
    region->joined++;
    check_tree joined = tree;
    joined.process = self;
    check_model_join(m, &joined);
    check_tree_unlock();
}

static check_region *map_file(void)
{
    const char *prefix = getenv("CULVERT_CHECK_OUT");
    char path[4096];
    struct stat status;
    if (prefix == NULL || strlen(prefix) + 8 > sizeof path) return NULL;
    (void)snprintf(path, sizeof path, "%s.tree", prefix);
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return NULL;
    void *map = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_size == (off_t)sizeof(check_region))
        map = mmap(NULL, sizeof(check_region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (map == MAP_FAILED) return NULL;
    check_region *r = map;
    if (r->magic == TREE_MAGIC && r->size == sizeof *r) return r;
    (void)munmap(map, sizeof *r);
    return NULL;
}

void check_tree_begin(check_model *m)
{
    check_inside++;
    region = map_file();
    if (region != NULL) take_slot(m);
    /* Descriptors that came through exec(). */
    const int32_t pid = getpid();
    const check_site site = {.call = "exec"};
    for (unsigned i = 0; region != NULL && i < TREE_HEIRS && enter(); i++) {
        tree_heir *h = &region->heirs[i];
        if (h->used == 0 || h->pid != pid) continue;
        const check_identity now = check_identify(h->fd);
        check_payload *p = now.device != 0 && now.device == h->identity.device &&
                                   now.inode == h->identity.inode &&
                                   strcmp(now.text, h->identity.text) == 0
                               ? check_payload_adopt(m, h->payload)
                               : NULL;
        h->used = 0;
        if (p == NULL) continue;
        check_fd_received(m, h->fd, p, &now, true, &site);
        check_payload_drop(m, p);
    }
    check_tree_unlock();
    check_inside--;
}

static void inherit(void *user, int fd, check_payload *p, const check_identity *identity)
{
    check_model *m = user;
    const check_site site = {.call = "fork"};
    const uint32_t number = check_payload_number(p);
    check_payload *own = check_payload_adopt(m, number);
    if (own == NULL) return;
    check_fd_received(m, fd, own, identity, true, &site);
    check_payload_drop(m, own);
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned i = 0; i < TREE_HEIRS; i++) {
            tree_heir *h = &region->heirs[i];
            if (h->used != 0 && (turn == 0 || kill(h->pid, 0) == 0)) continue;
            h->used = 0;
            h->pid = getpid();
            h->fd = fd;
            h->payload = number;
            h->identity = *identity;
            h->used = 1;
            return;
        }
}

void check_tree_fork(check_model *m, check_model *before)
{
    check_inside++;
    locked = listens = false;
    if (region != NULL) take_slot(m);
    if (region != NULL && enter()) check_fds_live(before, inherit, m);
    check_tree_unlock();
    check_inside--;
}

void check_tree_end(void)
{
    if (region == NULL || !enter()) return;
    const int32_t pid = region->processes[self].pid;
    for (unsigned i = 0; i < TREE_HEIRS; i++)
        if (region->heirs[i].used != 0 && region->heirs[i].pid == pid) region->heirs[i].used = 0;
    region->pending &= ~(UINT64_C(1) << self);
    region->processes[self].ended = 1;
}

void check_tree_stuck(bool stuck)
{
    if (region != NULL) region->processes[self].stuck = stuck;
}

/* ---- messages ---- */

static uint64_t inode_of(int socket)
{
    struct stat status;
    return fstat(socket, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

/* The inode of the socket that a socket is connected to; 0: not known. */
static uint64_t peer_of(int socket_fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    const uint64_t inode = inode_of(socket_fd);
    uint64_t peer = 0;
    if (inode == 0 || inode > UINT32_MAX ||
        getsockopt(socket_fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX)
        return 0;
    const int asked =
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (asked < 0) return 0;
    struct {
        struct nlmsghdr header;
        struct unix_diag_req what;
    } question = {.header = {.nlmsg_len = sizeof question,
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST},
                  .what = {.sdiag_family = AF_UNIX,
                           .udiag_states = UINT32_MAX,
                           .udiag_ino = (uint32_t)inode,
                           .udiag_show = UDIAG_SHOW_PEER,
                           .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
    union {
        struct nlmsghdr header;
        char bytes[512];
    } answer;
    ssize_t length = send(asked, &question, sizeof question, 0) == (ssize_t)sizeof question
                         ? recv(asked, answer.bytes, sizeof answer.bytes, 0)
                         : -1;
    (void)close(asked);
    const size_t begin = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
    if (length < (ssize_t)begin || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
    for (size_t at = begin; at + sizeof(struct nlattr) + 4 <= (size_t)length;) {
        struct nlattr attribute;
        memcpy(&attribute, answer.bytes + at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute) break;
        if (attribute.nla_type == UNIX_DIAG_PEER) {
            uint32_t found;
            memcpy(&found, answer.bytes + at + sizeof attribute, sizeof found);
            peer = found;
        }
        at += (size_t)NLA_ALIGN(attribute.nla_len);
    }
    return peer;
}

static unsigned descriptors(const struct msghdr *message, int fds[], unsigned most)
{
    unsigned count = 0;
    struct msghdr *m = (struct msghdr *)(uintptr_t)message;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const size_t of_this = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < of_this; i++, count++)
            if (count < most) memcpy(&fds[count], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    }
    return count;
}

/* Its first bytes, and how many it has; of what came, no more than came. */
static uint32_t gather(const struct msghdr *message, size_t most, unsigned char bytes[TREE_PREFIX])
{
    size_t length = 0;
    for (size_t i = 0; i < (size_t)message->msg_iovlen && length < most; i++) {
        const struct iovec *v = &message->msg_iov[i];
        const size_t part = v->iov_len < most - length ? v->iov_len : most - length;
        if (length < TREE_PREFIX && part > 0)
            memcpy(bytes + length, v->iov_base,
                   part < TREE_PREFIX - length ? part : TREE_PREFIX - length);
        length += part;
    }
    return length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
}

enum { MOST_FDS = 256 }; /* of a message; the kernel takes no more than 253 */

unsigned check_sending(int socket, const struct msghdr *message, const char *call)
{
    int fds[MOST_FDS];
    bool any = false;
    unsigned note = 0;
    const unsigned count = descriptors(message, fds, MOST_FDS);
    check_model *m = count > 0 && count <= MOST_FDS ? check_open() : NULL;
    if (m == NULL) return 0;
    for (unsigned i = 0; i < count; i++)
        any |= check_fd_known(m, fds[i]);
    check_close();
    if (!any) return 0;
    const check_site site = check_here(call);
    check_inside++;
    const int error = errno;
    const uint64_t peer = peer_of(socket);
    errno = error;
    check_inside--;
    m = check_open();
    if (m == NULL) return 0;
    uint32_t payloads[MOST_FDS] = {0};
    unsigned char bytes[TREE_PREFIX];
    any = false;
    for (unsigned i = 0; i < count; i++) {
        check_payload *p = check_fd_sent(m, fds[i], &site) ? check_fd_payload(m, fds[i]) : NULL;
        if (p == NULL) continue;
        any = true;
        if (peer != 0)
            check_payload_publish(m, p);
        else
            check_payload_opaque(p); /* nobody knows where it goes */
        payloads[i] = check_payload_number(p);
    }
    const uint32_t length = gather(message, SIZE_MAX, bytes);
    if (any && peer != 0) note = check_tree_note(m, peer, payloads, count, bytes, length);
    check_close();
    return note;
}

void check_sent(unsigned note, bool sent)
{
    check_model *m = note != 0 ? check_open() : NULL;
    if (m == NULL) return;
    check_tree_noted(m, note, sent);
    check_close();
}

bool check_any_message(void)
{
    const check_region *r = region;
    return r != NULL && r->noted != 0;
}

/* A message was taken, and its descriptors were not. */
static void take_unread(int socket)
{
    const int error = errno;
    const uint64_t inode = inode_of(socket);
    errno = error;
    check_model *m = inode != 0 ? check_open() : NULL;
    if (m == NULL) return;
    check_tree_consumed(m, inode);
    check_close();
}

void check_received(int socket, const struct msghdr *message, size_t length, int flags,
                    const char *call)
{
    int fds[MOST_FDS];
    const bool cut = (message->msg_flags & MSG_CTRUNC) != 0, peek = (flags & MSG_PEEK) != 0;
    unsigned count = descriptors(message, fds, MOST_FDS);
    if (check_inside > 0) return;
    if (count == 0) {
        if (cut && !peek) take_unread(socket);
        return;
    }
    if (count > MOST_FDS) count = MOST_FDS;
    const check_site site = check_here(call);
    check_inside++;
    const int error = errno;
    const uint64_t inode = inode_of(socket);
    unsigned char bytes[TREE_PREFIX];
    uint32_t payloads[MOST_FDS] = {0};
    const uint32_t got = gather(message, length, bytes);
    check_model *m = check_open();
    if (m != NULL) {
        const unsigned known = count <= TREE_FDS && inode != 0
                                   ? check_tree_match(m, inode, count, bytes, got, cut, payloads)
                                   : 0;
        bool wrong = false;
        for (unsigned i = 0; i < count; i++) {
            const check_identity now = check_identify(fds[i]);
            check_fd_forget(m, fds[i]);
            check_payload *p = payloads[i] != 0 ? check_payload_adopt(m, payloads[i])
                                                : check_payload_of_file(m, &now);
            if (p != NULL && !check_payload_is_file(p, &now)) {
                check_payload_drop(m, p);
                p = NULL;
                wrong = true;
            }
            if (p == NULL) continue;
            check_fd_received(m, fds[i], p, &now, false, &site);
            check_payload_drop(m, p);
        }
        check_tree_matched(m, known, peek);
        if (wrong) check_tree_lose(m, inode); /* the record is another message's */
        check_close();
    }
    errno = error;
    check_inside--;
}
