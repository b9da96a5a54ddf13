/* SPDX-License-Identifier: MIT */
/* Culvert: fabric handles. Instead of a file descriptor, VMM memory or a memory pool is exported as
 * 64 bytes. Any process can import them, even in another container or on another machine of the
 * same NVLink domain.
 *
 * They need an IMEX channel of this user. The driver's attribute (culv_device_caps::vmm_fabric) is
 * 1 even without a channel, so culv_check_fabric() makes an allocation and exports it to test that.
 * Set culv_vmm_allocation_desc::fabric, and export the handle by culv_vmm_export_dup(). The other
 * process passes culv_handle_fabric(handle.value.fabric) and the exporter's
 * culv_vmm_allocation_info::size to culv_vmm_import(). docs/ipc.md has a program.
 *
 * The bytes do not contain the size, so an import maps the whole memory once and refuses a wrong
 * size (SIZE). The exporter must exist until the other side has imported the memory. For a pool,
 * set culv_pool_desc::fabric (culvert/extra/mem_pool.h) and import it by culv_mem_pool_import().
 *
 * culv_ipc_from_vmm_fabric() and culv_ipc_from_pool() (culvert/ipc.h) send them. */
#ifndef CULV_FABRIC_H_
#define CULV_FABRIC_H_

#ifndef CULV_EXPERIMENTAL
#    error "fabric.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Checks whether fabric handles work: it makes the smallest allocation, exports it and frees it.
 * The device remembers a success.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (VMM; HANDLE_TYPE: the device has no fabric handles,
 * or this user has no IMEX channel; the message says what to do), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: CUDA programming guide, "Virtual Memory Management", "Fabric memory". */
CULV_EXPORT culv_result culv_check_fabric(culv_device *device);

CULV_EXTERN_C_END

#endif
