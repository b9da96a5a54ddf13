/* SPDX-License-Identifier: MIT */
/* Culvert: memory pools that other processes can use.
 *
 * Memory from cuMemAllocAsync lies in a pool. The process that makes an exportable pool has a
 * culv_pool, and one that imports it a culv_mem_pool (culvert/vmm.h, which needs no culvert-extra
 * and has the rules for both). The pool goes as a handle, and each allocation in it as 64 bytes:
 *
 *   exporter: culv_pool_export_dup(), cuMemAllocFromPoolAsync, culv_pool_export_pointer()
 *   importer: culv_mem_pool_import(), culv_mem_pool_import_pointer(), cuMemFreeAsync
 *
 * culv_ipc_from_pool() and culv_ipc_from_pool_memory() (culvert/ipc.h) send both. Export the
 * pool before its pointers (cuda.h, cuMemPoolExportPointer: "from an already shared memory pool";
 * measured on an H200).
 *
 * Vulkan, OpenGL and Direct3D take no pools (on an H200 vkAllocateMemory refused the handle in all
 * runs but one). For graphics use a culv_vmm_allocation (culvert/vmm.h) or the graphics API's own
 * memory (culvert/memory.h). */
#ifndef CULV_EXTRA_MEM_POOL_H_
#define CULV_EXTRA_MEM_POOL_H_

#include "extra.h"

#include <culvert/vmm.h>

CULV_EXTERN_C_BEGIN

/** Opaque: a memory pool. */
typedef struct culv_pool culv_pool;

/** A pool of device memory to make. */
typedef struct culv_pool_desc {
    size_t struct_size; /**< Set by culv_pool_desc_init(). */
    /** The handle types that you want to export the pool as: bits (1 << culv_handle_type) of
     * OPAQUE_FD, or on Windows OPAQUE_WIN32 or OPAQUE_WIN32_KMT. 0: it is never exported. */
    uint32_t handle_types;
    uint64_t max_size; /**< Maximum size in bytes (CUDA 12.2). 0: as much as there is. */
    /** Bytes that the pool keeps when memory in it is freed. 0: none, which is CUDA's default. */
    uint64_t release_threshold;
    /** Windows, OPAQUE_WIN32: a SECURITY_ATTRIBUTES with the security descriptor of exported
     * handles (cuda.h, CUmemPoolProps). Read during the call. NULL: this user's default. */
    const void *security_attributes;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
    /** The export as CULV_HANDLE_FABRIC (culvert/fabric.h), besides handle_types.
     * Culvert tests by an export whether it works. If it does, culv_pool_info::handle_types has
     * the bit of CULV_HANDLE_FABRIC. */
    culv_fabric fabric;
} culv_pool_desc;

/** culv_pool_desc_init(): a pool that is not exported. */
CULV_INIT(culv_pool_desc)

/** Makes a pool of the device's memory.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; HANDLE_TYPE: no pool is exported as that type; OS:
 * no file descriptor is left for an exported pool; VALUE: `fabric`), UNSUPPORTED (VMM: the device
 * lacks pools; HANDLE_TYPE: this device or system lacks the type, or fabric handles that were
 * required; DRIVER_TOO_OLD), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_pool_destroy().
 * Source: cuda.h, cuMemPoolCreate. */
CULV_EXTRA culv_result culv_pool_create(culv_device *device, const culv_pool_desc *desc,
                                        culv_pool **out);

/** Destroys the pool. Memory that is not freed yet stays, and cuMemFreeAsync frees it later; the
 * pool's own memory is released with the last of it. Does not wait.
 *
 * NVIDIA's cuMemPoolDestroy crashes for a pool whose export failed because the process had no file
 * descriptor left (measured on an H200). culv_pool_export_dup() therefore asks the system for a
 * descriptor before it calls the driver. If another thread takes the last one in between, that pool
 * stays in the driver.
 * Source: cuda.h, cuMemPoolDestroy. */
CULV_EXTRA void culv_pool_destroy(culv_pool **pool);

/** The properties of a pool. */
typedef struct culv_pool_info {
    size_t struct_size; /**< Set by culv_pool_info_init(). */
    /** The types that the pool can be exported as, in bits (1 << culv_handle_type). */
    uint32_t handle_types;
    /** The driver's pool, for cuMemAllocFromPoolAsync, cuMemPoolTrimTo, cuDeviceSetMemPool and
     * others. The pool owns it: never destroy it. */
    CUmemoryPool native_handle;
} culv_pool_info;

CULV_INIT(culv_pool_info)

/** Fills *out with what the pool is.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXTRA culv_result culv_pool_get_info(const culv_pool *pool, culv_pool_info *out);

/** Exports the pool as a handle of one of the types that it was made for. Another process imports
 * it with culv_mem_pool_import(). From then on you can export the pool's pointers. A file
 * descriptor is closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: it was not made for that type; OS:
 * no file descriptor is left), UNSUPPORTED (HANDLE_TYPE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: each call makes a new *out, which you close with culv_handle_close().
 * Source: cuda.h, cuMemPoolExportToShareableHandle. */
CULV_EXTRA culv_result culv_pool_export_dup(culv_pool *pool, culv_handle_type type,
                                            culv_handle *out);

/** Exports an allocation of the pool, for culv_mem_pool_import_pointer() in a process that imported
 * the pool. `pointer` comes from cuMemAllocFromPoolAsync.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: the pool was not exported yet; NOT_EXPORTABLE: the
 * pool was not made for export; VALUE: not memory of this pool), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the copy is yours; it keeps nothing alive.
 * Source: cuda.h, cuMemPoolExportPointer. */
CULV_EXTRA culv_result culv_pool_export_pointer(culv_pool *pool, CUdeviceptr pointer,
                                                culv_mem_pool_pointer *out);

CULV_EXTERN_C_END

#endif
