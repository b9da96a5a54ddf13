/* SPDX-License-Identifier: MIT */
/* Culvert: shares GPU memory and fences between Direct3D 12 and CUDA.
 *
 *   culv_device_open_for_d3d12(device, NULL, &culvert);      the CUDA device of that adapter
 *   desc.device = device;
 *   culv_d3d12_attach(culvert, &desc, &d3d12);
 *   buffer_desc.size = n;
 *   culv_d3d12_buffer_create(d3d12, &buffer_desc, &buffer);  a resource, and a CUdeviceptr to it
 *   culv_d3d12_semaphore_create(d3d12, NULL, &semaphore);    a fence of both
 *
 * Culvert also shares your own objects: heaps and committed resources that were created with
 * D3D12_HEAP_FLAG_SHARED (culv_d3d12_memory_import()), and fences created with
 * D3D12_FENCE_FLAG_SHARED (culv_d3d12_semaphore_import()). Culvert makes the shared handle from the
 * COM object and closes it again. If you have a handle or a name, import it by
 * culv_memory_import() or culv_semaphore_import(), with culv_handle_win32() or
 * culv_handle_win32_named().
 *
 * This header needs neither windows.h nor d3d12.h: it only names their structs. On other systems
 * its calls answer UNSUPPORTED (NOT_BUILT).
 *
 * Culvert holds its own COM references. The only methods that it calls and that change an object
 * are a fence's Signal() and SetEventOnCompletion(). Pass native objects: those of a wrapper
 * (Streamline, ReShade, PIX) make no shared handles, and the error says so. */
#ifndef CULV_D3D12_H_
#define CULV_D3D12_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d12.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "device.h"
#include "shared.h"

struct D3D12_RESOURCE_DESC;
struct ID3D12Device;
struct ID3D12DeviceChild;
struct ID3D12Fence;
struct ID3D12GraphicsCommandList;
struct ID3D12Heap;
struct ID3D12Resource;
struct IDXGIAdapter;

CULV_EXTERN_C_BEGIN

/* The device ----------------------------------------------------------------------------------- */

/** Opaque: your ID3D12Device, attached to a culv_device. */
typedef struct culv_d3d12_device culv_d3d12_device;

/** Your ID3D12Device. */
typedef struct culv_d3d12_device_desc {
    size_t struct_size;          /**< Set by culv_d3d12_device_desc_init(). */
    struct ID3D12Device *device; /**< Required: the native one, of a single node. */
    const char *label;           /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_device_desc;

CULV_INIT(culv_d3d12_device_desc)

/** Opens the CUDA device of an ID3D12Device's adapter, by the adapter's LUID. `desc` may be NULL.
 * Errors: INVALID (NULL_ARGUMENT; DEVICE_GROUP: the device has several linked nodes), NO_DEVICE
 * (the message names every CUDA device with its LUID), UNSUPPORTED (NOT_BUILT: not Windows),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: the ID3D12Device stays yours. *out is yours, for culv_device_close(). Threads: any.
 * Source: ID3D12Device::GetAdapterLuid; cuda.h, cuDeviceGetLuid. */
CULV_EXPORT culv_result culv_device_open_for_d3d12(struct ID3D12Device *device,
                                                   const culv_device_desc *desc, culv_device **out);

/** Opens the CUDA device of a DXGI adapter, before a Direct3D device of it exists. `desc` may be
 * NULL.
 * Errors: as culv_device_open_for_d3d12(), but the call cannot see linked nodes.
 * Ownership: the adapter stays yours. *out is yours, for culv_device_close(). Threads: any.
 * Source: DXGI_ADAPTER_DESC::AdapterLuid. */
CULV_EXPORT culv_result culv_device_open_for_dxgi(struct IDXGIAdapter *adapter,
                                                  const culv_device_desc *desc, culv_device **out);

/** Attaches an ID3D12Device to the culv_device of the same adapter.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; DEVICE_MISMATCH: it is another adapter;
 * DEVICE_GROUP: linked nodes), UNSUPPORTED (NOT_BUILT: not Windows), OUT_OF_MEMORY.
 * Ownership: Culvert takes a COM reference. *out is yours, for culv_d3d12_detach().
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_attach(culv_device *device, const culv_d3d12_device_desc *desc,
                                          culv_d3d12_device **out);

/** Ends the attachment. Objects made with it live on, and keep it and the ID3D12Device.
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_d3d12_detach(culv_d3d12_device **d3d12);

/** Tells Culvert that the ID3D12Device is removed. Call it if one of your own calls answers so. The
 * rings of the attachment stop, CUDA no longer waits for its fences, and no destroy of its objects
 * waits for it: see culv_vk_device_lost().
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT: not Windows).
 * Ownership: none; destroy what you made with the attachment, then call culv_d3d12_detach().
 * Threads: any.
 * Source: ID3D12Device::GetDeviceRemovedReason. */
CULV_EXPORT culv_result culv_d3d12_device_lost(culv_d3d12_device *d3d12);

/** Makes a new shared NT handle of a heap, a committed resource or a fence, for another process or
 * library. `name` may be NULL.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: another object has the name; NOT_EXPORTABLE: the object
 * was created without its SHARED flag, or is a placed resource), UNSUPPORTED (NOT_BUILT;
 * NOT_EXPORTABLE: the device makes no shared handles, as a wrapper does), DRIVER
 * (ID3D12Device::CreateSharedHandle failed), ASYNC (the device is removed).
 * Ownership: *out is yours, for culv_handle_close(). Threads: any.
 * Source: ID3D12Device::CreateSharedHandle. */
CULV_EXPORT culv_result culv_d3d12_export_dup(culv_d3d12_device *d3d12,
                                              struct ID3D12DeviceChild *object, const wchar_t *name,
                                              culv_handle *out);

/* Your own memory ------------------------------------------------------------------------------ */

/** Your heap or committed resource to import. */
typedef struct culv_d3d12_memory_desc {
    size_t struct_size; /**< Set by culv_d3d12_memory_desc_init(). */
    /** A heap created with D3D12_HEAP_FLAG_SHARED. Its placed resources are mapped at their heap
     * offsets. NULL with `resource`. */
    struct ID3D12Heap *heap;
    /** A committed resource created with D3D12_HEAP_FLAG_SHARED. A placed one is shared only by
     * its heap. NULL with `heap`. */
    struct ID3D12Resource *resource;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_memory_desc;

CULV_INIT(culv_d3d12_memory_desc)

/** Imports your heap or committed resource into CUDA. The size and the dedicated flag come from the
 * object. Map buffers by culv_buffer_map(), textures by culv_d3d12_image_map().
 * Errors: INVALID (NULL_ARGUMENT; VALUE: both or neither are given; NOT_EXPORTABLE), UNSUPPORTED
 * (NOT_BUILT, NOT_EXPORTABLE), DRIVER (also HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the object stays yours. *out is yours, for culv_memory_destroy(). Threads: any.
 * Source: cuda.h, CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP and _D3D12_RESOURCE;
 * ID3D12Device::GetResourceAllocationInfo. */
CULV_EXPORT culv_result culv_d3d12_memory_import(culv_d3d12_device *d3d12,
                                                 const culv_d3d12_memory_desc *desc,
                                                 culv_memory **out);

/** Does what culv_d3d12_memory_import() does, but counts references to one import of the same
 * object.
 * Errors: as culv_d3d12_memory_import().
 * Ownership: each *out is yours, for culv_memory_destroy(). The object must live until you have
 * destroyed the import and its mappings: another object may have its address afterwards. Tensors
 * (culv_buffer_get_dlpack()) do not count.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_memory_import_shared(culv_d3d12_device *d3d12,
                                                        const culv_d3d12_memory_desc *desc,
                                                        culv_memory **out);

/** Gets the size in bytes of a committed resource's memory
 * (ID3D12Device::GetResourceAllocationInfo, SizeInBytes), which CUDA needs for imports by a handle
 * or a name. A buffer's Width is less.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT). Threads: any. */
CULV_EXPORT culv_result culv_d3d12_get_allocation_size(const culv_d3d12_device *d3d12,
                                                       struct ID3D12Resource *resource,
                                                       uint64_t *out);

/** Your texture in imported memory. Culvert reads the other properties from the resource. */
typedef struct culv_d3d12_image_desc {
    size_t struct_size;              /**< Set by culv_d3d12_image_desc_init(). */
    struct ID3D12Resource *resource; /**< Required. */
    uint64_t offset;                 /**< The HeapOffset of a placed resource. Committed: 0. */
    /** Nonzero: kernels see a cube, or an array of cubes (SRV dimension TEXTURECUBE or
     * TEXTURECUBEARRAY). The resource itself is a 2D array of 6n square layers. */
    culv_bool cube;
    /** The DXGI_FORMAT in CUDA for a TYPELESS resource: one of its family, as for a view. Default:
     * the resource's own format, which must not be TYPELESS then. */
    uint32_t format;
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: the import's. */
} culv_d3d12_image_desc;

CULV_INIT(culv_d3d12_image_desc)

/** Maps a texture of the import: extents, layers, levels, format and CUDA's flags come from the
 * resource. CUDA uses it while its state is D3D12_RESOURCE_STATE_COMMON.
 * Errors: INVALID (NULL_ARGUMENT; FORMAT: a TYPELESS resource without a `format`, or one that is
 * not of its family; EXTENT: not a cube; RANGE: an offset, or the memory of another resource was
 * imported, which Culvert cannot see for memory of a heap or of a handle; DEDICATED), UNSUPPORTED
 * (FORMAT: no CUDA array has it; USAGE: a multisampled texture, a buffer, a row-major layout;
 * NOT_BUILT), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_image_unmap(); it keeps the import alive. Threads: any.
 * Source: CUDA Programming Guide, "Mapping Mipmapped Arrays onto Imported Memory Objects". */
CULV_EXPORT culv_result culv_d3d12_image_map(culv_d3d12_device *d3d12, culv_memory *memory,
                                             const culv_d3d12_image_desc *desc, culv_image **out);

/* Memory that Culvert makes -------------------------------------------------------------------- */

/** A buffer for Culvert to make. */
typedef struct culv_d3d12_buffer_create_desc {
    size_t struct_size;      /**< Set by culv_d3d12_buffer_create_desc_init(). */
    uint64_t size;           /**< Required: bytes. */
    uint32_t resource_flags; /**< D3D12_RESOURCE_FLAGS. Default: none. */
    const char *label;       /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_buffer_create_desc;

CULV_INIT(culv_d3d12_buffer_create_desc)

/** A texture for Culvert to make. */
typedef struct culv_d3d12_image_create_desc {
    size_t struct_size; /**< Set by culv_d3d12_image_create_desc_init(). */
    /** Required: the description for CreateCommittedResource(). Read during the call. */
    const struct D3D12_RESOURCE_DESC *resource_desc;
    culv_bool cube;        /**< As culv_d3d12_image_desc::cube. */
    uint32_t format;       /**< As culv_d3d12_image_desc::format. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_image_create_desc;

CULV_INIT(culv_d3d12_image_create_desc)

/** Makes a committed buffer in a shared DEFAULT heap, in the state COMMON, imports it into CUDA and
 * maps it: all or nothing. Its contents are zeros, as Direct3D makes them.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,
 * NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_buffer_create(culv_d3d12_device *d3d12,
                                                 const culv_d3d12_buffer_create_desc *desc,
                                                 culv_shared_buffer **out);

/** Returns the resource of the buffer. NULL for NULL.
 * Ownership: Culvert's; AddRef() it to keep it longer. Threads: any. */
CULV_EXPORT struct ID3D12Resource *culv_d3d12_buffer_resource(const culv_shared_buffer *buffer);

/** Makes a committed texture in a shared DEFAULT heap, in the state COMMON, imports it into CUDA
 * and maps it: all or nothing.
 * Errors: as culv_d3d12_image_map() and culv_d3d12_buffer_create().
 * Ownership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_image_create(culv_d3d12_device *d3d12,
                                                const culv_d3d12_image_create_desc *desc,
                                                culv_shared_image **out);

/** Returns the resource of the texture. NULL for NULL.
 * Ownership: Culvert's; AddRef() it to keep it longer. Threads: any. */
CULV_EXPORT struct ID3D12Resource *culv_d3d12_image_resource(const culv_shared_image *image);

/* Textures that cannot be shared --------------------------------------------------------------- */

/** Opaque: a shadow, that is, a shared copy of an engine's texture that was created without
 * D3D12_HEAP_FLAG_SHARED. */
typedef struct culv_d3d12_shadow culv_d3d12_shadow;

/** The texture of a shadow. */
typedef struct culv_d3d12_shadow_desc {
    size_t struct_size;              /**< Set by culv_d3d12_shadow_desc_init(). */
    struct ID3D12Resource *resource; /**< Required: the texture; it is only copied. */
    culv_bool cube;                  /**< As culv_d3d12_image_desc::cube. */
    uint32_t format;                 /**< As culv_d3d12_image_desc::format. */
    culv_texels texels;              /**< As culv_image_desc::texels. */
    culv_bool no_surfaces;           /**< As culv_image_desc::no_surfaces. */
    const char *label;               /**< Copied (up to 63 bytes). Default: none. */
} culv_d3d12_shadow_desc;

CULV_INIT(culv_d3d12_shadow_desc)

/** Makes a texture like yours that is shared with CUDA. It copies nothing by itself: call
 * culv_d3d12_shadow_record(). A warning in the log says that there is a copy.
 * Errors: as culv_d3d12_image_create().
 * Ownership: Culvert takes a COM reference of your texture. *out is yours, for
 * culv_d3d12_shadow_destroy().
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_shadow_create(culv_d3d12_device *d3d12,
                                                 const culv_d3d12_shadow_desc *desc,
                                                 culv_d3d12_shadow **out);

/** Records a copy of the whole texture into your open command list: to the shadow, for CUDA to
 * read; or, with `from_twin`, back into your texture. `state` is the D3D12_RESOURCE_STATES of your
 * texture before and after. The shadow is in the state COMMON before and after.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (NOT_BUILT).
 * Ownership: the list stays yours. The shadow must live until the GPU has run it.
 * Threads: the command list's.
 * Source: ID3D12GraphicsCommandList::CopyResource. */
CULV_EXPORT culv_result culv_d3d12_shadow_record(culv_d3d12_shadow *shadow,
                                                 struct ID3D12GraphicsCommandList *list,
                                                 uint32_t state, culv_bool from_twin);

/** Returns the number of recorded copies. 0 for NULL. Threads: any. */
CULV_EXPORT uint64_t culv_d3d12_shadow_copies(const culv_d3d12_shadow *shadow);

/** Returns the shared texture. NULL for NULL.
 * Ownership: the shadow's, which destroys it; culv_shared_image_destroy() refuses it (OWNED).
 * Threads: any. */
CULV_EXPORT const culv_shared_image *culv_d3d12_shadow_image(const culv_d3d12_shadow *shadow);

/** Destroys the shadow and releases Culvert's reference of your texture. Direct3D's work with the
 * shadow must be done. CUDA's should be, as for culv_shared_image_destroy().
 * Threads: any, ordered with other calls on this object. */
CULV_EXPORT void culv_d3d12_shadow_destroy(culv_d3d12_shadow **shadow);

/* Fences --------------------------------------------------------------------------------------- */

/** Imports your fence, which was created with D3D12_FENCE_FLAG_SHARED, as a timeline. Signals must
 * exceed its present value. Culvert sees a later signal of a queue only when the queue gets there:
 * report it earlier by culv_semaphore_mark_value(). `label` may be NULL.
 *
 * A stream may wait for a value before its signal is submitted, as for Vulkan's timelines. But the
 * CUDA Programming Guide calls that illegal for all semaphores, and it was tested only with Vulkan:
 * submit the signal first if you can.
 * Errors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT, NOT_EXPORTABLE), DRIVER
 * (also HANDLE_REFUSED), ASYNC (the device is removed), OUT_OF_MEMORY.
 * Ownership: the fence stays yours; Culvert holds a reference until the semaphore is destroyed.
 * *out is yours, for culv_semaphore_destroy().
 * Threads: any.
 * Source: cuda.h, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE. */
CULV_EXPORT culv_result culv_d3d12_semaphore_import(culv_d3d12_device *d3d12,
                                                    struct ID3D12Fence *fence, const char *label,
                                                    culv_semaphore **out);

/** A fence for Culvert to make. */
typedef struct culv_d3d12_semaphore_create_desc {
    size_t struct_size;     /**< Set by culv_d3d12_semaphore_create_desc_init(). */
    uint64_t initial_value; /**< Initial value, as for ID3D12Device::CreateFence(). */
    const char *label;      /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_HOST: if the fence cannot be shared, host functions signal it and wait for it
     * (culvert/fallback.h). Default: none. */
    uint32_t fallback;
} culv_d3d12_semaphore_create_desc;

/** culv_d3d12_semaphore_create_desc_init(): a fence at 0. */
CULV_INIT(culv_d3d12_semaphore_create_desc)

/** Makes a shared fence and imports it into CUDA: all or nothing. `desc` may be NULL.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE; NOT_EXPORTABLE), UNSUPPORTED (NOT_BUILT,
 * NOT_EXPORTABLE; PEER if no fallback is left), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_semaphore_destroy(); it keeps the attachment alive.
 * Threads: any. */
CULV_EXPORT culv_result culv_d3d12_semaphore_create(culv_d3d12_device *d3d12,
                                                    const culv_d3d12_semaphore_create_desc *desc,
                                                    culv_shared_semaphore **out);

/** Returns the fence, for ID3D12CommandQueue::Signal() and Wait(). Culvert does not see that
 * Signal(): report its value by culv_semaphore_mark_value(). NULL for NULL.
 * Ownership: Culvert's; AddRef() it to keep it longer. Threads: any. */
CULV_EXPORT struct ID3D12Fence *culv_d3d12_semaphore_fence(const culv_shared_semaphore *semaphore);

CULV_EXTERN_C_END

#endif
