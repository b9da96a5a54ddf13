/* SPDX-License-Identifier: MIT */
/* The gate: what Vulkan is asked, and asked once. */
#include "vulkan/vk.h"

/* Answers, kept: asking again costs a hash and a comparison ------------------------------------ */

_Static_assert(sizeof(culvi_vk_question) == 8 * 3 + 4 * 20, "no padding, and whole words");

/* FNV-1a over words; never 0, which marks an empty entry. */
static uint32_t hash(const culvi_vk_question *question)
{
    uint32_t words[sizeof *question / sizeof(uint32_t)];
    uint32_t h = 2166136261u;
    memcpy(words, question, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        h = (h ^ words[i]) * 16777619u;
    return h != 0 ? h : 1;
}

/* The entry of a question, or CULVI_VK_ANSWERS. The caller holds the lock. */
static uint32_t find(const culvi_vk_known *known, const culvi_vk_question *question, uint32_t h)
{
    uint32_t i = 0;
    while (i < CULVI_VK_ANSWERS &&
           (known->hashes[i] != h ||
            memcmp(&known->entries[i].question, question, sizeof *question) != 0))
        i++;
    return i;
}

static bool recall(culv_vk_device *vk, const culvi_vk_question *question, culvi_vk_answer *out)
{
    culvi_vk_known *known = &vk->known;
    uint32_t h = hash(question);
    culvi_mutex_lock(&known->lock);
    uint32_t i = find(known, question, h);
    bool found = i < CULVI_VK_ANSWERS;
    if (found) *out = known->entries[i].answer;
    culvi_mutex_unlock(&known->lock);
    return found;
}

static void remember(culv_vk_device *vk, const culvi_vk_question *question,
                     const culvi_vk_answer *answer)
{
    culvi_vk_known *known = &vk->known;
    uint32_t h = hash(question);
    culvi_mutex_lock(&known->lock);
    /* Another thread may have asked the same by now. */
    if (find(known, question, h) == CULVI_VK_ANSWERS) {
        uint32_t i = known->next;
        known->next = (i + 1) % CULVI_VK_ANSWERS;
        known->hashes[i] = h;
        known->entries[i].question = *question;
        known->entries[i].answer = *answer;
    }
    culvi_mutex_unlock(&known->lock);
}

/* Questions ------------------------------------------------------------------------------------ */

/* VkVideoProfileListInfoKHR, VkOpticalFlowImageFormatInfoNV and VkImageCompressionControlEXT belong
 * to what is asked as well; they are handed on, and answers that depend on them are not kept. */
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

/* False: the chain has what the question has no words for. */
static bool question_chain(const void *chain, VkExternalMemoryHandleTypeFlags type,
                           culvi_vk_question *q)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext) {
        const void *item = s;
        const VkImageFormatListCreateInfo *list = item;
        const VkImageStencilUsageCreateInfo *stencil = item;
        const VkExternalMemoryImageCreateInfo *image = item;
        const VkExternalMemoryBufferCreateInfo *buffer = item;
        switch ((int)s->sType) {
        case VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO:
            if (list->viewFormatCount > sizeof q->view_formats / sizeof q->view_formats[0])
                return false;
            q->lists |= CULVI_VK_LISTED_FORMATS;
            q->view_format_count = list->viewFormatCount;
            for (uint32_t i = 0; i < list->viewFormatCount; i++)
                q->view_formats[i] = (uint32_t)list->pViewFormats[i];
            break;
        case VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO:
            q->lists |= CULVI_VK_LISTED_STENCIL;
            q->stencil_usage = stencil->stencilUsage;
            break;
        case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO:
            if (image->handleTypes != type) return false;
            break;
        case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO:
            if (buffer->handleTypes != type) return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* Families that the gate has let through are the device's, which has fewer than 64. */
static bool question_families(VkSharingMode mode, uint32_t count, const uint32_t *families,
                              culvi_vk_question *q)
{
    q->sharing = (uint32_t)mode;
    for (uint32_t i = 0; mode == VK_SHARING_MODE_CONCURRENT && i < count; i++) {
        if (families[i] >= 64) return false;
        q->families |= UINT64_C(1) << families[i];
    }
    return true;
}

static bool question_image(const VkImageCreateInfo *info, VkExternalMemoryHandleTypeFlagBits type,
                           culvi_vk_question *q)
{
    q->handle_type = (uint32_t)type;
    q->flags = info->flags;
    q->usage = info->usage;
    q->format = (uint32_t)info->format;
    q->type = (uint32_t)info->imageType;
    q->tiling = (uint32_t)info->tiling;
    return question_chain(info->pNext, type, q);
}

void culvi_vk_ask_buffer_sharing(culv_vk_device *vk, const VkBufferCreateInfo *info,
                                 VkExternalMemoryHandleTypeFlagBits type,
                                 VkExternalMemoryProperties *out)
{
    culvi_vk_question q = {.kind = CULVI_VK_BUFFER_SHARING,
                           .handle_type = (uint32_t)type,
                           .flags = info->flags,
                           .usage = info->usage};
    culvi_vk_answer a = {.result = VK_SUCCESS};
    if (!recall(vk, &q, &a)) {
        VkPhysicalDeviceExternalBufferInfo query = {
            CULVI_STYPE(PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO), .flags = info->flags,
            .usage = info->usage, .handleType = type};
        VkExternalBufferProperties answer = {CULVI_STYPE(EXTERNAL_BUFFER_PROPERTIES)};
        CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceExternalBufferProperties,
                     (vk->physical_device, &query, &answer));
        a.external = answer.externalMemoryProperties;
        remember(vk, &q, &a);
    }
    *out = a.external;
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

culv_result culvi_vk_ask_image_sharing(culv_vk_device *vk, const char *label,
                                       const VkImageCreateInfo *info,
                                       VkExternalMemoryHandleTypeFlagBits type,
                                       culvi_vk_answer *out)
{
    culvi_vk_question q = {.kind = CULVI_VK_IMAGE_SHARING};
    culvi_vk_answer a = {.result = VK_SUCCESS};
    bool keep = question_image(info, type, &q);
    if (keep && recall(vk, &q, out)) return CULV_OK;
    VkResult r = a.result = ask_image(vk, info, info->usage, type, &a);
    if (no_such_image(r) || (r == VK_SUCCESS && type != 0 && !exported(r, &a))) {
        a.external.externalMemoryFeatures = 0;
        r = explain(vk, info, type, &a);
    }
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, label, r, "vkGetPhysicalDeviceImageFormatProperties2",
                               "whether such images can be shared is unknown");
    if (keep) remember(vk, &q, &a);
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

bool culvi_vk_ask_buffer_needs(culv_vk_device *vk, const VkBufferCreateInfo *info,
                               VkExternalMemoryHandleTypeFlagBits type, culvi_vk_needs *out)
{
    culvi_vk_question q = {.kind = CULVI_VK_BUFFER_NEEDS,
                           .handle_type = (uint32_t)type,
                           .size = info->size,
                           .flags = info->flags,
                           .usage = info->usage};
    culvi_vk_answer a = {.result = VK_SUCCESS};
    if (!vk->tells_needs) return false;
    bool keep = question_chain(info->pNext, (VkExternalMemoryHandleTypeFlags)type, &q);
    keep = question_families(info->sharingMode, info->queueFamilyIndexCount,
                             info->pQueueFamilyIndices, &q) &&
           keep;
    if (!keep || !recall(vk, &q, &a)) {
        VkMemoryDedicatedRequirements dedicated = {CULVI_STYPE(MEMORY_DEDICATED_REQUIREMENTS)};
        VkMemoryRequirements2 answer = {CULVI_STYPE(MEMORY_REQUIREMENTS_2), .pNext = &dedicated};
        VkExternalMemoryBufferCreateInfo external = {
            CULVI_STYPE(EXTERNAL_MEMORY_BUFFER_CREATE_INFO), .pNext = info->pNext,
            .handleTypes = (VkExternalMemoryHandleTypeFlags)type};
        VkBufferCreateInfo planned = *info;
        VkDeviceBufferMemoryRequirements query = {CULVI_STYPE(DEVICE_BUFFER_MEMORY_REQUIREMENTS),
                                                  .pCreateInfo = &planned};
        if (culvi_vk_chain_find(info->pNext, external.sType) == NULL) planned.pNext = &external;
        CULVI_VK_DO(vk, vkGetDeviceBufferMemoryRequirements, (vk->vk_device, &query, &answer));
        if (!told(&answer, &dedicated, &a.needs)) return false;
        if (keep) remember(vk, &q, &a);
    }
    *out = a.needs;
    return true;
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

bool culvi_vk_ask_image_needs(culv_vk_device *vk, const VkImageCreateInfo *info,
                              VkExternalMemoryHandleTypeFlagBits type, culvi_vk_needs *out)
{
    uint32_t planes = culvi_vk_disjoint_planes(info);
    culvi_vk_question q = {.kind = CULVI_VK_IMAGE_NEEDS,
                           .width = info->extent.width,
                           .height = info->extent.height,
                           .depth = info->extent.depth,
                           .levels = info->mipLevels,
                           .layers = info->arrayLayers};
    culvi_vk_answer a = {.result = VK_SUCCESS};
    if (!vk->tells_needs) return false;
    bool keep = question_image(info, type, &q);
    keep = question_families(info->sharingMode, info->queueFamilyIndexCount,
                             info->pQueueFamilyIndices, &q) &&
           keep;
    if (!keep || !recall(vk, &q, &a)) {
        bool known = planes > 0 ? ask_planes(vk, info, type, planes, &a.needs)
                                : ask_needs(vk, info, type, VK_IMAGE_ASPECT_NONE, &a.needs);
        if (!known) return false;
        if (keep) remember(vk, &q, &a);
    }
    *out = a.needs;
    return true;
}
