/* SPDX-License-Identifier: MIT */
/* Culvert: memory pools that other processes can reach, and what a pointer can be shared as.
 *
 * Memory of cuMemAllocAsync lies in a pool. A pool that was made exportable goes to another CUDA
 * process as a handle, and then each allocation in it as 64 bytes of data. Vulkan, OpenGL and
 * Direct3D take no pools (vkAllocateMemory refused the handle in all runs on an H200 but one):
 * memory for graphics is a culv_vmm_allocation (culvert/vmm.h) or the graphics API's own
 * (culvert/memory.h).
 *
 * The order: the pool is exported first, its pointers after (cuda.h, cuMemPoolExportPointer: "from
 * an already shared memory pool"; measured on an H200). An allocation is freed by every process
 * that imported it before its owner frees it, and not used elsewhere before the owner's stream has
 * allocated it. */
#ifndef CULV_MEM_POOL_H_
#define CULV_MEM_POOL_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/* CUDA's own handle, repeated here as in base.h. */
typedef struct CUmemPoolHandle_st *CUmemoryPool;

/** Opaque: a memory pool. Creation and destruction of one object are ordered by the caller; other
 * calls may come from any thread. */
typedef struct culv_mem_pool culv_mem_pool;

/** A pool to make, of device memory. Zero means the default. */
typedef struct culv_mem_pool_desc {
    size_t struct_size; /**< Set by culv_mem_pool_desc_init(). */
    /** Bits (1 << culv_handle_type) of what it is to be exported as: OPAQUE_FD, on Windows
     * OPAQUE_WIN32 or OPAQUE_WIN32_KMT. 0: never exported. */
    uint32_t handle_types;
    uint64_t max_size; /**< Bytes at most (CUDA 12.2). 0: as much as there is. */
    /** Bytes that the pool keeps when memory in it is freed. 0: none, as by CUDA's default. */
    uint64_t release_threshold;
    /** Windows, OPAQUE_WIN32: a SECURITY_ATTRIBUTES with the security descriptor of exported
     * handles, read during the call (cuda.h, CUmemPoolProps). NULL: this user's default one. */
    const void *security_attributes;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_mem_pool_desc;

/** Returns a default descriptor: a pool that is not exported.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_mem_pool_desc culv_mem_pool_desc_init(void)
{
    culv_mem_pool_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A pool behind a handle. */
typedef struct culv_mem_pool_import_desc {
    size_t struct_size; /**< Set by culv_mem_pool_import_desc_init(). */
    /** Required: OPAQUE_FD (culv_mem_pool_export_dup()), on Windows OPAQUE_WIN32 or its KMT
     * form. */
    culv_handle handle;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_mem_pool_import_desc;

/** Returns a default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_mem_pool_import_desc culv_mem_pool_import_desc_init(void)
{
    culv_mem_pool_import_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** An allocation of a pool, as it goes to another process that has the pool: plain bytes, sent as
 * they are. No handle: it keeps nothing alive. */
typedef struct culv_mem_pool_pointer {
    uint8_t data[64]; /**< CUmemPoolPtrExportData. */
} culv_mem_pool_pointer;

/** Makes a pool of the device's memory.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; HANDLE_TYPE: none that a pool is exported as; OS: no
 * file descriptor is left for a pool that is exported), UNSUPPORTED (VMM: the device has no pools;
 * HANDLE_TYPE: none of this device's or system's; DRIVER_TOO_OLD), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_mem_pool_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemPoolCreate. */
CULV_EXPORT culv_result culv_mem_pool_create(culv_device *device, const culv_mem_pool_desc *desc,
                                             culv_mem_pool **out);

/** Gives the pool up and sets *pool to NULL; NULL, or a pointer to NULL, is a no-op. Memory that is
 * not freed yet stays, and is freed by cuMemFreeAsync; the pool's own goes with the last of it.
 * Does not wait. In a process that has no file descriptor left NVIDIA's cuMemPoolDestroy crashes:
 * Culvert asks the system first, and leaves the pool to a later culv_device_collect() or to
 * culv_device_close(), which logs a warning when it must leave the pool at the driver. Another
 * thread that takes the last descriptor in between is not seen.
 * Errors: none.
 * Ownership: *pool is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: cuda.h, cuMemPoolDestroy. */
CULV_EXPORT void culv_mem_pool_destroy(culv_mem_pool **pool);

/** The driver's pool (for cuMemPoolTrimTo, cuDeviceSetMemPool ...); NULL for NULL. Never destroy
 * it.
 * Errors: none.
 * Ownership: the pool's.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUmemoryPool culv_mem_pool_native_handle(const culv_mem_pool *pool);

/** Exports the pool as a handle of one of the types that it was made for, for
 * culv_mem_pool_import_take() in another process, and lets its pointers be exported from then on. A
 * file descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: not made for it, or imported itself;
 * OS: no file descriptor is left), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: each call makes a new *out, which you close with culv_handle_close().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemPoolExportToShareableHandle. */
CULV_EXPORT culv_result culv_mem_pool_export_dup(culv_mem_pool *pool, culv_handle_type type,
                                                 culv_handle *out);

/** Imports a pool and TAKES its handle: Culvert's after CULV_OK, still yours, open, after an error.
 * The device reads and writes what is in it, its own memory or another GPU's that it reaches.
 * Nothing new is allocated in an imported pool.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND), UNSUPPORTED
 * (VMM, HANDLE_TYPE, DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED; PEER: it lies on a GPU that the
 * device does not reach), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle as said; *out is yours; give it to culv_mem_pool_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemPoolImportFromShareableHandle, cuMemPoolSetAccess. */
CULV_EXPORT culv_result culv_mem_pool_import_take(culv_device *device,
                                                  const culv_mem_pool_import_desc *desc,
                                                  culv_mem_pool **out);

/** Imports a pool and BORROWS its handle: it stays yours, and you may close it right after the
 * call.
 * Errors: as culv_mem_pool_import_take().
 * Ownership: the handle stays yours; *out is yours; give it to culv_mem_pool_destroy().
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_mem_pool_import_borrow(culv_device *device,
                                                    const culv_mem_pool_import_desc *desc,
                                                    culv_mem_pool **out);

/** Allocates `size` bytes in stream order. The address is there at once; what is submitted to the
 * stream later may use it.
 * Errors: INVALID (NULL_ARGUMENT, SIZE; USAGE: an imported pool; STREAM_DEVICE), OUT_OF_MEMORY,
 * DRIVER, ASYNC.
 * Ownership: *out is yours; give it to culv_mem_pool_free() or cuMemFreeAsync.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemAllocFromPoolAsync. */
CULV_EXPORT culv_result culv_mem_pool_alloc(culv_mem_pool *pool, uint64_t size, CUstream stream,
                                            CUdeviceptr *out);

/** Frees memory of the pool, its own or imported, in stream order: when the stream gets there. 0 is
 * a no-op.
 * Errors: INVALID (NULL_ARGUMENT, STREAM_DEVICE), DRIVER (also for a pointer that is none), ASYNC.
 * Ownership: the memory is the pool's again.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemFreeAsync. */
CULV_EXPORT culv_result culv_mem_pool_free(culv_mem_pool *pool, CUdeviceptr pointer,
                                           CUstream stream);

/** Exports an allocation of the pool, for culv_mem_pool_import_pointer() in a process that imported
 * the pool. `pointer` is what culv_mem_pool_alloc() or cuMemAllocFromPoolAsync gave.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: the pool was not exported yet; NOT_EXPORTABLE: it was
 * not made for it, or is an import; VALUE: no memory of this pool), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: a copy, yours; it keeps nothing.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemPoolExportPointer. */
CULV_EXPORT culv_result culv_mem_pool_export_pointer(culv_mem_pool *pool, CUdeviceptr pointer,
                                                     culv_mem_pool_pointer *out);

/** Imports an allocation of an imported pool.
 * Errors: INVALID (NULL_ARGUMENT; USAGE: the pool is no import), DRIVER (HANDLE_REFUSED: data of
 * another pool, or of memory that was freed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours; give it to culv_mem_pool_free(), before its owner frees it.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemPoolImportPointer. */
CULV_EXPORT culv_result culv_mem_pool_import_pointer(culv_mem_pool *pool,
                                                     const culv_mem_pool_pointer *pointer,
                                                     CUdeviceptr *out);

/** What memory is at an address. */
typedef enum culv_pointer_kind {
    /** No memory of CUDA's: the host's own, or addresses that are reserved and not mapped. */
    CULV_POINTER_NONE = 0,
    CULV_POINTER_DEVICE = 1,  /**< Device memory of cuMemAlloc and its like. */
    CULV_POINTER_VMM = 2,     /**< Memory of cuMemCreate, mapped. */
    CULV_POINTER_POOL = 3,    /**< Memory of a pool: cuMemAllocAsync. */
    CULV_POINTER_MANAGED = 4, /**< cuMemAllocManaged. */
    CULV_POINTER_HOST = 5,    /**< Page-locked host memory: cuMemHostAlloc, cuMemHostRegister. */
    /** Imported from a graphics API: culv_buffer_pointer() of this culv_device. What other code
     * imported may be told as DEVICE: some drivers tell no difference. */
    CULV_POINTER_EXTERNAL = 6,
    CULV_POINTER_KIND_FORCE32 = 0x7fffffff
} culv_pointer_kind;

/** What CUDA tells of an address. */
typedef struct culv_pointer_info {
    size_t struct_size; /**< Set by culv_pointer_info_init(). */
    culv_pointer_kind kind;
    /** VMM and pools: bits (1 << culv_handle_type) of what it, or its pool, can be exported as from
     * this process; CULV_HANDLE_DMA_BUF_FD's, where culv_dma_buf_export_dup() may make one of it.
     * 0: nothing, or it is an import itself. */
    uint32_t handle_types;
    culv_bool graphics; /**< Nonzero: Vulkan on the same GPU takes it, by one of those handles. */
    char reason_text[384]; /**< How it is exported, or why not and what to use instead. */
    /** The CUDA ordinal of the device it lies on, or was allocated by; -1: none. */
    int32_t device;
    /** The allocation; of VMM memory the reserved addresses that it is mapped in. */
    CUdeviceptr range_start;
    uint64_t range_size;
    CUdeviceptr mapping_start; /**< VMM: what is mapped there; else the range. */
    uint64_t mapping_size;
    /** In this process: equal of two pointers to the same memory, also when it is mapped at two
     * places or anew. 0: not told. */
    uint64_t memory_id;
    /** In this process: another with each allocation or mapping, so that one made later at the same
     * address is told apart. 0: not told (external memory). */
    uint64_t buffer_id;
    CUmemoryPool pool; /**< Pools: the driver's handle. */
    /** Nonzero: cuIpcGetMemHandle takes it. It shares the whole block that the memory lies in. */
    culv_bool ipc;
    culv_bool rdma; /**< Nonzero: third-party devices can reach it (GPUDirect RDMA). */
} culv_pointer_info;

/** Returns an empty culv_pointer_info with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_pointer_info culv_pointer_info_init(void)
{
    culv_pointer_info i;
    memset(&i, 0, sizeof i);
    i.struct_size = sizeof i;
    return i;
}

/** Tells what memory is at an address, what it can be exported as, and which allocation it is of.
 * An address without memory is no error: kind is NONE.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), DRIVER, ASYNC.
 * Ownership: the copy is yours.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuPointerGetAttributes: ALLOWED_HANDLE_TYPES, MEMORY_BLOCK_ID, MEMPOOL_HANDLE
 * ...; cuMemRetainAllocationHandle, which knows cuMemCreate's memory; measured on an H200,
 * docs/vmm-more.md. */
CULV_EXPORT culv_result culv_pointer_get_info(culv_device *device, CUdeviceptr pointer,
                                              culv_pointer_info *out);

CULV_EXTERN_C_END

#endif
