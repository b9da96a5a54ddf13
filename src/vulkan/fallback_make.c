/* Fallbacks: buffers and images made on the paths that do not share. SPDX-License-Identifier: MIT */
#include "base/attempt.h"
#include "vulkan/vk_fallback.h"

#include <inttypes.h>
#include <string.h>

/* Buffers ---------------------------------------------------------------------------------------------------- */

static culv_result buffer_shared(void *object, const void *desc)
{
    return culvi_vk_buffer_share(object, desc);
}

/* CUDA's own memory, with the staging, which is its own from here on. */
static culv_result own_buffer(culv_vk_buffer *b, const culv_vk_buffer_create_desc *d, culvi_staging *staging)
{
    b->import = culvi_memory_own(b->vk->base.device, d->create_info->size, d->label);
    if (b->import == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    b->import->words = &culvi_vk_words;
    culv_result result = culv_buffer_map(b->import, NULL, &b->cuda);
    if (result != CULV_OK) {
        culv_memory_destroy(&b->import);
        return result;
    }
    b->cuda->owned = true;
    b->cuda->staging = staging;
    b->cuda->retired.holder = staging->native.holder;
    return CULV_OK;
}

static culv_result buffer_peer(void *object, const void *desc)
{
    culv_vk_buffer *b = object;
    const culv_vk_buffer_create_desc *d = desc;
    culv_device *device = b->vk->base.device;
    culv_vk_buffer far = {.vk = NULL};
    uint64_t size = d->create_info->size;
    culv_result result = culvi_vk_peer(b->vk, d->label, &far.vk);
    if (result == CULV_OK) result = culvi_vk_buffer_share(&far, d);
    if (result != CULV_OK) return result;
    culvi_staging *staging = culvi_staging_new(device, CULV_PATH_PEER, d->label, NULL, NULL, &size);
    if (staging != NULL) {
        staging->peer_buffer = far.cuda;
        result = own_buffer(b, d, staging);
    } else {
        culvi_buffer_give_up(far.cuda, false, NULL);
        result = CULV_ERROR_OUT_OF_MEMORY;
    }
    if (result != CULV_OK) culvi_staging_discard(device, staging);
    culv_memory_destroy(&far.import); /* the mapping keeps it */
    if (result == CULV_OK)
        b->resource = far.resource;
    else
        culvi_vk_resource_destroy(far.vk, &far.resource);
    return result;
}

static culv_result buffer_host(void *object, const void *desc)
{
    culv_vk_buffer *b = object;
    const culv_vk_buffer_create_desc *d = desc;
    culv_vk *vk = b->vk;
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label, .origin = CULVI_VK_MADE_HERE};
    culv_result result = culvi_vk_check_buffer(vk, &ask, d->create_info, &verdict);
    if (result != CULV_OK && result != CULV_ERROR_UNSUPPORTED) return result; /* wrong on any path */
    VkBufferCreateInfo info = *d->create_info;
    info.usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    culvi_vk_plan plan = {.label = d->label, .buffer = &info, .memory_properties = d->memory_properties};
    uint64_t size = info.size;
    culvi_staging *staging = culvi_staging_new(vk->base.device, CULV_PATH_HOST, d->label, NULL, NULL, &size);
    if (staging == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    result = culvi_vk_resource_create(vk, &plan, &b->resource);
    if (result != CULV_OK) goto discard_staging;
    result = culvi_vk_stage_create(vk, d->label, staging, &b->stage);
    if (result != CULV_OK) goto destroy_resource;
    result = own_buffer(b, d, staging);
    if (result == CULV_OK) return CULV_OK;
    culvi_vk_stage_destroy(vk, &b->stage);
destroy_resource:
    culvi_vk_resource_destroy(vk, &b->resource);
discard_staging:
    culvi_staging_discard(vk->base.device, staging);
    return result;
}

culv_result culvi_vk_buffer_fall_back(culv_vk_buffer *buffer, const culv_vk_buffer_create_desc *desc)
{
    static const culvi_vk_paths paths = {buffer_shared, buffer_peer, buffer_host};
    const culv_vk *vk = buffer->vk;
    culv_result result = culvi_vk_check_fallback(&vk->base.device->voice, desc->label,
                                                 "culv_vk_buffer_create_desc", desc->fallback);
    return result == CULV_OK ? culvi_vk_try_paths(vk, desc->label, desc->fallback, &paths, buffer, desc)
                             : result;
}

/* Images ----------------------------------------------------------------------------------------------------- */

static culv_result image_shared(void *object, const void *desc)
{
    return culvi_vk_image_share(object, desc);
}

/* CUDA's own arrays (or linear memory), with the staging, which is its own from here on. */
static culv_result own_image(culv_vk_image *i, const char *label, const culvi_format *row,
                             const culv_image_desc *map, uint64_t size, bool arrays, culvi_staging *staging)
{
    culv_image_desc d = *map;
    d.label = label;
    i->import = culvi_memory_own(i->vk->base.device, size, label);
    if (i->import == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    i->import->words = &culvi_vk_words;
    culv_result result = arrays ? culv_image_map(i->import, &d, &i->cuda)
                                : culvi_image_make_linear(i->import, row, &d, staging, &i->cuda);
    if (result == CULV_OK && arrays) {
        result = culvi_image_set_staging(i->cuda, staging);
        if (result != CULV_OK) culvi_image_give_up(i->cuda, false, NULL);
    }
    if (result != CULV_OK) {
        culv_memory_destroy(&i->import);
        return result;
    }
    i->cuda->owned = true;
    i->cuda->retired.holder = staging->native.holder;
    return CULV_OK;
}

static culv_result image_peer(void *object, const void *desc)
{
    culv_vk_image *i = object;
    const culv_vk_image_create_desc *d = desc;
    culv_device *device = i->vk->base.device;
    culv_vk_image far = {.vk = NULL};
    uint64_t size = 0;
    culv_result result = culvi_vk_peer(i->vk, d->label, &far.vk);
    if (result == CULV_OK) result = culvi_vk_image_share(&far, d);
    if (result != CULV_OK) return result;
    const culvi_format *row = far.cuda->row;
    culvi_staging *staging = culvi_staging_new(device, CULV_PATH_PEER, d->label, row, &far.cuda->desc, &size);
    if (staging != NULL) {
        staging->peer_image = far.cuda;
        result = own_image(i, d->label, row, &far.cuda->desc, size, true, staging);
    } else {
        culvi_image_give_up(far.cuda, false, NULL);
        result = CULV_ERROR_OUT_OF_MEMORY;
    }
    if (result != CULV_OK) culvi_staging_discard(device, staging);
    culv_memory_destroy(&far.import); /* the mapping keeps it */
    if (result == CULV_OK)
        i->resource = far.resource;
    else
        culvi_vk_resource_destroy(far.vk, &far.resource);
    return result;
}

/* What the gate may have left unasked when it refused to share the image. */
static culv_result check_unshared(culv_vk *vk, const char *label, const VkImageCreateInfo *info,
                                  const culvi_format *row)
{
    culvi_vk_verdict verdict = {.format = row};
    culvi_vk_answer a;
    if (culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) != NULL)
        return culvi_fail(
            &vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "the pNext chain of VkImageCreateInfo has a VkExternalMemoryImageCreateInfo; leave it out: "
            "the image is not shared");
    const VkImageStencilUsageCreateInfo *stencil =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    const VkImageUsageFlags copied = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (stencil != NULL && (stencil->stencilUsage & copied) != copied)
        return culvi_fail(&vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "VkImageStencilUsageCreateInfo::stencilUsage is %#" PRIx32
                          "; copies through the host need TRANSFER_SRC and TRANSFER_DST in it",
                          stencil->stencilUsage);
    culv_result result = culvi_vk_check_chroma(vk, label, info, row);
    if (result != CULV_OK) return result;
    result = culvi_vk_ask_image_sharing(vk, label, info, (VkExternalMemoryHandleTypeFlagBits)0, &a);
    if (result != CULV_OK) return result;
    if (a.result != VK_SUCCESS)
        return culvi_fail_native(
            &vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE, CULV_API_VULKAN,
            a.result, "vkGetPhysicalDeviceImageFormatProperties2",
            "'%s' makes no %s images with flags %#" PRIx32 " (DISJOINT takes a format that has "
            "VK_FORMAT_FEATURE_DISJOINT_BIT) and usage %#" PRIx32
            ", TRANSFER_SRC and TRANSFER_DST among it, which copies through the host need",
            vk->base.name, row->name, info->flags, info->usage);
    uint32_t levels = culvi_image_most_levels(info->extent.width, info->extent.height, info->extent.depth);
    verdict.most = a.most;
    if (verdict.most.maxMipLevels > levels) verdict.most.maxMipLevels = levels;
    return culvi_vk_check_image_size(vk, label, info, &verdict);
}

/* Whether CUDA can have arrays of it; else its texels lie in linear memory, as they are stored. */
static culv_result has_arrays(culv_vk *vk, const culv_vk_image_create_desc *d, const culvi_format *row,
                              bool *out)
{
    bool stored = d->texels == CULV_TEXELS_STORED;
    if (!stored && !row->mapped)
        return culvi_fail(
            &vk->base.device->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "no CUDA array has the format %s, and the linear memory that the HOST path has instead holds "
            "texels as they are stored: leave culv_vk_image_create_desc.texels at CULV_TEXELS_STORED",
            row->name);
    if (stored) culvi_attempt_begin(); /* else a refusal is the answer */
    culv_result result = culvi_format_supported(vk->base.device, row, d->texels, d->label);
    if (stored) (void)culvi_attempt_end(NULL, result);
    *out = result == CULV_OK;
    return stored && result == CULV_ERROR_UNSUPPORTED ? CULV_OK : result;
}

static culv_result image_host(void *object, const void *desc)
{
    culv_vk_image *i = object;
    const culv_vk_image_create_desc *d = desc;
    culv_vk *vk = i->vk;
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {
        .label = d->label, .origin = CULVI_VK_MADE_HERE, .texels = d->texels, .no_surfaces = d->no_surfaces};
    culv_result result = culvi_vk_check_image(vk, &ask, d->create_info, &verdict);
    if (result != CULV_OK && result != CULV_ERROR_UNSUPPORTED) return result; /* wrong on any path */
    VkImageCreateInfo info = *d->create_info;
    info.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const culvi_format *row = culvi_format_find((uint32_t)info.format);
    if (row == NULL) return result;
    result = check_unshared(vk, d->label, &info, row);
    bool arrays = false;
    if (result == CULV_OK) result = has_arrays(vk, d, row, &arrays);
    if (result != CULV_OK) return result;
    culv_image_desc map = culvi_vk_describe_image(&info, &ask, row);
    culvi_vk_plan plan = {.label = d->label, .image = &info, .memory_properties = d->memory_properties};
    uint64_t size = 0;
    culvi_staging *staging = culvi_staging_new(vk->base.device, CULV_PATH_HOST, d->label, row, &map, &size);
    if (staging == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    result = culvi_vk_resource_create(vk, &plan, &i->resource);
    if (result != CULV_OK) goto discard_staging;
    memcpy(map.plane_offsets, i->resource.plane_offsets, sizeof map.plane_offsets);
    result = culvi_vk_stage_create(vk, d->label, staging, &i->stage);
    if (result != CULV_OK) goto destroy_resource;
    result = own_image(i, d->label, row, &map, size, arrays, staging);
    if (result == CULV_OK) return CULV_OK;
    culvi_vk_stage_destroy(vk, &i->stage);
destroy_resource:
    culvi_vk_resource_destroy(vk, &i->resource);
discard_staging:
    culvi_staging_discard(vk->base.device, staging);
    return result;
}

culv_result culvi_vk_image_fall_back(culv_vk_image *image, const culv_vk_image_create_desc *desc)
{
    static const culvi_vk_paths paths = {image_shared, image_peer, image_host};
    const culv_vk *vk = image->vk;
    culv_result result = culvi_vk_check_fallback(&vk->base.device->voice, desc->label,
                                                 "culv_vk_image_create_desc", desc->fallback);
    return result == CULV_OK ? culvi_vk_try_paths(vk, desc->label, desc->fallback, &paths, image, desc)
                             : result;
}
