/* SPDX-License-Identifier: MIT */
/* What imports of memory and of semaphores share: the handle is checked, the driver gets a
 * duplicate, and the caller's own handle stays as it is. */
#include "core/import.h"

#include "cuda/context.h"

culv_result culvi_import_check(const culv_device *device, culvi_import *import,
                               const culv_uuid *exporter)
{
    CULVI_TEXT(text, 96);
    culvi_text_add(&text, "%s.type", import->field);
    CULVI_TRY(culvi_handle_use_check(&device->voice, import->label, text.data, import->handle->type,
                                     import->use));
    CULVI_TRY(culvi_handle_check(&device->voice, import->label, import->field, import->source,
                                 import->handle, &import->facts));
    return culvi_check_exporter(device, import->label, exporter, import->what);
}

const culvi_handle_facts *culvi_import_known_facts(const culv_device *device)
{
    static const culvi_handle_facts nothing = {.reopens = false, .size_limit = UINT64_MAX};
    /* NVIDIA's file descriptors are of devices, and what is behind a Windows handle the system does
     * not tell. The twin's and Mesa's are files, which have a size and are reopened. */
    return device->caps.is_software && (int)CULVI_SYSTEM == (int)CULVI_SYSTEM_POSIX ? NULL
                                                                                    : &nothing;
}

culv_result culvi_import_trust(const culv_device *device, culvi_import *import)
{
    const culvi_handle_facts *known = culvi_import_known_facts(device);
    import->exported = true;
    if (known == NULL)
        return culvi_handle_check(&device->voice, import->label, import->field, import->source,
                                  import->handle, &import->facts);
    import->facts = *known;
    return CULV_OK;
}

/* dma-bufs: drivers differ in how they say that they take none, so any refusal of the handle itself
 * says so. */
static bool is_refusal(CUresult code)
{
    return code != CUDA_ERROR_OUT_OF_MEMORY && !culvi_cuda_sticky(code) && !culvi_cuda_gone(code);
}

/* Runs in the device's context. */
static culv_result give_duplicate(culv_device *device, const culvi_import *import, void *object)
{
    culvi_duplicate duplicate;
    CUresult r;
    if (import->refused != NULL ||
        (import->exported && culvi_handle_row_of(import->handle->type)->kind != CULVI_KIND_FD)) {
        r = import->give(device, import->handle, object);
    } else {
        CULVI_TRY(culvi_handle_lend_for(&device->voice, import->label, import->handle,
                                        &import->facts, &duplicate));
        r = import->give(device, &duplicate.handle, object);
        culvi_handle_lent_done(&duplicate, import->handle, r == CUDA_SUCCESS && !import->lent);
    }
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (import->refused != NULL)
        return culvi_fail_cuda(device, import->label, r, import->call, CULV_REASON_HANDLE_REFUSED,
                               "%s", import->refused);
    CULVI_TEXT(which, 160);
    CULVI_TEXT(text, 256);
    culvi_handle_describe(import->handle, &which);
    if (import->handle->type == CULV_HANDLE_DMA_BUF_FD && is_refusal(r))
        return culvi_fail_native(
            &device->voice, import->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
            CULV_NATIVE_CUDA, r, import->call,
            "the %s (%s) could not be imported as a dma-buf: %s of '%s' answered %d. CUDA imports dma-bufs on Tegra from Thor on (cuda.h), and this driver does not; export the memory as OPAQUE_FD, or let a graphics API copy it (in Vulkan culv_vk_dma_buf_bridge_create())",
            import->what, which.data, import->call, device->caps.name, (int)r);
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        culvi_text_add(&text, "there is no memory for it");
    else
        import->describe(object, &text);
    return culvi_fail_cuda(device, import->label, r, import->call, CULV_REASON_HANDLE_REFUSED,
                           "the %s (%s) could not be imported; %s", import->what, which.data,
                           text.data);
}

void culvi_source_set(culv_device *device, culvi_source *source, const culvi_source *from)
{
    CULVI_LOCKED(&device->lock, *source = from != NULL ? *from : (culvi_source){.handle = NULL});
}

culv_result culvi_source_export(const culv_device *device, const culvi_source *source,
                                const char *label, const char *what, culv_handle *out)
{
    if (source->handle != NULL) return source->handle(source->context, source->native, label, out);
    return culvi_fail(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "the attachment that the %s was imported by was detached while the device was suspended, so that it cannot be imported again: destroy it",
        what);
}

culv_result culvi_import_run_again(culv_device *device, culvi_import *import, void *object)
{
    culv_result result = culvi_import_trust(device, import);
    if (result == CULV_OK) result = give_duplicate(device, import, object);
    culvi_handle_close(import->handle);
    if (result == CULV_OK && import->count != NULL) ++*import->count;
    return result;
}

culv_result culvi_import_run(culv_device *device, const culvi_import *import, void *object)
{
    culvi_mutex_lock(&device->lock);
    culv_result result;
    CULVI_INSIDE(result, device, import->label, give_duplicate(device, import, object));
    if (result == CULV_OK) ++*import->count;
    culvi_mutex_unlock(&device->lock);
    if (result == CULV_OK) culvi_device_ref(device);
    return result;
}

/* The words for what came from no attachment: any graphics API may have made it ---------------- */

/* What has an owner came from an attachment. */
#define OF_NO_ATTACHMENT                                                                           \
    .api = CULV_NATIVE_NONE, .name = "graphics", .physical_device = "graphics device",             \
    .read_call = "the counter's read", .wait_call = "the wait", .signal_call = "the signal",       \
    .attach_desc = "the attachment's descriptor", .cross = "",                                     \
    .open_call = "the graphics API's open call", .memory_desc = "culv_memory_desc",                \
    .memory_size = "size"

const culvi_words culvi_plain_words = {
    OF_NO_ATTACHMENT,
    .memory = "memory object",
    .semaphore = "semaphore",
    .size = "in Vulkan VkMemoryAllocateInfo::allocationSize",
    .dedicated = "in Vulkan VkMemoryDedicatedAllocateInfo",
    .buffer_offset = "in Vulkan memoryOffset of vkBindBufferMemory",
    .image_offset = "in Vulkan memoryOffset of vkBindImageMemory",
    .plane_offset =
        "in Vulkan memoryOffset of VkBindImagePlaneMemoryInfo's bind of a DISJOINT image",
    .map_rows = "in Vulkan a LINEAR one by culv_vk_image_map_pitched()",
};

static const culvi_words direct_words = {
    OF_NO_ATTACHMENT,
    .memory = "heap or resource",
    .semaphore = "fence",
    .size = "in Direct3D 12 D3D12_HEAP_DESC::SizeInBytes or GetResourceAllocationInfo()",
    .dedicated = "in Direct3D 12 a committed resource, in Direct3D 11 every resource",
    .buffer_offset = "in Direct3D 12 HeapOffset of CreatePlacedResource",
    .image_offset = "in Direct3D 12 HeapOffset of CreatePlacedResource",
    .plane_offset = "which Direct3D has none of",
    .map_rows = "a buffer",
};

const culvi_words *culvi_words_of_handle(culv_handle_type type)
{
    switch (type) {
    case CULV_HANDLE_D3D12_HEAP:
    case CULV_HANDLE_D3D12_RESOURCE:
    case CULV_HANDLE_D3D11_RESOURCE:
    case CULV_HANDLE_D3D11_RESOURCE_KMT:
    case CULV_HANDLE_D3D12_FENCE:
    case CULV_HANDLE_D3D11_FENCE: return &direct_words;
    default: return &culvi_plain_words;
    }
}
