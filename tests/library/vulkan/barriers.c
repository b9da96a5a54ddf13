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
static const uint32_t families[] = {FAMILY, CULV_VK_QUEUE_FAMILY_KERNEL};
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

/* Vulkan's half has the stage, the access and the queue's family; the other one is CUDA's, or that
 * of a kernel in the same queue. */
static void require_halves(half src, half dst, culv_vk_direction w, uint64_t at, uint64_t access,
                           uint32_t family)
{
    const half vulkans = w == CULV_VK_RELEASE ? src : dst, cudas = w == CULV_VK_RELEASE ? dst : src;
    const bool kernel = family == CULV_VK_QUEUE_FAMILY_KERNEL;
    REQUIRE_EQ(vulkans.stage, at);
    REQUIRE_EQ(vulkans.access, access);
    REQUIRE_EQ(vulkans.family, kernel ? VK_QUEUE_FAMILY_IGNORED : family);
    REQUIRE_EQ(cudas.stage, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    REQUIRE_EQ(cudas.access, !kernel                ? 0
                             : w == CULV_VK_RELEASE ? ACCESS(MEMORY_READ) | ACCESS(MEMORY_WRITE)
                                                    : ACCESS(MEMORY_WRITE));
    REQUIRE_EQ(cudas.family, kernel ? VK_QUEUE_FAMILY_IGNORED : VK_QUEUE_FAMILY_EXTERNAL);
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
        VkBufferMemoryBarrier2 b;
        for (int i = 0; i < 2; i++) {
            t.queue_family = families[i];
            b = buffer_barrier(&t, w);
            require_halves(SRC(b), DST(b), w, each_use[u].stage,
                           w == CULV_VK_RELEASE ? each_use[u].release : each_use[u].acquire,
                           families[i]);
        }
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
        VkImageMemoryBarrier2 b;
        for (int i = 0; i < 2; i++) {
            t.queue_family = families[i];
            b = image_barrier(&t, w);
            require_halves(SRC(b), DST(b), w, each_use[u].stage,
                           w == CULV_VK_RELEASE ? each_use[u].release : each_use[u].acquire,
                           families[i]);
            REQUIRE_EQ(w == CULV_VK_RELEASE ? b.oldLayout : b.newLayout, each_use[u].layout);
            REQUIRE_EQ(w == CULV_VK_RELEASE ? b.newLayout : b.oldLayout, VK_IMAGE_LAYOUT_GENERAL);
        }
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
    static const uint32_t no_family[] = {VK_QUEUE_FAMILY_EXTERNAL, VK_QUEUE_FAMILY_FOREIGN_EXT};
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
            BOTH(queue_family, no_family[i], VALUE);
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
    IMAGE_BINDINGS = 3,
    BUFFER_BINDINGS = 5,
    PROBE_BYTES = 4096,
    COPY_BYTES = 65536,
    COPY_PARTS = 4 /* each aspect has one */
};

/* A compute shader and what is bound for it. */
typedef struct program {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkDescriptorSet set;
    VkPipeline pipeline;
} program;

typedef struct probe {
    raw_vk *vk;
    VkSampler sampler;
    VkDescriptorPool pool;
    program images, buffers;
    raw_vk_image own; /* bound where the subject is not; in GENERAL */
    VkImageView own_view;
    culv_shared_buffer *zeros; /* bound where the subject is not */
    VkBuffer buffer;           /* that one */
    VkBufferView buffer_view;
    raw_vk_buffer copies;
    /* Of the use that was recorded last. */
    VkImageView view, aspect_view;
    VkBufferView texels;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
} probe;

static VkImageAspectFlags aspects_of(VkFormat format)
{
    if (format == VK_FORMAT_S8_UINT) return STENCIL;
    if (format >= VK_FORMAT_D16_UNORM && format < VK_FORMAT_S8_UINT) return DEPTH;
    return format > VK_FORMAT_S8_UINT && format <= VK_FORMAT_D32_SFLOAT_S8_UINT ? DEPTH | STENCIL
                                                                                : COLOR;
}

static void probe_forget(probe *p)
{
    const VkDevice device = p->vk->device;
    vkDestroyFramebuffer(device, p->framebuffer, NULL);
    vkDestroyRenderPass(device, p->pass, NULL);
    vkDestroyImageView(device, p->view, NULL);
    vkDestroyImageView(device, p->aspect_view, NULL);
    vkDestroyBufferView(device, p->texels, NULL);
    p->framebuffer = VK_NULL_HANDLE;
    p->pass = VK_NULL_HANDLE;
    p->view = p->aspect_view = VK_NULL_HANDLE;
    p->texels = VK_NULL_HANDLE;
}

/* Shaders -------------------------------------------------------------------------------------- */

static const VkDescriptorType image_types[IMAGE_BINDINGS] = {
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE};

static const VkDescriptorType buffer_types[BUFFER_BINDINGS] = {
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER};

static void open_program(const probe *p, const char *shader, uint32_t count,
                         const VkDescriptorType types[], program *out)
{
    VkDescriptorSetLayoutBinding bindings[BUFFER_BINDINGS];
    for (uint32_t i = 0; i < count; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, types[i], 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(p->vk->device, &set_info, NULL, &out->set_layout));
    const VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &out->set_layout};
    VK_OK(vkCreatePipelineLayout(p->vk->device, &layout_info, NULL, &out->layout));
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = p->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &out->set_layout};
    VK_OK(vkAllocateDescriptorSets(p->vk->device, &allocate, &out->set));
    out->pipeline = lib_compute_pipeline(p->vk->device, shader, out->layout);
}

static void close_program(const probe *p, const program *run)
{
    vkDestroyPipeline(p->vk->device, run->pipeline, NULL);
    vkDestroyPipelineLayout(p->vk->device, run->layout, NULL);
    vkDestroyDescriptorSetLayout(p->vk->device, run->set_layout, NULL);
}

static void bind(VkCommandBuffer commands, const program *run)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, run->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, run->layout, 0, 1, &run->set,
                            0, NULL);
}

/* What buffers are created with for all uses of them. */
static const VkBufferUsageFlags buffer_usage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
    VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;

static VkBufferView view_words(const probe *p, VkBuffer buffer)
{
    const VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                         .buffer = buffer,
                                         .format = VK_FORMAT_R32_UINT,
                                         .range = PROBE_BYTES};
    VkBufferView view = VK_NULL_HANDLE;
    VK_OK(vkCreateBufferView(p->vk->device, &info, NULL, &view));
    return view;
}

static VkImageView view_layer(const probe *p, const raw_vk_image *image,
                              const VkImageSubresourceRange *range, VkImageAspectFlags aspects)
{
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = image->desc.format,
        .subresourceRange = {aspects, range->baseMipLevel, 1, range->baseArrayLayer, 1}};
    VkImageView view = VK_NULL_HANDLE;
    VK_OK(vkCreateImageView(p->vk->device, &info, NULL, &view));
    return view;
}

static void probe_open(probe *p, stage *s)
{
    static const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2},
                                                 {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2},
                                                 {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1},
                                                 {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1}};
    static const VkImageSubresourceRange all = {COLOR, 0, 1, 0, 1};
    raw_vk *vk = &s->w.vk;
    memset(p, 0, sizeof *p);
    p->vk = vk;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VK_OK(vkCreateSampler(vk->device, &sampler, NULL, &p->sampler));
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 2,
                                             .poolSizeCount = sizeof sizes / sizeof sizes[0],
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(vk->device, &pool, NULL, &p->pool));
    open_program(p, "library_barrier_images.comp", IMAGE_BINDINGS, image_types, &p->images);
    open_program(p, "library_barrier_buffers.comp", BUFFER_BINDINGS, buffer_types, &p->buffers);
    const VkBufferCreateInfo info = raw_vk_buffer_info(PROBE_BYTES, buffer_usage);
    p->zeros = lib_made_buffer(s->w.attachment, &info);
    p->buffer = culv_vk_buffer_handle(p->zeros);
    const raw_vk_buffer raw = {.buffer = p->buffer, .size = PROBE_BYTES}; /* no CUDA's */
    raw_vk_fill(vk, &raw, 0, PROBE_BYTES, 0, NULL);
    p->buffer_view = view_words(p, p->buffer);
    const raw_vk_image_desc desc = {.format = VK_FORMAT_R32_SFLOAT,
                                    .width = 4,
                                    .height = 4,
                                    .dimensions = 2,
                                    .usage =
                                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT};
    raw_vk_image_create(vk, &desc, &p->own);
    p->own_view = view_layer(p, &p->own, &all, COLOR);
    raw_vk_buffer_create(vk, COPY_BYTES, RAW_VK_HOST, &p->copies);
    memset(p->copies.mapped, 0, COPY_BYTES);
}

static void probe_close(probe *p)
{
    const VkDevice device = p->vk->device;
    probe_forget(p);
    vkDestroyImageView(device, p->own_view, NULL);
    raw_vk_image_destroy(p->vk, &p->own);
    raw_vk_buffer_destroy(p->vk, &p->copies);
    vkDestroyBufferView(device, p->buffer_view, NULL);
    LIB_OK(culv_shared_buffer_destroy(&p->zeros, NULL));
    vkDestroyDescriptorPool(device, p->pool, NULL);
    close_program(p, &p->images);
    close_program(p, &p->buffers);
    vkDestroySampler(device, p->sampler, NULL);
}

/* Uses ----------------------------------------------------------------------------------------- */

static bool is_copy(culv_vk_use use)
{
    return use == CULV_VK_USE_ANY || use == CULV_VK_USE_TRANSFER_SRC ||
           use == CULV_VK_USE_TRANSFER_DST;
}

/* Whether a queue has the use, as far as this file knows how to record it: no draw reads vertices
 * or indices here. */
static bool buffer_has(const probe *p, uint32_t queue, culv_vk_use use)
{
    return is_copy(use) || ((p->vk->queues[queue].flags & VK_QUEUE_COMPUTE_BIT) != 0 &&
                            (use == CULV_VK_USE_INDIRECT_BUFFER ||
                             (use >= CULV_VK_USE_UNIFORM && use <= CULV_VK_USE_SAMPLED)));
}

/* The subject stands at one binding, the probe's own buffer at all others, or says how many groups
 * there are: none. */
static void dispatch_buffers(probe *p, VkCommandBuffer commands, VkBuffer subject, culv_vk_use use)
{
    const bool indirect = use == CULV_VK_USE_INDIRECT_BUFFER;
    const uint32_t at = indirect ? BUFFER_BINDINGS : (uint32_t)use - CULV_VK_USE_UNIFORM;
    VkDescriptorBufferInfo ranges[BUFFER_BINDINGS];
    VkBufferView views[BUFFER_BINDINGS];
    VkWriteDescriptorSet writes[BUFFER_BINDINGS];
    p->texels = view_words(p, subject);
    for (uint32_t i = 0; i < BUFFER_BINDINGS; i++) {
        ranges[i] = (VkDescriptorBufferInfo){i == at ? subject : p->buffer, 0, PROBE_BYTES};
        views[i] = i == at ? p->texels : p->buffer_view;
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->buffers.set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = buffer_types[i],
                                           .pBufferInfo = &ranges[i],
                                           .pTexelBufferView = &views[i]};
    }
    vkUpdateDescriptorSets(p->vk->device, BUFFER_BINDINGS, writes, 0, NULL);
    bind(commands, &p->buffers);
    if (indirect)
        vkCmdDispatchIndirect(commands, subject, 0);
    else
        vkCmdDispatch(commands, 1, 1, 1);
}

static void record_buffer_use(probe *p, VkCommandBuffer commands, VkBuffer buffer, culv_vk_use use)
{
    const VkBufferCopy copy = {.size = PROBE_BYTES};
    if (use == CULV_VK_USE_TRANSFER_SRC)
        vkCmdCopyBuffer(commands, buffer, p->copies.buffer, 1, &copy);
    else if (is_copy(use))
        vkCmdCopyBuffer(commands, p->copies.buffer, buffer, 1, &copy);
    else
        dispatch_buffers(p, commands, buffer, use);
}

static bool image_has(const probe *p, uint32_t queue, const raw_vk_image *image, culv_vk_use use)
{
    const VkQueueFlags flags = p->vk->queues[queue].flags;
    const bool color = aspects_of(image->desc.format) == COLOR;
    VkImageUsageFlags needs;
    VkQueueFlags queues = VK_QUEUE_GRAPHICS_BIT;
    if (is_copy(use)) return color || (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
    switch (use) {
    case CULV_VK_USE_STORAGE_READ:
    case CULV_VK_USE_STORAGE:
        needs = VK_IMAGE_USAGE_STORAGE_BIT;
        queues = VK_QUEUE_COMPUTE_BIT;
        break;
    case CULV_VK_USE_SAMPLED: /* the shader reads floats */
        if (image->desc.format == VK_FORMAT_S8_UINT) return false;
        needs = VK_IMAGE_USAGE_SAMPLED_BIT;
        queues = VK_QUEUE_COMPUTE_BIT;
        break;
    case CULV_VK_USE_COLOR_ATTACHMENT: needs = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT; break;
    case CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT:
    case CULV_VK_USE_DEPTH_STENCIL_READ: needs = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT; break;
    case CULV_VK_USE_INPUT_ATTACHMENT: needs = VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT; break;
    default: return false;
    }
    return (image->desc.usage & needs) == needs && (flags & queues) != 0;
}

static void dispatch_images(probe *p, VkCommandBuffer commands, culv_vk_use use)
{
    const uint32_t at = use == CULV_VK_USE_SAMPLED ? 0 : use == CULV_VK_USE_STORAGE_READ ? 1 : 2;
    VkDescriptorImageInfo images[IMAGE_BINDINGS];
    VkWriteDescriptorSet writes[IMAGE_BINDINGS];
    for (uint32_t i = 0; i < IMAGE_BINDINGS; i++) {
        images[i] =
            (VkDescriptorImageInfo){p->sampler, i == at ? p->aspect_view : p->own_view,
                                    i == at ? each_use[use].layout : VK_IMAGE_LAYOUT_GENERAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = p->images.set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = image_types[i],
                                           .pImageInfo = &images[i]};
    }
    vkUpdateDescriptorSets(p->vk->device, IMAGE_BINDINGS, writes, 0, NULL);
    bind(commands, &p->images);
    vkCmdDispatch(commands, 1, 1, 1);
}

/* A render pass that loads p->view; where the use writes, it clears a texel and stores all. */
static void record_pass(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                        uint32_t level, culv_vk_use use)
{
    const VkDevice device = p->vk->device;
    const bool color = use == CULV_VK_USE_COLOR_ATTACHMENT,
               input = use == CULV_VK_USE_INPUT_ATTACHMENT,
               writes = color || use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT;
    const VkAttachmentStoreOp store =
        writes ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_NONE;
    const VkAttachmentDescription attachment = {.format = image->desc.format,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .storeOp = store,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .stencilStoreOp = store,
                                                .initialLayout = each_use[use].layout,
                                                .finalLayout = each_use[use].layout};
    const VkAttachmentReference reference = {0, each_use[use].layout};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = color,
                                          .pColorAttachments = &reference,
                                          .inputAttachmentCount = input,
                                          .pInputAttachments = &reference,
                                          .pDepthStencilAttachment =
                                              color || input ? NULL : &reference};
    const VkRenderPassCreateInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VK_OK(vkCreateRenderPass(device, &pass, NULL, &p->pass));
    const VkExtent3D extent = raw_vk_image_extent(image, level);
    const VkFramebufferCreateInfo framebuffer = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                                 .renderPass = p->pass,
                                                 .attachmentCount = 1,
                                                 .pAttachments = &p->view,
                                                 .width = extent.width,
                                                 .height = extent.height,
                                                 .layers = 1};
    VK_OK(vkCreateFramebuffer(device, &framebuffer, NULL, &p->framebuffer));
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = p->pass,
                                         .framebuffer = p->framebuffer,
                                         .renderArea = {{0, 0}, {extent.width, extent.height}}};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    const VkClearAttachment clear = {.aspectMask = aspects_of(image->desc.format)};
    const VkClearRect rect = {{{0, 0}, {1, 1}}, 0, 1};
    if (writes) vkCmdClearAttachments(commands, 1, &clear, 1, &rect);
    vkCmdEndRenderPass(commands);
}

/* Each aspect has a part of the buffer of its own. */
static void copy_image(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                       const VkImageSubresourceRange *range, culv_vk_use use)
{
    const VkExtent3D extent = raw_vk_image_extent(image, range->baseMipLevel);
    VkBufferImageCopy regions[COPY_PARTS];
    uint32_t count = 0;
    REQUIRE(extent.width * extent.height * extent.depth * 4 <= COPY_BYTES / COPY_PARTS);
    for (VkImageAspectFlags aspect = COLOR; aspect <= STENCIL; aspect <<= 1) {
        if ((aspects_of(image->desc.format) & aspect) == 0) continue;
        regions[count] = (VkBufferImageCopy){
            .bufferOffset = count * (COPY_BYTES / COPY_PARTS),
            .imageSubresource = {aspect, range->baseMipLevel, range->baseArrayLayer, 1},
            .imageExtent = extent};
        count++;
    }
    if (use != CULV_VK_USE_TRANSFER_SRC) {
        vkCmdCopyBufferToImage(commands, p->copies.buffer, image->image, each_use[use].layout,
                               count, regions);
        return;
    }
    vkCmdCopyImageToBuffer(commands, image->image, each_use[use].layout, p->copies.buffer, count,
                           regions);
}

/* Records the use, of the first level and layer of the range. Once the work is done, probe_forget()
 * gives up what it took. */
static void record_image_use(probe *p, VkCommandBuffer commands, const raw_vk_image *image,
                             const VkImageSubresourceRange *range, culv_vk_use use)
{
    const VkImageAspectFlags aspects = aspects_of(image->desc.format);
    if (is_copy(use)) {
        copy_image(p, commands, image, range, use);
        return;
    }
    p->view = view_layer(p, image, range, aspects);
    if (use == CULV_VK_USE_SAMPLED || use == CULV_VK_USE_STORAGE_READ ||
        use == CULV_VK_USE_STORAGE) { /* what a shader reads is one aspect */
        p->aspect_view = view_layer(p, image, range, aspects & DEPTH ? DEPTH : aspects);
        dispatch_images(p, commands, use);
    } else {
        record_pass(p, commands, image, range->baseMipLevel, use);
    }
}

/* Zeros are what images have by default; VK_REMAINING_... is 0 in a transfer. */
typedef struct image_kind {
    const char *name;
    VkFormat format;
    uint32_t dimensions, width, height, depth, levels, layers;
    VkImageCreateFlags create_flags;
    uint32_t base_level, level_count, base_layer, layer_count; /* what changes hands */
} image_kind;

#define CUBE   VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT
#define SLICED VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT

static const image_kind kinds[] = {
    {"1D", VK_FORMAT_R32_SFLOAT, 1, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"a level of a 1D array", VK_FORMAT_R32_SFLOAT, 1, 40, 0, 0, 4, 5, 0, 2, 1, 3, 2},
    {"2D", VK_FORMAT_R32_SFLOAT, 2, 33, 17, 0, 0, 0, 0, 0, 0, 0, 0},
    {"the last levels of a 2D image", VK_FORMAT_R32_SFLOAT, 2, 32, 16, 0, 6, 0, 0, 3, 0, 0, 0},
    {"a level and layer of a 2D array", VK_FORMAT_R32_SFLOAT, 2, 32, 16, 0, 3, 7, 0, 1, 1, 4, 1},
    {"the last layers of a 2D array", VK_FORMAT_R32_SFLOAT, 2, 32, 16, 0, 0, 7, 0, 0, 0, 5, 0},
    {"3D", VK_FORMAT_R32_SFLOAT, 3, 16, 8, 8, 0, 0, 0, 0, 0, 0, 0},
    {"a level of a 3D image", VK_FORMAT_R32_SFLOAT, 3, 16, 16, 16, 3, 0, 0, 1, 1, 0, 1},
    {"3D that has 2D views", VK_FORMAT_R32_SFLOAT, 3, 8, 8, 8, 0, 0, SLICED, 0, 0, 0, 1},
    {"cube", VK_FORMAT_R32_SFLOAT, 2, 16, 16, 0, 0, 6, CUBE, 0, 0, 0, 0},
    {"a face of a cube array", VK_FORMAT_R32_SFLOAT, 2, 16, 16, 0, 2, 18, CUBE, 1, 1, 6 * 1 + 4, 1},
    {"D16", VK_FORMAT_D16_UNORM, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0},
    {"X8_D24", VK_FORMAT_X8_D24_UNORM_PACK32, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0},
    {"a level and layer of a D32 array", VK_FORMAT_D32_SFLOAT, 2, 32, 16, 0, 3, 4, 0, 2, 1, 3, 1},
    {"a face of a D32 cube", VK_FORMAT_D32_SFLOAT, 2, 16, 16, 0, 0, 6, CUBE, 0, 1, 5, 1},
    {"S8", VK_FORMAT_S8_UINT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D16_S8", VK_FORMAT_D16_UNORM_S8_UINT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D24_S8", VK_FORMAT_D24_UNORM_S8_UINT, 2, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0},
    {"D32_S8 with levels", VK_FORMAT_D32_SFLOAT_S8_UINT, 2, 16, 16, 0, 2, 2, 0, 1, 0, 1, 0},
    {"BC7 with levels", VK_FORMAT_BC7_UNORM_BLOCK, 2, 32, 32, 0, 3, 2, 0, 1, 1, 1, 1},
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
                               .flags = RAW_VK_EXPORT | RAW_VK_UNTOUCHED};
}

static culv_vk_image_transfer transfer_of(const image_kind *k, VkImage image)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = image;
    t.format = k->format;
    t.base_mip_level = k->base_level;
    t.level_count = k->level_count;
    t.base_array_layer = k->base_layer;
    t.layer_count = k->layer_count;
    return t;
}

/* As many of the usages as an exportable image can have here; shaders and passes take 2D images. */
static bool choose_usage(stage *s, raw_vk_image_desc *d)
{
    const VkImageUsageFlags usages[] = {aspects_of(d->format) == COLOR
                                            ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
                                            : VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                                        VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_USAGE_STORAGE_BIT,
                                        VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT};
    for (size_t i = 0; d->dimensions == 2 && i < sizeof usages / sizeof usages[0]; i++) {
        raw_vk_image_desc more = *d;
        more.usage |= usages[i];
        if (raw_vk_image_supported(&s->w.vk, &more)) *d = more;
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

/* CUDA's turn, which waits for what Vulkan submitted and signals what Vulkan waits for next; then
 * one use of Vulkan's between acquire and release. */
static void turn(stage *s, probe *p, const raw_vk_image *image, const culv_vk_image_transfer *t,
                 bool old_form)
{
    const VkImageSubresourceRange range = {0, t->base_mip_level, 1, t->base_array_layer, 1};
    if (each_use[t->use].layout == VK_IMAGE_LAYOUT_GENERAL) tell_validation(s, t);
    stage_cuda_begin(s);
    stage_cuda_end(s);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, t->queue_family);
    record_barrier(commands, t, TO_VULKAN, old_form);
    record_image_use(p, commands, image, &range, t->use);
    record_barrier(commands, t, TO_CUDA, old_form);
    stage_submit(s, commands, t->queue_family);
    probe_forget(p);
}

/* All uses on all queues, and how many there were. */
static unsigned turns(stage *s, probe *p, const image_kind *kind, const raw_vk_image *image)
{
    unsigned count = 0;
    culv_vk_image_transfer t = transfer_of(kind, image->image), whole = t;
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    whole.base_mip_level = whole.level_count = whole.base_array_layer = whole.layer_count = 0;
    whole.discard = VK_TRUE;
    record_barrier(commands, &whole, TO_CUDA, false);
    stage_submit(s, commands, 0);
    for (uint32_t queue = 0; queue < s->w.vk.queue_count; queue++) {
        if (!stage_copies(s, queue)) continue;
        t.queue_family = queue;
        for (int use = 0; use < USES; use++) {
            t.use = (culv_vk_use)use;
            if (!image_has(p, queue, image, t.use)) continue;
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
    culv_vk_image_transfer t = transfer_of(&kinds[2], image.image);
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

/* CUDA writes zeros, which are words, texels and no groups. */
static void buffer_turn(stage *s, probe *p, const culv_vk_buffer_transfer *t, CUdeviceptr pointer,
                        uint32_t queue, bool old_form)
{
    stage_cuda_begin(s);
    LIB_CU_OK(&s->w, s->w.cu->MemsetD32Async(pointer, 0, PROBE_BYTES / 4, s->stream));
    stage_cuda_end(s);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, queue);
    record_buffer(commands, t, TO_VULKAN, old_form);
    record_buffer_use(p, commands, t->buffer, t->use);
    record_buffer(commands, t, TO_CUDA, old_form);
    stage_submit(s, commands, queue);
    probe_forget(p);
}

static void buffers_of(VkSharingMode sharing)
{
    stage s;
    probe p;
    uint32_t all[RAW_VK_MAX_QUEUES];
    unsigned uses = 0;
    stage_open(&s);
    if (sharing == VK_SHARING_MODE_CONCURRENT && s.w.vk.queue_count < 2)
        SKIP("one queue family: no CONCURRENT");
    for (uint32_t i = 0; i < s.w.vk.queue_count; i++)
        all[i] = i;
    const bool concurrent = sharing == VK_SHARING_MODE_CONCURRENT;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = PROBE_BYTES,
                                     .usage = buffer_usage,
                                     .sharingMode = sharing,
                                     .queueFamilyIndexCount = concurrent ? s.w.vk.queue_count : 0,
                                     .pQueueFamilyIndices = concurrent ? all : NULL};
    probe_open(&p, &s);
    culv_shared_buffer *made = lib_made_buffer(s.w.attachment, &info);
    const CUdeviceptr pointer = culv_buffer_pointer(culv_shared_buffer_cuda(made));
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    t.buffer = culv_vk_buffer_handle(made);
    for (uint32_t queue = 0; queue < s.w.vk.queue_count; queue++) {
        if (!stage_copies(&s, queue)) continue;
        for (int use = 0; use < USES; use++) {
            t.use = (culv_vk_use)use;
            if (!buffer_has(&p, queue, t.use)) continue;
            t.queue_family = concurrent ? VK_QUEUE_FAMILY_IGNORED : queue;
            buffer_turn(&s, &p, &t, pointer, queue, false);
            buffer_turn(&s, &p, &t, pointer, queue, true);
            uses++;
        }
    }
    printf("%u uses of buffers in two forms\n", uses);
    REQUIRE(uses >= 8);
    lib_finish(&s.w, s.stream);
    culv_shared_buffer_destroy(&made, NULL);
    probe_close(&p);
    stage_close(&s);
}

TEST_AS(recorded_buffers, buffers_of(VK_SHARING_MODE_EXCLUSIVE), .title = "recorded.buffers")
TEST_AS(buffers_concurrent, buffers_of(VK_SHARING_MODE_CONCURRENT))
