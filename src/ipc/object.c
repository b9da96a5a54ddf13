/* SPDX-License-Identifier: MIT */
/* culv_ipc_object: a received thing, and its way into CUDA. */
#include "base/message.h"
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

culv_result culvi_ipc_object_check(const culv_ipc_object *object, const char *call,
                                   culv_ipc_kind kind, culv_ipc_kind or_kind, const void *out)
{
    CULVI_REQUIRE(NULL, object);
    const culvi_voice *voice = culvi_ipc_voice(object->device);
    if (out == NULL) return culvi_fail_null(voice, call, "out");
    if (object->info.kind != kind && object->info.kind != or_kind)
        return culvi_fail(voice, object->info.name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: '%s' is %s, not %s", call, object->info.name,
                          kinds[object->info.kind], kinds[kind]);
    if (object->device == NULL)
        return culvi_fail(voice, object->info.name, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: the client was connected without a device; pass one to "
                          "culv_ipc_client_connect()",
                          call);
    return CULV_OK;
}

void culv_ipc_object_destroy(culv_ipc_object **object)
{
    culv_ipc_object *o = culvi_take(object);
    if (o == NULL) return;
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
    if (object->handle.type == CULV_HANDLE_NONE)
        return culvi_fail(culvi_ipc_voice(object->device), object->info.name, CULV_ERROR_INVALID,
                          CULV_REASON_HANDLE_TYPE,
                          "culv_ipc_object_get_handle: '%s' is %s, which has no handle of its own",
                          object->info.name, kinds[object->info.kind]);
    *out = object->handle;
    return CULV_OK;
}

culv_result culv_ipc_import_vmm(const culv_ipc_object *object, culv_vmm_allocation **out)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    CULVI_TRY(culvi_ipc_object_check(object, __func__, CULV_IPC_VMM, CULV_IPC_VMM_FABRIC,
                                     (const void *)out));
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
    CULVI_TRY(culvi_ipc_object_check(object, __func__,
                                     cudas ? CULV_IPC_CUDA_MEMORY : CULV_IPC_BUFFER, CULV_IPC_VMM,
                                     (const void *)out));
    CULVI_TRY(cudas ? culvi_ipc_open_memory(object, __func__, &memory)
                    : import_memory(object, &memory));
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
    CULVI_TRY(culvi_ipc_object_check(object, __func__, CULV_IPC_IMAGE, CULV_IPC_IMAGE,
                                     (const void *)out));
    const culv_ipc_info *i = &object->info;
    if (i->tiling != CULV_IPC_TILING_OPTIMAL)
        return culvi_fail(&object->device->voice, i->name, CULV_ERROR_INVALID, CULV_REASON_TILING,
                          "culv_ipc_import_image: '%s' is LINEAR, and CUDA's arrays read such "
                          "images wrong; offer it as a BUFFER of its rows",
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
    CULVI_TRY(culvi_ipc_object_check(object, __func__, CULV_IPC_SEMAPHORE, CULV_IPC_SEMAPHORE,
                                     (const void *)out));
    d.handle = object->handle;
    d.type = object->info.semaphore_type;
    d.value = object->info.value;
    d.exporter = object->info.device;
    d.label = object->info.name;
    return culv_semaphore_import(object->device, &d, out);
}
