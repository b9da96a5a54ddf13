/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D 9. */
#include "scene_register.h"

#include <string.h>

enum { BYTES = 4096, MOST = 65536 };
static unsigned char mine[MOST], theirs[MOST];

static culv_registration *register_9(const scene_register *r, void *resource)
{
    culv_registration *made = NULL;
    OK(culv_d3d9_register(r->s.culvert, resource, NULL, &made));
    return made;
}

/* A vertex buffer, or an index buffer. */
static void *buffer_of(const scene_register *r, bool vertices)
{
    IDirect3DVertexBuffer9 *v = NULL;
    IDirect3DIndexBuffer9 *i = NULL;
    if (vertices)
        HR_OK(IDirect3DDevice9Ex_CreateVertexBuffer(r->d9, BYTES, 0, 0, D3DPOOL_DEFAULT, &v, NULL));
    else
        HR_OK(IDirect3DDevice9Ex_CreateIndexBuffer(r->d9, BYTES, 0, D3DFMT_INDEX32, D3DPOOL_DEFAULT,
                                                   &i, NULL));
    return vertices ? (void *)v : (void *)i;
}

static void copy_buffer(void *buffer, bool vertices, void *data, bool from_there)
{
    IDirect3DVertexBuffer9 *v = buffer;
    IDirect3DIndexBuffer9 *i = buffer;
    void *there = NULL;
    HR_OK(vertices ? IDirect3DVertexBuffer9_Lock(v, 0, 0, &there, 0)
                   : IDirect3DIndexBuffer9_Lock(i, 0, 0, &there, 0));
    memcpy(from_there ? data : there, from_there ? there : data, BYTES);
    HR_OK(vertices ? IDirect3DVertexBuffer9_Unlock(v) : IDirect3DIndexBuffer9_Unlock(i));
}

static void buffers9(void)
{
    scene_register r;
    register_open(&r);
    register_open9(&r);
    for (unsigned i = 0; i < 2; i++) {
        void *buffer = buffer_of(&r, i == 0);
        const ULONG references = register_references(buffer);
        culv_registration *registration = register_9(&r, buffer);
        REQUIRE(register_references(buffer) == references + 1);
        for (unsigned turn = 0; turn < 3; turn++) {
            scene11_pattern(mine, BYTES, turn);
            copy_buffer(buffer, i == 0, mine, false);
            OK(culv_registration_map(&registration, 1, r.s.stream));
            const CUdeviceptr pointer = culv_registration_pointer(registration);
            scene11_cuda_read(&r.s, pointer, theirs, BYTES);
            REQUIRE(!memcmp(mine, theirs, BYTES));
            scene11_pattern(mine, BYTES, turn + 50);
            CU_OK(r.s.cu->cuMemcpyHtoDAsync(pointer, mine, BYTES, r.s.stream));
            OK(culv_registration_unmap(&registration, 1, r.s.stream));
            copy_buffer(buffer, i == 0, theirs, true);
            REQUIRE(!memcmp(mine, theirs, BYTES));
        }
        OK(culv_registration_destroy(&registration));
        REQUIRE(IUnknown_Release((IUnknown *)buffer) == 0);
    }
    register_close(&r);
}

/* Surfaces ------------------------------------------------------------------------------------- */

enum { FACES = 6 };
typedef enum texture_kind { PLAIN, TARGET, CUBE, ALONE } texture_kind;

typedef struct texture {
    texture_kind kind;
    void *object;
    unsigned width, height, levels, faces;
} texture;

static texture texture_of(const scene_register *r, texture_kind kind, D3DFORMAT format)
{
    texture t = {.kind = kind, .width = 32, .height = kind == CUBE ? 32 : 16, .levels = 2};
    t.faces = kind == CUBE ? FACES : 1;
    IDirect3DTexture9 *plain = NULL;
    IDirect3DCubeTexture9 *cube = NULL;
    IDirect3DSurface9 *alone = NULL;
    if (kind == CUBE) {
        HR_OK(IDirect3DDevice9Ex_CreateCubeTexture(r->d9, t.width, t.levels, 0, format,
                                                   D3DPOOL_DEFAULT, &cube, NULL));
        t.object = cube;
    } else if (kind == ALONE) {
        t.levels = 1;
        HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r->d9, t.width, t.height, format,
                                                             D3DPOOL_DEFAULT, &alone, NULL));
        t.object = alone;
    } else {
        HR_OK(IDirect3DDevice9Ex_CreateTexture(r->d9, t.width, t.height, t.levels,
                                               kind == TARGET ? D3DUSAGE_RENDERTARGET : 0, format,
                                               D3DPOOL_DEFAULT, &plain, NULL));
        t.object = plain;
    }
    return t;
}

static IDirect3DSurface9 *surface_of(const texture *t, unsigned level, unsigned face)
{
    IDirect3DSurface9 *found = NULL;
    if (t->kind == CUBE) {
        HR_OK(IDirect3DCubeTexture9_GetCubeMapSurface((IDirect3DCubeTexture9 *)t->object,
                                                      (D3DCUBEMAP_FACES)face, level, &found));
    } else if (t->kind == ALONE) {
        found = t->object;
        IDirect3DSurface9_AddRef(found);
    } else {
        HR_OK(IDirect3DTexture9_GetSurfaceLevel((IDirect3DTexture9 *)t->object, level, &found));
    }
    return found;
}

/* Direct3D writes or reads a surface, by one in system memory. */
static void copy_surface(const scene_register *r, const texture *t, unsigned level, unsigned face,
                         const register_part *part, unsigned char *data, bool from_there)
{
    IDirect3DSurface9 *surface = surface_of(t, level, face), *stage = NULL;
    D3DSURFACE_DESC d;
    D3DLOCKED_RECT lock;
    HR_OK(IDirect3DSurface9_GetDesc(surface, &d));
    HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r->d9, d.Width, d.Height, d.Format,
                                                         D3DPOOL_SYSTEMMEM, &stage, NULL));
    if (from_there) HR_OK(IDirect3DDevice9Ex_GetRenderTargetData(r->d9, surface, stage));
    HR_OK(IDirect3DSurface9_LockRect(stage, &lock, NULL, 0));
    for (size_t y = 0; y < part->rows; y++) {
        unsigned char *there = (unsigned char *)lock.pBits + y * (size_t)lock.Pitch;
        memcpy(from_there ? data + y * part->row : there, from_there ? there : data + y * part->row,
               part->row);
    }
    HR_OK(IDirect3DSurface9_UnlockRect(stage));
    if (!from_there) HR_OK(IDirect3DDevice9Ex_UpdateSurface(r->d9, stage, NULL, surface, NULL));
    IDirect3DSurface9_Release(stage);
    IDirect3DSurface9_Release(surface);
}

/* Without NaNs. The X of X8R8G8B8 is whatever Wine makes of it, which is 255. */
static void fill(unsigned char *out, size_t size, D3DFORMAT format, unsigned seed)
{
    scene11_pattern(out, size, seed);
    for (size_t i = 0; i < size; i++)
        out[i] = format == D3DFMT_X8R8G8B8 && i % 4 == 3 ? 255 : out[i] & 0x3f;
}

static void both_ways(const scene_register *r, texture_kind kind, D3DFORMAT format, unsigned texel)
{
    const texture t = texture_of(r, kind, format);
    culv_image_desc is = culv_image_desc_init();
    culv_registration *registration = register_9(r, t.object);
    OK(culv_image_get_desc(culv_registration_image(registration), &is));
    REQUIRE(is.type == (kind == CUBE ? CULV_IMAGE_CUBE : CULV_IMAGE_2D));
    REQUIRE(is.width == t.width && is.mip_levels == t.levels && is.array_layers == t.faces);
    for (unsigned step = 0; step < 3; step++) {
        if (step == 1) OK(culv_registration_map(&registration, 1, r->s.stream));
        if (step == 2) OK(culv_registration_unmap(&registration, 1, r->s.stream));
        for (unsigned i = 0; i < t.levels * t.faces; i++) {
            const unsigned level = i % t.levels, face = i / t.levels;
            const register_part part = {(size_t)(t.width >> level) * texel, t.height >> level, 1};
            const size_t size = register_part_size(&part);
            fill(mine, size, format, step == 2 ? i + 77 : i);
            if (step == 0) {
                copy_surface(r, &t, level, face, &part, mine, false);
            } else if (step == 1) {
                register_cuda(r, registration, face, level, &part, theirs, false);
                REQUIRE(!memcmp(mine, theirs, size));
                fill(mine, size, format, i + 77);
                register_cuda(r, registration, face, level, &part, mine, true);
            } else {
                copy_surface(r, &t, level, face, &part, theirs, true);
                REQUIRE(!memcmp(mine, theirs, size));
            }
        }
    }
    OK(culv_registration_destroy(&registration));
    REQUIRE(IUnknown_Release((IUnknown *)t.object) == 0);
}

static void textures9(void)
{
    static const struct {
        D3DFORMAT format;
        unsigned texel;
    } rows[] = {{D3DFMT_L8, 1},
                {D3DFMT_A8, 1},
                {D3DFMT_A8L8, 2},
                {D3DFMT_L16, 2},
                {D3DFMT_A8R8G8B8, 4},
                {D3DFMT_X8R8G8B8, 4},
                {D3DFMT_A8B8G8R8, 4},
                {D3DFMT_Q8W8V8U8, 4},
                {D3DFMT_G16R16, 4},
                {D3DFMT_V16U16, 4},
                {D3DFMT_A16B16G16R16, 8},
                {D3DFMT_R16F, 2},
                {D3DFMT_G16R16F, 4},
                {D3DFMT_A16B16G16R16F, 8},
                {D3DFMT_R32F, 4},
                {D3DFMT_G32R32F, 8},
                {D3DFMT_A32B32G32R32F, 16}};
    scene_register r;
    register_open(&r);
    register_open9(&r);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        printf("  D3DFORMAT %u\n", (unsigned)rows[i].format);
        both_ways(&r, PLAIN, rows[i].format, rows[i].texel);
    }
    both_ways(&r, TARGET, D3DFMT_A8R8G8B8, 4);
    both_ways(&r, CUBE, D3DFMT_A8R8G8B8, 4);
    both_ways(&r, ALONE, D3DFMT_A8R8G8B8, 4);
    register_close(&r);
}

const case_register cases_register9[] = {
    {"buffers9", buffers9}, {"textures9", textures9}, {NULL, NULL}};
