/* SPDX-License-Identifier: MIT */
/* Export and import: share.c's half by system. */
#ifndef CULVI_VMM_SHARE_H_
#define CULVI_VMM_SHARE_H_

#include "culvert/vmm.h"

#include <stdbool.h>
#include <stddef.h>

/* The GPU that VMM memory behind a handle lies on. *out stays as it is for other memory, and for
 * the host's. */
culv_result culvi_vmm_find_exporter(culv_device *device, const char *label,
                                    const culv_handle *handle, culv_uuid *out);

/* What CUmemAllocationProp::win32HandleMetaData is where the caller gave nothing; NULL where it is
 * to be zero. */
const void *culvi_vmm_object_attributes(void);

#endif
