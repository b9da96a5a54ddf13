/* SPDX-License-Identifier: MIT */
/* The gate of what Culvert makes: whether a path has it, and how CUDA maps it. */
#include "base/attempt.h"
#include "vulkan/vk_resource.h"

#include <inttypes.h>

static culv_result plan_buffer(culv_vk_device *vk, culvi_plan *plan)
{
    const culv_vk_buffer_create_desc *d = plan->desc;
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label, .origin = CULVI_VK_MADE_HERE};
    bool shared = plan->path == CULV_SHARING_SHARED;
    culv_result result = culvi_vk_check_buffer(vk, &ask, d->create_info, &verdict);
    /* What is wrong is so on any path; what cannot be shared may be copied. */
    if (result != CULV_OK && (shared || result != CULV_ERROR_UNSUPPORTED)) return result;
    plan->handle_types = shared ? (uint32_t)verdict.vk_handle_type : 0;
    plan->dedicated = shared && verdict.dedicated_only;
    plan->size = d->create_info->size;
    return CULV_OK;
}

/* What the gate may have left unasked when it refused to share the image. */
static culv_result check_unshared(culv_vk_device *vk, const char *label,
                                  const VkImageCreateInfo *info, const culvi_format *row)
{
    culvi_vk_verdict verdict = {.format = row};
    culvi_vk_answer a;
    if (culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) !=
        NULL)
        return culvi_fail(
            &vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "the pNext chain of VkImageCreateInfo has a VkExternalMemoryImageCreateInfo; "
            "leave it out: the image is not shared");
    const VkImageStencilUsageCreateInfo *stencil =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    const VkImageUsageFlags copied =
        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
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
            &vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
            CULV_NATIVE_VULKAN, a.result, "vkGetPhysicalDeviceImageFormatProperties2",
            "'%s' cannot make %s images with flags %#" PRIx32 " (DISJOINT takes a format that has "
            "VK_FORMAT_FEATURE_DISJOINT_BIT) and usage %#" PRIx32 "; copies through the host need "
            "TRANSFER_SRC and TRANSFER_DST in it",
            vk->base.name, row->name, info->flags, info->usage);
    uint32_t levels =
        culvi_image_most_levels(info->extent.width, info->extent.height, info->extent.depth);
    verdict.most = a.most;
    if (verdict.most.maxMipLevels > levels) verdict.most.maxMipLevels = levels;
    return culvi_vk_check_image_size(vk, label, info, &verdict);
}

/* Whether CUDA can have arrays of it; else its texels lie in linear memory, as they are stored. */
static culv_result has_arrays(culv_vk_device *vk, const culv_vk_image_create_desc *d,
                              const culvi_format *row, bool *out)
{
    bool stored = d->texels == CULV_TEXELS_STORED;
    if (!stored && !row->mapped)
        return culvi_fail(
            &vk->base.device->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "no CUDA array has the format %s, and the linear memory that takes its place (HOST "
            "sharing) holds texels as they are stored: leave culv_vk_image_create_desc.texels at "
            "CULV_TEXELS_STORED",
            row->name);
    if (stored) culvi_attempt_begin(); /* else a refusal is the answer */
    culv_result result = culvi_format_supported(vk->base.device, row, d->texels, d->label);
    if (stored) (void)culvi_attempt_end(NULL, result);
    *out = result == CULV_OK;
    return stored && result == CULV_ERROR_UNSUPPORTED ? CULV_OK : result;
}

static culv_result plan_image(culv_vk_device *vk, culvi_plan *plan)
{
    const culv_vk_image_create_desc *d = plan->desc;
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label,
                        .origin = CULVI_VK_MADE_HERE,
                        .texels = d->texels,
                        .no_surfaces = d->no_surfaces};
    bool shared = plan->path == CULV_SHARING_SHARED;
    culv_result result = culvi_vk_check_image(vk, &ask, d->create_info, &verdict);
    if (result != CULV_OK && (shared || result != CULV_ERROR_UNSUPPORTED)) return result;
    if (shared) {
        plan->handle_types = (uint32_t)verdict.vk_handle_type;
        plan->dedicated = verdict.dedicated_only;
        plan->image = verdict.image;
        return CULV_OK;
    }
    VkImageCreateInfo info = *d->create_info;
    info.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    plan->handle_types = 0;
    plan->dedicated = false;
    plan->row = culvi_format_find((uint32_t)info.format);
    if (plan->row == NULL) return result;
    result = check_unshared(vk, d->label, &info, plan->row);
    if (result == CULV_OK) result = has_arrays(vk, d, plan->row, &plan->arrays);
    if (result == CULV_OK) plan->image = culvi_vk_describe_image(&info, &ask, plan->row);
    return result;
}

culv_result culvi_vk_plan_native(culvi_graphics *graphics, culvi_plan *plan)
{
    culv_vk_device *vk = culvi_vk_of(graphics);
    return plan->is_image ? plan_image(vk, plan) : plan_buffer(vk, plan);
}
