/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA's virtual memory management. It makes physical allocations that graphics APIs and
 * other processes can share, reserves addresses, and maps allocations at them.
 *
 * A culv_vmm_allocation is memory without an address. A culv_vmm_range is a range of addresses
 * without memory. You map a whole allocation (CUDA cannot map a part of one), and you grant access
 * to each device that uses it. Sizes are rounded up to the granularity;
 * culv_vmm_allocation_get_info() returns both sizes.
 *
 *   culv_vmm_allocation_create(device, &allocation_desc, &allocation);
 *   culv_vmm_range_create(device, &range_desc, &range);
 *   culv_vmm_map(range, 0, allocation, NULL, 0);
 *   kernel<<<...>>>(culv_vmm_range_pointer(range));
 *   culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL);
 *   culv_vmm_range_destroy(&range);
 *   culv_vmm_allocation_destroy(&allocation);
 *
 * culvert/vector.h builds a growing buffer on this. culvert/vulkan_vmm.h binds Vulkan buffers and
 * images to an allocation.
 *
 * Aliases: you may map one allocation at several places. Within one kernel, a write through one
 * address is visible through another only after `fence.proxy.alias` (PTX). The next kernel always
 * sees it; across streams, order the kernels by events as usual (CUDA programming guide, "Virtual
 * aliasing support").
 *
 * The calls on allocations and ranges do not wait for the GPU: cuMemUnmap and cuMemRelease were
 * measured to return while other streams still work. The comments below say which calls can take
 * memory away from a running kernel. */
#ifndef CULV_VMM_H_
#define CULV_VMM_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque: physical memory. */
typedef struct culv_vmm_allocation culv_vmm_allocation;
/** Opaque: reserved addresses and what is mapped in them. */
typedef struct culv_vmm_range culv_vmm_range;

/** The kind of place where memory lies, or of the processor that accesses it. */
typedef enum culv_vmm_location_kind {
    CULV_VMM_LOCATION_DEVICE = 0,    /**< A GPU. */
    CULV_VMM_LOCATION_HOST_NUMA = 1, /**< The host memory of one NUMA node. */
    /** Host memory at any place. Not exportable (cuda.h, cuMemCreate). */
    CULV_VMM_LOCATION_HOST = 2,
    CULV_VMM_LOCATION_FORCE32 = 0x7fffffff
} culv_vmm_location_kind;

/** The access that is allowed at an address. */
typedef enum culv_vmm_access_flags {
    CULV_VMM_ACCESS_NONE = 0,
    CULV_VMM_ACCESS_READ = 1,
    CULV_VMM_ACCESS_READ_WRITE = 3,
    CULV_VMM_ACCESS_FORCE32 = 0x7fffffff
} culv_vmm_access_flags;

/** The access of one device, or of the host, to a range. */
typedef struct culv_vmm_access {
    /** CULV_VMM_LOCATION_DEVICE: a device of the same driver: the range's own, or another GPU that
     * reaches the memory (cuDeviceCanAccessPeer). NULL: the range's own device. */
    culv_device *device;
    culv_vmm_location_kind kind; /**< Default: CULV_VMM_LOCATION_DEVICE. */
    int32_t numa_node;           /**< CULV_VMM_LOCATION_HOST_NUMA: the node. */
    culv_vmm_access_flags flags;
} culv_vmm_access;

/** Bits of culv_vmm_allocation_desc::usage. */
typedef enum culv_vmm_usage {
    /** Compressible memory. This is a hint: culv_vmm_allocation_info::usage tells whether it was
     * granted. On a machine with NVSwitches (culv_check_multicast()), NVIDIA's driver crashes when
     * CUDA imports such memory by its handle (measured with 580.159.04). Images need such an
     * import, so on such a machine Culvert refuses images in this memory. Do not import the handle
     * as culv_memory yourself. */
    CULV_VMM_USAGE_COMPRESSIBLE = 1,
    CULV_VMM_USAGE_RDMA = 2, /**< Third-party devices can reach it (GPUDirect RDMA). */
    /** Memory for sparse arrays (culvert/extra/sparse.h) alone. It cannot be mapped. */
    CULV_VMM_USAGE_TILE_POOL = 4,
    /** Input or output of the hardware's decompression engine. */
    CULV_VMM_USAGE_HW_DECOMPRESS = 8,
    /** A multicast object (culvert/extra/multicast.h), which has no memory itself. Only
     * culv_vmm_allocation_info has this bit: do not set it. */
    CULV_VMM_USAGE_MULTICAST = 16,
    CULV_VMM_USAGE_FORCE32 = 0x7fffffff
} culv_vmm_usage;

/** The request for a fabric handle (culvert/fabric.h). */
typedef enum culv_fabric {
    CULV_FABRIC_NO = 0,
    CULV_FABRIC_TRY = 1,      /**< Memory gets one if the machine can make it. */
    CULV_FABRIC_REQUIRED = 2, /**< The call fails if the machine cannot make one. */
    CULV_FABRIC_FORCE32 = 0x7fffffff
} culv_fabric;

/** Physical memory to allocate. */
typedef struct culv_vmm_allocation_desc {
    size_t struct_size;          /**< Set by culv_vmm_allocation_desc_init(). */
    uint64_t size;               /**< Required: size in bytes. Rounded up to the granularity. */
    culv_vmm_location_kind kind; /**< Default: the device. */
    int32_t numa_node; /**< CULV_VMM_LOCATION_HOST_NUMA: the node. 0 on a system without NUMA. */
    /** Types of handles that the memory can be exported as: bits (1 << culv_handle_type) of
     * OPAQUE_FD, or on Windows of OPAQUE_WIN32 or OPAQUE_WIN32_KMT. 0: it cannot be exported. */
    uint32_t handle_types;
    uint32_t usage; /**< Bits of culv_vmm_usage. */
    /** Windows, OPAQUE_WIN32: an OBJECT_ATTRIBUTES with the security descriptor of exported handles
     * (cuda.h, CUmemAllocationProp::win32HandleMetaData). Read during the call. NULL: Culvert's
     * own, which lets the processes of this user in. */
    const void *object_attributes;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
    /** Request for CULV_HANDLE_FABRIC, in addition to handle_types. The first such allocation of a
     * device tests whether that works (culv_check_fabric()). If it does,
     * culv_vmm_allocation_info::handle_types has the bit of CULV_HANDLE_FABRIC. */
    culv_fabric fabric;
} culv_vmm_allocation_desc;

/** culv_vmm_allocation_desc_init(): device memory that cannot be exported. */
CULV_INIT(culv_vmm_allocation_desc)

/** The properties of an allocation, as the driver granted it. */
typedef struct culv_vmm_allocation_info {
    size_t struct_size; /**< Set by culv_vmm_allocation_info_init(). */
    uint64_t requested; /**< Bytes that were asked for. For imported and adopted memory: `size`. */
    uint64_t size;      /**< Bytes that the allocation has. */
    uint64_t granularity;
    culv_vmm_location_kind kind;
    int32_t numa_node;
    /** Types of handles that it can be exported as. 0 for an import: only its exporter can export
     * it. An import that kept its handle (culv_ipc_vector_desc::keep_handles) can be exported
     * again. */
    uint32_t handle_types;
    uint32_t usage; /**< Bits of culv_vmm_usage. COMPRESSIBLE: the driver granted it. */
    /** Nonzero: imported from another process, or exported by this one and imported again. */
    culv_bool imported;
    culv_uuid device;  /**< UUID of the GPU that the memory lies on. All zero for host memory. */
    uint32_t mappings; /**< Number of places where Culvert mapped it. */
    /** A multicast object: number of devices that are still missing. You can bind memory once it is
     * 0. Other allocations: 0. */
    uint32_t missing_devices;
    /** The driver's handle (CUmemGenericAllocationHandle), for CUDA calls that Culvert does not
     * make. The allocation owns it. Do not identify memory by it: two handles of the same memory
     * may differ, and the same number may later be the handle of other memory. */
    uint64_t native_handle;
} culv_vmm_allocation_info;

CULV_INIT(culv_vmm_allocation_info)

/** An allocation to import by its handle. */
typedef struct culv_vmm_import_desc {
    size_t struct_size; /**< Set by culv_vmm_import_desc_init(). */
    /** Required. OPAQUE_FD (culv_vmm_export_dup()) or FABRIC (culvert/fabric.h); on Windows
     * OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    /** Required: size in bytes, which CUDA does not report for a handle. Pass the exporter's
     * culv_vmm_allocation_info::size. */
    uint64_t size;
    /** UUID of the GPU that the memory lies on. All zero: the device's. It may be another GPU: CUDA
     * can use the memory if cuDeviceCanAccessPeer says so, but graphics APIs cannot. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vmm_import_desc;

CULV_INIT(culv_vmm_import_desc)

/** Addresses to reserve. */
typedef struct culv_vmm_range_desc {
    size_t struct_size; /**< Set by culv_vmm_range_desc_init(). */
    uint64_t size; /**< Required: size in bytes. Rounded up to the granularity of device memory. */
    uint64_t alignment; /**< In bytes, a power of two. 0: the granularity. */
    /** Where the range has to be (else ADDRESS): a multiple of the granularity and of `alignment`.
     * 0: wherever the driver has room. */
    CUdeviceptr address;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vmm_range_desc;

CULV_INIT(culv_vmm_range_desc)

/** A part of a vector, of its view in a graphics API, or of an adopted range. Each part lies in one
 * allocation, or in one buffer of the API. Lists of parts are sorted by offset and have no gaps. */
typedef struct culv_part {
    /** Number of the chunk. A vector numbers its chunks 1, 2, 3 ... and never uses a number again.
     * If adopted ranges of a device share a chunk, they give it the same number, and no other
     * adopted memory of the device ever gets that number. 0: a sparse buffer of all chunks. */
    uint64_t id;
    uint64_t offset; /**< Its start in the vector or in the range, in bytes. */
    /** Size in bytes, all of it committed. The last part may end behind culv_vector_size(). */
    uint64_t size;
    /** Its start in `allocation` and in `buffer`, in bytes. 0 for a vector. If a Vulkan descriptor
     * cannot start at this offset (minStorageBufferOffsetAlignment), start it at a lower one, and
     * let the shader add the difference. */
    uint64_t inner_offset;
    /** The memory. The vector or the range owns it, and culv_vmm_allocation_destroy() refuses it.
     * NULL in the list of a graphics API's view. */
    culv_vmm_allocation *allocation;
    /** In the list of a graphics API's view: the VkBuffer, OpenGL's name, or the ID3D12Resource (at
     * first in the state COMMON) as a number. Cast it. Culvert owns it. In other lists: 0. */
    uint64_t buffer;
} culv_part;

/** Gets the granularity in bytes of allocations with this descriptor. Sizes are rounded up to it.
 * desc->size is ignored.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE), UNSUPPORTED (VMM: the device
 * lacks it; HANDLE_TYPE, LOCATION, USAGE: the device lacks this kind), DRIVER (LOCATION), ASYNC.
 * Source: cuda.h, cuMemGetAllocationGranularity. */
CULV_EXPORT culv_result culv_vmm_get_granularity(culv_device *device,
                                                 const culv_vmm_allocation_desc *desc,
                                                 uint64_t *out);

/** Allocates physical memory. It has no address until you map it.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, SIZE; HANDLE_TYPE: host memory without a NUMA
 * node cannot be exported), UNSUPPORTED (VMM, HANDLE_TYPE, LOCATION, USAGE), OUT_OF_MEMORY, DRIVER
 * (LOCATION: the NUMA node does not exist), ASYNC.
 * Ownership: *out is yours, for culv_vmm_allocation_destroy().
 * Source: cuda.h, cuMemCreate. */
CULV_EXPORT culv_result culv_vmm_allocation_create(culv_device *device,
                                                   const culv_vmm_allocation_desc *desc,
                                                   culv_vmm_allocation **out);

/** Destroys the allocation. The memory itself stays until the last of its mappings, imports and
 * exported handles in all processes is gone. Does not wait for the GPU.
 * Errors: INVALID (OWNED: it is a chunk of a vector or of an adopted range, or a multicast object;
 * nothing happens, and the pointer keeps its value).
 * Source: measured, docs/measured/nvidia-measured.md: cuMemRelease waits for nothing. */
CULV_EXPORT culv_result culv_vmm_allocation_destroy(culv_vmm_allocation **allocation);

/** Fills *out with the allocation's properties.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Source: cuda.h, cuMemGetAllocationPropertiesFromHandle. */
CULV_EXPORT culv_result culv_vmm_allocation_get_info(const culv_vmm_allocation *allocation,
                                                     culv_vmm_allocation_info *out);

/** Exports an allocation as a handle of one of the types that it was made for. Another process
 * imports it with culv_vmm_import(). Vulkan imports it with culv_vk_memory_from_vmm() or
 * culv_vk_memory_from_handle(). culv_memory_import() imports it into CUDA as external memory, which
 * arrays need. A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: it was not made for that type, or is
 * an import without a kept handle; OS: no file descriptor is left), UNSUPPORTED (HANDLE_TYPE: a
 * type of another system), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: each call makes a new *out, which you close with culv_handle_close(). It keeps the
 * memory alive.
 * Source: cuda.h, cuMemExportToShareableHandle. */
CULV_EXPORT culv_result culv_vmm_export_dup(culv_vmm_allocation *allocation, culv_handle_type type,
                                            culv_handle *out);

/** Imports an allocation and BORROWS its handle.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND; VALUE: the
 * handle has a name; SIZE: 0, not a multiple of the granularity, or more than the memory has (if
 * Culvert cannot see that, culv_vmm_map() fails later with DRIVER (SIZE)); DEVICE_MISMATCH: the
 * memory lies on another GPU than `exporter`, no CUDA device has that UUID, or this device does not
 * reach its memory), UNSUPPORTED (VMM, HANDLE_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours, and you may close it at any time (culv_handle_close()). *out
 * is yours, for culv_vmm_allocation_destroy().
 * Source: cuda.h, cuMemImportFromShareableHandle. */
CULV_EXPORT culv_result culv_vmm_import(culv_device *device, const culv_vmm_import_desc *desc,
                                        culv_vmm_allocation **out);

/** Reserves addresses. They cost no memory.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE; VALUE: an alignment or an address),
 * UNSUPPORTED (VMM), OUT_OF_MEMORY (ADDRESS: no such range is free, or not at that address),
 * DRIVER, ASYNC.
 * Ownership: *out is yours, for culv_vmm_range_destroy().
 * Source: cuda.h, cuMemAddressReserve. */
CULV_EXPORT culv_result culv_vmm_range_create(culv_device *device, const culv_vmm_range_desc *desc,
                                              culv_vmm_range **out);

/** Gives the addresses back, unless memory is still mapped in the range.
 * Errors: BUSY (MAPPED: the message lists the mappings, and which of them only wait for a stream),
 * DRIVER, ASYNC.
 * Source: cuda.h, cuMemAddressFree. */
CULV_EXPORT culv_result culv_vmm_range_destroy(culv_vmm_range **range);

/** Returns the first address, or 0 for NULL.
 * Ownership: Culvert owns it. */
CULV_EXPORT CUdeviceptr culv_vmm_range_pointer(const culv_vmm_range *range);

/** Returns the number of reserved bytes (the descriptor's size, rounded up), or 0 for NULL. */
CULV_EXPORT uint64_t culv_vmm_range_size(const culv_vmm_range *range);

/** Maps a whole allocation at `offset` bytes into a range, and grants access. `access` has `count`
 * entries. If you pass NULL and 0, the range's device can read and write. If the driver refuses
 * access, nothing stays mapped. An allocation of another GPU needs an entry for each device that
 * uses it. One range may hold allocations of several GPUs (a striped range). To change the access
 * later, call cuMemSetAccess.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: offset is not a multiple of the granularity, or a flag is
 * wrong; RANGE: the mapping leaves the range; USAGE: a tile pool; DEVICE_MISMATCH: a device of
 * another driver; PEER: a device that does not reach the memory, or the host, which does not reach
 * device memory), BUSY (MAPPED: memory is mapped there already), DRIVER (SIZE: an import with a
 * wrong size), ASYNC, OUT_OF_MEMORY.
 * Ownership: the mapping keeps the memory alive. You may destroy the culv_vmm_allocation while it
 * is mapped.
 * Source: cuda.h, cuMemMap, cuMemSetAccess. */
CULV_EXPORT culv_result culv_vmm_map(culv_vmm_range *range, uint64_t offset,
                                     culv_vmm_allocation *allocation, const culv_vmm_access *access,
                                     size_t count);

/** Unmaps everything in `size` bytes from `offset` on. Offset 0 with the size culv_vmm_range_size()
 * unmaps the whole range. A size of 0 is refused. CUDA cannot unmap a part of a mapping, so this
 * call takes whole mappings only.
 *
 * If last_use is NULL, the call unmaps at once and does NOT wait: if GPU work still uses those
 * addresses, it faults. If the driver refuses one mapping, the mappings before it are already gone.
 *
 * If last_use is not NULL, the call DEFERS. Culvert unmaps after the work that is now in *last_use
 * has finished: in the next culv_device_collect(), culv_device_get_counts() or call for this range,
 * or when the device ends. Until then you can map nothing there. The stream must belong to the
 * range's device and must not be in capture; NULL in *last_use is the legacy default stream. If
 * another device uses the range, let the stream wait for an event of that device's stream. After an
 * error of a deferred unmap, nothing has changed.
 * Errors: INVALID (NULL_ARGUMENT, RANGE; NOT_MAPPED: the part begins or ends within a mapping,
 * which the message names, or nothing is mapped there; CAPTURE, STREAM_DEVICE), DRIVER, ASYNC.
 * Source: cuda.h, cuMemUnmap; measured, docs/measured/nvidia-measured.md: it waits for nothing. */
CULV_EXPORT culv_result culv_vmm_unmap(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                       const CUstream *last_use);

/* Memory pools of other processes -------------------------------------------------------------- */

/* Memory from cuMemAllocAsync lies in a pool. The process that makes the pool has a culv_pool
 * (culvert/extra/mem_pool.h of culvert-extra) or CUDA's own handle. It sends the pool as a handle,
 * and each allocation in it as 64 bytes of data. The process that imports them has a culv_mem_pool.
 * The software twin also imports a pool of the same process; CUDA does not say that drivers do.
 *
 * An importer must not use an allocation before the owner's stream has allocated it, and must free
 * it (cuMemFreeAsync) before the owner does. culvert/ipc.h sends pools and allocations to other
 * processes. */

/** Opaque: an imported memory pool. */
typedef struct culv_mem_pool culv_mem_pool;

/** A pool to import by its handle. */
typedef struct culv_mem_pool_import_desc {
    size_t struct_size; /**< Set by culv_mem_pool_import_desc_init(). */
    /** Required. OPAQUE_FD or FABRIC; on Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_mem_pool_import_desc;

CULV_INIT(culv_mem_pool_import_desc)

/** An allocation of a pool, as data for another process that has imported the pool. Send the bytes
 * unchanged. They are not a handle, so they keep nothing alive. */
typedef struct culv_mem_pool_pointer {
    uint8_t data[64]; /**< CUmemPoolPtrExportData. */
} culv_mem_pool_pointer;

/** Ends the import. You still have to free each allocation that you imported from it
 * (cuMemFreeAsync). Does not wait.
 * Source: cuda.h, cuMemPoolDestroy. */
CULV_EXPORT void culv_mem_pool_destroy(culv_mem_pool **pool);

/** Imports a pool and BORROWS its handle. The device can then read and write the pool's
 * allocations, also if they lie on another GPU that it reaches. You cannot allocate in an imported
 * pool.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND), UNSUPPORTED
 * (VMM, HANDLE_TYPE, DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED; PEER: it lies on a GPU that the
 * device does not reach), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours, and you may close it at any time (culv_handle_close()). *out
 * is yours, for culv_mem_pool_destroy().
 * Source: cuda.h, cuMemPoolImportFromShareableHandle, cuMemPoolSetAccess. */
CULV_EXPORT culv_result culv_mem_pool_import(culv_device *device,
                                             const culv_mem_pool_import_desc *desc,
                                             culv_mem_pool **out);

/** Imports an allocation of the pool.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER (HANDLE_REFUSED: the data belong to another pool, or to
 * memory that was freed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours: call cuMemFreeAsync before the exporting process frees the allocation.
 * Source: cuda.h, cuMemPoolImportPointer. */
CULV_EXPORT culv_result culv_mem_pool_import_pointer(culv_mem_pool *pool,
                                                     const culv_mem_pool_pointer *pointer,
                                                     CUdeviceptr *out);

/* Memory of other allocators ------------------------------------------------------------------- */

/* By these calls, Vulkan and other processes can use memory that other code mapped by CUDA's
 * virtual memory management. RMM and many solvers keep their data in such memory, and so does
 * PyTorch if its allocator is set up for it.
 *
 *   culv_vmm_adopt(device, (CUdeviceptr)tensor.data_ptr(), bytes, &adopted);
 *   culv_vk_adopted_create(vk, adopted, &desc, &view);          culvert/vulkan_vmm.h
 *
 * The addresses are contiguous, but the memory behind them consists of chunks (2 MiB or 20 MiB in
 * PyTorch). A tensor can begin and end anywhere in a chunk. Culvert finds the chunks and exports
 * each chunk once, for all tensors in it.
 *
 * Memory of cudaMalloc, cudaMallocAsync or cudaMallocManaged cannot be adopted: it has no
 * allocation handle that CUDA exports. For PyTorch, set
 * PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment before the program starts, or
 * use a MemPool with culv_torch_malloc() for the tensors that you share. */

/** Opaque: an adopted range of addresses, and the chunks behind it. It keeps the memory alive, but
 * not the addresses: their owner may unmap them at any time. */
typedef struct culv_vmm_adopted culv_vmm_adopted;

/** Finds the chunks behind `size` bytes at `pointer`. Adopt a range once and keep it: this call
 * takes a few microseconds for each chunk, and Vulkan's import takes about 100 us for each. A chunk
 * that another adopted range already has costs nothing, here and in Vulkan's import.
 * Errors: INVALID (NULL_ARGUMENT; SIZE: 0, or it overflows; NOT_EXPORTABLE: it is not memory of
 * cuMemCreate, or it was not made for export; the message says what to do; NOT_MAPPED: a part of
 * the range; USAGE: a tile pool; DEVICE_MISMATCH: memory of another GPU), UNSUPPORTED (VMM),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_vmm_adopted_destroy().
 * Threads: any, but not while the memory is mapped or unmapped.
 * Source: cuda.h, cuMemGetAddressRange, cuMemRetainAllocationHandle; measured with PyTorch 2.11:
 * its expandable segments are exportable as file descriptors. */
CULV_EXPORT culv_result culv_vmm_adopt(culv_device *device, CUdeviceptr pointer, uint64_t size,
                                       culv_vmm_adopted **out);

/** Gives the chunks back. The memory is freed when its owner has freed it too. Views of a graphics
 * API stay valid. */
CULV_EXPORT void culv_vmm_adopted_destroy(culv_vmm_adopted **adopted);

/** Tells whether the chunks are still mapped where they were. An allocator may have unmapped one,
 * or mapped another in its place (PyTorch does so in empty_cache()). Vulkan then shows other memory
 * than CUDA has at these addresses: destroy the view and the range, and adopt it again.
 * Errors: INVALID (NULL_ARGUMENT; NOT_MAPPED: a chunk is unmapped, or another one is mapped there),
 * DRIVER, ASYNC.
 * Threads: any, but not while the memory is mapped or unmapped.
 * Source: cuMemRetainAllocationHandle, which returns the handle of what is mapped there. The range
 * holds its own handle, so no other memory can have the same one. */
CULV_EXPORT culv_result culv_vmm_check_adopted(const culv_vmm_adopted *adopted);

/** Returns the size of the range in bytes, or 0 for NULL. */
CULV_EXPORT uint64_t culv_vmm_adopted_size(const culv_vmm_adopted *adopted);

/** Lists the parts of the range, one for each chunk. The chunk begins inner_offset bytes before the
 * part. `parts` and *count are as in every call that lists (culvert.h).
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: the range owns the allocations. */
CULV_EXPORT culv_result culv_vmm_adopted_get_parts(const culv_vmm_adopted *adopted,
                                                   culv_part *parts, size_t capacity,
                                                   size_t *count);

/* An allocator for PyTorch --------------------------------------------------------------------- */

/* PyTorch and RMM can use this allocator. Graphics APIs can import its memory.
 *
 * Pass culv_torch_malloc() and culv_torch_free() to torch.cuda.memory.CUDAPluggableAllocator, and
 * its allocator() to torch.cuda.MemPool. culvert.torch_pool() of the Python package does both. With
 * a MemPool, you choose which parts of a program share memory, without an environment variable.
 *
 * Always use it behind a cache such as MemPool: each call makes memory by cuMemCreate and maps it,
 * and sizes are rounded up to 2 MiB. A training step of 3.2 ms took 9.2 ms with the bare allocator,
 * and 3.2 ms behind a MemPool (measured on an H200 with PyTorch 2.11). */

/** Allocates exportable memory of a device. The memory is ready at once, in all streams. It lies at
 * a multiple of the granularity (2 MiB). The first call for a device opens it, and it stays open
 * until the process ends.
 * Errors: returns NULL, and culv_last_error() of this thread has the reason. For a size of 0 or
 * less it returns NULL without an error, as cudaMalloc() does.
 * Ownership: the memory is yours, for culv_torch_free().
 * Source: PyTorch, torch.cuda.memory.CUDAPluggableAllocator: void *(ssize_t, int, cudaStream_t). */
CULV_EXPORT void *culv_torch_malloc(ptrdiff_t size, int device, CUstream stream);

/** Frees memory of culv_torch_malloc(). An allocator may free memory while the stream still uses
 * it, so the call waits until the work in `stream` is done, as cudaFree() does for all streams.
 * Work of other streams must be done, or `stream` must wait for it (PyTorch's record_stream). If
 * `stream` is being captured, the call does not wait and does not disturb the capture: the memory
 * then belongs to the graph. When the graph, all its instances and their launches have ended, the
 * next culv_torch_malloc() or culv_torch_free() frees the memory, and waits for all work of the
 * context. If the driver refuses to free memory, later calls try again. If a graphics API has
 * imported the memory, its import stays valid. NULL is a no-op.
 * Errors: none; culv_last_error() and the log report a pointer that culv_torch_malloc() did not
 * return.
 * Ownership: you no longer own the memory.
 * Source: CUDA programming guide, "CUDA User Objects"; measured, docs/measured/nvidia-measured.md
 * (calls_during_capture). */
CULV_EXPORT void culv_torch_free(void *pointer, ptrdiff_t size, int device, CUstream stream);

CULV_EXTERN_C_END

#endif
