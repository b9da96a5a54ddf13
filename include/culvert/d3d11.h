/* SPDX-License-Identifier: MIT */
/* Culvert: shares GPU memory and fences between Direct3D 11 and CUDA.
 *
 *   culv_device_open_for_d3d11(device, NULL, &culvert);      the CUDA device of that adapter
 *   desc.device = device;
 *   culv_d3d11_attach(culvert, &desc, &d3d11);
 *   buffer_desc.size = n;
 *   culv_d3d11_buffer_create(d3d11, &buffer_desc, &buffer);  an ID3D11Buffer, and a CUdeviceptr
 *   culv_d3d11_semaphore_create(d3d11, NULL, &semaphore);    a fence of both
 *
 * Culvert also shares your own objects: textures and buffers that were created with one of the
 * flags D3D11_RESOURCE_MISC_SHARED, _SHARED_KEYEDMUTEX and _SHARED_NTHANDLE
 * (culv_d3d11_memory_import()), their keyed mutexes (culv_d3d11_keyed_mutex_import()), and fences
 * (culv_d3d11_semaphore_import()). Culvert makes the shared handle from the COM object: an NT
 * handle, which it closes again, if the resource has _SHARED_NTHANDLE, and a KMT handle otherwise.
 * If you have a handle or a name, import it by culv_memory_import(),
 * culv_semaphore_import() or culv_keyed_mutex_import().
 *
 * Order the two sides by a fence or by the resource's keyed mutex. Without these, Direct3D 11 has
 * only ID3D11DeviceContext::Flush() and a query.
 *
 * This header needs neither windows.h nor d3d11.h. On other systems its calls answer UNSUPPORTED
 * (NOT_BUILT). Culvert makes no call on an ID3D11DeviceContext, so yours stays on its thread. Pass
 * native objects: those of a wrapper (Streamline, ReShade) make no shared handles, and the error
 * says so.
 *
 * It has not run on Windows yet: docs/direct3d.md says what was proved. */
#ifndef CULV_D3D11_H_
#define CULV_D3D11_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d11.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "keyed_mutex.h"
#include "shared.h"

struct D3D11_TEXTURE2D_DESC;
struct ID3D11Device;
struct ID3D11DeviceContext;
struct ID3D11Fence;
struct ID3D11Resource;
struct IUnknown;

CULV_EXTERN_C_BEGIN

/* The device ----------------------------------------------------------------------------------- */

/** Opaque: your ID3D11Device, attached to a culv_device. */
typedef struct culv_d3d11_device culv_d3d11_device;

/** Your ID3D11Device. */
typedef struct culv_d3d11_device_desc {
    size_t struct_size;          /**< Set by culv_d3d11_device_desc_init(). */
    struct ID3D11Device *device; /**< Required: the native one, of a hardware adapter. */
    const char *label;           /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d11_device_desc;

CULV_INIT(culv_d3d11_device_desc)

/** Opens the CUDA device of an ID3D11Device's adapter, by the adapter's LUID. `desc` may be NULL.
 * culv_device_open_for_dxgi() (culvert/d3d12.h) takes an adapter.
 * Errors: INVALID (NULL_ARGUMENT), NO_DEVICE (the message names every CUDA device with its LUID),
 * UNSUPPORTED (NOT_BUILT: not Windows), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the ID3D11Device stays yours. *out is yours, for culv_device_close(). Threads: any.
 * Source: IDXGIDevice::GetAdapter, DXGI_ADAPTER_DESC::AdapterLuid; cuda.h, cuDeviceGetLuid. */
CULV_EXPORT culv_result culv_device_open_for_d3d11(struct ID3D11Device *device,
                                                   const culv_device_desc *desc, culv_device **out);

/** Attaches an ID3D11Device to the culv_device of the same adapter.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; DEVICE_MISMATCH: it is another adapter), UNSUPPORTED
 * (NOT_BUILT: not Windows), DRIVER, OUT_OF_MEMORY.
 * Ownership: Culvert takes a COM reference. *out is yours, for culv_d3d11_detach().
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d11_attach(culv_device *device, const culv_d3d11_device_desc *desc,
                                          culv_d3d11_device **out);

/** Ends the attachment. Objects made with it live on, and keep it and the ID3D11Device.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_d3d11_detach(culv_d3d11_device **d3d11);

/** Tells Culvert that the ID3D11Device is removed. Call it if one of your own calls answers so.
 * CUDA then no longer waits for its fences, and no destroy of its objects waits for it: see
 * culv_vk_device_lost().
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT: not Windows).
 * Ownership: none; destroy what you made with the attachment, then call culv_d3d11_detach().
 * Threads: any.
 * Source: ID3D11Device::GetDeviceRemovedReason. */
CULV_EXPORT culv_result culv_d3d11_device_lost(culv_d3d11_device *d3d11);

/** Makes a shared handle of a texture, a buffer or a fence, for another process or library.
 * `object` is any of its COM interfaces. It is an NT handle if the object has one, with `name` if
 * that is not NULL; otherwise the resource's KMT handle, which has no name and keeps nothing alive.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: another object has the name, or `name` is given for a KMT
 * handle; HANDLE_KIND; NOT_EXPORTABLE: the object was created without its flag), UNSUPPORTED
 * (NOT_BUILT; NOT_EXPORTABLE: the device makes no shared handles, as a wrapper does), DRIVER, ASYNC
 * (the device is removed).
 * Ownership: *out is yours, for culv_handle_close(), which does nothing to a KMT handle.
 * Threads: any.
 * Source: IDXGIResource1::CreateSharedHandle, IDXGIResource::GetSharedHandle,
 * ID3D11Fence::CreateSharedHandle. */
CULV_EXPORT culv_result culv_d3d11_export_dup(culv_d3d11_device *d3d11, struct IUnknown *object,
                                              const wchar_t *name, culv_handle *out);

/* Your own memory ------------------------------------------------------------------------------ */

/** Your texture or buffer to import. */
typedef struct culv_d3d11_memory_desc {
    size_t struct_size; /**< Set by culv_d3d11_memory_desc_init(). */
    /** Required: created with D3D11_RESOURCE_MISC_SHARED or D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX,
     * and with D3D11_RESOURCE_MISC_SHARED_NTHANDLE or without it. */
    struct ID3D11Resource *resource;
    /** Bytes of the memory, for CUDA. Default: a buffer's ByteWidth; a texture's texels without
     * gaps. Direct3D 11 does not report the size of a texture. */
    uint64_t size;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d11_memory_desc;

CULV_INIT(culv_d3d11_memory_desc)

/** Imports your texture or buffer into CUDA. Map buffers by culv_buffer_map(), textures by
 * culv_d3d11_image_map(). If a resource has a keyed mutex, CUDA may use it only while it holds the
 * mutex (culv_d3d11_keyed_mutex_import()).
 * Errors: INVALID (NULL_ARGUMENT, NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER
 * (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the resource stays yours. *out is yours, for culv_memory_destroy(). Threads: any.
 * Source: cuda.h, CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE and _KMT. */
CULV_EXPORT culv_result culv_d3d11_memory_import(culv_d3d11_device *d3d11,
                                                 const culv_d3d11_memory_desc *desc,
                                                 culv_memory **out);

/** Does what culv_d3d11_memory_import() does, but counts references to one import of the same
 * object.
 * Errors: as culv_d3d11_memory_import().
 * Ownership: each *out is yours, for culv_memory_destroy(). The object must live until you have
 * destroyed the import and its mappings: another object may have its address afterwards. Tensors
 * (culv_buffer_get_dlpack()) do not count.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d11_memory_import_shared(culv_d3d11_device *d3d11,
                                                        const culv_d3d11_memory_desc *desc,
                                                        culv_memory **out);

/** Your texture in imported memory. Culvert reads the other properties from the resource. */
typedef struct culv_d3d11_image_desc {
    size_t struct_size;              /**< Set by culv_d3d11_image_desc_init(). */
    struct ID3D11Resource *resource; /**< Required. */
    /** Nonzero: kernels see a cube, or an array of cubes (SRV dimension TEXTURECUBE or
     * TEXTURECUBEARRAY). The resource is a 2D array of 6n square layers. */
    culv_bool cube;
    /** The DXGI_FORMAT in CUDA for a TYPELESS resource: one of its family, as for a view. Default:
     * the resource's own format, which must not be TYPELESS then. */
    uint32_t format;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: the import's. */
} culv_d3d11_image_desc;

CULV_INIT(culv_d3d11_image_desc)

/** Maps a texture of the import: extents, layers, levels, format and CUDA's flags come from the
 * resource.
 * Errors: INVALID (NULL_ARGUMENT; FORMAT: a TYPELESS resource without a `format`, or one that is
 * not of its family; EXTENT: not a cube; RANGE; DEDICATED), UNSUPPORTED (FORMAT: no CUDA array has
 * it; USAGE: a multisampled texture, a buffer; NOT_BUILT), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_image_unmap(); it keeps the import alive. Threads: any.
 * Source: CUDA Programming Guide, "Mapping Mipmapped Arrays onto Imported Memory Objects". */
CULV_EXPORT culv_result culv_d3d11_image_map(culv_d3d11_device *d3d11, culv_memory *memory,
                                             const culv_d3d11_image_desc *desc, culv_image **out);

/** Imports the keyed mutex of your texture or buffer, which was created with
 * D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX. `label` may be NULL.
 *
 * On the Direct3D side compare the result of IDXGIKeyedMutex::AcquireSync() with S_OK: SUCCEEDED()
 * is true for WAIT_TIMEOUT and WAIT_ABANDONED.
 * Errors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE: it has no keyed mutex), UNSUPPORTED (NOT_BUILT,
 * NOT_EXPORTABLE), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the resource stays yours. *out is yours, for culv_keyed_mutex_destroy(). Threads: any.
 * Source: CUDA Programming Guide, "Importing Synchronization Objects" (Direct3D 11). */
CULV_EXPORT culv_result culv_d3d11_keyed_mutex_import(culv_d3d11_device *d3d11,
                                                      struct ID3D11Resource *resource,
                                                      const char *label, culv_keyed_mutex **out);

/* Memory that Culvert makes -------------------------------------------------------------------- */

/** A buffer for Culvert to make. */
typedef struct culv_d3d11_buffer_create_desc {
    size_t struct_size;    /**< Set by culv_d3d11_buffer_create_desc_init(). */
    uint64_t size;         /**< Required: bytes, less than 4 GiB. */
    uint32_t bind_flags;   /**< D3D11_BIND_FLAG. Default: D3D11_BIND_SHADER_RESOURCE. */
    uint32_t misc_flags;   /**< D3D11_RESOURCE_MISC_FLAG besides those of sharing. Default: none. */
    uint32_t stride;       /**< StructureByteStride. Default: 0. */
    culv_bool keyed_mutex; /**< Nonzero: with a keyed mutex. Default: 0. */
    culv_bool kmt;         /**< Nonzero: shared by a KMT handle. Default: by an NT handle. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d11_buffer_create_desc;

CULV_INIT(culv_d3d11_buffer_create_desc)

/** A texture for Culvert to make. */
typedef struct culv_d3d11_image_create_desc {
    size_t struct_size; /**< Set by culv_d3d11_image_create_desc_init(). */
    /** Required: the description for CreateTexture2D(), without sharing flags, which Culvert adds.
     * Direct3D 11 shares no other textures. Read during the call. */
    const struct D3D11_TEXTURE2D_DESC *resource_desc;
    culv_bool cube;        /**< As culv_d3d11_image_desc::cube. */
    uint32_t format;       /**< As culv_d3d11_image_desc::format. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    culv_bool keyed_mutex; /**< Nonzero: with a keyed mutex. Default: 0. */
    culv_bool kmt;         /**< Nonzero: shared by a KMT handle. Default: by an NT handle. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d11_image_create_desc;

CULV_INIT(culv_d3d11_image_create_desc)

/** Makes a buffer of D3D11_USAGE_DEFAULT, imports it into CUDA and maps it: all or nothing.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,
 * NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d11_buffer_create(culv_d3d11_device *d3d11,
                                                 const culv_d3d11_buffer_create_desc *desc,
                                                 culv_shared_buffer **out);

/** Returns the ID3D11Buffer, as a resource. NULL for NULL.
 * Ownership: Culvert's; AddRef() it to keep it longer. Threads: any. */
CULV_EXPORT struct ID3D11Resource *culv_d3d11_buffer_resource(const culv_shared_buffer *buffer);

/** Makes a texture, imports it into CUDA and maps it: all or nothing.
 * Errors: as culv_d3d11_image_map() and culv_d3d11_buffer_create().
 * Ownership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d11_image_create(culv_d3d11_device *d3d11,
                                                const culv_d3d11_image_create_desc *desc,
                                                culv_shared_image **out);

/** Returns the ID3D11Texture2D, as a resource. NULL for NULL.
 * Ownership: Culvert's; AddRef() it to keep it longer. Threads: any. */
CULV_EXPORT struct ID3D11Resource *culv_d3d11_image_resource(const culv_shared_image *image);

/* Textures that cannot be shared --------------------------------------------------------------- */

/** Opaque: a shadow, that is, a shared copy of an engine's texture that was created without a
 * sharing flag, or with levels. */
typedef struct culv_d3d11_shadow culv_d3d11_shadow;

/** The texture of a shadow. */
typedef struct culv_d3d11_shadow_desc {
    size_t struct_size; /**< Set by culv_d3d11_shadow_desc_init(). */
    /** Required: an ID3D11Texture2D of D3D11_USAGE_DEFAULT, which is only copied. The shadow has
     * only the first mip level: Direct3D 11 shares textures of one level. */
    struct ID3D11Resource *resource;
    culv_bool cube;        /**< As culv_d3d11_image_desc::cube. */
    uint32_t format;       /**< As culv_d3d11_image_desc::format. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    /** Nonzero: the shadow has a keyed mutex (culv_d3d11_keyed_mutex_import() of
     * culv_d3d11_image_resource()), and Direct3D must hold it while it copies. Default: 0; order
     * both sides by a fence. */
    culv_bool keyed_mutex;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d11_shadow_desc;

CULV_INIT(culv_d3d11_shadow_desc)

/** Makes a texture like yours that is shared with CUDA. It copies nothing by itself: call
 * culv_d3d11_shadow_record(). A warning in the log says that there is a copy.
 * Errors: as culv_d3d11_image_create(); INVALID (USAGE: no 2D texture; DEVICE_MISMATCH: the texture
 * is of another device).
 * Ownership: Culvert takes a COM reference of your texture. *out is yours, for
 * culv_d3d11_shadow_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d11_shadow_create(culv_d3d11_device *d3d11,
                                                 const culv_d3d11_shadow_desc *desc,
                                                 culv_d3d11_shadow **out);

/** Records a copy of all layers by a context of the texture's device, immediate or deferred: to the
 * shadow, for CUDA to read; or, with `from_twin`, back into the first level of your texture. After
 * it, signal the fence that CUDA waits for, and call Flush().
 * Errors: INVALID (NULL_ARGUMENT; DEVICE_MISMATCH: the context is another device's), UNSUPPORTED
 * (NOT_BUILT).
 * Ownership: the context stays yours. The shadow must live until the GPU has run the copy.
 * Threads: the context's.
 * Source: ID3D11DeviceContext::CopySubresourceRegion. */
CULV_EXPORT culv_result culv_d3d11_shadow_record(culv_d3d11_shadow *shadow,
                                                 struct ID3D11DeviceContext *context,
                                                 culv_bool from_twin);

/** Returns the number of recorded copies. 0 for NULL. Threads: any. */
CULV_EXPORT uint64_t culv_d3d11_shadow_copies(const culv_d3d11_shadow *shadow);

/** Returns the shared texture. NULL for NULL.
 * Ownership: the shadow's, which destroys it; culv_shared_image_destroy() refuses it (OWNED).
 * Threads: any. */
CULV_EXPORT const culv_shared_image *culv_d3d11_shadow_image(const culv_d3d11_shadow *shadow);

/** Destroys the shadow and releases Culvert's reference of your texture. Direct3D's work with the
 * shadow must be done. CUDA's should be, as for culv_shared_image_destroy().
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_d3d11_shadow_destroy(culv_d3d11_shadow **shadow);

/* Fences --------------------------------------------------------------------------------------- */

/** Imports your fence, which was created with D3D11_FENCE_FLAG_SHARED, as a timeline. Signals must
 * exceed its present value. `label` may be NULL.
 *
 * The CUDA guide calls a wait before its signal illegal: submit the signal first if you can.
 * Errors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER
 * (also HANDLE_REFUSED), ASYNC (the device is removed), OUT_OF_MEMORY.
 * Ownership: the fence stays yours; Culvert holds a reference until the semaphore is destroyed.
 * *out is yours, for culv_semaphore_destroy().
 * Threads: any.
 * Source: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE. */
CULV_EXPORT culv_result culv_d3d11_semaphore_import(culv_d3d11_device *d3d11,
                                                    struct ID3D11Fence *fence, const char *label,
                                                    culv_semaphore **out);

/** A fence for Culvert to make. */
typedef struct culv_d3d11_semaphore_create_desc {
    size_t struct_size;     /**< Set by culv_d3d11_semaphore_create_desc_init(). */
    uint64_t initial_value; /**< Initial value, as for ID3D11Device5::CreateFence(). */
    const char *label;      /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d11_semaphore_create_desc;

/** culv_d3d11_semaphore_create_desc_init(): a fence at 0. */
CULV_INIT(culv_d3d11_semaphore_create_desc)

/** Makes a shared fence and imports it into CUDA: all or nothing. `desc` may be NULL.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT;
 * NOT_EXPORTABLE: also a device without ID3D11Device5, which Windows 10 1703 has), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d11_semaphore_create(culv_d3d11_device *d3d11,
                                                    const culv_d3d11_semaphore_create_desc *desc,
                                                    culv_shared_semaphore **out);

/** Returns the fence, for ID3D11DeviceContext4::Signal() and Wait(). Culvert does not see that
 * Signal(): report its value by culv_semaphore_mark_value(). Direct3D 11 queues it like a draw:
 * call Flush() after it, before CUDA waits for the value. NULL for NULL.
 * Ownership: Culvert's; AddRef() it to keep it longer. Threads: any.
 * Source: ID3D11DeviceContext::Flush. */
CULV_EXPORT struct ID3D11Fence *culv_d3d11_semaphore_fence(const culv_shared_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
