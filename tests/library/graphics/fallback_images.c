/* SPDX-License-Identifier: MIT */
/* Fallbacks: images of every kind and of formats that no CUDA array has, the same program on every
 * path. */
#include "fallback_scene.h"
#include "raw_cuda_image.h"

typedef struct row {
    const char *what;
    VkFormat format;
    VkImageType type;
    VkImageCreateFlags flags;
    VkExtent3D extent;
    uint32_t levels, layers;
    bool linear; /* no CUDA array has the format */
    bool host;   /* what CUDA has, but is not shared as it is */
} row;

#define IMAGE_2D VK_IMAGE_TYPE_2D
#define DISJOINT VK_IMAGE_CREATE_DISJOINT_BIT

static const row rows[] = {
    TEST_ROW("2D", VK_FORMAT_R8G8B8A8_UNORM, IMAGE_2D, 0, {61, 33, 1}, 3, 1, false, false),
    TEST_ROW("2D array", VK_FORMAT_R16G16_SFLOAT, IMAGE_2D, 0, {31, 17, 1}, 2, 3, false, false),
    TEST_ROW("1D array", VK_FORMAT_R8_UNORM, VK_IMAGE_TYPE_1D, 0, {101, 1, 1}, 2, 2, false, false),
    TEST_ROW("3D", VK_FORMAT_R32_UINT, VK_IMAGE_TYPE_3D, 0, {13, 9, 5}, 2, 1, false, false),
    TEST_ROW("cube", VK_FORMAT_R8G8_UNORM, IMAGE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
             {16, 16, 1}, 2, 6, false, false),
    TEST_ROW("blocks", VK_FORMAT_BC1_RGBA_UNORM_BLOCK, IMAGE_2D, 0, {36, 20, 1}, 2, 1, false,
             false),
    TEST_ROW("blocks in layers", VK_FORMAT_BC1_RGBA_UNORM_BLOCK, IMAGE_2D, 0, {36, 20, 1}, 2, 3,
             false, false),
    TEST_ROW("depth", VK_FORMAT_D16_UNORM, IMAGE_2D, 0, {40, 20, 1}, 1, 1, false, false),
    TEST_ROW("planes", VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, IMAGE_2D, DISJOINT, {48, 24, 1}, 1, 1,
             false, false),
    TEST_ROW("three planes", VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM, IMAGE_2D, DISJOINT, {32, 16, 1},
             1, 1, false, false),
    TEST_ROW("joined planes", VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, IMAGE_2D, 0, {48, 24, 1}, 1, 1,
             false, true),
    TEST_ROW("three channels", VK_FORMAT_R32G32B32_SFLOAT, IMAGE_2D, 0, {23, 11, 1}, 1, 1, true,
             false),
    TEST_ROW("three channels, 3D", VK_FORMAT_R32G32B32_UINT, VK_IMAGE_TYPE_3D, 0, {9, 7, 3}, 1, 1,
             true, false),
    TEST_ROW("depth and stencil", VK_FORMAT_D24_UNORM_S8_UINT, IMAGE_2D, 0, {19, 13, 1}, 2, 2, true,
             false),
    TEST_ROW("float depth and stencil", VK_FORMAT_D32_SFLOAT_S8_UINT, IMAGE_2D, 0, {19, 13, 1}, 2,
             1, true, false),
};

/* One plane of one level, as vkCmdCopyImageToBuffer lays it out. */
typedef struct piece {
    uint32_t level, plane;
    VkImageAspectFlags aspect;
    VkExtent3D extent; /* texels */
    uint32_t blocks, rows, slices, block_bytes;
    size_t size, at;
} piece;

enum { MAX_PIECES = 16 };

static piece pieces[MAX_PIECES];
static uint32_t num_pieces;
static size_t all_bytes;

static uint32_t half(uint32_t size, uint32_t level)
{
    return size >> level != 0 ? size >> level : 1;
}

/* Restated from the formats' definitions, not taken from Culvert's table. */
static piece plane_of(const row *r, uint32_t plane)
{
    piece p = {.plane = plane, .aspect = VK_IMAGE_ASPECT_COLOR_BIT, .extent = r->extent};
    bool first = plane == 0;
    switch ((int)r->format) {
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R16G16_SFLOAT:
    case VK_FORMAT_R32_UINT: p.block_bytes = 4; break;
    case VK_FORMAT_R8_UNORM: p.block_bytes = 1; break;
    case VK_FORMAT_R8G8_UNORM: p.block_bytes = 2; break;
    case VK_FORMAT_BC1_RGBA_UNORM_BLOCK: p.block_bytes = 8; break;
    case VK_FORMAT_R32G32B32_SFLOAT:
    case VK_FORMAT_R32G32B32_UINT: p.block_bytes = 12; break;
    case VK_FORMAT_D16_UNORM:
        p.block_bytes = 2;
        p.aspect = VK_IMAGE_ASPECT_DEPTH_BIT;
        break;
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        p.block_bytes = first ? 4 : 1;
        p.aspect = first ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_STENCIL_BIT;
        break;
    default: /* of several planes */
        p.block_bytes = r->format == VK_FORMAT_G8_B8R8_2PLANE_420_UNORM && !first ? 2 : 1;
        p.aspect = (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << plane;
        if (!first) p.extent = (VkExtent3D){r->extent.width / 2, r->extent.height / 2, 1};
    }
    return p;
}

static uint32_t planes_of(const row *r)
{
    switch ((int)r->format) {
    case VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM: return 3;
    case VK_FORMAT_G8_B8R8_2PLANE_420_UNORM:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT: return 2;
    default: return 1;
    }
}

static void cut(const row *r)
{
    num_pieces = 0;
    all_bytes = 0;
    for (uint32_t level = 0; level < r->levels; level++)
        for (uint32_t plane = 0; plane < planes_of(r); plane++) {
            piece p = plane_of(r, plane);
            uint32_t block = r->format == VK_FORMAT_BC1_RGBA_UNORM_BLOCK ? 4 : 1;
            p.level = level;
            p.extent = (VkExtent3D){half(p.extent.width, level), half(p.extent.height, level),
                                    half(p.extent.depth, level)};
            p.blocks = (p.extent.width + block - 1) / block;
            p.rows = (p.extent.height + block - 1) / block;
            p.slices = p.extent.depth * r->layers;
            p.size = (size_t)p.blocks * p.block_bytes * p.rows * p.slices;
            p.at = all_bytes;
            all_bytes += (p.size + 191) / 192 * 192;
            REQUIRE(num_pieces < MAX_PIECES);
            pieces[num_pieces++] = p;
        }
}

/* Each seed changes the high bits, which are the ones used. */
static uint32_t noise(const piece *p, size_t i, uint32_t seed)
{
    return lib_word((uint32_t)(p->at + i), seed * 2246822519u);
}

/* Depths are between 0 and 1, and the unused bits of a D24 word are 0. */
static void fill(const row *r, const piece *p, uint32_t seed, unsigned char *out)
{
    bool depth = p->aspect == VK_IMAGE_ASPECT_DEPTH_BIT;
    for (size_t i = 0; i < p->size; i++)
        out[i] = (unsigned char)(noise(p, i, seed) >> 24);
    for (size_t i = 0; depth && p->block_bytes == 4 && i < p->size; i += 4) {
        uint32_t bits = noise(p, i, seed) >> 8;
        float value = (float)bits / 16777216.0f;
        if (r->format == VK_FORMAT_D24_UNORM_S8_UINT)
            memcpy(out + i, &bits, 4);
        else
            memcpy(out + i, &value, 4);
    }
}

static void require(const row *r, const piece *p, uint32_t seed, unsigned char *found,
                    const char *where)
{
    unsigned char *expected = malloc(p->size);
    REQUIRE(expected != NULL);
    fill(r, p, seed, expected);
    for (size_t i = 3;
         r->format == VK_FORMAT_D24_UNORM_S8_UINT && p->block_bytes == 4 && i < p->size; i += 4)
        found[i] = 0; /* undefined */
    for (size_t i = 0; i < p->size; i++)
        if (found[i] != expected[i])
            FAIL("%s, %s: level %u, plane %u, byte %zu of %zu is 0x%02x, not 0x%02x", r->what,
                 where, p->level, p->plane, i, p->size, found[i], expected[i]);
    free(expected);
}

/* CUDA's side ---------------------------------------------------------------------------------- */

/* Copies a piece to or from CUDA's memory, whatever it is. */
static void cuda_copies(const scene *s, const row *r, culv_image *image, const piece *p,
                        unsigned char *texels, bool in)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    size_t row_bytes = (size_t)p->blocks * p->block_bytes;
    if (r->linear) {
        culv_subresource_layout l = culv_subresource_layout_init();
        LIB_OK(culv_image_get_layout(image, p->level, p->plane, &l));
        REQUIRE_EQ(l.size, p->size);
        REQUIRE_EQ(l.row_pitch, row_bytes);
        const uint64_t slice = (uint64_t)row_bytes * p->rows;
        REQUIRE_EQ(l.depth_pitch, r->type == VK_IMAGE_TYPE_3D ? slice : 0);
        REQUIRE_EQ(l.layer_pitch, r->layers > 1 ? slice : 0);
        REQUIRE_EQ(l.width, p->extent.width);
        REQUIRE_EQ(l.height, p->extent.height);
        REQUIRE_EQ(l.depth, p->extent.depth);
        REQUIRE_EQ(l.array_layers, r->layers);
        REQUIRE_EQ(l.bytes_per_block, p->block_bytes);
        if (in)
            CU_OK(raw_cuda_upload(cu, l.pointer, texels, p->size));
        else
            CU_OK(cu->MemcpyDtoH(texels, l.pointer, p->size));
    } else {
        CUarray array = NULL;
        LIB_OK(culv_image_get_array(image, p->level, p->plane, &array));
        if (in)
            CU_OK(raw_cuda_write_box(cu, array, texels, row_bytes, p->rows, p->slices));
        else
            CU_OK(raw_cuda_read_box(cu, array, texels, row_bytes, p->rows, p->slices));
    }
    lib_leave(&s->w, before);
}

static void write_cuda(const scene *s, const row *r, culv_image *image, uint32_t seed,
                       unsigned char *texels)
{
    for (uint32_t i = 0; i < num_pieces; i++) {
        fill(r, &pieces[i], seed, texels);
        cuda_copies(s, r, image, &pieces[i], texels, true);
    }
}

/* The same straight from linear memory to where Vulkan reads it, also with room behind rows and
 * slices. */
static void write_fields(const scene *s, const row *r, culv_image *image, uint32_t seed,
                         unsigned char *texels)
{
    const raw_cuda *cu = s->w.cu;
    for (uint32_t i = 0; i < num_pieces; i++) {
        const piece *p = &pieces[i];
        const size_t row_bytes = (size_t)p->blocks * p->block_bytes,
                     pitch = i % 2 ? row_bytes : row_bytes + 3 * p->block_bytes,
                     slice = i % 2 ? pitch * p->rows : pitch * (p->rows + 2);
        culv_image_field f = culv_image_field_init();
        CUcontext before = lib_enter(&s->w);
        fill(r, p, seed, texels);
        CU_OK(cu->MemAlloc(&f.pointer, slice * p->slices));
        for (size_t z = 0; z < p->slices; z++)
            for (size_t y = 0; y < p->rows; y++)
                CU_OK(raw_cuda_upload(cu, f.pointer + z * slice + y * pitch,
                                      texels + (z * p->rows + y) * row_bytes, row_bytes));
        lib_leave(&s->w, before);
        f.row_pitch = i % 2 ? 0 : pitch;
        f.slice_pitch = i % 2 ? 0 : slice;
        f.level = p->level;
        f.plane = p->plane;
        LIB_OK(culv_image_write(image, &f, s->stream));
        lib_finish(&s->w, s->stream);
        before = lib_enter(&s->w);
        CU_OK(cu->MemFree(f.pointer));
        lib_leave(&s->w, before);
    }
}

static void refuse_fields(culv_image *image, const row *r)
{
    const culv_image_field good = culv_image_field_init();
    const struct {
        uint64_t pointer, row_pitch, slice_pitch;
        uint32_t level, plane;
        culv_reason reason;
    } bad[] = {{0, 0, 0, 0, 0, CULV_REASON_NULL_ARGUMENT},
               {4096, 1, 0, 0, 0, CULV_REASON_VALUE},
               {4096, 4096, 4097, 0, 0, CULV_REASON_VALUE},
               {4096, 4096, 4096ull * (pieces[0].rows - 1), 0, 0, CULV_REASON_VALUE},
               {4096, UINT64_MAX, 0, 0, 0, CULV_REASON_VALUE},
               {4096, 0, 0, r->levels, 0, CULV_REASON_LEVEL},
               {4096, 0, 0, 0, planes_of(r), CULV_REASON_LEVEL}};
    LIB_INVALID(culv_image_write(image, NULL, NULL), NULL_ARGUMENT);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        culv_image_field f = good;
        if (i == 3 && pieces[0].rows == 1) continue; /* 0: packed */
        f.pointer = (CUdeviceptr)bad[i].pointer;
        f.row_pitch = bad[i].row_pitch;
        f.slice_pitch = bad[i].slice_pitch;
        f.level = bad[i].level;
        f.plane = bad[i].plane;
        LIB_FAILS(culv_image_write(image, &f, NULL), CULV_ERROR_INVALID, bad[i].reason);
    }
}

static void require_cuda(const scene *s, const row *r, culv_image *image, uint32_t seed,
                         unsigned char *texels)
{
    lib_finish(&s->w, s->stream);
    for (uint32_t i = 0; i < num_pieces; i++) {
        memset(texels, 0x77, pieces[i].size);
        cuda_copies(s, r, image, &pieces[i], texels, false);
        require(r, &pieces[i], seed, texels, "in CUDA");
    }
}

/* Vulkan's side -------------------------------------------------------------------------------- */

static void image_barrier(VkCommandBuffer commands, const row *r, const culv_shared_image *image,
                          culv_vk_use use, bool acquire, bool discard)
{
    VkImageMemoryBarrier2 barrier;
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = culv_vk_image_handle(image);
    t.format = r->format;
    t.use = use;
    t.discard = discard;
    LIB_OK(culv_vk_image_get_barrier2(&t, acquire ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

static void vulkan_copies(scene *s, const row *r, const culv_shared_image *image,
                          const raw_vk_buffer *host, bool out)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    culv_vk_use use = out ? CULV_VK_USE_TRANSFER_SRC : CULV_VK_USE_TRANSFER_DST;
    VkImageLayout layout =
        out ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    image_barrier(commands, r, image, use, true, false);
    if (out) LIB_OK(culv_vk_image_record_copy(image, CULV_COPY_UPLOAD, commands, layout));
    for (uint32_t i = 0; i < num_pieces; i++) {
        const piece *p = &pieces[i];
        const VkBufferImageCopy region = {.bufferOffset = p->at,
                                          .imageSubresource = {p->aspect, p->level, 0, r->layers},
                                          .imageExtent = p->extent};
        if (out)
            vkCmdCopyImageToBuffer(commands, culv_vk_image_handle(image), layout, host->buffer, 1,
                                   &region);
        else
            vkCmdCopyBufferToImage(commands, host->buffer, culv_vk_image_handle(image), layout, 1,
                                   &region);
    }
    if (!out) LIB_OK(culv_vk_image_record_copy(image, CULV_COPY_DOWNLOAD, commands, layout));
    image_barrier(commands, r, image, use, false, false);
    scene_submit(s, commands);
}

static bool vulkan_makes(const scene *s, const VkImageCreateInfo *info)
{
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    const VkPhysicalDeviceImageFormatInfo2 query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .format = info->format,
        .type = info->imageType,
        .usage = info->usage,
        .flags = info->flags};
    if ((info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) && !lib_disjoint(&s->w, info->format))
        return false;
    return vkGetPhysicalDeviceImageFormatProperties2(s->w.vk.physical, &query, &properties) ==
           VK_SUCCESS;
}

static bool make(const scene *s, const row *r, culv_shared_image **out)
{
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = r->flags,
                                    .imageType = r->type,
                                    .format = r->format,
                                    .extent = r->extent,
                                    .mipLevels = r->levels,
                                    .arrayLayers = r->layers,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    if (!vulkan_makes(s, &info)) {
        printf("  %s: Vulkan makes no such images (format %d)\n", r->what, (int)r->format);
        return false;
    }
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_ANY;
    d.label = r->what;
    culv_result result = culv_vk_image_create(s->w.attachment, &d, out);
    if (result == CULV_ERROR_DRIVER &&
        !s->w.cu->software) { /* which arrays of its own CUDA makes is the driver's */
        MEASURED("fallback_image_refused", "%s", culv_last_error_message());
        return false;
    }
    LIB_OK(result);
    return true;
}

static void refuse_arrays(culv_image *image)
{
    CUarray array = NULL;
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    culv_texture_desc d = culv_texture_desc_init();
    LIB_ERROR(culv_image_get_array(image, 0, 0, &array), UNSUPPORTED, FORMAT,
              "culv_image_get_layout()");
    LIB_ERROR(culv_image_get_surface(image, 0, 0, &surface), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_image_get_texture(image, &d, &texture), UNSUPPORTED, FORMAT);
    REQUIRE(array == NULL && surface == 0 && texture == 0);
}

static void run_row(scene *s, const row *r)
{
    culv_shared_image *image = NULL;
    raw_vk_buffer host;
    cut(r);
    if (!make(s, r, &image)) return;
    culv_image *cuda = culv_shared_image_cuda(image);
    REQUIRE_EQ(culv_image_sharing(cuda), r->linear || r->host ? CULV_SHARING_HOST : s->path);
    unsigned char *texels = malloc(all_bytes);
    REQUIRE(texels != NULL);
    raw_vk_buffer_create(&s->w.vk, all_bytes, RAW_VK_HOST, &host);
    culv_subresource_layout l = culv_subresource_layout_init();
    if (r->linear)
        refuse_arrays(cuda);
    else
        LIB_OK(culv_image_get_layout(cuda, 0, 0, &l));
    REQUIRE_EQ(l.pointer, 0);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    LIB_INVALID(
        culv_vk_image_record_copy(image, CULV_COPY_UPLOAD, commands, VK_IMAGE_LAYOUT_UNDEFINED),
        VALUE);
    LIB_INVALID(culv_vk_image_record_copy(image, (culv_copy)2, commands, VK_IMAGE_LAYOUT_GENERAL),
                VALUE);
    LIB_INVALID(culv_image_copy(cuda, (culv_copy)2, s->stream), VALUE, "culv_image_copy: copy is");
    image_barrier(commands, r, image, CULV_VK_USE_ANY, false, true);
    raw_vk_submit(&s->w.vk, commands, NULL);
    refuse_fields(cuda, r);
    for (uint32_t turn = 1; turn <= 4; turn++) {
        if (turn == 4) LIB_OK(culv_image_prepare_write(cuda));
        if (turn > 2)
            write_fields(s, r, cuda, turn, texels);
        else
            write_cuda(s, r, cuda, turn, texels);
        if (turn < 3) LIB_OK(culv_image_copy(cuda, CULV_COPY_UPLOAD, s->stream));
        scene_signal(s);
        memset(host.mapped, 0, all_bytes);
        vulkan_copies(s, r, image, &host, true);
        scene_wait(s);
        lib_finish(&s->w, s->stream);
        raw_vk_idle(&s->w.vk);
        for (uint32_t i = 0; i < num_pieces; i++) {
            unsigned char *found = (unsigned char *)host.mapped + pieces[i].at;
            require(r, &pieces[i], turn, found, "in Vulkan");
            fill(r, &pieces[i], turn + 50, found);
        }
        scene_signal(s);
        vulkan_copies(s, r, image, &host, false);
        scene_wait(s);
        LIB_OK(culv_image_copy(cuda, CULV_COPY_DOWNLOAD, s->stream));
        require_cuda(s, r, cuda, turn + 50, texels);
    }
    raw_vk_idle(&s->w.vk);
    culv_shared_image_destroy(&image, &s->stream);
    raw_vk_buffer_destroy(&s->w.vk, &host);
    free(texels);
    printf("  %s: %u levels, %u layers, compared both ways\n", r->what, r->levels, r->layers);
}

static void images(scene_kind kind)
{
    static scene s;
    scene_open(&s, kind);
    if (kind == SCENE_DIRECT) s.path = CULV_SHARING_PEER; /* only buffers are used in place */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run_row(&s, &rows[i]);
    if (kind == SCENE_DIRECT && s.w.cu->SoftCounts != NULL) {
        culv_soft_counts counts = {.struct_size = sizeof counts};
        s.w.cu->SoftCounts(&counts);
        REQUIRE_EQ(counts.peers, 1); /* the copies go straight */
    }
    scene_close(&s);
}

TEST_AS(images_shared, images(SCENE_SHARED), .title = "images.shared")
TEST_AS(images_pages, images(SCENE_PAGES), .title = "images.pages")
TEST_AS(images_mapped, images(SCENE_MAPPED), .title = "images.mapped")
TEST_AS(images_peer, images(SCENE_PEER), .title = "images.peer")
TEST_AS(images_across, images(SCENE_DIRECT), .title = "images.across")

/* What Vulkan is told, which a driver that runs things in order does not show. */
static void require_layouts(VkImageLayout from, VkImageLayout between, VkImageLayout to)
{
    REQUIRE_EQ(lib_saw.images, 2);
    REQUIRE_EQ(lib_saw.image[0].oldLayout, from);
    REQUIRE_EQ(lib_saw.image[0].newLayout, between);
    REQUIRE_EQ(lib_saw.image[1].oldLayout, between);
    REQUIRE_EQ(lib_saw.image[1].newLayout, to);
}

/* What CUDA wrote on the host is there before the copy, and what was copied is for CUDA. */
static void require_host(VkAccessFlags copied)
{
    REQUIRE_EQ(lib_saw.barriers, 2);
    REQUIRE(lib_saw.src[0] & VK_PIPELINE_STAGE_HOST_BIT);
    REQUIRE(lib_saw.memory[0].srcAccessMask & VK_ACCESS_HOST_WRITE_BIT);
    REQUIRE(lib_saw.memory[0].dstAccessMask & copied);
    REQUIRE(lib_saw.dst[0] & VK_PIPELINE_STAGE_TRANSFER_BIT);
    REQUIRE(lib_saw.src[1] & VK_PIPELINE_STAGE_TRANSFER_BIT);
    REQUIRE(lib_saw.memory[1].srcAccessMask & VK_ACCESS_TRANSFER_WRITE_BIT);
    REQUIRE(lib_saw.dst[1] & VK_PIPELINE_STAGE_HOST_BIT);
    REQUIRE(lib_saw.memory[1].dstAccessMask & VK_ACCESS_HOST_READ_BIT);
    REQUIRE(lib_saw.memory[1].dstAccessMask & VK_ACCESS_MEMORY_READ_BIT);
}

/* An upload overwrites all of the image, a download keeps it; copies begin at multiples of four,
 * as queues that only copy want it (VUID-vkCmdCopyImageToBuffer-commandBuffer-07746). */
TEST(recorded)
{
    static const VkImageLayout layouts[] = {VK_IMAGE_LAYOUT_GENERAL,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
    static scene s;
    scene_open(&s, SCENE_PAGES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        OWN(culv_shared_image) *image = NULL;
        cut(r);
        if (!make(&s, r, &image)) continue;
        VkCommandBuffer commands = raw_vk_begin(&s.w.vk, 0);
        image_barrier(commands, r, image, CULV_VK_USE_ANY, false, true);
        for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; k++) {
            lib_saw = (lib_seen){.barriers = 0};
            LIB_OK(culv_vk_image_record_copy(image, CULV_COPY_UPLOAD, commands, layouts[k]));
            require_layouts(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                            layouts[k]);
            require_host(VK_ACCESS_TRANSFER_WRITE_BIT);
            REQUIRE_EQ(lib_saw.copies, num_pieces);
            REQUIRE_EQ(lib_saw.offset_bits % 4, 0);
            lib_saw = (lib_seen){.barriers = 0};
            LIB_OK(culv_vk_image_record_copy(image, CULV_COPY_DOWNLOAD, commands, layouts[k]));
            require_layouts(layouts[k], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, layouts[k]);
            require_host(VK_ACCESS_TRANSFER_READ_BIT);
            REQUIRE_EQ(lib_saw.copies, num_pieces);
            REQUIRE_EQ(lib_saw.offset_bits % 4, 0);
        }
        raw_vk_submit(&s.w.vk, commands, NULL);
        raw_vk_idle(&s.w.vk);
    }
    scene_close(&s);
}

/* Wrong on any path. */
TEST(images_refused, .title = "images.refused")
{
    /* No CUDA array has them; Vulkan has one of the last two (Required Format Support). */
    static const VkFormat linear[] = {VK_FORMAT_R32G32B32_SFLOAT, VK_FORMAT_D32_SFLOAT_S8_UINT,
                                      VK_FORMAT_D24_UNORM_S8_UINT};
    static scene s;
    culv_shared_image *image = NULL;
    scene_open_bare(&s, SCENE_PAGES);
    VkImageCreateInfo good = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = IMAGE_2D,
                              .extent = {16, 16, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                       VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkImageCreateInfo info;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_HOST;
    for (size_t i = 0; i < sizeof linear / sizeof linear[0]; i++) {
        good.format = linear[i];
        if (vulkan_makes(&s, &good)) break;
        info = good;
        LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), UNSUPPORTED, USAGE);
    }
    good.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT; /* the other one is added */
    info = good;
    info.samples = VK_SAMPLE_COUNT_4_BIT;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), INVALID, USAGE);
    info = good;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), INVALID, TILING);
    info = good;
    info.mipLevels = 6;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), INVALID, EXTENT);
    info = good;
    info.pNext = &external;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), INVALID, VALUE);
    info = good;
    d.fallback = 0;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), UNSUPPORTED, FORMAT);
    d.fallback = 5;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), INVALID, VALUE);
    scene_close(&s);
}
