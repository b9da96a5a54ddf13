/* SPDX-License-Identifier: MIT */
/* Mapping into a range and unmapping, at once and deferred. */
#ifndef CULVI_VMM_MAPPING_H_
#define CULVI_VMM_MAPPING_H_

#include "vmm/range.h"

/* culv_vmm_map() with an access list that was checked before and has at least one entry. */
culv_result culvi_vmm_map_resolved(culv_vmm_range *range, uint64_t offset,
                                   culv_vmm_allocation *allocation, const CUmemAccessDesc *access,
                                   size_t count);

/* culv_vmm_unmap_after() within another call, which messages name. */
culv_result culvi_vmm_unmap_after(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                  CUstream last_use, const char *call);
/* Unmaps the whole mappings in [offset, offset + size), except deferred unmappings. It reports no
 * error, since destroys cannot. Later calls for the range try again what the driver refuses. */
void culvi_vmm_unmap_or_defer(culv_vmm_range *range, uint64_t offset, uint64_t size);

/* The caller holds the device's lock for the functions below. */

void culvi_vmm_compact(
    culv_vmm_range *range); /* closes the gaps that culvi_vmm_unmap_one() leaves */
void culvi_vmm_mapping_free(culvi_vmm_mapping *mapping);

/* Releases deferred unmappings of the range that are due. */
void culvi_vmm_collect(culv_vmm_range *range);
/* The mappings in [offset, offset + size), from *first up to *end; some of them may be unmapping.
 * NOT_MAPPED: an end lies within a mapping, or all of them are unmapping, or there is none. */
culv_result culvi_vmm_choose(const culv_vmm_range *range, uint64_t offset, uint64_t size,
                             const char *call, size_t *first, size_t *end);
/* Whether some of [offset, offset + size) waits for its release. */
bool culvi_vmm_is_unmapping(const culv_vmm_range *range, uint64_t offset, uint64_t size);
/* Unmaps at the driver and frees the mapping; its place in the range becomes NULL. Call it in the
 * device's context if there is one. */
bool culvi_vmm_unmap_one(culv_vmm_range *range, size_t place, bool last_try, CUresult *code);
/* Leaves mappings in the table to later collections: a chain in the order of the table. */
void culvi_vmm_defer_batch(culv_vmm_range *range, culvi_vmm_mapping *batch);

#endif
