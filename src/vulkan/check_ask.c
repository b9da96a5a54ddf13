/* SPDX-License-Identifier: MIT */
/* The gate: what Vulkan is asked. */
#include "vulkan/vk.h"

typedef struct image_chain {
    VkImageFormatListCreateInfo list;
    VkImageStencilUsageCreateInfo stencil;
    VkVideoProfileListInfoKHR video;
    VkOpticalFlowImageFormatInfoNV flow;
    VkImageCompressionControlEXT compression;
} image_chain;

/* Copies a struct of the caller's chain, the first of its type, and puts it before `*head`. */
#define LINK(copy, from, head)                                                                     \
    do {                                                                                           \
        if ((copy).sType == (from)->sType) break;                                                  \
        memcpy(&(copy), (from), sizeof(copy));                                                     \
        (copy).pNext = *(head);                                                                    \
        *(head) = &(copy);                                                                         \
    } while (0)

/* The caller's structs that vkGetPhysicalDeviceImageFormatProperties2 takes too, in a chain of our
 * own. */
static void copy_chain(const void *chain, image_chain *copy, const void **head)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        switch ((int)s->sType) {
        case VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO: LINK(copy->list, s, head); break;
        case VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO: LINK(copy->stencil, s, head); break;
        case VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR: LINK(copy->video, s, head); break;
        case VK_STRUCTURE_TYPE_OPTICAL_FLOW_IMAGE_FORMAT_INFO_NV: LINK(copy->flow, s, head); break;
        case VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT:
            LINK(copy->compression, s, head);
            break;
        default: break;
        }
}

VkExternalMemoryProperties culvi_vk_buffer_sharing(const culvi_vk_instance *vk,
                                                   VkPhysicalDevice device,
                                                   const VkBufferCreateInfo *info,
                                                   VkExternalMemoryHandleTypeFlagBits type)
{
    const VkPhysicalDeviceExternalBufferInfo query = {
        CULVI_STYPE(PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO), .flags = info->flags,
        .usage = info->usage, .handleType = type};
    VkExternalBufferProperties answer = {CULVI_STYPE(EXTERNAL_BUFFER_PROPERTIES)};
    CULVI_VKI_DO(vk, vkGetPhysicalDeviceExternalBufferProperties, (device, &query, &answer));
    return answer.externalMemoryProperties;
}

bool culvi_vk_imports_buffers(const culv_vk_device *vk, const VkBufferCreateInfo *info,
                              VkExternalMemoryHandleTypeFlagBits type)
{
    return (culvi_vk_buffer_sharing(&vk->instance, vk->physical_device, info, type)
                .externalMemoryFeatures &
            VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0;
}

static bool has_disjoint(const culv_vk_device *vk, const VkImageCreateInfo *info)
{
    VkFormatProperties properties = {0};
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceFormatProperties,
                 (vk->physical_device, info->format, &properties));
    return ((info->tiling == VK_IMAGE_TILING_LINEAR ? properties.linearTilingFeatures
                                                    : properties.optimalTilingFeatures) &
            VK_FORMAT_FEATURE_DISJOINT_BIT) != 0;
}

/* type 0: not shared at all. */
static VkResult ask_image(const culv_vk_device *vk, const VkImageCreateInfo *info,
                          VkImageUsageFlags usage, VkExternalMemoryHandleTypeFlagBits type,
                          culvi_vk_answer *a)
{
    image_chain copy = {.list = {.viewFormatCount = 0}};
    VkPhysicalDeviceExternalImageFormatInfo external = {
        CULVI_STYPE(PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO), .handleType = type};
    VkPhysicalDeviceImageFormatInfo2 query = {CULVI_STYPE(PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2),
                                              .format = info->format,
                                              .type = info->imageType,
                                              .tiling = info->tiling,
                                              .usage = usage,
                                              .flags = info->flags};
    VkExternalImageFormatProperties shared = {CULVI_STYPE(EXTERNAL_IMAGE_FORMAT_PROPERTIES)};
    VkImageFormatProperties2 answer = {CULVI_STYPE(IMAGE_FORMAT_PROPERTIES_2)};
    /* VUID-VkImageCreateInfo-imageCreateFormatFeatures-02260, which is no part of what is asked
     * below. */
    if ((info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) && !has_disjoint(vk, info))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    if (type != 0) {
        query.pNext = &external;
        answer.pNext = &shared;
    }
    copy_chain(info->pNext, &copy, &query.pNext);
    VkResult r = CULVI_VKI(&vk->instance, vkGetPhysicalDeviceImageFormatProperties2,
                           (vk->physical_device, &query, &answer));
    a->external = shared.externalMemoryProperties;
    a->most = answer.imageFormatProperties;
    return r;
}

/* What the specification lists as answers about images that there are not. */
static bool no_such_image(VkResult r)
{
    switch ((int)r) {
    case VK_ERROR_FORMAT_NOT_SUPPORTED:
    case VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR:
    case VK_ERROR_VIDEO_PICTURE_LAYOUT_NOT_SUPPORTED_KHR:
    case VK_ERROR_VIDEO_PROFILE_OPERATION_NOT_SUPPORTED_KHR:
    case VK_ERROR_VIDEO_PROFILE_FORMAT_NOT_SUPPORTED_KHR:
    case VK_ERROR_VIDEO_PROFILE_CODEC_NOT_SUPPORTED_KHR: return true;
    default: return false;
    }
}

/* Mesa answers success with no feature where the handle type is not supported. */
static bool exported(VkResult r, const culvi_vk_answer *a)
{
    return r == VK_SUCCESS &&
           (a->external.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
}

/* Why it is not exported: whether it could be made otherwise, or with a usage less. */
static VkResult explain(const culv_vk_device *vk, const VkImageCreateInfo *info,
                        VkExternalMemoryHandleTypeFlagBits type, culvi_vk_answer *a)
{
    culvi_vk_answer other = {.result = VK_SUCCESS};
    VkResult r = ask_image(vk, info, info->usage, 0, &other);
    a->exists = r == VK_SUCCESS;
    for (uint32_t i = 0; i < 31 && (r == VK_SUCCESS || no_such_image(r)); i++) {
        VkImageUsageFlags rest = info->usage & ~(UINT32_C(1) << i);
        if (rest == info->usage || rest == 0) continue;
        r = ask_image(vk, info, rest, type, &other);
        if (exported(r, &other)) a->culprits |= UINT32_C(1) << i;
    }
    return no_such_image(r) ? VK_SUCCESS : r;
}

culv_result culvi_vk_ask_image_sharing(const culv_vk_device *vk, const char *label,
                                       const VkImageCreateInfo *info,
                                       VkExternalMemoryHandleTypeFlagBits type,
                                       culvi_vk_answer *out)
{
    culvi_vk_answer a = {.result = VK_SUCCESS};
    VkResult r = a.result = ask_image(vk, info, info->usage, type, &a);
    if (no_such_image(r) || (r == VK_SUCCESS && type != 0 && !exported(r, &a))) {
        a.external.externalMemoryFeatures = 0;
        r = explain(vk, info, type, &a);
    }
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, label, r, "vkGetPhysicalDeviceImageFormatProperties2",
                               "whether such images can be shared is unknown");
    *out = a;
    return CULV_OK;
}

/* Mesa answers a size of 0 where it could not make the resource. */
static bool told(const VkMemoryRequirements2 *requirements,
                 const VkMemoryDedicatedRequirements *dedicated, culvi_vk_needs *out)
{
    if (requirements->memoryRequirements.size == 0 ||
        requirements->memoryRequirements.memoryTypeBits == 0)
        return false;
    *out = (culvi_vk_needs){.memory = requirements->memoryRequirements,
                            .requires_dedicated = dedicated->requiresDedicatedAllocation,
                            .prefers_dedicated = dedicated->prefersDedicatedAllocation};
    return true;
}

bool culvi_vk_ask_buffer_needs(const culv_vk_device *vk, const VkBufferCreateInfo *info,
                               VkExternalMemoryHandleTypeFlagBits type, culvi_vk_needs *out)
{
    VkMemoryDedicatedRequirements dedicated = {CULVI_STYPE(MEMORY_DEDICATED_REQUIREMENTS)};
    VkMemoryRequirements2 answer = {CULVI_STYPE(MEMORY_REQUIREMENTS_2), .pNext = &dedicated};
    VkExternalMemoryBufferCreateInfo external = {
        CULVI_STYPE(EXTERNAL_MEMORY_BUFFER_CREATE_INFO), .pNext = info->pNext,
        .handleTypes = (VkExternalMemoryHandleTypeFlags)type};
    VkBufferCreateInfo planned = *info;
    VkDeviceBufferMemoryRequirements query = {CULVI_STYPE(DEVICE_BUFFER_MEMORY_REQUIREMENTS),
                                              .pCreateInfo = &planned};
    if (!vk->tells_needs) return false;
    if (culvi_vk_chain_find(info->pNext, external.sType) == NULL) planned.pNext = &external;
    CULVI_VK_DO(vk, vkGetDeviceBufferMemoryRequirements, (vk->vk_device, &query, &answer));
    return told(&answer, &dedicated, out);
}

/* Asks what one plane needs, or all of them (VK_IMAGE_ASPECT_NONE). */
static bool ask_needs(const culv_vk_device *vk, const VkImageCreateInfo *info,
                      VkExternalMemoryHandleTypeFlagBits type, VkImageAspectFlagBits plane,
                      culvi_vk_needs *out)
{
    VkMemoryDedicatedRequirements dedicated = {CULVI_STYPE(MEMORY_DEDICATED_REQUIREMENTS)};
    VkMemoryRequirements2 answer = {CULVI_STYPE(MEMORY_REQUIREMENTS_2), .pNext = &dedicated};
    VkExternalMemoryImageCreateInfo external = {
        CULVI_STYPE(EXTERNAL_MEMORY_IMAGE_CREATE_INFO), .pNext = info->pNext,
        .handleTypes = (VkExternalMemoryHandleTypeFlags)type};
    VkImageCreateInfo planned = *info;
    VkDeviceImageMemoryRequirements query = {CULVI_STYPE(DEVICE_IMAGE_MEMORY_REQUIREMENTS),
                                             .pCreateInfo = &planned, .planeAspect = plane};
    if (culvi_vk_chain_find(info->pNext, external.sType) == NULL) planned.pNext = &external;
    CULVI_VK_DO(vk, vkGetDeviceImageMemoryRequirements, (vk->vk_device, &query, &answer));
    return told(&answer, &dedicated, out);
}

static bool ask_planes(const culv_vk_device *vk, const VkImageCreateInfo *info,
                       VkExternalMemoryHandleTypeFlagBits type, uint32_t planes,
                       culvi_vk_needs *out)
{
    culvi_vk_needs all = {.planes = planes}, one;
    for (uint32_t i = 0; i < planes; i++) {
        if (!ask_needs(vk, info, type, culvi_vk_plane_aspect(i), &one)) return false;
        all.plane[i] = one.memory;
        all.requires_dedicated = all.requires_dedicated || one.requires_dedicated;
        all.prefers_dedicated = all.prefers_dedicated || one.prefers_dedicated;
    }
    culvi_vk_needs_add_up(&all);
    *out = all;
    return true;
}

bool culvi_vk_ask_image_needs(const culv_vk_device *vk, const VkImageCreateInfo *info,
                              VkExternalMemoryHandleTypeFlagBits type, culvi_vk_needs *out)
{
    const uint32_t planes = culvi_vk_disjoint_planes(info);
    if (!vk->tells_needs) return false;
    return planes > 0 ? ask_planes(vk, info, type, planes, out)
                      : ask_needs(vk, info, type, VK_IMAGE_ASPECT_NONE, out);
}
