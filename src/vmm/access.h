/* SPDX-License-Identifier: MIT */
/* Who reaches a mapping. */
#ifndef CULVI_VMM_ACCESS_H_
#define CULVI_VMM_ACCESS_H_

#include "cuda/device.h"
#include "culvert/vmm.h"

/* Makes an access list as CUDA takes it: `count` entries, or 1 when count is 0. Checks that the
 * devices reach memory of `device`. */
culv_result culvi_vmm_access_resolve(culv_device *device, const culv_vmm_access *access,
                                     size_t count, CUmemAccessDesc *out);

/* culvi_vmm_access_resolve() for memory that lies on `owner` (-1: on the host). */
culv_result culvi_vmm_resolve_for(culv_device *device, const char *label, CUdevice owner,
                                  const culv_vmm_access *access, size_t count, CUmemAccessDesc *out,
                                  const char *call);

#endif
