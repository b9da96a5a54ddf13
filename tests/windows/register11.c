/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D 11: data both ways, many in one call, and what a map gives out
 * and takes back. */
#include "scene_register.h"

#include <string.h>

enum { BYTES = 40000, MOST = 65536 };
static unsigned char mine[MOST], theirs[MOST];

static ID3D11Buffer *buffer_of(const scene_register *r, D3D11_USAGE usage, const void *data)
{
    D3D11_BUFFER_DESC desc;
    D3D11_SUBRESOURCE_DATA first;
    ID3D11Buffer *made = NULL;
    memset(&desc, 0, sizeof desc);
    memset(&first, 0, sizeof first);
    first.pSysMem = data;
    desc.ByteWidth = BYTES;
    desc.Usage = usage;
    desc.BindFlags = D3D11_BIND_VERTEX_BUFFER;
    desc.CPUAccessFlags = usage == D3D11_USAGE_DYNAMIC ? D3D11_CPU_ACCESS_WRITE : 0;
    HR_OK(ID3D11Device_CreateBuffer(r->s.device, &desc, &first, &made));
    return made;
}

static void buffers(void)
{
    static const struct {
        D3D11_USAGE usage;
        culv_access access;
    } rows[] = {
        {D3D11_USAGE_DEFAULT, CULV_ACCESS_READ_WRITE},
        {D3D11_USAGE_DEFAULT, CULV_ACCESS_READ_ONLY},
        {D3D11_USAGE_DEFAULT, CULV_ACCESS_WRITE_DISCARD},
        {D3D11_USAGE_DYNAMIC, CULV_ACCESS_READ_WRITE},
        {D3D11_USAGE_IMMUTABLE, CULV_ACCESS_READ_ONLY},
    };
    const register_part whole = {BYTES, 1, 1};
    scene_register r;
    register_open(&r);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scene11_pattern(mine, BYTES, i);
        ID3D11Buffer *buffer = buffer_of(&r, rows[i].usage, mine);
        const ULONG references = register_references(buffer);
        culv_registration *registration = register_11(&r, buffer, rows[i].access);
        REQUIRE(register_references(buffer) == references + 1);
        REQUIRE(register_driver_resources() == 1);
        culv_buffer *cuda = culv_registration_buffer(registration);
        REQUIRE(culv_registration_image(registration) == NULL);
        REQUIRE(culv_buffer_size(cuda) == BYTES && culv_buffer_pointer(cuda) == 0);
        for (unsigned turn = 0; turn < 3; turn++) {
            OK(culv_registration_map(&registration, 1, r.s.stream));
            REQUIRE(culv_registration_is_mapped(registration));
            const CUdeviceptr pointer = culv_registration_pointer(registration);
            REQUIRE(pointer != 0 && culv_buffer_pointer(cuda) == pointer);
            scene11_cuda_read(&r.s, pointer, theirs, BYTES);
            if (rows[i].access != CULV_ACCESS_WRITE_DISCARD) REQUIRE(!memcmp(mine, theirs, BYTES));
            if (rows[i].access != CULV_ACCESS_READ_ONLY) {
                scene11_pattern(mine, BYTES, 100 * i + turn);
                CU_OK(r.s.cu->cuMemcpyHtoDAsync(pointer, mine, BYTES, r.s.stream));
            }
            OK(culv_registration_unmap(&registration, 1,
                                       r.s.stream)); /* without waiting for CUDA */
            REQUIRE(culv_registration_pointer(registration) == 0);
            REQUIRE(culv_buffer_pointer(cuda) == 0);
            register_read(&r, scene11_of_buffer(buffer), 0, &whole, theirs);
            REQUIRE(!memcmp(mine, theirs, BYTES));
            if (rows[i].usage != D3D11_USAGE_DEFAULT) continue;
            scene11_pattern(mine, BYTES, 1000 * i + turn);
            register_write(&r, scene11_of_buffer(buffer), 0, &whole, mine);
        }
        OK(culv_registration_destroy(&registration));
        REQUIRE(registration == NULL && register_references(buffer) == references);
        ID3D11Buffer_Release(buffer);
    }
    register_close(&r);
}

/* Textures ------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    unsigned sides, width, height, depth, layers, levels;
    bool cube;
    culv_image_type type;
} kind;

static ID3D11Resource *texture_of(const scene_register *r, const kind *k, DXGI_FORMAT format)
{
    void *made = NULL;
    if (k->sides == 1) {
        D3D11_TEXTURE1D_DESC d = {
            k->width, k->levels, k->layers, format, D3D11_USAGE_DEFAULT, D3D11_BIND_SHADER_RESOURCE,
            0,        0};
        HR_OK(ID3D11Device_CreateTexture1D(r->s.device, &d, NULL, (ID3D11Texture1D **)&made));
    } else if (k->sides == 2) {
        D3D11_TEXTURE2D_DESC d = {k->width,
                                  k->height,
                                  k->levels,
                                  k->layers,
                                  format,
                                  {1, 0},
                                  D3D11_USAGE_DEFAULT,
                                  D3D11_BIND_SHADER_RESOURCE,
                                  0,
                                  k->cube ? D3D11_RESOURCE_MISC_TEXTURECUBE : 0};
        HR_OK(ID3D11Device_CreateTexture2D(r->s.device, &d, NULL, (ID3D11Texture2D **)&made));
    } else {
        D3D11_TEXTURE3D_DESC d = {k->width,
                                  k->height,
                                  k->depth,
                                  k->levels,
                                  format,
                                  D3D11_USAGE_DEFAULT,
                                  D3D11_BIND_SHADER_RESOURCE,
                                  0,
                                  0};
        HR_OK(ID3D11Device_CreateTexture3D(r->s.device, &d, NULL, (ID3D11Texture3D **)&made));
    }
    return made;
}

static unsigned at_level(unsigned size, unsigned level)
{
    return size >> level > 1 ? size >> level : 1;
}

static register_part part_of(const kind *k, unsigned level, unsigned texel)
{
    return (register_part){(size_t)at_level(k->width, level) * texel, at_level(k->height, level),
                           at_level(k->depth, level)};
}

/* A sub-resource's bytes in a turn, without NaNs. The X of B8G8R8X8 is whatever Wine makes of it,
 * which is 255. */
static void fill_part(unsigned char *out, size_t size, DXGI_FORMAT format, unsigned turn,
                      unsigned index)
{
    scene11_pattern(out, size, turn * 1000 + index);
    for (size_t i = 0; i < size; i++)
        out[i] = format == DXGI_FORMAT_B8G8R8X8_UNORM && i % 4 == 3 ? 255 : out[i] & 0x3f;
}

static void both_ways(const scene_register *r, const kind *k, DXGI_FORMAT format, unsigned texel)
{
    ID3D11Resource *texture = texture_of(r, k, format);
    culv_registration *registration = register_11(r, texture, CULV_ACCESS_READ_WRITE);
    culv_image *image = culv_registration_image(registration);
    REQUIRE(culv_registration_buffer(registration) == NULL);
    culv_image_desc is = culv_image_desc_init();
    OK(culv_image_get_desc(image, &is));
    REQUIRE(is.type == k->type && is.width == k->width && is.height == k->height);
    REQUIRE(is.depth == k->depth && is.array_layers == k->layers && is.mip_levels == k->levels);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < k->levels * k->layers; i++) {
            const register_part part = part_of(k, i % k->levels, texel);
            fill_part(mine, register_part_size(&part), format, turn, i);
            register_write(r, texture, i, &part, mine);
        }
        OK(culv_registration_map(&registration, 1, r->s.stream));
        for (unsigned i = 0; i < k->levels * k->layers; i++) {
            const register_part part = part_of(k, i % k->levels, texel);
            const size_t size = register_part_size(&part);
            fill_part(mine, size, format, turn, i);
            register_cuda(r, registration, i / k->levels, i % k->levels, &part, theirs, false);
            if (memcmp(mine, theirs, size) != 0)
                printf("%s, format %d: sub-resource %u\n", k->name, (int)format, i);
            REQUIRE(!memcmp(mine, theirs, size));
            fill_part(mine, size, format, turn + 7, i);
            register_cuda(r, registration, i / k->levels, i % k->levels, &part, mine, true);
        }
        OK(culv_registration_unmap(&registration, 1, r->s.stream));
        for (unsigned i = 0; i < k->levels * k->layers; i++) {
            const register_part part = part_of(k, i % k->levels, texel);
            const size_t size = register_part_size(&part);
            fill_part(mine, size, format, turn + 7, i);
            register_read(r, texture, i, &part, theirs);
            REQUIRE(!memcmp(mine, theirs, size));
        }
    }
    OK(culv_registration_destroy(&registration));
    REQUIRE(ID3D11Resource_Release(texture) == 0);
}

static void textures(void)
{
    static const kind kinds[] = {
        {"1D", 1, 96, 1, 1, 1, 1, false, CULV_IMAGE_1D},
        {"1D array with levels", 1, 64, 1, 1, 5, 3, false, CULV_IMAGE_1D},
        {"2D", 2, 50, 30, 1, 1, 1, false, CULV_IMAGE_2D},
        {"2D with levels", 2, 48, 20, 1, 1, 6, false, CULV_IMAGE_2D},
        {"2D array with levels", 2, 32, 24, 1, 3, 2, false, CULV_IMAGE_2D},
        {"3D", 3, 20, 12, 5, 1, 1, false, CULV_IMAGE_3D},
        {"3D with levels", 3, 16, 8, 6, 1, 4, false, CULV_IMAGE_3D},
        {"cube", 2, 24, 24, 1, 6, 1, true, CULV_IMAGE_CUBE},
        {"cube with levels", 2, 16, 16, 1, 6, 5, true, CULV_IMAGE_CUBE},
        {"cube array", 2, 16, 16, 1, 12, 2, true, CULV_IMAGE_CUBE},
    };
    scene_register r;
    register_open(&r);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        both_ways(&r, &kinds[i], DXGI_FORMAT_R8G8B8A8_UNORM, 4);
    register_close(&r);
}

/* Each format of the reference's list. */
static void formats(void)
{
    static const struct {
        unsigned first, last, texel;
    } rows[] = {{2, 4, 16},  {10, 14, 8}, {16, 18, 8}, {28, 32, 4}, {34, 38, 4}, {41, 43, 4},
                {49, 52, 2}, {54, 54, 2}, {56, 59, 2}, {61, 65, 1}, {87, 88, 4}};
    const kind k = {"2D", 2, 20, 12, 1, 1, 2, false, CULV_IMAGE_2D};
    unsigned count = 0, without = 0;
    scene_register r;
    register_open(&r);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned f = rows[i].first; f <= rows[i].last; f++) {
            UINT support = 0;
            const bool has =
                SUCCEEDED(ID3D11Device_CheckFormatSupport(r.s.device, (DXGI_FORMAT)f, &support)) &&
                (support & D3D11_FORMAT_SUPPORT_TEXTURE2D);
            if (has) both_ways(&r, &k, (DXGI_FORMAT)f, rows[i].texel);
            if (has)
                count++;
            else
                without++;
        }
    printf("  %u formats both ways, %u that the device lacks\n", count, without);
    REQUIRE(count >= 30);
    register_close(&r);
}

/* Turns ---------------------------------------------------------------------------------------- */

static void many(void)
{
    enum { COUNT = 70 }; /* more than a call has without an allocation */
    const register_part whole = {BYTES, 1, 1}, texels = {64, 16, 1};
    const kind k = {"2D", 2, 16, 16, 1, 1, 1, false, CULV_IMAGE_2D};
    ID3D11Resource *resources[COUNT];
    culv_registration *list[COUNT];
    scene_register r;
    register_open(&r);
    for (unsigned i = 0; i < COUNT; i++) {
        memset(mine, (int)i, BYTES);
        resources[i] = i % 2 ? texture_of(&r, &k, DXGI_FORMAT_R8G8B8A8_UINT)
                             : scene11_of_buffer(buffer_of(&r, D3D11_USAGE_DEFAULT, mine));
        if (i % 2) register_write(&r, resources[i], 0, &texels, mine);
        list[i] = register_11(&r, resources[i], CULV_ACCESS_READ_WRITE);
    }
    OK(culv_registration_map(list, COUNT, r.s.stream));
    for (unsigned i = 0; i < COUNT; i++) {
        const size_t size = i % 2 ? 1024 : BYTES;
        if (i % 2)
            register_cuda(&r, list[i], 0, 0, &texels, theirs, false);
        else
            scene11_cuda_read(&r.s, culv_registration_pointer(list[i]), theirs, BYTES);
        memset(mine, (int)i, size);
        REQUIRE(!memcmp(mine, theirs, size));
        memset(mine, (int)i + 100, size);
        if (i % 2)
            register_cuda(&r, list[i], 0, 0, &texels, mine, true);
        else
            scene11_cuda_write(&r.s, culv_registration_pointer(list[i]), mine, BYTES);
    }
    OK(culv_registration_unmap(list, COUNT, r.s.stream));
    for (unsigned i = 0; i < COUNT; i++) {
        const size_t size = i % 2 ? 1024 : BYTES;
        register_read(&r, resources[i], 0, i % 2 ? &texels : &whole, theirs);
        memset(mine, (int)i + 100, size);
        REQUIRE(!memcmp(mine, theirs, size));
        OK(culv_registration_destroy(&list[i]));
        REQUIRE(ID3D11Resource_Release(resources[i]) == 0);
    }
    OK(culv_registration_map(NULL, 0, r.s.stream));
    register_close(&r);
}

/* What a map gave out is of no use after the unmap, and says so. */
static void kept(void)
{
    const kind k = {"2D", 2, 16, 16, 1, 1, 2, false, CULV_IMAGE_2D};
    CUsurfObject surface = 0;
    CUtexObject sampler = 0;
    CUarray array = NULL;
    culv_texture_desc desc = culv_texture_desc_init();
    scene_register r;
    register_open(&r);
    ID3D11Resource *texture = texture_of(&r, &k, DXGI_FORMAT_R32_FLOAT);
    culv_registration *registration = register_11(&r, texture, CULV_ACCESS_READ_WRITE);
    culv_image *image = culv_registration_image(registration);
    for (unsigned turn = 0; turn < 3; turn++) {
        REFUSES(culv_image_get_array(image, 0, &array), CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED);
        REFUSES(culv_image_get_surface(image, 0, &surface), CULV_ERROR_INVALID,
                CULV_REASON_NOT_MAPPED);
        REFUSES(culv_registration_get_array(registration, 0, 0, &array), CULV_ERROR_INVALID,
                CULV_REASON_NOT_MAPPED);
        OK(culv_registration_map(&registration, 1, r.s.stream));
        OK(culv_image_get_array(image, 1, &array));
        OK(culv_image_get_surface(image, 1, &surface));
        OK(culv_image_get_texture(image, &desc, &sampler));
        REFUSES(culv_registration_get_array(registration, 0, 2, &array), CULV_ERROR_INVALID,
                CULV_REASON_LEVEL);
        REFUSES(culv_registration_get_array(registration, 1, 0, &array), CULV_ERROR_INVALID,
                CULV_REASON_LEVEL);
        culv_image_unmap(&image);
        REQUIRE(image != NULL && check_reason(CULV_REASON_OWNED));
        if (turn == 2) break; /* unregistered while it is mapped */
        OK(culv_registration_unmap(&registration, 1, r.s.stream));
    }
    OK(culv_registration_destroy(&registration));
    OK(culv_registration_destroy(&registration));
    OK(culv_registration_destroy(NULL));
    REQUIRE(ID3D11Resource_Release(texture) == 0);
    register_close(&r);
}

const case_register cases_register11[] = {
    {"buffers", buffers}, {"textures", textures}, {"formats", formats},
    {"many", many},       {"kept", kept},         {NULL, NULL},
};
