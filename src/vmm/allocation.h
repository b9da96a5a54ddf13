/* SPDX-License-Identifier: MIT */
/* Physical allocations. */
#ifndef CULVI_VMM_ALLOCATION_H_
#define CULVI_VMM_ALLOCATION_H_

#include "cuda/retire.h"
#include "culvert/vmm.h"

/* cuda.h has these from 12.2, 12.8 and 12.9 on. */
enum {
    CULVI_LOCATION_HOST = 2,              /* CU_MEM_LOCATION_TYPE_HOST */
    CULVI_LOCATION_HOST_NUMA = 3,         /* CU_MEM_LOCATION_TYPE_HOST_NUMA */
    CULVI_CREATE_USAGE_HW_DECOMPRESS = 2, /* CU_MEM_CREATE_USAGE_HW_DECOMPRESS */
    CULVI_ATTRIBUTE_DECOMPRESS = 136,     /* CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK */
    CULVI_ATTRIBUTE_HOST_NUMA_VMM = 141,  /* ..._HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    CULVI_ATTRIBUTE_HOST_VMM = 145        /* ..._HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
};

/* The struct outlives the caller's handle while the memory is mapped somewhere; the driver's handle
 * does not. */
struct culv_vmm_allocation {
    culv_device *device; /* holds a reference until it is given up */
    atomic_uint refs;    /* the driver's handle and each mapping, in ranges of any device */
    atomic_uint mappings;
    atomic_bool given_up; /* by the caller; `handle` must not be used any longer */
    /* Counts the devices that are still to be added to a multicast object; it can be mapped once
     * this is 0 */
    atomic_uint missing;
    CUmemGenericAllocationHandle handle;
    uint64_t requested; /* what the caller asked for */
    uint64_t size;      /* what is there */
    uint64_t granularity;
    culv_vmm_location_kind kind;
    int32_t numa_node;
    CUdevice owner;        /* the GPU that it lies on; -1 for host memory */
    culv_uuid uuid;        /* of that GPU; all zero for host memory */
    uint32_t handle_types; /* bits (1 << culv_handle_type) */
    uint32_t usage;        /* bits of culv_vmm_usage, as granted */
    bool imported;
    culv_handle kept; /* what it was imported by, to export it again; or type NONE */
    /* Names what destroys the vector or adopted range whose chunk it is; NULL: it is the caller's
     * own */
    const char *owner_destroy_call;
    char label[64];
    culvi_tie tie; /* it was exported or imported */
    culvi_deferred deferred;
};

/* Whether both are served by one driver. */
bool culvi_vmm_same_driver(const culv_device *a, const culv_device *b);
/* Calls that take something away use it: they do not enter a lost context, and that is not an
 * error. */
culv_result culvi_vmm_enter(culv_device *device, culvi_scope *scope, const char *label,
                            bool *entered);
/* A new allocation struct for the device's memory, without a handle and with one reference. NULL:
 * out of host memory (recorded). */
culv_vmm_allocation *culvi_vmm_allocation_new(culv_device *device, const char *label);
/* It has a handle: counts it and holds the device. */
void culvi_vmm_allocation_made(culv_vmm_allocation *allocation);
/* It was shared: no checkpoint keeps that. Takes the device's lock. */
void culvi_vmm_allocation_shared(culv_vmm_allocation *allocation);
/* culv_vmm_allocation_destroy() for the owner of a chunk. */
void culvi_vmm_allocation_give_up(culv_vmm_allocation **allocation);
/* Removes one reference. */
void culvi_vmm_allocation_unref(culv_vmm_allocation *allocation);
/* Fills in an allocation with what the driver reports about it. */
void culvi_vmm_allocation_describe(culv_vmm_allocation *allocation,
                                   const CUmemAllocationProp *prop);
/* Releases a driver's handle that did not become an object. Call it in the device's context. */
void culvi_vmm_release_handle(culv_device *device, CUmemGenericAllocationHandle handle);

/* property.c: the kinds of allocations, and their granularity. */

/* Refuses a device without virtual memory management. */
culv_result culvi_vmm_check_device(const culv_device *device, const char *call);
/* CUDA's bits of handle types as Culvert's, for the types of this system. */
uint32_t culvi_vmm_from_cuda_handle_types(uint64_t types);
/* A handle as cuMemImportFromShareableHandle() and the like take it: the number itself, not its
 * address; of bytes the address. */
void *culvi_vmm_shareable(const culv_handle *handle);
/* Reads a caller's descriptor and checks everything but the size. */
culv_result culvi_vmm_read_desc(culv_device *device, const culv_vmm_allocation_desc *desc,
                                const void *out, const char *call, culv_vmm_allocation_desc *d,
                                CUmemAllocationProp *prop);
/* The granularity of memory of that kind, and whether the device has such memory at all. The
 * last answers are kept. */
culv_result culvi_vmm_granularity_of(culv_device *device, const culv_vmm_allocation_desc *d,
                                     const CUmemAllocationProp *prop, uint64_t *out);
/* The minimum granularity of memory at a location of the device's. */
culv_result culvi_vmm_least_granularity(culv_device *device, culv_vmm_location_kind kind,
                                        int32_t numa_node, uint64_t *out);

#endif
