/* The barriers that Culvert hands out, field by field: every use, way and form. That they order and transfer is
 * shown by the suites of data. SPDX-License-Identifier: MIT */
#include "library.h"

#include <string.h>

typedef enum way { RELEASE, ACQUIRE } way;
typedef enum form { BARRIER2, OLD_FORM } form;

#define STAGE(name)  VK_PIPELINE_STAGE_2_##name##_BIT
#define ACCESS(name) VK_ACCESS_2_##name##_BIT
#define LAYOUT(name) VK_IMAGE_LAYOUT_##name

static const struct {
    culv_vk_use use;
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 release, acquire;
    VkImageLayout layout; /* UNDEFINED: buffers only */
} uses[] = {
    {CULV_VK_USE_ANY, STAGE(ALL_COMMANDS), ACCESS(MEMORY_WRITE), ACCESS(MEMORY_READ) | ACCESS(MEMORY_WRITE),
     LAYOUT(GENERAL)},
    {CULV_VK_USE_VERTEX_BUFFER, STAGE(VERTEX_INPUT), 0, ACCESS(VERTEX_ATTRIBUTE_READ), LAYOUT(UNDEFINED)},
    {CULV_VK_USE_INDEX_BUFFER, STAGE(VERTEX_INPUT), 0, ACCESS(INDEX_READ), LAYOUT(UNDEFINED)},
    {CULV_VK_USE_INDIRECT_BUFFER, STAGE(DRAW_INDIRECT), 0, ACCESS(INDIRECT_COMMAND_READ), LAYOUT(UNDEFINED)},
    {CULV_VK_USE_UNIFORM, STAGE(ALL_COMMANDS), 0, ACCESS(UNIFORM_READ), LAYOUT(UNDEFINED)},
    {CULV_VK_USE_STORAGE_READ, STAGE(ALL_COMMANDS), 0, ACCESS(SHADER_READ), LAYOUT(GENERAL)},
    {CULV_VK_USE_STORAGE, STAGE(ALL_COMMANDS), ACCESS(SHADER_WRITE),
     ACCESS(SHADER_READ) | ACCESS(SHADER_WRITE), LAYOUT(GENERAL)},
    {CULV_VK_USE_SAMPLED, STAGE(ALL_COMMANDS), 0, ACCESS(SHADER_READ), LAYOUT(SHADER_READ_ONLY_OPTIMAL)},
    {CULV_VK_USE_COLOR_ATTACHMENT, STAGE(COLOR_ATTACHMENT_OUTPUT), ACCESS(COLOR_ATTACHMENT_WRITE),
     ACCESS(COLOR_ATTACHMENT_READ) | ACCESS(COLOR_ATTACHMENT_WRITE), LAYOUT(COLOR_ATTACHMENT_OPTIMAL)},
    {CULV_VK_USE_TRANSFER_SRC, STAGE(ALL_TRANSFER), 0, ACCESS(TRANSFER_READ), LAYOUT(TRANSFER_SRC_OPTIMAL)},
    {CULV_VK_USE_TRANSFER_DST, STAGE(ALL_TRANSFER), ACCESS(TRANSFER_WRITE), ACCESS(TRANSFER_WRITE),
     LAYOUT(TRANSFER_DST_OPTIMAL)},
};
enum { USES = sizeof uses / sizeof uses[0], FAMILY = 3 };

/* Handles are copied, never used. */
static VkBuffer some_buffer(void)
{
    VkBuffer handle;
    uint64_t number = 0x1122334455667700;
    memcpy(&handle, &number, sizeof handle);
    return handle;
}

static VkImage some_image(void)
{
    VkImage handle;
    uint64_t number = 0x1122334455667711;
    memcpy(&handle, &number, sizeof handle);
    return handle;
}

/* Both forms and kinds in one. */
typedef struct fields {
    VkStructureType type;
    const void *next;
    uint64_t src_stage, dst_stage, src_access, dst_access;
    uint32_t src_family, dst_family;
} fields;

static culv_result buffer(const culv_vk_buffer_transfer *t, way w, form f, fields *out, VkBuffer *handle,
                          VkDeviceSize *offset, VkDeviceSize *size)
{
    if (f == BARRIER2) {
        VkBufferMemoryBarrier2 b;
        culv_result r =
            w == RELEASE ? culv_vk_buffer_release_barrier2(t, &b) : culv_vk_buffer_acquire_barrier2(t, &b);
        if (r != CULV_OK) return r;
        *out = (fields){b.sType,         b.pNext,         b.srcStageMask,        b.dstStageMask,
                        b.srcAccessMask, b.dstAccessMask, b.srcQueueFamilyIndex, b.dstQueueFamilyIndex};
        *handle = b.buffer;
        *offset = b.offset;
        *size = b.size;
        return r;
    }
    culv_vk_buffer_barrier b;
    culv_result r =
        w == RELEASE ? culv_vk_buffer_release_barrier(t, &b) : culv_vk_buffer_acquire_barrier(t, &b);
    if (r != CULV_OK) return r;
    *out = (fields){b.barrier.sType,
                    b.barrier.pNext,
                    b.src_stage,
                    b.dst_stage,
                    b.barrier.srcAccessMask,
                    b.barrier.dstAccessMask,
                    b.barrier.srcQueueFamilyIndex,
                    b.barrier.dstQueueFamilyIndex};
    *handle = b.barrier.buffer;
    *offset = b.barrier.offset;
    *size = b.barrier.size;
    return r;
}

static culv_result image(const culv_vk_image_transfer *t, way w, form f, fields *out, VkImage *handle,
                         VkImageLayout layouts[2], VkImageSubresourceRange *range)
{
    if (f == BARRIER2) {
        VkImageMemoryBarrier2 b;
        culv_result r =
            w == RELEASE ? culv_vk_image_release_barrier2(t, &b) : culv_vk_image_acquire_barrier2(t, &b);
        if (r != CULV_OK) return r;
        *out = (fields){b.sType,         b.pNext,         b.srcStageMask,        b.dstStageMask,
                        b.srcAccessMask, b.dstAccessMask, b.srcQueueFamilyIndex, b.dstQueueFamilyIndex};
        *handle = b.image;
        layouts[0] = b.oldLayout;
        layouts[1] = b.newLayout;
        *range = b.subresourceRange;
        return r;
    }
    culv_vk_image_barrier b;
    culv_result r =
        w == RELEASE ? culv_vk_image_release_barrier(t, &b) : culv_vk_image_acquire_barrier(t, &b);
    if (r != CULV_OK) return r;
    *out = (fields){b.barrier.sType,
                    b.barrier.pNext,
                    b.src_stage,
                    b.dst_stage,
                    b.barrier.srcAccessMask,
                    b.barrier.dstAccessMask,
                    b.barrier.srcQueueFamilyIndex,
                    b.barrier.dstQueueFamilyIndex};
    *handle = b.barrier.image;
    layouts[0] = b.barrier.oldLayout;
    layouts[1] = b.barrier.newLayout;
    *range = b.barrier.subresourceRange;
    return r;
}

/* The half that counts has stage, access and the queue's family; the other one is CUDA's. */
static void require_half(const fields *b, way w, uint64_t stage, uint64_t access, uint32_t family)
{
    REQUIRE(b->next == NULL);
    REQUIRE_EQ(w == RELEASE ? b->src_stage : b->dst_stage, stage);
    REQUIRE_EQ(w == RELEASE ? b->src_access : b->dst_access, access);
    REQUIRE_EQ(w == RELEASE ? b->src_family : b->dst_family, family);
    REQUIRE_EQ(w == RELEASE ? b->dst_stage : b->src_stage, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    REQUIRE_EQ(w == RELEASE ? b->dst_access : b->src_access, 0);
    REQUIRE_EQ(w == RELEASE ? b->dst_family : b->src_family, VK_QUEUE_FAMILY_EXTERNAL);
}

static void buffers(void)
{
    fields b;
    VkBuffer handle;
    VkDeviceSize offset, size;
    for (int n = 0; n < USES * 4; n++) {
        int u = n / 4;
        way w = n & 1 ? ACQUIRE : RELEASE;
        form f = n & 2 ? OLD_FORM : BARRIER2;
        culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
        t.buffer = some_buffer();
        t.queue_family = FAMILY;
        t.use = uses[u].use;
        if (t.use == CULV_VK_USE_COLOR_ATTACHMENT) {
            LIB_ERROR(buffer(&t, w, f, &b, &handle, &offset, &size), CULV_ERROR_INVALID, CULV_REASON_VALUE);
            continue;
        }
        LIB_OK(buffer(&t, w, f, &b, &handle, &offset, &size));
        REQUIRE_EQ(b.type, f == BARRIER2 ? VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2
                                         : VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
        require_half(&b, w, uses[u].stage, w == RELEASE ? uses[u].release : uses[u].acquire, FAMILY);
        REQUIRE(handle == some_buffer());
        REQUIRE_EQ(offset, 0);
        REQUIRE_EQ(size, VK_WHOLE_SIZE);
        t.offset = UINT64_C(0x123456789a);
        t.size = UINT64_C(0xabcdef0123);
        t.stage = STAGE(COMPUTE_SHADER) | STAGE(FRAGMENT_SHADER);
        t.access = ACCESS(SHADER_WRITE);
        t.queue_family = VK_QUEUE_FAMILY_IGNORED; /* VK_SHARING_MODE_CONCURRENT */
        LIB_OK(buffer(&t, w, f, &b, &handle, &offset, &size));
        require_half(&b, w, t.stage, t.access, VK_QUEUE_FAMILY_IGNORED);
        REQUIRE_EQ(offset, t.offset);
        REQUIRE_EQ(size, t.size);
    }
}

static void images(void)
{
    fields b;
    VkImage handle;
    VkImageLayout layouts[2];
    VkImageSubresourceRange range;
    for (int n = 0; n < USES * 4; n++) {
        int u = n / 4;
        way w = n & 1 ? ACQUIRE : RELEASE;
        form f = n & 2 ? OLD_FORM : BARRIER2;
        const int vulkans = w == RELEASE ? 0 : 1; /* whose half of the layouts */
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        t.image = some_image();
        t.queue_family = FAMILY;
        t.use = uses[u].use;
        if (uses[u].layout == VK_IMAGE_LAYOUT_UNDEFINED) {
            LIB_ERROR(image(&t, w, f, &b, &handle, layouts, &range), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        } else {
            LIB_OK(image(&t, w, f, &b, &handle, layouts, &range));
            REQUIRE_EQ(b.type, f == BARRIER2 ? VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2
                                             : VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
            require_half(&b, w, uses[u].stage, w == RELEASE ? uses[u].release : uses[u].acquire, FAMILY);
            REQUIRE(handle == some_image());
            REQUIRE_EQ(layouts[vulkans], uses[u].layout);
            REQUIRE_EQ(layouts[1 - vulkans], VK_IMAGE_LAYOUT_GENERAL);
            REQUIRE_EQ(range.aspectMask, VK_IMAGE_ASPECT_COLOR_BIT);
            REQUIRE_EQ(range.baseMipLevel, 0);
            REQUIRE_EQ(range.levelCount, VK_REMAINING_MIP_LEVELS);
            REQUIRE_EQ(range.baseArrayLayer, 0);
            REQUIRE(range.layerCount == 1 || range.layerCount == VK_REMAINING_ARRAY_LAYERS);
        }
        t.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL; /* the caller's word counts */
        t.base_mip_level = 2;
        t.level_count = 3;
        t.stage = STAGE(FRAGMENT_SHADER);
        t.access = ACCESS(INPUT_ATTACHMENT_READ);
        t.queue_family = VK_QUEUE_FAMILY_IGNORED;
        LIB_OK(image(&t, w, f, &b, &handle, layouts, &range));
        require_half(&b, w, t.stage, t.access, VK_QUEUE_FAMILY_IGNORED);
        REQUIRE_EQ(layouts[vulkans], t.layout);
        REQUIRE_EQ(layouts[1 - vulkans], VK_IMAGE_LAYOUT_GENERAL);
        REQUIRE_EQ(range.baseMipLevel, 2);
        REQUIRE_EQ(range.levelCount, 3);
        t.discard = VK_TRUE;
        LIB_OK(image(&t, w, f, &b, &handle, layouts, &range));
        REQUIRE_EQ(layouts[0], VK_IMAGE_LAYOUT_UNDEFINED);
        REQUIRE_EQ(layouts[1], w == RELEASE ? VK_IMAGE_LAYOUT_GENERAL : t.layout);
    }
}

/* What only synchronization2 has is refused by the old form, and *out left alone; the new form takes it. */
static void old_form(void)
{
    static const VkPipelineStageFlags2 stages[] = {STAGE(COPY),
                                                   STAGE(RESOLVE),
                                                   STAGE(BLIT),
                                                   STAGE(CLEAR),
                                                   STAGE(INDEX_INPUT),
                                                   STAGE(VERTEX_ATTRIBUTE_INPUT),
                                                   STAGE(PRE_RASTERIZATION_SHADERS),
                                                   STAGE(COPY) | STAGE(HOST)};
    static const VkAccessFlags2 accesses[] = {ACCESS(SHADER_SAMPLED_READ), ACCESS(SHADER_STORAGE_READ),
                                              ACCESS(SHADER_STORAGE_WRITE),
                                              ACCESS(SHADER_STORAGE_WRITE) | ACCESS(SHADER_READ)};
    enum { STAGES = sizeof stages / sizeof stages[0], ALL = STAGES + sizeof accesses / sizeof accesses[0] };
    culv_vk_buffer_transfer bt = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer it = culv_vk_image_transfer_init();
    bt.buffer = some_buffer();
    it.image = some_image();
    for (int i = 0; i < ALL; i++) {
        union {
            culv_vk_buffer_barrier buffer;
            culv_vk_image_barrier image;
            unsigned char bytes[sizeof(culv_vk_image_barrier)];
        } out;
        VkBufferMemoryBarrier2 buffer2;
        VkImageMemoryBarrier2 image2;
        memset(&out, 0x66, sizeof out);
        bt.stage = it.stage = i < STAGES ? stages[i] : 0;
        bt.access = it.access = i < STAGES ? 0 : accesses[i - STAGES];
        LIB_ERROR(culv_vk_buffer_release_barrier(&bt, &out.buffer), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        LIB_ERROR(culv_vk_buffer_acquire_barrier(&bt, &out.buffer), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        LIB_ERROR(culv_vk_image_release_barrier(&it, &out.image), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        LIB_ERROR(culv_vk_image_acquire_barrier(&it, &out.image), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        for (size_t k = 0; k < sizeof out; k++)
            REQUIRE_EQ(out.bytes[k], 0x66);
        LIB_OK(culv_vk_buffer_release_barrier2(&bt, &buffer2));
        LIB_OK(culv_vk_buffer_acquire_barrier2(&bt, &buffer2));
        LIB_OK(culv_vk_image_release_barrier2(&it, &image2));
        LIB_OK(culv_vk_image_acquire_barrier2(&it, &image2));
    }
    /* Layouts that came with synchronization2. */
    static const VkImageLayout layouts[] = {VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL,
                                            VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL};
    for (int i = 0; i < 2; i++) {
        culv_vk_image_barrier out;
        VkImageMemoryBarrier2 out2;
        it = culv_vk_image_transfer_init();
        it.image = some_image();
        it.layout = layouts[i];
        LIB_ERROR(culv_vk_image_release_barrier(&it, &out), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        LIB_ERROR(culv_vk_image_acquire_barrier(&it, &out), CULV_ERROR_INVALID, CULV_REASON_VALUE);
        LIB_OK(culv_vk_image_release_barrier2(&it, &out2));
        LIB_OK(culv_vk_image_acquire_barrier2(&it, &out2));
    }
}

static void refuse_buffer(const culv_vk_buffer_transfer *t, culv_reason reason)
{
    fields b;
    VkBuffer handle;
    VkDeviceSize offset, size;
    for (int n = 0; n < 4; n++)
        LIB_ERROR(
            buffer(t, n & 1 ? ACQUIRE : RELEASE, n & 2 ? OLD_FORM : BARRIER2, &b, &handle, &offset, &size),
            CULV_ERROR_INVALID, reason);
}

static void refuse_image(const culv_vk_image_transfer *t, culv_reason reason)
{
    fields b;
    VkImage handle;
    VkImageLayout layouts[2];
    VkImageSubresourceRange range;
    for (int n = 0; n < 4; n++)
        LIB_ERROR(
            image(t, n & 1 ? ACQUIRE : RELEASE, n & 2 ? OLD_FORM : BARRIER2, &b, &handle, layouts, &range),
            CULV_ERROR_INVALID, reason);
}

static void refused(void)
{
    culv_vk_buffer_transfer bt = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer it = culv_vk_image_transfer_init();
    refuse_buffer(NULL, CULV_REASON_NULL_ARGUMENT);
    refuse_image(NULL, CULV_REASON_NULL_ARGUMENT);
    refuse_buffer(&bt, CULV_REASON_NULL_ARGUMENT); /* no handle */
    refuse_image(&it, CULV_REASON_NULL_ARGUMENT);
    bt.buffer = some_buffer();
    it.image = some_image();
    LIB_ERROR(culv_vk_buffer_release_barrier2(&bt, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_buffer_acquire_barrier2(&bt, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_buffer_release_barrier(&bt, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_buffer_acquire_barrier(&bt, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_image_release_barrier2(&it, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_image_acquire_barrier2(&it, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_image_release_barrier(&it, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_vk_image_acquire_barrier(&it, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    static const uint32_t families[] = {VK_QUEUE_FAMILY_EXTERNAL, VK_QUEUE_FAMILY_FOREIGN_EXT};
    for (int i = 0; i < 2; i++) {
        bt.queue_family = it.queue_family = families[i];
        refuse_buffer(&bt, CULV_REASON_VALUE);
        refuse_image(&it, CULV_REASON_VALUE);
    }
    bt.queue_family = it.queue_family = 0;
    static const int wrong[] = {USES, -1, INT32_MIN, CULV_VK_USE_FORCE32};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bt.use = it.use = (culv_vk_use)wrong[i];
        refuse_buffer(&bt, CULV_REASON_VALUE);
        refuse_image(&it, CULV_REASON_VALUE);
    }
    bt.use = it.use = CULV_VK_USE_ANY;
    static const size_t sizes[] = {0, sizeof(size_t), 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bt.struct_size = it.struct_size = sizes[i];
        refuse_buffer(&bt, CULV_REASON_STRUCT_SIZE);
        refuse_image(&it, CULV_REASON_STRUCT_SIZE);
    }
}

static const test_case cases[] = {
    {.name = "barriers.buffers", .run = buffers},
    {.name = "barriers.images", .run = images},
    {.name = "barriers.old_form", .run = old_form},
    {.name = "barriers.refused", .run = refused},
    {.name = NULL},
};
TEST_SUITE(cases);
