/* SPDX-License-Identifier: MIT */
/* Registered resources: what is refused, by Culvert and by the twin, devices, and each call of the
 * driver failing once. */
#include "scene_register.h"

static culv_result try_it(const scene_register *r, void *resource)
{
    culv_registration *made = NULL;
    culv_result result = culv_d3d_register(r->culvert, (IUnknown *)resource, NULL, &made);
    REQUIRE((made != NULL) == (result == CULV_OK));
    if (made != NULL) OK(culv_registration_destroy(&made));
    return result;
}

/* What the driver itself says, without Culvert's gate. */
static CUresult raw(const scene_register *r, version v, void *resource, unsigned flags)
{
    static const char *const calls[VERSIONS] = {"cuGraphicsD3D11RegisterResource",
                                                "cuGraphicsD3D10RegisterResource",
                                                "cuGraphicsD3D9RegisterResource"};
    void (*found)(void) = culv_device_cuda_proc(r->culvert, calls[v], 3000);
    CUresult(CUDAAPI * call)(CUgraphicsResource *, void *, unsigned) = NULL;
    CUgraphicsResource made = NULL;
    REQUIRE(found != NULL);
    memcpy(&call, &found, sizeof call);
    const CUresult code = call(&made, resource, flags);
    if (code == CUDA_SUCCESS) CU_OK(r->cu->cuGraphicsUnregisterResource(made));
    return code;
}

/* It is refused, and the driver would have said so itself. */
static void refuses(const scene_register *r, version v, void *resource, culv_reason reason,
                    const char *says, CUresult code)
{
    REFUSES_AS(try_it(r, resource), CULV_ERROR_UNSUPPORTED, reason);
    REQUIRE_SAYS(says);
    REQUIRE_EQ(raw(r, v, resource, 0), code);
}

/* Resources ------------------------------------------------------------------------------------ */

static D3D11_TEXTURE2D_DESC plain11(void)
{
    D3D11_TEXTURE2D_DESC d;
    memset(&d, 0, sizeof d);
    d.Width = d.Height = 16;
    d.MipLevels = d.ArraySize = d.SampleDesc.Count = 1;
    d.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    d.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    return d;
}

static void *texture2d(const scene_register *r, version v, const D3D11_TEXTURE2D_DESC *d)
{
    const D3D10_TEXTURE2D_DESC d10 = {
        d->Width,          d->Height,     d->MipLevels,          d->ArraySize,
        d->Format,         d->SampleDesc, (D3D10_USAGE)d->Usage, d->BindFlags,
        d->CPUAccessFlags, d->MiscFlags};
    void *made = NULL;
    const HRESULT hr =
        v == V11 ? ID3D11Device_CreateTexture2D(r->device, d, NULL, (ID3D11Texture2D **)&made)
                 : ID3D10Device_CreateTexture2D(r->d10, &d10, NULL, (ID3D10Texture2D **)&made);
    REQUIRE(v == V11 || SUCCEEDED(hr));
    return made;
}

/* Flags and usages are the same numbers in both. */
static void refused_textures(const scene_register *r, version only)
{
    static const struct {
        version v;
        DXGI_FORMAT format;
        UINT bind, misc, samples;
        D3D11_USAGE usage;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {V11, DXGI_FORMAT_R10G10B10A2_UNORM, 8, 0, 1, 0, CULV_REASON_FORMAT, "DXGI_FORMAT 24"},
        {V11, DXGI_FORMAT_R8G8B8A8_TYPELESS, 8, 0, 1, 0, CULV_REASON_FORMAT, "typed"},
        {V11, DXGI_FORMAT_BC1_UNORM, 8, 0, 1, 0, CULV_REASON_FORMAT, "DXGI_FORMAT 71"},
        {V11, DXGI_FORMAT_B8G8R8A8_UNORM_SRGB, 8, 0, 1, 0, CULV_REASON_FORMAT, "DXGI_FORMAT 91"},
        {V11, DXGI_FORMAT_D32_FLOAT, D3D11_BIND_DEPTH_STENCIL, 0, 1, 0, CULV_REASON_USAGE, "depth"},
        {V11, DXGI_FORMAT_D24_UNORM_S8_UINT, D3D11_BIND_DEPTH_STENCIL, 0, 1, 0, CULV_REASON_USAGE,
         "R32_FLOAT"},
        {V11, DXGI_FORMAT_R8G8B8A8_UNORM, 8, D3D11_RESOURCE_MISC_SHARED, 1, 0, CULV_REASON_USAGE,
         "culv_d3d_memory_import()"},
        {V11, DXGI_FORMAT_R8G8B8A8_UNORM, 8, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, 1, 0,
         CULV_REASON_USAGE, "created as shared"},
        {V11, DXGI_FORMAT_R8G8B8A8_UNORM, 0, 0, 1, D3D11_USAGE_STAGING, CULV_REASON_USAGE,
         "staging"},
        {V11, DXGI_FORMAT_R8G8B8A8_UNORM, D3D11_BIND_RENDER_TARGET, 0, 4, 0, CULV_REASON_USAGE,
         "ResolveSubresource"},
        {V10, DXGI_FORMAT_R10G10B10A2_UNORM, 8, 0, 1, 0, CULV_REASON_FORMAT, ""},
        {V10, DXGI_FORMAT_D32_FLOAT, D3D11_BIND_DEPTH_STENCIL, 0, 1, 0, CULV_REASON_USAGE, ""},
        {V10, DXGI_FORMAT_R8G8B8A8_UNORM, 0, 0, 1, D3D11_USAGE_STAGING, CULV_REASON_USAGE, ""},
        /* Of Direct3D 10 the reference does not forbid it. */
        {V10, DXGI_FORMAT_R8G8B8A8_UNORM, 8, D3D11_RESOURCE_MISC_SHARED, 1, 0, CULV_REASON_NONE,
         NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        D3D11_TEXTURE2D_DESC d = plain11();
        d.Format = rows[i].format;
        d.BindFlags = rows[i].bind;
        d.MiscFlags = rows[i].misc;
        d.SampleDesc.Count = rows[i].samples;
        d.Usage = rows[i].usage;
        if (d.Usage == D3D11_USAGE_STAGING) d.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        void *texture = rows[i].v == only ? texture2d(r, only, &d) : NULL;
        if (texture == NULL) { /* the device may lack such a texture */
            printf("  row %u is left out\n", (unsigned)i);
            continue;
        }
        if (rows[i].says != NULL) {
            refuses(r, only, texture, rows[i].reason, rows[i].says, CUDA_ERROR_UNKNOWN);
        } else {
            OK(try_it(r, texture));
            CU_OK(raw(r, only, texture, 0));
        }
        REQUIRE(IUnknown_Release((IUnknown *)texture) == 0);
    }
}

REGISTER_CASE(refused11)
{
    refused_textures(r, V11);
}

REGISTER_CASE(refused10)
{
    refused_textures(r, V10);
}

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
    DXGI_SWAP_CHAIN_DESC desc;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    IDXGIFactory *factory = NULL;
    IDXGISwapChain *chain = NULL;
    ID3D11Texture2D *buffer = NULL;
    memset(&desc, 0, sizeof desc);
    desc.BufferDesc.Width = desc.BufferDesc.Height = 64;
    desc.BufferDesc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    desc.SampleDesc.Count = desc.BufferCount = 1;
    desc.BufferUsage = DXGI_USAGE_RENDER_TARGET_OUTPUT;
    desc.OutputWindow = r->window;
    desc.Windowed = TRUE;
    HR_OK(ID3D11Device_QueryInterface(r->device, &IID_IDXGIDevice, (void **)&dxgi));
    HR_OK(IDXGIDevice_GetAdapter(dxgi, &adapter));
    HR_OK(IDXGIAdapter_GetParent(adapter, &IID_IDXGIFactory, (void **)&factory));
    HR_OK(IDXGIFactory_CreateSwapChain(factory, (IUnknown *)(void *)r->device, &desc, &chain));
    HR_OK(IDXGISwapChain_GetBuffer(chain, 0, &IID_ID3D11Texture2D, (void **)&buffer));
    show_as_back_buffer(buffer);
    refuses(r, V11, buffer, CULV_REASON_USAGE, "back buffer", CUDA_ERROR_UNKNOWN);
    shown_as_back_buffer = NULL;
    ID3D11Texture2D_Release(buffer);
    IDXGISwapChain_Release(chain);
    IDXGIFactory_Release(factory);
    IDXGIAdapter_Release(adapter);
    IDXGIDevice_Release(dxgi);
}

/* A resource of Direct3D 9 that is refused; takes the reference. */
static void refuses9(const scene_register *r, void *resource, culv_reason reason, const char *says,
                     CUresult code)
{
    refuses(r, V9, resource, reason, says, code);
    IUnknown_Release((IUnknown *)resource);
}

REGISTER_CASE(refused9)
{
    IDirect3DSurface9 *surface = NULL;
    IDirect3DTexture9 *texture = NULL;
    IDirect3DVertexBuffer9 *buffer = NULL;
    IDirect3DVolumeTexture9 *volume = NULL;
    HR_OK(IDirect3DDevice9Ex_GetBackBuffer(r->d9, 0, 0, D3DBACKBUFFER_TYPE_MONO, &surface));
    refuses9(r, surface, CULV_REASON_USAGE, "primary render target", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateDepthStencilSurface(
        r->d9, 16, 16, D3DFMT_D24S8, D3DMULTISAMPLE_NONE, 0, TRUE, &surface, NULL));
    refuses9(r, surface, CULV_REASON_USAGE, "depth", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r->d9, 16, 16, D3DFMT_A8R8G8B8,
                                                         D3DPOOL_SYSTEMMEM, &surface, NULL));
    refuses9(r, surface, CULV_REASON_USAGE, "D3DPOOL_DEFAULT", CUDA_ERROR_UNKNOWN);
    HR_OK(
        IDirect3DDevice9Ex_CreateVertexBuffer(r->d9, 1024, 0, 0, D3DPOOL_SYSTEMMEM, &buffer, NULL));
    refuses9(r, buffer, CULV_REASON_USAGE, "D3DPOOL_DEFAULT", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateTexture(r->d9, 16, 16, 1, 0, D3DFMT_R5G6B5, D3DPOOL_DEFAULT,
                                           &texture, NULL));
    refuses9(r, texture, CULV_REASON_FORMAT, "D3DFORMAT 23", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateTexture(r->d9, 16, 16, 2, 0, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                           &texture, NULL));
    HR_OK(IDirect3DTexture9_GetSurfaceLevel(texture, 1, &surface));
    refuses9(r, surface, CULV_REASON_USAGE, "culv_registration_get_array()",
             CUDA_ERROR_INVALID_HANDLE);
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
    REFUSES(try_it(r, buffer), UNSUPPORTED, USAGE);
    REQUIRE_SAYS("D3DCREATE_HARDWARE_VERTEXPROCESSING");
    IDirect3DVertexBuffer9_Release(buffer);
    REQUIRE(IDirect3DDevice9Ex_Release(software) == 0);
    present.SwapEffect = D3DSWAPEFFECT_DISCARD;
    present.hDeviceWindow = r->window;
    HR_OK(IDirect3D9_CreateDevice(d3d, 0, D3DDEVTYPE_HAL, r->window,
                                  D3DCREATE_HARDWARE_VERTEXPROCESSING, &present, &plain));
    HR_OK(IDirect3DDevice9_CreateVertexBuffer(plain, 1024, 0, 0, D3DPOOL_DEFAULT, &buffer, NULL));
    REFUSES(try_it(r, buffer), UNSUPPORTED, USAGE);
    REQUIRE_SAYS("Direct3DCreate9Ex()");
    REQUIRE(raw(r, V9, buffer, 0) == CUDA_ERROR_UNKNOWN);
    REFUSES(culv_device_open_for_d3d((IUnknown *)plain, NULL, &other), UNSUPPORTED, USAGE);
    REQUIRE(other == NULL);
    IDirect3DVertexBuffer9_Release(buffer);
    REQUIRE(IDirect3DDevice9_Release(plain) == 0);
    IDirect3D9_Release(d3d);
}

/* Arguments ------------------------------------------------------------------------------------ */

static ID3D11Buffer *buffer_of(const scene_register *r, D3D11_USAGE usage)
{
    static const unsigned char zeros[REGISTER_BYTES];
    return register_buffer(r, V11, usage, zeros);
}

/* What the states of a registration refuse is asserted with OpenGL's: library-gl-register.states,
 * .views and .mixed_lists. */
REGISTER_CASE(misuse)
{
    static const struct {
        size_t size;
        int access;
        bool immutable;
        culv_reason reason;
    } rows[] = {{3, CULV_ACCESS_READ_WRITE, false, CULV_REASON_STRUCT_SIZE},
                {sizeof(culv_d3d_register_desc), 3, false, CULV_REASON_VALUE},
                {sizeof(culv_d3d_register_desc), CULV_ACCESS_READ_WRITE, true, CULV_REASON_VALUE}};
    culv_registration *a = NULL, *b = NULL, *list[2];
    CUarray array = NULL;
    IUnknown *first = (IUnknown *)buffer_of(r, D3D11_USAGE_DEFAULT);
    IUnknown *second = (IUnknown *)buffer_of(r, D3D11_USAGE_IMMUTABLE);
    REFUSES(culv_d3d_register(NULL, first, NULL, &a), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d_register(r->culvert, NULL, NULL, &a), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d_register(r->culvert, first, NULL, NULL), INVALID, NULL_ARGUMENT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_d3d_register_desc desc = culv_d3d_register_desc_init();
        desc.struct_size = rows[i].size;
        desc.access = (culv_access)rows[i].access;
        REFUSES_AS(culv_d3d_register(r->culvert, rows[i].immutable ? second : first, &desc, &a),
                   CULV_ERROR_INVALID, rows[i].reason);
        REQUIRE(a == NULL);
    }
    REQUIRE_SAYS("IMMUTABLE");
    list[0] = a = register_as(r, first, CULV_ACCESS_READ_WRITE);
    list[1] = b = register_as(r, second, CULV_ACCESS_READ_ONLY);
    REFUSES(try_it(r, first), DRIVER, DRIVER_REFUSED);
    REQUIRE_SAYS("registered with this CUDA context already");
    /* A list is taken whole, or not at all. */
    OK(culv_registration_map(&a, 1, r->stream));
    REFUSES(culv_registration_map(list, 2, r->stream), INVALID, MAPPED);
    REQUIRE(!culv_registration_is_mapped(b));
    REFUSES(culv_registration_unmap(list, 2, r->stream), INVALID, NOT_MAPPED);
    REQUIRE(culv_registration_is_mapped(a));
    REFUSES(culv_registration_get_array(a, 0, 0, NULL), INVALID, NULL_ARGUMENT);
    REFUSES(culv_registration_get_array(a, 0, 0, &array), INVALID, USAGE);
    OK(culv_registration_destroy(&a));
    OK(culv_registration_destroy(&b));
    REQUIRE(IUnknown_Release(first) == 0 && IUnknown_Release(second) == 0);
}

/* The twin is as strict as the reference; maps are OpenGL's, too: contract.gl.states. */
REGISTER_CASE(strict)
{
    const D3D11_TEXTURE2D_DESC desc = plain11();
    IUnknown *texture = texture2d(r, V11, &desc);
    const struct {
        version v;
        void *resource;
        unsigned flags;
        CUresult code;
    } rows[] = {
        {V11, texture, CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY, CUDA_ERROR_INVALID_VALUE},
        {V11, texture, CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD, CUDA_ERROR_INVALID_VALUE},
        {V11, texture, 64, CUDA_ERROR_INVALID_VALUE},
        {V11, NULL, 0, CUDA_ERROR_INVALID_VALUE},
        {V11, r->device, 0, CUDA_ERROR_INVALID_HANDLE}, /* no resource */
        {V9, texture, 0, CUDA_ERROR_INVALID_HANDLE},
        {V11, texture, CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER, CUDA_SUCCESS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        REQUIRE_EQ(raw(r, rows[i].v, rows[i].resource, rows[i].flags), rows[i].code);
    culv_registration *made = register_as(r, texture, CULV_ACCESS_READ_WRITE);
    REQUIRE(raw(r, V11, texture, 0) == CUDA_ERROR_INVALID_HANDLE); /* registered already */
    OK(culv_registration_destroy(&made));
    REQUIRE(IUnknown_Release(texture) == 0);
}

/* Devices -------------------------------------------------------------------------------------- */

REGISTER_CASE(devices)
{
    culv_device_caps caps = culv_device_caps_init();
    culv_device *other = NULL;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    HR_OK(ID3D11Device_QueryInterface(r->device, &IID_IDXGIDevice, (void **)&dxgi));
    HR_OK(IDXGIDevice_GetAdapter(dxgi, &adapter));
    IDXGIDevice_Release(dxgi);

    IUnknown *const each[] = {register_device(r, V11), register_device(r, V10),
                              register_device(r, V9)};
    for (int list = CULV_D3D_DEVICES_ALL; list <= CULV_D3D_DEVICES_NEXT_FRAME; list++) {
        for (uint32_t room = 0; room < 2; room++) {
            int32_t ordinals[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
            uint32_t counts[3] = {0};
            const culv_d3d_device_list which = (culv_d3d_device_list)list;
            for (int i = 0; i < 3; i++) {
                OK(culv_d3d_get_devices(each[i], which, room, ordinals[i], &counts[i]));
                REQUIRE(counts[i] == 1 && ordinals[i][0] == (room > 0 ? 0 : -1) &&
                        ordinals[i][1] == -1);
            }
        }
    }
    int32_t found[2] = {-1};
    uint32_t count = 77;
    OK(culv_d3d_get_devices((IUnknown *)adapter, CULV_D3D_DEVICES_ALL, 1, found, &count));
    REQUIRE(count == 1 && found[0] == 0);
    count = 77;
    REFUSES(culv_d3d_get_devices(each[0], (culv_d3d_device_list)4, 0, NULL, &count), INVALID,
            VALUE);
    REFUSES(culv_d3d_get_devices((IUnknown *)r->context, CULV_D3D_DEVICES_ALL, 0, NULL, &count),
            INVALID, VALUE);
    REQUIRE_SAYS("IDirect3DDevice9");
    REFUSES(culv_d3d_get_devices(NULL, CULV_D3D_DEVICES_ALL, 0, NULL, &count), INVALID,
            NULL_ARGUMENT);
    REFUSES(culv_d3d_get_devices(each[0], CULV_D3D_DEVICES_ALL, 1, NULL, &count), INVALID,
            NULL_ARGUMENT);

    for (int i = 1; i < 3; i++) {
        OK(culv_device_open_for_d3d(each[i], NULL, &other));
        culv_device_close(&other);
    }

    /* CUDA has another adapter. */
    OK(culv_device_get_caps(r->culvert, &caps));
    uint8_t wrong[8];
    memcpy(wrong, caps.luid.bytes, sizeof wrong);
    wrong[0] ^= 0x40;
    soft.play_luid(0, wrong, 1);
    for (int i = 0; i < 3; i++) {
        static const char *const asked[] = {"cuD3D11GetDevices", "cuD3D10GetDevices",
                                            "cuD3D9GetDevices"};
        REFUSES(culv_d3d_get_devices(each[i], CULV_D3D_DEVICES_ALL, 0, NULL, &count), NO_DEVICE,
                DEVICE_UNKNOWN);
        REQUIRE_SAYS(asked[i]);
        REFUSES(culv_device_open_for_d3d(each[i], NULL, &other), NO_DEVICE, DEVICE_UNKNOWN);
    }
    REFUSES(culv_d3d_get_devices((IUnknown *)adapter, CULV_D3D_DEVICES_ALL, 2, found, &count),
            NO_DEVICE, DEVICE_UNKNOWN);
    REQUIRE_SAYS("cuD3D11GetDevice");
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    culv_registration *made = NULL;
    ID3D11Buffer *buffer = buffer_of(r, D3D11_USAGE_DEFAULT);
    REFUSES(culv_d3d_register(other, (IUnknown *)buffer, NULL, &made), INVALID, DEVICE_MISMATCH);
    REQUIRE_SAYS("culv_device_open_for_d3d()");
    REQUIRE(raw(r, V11, buffer, 0) == CUDA_ERROR_UNKNOWN);
    culv_device_close(&other);
    soft.play_luid(0, caps.luid.bytes, 1);
    REQUIRE(made == NULL && other == NULL && count == 77);
    ID3D11Buffer_Release(buffer);
    IDXGIAdapter_Release(adapter);
}

/* Each call fails once ------------------------------------------------------------------------- */

/* A turn with a buffer and a texture; whatever fails, nothing is left. Views fail with OpenGL's
 * (tests/library/graphics/torture_fallback.c). */
typedef struct tortured {
    const scene_register *r;
    IUnknown *resources[2];
    ULONG references;
} tortured;

static culv_result turn(void *user)
{
    const tortured *t = user;
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *list[2] = {NULL, NULL};
    culv_result result = CULV_OK;
    desc.access = CULV_ACCESS_WRITE_DISCARD;
    for (int i = 0; i < 2 && result == CULV_OK; i++)
        result = culv_d3d_register(t->r->culvert, t->resources[i], &desc, &list[i]);
    if (result == CULV_OK) result = culv_registration_map(list, 2, t->r->stream);
    if (result == CULV_OK) result = culv_registration_unmap(list, 2, t->r->stream);
    if (result == CULV_OK) result = culv_registration_map(list, 1, t->r->stream);
    for (int i = 0; i < 2; i++) {
        culv_result ended = culv_registration_destroy(&list[i]);
        if (result == CULV_OK) result = ended;
        if (ended != CULV_OK) OK(culv_registration_destroy(&list[i]));
    }
    return result;
}

static void require_none(void *user)
{
    const tortured *t = user;
    register_require_none(t->r);
    REQUIRE(scene_references(t->resources[0]) == t->references);
}

REGISTER_CASE(torture)
{
    D3D11_TEXTURE2D_DESC desc = plain11();
    desc.MipLevels = 2;
    tortured both = {
        r, {(IUnknown *)buffer_of(r, D3D11_USAGE_DEFAULT), texture2d(r, V11, &desc)}, 0};
    both.references = scene_references(both.resources[0]);
    const scene_tortured t = {
        .work = turn, .require_none = require_none, .user = &both, .least = 10};
    scene_torture(&t);
    for (int i = 0; i < 2; i++)
        REQUIRE(IUnknown_Release(both.resources[i]) == 0);
}
