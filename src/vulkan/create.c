/* Buffers and images that Culvert makes: checked, created, exported, imported and mapped, or nothing.
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_fallback.h"

#include <string.h>

static culv_result null_argument(const culv_vk *vk, const char *call, const void *desc)
{
    return culvi_fail(vk != NULL ? &vk->base.device->voice : NULL, NULL, CULV_ERROR_INVALID,
                      CULV_REASON_NULL_ARGUMENT, "%s: %s is NULL", call,
                      vk == NULL     ? "vk"
                      : desc == NULL ? "desc"
                                     : "out");
}

static culv_result no_create_info(const culvi_voice *voice, const char *label, const char *desc)
{
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "%s.create_info is NULL",
                      desc);
}

/* Makes the resource and imports its memory: all or nothing. */
static culv_result make(culv_vk *vk, const culvi_vk_plan *plan, culvi_vk_resource *out, culv_memory **import)
{
    culvi_vk_resource made;
    culv_result result = culvi_vk_resource_create(vk, plan, &made);
    if (result != CULV_OK) return result;
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = made.memory;
    d.allocation_size = made.size;
    d.dedicated = made.dedicated;
    d.label = plan->label;
    result = culv_vk_memory_import(vk, &d, import);
    if (result != CULV_OK) {
        culvi_vk_resource_destroy(vk, &made);
        return result;
    }
    *out = made;
    return CULV_OK;
}

/* CUDA's mapping was given up before: import, resource, memory. The host's pages, which Vulkan's memory is made of, go
 * last; the driver keeps others while somebody has them imported. */
static void unmake(culv_vk *vk, const culvi_vk_resource *resource, culv_memory **import)
{
    if ((*import)->host == NULL) culv_memory_destroy(import);
    culvi_vk_resource_destroy(vk, resource);
    culv_memory_destroy(import);
}

/* Buffers ------------------------------------------------------------------------------------------------- */

culv_result culvi_vk_buffer_share(culv_vk_buffer *b, const culv_vk_buffer_create_desc *d)
{
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label, .origin = CULVI_VK_MADE_HERE};
    culv_result result = culvi_vk_check_shares(b->vk, d->label, false);
    if (result == CULV_OK) result = culvi_vk_check_buffer(b->vk, &ask, d->create_info, &verdict);
    if (result != CULV_OK) return result;
    culvi_vk_plan plan = {.label = d->label,
                          .buffer = d->create_info,
                          .handle_types = (VkExternalMemoryHandleTypeFlags)verdict.vk_handle_type,
                          .dedicated = verdict.dedicated_only,
                          .memory_properties = d->memory_properties};
    result = make(b->vk, &plan, &b->resource, &b->import);
    if (result != CULV_OK) return result;
    culv_buffer_desc map = culv_buffer_desc_init();
    map.size = d->create_info->size;
    map.label = d->label;
    result = culv_buffer_map(b->import, &map, &b->cuda);
    if (result != CULV_OK) {
        unmake(b->vk, &b->resource, &b->import);
        return result;
    }
    b->cuda->owned = true;
    return CULV_OK;
}

static culv_result check_host(const culvi_voice *voice, const culv_vk_buffer_create_desc *d)
{
    const char *wrong = NULL;
    if (d->host == 0 && (d->host_pointer != NULL || d->host_size != 0))
        wrong = "host is not set, but host_pointer or host_size is; set it for a buffer in host memory";
    else if (d->host_pointer == NULL && d->host_size != 0)
        wrong = "host_size says how much is at host_pointer, which is NULL; leave it 0";
    else if (d->host != 0 && d->fallback != 0)
        wrong = "host and fallback are both set; a buffer in host memory is used in place, and no copy can "
                "be that";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_buffer_create_desc: %s", wrong);
}

culv_result culv_vk_buffer_create(culv_vk *vk, const culv_vk_buffer_create_desc *desc, culv_vk_buffer **out)
{
    culv_vk_buffer_create_desc d;
    if (vk == NULL || desc == NULL || out == NULL) return null_argument(vk, "culv_vk_buffer_create", desc);
    const culvi_voice *voice = &vk->base.device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_buffer_create_desc");
    if (result != CULV_OK) return result;
    if (d.create_info == NULL) return no_create_info(voice, d.label, "culv_vk_buffer_create_desc");
    result = check_host(voice, &d);
    if (result != CULV_OK) return result;
    culv_vk_buffer *buffer = culvi_alloc(sizeof *buffer);
    if (buffer == NULL) return culvi_fail_host_memory(voice, d.label);
    buffer->vk = vk;
    result = d.host != 0       ? culvi_vk_buffer_share_host(buffer, &d)
             : d.fallback != 0 ? culvi_vk_buffer_fall_back(buffer, &d)
                               : culvi_vk_buffer_share(buffer, &d);
    if (result != CULV_OK) {
        culvi_free(buffer);
        return result;
    }
    culvi_graphics_ref(&vk->base);
    culvi_graphics_count_created(&vk->base, true);
    *out = buffer;
    return CULV_OK;
}

static void destroy_buffer(culv_vk_buffer **buffer, bool has_last_use, CUstream last_use)
{
    if (buffer == NULL || *buffer == NULL) return;
    culv_vk_buffer *mine = *buffer;
    *buffer = NULL;
    culv_vk *vk = mine->vk;
    culvi_vk_stage_destroy(vk, &mine->stage);
    culvi_buffer_give_up(mine->cuda, has_last_use, last_use);
    unmake(vk, &mine->resource, &mine->import);
    culvi_free(mine);
    culvi_graphics_count_created(&vk->base, false);
    culvi_graphics_unref(&vk->base);
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
    return buffer != NULL ? buffer->resource.buffer : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_buffer_memory(const culv_vk_buffer *buffer, VkDeviceSize *size)
{
    if (size != NULL) *size = buffer != NULL ? buffer->resource.size : 0;
    return buffer != NULL ? buffer->resource.memory : VK_NULL_HANDLE;
}

culv_buffer *culv_vk_buffer_cuda(const culv_vk_buffer *buffer)
{
    return buffer != NULL ? buffer->cuda : NULL;
}

/* Images -------------------------------------------------------------------------------------------------- */

culv_result culvi_vk_image_share(culv_vk_image *i, const culv_vk_image_create_desc *d)
{
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {
        .label = d->label, .origin = CULVI_VK_MADE_HERE, .texels = d->texels, .no_surfaces = d->no_surfaces};
    culv_result result = culvi_vk_check_shares(i->vk, d->label, false);
    if (result == CULV_OK) result = culvi_vk_check_image(i->vk, &ask, d->create_info, &verdict);
    if (result != CULV_OK) return result;
    culvi_vk_plan plan = {.label = d->label,
                          .image = d->create_info,
                          .handle_types = (VkExternalMemoryHandleTypeFlags)verdict.vk_handle_type,
                          .dedicated = verdict.dedicated_only,
                          .memory_properties = d->memory_properties};
    result = make(i->vk, &plan, &i->resource, &i->import);
    if (result != CULV_OK) return result;
    culv_image_desc map = verdict.image;
    map.label = d->label;
    memcpy(map.plane_offsets, i->resource.plane_offsets, sizeof map.plane_offsets);
    result = culv_image_map(i->import, &map, &i->cuda);
    if (result != CULV_OK) {
        unmake(i->vk, &i->resource, &i->import);
        return result;
    }
    i->cuda->owned = true;
    return CULV_OK;
}

culv_result culv_vk_image_create(culv_vk *vk, const culv_vk_image_create_desc *desc, culv_vk_image **out)
{
    culv_vk_image_create_desc d;
    if (vk == NULL || desc == NULL || out == NULL) return null_argument(vk, "culv_vk_image_create", desc);
    const culvi_voice *voice = &vk->base.device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_image_create_desc");
    if (result != CULV_OK) return result;
    if (d.create_info == NULL) return no_create_info(voice, d.label, "culv_vk_image_create_desc");
    culv_vk_image *image = culvi_alloc(sizeof *image);
    if (image == NULL) return culvi_fail_host_memory(voice, d.label);
    image->vk = vk;
    result = d.fallback != 0 ? culvi_vk_image_fall_back(image, &d) : culvi_vk_image_share(image, &d);
    if (result != CULV_OK) {
        culvi_free(image);
        return result;
    }
    culvi_graphics_ref(&vk->base);
    culvi_graphics_count_created(&vk->base, true);
    *out = image;
    return CULV_OK;
}

static void destroy_image(culv_vk_image **image, bool has_last_use, CUstream last_use)
{
    if (image == NULL || *image == NULL) return;
    culv_vk_image *mine = *image;
    *image = NULL;
    culv_vk *vk = mine->vk;
    culvi_vk_stage_destroy(vk, &mine->stage);
    culvi_image_give_up(mine->cuda, has_last_use, last_use);
    unmake(vk, &mine->resource, &mine->import);
    culvi_free(mine);
    culvi_graphics_count_created(&vk->base, false);
    culvi_graphics_unref(&vk->base);
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
    return image != NULL ? image->resource.image : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_image_memory(const culv_vk_image *image, VkDeviceSize *size)
{
    if (size != NULL) *size = image != NULL ? image->resource.size : 0;
    return image != NULL ? image->resource.memory : VK_NULL_HANDLE;
}

culv_image *culv_vk_image_cuda(const culv_vk_image *image)
{
    return image != NULL ? image->cuda : NULL;
}
