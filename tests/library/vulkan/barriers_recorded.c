/* SPDX-License-Identifier: MIT */
/* The barriers that Culvert hands out, recorded: every use of every kind of resource in both forms,
 * CUDA's turn between, the use itself between acquire and release. lib_close() requires that
 * validation and synchronization validation said nothing. */
#define TEST_GROUP "recorded."
#include "barriers_probe.h"
#include "image_stage.h"

/* VK_REMAINING_... is 0 in a transfer. */
typedef struct image_kind {
    const char *name;
    raw_vk_image_desc desc;
    uint32_t base_level, levels, base_layer, layers; /* what changes hands */
} image_kind;

#define CUBE   VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT
#define SLICED VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT

static const image_kind kinds[] = {
    TEST_ROW("1D", {.format = VK_FORMAT_R32_SFLOAT, .dimensions = 1, .width = 40}, 0, 0, 0, 0),
    TEST_ROW(
        "a level of a 1D array",
        {.format = VK_FORMAT_R32_SFLOAT, .dimensions = 1, .width = 40, .levels = 4, .layers = 5}, 2,
        1, 3, 2),
    TEST_ROW("2D", {.format = VK_FORMAT_R32_SFLOAT, .width = 33, .height = 17}, 0, 0, 0, 0),
    TEST_ROW("the last levels of a 2D image",
             {.format = VK_FORMAT_R32_SFLOAT, .width = 32, .height = 16, .levels = 6}, 3, 0, 0, 0),
    TEST_ROW("a level and layer of a 2D array",
             {.format = VK_FORMAT_R32_SFLOAT, .width = 32, .height = 16, .levels = 3, .layers = 7},
             1, 1, 4, 1),
    TEST_ROW("the last layers of a 2D array",
             {.format = VK_FORMAT_R32_SFLOAT, .width = 32, .height = 16, .layers = 7}, 0, 0, 5, 0),
    TEST_ROW(
        "3D",
        {.format = VK_FORMAT_R32_SFLOAT, .dimensions = 3, .width = 16, .height = 8, .depth = 8}, 0,
        0, 0, 0),
    TEST_ROW("a level of a 3D image",
             {.format = VK_FORMAT_R32_SFLOAT,
              .dimensions = 3,
              .width = 16,
              .height = 16,
              .depth = 16,
              .levels = 3},
             1, 1, 0, 1),
    TEST_ROW("3D that has 2D views",
             {.format = VK_FORMAT_R32_SFLOAT,
              .dimensions = 3,
              .width = 8,
              .height = 8,
              .depth = 8,
              .create_flags = SLICED},
             0, 0, 0, 1),
    TEST_ROW("cube",
             {.format = VK_FORMAT_R32_SFLOAT,
              .width = 16,
              .height = 16,
              .layers = 6,
              .create_flags = CUBE},
             0, 0, 0, 0),
    TEST_ROW("a face of a cube array",
             {.format = VK_FORMAT_R32_SFLOAT,
              .width = 16,
              .height = 16,
              .levels = 2,
              .layers = 18,
              .create_flags = CUBE},
             1, 1, 6 * 1 + 4, 1),
    TEST_ROW("D16", {.format = VK_FORMAT_D16_UNORM, .width = 16, .height = 16}, 0, 0, 0, 0),
    TEST_ROW("X8_D24", {.format = VK_FORMAT_X8_D24_UNORM_PACK32, .width = 16, .height = 16}, 0, 0,
             0, 0),
    TEST_ROW("D32", {.format = VK_FORMAT_D32_SFLOAT, .width = 16, .height = 16}, 0, 0, 0, 0),
    TEST_ROW("a level and layer of a D32 array",
             {.format = VK_FORMAT_D32_SFLOAT, .width = 32, .height = 16, .levels = 3, .layers = 4},
             2, 1, 3, 1),
    TEST_ROW("a face of a D32 cube",
             {.format = VK_FORMAT_D32_SFLOAT,
              .width = 16,
              .height = 16,
              .layers = 6,
              .create_flags = CUBE},
             0, 1, 5, 1),
    TEST_ROW("S8", {.format = VK_FORMAT_S8_UINT, .width = 16, .height = 16}, 0, 0, 0, 0),
    TEST_ROW("D16_S8", {.format = VK_FORMAT_D16_UNORM_S8_UINT, .width = 16, .height = 16}, 0, 0, 0,
             0),
    TEST_ROW("D24_S8", {.format = VK_FORMAT_D24_UNORM_S8_UINT, .width = 16, .height = 16}, 0, 0, 0,
             0),
    TEST_ROW("D32_S8 with levels",
             {.format = VK_FORMAT_D32_SFLOAT_S8_UINT,
              .width = 16,
              .height = 16,
              .levels = 2,
              .layers = 2},
             1, 0, 1, 0),
    TEST_ROW("BC1", {.format = VK_FORMAT_BC1_RGBA_UNORM_BLOCK, .width = 16, .height = 16}, 0, 0, 0,
             0),
    TEST_ROW(
        "BC7 with levels",
        {.format = VK_FORMAT_BC7_UNORM_BLOCK, .width = 32, .height = 32, .levels = 3, .layers = 2},
        1, 1, 1, 1),
    TEST_ROW("two planes",
             {.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, .width = 16, .height = 16}, 0, 0, 0, 0),
    TEST_ROW("LINEAR",
             {.format = VK_FORMAT_R32_SFLOAT, .width = 33, .height = 17, .flags = RAW_VK_LINEAR}, 0,
             0, 0, 0),
};
enum {
    KINDS = sizeof kinds / sizeof kinds[0],
    USES = CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT + 1
};

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

/* All uses on all queues, and how many there were. */
static unsigned turns(stage *s, probe *p, const image_kind *kind, const raw_vk_image *image)
{
    unsigned count = 0;
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = image->image;
    t.format = kind->desc.format;
    t.discard = VK_TRUE; /* a new image, all of it */
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    record_barrier(commands, &t, TO_CUDA, false);
    stage_submit(s, commands, 0);
    t.discard = VK_FALSE;
    t.base_mip_level = kind->base_level;
    t.level_count = kind->levels;
    t.base_array_layer = kind->base_layer;
    t.layer_count = kind->layers;
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

IMAGE_CASE(images)
{
    probe p;
    unsigned total = 0, made = 0;
    probe_open(&p, &s->w.vk);
    for (int k = 0; k < KINDS; k++) {
        raw_vk_image_desc d = kinds[k].desc;
        raw_vk_image image;
        d.flags |= RAW_VK_EXPORT | RAW_VK_UNTOUCHED;
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
    probe_open(&p, &s->w.vk);
    raw_vk_image_desc d = kinds[2].desc;
    d.flags |= RAW_VK_EXPORT | RAW_VK_DEDICATED | RAW_VK_UNTOUCHED;
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
        LIB_OK(
            culv_vk_buffer_get_barrier(t, way == TO_CUDA ? CULV_VK_RELEASE : CULV_VK_ACQUIRE, &b));
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
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *made = NULL;
    d.create_info = &info;
    probe_open(&p, &s.w.vk);
    LIB_OK(culv_vk_buffer_create(s.w.attachment, &d, &made));
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

TEST_AS(buffers, buffers_of(VK_SHARING_MODE_EXCLUSIVE))
TEST_AS(buffers_concurrent, buffers_of(VK_SHARING_MODE_CONCURRENT))

/* Data through the barriers, of every kind of image: CUDA writes a level, Vulkan takes one layer of
 * it (a face of a cube, all slices of a 3D image), reads it, writes it, draws into it and hands it
 * back, and CUDA reads all of the level. The layers that Vulkan did not take stay CUDA's and stay
 * as they were. */

enum { MAX_BYTES = 65536 };

typedef struct data_kind {
    const char *name;
    VkFormat format;
    uint32_t dimensions, width, height, depth, levels, layers;
    VkImageCreateFlags flags;
    uint32_t level, layer; /* what Vulkan takes */
} data_kind;

static const data_kind data_kinds[] = {
    {"1D", VK_FORMAT_R8G8B8A8_UNORM, 1, 61, 1, 1, 2, 1, 0, 1, 0},
    {"layer 3 of a 1D array", VK_FORMAT_R8G8B8A8_UNORM, 1, 61, 1, 1, 2, 5, 0, 1, 3},
    {"2D", VK_FORMAT_R8G8B8A8_UNORM, 2, 33, 17, 1, 1, 1, 0, 0, 0},
    {"level 2 of a 2D image", VK_FORMAT_R8G8B8A8_UNORM, 2, 53, 27, 1, 4, 1, 0, 2, 0},
    {"the last layer of a 2D array", VK_FORMAT_R8G8B8A8_UNORM, 2, 33, 17, 1, 2, 4, 0, 1, 3},
    {"the slices of a 3D image", VK_FORMAT_R8G8B8A8_UNORM, 3, 19, 13, 11, 1, 1, 0, 0, 0},
    {"level 1 of a 3D image", VK_FORMAT_R8G8B8A8_UNORM, 3, 19, 13, 11, 2, 1, 0, 1, 0},
    {"a face of a cube", VK_FORMAT_R8G8B8A8_UNORM, 2, 16, 16, 1, 1, 6, CUBE, 0, 4},
    {"a face of a cube array", VK_FORMAT_R8G8B8A8_UNORM, 2, 16, 16, 1, 3, 18, CUBE, 1, 6 * 2 + 1},
    {"D32", VK_FORMAT_D32_SFLOAT, 2, 33, 17, 1, 1, 1, 0, 0, 0},
    {"layer 1 of a D32 array", VK_FORMAT_D32_SFLOAT, 2, 33, 17, 1, 2, 3, 0, 1, 1},
    {"D16", VK_FORMAT_D16_UNORM, 2, 33, 17, 1, 1, 1, 0, 0, 0},
    {"S8", VK_FORMAT_S8_UINT, 2, 33, 17, 1, 1, 1, 0, 0, 0},
};

enum { DATA_KINDS = sizeof data_kinds / sizeof data_kinds[0] };

typedef struct subject {
    const data_kind *kind;
    culv_shared_image *made;
    culv_image *cuda;
    raw_vk_image vulkan; /* its handle and description alone, for the probe */
    uint32_t width, height, depth;
    uint32_t texel;            /* bytes */
    size_t layer_bytes, bytes; /* of the level */
} subject;

/* Numbers that copies and depth formats keep. */
static void fill(const subject *x, uint32_t seed, unsigned char *texels, size_t bytes)
{
    for (size_t i = 0; i < bytes / x->texel; i++) {
        const uint32_t word = lib_word((uint32_t)i, seed) >> 7;
        const float depth = (float)(word % 1009) / 1008.0f;
        const void *value =
            x->kind->format == VK_FORMAT_D32_SFLOAT ? (const void *)&depth : (const void *)&word;
        memcpy(texels + i * x->texel, value, x->texel);
    }
}

static bool open_subject(stage *s, const data_kind *kind, subject *x)
{
    static const VkImageType types[] = {VK_IMAGE_TYPE_1D, VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_3D};
    const bool color = probe_aspects(kind->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (kind->dimensions == 2)
        usage |= color ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
                       : VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = kind->flags,
                                    .imageType = types[kind->dimensions - 1],
                                    .format = kind->format,
                                    .extent = {kind->width, kind->height, kind->depth},
                                    .mipLevels = kind->levels,
                                    .arrayLayers = kind->layers,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = usage};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    memset(x, 0, sizeof *x);
    x->kind = kind;
    culv_result r = culv_vk_image_create(s->w.attachment, &d, &x->made);
    if (r == CULV_ERROR_UNSUPPORTED) {
        printf("not here: %s (%s)\n", kind->name, culv_last_error_message());
        return false;
    }
    LIB_OK(r);
    x->cuda = culv_shared_image_cuda(x->made);
    x->vulkan.image = culv_vk_image_handle(x->made);
    x->vulkan.desc = (raw_vk_image_desc){.format = kind->format,
                                         .width = kind->width,
                                         .height = kind->height,
                                         .depth = kind->depth,
                                         .levels = kind->levels,
                                         .layers = kind->layers,
                                         .dimensions = kind->dimensions,
                                         .usage = usage};
    culv_format_info format = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)kind->format, &format));
    LIB_OK(culv_image_get_extent(x->cuda, kind->level, &x->width, &x->height, &x->depth));
    x->texel = format.bytes_per_block;
    x->layer_bytes = (size_t)x->width * x->height * x->depth * x->texel;
    x->bytes = x->layer_bytes * kind->layers;
    REQUIRE(x->bytes <= MAX_BYTES);
    return true;
}

/* CUDA's turn: all layers or slices of the level, from or to host memory. */
static void cuda_copy(stage *s, const subject *x, const void *from, void *to)
{
    const size_t row = (size_t)x->width * x->texel;
    const bool in = from != NULL;
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(x->cuda, x->kind->level, &array));
    CUDA_MEMCPY3D c = {.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY,
                       .srcHost = from,
                       .srcPitch = in ? row : 0,
                       .srcHeight = in ? x->height : 0,
                       .srcArray = in ? NULL : array,
                       .dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST,
                       .dstHost = to,
                       .dstPitch = in ? 0 : row,
                       .dstHeight = in ? 0 : x->height,
                       .dstArray = in ? array : NULL,
                       .WidthInBytes = row,
                       .Height = x->height,
                       .Depth = (size_t)x->depth * x->kind->layers};
    stage_cuda_begin(s);
    LIB_CU_OK(&s->w, s->w.cu->Memcpy3DAsync(&c, s->stream));
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
    t.base_mip_level = x->kind->level;
    t.level_count = 1;
    t.base_array_layer = x->kind->layer;
    t.layer_count = 1;
    return t;
}

/* Vulkan's turn: one use of what it takes, between acquire and release. */
static void vulkans_turn(stage *s, probe *p, const subject *x, culv_vk_use use,
                         const raw_vk_buffer *host, bool old_form)
{
    const culv_vk_image_transfer t = transfer(x, use);
    const VkImageSubresourceRange range = {0, x->kind->level, 1, x->kind->layer, 1};
    const VkBufferImageCopy region = {
        .imageSubresource = {probe_aspects(x->kind->format), x->kind->level, x->kind->layer, 1},
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
    unsigned char *taken = expected + x->kind->layer * x->layer_bytes;
    fill(x, 5, expected, x->bytes);
    memcpy(texels, expected, x->bytes);
    cuda_copy(s, x, texels, NULL);

    memset(host->mapped, 0x55, x->layer_bytes);
    vulkans_turn(s, p, x, CULV_VK_USE_TRANSFER_SRC, host, old_form);
    REQUIRE_EQ_BYTES(host->mapped, taken, x->layer_bytes);

    stage_cuda_begin(s);
    stage_cuda_end(s);
    fill(x, 6, taken, x->layer_bytes);
    memcpy(host->mapped, taken, x->layer_bytes);
    vulkans_turn(s, p, x, CULV_VK_USE_TRANSFER_DST, host, old_form);
    if (x->kind->dimensions == 2) {
        stage_cuda_begin(s);
        stage_cuda_end(s);
        vulkans_turn(s, p, x,
                     color ? CULV_VK_USE_COLOR_ATTACHMENT : CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT,
                     host, old_form);
        memset(taken, 0, x->texel); /* which the probe clears */
    }
    memset(texels, 0x77, x->bytes);
    cuda_copy(s, x, NULL, texels);
    REQUIRE_EQ_BYTES(texels, expected, x->bytes);
}

IMAGE_CASE(data)
{
    probe p;
    subject x;
    raw_vk_buffer host;
    unsigned count = 0;
    probe_open(&p, &s->w.vk);
    raw_vk_buffer_create(&s->w.vk, MAX_BYTES, RAW_VK_HOST, &host);
    for (int k = 0; k < DATA_KINDS; k++) {
        if (!open_subject(s, &data_kinds[k], &x)) continue;
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        t.queue_family = 0;
        t.image = x.vulkan.image;
        t.format = data_kinds[k].format;
        t.discard = VK_TRUE; /* a new image, all of it */
        VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
        record_barrier(commands, &t, TO_CUDA, k % 2 != 0);
        stage_submit(s, commands, 0);
        round_trip(s, &p, &x, &host, false);
        round_trip(s, &p, &x, &host, true);
        culv_shared_image_destroy(&x.made, NULL);
        printf("%s: right\n", data_kinds[k].name);
        count++;
    }
    REQUIRE(count >= 9); /* those of color, at least */
    raw_vk_buffer_destroy(&s->w.vk, &host);
    probe_close(&p);
}
