/* SPDX-License-Identifier: MIT */
/* What Culvert's barriers refuse. */
#define TEST_GROUP "barriers."
#include "barriers.h"

/* What only synchronization2 has is refused by the old form, and *out left alone; the new form
 * takes it. The last stages have numbers that VkPipelineStageFlagBits might have had. */
TEST(old_form)
{
    static const VkPipelineStageFlags2 stages[] = {STAGE(COPY),
                                                   STAGE(RESOLVE),
                                                   STAGE(BLIT),
                                                   STAGE(CLEAR),
                                                   STAGE(INDEX_INPUT),
                                                   STAGE(VERTEX_ATTRIBUTE_INPUT),
                                                   STAGE(PRE_RASTERIZATION_SHADERS),
                                                   STAGE(COPY) | STAGE(VERTEX_INPUT),
                                                   VK_PIPELINE_STAGE_2_VIDEO_DECODE_BIT_KHR,
                                                   VK_PIPELINE_STAGE_2_OPTICAL_FLOW_BIT_NV,
                                                   VK_PIPELINE_STAGE_2_MICROMAP_BUILD_BIT_EXT,
                                                   UINT64_C(1) << 31};
    static const VkAccessFlags2 accesses[] = {
        ACCESS(SHADER_SAMPLED_READ), ACCESS(SHADER_STORAGE_READ), ACCESS(SHADER_STORAGE_WRITE),
        ACCESS(SHADER_STORAGE_WRITE) | ACCESS(SHADER_READ), UINT64_C(1) << 28};
    enum {
        STAGES = sizeof stages / sizeof stages[0],
        ALL = STAGES + sizeof accesses / sizeof accesses[0]
    };
    culv_vk_buffer_transfer bt = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer it = culv_vk_image_transfer_init();
    bt.queue_family = 0;
    it.queue_family = 0;
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
        LIB_INVALID(culv_vk_buffer_get_barrier(&bt, CULV_VK_RELEASE, &out.buffer), VALUE);
        LIB_INVALID(culv_vk_buffer_get_barrier(&bt, CULV_VK_ACQUIRE, &out.buffer), VALUE);
        LIB_INVALID(culv_vk_image_get_barrier(&it, CULV_VK_RELEASE, &out.image), VALUE);
        LIB_INVALID(culv_vk_image_get_barrier(&it, CULV_VK_ACQUIRE, &out.image), VALUE);
        for (size_t k = 0; k < sizeof out; k++)
            REQUIRE_EQ(out.bytes[k], 0x66);
        LIB_OK(culv_vk_buffer_get_barrier2(&bt, CULV_VK_RELEASE, &buffer2));
        LIB_OK(culv_vk_buffer_get_barrier2(&bt, CULV_VK_ACQUIRE, &buffer2));
        LIB_OK(culv_vk_image_get_barrier2(&it, CULV_VK_RELEASE, &image2));
        LIB_OK(culv_vk_image_get_barrier2(&it, CULV_VK_ACQUIRE, &image2));
    }
    /* All that the old form has passes. */
    static const VkPipelineStageFlags last_stage =
        VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR;
    static const VkAccessFlags last_access = VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT;
    culv_vk_buffer_barrier out;
    for (uint64_t bit = 1; bit <= last_access; bit <<= 1) {
        if (bit & (ACCESS(HOST_READ) | ACCESS(HOST_WRITE))) continue;
        bt.stage = bit <= last_stage && bit != STAGE(HOST) ? bit : 0;
        bt.access = bit;
        LIB_OK(culv_vk_buffer_get_barrier(&bt, CULV_VK_RELEASE, &out));
        REQUIRE_EQ(out.src_stage, bt.stage != 0 ? bit : STAGE(ALL_COMMANDS));
        REQUIRE_EQ(out.barrier.srcAccessMask, bit);
    }
}

static void refuse_buffer(const culv_vk_buffer_transfer *t, culv_reason reason)
{
    fields b;
    VkBuffer handle;
    VkDeviceSize offset, size;
    for (int n = 0; n < 4; n++)
        LIB_FAILS(buffer_barrier(t, n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE,
                                 n & 2 ? OLD_FORM : BARRIER2, &b, &handle, &offset, &size),
                  CULV_ERROR_INVALID, reason);
}

static void refuse_image(const culv_vk_image_transfer *t, culv_reason reason)
{
    fields b;
    VkImage handle;
    VkImageLayout layouts[2];
    VkImageSubresourceRange range;
    for (int n = 0; n < 4; n++)
        LIB_FAILS(image_barrier(t, n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE,
                                n & 2 ? OLD_FORM : BARRIER2, &b, &handle, layouts, &range),
                  CULV_ERROR_INVALID, reason);
}

/* A direction that is none of the two, in all four calls, which leave *out alone. */
static void refuse_direction(const culv_vk_buffer_transfer *bt, const culv_vk_image_transfer *it)
{
    static const int wrong[] = {CULV_VK_RELEASE + 1, -1, INT32_MIN, CULV_VK_DIRECTION_FORCE32};
    union {
        VkBufferMemoryBarrier2 buffer2;
        VkImageMemoryBarrier2 image2;
        culv_vk_buffer_barrier buffer;
        culv_vk_image_barrier image;
        unsigned char bytes[sizeof(culv_vk_image_barrier) + sizeof(VkImageMemoryBarrier2)];
    } out;
    memset(&out, 0x66, sizeof out);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const culv_vk_direction d = (culv_vk_direction)wrong[i];
        LIB_INVALID(culv_vk_buffer_get_barrier2(bt, d, &out.buffer2), VALUE, "culv_vk_direction");
        LIB_INVALID(culv_vk_image_get_barrier2(it, d, &out.image2), VALUE);
        LIB_INVALID(culv_vk_buffer_get_barrier(bt, d, &out.buffer), VALUE);
        LIB_INVALID(culv_vk_image_get_barrier(it, d, &out.image), VALUE, "culv_vk_direction");
    }
    for (size_t k = 0; k < sizeof out; k++)
        REQUIRE_EQ(out.bytes[k], 0x66);
}

/* What cannot be a range of any resource. */
static void ranges(culv_vk_buffer_transfer bt, culv_vk_image_transfer it)
{
    VkBufferMemoryBarrier2 b;
    VkImageMemoryBarrier2 i;
    bt.offset = UINT64_C(0xfffffffffffffff0);
    bt.size = 17;
    refuse_buffer(&bt, CULV_REASON_RANGE);
    bt.offset = 64;
    bt.size = UINT64_MAX - 62; /* the caller's subtraction went below zero */
    refuse_buffer(&bt, CULV_REASON_RANGE);
    bt.size = VK_WHOLE_SIZE;
    LIB_OK(culv_vk_buffer_get_barrier2(&bt, CULV_VK_RELEASE, &b));
    REQUIRE_EQ(b.size, VK_WHOLE_SIZE);
    it.base_mip_level = 4;
    it.level_count = UINT32_MAX - 2;
    refuse_image(&it, CULV_REASON_RANGE);
    LIB_SAYS("mip level");
    it.level_count = VK_REMAINING_MIP_LEVELS;
    it.base_array_layer = 6;
    it.layer_count = UINT32_MAX - 3;
    refuse_image(&it, CULV_REASON_RANGE);
    LIB_SAYS("array layer");
    it.layer_count = VK_REMAINING_ARRAY_LAYERS;
    LIB_OK(culv_vk_image_get_barrier2(&it, CULV_VK_RELEASE, &i));
    REQUIRE_EQ(i.subresourceRange.levelCount, VK_REMAINING_MIP_LEVELS);
    REQUIRE_EQ(i.subresourceRange.layerCount, VK_REMAINING_ARRAY_LAYERS);
}

TEST(refused)
{
    culv_vk_buffer_transfer bt = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer it = culv_vk_image_transfer_init();
    refuse_buffer(NULL, CULV_REASON_NULL_ARGUMENT);
    refuse_image(NULL, CULV_REASON_NULL_ARGUMENT);
    refuse_buffer(&bt, CULV_REASON_NULL_ARGUMENT); /* no handle */
    refuse_image(&it, CULV_REASON_NULL_ARGUMENT);
    bt.buffer = some_buffer();
    it.image = some_image();
    LIB_INVALID(culv_vk_buffer_get_barrier2(&bt, CULV_VK_RELEASE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_buffer_get_barrier2(&bt, CULV_VK_ACQUIRE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_buffer_get_barrier(&bt, CULV_VK_RELEASE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_buffer_get_barrier(&bt, CULV_VK_ACQUIRE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_get_barrier2(&it, CULV_VK_RELEASE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_get_barrier2(&it, CULV_VK_ACQUIRE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_get_barrier(&it, CULV_VK_RELEASE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_get_barrier(&it, CULV_VK_ACQUIRE, NULL), NULL_ARGUMENT);
    /* A family that was forgotten is not taken for family 0. */
    REQUIRE_EQ(bt.queue_family, CULV_VK_QUEUE_FAMILY_UNSET);
    REQUIRE_EQ(it.queue_family, CULV_VK_QUEUE_FAMILY_UNSET);
    refuse_buffer(&bt, CULV_REASON_VALUE);
    LIB_SAYS("culv_vk_buffer_transfer.queue_family is not set");
    refuse_image(&it, CULV_REASON_VALUE);
    LIB_SAYS("culv_vk_image_transfer.queue_family is not set");
    static const uint32_t families[] = {VK_QUEUE_FAMILY_EXTERNAL, VK_QUEUE_FAMILY_FOREIGN_EXT};
    for (int i = 0; i < 2; i++) {
        bt.queue_family = it.queue_family = families[i];
        refuse_buffer(&bt, CULV_REASON_VALUE);
        refuse_image(&it, CULV_REASON_VALUE);
    }
    bt.queue_family = it.queue_family = 0;
    static const int wrong[] = {CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT + 1, -1, INT32_MIN,
                                CULV_VK_USE_FORCE32};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bt.use = it.use = (culv_vk_use)wrong[i];
        refuse_buffer(&bt, CULV_REASON_VALUE);
        refuse_image(&it, CULV_REASON_VALUE);
    }
    bt.use = it.use = CULV_VK_USE_ANY;
    refuse_direction(&bt, &it);
    /* No transfer between queue families has the stage HOST
     * (VUID-VkBufferMemoryBarrier2-srcStageMask-03851). */
    static const struct {
        VkPipelineStageFlags2 stage;
        VkAccessFlags2 access;
    } hosts[] = {{STAGE(HOST), 0},
                 {STAGE(HOST) | STAGE(ALL_TRANSFER), ACCESS(TRANSFER_WRITE)},
                 {0, ACCESS(HOST_READ)},
                 {STAGE(HOST), ACCESS(HOST_WRITE)},
                 {0, ACCESS(HOST_WRITE) | ACCESS(TRANSFER_WRITE)}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        bt.stage = it.stage = hosts[i].stage;
        bt.access = it.access = hosts[i].access;
        refuse_buffer(&bt, CULV_REASON_VALUE);
        LIB_SAYS("HOST");
        refuse_image(&it, CULV_REASON_VALUE);
    }
    bt.stage = it.stage = 0;
    bt.access = it.access = 0;
    ranges(bt, it);
    static const size_t sizes[] = {0, sizeof(size_t), 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bt.struct_size = it.struct_size = sizes[i];
        refuse_buffer(&bt, CULV_REASON_STRUCT_SIZE);
        refuse_image(&it, CULV_REASON_STRUCT_SIZE);
    }
}
