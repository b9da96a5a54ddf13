/* SPDX-License-Identifier: MIT */
/* Registered resources of Direct3D 11, 10 and 9, plain ones of Wine's: data both ways, what is
 * refused, by Culvert and by the twin, and devices. Which formats there are is
 * library-images.register's. What maps and lists do, and what failures leave, is the same for
 * OpenGL's: tests/library/gl/register.c, tests/library/graphics/torture_fallback.c. */
#include "scene.h"
/* after it */
#include <culvert/d3d.h>
#include <culvert/d3d_register.h>
#include <d3d10.h>
#include <d3d11.h>
#include <d3d9.h>

enum { VERSIONS = 3, BYTES = 40000, MOST = 65536 };
typedef enum version { V11, V10, V9 } version;
static unsigned char mine[MOST], theirs[MOST];

/* The devices on one adapter, and the twin's CUDA: the cases share them, which take long to open.
 */
typedef struct scene_register {
    culv_device *culvert;
    const culv_cuda_api *cu;
    CUstream stream;
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D10Device *d10;
    IDirect3DDevice9Ex *d9;
    HWND window;
    ULONG references[VERSIONS]; /* of the devices, when the case began */
} scene_register;

static scene_register kept;

/* An IDirect3DDevice9Ex with these flags. */
static IDirect3DDevice9Ex *register_device9(const scene_register *r, DWORD behavior)
{
    IDirect3D9Ex *d3d = NULL;
    IDirect3DDevice9Ex *device = NULL;
    D3DPRESENT_PARAMETERS present = {.Windowed = TRUE};
    present.SwapEffect = D3DSWAPEFFECT_DISCARD;
    present.hDeviceWindow = r->window;
    present.BackBufferWidth = present.BackBufferHeight = 64;
    present.BackBufferFormat = D3DFMT_A8R8G8B8;
    HR_OK(Direct3DCreate9Ex(D3D_SDK_VERSION, &d3d));
    HR_OK(IDirect3D9Ex_CreateDeviceEx(d3d, 0, D3DDEVTYPE_HAL, r->window,
                                      behavior | D3DCREATE_FPU_PRESERVE, &present, NULL, &device));
    IDirect3D9Ex_Release(d3d);
    return device;
}

static void end_kept(void)
{
    CU_OK(kept.cu->cuStreamDestroy(kept.stream));
    culv_device_close(&kept.culvert);
    ID3D11DeviceContext_Release(kept.context);
    REQUIRE(ID3D11Device_Release(kept.device) == 0);
    REQUIRE(ID3D10Device_Release(kept.d10) == 0);
    REQUIRE(IDirect3DDevice9Ex_Release(kept.d9) == 0);
}

static void open_kept(void)
{
    static const test_fixture fixture = {.end = end_kept};
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    scene_find_controls();
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                            &kept.device, NULL, &kept.context));
    OK(culv_device_open_for_d3d((IUnknown *)kept.device, NULL, &kept.culvert));
    kept.cu = CULV_CUDA(kept.culvert);
    kept.stream = scene_stream(kept.culvert);
    kept.window = CreateWindowA("static", "culvert", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, NULL, NULL,
                                NULL, NULL);
    HR_OK(
        D3D10CreateDevice(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_SDK_VERSION, &kept.d10));
    kept.d9 = register_device9(&kept, D3DCREATE_HARDWARE_VERTEXPROCESSING);
    test_keep(&fixture);
}

static IUnknown *register_device(const scene_register *r, version v)
{
    void *const devices[VERSIONS] = {r->device, r->d10, r->d9};
    return devices[v];
}

static void register_open(scene_register *r)
{
    if (kept.device == NULL) open_kept();
    *r = kept;
    for (unsigned v = 0; v < VERSIONS; v++)
        r->references[v] = scene_references(register_device(r, v));
}

static uint64_t register_driver_resources(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    soft.counts(&c);
    return c.graphics_resources;
}

/* Nothing of Culvert's and of the twin's is left. */
static void register_require_none(const scene_register *r)
{
    culv_device_counts left = culv_device_counts_init();
    OK(culv_device_get_counts(r->culvert, &left));
    REQUIRE(left.registrations == 0 && left.deferred == 0);
    REQUIRE(register_driver_resources() == 0 && scene_driver_objects() == 0);
}

static void register_close(const scene_register *r)
{
    register_require_none(r);
    for (unsigned v = 0; v < VERSIONS; v++)
        REQUIRE_EQ(scene_references(register_device(r, v)), r->references[v]);
}

static culv_registration *register_as(const scene_register *r, void *resource, culv_access access)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *made = NULL;
    desc.access = access;
    desc.label = "mine";
    OK(culv_d3d_register(r->culvert, (IUnknown *)resource, &desc, &made));
    return made;
}

/* A buffer, which has 0 sides, or a texture, by Direct3D 11's struct, which begins with the members
 * of Direct3D 10's; flags and usages are the same numbers. NULL: the device has none such. */
static void *created(const scene_register *r, version v, unsigned sides, const void *desc,
                     const void *first)
{
    void *made = NULL;
    HRESULT hr;
#define CREATE(kind)                                                                               \
    hr = v == V11 ? ID3D11Device_Create##kind(r->device, desc, first, (ID3D11##kind **)&made)      \
                  : ID3D10Device_Create##kind(r->d10, desc, first, (ID3D10##kind **)&made)
    switch (sides) {
    case 0: CREATE(Buffer); break;
    case 1: CREATE(Texture1D); break;
    case 2: CREATE(Texture2D); break;
    default: CREATE(Texture3D);
    }
#undef CREATE
    REQUIRE(SUCCEEDED(hr) == (made != NULL));
    return made;
}

/* A buffer for vertices, in Direct3D 9 with a `usage` for indices. Direct3D 9 has no first data. */
static void *register_buffer(const scene_register *r, version v, UINT usage, const void *data)
{
    const D3D11_SUBRESOURCE_DATA first = {data, 0, 0};
    D3D11_BUFFER_DESC desc = {BYTES, (D3D11_USAGE)usage, D3D11_BIND_VERTEX_BUFFER, 0, 0, 0};
    void *made = NULL;
    if (usage == D3D11_USAGE_DYNAMIC) desc.CPUAccessFlags = D3D11_CPU_ACCESS_WRITE;
    if (v != V9)
        made = created(r, v, 0, &desc, &first);
    else if (usage == 0)
        HR_OK(IDirect3DDevice9Ex_CreateVertexBuffer(r->d9, BYTES, 0, 0, D3DPOOL_DEFAULT,
                                                    (IDirect3DVertexBuffer9 **)&made, NULL));
    else
        HR_OK(IDirect3DDevice9Ex_CreateIndexBuffer(r->d9, BYTES, 0, D3DFMT_INDEX32, D3DPOOL_DEFAULT,
                                                   (IDirect3DIndexBuffer9 **)&made, NULL));
    return made;
}

#define REGISTER_CASE(...)                                                                         \
    TEST_ON(scene_register, r, register_open(r), register_close(r), __VA_ARGS__)
#define REGISTER_AS(name, call)                                                                    \
    REGISTER_CASE(name)                                                                            \
    {                                                                                              \
        call;                                                                                      \
    }

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

/* Buffers. */
static void copy10(const scene_register *r, void *object, unsigned index, const part *p, void *data,
                   bool out)
{
    D3D10_BUFFER_DESC desc;
    ID3D10Buffer *stage = NULL;
    void *there = NULL;
    if (!out) {
        ID3D10Device_UpdateSubresource(r->d10, object, index, NULL, data, (UINT)p->row, 0);
        return;
    }
    ID3D10Buffer_GetDesc((ID3D10Buffer *)object, &desc);
    desc.Usage = D3D10_USAGE_STAGING;
    desc.BindFlags = desc.MiscFlags = 0;
    desc.CPUAccessFlags = D3D10_CPU_ACCESS_READ;
    HR_OK(ID3D10Device_CreateBuffer(r->d10, &desc, NULL, &stage));
    ID3D10Device_CopyResource(r->d10, (ID3D10Resource *)stage, object);
    HR_OK(ID3D10Buffer_Map(stage, D3D10_MAP_READ, 0, &there));
    copy_rows(p, data, there, 0, true);
    ID3D10Buffer_Unmap(stage);
    ID3D10Buffer_Release(stage);
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

REGISTER_AS(buffers, turn_buffers(r, V11))
REGISTER_AS(buffers10, turn_buffers(r, V10))
REGISTER_AS(buffers9, turn_buffers(r, V9))

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
    enum { USE = D3D11_BIND_SHADER_RESOURCE };
    const DXGI_FORMAT f = (DXGI_FORMAT)format;
    const UINT misc = k->is & CUBE ? D3D11_RESOURCE_MISC_TEXTURECUBE : 0;
    const D3D11_TEXTURE1D_DESC line = {k->width, k->levels, k->layers, f, 0, USE, 0, 0};
    const D3D11_TEXTURE2D_DESC flat = {k->width, k->height, k->levels, k->layers, f,
                                       {1, 0},   0,         USE,       0,         misc};
    const D3D11_TEXTURE3D_DESC deep = {k->width, k->height, k->depth, k->levels, f, 0, USE, 0, 0};
    const void *const descs[] = {&line, &flat, &deep};
    if (v == V9) return texture9(r, k, (D3DFORMAT)format);
    void *made = created(r, v, k->sides, descs[k->sides - 1], NULL);
    REQUIRE(made != NULL);
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

/* Direct3D writes each sub-resource and CUDA finds it in what is registered, then the other way. */
static void both_ways(const scene_register *r, version v, const kind *k, unsigned format,
                      unsigned texel)
{
    const bool has_x = format == (v == V9 ? D3DFMT_X8R8G8B8 : DXGI_FORMAT_B8G8R8X8_UNORM);
    void *texture = texture_of(r, v, k, format);
    culv_registration *registration = register_texture(r, k, texture);
    for (unsigned step = 0; step < 8; step++) { /* twice: Direct3D, CUDA, CUDA, Direct3D */
        const bool by_cuda = step % 4 == 1 || step % 4 == 2, write = step % 2 == 0;
        if (step % 4 == 1) OK(culv_registration_map(&registration, 1, r->stream));
        if (step % 4 == 3) OK(culv_registration_unmap(&registration, 1, r->stream));
        for (unsigned i = 0; i < k->levels * k->layers; i++) {
            const part p = part_of(k, i, texel);
            CUarray array = NULL;
            fill(size_of(&p), has_x, step / 2, i);
            if (by_cuda) {
                OK(culv_registration_get_array(registration, i / k->levels, i % k->levels, &array));
                scene_cuda_copy(r, array, write ? mine : theirs, p.row, p.rows, p.slices, write);
            } else {
                copy[v](r, texture, i, &p, write ? mine : theirs, !write);
            }
            if (!write && memcmp(mine, theirs, size_of(&p)) != 0)
                FAIL("%s, format %u: sub-resource %u", k->name, format, i);
        }
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
    both_ways(r, V11, &kinds[3], DXGI_FORMAT_R8_UNORM, 1);
    both_ways(r, V11, &kinds[3], DXGI_FORMAT_B8G8R8X8_UNORM, 4);
    both_ways(r, V11, &kinds[3], DXGI_FORMAT_R32G32B32A32_FLOAT, 16);
}

/* Their texels are CUDA's own arrays, as Direct3D 11's. */
REGISTER_CASE(kinds10)
{
    static const kind kinds[] = {{"1D", 1, 64, 1, 1, 1, 2, 0, CULV_IMAGE_1D},
                                 {"2D array with levels", 2, 32, 20, 1, 2, 3, 0, CULV_IMAGE_2D},
                                 {"3D", 3, 16, 8, 4, 1, 1, 0, CULV_IMAGE_3D},
                                 {"cube", 2, 16, 16, 1, 6, 1, CUBE, CULV_IMAGE_CUBE}};
    static const unsigned formats[] = {DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_R16G16_UINT,
                                       DXGI_FORMAT_R32_FLOAT, DXGI_FORMAT_R8G8B8A8_UNORM};
    for (unsigned i = 0; i < 4; i++) {
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
    } rows[] = {{D3DFMT_L8, 1}, {D3DFMT_X8R8G8B8, 4}, {D3DFMT_R16F, 2}, {D3DFMT_A32B32G32R32F, 16}};
    static const kind kinds[] = {{"2D with levels", 2, 32, 16, 1, 1, 2, 0, CULV_IMAGE_2D},
                                 {"a target", 2, 32, 16, 1, 1, 2, TARGET, CULV_IMAGE_2D},
                                 {"cube with levels", 2, 32, 32, 1, 6, 2, CUBE, CULV_IMAGE_CUBE},
                                 {"a surface", 2, 32, 16, 1, 1, 1, ALONE, CULV_IMAGE_2D}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        both_ways(r, V9, &kinds[0], rows[i].format, rows[i].texel);
    for (unsigned i = 1; i < sizeof kinds / sizeof kinds[0]; i++)
        both_ways(r, V9, &kinds[i], D3DFMT_A8R8G8B8, 4);
}

/* What is refused ------------------------------------------------------------------------------ */

static culv_result try_it(const scene_register *r, void *resource)
{
    culv_registration *made = NULL;
    culv_result result = culv_d3d_register(r->culvert, (IUnknown *)resource, NULL, &made);
    REQUIRE((made != NULL) == (result == CULV_OK));
    if (made != NULL) OK(culv_registration_destroy(&made));
    return result;
}

/* What the driver itself says, without Culvert's gate. */
static CUresult raw(const scene_register *r, version v, void *resource)
{
    static const char *const calls[VERSIONS] = {"cuGraphicsD3D11RegisterResource",
                                                "cuGraphicsD3D10RegisterResource",
                                                "cuGraphicsD3D9RegisterResource"};
    void (*found)(void) = culv_device_cuda_proc(r->culvert, calls[v], 3000);
    CUresult(CUDAAPI * call)(CUgraphicsResource *, void *, unsigned) = NULL;
    CUgraphicsResource made = NULL;
    REQUIRE(found != NULL);
    memcpy(&call, &found, sizeof call);
    const CUresult code = call(&made, resource, 0);
    if (code == CUDA_SUCCESS) CU_OK(r->cu->cuGraphicsUnregisterResource(made));
    return code;
}

/* It is refused, and the driver would have said so itself. */
static void refuses(const scene_register *r, version v, void *resource, culv_reason reason,
                    const char *says, CUresult code)
{
    REFUSES_AS(try_it(r, resource), CULV_ERROR_UNSUPPORTED, reason, says);
    REQUIRE_EQ(raw(r, v, resource), code);
}

/* Resources ------------------------------------------------------------------------------------ */

static const D3D11_TEXTURE2D_DESC plain11 = {.Width = 16,
                                             .Height = 16,
                                             .MipLevels = 1,
                                             .ArraySize = 1,
                                             .SampleDesc = {1, 0},
                                             .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                             .BindFlags = D3D11_BIND_SHADER_RESOURCE};

static void refused_textures(const scene_register *r, version only)
{
    enum {
        SHOWN = D3D11_BIND_SHADER_RESOURCE,
        DEPTH = D3D11_BIND_DEPTH_STENCIL,
        DRAWN = D3D11_BIND_RENDER_TARGET,
        SHARED = D3D11_RESOURCE_MISC_SHARED,
        MUTEX = D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX
    };
    static const struct {
        version v;
        DXGI_FORMAT format;
        UINT bind, misc, samples;
        D3D11_USAGE usage;
        culv_reason reason;
        const char *says;
    } rows[] = {
#define ROW(v, format, bind, misc, samples, usage, reason, says)                                   \
    {v, DXGI_FORMAT_##format, bind, misc, samples, usage, CULV_REASON_##reason, says}
        ROW(V11, R10G10B10A2_UNORM, SHOWN, 0, 1, 0, FORMAT, "DXGI_FORMAT 24"),
        ROW(V11, R8G8B8A8_TYPELESS, SHOWN, 0, 1, 0, FORMAT, "typed"),
        ROW(V11, BC1_UNORM, SHOWN, 0, 1, 0, FORMAT, "DXGI_FORMAT 71"),
        ROW(V11, B8G8R8A8_UNORM_SRGB, SHOWN, 0, 1, 0, FORMAT, "DXGI_FORMAT 91"),
        ROW(V11, D32_FLOAT, DEPTH, 0, 1, 0, USAGE, "depth"),
        ROW(V11, D24_UNORM_S8_UINT, DEPTH, 0, 1, 0, USAGE, "R32_FLOAT"),
        ROW(V11, R8G8B8A8_UNORM, SHOWN, SHARED, 1, 0, USAGE, "culv_d3d_memory_import()"),
        ROW(V11, R8G8B8A8_UNORM, SHOWN, MUTEX, 1, 0, USAGE, "created as shared"),
        ROW(V11, R8G8B8A8_UNORM, 0, 0, 1, D3D11_USAGE_STAGING, USAGE, "staging"),
        ROW(V11, R8G8B8A8_UNORM, DRAWN, 0, 4, 0, USAGE, "ResolveSubresource"),
        ROW(V10, R10G10B10A2_UNORM, SHOWN, 0, 1, 0, FORMAT, ""),
        ROW(V10, D32_FLOAT, DEPTH, 0, 1, 0, USAGE, ""),
        ROW(V10, R8G8B8A8_UNORM, 0, 0, 1, D3D11_USAGE_STAGING, USAGE, ""),
        /* Of Direct3D 10 the reference does not forbid it. */
        ROW(V10, R8G8B8A8_UNORM, SHOWN, SHARED, 1, 0, NONE, NULL),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        D3D11_TEXTURE2D_DESC d = plain11;
        d.Format = rows[i].format;
        d.BindFlags = rows[i].bind;
        d.MiscFlags = rows[i].misc;
        d.SampleDesc.Count = rows[i].samples;
        d.Usage = rows[i].usage;
        if (d.Usage == D3D11_USAGE_STAGING) d.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        void *texture = rows[i].v == only ? created(r, only, 2, &d, NULL) : NULL;
        if (texture == NULL) { /* a device of 11 may lack such a texture */
            REQUIRE(rows[i].v != only || only == V11);
            printf("  row %u is left out\n", (unsigned)i);
            continue;
        }
        if (rows[i].says != NULL) {
            refuses(r, only, texture, rows[i].reason, rows[i].says, CUDA_ERROR_UNKNOWN);
        } else {
            OK(try_it(r, texture));
            CU_OK(raw(r, only, texture));
        }
        REQUIRE(IUnknown_Release((IUnknown *)texture) == 0);
    }
}

REGISTER_AS(refused11, refused_textures(r, V11))
REGISTER_AS(refused10, refused_textures(r, V10))

/* Wine 8 does not tell a resource's usage, so this stands in place of IDXGIResource::GetUsage(). */
static IDXGIResource *shown_as_back_buffer;

static HRESULT STDMETHODCALLTYPE get_usage(IDXGIResource *resource, DXGI_USAGE *usage)
{
    *usage = resource == shown_as_back_buffer ? DXGI_USAGE_BACK_BUFFER : DXGI_USAGE_SHADER_INPUT;
    return S_OK;
}

static void show_as_back_buffer(ID3D11Texture2D *texture)
{
    HRESULT(STDMETHODCALLTYPE * function)(IDXGIResource *, DXGI_USAGE *) = get_usage;
    DWORD protection = 0;
    HR_OK(ID3D11Texture2D_QueryInterface(texture, &IID_IDXGIResource,
                                         (void **)&shown_as_back_buffer));
    void *slot = &shown_as_back_buffer->lpVtbl->GetUsage;
    VirtualProtect(slot, sizeof(void *), PAGE_READWRITE, &protection);
    memcpy(slot, &function, sizeof(void *));
    VirtualProtect(slot, sizeof(void *), protection, &protection);
    IDXGIResource_Release(shown_as_back_buffer);
}

/* The primary render target. */
REGISTER_CASE(back_buffer)
{
    ID3D11Texture2D *buffer = created(r, V11, 2, &plain11, NULL);
    show_as_back_buffer(buffer);
    REFUSES_SO(try_it(r, buffer), UNSUPPORTED, USAGE, "back buffer");
    shown_as_back_buffer = NULL;
    REQUIRE(ID3D11Texture2D_Release(buffer) == 0);
}

/* A resource of Direct3D 9 that is refused; takes the reference. */
static void refuses9(const scene_register *r, void *resource, culv_reason reason, const char *says)
{
    refuses(r, V9, resource, reason, says, CUDA_ERROR_UNKNOWN);
    IUnknown_Release((IUnknown *)resource);
}

REGISTER_CASE(refused9)
{
    IDirect3DSurface9 *surface = NULL;
    IDirect3DTexture9 *texture = NULL;
    IDirect3DVertexBuffer9 *buffer = NULL;
    IDirect3DVolumeTexture9 *volume = NULL;
    HR_OK(IDirect3DDevice9Ex_GetBackBuffer(r->d9, 0, 0, D3DBACKBUFFER_TYPE_MONO, &surface));
    refuses9(r, surface, CULV_REASON_USAGE, "primary render target");
    HR_OK(IDirect3DDevice9Ex_CreateDepthStencilSurface(
        r->d9, 16, 16, D3DFMT_D24S8, D3DMULTISAMPLE_NONE, 0, TRUE, &surface, NULL));
    refuses9(r, surface, CULV_REASON_USAGE, "depth");
    HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r->d9, 16, 16, D3DFMT_A8R8G8B8,
                                                         D3DPOOL_SYSTEMMEM, &surface, NULL));
    refuses9(r, surface, CULV_REASON_USAGE, "D3DPOOL_DEFAULT");
    HR_OK(
        IDirect3DDevice9Ex_CreateVertexBuffer(r->d9, 1024, 0, 0, D3DPOOL_SYSTEMMEM, &buffer, NULL));
    refuses9(r, buffer, CULV_REASON_USAGE, "D3DPOOL_DEFAULT");
    HR_OK(IDirect3DDevice9Ex_CreateTexture(r->d9, 16, 16, 1, 0, D3DFMT_R5G6B5, D3DPOOL_DEFAULT,
                                           &texture, NULL));
    refuses9(r, texture, CULV_REASON_FORMAT, "D3DFORMAT 23");
    HR_OK(IDirect3DDevice9Ex_CreateTexture(r->d9, 16, 16, 2, 0, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                           &texture, NULL));
    HR_OK(IDirect3DTexture9_GetSurfaceLevel(texture, 1, &surface));
    refuses(r, V9, surface, CULV_REASON_USAGE, "culv_registration_get_array()",
            CUDA_ERROR_INVALID_HANDLE);
    IDirect3DSurface9_Release(surface);
    IDirect3DTexture9_Release(texture);
    /* The twin has no volume textures; Culvert lets them pass. */
    HR_OK(IDirect3DDevice9Ex_CreateVolumeTexture(r->d9, 16, 8, 4, 1, 0, D3DFMT_A8R8G8B8,
                                                 D3DPOOL_DEFAULT, &volume, NULL));
    REFUSES(try_it(r, volume), DRIVER, DRIVER_REFUSED);
    IDirect3DVolumeTexture9_Release(volume);
}

/* A device that CUDA does not work with. */
REGISTER_CASE(refused_devices9)
{
    IDirect3D9 *d3d = Direct3DCreate9(D3D_SDK_VERSION);
    IDirect3DDevice9 *plain = NULL;
    IDirect3DDevice9Ex *software = NULL;
    IDirect3DVertexBuffer9 *buffer = NULL;
    culv_device *other = NULL;
    D3DPRESENT_PARAMETERS present = {.Windowed = TRUE};
    software = register_device9(r, D3DCREATE_SOFTWARE_VERTEXPROCESSING);
    HR_OK(IDirect3DDevice9Ex_CreateVertexBuffer(software, 1024, 0, 0, D3DPOOL_DEFAULT, &buffer,
                                                NULL));
    REFUSES_SO(try_it(r, buffer), UNSUPPORTED, USAGE, "D3DCREATE_HARDWARE_VERTEXPROCESSING");
    IDirect3DVertexBuffer9_Release(buffer);
    REQUIRE(IDirect3DDevice9Ex_Release(software) == 0);
    present.SwapEffect = D3DSWAPEFFECT_DISCARD;
    present.hDeviceWindow = r->window;
    HR_OK(IDirect3D9_CreateDevice(d3d, 0, D3DDEVTYPE_HAL, r->window,
                                  D3DCREATE_HARDWARE_VERTEXPROCESSING, &present, &plain));
    HR_OK(IDirect3DDevice9_CreateVertexBuffer(plain, 1024, 0, 0, D3DPOOL_DEFAULT, &buffer, NULL));
    refuses(r, V9, buffer, CULV_REASON_USAGE, "Direct3DCreate9Ex()", CUDA_ERROR_UNKNOWN);
    REFUSES(culv_device_open_for_d3d((IUnknown *)plain, NULL, &other), UNSUPPORTED, USAGE);
    REQUIRE(other == NULL);
    IDirect3DVertexBuffer9_Release(buffer);
    REQUIRE(IDirect3DDevice9_Release(plain) == 0);
    IDirect3D9_Release(d3d);
}

/* Arguments ------------------------------------------------------------------------------------ */

static ID3D11Buffer *buffer_of(const scene_register *r, D3D11_USAGE usage)
{
    static const unsigned char zeros[BYTES];
    return register_buffer(r, V11, usage, zeros);
}

/* What the states of a registration refuse is asserted with OpenGL's: library-gl.register.states,
 * .views and .mixed_lists; what settings do: library-images.register.settings. */
REGISTER_CASE(misuse)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *a = NULL, *b = NULL;
    CUarray array = NULL;
    IUnknown *first = (IUnknown *)buffer_of(r, D3D11_USAGE_DEFAULT);
    IUnknown *second = (IUnknown *)buffer_of(r, D3D11_USAGE_IMMUTABLE);
    REFUSES(culv_d3d_register(NULL, first, NULL, &a), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d_register(r->culvert, NULL, NULL, &a), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d_register(r->culvert, first, NULL, NULL), INVALID, NULL_ARGUMENT);
    REFUSES_SO(culv_d3d_register(r->culvert, second, &desc, &a), INVALID, VALUE, "IMMUTABLE");
    desc.access = (culv_access)3;
    REFUSES(culv_d3d_register(r->culvert, first, &desc, &a), INVALID, VALUE);
    desc.struct_size = 3;
    REFUSES(culv_d3d_register(r->culvert, first, &desc, &a), INVALID, STRUCT_SIZE);
    REQUIRE(a == NULL);
    a = register_as(r, first, CULV_ACCESS_READ_WRITE);
    b = register_as(r, second, CULV_ACCESS_READ_ONLY);
    REFUSES_SO(try_it(r, first), DRIVER, DRIVER_REFUSED,
               "registered with this CUDA context already");
    REFUSES(culv_registration_get_array(a, 0, 0, NULL), INVALID, NULL_ARGUMENT);
    REFUSES(culv_registration_get_array(a, 0, 0, &array), INVALID, USAGE);
    OK(culv_registration_destroy(&a));
    OK(culv_registration_destroy(&b));
    REQUIRE(IUnknown_Release(first) == 0 && IUnknown_Release(second) == 0);
}

/* Devices -------------------------------------------------------------------------------------- */

REGISTER_CASE(devices)
{
    static const char *const asked[VERSIONS] = {"cuD3D11GetDevices", "cuD3D10GetDevices",
                                                "cuD3D9GetDevices"};
    culv_device_caps caps = culv_device_caps_init();
    culv_device *other = NULL;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    int32_t found[2] = {-1, -1};
    uint32_t count = 77;
    HR_OK(ID3D11Device_QueryInterface(r->device, &IID_IDXGIDevice, (void **)&dxgi));
    HR_OK(IDXGIDevice_GetAdapter(dxgi, &adapter));
    IDXGIDevice_Release(dxgi);
    for (unsigned v = 0; v < VERSIONS; v++) {
        IUnknown *const device = register_device(r, (version)v);
        for (int list = CULV_D3D_DEVICES_ALL; list <= CULV_D3D_DEVICES_NEXT_FRAME; list++)
            for (uint32_t room = 0; room < 2; room++) {
                int32_t ordinals[2] = {-1, -1};
                OK(culv_d3d_get_devices(device, (culv_d3d_device_list)list, room, ordinals,
                                        &count));
                REQUIRE(count == 1 && ordinals[0] == (room > 0 ? 0 : -1) && ordinals[1] == -1);
            }
        if (v != V11) OK(culv_device_open_for_d3d(device, NULL, &other));
        culv_device_close(&other);
    }
    OK(culv_d3d_get_devices((IUnknown *)adapter, CULV_D3D_DEVICES_ALL, 1, found, &count));
    REQUIRE(count == 1 && found[0] == 0);
    count = 77;
    REFUSES(culv_d3d_get_devices((IUnknown *)adapter, (culv_d3d_device_list)4, 0, NULL, &count),
            INVALID, VALUE);
    REFUSES_SO(culv_d3d_get_devices((IUnknown *)r->context, CULV_D3D_DEVICES_ALL, 0, NULL, &count),
               INVALID, VALUE, "IDirect3DDevice9");
    REFUSES(culv_d3d_get_devices(NULL, CULV_D3D_DEVICES_ALL, 0, NULL, &count), INVALID,
            NULL_ARGUMENT);
    REFUSES(culv_d3d_get_devices((IUnknown *)adapter, CULV_D3D_DEVICES_ALL, 1, NULL, &count),
            INVALID, NULL_ARGUMENT);

    /* CUDA has another adapter. */
    OK(culv_device_get_caps(r->culvert, &caps));
    uint8_t wrong[8];
    memcpy(wrong, caps.luid.bytes, sizeof wrong);
    wrong[0] ^= 0x40;
    soft.play_luid(0, wrong, 1);
    for (unsigned v = 0; v < VERSIONS; v++) {
        IUnknown *const device = register_device(r, (version)v);
        REFUSES_SO(culv_d3d_get_devices(device, CULV_D3D_DEVICES_ALL, 0, NULL, &count), NO_DEVICE,
                   DEVICE_UNKNOWN, asked[v]);
        REFUSES(culv_device_open_for_d3d(device, NULL, &other), NO_DEVICE, DEVICE_UNKNOWN);
    }
    REFUSES_SO(culv_d3d_get_devices((IUnknown *)adapter, CULV_D3D_DEVICES_ALL, 2, found, &count),
               NO_DEVICE, DEVICE_UNKNOWN, "cuD3D11GetDevice");
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    culv_registration *made = NULL;
    ID3D11Buffer *buffer = buffer_of(r, D3D11_USAGE_DEFAULT);
    REFUSES_SO(culv_d3d_register(other, (IUnknown *)buffer, NULL, &made), INVALID, DEVICE_MISMATCH,
               "culv_device_open_for_d3d()");
    REQUIRE(raw(r, V11, buffer) == CUDA_ERROR_UNKNOWN);
    culv_device_close(&other);
    soft.play_luid(0, caps.luid.bytes, 1);
    REQUIRE(made == NULL && other == NULL && count == 77);
    ID3D11Buffer_Release(buffer);
    IDXGIAdapter_Release(adapter);
}
