/* SPDX-License-Identifier: MIT */
/* Queue-family barriers between a Vulkan queue and CUDA, as plain structs. */
#include "culvert/vulkan_kernel.h"
#include "vulkan/vk.h"

/* What each use means. Shader uses have the stage ALL_COMMANDS, since the queue is not known: a
 * compute queue has no fragment stage. Only flags that Vulkan 1.0's form has too, so that both
 * forms share the table. */
typedef struct use_row {
    const char *name;
    bool buffers; /* whether buffers have it; images do when it gives them a layout */
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 reads, writes;
    VkImageLayout layout;
} use_row;

#define STAGE(name)       VK_PIPELINE_STAGE_2_##name##_BIT
#define ACCESS(name)      VK_ACCESS_2_##name##_BIT
#define LAYOUT(name)      VK_IMAGE_LAYOUT_##name
#define USE(use, ...)     [CULV_VK_USE_##use] = {#use, __VA_ARGS__}
#define BUFFER(use, ...)  USE(use, true, __VA_ARGS__, LAYOUT(UNDEFINED))
#define IMAGE(use, ...)   USE(use, false, __VA_ARGS__)
#define EITHER(use, ...)  USE(use, true, __VA_ARGS__)
#define FRAGMENT_TESTS    (STAGE(EARLY_FRAGMENT_TESTS) | STAGE(LATE_FRAGMENT_TESTS))
#define BUILD_STAGE       VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR
#define DEPTH_READ_ACCESS ACCESS(DEPTH_STENCIL_ATTACHMENT_READ)

static const use_row uses[] = {
    EITHER(ANY, STAGE(ALL_COMMANDS), ACCESS(MEMORY_READ), ACCESS(MEMORY_WRITE), LAYOUT(GENERAL)),
    BUFFER(VERTEX_BUFFER, STAGE(VERTEX_INPUT), ACCESS(VERTEX_ATTRIBUTE_READ), 0),
    BUFFER(INDEX_BUFFER, STAGE(VERTEX_INPUT), ACCESS(INDEX_READ), 0),
    BUFFER(INDIRECT_BUFFER, STAGE(DRAW_INDIRECT), ACCESS(INDIRECT_COMMAND_READ), 0),
    BUFFER(UNIFORM, STAGE(ALL_COMMANDS), ACCESS(UNIFORM_READ), 0),
    EITHER(STORAGE_READ, STAGE(ALL_COMMANDS), ACCESS(SHADER_READ), 0, LAYOUT(GENERAL)),
    EITHER(STORAGE, STAGE(ALL_COMMANDS), ACCESS(SHADER_READ), ACCESS(SHADER_WRITE),
           LAYOUT(GENERAL)),
    EITHER(SAMPLED, STAGE(ALL_COMMANDS), ACCESS(SHADER_READ), 0, LAYOUT(SHADER_READ_ONLY_OPTIMAL)),
    IMAGE(COLOR_ATTACHMENT, STAGE(COLOR_ATTACHMENT_OUTPUT), ACCESS(COLOR_ATTACHMENT_READ),
          ACCESS(COLOR_ATTACHMENT_WRITE), LAYOUT(COLOR_ATTACHMENT_OPTIMAL)),
    EITHER(TRANSFER_SRC, STAGE(ALL_TRANSFER), ACCESS(TRANSFER_READ), 0,
           LAYOUT(TRANSFER_SRC_OPTIMAL)),
    EITHER(TRANSFER_DST, STAGE(ALL_TRANSFER), 0, ACCESS(TRANSFER_WRITE),
           LAYOUT(TRANSFER_DST_OPTIMAL)),
    IMAGE(DEPTH_STENCIL_ATTACHMENT, FRAGMENT_TESTS, DEPTH_READ_ACCESS,
          ACCESS(DEPTH_STENCIL_ATTACHMENT_WRITE), LAYOUT(DEPTH_STENCIL_ATTACHMENT_OPTIMAL)),
    IMAGE(DEPTH_STENCIL_READ, STAGE(ALL_COMMANDS), DEPTH_READ_ACCESS | ACCESS(SHADER_READ), 0,
          LAYOUT(DEPTH_STENCIL_READ_ONLY_OPTIMAL)),
    /* The render pass loads it first, as an attachment of its aspect. */
    IMAGE(INPUT_ATTACHMENT,
          STAGE(FRAGMENT_SHADER) | STAGE(COLOR_ATTACHMENT_OUTPUT) | FRAGMENT_TESTS,
          ACCESS(INPUT_ATTACHMENT_READ) | ACCESS(COLOR_ATTACHMENT_READ) | DEPTH_READ_ACCESS, 0,
          LAYOUT(SHADER_READ_ONLY_OPTIMAL)),
    /* What a build reads counts as a shader's (the specification,
     * vkCmdBuildAccelerationStructuresKHR). */
    BUFFER(ACCELERATION_STRUCTURE_BUILD_INPUT, BUILD_STAGE, ACCESS(SHADER_READ), 0),
};
enum { USE_COUNT = sizeof uses / sizeof uses[0] };

/* What both kinds of transfer say. */
typedef struct request {
    bool image;
    uint32_t queue_family;
    culv_vk_use use;
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 access;
} request;

/* What both kinds of barrier have. */
typedef struct scopes {
    VkPipelineStageFlags2 src_stage, dst_stage;
    VkAccessFlags2 src_access, dst_access;
    uint32_t src_family, dst_family;
} scopes;

#define REFUSE(reason, ...) culvi_fail(NULL, NULL, CULV_ERROR_INVALID, reason, __VA_ARGS__)
#define REFUSE_VALUE(...)   REFUSE(CULV_REASON_VALUE, __VA_ARGS__)

static const char *name_of(bool image)
{
    return image ? "culv_vk_image_transfer" : "culv_vk_buffer_transfer";
}

/* Copies a caller's transfer into `local`. */
static culv_result read_transfer(bool image, const void *transfer, void *local, size_t size,
                                 const void *out)
{
    if (transfer == NULL || out == NULL)
        return REFUSE(CULV_REASON_NULL_ARGUMENT, "a barrier of %s: %s is NULL", name_of(image),
                      transfer == NULL ? "transfer" : "out");
    return culvi_desc_read(NULL, local, size, transfer, name_of(image));
}

static culv_result check(const request *r, culv_vk_direction direction)
{
    const char *name = name_of(r->image);
    if (direction != CULV_VK_ACQUIRE && direction != CULV_VK_RELEASE)
        return REFUSE_VALUE(
            "a barrier of %s: direction %d is not a culv_vk_direction; pass CULV_VK_ACQUIRE (from CUDA to Vulkan) or CULV_VK_RELEASE (from Vulkan to CUDA)",
            name, (int)direction);
    if (r->queue_family == CULV_VK_QUEUE_FAMILY_UNSET)
        return REFUSE_VALUE(
            "%s.queue_family is not set; pass the index of the family of the queue that the barrier is submitted to (VK_QUEUE_FAMILY_IGNORED for VK_SHARING_MODE_CONCURRENT)",
            name);
    if (r->queue_family == VK_QUEUE_FAMILY_EXTERNAL ||
        r->queue_family == VK_QUEUE_FAMILY_FOREIGN_EXT)
        return REFUSE_VALUE(
            "%s.queue_family is a special family; pass the index of the family of the queue that the barrier is submitted to (VK_QUEUE_FAMILY_IGNORED for VK_SHARING_MODE_CONCURRENT)",
            name);
    if ((uint32_t)r->use >= USE_COUNT) return REFUSE_VALUE("%s.use is not a culv_vk_use", name);
    const use_row *use = &uses[r->use];
    if (!r->image && !use->buffers)
        return REFUSE_VALUE("%s.use is %s, which is for images; a buffer cannot be an attachment",
                            name, use->name);
    if (r->image && use->layout == VK_IMAGE_LAYOUT_UNDEFINED)
        return REFUSE_VALUE("%s.use is %s, which is for buffers; it has no image layout", name,
                            use->name);
    /* VUID-VkBufferMemoryBarrier2-srcStageMask-03851 and its like: no ownership transfer has this
     * stage. */
    if ((r->stage & VK_PIPELINE_STAGE_2_HOST_BIT) != 0 ||
        (r->access & (VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT)) != 0)
        return REFUSE_VALUE(
            "%s names the stage HOST or an access of it, which no barrier between queue families may have. The CPU needs none: let it wait for the semaphore, then invalidate before it reads, or flush after it wrote (vkInvalidateMappedMemoryRanges, vkFlushMappedMemoryRanges) unless the memory is HOST_COHERENT",
            name);
    return CULV_OK;
}

/* The side of a kernel in the same queue, which stands in CUDA's place. */
#define KERNEL_STAGE  VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT
#define KERNEL_READS  VK_ACCESS_2_MEMORY_READ_BIT
#define KERNEL_WRITES VK_ACCESS_2_MEMORY_WRITE_BIT

/* Between queue families Vulkan ignores a release's second scope and an acquire's first; the
 * semaphore orders the two halves. An acquire's first scope is ALL_COMMANDS, so that it is ordered
 * after the wait whatever stage that names. */
static culv_result plan(const request *r, culv_vk_direction direction, scopes *out)
{
    CULVI_TRY(check(r, direction));
    const use_row *use = &uses[r->use];
    const bool kernel = r->queue_family == CULV_VK_QUEUE_FAMILY_KERNEL;
    const uint32_t family = kernel ? VK_QUEUE_FAMILY_IGNORED : r->queue_family;
    const uint32_t cudas = kernel ? VK_QUEUE_FAMILY_IGNORED : VK_QUEUE_FAMILY_EXTERNAL;
    VkPipelineStageFlags2 stage = r->stage != 0 ? r->stage : use->stage;
    if (direction == CULV_VK_RELEASE)
        *out = (scopes){.src_stage = stage,
                        .src_access = r->access != 0 ? r->access : use->writes,
                        .src_family = family,
                        .dst_stage = KERNEL_STAGE,
                        .dst_access = kernel ? KERNEL_READS | KERNEL_WRITES : 0,
                        .dst_family = cudas};
    else
        *out = (scopes){.src_stage = KERNEL_STAGE,
                        .src_access = kernel ? KERNEL_WRITES : 0,
                        .src_family = cudas,
                        .dst_stage = stage,
                        .dst_access = r->access != 0 ? r->access : use->reads | use->writes,
                        .dst_family = family};
    return CULV_OK;
}

/* The fields of VkBufferMemoryBarrier2 and VkImageMemoryBarrier2. */
#define SCOPES_OF(s)                                                                               \
    .srcStageMask = (s).src_stage, .srcAccessMask = (s).src_access, .dstStageMask = (s).dst_stage, \
    .dstAccessMask = (s).dst_access, .srcQueueFamilyIndex = (s).src_family,                        \
    .dstQueueFamilyIndex = (s).dst_family

/* Buffers -------------------------------------------------------------------------------------- */

culv_result culv_vk_buffer_get_barrier2(const culv_vk_buffer_transfer *transfer,
                                        culv_vk_direction direction, VkBufferMemoryBarrier2 *out)
{
    culv_vk_buffer_transfer t;
    scopes s;
    CULVI_TRY(read_transfer(false, transfer, &t, sizeof t, out));
    if (t.buffer == VK_NULL_HANDLE)
        return REFUSE(CULV_REASON_NULL_ARGUMENT,
                      "culv_vk_buffer_transfer.buffer is VK_NULL_HANDLE");
    CULVI_TRY(plan(&(request){false, t.queue_family, t.use, t.stage, t.access}, direction, &s));
    if (t.size != VK_WHOLE_SIZE && t.offset > UINT64_MAX - t.size)
        return REFUSE(CULV_REASON_RANGE,
                      "culv_vk_buffer_transfer: offset %" PRIu64 " and size %" PRIu64
                      " overflow; size 0 is all from the offset on",
                      t.offset, t.size);
    *out = (VkBufferMemoryBarrier2){CULVI_STYPE(BUFFER_MEMORY_BARRIER_2), SCOPES_OF(s),
                                    .buffer = t.buffer, .offset = t.offset,
                                    .size = t.size != 0 ? t.size : VK_WHOLE_SIZE};
    return CULV_OK;
}

/* Images --------------------------------------------------------------------------------------- */

enum {
    COLOR = VK_IMAGE_ASPECT_COLOR_BIT,
    DEPTH = VK_IMAGE_ASPECT_DEPTH_BIT,
    STENCIL = VK_IMAGE_ASPECT_STENCIL_BIT
};

static const char *aspects_text(VkImageAspectFlags aspects)
{
    switch (aspects) {
    case COLOR: return "COLOR";
    case DEPTH: return "DEPTH";
    case STENCIL: return "STENCIL";
    default: return "DEPTH and STENCIL";
    }
}

/* Those that can be in a layout. */
static VkImageAspectFlags aspects_of_layout(VkImageLayout layout)
{
    switch (layout) {
    case VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL: return COLOR;
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL: return DEPTH | STENCIL;
    case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL: return DEPTH;
    case VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL: return STENCIL;
    default: return COLOR | DEPTH | STENCIL;
    }
}

/* The aspects that change hands, which format, use and layout must all have. An image of several
 * planes goes as COLOR too, since a disjoint one cannot be shared; so does one of a format that the
 * table does not know. */
static culv_result choose_aspects(const culv_vk_image_transfer *t, VkImageLayout layout,
                                  VkImageAspectFlags *out)
{
    const culvi_format *row = culvi_format_find((uint32_t)t->format);
    const VkImageAspectFlags has = row != NULL ? row->aspects : COLOR, given = t->aspect;
    if (given != 0 && given != COLOR && (given & ~(VkImageAspectFlags)(DEPTH | STENCIL)) != 0)
        return REFUSE_VALUE(
            "culv_vk_image_transfer.aspect is %#x; it is COLOR (also for formats with several planes), DEPTH, STENCIL, the last two together, or 0 for what `format` has",
            (unsigned)given);
    if (t->format != VK_FORMAT_UNDEFINED && (given & ~has) != 0)
        return REFUSE_VALUE(
            "culv_vk_image_transfer.aspect is %s, but .format is %s, which has %s; leave aspect 0 to hand over all that the format has",
            aspects_text(given), row != NULL ? row->name : "not in the table", aspects_text(has));
    const VkImageAspectFlags aspects = given != 0 ? given : has;
    const VkImageAspectFlags of_use = aspects_of_layout(uses[t->use].layout),
                             in_layout = aspects_of_layout(layout);
    const char *fix =
        t->format == VK_FORMAT_UNDEFINED && given == 0
            ? "set format to the image's VkFormat, which is taken for a color format while it is 0"
            : "pass one that suits the aspect, or the aspect and format that the image has";
    if ((aspects & ~of_use) != 0)
        return REFUSE_VALUE(
            "culv_vk_image_transfer.use is %s, for the aspect %s, but what changes hands is %s; %s",
            uses[t->use].name, aspects_text(of_use), aspects_text(aspects), fix);
    if ((aspects & ~in_layout) != 0)
        return REFUSE_VALUE(
            "culv_vk_image_transfer.layout is VkImageLayout %d, for the aspect %s, but what changes hands is %s; %s",
            (int)layout, aspects_text(in_layout), aspects_text(aspects), fix);
    *out = aspects;
    return CULV_OK;
}

static culv_result check_range(const char *what, uint32_t base, uint32_t count)
{
    if (count == UINT32_MAX || base <= UINT32_MAX - count) return CULV_OK; /* VK_REMAINING_... */
    return REFUSE(CULV_REASON_RANGE,
                  "culv_vk_image_transfer: %" PRIu32 " %ss from %s %" PRIu32
                  " on overflow; a count of 0 is all from there on",
                  count, what, what, base);
}

static culv_result choose_range(const culv_vk_image_transfer *t, VkImageLayout layout,
                                VkImageSubresourceRange *out)
{
    CULVI_TRY(check_range("mip level", t->base_mip_level, t->level_count));
    CULVI_TRY(check_range("array layer", t->base_array_layer, t->layer_count));
    CULVI_TRY(choose_aspects(t, layout, &out->aspectMask));
    out->baseMipLevel = t->base_mip_level;
    out->levelCount = t->level_count != 0 ? t->level_count : VK_REMAINING_MIP_LEVELS;
    out->baseArrayLayer = t->base_array_layer;
    out->layerCount = t->layer_count != 0 ? t->layer_count : VK_REMAINING_ARRAY_LAYERS;
    return CULV_OK;
}

culv_result culv_vk_image_get_barrier2(const culv_vk_image_transfer *transfer,
                                       culv_vk_direction direction, VkImageMemoryBarrier2 *out)
{
    culv_vk_image_transfer t;
    scopes s;
    VkImageSubresourceRange range;
    CULVI_TRY(read_transfer(true, transfer, &t, sizeof t, out));
    if (t.image == VK_NULL_HANDLE)
        return REFUSE(CULV_REASON_NULL_ARGUMENT, "culv_vk_image_transfer.image is VK_NULL_HANDLE");
    CULVI_TRY(plan(&(request){true, t.queue_family, t.use, t.stage, t.access}, direction, &s));
    const VkImageLayout layout =
        t.layout != VK_IMAGE_LAYOUT_UNDEFINED ? t.layout : uses[t.use].layout;
    if (direction == CULV_VK_ACQUIRE && layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        return REFUSE_VALUE(
            "culv_vk_image_transfer.layout is PREINITIALIZED, and no barrier can bring an image into that layout; name the layout that Vulkan uses it in, or 0 for that of `use`");
    CULVI_TRY(choose_range(&t, layout, &range));
    const VkImageLayout old_layout =
        direction == CULV_VK_RELEASE ? layout : VK_IMAGE_LAYOUT_GENERAL;
    *out = (VkImageMemoryBarrier2){
        CULVI_STYPE(IMAGE_MEMORY_BARRIER_2),
        SCOPES_OF(s),
        .oldLayout = t.discard ? VK_IMAGE_LAYOUT_UNDEFINED : old_layout,
        .newLayout = direction == CULV_VK_RELEASE ? VK_IMAGE_LAYOUT_GENERAL : layout,
        .image = t.image,
        .subresourceRange = range};
    return CULV_OK;
}

/* Kernels in Vulkan's own queue ---------------------------------------------------------------- */

culv_result culv_vk_kernel_get_barrier2(VkMemoryBarrier2 *out)
{
    CULVI_REQUIRE(NULL, out);
    *out = (VkMemoryBarrier2){CULVI_STYPE(MEMORY_BARRIER_2), .srcStageMask = KERNEL_STAGE,
                              .srcAccessMask = KERNEL_WRITES, .dstStageMask = KERNEL_STAGE,
                              .dstAccessMask = KERNEL_READS | KERNEL_WRITES};
    return CULV_OK;
}
