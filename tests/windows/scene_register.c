/* SPDX-License-Identifier: MIT */
/* Devices of Direct3D 11, 10 and 9, and the twin's CUDA. */
#include "scene_register.h"

static scene_register kept;

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

IUnknown *register_device(const scene_register *r, version v)
{
    void *const devices[VERSIONS] = {r->device, r->d10, r->d9};
    return devices[v];
}

void register_open(scene_register *r)
{
    if (kept.device == NULL) open_kept();
    *r = kept;
    for (unsigned v = 0; v < VERSIONS; v++)
        r->references[v] = scene_references(register_device(r, v));
}

IDirect3DDevice9Ex *register_device9(const scene_register *r, DWORD behavior)
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

uint64_t register_driver_resources(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    soft.counts(&c);
    return c.graphics_resources;
}

void register_require_none(const scene_register *r)
{
    culv_device_counts left = culv_device_counts_init();
    OK(culv_device_get_counts(r->culvert, &left));
    REQUIRE(left.registrations == 0 && left.deferred == 0);
    REQUIRE(register_driver_resources() == 0 && scene_driver_objects() == 0);
}

void register_close(const scene_register *r)
{
    register_require_none(r);
    for (unsigned v = 0; v < VERSIONS; v++)
        REQUIRE_EQ(scene_references(register_device(r, v)), r->references[v]);
}

culv_registration *register_as(const scene_register *r, void *resource, culv_access access)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *made = NULL;
    desc.access = access;
    desc.label = "mine";
    OK(culv_d3d_register(r->culvert, (IUnknown *)resource, &desc, &made));
    return made;
}

void *register_buffer(const scene_register *r, version v, UINT usage, const void *data)
{
    const D3D11_SUBRESOURCE_DATA first = {data, 0, 0};
    const D3D10_SUBRESOURCE_DATA first10 = {data, 0, 0};
    D3D11_BUFFER_DESC desc = {
        REGISTER_BYTES, (D3D11_USAGE)usage, D3D11_BIND_VERTEX_BUFFER, 0, 0, 0};
    const D3D10_BUFFER_DESC desc10 = {REGISTER_BYTES, (D3D10_USAGE)usage, D3D10_BIND_VERTEX_BUFFER,
                                      0, 0};
    void *made = NULL;
    if (usage == D3D11_USAGE_DYNAMIC) desc.CPUAccessFlags = D3D11_CPU_ACCESS_WRITE;
    if (v == V11)
        HR_OK(ID3D11Device_CreateBuffer(r->device, &desc, &first, (ID3D11Buffer **)&made));
    else if (v == V10)
        HR_OK(ID3D10Device_CreateBuffer(r->d10, &desc10, &first10, (ID3D10Buffer **)&made));
    else if (usage == 0)
        HR_OK(IDirect3DDevice9Ex_CreateVertexBuffer(r->d9, REGISTER_BYTES, 0, 0, D3DPOOL_DEFAULT,
                                                    (IDirect3DVertexBuffer9 **)&made, NULL));
    else
        HR_OK(IDirect3DDevice9Ex_CreateIndexBuffer(r->d9, REGISTER_BYTES, 0, D3DFMT_INDEX32,
                                                   D3DPOOL_DEFAULT, (IDirect3DIndexBuffer9 **)&made,
                                                   NULL));
    return made;
}
