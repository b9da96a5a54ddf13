/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA's virtual memory management: physical allocations that graphics APIs and other
 * processes can share, reserved addresses, and the mapping of one into the other.
 *
 * A culv_vmm_allocation is memory without an address; a culv_vmm_range is addresses without memory.
 * An allocation is mapped whole, at offset 0 of its own (CUDA maps no part of one), and access is
 * granted to each device that uses it. Sizes are rounded up to the granularity, and both sizes are
 * told. culvert/vector.h builds a buffer that grows on this; culvert/vulkan_vmm.h binds Vulkan
 * buffers and images to an allocation.
 *
 * Aliases: one allocation may be mapped at several places. Within one kernel, what was written
 * through one address is seen through another only after `fence.proxy.alias` (PTX), or by the next
 * kernel; kernels in different streams are ordered by events as ever (CUDA programming guide,
 * "Virtual aliasing support").
 *
 * Nothing here waits for the GPU: measured, cuMemUnmap and cuMemRelease return while other streams
 * still work, so what takes memory away from a running kernel says so below. */
#ifndef CULV_VMM_H_
#define CULV_VMM_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque: physical memory. Creation and destruction of one object are ordered by the caller; other
 * calls may come from any thread. Every call that names one may run beside another on the same
 * one. */
typedef struct culv_vmm_allocation culv_vmm_allocation;
/** Opaque: reserved addresses, and what is mapped in them. Its calls may come from any thread. */
typedef struct culv_vmm_range culv_vmm_range;

/** Where physical memory lies, or who accesses it. */
typedef enum culv_vmm_location_kind {
    CULV_VMM_LOCATION_DEVICE = 0,    /**< A GPU. */
    CULV_VMM_LOCATION_HOST_NUMA = 1, /**< The host memory of one NUMA node. */
    CULV_VMM_LOCATION_HOST = 2, /**< Host memory, wherever; not exportable (cuda.h, cuMemCreate). */
    CULV_VMM_LOCATION_FORCE32 = 0x7fffffff
} culv_vmm_location_kind;

/** What is allowed at an address. */
typedef enum culv_vmm_access_flags {
    CULV_VMM_ACCESS_NONE = 0,
    CULV_VMM_ACCESS_READ = 1,
    CULV_VMM_ACCESS_READ_WRITE = 3,
    CULV_VMM_ACCESS_FORCE32 = 0x7fffffff
} culv_vmm_access_flags;

/** Who may do what with a range. */
typedef struct culv_vmm_access {
    /** CULV_VMM_LOCATION_DEVICE: a device of the same driver, the range's own or another GPU that reaches
     * its memory (cuDeviceCanAccessPeer). NULL: the range's own. */
    culv_device *device;
    culv_vmm_location_kind kind; /**< Default: CULV_VMM_LOCATION_DEVICE. */
    int32_t numa_node;           /**< CULV_VMM_LOCATION_HOST_NUMA: the node. */
    culv_vmm_access_flags flags;
} culv_vmm_access;

/** Bits of culv_vmm_allocation_desc::usage. */
typedef enum culv_vmm_usage {
    /** Compressible memory; a hint: whether it was granted is told by
     * culv_vmm_allocation_info::usage. */
    CULV_VMM_USAGE_COMPRESSIBLE = 1,
    CULV_VMM_USAGE_RDMA = 2, /**< Third-party devices can reach it (GPUDirect RDMA). */
    /** Backs sparse arrays (culvert/sparse.h), and nothing else: it is not mapped. */
    CULV_VMM_USAGE_TILE_POOL = 4,
    CULV_VMM_USAGE_HW_DECOMPRESS =
        8, /**< Input or output of the hardware's decompression engine. */
    CULV_VMM_USAGE_FORCE32 = 0x7fffffff
} culv_vmm_usage;

/** Physical memory to allocate. Zero in every field but struct_size means the default. */
typedef struct culv_vmm_allocation_desc {
    size_t struct_size;          /**< Set by culv_vmm_allocation_desc_init(). */
    uint64_t size;               /**< Required: bytes, rounded up to the granularity. */
    culv_vmm_location_kind kind; /**< Default: the device. */
    /** CULV_VMM_LOCATION_HOST_NUMA: the node; 0 where the system has no NUMA. */
    int32_t numa_node;
    /** Bits (1 << culv_handle_type) of what it is to be exported as: OPAQUE_FD, on Windows
     * OPAQUE_WIN32 or OPAQUE_WIN32_KMT. 0: never exported. */
    uint32_t handle_types;
    uint32_t usage; /**< Bits of culv_vmm_usage. */
    /** Nonzero: sizes are rounded to what the driver recommends for speed, not to the least that it
     * takes. (The same 2 MiB on an H200.) */
    culv_bool recommended_granularity;
    /** Windows, OPAQUE_WIN32: an OBJECT_ATTRIBUTES with the security descriptor of exported handles
     * (cuda.h, CUmemAllocationProp::win32HandleMetaData), read during the call. NULL: Culvert's
     * own, which lets this user's processes in. */
    const void *object_attributes;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_vmm_allocation_desc;

/** Returns a default descriptor: device memory that is not exported.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vmm_allocation_desc culv_vmm_allocation_desc_init(void)
{
    culv_vmm_allocation_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** What an allocation is, as the driver granted it. */
typedef struct culv_vmm_allocation_info {
    size_t struct_size; /**< Set by culv_vmm_allocation_info_init(). */
    uint64_t requested; /**< Bytes that were asked for; of an import or a retained one, `size`. */
    uint64_t size;      /**< Bytes that are there. */
    uint64_t granularity;
    culv_vmm_location_kind kind;
    int32_t numa_node;
    uint32_t handle_types; /**< What it can be exported as. 0 of an import: its exporter can. */
    uint32_t usage;        /**< Bits of culv_vmm_usage: COMPRESSIBLE only where it was granted. */
    /** Nonzero: another process's, or this one's exported and imported again. */
    culv_bool imported;
    culv_uuid device;  /**< UUID of the GPU that it lies on; all zero of host memory. */
    uint32_t mappings; /**< Places where Culvert mapped it. */
} culv_vmm_allocation_info;

/** Returns an empty culv_vmm_allocation_info with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vmm_allocation_info culv_vmm_allocation_info_init(void)
{
    culv_vmm_allocation_info i;
    memset(&i, 0, sizeof i);
    i.struct_size = sizeof i;
    return i;
}

/** An allocation behind a handle. */
typedef struct culv_vmm_import_desc {
    size_t struct_size; /**< Set by culv_vmm_import_desc_init(). */
    /** Required: OPAQUE_FD (culv_vmm_export_dup()), on Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    /** Required: bytes, as culv_vmm_allocation_info::size of the exporter said: CUDA does not
     * tell. */
    uint64_t size;
    /** UUID of the GPU that it lies on, which may be another one than the device: CUDA may use its
     * memory where cuDeviceCanAccessPeer says so, graphics never. All zero: the device's. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_vmm_import_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vmm_import_desc culv_vmm_import_desc_init(void)
{
    culv_vmm_import_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** Addresses to reserve. Zero in every field but struct_size means the default. */
typedef struct culv_vmm_range_desc {
    size_t struct_size; /**< Set by culv_vmm_range_desc_init(). */
    uint64_t size;      /**< Required: bytes, rounded up to the granularity of device memory. */
    uint64_t alignment; /**< Bytes, a power of two. 0: the granularity. */
    /** A hint, a multiple of the granularity: the driver may choose another address. 0: none. */
    CUdeviceptr address;
    culv_bool fixed_address; /**< Nonzero: `address` or nothing (ADDRESS). */
    const char *label;       /**< Copied (up to 63 bytes). Default: none. */
} culv_vmm_range_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_vmm_range_desc culv_vmm_range_desc_init(void)
{
    culv_vmm_range_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** What is mapped at a place of a range. */
typedef struct culv_vmm_mapping {
    uint64_t offset; /**< Bytes into the range. */
    uint64_t size;   /**< Bytes; the allocation's. */
    /** As culv_vmm_map() got it, no new reference: valid until its owner frees it. NULL: it was
     * freed; the memory is there as long as it is mapped. */
    culv_vmm_allocation *allocation;
    culv_bool unmapping; /**< Nonzero: given up by culv_vmm_unmap_after(), and not released yet. */
} culv_vmm_mapping;

/** The granularity in bytes of allocations like desc (whose size is not looked at): what sizes are
 * rounded up to.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, HANDLE_TYPE), UNSUPPORTED (VMM: the device
 * has none; HANDLE_TYPE, LOCATION, USAGE: not of this kind), DRIVER (LOCATION), ASYNC.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemGetAllocationGranularity. */
CULV_EXPORT culv_result culv_vmm_get_granularity(culv_device *device,
                                                 const culv_vmm_allocation_desc *desc,
                                                 uint64_t *out);

/** Allocates physical memory. It has no address until it is mapped.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, SIZE; HANDLE_TYPE: host memory of no NUMA
 * node is not exported), UNSUPPORTED (VMM, HANDLE_TYPE, LOCATION, USAGE), OUT_OF_MEMORY, DRIVER
 * (LOCATION: a NUMA node that is not there), ASYNC.
 * Ownership: *out is yours; give it to culv_vmm_allocation_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemCreate. */
CULV_EXPORT culv_result culv_vmm_allocation_create(culv_device *device,
                                                   const culv_vmm_allocation_desc *desc,
                                                   culv_vmm_allocation **out);

/** Gives the allocation up and sets *allocation to NULL; NULL, or a pointer to NULL, is a no-op.
 * The memory goes with its last mapping, import or exported handle, anywhere. Does not wait for the
 * GPU.
 * Errors: none.
 * Ownership: *allocation is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: measured, docs/nvidia-measured.md: cuMemRelease waits for nothing. */
CULV_EXPORT void culv_vmm_allocation_destroy(culv_vmm_allocation **allocation);

/** Fills out with what the allocation is.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemGetAllocationPropertiesFromHandle. */
CULV_EXPORT culv_result culv_vmm_allocation_get_info(const culv_vmm_allocation *allocation,
                                                     culv_vmm_allocation_info *out);

/** The allocation that is mapped at an address, whoever mapped it by cuMemMap: a new object for the
 * same memory, with a driver's handle of its own.
 * Errors: INVALID (NULL_ARGUMENT; NOT_MAPPED: no allocation of cuMemCreate's is mapped there;
 * DEVICE_MISMATCH), UNSUPPORTED (VMM), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_vmm_allocation_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemRetainAllocationHandle; each retain pairs one release. */
CULV_EXPORT culv_result culv_vmm_allocation_retain_at(culv_device *device, CUdeviceptr address,
                                                      culv_vmm_allocation **out);

/** The driver's handle (CUmemGenericAllocationHandle), for CUDA calls that Culvert does not make; 0
 * for NULL. Two handles of the same memory may differ, and equal ones may be of different memory
 * later: identify nothing by it.
 * Errors: none.
 * Ownership: the allocation's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_vmm_allocation_native_handle(const culv_vmm_allocation *allocation);

/** Exports an allocation as a handle of one of the types that it was made for. Another process
 * imports it by culv_vmm_import_take(), Vulkan by culv_vk_memory_from_vmm() or
 * culv_vk_memory_from_handle(), CUDA's external memory by culv_memory_import_take() (for arrays on
 * it). A file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: not made for it, or imported itself;
 * OS: no file descriptor is left), UNSUPPORTED (HANDLE_TYPE: of another system), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: each call makes a new *out, which you close with culv_handle_close(); it keeps the
 * memory.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemExportToShareableHandle. */
CULV_EXPORT culv_result culv_vmm_export_dup(culv_vmm_allocation *allocation, culv_handle_type type,
                                            culv_handle *out);

/** Imports an allocation and TAKES its handle: Culvert's after CULV_OK, still yours, open, after an
 * error.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, VALUE: a name;
 * SIZE: 0, no multiple of the granularity, or more than is there, as far as that can be seen: else
 * culv_vmm_map() fails with DRIVER (SIZE); DEVICE_MISMATCH: it lies on another GPU than `exporter`,
 * no CUDA device has that UUID, or this one does not reach its memory), UNSUPPORTED (VMM,
 * HANDLE_TYPE), DRIVER (HANDLE_REFUSED), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle as said; *out is yours; give it to culv_vmm_allocation_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemImportFromShareableHandle. */
CULV_EXPORT culv_result culv_vmm_import_take(culv_device *device, const culv_vmm_import_desc *desc,
                                             culv_vmm_allocation **out);

/** Imports an allocation and BORROWS its handle: it stays yours, and you may close it right after
 * the call.
 * Errors: as culv_vmm_import_take().
 * Ownership: the handle stays yours; *out is yours; give it to culv_vmm_allocation_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vmm_import_borrow(culv_device *device,
                                               const culv_vmm_import_desc *desc,
                                               culv_vmm_allocation **out);

/** Reserves addresses. They cost no memory.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, SIZE, VALUE: an alignment or hint), UNSUPPORTED
 * (VMM), OUT_OF_MEMORY (ADDRESS: no such range is free, or not at the address that was asked for
 * exactly), DRIVER, ASYNC.
 * Ownership: *out is yours; give it to culv_vmm_range_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemAddressReserve. */
CULV_EXPORT culv_result culv_vmm_range_create(culv_device *device, const culv_vmm_range_desc *desc,
                                              culv_vmm_range **out);

/** Gives the addresses back and sets *range to NULL; NULL, or a pointer to NULL, is a no-op. A
 * range in which something is mapped is refused, and stays.
 * Errors: BUSY (MAPPED: the message lists what is mapped where, and which of it only waits for a
 * stream), DRIVER, ASYNC.
 * Ownership: *range is Culvert's again on success.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: cuda.h, cuMemAddressFree. */
CULV_EXPORT culv_result culv_vmm_range_destroy(culv_vmm_range **range);

/** The first address; 0 for NULL.
 * Errors: none.
 * Ownership: Culvert's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUdeviceptr culv_vmm_range_pointer(const culv_vmm_range *range);

/** Bytes that are reserved: what was asked for, rounded up; 0 for NULL.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT uint64_t culv_vmm_range_size(const culv_vmm_range *range);

/** Maps all of an allocation at `offset` bytes of a range, and grants access: `count` entries of
 * `access`, or, with NULL and 0, reading and writing by the range's device. When access is refused,
 * nothing stays mapped. An allocation of another GPU needs an entry for each device that uses it,
 * and one range may hold allocations of several (a striped range).
 * Errors: INVALID (NULL_ARGUMENT; VALUE: offset is no multiple of the granularity, or a flag;
 * RANGE: it leaves the range; USAGE: a tile pool; DEVICE_MISMATCH: of another driver; PEER: a
 * device that does not reach the memory, or the host, which reaches host memory alone), BUSY
 * (MAPPED: something is mapped there), DRIVER (SIZE: of an import with a wrong size), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the mapping keeps the memory, not the handle: the allocation may be given up while it
 * is mapped.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemMap, cuMemSetAccess. */
CULV_EXPORT culv_result culv_vmm_map(culv_vmm_range *range, uint64_t offset,
                                     culv_vmm_allocation *allocation, const culv_vmm_access *access,
                                     size_t count);

/** Unmaps what lies in `size` bytes from `offset` on; offset 0 and culv_vmm_range_size() are the
 * whole range, a size of 0 is refused. Whole mappings alone: CUDA unmaps no part of one. Does NOT
 * wait: what still uses those addresses on the GPU faults. culv_vmm_unmap_after() is for work that
 * goes on.
 * Errors: INVALID (NULL_ARGUMENT, RANGE; NOT_MAPPED: an end lies within a mapping, which the
 * message names, or nothing is mapped), DRIVER, ASYNC. What came before a refusal is unmapped.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemUnmap; measured, docs/nvidia-measured.md: it waits for nothing. */
CULV_EXPORT culv_result culv_vmm_unmap(culv_vmm_range *range, uint64_t offset, uint64_t size);

/** As culv_vmm_unmap(), but DEFERS and never waits: done once `last_use` has done what was
 * submitted to it so far, at a later culv_device_collect(), culv_device_get_counts() or call for
 * this range, or with the device. Until then nothing can be mapped there. The stream must be of the
 * range's device (have it wait for an event of another one's), and not in capture. After an error
 * all is as it was.
 * Errors: as culv_vmm_unmap(); INVALID (CAPTURE, STREAM_DEVICE).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vmm_unmap_after(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                             CUstream last_use);

/** Changes who may do what with what is mapped in `size` bytes from `offset` on; whole mappings
 * alone. CUDA adds to what was granted: a device that is to lose access needs an entry with
 * CULV_VMM_ACCESS_NONE.
 * Errors: as culv_vmm_map() and culv_vmm_unmap(). After an error of the driver's, access is as it
 * was (granted anew where need be).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemSetAccess. */
CULV_EXPORT culv_result culv_vmm_set_access(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                            const culv_vmm_access *access, size_t count);

/** What *access names may do at `offset`: sets access->flags.
 * Errors: INVALID (NULL_ARGUMENT, RANGE, VALUE, NOT_MAPPED, DEVICE_MISMATCH), DRIVER, ASYNC.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemGetAccess. */
CULV_EXPORT culv_result culv_vmm_get_access(culv_vmm_range *range, uint64_t offset,
                                            culv_vmm_access *access);

/** Lists what is mapped in a range, by offset: as many as `capacity` into mappings (which may be
 * NULL with 0), the number that there is into *count.
 * Errors: INVALID (NULL_ARGUMENT).
 * Ownership: copies, yours; the allocations in them are borrowed.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_vmm_get_mappings(culv_vmm_range *range, culv_vmm_mapping *mappings,
                                              size_t capacity, size_t *count);

CULV_EXTERN_C_END

#endif
