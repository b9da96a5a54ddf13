/* SPDX-License-Identifier: MIT */
/* Direct3D 12 with CUDA: devices, buffers, heaps, fences. */
#include "scene12.h"

enum { BYTES = 65536 + 256 };
static unsigned char put[BYTES], got[BYTES];

static culv_shared_buffer *make_buffer(scene *s, uint64_t size)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    desc.size = size;
    desc.label = "vertices";
    OK(culv_d3d_buffer_create(s->d3d12, &desc, &buffer));
    return buffer;
}

/* CUDA writes, Direct3D reads; and the other way. */
D12_CASE(buffers)
{
    culv_shared_buffer *buffer = make_buffer(s, BYTES);
    REQUIRE(culv_buffer_size(culv_shared_buffer_cuda(buffer)) == BYTES);
    REQUIRE(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)) == CULV_SHARING_SHARED);
    scene_pattern(put, BYTES, 1);
    scene_cuda_write(s, culv_shared_buffer_pointer(buffer), put, BYTES);
    scene_read(s, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, got, BYTES);
    REQUIRE(memcmp(put, got, BYTES) == 0);
    scene_pattern(put, BYTES, 2);
    scene_write(s, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, put, BYTES);
    scene_cuda_read(s, culv_shared_buffer_pointer(buffer), got, BYTES);
    REQUIRE(memcmp(put, got, BYTES) == 0);
    culv_buffer *cuda = culv_shared_buffer_cuda(buffer);
    culv_buffer_unmap(&cuda, NULL); /* refused: it is the buffer's */
    REQUIRE(cuda != NULL && scene_reason_is(CULV_REASON_OWNED));
    REQUIRE_SAYS("culv_shared_buffer_destroy");
    culv_shared_buffer_destroy(&buffer, NULL);
    REQUIRE(buffer == NULL);
    buffer = make_buffer(s, 4096);
    culv_shared_buffer_destroy(&buffer, &s->stream);
    scene_synchronize(s);
    (void)culv_device_collect(s->culvert);
}

/* The queue waits until CUDA has written, and CUDA until the queue has copied. */
D12_CASE(fences)
{
    culv_shared_buffer *buffer = make_buffer(s, BYTES);
    culv_shared_semaphore *semaphore = NULL;
    OK(culv_d3d_semaphore_create(s->d3d12, NULL, &semaphore));
    ID3D12Fence *fence = (ID3D12Fence *)culv_d3d_semaphore_fence(semaphore);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(semaphore);
    ID3D12Resource *stage = scene_buffer(s, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_FLAG_NONE, BYTES);

    HR_OK(ID3D12CommandQueue_Wait(s->queue, fence, 1));
    scene_begin(s);
    ID3D12GraphicsCommandList_CopyBufferRegion(
        s->list, stage, 0, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, BYTES);
    HR_OK(ID3D12GraphicsCommandList_Close(s->list));
    ID3D12CommandList *lists[] = {(ID3D12CommandList *)s->list};
    ID3D12CommandQueue_ExecuteCommandLists(s->queue, 1, lists);
    HR_OK(ID3D12CommandQueue_Signal(s->queue, fence, 2));
    /* A queue that did not wait would have signaled in that time. */
    Sleep(100);
    REQUIRE(ID3D12Fence_GetCompletedValue(fence) == 0);

    scene_pattern(put, BYTES, 3);
    scene_pattern(got, BYTES, 4);
    CU_OK(s->cu->cuMemcpyHtoDAsync(culv_shared_buffer_pointer(buffer), put, BYTES, s->stream));
    OK(culv_semaphore_signal(cuda, s->stream, 1));
    OK(culv_semaphore_wait(cuda, s->stream, 2));
    CU_OK(s->cu->cuMemsetD8Async(culv_shared_buffer_pointer(buffer), 0x5a, BYTES, s->stream));
    scene_synchronize(s);
    REQUIRE(ID3D12Fence_GetCompletedValue(fence) == 2);
    void *mapped = NULL;
    HR_OK(ID3D12Resource_Map(stage, 0, NULL, &mapped));
    REQUIRE(memcmp(put, mapped, BYTES) == 0); /* not what CUDA wrote after its wait */
    ID3D12Resource_Unmap(stage, 0, NULL);

    /* A stream that waits does not go on before the queue signals. */
    OK(culv_semaphore_wait(cuda, s->stream, 5));
    Sleep(50);
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    HR_OK(ID3D12CommandQueue_Signal(s->queue, fence, 5));
    scene_synchronize(s);

    culv_semaphore_mark_value(cuda, 5);
    REFUSES(culv_semaphore_signal(cuda, s->stream, 5), CULV_ERROR_INVALID,
            CULV_REASON_TIMELINE_BACKWARDS);
    OK(culv_semaphore_signal(cuda, s->stream, 6));
    scene_wait(fence, 6);
    scene_synchronize(s);
    ID3D12Resource_Release(stage);
    culv_shared_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
}

/* The caller's own fence: its present value counts. By object, by handle and by name. */
D12_CASE(own_fences)
{
    static const wchar_t name[] = L"Local\\culvert d3d12 fence";
    ID3D12Fence *fence = NULL;
    culv_semaphore *cuda = NULL;
    HR_OK(ID3D12Device_CreateFence(s->device, 7, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence,
                                   (void **)&fence));
    OK(culv_d3d_semaphore_import(s->d3d12, (IUnknown *)fence, "frames", &cuda));
    REQUIRE(culv_semaphore_last_value(cuda) == 7);
    REFUSES(culv_semaphore_signal(cuda, s->stream, 7), CULV_ERROR_INVALID,
            CULV_REASON_TIMELINE_BACKWARDS);
    OK(culv_semaphore_signal(cuda, s->stream, 8));
    scene_wait(fence, 8);
    culv_semaphore_destroy(&cuda, NULL);

    for (int by_name = 0; by_name < 2; by_name++) {
        culv_handle handle;
        OK(culv_d3d_export_dup(s->d3d12, (IUnknown *)fence, name, &handle));
        REQUIRE(handle.type == CULV_HANDLE_D3D12_FENCE && scene_name_lives(name));
        culv_semaphore_desc desc = culv_semaphore_desc_init();
        desc.type = CULV_SEMAPHORE_TIMELINE;
        desc.handle = by_name ? culv_handle_win32_named(CULV_HANDLE_D3D12_FENCE, name) : handle;
        desc.value = ID3D12Fence_GetCompletedValue(fence);
        OK(culv_semaphore_import(s->culvert, &desc, &cuda));
        culv_handle_close(&handle);
        REQUIRE(!scene_name_lives(name)); /* nothing of Culvert's has it open */
        OK(culv_semaphore_signal(cuda, s->stream, 10 + (uint64_t)by_name));
        scene_wait(fence, 10 + (uint64_t)by_name);
        culv_semaphore_destroy(&cuda, NULL);
    }
    REQUIRE(ID3D12Fence_Release(fence) == 0);
}

/* A heap with two placed buffers, imported by object, by handle and by name. */
D12_CASE(heaps)
{
    static const wchar_t name[] = L"Local\\culvert d3d12 heap";
    enum { SECOND = 65536, HEAP = 4 * 65536, SIZE = 4096 };
    D3D12_HEAP_DESC heap_desc;
    ID3D12Heap *heap = NULL;
    ID3D12Resource *placed[2] = {NULL, NULL};
    memset(&heap_desc, 0, sizeof heap_desc);
    heap_desc.SizeInBytes = HEAP;
    heap_desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    heap_desc.Flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    HR_OK(ID3D12Device_CreateHeap(s->device, &heap_desc, &IID_ID3D12Heap, (void **)&heap));
    const D3D12_RESOURCE_DESC buffer_desc = scene_buffer_desc(SIZE);
    for (int i = 0; i < 2; i++)
        HR_OK(ID3D12Device_CreatePlacedResource(s->device, heap, (UINT64)i * SECOND, &buffer_desc,
                                                D3D12_RESOURCE_STATE_COMMON, NULL,
                                                &IID_ID3D12Resource, (void **)&placed[i]));
    for (int form = 0; form < 4; form++) { /* by object, shared; by handle, by name */
        culv_memory *memory = NULL, *again = NULL;
        culv_d3d_memory_desc by_object = culv_d3d_memory_desc_init();
        culv_memory_desc by_handle = culv_memory_desc_init();
        culv_handle handle = {.type = CULV_HANDLE_NONE};
        by_object.object = (IUnknown *)heap;
        by_object.label = "heap";
        if (form == 0) {
            OK(culv_d3d_memory_import(s->d3d12, &by_object, &memory));
        } else if (form == 1) {
            OK(culv_d3d_memory_import_shared(s->d3d12, &by_object, &memory));
            OK(culv_d3d_memory_import_shared(s->d3d12, &by_object, &again));
            REQUIRE(again == memory);
        } else {
            OK(culv_d3d_export_dup(s->d3d12, (IUnknown *)heap, name, &handle));
            REQUIRE(handle.type == CULV_HANDLE_D3D12_HEAP);
            by_handle.handle =
                form == 3 ? culv_handle_win32_named(CULV_HANDLE_D3D12_HEAP, name) : handle;
            by_handle.size = HEAP;
            OK(culv_memory_import(s->culvert, &by_handle, &memory));
            culv_handle_close(&handle);
        }
        REQUIRE(!scene_name_lives(name));
        REQUIRE(culv_memory_size(memory) == HEAP);
        for (int i = 0; i < 2; i++) {
            culv_buffer_desc map = culv_buffer_desc_init();
            culv_buffer *buffer = NULL;
            map.offset = (uint64_t)i * SECOND;
            map.size = SIZE;
            OK(culv_buffer_map(memory, &map, &buffer));
            scene_pattern(put, SIZE, (unsigned)(10 * form + i));
            scene_cuda_write(s, culv_buffer_pointer(buffer), put, SIZE);
            scene_read(s, placed[i], 0, got, SIZE);
            REQUIRE(memcmp(put, got, SIZE) == 0);
            if (i == 1) { /* the first was not touched */
                scene_pattern(put, SIZE, (unsigned)(10 * form));
                scene_read(s, placed[0], 0, got, SIZE);
                REQUIRE(memcmp(put, got, SIZE) == 0);
            }
            culv_buffer_unmap(&buffer, NULL);
        }
        culv_memory_destroy(&again);
        culv_memory_destroy(&memory);
    }
    for (int i = 0; i < 2; i++)
        ID3D12Resource_Release(placed[i]);
    overlay12_clear(); /* whose alias holds the heap */
    REQUIRE(ID3D12Heap_Release(heap) == 0);
}

/* The caller's committed buffer: by object, by handle, by name. CUDA is told the allocation's size,
 * not the buffer's. */
D12_CASE(own_buffers)
{
    static const wchar_t name[] = L"Local\\culvert d3d12 buffer";
    ID3D12Resource *resource =
        scene_buffer(s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, 1000);
    uint64_t size = 0;
    OK(culv_d3d12_get_allocation_size(s->d3d12, resource, &size));
    REQUIRE(size == 65536);
    for (int form = 0; form < 3; form++) {
        culv_memory *memory = NULL;
        culv_buffer *buffer = NULL;
        culv_d3d_memory_desc by_object = culv_d3d_memory_desc_init();
        culv_memory_desc by_handle = culv_memory_desc_init();
        culv_handle handle = {.type = CULV_HANDLE_NONE};
        by_object.object = (IUnknown *)resource;
        if (form == 0) {
            OK(culv_d3d_memory_import(s->d3d12, &by_object, &memory));
        } else {
            OK(culv_d3d_export_dup(s->d3d12, (IUnknown *)resource, name, &handle));
            by_handle.handle =
                form == 2 ? culv_handle_win32_named(CULV_HANDLE_D3D12_RESOURCE, name) : handle;
            by_handle.size = size; /* dedicated goes without saying */
            OK(culv_memory_import(s->culvert, &by_handle, &memory));
            REQUIRE(scene_name_lives(name)); /* it was borrowed */
            culv_handle_close(&handle);
            REQUIRE(!scene_name_lives(name));
        }
        REQUIRE(culv_memory_size(memory) == size);
        culv_buffer_desc map = culv_buffer_desc_init();
        map.size = 1000;
        OK(culv_buffer_map(memory, &map, &buffer));
        scene_pattern(put, 1000, (unsigned)(40 + form));
        scene_write(s, resource, 0, put, 1000);
        scene_cuda_read(s, culv_buffer_pointer(buffer), got, 1000);
        REQUIRE(memcmp(put, got, 1000) == 0);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
    }
    REQUIRE(ID3D12Resource_Release(resource) == 0);
}
