/* SPDX-License-Identifier: MIT */
/* What CUDA shares by itself, as a server offers it (R30, R31). */
#include "base/desc.h"
#include "base/handle.h"
#include "cuda/context.h"
#include "ipc/ipc_server.h"

#include <inttypes.h>
#include <string.h>

/* The rule of R30: nothing but what the caller means goes to the other process. */
static culv_result whole_blocks(const culv_ipc_server *server, CUdeviceptr pointer,
                                const culv_pointer_info *what)
{
    const culvi_voice *voice = &server->device->voice;
    if (what->kind != CULV_POINTER_DEVICE || !what->ipc)
        return culvi_fail(
            voice, server->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
            "culv_ipc_offer_cuda_memory: CUDA has no cuIpc handle for what lies at 0x%llx. "
            "%s goes to other processes by %s",
            (unsigned long long)pointer,
            what->kind == CULV_POINTER_VMM    ? "Memory of cuMemCreate"
            : what->kind == CULV_POINTER_POOL ? "Memory of a pool"
            : what->kind == CULV_POINTER_EXTERNAL
                ? "Memory of a graphics API"
                : "Neither managed memory, nor the host's, nor what is none of CUDA's",
            what->kind == CULV_POINTER_VMM ? "culv_ipc_offer_vmm()"
            : what->kind == CULV_POINTER_POOL
                ? "culv_ipc_offer_pool_memory(), if its pool was made with handle types "
                  "(culv_mem_pool_create()); the default pool of cudaMallocAsync was not, so take "
                  "memory of such a pool or of culv_vmm_allocation_create()"
            : what->kind == CULV_POINTER_EXTERNAL ? "culv_ipc_offer()"
                                                  : "any call; use culv_vmm_allocation_create()");
    if (what->device != (int32_t)server->device->ordinal)
        return culvi_fail(voice, server->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "culv_ipc_offer_cuda_memory: the memory is of CUDA device %d, and the "
                          "server's is %d; offer it by a server of its device",
                          (int)what->device, (int)server->device->ordinal);
    if (pointer == what->range_start && pointer % CULV_IPC_CUDA_BLOCK == 0 &&
        what->range_size % CULV_IPC_CUDA_BLOCK == 0)
        return CULV_OK;
    return culvi_fail(
        voice, server->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "culv_ipc_offer_cuda_memory: 0x%llx lies %" PRIu64 " bytes into an allocation of %" PRIu64
        " bytes at 0x%llx. CUDA shares whole blocks of %" PRIu64 " bytes, so that the other "
        "process would get what else lies in them. Offer an allocation from its start whose size "
        "is a multiple of that (cuMemAlloc aligns it), or memory of culv_vmm_allocation_create()",
        (unsigned long long)pointer, (uint64_t)(pointer - what->range_start), what->range_size,
        (unsigned long long)what->range_start, CULV_IPC_CUDA_BLOCK);
}

static culv_result too_old(const culv_ipc_server *server, const char *call)
{
    return culvi_fail(&server->device->voice, server->label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_DRIVER_TOO_OLD,
                      "%s: the CUDA driver lacks cuIpcGetMemHandle and its like; use "
                      "culv_ipc_offer_vmm()",
                      call);
}

culv_result culv_ipc_offer_cuda_memory(culv_ipc_server *server, CUdeviceptr pointer,
                                       const culv_ipc_info *info)
{
    culvi_ipc_offer offer;
    culvi_scope scope;
    CUipcMemHandle handle;
    culv_pointer_info what = culv_pointer_info_init();
    CULVI_REQUIRE(NULL, server);
    culv_device *device = server->device;
    CULVI_REQUIRE(&device->voice, info);
    culv_result result = culvi_ipc_offer_begin(server, info, &offer);
    if (result != CULV_OK) return result;
    if (device->cuda->cuIpcGetMemHandle == NULL) return too_old(server, __func__);
    result = culv_pointer_get_info(device, pointer, &what);
    if (result == CULV_OK) result = whole_blocks(server, pointer, &what);
    if (result == CULV_OK) result = culvi_enter(device, &scope, server->label);
    if (result != CULV_OK) return result;
    CUresult r = CULVI_CU(device, cuIpcGetMemHandle, (&handle, pointer));
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, server->label, r, "cuIpcGetMemHandle", CULV_REASON_NOT_EXPORTABLE,
            "the memory at 0x%llx could not be shared", (unsigned long long)pointer);
    offer.info.kind = CULV_IPC_CUDA_MEMORY;
    offer.info.handle_type = CULV_HANDLE_NONE;
    offer.info.allocation_size = what.range_size;
    offer.info.offset = 0;
    if (offer.info.size == 0) offer.info.size = what.range_size;
    memcpy(offer.data, &handle, sizeof handle);
    return culvi_ipc_offer_add(server, __func__, &offer);
}

culv_result culv_ipc_offer_event(culv_ipc_server *server, CUevent event, const culv_ipc_info *info)
{
    culvi_ipc_offer offer;
    culvi_scope scope;
    CUipcEventHandle handle;
    CULVI_REQUIRE(NULL, server);
    culv_device *device = server->device;
    CULVI_REQUIRE2(&device->voice, event, info);
    culv_result result = culvi_ipc_offer_begin(server, info, &offer);
    if (result != CULV_OK) return result;
    if (device->cuda->cuIpcGetEventHandle == NULL) return too_old(server, __func__);
    result = culvi_enter(device, &scope, server->label);
    if (result != CULV_OK) return result;
    CUresult r = CULVI_CU(device, cuIpcGetEventHandle, (&handle, event));
    culvi_leave(device, &scope);
    if (r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_native(&device->voice, server->label, CULV_ERROR_INVALID,
                                 CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_CUDA, (int64_t)r,
                                 "cuIpcGetEventHandle",
                                 "the event is not for other processes; make it with "
                                 "CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING");
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, server->label, r, "cuIpcGetEventHandle",
                               CULV_REASON_NOT_EXPORTABLE, "the event could not be shared");
    offer.info.kind = CULV_IPC_EVENT;
    offer.info.handle_type = CULV_HANDLE_NONE;
    memcpy(offer.data, &handle, sizeof handle);
    return culvi_ipc_offer_add(server, __func__, &offer);
}

culv_result culv_ipc_offer_pool(culv_ipc_server *server, culv_mem_pool *pool,
                                const culv_ipc_info *info)
{
    culvi_ipc_offer offer;
    CULVI_REQUIRE(NULL, server);
    CULVI_REQUIRE2(&server->device->voice, pool, info);
    culv_result result = culvi_ipc_offer_begin(server, info, &offer);
    if (result == CULV_OK)
        result = culv_mem_pool_export_dup(pool, offer.info.handle_type, &offer.handle);
    if (result != CULV_OK) return result;
    offer.info.kind = CULV_IPC_POOL;
    result = culvi_ipc_offer_add(server, __func__, &offer);
    if (result != CULV_OK) culvi_handle_close(&offer.handle);
    return result;
}

culv_result culv_ipc_offer_pool_memory(culv_ipc_server *server, culv_mem_pool *pool,
                                       CUdeviceptr pointer, const culv_ipc_info *info)
{
    culvi_ipc_offer offer;
    culv_mem_pool_pointer data;
    culv_pointer_info what = culv_pointer_info_init();
    CULVI_REQUIRE(NULL, server);
    CULVI_REQUIRE2(&server->device->voice, pool, info);
    culv_result result = culvi_ipc_offer_begin(server, info, &offer);
    if (result == CULV_OK) result = culv_mem_pool_export_pointer(pool, pointer, &data);
    if (result == CULV_OK) result = culv_pointer_get_info(server->device, pointer, &what);
    if (result != CULV_OK) return result;
    offer.info.kind = CULV_IPC_POOL_MEMORY;
    offer.info.handle_type = CULV_HANDLE_NONE;
    offer.info.allocation_size = what.range_size;
    offer.info.offset = 0;
    if (offer.info.size == 0) offer.info.size = what.range_size;
    memcpy(offer.data, data.data, sizeof data.data);
    return culvi_ipc_offer_add(server, __func__, &offer);
}
