/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D 10. */
#include "scene_register.h"

#include <string.h>

enum { BYTES = 4096, MOST = 65536 };
static unsigned char mine[MOST], theirs[MOST];

static culv_registration *register_10(const scene_register *r, ID3D10Resource *resource)
{
    culv_registration *made = NULL;
    OK(culv_d3d10_register(r->s.culvert, resource, NULL, &made));
    return made;
}

static void buffers10(void)
{
    D3D10_BUFFER_DESC desc = {BYTES, D3D10_USAGE_DEFAULT, D3D10_BIND_VERTEX_BUFFER, 0, 0};
    ID3D10Buffer *buffer = NULL, *stage = NULL;
    void *object, *data = NULL;
    scene_register r;
    register_open(&r);
    register_open10(&r);
    HR_OK(ID3D10Device_CreateBuffer(r.d10, &desc, NULL, &buffer));
    desc.Usage = D3D10_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D10_CPU_ACCESS_READ;
    HR_OK(ID3D10Device_CreateBuffer(r.d10, &desc, NULL, &stage));
    object = buffer;
    const ULONG references = register_references(buffer);
    culv_registration *registration = register_10(&r, object);
    REQUIRE(register_references(buffer) == references + 1);
    for (unsigned turn = 0; turn < 3; turn++) {
        scene11_pattern(mine, BYTES, turn);
        ID3D10Device_UpdateSubresource(r.d10, object, 0, NULL, mine, 0, 0);
        OK(culv_registration_map(&registration, 1, r.s.stream));
        const CUdeviceptr pointer = culv_registration_pointer(registration);
        scene11_cuda_read(&r.s, pointer, theirs, BYTES);
        REQUIRE(!memcmp(mine, theirs, BYTES));
        scene11_pattern(mine, BYTES, turn + 50);
        CU_OK(r.s.cu->cuMemcpyHtoDAsync(pointer, mine, BYTES, r.s.stream));
        OK(culv_registration_unmap(&registration, 1, r.s.stream));
        ID3D10Device_CopyResource(r.d10, (ID3D10Resource *)(void *)stage, object);
        HR_OK(ID3D10Buffer_Map(stage, D3D10_MAP_READ, 0, &data));
        REQUIRE(!memcmp(mine, data, BYTES));
        ID3D10Buffer_Unmap(stage);
    }
    OK(culv_registration_destroy(&registration));
    REQUIRE(ID3D10Buffer_Release(stage) == 0 && ID3D10Buffer_Release(buffer) == 0);
    register_close(&r);
}

static void textures10(void)
{
    enum { WIDTH = 32, HEIGHT = 20, LEVELS = 3, LAYERS = 2 };
    D3D10_TEXTURE2D_DESC desc = {WIDTH,
                                 HEIGHT,
                                 LEVELS,
                                 LAYERS,
                                 DXGI_FORMAT_R16G16_UINT,
                                 {1, 0},
                                 D3D10_USAGE_DEFAULT,
                                 D3D10_BIND_SHADER_RESOURCE,
                                 0,
                                 0};
    ID3D10Texture2D *texture = NULL, *stage = NULL;
    D3D10_MAPPED_TEXTURE2D map;
    scene_register r;
    register_open(&r);
    register_open10(&r);
    HR_OK(ID3D10Device_CreateTexture2D(r.d10, &desc, NULL, &texture));
    desc.Usage = D3D10_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D10_CPU_ACCESS_READ;
    HR_OK(ID3D10Device_CreateTexture2D(r.d10, &desc, NULL, &stage));
    void *object = texture;
    culv_registration *registration = register_10(&r, object);
    for (unsigned i = 0; i < LEVELS * LAYERS; i++) {
        const register_part part = {(size_t)(WIDTH >> i % LEVELS) * 4, HEIGHT >> i % LEVELS, 1};
        scene11_pattern(mine, register_part_size(&part), i);
        ID3D10Device_UpdateSubresource(r.d10, object, i, NULL, mine, (UINT)part.row, 0);
    }
    OK(culv_registration_map(&registration, 1, r.s.stream));
    for (unsigned i = 0; i < LEVELS * LAYERS; i++) {
        const register_part part = {(size_t)(WIDTH >> i % LEVELS) * 4, HEIGHT >> i % LEVELS, 1};
        const size_t size = register_part_size(&part);
        scene11_pattern(mine, size, i);
        register_cuda(&r, registration, i / LEVELS, i % LEVELS, &part, theirs, false);
        REQUIRE(!memcmp(mine, theirs, size));
        scene11_pattern(mine, size, i + 90);
        register_cuda(&r, registration, i / LEVELS, i % LEVELS, &part, mine, true);
    }
    OK(culv_registration_unmap(&registration, 1, r.s.stream));
    ID3D10Device_CopyResource(r.d10, (ID3D10Resource *)(void *)stage, object);
    for (unsigned i = 0; i < LEVELS * LAYERS; i++) {
        const size_t row = (size_t)(WIDTH >> i % LEVELS) * 4, rows = HEIGHT >> i % LEVELS;
        scene11_pattern(mine, row * rows, i + 90);
        HR_OK(ID3D10Texture2D_Map(stage, i, D3D10_MAP_READ, 0, &map));
        for (size_t y = 0; y < rows; y++)
            REQUIRE(!memcmp(mine + y * row, (const char *)map.pData + y * map.RowPitch, row));
        ID3D10Texture2D_Unmap(stage, i);
    }
    OK(culv_registration_destroy(&registration));
    REQUIRE(ID3D10Texture2D_Release(stage) == 0 && ID3D10Texture2D_Release(texture) == 0);
    register_close(&r);
}

static void kinds10(void)
{
    D3D10_TEXTURE1D_DESC line = {
        64, 2, 1, DXGI_FORMAT_R8_UNORM, D3D10_USAGE_DEFAULT, D3D10_BIND_SHADER_RESOURCE, 0, 0};
    D3D10_TEXTURE3D_DESC solid = {
        16, 8, 4, 1, DXGI_FORMAT_R32_FLOAT, D3D10_USAGE_DEFAULT, D3D10_BIND_SHADER_RESOURCE, 0, 0};
    D3D10_TEXTURE2D_DESC cube = {16,
                                 16,
                                 1,
                                 6,
                                 DXGI_FORMAT_R8G8B8A8_UNORM,
                                 {1, 0},
                                 D3D10_USAGE_DEFAULT,
                                 D3D10_BIND_SHADER_RESOURCE,
                                 0,
                                 D3D10_RESOURCE_MISC_TEXTURECUBE};
    static const culv_image_type types[3] = {CULV_IMAGE_1D, CULV_IMAGE_3D, CULV_IMAGE_CUBE};
    void *objects[3] = {NULL, NULL, NULL};
    scene_register r;
    register_open(&r);
    register_open10(&r);
    HR_OK(ID3D10Device_CreateTexture1D(r.d10, &line, NULL, (ID3D10Texture1D **)&objects[0]));
    HR_OK(ID3D10Device_CreateTexture3D(r.d10, &solid, NULL, (ID3D10Texture3D **)&objects[1]));
    HR_OK(ID3D10Device_CreateTexture2D(r.d10, &cube, NULL, (ID3D10Texture2D **)&objects[2]));
    for (unsigned i = 0; i < 3; i++) {
        culv_image_desc is = culv_image_desc_init();
        culv_registration *registration = register_10(&r, objects[i]);
        OK(culv_image_get_desc(culv_registration_image(registration), &is));
        REQUIRE(is.type == types[i]);
        OK(culv_registration_map(&registration, 1, r.s.stream));
        OK(culv_registration_unmap(&registration, 1, r.s.stream));
        OK(culv_registration_destroy(&registration));
        REQUIRE(IUnknown_Release((IUnknown *)objects[i]) == 0);
    }
    register_close(&r);
}

const case_register cases_register10[] = {
    {"buffers10", buffers10}, {"textures10", textures10}, {"kinds10", kinds10}, {NULL, NULL}};
