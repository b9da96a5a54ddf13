/* SPDX-License-Identifier: MIT */
/* Registered resources: what is refused, by Culvert and by the twin, devices, and each call of the
 * driver failing once. */
#include "scene_register.h"

#include <string.h>

#define INVALID     CULV_ERROR_INVALID
#define UNSUPPORTED CULV_ERROR_UNSUPPORTED

static culv_result try_11(const scene_register *r, void *resource)
{
    culv_registration *made = NULL;
    culv_result result = culv_d3d11_register(r->s.culvert, resource, NULL, &made);
    REQUIRE((made != NULL) == (result == CULV_OK));
    if (made != NULL) OK(culv_registration_destroy(&made));
    return result;
}

static culv_result try_10(const scene_register *r, void *resource)
{
    culv_registration *made = NULL;
    culv_result result = culv_d3d10_register(r->s.culvert, resource, NULL, &made);
    REQUIRE((made != NULL) == (result == CULV_OK));
    if (made != NULL) OK(culv_registration_destroy(&made));
    return result;
}

static culv_result try_9(const scene_register *r, void *resource)
{
    culv_registration *made = NULL;
    culv_result result = culv_d3d9_register(r->s.culvert, resource, NULL, &made);
    REQUIRE((made != NULL) == (result == CULV_OK));
    if (made != NULL) OK(culv_registration_destroy(&made));
    return result;
}

/* What the driver itself says, without Culvert's gate. */
static CUresult raw(const scene_register *r, const char *name, void *resource, unsigned flags)
{
    CUresult(CUDAAPI * make)(CUgraphicsResource *, void *, unsigned) = NULL;
    void (*found)(void) = culv_device_cuda_proc(r->s.culvert, name, 3000);
    CUgraphicsResource made = NULL;
    REQUIRE(found != NULL);
    memcpy(&make, &found, sizeof make);
    const CUresult code = make(&made, resource, flags);
    if (code == CUDA_SUCCESS) CU_OK(r->s.cu->cuGraphicsUnregisterResource(made));
    return code;
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

static void refused11(void)
{
    static const struct {
        DXGI_FORMAT format;
        UINT bind, misc, samples;
        D3D11_USAGE usage;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {DXGI_FORMAT_R10G10B10A2_UNORM, 8, 0, 1, 0, CULV_REASON_FORMAT, "DXGI_FORMAT 24"},
        {DXGI_FORMAT_R8G8B8A8_TYPELESS, 8, 0, 1, 0, CULV_REASON_FORMAT, "typed"},
        {DXGI_FORMAT_BC1_UNORM, 8, 0, 1, 0, CULV_REASON_FORMAT, "DXGI_FORMAT 71"},
        {DXGI_FORMAT_B8G8R8A8_UNORM_SRGB, 8, 0, 1, 0, CULV_REASON_FORMAT, "DXGI_FORMAT 91"},
        {DXGI_FORMAT_D32_FLOAT, D3D11_BIND_DEPTH_STENCIL, 0, 1, 0, CULV_REASON_USAGE, "depth"},
        {DXGI_FORMAT_D24_UNORM_S8_UINT, D3D11_BIND_DEPTH_STENCIL, 0, 1, 0, CULV_REASON_USAGE,
         "R32_FLOAT"},
        {DXGI_FORMAT_R8G8B8A8_UNORM, 8, D3D11_RESOURCE_MISC_SHARED, 1, 0, CULV_REASON_USAGE,
         "culv_d3d11_memory_import()"},
        {DXGI_FORMAT_R8G8B8A8_UNORM, 8, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, 1, 0,
         CULV_REASON_USAGE, "created as shared"},
        {DXGI_FORMAT_R8G8B8A8_UNORM, 0, 0, 1, D3D11_USAGE_STAGING, CULV_REASON_USAGE, "staging"},
        {DXGI_FORMAT_R8G8B8A8_UNORM, D3D11_BIND_RENDER_TARGET, 0, 4, 0, CULV_REASON_USAGE,
         "ResolveSubresource"},
    };
    scene_register r;
    register_open(&r);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        D3D11_TEXTURE2D_DESC d = plain11();
        ID3D11Texture2D *texture = NULL;
        d.Format = rows[i].format;
        d.BindFlags = rows[i].bind;
        d.MiscFlags = rows[i].misc;
        d.SampleDesc.Count = rows[i].samples;
        d.Usage = rows[i].usage;
        if (d.Usage == D3D11_USAGE_STAGING) d.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        if (FAILED(ID3D11Device_CreateTexture2D(r.s.device, &d, NULL, &texture))) {
            printf("  row %u: the device has no such texture\n", (unsigned)i);
            continue;
        }
        REFUSES(try_11(&r, texture), UNSUPPORTED, rows[i].reason);
        REQUIRE_SAYS(rows[i].says);
        REQUIRE(raw(&r, "cuGraphicsD3D11RegisterResource", texture, 0) == CUDA_ERROR_UNKNOWN);
        REQUIRE(ID3D11Texture2D_Release(texture) == 0);
    }
    register_close(&r);
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
    static const GUID iid_resource = {
        0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};
    HRESULT(STDMETHODCALLTYPE * function)(IDXGIResource *, DXGI_USAGE *) = get_usage;
    DWORD protection = 0;
    HR_OK(ID3D11Texture2D_QueryInterface(texture, &iid_resource, (void **)&shown_as_back_buffer));
    void *slot = &shown_as_back_buffer->lpVtbl->GetUsage;
    VirtualProtect(slot, sizeof(void *), PAGE_READWRITE, &protection);
    memcpy(slot, &function, sizeof(void *));
    VirtualProtect(slot, sizeof(void *), protection, &protection);
    IDXGIResource_Release(shown_as_back_buffer);
}

/* The primary render target. */
static void back_buffer(void)
{
    static const GUID iid_device = {
        0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
    static const GUID iid_factory = {
        0x7b7166ec, 0x21c7, 0x44ae, {0xb2, 0x1a, 0xc9, 0xae, 0x32, 0x1a, 0xe3, 0x69}};
    static const GUID iid_texture = {
        0x6f15aaf2, 0xd208, 0x4e89, {0x9a, 0xb4, 0x48, 0x95, 0x35, 0xd3, 0x4f, 0x9c}};
    DXGI_SWAP_CHAIN_DESC desc;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    IDXGIFactory *factory = NULL;
    IDXGISwapChain *chain = NULL;
    ID3D11Texture2D *buffer = NULL;
    scene_register r;
    register_open(&r);
    memset(&desc, 0, sizeof desc);
    desc.BufferDesc.Width = desc.BufferDesc.Height = 64;
    desc.BufferDesc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    desc.SampleDesc.Count = desc.BufferCount = 1;
    desc.BufferUsage = DXGI_USAGE_RENDER_TARGET_OUTPUT;
    desc.OutputWindow = r.window;
    desc.Windowed = TRUE;
    HR_OK(ID3D11Device_QueryInterface(r.s.device, &iid_device, (void **)&dxgi));
    HR_OK(IDXGIDevice_GetAdapter(dxgi, &adapter));
    HR_OK(IDXGIAdapter_GetParent(adapter, &iid_factory, (void **)&factory));
    HR_OK(IDXGIFactory_CreateSwapChain(factory, (IUnknown *)(void *)r.s.device, &desc, &chain));
    HR_OK(IDXGISwapChain_GetBuffer(chain, 0, &iid_texture, (void **)&buffer));
    show_as_back_buffer(buffer);
    REFUSES(try_11(&r, buffer), UNSUPPORTED, CULV_REASON_USAGE);
    REQUIRE_SAYS("back buffer");
    REQUIRE(raw(&r, "cuGraphicsD3D11RegisterResource", buffer, 0) == CUDA_ERROR_UNKNOWN);
    shown_as_back_buffer = NULL;
    ID3D11Texture2D_Release(buffer);
    IDXGISwapChain_Release(chain);
    IDXGIFactory_Release(factory);
    IDXGIAdapter_Release(adapter);
    IDXGIDevice_Release(dxgi);
    register_close(&r);
}

static void refused10(void)
{
    static const struct {
        DXGI_FORMAT format;
        UINT bind, misc;
        D3D10_USAGE usage;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {DXGI_FORMAT_R10G10B10A2_UNORM, 8, 0, 0, UNSUPPORTED, CULV_REASON_FORMAT},
        {DXGI_FORMAT_D32_FLOAT, D3D10_BIND_DEPTH_STENCIL, 0, 0, UNSUPPORTED, CULV_REASON_USAGE},
        {DXGI_FORMAT_R8G8B8A8_UNORM, 0, 0, D3D10_USAGE_STAGING, UNSUPPORTED, CULV_REASON_USAGE},
        /* Of Direct3D 10 the reference does not forbid it. */
        {DXGI_FORMAT_R8G8B8A8_UNORM, 8, D3D10_RESOURCE_MISC_SHARED, 0, CULV_OK, CULV_REASON_NONE},
    };
    scene_register r;
    register_open(&r);
    register_open10(&r);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        D3D10_TEXTURE2D_DESC d = {
            16, 16, 1, 1, rows[i].format, {1, 0}, rows[i].usage, rows[i].bind, 0, rows[i].misc};
        ID3D10Texture2D *texture = NULL;
        if (d.Usage == D3D10_USAGE_STAGING) d.CPUAccessFlags = D3D10_CPU_ACCESS_READ;
        HR_OK(ID3D10Device_CreateTexture2D(r.d10, &d, NULL, &texture));
        if (rows[i].result == CULV_OK)
            OK(try_10(&r, texture));
        else
            REFUSES(try_10(&r, texture), rows[i].result, rows[i].reason);
        REQUIRE(raw(&r, "cuGraphicsD3D10RegisterResource", texture, 0) ==
                (rows[i].result == CULV_OK ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN));
        REQUIRE(ID3D10Texture2D_Release(texture) == 0);
    }
    register_close(&r);
}

/* A resource of Direct3D 9 that is refused; takes the reference. */
static void refuses9(const scene_register *r, void *resource, culv_reason reason, const char *says,
                     CUresult code)
{
    REFUSES(try_9(r, resource), UNSUPPORTED, reason);
    REQUIRE_SAYS(says);
    REQUIRE(raw(r, "cuGraphicsD3D9RegisterResource", resource, 0) == code);
    IUnknown_Release((IUnknown *)resource);
}

static void refused9(void)
{
    IDirect3DSurface9 *surface = NULL;
    IDirect3DTexture9 *texture = NULL;
    IDirect3DVertexBuffer9 *buffer = NULL;
    IDirect3DVolumeTexture9 *volume = NULL;
    scene_register r;
    register_open(&r);
    register_open9(&r);
    HR_OK(IDirect3DDevice9Ex_GetBackBuffer(r.d9, 0, 0, D3DBACKBUFFER_TYPE_MONO, &surface));
    refuses9(&r, surface, CULV_REASON_USAGE, "primary render target", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateDepthStencilSurface(
        r.d9, 16, 16, D3DFMT_D24S8, D3DMULTISAMPLE_NONE, 0, TRUE, &surface, NULL));
    refuses9(&r, surface, CULV_REASON_USAGE, "depth", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(r.d9, 16, 16, D3DFMT_A8R8G8B8,
                                                         D3DPOOL_SYSTEMMEM, &surface, NULL));
    refuses9(&r, surface, CULV_REASON_USAGE, "D3DPOOL_DEFAULT", CUDA_ERROR_UNKNOWN);
    HR_OK(
        IDirect3DDevice9Ex_CreateVertexBuffer(r.d9, 1024, 0, 0, D3DPOOL_SYSTEMMEM, &buffer, NULL));
    refuses9(&r, buffer, CULV_REASON_USAGE, "D3DPOOL_DEFAULT", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateTexture(r.d9, 16, 16, 1, 0, D3DFMT_R5G6B5, D3DPOOL_DEFAULT,
                                           &texture, NULL));
    refuses9(&r, texture, CULV_REASON_FORMAT, "D3DFORMAT 23", CUDA_ERROR_UNKNOWN);
    HR_OK(IDirect3DDevice9Ex_CreateTexture(r.d9, 16, 16, 2, 0, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                           &texture, NULL));
    HR_OK(IDirect3DTexture9_GetSurfaceLevel(texture, 1, &surface));
    refuses9(&r, surface, CULV_REASON_USAGE, "culv_registration_get_array()",
             CUDA_ERROR_INVALID_HANDLE);
    IDirect3DTexture9_Release(texture);
    /* The twin has no volume textures; Culvert lets them pass. */
    HR_OK(IDirect3DDevice9Ex_CreateVolumeTexture(r.d9, 16, 8, 4, 1, 0, D3DFMT_A8R8G8B8,
                                                 D3DPOOL_DEFAULT, &volume, NULL));
    REFUSES(try_9(&r, volume), CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED);
    IDirect3DVolumeTexture9_Release(volume);
    register_close(&r);
}

/* A device that CUDA does not work with. */
static void refused_devices9(void)
{
    IDirect3D9 *d3d = Direct3DCreate9(D3D_SDK_VERSION);
    IDirect3DDevice9 *plain = NULL;
    IDirect3DDevice9Ex *software = NULL;
    IDirect3DVertexBuffer9 *buffer = NULL;
    culv_device *other = NULL;
    D3DPRESENT_PARAMETERS present;
    scene_register r;
    register_open(&r);
    software = register_device9(&r, D3DCREATE_SOFTWARE_VERTEXPROCESSING);
    HR_OK(IDirect3DDevice9Ex_CreateVertexBuffer(software, 1024, 0, 0, D3DPOOL_DEFAULT, &buffer,
                                                NULL));
    REFUSES(try_9(&r, buffer), UNSUPPORTED, CULV_REASON_USAGE);
    REQUIRE_SAYS("D3DCREATE_HARDWARE_VERTEXPROCESSING");
    IDirect3DVertexBuffer9_Release(buffer);
    REQUIRE(IDirect3DDevice9Ex_Release(software) == 0);
    memset(&present, 0, sizeof present);
    present.Windowed = TRUE;
    present.SwapEffect = D3DSWAPEFFECT_DISCARD;
    present.hDeviceWindow = r.window;
    HR_OK(IDirect3D9_CreateDevice(d3d, 0, D3DDEVTYPE_HAL, r.window,
                                  D3DCREATE_HARDWARE_VERTEXPROCESSING, &present, &plain));
    HR_OK(IDirect3DDevice9_CreateVertexBuffer(plain, 1024, 0, 0, D3DPOOL_DEFAULT, &buffer, NULL));
    REFUSES(try_9(&r, buffer), UNSUPPORTED, CULV_REASON_USAGE);
    REQUIRE_SAYS("Direct3DCreate9Ex()");
    REQUIRE(raw(&r, "cuGraphicsD3D9RegisterResource", buffer, 0) == CUDA_ERROR_UNKNOWN);
    REFUSES(culv_device_open_for_d3d9(plain, NULL, &other), UNSUPPORTED, CULV_REASON_USAGE);
    REQUIRE(other == NULL);
    IDirect3DVertexBuffer9_Release(buffer);
    REQUIRE(IDirect3DDevice9_Release(plain) == 0);
    IDirect3D9_Release(d3d);
    register_close(&r);
}

/* Arguments and turns -------------------------------------------------------------------------- */

static ID3D11Buffer *buffer_of(const scene_register *r, D3D11_USAGE usage)
{
    static const unsigned char zeros[4096];
    D3D11_BUFFER_DESC desc = {4096, usage, D3D11_BIND_VERTEX_BUFFER, 0, 0, 0};
    D3D11_SUBRESOURCE_DATA first = {zeros, 0, 0};
    ID3D11Buffer *made = NULL;
    HR_OK(ID3D11Device_CreateBuffer(r->s.device, &desc, &first, &made));
    return made;
}

static void misuse(void)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *a = NULL, *b = NULL, *list[3];
    CUarray array = NULL;
    CUgraph graph = NULL;
    scene_register r;
    register_open(&r);
    ID3D11Buffer *first = buffer_of(&r, D3D11_USAGE_DEFAULT);
    ID3D11Buffer *second = buffer_of(&r, D3D11_USAGE_IMMUTABLE);
    ID3D11Resource *resource = scene11_of_buffer(first);
    REFUSES(culv_d3d11_register(NULL, resource, NULL, &a), INVALID, CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d11_register(r.s.culvert, NULL, NULL, &a), INVALID, CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d11_register(r.s.culvert, resource, NULL, NULL), INVALID,
            CULV_REASON_NULL_ARGUMENT);
    desc.struct_size = 3;
    REFUSES(culv_d3d11_register(r.s.culvert, resource, &desc, &a), INVALID,
            CULV_REASON_STRUCT_SIZE);
    desc = culv_d3d_register_desc_init();
    desc.access = (culv_access)3;
    REFUSES(culv_d3d11_register(r.s.culvert, resource, &desc, &a), INVALID, CULV_REASON_VALUE);
    desc.access = CULV_ACCESS_READ_WRITE;
    REFUSES(culv_d3d11_register(r.s.culvert, scene11_of_buffer(second), &desc, &a), INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("IMMUTABLE");
    REQUIRE(a == NULL);

    a = register_11(&r, first, CULV_ACCESS_READ_WRITE);
    b = register_11(&r, second, CULV_ACCESS_READ_ONLY);
    REFUSES(try_11(&r, first), CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED);
    REQUIRE_SAYS("registered with this CUDA context already");
    REFUSES(culv_registration_unmap(&a, 1, r.s.stream), INVALID, CULV_REASON_NOT_MAPPED);
    REFUSES(culv_registration_map(NULL, 1, r.s.stream), INVALID, CULV_REASON_NULL_ARGUMENT);
    list[0] = a;
    list[1] = NULL;
    list[2] = a;
    REFUSES(culv_registration_map(list, 2, r.s.stream), INVALID, CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_registration_map(&list[1], 1, r.s.stream), INVALID, CULV_REASON_NULL_ARGUMENT);
    list[1] = b;
    REFUSES(culv_registration_map(list, 3, r.s.stream), INVALID, CULV_REASON_VALUE);
    REQUIRE(!culv_registration_is_mapped(a) && !culv_registration_is_mapped(b));
    REFUSES(culv_registration_set_access(a, (culv_access)-1), INVALID, CULV_REASON_VALUE);
    CU_OK(r.s.cu->cuStreamBeginCapture(r.s.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REFUSES(culv_registration_map(list, 2, r.s.stream), INVALID, CULV_REASON_CAPTURE);
    CU_OK(r.s.cu->cuStreamEndCapture(r.s.stream, &graph));
    CU_OK(r.s.cu->cuGraphDestroy(graph));

    OK(culv_registration_map(&a, 1, r.s.stream));
    REFUSES(culv_registration_map(list, 2, r.s.stream), INVALID, CULV_REASON_MAPPED);
    REQUIRE(!culv_registration_is_mapped(b));
    REFUSES(culv_registration_unmap(list, 2, r.s.stream), INVALID, CULV_REASON_NOT_MAPPED);
    REQUIRE(culv_registration_is_mapped(a));
    REFUSES(culv_registration_set_access(a, CULV_ACCESS_READ_ONLY), INVALID, CULV_REASON_MAPPED);
    REFUSES(culv_registration_get_array(a, 0, 0, &array), INVALID, CULV_REASON_USAGE);
    REFUSES(culv_registration_get_array(a, 0, 0, NULL), INVALID, CULV_REASON_NULL_ARGUMENT);
    culv_buffer *buffer = culv_registration_buffer(a);
    culv_buffer_unmap(&buffer);
    REQUIRE(buffer != NULL && check_reason(CULV_REASON_OWNED));
    REQUIRE_SAYS("culv_registration_destroy()");
    OK(culv_registration_unmap(&a, 1, r.s.stream));
    OK(culv_registration_set_access(a, CULV_ACCESS_WRITE_DISCARD));
    REQUIRE(culv_registration_pointer(NULL) == 0 && !culv_registration_is_mapped(NULL));
    REQUIRE(culv_registration_buffer(NULL) == NULL);
    REQUIRE(culv_registration_image(NULL) == NULL);
    OK(culv_registration_destroy(&a));
    OK(culv_registration_destroy(&b));
    REQUIRE(ID3D11Buffer_Release(first) == 0 && ID3D11Buffer_Release(second) == 0);
    register_close(&r);
}

/* The twin is as strict as the reference. */
static void strict(void)
{
    static const char *const call = "cuGraphicsD3D11RegisterResource";
    const D3D11_TEXTURE2D_DESC desc = plain11();
    CUgraphicsResource handle = NULL;
    CUdeviceptr pointer = 0;
    CUarray array = NULL;
    CUmipmappedArray arrays = NULL;
    CUresult(CUDAAPI * make)(CUgraphicsResource *, void *, unsigned) = NULL;
    ID3D11Texture2D *texture = NULL;
    scene_register r;
    register_open(&r);
    const culv_cuda_api *cu = r.s.cu;
    HR_OK(ID3D11Device_CreateTexture2D(r.s.device, &desc, NULL, &texture));
    REQUIRE(raw(&r, call, texture, CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(raw(&r, call, texture, CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(raw(&r, call, texture, 64) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(raw(&r, call, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(raw(&r, call, r.s.device, 0) == CUDA_ERROR_INVALID_HANDLE); /* no resource */
    REQUIRE(raw(&r, "cuGraphicsD3D9RegisterResource", texture, 0) == CUDA_ERROR_INVALID_HANDLE);
    void (*found)(void) = culv_device_cuda_proc(r.s.culvert, call, 3000);
    memcpy(&make, &found, sizeof make);
    CU_OK(make(&handle, texture, CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER));
    REQUIRE(raw(&r, call, texture, 0) == CUDA_ERROR_INVALID_HANDLE); /* registered already */
    REQUIRE(cu->cuGraphicsSubResourceGetMappedArray(&array, handle, 0, 0) == CUDA_ERROR_NOT_MAPPED);
    CU_OK(cu->cuGraphicsMapResources(1, &handle, r.s.stream));
    REQUIRE(cu->cuGraphicsMapResources(1, &handle, r.s.stream) == CUDA_ERROR_ALREADY_MAPPED);
    REQUIRE(cu->cuGraphicsResourceGetMappedPointer(&pointer, NULL, handle) ==
            CUDA_ERROR_NOT_MAPPED_AS_POINTER);
    CU_OK(cu->cuGraphicsResourceGetMappedMipmappedArray(&arrays, handle));
    REQUIRE(cu->cuGraphicsSubResourceGetMappedArray(&array, handle, 1, 0) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu->cuGraphicsUnregisterResource(handle) == CUDA_ERROR_ALREADY_MAPPED);
    CU_OK(cu->cuGraphicsUnmapResources(1, &handle, r.s.stream));
    REQUIRE(cu->cuGraphicsUnmapResources(1, &handle, r.s.stream) == CUDA_ERROR_NOT_MAPPED);
    CU_OK(cu->cuGraphicsUnregisterResource(handle));
    REQUIRE(ID3D11Texture2D_Release(texture) == 0);
    register_close(&r);
}

/* Devices -------------------------------------------------------------------------------------- */

static void devices(void)
{
    static const GUID iid_device = {
        0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
    culv_device_caps caps = culv_device_caps_init();
    culv_device *other = NULL;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    D3DADAPTER_IDENTIFIER9 id;
    IDirect3D9 *d3d = NULL;
    scene_register r;
    register_open(&r);
    register_open10(&r);
    register_open9(&r);
    IDirect3DDevice9 *d9 = (IDirect3DDevice9 *)(void *)r.d9;
    HR_OK(ID3D11Device_QueryInterface(r.s.device, &iid_device, (void **)&dxgi));
    HR_OK(IDXGIDevice_GetAdapter(dxgi, &adapter));
    IDXGIDevice_Release(dxgi);
    HR_OK(IDirect3DDevice9Ex_GetDirect3D(r.d9, &d3d));
    HR_OK(IDirect3D9_GetAdapterIdentifier(d3d, 0, 0, &id));
    IDirect3D9_Release(d3d);

    IUnknown *const each[3] = {(IUnknown *)r.s.device, (IUnknown *)r.d10, (IUnknown *)d9};
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
    int32_t found[2] = {-1, -1};
    uint32_t count = 77;
    OK(culv_d3d_get_device(adapter, &found[0]));
    OK(culv_d3d9_get_device(id.DeviceName, &found[1]));
    REQUIRE(found[0] == 0 && found[1] == 0);
    REFUSES(culv_d3d9_get_device("\\\\.\\DISPLAY99", &found[1]), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    REFUSES(culv_d3d9_get_device(NULL, &found[1]), INVALID, CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d_get_device(adapter, NULL), INVALID, CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d_get_devices(each[0], (culv_d3d_device_list)4, 0, NULL, &count), INVALID,
            CULV_REASON_VALUE);
    REFUSES(culv_d3d_get_devices((IUnknown *)adapter, CULV_D3D_DEVICES_ALL, 0, NULL, &count),
            INVALID, CULV_REASON_VALUE);
    REQUIRE_SAYS("IDirect3DDevice9");
    REFUSES(culv_d3d_get_devices(NULL, CULV_D3D_DEVICES_ALL, 0, NULL, &count), INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d_get_devices(each[0], CULV_D3D_DEVICES_ALL, 1, NULL, &count), INVALID,
            CULV_REASON_NULL_ARGUMENT);

    OK(culv_device_open_for_d3d10(r.d10, NULL, &other));
    culv_device_close(&other);
    OK(culv_device_open_for_d3d9(d9, NULL, &other));
    culv_device_close(&other);

    /* CUDA has another adapter. */
    OK(culv_device_get_caps(r.s.culvert, &caps));
    uint8_t wrong[8];
    memcpy(wrong, caps.luid.bytes, sizeof wrong);
    wrong[0] ^= 0x40;
    soft11.play_luid(0, wrong, 1);
    for (int i = 0; i < 3; i++) {
        static const char *const asked[] = {"cuD3D11GetDevices", "cuD3D10GetDevices",
                                            "cuD3D9GetDevices"};
        REFUSES(culv_d3d_get_devices(each[i], CULV_D3D_DEVICES_ALL, 0, NULL, &count),
                CULV_ERROR_NO_DEVICE, CULV_REASON_DEVICE_UNKNOWN);
        REQUIRE_SAYS(asked[i]);
    }
    REFUSES(culv_d3d_get_device(adapter, &found[0]), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    REFUSES(culv_d3d9_get_device(id.DeviceName, &found[0]), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    REFUSES(culv_device_open_for_d3d10(r.d10, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    REFUSES(culv_device_open_for_d3d9(d9, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    culv_registration *made = NULL;
    ID3D11Buffer *buffer = buffer_of(&r, D3D11_USAGE_DEFAULT);
    REFUSES(culv_d3d11_register(other, scene11_of_buffer(buffer), NULL, &made), INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    REQUIRE_SAYS("culv_device_open_for_d3d11()");
    REQUIRE(raw(&r, "cuGraphicsD3D11RegisterResource", buffer, 0) == CUDA_ERROR_UNKNOWN);
    culv_device_close(&other);
    soft11.play_luid(0, caps.luid.bytes, 1);
    REQUIRE(made == NULL && other == NULL && count == 77);
    ID3D11Buffer_Release(buffer);
    IDXGIAdapter_Release(adapter);
    register_close(&r);
}

/* Each call fails once ------------------------------------------------------------------------- */

/* A turn with a buffer and a texture; whatever fails, nothing is left. */
static culv_result turn(const scene_register *r, ID3D11Resource *buffer, ID3D11Resource *texture)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *list[2] = {NULL, NULL};
    CUsurfObject surface = 0;
    CUarray array = NULL;
    desc.access = CULV_ACCESS_WRITE_DISCARD;
    culv_result result = culv_d3d11_register(r->s.culvert, buffer, &desc, &list[0]);
    if (result == CULV_OK) result = culv_d3d11_register(r->s.culvert, texture, &desc, &list[1]);
    if (result == CULV_OK) result = culv_registration_set_access(list[0], CULV_ACCESS_READ_WRITE);
    if (result == CULV_OK) result = culv_registration_map(list, 2, r->s.stream);
    if (result == CULV_OK) result = culv_registration_get_array(list[1], 0, 1, &array);
    if (result == CULV_OK)
        result = culv_image_get_surface(culv_registration_image(list[1]), 0, &surface);
    if (result == CULV_OK) result = culv_registration_unmap(list, 2, r->s.stream);
    if (result == CULV_OK) result = culv_registration_map(list, 1, r->s.stream);
    for (int i = 0; i < 2; i++) {
        culv_result ended = culv_registration_destroy(&list[i]);
        if (result == CULV_OK) result = ended;
        if (ended != CULV_OK) OK(culv_registration_destroy(&list[i]));
    }
    return result;
}

static void torture(void)
{
    D3D11_TEXTURE2D_DESC desc = plain11();
    ID3D11Texture2D *texture = NULL;
    unsigned failed = 0, n = 1;
    scene_register r;
    register_open(&r);
    desc.MipLevels = 2;
    ID3D11Buffer *buffer = buffer_of(&r, D3D11_USAGE_DEFAULT);
    HR_OK(ID3D11Device_CreateTexture2D(r.s.device, &desc, NULL, &texture));
    const ULONG references = register_references(buffer);
    OK(turn(&r, scene11_of_buffer(buffer), scene11_of_texture(texture)));
    for (;; n++) {
        culv_soft_counts a = {.struct_size = sizeof a}, b = a;
        culv_device_counts left = culv_device_counts_init();
        soft11.counts(&a);
        soft11.fail_at(n, CUDA_ERROR_OUT_OF_MEMORY);
        culv_result result = turn(&r, scene11_of_buffer(buffer), scene11_of_texture(texture));
        soft11.counts(&b);
        soft11.fail_at(0, 0);
        OK(culv_device_get_counts(r.s.culvert, &left));
        REQUIRE(left.registrations == 0 && register_driver_resources() == 0);
        REQUIRE(scene11_driver_objects() == 0);
        REQUIRE(register_references(buffer) == references);
        failed += result != CULV_OK;
        if (result == CULV_OK && b.calls - a.calls < n) break;
    }
    printf("  %u driver calls, %u of them failed the work\n", n - 1, failed);
    REQUIRE(failed >= 10);
    REQUIRE(ID3D11Buffer_Release(buffer) == 0 && ID3D11Texture2D_Release(texture) == 0);
    register_close(&r);
}

const case_register cases_register_errors[] = {
    {"refused11", refused11},
    {"back_buffer", back_buffer},
    {"refused10", refused10},
    {"refused9", refused9},
    {"refused_devices9", refused_devices9},
    {"misuse", misuse},
    {"strict", strict},
    {"devices", devices},
    {"torture", torture},
    {NULL, NULL},
};
