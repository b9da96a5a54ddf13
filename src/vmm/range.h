/* SPDX-License-Identifier: MIT */
/* Reserved addresses, and what is mapped in them. The driver checks little of this (measured:
 * cuMemMap accepts a mapping that leaves its reservation), so a range itself records what is mapped
 * where. */
#ifndef CULVI_VMM_RANGE_H_
#define CULVI_VMM_RANGE_H_

#include "vmm/allocation.h"

/* A whole allocation at an offset of a range. */
typedef struct culvi_vmm_mapping {
    /* used in the first mapping of a batch that waits for its release */
    culvi_deferred deferred;
    struct culvi_vmm_mapping *next; /* of that batch */
    culvi_tree_node node;           /* culv_vmm_range::mappings */
    culv_vmm_range *range;
    culv_vmm_allocation *allocation; /* a reference */
    uint64_t offset;
    uint64_t size;
    bool unmapping; /* given up; waits for a stream or for the driver */
} culvi_vmm_mapping;

struct culv_vmm_range {
    culv_device *device; /* holds a reference until it is given up */
    CUdeviceptr base;
    uint64_t size;
    uint64_t granularity;
    char label[64];
    /* Guarded by the device's lock. */
    culvi_tree mappings; /* by offset, including those that wait for their release */
    size_t num_mappings;
    size_t num_unmapping;
    bool given_up; /* the addresses go with the last mapping */
    culvi_deferred deferred;
};

/* Gives a range up. Its addresses are released once nothing is mapped in it, deferred unmappings
 * included. Mappings that nobody has given up go with the device. */
void culvi_vmm_range_release_or_defer(culv_vmm_range **range);
/* Waits on the host, without the device's lock, for deferred unmappings that touch [offset, offset
 * + size), and releases them. BUSY (MAPPED): the driver did not take one of them back. */
culv_result culvi_vmm_wait_and_collect(culv_vmm_range *range, uint64_t offset, uint64_t size);

/* The caller holds the device's lock for the functions below. */

/* The first mapping that ends beyond an offset, and the one behind a mapping; NULL: none. */
culvi_vmm_mapping *culvi_vmm_find(const culv_vmm_range *range, uint64_t offset);
culvi_vmm_mapping *culvi_vmm_next(const culvi_vmm_mapping *mapping);
/* Appends what is mapped in [offset, offset + size) to a message. */
void culvi_vmm_list(const culv_vmm_range *range, uint64_t offset, uint64_t size, culvi_text *text);
/* Whether [offset, offset + size) lies in the range. */
culv_result culvi_vmm_check_span(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                                 const char *call);
/* Releases a range that was given up, once nothing is mapped in it. Call it in the device's context
 * if there is one. */
void culvi_vmm_range_release_empty(culv_vmm_range *range, bool last_try);

#endif
