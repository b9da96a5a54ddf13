/* SPDX-License-Identifier: MIT */
/* What CUDA shares by itself, as a client opens it. */
#include "core/memory.h"
#include "ipc/ipc_client.h"

static culv_result too_old(const culv_ipc_object *object, const char *call)
{
    return culvi_fail(&object->device->voice, object->info.name, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_DRIVER_TOO_OLD,
                      "%s: the CUDA driver lacks cuIpcOpenMemHandle and its like", call);
}

/* What is known before CUDA is asked, whose answers to these are about contexts and devices. */
static culv_result check_owner(const culv_ipc_object *object, const char *what)
{
    const culvi_voice *voice = &object->device->voice;
    const char *call;
    int ordinal;
    char gpu[40] = "";
    culvi_text t = {gpu, sizeof gpu, 0};
    if (object->server_pid == culvi_ipc_this_process())
        return culvi_fail(voice, object->info.name, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED,
                          "the %s is this process's own (%d), and CUDA opens it in other processes "
                          "alone; use it as it is here",
                          what, (int)object->server_pid);
    if (!culvi_uuid_given(&object->info.device) ||
        culvi_uuid_equal(&object->info.device, &object->device->caps.uuid) ||
        culvi_device_find(object->device, &object->info.device, &ordinal, &call) != CUDA_SUCCESS ||
        ordinal >= 0)
        return CULV_OK;
    culvi_text_add_uuid(&t, &object->info.device);
    return culvi_fail(voice, object->info.name, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                      "the %s is on the GPU %s, which this process does not see; look at "
                      "CUDA_VISIBLE_DEVICES, or give this container that GPU",
                      what, gpu);
}

/* The driver has said no, and its words do not tell these apart. */
static culv_result fail_open(const culv_ipc_object *object, const char *what, const char *call,
                             CUresult r)
{
    culv_device *device = object->device;
    const char *why = "its owner has ended, or has given it up";
    if (culvi_cuda_sticky(r) || r == CUDA_ERROR_OUT_OF_MEMORY)
        return culvi_fail_cuda(device, object->info.name, r, call, CULV_REASON_HANDLE_REFUSED,
                               "the %s of process %d could not be opened", what,
                               (int)object->server_pid);
    if (object->server_pid != object->server_own_pid)
        why = "its owner is in another PID namespace (container), where CUDA does not find it; let "
              "both have one (docker run --pid), or share by culv_ipc_from_vmm()";
    else if (!culvi_uuid_equal(&object->info.device, &device->caps.uuid))
        why = "it is on another GPU than the client's device, which may not reach that one "
              "(cuDeviceCanAccessPeer); or its owner has ended, or has given it up";
    return culvi_fail_native(&device->voice, object->info.name, CULV_ERROR_DRIVER,
                             CULV_REASON_HANDLE_REFUSED, CULV_NATIVE_CUDA, (int64_t)r, call,
                             "the %s of process %d could not be opened: %s (CUDA error %d)", what,
                             (int)object->server_pid, why, (int)r);
}

culv_result culvi_ipc_open_memory(const culv_ipc_object *object, const char *call,
                                  culv_memory **out)
{
    culvi_scope scope;
    CUipcMemHandle handle;
    CUdeviceptr pointer = 0;
    culv_device *device = object->device;
    if (device->cuda->cuIpcOpenMemHandle == NULL || device->cuda->cuIpcCloseMemHandle == NULL)
        return too_old(object, call);
    CULVI_TRY(check_owner(object, "memory"));
    culv_memory *memory =
        culvi_memory_to_open(device, object->info.allocation_size, object->info.name);
    if (memory == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    memcpy(&handle, object->data, sizeof handle);
    culv_result result = culvi_enter(device, &scope, object->info.name);
    if (result != CULV_OK) goto destroy_memory;
    CUresult r = CULVI_CU(device, cuIpcOpenMemHandle,
                          (&pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    culvi_leave(device, &scope);
    if (r != CUDA_SUCCESS) {
        result = fail_open(object, "memory", "cuIpcOpenMemHandle", r);
        goto destroy_memory;
    }
    culvi_mutex_lock(&device->lock);
    memory->base = pointer;
    device->counts.mappings++;
    culvi_mutex_unlock(&device->lock);
    *out = memory;
    return CULV_OK;

destroy_memory:
    culv_memory_destroy(&memory);
    return result;
}

culv_result culv_ipc_import_event(const culv_ipc_object *object, CUevent *out)
{
    CUipcEventHandle handle;
    CUevent event = NULL;
    CULVI_TRY(culvi_ipc_object_check(object, __func__, CULV_IPC_EVENT, CULV_IPC_EVENT,
                                     (const void *)out));
    culv_device *device = object->device;
    if (device->cuda->cuIpcOpenEventHandle == NULL) return too_old(object, __func__);
    CULVI_TRY(check_owner(object, "event"));
    memcpy(&handle, object->data, sizeof handle);
    CULVI_CU_INSIDE(r, device, object->info.name, cuIpcOpenEventHandle, (&event, handle));
    if (r != CUDA_SUCCESS) return fail_open(object, "event", "cuIpcOpenEventHandle", r);
    *out = event;
    return CULV_OK;
}

culv_result culv_ipc_import_pool(const culv_ipc_object *object, culv_mem_pool **out)
{
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    CULVI_TRY(culvi_ipc_object_check(object, __func__, CULV_IPC_POOL, CULV_IPC_POOL_FABRIC,
                                     (const void *)out));
    d.handle = object->handle;
    d.label = object->info.name;
    return culv_mem_pool_import(object->device, &d, out);
}

culv_result culv_ipc_import_pool_memory(const culv_ipc_object *object, culv_mem_pool *pool,
                                        CUdeviceptr *out)
{
    culv_mem_pool_pointer data;
    CULVI_TRY(culvi_ipc_object_check(object, __func__, CULV_IPC_POOL_MEMORY, CULV_IPC_POOL_MEMORY,
                                     (const void *)out));
    CULVI_REQUIRE(&object->device->voice, pool);
    memcpy(data.data, object->data, sizeof data.data);
    return culv_mem_pool_import_pointer(pool, &data, out);
}
