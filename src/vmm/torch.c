/* SPDX-License-Identifier: MIT */
/* The allocator that PyTorch and RMM load by name.
 *
 * A block whose stream is being captured belongs to the graph from then on: the graph uses it each
 * time that it runs, and to wait for the stream would break the capture. So a user object of the
 * graph holds it, and it goes once the graph has gone, what was instantiated from it, and what of
 * that ran. */
#include "culvert/vmm.h"

#include "base/handle.h"
#include "cuda/watch.h"
#include "vmm/mapping.h"

enum { DEVICES = 64 };

typedef struct pool pool;
typedef struct block {
    culvi_tree_node node;
    culvi_late late;
    CUdeviceptr pointer;
    culv_vmm_range *range;
    pool *pool;
} block;

/* One for each device, made by its first allocation and never freed: nobody says when the last one
 * was (R3: no CUDA call after main). */
struct pool {
    culv_device *device;
    culvi_mutex lock;  /* guards the blocks; not held across driver calls */
    culvi_tree blocks; /* by pointer */
};

static _Atomic(pool *) pools[DEVICES];

static pool *find_pool(int device, bool make)
{
    if (device < 0 || device >= DEVICES) {
        (void)culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                         "culv_torch_malloc: there is no device %d", device);
        return NULL;
    }
    pool *there = atomic_load(&pools[device]);
    if (there != NULL || !make) return there;
    pool *mine = culvi_alloc_for(NULL, NULL, sizeof *mine);
    if (mine == NULL) return NULL;
    culvi_mutex_init(&mine->lock);
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
    a.label = r.label = "culv_torch_malloc";
    culv_result result = culv_vmm_allocation_create(p->device, &a, &allocation);
    if (result == CULV_OK) result = culv_vmm_range_create(p->device, &r, &range);
    if (result == CULV_OK) result = culv_vmm_map(range, 0, allocation, NULL, 0);
    culv_vmm_allocation_destroy(&allocation); /* the mapping keeps the memory */
    if (result == CULV_OK)
        *out = range;
    else
        culvi_vmm_range_release_or_defer(&range);
    return result;
}

/* Giving back ---------------------------------------------------------------------------------- */

/* What the driver refuses to take back is tried again by later calls. */
static void release(block *b)
{
    culvi_vmm_unmap_or_defer(b->range, 0, culv_vmm_range_size(b->range));
    culvi_vmm_range_release_or_defer(&b->range);
    culvi_free(b);
}

static void release_late(culvi_late *late)
{
    release(CULVI_CONTAINER(late, block, late));
}

/* The driver calls it on a thread that must not call CUDA. */
static void CUDA_CB graph_gone(void *user)
{
    block *b = user;
    culvi_late_push(b->pool->device, &b->late);
}

/* Gives the block to the graph that the stream's work goes to; runs in the device's context. False:
 * the graph does not have it, but would use it. */
static bool give_to_graph(block *b, CUgraph graph)
{
    culv_device *device = b->pool->device;
    CUuserObject object = NULL;
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    if (device->cuda->cuUserObjectCreate == NULL || device->cuda->cuGraphRetainUserObject == NULL)
        return false;
    for (int i = 0; i < 2 && r != CUDA_SUCCESS; i++)
        r = device->cuda->cuUserObjectCreate(&object, b, graph_gone, 1,
                                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (r != CUDA_SUCCESS) return false;
    r = CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < 2 && r != CUDA_SUCCESS; i++)
        r = CULVI_CU(device, cuGraphRetainUserObject,
                     (graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    return r == CUDA_SUCCESS;
}

/* The graph of a captured stream; NULL: its capture is broken, and becomes no graph. */
static CUgraph graph_of(const culv_device *device, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph graph = NULL;
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < 2 && r != CUDA_SUCCESS && device->cuda->cuStreamGetCaptureInfo != NULL; i++)
        r = CULVI_CU(device, cuStreamGetCaptureInfo, (stream, &status, &id, &graph, NULL, NULL));
    return r == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? graph : NULL;
}

typedef enum fate {
    NOW,   /* nothing uses it any more */
    LATER, /* after all work of the context */
    GRAPHS /* once a graph has gone */
} fate;

/* Runs in the device's context. */
static fate settle(block *b, CUstream stream)
{
    culv_device *device = b->pool->device;
    const uint64_t size = culv_vmm_range_size(b->range);
    culvi_watch watch = {.kind = "block", .size = size, .stream = stream, .on_stream = true};
    culvi_capture capture = CULVI_NOT_CAPTURED;
    CUresult r;
    CULVI_ASK(r, culvi_stream_capture(device, stream, &capture));
    if (r == CUDA_SUCCESS && capture == CULVI_CAPTURED) {
        const CUgraph graph = graph_of(device, stream);
        culvi_late_prepare(device);
        if (graph == NULL) return LATER;
        if (!give_to_graph(b, graph))
            culvi_log(
                &device->voice, CULV_LOG_WARNING,
                "culv_torch_free: the stream %p is being captured, and the driver did not give %" PRIu64
                " bytes at %#" PRIx64 " to the graph: they stay allocated until the process ends",
                (void *)stream, size, (uint64_t)b->pointer);
        return GRAPHS;
    }
    if (r == CUDA_SUCCESS && capture == CULVI_WAITS_FOR_CAPTURED) return LATER;
    if (r == CUDA_SUCCESS) {
        culvi_watch_begin(device, &watch, "culv_torch_free");
        CULVI_ASK(r, CULVI_RELEASE(device, cuStreamSynchronize, (stream)));
        culvi_watch_done(device, &watch);
    }
    return culvi_cuda_answers(r) ? NOW : LATER;
}

static void give_back(block *b, CUstream stream)
{
    culv_device *device = b->pool->device;
    culvi_scope scope;
    fate what = LATER;
    CUresult r;
    CULVI_ASK(r, culvi_enter_quietly(device, &scope));
    if (r == CUDA_SUCCESS) {
        what = settle(b, stream);
        culvi_leave(device, &scope);
    } else if (culvi_cuda_gone(r)) {
        what = NOW;
    }
    if (what == NOW) release(b);
    if (what == LATER) culvi_late_push(device, &b->late);
}

/* The calls ------------------------------------------------------------------------------------ */

void *culv_torch_malloc(ptrdiff_t size, int device, CUstream stream)
{
    (void)stream; /* the memory is ready in all of them */
    if (size <= 0) return NULL;
    pool *p = find_pool(device, true);
    if (p == NULL) return NULL;
    (void)culv_device_collect(p->device); /* what earlier calls have left */
    block *b = culvi_alloc_for(NULL, NULL, sizeof *b);
    if (b == NULL) return NULL;
    if (map(p, (uint64_t)size, &b->range) != CULV_OK) {
        culvi_free(b);
        return NULL;
    }
    b->pool = p;
    b->late.release = release_late;
    b->pointer = culv_vmm_range_pointer(b->range);
    void *pointer = (void *)(uintptr_t)b->pointer;
    CULVI_LOCKED(&p->lock, culvi_tree_add(&p->blocks, &b->node, b->pointer, 0));
    return pointer;
}

void culv_torch_free(void *pointer, ptrdiff_t size, int device, CUstream stream)
{
    (void)size;
    if (pointer == NULL) return;
    pool *p = find_pool(device, false);
    const CUdeviceptr key = (CUdeviceptr)(uintptr_t)pointer;
    block *mine = NULL;
    if (p != NULL) {
        culvi_mutex_lock(&p->lock);
        mine = CULVI_TREE_OBJECT(culvi_tree_find(&p->blocks, key, 0), block, node);
        if (mine != NULL) culvi_tree_remove(&p->blocks, &mine->node);
        culvi_mutex_unlock(&p->lock);
    }
    if (mine == NULL) {
        (void)culvi_fail(p != NULL ? &p->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                         CULV_REASON_VALUE,
                         "culv_torch_free: %p of device %d is not memory of culv_torch_malloc()",
                         pointer, device);
        return;
    }
    give_back(mine, stream);
    (void)culv_device_collect(p->device);
}
