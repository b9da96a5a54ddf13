/* SPDX-License-Identifier: MIT */
/* The barriers that Culvert hands out, field by field: every use, format, way and form. What is
 * refused is at their end. Then recorded: every use of every kind of resource in both forms,
 * CUDA's turn between, the use itself between acquire and release. lib_close() requires that
 * validation and synchronization validation said nothing. */
#define TEST_GROUP "barriers."
#include "image_stage.h"
#include "library.h"
#include "raw_vulkan_image.h"

#define STAGE(name)  VK_PIPELINE_STAGE_2_##name##_BIT
#define ACCESS(name) VK_ACCESS_2_##name##_BIT
#define LAYOUT(name) VK_IMAGE_LAYOUT_##name

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
} each_use[] = {
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

enum { USES = sizeof each_use / sizeof each_use[0], FAMILY = 3 };
_Static_assert(USES == CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT + 1, "every use has a row");

/* Told of, and never looked at. */
#define SOME_BUFFER ((VkBuffer)(uintptr_t)0x1122334455667700)
#define SOME_IMAGE  ((VkImage)(uintptr_t)0x1122334455667711)

/* What either kind of barrier says of one side. */
typedef struct half {
    uint64_t stage, access;
    uint32_t family;
} half;

#define SRC(b) ((half){(b).srcStageMask, (b).srcAccessMask, (b).srcQueueFamilyIndex})
#define DST(b) ((half){(b).dstStageMask, (b).dstAccessMask, (b).dstQueueFamilyIndex})

/* Vulkan's half has the stage, the access and the queue's family; the other one is CUDA's. */
static void require_halves(half src, half dst, culv_vk_direction w, uint64_t at, uint64_t access,
                           uint32_t family)
{
    const half vulkans = w == CULV_VK_RELEASE ? src : dst, cudas = w == CULV_VK_RELEASE ? dst : src;
    REQUIRE_EQ(vulkans.stage, at);
    REQUIRE_EQ(vulkans.access, access);
    REQUIRE_EQ(vulkans.family, family);
    REQUIRE_EQ(cudas.stage, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    REQUIRE_EQ(cudas.access, 0);
    REQUIRE_EQ(cudas.family, VK_QUEUE_FAMILY_EXTERNAL);
}

/* The form of Vulkan 1.0 says the same. */
#define REQUIRE_OLD(b, old, type)                                                                  \
    do {                                                                                           \
        REQUIRE((b).sType == type##_2 && (b).pNext == NULL);                                       \
        REQUIRE((old).barrier.sType == (type) && (old).barrier.pNext == NULL);                     \
        REQUIRE_EQ((old).src_stage, (b).srcStageMask);                                             \
        REQUIRE_EQ((old).dst_stage, (b).dstStageMask);                                             \
        REQUIRE_EQ((old).barrier.srcAccessMask, (b).srcAccessMask);                                \
        REQUIRE_EQ((old).barrier.dstAccessMask, (b).dstAccessMask);                                \
        REQUIRE_EQ((old).barrier.srcQueueFamilyIndex, (b).srcQueueFamilyIndex);                    \
        REQUIRE_EQ((old).barrier.dstQueueFamilyIndex, (b).dstQueueFamilyIndex);                    \
    } while (0)

static VkBufferMemoryBarrier2 buffer_barrier(const culv_vk_buffer_transfer *t, culv_vk_direction w)
{
    VkBufferMemoryBarrier2 b;
    LIB_OK(culv_vk_buffer_get_barrier2(t, w, &b));
    const culv_vk_buffer_barrier old = culv_vk_old_buffer_barrier(&b);
    REQUIRE_OLD(b, old, VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
    REQUIRE(b.buffer == t->buffer && old.barrier.buffer == t->buffer);
    REQUIRE_EQ(old.barrier.offset, b.offset);
    REQUIRE_EQ(old.barrier.size, b.size);
    return b;
}

static VkImageMemoryBarrier2 image_barrier(const culv_vk_image_transfer *t, culv_vk_direction w)
{
    VkImageMemoryBarrier2 b;
    LIB_OK(culv_vk_image_get_barrier2(t, w, &b));
    const culv_vk_image_barrier old = culv_vk_old_image_barrier(&b);
    REQUIRE_OLD(b, old, VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
    REQUIRE(b.image == t->image && old.barrier.image == t->image);
    REQUIRE_EQ(old.barrier.oldLayout, b.oldLayout);
    REQUIRE_EQ(old.barrier.newLayout, b.newLayout);
    REQUIRE_EQ_BYTES(&old.barrier.subresourceRange, &b.subresourceRange, sizeof b.subresourceRange);
    return b;
}

static culv_vk_buffer_transfer of_buffer(void)
{
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    t.buffer = SOME_BUFFER;
    t.queue_family = FAMILY;
    return t;
}

static culv_vk_image_transfer of_image(VkFormat format)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.image = SOME_IMAGE;
    t.queue_family = FAMILY;
    t.format = format;
    return t;
}

/* *out is left alone. */
#define REFUSED(type, call, ...)                                                                   \
    do {                                                                                           \
        static const type empty;                                                                   \
        static type out;                                                                           \
        LIB_INVALID(call, __VA_ARGS__);                                                            \
        REQUIRE_EQ_BYTES(&out, &empty, sizeof out);                                                \
    } while (0)
#define REFUSED_IMAGE(t, w, ...)                                                                   \
    REFUSED(VkImageMemoryBarrier2, culv_vk_image_get_barrier2(&(t), w, &out), __VA_ARGS__)
#define REFUSED_BUFFER(t, w, ...)                                                                  \
    REFUSED(VkBufferMemoryBarrier2, culv_vk_buffer_get_barrier2(&(t), w, &out), __VA_ARGS__)

TEST(buffers)
{
    for (int n = 0; n < USES * 2; n++) {
        const int u = n / 2;
        const culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
        culv_vk_buffer_transfer t = of_buffer();
        t.use = each_use[u].use;
        if (!each_use[u].buffers) {
            REFUSED_BUFFER(t, w, VALUE);
            continue;
        }
        VkBufferMemoryBarrier2 b = buffer_barrier(&t, w);
        require_halves(SRC(b), DST(b), w, each_use[u].stage,
                       w == CULV_VK_RELEASE ? each_use[u].release : each_use[u].acquire, FAMILY);
        REQUIRE_EQ(b.offset, 0);
        REQUIRE_EQ(b.size, VK_WHOLE_SIZE);
        t.offset = UINT64_C(0x123456789a);
        t.size = UINT64_C(0xabcdef0123);
        t.stage = STAGE(COMPUTE_SHADER) | STAGE(FRAGMENT_SHADER);
        t.access = ACCESS(SHADER_WRITE);
        t.queue_family = VK_QUEUE_FAMILY_IGNORED; /* VK_SHARING_MODE_CONCURRENT */
        b = buffer_barrier(&t, w);
        require_halves(SRC(b), DST(b), w, t.stage, t.access, VK_QUEUE_FAMILY_IGNORED);
        REQUIRE_EQ(b.offset, t.offset);
        REQUIRE_EQ(b.size, t.size);
    }
}

/* What formats hand over; 0 is a color format. */
static const struct {
    VkFormat format;
    VkImageAspectFlags aspects;
} each_format[] = {
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

enum { FORMATS = sizeof each_format / sizeof each_format[0] };

TEST(images)
{
    for (int n = 0; n < USES * FORMATS * 2; n++) {
        const int u = n / 2 % USES, k = n / 2 / USES;
        const culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
        const VkImageAspectFlags aspects = each_format[k].aspects;
        culv_vk_image_transfer t = of_image(each_format[k].format);
        t.use = each_use[u].use;
        if ((aspects & ~each_use[u].images) != 0) {
            REFUSED_IMAGE(t, w, VALUE, "culv_vk_image_transfer.use is ");
            t.layout = VK_IMAGE_LAYOUT_GENERAL; /* helps nobody */
            REFUSED_IMAGE(t, w, VALUE);
            continue;
        }
        VkImageMemoryBarrier2 b = image_barrier(&t, w);
        require_halves(SRC(b), DST(b), w, each_use[u].stage,
                       w == CULV_VK_RELEASE ? each_use[u].release : each_use[u].acquire, FAMILY);
        REQUIRE_EQ(w == CULV_VK_RELEASE ? b.oldLayout : b.newLayout, each_use[u].layout);
        REQUIRE_EQ(w == CULV_VK_RELEASE ? b.newLayout : b.oldLayout, VK_IMAGE_LAYOUT_GENERAL);
        const VkImageSubresourceRange all = {aspects, 0, VK_REMAINING_MIP_LEVELS, 0,
                                             VK_REMAINING_ARRAY_LAYERS},
                                      some = {aspects, 2, 3, 7, 5};
        REQUIRE_EQ_BYTES(&b.subresourceRange, &all, sizeof all);
        t.layout = VK_IMAGE_LAYOUT_GENERAL; /* the caller's word counts */
        t.base_mip_level = 2;
        t.level_count = 3;
        t.base_array_layer = 7;
        t.layer_count = 5;
        t.stage = STAGE(FRAGMENT_SHADER);
        t.access = ACCESS(INPUT_ATTACHMENT_READ);
        t.queue_family = VK_QUEUE_FAMILY_IGNORED; /* VK_SHARING_MODE_CONCURRENT */
        b = image_barrier(&t, w);
        require_halves(SRC(b), DST(b), w, t.stage, t.access, VK_QUEUE_FAMILY_IGNORED);
        REQUIRE(b.oldLayout == t.layout && b.newLayout == VK_IMAGE_LAYOUT_GENERAL);
        REQUIRE_EQ_BYTES(&b.subresourceRange, &some, sizeof some);
        t.discard = VK_TRUE;
        b = image_barrier(&t, w);
        REQUIRE(b.oldLayout == VK_IMAGE_LAYOUT_UNDEFINED && b.newLayout == t.layout);
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
    for (int n = 0; n < GIVEN * FORMATS; n++) {
        const int i = n % GIVEN, k = n / GIVEN;
        culv_vk_image_transfer t = of_image(each_format[k].format);
        t.aspect = given[i];
        if (i < VALID &&
            (t.format == VK_FORMAT_UNDEFINED || (given[i] & ~each_format[k].aspects) == 0))
            REQUIRE_EQ(image_barrier(&t, CULV_VK_RELEASE).subresourceRange.aspectMask, given[i]);
        else
            REFUSED_IMAGE(t, CULV_VK_RELEASE, VALUE, "culv_vk_image_transfer.aspect is ");
    }
    /* A named aspect meets the use as that of a format does. */
    culv_vk_image_transfer t = of_image(VK_FORMAT_UNDEFINED);
    t.use = CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    REFUSED_IMAGE(t, CULV_VK_RELEASE, VALUE, "set format to the image's VkFormat");
    t.aspect = STENCIL;
    (void)image_barrier(&t, CULV_VK_RELEASE);
    t.format = VK_FORMAT_D32_SFLOAT_S8_UINT; /* separateDepthStencilLayouts */
    REQUIRE_EQ(image_barrier(&t, CULV_VK_RELEASE).subresourceRange.aspectMask, STENCIL);
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
    for (int n = 0; n < ROWS * FORMATS * 2; n++) {
        const int i = n / 2 % ROWS, k = n / 2 / ROWS;
        const culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
        culv_vk_image_transfer t = of_image(each_format[k].format);
        t.layout = rows[i].layout;
        if ((each_format[k].aspects & ~rows[i].aspects) != 0) {
            REFUSED_IMAGE(t, w, VALUE, "culv_vk_image_transfer.layout is ");
            continue;
        }
        const VkImageMemoryBarrier2 b = image_barrier(&t, w);
        REQUIRE_EQ(w == CULV_VK_RELEASE ? b.oldLayout : b.newLayout, t.layout);
    }
    /* The contents of a PREINITIALIZED image can be handed over; no image becomes one. */
    culv_vk_image_transfer t = of_image(VK_FORMAT_UNDEFINED);
    t.layout = VK_IMAGE_LAYOUT_PREINITIALIZED;
    REFUSED_IMAGE(t, CULV_VK_ACQUIRE, VALUE);
    REQUIRE_EQ(image_barrier(&t, CULV_VK_RELEASE).oldLayout, VK_IMAGE_LAYOUT_PREINITIALIZED);
}

/* All that Vulkan 1.0's form has is the same there. */
TEST(old_form)
{
    culv_vk_buffer_transfer t = of_buffer();
    static const VkPipelineStageFlags last_stage =
        VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR;
    static const VkAccessFlags last_access = VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT;
    for (uint64_t bit = 1; bit <= last_access; bit <<= 1) {
        if (bit & (ACCESS(HOST_READ) | ACCESS(HOST_WRITE))) continue;
        t.stage = bit <= last_stage && bit != STAGE(HOST) ? bit : 0;
        t.access = bit;
        const VkBufferMemoryBarrier2 b = buffer_barrier(&t, CULV_VK_RELEASE);
        REQUIRE_EQ(b.srcStageMask, t.stage != 0 ? bit : STAGE(ALL_COMMANDS));
        REQUIRE_EQ(b.srcAccessMask, bit);
    }
}

/* What is no transfer of any resource, in either direction. */
TEST(refused)
{
    static const uint32_t families[] = {VK_QUEUE_FAMILY_EXTERNAL, VK_QUEUE_FAMILY_FOREIGN_EXT};
    static const int uses[] = {CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT + 1, -1, INT32_MIN,
                               CULV_VK_USE_FORCE32},
                     directions[] = {CULV_VK_RELEASE + 1, -1, INT32_MIN, CULV_VK_DIRECTION_FORCE32};
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
    static const size_t sizes[] = {0, sizeof(size_t), 65537, SIZE_MAX};
    culv_vk_buffer_transfer bt = of_buffer();
    culv_vk_image_transfer it = of_image(VK_FORMAT_UNDEFINED);
    for (int n = 0; n < 2; n++) {
        const culv_vk_direction w = n & 1 ? CULV_VK_ACQUIRE : CULV_VK_RELEASE;
#define BUFFER(change, ...) SPOILT(bt, change, REFUSED_BUFFER(bt, w, __VA_ARGS__))
#define IMAGE(change, ...)  SPOILT(it, change, REFUSED_IMAGE(it, w, __VA_ARGS__))
#define BOTH(field, to, ...)                                                                       \
    do {                                                                                           \
        BUFFER(bt.field = (to), __VA_ARGS__);                                                      \
        IMAGE(it.field = (to), __VA_ARGS__);                                                       \
    } while (0)
        BUFFER(bt.buffer = VK_NULL_HANDLE, NULL_ARGUMENT);
        IMAGE(it.image = VK_NULL_HANDLE, NULL_ARGUMENT);
        /* A family that was forgotten is not taken for family 0. */
        BUFFER(bt.queue_family = culv_vk_buffer_transfer_init().queue_family, VALUE,
               "culv_vk_buffer_transfer.queue_family is not set");
        IMAGE(it.queue_family = culv_vk_image_transfer_init().queue_family, VALUE,
              "culv_vk_image_transfer.queue_family is not set");
        for (int i = 0; i < 2; i++)
            BOTH(queue_family, families[i], VALUE);
        for (int i = 0; i < 4; i++) {
            BOTH(use, (culv_vk_use)uses[i], VALUE);
            BOTH(struct_size, sizes[i], STRUCT_SIZE);
            REFUSED_BUFFER(bt, (culv_vk_direction)directions[i], VALUE, "culv_vk_direction");
            REFUSED_IMAGE(it, (culv_vk_direction)directions[i], VALUE);
        }
        for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
            BUFFER((bt.stage = hosts[i].stage, bt.access = hosts[i].access), VALUE, "HOST");
            IMAGE((it.stage = hosts[i].stage, it.access = hosts[i].access), VALUE, "HOST");
        }
        BUFFER((bt.offset = UINT64_C(0xfffffffffffffff0), bt.size = 17), RANGE);
        /* The caller's subtraction went below zero. */
        BUFFER((bt.offset = 64, bt.size = UINT64_MAX - 62), RANGE);
        IMAGE((it.base_mip_level = 4, it.level_count = UINT32_MAX - 2), RANGE, "mip level");
        IMAGE((it.base_array_layer = 6, it.layer_count = UINT32_MAX - 3), RANGE, "array layer");
#undef BUFFER
#undef IMAGE
#undef BOTH
    }
    bt.offset = 64;
    bt.size = VK_WHOLE_SIZE;
    REQUIRE_EQ(buffer_barrier(&bt, CULV_VK_RELEASE).size, VK_WHOLE_SIZE);
    it.base_mip_level = 4;
    it.level_count = VK_REMAINING_MIP_LEVELS;
    it.base_array_layer = 6;
    it.layer_count = VK_REMAINING_ARRAY_LAYERS;
    const VkImageMemoryBarrier2 i = image_barrier(&it, CULV_VK_RELEASE);
    REQUIRE_EQ(i.subresourceRange.levelCount, VK_REMAINING_MIP_LEVELS);
    REQUIRE_EQ(i.subresourceRange.layerCount, VK_REMAINING_ARRAY_LAYERS);
}

#undef TEST_GROUP
#define TEST_GROUP "recorded."

enum {
    PROBE_DIMENSIONS = 3,
    PROBE_IMAGE_BINDINGS = 3 * PROBE_DIMENSIONS, /* three of each */
    PROBE_BUFFER_BINDINGS = 5,
    PROBE_PASSES = 32,
    PROBE_BUFFER_BYTES = 4096,
};

/* A render pass with one attachment, and its pipeline where a use draws. */
typedef struct probe_pass {
    VkFormat format;
    culv_vk_use use;
    VkRenderPass pass;
    VkPipeline pipeline;
} probe_pass;

typedef struct probe {
    raw_vk *vk;
    VkSampler sampler;
    VkDescriptorPool pool;
    VkDescriptorSetLayout image_set_layout, graphics_set_layout, buffer_set_layout;
    VkPipelineLayout image_layout, graphics_layout, buffer_layout;
    VkDescriptorSet image_set, graphics_set, buffer_set;
    VkPipeline image_pipeline, buffer_pipeline;
    VkShaderModule vertex, sampled, input;
    raw_vk_image own[PROBE_DIMENSIONS]; /* bound where the subject is not; in GENERAL */
    VkImageView own_views[PROBE_DIMENSIONS];
    culv_shared_buffer *zeros; /* then the arguments of a draw; bound where the subject is not */
    VkBuffer buffer;           /* that one */
    VkBufferView buffer_view;
    raw_vk_buffer copies;
    uint32_t pass_count;
    probe_pass passes[PROBE_PASSES];
    /* Of the use that was recorded last. */
    VkImageView view, aspect_view;
    VkBufferView texels;
    VkFramebuffer framebuffer;
} probe;

static VkImageAspectFlags probe_aspects(VkFormat format)
{
    if (format == VK_FORMAT_S8_UINT) return VK_IMAGE_ASPECT_STENCIL_BIT;
    if (format >= VK_FORMAT_D16_UNORM && format < VK_FORMAT_S8_UINT)
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    if (format > VK_FORMAT_S8_UINT && format <= VK_FORMAT_D32_SFLOAT_S8_UINT)
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    return VK_IMAGE_ASPECT_COLOR_BIT;
}

static void probe_forget(probe *p)
{
    const VkDevice device = p->vk->device;
    vkDestroyFramebuffer(device, p->framebuffer, NULL);
    vkDestroyImageView(device, p->view, NULL);
    vkDestroyImageView(device, p->aspect_view, NULL);
    vkDestroyBufferView(device, p->texels, NULL);
    p->framebuffer = VK_NULL_HANDLE;
    p->view = p->aspect_view = VK_NULL_HANDLE;
    p->texels = VK_NULL_HANDLE;
}

enum {
    PROBE_COPY_BYTES = 65536,
    PROBE_DRAW_OFFSET = 2048, /* of a VkDrawIndexedIndirectCommand in the probe's own buffer */
};

enum { DRAWN = 4 /* texels a side of what is drawn without an attachment */ };

static bool is_depth(culv_vk_use use)
{
    return use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT || use == CULV_VK_USE_DEPTH_STENCIL_READ;
}

/* Passes of one subpass, and one attachment unless the format is UNDEFINED. */
static VkRenderPass make_pass(VkDevice device, VkFormat format, culv_vk_use use)
{
    const bool written =
        use == CULV_VK_USE_COLOR_ATTACHMENT || use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    const VkAttachmentStoreOp store =
        written ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_NONE;
    const VkAttachmentDescription attachment = {.format = format,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .storeOp = store,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .stencilStoreOp = store,
                                                .initialLayout = each_use[use].layout,
                                                .finalLayout = each_use[use].layout};
    const VkAttachmentReference reference = {0, each_use[use].layout};
    const VkSubpassDescription subpass = {
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
        .colorAttachmentCount = use == CULV_VK_USE_COLOR_ATTACHMENT,
        .pColorAttachments = &reference,
        .inputAttachmentCount = use == CULV_VK_USE_INPUT_ATTACHMENT,
        .pInputAttachments = &reference,
        .pDepthStencilAttachment = is_depth(use) ? &reference : NULL};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = format != VK_FORMAT_UNDEFINED,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass pass = VK_NULL_HANDLE;
    VK_OK(vkCreateRenderPass(device, &info, NULL, &pass));
    return pass;
}

static VkPipeline make_pipeline(const probe *p, VkRenderPass pass, VkFormat format, culv_vk_use use)
{
    VkShaderModule fragment = VK_NULL_HANDLE;
    if (use == CULV_VK_USE_INPUT_ATTACHMENT) fragment = p->input;
    if (use == CULV_VK_USE_DEPTH_STENCIL_READ && format != VK_FORMAT_S8_UINT) fragment = p->sampled;
    const VkPipelineShaderStageCreateInfo stages[] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = p->vertex,
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = fragment,
         .pName = "main"}};
    const VkVertexInputBindingDescription binding = {0, 16, VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 0};
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = 1,
        .pVertexAttributeDescriptions = &attribute};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST};
    const VkViewport viewport = {0, 0, DRAWN, DRAWN, 0, 1};
    const VkRect2D scissor = {{0, 0}, {DRAWN, DRAWN}};
    const VkPipelineViewportStateCreateInfo viewports = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &viewport,
        .scissorCount = 1,
        .pScissors = &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .polygonMode = VK_POLYGON_MODE_FILL,
        .cullMode = VK_CULL_MODE_NONE,
        .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const bool writes = use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    const VkStencilOpState stencil = {.passOp = writes ? VK_STENCIL_OP_REPLACE : VK_STENCIL_OP_KEEP,
                                      .compareOp = VK_COMPARE_OP_EQUAL,
                                      .compareMask = 0xff,
                                      .writeMask = writes ? 0xff : 0,
                                      .reference = 1};
    const VkPipelineDepthStencilStateCreateInfo depth = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = VK_TRUE,
        .depthWriteEnable = writes,
        .depthCompareOp = VK_COMPARE_OP_LESS_OR_EQUAL,
        .stencilTestEnable = VK_TRUE,
        .front = stencil,
        .back = stencil};
    const VkPipelineColorBlendAttachmentState blend = {.blendEnable = VK_FALSE};
    const VkPipelineColorBlendStateCreateInfo blends = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = use == CULV_VK_USE_COLOR_ATTACHMENT,
        .pAttachments = &blend};
    const VkGraphicsPipelineCreateInfo info = {.sType =
                                                   VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .stageCount = fragment != VK_NULL_HANDLE ? 2 : 1,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &viewports,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &samples,
                                               .pDepthStencilState = &depth,
                                               .pColorBlendState = &blends,
                                               .layout = p->graphics_layout,
                                               .renderPass = pass};
    VkPipeline pipeline = VK_NULL_HANDLE;
    VK_OK(vkCreateGraphicsPipelines(p->vk->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

/* One for each format and use, kept. */
static const probe_pass *find_pass(probe *p, VkFormat format, culv_vk_use use)
{
    for (uint32_t i = 0; i < p->pass_count; i++)
        if (p->passes[i].format == format && p->passes[i].use == use) return &p->passes[i];
    REQUIRE(p->pass_count < PROBE_PASSES);
    probe_pass *made = &p->passes[p->pass_count++];
    made->format = format;
    made->use = use;
    made->pass = make_pass(p->vk->device, format, use);
    made->pipeline = make_pipeline(p, made->pass, format, use);
    return made;
}

static void begin(probe *p, VkCommandBuffer commands, const probe_pass *pass, VkExtent3D extent)
{
    const VkFramebufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                          .renderPass = pass->pass,
                                          .attachmentCount = pass->format != VK_FORMAT_UNDEFINED,
                                          .pAttachments = &p->view,
                                          .width = extent.width,
                                          .height = extent.height,
                                          .layers = 1};
    VK_OK(vkCreateFramebuffer(p->vk->device, &info, NULL, &p->framebuffer));
    const VkRenderPassBeginInfo begin_info = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
        .renderPass = pass->pass,
        .framebuffer = p->framebuffer,
        .renderArea = {{0, 0}, {extent.width, extent.height}}};
    vkCmdBeginRenderPass(commands, &begin_info, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pass->pipeline);
}

static void draw(const probe *p, VkCommandBuffer commands, VkBuffer vertices, VkBuffer indices,
                 VkBuffer arguments)
{
    const VkDeviceSize zero = 0;
    vkCmdBindVertexBuffers(commands, 0, 1, &vertices, &zero);
    vkCmdBindIndexBuffer(commands, indices, 0, VK_INDEX_TYPE_UINT32);
    vkCmdDrawIndexedIndirect(commands, arguments, arguments == p->buffer ? PROBE_DRAW_OFFSET : 0, 1,
                             sizeof(VkDrawIndexedIndirectCommand));
}

/* A draw that takes its vertices, indices or arguments from `buffer` and the rest from the probe's
 * own. */
static void probe_draw_buffers(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use)
{
    const VkExtent3D extent = {DRAWN, DRAWN, 1};
    begin(p, commands, find_pass(p, VK_FORMAT_UNDEFINED, CULV_VK_USE_ANY), extent);
    draw(p, commands, use == CULV_VK_USE_VERTEX_BUFFER ? buffer : p->buffer,
         use == CULV_VK_USE_INDEX_BUFFER ? buffer : p->buffer,
         use == CULV_VK_USE_INDIRECT_BUFFER ? buffer : p->buffer);
    vkCmdEndRenderPass(commands);
}

/* A sampled image, an input attachment. */
static const VkDescriptorType probe_graphics_types[2] = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                                         VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT};

/* A render pass with p->view as its attachment. */
static void probe_draw_image(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                             uint32_t level, culv_vk_use use)
{
    const uint32_t at = use == CULV_VK_USE_INPUT_ATTACHMENT;
    const bool reads = at == 1 || (use == CULV_VK_USE_DEPTH_STENCIL_READ &&
                                   image->desc.format != VK_FORMAT_S8_UINT);
    VkDescriptorImageInfo infos[2];
    VkWriteDescriptorSet writes[2];
    for (uint32_t i = 0; i < 2; i++) { /* both, since lavapipe reads what is not used too */
        infos[i] =
            (VkDescriptorImageInfo){p->sampler, i == at ? p->aspect_view : p->own_views[1],
                                    i == at ? each_use[use].layout : VK_IMAGE_LAYOUT_GENERAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->graphics_set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = probe_graphics_types[i],
                                           .pImageInfo = &infos[i]};
    }
    if (reads) vkUpdateDescriptorSets(p->vk->device, 2, writes, 0, NULL);
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    begin(p, commands, find_pass(p, image->desc.format, use), extent);
    if (reads)
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->graphics_layout, 0, 1,
                                &p->graphics_set, 0, NULL);
    draw(p, commands, p->buffer, p->buffer, p->buffer);
    if (use == CULV_VK_USE_COLOR_ATTACHMENT || use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT) {
        const VkClearAttachment clear = {.aspectMask = probe_aspects(image->desc.format)};
        const VkClearRect rect = {{{0, 0}, {1, 1}}, 0, 1};
        vkCmdClearAttachments(commands, 1, &clear, 1, &rect);
    }
    vkCmdEndRenderPass(commands);
}

/* Shaders and pipelines ------------------------------------------------------------------------ */

static void make_set(probe *p, uint32_t count, const VkDescriptorType types[],
                     VkShaderStageFlags stages, VkDescriptorSetLayout *set_layout,
                     VkPipelineLayout *layout, VkDescriptorSet *set)
{
    VkDescriptorSetLayoutBinding bindings[PROBE_IMAGE_BINDINGS];
    for (uint32_t i = 0; i < count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, types[i], 1, stages, NULL};
    const VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(p->vk->device, &set_info, NULL, set_layout));
    const VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = set_layout};
    VK_OK(vkCreatePipelineLayout(p->vk->device, &layout_info, NULL, layout));
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = p->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = set_layout};
    VK_OK(vkAllocateDescriptorSets(p->vk->device, &allocate, set));
}

#define OF_A_DIMENSION                                                                             \
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,                   \
        VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
static const VkDescriptorType image_types[PROBE_IMAGE_BINDINGS] = {OF_A_DIMENSION, OF_A_DIMENSION,
                                                                   OF_A_DIMENSION};

static const VkDescriptorType buffer_types[PROBE_BUFFER_BINDINGS] = {
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER};

static void open_sets(probe *p)
{
    static const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 4},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 6},
                                                 {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1},
                                                 {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2},
                                                 {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 3,
                                             .poolSizeCount = sizeof sizes / sizeof sizes[0],
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(p->vk->device, &pool, NULL, &p->pool));
    make_set(p, PROBE_IMAGE_BINDINGS, image_types, VK_SHADER_STAGE_COMPUTE_BIT,
             &p->image_set_layout, &p->image_layout, &p->image_set);
    make_set(p, 2, probe_graphics_types, VK_SHADER_STAGE_FRAGMENT_BIT, &p->graphics_set_layout,
             &p->graphics_layout, &p->graphics_set);
    make_set(p, PROBE_BUFFER_BINDINGS, buffer_types, VK_SHADER_STAGE_COMPUTE_BIT,
             &p->buffer_set_layout, &p->buffer_layout, &p->buffer_set);
}

/* What is bound besides the subject ------------------------------------------------------------ */

/* What buffers are created with for all uses of them. */
static VkBufferUsageFlags probe_buffer_usage(void)
{
    return VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
           VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
           VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
           VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
           VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
}

static VkBufferView view_words(const probe *p, VkBuffer buffer)
{
    const VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                         .buffer = buffer,
                                         .format = VK_FORMAT_R32_UINT,
                                         .range = PROBE_BUFFER_BYTES};
    VkBufferView view = VK_NULL_HANDLE;
    VK_OK(vkCreateBufferView(p->vk->device, &info, NULL, &view));
    return view;
}

static void open_buffer(probe *p, culv_vk_device *vk)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(PROBE_BUFFER_BYTES, probe_buffer_usage());
    const VkDrawIndexedIndirectCommand draw = {.indexCount = 1, .instanceCount = 1};
    p->zeros = lib_made_buffer(vk, &info);
    p->buffer = culv_vk_buffer_handle(p->zeros);
    const raw_vk_buffer raw = {.buffer = p->buffer, .size = PROBE_BUFFER_BYTES}; /* no CUDA's */
    raw_vk_fill(p->vk, &raw, 0, PROBE_BUFFER_BYTES, 0, NULL);
    raw_vk_write(p->vk, &raw, PROBE_DRAW_OFFSET, &draw, sizeof draw);
    p->buffer_view = view_words(p, p->buffer);
}

static VkImageView view_layer(const probe *p, const raw_vk_image *image,
                              const VkImageSubresourceRange *range, VkImageAspectFlags aspects)
{
    static const VkImageViewType types[] = {VK_IMAGE_VIEW_TYPE_1D, VK_IMAGE_VIEW_TYPE_2D,
                                            VK_IMAGE_VIEW_TYPE_3D};
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = types[image->desc.dimensions - 1],
        .format = image->desc.format,
        .subresourceRange = {aspects, range->baseMipLevel, 1, range->baseArrayLayer, 1}};
    VkImageView view = VK_NULL_HANDLE;
    VK_OK(vkCreateImageView(p->vk->device, &info, NULL, &view));
    return view;
}

static void open_images(probe *p)
{
    static const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    for (uint32_t d = 1; d <= PROBE_DIMENSIONS; d++) {
        const raw_vk_image_desc desc = {
            .format = VK_FORMAT_R32_SFLOAT,
            .width = 4,
            .height = d > 1 ? 4 : 1,
            .depth = d > 2 ? 4 : 1,
            .dimensions = d,
            .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
                     (d == 2 ? VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT : 0u)};
        raw_vk_image_create(p->vk, &desc, &p->own[d - 1]);
        p->own_views[d - 1] = view_layer(p, &p->own[d - 1], &all, VK_IMAGE_ASPECT_COLOR_BIT);
    }
}

static void probe_open(probe *p, stage *s)
{
    raw_vk *vk = &s->w.vk;
    memset(p, 0, sizeof *p);
    p->vk = vk;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VK_OK(vkCreateSampler(vk->device, &sampler, NULL, &p->sampler));
    open_sets(p);
    open_buffer(p, s->w.attachment);
    open_images(p);
    raw_vk_buffer_create(vk, PROBE_COPY_BYTES, RAW_VK_HOST, &p->copies);
    memset(p->copies.mapped, 0, PROBE_COPY_BYTES);
    p->image_pipeline =
        lib_compute_pipeline(vk->device, "library_barrier_images.comp", p->image_layout);
    p->buffer_pipeline =
        lib_compute_pipeline(vk->device, "library_barrier_buffers.comp", p->buffer_layout);
    p->vertex = lib_shader(vk->device, "library_barrier.vert");
    p->sampled = lib_shader(vk->device, "library_barrier_sampled.frag");
    p->input = lib_shader(vk->device, "library_barrier_input.frag");
}

static void probe_close(probe *p)
{
    const VkDevice device = p->vk->device;
    probe_forget(p);
    for (uint32_t i = 0; i < p->pass_count; i++) {
        vkDestroyPipeline(device, p->passes[i].pipeline, NULL);
        vkDestroyRenderPass(device, p->passes[i].pass, NULL);
    }
    vkDestroyShaderModule(device, p->vertex, NULL);
    vkDestroyShaderModule(device, p->sampled, NULL);
    vkDestroyShaderModule(device, p->input, NULL);
    vkDestroyPipeline(device, p->buffer_pipeline, NULL);
    vkDestroyPipeline(device, p->image_pipeline, NULL);
    for (uint32_t d = 0; d < PROBE_DIMENSIONS; d++) {
        vkDestroyImageView(device, p->own_views[d], NULL);
        raw_vk_image_destroy(p->vk, &p->own[d]);
    }
    raw_vk_buffer_destroy(p->vk, &p->copies);
    vkDestroyBufferView(device, p->buffer_view, NULL);
    LIB_OK(culv_shared_buffer_destroy(&p->zeros, NULL));
    vkDestroyDescriptorPool(device, p->pool, NULL);
    const VkPipelineLayout layouts[] = {p->image_layout, p->graphics_layout, p->buffer_layout};
    const VkDescriptorSetLayout sets[] = {p->image_set_layout, p->graphics_set_layout,
                                          p->buffer_set_layout};
    for (int i = 0; i < 3; i++) {
        vkDestroyPipelineLayout(device, layouts[i], NULL);
        vkDestroyDescriptorSetLayout(device, sets[i], NULL);
    }
    vkDestroySampler(device, p->sampler, NULL);
}

/* Uses of buffers ------------------------------------------------------------------------------ */

/* Whether a queue and an image have the use, as far as this file knows how to record it. */
static bool probe_buffer_has(const probe *p, uint32_t queue, culv_vk_use use)
{
    const VkQueueFlags flags = p->vk->queues[queue].flags;
    switch (use) {
    case CULV_VK_USE_VERTEX_BUFFER:
    case CULV_VK_USE_INDEX_BUFFER:
    case CULV_VK_USE_INDIRECT_BUFFER: return (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
    case CULV_VK_USE_UNIFORM:
    case CULV_VK_USE_STORAGE_READ:
    case CULV_VK_USE_STORAGE:
    case CULV_VK_USE_SAMPLED: return (flags & VK_QUEUE_COMPUTE_BIT) != 0;
    case CULV_VK_USE_ANY:
    case CULV_VK_USE_TRANSFER_SRC:
    case CULV_VK_USE_TRANSFER_DST: return true;
    default: return false;
    }
}

/* The subject stands at one binding, the probe's own buffer at all others. */
static void dispatch_buffers(probe *p, VkCommandBuffer commands, VkBuffer subject, uint32_t at)
{
    VkDescriptorBufferInfo ranges[PROBE_BUFFER_BINDINGS];
    VkBufferView views[PROBE_BUFFER_BINDINGS];
    VkWriteDescriptorSet writes[PROBE_BUFFER_BINDINGS];
    p->texels = view_words(p, subject);
    for (uint32_t i = 0; i < PROBE_BUFFER_BINDINGS; i++) {
        ranges[i] = (VkDescriptorBufferInfo){i == at ? subject : p->buffer, 0, PROBE_BUFFER_BYTES};
        views[i] = i == at ? p->texels : p->buffer_view;
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->buffer_set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = buffer_types[i],
                                           .pBufferInfo = &ranges[i],
                                           .pTexelBufferView = &views[i]};
    }
    vkUpdateDescriptorSets(p->vk->device, PROBE_BUFFER_BINDINGS, writes, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->buffer_pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->buffer_layout, 0, 1,
                            &p->buffer_set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
}

/* Records the use: of the buffer's first words, of the first level and layer of the range. Once the
 * work is done, probe_forget() gives up what it took. */
static void probe_buffer_use(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use)
{
    const VkBufferCopy copy = {.size = PROBE_BUFFER_BYTES};
    switch (use) {
    case CULV_VK_USE_UNIFORM: dispatch_buffers(p, commands, buffer, 0); break;
    case CULV_VK_USE_STORAGE_READ: dispatch_buffers(p, commands, buffer, 1); break;
    case CULV_VK_USE_STORAGE: dispatch_buffers(p, commands, buffer, 2); break;
    case CULV_VK_USE_SAMPLED: dispatch_buffers(p, commands, buffer, 3); break;
    case CULV_VK_USE_TRANSFER_SRC:
        vkCmdCopyBuffer(commands, buffer, p->copies.buffer, 1, &copy);
        break;
    case CULV_VK_USE_ANY:
    case CULV_VK_USE_TRANSFER_DST:
        vkCmdCopyBuffer(commands, p->copies.buffer, buffer, 1, &copy);
        break;
    default: probe_draw_buffers(p, commands, buffer, use); break;
    }
}

/* Uses of images ------------------------------------------------------------------------------- */

static bool probe_image_has(const probe *p, uint32_t queue, const raw_vk_image *image,
                            culv_vk_use use)
{
    const VkQueueFlags flags = p->vk->queues[queue].flags;
    const bool color = probe_aspects(image->desc.format) == VK_IMAGE_ASPECT_COLOR_BIT;
    const bool stencil = image->desc.format == VK_FORMAT_S8_UINT; /* the shaders read floats */
    VkImageUsageFlags needs;
    VkQueueFlags queues = VK_QUEUE_GRAPHICS_BIT;
    switch (use) {
    case CULV_VK_USE_ANY:
    case CULV_VK_USE_TRANSFER_SRC:
    case CULV_VK_USE_TRANSFER_DST: return color || (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
    case CULV_VK_USE_STORAGE_READ:
    case CULV_VK_USE_STORAGE:
        needs = VK_IMAGE_USAGE_STORAGE_BIT;
        queues = VK_QUEUE_COMPUTE_BIT;
        break;
    case CULV_VK_USE_SAMPLED:
        needs = stencil ? VK_IMAGE_USAGE_FLAG_BITS_MAX_ENUM : VK_IMAGE_USAGE_SAMPLED_BIT;
        queues = VK_QUEUE_COMPUTE_BIT;
        break;
    case CULV_VK_USE_COLOR_ATTACHMENT: needs = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT; break;
    case CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT:
    case CULV_VK_USE_DEPTH_STENCIL_READ: needs = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT; break;
    case CULV_VK_USE_INPUT_ATTACHMENT:
        needs = stencil ? VK_IMAGE_USAGE_FLAG_BITS_MAX_ENUM : VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
        break;
    default: return false;
    }
    return (image->desc.usage & needs) == needs && (flags & queues) != 0;
}

static void dispatch_images(probe *p, VkCommandBuffer commands, uint32_t dimensions,
                            culv_vk_use use)
{
    const uint32_t at = 3 * (dimensions - 1) + (use == CULV_VK_USE_SAMPLED        ? 0
                                                : use == CULV_VK_USE_STORAGE_READ ? 1
                                                                                  : 2);
    VkDescriptorImageInfo images[PROBE_IMAGE_BINDINGS];
    VkWriteDescriptorSet writes[PROBE_IMAGE_BINDINGS];
    for (uint32_t i = 0; i < PROBE_IMAGE_BINDINGS; i++) {
        images[i] =
            (VkDescriptorImageInfo){p->sampler, i == at ? p->aspect_view : p->own_views[i / 3],
                                    i == at ? each_use[use].layout : VK_IMAGE_LAYOUT_GENERAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->image_set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = image_types[i],
                                           .pImageInfo = &images[i]};
    }
    vkUpdateDescriptorSets(p->vk->device, PROBE_IMAGE_BINDINGS, writes, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->image_pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->image_layout, 0, 1,
                            &p->image_set, 0, NULL);
    vkCmdDispatch(commands, 1, 1, 1);
}

/* Each aspect, or plane, has a part of the buffer of its own. */
static void copy_image(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                       const VkImageSubresourceRange *range, culv_vk_use use)
{
    enum { PARTS = 4 };
    const bool planes = image->desc.format == VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    const VkImageAspectFlags aspects =
        planes ? VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT
               : probe_aspects(image->desc.format);
    VkBufferImageCopy regions[PARTS];
    uint32_t count = 0;
    for (VkImageAspectFlags aspect = 1; aspect <= VK_IMAGE_ASPECT_PLANE_1_BIT; aspect <<= 1) {
        if ((aspects & aspect) == 0) continue;
        VkExtent3D extent = raw_vk_image_extent(image, range->baseMipLevel);
        if (aspect == VK_IMAGE_ASPECT_PLANE_1_BIT) {
            extent.width /= 2;
            extent.height /= 2;
        }
        REQUIRE(extent.width * extent.height * extent.depth * 4 <= PROBE_COPY_BYTES / PARTS);
        regions[count] = (VkBufferImageCopy){
            .bufferOffset = count * (PROBE_COPY_BYTES / PARTS),
            .imageSubresource = {aspect, range->baseMipLevel, range->baseArrayLayer, 1},
            .imageExtent = extent};
        count++;
    }
    if (use == CULV_VK_USE_TRANSFER_SRC)
        vkCmdCopyImageToBuffer(commands, image->image, each_use[use].layout, p->copies.buffer,
                               count, regions);
    else
        vkCmdCopyBufferToImage(commands, p->copies.buffer, image->image, each_use[use].layout,
                               count, regions);
}

static void probe_image_use(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                            const VkImageSubresourceRange *range, culv_vk_use use)
{
    if (use == CULV_VK_USE_ANY || use == CULV_VK_USE_TRANSFER_SRC ||
        use == CULV_VK_USE_TRANSFER_DST) {
        copy_image(p, commands, image, range, use);
        return;
    }
    const VkImageAspectFlags aspects = probe_aspects(image->desc.format);
    p->view = view_layer(p, image, range, aspects);
    p->aspect_view =
        view_layer(p, image, range, /* what a shader reads is one aspect */
                   aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? VK_IMAGE_ASPECT_DEPTH_BIT : aspects);
    if (use == CULV_VK_USE_SAMPLED || use == CULV_VK_USE_STORAGE_READ || use == CULV_VK_USE_STORAGE)
        dispatch_images(p, commands, image->desc.dimensions, use);
    else
        probe_draw_image(p, commands, image, range->baseMipLevel, use);
}

/* Zeros are what images have by default; VK_REMAINING_... is 0 in a transfer. */
typedef struct image_kind {
    const char *name;
    VkFormat format;
    uint32_t dimensions, width, height, depth, levels, layers;
    VkImageCreateFlags create_flags;
    unsigned flags;
    uint32_t base_level, level_count, base_layer, layer_count; /* what changes hands */
} image_kind;

#define CUBE   VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT
#define SLICED VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT

static const image_kind kinds[] = {
    {"1D", VK_FORMAT_R32_SFLOAT, 1, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"a level of a 1D array", VK_FORMAT_R32_SFLOAT, 1, 40, 0, 0, 4, 5, 0, 0, 2, 1, 3, 2},
    {"2D", VK_FORMAT_R32_SFLOAT, 2, 33, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"the last levels of a 2D image", VK_FORMAT_R32_SFLOAT, 2, 32, 16, 0, 6, 0, 0, 0, 3, 0, 0, 0},
    {"a level and layer of a 2D array", VK_FORMAT_R32_SFLOAT, 2, 32, 16, 0, 3, 7, 0, 0, 1, 1, 4, 1},
    {"the last layers of a 2D array", VK_FORMAT_R32_SFLOAT, 2, 32, 16, 0, 0, 7, 0, 0, 0, 0, 5, 0},
    {"3D", VK_FORMAT_R32_SFLOAT, 3, 16, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0},
    {"a level of a 3D image", VK_FORMAT_R32_SFLOAT, 3, 16, 16, 16, 3, 0, 0, 0, 1, 1, 0, 1},
    {"3D that has 2D views", VK_FORMAT_R32_SFLOAT, 3, 8, 8, 8, 0, 0, SLICED, 0, 0, 0, 0, 1},
    {"cube", VK_FORMAT_R32_SFLOAT, 2, 16, 16, 0, 0, 6, CUBE, 0, 0, 0, 0, 0},
    {"a face of a cube array", VK_FORMAT_R32_SFLOAT, 2, 16, 16, 0, 2, 18, CUBE, 0, 1, 1, 6 * 1 + 4,
     1},
    {"D16", VK_FORMAT_D16_UNORM, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"X8_D24", VK_FORMAT_X8_D24_UNORM_PACK32, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D32", VK_FORMAT_D32_SFLOAT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"a level and layer of a D32 array", VK_FORMAT_D32_SFLOAT, 2, 32, 16, 0, 3, 4, 0, 0, 2, 1, 3,
     1},
    {"a face of a D32 cube", VK_FORMAT_D32_SFLOAT, 2, 16, 16, 0, 0, 6, CUBE, 0, 0, 1, 5, 1},
    {"S8", VK_FORMAT_S8_UINT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D16_S8", VK_FORMAT_D16_UNORM_S8_UINT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D24_S8", VK_FORMAT_D24_UNORM_S8_UINT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D32_S8 with levels", VK_FORMAT_D32_SFLOAT_S8_UINT, 2, 16, 16, 0, 2, 2, 0, 0, 1, 0, 1, 0},
    {"BC1", VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"BC7 with levels", VK_FORMAT_BC7_UNORM_BLOCK, 2, 32, 32, 0, 3, 2, 0, 0, 1, 1, 1, 1},
    {"two planes", VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"LINEAR", VK_FORMAT_R32_SFLOAT, 2, 33, 17, 0, 0, 0, 0, RAW_VK_LINEAR, 0, 0, 0, 0},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static raw_vk_image_desc desc_of(const image_kind *k)
{
    return (raw_vk_image_desc){.format = k->format,
                               .dimensions = k->dimensions,
                               .width = k->width,
                               .height = k->height,
                               .depth = k->depth,
                               .levels = k->levels,
                               .layers = k->layers,
                               .create_flags = k->create_flags,
                               .flags = k->flags | RAW_VK_EXPORT | RAW_VK_UNTOUCHED};
}

/* CUDA's turn: it waits for what Vulkan submitted and signals what Vulkan waits for next. */
static void cudas_turn(stage *s)
{
    stage_cuda_begin(s);
    stage_cuda_end(s);
}

/* A view has all of its image's usages, each of which needs a feature
 * (VUID-VkImageViewCreateInfo-usage-02274 to -02277 and -02652), and some drivers make LINEAR
 * images with more usages than that. */
static bool viewed(stage *s, const raw_vk_image_desc *d, VkImageUsageFlags usage)
{
    static const struct {
        VkImageUsageFlags usage;
        VkFormatFeatureFlags any_of;
    } needs[] = {
        {VK_IMAGE_USAGE_SAMPLED_BIT, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT},
        {VK_IMAGE_USAGE_STORAGE_BIT, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT},
        {VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT},
        {VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
         VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT},
        {VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT,
         VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT},
    };
    VkFormatProperties properties;
    vkGetPhysicalDeviceFormatProperties(s->w.vk.physical, d->format, &properties);
    const VkFormatFeatureFlags features = (d->flags & RAW_VK_LINEAR) != 0
                                              ? properties.linearTilingFeatures
                                              : properties.optimalTilingFeatures;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if ((usage & needs[i].usage) != 0 && (features & needs[i].any_of) == 0) return false;
    return true;
}

/* As many of the usages as an exportable image can have here. */
static bool choose_usage(stage *s, raw_vk_image_desc *d)
{
    const bool color = probe_aspects(d->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    const VkImageUsageFlags usages[] = {color ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
                                              : VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                                        VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_USAGE_STORAGE_BIT,
                                        VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT};
    if (d->format == VK_FORMAT_G8_B8R8_2PLANE_420_UNORM) /* sampled through conversions alone */
        return raw_vk_image_supported(&s->w.vk, d);
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        if (d->dimensions == 3 && (i == 0 || i == 3))
            continue; /* attachments are 2D views of theirs */
        raw_vk_image_desc more = *d;
        more.usage |= usages[i];
        if (viewed(s, d, usages[i]) && raw_vk_image_supported(&s->w.vk, &more)) *d = more;
    }
    return raw_vk_image_supported(&s->w.vk, d);
}

/* Validation does not see the layout transitions of releases, nor, of acquires, those from GENERAL
 * to GENERAL (known and given up on later: Vulkan-ValidationLayers, issue 8940, pull request 8960),
 * so that it takes an image for what Vulkan had it in before. A transition without owners tells it;
 * the contents go. */
static void tell_validation(stage *s, const culv_vk_image_transfer *t)
{
    culv_vk_image_transfer release = *t;
    VkImageMemoryBarrier2 b;
    release.discard = VK_TRUE;
    LIB_OK(culv_vk_image_get_barrier2(&release, CULV_VK_RELEASE, &b));
    b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &b};
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, t->queue_family);
    vkCmdPipelineBarrier2(commands, &info);
    release.discard = VK_FALSE;
    release.use = CULV_VK_USE_ANY;
    record_barrier(commands, &release, TO_CUDA, false);
    stage_submit(s, commands, t->queue_family);
}

static void turn(stage *s, probe *p, const raw_vk_image *image, culv_vk_image_transfer *t,
                 bool old_form)
{
    const VkImageSubresourceRange range = {0, t->base_mip_level, 1, t->base_array_layer, 1};
    if (t->use == CULV_VK_USE_ANY || t->use == CULV_VK_USE_STORAGE_READ ||
        t->use == CULV_VK_USE_STORAGE)
        tell_validation(s, t);
    cudas_turn(s);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, t->queue_family);
    record_barrier(commands, t, TO_VULKAN, old_form);
    probe_image_use(p, commands, image, &range, t->use);
    record_barrier(commands, t, TO_CUDA, old_form);
    stage_submit(s, commands, t->queue_family);
    probe_forget(p);
}

/* A new image, all of it. */
static void release_first(stage *s, VkImage image, VkFormat format, bool old_form)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = image;
    t.format = format;
    t.discard = VK_TRUE;
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    record_barrier(commands, &t, TO_CUDA, old_form);
    stage_submit(s, commands, 0);
}

/* All uses on all queues, and how many there were. */
static unsigned turns(stage *s, probe *p, const image_kind *kind, const raw_vk_image *image)
{
    unsigned count = 0;
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    release_first(s, image->image, kind->format, false);
    t.image = image->image;
    t.format = kind->format;
    t.base_mip_level = kind->base_level;
    t.level_count = kind->level_count;
    t.base_array_layer = kind->base_layer;
    t.layer_count = kind->layer_count;
    for (uint32_t queue = 0; queue < s->w.vk.queue_count; queue++) {
        if (!stage_copies(s, queue)) continue;
        t.queue_family = queue;
        for (int use = 0; use < USES; use++) {
            t.use = (culv_vk_use)use;
            if (!probe_image_has(p, queue, image, t.use)) continue;
            turn(s, p, image, &t, false);
            turn(s, p, image, &t, true);
            count++;
        }
    }
    return count;
}

IMAGE_CASE(recorded_images, .title = "recorded.images")
{
    probe p;
    unsigned total = 0, made = 0;
    probe_open(&p, s);
    for (int k = 0; k < KINDS; k++) {
        raw_vk_image_desc d = desc_of(&kinds[k]);
        raw_vk_image image;
        if (!choose_usage(s, &d)) d.flags |= RAW_VK_DEDICATED; /* DEDICATED_ONLY */
        if (!choose_usage(s, &d)) {
            printf("no exportable image here: %s\n", kinds[k].name);
            continue;
        }
        raw_vk_image_create(&s->w.vk, &d, &image);
        const unsigned uses = turns(s, &p, &kinds[k], &image);
        printf("%s: %u uses in two forms\n", kinds[k].name, uses);
        REQUIRE(uses >= 3); /* at least what copies have */
        lib_finish(&s->w, s->stream);
        raw_vk_image_destroy(&s->w.vk, &image);
        total += uses;
        made++;
    }
    printf("%u kinds of image, %u uses\n", made, total);
    REQUIRE(made >= 12);
    probe_close(&p);
}

/* What the silence is worth: an acquire for another stage than the one that uses the image is
 * heard. */
IMAGE_CASE(validation_listens)
{
    probe p;
    raw_vk_image image;
    if (!s->w.vk.validation) SKIP("no validation layer");
    probe_open(&p, s);
    raw_vk_image_desc d = desc_of(&kinds[2]);
    d.flags |= RAW_VK_DEDICATED;
    REQUIRE(choose_usage(s, &d));
    raw_vk_image_create(&s->w.vk, &d, &image);
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = image.image;
    t.use = CULV_VK_USE_SAMPLED;
    tell_validation(s, &t);
    turn(s, &p, &image, &t, false);
    REQUIRE_EQ(s->w.vk.validation_messages, 0);
    t.stage = VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
    t.access = VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT;
    turn(s, &p, &image, &t, false);
    REQUIRE(s->w.vk.validation_messages > 0);
    s->w.vk.validation_messages = 0;
    lib_finish(&s->w, s->stream);
    raw_vk_image_destroy(&s->w.vk, &image);
    probe_close(&p);
}

/* Buffers -------------------------------------------------------------------------------------- */

static void record_buffer(VkCommandBuffer commands, const culv_vk_buffer_transfer *t, hand_over way,
                          bool old_form)
{
    if (old_form) {
        culv_vk_buffer_barrier b;
        LIB_OK(lib_buffer_barrier(t, way == TO_CUDA ? CULV_VK_RELEASE : CULV_VK_ACQUIRE, &b));
        vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 1, &b.barrier, 0,
                             NULL);
        return;
    }
    VkBufferMemoryBarrier2 b;
    LIB_OK(culv_vk_buffer_get_barrier2(t, way == TO_CUDA ? CULV_VK_RELEASE : CULV_VK_ACQUIRE, &b));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &b};
    vkCmdPipelineBarrier2(commands, &info);
}

/* CUDA writes zeros, which are vertices, indices, texels and draws of nothing. */
static void buffer_turn(stage *s, probe *p, const culv_vk_buffer_transfer *t, CUdeviceptr pointer,
                        uint32_t queue, bool old_form)
{
    stage_cuda_begin(s);
    LIB_CU_OK(&s->w, s->w.cu->MemsetD32Async(pointer, 0, PROBE_BUFFER_BYTES / 4, s->stream));
    stage_cuda_end(s);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, queue);
    record_buffer(commands, t, TO_VULKAN, old_form);
    probe_buffer_use(p, commands, t->buffer, t->use);
    record_buffer(commands, t, TO_CUDA, old_form);
    stage_submit(s, commands, queue);
    probe_forget(p);
}

static void buffers_of(VkSharingMode sharing)
{
    stage s;
    probe p;
    uint32_t families[RAW_VK_MAX_QUEUES];
    unsigned uses = 0;
    stage_open(&s);
    if (sharing == VK_SHARING_MODE_CONCURRENT && s.w.vk.queue_count < 2)
        SKIP("one queue family: no CONCURRENT");
    for (uint32_t i = 0; i < s.w.vk.queue_count; i++)
        families[i] = i;
    const bool concurrent = sharing == VK_SHARING_MODE_CONCURRENT;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = PROBE_BUFFER_BYTES,
                                     .usage = probe_buffer_usage(),
                                     .sharingMode = sharing,
                                     .queueFamilyIndexCount = concurrent ? s.w.vk.queue_count : 0,
                                     .pQueueFamilyIndices = concurrent ? families : NULL};
    probe_open(&p, &s);
    culv_shared_buffer *made = lib_made_buffer(s.w.attachment, &info);
    const CUdeviceptr pointer = culv_buffer_pointer(culv_shared_buffer_cuda(made));
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    t.buffer = culv_vk_buffer_handle(made);
    for (uint32_t queue = 0; queue < s.w.vk.queue_count; queue++) {
        if (!stage_copies(&s, queue)) continue;
        for (int use = 0; use < USES; use++) {
            t.use = (culv_vk_use)use;
            if (!probe_buffer_has(&p, queue, t.use)) continue;
            t.queue_family = concurrent ? VK_QUEUE_FAMILY_IGNORED : queue;
            buffer_turn(&s, &p, &t, pointer, queue, false);
            buffer_turn(&s, &p, &t, pointer, queue, true);
            uses++;
        }
    }
    printf("%u uses of buffers in two forms\n", uses);
    REQUIRE(uses >= 10);
    lib_finish(&s.w, s.stream);
    culv_shared_buffer_destroy(&made, NULL);
    probe_close(&p);
    stage_close(&s);
}

TEST_AS(recorded_buffers, buffers_of(VK_SHARING_MODE_EXCLUSIVE), .title = "recorded.buffers")
TEST_AS(buffers_concurrent, buffers_of(VK_SHARING_MODE_CONCURRENT))

/* Data through the barriers, of every kind of image: CUDA writes a level, Vulkan takes one layer of
 * it (a face of a cube, all slices of a 3D image), reads it, writes it, draws into it and hands it
 * back, and CUDA reads all of the level. The layers that Vulkan did not take stay CUDA's and stay
 * as they were. */

enum { MAX_BYTES = 65536 };

typedef struct subject {
    const image_kind *kind;
    culv_shared_image *made;
    culv_image *cuda;
    raw_vk_image vulkan; /* its handle and description alone, for the probe, zeros filled in */
    uint32_t width, height, depth;
    uint32_t texel;            /* bytes */
    size_t layer_bytes, bytes; /* of the level */
} subject;

/* Numbers that copies and depth formats keep. */
static void fill(const subject *x, uint32_t seed, unsigned char *texels, size_t bytes)
{
    for (size_t i = 0; i < bytes / x->texel; i++) {
        const uint32_t word = lib_word((uint32_t)i, seed) >> 7;
        const float real = (float)(word % 1009) / 1008.0f;
        memcpy(texels + i * x->texel, x->texel == 4 ? (const void *)&real : (const void *)&word,
               x->texel);
    }
}

/* False: what CUDA reads is not what Vulkan copies, or there is no such image. */
static bool open_subject(stage *s, const image_kind *kind, subject *x)
{
    static const VkImageType types[] = {VK_IMAGE_TYPE_1D, VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_3D};
    static const VkFormat formats[] = {VK_FORMAT_R32_SFLOAT, VK_FORMAT_D16_UNORM,
                                       VK_FORMAT_D32_SFLOAT, VK_FORMAT_S8_UINT};
    raw_vk_image_desc *desc = &x->vulkan.desc;
    size_t known = 0;
    while (known < 4 && formats[known] != kind->format)
        known++;
    if (known == 4 || kind->flags != 0 || kind->create_flags == SLICED) return false;
    memset(x, 0, sizeof *x);
    x->kind = kind;
    *desc = desc_of(kind);
    if (desc->layers == 0) desc->layers = 1;
    if (desc->dimensions == 2)
        desc->usage = known == 0 ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
                                 : VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    VkImageCreateInfo info = raw_vk_image_info(
        kind->format, kind->width, kind->height != 0 ? kind->height : 1,
        desc->usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    info.flags = kind->create_flags;
    info.imageType = types[kind->dimensions - 1];
    if (kind->depth != 0) info.extent.depth = kind->depth;
    if (kind->levels != 0) info.mipLevels = kind->levels;
    info.arrayLayers = desc->layers;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    culv_result r = culv_vk_image_create(s->w.attachment, &d, &x->made);
    if (r == CULV_ERROR_UNSUPPORTED) {
        printf("not here: %s (%s)\n", kind->name, culv_last_error_message());
        return false;
    }
    LIB_OK(r);
    x->cuda = culv_shared_image_cuda(x->made);
    x->vulkan.image = culv_vk_image_handle(x->made);
    culv_subresource_layout l = culv_subresource_layout_init();
    LIB_OK(culv_image_get_layout(x->cuda, kind->base_level, 0, &l));
    x->width = l.width, x->height = l.height, x->depth = l.depth;
    culv_format_info format = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)desc->format, &format));
    x->texel = format.bytes_per_block;
    x->layer_bytes = (size_t)x->width * x->height * x->depth * x->texel;
    x->bytes = x->layer_bytes * desc->layers;
    REQUIRE(x->bytes <= MAX_BYTES);
    return true;
}

/* CUDA's turn: all layers or slices of the level, from or to host memory. */
static void cuda_copy(stage *s, const subject *x, unsigned char *texels, bool in)
{
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(x->cuda, x->kind->base_level, 0, &array));
    stage_cuda_begin(s);
    lib_finish(&s->w, s->stream);
    const size_t row = (size_t)x->width * x->texel,
                 slices = (size_t)x->depth * x->vulkan.desc.layers;
    LIB_CU_OK(&s->w, in ? raw_cuda_write_box(s->w.cu, array, texels, row, x->height, slices)
                        : raw_cuda_read_box(s->w.cu, array, texels, row, x->height, slices));
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
}

static culv_vk_image_transfer transfer(const subject *x, culv_vk_use use)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = x->vulkan.image;
    t.format = x->kind->format;
    t.use = use;
    t.base_mip_level = x->kind->base_level;
    t.level_count = 1;
    t.base_array_layer = x->kind->base_layer;
    t.layer_count = 1;
    return t;
}

/* Vulkan's turn: one use of what it takes, between acquire and release. */
static void vulkans_turn(stage *s, probe *p, const subject *x, culv_vk_use use,
                         const raw_vk_buffer *host, bool old_form)
{
    const culv_vk_image_transfer t = transfer(x, use);
    const VkImageSubresourceRange range = {0, x->kind->base_level, 1, x->kind->base_layer, 1};
    const VkBufferImageCopy region = {.imageSubresource = {probe_aspects(x->kind->format),
                                                           x->kind->base_level, x->kind->base_layer,
                                                           1},
                                      .imageExtent = {x->width, x->height, x->depth}};
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    record_barrier(commands, &t, TO_VULKAN, old_form);
    if (use == CULV_VK_USE_TRANSFER_SRC) {
        vkCmdCopyImageToBuffer(commands, t.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                               host->buffer, 1, &region);
        raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                       VK_ACCESS_2_TRANSFER_WRITE_BIT);
    } else if (use == CULV_VK_USE_TRANSFER_DST) {
        vkCmdCopyBufferToImage(commands, host->buffer, t.image,
                               VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    } else {
        probe_image_use(p, commands, &x->vulkan, &range, use);
    }
    record_barrier(commands, &t, TO_CUDA, old_form);
    stage_submit(s, commands, 0);
    probe_forget(p);
}

static void round_trip(stage *s, probe *p, const subject *x, const raw_vk_buffer *host,
                       bool old_form)
{
    static unsigned char texels[MAX_BYTES], expected[MAX_BYTES];
    const bool color = probe_aspects(x->kind->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    unsigned char *taken = expected + x->kind->base_layer * x->layer_bytes;
    fill(x, 5, expected, x->bytes);
    memcpy(texels, expected, x->bytes);
    cuda_copy(s, x, texels, true);

    memset(host->mapped, 0x55, x->layer_bytes);
    vulkans_turn(s, p, x, CULV_VK_USE_TRANSFER_SRC, host, old_form);
    REQUIRE_EQ_BYTES(host->mapped, taken, x->layer_bytes);

    stage_cuda_begin(s);
    stage_cuda_end(s);
    fill(x, 6, taken, x->layer_bytes);
    memcpy(host->mapped, taken, x->layer_bytes);
    vulkans_turn(s, p, x, CULV_VK_USE_TRANSFER_DST, host, old_form);
    if (x->vulkan.desc.dimensions == 2) {
        stage_cuda_begin(s);
        stage_cuda_end(s);
        vulkans_turn(s, p, x,
                     color ? CULV_VK_USE_COLOR_ATTACHMENT : CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT,
                     host, old_form);
        memset(taken, 0, x->texel); /* which the probe clears */
    }
    memset(texels, 0x77, x->bytes);
    cuda_copy(s, x, texels, false);
    REQUIRE_EQ_BYTES(texels, expected, x->bytes);
}

IMAGE_CASE(data)
{
    probe p;
    subject x;
    unsigned count = 0;
    probe_open(&p, s);
    raw_vk_buffer host = lib_case_buffer(&s->w, MAX_BYTES, RAW_VK_HOST);
    for (int k = 0; k < KINDS; k++) {
        if (!open_subject(s, &kinds[k], &x)) continue;
        release_first(s, x.vulkan.image, kinds[k].format, k % 2 != 0);
        round_trip(s, &p, &x, &host, false);
        round_trip(s, &p, &x, &host, true);
        culv_shared_image_destroy(&x.made, NULL);
        printf("%s: right\n", kinds[k].name);
        count++;
    }
    REQUIRE(count >= 9); /* those of color, at least */
    probe_close(&p);
}
