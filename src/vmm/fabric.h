/* SPDX-License-Identifier: MIT */
/* Fabric handles: fabric.c, and the part of share.c that they need. */
#ifndef CULVI_VMM_FABRIC_H_
#define CULVI_VMM_FABRIC_H_

#include "culvert/fabric.h"
#include "vmm/allocation.h"

enum { CULVI_FABRIC = 8 }; /* CU_MEM_HANDLE_TYPE_FABRIC; cuda.h has it from 12.3 on */

/* What d->fabric asks for: adds the handle type to both where it works. */
culv_result culvi_vmm_fabric_ask(culv_device *device, culv_vmm_allocation_desc *d,
                                 CUmemAllocationProp *prop);

/* culv_vmm_import() of d->handle of type FABRIC. */
culv_result culvi_vmm_import_fabric(culv_device *device, const culv_vmm_import_desc *d,
                                    culv_vmm_allocation **out);

/* share.c: the allocation of a handle of plain bytes. */
culv_result culvi_vmm_import_bytes(culv_device *device, const culv_vmm_import_desc *d, void *bytes,
                                   culv_vmm_allocation **out);

#endif
