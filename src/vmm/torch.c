/* SPDX-License-Identifier: MIT */
/* The allocator that PyTorch and RMM load by name. */
#include "culvert/torch.h"

#include "base/alloc.h"
#include "base/handle.h"
#include "cuda/context.h"
#include "cuda/watch.h"

#include <stdatomic.h>

enum { DEVICES = 64, BUCKETS = 256 };

typedef struct block {
    struct block *next;
    CUdeviceptr pointer;
    culv_vmm_range *range;
} block;

/* One for each device, made by its first allocation and never freed: nobody says when the last one
 * was (R3: no CUDA call after main). */
typedef struct pool {
    culv_device *device;
    culvi_mutex lock; /* guards the blocks; not held across driver calls */
    block *blocks[BUCKETS];
} pool;

static _Atomic(pool *) pools[DEVICES];

static block **bucket(pool *p, CUdeviceptr pointer)
{
    return &p->blocks[(pointer >> 21) % BUCKETS];
}

static pool *find_pool(int device, bool make)
{
    if (device < 0 || device >= DEVICES) {
        (void)culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                         "culvert_malloc: there is no device %d", device);
        return NULL;
    }
    pool *there = atomic_load(&pools[device]);
    if (there != NULL || !make) return there;
    pool *mine = culvi_alloc(sizeof *mine);
    if (mine == NULL || !culvi_mutex_init(&mine->lock)) {
        (void)culvi_fail_host_memory(NULL, NULL);
        culvi_free(mine);
        return NULL;
    }
    if (culv_device_open_by_ordinal(device, NULL, &mine->device) != CULV_OK) goto destroy_lock;
    if (atomic_compare_exchange_strong(&pools[device], &there, mine)) return mine;
    culv_device_close(&mine->device); /* another thread was faster */
destroy_lock:
    culvi_mutex_destroy(&mine->lock);
    culvi_free(mine);
    return there;
}

static culv_result map(pool *p, uint64_t size, culv_vmm_range **out)
{
    culv_vmm_allocation *allocation = NULL;
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    a.size = r.size = size;
    a.handle_types = 1u << CULVI_HANDLE_OPAQUE;
    a.label = r.label = "culvert_malloc";
    culv_result result = culv_vmm_allocation_create(p->device, &a, &allocation);
    if (result == CULV_OK) result = culv_vmm_range_create(p->device, &r, &range);
    if (result == CULV_OK) result = culv_vmm_map(range, 0, allocation, NULL, 0);
    culv_vmm_allocation_destroy(&allocation); /* the mapping keeps the memory */
    if (result == CULV_OK)
        *out = range;
    else if (range != NULL)
        (void)culv_vmm_range_destroy(&range);
    return result;
}

void *culvert_malloc(ptrdiff_t size, int device, CUstream stream)
{
    (void)stream; /* the memory is ready in all of them */
    if (size <= 0) return NULL;
    pool *p = find_pool(device, true);
    if (p == NULL) return NULL;
    block *b = culvi_alloc(sizeof *b);
    if (b == NULL) {
        (void)culvi_fail_host_memory(NULL, NULL);
        return NULL;
    }
    if (map(p, (uint64_t)size, &b->range) != CULV_OK) {
        culvi_free(b);
        return NULL;
    }
    b->pointer = culv_vmm_range_pointer(b->range);
    void *pointer = (void *)(uintptr_t)b->pointer;
    culvi_mutex_lock(&p->lock);
    b->next = *bucket(p, b->pointer);
    *bucket(p, b->pointer) = b;
    culvi_mutex_unlock(&p->lock);
    return pointer;
}

static void wait_for(culv_device *device, CUstream stream, uint64_t size)
{
    culvi_scope scope;
    culvi_watch watch;
    if (culvi_enter_quietly(device, &scope) != CUDA_SUCCESS) return;
    culvi_watch_stream(device, &watch, "block", "culvert_free", size, stream);
    (void)CULVI_RELEASE(device, cuStreamSynchronize, (stream));
    culvi_watch_done(device, &watch);
    culvi_leave(device, &scope);
}

void culvert_free(void *pointer, ptrdiff_t size, int device, CUstream stream)
{
    (void)size;
    if (pointer == NULL) return;
    pool *p = find_pool(device, false);
    const CUdeviceptr key = (CUdeviceptr)(uintptr_t)pointer;
    block *mine = NULL;
    if (p != NULL) {
        culvi_mutex_lock(&p->lock);
        block **link = bucket(p, key);
        while (*link != NULL && (*link)->pointer != key)
            link = &(*link)->next;
        mine = *link;
        if (mine != NULL) *link = mine->next;
        culvi_mutex_unlock(&p->lock);
    }
    if (mine == NULL) {
        (void)culvi_fail(
            p != NULL ? &p->device->voice : NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culvert_free: %p of device %d is not memory of culvert_malloc()", pointer, device);
        return;
    }
    const uint64_t bytes = culv_vmm_range_size(mine->range);
    wait_for(p->device, stream, bytes);
    (void)culv_vmm_unmap(mine->range, 0, bytes);
    (void)culv_vmm_range_destroy(&mine->range);
    culvi_free(mine);
}
