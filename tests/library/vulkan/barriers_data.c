/* SPDX-License-Identifier: MIT */
/* Data through the barriers, of every kind of image: CUDA writes a level, Vulkan takes one layer of
 * it (a face of a cube, all slices of a 3D image), reads it, writes it, draws into it and hands it
 * back, and CUDA reads all of the level. The layers that Vulkan did not take stay CUDA's and stay
 * as they were. */
#define TEST_GROUP "recorded."
#include "barriers_probe.h"
#include "image_stage.h"

enum { MAX_BYTES = 65536 };

typedef struct data_kind {
    const char *name;
    VkFormat format;
    uint32_t dimensions, width, height, depth, levels, layers;
    VkImageCreateFlags flags;
    uint32_t level, layer; /* what Vulkan takes */
} data_kind;

#define CUBE VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT

static const data_kind kinds[] = {
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
enum { KINDS = sizeof kinds / sizeof kinds[0] };

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
    for (int k = 0; k < KINDS; k++) {
        if (!open_subject(s, &kinds[k], &x)) continue;
        culv_vk_image_transfer t = culv_vk_image_transfer_init();
        t.queue_family = 0;
        t.image = x.vulkan.image;
        t.format = kinds[k].format;
        t.discard = VK_TRUE; /* a new image, all of it */
        VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
        record_barrier(commands, &t, TO_CUDA, k % 2 != 0);
        stage_submit(s, commands, 0);
        round_trip(s, &p, &x, &host, false);
        round_trip(s, &p, &x, &host, true);
        culv_shared_image_destroy(&x.made, NULL);
        printf("%s: right\n", kinds[k].name);
        count++;
    }
    REQUIRE(count >= 9); /* those of color, at least */
    raw_vk_buffer_destroy(&s->w.vk, &host);
    probe_close(&p);
}
