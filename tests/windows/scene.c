/* SPDX-License-Identifier: MIT */
/* The twin's controls, and CUDA's work. The interfaces' names are defined here. */
#include <initguid.h>
/* before Direct3D's headers, also if windows.h came first, as in culvert-selftest */
#include "scene.h"
/* after windows.h */
#include "win32_share.h"

#include <d3d11_4.h>
#include <d3d12.h>
#include <dxgi1_2.h>

void scene_ok(const char *file, int line, const char *text, culv_result result)
{
    if (result != CULV_OK) test_fail(file, line, "%s is %s", text, culv_result_name(result));
}

void scene_hr_ok(const char *file, int line, const char *text, HRESULT result)
{
    if (FAILED(result)) test_fail(file, line, "%s answered %#lx", text, (unsigned long)result);
}

void scene_cuda_ok(const char *file, int line, const char *text, CUresult result)
{
    if (result != CUDA_SUCCESS) test_fail(file, line, "%s answered %d", text, (int)result);
}

void scene_refused(const char *file, int line, const char *text, culv_result result,
                   culv_result class, culv_reason reason, const char *says)
{
    if (result != class || !scene_reason_is(reason) || !strstr(culv_last_error_message(), says))
        test_fail(file, line, "%s is %s", text, culv_result_name(result));
    printf("  %s: %s\n", culv_reason_name(reason), culv_last_error_message());
}

bool scene_reason_is(culv_reason reason)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    return e.reason == reason;
}

/* The twin ------------------------------------------------------------------------------------- */

scene_controls soft;

static void find(HMODULE module, const char *name, void *out)
{
    FARPROC found = GetProcAddress(module, name);
    REQUIRE(found != NULL);
    memcpy(out, &found, sizeof found);
}

void scene_find_controls(void)
{
    if (soft.counts != NULL) return;
    HMODULE module = LoadLibraryExA("nvcuda.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    REQUIRE(module != NULL);
    find(module, "culvSoftCounts", &soft.counts);
    find(module, "culvSoftFailAt", &soft.fail_at);
    find(module, "culvSoftPlayLuid", &soft.play_luid);
}

uint64_t scene_driver_objects(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    soft.counts(&c);
    return c.external_memories + c.external_mappings + c.external_semaphores + c.arrays +
           c.mipmapped_arrays + c.surfaces + c.textures + c.events + c.device_allocations +
           c.host_allocations;
}

CUstream scene_stream(culv_device *culvert)
{
    const culv_cuda_api *cu = CULV_CUDA(culvert);
    CUstream stream = NULL;
    CU_OK(cu->cuCtxSetCurrent(culv_device_context(culvert)));
    CU_OK(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

void scene_close_stream(culv_device *culvert, CUstream stream)
{
    culv_device_counts left = culv_device_counts_init();
    OK(culv_device_get_counts(culvert, &left));
    REQUIRE(left.memories == 0 && left.mappings == 0 && left.buffers == 0 && left.images == 0);
    REQUIRE(left.semaphores == 0 && left.created == 0 && left.deferred == 0);
    REQUIRE(left.registrations == 0);
    if (stream != NULL) CU_OK(CULV_CUDA(culvert)->cuStreamDestroy(stream));
}

void scene_close_device(culv_device **culvert)
{
    culv_device_counts left = culv_device_counts_init();
    OK(culv_device_get_counts(*culvert, &left));
    REQUIRE(left.attached_devices == 0);
    culv_device_close(culvert);
    REQUIRE(scene_driver_objects() == 0);
}

void cuda_write(const culv_cuda_api *cu, CUstream stream, CUdeviceptr to, const void *data,
                size_t size)
{
    CU_OK(cu->cuMemcpyHtoDAsync(to, data, size, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
}

void cuda_read(const culv_cuda_api *cu, CUstream stream, CUdeviceptr from, void *data, size_t size)
{
    CU_OK(cu->cuMemcpyDtoHAsync(data, from, size, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
}

void cuda_has(const culv_cuda_api *cu, CUstream stream, CUdeviceptr from, const void *data,
              size_t size)
{
    void *there = calloc(1, size);
    REQUIRE(there != NULL);
    cuda_read(cu, stream, from, there, size);
    REQUIRE(memcmp(data, there, size) == 0);
    free(there);
}

void cuda_copy(const culv_cuda_api *cu, CUstream stream, CUarray array, void *data, size_t row,
               size_t height, size_t layers, bool to_array)
{
    CUDA_MEMCPY3D copy = {.WidthInBytes = row, .Height = height, .Depth = layers};
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
    CU_OK(cu->cuMemcpy3DAsync(&copy, stream));
    CU_OK(cu->cuStreamSynchronize(stream));
}

void scene_read11(ID3D11Device *device, ID3D11DeviceContext *context, void *resource,
                  unsigned index, void *data, size_t row, size_t rows, size_t slices)
{
    D3D11_RESOURCE_DIMENSION dimension;
    D3D11_MAPPED_SUBRESOURCE map;
    void *made = NULL;
    ID3D11Resource_GetType((ID3D11Resource *)resource, &dimension);
#define STAGE(kind, desc_type)                                                                     \
    do {                                                                                           \
        desc_type desc;                                                                            \
        ID3D11##kind##_GetDesc((ID3D11##kind *)resource, &desc);                                   \
        desc.Usage = D3D11_USAGE_STAGING;                                                          \
        desc.BindFlags = desc.MiscFlags = 0;                                                       \
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;                                               \
        HR_OK(ID3D11Device_Create##kind(device, &desc, NULL, (ID3D11##kind **)&made));             \
    } while (0)
    if (dimension == D3D11_RESOURCE_DIMENSION_BUFFER)
        STAGE(Buffer, D3D11_BUFFER_DESC);
    else if (dimension == D3D11_RESOURCE_DIMENSION_TEXTURE1D)
        STAGE(Texture1D, D3D11_TEXTURE1D_DESC);
    else if (dimension == D3D11_RESOURCE_DIMENSION_TEXTURE2D)
        STAGE(Texture2D, D3D11_TEXTURE2D_DESC);
    else
        STAGE(Texture3D, D3D11_TEXTURE3D_DESC);
#undef STAGE
    ID3D11DeviceContext_CopyResource(context, made, resource);
    HR_OK(ID3D11DeviceContext_Map(context, made, index, D3D11_MAP_READ, 0, &map));
    for (size_t z = 0; z < slices; z++)
        for (size_t y = 0; y < rows; y++)
            memcpy((char *)data + (z * rows + y) * row,
                   (const char *)map.pData + z * map.DepthPitch + y * map.RowPitch, row);
    ID3D11DeviceContext_Unmap(context, made, index);
    IUnknown_Release((IUnknown *)made);
}

culv_memory *scene_import(culv_device *culvert, culv_handle handle, uint64_t size, bool dedicated)
{
    culv_memory_desc desc = culv_memory_desc_init();
    culv_memory *memory = NULL;
    desc.handle = handle;
    desc.size = size;
    desc.dedicated = dedicated;
    OK(culv_memory_import(culvert, &desc, &memory));
    return memory;
}

culv_semaphore *scene_timeline(culv_device *culvert, culv_handle handle, uint64_t value)
{
    culv_semaphore_desc desc = culv_semaphore_desc_init();
    culv_semaphore *semaphore = NULL;
    desc.handle = handle;
    desc.type = CULV_SEMAPHORE_TIMELINE;
    desc.value = value;
    OK(culv_semaphore_import(culvert, &desc, &semaphore));
    return semaphore;
}

culv_buffer *scene_map(culv_memory *memory, uint64_t offset, uint64_t size)
{
    culv_buffer_desc desc = culv_buffer_desc_init();
    culv_buffer *buffer = NULL;
    desc.offset = offset;
    desc.size = size;
    OK(culv_buffer_map(memory, &desc, &buffer));
    culv_memory_destroy(&memory);
    return buffer;
}

culv_vmm_allocation *scene_allocate(culv_device *culvert, uint64_t size, uint32_t handle_types)
{
    culv_vmm_allocation_desc desc = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *made = NULL;
    desc.size = size;
    desc.handle_types = handle_types;
    desc.label = "particles";
    OK(culv_vmm_allocation_create(culvert, &desc, &made));
    return made;
}

culv_vmm_range *scene_map_vmm(culv_device *culvert, culv_vmm_allocation *allocation)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    OK(culv_vmm_allocation_get_info(allocation, &info));
    desc.size = info.size;
    OK(culv_vmm_range_create(culvert, &desc, &range));
    OK(culv_vmm_map(range, 0, allocation, NULL, 0));
    return range;
}

void scene_unmap_vmm(culv_vmm_range **range)
{
    OK(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL));
    OK(culv_vmm_range_destroy(range));
}

HANDLE scene_share(const wchar_t *name, uint32_t type, bool dedicated, uint64_t size)
{
    culv_soft_share record;
    const uint64_t bytes = CULV_SOFT_SHARE_INSIDE + (size != 0 ? size : sizeof(uint64_t));
    const HANDLE section =
        CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, (DWORD)bytes, name);
    REQUIRE(section != NULL && GetLastError() != ERROR_ALREADY_EXISTS);
    void *page = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, sizeof record);
    REQUIRE(page != NULL);
    memset(&record, 0, sizeof record);
    memcpy(record.magic, CULV_SOFT_SHARE_MAGIC, sizeof record.magic);
    record.type = type;
    record.dedicated = dedicated;
    record.size = size;
    record.inside = 1;
    memcpy(page, &record, sizeof record);
    UnmapViewOfFile(page);
    return section;
}

void scene_torture(const scene_tortured *t)
{
    unsigned failed = 0, n;
    OK(t->work(t->user));
    t->require_none(t->user);
    if (t->fail_at != NULL) {
        const unsigned before = t->calls();
        OK(t->work(t->user));
        REQUIRE_EQ(t->calls() - before, t->native);
        for (n = 1; n <= t->native; n++) {
            t->fail_at(n);
            REQUIRE_EQ(t->work(t->user), CULV_ERROR_OUT_OF_MEMORY);
            t->fail_at(0);
            t->require_none(t->user);
        }
    }
    for (n = 1;; n++) {
        culv_soft_counts a = {.struct_size = sizeof a}, b = a;
        soft.counts(&a);
        soft.fail_at(n, CUDA_ERROR_OUT_OF_MEMORY);
        const culv_result result = t->work(t->user);
        soft.counts(&b);
        soft.fail_at(0, 0);
        t->require_none(t->user);
        failed += result != CULV_OK;
        if (result == CULV_OK && b.calls - a.calls < n) break;
    }
    printf("  %u driver calls, %u of them failed the work\n", n - 1, failed);
    REQUIRE(failed >= t->least);
    OK(t->work(t->user));
}

/* Windows -------------------------------------------------------------------------------------- */

void scene_pattern(void *out, size_t size, unsigned seed)
{
    unsigned char *bytes = out;
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

HANDLE scene_thread(LPTHREAD_START_ROUTINE work, void *user)
{
    const HANDLE thread = CreateThread(NULL, 0, work, user, 0, NULL);
    REQUIRE(thread != NULL);
    return thread;
}

void scene_join(HANDLE thread)
{
    DWORD code = 1;
    REQUIRE(WaitForSingleObject(thread, SCENE_FAR_MS) == WAIT_OBJECT_0);
    REQUIRE(GetExitCodeThread(thread, &code) && code == 0 && CloseHandle(thread));
}

bool scene_name_lives(const wchar_t *name)
{
    HANDLE section = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    if (section != NULL) CloseHandle(section);
    return section != NULL;
}

bool scene_handle_is_open(void *handle)
{
    DWORD flags = 0;
    return GetHandleInformation(handle, &flags) != 0;
}

ULONG scene_references(void *object)
{
    IUnknown_AddRef((IUnknown *)object);
    return IUnknown_Release((IUnknown *)object);
}
