/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what Direct3D shares (shared/win32_share.h). */
#ifndef SOFT_WIN32_SHARE_H_
#define SOFT_WIN32_SHARE_H_

#include "soft.h"

#include "../shared/win32_share.h"

/* What a handle, or a name, leads to; a reference to the object. `type` is the memory's, or a
 * semaphore's with CULV_SOFT_SHARE_SEMAPHORE. */
CUresult soft_share_open(uint32_t type, void *handle, const void *name, culv_soft_share *out);
void soft_share_close(const culv_soft_share *share);
/* As soft_page_wait(). */
CUresult soft_share_wait(const culv_soft_share *share, uint64_t value, unsigned timeout_ms,
                         const struct soft_context *context);

#endif
