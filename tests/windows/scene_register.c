/* SPDX-License-Identifier: MIT */
/* Devices of Direct3D 11, 10 and 9, and the twin's CUDA. */
#include "scene_register.h"

#include <string.h>

/* Devices take long to open, so the cases share them. */
static scene_register kept;

static void open_kept(void)
{
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    scene11 *s = &kept.s;
    scene11_find_controls();
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                            &s->device, NULL, &s->context));
    OK(culv_device_open_for_d3d11(s->device, NULL, &s->culvert));
    s->cu = CULV_CUDA(s->culvert);
    CU_OK(s->cu->cuCtxSetCurrent(culv_device_context(s->culvert)));
    CU_OK(s->cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    kept.window = CreateWindowA("static", "culvert", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, NULL, NULL,
                                NULL, NULL);
}

void register_open(scene_register *r)
{
    if (kept.s.device == NULL) open_kept();
    *r = (scene_register){.s = kept.s, .window = kept.window};
    r->references[0] = register_references(r->s.device);
}

void register_open10(scene_register *r)
{
    if (kept.d10 == NULL)
        HR_OK(D3D10CreateDevice(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_SDK_VERSION,
                                &kept.d10));
    r->d10 = kept.d10;
    r->references[1] = register_references(r->d10);
}

IDirect3DDevice9Ex *register_device9(const scene_register *r, DWORD behavior)
{
    IDirect3D9Ex *d3d = NULL;
    IDirect3DDevice9Ex *device = NULL;
    D3DPRESENT_PARAMETERS present;
    memset(&present, 0, sizeof present);
    present.Windowed = TRUE;
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

void register_open9(scene_register *r)
{
    if (kept.d9 == NULL) kept.d9 = register_device9(r, D3DCREATE_HARDWARE_VERTEXPROCESSING);
    r->d9 = kept.d9;
    r->references[2] = register_references(r->d9);
}

uint64_t register_driver_resources(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    soft11.counts(&c);
    return c.graphics_resources;
}

void register_close(const scene_register *r)
{
    culv_device_counts left = culv_device_counts_init();
    OK(culv_device_get_counts(r->s.culvert, &left));
    REQUIRE(left.registrations == 0 && left.deferred == 0);
    REQUIRE(register_driver_resources() == 0 && scene11_driver_objects() == 0);
    REQUIRE(register_references(r->s.device) == r->references[0]);
    if (r->d10 != NULL) REQUIRE(register_references(r->d10) == r->references[1]);
    if (r->d9 != NULL) REQUIRE(register_references(r->d9) == r->references[2]);
}

void register_end(void)
{
    if (kept.s.device == NULL) return;
    CU_OK(kept.s.cu->cuStreamDestroy(kept.s.stream));
    culv_device_close(&kept.s.culvert);
    ID3D11DeviceContext_Release(kept.s.context);
    REQUIRE(ID3D11Device_Release(kept.s.device) == 0);
    if (kept.d10 != NULL) REQUIRE(ID3D10Device_Release(kept.d10) == 0);
    if (kept.d9 != NULL) REQUIRE(IDirect3DDevice9Ex_Release(kept.d9) == 0);
}

ULONG register_references(void *object)
{
    IUnknown_AddRef((IUnknown *)object);
    return IUnknown_Release((IUnknown *)object);
}

culv_registration *register_11(const scene_register *r, void *resource, culv_access access)
{
    culv_d3d_register_desc desc = culv_d3d_register_desc_init();
    culv_registration *made = NULL;
    desc.access = access;
    desc.label = "mine";
    OK(culv_d3d11_register(r->s.culvert, resource, &desc, &made));
    return made;
}

/* Direct3D's work ------------------------------------------------------------------------------ */

size_t register_part_size(const register_part *part)
{
    return part->row * part->rows * part->slices;
}

void register_write(const scene_register *r, ID3D11Resource *resource, UINT index,
                    const register_part *part, const void *data)
{
    ID3D11DeviceContext_UpdateSubresource(r->s.context, resource, index, NULL, data,
                                          (UINT)part->row, (UINT)(part->row * part->rows));
}

static ID3D11Resource *staging_of(const scene_register *r, ID3D11Resource *resource)
{
    D3D11_RESOURCE_DIMENSION dimension;
    void *object = resource, *made = NULL;
    ID3D11Resource_GetType(resource, &dimension);
#define MAKE(kind, desc_type)                                                                      \
    do {                                                                                           \
        desc_type desc;                                                                            \
        ID3D11##kind##_GetDesc((ID3D11##kind *)object, &desc);                                     \
        desc.Usage = D3D11_USAGE_STAGING;                                                          \
        desc.BindFlags = desc.MiscFlags = 0;                                                       \
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;                                               \
        HR_OK(ID3D11Device_Create##kind(r->s.device, &desc, NULL, (ID3D11##kind **)&made));        \
    } while (0)
    if (dimension == D3D11_RESOURCE_DIMENSION_BUFFER)
        MAKE(Buffer, D3D11_BUFFER_DESC);
    else if (dimension == D3D11_RESOURCE_DIMENSION_TEXTURE1D)
        MAKE(Texture1D, D3D11_TEXTURE1D_DESC);
    else if (dimension == D3D11_RESOURCE_DIMENSION_TEXTURE2D)
        MAKE(Texture2D, D3D11_TEXTURE2D_DESC);
    else
        MAKE(Texture3D, D3D11_TEXTURE3D_DESC);
#undef MAKE
    return made;
}

void register_read(const scene_register *r, ID3D11Resource *resource, UINT index,
                   const register_part *part, void *data)
{
    ID3D11Resource *stage = staging_of(r, resource);
    D3D11_MAPPED_SUBRESOURCE map;
    ID3D11DeviceContext_CopyResource(r->s.context, stage, resource);
    HR_OK(ID3D11DeviceContext_Map(r->s.context, stage, index, D3D11_MAP_READ, 0, &map));
    for (size_t z = 0; z < part->slices; z++)
        for (size_t y = 0; y < part->rows; y++)
            memcpy((char *)data + (z * part->rows + y) * part->row,
                   (const char *)map.pData + z * map.DepthPitch + y * map.RowPitch, part->row);
    ID3D11DeviceContext_Unmap(r->s.context, stage, index);
    ID3D11Resource_Release(stage);
}

/* CUDA's work ---------------------------------------------------------------------------------- */

void register_cuda(const scene_register *r, const culv_registration *registration, uint32_t layer,
                   uint32_t level, const register_part *part, void *data, bool to_array)
{
    CUarray array = NULL;
    OK(culv_registration_get_array(registration, layer, level, &array));
    scene11_cuda_copy(&r->s, array, data, part->row, part->rows, part->slices, to_array);
}
