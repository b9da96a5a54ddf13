/* SPDX-License-Identifier: MIT */
/* Reserved addresses, and what is mapped in them. The driver checks little of this (measured:
 * cuMemMap takes what leaves a reservation), so a range knows by itself what is mapped where. */
#ifndef CULVI_VMM_RANGE_H_
#define CULVI_VMM_RANGE_H_

#include "base/text.h"
#include "vmm/allocation.h"

/* All of an allocation at an offset of a range. */
typedef struct culvi_vmm_mapping {
    culvi_deferred deferred;        /* of the first of a batch that waits for its release */
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
    culv_device *device; /* holds a reference until it is given up */
    CUdeviceptr base;
    uint64_t size;
    uint64_t granularity;
    char label[64];
    /* Guarded by the device's lock. */
    culvi_vmm_mapping **mappings; /* sorted by offset, those included that wait for their release */
    size_t num_mappings;
    size_t capacity;
    size_t num_unmapping;
    bool given_up; /* the addresses go with the last mapping */
    culvi_deferred deferred;
};

/* Gives a range up: its addresses go once nothing is mapped in it any more, deferred unmappings
 * included. What is mapped and was not given up by then goes with the device. */
void culvi_vmm_range_release_or_defer(culv_vmm_range **range);
/* Waits on the host, without the device's lock, for deferred unmappings that touch [offset, offset
 * + size) and releases them. BUSY (MAPPED): the driver took one of them not back. */
culv_result culvi_vmm_wait_and_collect(culv_vmm_range *range, uint64_t offset, uint64_t size);

/* The caller holds the device's lock for the rest. */

/* The first mapping that ends beyond an offset; num_mappings: none. */
size_t culvi_vmm_find(const culv_vmm_range *range, uint64_t offset);
/* Adds what is mapped in [offset, offset + size) to a message. */
void culvi_vmm_list(const culv_vmm_range *range, uint64_t offset, uint64_t size, culvi_text *text);
/* Whether [offset, offset + size) is of the range. */
culv_result culvi_vmm_check_span(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                                 const char *call);
/* Releases a range that was given up in which nothing is mapped any more. In the device's context
 * where there is one. */
void culvi_vmm_range_release_empty(culv_vmm_range *range, bool last_try);

#endif
