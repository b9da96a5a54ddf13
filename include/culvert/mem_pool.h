/* SPDX-License-Identifier: MIT */
/* Culvert: memory pools of other processes.
 *
 * Memory from cuMemAllocAsync lies in a pool. Another CUDA process sends an exportable pool as a
 * handle. Then it sends each allocation in it as 64 bytes of data:
 *
 *   exporter: culvert/extra/mem_pool.h of culvert-extra, or CUDA's own calls
 *   importer: culv_mem_pool_import(), culv_mem_pool_import_pointer(), cuMemFreeAsync
 *
 * Every process that imported an allocation must free it before its owner does. No other process
 * may use it before the owner's stream has allocated it. culvert/ipc_cuda.h carries both. */
#ifndef CULV_MEM_POOL_H_
#define CULV_MEM_POOL_H_

#include "device.h"
#include "handle.h"

CULV_EXTERN_C_BEGIN

/** Opaque: another process's memory pool. You order the creation and the destruction of one object.
 * Other calls may come from any thread. */
typedef struct culv_mem_pool culv_mem_pool;

/** A pool to import by its handle. */
typedef struct culv_mem_pool_import_desc {
    size_t struct_size; /**< Set by culv_mem_pool_import_desc_init(). */
    /** Required. OPAQUE_FD or FABRIC; on Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_mem_pool_import_desc;

CULV_INIT(culv_mem_pool_import_desc)

/** An allocation of a pool, in the form for another process that has the pool. Send the bytes as
 * they are. This is not a handle, so it keeps nothing alive. */
typedef struct culv_mem_pool_pointer {
    uint8_t data[64]; /**< CUmemPoolPtrExportData. */
} culv_mem_pool_pointer;

/** Ends the import. What was imported from it goes by cuMemFreeAsync. Does not wait.
 * Threads: any, ordered with other calls on this object.
 * Source: cuda.h, cuMemPoolDestroy. */
CULV_EXPORT void culv_mem_pool_destroy(culv_mem_pool **pool);

/** Imports a pool and BORROWS its handle. The device can read and write its allocations, whether
 * the memory is its own or that of another GPU that it reaches. You cannot allocate in an imported
 * pool.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND), UNSUPPORTED
 * (VMM, HANDLE_TYPE, DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED; PEER: it lies on a GPU that the
 * device does not reach), ASYNC, OUT_OF_MEMORY.
 * Ownership: the handle stays yours: close it whenever you like (culv_handle_close()). *out is
 * yours, for culv_mem_pool_destroy().
 * Threads: any.
 * Source: cuda.h, cuMemPoolImportFromShareableHandle, cuMemPoolSetAccess. */
CULV_EXPORT culv_result culv_mem_pool_import(culv_device *device,
                                             const culv_mem_pool_import_desc *desc,
                                             culv_mem_pool **out);

/** Imports an allocation of the pool.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER (HANDLE_REFUSED: the
 * data is of another pool, or of memory that was freed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for cuMemFreeAsync before its owner frees it. Threads: any.
 * Source: cuda.h, cuMemPoolImportPointer. */
CULV_EXPORT culv_result culv_mem_pool_import_pointer(culv_mem_pool *pool,
                                                     const culv_mem_pool_pointer *pointer,
                                                     CUdeviceptr *out);

CULV_EXTERN_C_END

#endif
