/* SPDX-License-Identifier: MIT */
/* Culvert: fabric handles. Instead of a file descriptor, VMM memory or a memory pool is 64 bytes
 * that any process can import, even in another container or on another machine of the same NVLink
 * domain.
 *
 * They need an IMEX channel of this user. The driver's attribute (culv_device_caps::vmm_fabric) is
 * 1 even without one, so culv_check_fabric() tries: it makes an allocation and exports it.
 *
 *   culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
 *   d.size = size;
 *   d.fabric = CULV_FABRIC_TRY;                    a fabric handle if there is one,
 *   d.handle_types = 1 << CULV_HANDLE_OPAQUE_FD;   and a file descriptor in any case
 *   culv_vmm_allocation_create(device, &d, &allocation);
 *   culv_vmm_export_fabric(allocation, &bytes);
 *
 * A pool likewise: culv_mem_pool_desc::fabric, culv_mem_pool_export_fabric(), and then
 * culv_mem_pool_export_pointer() for its allocations.
 *
 * culv_ipc_from_vmm_fabric() and culv_ipc_from_pool_fabric() (culvert/ipc_cuda.h) carry them. */
#ifndef CULV_FABRIC_H_
#define CULV_FABRIC_H_

#ifndef CULV_EXPERIMENTAL
#    error "fabric.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "mem_pool.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** A CUmemFabricHandle: send the bytes as they are. A process that has them can map the memory, if
 * its user has the same IMEX channel. */
typedef struct culv_fabric_handle {
    uint8_t bytes[64];
} culv_fabric_handle;

/** Tells whether fabric handles work here: makes the smallest allocation, exports it and frees it.
 * The device remembers a success.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (VMM; HANDLE_TYPE: the device has none, or this user
 * has no IMEX channel: the message says what to do), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Threads: any.
 * Source: CUDA programming guide, "Virtual Memory Management", "Fabric memory". */
CULV_EXPORT culv_result culv_check_fabric(culv_device *device);

/** Exports an allocation that was made with culv_vmm_allocation_desc::fabric, and whose
 * culv_vmm_allocation_info::handle_types has the bit of CULV_HANDLE_FABRIC.
 * Errors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is plain bytes. The allocation must live until the other side has imported it.
 * Threads: any.
 * Source: cuda.h, CU_MEM_HANDLE_TYPE_FABRIC. */
CULV_EXPORT culv_result culv_vmm_export_fabric(culv_vmm_allocation *allocation,
                                               culv_fabric_handle *out);

/** Imports what culv_vmm_export_fabric() exported. desc->handle stays empty; its other fields are
 * those of culv_vmm_import(). The bytes do not contain the size, so the call maps all of it
 * once and refuses a larger size than there is.
 * Errors: as culv_vmm_import(); INVALID (HANDLE_TYPE: desc->handle is given; SIZE: the memory
 * is smaller), DRIVER (HANDLE_REFUSED: no such handle, or no IMEX channel).
 * Ownership: *out is yours, for culv_vmm_allocation_destroy(). Threads: any.
 * Source: cuda.h, cuMemImportFromShareableHandle. */
CULV_EXPORT culv_result culv_vmm_import_fabric(culv_device *device,
                                               const culv_fabric_handle *handle,
                                               const culv_vmm_import_desc *desc,
                                               culv_vmm_allocation **out);

/** Exports a pool that was made with culv_mem_pool_desc::fabric, and whose
 * culv_mem_pool_info::handle_types has the bit of CULV_HANDLE_FABRIC. From then on you can export
 * the pool's pointers by culv_mem_pool_export_pointer().
 * Errors: INVALID (NULL_ARGUMENT; NOT_EXPORTABLE), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is plain bytes. The pool must live until the other side has imported it.
 * Threads: any.
 * Source: cuda.h, cuMemPoolExportToShareableHandle, CU_MEM_HANDLE_TYPE_FABRIC. */
CULV_EXPORT culv_result culv_mem_pool_export_fabric(culv_mem_pool *pool, culv_fabric_handle *out);

/** Imports what culv_mem_pool_export_fabric() exported. desc->handle stays empty, and desc may be
 * NULL. culv_mem_pool_import_pointer() then imports the pool's allocations.
 * Errors: as culv_mem_pool_import(); INVALID (HANDLE_TYPE: desc->handle is given), DRIVER
 * (HANDLE_REFUSED: no such handle, or no IMEX channel).
 * Ownership: *out is yours, for culv_mem_pool_destroy(). Threads: any.
 * Source: cuda.h, cuMemPoolImportFromShareableHandle. */
CULV_EXPORT culv_result culv_mem_pool_import_fabric(culv_device *device,
                                                    const culv_fabric_handle *handle,
                                                    const culv_mem_pool_import_desc *desc,
                                                    culv_mem_pool **out);

CULV_EXTERN_C_END

#endif
