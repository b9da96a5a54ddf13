/* SPDX-License-Identifier: MIT */
/* culv_ipc_object: a received thing, and its way into CUDA. */
#include "core/memory.h"
#include "ipc/ipc_client.h"

static const char *const kinds[] = {"nothing",
                                    "a VMM allocation",
                                    "a vector",
                                    "a buffer",
                                    "an image",
                                    "a semaphore",
                                    "a ring",
                                    "memory of cuMemAlloc",
                                    "an event",
                                    "a memory pool",
                                    "an allocation of a pool",
                                    "a VMM allocation by its fabric handle",
                                    "a memory pool by its fabric handle"};

/* What the imports ask first: one of two kinds, a device, and a place for what comes. */
static culv_result check_object(const culv_ipc_object *object, const char *call, culv_ipc_kind kind,
                                culv_ipc_kind or_kind, const void *out)
{
    CULVI_REQUIRE(NULL, object);
    const culvi_voice *voice = culvi_ipc_voice(object->device);
    if (out == NULL) return culvi_fail_null(voice, call, "out");
    CULVI_REFUSE_IF(object->info.kind != kind && object->info.kind != or_kind, voice,
                    object->info.name, CULV_REASON_VALUE, "%s: '%s' is %s, not %s", call,
                    object->info.name, kinds[object->info.kind], kinds[kind]);
    CULVI_REFUSE_IF(
        object->device == NULL, voice, object->info.name, CULV_REASON_VALUE,
        "%s: the client was connected without a device; pass one to culv_ipc_client_connect()",
        call);
    return CULV_OK;
}

void culv_ipc_object_destroy(culv_ipc_object **object)
{
    CULVI_TAKE(culv_ipc_object, o, object);
    culv_device *device = o->device;
    culv_handle_close(&o->handle);
    culvi_free(o);
    if (device != NULL) culvi_device_unref(device);
}

culv_result culv_ipc_object_get_info(const culv_ipc_object *object, culv_ipc_info *out)
{
    CULVI_REQUIRE2(NULL, object, out);
    const culvi_voice *voice = culvi_ipc_voice(object->device);
    culv_result result = culvi_struct_check(voice, out, "culv_ipc_info");
    if (result == CULV_OK) culvi_struct_write(out, &object->info, sizeof object->info);
    return result;
}

culv_result culv_ipc_object_get_handle(const culv_ipc_object *object, culv_handle *out)
{
    CULVI_REQUIRE2(NULL, object, out);
    CULVI_REFUSE_IF(object->handle.type == CULV_HANDLE_NONE, culvi_ipc_voice(object->device),
                    object->info.name, CULV_REASON_HANDLE_TYPE,
                    "culv_ipc_object_get_handle: '%s' is %s, which has no handle of its own",
                    object->info.name, kinds[object->info.kind]);
    *out = object->handle;
    return CULV_OK;
}

/* What CUDA shares by itself, as a client opens it --------------------------------------------- */

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
    CULVI_TEXT(gpu, 40);
    if (object->server_pid == culvi_ipc_this_process())
        return culvi_fail(
            voice, object->info.name, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED,
            "the %s is this process's own (%d), and CUDA opens it in other processes alone; use it as it is here",
            what, (int)object->server_pid);
    if (!culvi_uuid_given(&object->info.device) ||
        culvi_uuid_equal(&object->info.device, &object->device->caps.uuid) ||
        culvi_device_find(object->device, &object->info.device, &ordinal, &call) != CUDA_SUCCESS ||
        ordinal >= 0)
        return CULV_OK;
    culvi_text_add_uuid(&gpu, &object->info.device);
    return culvi_fail(
        voice, object->info.name, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the %s is on the GPU %s, which this process does not see; look at CUDA_VISIBLE_DEVICES, or give this container that GPU",
        what, gpu.data);
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
        why =
            "its owner is in another PID namespace (container), where CUDA does not find it; let both have one (docker run --pid), or share by culv_ipc_from_vmm()";
    else if (!culvi_uuid_equal(&object->info.device, &device->caps.uuid))
        why =
            "it is on another GPU than the client's device, which may not reach that one (cuDeviceCanAccessPeer); or its owner has ended, or has given it up";
    return culvi_fail_native(&device->voice, object->info.name, CULV_ERROR_DRIVER,
                             CULV_REASON_HANDLE_REFUSED, CULV_NATIVE_CUDA, (int64_t)r, call,
                             "the %s of process %d could not be opened: %s (CUDA error %d)", what,
                             (int)object->server_pid, why, (int)r);
}

/* Memory of cuMemAlloc, opened. */
static culv_result open_memory(const culv_ipc_object *object, const char *call, culv_memory **out)
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
    CULVI_TRY(check_object(object, __func__, CULV_IPC_EVENT, CULV_IPC_EVENT, (const void *)out));
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
    CULVI_TRY(
        check_object(object, __func__, CULV_IPC_POOL, CULV_IPC_POOL_FABRIC, (const void *)out));
    d.handle = object->handle;
    d.label = object->info.name;
    return culv_mem_pool_import(object->device, &d, out);
}

culv_result culv_ipc_import_pool_memory(const culv_ipc_object *object, culv_mem_pool *pool,
                                        CUdeviceptr *out)
{
    culv_mem_pool_pointer data;
    CULVI_TRY(check_object(object, __func__, CULV_IPC_POOL_MEMORY, CULV_IPC_POOL_MEMORY,
                           (const void *)out));
    CULVI_REQUIRE(&object->device->voice, pool);
    memcpy(data.data, object->data, sizeof data.data);
    return culv_mem_pool_import_pointer(pool, &data, out);
}

culv_result culv_ipc_import_vmm(const culv_ipc_object *object, culv_vmm_allocation **out)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    CULVI_TRY(check_object(object, __func__, CULV_IPC_VMM, CULV_IPC_VMM_FABRIC, (const void *)out));
    d.handle = object->handle;
    d.size = object->info.allocation_size;
    d.exporter = object->info.device;
    d.label = object->info.name;
    return culv_vmm_import(object->device, &d, out);
}

static culv_result import_memory(const culv_ipc_object *object, culv_memory **out)
{
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = object->handle;
    d.size = object->info.allocation_size;
    d.dedicated = object->info.dedicated;
    d.exporter = object->info.device;
    d.label = object->info.name;
    return culv_memory_import(object->device, &d, out);
}

culv_result culv_ipc_import_buffer(const culv_ipc_object *object, culv_buffer **out)
{
    culv_memory *memory = NULL;
    culv_buffer_desc d = culv_buffer_desc_init();
    const bool cudas = object != NULL && object->info.kind == CULV_IPC_CUDA_MEMORY;
    CULVI_TRY(check_object(object, __func__, cudas ? CULV_IPC_CUDA_MEMORY : CULV_IPC_BUFFER,
                           CULV_IPC_VMM, (const void *)out));
    CULVI_TRY(cudas ? open_memory(object, __func__, &memory) : import_memory(object, &memory));
    d.offset = object->info.offset;
    d.size = object->info.size;
    d.label = object->info.name;
    culv_result result = culv_buffer_map(memory, &d, out);
    culv_memory_destroy(&memory); /* the buffer keeps the import */
    return result;
}

culv_result culv_ipc_import_image(const culv_ipc_object *object, culv_image **out)
{
    enum { COLOR_ATTACHMENT = 0x10 }; /* VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT */
    culv_memory *memory = NULL;
    culv_image_desc d = culv_image_desc_init();
    CULVI_TRY(check_object(object, __func__, CULV_IPC_IMAGE, CULV_IPC_IMAGE, (const void *)out));
    const culv_ipc_info *i = &object->info;
    CULVI_REFUSE_IF(
        i->tiling != CULV_IPC_TILING_OPTIMAL, &object->device->voice, i->name, CULV_REASON_TILING,
        "culv_ipc_import_image: '%s' is LINEAR, and CUDA's arrays read such images wrong; offer it as a BUFFER of its rows",
        i->name);
    CULVI_TRY(import_memory(object, &memory));
    d.offset = i->offset;
    d.format = i->format;
    d.type = i->image_type;
    d.width = i->width;
    d.height = i->height;
    d.depth = i->depth;
    d.array_layers = i->array_layers;
    d.mip_levels = i->mip_levels;
    d.color_attachment = (i->usage & COLOR_ATTACHMENT) != 0;
    d.label = i->name;
    culv_result result = culv_image_map(memory, &d, out);
    culv_memory_destroy(&memory); /* the image keeps the import */
    return result;
}

culv_result culv_ipc_import_semaphore(const culv_ipc_object *object, culv_semaphore **out)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    CULVI_TRY(
        check_object(object, __func__, CULV_IPC_SEMAPHORE, CULV_IPC_SEMAPHORE, (const void *)out));
    d.handle = object->handle;
    d.type = object->info.semaphore_type;
    d.value = object->info.value;
    d.exporter = object->info.device;
    d.label = object->info.name;
    return culv_semaphore_import(object->device, &d, out);
}
