/* SPDX-License-Identifier: MIT */
/* A Direct3D 12 device with a queue, and the twin's CUDA: what the cases of d3d12*.c stand on. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE12_H_
#define CULVERT_TESTS_WINDOWS_SCENE12_H_

#include "overlay.h"
#include "scene.h"

#include <culvert/d3d.h>

typedef struct scene {
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *done;
    uint64_t value; /* of `done`, signaled last */
    culv_device *culvert;
    culv_d3d_device *d3d12;
    const culv_cuda_api *cu;
    CUstream stream;
    ULONG references; /* the device's, before Culvert */
} scene;

/* A device alone; with Culvert attached. */
void scene_open_device(scene *s);
void scene_open(scene *s);
/* Requires that nothing is left: of Culvert's, of the twin's, of what is shared, and no reference
 * of the device. */
void scene_close(scene *s);
#define D12_CASE(...) TEST_ON(scene, s, scene_open(s), scene_close(s), __VA_ARGS__)
#define D12_BARE(...) TEST_ON(scene, s, scene_open_device(s), scene_close(s), __VA_ARGS__)

ID3D12Resource *scene_buffer(scene *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags, uint64_t size);
/* In a DEFAULT heap. */
ID3D12Resource *scene_texture(scene *s, D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc);
/* Records and runs `record`, and waits for it. */
void scene_begin(scene *s);
void scene_run(scene *s);
void scene_wait(ID3D12Fence *fence, uint64_t value);
/* Direct3D writes and reads a buffer, by its queue. */
void scene_write(scene *s, ID3D12Resource *buffer, uint64_t offset, const void *data, size_t size);
void scene_read(scene *s, ID3D12Resource *buffer, uint64_t offset, void *data, size_t size);
/* Likewise a subresource of a texture, with rows of so many bytes and no gaps. */
void scene_read_texture(scene *s, ID3D12Resource *texture, unsigned subresource, void *data);
void scene_write_texture(scene *s, ID3D12Resource *texture, unsigned subresource, const void *data);

D3D12_RESOURCE_DESC scene_buffer_desc(uint64_t size);
D3D12_RESOURCE_DESC scene_texture_desc(D3D12_RESOURCE_DIMENSION dimension, DXGI_FORMAT format,
                                       unsigned width, unsigned height, unsigned depth,
                                       unsigned levels);
D3D12_RESOURCE_DESC scene_desc_of(ID3D12Resource *resource);

#endif
