/* SPDX-License-Identifier: MIT */
/* Export and import: the part of share.c that differs by system. */
#ifndef CULVI_VMM_SHARE_H_
#define CULVI_VMM_SHARE_H_

#include "cuda/device.h"
#include "culvert/vmm.h"

#include <stdbool.h>
#include <stddef.h>

/* The GPU that the VMM memory behind a handle lies on. *out is unchanged for other memory and for
 * host memory. */
culv_result culvi_vmm_find_exporter(culv_device *device, const char *label,
                                    const culv_handle *handle, culv_uuid *out);

/* Imports a handle that Culvert has just exported, and closes it whatever the result is. */
culv_result culvi_vmm_import_exported(culv_device *device, const culv_vmm_import_desc *d,
                                      culv_vmm_allocation **out);

/* Makes an object of the allocation that is mapped at an address, with its own driver handle. */
culv_result culvi_vmm_retain_at(culv_device *device, CUdeviceptr address,
                                culv_vmm_allocation **out);

/* What is mapped at an address of CUDA's. */
typedef enum culvi_at {
    CULVI_AT_NOTHING,
    CULVI_AT_VMM, /* memory of cuMemCreate */
    CULVI_AT_POOL,
    CULVI_AT_HOST, /* page-locked */
    CULVI_AT_OTHER /* of a context: cudaMalloc's, or imported */
} culvi_at;
/* *size: the bytes of the mapping. In the device's context. */
culvi_at culvi_vmm_ask_address(const culv_device *device, CUdeviceptr address, size_t *size);

/* The value of CUmemAllocationProp::win32HandleMetaData when the caller gave none; NULL where it
 * must be zero. */
const void *culvi_vmm_object_attributes(void);

#endif
