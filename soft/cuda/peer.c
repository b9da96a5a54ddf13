/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: devices as each other's peers, and copies from one context's memory to
 * another's.
 *
 * All devices' memory is the processor's. A kernel that is handed an address of another device's
 * memory, which its own does not reach, faults as on NVIDIA's driver, even if it does not use the
 * address. An address that it finds in memory is not looked at. */
#include "array.h"
#include "vmm.h"

#include <string.h>

static bool can_access(CUdevice device, CUdevice peer)
{
    return device != peer && !soft.peers_barred;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (canAccessPeer == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(dev) || !soft_device_valid(peerDev))
        return soft_end(CUDA_ERROR_INVALID_DEVICE);
    *canAccessPeer = can_access(dev, peerDev);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (value == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(srcDevice) || !soft_device_valid(dstDevice) || srcDevice == dstDevice)
        return soft_end(CUDA_ERROR_INVALID_DEVICE);
    switch ((int)attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = can_access(srcDevice, dstDevice);
        break;
    case 5: *value = 0; break; /* ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED, from cuda.h 13.0 on */
    default: return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
    return soft_end(CUDA_SUCCESS);
}

static unsigned position(const struct soft_context *context, const struct soft_context *peer)
{
    unsigned at = 0;
    while (at < context->num_peers && context->peers[at] != peer)
        at++;
    return at;
}

static void drop(struct soft_context *context, unsigned at)
{
    context->peers[at] = context->peers[--context->num_peers];
}

static void forget(void *context, void *peer)
{
    const unsigned at = position(context, peer);
    if (at < ((struct soft_context *)context)->num_peers) drop(context, at);
}

void soft_peers_forget(struct soft_context *context)
{
    context->num_peers = 0;
    soft_objects_each(SOFT_CONTEXT, forget, context);
}

static void count(void *context, void *sum)
{
    *(uint64_t *)sum += ((const struct soft_context *)context)->num_peers;
}

uint64_t soft_peers_count(void)
{
    uint64_t sum = 0;
    soft_objects_each(SOFT_CONTEXT, count, &sum);
    return sum;
}

struct soft_context *soft_context_find(CUcontext handle)
{
    struct soft_context *context = soft_object_find(handle, SOFT_CONTEXT);
    return context != NULL && context->active ? context : NULL;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_context *peer = soft_context_find(peerContext);
    if (peer == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (Flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!can_access(context->device, peer->device))
        return soft_end(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    if (position(context, peer) < context->num_peers)
        return soft_end(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    if (context->num_peers == SOFT_MAX_PEERS) return soft_end(CUDA_ERROR_TOO_MANY_PEERS);
    context->peers[context->num_peers++] = peer;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_context *peer = soft_context_find(peerContext);
    if (peer == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    const unsigned at = position(context, peer);
    if (at == context->num_peers) return soft_end(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    drop(context, at);
    return soft_end(CUDA_SUCCESS);
}

/* As measured on two H200: another API's memory is its importer's alone, whatever peer access. */
static bool reaches(const struct soft_context *context, const struct soft_range *range)
{
    const int device = context->device;
    switch (range->kind) {
    case SOFT_RANGE_HOST:
    case SOFT_RANGE_REGISTERED: return true;
    case SOFT_RANGE_VIRTUAL: return range->virtual->access[device] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    case SOFT_RANGE_POOLED:
        return range->device == device || range->managed ||
               range->pooled->pool->access[device] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    case SOFT_RANGE_MAPPED:
    case SOFT_RANGE_GRAPHICS: return range->device == device;
    default:
        return range->device == device || range->managed ||
               position(context, range->context) < context->num_peers;
    }
}

bool soft_peers_reach(const struct soft_context *context, const void *argument, size_t size)
{
    bool reached = true;
    if (soft.device_count < 2) return true;
    pthread_mutex_lock(&soft.lock);
    for (size_t at = 0; reached && at + sizeof(uintptr_t) <= size; at += sizeof(uintptr_t)) {
        uintptr_t address;
        memcpy(&address, (const char *)argument + at, sizeof(address));
        const struct soft_range *range = soft_range_find(address);
        reached = range == NULL || soft_object_find(context, SOFT_CONTEXT) == NULL ||
                  reaches(context, range);
    }
    pthread_mutex_unlock(&soft.lock);
    return reached;
}

CUresult soft_contexts_wait(CUcontext first, CUcontext second)
{
    const CUcontext handles[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        struct soft_context *context = soft_context_find(handles[i]);
        if (context == NULL) return CUDA_ERROR_INVALID_CONTEXT;
        CUresult result = soft_context_wait(context);
        if (result != CUDA_SUCCESS) return result;
    }
    /* The lock was given back meanwhile. */
    return soft_context_find(first) != NULL && soft_context_find(second) != NULL
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_CONTEXT;
}

bool soft_side_in_context(enum soft_side_kind kind, uintptr_t start, size_t size, CUcontext handle,
                          struct soft_side *out)
{
    const struct soft_context *context = soft_context_find(handle);
    const struct soft_range *range = soft_range_find(start);
    if (context == NULL || !soft_side_of_memory(kind, start, size, out)) return false;
    /* Host memory is everybody's; a device's is said to be where it is. */
    return range == NULL || range->kind == SOFT_RANGE_HOST ||
           range->kind == SOFT_RANGE_REGISTERED || range->device == CU_DEVICE_CPU ||
           range->device == context->device;
}

/* culvSoftSpoilPeers */
static bool is_spoiled(CUcontext to_context, CUcontext from_context)
{
    const CUdevice to = soft_context_find(to_context)->device,
                   from = soft_context_find(from_context)->device;
    return soft.peers_spoiled != 0 && to != from &&
           (soft.peers_spoiled == 1 || (soft.peers_spoiled == 2) == (to > from));
}

static CUresult copy(const char *call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                     CUcontext from_context, size_t size, CUstream handle, bool synchronous)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_side to_side = {.pitch = size}, from_side = {.pitch = size};
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (soft_context_find(to_context) == NULL || soft_context_find(from_context) == NULL)
        return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    SOFT_STEP(soft_stream_get(context, handle, &stream));
    if (size == 0) return soft_end(CUDA_SUCCESS);
    /* Serialized with all work of both contexts, unlike the asynchronous form (cudaMemcpyPeer). */
    if (synchronous) result = soft_contexts_wait(to_context, from_context);
    if (result == CUDA_SUCCESS && synchronous) result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (!soft_side_in_context(SOFT_SIDE_DEVICE, (uintptr_t)to, size, to_context, &to_side) ||
        !soft_side_in_context(SOFT_SIDE_DEVICE, (uintptr_t)from, size, from_context, &from_side))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (is_spoiled(to_context, from_context)) return soft_end(CUDA_SUCCESS);
    const struct soft_extent extent = {.width = size, .height = 1, .depth = 1};
    result = soft_copy(stream, synchronous, &to_side, &from_side, extent);
    if (result == CUDA_SUCCESS && synchronous) result = soft_context_wait(context);
    return soft_end(result);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount)
{
    return copy(__func__, dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, true);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream)
{
    return copy(__func__, dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, false);
}
