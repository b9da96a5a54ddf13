/* SPDX-License-Identifier: MIT */
/* The barriers that Culvert hands out, field by field: every use, format, way and form. What is
 * refused is at the end. That they order and transfer is shown by barriers_recorded.c
 * and the suites of data. */
#define TEST_GROUP "barriers."
#include "library.h"

typedef enum form { BARRIER2, OLD_FORM } form;
#define STAGE(name)  VK_PIPELINE_STAGE_2_##name##_BIT
#define ACCESS(name) VK_ACCESS_2_##name##_BIT
#define LAYOUT(name) VK_IMAGE_LAYOUT_##name

/* Both forms and kinds in one. */
typedef struct fields {
    VkStructureType type;
    const void *next;
    uint64_t src_stage, dst_stage, src_access, dst_access;
    uint32_t src_family, dst_family;
} fields;

enum {
    COLOR = VK_IMAGE_ASPECT_COLOR_BIT,
    DEPTH = VK_IMAGE_ASPECT_DEPTH_BIT,
    STENCIL = VK_IMAGE_ASPECT_STENCIL_BIT
};

enum { EVERY = COLOR | DEPTH | STENCIL };

static const struct {
    culv_vk_use use;
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 release, acquire;
    bool buffers;
    VkImageAspectFlags images; /* the aspects that may have the use */
    VkImageLayout layout;
} uses[] = {
    {CULV_VK_USE_ANY, STAGE(ALL_COMMANDS), ACCESS(MEMORY_WRITE),
     ACCESS(MEMORY_READ) | ACCESS(MEMORY_WRITE), true, EVERY, LAYOUT(GENERAL)},
    {CULV_VK_USE_VERTEX_BUFFER, STAGE(VERTEX_INPUT), 0, ACCESS(VERTEX_ATTRIBUTE_READ), true, 0, 0},
    {CULV_VK_USE_INDEX_BUFFER, STAGE(VERTEX_INPUT), 0, ACCESS(INDEX_READ), true, 0, 0},
    {CULV_VK_USE_INDIRECT_BUFFER, STAGE(DRAW_INDIRECT), 0, ACCESS(INDIRECT_COMMAND_READ), true, 0,
     0},
    {CULV_VK_USE_UNIFORM, STAGE(ALL_COMMANDS), 0, ACCESS(UNIFORM_READ), true, 0, 0},
    {CULV_VK_USE_STORAGE_READ, STAGE(ALL_COMMANDS), 0, ACCESS(SHADER_READ), true, EVERY,
     LAYOUT(GENERAL)},
    {CULV_VK_USE_STORAGE, STAGE(ALL_COMMANDS), ACCESS(SHADER_WRITE),
     ACCESS(SHADER_READ) | ACCESS(SHADER_WRITE), true, EVERY, LAYOUT(GENERAL)},
    {CULV_VK_USE_SAMPLED, STAGE(ALL_COMMANDS), 0, ACCESS(SHADER_READ), true, EVERY,
     LAYOUT(SHADER_READ_ONLY_OPTIMAL)},
    {CULV_VK_USE_COLOR_ATTACHMENT, STAGE(COLOR_ATTACHMENT_OUTPUT), ACCESS(COLOR_ATTACHMENT_WRITE),
     ACCESS(COLOR_ATTACHMENT_READ) | ACCESS(COLOR_ATTACHMENT_WRITE), false, COLOR,
     LAYOUT(COLOR_ATTACHMENT_OPTIMAL)},
    {CULV_VK_USE_TRANSFER_SRC, STAGE(ALL_TRANSFER), 0, ACCESS(TRANSFER_READ), true, EVERY,
     LAYOUT(TRANSFER_SRC_OPTIMAL)},
    {CULV_VK_USE_TRANSFER_DST, STAGE(ALL_TRANSFER), ACCESS(TRANSFER_WRITE), ACCESS(TRANSFER_WRITE),
     true, EVERY, LAYOUT(TRANSFER_DST_OPTIMAL)},
    {CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT, STAGE(EARLY_FRAGMENT_TESTS) | STAGE(LATE_FRAGMENT_TESTS),
     ACCESS(DEPTH_STENCIL_ATTACHMENT_WRITE),
     ACCESS(DEPTH_STENCIL_ATTACHMENT_READ) | ACCESS(DEPTH_STENCIL_ATTACHMENT_WRITE), false,
     DEPTH | STENCIL, LAYOUT(DEPTH_STENCIL_ATTACHMENT_OPTIMAL)},
    {CULV_VK_USE_DEPTH_STENCIL_READ, STAGE(ALL_COMMANDS), 0,
     ACCESS(DEPTH_STENCIL_ATTACHMENT_READ) | ACCESS(SHADER_READ), false, DEPTH | STENCIL,
     LAYOUT(DEPTH_STENCIL_READ_ONLY_OPTIMAL)},
    {CULV_VK_USE_INPUT_ATTACHMENT,
     STAGE(FRAGMENT_SHADER) | STAGE(COLOR_ATTACHMENT_OUTPUT) | STAGE(EARLY_FRAGMENT_TESTS) |
         STAGE(LATE_FRAGMENT_TESTS),
     0,
     ACCESS(INPUT_ATTACHMENT_READ) | ACCESS(COLOR_ATTACHMENT_READ) |
         ACCESS(DEPTH_STENCIL_ATTACHMENT_READ),
     false, EVERY, LAYOUT(SHADER_READ_ONLY_OPTIMAL)},
    {CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT,
     VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR, 0, ACCESS(SHADER_READ), true, 0, 0},
};

enum { USES = sizeof uses / sizeof uses[0], FAMILY = 3 };

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

/* Of any kind of barrier, whose stages are elsewhere in the older form. */
#define FIELDS(b, src_stage, dst_stage)                                                            \
    (fields)                                                                                       \
    {                                                                                              \
        (b).sType, (b).pNext, (src_stage), (dst_stage), (b).srcAccessMask, (b).dstAccessMask,      \
            (b).srcQueueFamilyIndex, (b).dstQueueFamilyIndex                                       \
    }

static culv_result buffer_barrier(const culv_vk_buffer_transfer *t, culv_vk_direction w, form f,
                                  fields *out, VkBuffer *handle, VkDeviceSize *offset,
                                  VkDeviceSize *size)
{
    if (f == BARRIER2) {
        VkBufferMemoryBarrier2 b;
        culv_result r = culv_vk_buffer_get_barrier2(t, w, &b);
        if (r != CULV_OK) return r;
        *out = FIELDS(b, b.srcStageMask, b.dstStageMask);
        *handle = b.buffer;
        *offset = b.offset;
        *size = b.size;
        return r;
    }
    culv_vk_buffer_barrier b;
    culv_result r = lib_buffer_barrier(t, w, &b);
    if (r != CULV_OK) return r;
    *out = FIELDS(b.barrier, b.src_stage, b.dst_stage);
    *handle = b.barrier.buffer;
    *offset = b.barrier.offset;
    *size = b.barrier.size;
    return r;
}

static culv_result image_barrier(const culv_vk_image_transfer *t, culv_vk_direction w, form f,
                                 fields *out, VkImage *handle, VkImageLayout layouts[2],
                                 VkImageSubresourceRange *range)
{
    if (f == BARRIER2) {
        VkImageMemoryBarrier2 b;
        culv_result r = culv_vk_image_get_barrier2(t, w, &b);
        if (r != CULV_OK) return r;
        *out = FIELDS(b, b.srcStageMask, b.dstStageMask);
        *handle = b.image;
        layouts[0] = b.oldLayout;
        layouts[1] = b.newLayout;
        *range = b.subresourceRange;
        return r;
    }
    culv_vk_image_barrier b;
    culv_result r = lib_image_barrier(t, w, &b);
    if (r != CULV_OK) return r;
    *out = FIELDS(b.barrier, b.src_stage, b.dst_stage);
    *handle = b.barrier.image;
    layouts[0] = b.barrier.oldLayout;
    layouts[1] = b.barrier.newLayout;
    *range = b.barrier.subresourceRange;
    return r;
}

/* The half that counts has stage, access and the queue's family; the other one is CUDA's. */
static void require_half(const fields *b, culv_vk_direction w, uint64_t stage, uint64_t access,
                         uint32_t family)
{
    REQUIRE(b->next == NULL);
    REQUIRE_EQ(w == CULV_VK_RELEASE ? b->src_stage : b->dst_stage, stage);
    REQUIRE_EQ(w == CULV_VK_RELEASE ? b->src_access : b->dst_access, access);
    REQUIRE_EQ(w == CULV_VK_RELEASE ? b->src_family : b->dst_family, family);
    REQUIRE_EQ(w == CULV_VK_RELEASE ? b->dst_stage : b->src_stage,
               VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    REQUIRE_EQ(w == CULV_VK_RELEASE ? b->dst_access : b->src_access, 0);
    REQUIRE_EQ(w == CULV_VK_RELEASE ? b->dst_family : b->src_family, VK_QUEUE_FAMILY_EXTERNAL);
}

TEST(buffers)
{
    fields b;
    VkBuffer handle;
    VkDeviceSize offset, size;
    for (int n = 0; n < USES * 4; n++) {
        int u = n / 4;
        culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
        form f = n & 2 ? OLD_FORM : BARRIER2;
        culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
        t.buffer = some_buffer();
        t.queue_family = FAMILY;
        t.use = uses[u].use;
        if (!uses[u].buffers) {
            LIB_INVALID(buffer_barrier(&t, w, f, &b, &handle, &offset, &size), VALUE);
            continue;
        }
        LIB_OK(buffer_barrier(&t, w, f, &b, &handle, &offset, &size));
        REQUIRE_EQ(b.type, f == BARRIER2 ? VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2
                                         : VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
        require_half(&b, w, uses[u].stage, w == CULV_VK_RELEASE ? uses[u].release : uses[u].acquire,
                     FAMILY);
        REQUIRE(handle == some_buffer());
        REQUIRE_EQ(offset, 0);
        REQUIRE_EQ(size, VK_WHOLE_SIZE);
        t.offset = UINT64_C(0x123456789a);
        t.size = UINT64_C(0xabcdef0123);
        t.stage = STAGE(COMPUTE_SHADER) | STAGE(FRAGMENT_SHADER);
        t.access = ACCESS(SHADER_WRITE);
        t.queue_family = VK_QUEUE_FAMILY_IGNORED; /* VK_SHARING_MODE_CONCURRENT */
        LIB_OK(buffer_barrier(&t, w, f, &b, &handle, &offset, &size));
        require_half(&b, w, t.stage, t.access, VK_QUEUE_FAMILY_IGNORED);
        REQUIRE_EQ(offset, t.offset);
        REQUIRE_EQ(size, t.size);
    }
}

/* What formats hand over; 0 is a color format. */
static const struct {
    VkFormat format;
    VkImageAspectFlags aspects;
} formats[] = {
    {VK_FORMAT_UNDEFINED, COLOR},
    {VK_FORMAT_R4G4_UNORM_PACK8, COLOR},
    {VK_FORMAT_B8G8R8A8_SRGB, COLOR},
    {VK_FORMAT_R32G32B32A32_SFLOAT, COLOR},
    {VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, COLOR}, /* the last before the depth formats */
    {VK_FORMAT_D16_UNORM, DEPTH},
    {VK_FORMAT_X8_D24_UNORM_PACK32, DEPTH},
    {VK_FORMAT_D32_SFLOAT, DEPTH},
    {VK_FORMAT_S8_UINT, STENCIL},
    {VK_FORMAT_D16_UNORM_S8_UINT, DEPTH | STENCIL},
    {VK_FORMAT_D24_UNORM_S8_UINT, DEPTH | STENCIL},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, DEPTH | STENCIL},
    {VK_FORMAT_BC1_RGB_UNORM_BLOCK, COLOR}, /* the first after them */
    {VK_FORMAT_BC7_SRGB_BLOCK, COLOR},
    {VK_FORMAT_ASTC_12x12_SRGB_BLOCK, COLOR},
    {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, COLOR},
    {VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM, COLOR},
    {VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, COLOR},
    {(VkFormat)2000000000, COLOR}, /* of an extension that nobody knows yet */
};

enum { FORMATS = sizeof formats / sizeof formats[0] };

TEST(images)
{
    fields b;
    VkImage handle;
    VkImageLayout layouts[2];
    VkImageSubresourceRange range;
    for (int n = 0; n < USES * FORMATS * 4; n++) {
        const int u = n / 4 % USES, k = n / 4 / USES;
        culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
        form f = n & 2 ? OLD_FORM : BARRIER2;
        const int vulkans = w == CULV_VK_RELEASE ? 0 : 1; /* whose half of the layouts */
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        t.image = some_image();
        t.queue_family = FAMILY;
        t.use = uses[u].use;
        t.format = formats[k].format;
        if ((formats[k].aspects & ~uses[u].images) != 0) {
            LIB_INVALID(image_barrier(&t, w, f, &b, &handle, layouts, &range), VALUE,
                        "culv_vk_image_transfer.use is ");
            t.layout = VK_IMAGE_LAYOUT_GENERAL; /* helps nobody */
            LIB_INVALID(image_barrier(&t, w, f, &b, &handle, layouts, &range), VALUE);
            continue;
        }
        LIB_OK(image_barrier(&t, w, f, &b, &handle, layouts, &range));
        REQUIRE_EQ(b.type, f == BARRIER2 ? VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2
                                         : VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
        require_half(&b, w, uses[u].stage, w == CULV_VK_RELEASE ? uses[u].release : uses[u].acquire,
                     FAMILY);
        REQUIRE(handle == some_image());
        REQUIRE_EQ(layouts[vulkans], uses[u].layout);
        REQUIRE_EQ(layouts[1 - vulkans], VK_IMAGE_LAYOUT_GENERAL);
        REQUIRE_EQ(range.aspectMask, formats[k].aspects);
        REQUIRE_EQ(range.baseMipLevel, 0);
        REQUIRE_EQ(range.levelCount, VK_REMAINING_MIP_LEVELS);
        REQUIRE_EQ(range.baseArrayLayer, 0);
        REQUIRE_EQ(range.layerCount, VK_REMAINING_ARRAY_LAYERS);
        t.layout = VK_IMAGE_LAYOUT_GENERAL; /* the caller's word counts */
        t.base_mip_level = 2;
        t.level_count = 3;
        t.base_array_layer = 7;
        t.layer_count = 5;
        t.stage = STAGE(FRAGMENT_SHADER);
        t.access = ACCESS(INPUT_ATTACHMENT_READ);
        t.queue_family = VK_QUEUE_FAMILY_IGNORED; /* VK_SHARING_MODE_CONCURRENT */
        LIB_OK(image_barrier(&t, w, f, &b, &handle, layouts, &range));
        require_half(&b, w, t.stage, t.access, VK_QUEUE_FAMILY_IGNORED);
        REQUIRE_EQ(layouts[vulkans], t.layout);
        REQUIRE_EQ(layouts[1 - vulkans], VK_IMAGE_LAYOUT_GENERAL);
        REQUIRE_EQ(range.aspectMask, formats[k].aspects);
        REQUIRE_EQ(range.baseMipLevel, 2);
        REQUIRE_EQ(range.levelCount, 3);
        REQUIRE_EQ(range.baseArrayLayer, 7);
        REQUIRE_EQ(range.layerCount, 5);
        t.discard = VK_TRUE;
        LIB_OK(image_barrier(&t, w, f, &b, &handle, layouts, &range));
        REQUIRE_EQ(layouts[0], VK_IMAGE_LAYOUT_UNDEFINED);
        REQUIRE_EQ(layouts[1], w == CULV_VK_RELEASE ? VK_IMAGE_LAYOUT_GENERAL : t.layout);
    }
}

/* An aspect that is named: with a format, one that it has; without one, whatever is an aspect at
 * all. */
TEST(aspects)
{
    static const VkImageAspectFlags given[] = {
        COLOR,
        DEPTH,
        STENCIL,
        DEPTH | STENCIL,
        COLOR | DEPTH,
        COLOR | STENCIL,
        EVERY,
        VK_IMAGE_ASPECT_METADATA_BIT,
        VK_IMAGE_ASPECT_PLANE_0_BIT,
        VK_IMAGE_ASPECT_PLANE_1_BIT,
        COLOR | VK_IMAGE_ASPECT_PLANE_2_BIT,
        VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT,
        0x80000000u,
        UINT32_MAX,
    };
    enum { GIVEN = sizeof given / sizeof given[0], VALID = 4 };
    VkImageMemoryBarrier2 b;
    for (int n = 0; n < GIVEN * FORMATS; n++) {
        const int i = n % GIVEN, k = n / GIVEN;
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        t.queue_family = 0;
        t.image = some_image();
        t.format = formats[k].format;
        t.aspect = given[i];
        if (i < VALID &&
            (t.format == VK_FORMAT_UNDEFINED || (given[i] & ~formats[k].aspects) == 0)) {
            LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &b));
            REQUIRE_EQ(b.subresourceRange.aspectMask, given[i]);
            continue;
        }
        LIB_INVALID(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &b), VALUE,
                    "culv_vk_image_transfer.aspect is ");
    }
    /* A named aspect meets the use as that of a format does. */
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = some_image();
    t.use = CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    LIB_INVALID(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &b), VALUE,
                "set format to the image's VkFormat");
    t.aspect = STENCIL;
    LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &b));
    t.format = VK_FORMAT_D32_SFLOAT_S8_UINT; /* separateDepthStencilLayouts */
    LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &b));
    REQUIRE_EQ(b.subresourceRange.aspectMask, STENCIL);
}

/* A layout that is named: one that the aspects can be in. */
TEST(layouts)
{
    static const struct {
        VkImageLayout layout;
        VkImageAspectFlags aspects;
    } rows[] = {
        {LAYOUT(GENERAL), EVERY},
        {LAYOUT(COLOR_ATTACHMENT_OPTIMAL), COLOR},
        {LAYOUT(DEPTH_STENCIL_ATTACHMENT_OPTIMAL), DEPTH | STENCIL},
        {LAYOUT(DEPTH_STENCIL_READ_ONLY_OPTIMAL), DEPTH | STENCIL},
        {LAYOUT(SHADER_READ_ONLY_OPTIMAL), EVERY},
        {LAYOUT(TRANSFER_SRC_OPTIMAL), EVERY},
        {LAYOUT(TRANSFER_DST_OPTIMAL), EVERY},
        {LAYOUT(DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL), DEPTH | STENCIL},
        {LAYOUT(DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL), DEPTH | STENCIL},
        {LAYOUT(DEPTH_ATTACHMENT_OPTIMAL), DEPTH},
        {LAYOUT(DEPTH_READ_ONLY_OPTIMAL), DEPTH},
        {LAYOUT(STENCIL_ATTACHMENT_OPTIMAL), STENCIL},
        {LAYOUT(STENCIL_READ_ONLY_OPTIMAL), STENCIL},
        {LAYOUT(READ_ONLY_OPTIMAL), EVERY},
        {LAYOUT(ATTACHMENT_OPTIMAL), EVERY},
        {LAYOUT(PRESENT_SRC_KHR), EVERY},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    fields b;
    VkImage handle;
    VkImageLayout found[2];
    VkImageSubresourceRange range;
    for (int n = 0; n < ROWS * FORMATS * 4; n++) {
        const int i = n / 4 % ROWS, k = n / 4 / ROWS;
        culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
        form f = n & 2 ? OLD_FORM : BARRIER2;
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        t.queue_family = 0;
        t.image = some_image();
        t.format = formats[k].format;
        t.layout = rows[i].layout;
        if ((formats[k].aspects & ~rows[i].aspects) != 0) {
            LIB_INVALID(image_barrier(&t, w, f, &b, &handle, found, &range), VALUE,
                        "culv_vk_image_transfer.layout is ");
            continue;
        }
        LIB_OK(image_barrier(&t, w, f, &b, &handle, found, &range));
        REQUIRE_EQ(found[w == CULV_VK_RELEASE ? 0 : 1], t.layout);
    }
    /* The contents of a PREINITIALIZED image can be handed over; no image becomes one. */
    for (int n = 0; n < 4; n++) {
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        form f = n & 2 ? OLD_FORM : BARRIER2;
        t.queue_family = 0;
        t.image = some_image();
        t.layout = VK_IMAGE_LAYOUT_PREINITIALIZED;
        if (n & 1) {
            LIB_INVALID(image_barrier(&t, CULV_VK_ACQUIRE, f, &b, &handle, found, &range), VALUE);
            continue;
        }
        LIB_OK(image_barrier(&t, CULV_VK_RELEASE, f, &b, &handle, found, &range));
        REQUIRE_EQ(found[0], VK_IMAGE_LAYOUT_PREINITIALIZED);
    }
}

/* What Culvert's barriers refuse. */

/* All that Vulkan 1.0's form has is the same there. */
TEST(old_form)
{
    culv_vk_buffer_transfer bt = culv_vk_buffer_transfer_init();
    bt.queue_family = 0;
    bt.buffer = some_buffer();
    static const VkPipelineStageFlags last_stage =
        VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR;
    static const VkAccessFlags last_access = VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT;
    culv_vk_buffer_barrier out;
    for (uint64_t bit = 1; bit <= last_access; bit <<= 1) {
        if (bit & (ACCESS(HOST_READ) | ACCESS(HOST_WRITE))) continue;
        bt.stage = bit <= last_stage && bit != STAGE(HOST) ? bit : 0;
        bt.access = bit;
        LIB_OK(lib_buffer_barrier(&bt, CULV_VK_RELEASE, &out));
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

/* A direction that is none of the two, in both calls, which leave *out alone. */
static void refuse_direction(const culv_vk_buffer_transfer *bt, const culv_vk_image_transfer *it)
{
    static const int wrong[] = {CULV_VK_RELEASE + 1, -1, INT32_MIN, CULV_VK_DIRECTION_FORCE32};
    union {
        VkBufferMemoryBarrier2 buffer2;
        VkImageMemoryBarrier2 image2;
        unsigned char bytes[sizeof(VkImageMemoryBarrier2)];
    } out;
    memset(&out, 0x66, sizeof out);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const culv_vk_direction d = (culv_vk_direction)wrong[i];
        LIB_INVALID(culv_vk_buffer_get_barrier2(bt, d, &out.buffer2), VALUE, "culv_vk_direction");
        LIB_INVALID(culv_vk_image_get_barrier2(it, d, &out.image2), VALUE);
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
    LIB_INVALID(culv_vk_image_get_barrier2(&it, CULV_VK_RELEASE, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_image_get_barrier2(&it, CULV_VK_ACQUIRE, NULL), NULL_ARGUMENT);
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
