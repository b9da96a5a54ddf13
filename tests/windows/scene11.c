/* SPDX-License-Identifier: MIT */
/* A Direct3D 11 device with its context, and the twin's CUDA. */
#include "scene11.h"

#include <string.h>

static const GUID iid_context4 = {
    0x917600da, 0xf58c, 0x4c33, {0x98, 0xd8, 0x3e, 0x15, 0xb3, 0x90, 0xfa, 0x24}};
static const GUID iid_mutex = {
    0x9d8e1289, 0xd7b3, 0x465f, {0x81, 0x26, 0x25, 0x0e, 0x34, 0x9a, 0xf8, 0x5d}};

const scene11_row scene11_rows[SCENE11_ROWS] = {
    {"an NT handle and a mutex",
     D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, true, true},
    {"an NT handle alone", D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED, true,
     false},
    {"a mutex alone", D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, false, true},
    {"neither", D3D11_RESOURCE_MISC_SHARED, false, false},
};

scene11_controls soft11;

void scene11_fail(const char *file, int line, const char *what, HRESULT hr)
{
    char text[256];
    snprintf(text, sizeof text, "%.200s answered %#lx", what, (unsigned long)hr);
    check_fail(file, line, text);
}

/* The driver that Culvert loaded, from the system directory. */
static void find(HMODULE module, const char *name, void *out)
{
    FARPROC found = GetProcAddress(module, name);
    REQUIRE(found != NULL);
    memcpy(out, &found, sizeof found);
}

void scene11_find_controls(void)
{
    if (soft11.counts != NULL) return;
    HMODULE module = LoadLibraryExA("nvcuda.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    REQUIRE(module != NULL);
    find(module, "culvSoftCounts", &soft11.counts);
    find(module, "culvSoftFailAt", &soft11.fail_at);
    find(module, "culvSoftPlayLuid", &soft11.play_luid);
}

void scene11_open_device(scene11 *s)
{
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    memset(s, 0, sizeof *s);
    scene11_find_controls();
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                            &s->device, NULL, &s->context));
    overlay11_install(s->device, s->context);
    HR_OK(ID3D11DeviceContext_QueryInterface(s->context, &iid_context4, (void **)&s->context4));
}

void scene11_open(scene11 *s)
{
    culv_d3d11_device_desc desc = culv_d3d11_device_desc_init();
    scene11_open_device(s);
    OK(culv_device_open_for_d3d11(s->device, NULL, &s->culvert));
    desc.device = s->device;
    OK(culv_d3d11_attach(s->culvert, &desc, &s->d3d11));
    s->cu = CULV_CUDA(s->culvert);
    CU_OK(s->cu->cuCtxSetCurrent(culv_device_context(s->culvert)));
    CU_OK(s->cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
}

uint64_t scene11_driver_objects(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    soft11.counts(&c);
    return c.external_memories + c.external_mappings + c.external_semaphores + c.arrays +
           c.mipmapped_arrays + c.surfaces + c.textures + c.events + c.device_allocations +
           c.host_allocations;
}

static void close_culvert(scene11 *s)
{
    culv_device_counts left = culv_device_counts_init();
    OK(culv_device_get_counts(s->culvert, &left));
    REQUIRE(left.memories == 0 && left.mappings == 0 && left.buffers == 0 && left.images == 0);
    REQUIRE(left.semaphores == 0 && left.created == 0 && left.deferred == 0);
    CU_OK(s->cu->cuStreamDestroy(s->stream));
    culv_d3d11_detach(&s->d3d11);
    REQUIRE(s->d3d11 == NULL);
    OK(culv_device_get_counts(s->culvert, &left));
    REQUIRE(left.attached_devices == 0);
    culv_device_close(&s->culvert);
    REQUIRE(scene11_driver_objects() == 0);
}

void scene11_close(scene11 *s)
{
    if (s->culvert != NULL) close_culvert(s);
    REQUIRE(overlay11_references() == 0);
    overlay11_clear();
    ID3D11DeviceContext4_Release(s->context4);
    ID3D11DeviceContext_Release(s->context);
    REQUIRE(ID3D11Device_Release(s->device) == 0);
}

/* Direct3D's work ------------------------------------------------------------------------------ */

ID3D11Buffer *scene11_buffer(const scene11 *s, UINT size, UINT misc)
{
    D3D11_BUFFER_DESC desc;
    ID3D11Buffer *made = NULL;
    memset(&desc, 0, sizeof desc);
    desc.ByteWidth = size;
    desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.MiscFlags = misc;
    HR_OK(ID3D11Device_CreateBuffer(s->device, &desc, NULL, &made));
    return made;
}

ID3D11Texture2D *scene11_texture(const scene11 *s, DXGI_FORMAT format, UINT width, UINT height,
                                 UINT layers, UINT misc)
{
    D3D11_TEXTURE2D_DESC desc;
    ID3D11Texture2D *made = NULL;
    memset(&desc, 0, sizeof desc);
    desc.Width = width;
    desc.Height = height;
    desc.MipLevels = 1;
    desc.ArraySize = layers;
    desc.Format = format;
    desc.SampleDesc.Count = 1;
    desc.BindFlags = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET;
    desc.MiscFlags = misc;
    HR_OK(ID3D11Device_CreateTexture2D(s->device, &desc, NULL, &made));
    return made;
}

IDXGIKeyedMutex *scene11_mutex(ID3D11Resource *resource)
{
    IDXGIKeyedMutex *mutex = NULL;
    HR_OK(ID3D11Resource_QueryInterface(resource, &iid_mutex, (void **)&mutex));
    return mutex;
}

void scene11_write(const scene11 *s, ID3D11Resource *resource, UINT layer, const void *data,
                   UINT row)
{
    ID3D11DeviceContext_UpdateSubresource(s->context, resource, layer, NULL, data, row, 0);
}

void scene11_read(const scene11 *s, ID3D11Resource *resource, UINT layer, void *data)
{
    D3D11_RESOURCE_DIMENSION dimension;
    D3D11_MAPPED_SUBRESOURCE map;
    ID3D11Resource *stage = NULL;
    size_t row, rows = 1;
    ID3D11Resource_GetType(resource, &dimension);
    if (dimension == D3D11_RESOURCE_DIMENSION_BUFFER) {
        D3D11_BUFFER_DESC desc;
        ID3D11Buffer *buffer = NULL;
        ID3D11Buffer_GetDesc((ID3D11Buffer *)(void *)resource, &desc);
        row = desc.ByteWidth;
        desc.Usage = D3D11_USAGE_STAGING;
        desc.BindFlags = desc.MiscFlags = 0;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        HR_OK(ID3D11Device_CreateBuffer(s->device, &desc, NULL, &buffer));
        stage = scene11_of_buffer(buffer);
    } else {
        D3D11_TEXTURE2D_DESC desc;
        ID3D11Texture2D *texture = NULL;
        ID3D11Texture2D_GetDesc((ID3D11Texture2D *)(void *)resource, &desc);
        row = (size_t)desc.Width * (desc.Format == DXGI_FORMAT_R32G32B32A32_TYPELESS ? 16 : 4);
        rows = desc.Height;
        desc.Usage = D3D11_USAGE_STAGING;
        desc.BindFlags = desc.MiscFlags = 0;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        HR_OK(ID3D11Device_CreateTexture2D(s->device, &desc, NULL, &texture));
        stage = scene11_of_texture(texture);
    }
    ID3D11DeviceContext_CopyResource(s->context, stage, resource);
    HR_OK(ID3D11DeviceContext_Map(s->context, stage, layer, D3D11_MAP_READ, 0, &map));
    for (size_t y = 0; y < rows; y++)
        memcpy((char *)data + y * row, (const char *)map.pData + y * map.RowPitch, row);
    ID3D11DeviceContext_Unmap(s->context, stage, layer);
    ID3D11Resource_Release(stage);
}

/* CUDA's work ---------------------------------------------------------------------------------- */

void scene11_synchronize(const scene11 *s)
{
    CU_OK(s->cu->cuStreamSynchronize(s->stream));
}

void scene11_cuda_write(const scene11 *s, CUdeviceptr to, const void *data, size_t size)
{
    CU_OK(s->cu->cuMemcpyHtoDAsync(to, data, size, s->stream));
    scene11_synchronize(s);
}

void scene11_cuda_read(const scene11 *s, CUdeviceptr from, void *data, size_t size)
{
    CU_OK(s->cu->cuMemcpyDtoHAsync(data, from, size, s->stream));
    scene11_synchronize(s);
}

void scene11_cuda_copy(const scene11 *s, CUarray array, void *data, size_t row, size_t height,
                       size_t layers, bool to_array)
{
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = to_array ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    if (to_array) {
        copy.srcHost = data;
        copy.srcPitch = row;
        copy.srcHeight = height;
        copy.dstArray = array;
    } else {
        copy.dstHost = data;
        copy.dstPitch = row;
        copy.dstHeight = height;
        copy.srcArray = array;
    }
    copy.WidthInBytes = row;
    copy.Height = height;
    copy.Depth = layers;
    CU_OK(s->cu->cuMemcpy3DAsync(&copy, s->stream));
    scene11_synchronize(s);
}

void scene11_pattern(void *out, size_t size, unsigned seed)
{
    unsigned char *bytes = out;
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

bool scene11_name_lives(const wchar_t *name)
{
    HANDLE section = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    if (section != NULL) CloseHandle(section);
    return section != NULL;
}
