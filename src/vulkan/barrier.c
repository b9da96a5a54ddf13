/* Queue-family barriers between a Vulkan queue and CUDA, as plain structs. SPDX-License-Identifier: MIT */
#include "vk.h"

#include <inttypes.h>

typedef enum direction { RELEASE, ACQUIRE } direction;

/* What each use means. Shader uses have the stage ALL_COMMANDS, since the queue is not known: a compute queue
 * has no fragment stage. Only flags that Vulkan 1.0 has too, so that both forms share the table. */
typedef struct use_row {
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 reads, writes;
    VkImageLayout layout; /* UNDEFINED: a use of buffers alone */
} use_row;

#define STAGE(name)  VK_PIPELINE_STAGE_2_##name##_BIT
#define ACCESS(name) VK_ACCESS_2_##name##_BIT
#define LAYOUT(name) VK_IMAGE_LAYOUT_##name

static const use_row uses[] = {
    [CULV_VK_USE_ANY] = {STAGE(ALL_COMMANDS), ACCESS(MEMORY_READ), ACCESS(MEMORY_WRITE), LAYOUT(GENERAL)},
    [CULV_VK_USE_VERTEX_BUFFER] = {STAGE(VERTEX_INPUT), ACCESS(VERTEX_ATTRIBUTE_READ), 0, LAYOUT(UNDEFINED)},
    [CULV_VK_USE_INDEX_BUFFER] = {STAGE(VERTEX_INPUT), ACCESS(INDEX_READ), 0, LAYOUT(UNDEFINED)},
    [CULV_VK_USE_INDIRECT_BUFFER] = {STAGE(DRAW_INDIRECT), ACCESS(INDIRECT_COMMAND_READ), 0,
                                     LAYOUT(UNDEFINED)},
    [CULV_VK_USE_UNIFORM] = {STAGE(ALL_COMMANDS), ACCESS(UNIFORM_READ), 0, LAYOUT(UNDEFINED)},
    [CULV_VK_USE_STORAGE_READ] = {STAGE(ALL_COMMANDS), ACCESS(SHADER_READ), 0, LAYOUT(GENERAL)},
    [CULV_VK_USE_STORAGE] = {STAGE(ALL_COMMANDS), ACCESS(SHADER_READ), ACCESS(SHADER_WRITE), LAYOUT(GENERAL)},
    [CULV_VK_USE_SAMPLED] = {STAGE(ALL_COMMANDS), ACCESS(SHADER_READ), 0, LAYOUT(SHADER_READ_ONLY_OPTIMAL)},
    [CULV_VK_USE_COLOR_ATTACHMENT] = {STAGE(COLOR_ATTACHMENT_OUTPUT), ACCESS(COLOR_ATTACHMENT_READ),
                                      ACCESS(COLOR_ATTACHMENT_WRITE), LAYOUT(COLOR_ATTACHMENT_OPTIMAL)},
    [CULV_VK_USE_TRANSFER_SRC] = {STAGE(TRANSFER), ACCESS(TRANSFER_READ), 0, LAYOUT(TRANSFER_SRC_OPTIMAL)},
    [CULV_VK_USE_TRANSFER_DST] = {STAGE(TRANSFER), 0, ACCESS(TRANSFER_WRITE), LAYOUT(TRANSFER_DST_OPTIMAL)},
};
enum { USE_COUNT = sizeof uses / sizeof uses[0] };

/* Both kinds of barrier share these. */
typedef struct half {
    VkPipelineStageFlags2 src_stage, dst_stage;
    VkAccessFlags2 src_access, dst_access;
    uint32_t src_family, dst_family;
    VkImageLayout old_layout, new_layout;
} half;

typedef struct request {
    const char *what; /* "buffer" or "image" */
    bool null_handle;
    uint32_t queue_family;
    culv_vk_use use;
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 access;
    VkImageLayout layout; /* images */
    bool discard;
} request;

static culv_result refuse(const request *r, culv_reason reason, const char *text)
{
    return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, reason, "culv_vk_%s_transfer%s", r->what, text);
}

static culv_result check(const request *r, bool is_image)
{
    if (r->null_handle) return refuse(r, CULV_REASON_NULL_ARGUMENT, ": its resource is VK_NULL_HANDLE");
    if (r->queue_family == VK_QUEUE_FAMILY_EXTERNAL || r->queue_family == VK_QUEUE_FAMILY_FOREIGN_EXT)
        return refuse(r, CULV_REASON_VALUE,
                      ".queue_family is a special family; pass the index of the family of the queue that the "
                      "barrier is submitted to (VK_QUEUE_FAMILY_IGNORED for VK_SHARING_MODE_CONCURRENT)");
    if ((uint32_t)r->use >= USE_COUNT) return refuse(r, CULV_REASON_VALUE, ".use is no culv_vk_use");
    if (!is_image && r->use == CULV_VK_USE_COLOR_ATTACHMENT)
        return refuse(r, CULV_REASON_VALUE, ".use is one of images; a buffer is no attachment");
    if (is_image && r->layout == VK_IMAGE_LAYOUT_UNDEFINED &&
        uses[r->use].layout == VK_IMAGE_LAYOUT_UNDEFINED)
        return refuse(r, CULV_REASON_VALUE, ".use is one of buffers; it gives no image layout");
    return CULV_OK;
}

/* Of a release the second scope is ignored, of an acquire the first; the semaphore orders the two halves. An
 * acquire's first scope is ALL_COMMANDS, so that it is ordered after the wait whatever stage that names. */
static half fill(const request *r, direction way)
{
    const use_row *use = &uses[r->use];
    VkPipelineStageFlags2 stage = r->stage != 0 ? r->stage : use->stage;
    VkImageLayout layout = r->layout != VK_IMAGE_LAYOUT_UNDEFINED ? r->layout : use->layout;
    VkImageLayout old_layout = way == RELEASE ? layout : VK_IMAGE_LAYOUT_GENERAL;
    half h = {.old_layout = r->discard ? VK_IMAGE_LAYOUT_UNDEFINED : old_layout,
              .new_layout = way == RELEASE ? VK_IMAGE_LAYOUT_GENERAL : layout};
    if (way == RELEASE) {
        h.src_stage = stage;
        h.src_access = r->access != 0 ? r->access : use->writes;
        h.dst_stage = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        h.src_family = r->queue_family;
        h.dst_family = VK_QUEUE_FAMILY_EXTERNAL;
    } else {
        h.src_stage = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        h.dst_stage = stage;
        h.dst_access = r->access != 0 ? r->access : use->reads | use->writes;
        h.src_family = VK_QUEUE_FAMILY_EXTERNAL;
        h.dst_family = r->queue_family;
    }
    return h;
}

/* The old flags are the low 32 bits of the new ones (31: both enums' FORCE), with the same meaning; two layouts
 * came with the new form. */
static culv_result check_old(const request *r, const half *h)
{
    if (r->layout == VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL || r->layout == VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL)
        return refuse(r, CULV_REASON_VALUE,
                      ".layout is one that came with synchronization2; use the barrier2 form, or "
                      "SHADER_READ_ONLY_OPTIMAL or COLOR_ATTACHMENT_OPTIMAL");
    if ((h->src_stage | h->dst_stage | h->src_access | h->dst_access) >> 31 == 0) return CULV_OK;
    return culvi_fail(
        NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_vk_%s_transfer has a stage (%#" PRIx64 ") or access (%#" PRIx64
        ") that only synchronization2 knows; use the barrier2 form, or one of Vulkan 1.0's flags",
        r->what, (uint64_t)r->stage, (uint64_t)r->access);
}

/* Buffers ------------------------------------------------------------------------------------------------- */

static culv_result read_buffer(const culv_vk_buffer_transfer *transfer, const void *out,
                               culv_vk_buffer_transfer *t, request *r)
{
    if (transfer == NULL || out == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "a barrier of culv_vk_buffer_transfer: %s is NULL",
                          transfer == NULL ? "transfer" : "out");
    culv_result result = culvi_desc_read(NULL, t, sizeof *t, transfer, "culv_vk_buffer_transfer");
    if (result != CULV_OK) return result;
    *r = (request){.what = "buffer",
                   .null_handle = t->buffer == VK_NULL_HANDLE,
                   .queue_family = t->queue_family,
                   .use = t->use,
                   .stage = t->stage,
                   .access = t->access};
    return check(r, false);
}

static culv_result buffer2(const culv_vk_buffer_transfer *transfer, direction way,
                           VkBufferMemoryBarrier2 *out)
{
    culv_vk_buffer_transfer t;
    request r;
    culv_result result = read_buffer(transfer, out, &t, &r);
    if (result != CULV_OK) return result;
    half h = fill(&r, way);
    *out = (VkBufferMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                    .srcStageMask = h.src_stage,
                                    .srcAccessMask = h.src_access,
                                    .dstStageMask = h.dst_stage,
                                    .dstAccessMask = h.dst_access,
                                    .srcQueueFamilyIndex = h.src_family,
                                    .dstQueueFamilyIndex = h.dst_family,
                                    .buffer = t.buffer,
                                    .offset = t.offset,
                                    .size = t.size != 0 ? t.size : VK_WHOLE_SIZE};
    return CULV_OK;
}

static culv_result buffer1(const culv_vk_buffer_transfer *transfer, direction way,
                           culv_vk_buffer_barrier *out)
{
    culv_vk_buffer_transfer t;
    request r;
    culv_result result = read_buffer(transfer, out, &t, &r);
    if (result != CULV_OK) return result;
    half h = fill(&r, way);
    result = check_old(&r, &h);
    if (result != CULV_OK) return result;
    out->src_stage = (VkPipelineStageFlags)h.src_stage;
    out->dst_stage = (VkPipelineStageFlags)h.dst_stage;
    out->barrier = (VkBufferMemoryBarrier){.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           .srcAccessMask = (VkAccessFlags)h.src_access,
                                           .dstAccessMask = (VkAccessFlags)h.dst_access,
                                           .srcQueueFamilyIndex = h.src_family,
                                           .dstQueueFamilyIndex = h.dst_family,
                                           .buffer = t.buffer,
                                           .offset = t.offset,
                                           .size = t.size != 0 ? t.size : VK_WHOLE_SIZE};
    return CULV_OK;
}

culv_result culv_vk_buffer_release_barrier2(const culv_vk_buffer_transfer *transfer,
                                            VkBufferMemoryBarrier2 *out)
{
    return buffer2(transfer, RELEASE, out);
}

culv_result culv_vk_buffer_acquire_barrier2(const culv_vk_buffer_transfer *transfer,
                                            VkBufferMemoryBarrier2 *out)
{
    return buffer2(transfer, ACQUIRE, out);
}

culv_result culv_vk_buffer_release_barrier(const culv_vk_buffer_transfer *transfer,
                                           culv_vk_buffer_barrier *out)
{
    return buffer1(transfer, RELEASE, out);
}

culv_result culv_vk_buffer_acquire_barrier(const culv_vk_buffer_transfer *transfer,
                                           culv_vk_buffer_barrier *out)
{
    return buffer1(transfer, ACQUIRE, out);
}

/* Images -------------------------------------------------------------------------------------------------- */

static culv_result read_image(const culv_vk_image_transfer *transfer, const void *out,
                              culv_vk_image_transfer *t, request *r)
{
    if (transfer == NULL || out == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "a barrier of culv_vk_image_transfer: %s is NULL",
                          transfer == NULL ? "transfer" : "out");
    culv_result result = culvi_desc_read(NULL, t, sizeof *t, transfer, "culv_vk_image_transfer");
    if (result != CULV_OK) return result;
    *r = (request){.what = "image",
                   .null_handle = t->image == VK_NULL_HANDLE,
                   .queue_family = t->queue_family,
                   .use = t->use,
                   .stage = t->stage,
                   .access = t->access,
                   .layout = t->layout,
                   .discard = t->discard != VK_FALSE};
    return check(r, true);
}

/* The formats of culvert/format.h are color formats of one plane and one layer. */
static VkImageSubresourceRange range_of(const culv_vk_image_transfer *t)
{
    return (VkImageSubresourceRange){.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                                     .baseMipLevel = t->base_mip_level,
                                     .levelCount =
                                         t->level_count != 0 ? t->level_count : VK_REMAINING_MIP_LEVELS,
                                     .layerCount = VK_REMAINING_ARRAY_LAYERS};
}

static culv_result image2(const culv_vk_image_transfer *transfer, direction way, VkImageMemoryBarrier2 *out)
{
    culv_vk_image_transfer t;
    request r;
    culv_result result = read_image(transfer, out, &t, &r);
    if (result != CULV_OK) return result;
    half h = fill(&r, way);
    *out = (VkImageMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                   .srcStageMask = h.src_stage,
                                   .srcAccessMask = h.src_access,
                                   .dstStageMask = h.dst_stage,
                                   .dstAccessMask = h.dst_access,
                                   .oldLayout = h.old_layout,
                                   .newLayout = h.new_layout,
                                   .srcQueueFamilyIndex = h.src_family,
                                   .dstQueueFamilyIndex = h.dst_family,
                                   .image = t.image,
                                   .subresourceRange = range_of(&t)};
    return CULV_OK;
}

static culv_result image1(const culv_vk_image_transfer *transfer, direction way, culv_vk_image_barrier *out)
{
    culv_vk_image_transfer t;
    request r;
    culv_result result = read_image(transfer, out, &t, &r);
    if (result != CULV_OK) return result;
    half h = fill(&r, way);
    result = check_old(&r, &h);
    if (result != CULV_OK) return result;
    out->src_stage = (VkPipelineStageFlags)h.src_stage;
    out->dst_stage = (VkPipelineStageFlags)h.dst_stage;
    out->barrier = (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .srcAccessMask = (VkAccessFlags)h.src_access,
                                          .dstAccessMask = (VkAccessFlags)h.dst_access,
                                          .oldLayout = h.old_layout,
                                          .newLayout = h.new_layout,
                                          .srcQueueFamilyIndex = h.src_family,
                                          .dstQueueFamilyIndex = h.dst_family,
                                          .image = t.image,
                                          .subresourceRange = range_of(&t)};
    return CULV_OK;
}

culv_result culv_vk_image_release_barrier2(const culv_vk_image_transfer *transfer, VkImageMemoryBarrier2 *out)
{
    return image2(transfer, RELEASE, out);
}

culv_result culv_vk_image_acquire_barrier2(const culv_vk_image_transfer *transfer, VkImageMemoryBarrier2 *out)
{
    return image2(transfer, ACQUIRE, out);
}

culv_result culv_vk_image_release_barrier(const culv_vk_image_transfer *transfer, culv_vk_image_barrier *out)
{
    return image1(transfer, RELEASE, out);
}

culv_result culv_vk_image_acquire_barrier(const culv_vk_image_transfer *transfer, culv_vk_image_barrier *out)
{
    return image1(transfer, ACQUIRE, out);
}
