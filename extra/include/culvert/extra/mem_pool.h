/* SPDX-License-Identifier: MIT */
/* Culvert: memory pools that other processes can use.
 *
 * Memory from cuMemAllocAsync lies in a pool. The process that makes an exportable pool has a
 * culv_pool. A process that imports it has a culv_mem_pool (culvert/vmm.h, which has the rules for
 * both and needs no culvert-extra). The pool is sent as a handle, and each allocation in it as 64
 * bytes:
 *
 *   exporter: culv_pool_export_dup(), cuMemAllocFromPoolAsync, culv_pool_export_pointer()
 *   importer: culv_mem_pool_import(), culv_mem_pool_import_pointer(), cuMemFreeAsync
 *
 * culv_ipc_from_pool() and culv_ipc_from_pool_memory() (culvert/ipc.h) send both. Export the
 * pool before its pointers (cuda.h, cuMemPoolExportPointer: "from an already shared memory pool";
 * measured on an H200).
 *
 * Vulkan, OpenGL and Direct3D cannot import pools (on an H200 vkAllocateMemory refused the handle
 * in all runs but one). For graphics use a culv_vmm_allocation (culvert/vmm.h) or the graphics
 * API's own memory (culvert/memory.h). */
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
    /** Handle types for export: bits (1 << culv_handle_type) of OPAQUE_FD, or on Windows
     * OPAQUE_WIN32 or OPAQUE_WIN32_KMT. 0: the pool is never exported. */
    uint32_t handle_types;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
    /** Export as CULV_HANDLE_FABRIC (culvert/fabric.h), in addition to handle_types. Culvert tests
     * it by an export. If it works, culv_pool_info::handle_types has the bit of
     * CULV_HANDLE_FABRIC. */
    culv_fabric fabric;
} culv_pool_desc;

/** culv_pool_desc_init(): a pool that is not exported. */
CULV_INIT(culv_pool_desc)

/** Makes a pool of the device's memory.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; HANDLE_TYPE: no pool can be exported as that type;
 * OS: no file descriptor is left for an exported pool; VALUE: `fabric`), UNSUPPORTED (VMM: the
 * device lacks pools; HANDLE_TYPE: this device or system lacks the type, or required fabric
 * handles; DRIVER_TOO_OLD), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_pool_destroy().
 * Source: cuda.h, cuMemPoolCreate. */
CULV_EXTRA culv_result culv_pool_create(culv_device *device, const culv_pool_desc *desc,
                                        culv_pool **out);

/** Destroys the pool. Memory that is not freed yet stays valid, and cuMemFreeAsync frees it later.
 * The driver releases the pool's memory with the last allocation. The call does not wait.
 *
 * If an export failed because the process had no file descriptor left, NVIDIA's cuMemPoolDestroy
 * crashes (measured on an H200). culv_pool_export_dup() therefore first asks the system for a
 * descriptor. If another thread then takes the last descriptor before the driver does, the pool is
 * never destroyed in the driver.
 * Source: cuda.h, cuMemPoolDestroy. */
CULV_EXTRA void culv_pool_destroy(culv_pool **pool);

/** The properties of a pool. */
typedef struct culv_pool_info {
    size_t struct_size; /**< Set by culv_pool_info_init(). */
    /** Types that the pool can be exported as: bits (1 << culv_handle_type). */
    uint32_t handle_types;
    /** Pool of the driver, for cuMemAllocFromPoolAsync, cuMemPoolSetAttribute, cuMemPoolTrimTo,
     * cuDeviceSetMemPool and others. The pool owns it: never destroy it. */
    CUmemoryPool native_handle;
} culv_pool_info;

CULV_INIT(culv_pool_info)

/** Fills *out with the properties of the pool.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXTRA culv_result culv_pool_get_info(const culv_pool *pool, culv_pool_info *out);

/** Exports the pool as a handle of a type that it was made for. Another process imports it with
 * culv_mem_pool_import(). After the export you can export the pool's pointers. A file descriptor is
 * closed on exec.
 * Errors: INVALID (NULL_ARGUMENT, HANDLE_TYPE; NOT_EXPORTABLE: it was not made for that type; OS:
 * no file descriptor is left), UNSUPPORTED (HANDLE_TYPE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: each call makes a new *out, which you close with culv_handle_close().
 * Source: cuda.h, cuMemPoolExportToShareableHandle. */
CULV_EXTRA culv_result culv_pool_export_dup(culv_pool *pool, culv_handle_type type,
                                            culv_handle *out);

/** Exports an allocation of the pool, for culv_mem_pool_import_pointer() in a process that has
 * imported the pool. `pointer` comes from cuMemAllocFromPoolAsync.
 * Errors: INVALID (NULL_ARGUMENT; NOT_READY: the pool was not exported yet; NOT_EXPORTABLE: the
 * pool was not made for export; VALUE: not memory of this pool), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: the copy is yours; it keeps nothing alive.
 * Source: cuda.h, cuMemPoolExportPointer. */
CULV_EXTRA culv_result culv_pool_export_pointer(culv_pool *pool, CUdeviceptr pointer,
                                                culv_mem_pool_pointer *out);

CULV_EXTERN_C_END

#endif
