/* SPDX-License-Identifier: MIT */
/* Culvert: fabric handles. Instead of a file descriptor, VMM memory or a memory pool is 64 bytes
 * that any process can import, even in another container or on another machine of the same NVLink
 * domain.
 *
 * They need an IMEX channel of this user. The driver's attribute (culv_device_caps::vmm_fabric) is
 * 1 even without one, so culv_check_fabric() tries: it makes an allocation and exports it.
 * culv_vmm_allocation_desc::fabric asks for one, and culv_vmm_export_dup() gives it. The other
 * process passes culv_handle_fabric(handle.value.fabric) and the exporter's
 * culv_vmm_allocation_info::size to culv_vmm_import(). docs/ipc.md has a program.
 *
 * The bytes do not contain the size, so an import maps all of it once and refuses another size
 * (SIZE). The exporter must live until the other side has imported. A pool likewise:
 * culv_pool_desc::fabric (culvert/extra/mem_pool.h), culv_mem_pool_import().
 *
 * culv_ipc_from_vmm_fabric() and culv_ipc_from_pool() (culvert/ipc.h) carry them. */
#ifndef CULV_FABRIC_H_
#define CULV_FABRIC_H_

#ifndef CULV_EXPERIMENTAL
#    error "fabric.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Tells whether fabric handles work here: makes the smallest allocation, exports it and frees it.
 * The device remembers a success.
 * Errors: INVALID (NULL_ARGUMENT), UNSUPPORTED (VMM; HANDLE_TYPE: the device has none, or this user
 * has no IMEX channel: the message says what to do), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Source: CUDA programming guide, "Virtual Memory Management", "Fabric memory". */
CULV_EXPORT culv_result culv_check_fabric(culv_device *device);

CULV_EXTERN_C_END

#endif
