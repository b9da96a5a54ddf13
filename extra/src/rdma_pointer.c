/* SPDX-License-Identifier: MIT */
/* What is at a pointer, for a card: memory's kind, whether its copies are synchronous. */
#include "rdma_pointer.h"

#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* In the device's context. */
static culv_result look(culv_device *device, CUdeviceptr pointer, culvi_rdma_memory *out)
{
    culv_pointer_info info = culv_pointer_info_init();
    uint32_t type = 0, sync = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS};
    void *values[] = {&type, &sync};
    CULVI_X_TRY(culv_pointer_get_info(device, pointer, &info));
    /* What is about to be called freed is asked about once more. */
    if (info.kind == CULV_POINTER_NONE) CULVI_X_TRY(culv_pointer_get_info(device, pointer, &info));
    memset(out, 0, sizeof *out);
    out->kind = info.kind;
    out->device = -1;
    if (info.kind == CULV_POINTER_NONE) return CULV_OK;
    CUresult r = CULV_CUDA(device)->cuPointerGetAttributes(2, attributes, values, pointer);
    CULVI_X_TRY(culvi_x_result(
        device, NULL, r, "cuPointerGetAttributes", CULV_REASON_DRIVER_REFUSED,
        "the driver could not be asked what memory %#" PRIx64 " is", (uint64_t)pointer));
    out->device = info.device;
    out->reserved_start = info.range_start;
    out->reserved_size = info.range_size;
    out->start = info.mapping_start;
    out->size = info.mapping_size;
    out->buffer_id = info.buffer_id;
    out->rdma = info.rdma != 0;
    out->sync = sync != 0;
    out->on_host = type == CU_MEMORYTYPE_HOST;
    return CULV_OK;
}

/* Whether the process can read host memory there. False too where the system does not tell. */
static bool host_readable(uint64_t address)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/* Why a card cannot have it; NULL: it can. The text may be in `other`. */
static const char *why_not(culv_device *device, CUdeviceptr pointer, const culvi_rdma_memory *m,
                           culv_reason *reason, char other[64])
{
    const int32_t self = culvi_x_caps(device).ordinal;
    switch (m->kind) {
    case CULV_POINTER_NONE:
        if (host_readable(pointer)) {
            *reason = CULV_REASON_HOST_POINTER;
            return "it is the host's own memory (a stack, a heap or a file), which CUDA does not know; register the pointer with the card as host memory";
        }
        *reason = CULV_REASON_NOT_MAPPED;
        return "nothing is allocated or mapped there; it was freed, or never allocated";
    case CULV_POINTER_MANAGED:
        *reason = CULV_REASON_MANAGED;
        return "it is managed memory, which moves: the card would use a copy that goes stale; allocate with cuMemAlloc or with culv_vmm_allocation_create()";
    case CULV_POINTER_EXTERNAL:
        *reason = CULV_REASON_NOT_EXPORTABLE;
        return "it was imported from a graphics API, and NVIDIA's driver pins no such memory (open-gpu-kernel-modules issue 1130); let CUDA allocate it and the graphics API import it (culvert/vulkan_rdma.h)";
    case CULV_POINTER_POOL:
        *reason = CULV_REASON_USAGE;
        return m->rdma
                   ? NULL
                   : "it is memory of a pool that third-party devices cannot reach; allocate with cuMemAlloc or with culv_vmm_allocation_create() and CULV_VMM_USAGE_RDMA";
    case CULV_POINTER_VMM:
        *reason = CULV_REASON_USAGE;
        if (!m->rdma && !m->on_host)
            return "it is memory of cuMemCreate without allocFlags.gpuDirectRDMACapable, which no card reaches; allocate with CULV_VMM_USAGE_RDMA";
        break;
    default: break;
    }
    if (m->on_host || m->device == self) return NULL;
    *reason = CULV_REASON_DEVICE_MISMATCH;
    snprintf(other, 64, "it is memory of CUDA device %d, and this device is %d", m->device, self);
    return other;
}

culv_result culvi_rdma_check_arguments(culv_device *device, const char *call, CUdeviceptr pointer,
                                       uint64_t size)
{
    CULVI_X_REFUSE_IF(pointer == 0, device, NULL, CULV_REASON_NULL_ARGUMENT, "%s: pointer is 0",
                      call);
    CULVI_X_REFUSE_IF(size == 0, device, NULL, CULV_REASON_SIZE, "%s: size is 0", call);
    /* Rounded up to chunks it must still have an end. */
    if (size > UINT64_MAX - CULV_RDMA_CHUNK - pointer || pointer > UINT64_MAX - CULV_RDMA_CHUNK)
        return culvi_x_fail(device, NULL, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                            "%s: %" PRIu64 " bytes at %#" PRIx64 " leave the address space", call,
                            size, (uint64_t)pointer);
    return CULV_OK;
}

culv_result culvi_rdma_check(culv_device *device, const char *cache, const char *call,
                             CUdeviceptr pointer, uint64_t size, bool spans, culvi_rdma_memory *out)
{
    char other[64];
    culv_reason reason = CULV_REASON_NONE;
    CULVI_X_TRY(culvi_rdma_check_arguments(device, call, pointer, size));
    CULVI_X_TRY(look(device, pointer, out));
    const char *why = cache == NULL || out->kind != CULV_POINTER_EXTERNAL
                          ? why_not(device, pointer, out, &reason, other)
                          : NULL;
    if (why != NULL)
        return culvi_x_fail(
            device, NULL, reason == CULV_REASON_USAGE ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_INVALID,
            reason, "%s: a card cannot be given %#" PRIx64 ": %s", call, (uint64_t)pointer, why);
    const bool wide = spans && out->kind == CULV_POINTER_VMM;
    const CUdeviceptr start = wide ? out->reserved_start : out->start;
    const uint64_t room = wide ? out->reserved_size : out->size;
    if (pointer >= start && pointer - start <= room && size <= room - (pointer - start))
        return CULV_OK;
    return culvi_x_fail(device, cache, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                        "%s: %" PRIu64 " bytes at %#" PRIx64
                        " leave the %s there, which has %" PRIu64 " bytes from %#" PRIx64
                        " on; ask for each by itself",
                        call, size, (uint64_t)pointer,
                        cache != NULL                   ? "allocation or mapping"
                        : wide                          ? "reserved range"
                        : out->kind == CULV_POINTER_VMM ? "mapping"
                                                        : "allocation",
                        room, (uint64_t)start);
}

culv_result culv_rdma_check_range(culv_device *device, CUdeviceptr pointer, uint64_t size)
{
    culvi_rdma_memory memory;
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_INSIDE(
        result, device,
        culvi_rdma_check(device, NULL, "culv_rdma_check_range", pointer, size, false, &memory));
    return result;
}

culv_result culv_rdma_get_info(culv_device *device, CUdeviceptr pointer, culv_rdma_info *out)
{
    culvi_rdma_memory m;
    char other[64];
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_TRY(culvi_x_out_check(device, __func__, out, "culv_rdma_info"));
    CULVI_X_INSIDE(result, device, look(device, pointer, &m));
    if (result != CULV_OK) return result;
    culv_rdma_info info = culv_rdma_info_init();
    info.kind = m.kind;
    const char *why = why_not(device, pointer, &m, &info.reason, other);
    if (why == NULL) info.reason = CULV_REASON_NONE;
    if (why != NULL) snprintf(info.reason_text, sizeof info.reason_text, "%s", why);
    info.path = why != NULL ? CULV_RDMA_PATH_NONE
                : m.on_host ? CULV_RDMA_PATH_HOST
                            : CULV_RDMA_PATH_DEVICE;
    info.device = m.device;
    info.start = m.start;
    info.size = m.size;
    info.buffer_id = m.buffer_id;
    info.rdma_capable = m.rdma;
    info.sync_memops = m.sync;
    info.host_pages = info.reason == CULV_REASON_HOST_POINTER;
    culvi_x_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

/* SYNC_MEMOPS ---------------------------------------------------------------------------------- */

culv_result culvi_rdma_sync(culv_device *device, const char *call, CUdeviceptr pointer,
                            bool allow_context, culv_rdma_sync *out)
{
    const culv_cuda_api *cu = CULV_CUDA(device);
    const bool has_flags = cu->cuCtxSetFlags != NULL && cu->cuCtxGetFlags != NULL;
    unsigned on = 1, flags = 0;
    const CUresult set = cu->cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer);
    *out = CULV_RDMA_SYNC_ALLOCATION;
    if (set == CUDA_SUCCESS) return CULV_OK;
    if (set != CUDA_ERROR_INVALID_VALUE && set != CUDA_ERROR_NOT_SUPPORTED)
        return culvi_x_result(device, NULL, set, "cuPointerSetAttribute",
                              CULV_REASON_DRIVER_REFUSED,
                              "copies of the memory at %#" PRIx64 " could not be made synchronous",
                              (uint64_t)pointer);
    *out = CULV_RDMA_SYNC_CONTEXT;
    CUresult r = has_flags ? cu->cuCtxGetFlags(&flags) : CUDA_SUCCESS;
    CULVI_X_TRY(culvi_x_result(device, NULL, r, "cuCtxGetFlags", CULV_REASON_DRIVER_REFUSED,
                               "the flags of the context could not be read"));
    if ((flags & CU_CTX_SYNC_MEMOPS) != 0) return CULV_OK;
    if (!allow_context)
        return culvi_x_fail_native(
            device, NULL, CULV_ERROR_INVALID, CULV_REASON_OPT_IN, set, "cuPointerSetAttribute",
            "%s: the memory at %#" PRIx64
            " cannot carry SYNC_MEMOPS, as VMM memory cannot; allow the flag of the whole context, or set CU_CTX_SYNC_MEMOPS yourself",
            call, (uint64_t)pointer);
    CULVI_X_UNSUPPORTED_IF(
        !has_flags, device, NULL, CULV_REASON_DRIVER_TOO_OLD,
        "%s: the CUDA driver of '%s' lacks cuCtxSetFlags (CUDA 12.1), which VMM memory needs for synchronous copies",
        call, culvi_x_caps(device).name);
    r = cu->cuCtxSetFlags(flags | CU_CTX_SYNC_MEMOPS);
    return culvi_x_result(device, NULL, r, "cuCtxSetFlags", CULV_REASON_DRIVER_REFUSED,
                          "the context's copies could not be made synchronous");
}

culv_result culv_rdma_set_sync_memops(culv_device *device, CUdeviceptr pointer,
                                      culv_bool allow_context, culv_rdma_sync *out)
{
    static const char call[] = "culv_rdma_set_sync_memops";
    uint64_t scope;
    culvi_rdma_memory memory;
    culv_rdma_sync sync = CULV_RDMA_SYNC_NONE;
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_TRY(culv_device_enter(device, 0, &scope));
    culv_result result = culvi_rdma_check(device, NULL, call, pointer, 1, false, &memory);
    /* Copies to and from the host are synchronous by themselves, and it has no such attribute. */
    if (result == CULV_OK && !memory.on_host)
        result = culvi_rdma_sync(device, call, pointer, allow_context != 0, &sync);
    culv_device_leave(device, scope);
    if (result == CULV_OK && out != NULL) *out = sync;
    return result;
}
