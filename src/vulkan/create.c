/* Buffers and images that Culvert makes: created, allocated, bound, exported, imported and mapped, or nothing.
 * SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>

/* Memory of one resource, imported. */
typedef struct shared_memory {
    VkDeviceMemory memory;
    VkDeviceSize size;
    bool dedicated;
    culv_memory *import;
} shared_memory;

struct culv_vk_buffer {
    culv_vk *vk;
    VkBuffer buffer;
    shared_memory memory;
    culv_buffer *cuda;
};

struct culv_vk_image {
    culv_vk *vk;
    VkImage image;
    shared_memory memory;
    culv_image *cuda;
};

typedef struct resource { /* one of the two */
    VkBuffer buffer;
    VkImage image;
} resource;

static culv_result find_memory_type(const culv_vk *vk, const char *label, uint32_t type_bits,
                                    VkMemoryPropertyFlags wanted, uint32_t *out)
{
    VkPhysicalDeviceMemoryProperties all;
    char buffer[256];
    culvi_text text = {buffer, sizeof buffer, 0};
    buffer[0] = '\0';
    vk->instance.vkGetPhysicalDeviceMemoryProperties(vk->physical_device, &all);
    for (uint32_t i = 0; i < all.memoryTypeCount; i++) {
        if (!(type_bits & (1u << i))) continue;
        if ((all.memoryTypes[i].propertyFlags & wanted) == wanted) {
            *out = i;
            return CULV_OK;
        }
        culvi_text_add(&text, " %#" PRIx32, all.memoryTypes[i].propertyFlags);
    }
    return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_MEMORY_TYPE,
                      "no memory type that the resource can have has the properties %#" PRIx32
                      " (VkMemoryPropertyFlags); those that it can have:%s",
                      wanted, buffer);
}

static culv_result allocate(culv_vk *vk, const char *label, const resource *what, const culvi_vk_needs *needs,
                            bool device_address, VkMemoryPropertyFlags wanted, shared_memory *out)
{
    uint32_t type = 0;
    if (wanted == 0) wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    culv_result result = find_memory_type(vk, label, needs->memory.memoryTypeBits, wanted, &type);
    if (result != CULV_OK) return result;
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = what->buffer,
                                               .image = what->image};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkExportMemoryAllocateInfo export_info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                              .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = &export_info,
                                 .allocationSize = needs->memory.size,
                                 .memoryTypeIndex = type};
    out->dedicated = needs->requires_dedicated || needs->prefers_dedicated;
    if (out->dedicated) {
        dedicated.pNext = info.pNext;
        info.pNext = &dedicated;
    }
    if (device_address) {
        flags.pNext = info.pNext;
        info.pNext = &flags;
    }
    VkResult r = vk->table.vkAllocateMemory(vk->vk_device, &info, NULL, &out->memory);
    if (r != VK_SUCCESS) {
        out->memory = VK_NULL_HANDLE;
        return culvi_fail_vk(&vk->device->voice, label, r, "vkAllocateMemory", CULV_REASON_DRIVER_REFUSED,
                             "%" PRIu64 " bytes of exportable memory (type %" PRIu32 ", %s) could not be had",
                             info.allocationSize, type, out->dedicated ? "dedicated" : "not dedicated");
    }
    out->size = info.allocationSize;
    return CULV_OK;
}

static culv_result bind(culv_vk *vk, const char *label, const resource *what, const shared_memory *memory)
{
    bool is_image = what->image != VK_NULL_HANDLE;
    VkResult r = is_image ? vk->table.vkBindImageMemory(vk->vk_device, what->image, memory->memory, 0)
                          : vk->table.vkBindBufferMemory(vk->vk_device, what->buffer, memory->memory, 0);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&vk->device->voice, label, r, is_image ? "vkBindImageMemory" : "vkBindBufferMemory",
                         CULV_REASON_DRIVER_REFUSED, "the memory could not be bound");
}

/* Allocates, binds and imports. What was made before an error is in *out, for discard(). */
static culv_result make_memory(culv_vk *vk, const char *label, const resource *what,
                               const culvi_vk_needs *needs, bool device_address, VkMemoryPropertyFlags wanted,
                               shared_memory *out)
{
    culv_result result = allocate(vk, label, what, needs, device_address, wanted, out);
    if (result == CULV_OK) result = bind(vk, label, what, out);
    if (result != CULV_OK) return result;
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = out->memory;
    d.allocation_size = out->size;
    d.dedicated = out->dedicated;
    d.label = label;
    return culv_vk_memory_import(vk, &d, &out->import);
}

/* CUDA's mapping is gone by now: import, resource, memory. */
static void discard(culv_vk *vk, const resource *what, shared_memory *memory)
{
    culv_memory_destroy(&memory->import);
    vk->table.vkDestroyBuffer(vk->vk_device, what->buffer, NULL);
    vk->table.vkDestroyImage(vk->vk_device, what->image, NULL);
    vk->table.vkFreeMemory(vk->vk_device, memory->memory, NULL);
}

static culv_result null_argument(const culv_vk *vk, const char *call, const void *desc)
{
    return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                      CULV_REASON_NULL_ARGUMENT, "%s: %s is NULL", call,
                      vk == NULL     ? "vk"
                      : desc == NULL ? "desc"
                                     : "out");
}

/* Buffers ------------------------------------------------------------------------------------------------- */

static culv_result create_buffer(culv_vk_buffer *b, const culv_vk_buffer_create_desc *d)
{
    culv_vk *vk = b->vk;
    culvi_vk_verdict verdict;
    culvi_vk_needs needs;
    culv_result result = culvi_vk_check_buffer(vk, d->label, d->create_info, &verdict);
    if (result != CULV_OK) return result;
    VkExternalMemoryBufferCreateInfo external = {.sType =
                                                     VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .pNext = d->create_info->pNext,
                                                 .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = *d->create_info;
    info.pNext = &external;
    VkResult r = vk->table.vkCreateBuffer(vk->vk_device, &info, NULL, &b->buffer);
    if (r != VK_SUCCESS) {
        b->buffer = VK_NULL_HANDLE;
        return culvi_fail_vk(&vk->device->voice, d->label, r, "vkCreateBuffer", CULV_REASON_DRIVER_REFUSED,
                             "an exportable buffer of %" PRIu64 " bytes could not be made", info.size);
    }
    culvi_vk_buffer_needs(vk, b->buffer, &needs);
    needs.requires_dedicated = needs.requires_dedicated || verdict.dedicated_only;
    bool address = (info.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
    resource made = {.buffer = b->buffer};
    result = make_memory(vk, d->label, &made, &needs, address, d->memory_properties, &b->memory);
    if (result != CULV_OK) return result;
    culv_buffer_desc map = culv_buffer_desc_init();
    map.size = info.size;
    map.label = d->label;
    result = culv_buffer_map(b->memory.import, &map, &b->cuda);
    if (result == CULV_OK) b->cuda->owned = true;
    return result;
}

culv_result culv_vk_buffer_create(culv_vk *vk, const culv_vk_buffer_create_desc *desc, culv_vk_buffer **out)
{
    culv_vk_buffer_create_desc d;
    if (vk == NULL || desc == NULL || out == NULL) return null_argument(vk, "culv_vk_buffer_create", desc);
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_buffer_create_desc");
    if (result != CULV_OK) return result;
    if (d.create_info == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_buffer_create_desc.create_info is NULL");
    culv_vk_buffer *buffer = culvi_alloc(sizeof *buffer);
    if (buffer == NULL) return culvi_fail_host_memory(voice, d.label);
    buffer->vk = vk;
    result = create_buffer(buffer, &d);
    if (result != CULV_OK) {
        resource made = {.buffer = buffer->buffer};
        discard(vk, &made, &buffer->memory);
        culvi_free(buffer);
        return result;
    }
    culvi_vk_ref(vk);
    culvi_vk_count_created(vk, true);
    *out = buffer;
    return CULV_OK;
}

static void destroy_buffer(culv_vk_buffer **buffer, bool has_last_use, CUstream last_use)
{
    if (buffer == NULL || *buffer == NULL) return;
    culv_vk_buffer *mine = *buffer;
    resource made = {.buffer = mine->buffer};
    *buffer = NULL;
    culv_vk *vk = mine->vk;
    culvi_buffer_give_up(mine->cuda, has_last_use, last_use);
    discard(vk, &made, &mine->memory);
    culvi_free(mine);
    culvi_vk_count_created(vk, false);
    culvi_vk_unref(vk);
}

void culv_vk_buffer_destroy(culv_vk_buffer **buffer)
{
    destroy_buffer(buffer, false, NULL);
}

void culv_vk_buffer_destroy_after(culv_vk_buffer **buffer, CUstream last_use)
{
    destroy_buffer(buffer, true, last_use);
}

VkBuffer culv_vk_buffer_handle(const culv_vk_buffer *buffer)
{
    return buffer != NULL ? buffer->buffer : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_buffer_memory(const culv_vk_buffer *buffer, VkDeviceSize *size)
{
    if (size != NULL) *size = buffer != NULL ? buffer->memory.size : 0;
    return buffer != NULL ? buffer->memory.memory : VK_NULL_HANDLE;
}

culv_buffer *culv_vk_buffer_cuda(const culv_vk_buffer *buffer)
{
    return buffer != NULL ? buffer->cuda : NULL;
}

/* Images -------------------------------------------------------------------------------------------------- */

static culv_result create_image(culv_vk_image *i, const culv_vk_image_create_desc *d)
{
    culv_vk *vk = i->vk;
    culvi_vk_verdict verdict;
    culvi_vk_needs needs;
    culv_result result = culvi_vk_check_image(vk, d->label, d->create_info, true, &verdict);
    if (result != CULV_OK) return result;
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                .pNext = d->create_info->pNext,
                                                .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = *d->create_info;
    info.pNext = &external;
    VkResult r = vk->table.vkCreateImage(vk->vk_device, &info, NULL, &i->image);
    if (r != VK_SUCCESS) {
        i->image = VK_NULL_HANDLE;
        return culvi_fail_vk(&vk->device->voice, d->label, r, "vkCreateImage", CULV_REASON_DRIVER_REFUSED,
                             "an exportable %s image of %" PRIu32 " x %" PRIu32 " could not be made",
                             verdict.format->name, info.extent.width, info.extent.height);
    }
    culvi_vk_image_needs(vk, i->image, &needs);
    needs.requires_dedicated = needs.requires_dedicated || verdict.dedicated_only;
    resource made = {.image = i->image};
    result = make_memory(vk, d->label, &made, &needs, false, d->memory_properties, &i->memory);
    if (result != CULV_OK) return result;
    culv_image_desc map = culvi_vk_image_desc(&info, 0, d->no_surfaces, d->label);
    result = culv_image_map(i->memory.import, &map, &i->cuda);
    if (result == CULV_OK) i->cuda->owned = true;
    return result;
}

culv_result culv_vk_image_create(culv_vk *vk, const culv_vk_image_create_desc *desc, culv_vk_image **out)
{
    culv_vk_image_create_desc d;
    if (vk == NULL || desc == NULL || out == NULL) return null_argument(vk, "culv_vk_image_create", desc);
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_image_create_desc");
    if (result != CULV_OK) return result;
    if (d.create_info == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_image_create_desc.create_info is NULL");
    culv_vk_image *image = culvi_alloc(sizeof *image);
    if (image == NULL) return culvi_fail_host_memory(voice, d.label);
    image->vk = vk;
    result = create_image(image, &d);
    if (result != CULV_OK) {
        resource made = {.image = image->image};
        discard(vk, &made, &image->memory);
        culvi_free(image);
        return result;
    }
    culvi_vk_ref(vk);
    culvi_vk_count_created(vk, true);
    *out = image;
    return CULV_OK;
}

static void destroy_image(culv_vk_image **image, bool has_last_use, CUstream last_use)
{
    if (image == NULL || *image == NULL) return;
    culv_vk_image *mine = *image;
    resource made = {.image = mine->image};
    *image = NULL;
    culv_vk *vk = mine->vk;
    culvi_image_give_up(mine->cuda, has_last_use, last_use);
    discard(vk, &made, &mine->memory);
    culvi_free(mine);
    culvi_vk_count_created(vk, false);
    culvi_vk_unref(vk);
}

void culv_vk_image_destroy(culv_vk_image **image)
{
    destroy_image(image, false, NULL);
}

void culv_vk_image_destroy_after(culv_vk_image **image, CUstream last_use)
{
    destroy_image(image, true, last_use);
}

VkImage culv_vk_image_handle(const culv_vk_image *image)
{
    return image != NULL ? image->image : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_image_memory(const culv_vk_image *image, VkDeviceSize *size)
{
    if (size != NULL) *size = image != NULL ? image->memory.size : 0;
    return image != NULL ? image->memory.memory : VK_NULL_HANDLE;
}

culv_image *culv_vk_image_cuda(const culv_vk_image *image)
{
    return image != NULL ? image->cuda : NULL;
}
