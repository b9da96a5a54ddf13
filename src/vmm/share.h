/* SPDX-License-Identifier: MIT */
/* Export and import, also by fabric handles: fabric.c. */
#ifndef CULVI_VMM_SHARE_H_
#define CULVI_VMM_SHARE_H_

#include "culvert/fabric.h"
#include "vmm/allocation.h"

/* The GPU that the VMM memory behind a handle lies on. *out is unchanged for other memory and for
 * host memory. */
culv_result culvi_vmm_find_exporter(culv_device *device, const char *label,
                                    const culv_handle *handle, culv_uuid *out);

/* Imports a handle that Culvert has just exported, and closes it whatever the result is. */
culv_result culvi_vmm_import_exported(culv_device *device, const culv_vmm_import_desc *d,
                                      culv_vmm_allocation **out);

enum { CULVI_FABRIC = 8 }; /* CU_MEM_HANDLE_TYPE_FABRIC; cuda.h has it from 12.3 on */

/* What d->fabric asks for: adds the handle type to both where it works. */
culv_result culvi_vmm_fabric_ask(culv_device *device, culv_vmm_allocation_desc *d,
                                 CUmemAllocationProp *prop);

/* Whether an import by such a handle has the size that the caller says. */
culv_result culvi_vmm_check_fabric_size(const culv_vmm_allocation *allocation);

/* adopt.c: chunks of somebody else's memory, each known once to its device. */

/* A chunk is in its device's tree, and the device's lock guards it while others may find it. */
typedef struct culvi_adopted_chunk {
    culvi_tree_node node;
    culv_device *device;
    uint32_t refs; /* ranges, and what graphics APIs made of it */
    uint64_t id;
    CUdeviceptr base;
    uint64_t size;
    culv_vmm_allocation *allocation; /* its handle tells the memory from any other */
} culvi_adopted_chunk;

struct culv_vmm_adopted {
    culv_device *device;
    uint64_t offset; /* bytes into the first chunk */
    uint64_t size;
    size_t count, capacity;
    culvi_adopted_chunk **chunks; /* by address, without gaps */
};

void culvi_adopted_chunk_unref(culvi_adopted_chunk *chunk);

#endif
