/* SPDX-License-Identifier: MIT */
/* Textures of Direct3D 12 in CUDA: kinds, formats, TYPELESS ones; data both ways. The bytes are
 * where llvmpipe puts them, which the twin knows: what is proved is the description that CUDA
 * gets. */
#define D3D 12
#include "d3d.h"

typedef struct kind {
    const char *name;
    D3D12_RESOURCE_DIMENSION dimension;
    unsigned width, height, depth, levels;
    bool cube;
} kind;

static const kind kinds[] = {
    {"1D", D3D12_RESOURCE_DIMENSION_TEXTURE1D, 96, 1, 1, 1, false},
    {"2D", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 50, 30, 1, 1, false},
    {"2D with levels", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 64, 48, 1, 3, false},
    {"2D array", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 32, 16, 3, 1, false},
    {"cube", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 24, 24, 6, 1, true},
    {"cube array", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 16, 16, 12, 1, true},
    {"3D", D3D12_RESOURCE_DIMENSION_TEXTURE3D, 20, 12, 5, 1, false},
};

static unsigned level_of(unsigned side, unsigned level)
{
    return side >> level > 0 ? side >> level : 1;
}

/* All layers of a level, as rows without gaps. */
static void copy_level(scene12 *s, culv_image *image, const kind *k, unsigned level,
                       unsigned bytes_per_texel, void *data, bool write)
{
    CUarray array = NULL;
    const bool solid = k->dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    OK(culv_image_get_array(image, level, 0, &array));
    scene_cuda_copy(s, array, data, (size_t)level_of(k->width, level) * bytes_per_texel,
                    level_of(k->height, level), solid ? level_of(k->depth, level) : k->depth,
                    write);
}

static void both_ways(scene12 *s, ID3D12Resource *resource, culv_image *image, const kind *k,
                      unsigned bytes_per_texel)
{
    const bool solid = k->dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    const unsigned layers = solid ? 1 : k->depth;
    for (unsigned level = 0; level < k->levels; level++) {
        const size_t layer = (size_t)level_of(k->width, level) * level_of(k->height, level) *
                             bytes_per_texel * (solid ? level_of(k->depth, level) : 1);
        unsigned char *put = malloc(layer * layers), *got = malloc(layer * layers);
        REQUIRE(put != NULL && got != NULL);
        scene_pattern(put, layer * layers, level + 1);
        copy_level(s, image, k, level, bytes_per_texel, put, true);
        for (unsigned i = 0; i < layers; i++)
            scene12_read_texture(s, resource, level + i * k->levels, got + i * layer);
        REQUIRE(memcmp(put, got, layer * layers) == 0);
        scene_pattern(put, layer * layers, level + 100);
        for (unsigned i = 0; i < layers; i++)
            scene12_write_texture(s, resource, level + i * k->levels, put + i * layer);
        copy_level(s, image, k, level, bytes_per_texel, got, false);
        REQUIRE(memcmp(put, got, layer * layers) == 0);
        free(put);
        free(got);
    }
}

D3D_CASE(all_kinds, .title = "kinds")
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const kind *k = &kinds[i];
        printf("  %s\n", k->name);
        const D3D12_RESOURCE_DESC what = scene12_texture_desc(
            k->dimension, DXGI_FORMAT_R32_UINT, k->width, k->height, k->depth, k->levels);
        culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
        culv_shared_image *image = NULL;
        desc.resource_desc = &what;
        desc.cube = k->cube;
        desc.label = k->name;
        OK(culv_d3d_image_create(s->d3d, &desc, &image));
        both_ways(s, (ID3D12Resource *)culv_d3d_image_resource(image),
                  culv_shared_image_cuda(image), k, 4);
        culv_shared_image_destroy(&image, NULL);
    }
}

/* Formats that engines share, a TYPELESS one among them, imported from a resource of the
 * caller's. */
D3D_CASE(formats)
{
    static const struct {
        DXGI_FORMAT resource, named;
        culv_format seen;
        unsigned bytes;
    } rows[] = {
        {DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_UNKNOWN, CULV_FORMAT_R8G8B8A8_UNORM, 4},
        {DXGI_FORMAT_R16G16B16A16_FLOAT, DXGI_FORMAT_UNKNOWN, CULV_FORMAT_R16G16B16A16_SFLOAT, 8},
        {DXGI_FORMAT_R32_FLOAT, DXGI_FORMAT_UNKNOWN, CULV_FORMAT_R32_SFLOAT, 4},
        {DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_UNKNOWN, CULV_FORMAT_R8_UNORM, 1},
        {DXGI_FORMAT_R32G32B32A32_TYPELESS, DXGI_FORMAT_R32G32B32A32_FLOAT,
         CULV_FORMAT_R32G32B32A32_SFLOAT, 16}, /* Unity's */
        {DXGI_FORMAT_R8G8B8A8_TYPELESS, DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, CULV_FORMAT_R8G8B8A8_SRGB,
         4},
        {DXGI_FORMAT_B8G8R8A8_TYPELESS, DXGI_FORMAT_B8G8R8A8_UNORM, CULV_FORMAT_B8G8R8A8_UNORM, 4},
    };
    const kind k = {"2D", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 40, 24, 1, 1, false};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const D3D12_RESOURCE_DESC what =
            scene12_texture_desc(k.dimension, rows[i].resource, k.width, k.height, 1, 1);
        ID3D12Resource *resource = scene12_texture(s, D3D12_HEAP_FLAG_SHARED, &what);
        culv_memory *memory = NULL;
        culv_image *image = NULL;
        culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
        culv_d3d_image_desc map = culv_d3d_image_desc_init();
        import.object = (IUnknown *)resource;
        OK(culv_d3d_memory_import(s->d3d, &import, &memory));
        map.resource = (IUnknown *)resource;
        map.format = (uint32_t)rows[i].named;
        /* A twin of it: CUDA would write the other one. */
        ID3D12Resource *twin = scene12_texture(s, D3D12_HEAP_FLAG_SHARED, &what);
        map.resource = (IUnknown *)twin;
        REFUSES(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, RANGE);
        REQUIRE_SAYS("another resource than the one whose memory");
        REQUIRE(ID3D12Resource_Release(twin) == 0);
        map.resource = (IUnknown *)resource;
        OK(culv_d3d_image_map(s->d3d, memory, &map, &image));
        both_ways(s, resource, image, &k, rows[i].bytes);
        culv_image_unmap(&image, NULL);
        if (rows[i].named != DXGI_FORMAT_UNKNOWN) {
            map.format = 0;
            REFUSES(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, FORMAT);
        }
        map.format = DXGI_FORMAT_R16_UINT; /* of no family here */
        REFUSES(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, FORMAT);
        culv_memory_destroy(&memory);
        REQUIRE(ID3D12Resource_Release(resource) == 0);
    }
}

/* A texture that is placed in a shared heap, behind a buffer. */
D3D_CASE(placed)
{
    enum { AT = 65536, HEAP = 4 * 65536 };
    const kind k = {"2D", D3D12_RESOURCE_DIMENSION_TEXTURE2D, 64, 64, 1, 1, false};
    const D3D12_RESOURCE_DESC what =
        scene12_texture_desc(k.dimension, DXGI_FORMAT_R32_UINT, k.width, k.height, 1, 1);
    ID3D12Heap *heap = scene12_heap(s, D3D12_HEAP_FLAG_SHARED, HEAP);
    ID3D12Resource *resource = scene12_place(s, heap, AT, &what);
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    import.object = (IUnknown *)resource;
    REFUSES(culv_d3d_memory_import(s->d3d, &import, &memory), INVALID, NOT_EXPORTABLE);
    REQUIRE_SAYS("HeapOffset");
    import.object = (IUnknown *)heap;
    OK(culv_d3d_memory_import(s->d3d, &import, &memory));
    map.resource = (IUnknown *)resource;
    map.offset = HEAP - 4096;
    REFUSES(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, RANGE);
    map.offset = AT;
    OK(culv_d3d_image_map(s->d3d, memory, &map, &image));
    both_ways(s, resource, image, &k, 4);
    culv_image_unmap(&image, NULL);
    culv_memory_destroy(&memory);
    ID3D12Resource_Release(resource);
    overlay12_clear();
    REQUIRE(ID3D12Heap_Release(heap) == 0);
}

D3D_CASE(refused)
{
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    culv_shared_image *image = NULL;
    D3D12_RESOURCE_DESC what = scene12_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                    DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 1);
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), INVALID, NULL_ARGUMENT);
    desc.resource_desc = &what;
    what.SampleDesc.Count = 4;
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), UNSUPPORTED, USAGE);
    REQUIRE_SAYS("ResolveSubresource");
    what.SampleDesc.Count = 1;
    desc.cube = 1;
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), INVALID, EXTENT);
    desc.cube = 0;
    what.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), UNSUPPORTED, USAGE);
    what.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
    what.Format = DXGI_FORMAT_R32G32B32_FLOAT;
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), UNSUPPORTED, FORMAT);
    what = scene12_buffer_desc(4096);
    REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), UNSUPPORTED, USAGE);
    REQUIRE_SAYS("culv_d3d_buffer_create()");
    const struct {
        uint64_t width;
        UINT height;
        UINT16 layers;
        const char *says;
    } empty[] = {{0, 64, 1, "resource_desc->Width is 0"},
                 {64, 0, 1, "resource_desc->Height is 0"},
                 {64, 64, 0, "resource_desc->DepthOrArraySize is 0"}};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        what = scene12_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D, DXGI_FORMAT_R8G8B8A8_UNORM,
                                    64, 64, 1, 1);
        what.Width = empty[i].width;
        what.Height = empty[i].height;
        what.DepthOrArraySize = empty[i].layers;
        REFUSES(culv_d3d_image_create(s->d3d, &desc, &image), INVALID, EXTENT);
        REQUIRE_SAYS(empty[i].says);
    }
    REQUIRE(image == NULL);
}

/* The bytes of a row of 64 texels, of every format that Direct3D and Culvert both know: by
 * GetCopyableFootprints() and by Culvert's table. */
TEST_ON(native, s, scene12_open_device(s), scene12_close(s), footprints)
{
    unsigned compared = 0;
    for (uint32_t number = 1; number < 133; number++) {
        culv_format_info info = culv_format_info_init();
        const culv_format format = culv_format_from(CULV_NATIVE_D3D, number);
        if (format == CULV_FORMAT_NONE || culv_format_get_info(format, &info) != CULV_OK) continue;
        REQUIRE(info.dxgi_format == number);
        if (info.planes != 1 || info.bytes_per_block == 0) continue;
        const D3D12_RESOURCE_DESC what = scene12_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                              (DXGI_FORMAT)number, 64, 64, 1, 1);
        D3D12_PLACED_SUBRESOURCE_FOOTPRINT place;
        UINT rows = 0;
        UINT64 row = 0, total = 0;
        ID3D12Device_GetCopyableFootprints(s->device, &what, 0, 1, 0, &place, &rows, &row, &total);
        if (total == UINT64_MAX || row == 0 || row == UINT64_MAX) continue; /* Wine has it not */
        if (row != 64 / info.block_width * (UINT64)info.bytes_per_block ||
            rows != 64 / info.block_height)
            FAIL("the table has other blocks: DXGI_FORMAT %u: %llu bytes in each of %u rows",
                 (unsigned)number, (unsigned long long)row, (unsigned)rows);
        compared++;
    }
    printf("  %u formats\n", compared);
    REQUIRE(compared >= 60);
}
