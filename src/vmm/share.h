/* Export and import: share.c's half by system.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_VMM_SHARE_H_
#define CULVI_VMM_SHARE_H_

#include <stdbool.h>
#include <stddef.h>

/* What CUmemAllocationProp::win32HandleMetaData is where the caller gave nothing; NULL where it is to be zero. */
const void *culvi_vmm_object_attributes(void);

#endif
