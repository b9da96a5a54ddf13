/* SPDX-License-Identifier: MIT */
/* Loading Vulkan functions, naming results, the lists of what a caller must enable. */
#include "vulkan/vk.h"

#include <stdio.h>

/* Vulkan's numbers in base/handle_rows.h, held against its header. */
enum {
#define CULVI_HANDLE(name, words, kind, system, dedicated, memory, binary, timeline, mutex, vmm,   \
                     vk_memory, vk_semaphore, gl)                                                  \
    MEMORY_##name = (vk_memory), SEMAPHORE_##name = (vk_semaphore),
#include "base/handle_rows.h"
#undef CULVI_HANDLE
};
#define SAME(of, name, bit)                                                                        \
    _Static_assert((int)of##_##name == (int)VK_EXTERNAL_##of##_HANDLE_TYPE_##bit,                  \
                   "as in vulkan_core.h")
SAME(MEMORY, OPAQUE_FD, OPAQUE_FD_BIT);
SAME(MEMORY, OPAQUE_WIN32, OPAQUE_WIN32_BIT);
SAME(MEMORY, OPAQUE_WIN32_KMT, OPAQUE_WIN32_KMT_BIT);
SAME(MEMORY, DMA_BUF_FD, DMA_BUF_BIT_EXT);
SAME(MEMORY, D3D12_HEAP, D3D12_HEAP_BIT);
SAME(MEMORY, D3D12_RESOURCE, D3D12_RESOURCE_BIT);
SAME(MEMORY, D3D11_RESOURCE, D3D11_TEXTURE_BIT);
SAME(MEMORY, D3D11_RESOURCE_KMT, D3D11_TEXTURE_KMT_BIT);
SAME(SEMAPHORE, OPAQUE_FD, OPAQUE_FD_BIT);
SAME(SEMAPHORE, OPAQUE_WIN32, OPAQUE_WIN32_BIT);
SAME(SEMAPHORE, OPAQUE_WIN32_KMT, OPAQUE_WIN32_KMT_BIT);
SAME(SEMAPHORE, D3D12_FENCE, D3D12_FENCE_BIT);
SAME(SEMAPHORE, D3D11_FENCE, D3D11_FENCE_BIT);

VkExternalMemoryHandleTypeFlagBits culvi_vk_memory_handle_bit(culv_handle_type type)
{
    return (VkExternalMemoryHandleTypeFlagBits)culvi_handle_number(type, CULVI_USE_VK_MEMORY);
}

VkExternalSemaphoreHandleTypeFlagBits culvi_vk_semaphore_handle_bit(culv_handle_type type)
{
    return (VkExternalSemaphoreHandleTypeFlagBits)culvi_handle_number(type, CULVI_USE_VK_SEMAPHORE);
}

const char culvi_vk_soft_layer[] = "VK_LAYER_CULVERT_soft";

/* The functions of culvi_vk_instance, one after another: all are required. */
static const char procs[] =
#define CULV_VK_INSTANCE(name, need) #name "\0"
#define CULV_VK_DEVICE(name, need)
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
    ;

culv_result culvi_vk_instance_load(const culvi_voice *voice, PFN_vkGetInstanceProcAddr get_proc,
                                   VkInstance instance, culvi_vk_instance *out)
{
    memset(out, 0, sizeof *out);
    out->handle = instance;
    out->voice = voice;
    char *at = (char *)&out->vkEnumeratePhysicalDevices;
    for (const char *name = procs; name[0] != '\0'; name += strlen(name) + 1) {
        const PFN_vkVoidFunction found = get_proc(instance, name);
        memcpy(at, &found, sizeof found);
        at += sizeof found;
        CULVI_REFUSE_IF(
            found == NULL, voice, NULL, CULV_REASON_VULKAN_VERSION,
            "get_instance_proc_addr does not know %s for this instance; create it with VkApplicationInfo::apiVersion 1.1 or higher",
            name);
    }
    return CULV_OK;
}

const char *culvi_vk_result_name(VkResult code)
{
    switch ((int)code) {
#define ROW(name)                                                                                  \
    case name: return #name;
        ROW(VK_SUCCESS)
        ROW(VK_NOT_READY)
        ROW(VK_TIMEOUT)
        ROW(VK_INCOMPLETE)
        ROW(VK_ERROR_OUT_OF_HOST_MEMORY)
        ROW(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        ROW(VK_ERROR_INITIALIZATION_FAILED)
        ROW(VK_ERROR_DEVICE_LOST)
        ROW(VK_ERROR_MEMORY_MAP_FAILED)
        ROW(VK_ERROR_LAYER_NOT_PRESENT)
        ROW(VK_ERROR_EXTENSION_NOT_PRESENT)
        ROW(VK_ERROR_FEATURE_NOT_PRESENT)
        ROW(VK_ERROR_TOO_MANY_OBJECTS)
        ROW(VK_ERROR_FORMAT_NOT_SUPPORTED)
        ROW(VK_ERROR_FRAGMENTATION)
        ROW(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
        ROW(VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR)
        ROW(VK_ERROR_VALIDATION_FAILED_EXT)
        ROW(VK_ERROR_INVALID_EXTERNAL_HANDLE)
        ROW(VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT)
        ROW(VK_ERROR_UNKNOWN)
#undef ROW
    default: return "an unlisted VkResult";
    }
}

culv_result culvi_fail_vk(const culvi_voice *voice, const char *object, VkResult code,
                          const char *call, culv_reason reason, const char *format, ...)
{
    char what[768];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    /* When something was not created for export, drivers answer a success without a handle, or that
     * it has none. */
    bool unasked = code == VK_SUCCESS || (reason == CULV_REASON_NOT_EXPORTABLE &&
                                          code == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    culv_result result = unasked ? CULV_ERROR_INVALID : CULV_ERROR_DRIVER;
    if (code == VK_ERROR_FORMAT_NOT_SUPPORTED || code == VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR)
        result = CULV_ERROR_UNSUPPORTED; /* what only the call itself told */
    result = culvi_vk_cause(code, result, &reason);
    if (code == VK_SUCCESS)
        return culvi_fail_native(voice, object, result, reason, CULV_NATIVE_VULKAN, code, call,
                                 "%s: %s succeeded but gave no handle", what, call);
    return culvi_fail_native(voice, object, result, reason, CULV_NATIVE_VULKAN, code, call,
                             "%s: %s answered %s (%d)", what, call, culvi_vk_result_name(code),
                             (int)code);
}

VkResult culvi_vk_wait_for_fence(const culv_vk_device *vk, VkFence fence)
{
    VkResult r = CULVI_VK(vk, vkWaitForFences, (vk->vk_device, 1, &fence, VK_TRUE, UINT64_MAX));
    /* What is given up next may still run, unless the device is lost, which it stays. */
    return r == VK_SUCCESS
               ? r
               : CULVI_VK(vk, vkWaitForFences, (vk->vk_device, 1, &fence, VK_TRUE, UINT64_MAX));
}

static uint32_t list(const char *const *names, uint32_t count, uint32_t capacity, const char **out)
{
    for (uint32_t i = 0; out != NULL && i < count && i < capacity; i++)
        out[i] = names[i];
    return count;
}

uint32_t culv_vk_device_extensions(uint32_t api_version, uint32_t capacity, const char **out_names)
{
    const char *const names[] = {culvi_vk_memory_extension, culvi_vk_semaphore_extension,
                                 VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME};
    return list(names, api_version < VK_API_VERSION_1_2 ? 3 : 2, capacity, out_names);
}

uint32_t culv_vk_optional_device_extensions(uint32_t api_version, uint32_t capacity,
                                            const char **out_names)
{
    const char *names[4];
    uint32_t count = 0;
    names[count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    if (CULVI_HANDLE_TYPES & 1 << CULV_HANDLE_DMA_BUF_FD)
        names[count++] = VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME;
    if (api_version < VK_API_VERSION_1_3) {
        names[count++] = VK_KHR_MAINTENANCE_4_EXTENSION_NAME;
        names[count++] = VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME;
    }
    return list(names, count, capacity, out_names);
}

uint32_t culv_vk_kernel_extensions(uint32_t api_version, uint32_t capacity, const char **out_names)
{
    const char *names[] = {VK_NVX_BINARY_IMPORT_EXTENSION_NAME,
                           VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME,
                           VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME};
    return list(names, api_version < VK_API_VERSION_1_2 ? 3 : 2, capacity, out_names);
}

static bool finds_soft_layer(PFN_vkEnumerateInstanceLayerProperties enumerate)
{
    uint32_t count = 0;
    bool found = false;
    if (enumerate(&count, NULL) != VK_SUCCESS || count == 0) return false;
    VkLayerProperties *layers = culvi_alloc(count * sizeof *layers);
    if (layers == NULL) return false;
    if (enumerate(&count, layers) >= VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(layers[i].layerName, culvi_vk_soft_layer) == 0;
    culvi_free(layers);
    return found;
}

uint32_t culv_vk_instance_layers(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                 uint32_t capacity, const char **out_names)
{
    static const char *const names[] = {culvi_vk_soft_layer};
    if (get_instance_proc_addr == NULL || !culvi_soft_allowed()) return 0;
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)get_instance_proc_addr(
            NULL, "vkEnumerateInstanceLayerProperties");
    if (enumerate == NULL) return 0;
    /* The environment is left alone where the loader finds the layer by itself. */
    bool found = finds_soft_layer(enumerate) ||
                 (culvi_soft_ask("culvSoftAddLayerPath") != NULL && finds_soft_layer(enumerate));
    return list(names, found ? 1 : 0, capacity, out_names);
}

void culvi_vk_add_layer_hint(culvi_text *text)
{
    const char *directory = culvi_soft_ask("culvSoftLayerPath");
    culvi_text_add(text, "enable what culv_vk_instance_layers() lists, after validation layers");
    if (directory == NULL) {
        culvi_text_add(
            text,
            "; if that list is empty, install VkLayer_culvert_soft.json, which is not where the twin's other files are, or set VK_ADD_LAYER_PATH to its directory");
        return;
    }
    const char *added = culvi_environment("VK_ADD_LAYER_PATH");
    culvi_text_add(text, "; if that list is empty, ");
    if (culvi_environment("VK_LAYER_PATH") != NULL)
        culvi_text_add(text, "add '%s' to VK_LAYER_PATH", directory);
    else if (added != NULL && strstr(added, directory) != NULL)
        culvi_text_add(
            text,
            "set VK_LAYER_PATH=%s, because this Vulkan loader does not find the layer by VK_ADD_LAYER_PATH",
            directory);
    else
        culvi_text_add(text, "set VK_ADD_LAYER_PATH=%s", directory);
}

/* Vulkan calls in the log ---------------------------------------------------------------------- */

static void add(culvi_text *text, unsigned kind, const void *pointer)
{
    const VkMemoryAllocateInfo *memory = pointer;
    const VkBufferCreateInfo *buffer = pointer;
    const VkImageCreateInfo *image = pointer;
    if (kind == CULVI_VALUE_vk_memory)
        culvi_text_add(text, "{%llu bytes of type %u}", (unsigned long long)memory->allocationSize,
                       memory->memoryTypeIndex);
    else if (kind == CULVI_VALUE_vk_buffer)
        culvi_text_add(text, "{%llu bytes, usage %#x, flags %#x}", (unsigned long long)buffer->size,
                       buffer->usage, buffer->flags);
    else
        culvi_text_add(
            text, "{%u x %u x %u, format %d, levels %u, layers %u, usage %#x, flags %#x}",
            image->extent.width, image->extent.height, image->extent.depth, (int)image->format,
            image->mipLevels, image->arrayLayers, image->usage, image->flags);
}

VkResult culvi_trace_vk(const culvi_voice *voice, const char *call, VkResult result, uint64_t kinds,
                        ...)
{
    va_list values;
    if (!culvi_traces(voice)) return result;
    va_start(values, kinds);
    culvi_trace(voice, call, culvi_vk_result_name(result), result >= 0, add, kinds, values);
    va_end(values);
    return result;
}

void culvi_trace_vk_done(const culvi_voice *voice, const char *call, uint64_t kinds, ...)
{
    va_list values;
    if (!culvi_traces(voice)) return;
    va_start(values, kinds);
    culvi_trace(voice, call, NULL, true, add, kinds, values);
    va_end(values);
}
