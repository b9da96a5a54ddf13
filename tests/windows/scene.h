/* SPDX-License-Identifier: MIT */
/* What the programs of this directory share: the harness, the twin's controls, CUDA's work. Each
 * has a scene of its own with the fields `culvert`, `cu` and `stream`. A source with D3D, which is
 * 11 or 12, has devices of that one, and words for it: native, NATIVE() and so on. */
#ifndef CULVERT_TESTS_WINDOWS_SCENE_H_
#define CULVERT_TESTS_WINDOWS_SCENE_H_

#include "harness.h"
#ifdef D3D
#    include "overlay.h"
#    include "overlay11.h"
#endif
#ifndef COBJMACROS
#    define COBJMACROS
#endif
#include <windows.h>
/* after it */
#include "control.h"

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#ifdef D3D
#    include <culvert/d3d.h>
#endif

#define OK(call)    scene_ok(__FILE__, __LINE__, #call, (call))
#define HR_OK(call) scene_hr_ok(__FILE__, __LINE__, #call, (call))
#define CU_OK(call) scene_cuda_ok(__FILE__, __LINE__, #call, (call))
/* The call fails with this class and reason, and its message says `says`. */
#define REFUSES(call, class, why) REFUSES_SO(call, class, why, "")
#define REFUSES_SO(call, class, why, says)                                                         \
    REFUSES_AS(call, CULV_ERROR_##class, CULV_REASON_##why, says)
#define REFUSES_AS(call, class, why, says)                                                         \
    scene_refused(__FILE__, __LINE__, #call, (call), (class), (why), (says))
/* Both, in rows of a table. */
#define WHY(class, why) CULV_ERROR_##class, CULV_REASON_##why
void scene_ok(const char *file, int line, const char *text, culv_result result);
void scene_hr_ok(const char *file, int line, const char *text, HRESULT result);
void scene_cuda_ok(const char *file, int line, const char *text, CUresult result);
void scene_refused(const char *file, int line, const char *text, culv_result result,
                   culv_result class, culv_reason reason, const char *says);
bool scene_reason_is(culv_reason reason);

enum { SCENE_FAR_MS = TEST_FAR_MS };

/* The twin's own functions, of the driver that Culvert loads. */
typedef struct scene_controls {
    void (*counts)(culv_soft_counts *out);
    void (*fail_at)(uint64_t n, int error);
    void (*play_luid)(int device, const uint8_t luid[8], unsigned node_mask);
} scene_controls;
extern scene_controls soft;
void scene_find_controls(void);
/* The twin's objects, but for contexts and what CUDA has of streams. */
uint64_t scene_driver_objects(void);

/* The device's context is made current, and gets a stream. */
CUstream scene_stream(culv_device *culvert);
/* Requires that nothing is left of Culvert's, and takes the stream. Then the device goes, whose
 * attachments are no more, and nothing of the twin's is left. */
void scene_close_stream(culv_device *culvert, CUstream stream);
void scene_close_device(culv_device **culvert);

/* CUDA writes and reads, and has done so at the return. */
#define scene_synchronize(s)     CU_OK((s)->cu->cuStreamSynchronize((s)->stream))
#define scene_cuda_write(s, ...) cuda_write((s)->cu, (s)->stream, __VA_ARGS__)
#define scene_cuda_read(s, ...)  cuda_read((s)->cu, (s)->stream, __VA_ARGS__)
#define scene_cuda_has(s, ...)   cuda_has((s)->cu, (s)->stream, __VA_ARGS__)
#define scene_cuda_copy(s, ...)  cuda_copy((s)->cu, (s)->stream, __VA_ARGS__)
void cuda_write(const culv_cuda_api *cu, CUstream stream, CUdeviceptr to, const void *data,
                size_t size);
void cuda_read(const culv_cuda_api *cu, CUstream stream, CUdeviceptr from, void *data, size_t size);
/* Requires that these bytes are there. */
void cuda_has(const culv_cuda_api *cu, CUstream stream, CUdeviceptr from, const void *data,
              size_t size);
/* All layers of an array, by rows without gaps. */
void cuda_copy(const culv_cuda_api *cu, CUstream stream, CUarray array, void *data, size_t row,
               size_t height, size_t layers, bool to_array);

/* Direct3D 11 reads a sub-resource, rows without gaps. */
struct ID3D11Device;
struct ID3D11DeviceContext;
void scene_read11(struct ID3D11Device *device, struct ID3D11DeviceContext *context, void *resource,
                  unsigned index, void *data, size_t row, size_t rows, size_t slices);

/* Work of which each call fails once, the driver's and Direct3D's: the result says so, and nothing
 * is left. */
typedef struct scene_tortured {
    culv_result (*work)(void *user);
    void (*require_none)(void *user);
    void *user;
    void (*fail_at)(unsigned n); /* of Direct3D's calls; NULL: none */
    unsigned (*calls)(void);
    unsigned native; /* how many of them the work makes */
    unsigned least;  /* so many of the driver's calls fail the work */
} scene_tortured;
void scene_torture(const scene_tortured *t);

/* Culvert's calls that many cases make alike, which succeed. A handle stays the caller's. */
culv_memory *scene_import(culv_device *culvert, culv_handle handle, uint64_t size, bool dedicated);
culv_semaphore *scene_timeline(culv_device *culvert, culv_handle handle, uint64_t value);
/* A part of the memory, which the buffer keeps alone; size 0: all that is behind the offset. */
culv_buffer *scene_map(culv_memory *memory, uint64_t offset, uint64_t size);
culv_vmm_allocation *scene_allocate(culv_device *culvert, uint64_t size, uint32_t handle_types);
culv_vmm_range *scene_map_vmm(culv_device *culvert, culv_vmm_allocation *allocation);
void scene_unmap_vmm(culv_vmm_range **range);

/* A section that serves as this share in every process. `name` is for scene_name_lives(), may be
 * NULL. */
HANDLE scene_share(const wchar_t *name, uint32_t type, bool dedicated, uint64_t size);

/* Another thread, which answers 0. */
HANDLE scene_thread(LPTHREAD_START_ROUTINE work, void *user);
void scene_join(HANDLE thread);

/* Bytes that no other seed has. */
void scene_pattern(void *out, size_t size, unsigned seed);
/* Whether some handle of the named section is open. */
bool scene_name_lives(const wchar_t *name);
bool scene_handle_is_open(void *handle);
ULONG scene_references(void *object);

/* Devices of Direct3D 11 and 12 with the twin's CUDA ------------------------------------------- */

#if D3D == 11
#    define NATIVE(name)    scene11_##name
#    define FENCE(name)     ID3D11Fence_##name
#    define FENCE_NAME      "ID3D11Fence"
#    define OVERLAY(name)   overlay11_##name
#    define LIE(name)       OVERLAY11_##name
#    define HANDLE_OF(what) CULV_HANDLE_D3D11_##what
typedef ID3D11Fence native_fence;
#elif D3D == 12
#    define NATIVE(name)    scene12_##name
#    define FENCE(name)     ID3D12Fence_##name
#    define FENCE_NAME      "ID3D12Fence"
#    define OVERLAY(name)   overlay_##name
#    define LIE(name)       OVERLAY_##name
#    define HANDLE_OF(what) CULV_HANDLE_D3D12_##what
typedef ID3D12Fence native_fence;
#endif

#ifdef D3D
typedef struct native {
#    if D3D == 11
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D11DeviceContext4 *context4;
#    else
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *done;
    uint64_t value;   /* of `done`, signaled last */
    ULONG references; /* the device's, before Culvert */
#    endif
    culv_device *culvert;
    culv_d3d_device *d3d;
    const culv_cuda_api *cu;
    CUstream stream;
} native;

/* A device alone; with Culvert attached; and attached with another one. */
void NATIVE(open_device)(native *s);
void NATIVE(open)(native *s);
culv_d3d_device *NATIVE(attach)(const native *s, culv_device *culvert);
/* Requires that nothing is left: of Culvert's, of the twin's, of what is shared, and no reference
 * of the device. */
void NATIVE(close)(native *s);
#    define D3D_CASE(...) TEST_ON(native, s, NATIVE(open)(s), NATIVE(close)(s), __VA_ARGS__)
/* A buffer of Direct3D's, shared by an NT handle, or not at all; one of Culvert's. */
void *NATIVE(memory)(native *s, uint64_t size, bool shared);
culv_shared_buffer *NATIVE(make_buffer)(const native *s, uint64_t size);
/* `shared` finds an import again. */
culv_memory *NATIVE(import)(const native *s, void *object, bool shared);
/* Direct3D writes and reads a buffer from its begin, and it is CUDA's turn, or was. */
void NATIVE(put)(native *s, void *buffer, const void *data, size_t size);
void NATIVE(get)(native *s, void *buffer, void *data, size_t size);
/* A fence; what the queue does with it; the host waits for it. */
native_fence *NATIVE(fence)(const native *s, uint64_t value, bool shared);
HRESULT NATIVE(signal)(native *s, native_fence *fence, uint64_t value);
HRESULT NATIVE(wait)(native *s, native_fence *fence, uint64_t value);
bool NATIVE(reach)(native_fence *fence, uint64_t value, DWORD timeout_ms);
#endif

#if D3D == 11
/* The rows NT handle/keyed mutex, as flags of Direct3D's. */
typedef struct scene11_row {
    UINT misc;
    bool nt, mutex;
} scene11_row;
enum { SCENE11_ROWS = 4 };
extern const scene11_row scene11_rows[SCENE11_ROWS];

ID3D11Resource *scene11_buffer(const native *s, UINT size, UINT misc);
/* One to draw into and to sample. */
D3D11_TEXTURE2D_DESC scene11_texture_desc(DXGI_FORMAT format, UINT width, UINT height, UINT layers,
                                          UINT levels, UINT misc);
/* NULL: Direct3D refuses it with E_INVALIDARG. */
ID3D11Resource *scene11_texture(const native *s, const D3D11_TEXTURE2D_DESC *desc);
IDXGIKeyedMutex *scene11_mutex(ID3D11Resource *resource);
/* Direct3D writes and reads a layer of a texture, by rows without gaps; row 0: a whole buffer. */
void scene11_write(const native *s, ID3D11Resource *resource, UINT layer, const void *data,
                   UINT row);
void scene11_read(const native *s, ID3D11Resource *resource, UINT layer, void *data, UINT row);
#elif D3D == 12
ID3D12Resource *scene12_buffer(native *s, D3D12_HEAP_TYPE type, D3D12_HEAP_FLAGS flags,
                               uint64_t size);
/* In a DEFAULT heap. */
ID3D12Resource *scene12_texture(native *s, D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc);
ID3D12Heap *scene12_heap(native *s, D3D12_HEAP_FLAGS flags, uint64_t size);
ID3D12Resource *scene12_place(const native *s, ID3D12Heap *heap, uint64_t offset,
                              const D3D12_RESOURCE_DESC *desc);
/* The list is open; it runs, and is waited for. False: the device is removed. */
void scene12_begin(native *s);
bool scene12_run(native *s);
/* Direct3D writes and reads a buffer, by its queue; or a subresource of a texture, with rows of so
 * many bytes and no gaps: `out` or `in`. */
bool scene12_write(native *s, ID3D12Resource *buffer, uint64_t offset, const void *data,
                   size_t size);
void scene12_read(native *s, ID3D12Resource *buffer, uint64_t offset, void *data, size_t size);
void scene12_copy_texture(native *s, ID3D12Resource *texture, unsigned subresource, void *out,
                          const void *in);
D3D12_RESOURCE_DESC scene12_desc_of(ID3D12Resource *resource);
D3D12_RESOURCE_DESC scene12_buffer_desc(uint64_t size);
/* A TEXTURE3D with a depth, else a TEXTURE2D with layers. */
D3D12_RESOURCE_DESC scene12_texture_desc(D3D12_RESOURCE_DIMENSION dimension, DXGI_FORMAT format,
                                         unsigned width, unsigned height, unsigned depth,
                                         unsigned levels);
#endif

#endif
