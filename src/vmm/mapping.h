/* SPDX-License-Identifier: MIT */
/* Mapping into a range and unmapping, at once and deferred, and who reaches what is mapped. */
#ifndef CULVI_VMM_MAPPING_H_
#define CULVI_VMM_MAPPING_H_

#include "vmm/range.h"

/* Makes an access list as CUDA takes it: `count` entries, or 1 when count is 0. Checks that the
 * devices reach memory of `device`. */
culv_result culvi_vmm_access_resolve(culv_device *device, const culv_vmm_access *access,
                                     size_t count, CUmemAccessDesc *out);

/* culvi_vmm_access_resolve() for memory that lies on `owner` (-1: on the host). */
culv_result culvi_vmm_resolve_for(culv_device *device, const char *label, CUdevice owner,
                                  const culv_vmm_access *access, size_t count, CUmemAccessDesc *out,
                                  const char *call);

/* culv_vmm_map() with an access list that was checked before and has at least one entry. */
culv_result culvi_vmm_map_resolved(culv_vmm_range *range, uint64_t offset,
                                   culv_vmm_allocation *allocation, const CUmemAccessDesc *access,
                                   size_t count);

/* culv_vmm_unmap() with a last use, within another call, which messages name. */
culv_result culvi_vmm_unmap_after(culv_vmm_range *range, uint64_t offset, uint64_t size,
                                  CUstream last_use, const char *call);
/* Unmaps the whole mappings in [offset, offset + size), except deferred unmappings. It reports no
 * error, since destroys cannot. Later calls for the range try again what the driver refuses. */
void culvi_vmm_unmap_or_defer(culv_vmm_range *range, uint64_t offset, uint64_t size);

/* The caller holds the device's lock for the functions below. */

void culvi_vmm_mapping_free(culvi_vmm_mapping *mapping);

/* Releases deferred unmappings of the range that are due. */
void culvi_vmm_collect(culv_vmm_range *range);
/* Whether some of [offset, offset + size) waits for its release. */
bool culvi_vmm_is_unmapping(const culv_vmm_range *range, uint64_t offset, uint64_t size);
/* Unmaps at the driver and frees the mapping, which leaves its range. Call it in the device's
 * context if there is one. */
bool culvi_vmm_unmap_one(culvi_vmm_mapping *mapping, bool last_try, CUresult *code);
/* Leaves mappings of the range to later collections: a chain. */
void culvi_vmm_defer_batch(culv_vmm_range *range, culvi_vmm_mapping *batch);

#endif
