/* SPDX-License-Identifier: MIT */
/* What is at a pointer, for a card: memory's kind, whether its copies are synchronous, tokens. */
#include "base/desc.h"
#include "base/platform.h"
#include "core/memory.h"
#include "rdma/rdma_pointer.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct answers {
    uint32_t memory_type, managed, rdma, sync;
    int ordinal;
    uint64_t buffer_id;
    CUdeviceptr range_start, mapping_start;
    size_t range_size, mapping_size;
    CUcontext context;
    CUmemoryPool pool;
} answers;

static CUresult ask(const culv_device *device, CUdeviceptr pointer, answers *a)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,       CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,    CU_POINTER_ATTRIBUTE_BUFFER_ID,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,  CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,    CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,       CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE};
    void *values[] = {&a->memory_type, &a->managed,    &a->ordinal,       &a->buffer_id,
                      &a->range_start, &a->range_size, &a->mapping_start, &a->mapping_size,
                      &a->pool,        &a->context,    &a->sync,          &a->rdma};
    memset(a, 0, sizeof *a);
    a->ordinal = -1;
    return CULVI_CU(device, cuPointerGetAttributes,
                    ((unsigned)(sizeof values / sizeof values[0]), attributes, values, pointer));
}

static culv_pointer_kind kind_of(culv_device *device, CUdeviceptr pointer, const answers *a)
{
    if (a->memory_type == 0) return CULV_POINTER_NONE;
    if (a->managed != 0) return CULV_POINTER_MANAGED;
    if (a->pool != NULL) return CULV_POINTER_POOL;
    /* Memory of cuMemCreate belongs to no context (measured), and an import to the one that it was
     * imported in: only Culvert knows its own. */
    if (a->memory_type == CU_MEMORYTYPE_DEVICE && culvi_memory_is_import(device, pointer))
        return CULV_POINTER_EXTERNAL;
    if (a->context == NULL) return CULV_POINTER_VMM;
    return a->memory_type == CU_MEMORYTYPE_HOST ? CULV_POINTER_HOST : CULV_POINTER_DEVICE;
}

culv_result culvi_rdma_look(culv_device *device, CUdeviceptr pointer, culvi_rdma_memory *out)
{
    answers a;
    CUresult r = ask(device, pointer, &a);
    /* Measured: so of reserved addresses where nothing is mapped. What is about to be called freed
     * is asked about once more. */
    if (r == CUDA_ERROR_INVALID_VALUE) r = ask(device, pointer, &a);
    if (r == CUDA_ERROR_INVALID_VALUE) memset(&a, 0, sizeof a);
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_cuda(
            device, NULL, r, "cuPointerGetAttributes", CULV_REASON_DRIVER_REFUSED,
            "the driver could not be asked what memory %#" PRIx64 " is", (uint64_t)pointer);
    memset(out, 0, sizeof *out);
    out->kind = kind_of(device, pointer, &a);
    out->device = -1;
    if (out->kind == CULV_POINTER_NONE) return CULV_OK;
    const bool vmm = out->kind == CULV_POINTER_VMM;
    out->device = a.ordinal >= 0 ? a.ordinal : -1;
    out->reserved_start = a.range_start;
    out->reserved_size = a.range_size;
    out->start = vmm ? a.mapping_start : a.range_start;
    out->size = vmm ? a.mapping_size : a.range_size;
    out->buffer_id = a.buffer_id;
    out->rdma = a.rdma != 0;
    out->sync = a.sync != 0;
    out->on_host = a.memory_type == CU_MEMORYTYPE_HOST;
    return CULV_OK;
}

/* Why a card cannot have it: CULV_REASON_NONE where it can. */
static culv_reason why_not(const culv_device *device, CUdeviceptr pointer,
                           const culvi_rdma_memory *m, char *text, size_t size)
{
    text[0] = '\0';
    switch (m->kind) {
    case CULV_POINTER_NONE:
        if (culvi_host_readable(pointer)) {
            snprintf(text, size,
                     "it is the host's own memory (a stack, a heap or a file), which CUDA does not "
                     "know; register the pointer with the card as host memory");
            return CULV_REASON_HOST_POINTER;
        }
        snprintf(text, size,
                 "nothing is allocated or mapped there; it was freed, or never allocated");
        return CULV_REASON_NOT_MAPPED;
    case CULV_POINTER_MANAGED:
        snprintf(text, size,
                 "it is managed memory, which moves: the card would use a copy that goes stale; "
                 "allocate with cuMemAlloc or with culv_vmm_allocation_create()");
        return CULV_REASON_MANAGED;
    case CULV_POINTER_EXTERNAL:
        snprintf(text, size,
                 "it was imported from a graphics API, and NVIDIA's driver pins no such memory "
                 "(open-gpu-kernel-modules issue 1130); let CUDA allocate it and the graphics API "
                 "import it (culvert/vulkan_rdma.h)");
        return CULV_REASON_NOT_EXPORTABLE;
    case CULV_POINTER_POOL:
        if (m->rdma) return CULV_REASON_NONE;
        snprintf(text, size,
                 "it is memory of a pool that third-party devices cannot reach; allocate with "
                 "cuMemAlloc or with culv_vmm_allocation_create() and CULV_VMM_USAGE_RDMA");
        return CULV_REASON_USAGE;
    case CULV_POINTER_VMM:
        if (m->rdma || m->on_host) break;
        snprintf(
            text, size,
            "it is memory of cuMemCreate without allocFlags.gpuDirectRDMACapable, which no card "
            "reaches; allocate with CULV_VMM_USAGE_RDMA");
        return CULV_REASON_USAGE;
    default: break;
    }
    if (m->on_host || m->device == (int)device->ordinal) return CULV_REASON_NONE;
    snprintf(text, size, "it is memory of CUDA device %d, and this device is %d", m->device,
             (int)device->ordinal);
    return CULV_REASON_DEVICE_MISMATCH;
}

culv_result culvi_rdma_check_memory(const culv_device *device, const char *call,
                                    CUdeviceptr pointer, const culvi_rdma_memory *memory)
{
    char text[256];
    culv_reason reason = why_not(device, pointer, memory, text, sizeof text);
    if (reason == CULV_REASON_NONE) return CULV_OK;
    return culvi_fail(&device->voice, NULL,
                      reason == CULV_REASON_USAGE ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_INVALID,
                      reason, "%s: a card cannot be given %#" PRIx64 ": %s", call,
                      (uint64_t)pointer, text);
}

culv_result culvi_rdma_check_arguments(const culvi_voice *voice, const char *call,
                                       CUdeviceptr pointer, uint64_t size)
{
    if (pointer == 0)
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s: pointer is 0", call);
    if (size == 0)
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_SIZE, "%s: size is 0", call);
    /* Rounded up to chunks it must still have an end. */
    if (size > UINT64_MAX - CULV_RDMA_CHUNK - pointer || pointer > UINT64_MAX - CULV_RDMA_CHUNK)
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "%s: %" PRIu64 " bytes at %#" PRIx64 " leave the address space", call,
                          size, (uint64_t)pointer);
    return CULV_OK;
}

culv_result culvi_rdma_check(culv_device *device, const char *call, CUdeviceptr pointer,
                             uint64_t size, bool spans, culvi_rdma_memory *out)
{
    culv_result result = culvi_rdma_check_arguments(&device->voice, call, pointer, size);
    if (result == CULV_OK) result = culvi_rdma_look(device, pointer, out);
    if (result == CULV_OK) result = culvi_rdma_check_memory(device, call, pointer, out);
    if (result != CULV_OK) return result;
    const bool wide = spans && out->kind == CULV_POINTER_VMM;
    const CUdeviceptr start = wide ? out->reserved_start : out->start;
    const uint64_t room = wide ? out->reserved_size : out->size;
    if (pointer >= start && pointer - start <= room && size <= room - (pointer - start))
        return CULV_OK;
    return culvi_fail(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "%s: %" PRIu64 " bytes at %#" PRIx64 " leave the %s there, which has %" PRIu64
                      " bytes from %#" PRIx64 " on; ask for each by itself",
                      call, size, (uint64_t)pointer,
                      wide                            ? "reserved range"
                      : out->kind == CULV_POINTER_VMM ? "mapping"
                                                      : "allocation",
                      room, (uint64_t)start);
}

culv_result culv_rdma_check_range(culv_device *device, CUdeviceptr pointer, uint64_t size)
{
    culvi_scope scope;
    culvi_rdma_memory memory;
    CULVI_REQUIRE(NULL, device);
    culv_result result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    result = culvi_rdma_check(device, "culv_rdma_check_range", pointer, size, false, &memory);
    culvi_leave(device, &scope);
    return result;
}

culv_result culv_rdma_get_info(culv_device *device, CUdeviceptr pointer, culv_rdma_info *out)
{
    culvi_scope scope;
    culvi_rdma_memory m;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE(&device->voice, out);
    culv_result result = culvi_struct_check(&device->voice, out, "culv_rdma_info");
    if (result == CULV_OK) result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    result = culvi_rdma_look(device, pointer, &m);
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    culv_rdma_info info = culv_rdma_info_init();
    info.kind = m.kind;
    info.reason = why_not(device, pointer, &m, info.reason_text, sizeof info.reason_text);
    info.path = info.reason != CULV_REASON_NONE ? CULV_RDMA_PATH_NONE
                : m.on_host                     ? CULV_RDMA_PATH_HOST
                                                : CULV_RDMA_PATH_DEVICE;
    info.device = m.device;
    info.start = m.start;
    info.size = m.size;
    info.buffer_id = m.buffer_id;
    info.rdma_capable = m.rdma;
    info.sync_memops = m.sync;
    info.host_pages = info.reason == CULV_REASON_HOST_POINTER;
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

/* SYNC_MEMOPS ---------------------------------------------------------------------------------- */

static culv_result sync_context(culv_device *device, const char *call)
{
    unsigned flags = 0;
    if (device->cuda->cuCtxSetFlags == NULL || device->cuda->cuCtxGetFlags == NULL)
        return culvi_fail(&device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "%s: the CUDA driver of '%s' lacks cuCtxSetFlags (CUDA 12.1), which VMM "
                          "memory needs for synchronous copies",
                          call, device->caps.name);
    CUresult r = CULVI_CU(device, cuCtxGetFlags, (&flags));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, NULL, r, "cuCtxGetFlags", CULV_REASON_DRIVER_REFUSED,
                               "the flags of the context could not be read");
    if ((flags & CU_CTX_SYNC_MEMOPS) != 0) return CULV_OK;
    r = CULVI_CU(device, cuCtxSetFlags, (flags | CU_CTX_SYNC_MEMOPS));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, NULL, r, "cuCtxSetFlags", CULV_REASON_DRIVER_REFUSED,
                               "the context's copies could not be made synchronous");
    culvi_log(&device->voice, CULV_LOG_INFO,
              "the context of '%s' has CU_CTX_SYNC_MEMOPS from now on: all its synchronous copies "
              "and sets wait until they are done",
              device->caps.name);
    return CULV_OK;
}

culv_result culvi_rdma_sync(culv_device *device, const char *call, CUdeviceptr pointer,
                            bool allow_context, culv_rdma_sync *out)
{
    unsigned on = 1;
    CUresult r =
        CULVI_CU(device, cuPointerSetAttribute, (&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer));
    *out = CULV_RDMA_SYNC_ALLOCATION;
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r != CUDA_ERROR_INVALID_VALUE && r != CUDA_ERROR_NOT_SUPPORTED)
        return culvi_fail_cuda(device, NULL, r, "cuPointerSetAttribute", CULV_REASON_DRIVER_REFUSED,
                               "copies of the memory at %#" PRIx64 " could not be made synchronous",
                               (uint64_t)pointer);
    if (!allow_context)
        return culvi_fail_native(
            &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_OPT_IN, CULV_NATIVE_CUDA, r,
            "cuPointerSetAttribute",
            "%s: the memory at %#" PRIx64 " cannot carry SYNC_MEMOPS, as VMM memory cannot; allow "
            "the flag of the whole context, or set CU_CTX_SYNC_MEMOPS yourself",
            call, (uint64_t)pointer);
    *out = CULV_RDMA_SYNC_CONTEXT;
    return sync_context(device, call);
}

culv_result culv_rdma_set_sync_memops(culv_device *device, CUdeviceptr pointer,
                                      culv_bool allow_context, culv_rdma_sync *out)
{
    static const char call[] = "culv_rdma_set_sync_memops";
    culvi_scope scope;
    culvi_rdma_memory memory;
    culv_rdma_sync sync = CULV_RDMA_SYNC_NONE;
    CULVI_REQUIRE(NULL, device);
    culv_result result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    result = culvi_rdma_check(device, call, pointer, 1, false, &memory);
    /* Copies to and from the host are synchronous by themselves, and it has no such attribute. */
    if (result == CULV_OK && !memory.on_host)
        result = culvi_rdma_sync(device, call, pointer, allow_context != 0, &sync);
    culvi_leave(device, &scope);
    if (result == CULV_OK && out != NULL) *out = sync;
    return result;
}

/* Tokens --------------------------------------------------------------------------------------- */

culv_result culv_rdma_get_tokens(culv_device *device, CUdeviceptr pointer, culv_rdma_tokens *out)
{
    culvi_scope scope;
    culvi_rdma_memory memory;
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE(&device->voice, out);
    culv_result result = culvi_struct_check(&device->voice, out, "culv_rdma_tokens");
    if (result == CULV_OK) result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    memset(&tokens, 0, sizeof tokens);
    result = culvi_rdma_check(device, "culv_rdma_get_tokens", pointer, 1, false, &memory);
    if (result == CULV_OK) {
        /* Not by CULVI_CU's log of values: who reads tokens can map the memory (R41). It logs
         * where they are written, and nothing is there yet. */
        CUresult r = CULVI_CU(device, cuPointerGetAttribute,
                              (&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, pointer));
        if (r == CUDA_ERROR_NOT_SUPPORTED)
            result =
                culvi_fail_native(&device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                                  CULV_NATIVE_CUDA, r, "cuPointerGetAttribute",
                                  "the driver of '%s' has no P2P tokens for the memory at %#" PRIx64
                                  "; drivers of cards take 0 in their place since CUDA 6.0",
                                  device->caps.name, (uint64_t)pointer);
        else if (r != CUDA_SUCCESS)
            result = culvi_fail_cuda(device, NULL, r, "cuPointerGetAttribute", CULV_REASON_USAGE,
                                     "the memory at %#" PRIx64 " has no tokens", (uint64_t)pointer);
    }
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    culv_rdma_tokens t = culv_rdma_tokens_init();
    t.p2p_token = tokens.p2pToken;
    t.va_space_token = tokens.vaSpaceToken;
    culvi_struct_write(out, &t, sizeof t);
    return CULV_OK;
}
