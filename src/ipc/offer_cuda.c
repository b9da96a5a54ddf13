/* SPDX-License-Identifier: MIT */
/* What CUDA shares by itself, as a server offers it (R30, R31). */
#include "base/message.h"
#include "cuda/context.h"
#include "ipc/ipc_server.h"

/* The rule of R30: nothing but what the caller means goes to the other process. */
static culv_result whole_blocks(const culv_ipc_server *server, const char *call,
                                CUdeviceptr pointer, const culv_pointer_info *what)
{
    const culvi_voice *voice = &server->device->voice;
    if (what->kind != CULV_POINTER_DEVICE || !what->ipc)
        return culvi_fail(
            voice, server->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
            "%s: CUDA has no cuIpc handle for what lies at 0x%llx. "
            "%s goes to other processes by %s",
            call, (unsigned long long)pointer,
            what->kind == CULV_POINTER_VMM    ? "Memory of cuMemCreate"
            : what->kind == CULV_POINTER_POOL ? "Memory of a pool"
            : what->kind == CULV_POINTER_EXTERNAL
                ? "Memory of a graphics API"
                : "Neither managed memory, nor the host's, nor what is none of CUDA's",
            what->kind == CULV_POINTER_VMM ? "culv_ipc_from_vmm()"
            : what->kind == CULV_POINTER_POOL
                ? "culv_ipc_from_pool_memory(), if its pool was made with handle types "
                  "(cuMemPoolCreate); the default pool of cudaMallocAsync was not, so take "
                  "memory of such a pool or of culv_vmm_allocation_create()"
            : what->kind == CULV_POINTER_EXTERNAL ? "culv_ipc_from_handle()"
                                                  : "any call; use culv_vmm_allocation_create()");
    if (what->device != (int32_t)server->device->ordinal)
        return culvi_fail(voice, server->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "%s: the memory is of CUDA device %d, and the "
                          "server's is %d; offer it by a server of its device",
                          call, (int)what->device, (int)server->device->ordinal);
    if (pointer == what->range_start && pointer % CULV_IPC_CUDA_BLOCK == 0 &&
        what->range_size % CULV_IPC_CUDA_BLOCK == 0)
        return CULV_OK;
    return culvi_fail(
        voice, server->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "%s: 0x%llx lies %" PRIu64 " bytes into an allocation of %" PRIu64
        " bytes at 0x%llx. CUDA shares whole blocks of %" PRIu64 " bytes, so that the other "
        "process would get what else lies in them. Offer an allocation from its start whose size "
        "is a multiple of that (cuMemAlloc aligns it), or memory of culv_vmm_allocation_create()",
        call, (unsigned long long)pointer, (uint64_t)(pointer - what->range_start),
        what->range_size, (unsigned long long)what->range_start, CULV_IPC_CUDA_BLOCK);
}

static culv_result too_old(const culv_ipc_server *server, const char *call)
{
    return culvi_fail(&server->device->voice, server->label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_DRIVER_TOO_OLD,
                      "%s: the CUDA driver lacks cuIpcGetMemHandle and its like; offer memory of "
                      "culv_vmm_allocation_create()",
                      call);
}

static culv_result from_memory(culv_ipc_server *server, const char *call, CUdeviceptr pointer,
                               culvi_ipc_offer *offer)
{
    CUipcMemHandle handle;
    culv_pointer_info what = culv_pointer_info_init();
    culv_device *device = server->device;
    if (device->cuda->cuIpcGetMemHandle == NULL) return too_old(server, call);
    CULVI_TRY(culv_pointer_get_info(device, pointer, &what));
    CULVI_TRY(whole_blocks(server, call, pointer, &what));
    CULVI_CU_INSIDE(r, device, server->label, cuIpcGetMemHandle, (&handle, pointer));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            device, server->label, r, "cuIpcGetMemHandle", CULV_REASON_NOT_EXPORTABLE,
            "the memory at 0x%llx could not be shared", (unsigned long long)pointer);
    offer->info.allocation_size = what.range_size;
    culvi_ipc_offer_data(offer, &handle, sizeof handle);
    return CULV_OK;
}

static culv_result from_event(culv_ipc_server *server, const char *call, CUevent event,
                              culvi_ipc_offer *offer)
{
    CUipcEventHandle handle;
    culv_device *device = server->device;
    if (device->cuda->cuIpcGetEventHandle == NULL) return too_old(server, call);
    CULVI_CU_INSIDE(r, device, server->label, cuIpcGetEventHandle, (&handle, event));
    if (r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_native(&device->voice, server->label, CULV_ERROR_INVALID,
                                 CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_CUDA, (int64_t)r,
                                 "cuIpcGetEventHandle",
                                 "the event is not for other processes; make it with "
                                 "CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING");
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, server->label, r, "cuIpcGetEventHandle",
                               CULV_REASON_NOT_EXPORTABLE, "the event could not be shared");
    culvi_ipc_offer_data(offer, &handle, sizeof handle);
    return CULV_OK;
}

static culv_result from_pool(const culv_ipc_server *server, const char *call,
                             const culv_handle *handle, culvi_ipc_offer *offer)
{
    if (handle->type == offer->info.handle_type) return culv_handle_dup(handle, &offer->handle);
    if (handle->type != CULV_HANDLE_FABRIC)
        return culvi_fail(
            &server->device->voice, server->label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
            "%s: a pool goes by a handle of type %s or FABRIC, and this one is %s", call,
            culvi_handle_type_name(offer->info.handle_type), culvi_handle_type_name(handle->type));
    offer->info.kind = CULV_IPC_POOL_FABRIC;
    culvi_ipc_offer_data(offer, handle->value.fabric, CULVI_IPC_DATA);
    return CULV_OK;
}

culv_result culvi_ipc_offer_cudas(culv_ipc_server *server, const char *call,
                                  const culv_ipc_source *source, culvi_ipc_offer *offer)
{
    culv_pointer_info what = culv_pointer_info_init();
    culv_result result;
    if (source->kind == CULV_IPC_POOL) return from_pool(server, call, source->object, offer);
    if (source->kind == CULV_IPC_EVENT)
        return from_event(server, call, (CUevent)source->object, offer);
    if (source->kind == CULV_IPC_CUDA_MEMORY) {
        result = from_memory(server, call, source->pointer, offer);
    } else {
        result = culv_pointer_get_info(server->device, source->pointer, &what);
        offer->info.allocation_size = what.range_size;
        culvi_ipc_offer_data(offer, source->object, sizeof(culv_mem_pool_pointer));
    }
    offer->info.offset = 0;
    if (offer->info.size == 0) offer->info.size = offer->info.allocation_size;
    return result;
}
