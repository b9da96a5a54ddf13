/* SPDX-License-Identifier: MIT */
/* Importing a VkDeviceMemory, mapping it as a buffer, and giving both up. */
#include "calls.h"
#include "raw_vulkan_image.h"

#include <stdlib.h>
#include <string.h>

enum { IMPORT, MAP, UNMAP, RELEASE, PHASES };

typedef struct buffer_state {
    bench *b;
    raw_vk_buffer vk;
    bool control; /* the raw calls on both sides */
    uint32_t word;
    /* What a turn holds between its phases. */
    culv_memory *import;
    culv_buffer *buffer;
    CUexternalMemory memory;
    CUdeviceptr pointer;
} buffer_state;

static void culvert_open(buffer_state *s, double at[])
{
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = s->vk.memory;
    desc.allocation_size = s->vk.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(s->b->rig.attached, &desc, &s->import));
    at[MAP] = bench_now();
    CULV_OK_OR_EXIT(culv_buffer_map(s->import, NULL, &s->buffer));
    at[UNMAP] = bench_now();
    s->pointer = culv_buffer_pointer(s->buffer);
}

static void culvert_close(buffer_state *s, double at[])
{
    at[UNMAP] = bench_now();
    culv_buffer_unmap(&s->buffer, NULL);
    at[RELEASE] = bench_now();
    culv_memory_destroy(&s->import);
    at[PHASES] = bench_now();
}

static void raw_open(buffer_state *s, double at[])
{
    const raw_cuda *cu = s->b->rig.cu;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = s->vk.memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    VK_OK(vkGetMemoryFdKHR(s->b->rig.vk.device, &info, &fd));
    RIG_CU(raw_cuda_import_memory(cu, fd, s->vk.allocation_size, false, &s->memory));
    at[MAP] = bench_now();
    RIG_CU(raw_cuda_map_buffer(cu, s->memory, 0, s->vk.allocation_size, &s->pointer));
    at[UNMAP] = bench_now();
}

static void raw_close(buffer_state *s, double at[])
{
    at[UNMAP] = bench_now();
    RIG_CU(s->b->rig.cu->MemFree(s->pointer));
    at[RELEASE] = bench_now();
    RIG_CU(s->b->rig.cu->DestroyExternalMemory(s->memory));
    at[PHASES] = bench_now();
}

static void turn(void *state, bench_side side, double ns[])
{
    buffer_state *s = state;
    double open[PHASES + 1], close[PHASES + 1];
    bool culvert = side == BENCH_CULVERT && !s->control;
    open[IMPORT] = bench_now();
    (culvert ? culvert_open : raw_open)(s, open);
    (culvert ? culvert_close : raw_close)(s, close);
    ns[IMPORT] = open[MAP] - open[IMPORT];
    ns[MAP] = open[UNMAP] - open[MAP];
    ns[UNMAP] = close[RELEASE] - close[UNMAP];
    ns[RELEASE] = close[PHASES] - close[RELEASE];
}

/* CUDA writes both ends by this side's pointer, Vulkan reads them. */
static void check(buffer_state *s, bool culvert)
{
    double at[PHASES + 1];
    uint32_t got[64], expected[64];
    const rig *r = &s->b->rig;
    size_t words = sizeof got / sizeof got[0];
    (culvert ? culvert_open : raw_open)(s, at);
    for (int end = 0; end < 2; end++) {
        VkDeviceSize offset = end == 0 ? 0 : s->vk.size - sizeof got;
        s->word += 0x01010101u;
        for (size_t i = 0; i < words; i++)
            expected[i] = s->word;
        RIG_CU(r->cu->MemsetD32Async(s->pointer + offset, s->word, words, r->stream));
        RIG_CU(r->cu->StreamSynchronize(r->stream));
        raw_vk_read(&s->b->rig.vk, &s->vk, offset, got, sizeof got);
        REQUIRE_EQ_BYTES(got, expected, sizeof got);
    }
    (culvert ? culvert_close : raw_close)(s, at);
    bench_checked(s->b);
}

static void measure_size(bench *b, VkDeviceSize size, const char *text, bool control)
{
    buffer_state s = {.b = b, .control = control, .word = 0x10203040u};
    bench_series series;
    bench_variant(b, "%s", text);
    raw_vk_buffer_create(&b->rig.vk, size, RAW_VK_EXPORT, &s.vk);
    check(&s, !control);
    check(&s, false);
    bench_begin(b, &series,
                (bench_setup){.kind = control ? BENCH_CONTROL : BENCH_PAIR,
                              .turn = turn,
                              .state = &s,
                              .num_phases = PHASES,
                              .calls = 1});
    bench_row(b, &series,
              (bench_row_desc){.name = "import + map",
                               .phases = 1u << IMPORT | 1u << MAP,
                               .goal = control ? 0.0 : GOAL_IMPORT_MAP});
    if (!control) {
        bench_row(b, &series, (bench_row_desc){.name = "import", .phases = 1u << IMPORT});
        bench_row(b, &series, (bench_row_desc){.name = "map", .phases = 1u << MAP});
        bench_row(b, &series, (bench_row_desc){.name = "unmap", .phases = 1u << UNMAP});
        bench_row(b, &series,
                  (bench_row_desc){.name = "release the import", .phases = 1u << RELEASE});
    }
    bench_end(&series);
    check(&s, !control);
    check(&s, false);
    raw_vk_buffer_destroy(&b->rig.vk, &s.vk);
}

void measure_buffer(bench *b)
{
    const VkDeviceSize kib = 1024, mib = kib * kib;
    measure_size(b, 64 * kib, "64 KiB", false);
    measure_size(b, 64 * kib, "64 KiB, control", true);
    measure_size(b, 8 * mib, "8 MiB", false);
    if (b->quick) return;
    /* Where the CPU is the GPU, a GiB would be most of the machine. */
    if (b->rig.caps.is_software)
        measure_size(b, 64 * mib, "64 MiB", false);
    else
        measure_size(b, 1024 * mib, "1 GiB", false);
}

/* Importing a VkImage's memory, mapping it as a mipmapped array, making a surface, and giving all
 * of it up. */

enum { IMAGE_IMPORT, IMAGE_MAP, IMAGE_SURFACE, IMAGE_UNMAP, IMAGE_RELEASE, IMAGE_PHASES };

typedef struct image_state {
    bench *b;
    raw_vk_image vk;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo create_info;
    CUarray_format cuda_format;
    unsigned channels;
    bool checked; /* Culvert maps by culv_vk_image_map(), which asks Vulkan about the image */
    /* What a turn holds between its phases. */
    culv_memory *import;
    culv_image *image;
    CUexternalMemory memory;
    CUmipmappedArray mipmapped;
    CUarray array;
    CUsurfObject surface;
} image_state;

static culv_result culvert_map(image_state *s)
{
    if (s->checked) {
        culv_vk_image_desc desc = culv_vk_image_desc_init();
        desc.image = s->vk.image;
        desc.create_info = &s->create_info;
        desc.offset = s->vk.offset;
        return culv_vk_image_map(s->b->rig.attached, s->import, &desc, &s->image);
    }
    culv_image_desc desc = culv_image_desc_init();
    desc.offset = s->vk.offset;
    desc.format = (culv_format)s->vk.desc.format;
    desc.width = s->vk.desc.width;
    desc.height = s->vk.desc.height;
    return culv_image_map(s->import, &desc, &s->image);
}

static void image_culvert_open(image_state *s, double at[])
{
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = s->vk.memory;
    desc.allocation_size = s->vk.allocation_size;
    desc.dedicated = VK_TRUE;
    CULV_OK_OR_EXIT(culv_vk_memory_import(s->b->rig.attached, &desc, &s->import));
    at[IMAGE_MAP] = bench_now();
    CULV_OK_OR_EXIT(culvert_map(s));
    at[IMAGE_SURFACE] = bench_now();
    CULV_OK_OR_EXIT(culv_image_get_surface(s->image, 0, 0, &s->surface));
    at[IMAGE_UNMAP] = bench_now();
}

static void image_culvert_close(image_state *s, double at[])
{
    at[IMAGE_UNMAP] = bench_now();
    culv_image_unmap(&s->image, NULL);
    at[IMAGE_RELEASE] = bench_now();
    culv_memory_destroy(&s->import);
    at[IMAGE_PHASES] = bench_now();
}

static void image_raw_open(image_state *s, double at[])
{
    const raw_cuda *cu = s->b->rig.cu;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = s->vk.memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    VK_OK(vkGetMemoryFdKHR(s->b->rig.vk.device, &info, &fd));
    RIG_CU(raw_cuda_import_memory(cu, fd, s->vk.allocation_size, true, &s->memory));
    at[IMAGE_MAP] = bench_now();
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc = {0};
    desc.offset = s->vk.offset;
    desc.arrayDesc.Width = s->vk.desc.width;
    desc.arrayDesc.Height = s->vk.desc.height;
    desc.arrayDesc.Format = s->cuda_format;
    desc.arrayDesc.NumChannels = s->channels;
    desc.arrayDesc.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    desc.numLevels = 1;
    RIG_CU(cu->ExternalMemoryGetMappedMipmappedArray(&s->mipmapped, s->memory, &desc));
    at[IMAGE_SURFACE] = bench_now();
    CUDA_RESOURCE_DESC resource = {0};
    RIG_CU(cu->MipmappedArrayGetLevel(&s->array, s->mipmapped, 0));
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = s->array;
    RIG_CU(cu->SurfObjectCreate(&s->surface, &resource));
    at[IMAGE_UNMAP] = bench_now();
}

static void image_raw_close(image_state *s, double at[])
{
    const raw_cuda *cu = s->b->rig.cu;
    at[IMAGE_UNMAP] = bench_now();
    RIG_CU(cu->SurfObjectDestroy(s->surface));
    RIG_CU(cu->MipmappedArrayDestroy(s->mipmapped));
    at[IMAGE_RELEASE] = bench_now();
    RIG_CU(cu->DestroyExternalMemory(s->memory));
    at[IMAGE_PHASES] = bench_now();
}

static void image_turn(void *state, bench_side side, double ns[])
{
    image_state *s = state;
    double open[IMAGE_PHASES + 1], close[IMAGE_PHASES + 1];
    open[IMAGE_IMPORT] = bench_now();
    (side == BENCH_CULVERT ? image_culvert_open : image_raw_open)(s, open);
    (side == BENCH_CULVERT ? image_culvert_close : image_raw_close)(s, close);
    for (int phase = IMAGE_IMPORT; phase < IMAGE_UNMAP; phase++)
        ns[phase] = open[phase + 1] - open[phase];
    for (int phase = IMAGE_UNMAP; phase < IMAGE_PHASES; phase++)
        ns[phase] = close[phase + 1] - close[phase];
}

/* CUDA writes the first and the last rows through this side's surface's array, Vulkan reads the
 * image. */
static void image_check(image_state *s, bench_side side)
{
    enum { ROWS = 4 };
    const raw_cuda *cu = s->b->rig.cu;
    double at[IMAGE_PHASES + 1];
    uint32_t height = s->vk.desc.height;
    size_t size = raw_vk_image_bytes(&s->vk, 0), pitch = size / height;
    uint8_t *rows = malloc(ROWS * pitch), *all = malloc(size);
    REQUIRE(rows != NULL && all != NULL);
    (side == BENCH_CULVERT ? image_culvert_open : image_raw_open)(s, at);
    /* The surface is one on level 0 of the mapping, so what is written through its array is the
     * image's. */
    CUDA_RESOURCE_DESC resource = {0};
    RIG_CU(cu->SurfObjectGetResourceDesc(&resource, s->surface));
    REQUIRE_EQ(resource.resType, CU_RESOURCE_TYPE_ARRAY);
    for (int end = 0; end < 2; end++) {
        for (size_t i = 0; i < ROWS * pitch; i++)
            rows[i] = (uint8_t)(i * 7 + (size_t)end * 31 + (size_t)side * 101 + s->b->checks);
        CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = rows,
                              .srcPitch = pitch,
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = resource.res.array.hArray,
                              .dstY = end == 0 ? 0 : height - ROWS,
                              .WidthInBytes = pitch,
                              .Height = ROWS};
        RIG_CU(cu->Memcpy2D(&copy));
        RIG_CU(cu->CtxSynchronize()); /* from pageable memory it may return before */
        raw_vk_image_read(&s->b->rig.vk, &s->vk, 0, all);
        REQUIRE_EQ_BYTES(all + copy.dstY * pitch, rows, ROWS * pitch);
    }
    (side == BENCH_CULVERT ? image_culvert_close : image_raw_close)(s, at);
    free(rows);
    free(all);
    bench_checked(s->b);
}

static void open_image(image_state *s, VkFormat format, uint32_t side)
{
    raw_vk_image_create(&s->b->rig.vk,
                        &(raw_vk_image_desc){.format = format,
                                             .width = side,
                                             .height = side,
                                             .usage = VK_IMAGE_USAGE_STORAGE_BIT,
                                             .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED},
                        &s->vk);
    /* As it was made in there. */
    s->external = (VkExternalMemoryImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    s->create_info = (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                         .pNext = &s->external,
                                         .imageType = VK_IMAGE_TYPE_2D,
                                         .format = format,
                                         .extent = {side, side, 1},
                                         .mipLevels = 1,
                                         .arrayLayers = 1,
                                         .samples = VK_SAMPLE_COUNT_1_BIT,
                                         .tiling = VK_IMAGE_TILING_OPTIMAL,
                                         .usage = s->vk.desc.usage};
    culv_format_info info = culv_format_info_init();
    CULV_OK_OR_EXIT(culv_format_get_info((culv_format)format, &info));
    s->cuda_format = (CUarray_format)info.cuda_array_format;
    s->channels = info.channels;
}

static void measure_image_of(bench *b, VkFormat format, const char *name, uint32_t side,
                             bool checked)
{
    image_state s = {.b = b, .checked = checked};
    bench_series series;
    open_image(&s, format, side);
    bench_variant(b, "%s, %u x %u%s", name, (unsigned)side, (unsigned)side,
                  checked ? ", by culv_vk_image_map" : "");
    image_check(&s, BENCH_CULVERT);
    image_check(&s, BENCH_RAW);
    bench_begin(
        b, &series,
        (bench_setup){.turn = image_turn, .state = &s, .num_phases = IMAGE_PHASES, .calls = 1});
    bench_row(b, &series,
              (bench_row_desc){.name = "import + map",
                               .phases = 1u << IMAGE_IMPORT | 1u << IMAGE_MAP,
                               .goal = GOAL_IMPORT_MAP});
    bench_row(b, &series, (bench_row_desc){.name = "import", .phases = 1u << IMAGE_IMPORT});
    bench_row(b, &series, (bench_row_desc){.name = "map", .phases = 1u << IMAGE_MAP});
    bench_row(b, &series, (bench_row_desc){.name = "surface", .phases = 1u << IMAGE_SURFACE});
    bench_row(b, &series, (bench_row_desc){.name = "unmap", .phases = 1u << IMAGE_UNMAP});
    bench_row(b, &series,
              (bench_row_desc){.name = "release the import", .phases = 1u << IMAGE_RELEASE});
    bench_end(&series);
    image_check(&s, BENCH_CULVERT);
    image_check(&s, BENCH_RAW);
    raw_vk_image_destroy(&b->rig.vk, &s.vk);
}

void measure_image(bench *b)
{
    bool small = b->quick || b->rig.caps.is_software;
    uint32_t side = b->quick ? 256 : 1024;
    measure_image_of(b, VK_FORMAT_R8G8B8A8_UNORM, "RGBA8", side, false);
    measure_image_of(b, VK_FORMAT_R8G8B8A8_UNORM, "RGBA8", side, true);
    measure_image_of(b, VK_FORMAT_R32G32B32A32_SFLOAT, "RGBA32F", side, false);
    if (small) return;
    measure_image_of(b, VK_FORMAT_R8G8B8A8_UNORM, "RGBA8", 4096, false);
    measure_image_of(b, VK_FORMAT_R32G32B32A32_SFLOAT, "RGBA32F", 4096, false);
}
