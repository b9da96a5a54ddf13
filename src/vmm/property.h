/* SPDX-License-Identifier: MIT */
/* The kinds of allocations, and their granularity. */
#ifndef CULVI_VMM_PROPERTY_H_
#define CULVI_VMM_PROPERTY_H_

#include "cuda/device.h"
#include "culvert/vmm.h"

/* Refuses a device without virtual memory management. */
culv_result culvi_vmm_check_device(const culv_device *device, const char *call);
/* CUDA's bits of handle types as Culvert's, for the types of this system. */
uint32_t culvi_vmm_from_cuda_handle_types(uint64_t types);
/* A handle as cuMemImportFromShareableHandle() and the like take it: the number itself, not its
 * address. */
void *culvi_vmm_shareable(const culv_handle *handle);
/* Reads a caller's descriptor and checks everything but the size. */
culv_result culvi_vmm_read_desc(culv_device *device, const culv_vmm_allocation_desc *desc,
                                const void *out, const char *call, culv_vmm_allocation_desc *d,
                                CUmemAllocationProp *prop);
/* The granularity of memory of that kind, and whether the device has such memory at all. Asks the
 * driver once. */
culv_result culvi_vmm_granularity_of(culv_device *device, const culv_vmm_allocation_desc *d,
                                     const CUmemAllocationProp *prop, uint64_t *out);
/* The minimum granularity of memory at a location of the device's. */
culv_result culvi_vmm_least_granularity(culv_device *device, culv_vmm_location_kind kind,
                                        int32_t numa_node, uint64_t *out);

#endif
