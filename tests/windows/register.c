/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D 11, 10 and 9: data both ways. What maps and lists do is the
 * same for OpenGL's: tests/library/gl/register.c has many in one call, and states. */
#include "scene_register.h"

enum { BYTES = REGISTER_BYTES, MOST = 65536 };
static unsigned char mine[MOST], theirs[MOST];

/* A sub-resource's rows without gaps. */
typedef struct part {
    size_t row, rows, slices;
} part;

static size_t size_of(const part *p)
{
    return p->row * p->rows * p->slices;
}

static void copy_rows(const part *p, void *data, void *there, size_t pitch, bool out)
{
    for (size_t y = 0; y < p->rows; y++) {
        char *a = (char *)data + y * p->row, *b = (char *)there + y * pitch;
        memcpy(out ? a : b, out ? b : a, p->row);
    }
}

/* Direct3D's work: it writes or reads a sub-resource ------------------------------------------- */

static void copy11(const scene_register *r, void *object, unsigned index, const part *p, void *data,
                   bool out)
{
    if (out)
        scene_read11(r->device, r->context, object, index, data, p->row, p->rows, p->slices);
    else
        ID3D11DeviceContext_UpdateSubresource(r->context, object, index, NULL, data, (UINT)p->row,
                                              (UINT)(p->row * p->rows));
}

/* Buffers and 2D textures. */
static void copy10(const scene_register *r, void *object, unsigned index, const part *p, void *data,
                   bool out)
{
    D3D10_RESOURCE_DIMENSION dimension;
    D3D10_MAPPED_TEXTURE2D map = {NULL, 0};
    void *made = NULL;
    if (!out) {
        ID3D10Device_UpdateSubresource(r->d10, object, index, NULL, data, (UINT)p->row, 0);
        return;
    }
    ID3D10Resource_GetType((ID3D10Resource *)object, &dimension);
    const bool buffer = dimension == D3D10_RESOURCE_DIMENSION_BUFFER;
#define STAGE(kind, desc_type)                                                                     \
    do {                                                                                           \
        desc_type desc;                                                                            \
        ID3D10##kind##_GetDesc((ID3D10##kind *)object, &desc);                                     \
        desc.Usage = D3D10_USAGE_STAGING;                                                          \
        desc.BindFlags = desc.MiscFlags = 0;                                                       \
        desc.CPUAccessFlags = D3D10_CPU_ACCESS_READ;                                               \
        HR_OK(ID3D10Device_Create##kind(r->d10, &desc, NULL, (ID3D10##kind **)&made));             \
    } while (0)
    if (buffer)
        STAGE(Buffer, D3D10_BUFFER_DESC);
    else
        STAGE(Texture2D, D3D10_TEXTURE2D_DESC);
#undef STAGE
    ID3D10Device_CopyResource(r->d10, made, object);
    HR_OK(buffer ? ID3D10Buffer_Map((ID3D10Buffer *)made, D3D10_MAP_READ, 0, &map.pData)
                 : ID3D10Texture2D_Map((ID3D10Texture2D *)made, index, D3D10_MAP_READ, 0, &map));
    copy_rows(p, data, map.pData, map.RowPitch, true);
    if (buffer)
        ID3D10Buffer_Unmap((ID3D10Buffer *)made);
    else
        ID3D10Texture2D_Unmap((ID3D10Texture2D *)made, index);
    IUnknown_Release((IUnknown *)made);
}

static void copy_buffer9(void *buffer, bool vertices, const part *p, void *data, bool out)
{
    void *there = NULL;
    HR_OK(vertices ? IDirect3DVertexBuffer9_Lock((IDirect3DVertexBuffer9 *)buffer, 0, 0, &there, 0)
                   : IDirect3DIndexBuffer9_Lock((IDirect3DIndexBuffer9 *)buffer, 0, 0, &there, 0));
    copy_rows(p, data, there, 0, out);
    HR_OK(vertices ? IDirect3DVertexBuffer9_Unlock((IDirect3DVertexBuffer9 *)buffer)
                   : IDirect3DIndexBuffer9_Unlock((IDirect3DIndexBuffer9 *)buffer));
}

/* Surfaces by one in system memory. */
static void copy9(const scene_register *r, void *object, unsigned index, const part *p, void *data,
                  bool out)
{
    IDirect3DSurface9 *surface = object, *stage = NULL;
    IDirect3DTexture9 *texture = object;
    IDirect3DCubeTexture9 *cube = object;
    D3DSURFACE_DESC d;
    D3DLOCKED_RECT lock;
    const D3DRESOURCETYPE type = IDirect3DResource9_GetType((IDirect3DResource9 *)object);
    if (type == D3DRTYPE_VERTEXBUFFER || type == D3DRTYPE_INDEXBUFFER) {
        copy_buffer9(object, type == D3DRTYPE_VERTEXBUFFER, p, data, out);
        return;
    }
    if (type == D3DRTYPE_CUBETEXTURE) {
        const DWORD levels = IDirect3DCubeTexture9_GetLevelCount(cube);
        HR_OK(IDirect3DCubeTexture9_GetCubeMapSurface(cube, (D3DCUBEMAP_FACES)(index / levels),
                                                      index % levels, &surface));
    } else if (type == D3DRTYPE_TEXTURE) {
        HR_OK(IDirect3DTexture9_GetSurfaceLevel(texture, index, &surface));
    } else {
        IDirect3DSurface9_AddRef(surface);
    }
    HR_OK(IDirect3DSurface9_GetDesc(surface, &d));
    HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r->d9, d.Width, d.Height, d.Format,
                                                         D3DPOOL_SYSTEMMEM, &stage, NULL));
    if (out) HR_OK(IDirect3DDevice9Ex_GetRenderTargetData(r->d9, surface, stage));
    HR_OK(IDirect3DSurface9_LockRect(stage, &lock, NULL, 0));
    copy_rows(p, data, lock.pBits, (size_t)lock.Pitch, out);
    HR_OK(IDirect3DSurface9_UnlockRect(stage));
    if (!out) HR_OK(IDirect3DDevice9Ex_UpdateSurface(r->d9, stage, NULL, surface, NULL));
    IDirect3DSurface9_Release(stage);
    IDirect3DSurface9_Release(surface);
}

static void (*const copy[VERSIONS])(const scene_register *r, void *object, unsigned index,
                                    const part *p, void *data, bool out) = {copy11, copy10, copy9};

/* Buffers -------------------------------------------------------------------------------------- */

static void turn_buffer(const scene_register *r, version v, UINT usage, culv_access access,
                        unsigned seed)
{
    const part whole = {BYTES, 1, 1};
    scene_pattern(mine, BYTES, seed);
    void *object = register_buffer(r, v, usage, mine);
    const ULONG references = scene_references(object);
    culv_registration *registration = register_as(r, object, access);
    REQUIRE(scene_references(object) == references + 1);
    REQUIRE(register_driver_resources() == 1);
    culv_buffer *buffer = culv_registration_buffer(registration);
    REQUIRE(culv_registration_image(registration) == NULL);
    REQUIRE(culv_buffer_size(buffer) == BYTES && culv_buffer_pointer(buffer) == 0);
    if (v == V9) copy9(r, object, 0, &whole, mine, false);
    for (unsigned turn = 0; turn < 3; turn++) {
        OK(culv_registration_map(&registration, 1, r->stream));
        REQUIRE(culv_registration_is_mapped(registration));
        const CUdeviceptr pointer = culv_registration_pointer(registration);
        REQUIRE(pointer != 0 && culv_buffer_pointer(buffer) == pointer);
        scene_cuda_read(r, pointer, theirs, BYTES);
        if (access != CULV_ACCESS_WRITE_DISCARD) REQUIRE(!memcmp(mine, theirs, BYTES));
        if (access != CULV_ACCESS_READ_ONLY) {
            scene_pattern(mine, BYTES, 100 * seed + turn);
            CU_OK(r->cu->cuMemcpyHtoDAsync(pointer, mine, BYTES, r->stream));
        }
        OK(culv_registration_unmap(&registration, 1, r->stream)); /* without waiting for CUDA */
        REQUIRE(culv_registration_pointer(registration) == 0);
        REQUIRE(culv_buffer_pointer(buffer) == 0);
        copy[v](r, object, 0, &whole, theirs, true);
        REQUIRE(!memcmp(mine, theirs, BYTES));
        if (v != V9 && usage != D3D11_USAGE_DEFAULT) continue;
        scene_pattern(mine, BYTES, 1000 * seed + turn);
        copy[v](r, object, 0, &whole, mine, false);
    }
    OK(culv_registration_destroy(&registration));
    REQUIRE(registration == NULL && scene_references(object) == references);
    IUnknown_Release((IUnknown *)object);
}

static void turn_buffers(const scene_register *r, version only)
{
    static const struct {
        version v;
        UINT usage;
        culv_access access;
    } rows[] = {
        {V11, D3D11_USAGE_DEFAULT, CULV_ACCESS_READ_WRITE},
        {V11, D3D11_USAGE_DEFAULT, CULV_ACCESS_READ_ONLY},
        {V11, D3D11_USAGE_DEFAULT, CULV_ACCESS_WRITE_DISCARD},
        {V11, D3D11_USAGE_DYNAMIC, CULV_ACCESS_READ_WRITE},
        {V11, D3D11_USAGE_IMMUTABLE, CULV_ACCESS_READ_ONLY},
        {V10, D3D10_USAGE_DEFAULT, CULV_ACCESS_READ_WRITE},
        {V9, 0, CULV_ACCESS_READ_WRITE},
        {V9, 1, CULV_ACCESS_READ_WRITE},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].v == only) turn_buffer(r, rows[i].v, rows[i].usage, rows[i].access, i);
}

#define BUFFERS(name, version)                                                                     \
    REGISTER_CASE(name)                                                                            \
    {                                                                                              \
        turn_buffers(r, version);                                                                  \
    }
BUFFERS(buffers, V11)
BUFFERS(buffers10, V10)
BUFFERS(buffers9, V9)

/* Textures ------------------------------------------------------------------------------------- */

enum { CUBE = 1, TARGET = 2, ALONE = 4 }; /* the last two in Direct3D 9: a surface alone */

typedef struct kind {
    const char *name;
    unsigned sides, width, height, depth, layers, levels, is;
    culv_image_type type;
} kind;

static void *texture9(const scene_register *r, const kind *k, D3DFORMAT format)
{
    void *made = NULL;
    if (k->is & CUBE)
        HR_OK(IDirect3DDevice9Ex_CreateCubeTexture(r->d9, k->width, k->levels, 0, format,
                                                   D3DPOOL_DEFAULT, (IDirect3DCubeTexture9 **)&made,
                                                   NULL));
    else if (k->is & ALONE)
        HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r->d9, k->width, k->height, format,
                                                             D3DPOOL_DEFAULT,
                                                             (IDirect3DSurface9 **)&made, NULL));
    else
        HR_OK(IDirect3DDevice9Ex_CreateTexture(r->d9, k->width, k->height, k->levels,
                                               k->is & TARGET ? D3DUSAGE_RENDERTARGET : 0, format,
                                               D3DPOOL_DEFAULT, (IDirect3DTexture9 **)&made, NULL));
    return made;
}

static void *texture_of(const scene_register *r, version v, const kind *k, unsigned format)
{
    void *made = NULL;
    if (v == V9) return texture9(r, k, (D3DFORMAT)format);
#define TEXTURE(desc_type, version, sides, device, ...)                                            \
    do {                                                                                           \
        const desc_type d = {.Width = k->width,                                                    \
                             .MipLevels = k->levels,                                               \
                             .Format = (DXGI_FORMAT)format,                                        \
                             .BindFlags = D3D11_BIND_SHADER_RESOURCE,                              \
                             __VA_ARGS__};                                                         \
        HR_OK(version##Device_CreateTexture##sides(device, &d, NULL,                               \
                                                   (version##Texture##sides **)&made));            \
    } while (0)
#define TEXTURES(n, device)                                                                        \
    do {                                                                                           \
        if (k->sides == 1)                                                                         \
            TEXTURE(D3D##n##_TEXTURE1D_DESC, ID3D##n, 1D, device, .ArraySize = k->layers);         \
        else if (k->sides == 3)                                                                    \
            TEXTURE(D3D##n##_TEXTURE3D_DESC, ID3D##n, 3D, device, .Height = k->height,             \
                    .Depth = k->depth);                                                            \
        else                                                                                       \
            TEXTURE(D3D##n##_TEXTURE2D_DESC, ID3D##n, 2D, device, .Height = k->height,             \
                    .ArraySize = k->layers, .SampleDesc = {1, 0},                                  \
                    .MiscFlags = k->is & CUBE ? D3D11_RESOURCE_MISC_TEXTURECUBE : 0);              \
    } while (0)
    if (v == V11)
        TEXTURES(11, r->device);
    else
        TEXTURES(10, r->d10);
#undef TEXTURES
#undef TEXTURE
    return made;
}

static unsigned at_level(unsigned size, unsigned level)
{
    return size >> level > 1 ? size >> level : 1;
}

static part part_of(const kind *k, unsigned index, unsigned texel)
{
    const unsigned level = index % k->levels;
    return (part){(size_t)at_level(k->width, level) * texel, at_level(k->height, level),
                  at_level(k->depth, level)};
}

/* A sub-resource's bytes in a turn, without NaNs. The X of a format is whatever Wine makes of it,
 * which is 255. */
static void fill(size_t size, bool has_x, unsigned turn, unsigned index)
{
    scene_pattern(mine, size, turn * 1000 + index);
    for (size_t i = 0; i < size; i++)
        mine[i] = has_x && i % 4 == 3 ? 255 : mine[i] & 0x3f;
}

static culv_registration *register_texture(const scene_register *r, const kind *k, void *texture)
{
    culv_registration *registration = register_as(r, texture, CULV_ACCESS_READ_WRITE);
    culv_image_desc is = culv_image_desc_init();
    REQUIRE(culv_registration_buffer(registration) == NULL);
    OK(culv_image_get_desc(culv_registration_image(registration), &is));
    REQUIRE(is.type == k->type && is.width == k->width && is.height == k->height);
    REQUIRE(is.depth == k->depth && is.array_layers == k->layers && is.mip_levels == k->levels);
    return registration;
}

/* Writes each sub-resource, or looks for what was written: CUDA in what is registered, or
 * Direct3D. */
typedef struct turning {
    const scene_register *r;
    version v;
    const kind *k;
    unsigned format, texel;
    void *texture;
    const culv_registration *registration;
} turning;

static void turn(const turning *t, bool by_cuda, unsigned seed, bool write)
{
    const bool has_x = t->format == (t->v == V9 ? D3DFMT_X8R8G8B8 : DXGI_FORMAT_B8G8R8X8_UNORM);
    for (unsigned i = 0; i < t->k->levels * t->k->layers; i++) {
        const part p = part_of(t->k, i, t->texel);
        CUarray array = NULL;
        fill(size_of(&p), has_x, seed, i);
        if (by_cuda) {
            OK(culv_registration_get_array(t->registration, i / t->k->levels, i % t->k->levels,
                                           &array));
            scene_cuda_copy(t->r, array, write ? mine : theirs, p.row, p.rows, p.slices, write);
        } else {
            copy[t->v](t->r, t->texture, i, &p, write ? mine : theirs, !write);
        }
        if (!write && memcmp(mine, theirs, size_of(&p)) != 0)
            FAIL("%s, format %u: sub-resource %u", t->k->name, t->format, i);
    }
}

static void both_ways(const scene_register *r, version v, const kind *k, unsigned format,
                      unsigned texel)
{
    void *texture = texture_of(r, v, k, format);
    culv_registration *registration = register_texture(r, k, texture);
    const turning t = {r, v, k, format, texel, texture, registration};
    for (unsigned i = 0; i < 2; i++) {
        turn(&t, false, i, true);
        OK(culv_registration_map(&registration, 1, r->stream));
        turn(&t, true, i, false);
        turn(&t, true, i + 7, true);
        OK(culv_registration_unmap(&registration, 1, r->stream));
        turn(&t, false, i + 7, false);
    }
    OK(culv_registration_destroy(&registration));
    REQUIRE(IUnknown_Release((IUnknown *)texture) == 0);
}

REGISTER_CASE(textures)
{
    static const kind kinds[] = {
        {"1D", 1, 96, 1, 1, 1, 1, 0, CULV_IMAGE_1D},
        {"1D array with levels", 1, 64, 1, 1, 5, 3, 0, CULV_IMAGE_1D},
        {"2D", 2, 50, 30, 1, 1, 1, 0, CULV_IMAGE_2D},
        {"2D with levels", 2, 48, 20, 1, 1, 6, 0, CULV_IMAGE_2D},
        {"2D array with levels", 2, 32, 24, 1, 3, 2, 0, CULV_IMAGE_2D},
        {"3D", 3, 20, 12, 5, 1, 1, 0, CULV_IMAGE_3D},
        {"3D with levels", 3, 16, 8, 6, 1, 4, 0, CULV_IMAGE_3D},
        {"cube", 2, 24, 24, 1, 6, 1, CUBE, CULV_IMAGE_CUBE},
        {"cube with levels", 2, 16, 16, 1, 6, 5, CUBE, CULV_IMAGE_CUBE},
        {"cube array", 2, 16, 16, 1, 12, 2, CUBE, CULV_IMAGE_CUBE},
    };
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        both_ways(r, V11, &kinds[i], DXGI_FORMAT_R8G8B8A8_UNORM, 4);
}

REGISTER_CASE(textures10)
{
    const kind k = {"2D array with levels", 2, 32, 20, 1, 2, 3, 0, CULV_IMAGE_2D};
    both_ways(r, V10, &k, DXGI_FORMAT_R16G16_UINT, 4);
}

REGISTER_CASE(kinds10)
{
    static const kind kinds[] = {{"1D", 1, 64, 1, 1, 1, 2, 0, CULV_IMAGE_1D},
                                 {"3D", 3, 16, 8, 4, 1, 1, 0, CULV_IMAGE_3D},
                                 {"cube", 2, 16, 16, 1, 6, 1, CUBE, CULV_IMAGE_CUBE}};
    static const unsigned formats[] = {DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_R32_FLOAT,
                                       DXGI_FORMAT_R8G8B8A8_UNORM};
    for (unsigned i = 0; i < 3; i++) {
        void *texture = texture_of(r, V10, &kinds[i], formats[i]);
        culv_registration *registration = register_texture(r, &kinds[i], texture);
        OK(culv_registration_map(&registration, 1, r->stream));
        OK(culv_registration_unmap(&registration, 1, r->stream));
        OK(culv_registration_destroy(&registration));
        REQUIRE(IUnknown_Release((IUnknown *)texture) == 0);
    }
}

REGISTER_CASE(textures9)
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
    static const kind kinds[] = {{"2D with levels", 2, 32, 16, 1, 1, 2, 0, CULV_IMAGE_2D},
                                 {"a target", 2, 32, 16, 1, 1, 2, TARGET, CULV_IMAGE_2D},
                                 {"cube with levels", 2, 32, 32, 1, 6, 2, CUBE, CULV_IMAGE_CUBE},
                                 {"a surface", 2, 32, 16, 1, 1, 1, ALONE, CULV_IMAGE_2D}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        both_ways(r, V9, &kinds[0], rows[i].format, rows[i].texel);
    for (unsigned i = 1; i < sizeof kinds / sizeof kinds[0]; i++)
        both_ways(r, V9, &kinds[i], D3DFMT_A8R8G8B8, 4);
}

/* Each format of the reference's list. */
REGISTER_CASE(formats)
{
    static const struct {
        unsigned first, last, texel;
    } rows[] = {{2, 4, 16},  {10, 14, 8}, {16, 18, 8}, {28, 32, 4}, {34, 38, 4}, {41, 43, 4},
                {49, 52, 2}, {54, 54, 2}, {56, 59, 2}, {61, 65, 1}, {87, 88, 4}};
    const kind k = {"2D", 2, 20, 12, 1, 1, 2, 0, CULV_IMAGE_2D};
    unsigned count = 0, without = 0;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned f = rows[i].first; f <= rows[i].last; f++) {
            UINT support = 0;
            const bool has =
                SUCCEEDED(ID3D11Device_CheckFormatSupport(r->device, (DXGI_FORMAT)f, &support)) &&
                (support & D3D11_FORMAT_SUPPORT_TEXTURE2D);
            if (has) both_ways(r, V11, &k, f, rows[i].texel);
            count += has;
            without += !has;
        }
    printf("  %u formats both ways, %u that the device lacks\n", count, without);
    REQUIRE(count >= 30);
}
