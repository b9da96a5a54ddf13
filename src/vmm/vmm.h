/* Virtual memory management: allocations, ranges, and what is mapped in them.
 *
 * The driver checks little of this (measured: cuMemMap takes what leaves a reservation), so a range knows by itself what is
 * mapped where. SPDX-License-Identifier: MIT */
#ifndef CULVI_VMM_H_
#define CULVI_VMM_H_

#include "culvert/vmm.h"
#include "object.h"

/* cuda.h has these from 12.2, 12.8 and 12.9 on. */
enum {
    CULVI_LOCATION_HOST = 2,              /* CU_MEM_LOCATION_TYPE_HOST */
    CULVI_LOCATION_HOST_NUMA = 3,         /* CU_MEM_LOCATION_TYPE_HOST_NUMA */
    CULVI_CREATE_USAGE_HW_DECOMPRESS = 2, /* CU_MEM_CREATE_USAGE_HW_DECOMPRESS */
    CULVI_ATTRIBUTE_DECOMPRESS = 136,     /* CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK */
    CULVI_ATTRIBUTE_HOST_NUMA_VMM = 141,  /* ..._HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    CULVI_ATTRIBUTE_HOST_VMM = 145        /* ..._HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
};

/* The struct outlives the caller's handle while something maps it; the driver's handle does not. */
struct culv_vmm_allocation {
    culv_device *device; /* holds a reference until it is given up */
    atomic_uint refs;    /* the driver's handle and each mapping, of whatever device's ranges */
    atomic_uint mappings;
    atomic_bool given_up; /* by the caller: `handle` is no longer to be used */
    atomic_uint
        missing; /* of a multicast object: devices that are still to be added; it is mapped once there is none */
    CUmemGenericAllocationHandle handle;
    uint64_t requested; /* what the caller asked for */
    uint64_t size;      /* what is there */
    uint64_t granularity;
    culv_vmm_location_kind kind;
    int32_t numa_node;
    CUdevice owner;        /* the GPU that it lies on; -1 of host memory */
    culv_uuid uuid;        /* of that GPU; all zero of host memory */
    uint32_t handle_types; /* bits (1 << culv_handle_type) */
    uint32_t usage;        /* bits of culv_vmm_usage, as granted */
    bool imported;
    bool multicast; /* a multicast object: no memory itself */
    char label[64];
    culvi_retired retired;
};

/* All of an allocation at an offset of a range. */
typedef struct culvi_vmm_mapping {
    culvi_retired retired;          /* of the first of a batch that waits for its release */
    struct culvi_vmm_mapping *next; /* of that batch */
    culv_vmm_range *range;
    culv_vmm_allocation *allocation; /* a reference */
    uint64_t offset;
    uint64_t size;
    bool unmapping;          /* given up, and waits for a stream or for the driver */
    size_t num_access;       /* what was granted, one entry a location */
    CUmemAccessDesc *access; /* `first`, or an allocation of its own */
    CUmemAccessDesc first;
} culvi_vmm_mapping;

struct culv_vmm_range {
    culv_device *device; /* holds a reference until it is abandoned */
    CUdeviceptr base;
    uint64_t size;
    uint64_t granularity;
    char label[64];
    /* Guarded by the device's lock. */
    culvi_vmm_mapping **mappings; /* sorted by offset, those included that wait for their release */
    size_t num_mappings;
    size_t capacity;
    size_t num_unmapping;
    bool abandoned; /* the addresses go with the last mapping */
    culvi_retired retired;
};

/* --- For culv_vector and what else is built on ranges */

/* Gives a range up: its addresses go once nothing is mapped in it any more, deferred unmappings included. What is mapped and
 * was not given up by then goes with the device. */
void culvi_vmm_range_abandon(culv_vmm_range **range);
/* Waits on the host, without the device's lock, for deferred unmappings that touch [offset, offset + size) and releases
 * them. BUSY (MAPPED): the driver took one of them not back. */
culv_result culvi_vmm_range_settle(culv_vmm_range *range, uint64_t offset, uint64_t size);
/* An access list as CUDA takes it: `count` entries, or 1 when count is 0. That the devices reach the memory is checked for
 * memory of `device`. */
culv_result culvi_vmm_access_resolve(culv_device *device, const culv_vmm_access *access, size_t count,
                                     CUmemAccessDesc *out);
/* culv_vmm_map() for an allocation whose access list, of at least one entry, was checked before. */
culv_result culvi_vmm_map_resolved(culv_vmm_range *range, uint64_t offset, culv_vmm_allocation *allocation,
                                   const CUmemAccessDesc *access, size_t count);
/* Unmaps what lies in [offset, offset + size), whole mappings, but for deferred unmappings. Quietly: destroys have no error to
 * report; what the driver refuses is tried again by later calls for the range. */
void culvi_vmm_unmap_quietly(culv_vmm_range *range, uint64_t offset, uint64_t size);

/* --- property.c */

/* Refuses a device without virtual memory management. */
culv_result culvi_vmm_check_device(const culv_device *device, const char *call);
/* Culvert's bits of handle types as CUDA's. */
unsigned culvi_vmm_to_cuda_handle_types(uint32_t handle_types);
/* Reads a caller's descriptor and checks all of it but the size. */
culv_result culvi_vmm_read_desc(culv_device *device, const culv_vmm_allocation_desc *desc, const void *out,
                                const char *call, culv_vmm_allocation_desc *d, CUmemAllocationProp *prop);
/* The granularity of memory of that kind, asked once, with whether the device has such at all. */
culv_result culvi_vmm_granularity_of(culv_device *device, const culv_vmm_allocation_desc *d,
                                     const CUmemAllocationProp *prop, uint64_t *out);
/* The least granularity of memory at a location of the device's. */
culv_result culvi_vmm_least_granularity(culv_device *device, culv_vmm_location_kind kind, int32_t numa_node,
                                        uint64_t *out);

/* --- allocation.c */

/* Whether both are served by one driver. */
bool culvi_vmm_same_driver(const culv_device *a, const culv_device *b);
/* For what takes away: a lost context is none to enter, and no error. */
culv_result culvi_vmm_enter(culv_device *device, culvi_scope *scope, const char *label, bool *entered);
/* One of the device's memory, without a handle, with one reference; NULL: out of host memory (recorded). */
culv_vmm_allocation *culvi_vmm_allocation_new(culv_device *device, const char *label);
/* One reference less. */
void culvi_vmm_allocation_unref(culv_vmm_allocation *allocation);
/* Puts what the driver says of an allocation into it. */
void culvi_vmm_allocation_describe(culv_vmm_allocation *allocation, const CUmemAllocationProp *prop);
/* Gives a driver's handle back that became no object. In the device's context. */
void culvi_vmm_release_handle(culv_device *device, CUmemGenericAllocationHandle handle);

/* --- range.c. The caller holds the lock. */

/* The first mapping that ends beyond an offset; num_mappings: none. */
size_t culvi_vmm_find(const culv_vmm_range *range, uint64_t offset);
/* Adds what is mapped in [offset, offset + size) to a message. */
void culvi_vmm_list(const culv_vmm_range *range, uint64_t offset, uint64_t size, culvi_text *text);
/* Whether [offset, offset + size) is of the range. */
culv_result culvi_vmm_check_span(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                                 const char *call);
/* Releases an abandoned range in which nothing is mapped any more. In the device's context where there is one. */
void culvi_vmm_range_settled(culv_vmm_range *range, bool last_try);

/* --- mapping.c: the table, and mapping into it. The caller holds the lock. */

void culvi_vmm_compact(culv_vmm_range *range); /* closes the gaps that culvi_vmm_unmap_one() leaves */
void culvi_vmm_mapping_free(culvi_vmm_mapping *mapping);

/* --- unmapping.c. The caller holds the lock. */

/* Releases deferred unmappings of the range that are due. */
void culvi_vmm_reap(culv_vmm_range *range);
/* The mappings in [offset, offset + size), from *first up to *end; some of them may be unmapping. NOT_MAPPED: an end lies
 * within one, or there is none that is not. */
culv_result culvi_vmm_choose(const culv_vmm_range *range, uint64_t offset, uint64_t size, const char *call,
                             size_t *first, size_t *end);
/* Whether some of [offset, offset + size) waits for its release. */
bool culvi_vmm_is_unmapping(const culv_vmm_range *range, uint64_t offset, uint64_t size);
/* Unmaps at the driver and frees it; its place in the range is NULL then. In the device's context where there is one. */
bool culvi_vmm_unmap_one(culv_vmm_range *range, size_t place, bool last_try, CUresult *code);
/* Leaves to later sweeps what is in the table: a chain, sorted as the table is. */
void culvi_vmm_keep_batch(culv_vmm_range *range, culvi_vmm_mapping *batch);

/* --- access.c */

/* culvi_vmm_access_resolve() for memory that lies on `owner` (-1: on the host). */
culv_result culvi_vmm_resolve_for(culv_device *device, const char *label, CUdevice owner,
                                  const culv_vmm_access *access, size_t count, CUmemAccessDesc *out,
                                  const char *call);

/* --- share.c's half by system: posix_share.c, win32_share.c */

/* What CUmemAllocationProp::win32HandleMetaData is where the caller gave nothing; NULL where it is to be zero. */
const void *culvi_vmm_object_attributes(void);

#endif
