/* SPDX-License-Identifier: MIT */
/* Culvert: shares GPU memory and fences between Direct3D 11 or 12 and CUDA.
 *
 *   culv_device_open_for_d3d((IUnknown *)device, NULL, &culvert);   the CUDA device of that adapter
 *   desc.device = (IUnknown *)device;                               an ID3D11Device or ID3D12Device
 *   culv_d3d_attach(culvert, &desc, &d3d);
 *   buffer_desc.size = n;
 *   culv_d3d_buffer_create(d3d, &buffer_desc, &buffer);             a resource, and a CUdeviceptr
 *   culv_d3d_semaphore_create(d3d, NULL, &semaphore);               a fence of both APIs
 *
 * The calls take COM objects as IUnknown pointers, and find out by QueryInterface() what an object
 * is. In C++ your pointers convert implicitly. An attachment belongs to Direct3D 11 or 12: leave
 * fields of the other API 0, and do not pass it to calls with the other API's name (VALUE).
 *
 * Culvert also shares your own objects: heaps and committed resources of Direct3D 12 that were
 * created with D3D12_HEAP_FLAG_SHARED, textures and buffers of Direct3D 11 that were created with
 * one of the flags D3D11_RESOURCE_MISC_SHARED, _SHARED_KEYEDMUTEX and _SHARED_NTHANDLE
 * (culv_d3d_memory_import()), their keyed mutexes (culv_d3d11_keyed_mutex_import()), and fences
 * that were created with D3D11_FENCE_FLAG_SHARED or D3D12_FENCE_FLAG_SHARED
 * (culv_d3d_semaphore_import()). Culvert makes the shared handle from the COM object: an NT handle,
 * which it closes again, or, for a Direct3D 11 resource without _SHARED_NTHANDLE, a KMT handle. If
 * you have a handle or a name, import it by culv_memory_import(), culv_semaphore_import() or
 * culv_keyed_mutex_import(), with culv_handle_win32() or culv_handle_win32_named().
 *
 * In Direct3D 11, order the two sides by a fence or by the resource's keyed mutex. If you have
 * neither, use ID3D11DeviceContext::Flush() and a query.
 *
 * This header needs neither windows.h nor Direct3D's headers: it only names their structs. On
 * systems other than Windows its calls answer UNSUPPORTED (NOT_BUILT). Culvert holds its own COM
 * references. It calls only two methods that change your objects: Signal() of an ID3D12Fence, and
 * SetEventOnCompletion() of a fence. It uses an ID3D11DeviceContext only for the copies of
 * culv_d3d_shadow_record(), so your context stays on its thread. Pass native objects: objects of a
 * wrapper (Streamline, ReShade, PIX) make no shared handles, and the error says so.
 *
 * It has not run on Windows yet: docs/direct3d.md says what was proved. */
#ifndef CULV_D3D_H_
#define CULV_D3D_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "handle.h"
#include "shared.h"

struct D3D11_TEXTURE2D_DESC;
struct D3D12_RESOURCE_DESC;
struct ID3D11Resource;
struct ID3D12Resource;
struct IUnknown;

CULV_EXTERN_C_BEGIN

/* Keyed mutexes -------------------------------------------------------------------------------- */

/* Keyed mutexes of Direct3D 11 (IDXGIKeyedMutex), acquired and released by CUDA streams.
 *
 * A keyed mutex is part of a texture or a buffer. A release names a key, and only an acquire with
 * that key gets the mutex next. Each side holds the mutex while it uses the memory. */

/** Opaque: an imported keyed mutex. Any thread may call it, one at a time for each object. */
typedef struct culv_keyed_mutex culv_keyed_mutex;

/** A timeout without end: Windows' INFINITE. */
#define CULV_KEYED_MUTEX_INFINITE 0xffffffffu

/** A keyed mutex to import. */
typedef struct culv_keyed_mutex_desc {
    size_t struct_size; /**< Set by culv_keyed_mutex_desc_init(). */
    /** Required: D3D11_KEYED_MUTEX (an NT handle or a name) or D3D11_KEYED_MUTEX_KMT. It is the
     * handle of the texture or the buffer itself. */
    culv_handle handle;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_keyed_mutex_desc;

CULV_INIT(culv_keyed_mutex_desc)

/** Imports a keyed mutex and BORROWS its handle. culv_d3d11_keyed_mutex_import() needs no handle.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE, HANDLE_BAD), UNSUPPORTED
 * (NOT_BUILT: not Windows), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours. A KMT handle keeps nothing alive: the resource must live until
 * the call returns. *out is yours, for culv_keyed_mutex_destroy().
 * Source: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX and _KMT. */
CULV_EXPORT culv_result culv_keyed_mutex_import(culv_device *device,
                                                const culv_keyed_mutex_desc *desc,
                                                culv_keyed_mutex **out);

/** Acquires the mutex for the next work of `stream`, after the other side has released it with
 * `key`. `timeout_ms` is in milliseconds; CULV_KEYED_MUTEX_INFINITE waits for ever. The call may
 * block the calling thread for that time: submit the other side's release first, or on another
 * thread.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE; NOT_READY: CUDA holds it already), TIMEOUT
 * (NOT_READY: it was not released with that key in that time; CUDA does not hold it), DRIVER,
 * ASYNC.
 * Threads: any, one at a time for each object.
 * Source: cuda.h, cuWaitExternalSemaphoresAsync: timeoutMs, CUDA_ERROR_TIMEOUT. */
CULV_EXPORT culv_result culv_keyed_mutex_acquire(culv_keyed_mutex *mutex, CUstream stream,
                                                 uint64_t key, uint32_t timeout_ms);

/** Releases the mutex with `key` after the earlier work in `stream`.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE; NOT_READY: CUDA does not hold it), DRIVER, ASYNC.
 * Threads: any, one at a time for each object. */
CULV_EXPORT culv_result culv_keyed_mutex_release(culv_keyed_mutex *mutex, CUstream stream,
                                                 uint64_t key);

/** Destroys CUDA's import. It does not release the mutex: release it first, or the other side waits
 * in vain. last_use is as in culv_semaphore_destroy(): if it is NULL, CUDA's work should have
 * finished; otherwise the call DEFERS the release. */
CULV_EXPORT void culv_keyed_mutex_destroy(culv_keyed_mutex **mutex, const CUstream *last_use);

/* The device ----------------------------------------------------------------------------------- */

/** Opaque: your ID3D11Device or ID3D12Device, attached to a culv_device. */
typedef struct culv_d3d_device culv_d3d_device;

/** Your device of Direct3D 11 or 12. */
typedef struct culv_d3d_device_desc {
    size_t struct_size; /**< Set by culv_d3d_device_desc_init(). */
    /** Required: the native ID3D11Device of a hardware adapter, or the native ID3D12Device of a
     * single node. */
    struct IUnknown *device;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d_device_desc;

CULV_INIT(culv_d3d_device_desc)

/** Opens the CUDA device of an adapter, by the adapter's LUID. `object` is an ID3D12Device,
 * ID3D11Device, ID3D10Device or IDirect3DDevice9Ex, or an IDXGIAdapter if there is no device yet.
 * `desc` may be NULL.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: it is none of these; DEVICE_GROUP: the ID3D12Device has
 * several linked nodes, which Culvert cannot see for an adapter), NO_DEVICE (the message names
 * every CUDA device with its LUID), UNSUPPORTED (NOT_BUILT: not Windows; USAGE: an IDirect3DDevice9
 * that is no IDirect3DDevice9Ex), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the object stays yours. *out is yours, for culv_device_close().
 * Source: ID3D12Device::GetAdapterLuid, DXGI_ADAPTER_DESC::AdapterLuid,
 * IDirect3D9Ex::GetAdapterLUID; cuda.h, cuDeviceGetLuid. */
CULV_EXPORT culv_result culv_device_open_for_d3d(struct IUnknown *object,
                                                 const culv_device_desc *desc, culv_device **out);

/** Attaches an ID3D11Device or ID3D12Device to the culv_device of the same adapter.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: it is neither of the two; DEVICE_MISMATCH: it
 * is another adapter; DEVICE_GROUP: linked nodes), UNSUPPORTED (NOT_BUILT: not Windows), DRIVER,
 * OUT_OF_MEMORY.
 * Ownership: Culvert takes a COM reference. *out is yours, for culv_d3d_detach(). */
CULV_EXPORT culv_result culv_d3d_attach(culv_device *device, const culv_d3d_device_desc *desc,
                                        culv_d3d_device **out);

/** Ends the attachment. Objects made with it stay valid, and keep it and the Direct3D device. */
CULV_EXPORT void culv_d3d_detach(culv_d3d_device **d3d);

/** Tells Culvert that Direct3D's device is removed. Call it if one of your own calls reports that.
 * The rings of the attachment stop, CUDA no longer waits for its fences, and no destroy of its
 * objects waits for it: see culv_vk_device_lost().
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT: not Windows).
 * Ownership: none; destroy what you made with the attachment, then call culv_d3d_detach().
 * Source: ID3D11Device::GetDeviceRemovedReason, ID3D12Device::GetDeviceRemovedReason. */
CULV_EXPORT culv_result culv_d3d_device_lost(culv_d3d_device *d3d);

/** Makes a new shared handle of a heap, a resource or a fence, for another process or library. If
 * the object can have an NT handle, it is one, and `name` is its name or NULL. Otherwise it is the
 * KMT handle of a Direct3D 11 resource, which has no name and keeps nothing alive.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: another object has the name, or `name` is given for a KMT
 * handle; HANDLE_KIND; NOT_EXPORTABLE: the object was created without its flag, or is a placed
 * resource), UNSUPPORTED (NOT_BUILT; NOT_EXPORTABLE: the device makes no shared handles, like a
 * wrapper), DRIVER, ASYNC (the device is removed).
 * Ownership: *out is yours, for culv_handle_close(), which does nothing to a KMT handle.
 * Source: ID3D12Device::CreateSharedHandle, IDXGIResource1::CreateSharedHandle,
 * IDXGIResource::GetSharedHandle, ID3D11Fence::CreateSharedHandle. */
CULV_EXPORT culv_result culv_d3d_export_dup(culv_d3d_device *d3d, struct IUnknown *object,
                                            const wchar_t *name, culv_handle *out);

/* Your own memory ------------------------------------------------------------------------------ */

/** Your heap, texture or buffer to import. */
typedef struct culv_d3d_memory_desc {
    size_t struct_size; /**< Set by culv_d3d_memory_desc_init(). */
    /** Required. Direct3D 12: a heap created with D3D12_HEAP_FLAG_SHARED, whose placed resources
     * are mapped at their heap offsets; or a committed resource created with that flag. A placed
     * resource is shared only by its heap. Direct3D 11: a texture or a buffer created with
     * D3D11_RESOURCE_MISC_SHARED or D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, and with
     * D3D11_RESOURCE_MISC_SHARED_NTHANDLE or without it. */
    struct IUnknown *object;
    /** Direct3D 11: bytes of the memory, for CUDA. Default: a buffer's ByteWidth, or the size of a
     * texture's texels without gaps, because Direct3D 11 does not report the size of a texture. */
    uint64_t size;
    /** Nonzero: all imports of the same object are one import, and each *out is a reference to it.
     * Keep the object until you have destroyed the import and its mappings, because a later object
     * may have its address. Tensors (culv_buffer_get_dlpack()) do not count. Default: 0. */
    culv_bool shared;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d_memory_desc;

CULV_INIT(culv_d3d_memory_desc)

/** Imports your heap, texture or buffer into CUDA. Map buffers by culv_buffer_map(), textures by
 * culv_d3d_image_map(). If a resource has a keyed mutex, CUDA may use it only while it holds the
 * mutex (culv_d3d11_keyed_mutex_import()).
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_KIND, VALUE, NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,
 * NOT_EXPORTABLE), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the object stays yours. *out is yours, for culv_memory_destroy().
 * Source: cuda.h, CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP, _D3D12_RESOURCE, _D3D11_RESOURCE and
 * _D3D11_RESOURCE_KMT; ID3D12Device::GetResourceAllocationInfo. */
CULV_EXPORT culv_result culv_d3d_memory_import(culv_d3d_device *d3d,
                                               const culv_d3d_memory_desc *desc, culv_memory **out);

/** Your texture in imported memory. Culvert reads the other properties from the resource. */
typedef struct culv_d3d_image_desc {
    size_t struct_size;        /**< Set by culv_d3d_image_desc_init(). */
    struct IUnknown *resource; /**< Required: an ID3D11Resource or an ID3D12Resource. */
    uint64_t offset;           /**< HeapOffset of a placed resource of Direct3D 12, otherwise 0. */
    /** Nonzero: kernels see a cube, or an array of cubes (SRV dimension TEXTURECUBE or
     * TEXTURECUBEARRAY). The resource itself is a 2D array of 6n square layers. */
    culv_bool cube;
    /** DXGI_FORMAT that CUDA uses for a TYPELESS resource, of the same family, as for a view.
     * Default: the resource's own format, which must then not be TYPELESS. */
    uint32_t format;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: the import's label. */
} culv_d3d_image_desc;

CULV_INIT(culv_d3d_image_desc)

/** Maps a texture of the import: extents, layers, levels, format and CUDA's flags come from the
 * resource. CUDA may use a Direct3D 12 texture only while its state is D3D12_RESOURCE_STATE_COMMON.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_KIND; VALUE: an offset in Direct3D 11; FORMAT: a TYPELESS
 * resource without a `format`, or one that is not of its family; EXTENT: not a cube; RANGE: an
 * offset, or memory of another resource, which Culvert detects only if the memory was imported from
 * a resource; DEDICATED), UNSUPPORTED (FORMAT: no CUDA array has it; USAGE: a multisampled texture,
 * a buffer, a row-major layout; NOT_BUILT), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_image_unmap(); it keeps the import alive.
 * Source: CUDA Programming Guide, "Mapping Mipmapped Arrays onto Imported Memory Objects". */
CULV_EXPORT culv_result culv_d3d_image_map(culv_d3d_device *d3d, culv_memory *memory,
                                           const culv_d3d_image_desc *desc, culv_image **out);

/** Imports the keyed mutex of your texture or buffer of Direct3D 11, which was created with
 * D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX. `label` may be NULL.
 *
 * On the Direct3D side compare the result of IDXGIKeyedMutex::AcquireSync() with S_OK: SUCCEEDED()
 * is true for WAIT_TIMEOUT and WAIT_ABANDONED.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the attachment belongs to Direct3D 12; NOT_EXPORTABLE: the
 * resource has no keyed mutex), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER (also
 * HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the resource stays yours. *out is yours, for culv_keyed_mutex_destroy().
 * Source: CUDA Programming Guide, "Importing Synchronization Objects" (Direct3D 11). */
CULV_EXPORT culv_result culv_d3d11_keyed_mutex_import(culv_d3d_device *d3d,
                                                      struct ID3D11Resource *resource,
                                                      const char *label, culv_keyed_mutex **out);

/* Memory that Culvert makes -------------------------------------------------------------------- */

/** A buffer for Culvert to make. */
typedef struct culv_d3d_buffer_create_desc {
    size_t struct_size;      /**< Set by culv_d3d_buffer_create_desc_init(). */
    uint64_t size;           /**< Required: bytes. In Direct3D 11 less than 4 GiB. */
    uint32_t resource_flags; /**< Direct3D 12: D3D12_RESOURCE_FLAGS. Default: none. */
    uint32_t bind_flags; /**< Direct3D 11: D3D11_BIND_FLAG. Default: D3D11_BIND_SHADER_RESOURCE. */
    /** Direct3D 11: D3D11_RESOURCE_MISC_FLAG without the sharing flags. Default: none. */
    uint32_t misc_flags;
    uint32_t stride;       /**< Direct3D 11: StructureByteStride. Default: 0. */
    culv_bool keyed_mutex; /**< Direct3D 11: nonzero for a keyed mutex. Default: 0. */
    culv_bool kmt;     /**< Direct3D 11: nonzero to share by a KMT handle. Default: an NT handle. */
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d_buffer_create_desc;

CULV_INIT(culv_d3d_buffer_create_desc)

/** A texture for Culvert to make. */
typedef struct culv_d3d_image_create_desc {
    size_t struct_size; /**< Set by culv_d3d_image_create_desc_init(). */
    /** Required in Direct3D 11: description for CreateTexture2D(), read during the call. Culvert
     * adds the sharing flags. Direct3D 11 shares only 2D textures. */
    const struct D3D11_TEXTURE2D_DESC *texture_desc;
    /** Required in Direct3D 12: description for CreateCommittedResource(), read during the call. */
    const struct D3D12_RESOURCE_DESC *resource_desc;
    culv_bool cube;        /**< As culv_d3d_image_desc::cube. */
    uint32_t format;       /**< As culv_d3d_image_desc::format. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    culv_bool keyed_mutex; /**< As culv_d3d_buffer_create_desc::keyed_mutex. */
    culv_bool kmt;         /**< As culv_d3d_buffer_create_desc::kmt. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d_image_create_desc;

CULV_INIT(culv_d3d_image_create_desc)

/** Makes a buffer, imports it into CUDA and maps it: all or nothing. In Direct3D 11 its usage is
 * D3D11_USAGE_DEFAULT. In Direct3D 12 it is committed in a shared DEFAULT heap, in the state
 * COMMON, and Direct3D fills it with zeros.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; VALUE: a field of the other API;
 * NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive. */
CULV_EXPORT culv_result culv_d3d_buffer_create(culv_d3d_device *d3d,
                                               const culv_d3d_buffer_create_desc *desc,
                                               culv_shared_buffer **out);

/** Returns the buffer's ID3D11Buffer or ID3D12Resource (cast it to that), or NULL for NULL.
 * Ownership: Culvert owns it; call AddRef() to keep it longer. */
CULV_EXPORT struct IUnknown *culv_d3d_buffer_resource(const culv_shared_buffer *buffer);

/** Makes a texture, imports it into CUDA and maps it: all or nothing. In Direct3D 12 it is
 * committed in a shared DEFAULT heap, in the state COMMON.
 * Errors: as culv_d3d_image_map() and culv_d3d_buffer_create().
 * Ownership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive. */
CULV_EXPORT culv_result culv_d3d_image_create(culv_d3d_device *d3d,
                                              const culv_d3d_image_create_desc *desc,
                                              culv_shared_image **out);

/** Returns the image's ID3D11Texture2D or ID3D12Resource (cast it to that), or NULL for NULL.
 * Ownership: Culvert owns it; call AddRef() to keep it longer. */
CULV_EXPORT struct IUnknown *culv_d3d_image_resource(const culv_shared_image *image);

/* Textures that cannot be shared --------------------------------------------------------------- */

/** Opaque: a shadow. It is a shared copy of an engine's texture that cannot be shared: one without
 * a sharing flag, or, in Direct3D 11, one with several levels. */
typedef struct culv_d3d_shadow culv_d3d_shadow;

/** The texture of a shadow. */
typedef struct culv_d3d_shadow_desc {
    size_t struct_size; /**< Set by culv_d3d_shadow_desc_init(). */
    /** Required: the texture. Culvert only copies it. In Direct3D 11 it is an ID3D11Texture2D of
     * D3D11_USAGE_DEFAULT. The shadow then has only the first mip level, because Direct3D 11 shares
     * only textures of one level. */
    struct IUnknown *resource;
    culv_bool cube;        /**< As culv_d3d_image_desc::cube. */
    uint32_t format;       /**< As culv_d3d_image_desc::format. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    /** Direct3D 11: nonzero for a keyed mutex, which Direct3D must hold while it copies. Import it
     * by culv_d3d11_keyed_mutex_import() of culv_d3d_image_resource(). Default: 0: use a fence. */
    culv_bool keyed_mutex;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d_shadow_desc;

CULV_INIT(culv_d3d_shadow_desc)

/** Makes a texture like yours that is shared with CUDA. It copies nothing: call
 * culv_d3d_shadow_record(). A warning in the log says that there is a copy.
 * Errors: as culv_d3d_image_create(); INVALID (HANDLE_KIND; in Direct3D 11 USAGE: no 2D texture;
 * DEVICE_MISMATCH: the texture belongs to another device).
 * Ownership: Culvert takes a COM reference to your texture. *out is yours, for
 * culv_d3d_shadow_destroy(). */
CULV_EXPORT culv_result culv_d3d_shadow_create(culv_d3d_device *d3d,
                                               const culv_d3d_shadow_desc *desc,
                                               culv_d3d_shadow **out);

/** Records a copy of your texture to the shadow, for CUDA to read, or, if `from_twin` is nonzero, a
 * copy of the shadow to your texture.
 *
 * In Direct3D 12 `commands` is your open ID3D12GraphicsCommandList, and `state` is your texture's
 * D3D12_RESOURCE_STATES before and after the copy; the shadow's state is COMMON then. In Direct3D
 * 11 `commands` is an ID3D11DeviceContext of the texture's device, immediate or deferred, and
 * `state` is 0. The call copies the first level of all layers. After it, signal the fence that CUDA
 * waits for, and call Flush().
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_KIND; VALUE: a state in Direct3D 11; DEVICE_MISMATCH: the
 * context belongs to another device), UNSUPPORTED (NOT_BUILT).
 * Ownership: the list or the context stays yours. The shadow must live until the GPU has run the
 * copy.
 * Threads: the thread that uses the list or the context.
 * Source: ID3D12GraphicsCommandList::CopyResource, ID3D11DeviceContext::CopySubresourceRegion. */
CULV_EXPORT culv_result culv_d3d_shadow_record(culv_d3d_shadow *shadow, struct IUnknown *commands,
                                               uint32_t state, culv_bool from_twin);

/** Returns the shared texture, or NULL for NULL.
 * Ownership: the shadow owns and destroys it; culv_shared_image_destroy() refuses it (OWNED). */
CULV_EXPORT const culv_shared_image *culv_d3d_shadow_image(const culv_d3d_shadow *shadow);

/** Destroys the shadow and releases Culvert's reference to your texture. Direct3D's work with the
 * shadow must be done. CUDA's work should have finished too, as for culv_shared_image_destroy(). */
CULV_EXPORT void culv_d3d_shadow_destroy(culv_d3d_shadow **shadow);

/* Fences --------------------------------------------------------------------------------------- */

/** Imports your ID3D11Fence or ID3D12Fence, which was created with D3D11_FENCE_FLAG_SHARED or
 * D3D12_FENCE_FLAG_SHARED, as a timeline. Signals must exceed its present value. Culvert sees a
 * later signal by Direct3D only when the GPU has reached it: report its value earlier by
 * culv_semaphore_mark_value(). `label` may be NULL.
 *
 * A stream may wait for a value before its signal is submitted, as for Vulkan's timelines. But the
 * CUDA Programming Guide calls that illegal for all semaphores, and it was tested only with Vulkan:
 * submit the signal first if you can.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_KIND; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,
 * NOT_EXPORTABLE), DRIVER (also HANDLE_REFUSED), ASYNC (the device is removed), OUT_OF_MEMORY.
 * Ownership: the fence stays yours; Culvert holds a reference until the semaphore is destroyed.
 * *out is yours, for culv_semaphore_destroy().
 * Source: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE and _D3D11_FENCE. */
CULV_EXPORT culv_result culv_d3d_semaphore_import(culv_d3d_device *d3d, struct IUnknown *fence,
                                                  const char *label, culv_semaphore **out);

/** A fence for Culvert to make. */
typedef struct culv_d3d_semaphore_create_desc {
    size_t struct_size;     /**< Set by culv_d3d_semaphore_create_desc_init(). */
    uint64_t initial_value; /**< Initial value, as for CreateFence(). */
    const char *label;      /**< Copied (up to 63 bytes). Default: none. */
    /** Direct3D 12: CULV_FALLBACK_HOST lets host functions signal the fence and wait for it if it
     * cannot be shared (culvert/shared.h). Default: none. */
    uint32_t fallback;
} culv_d3d_semaphore_create_desc;

/** culv_d3d_semaphore_create_desc_init(): a fence at 0. */
CULV_INIT(culv_d3d_semaphore_create_desc)

/** Makes a shared fence and imports it into CUDA: all or nothing. `desc` may be NULL.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT;
 * NOT_EXPORTABLE: also a device without ID3D11Device5, which Windows has since 10 1703; PEER if no
 * fallback is left), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive. */
CULV_EXPORT culv_result culv_d3d_semaphore_create(culv_d3d_device *d3d,
                                                  const culv_d3d_semaphore_create_desc *desc,
                                                  culv_shared_semaphore **out);

/** Returns the semaphore's ID3D11Fence or ID3D12Fence (cast it to that), or NULL for NULL. Use it
 * for Signal() and Wait() of an ID3D12CommandQueue or ID3D11DeviceContext4. Culvert does not see a
 * Signal(): report its value by culv_semaphore_mark_value(). Direct3D 11 queues a Signal() like a
 * draw: call Flush() after it, before CUDA waits for the value.
 * Ownership: Culvert owns it; call AddRef() to keep it longer.
 * Source: ID3D11DeviceContext::Flush. */
CULV_EXPORT struct IUnknown *culv_d3d_semaphore_fence(const culv_shared_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
