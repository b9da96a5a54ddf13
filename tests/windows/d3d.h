/* SPDX-License-Identifier: MIT */
/* Devices of Direct3D 11 and 12 with the twin's CUDA: what their cases stand on. A source that says
 * `#define D3D 11` or 12 before it has words for its own API: native, NATIVE() and so on. */
#ifndef CULVERT_TESTS_WINDOWS_D3D_H_
#define CULVERT_TESTS_WINDOWS_D3D_H_

#include "overlay.h"
#include "overlay11.h"
#include "scene.h"

#include <culvert/d3d.h>

/* Both have these functions, as NATIVE(open) and so on:
 * - open_device(): a device alone; open(): with Culvert attached; attach(): with another one;
 * - close() requires that nothing is left: of Culvert's, of the twin's, of what is shared, and no
 *   reference of the device; close_culvert() is its first half;
 * - memory(): a buffer, shared by an NT handle, or not at all;
 * - put(), get(): Direct3D writes and reads a buffer from its begin, and it is CUDA's turn, or was;
 * - fence(), signal(), wait(), reach(): a fence, by the queue; the host waits for it. */
#define D3D_SCENE(version, fence_type)                                                             \
    void scene##version##_open_device(scene##version *s);                                          \
    void scene##version##_open(scene##version *s);                                                 \
    culv_d3d_device *scene##version##_attach(const scene##version *s, culv_device *culvert);       \
    void scene##version##_close_culvert(scene##version *s);                                        \
    void scene##version##_close(scene##version *s);                                                \
    void *scene##version##_memory(scene##version *s, uint64_t size, bool shared);                  \
    void scene##version##_put(scene##version *s, void *buffer, const void *data, size_t size);     \
    void scene##version##_get(scene##version *s, void *buffer, void *data, size_t size);           \
    fence_type *scene##version##_fence(const scene##version *s, uint64_t value, bool shared);      \
    HRESULT scene##version##_signal(scene##version *s, fence_type *fence, uint64_t value);         \
    HRESULT scene##version##_wait(scene##version *s, fence_type *fence, uint64_t value);           \
    bool scene##version##_reach(fence_type *fence, uint64_t value, DWORD timeout_ms);

/* Direct3D 11 ---------------------------------------------------------------------------------- */

typedef struct scene11 {
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D11DeviceContext4 *context4;
    culv_device *culvert;
    culv_d3d_device *d3d;
    const culv_cuda_api *cu;
    CUstream stream;
} scene11;
D3D_SCENE(11, ID3D11Fence)

/* The rows NT handle/keyed mutex, as flags of Direct3D's. */
typedef struct scene11_row {
    const char *name;
    UINT misc;
    bool nt, mutex;
} scene11_row;
enum { SCENE11_ROWS = 4 };
extern const scene11_row scene11_rows[SCENE11_ROWS];

ID3D11Buffer *scene11_buffer(const scene11 *s, UINT size, UINT misc);
/* One to draw into and to sample. */
D3D11_TEXTURE2D_DESC scene11_texture_desc(DXGI_FORMAT format, UINT width, UINT height, UINT layers,
                                          UINT levels, UINT misc);
ID3D11Texture2D *scene11_texture(const scene11 *s, DXGI_FORMAT format, UINT width, UINT height,
                                 UINT layers, UINT misc);
static inline ID3D11Resource *scene11_of_buffer(ID3D11Buffer *buffer)
{
    return (ID3D11Resource *)(void *)buffer;
}
static inline ID3D11Resource *scene11_of_texture(ID3D11Texture2D *texture)
{
    return (ID3D11Resource *)(void *)texture;
}
IDXGIKeyedMutex *scene11_mutex(ID3D11Resource *resource);
/* Direct3D writes and reads: a buffer's bytes, or a layer of a texture by rows without gaps. */
void scene11_write(const scene11 *s, ID3D11Resource *resource, UINT layer, const void *data,
                   UINT row);
void scene11_read(const scene11 *s, ID3D11Resource *resource, UINT layer, void *data);

/* Direct3D 12 ---------------------------------------------------------------------------------- */

typedef struct scene12 {
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *done;
    uint64_t value; /* of `done`, signaled last */
    culv_device *culvert;
    culv_d3d_device *d3d;
    const culv_cuda_api *cu;
    CUstream stream;
    ULONG references; /* the device's, before Culvert */
} scene12;
D3D_SCENE(12, ID3D12Fence)

ID3D12Resource *scene12_buffer(scene12 *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags,
                               uint64_t size);
/* In a DEFAULT heap. */
ID3D12Resource *scene12_texture(scene12 *s, D3D12_HEAP_FLAGS flags,
                                const D3D12_RESOURCE_DESC *desc);
ID3D12Heap *scene12_heap(scene12 *s, D3D12_HEAP_FLAGS flags, uint64_t size);
ID3D12Resource *scene12_place(const scene12 *s, ID3D12Heap *heap, uint64_t offset,
                              const D3D12_RESOURCE_DESC *desc);
/* The list is open; it runs, and is waited for. False: the device is removed. */
void scene12_begin(scene12 *s);
bool scene12_run(scene12 *s);
/* Direct3D writes and reads a buffer, by its queue; or a subresource of a texture, with rows of so
 * many bytes and no gaps. */
bool scene12_write(scene12 *s, ID3D12Resource *buffer, uint64_t offset, const void *data,
                   size_t size);
void scene12_read(scene12 *s, ID3D12Resource *buffer, uint64_t offset, void *data, size_t size);
void scene12_read_texture(scene12 *s, ID3D12Resource *texture, unsigned subresource, void *data);
void scene12_write_texture(scene12 *s, ID3D12Resource *texture, unsigned subresource,
                           const void *data);
D3D12_RESOURCE_DESC scene12_desc_of(ID3D12Resource *resource);
D3D12_RESOURCE_DESC scene12_buffer_desc(uint64_t size);
D3D12_RESOURCE_DESC scene12_texture_desc(D3D12_RESOURCE_DIMENSION dimension, DXGI_FORMAT format,
                                         unsigned width, unsigned height, unsigned depth,
                                         unsigned levels);

/* Words ---------------------------------------------------------------------------------------- */

#if D3D == 11
typedef scene11 native;
typedef ID3D11Fence native_fence;
#    define NATIVE(name)    scene11_##name
#    define FENCE(name)     ID3D11Fence_##name
#    define FENCE_NAME      "ID3D11Fence"
#    define OVERLAY(name)   overlay11_##name
#    define LIE(name)       OVERLAY11_##name
#    define HANDLE_OF(what) CULV_HANDLE_D3D11_##what
#elif D3D == 12
typedef scene12 native;
typedef ID3D12Fence native_fence;
#    define NATIVE(name)    scene12_##name
#    define FENCE(name)     ID3D12Fence_##name
#    define FENCE_NAME      "ID3D12Fence"
#    define OVERLAY(name)   overlay_##name
#    define LIE(name)       OVERLAY_##name
#    define HANDLE_OF(what) CULV_HANDLE_D3D12_##what
#endif
#define D3D_CASE(...) TEST_ON(native, s, NATIVE(open)(s), NATIVE(close)(s), __VA_ARGS__)

#endif
