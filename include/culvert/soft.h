/* SPDX-License-Identifier: MIT */
/* Culvert: the software twin, a CUDA driver on the CPU with the machine's CPU Vulkan device (Mesa's
 * lavapipe) for its graphics partner. It lets the very same program run where there is no GPU: in
 * CI, on a laptop, under a sanitizer. It is never chosen by itself. */
#ifndef CULV_SOFT_H_
#define CULV_SOFT_H_

#include "result.h"

CULV_EXTERN_C_BEGIN

/** Allows the twin for this process, as the environment variable CULVERT_SOFT=1 does, and makes its
 * Vulkan layer findable in a build tree or bundle (the twin's own library adds it to
 * VK_ADD_LAYER_PATH). Call it at the start of main, before vkCreateInstance and before there are
 * other threads. A second call does nothing more.
 * Errors: UNSUPPORTED (SOFT_MISSING) when the twin's library is not found beside Culvert's or in
 * CULVERT_SOFT_PATH.
 * Ownership: none.
 * Threads: one, as said.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_soft_enable(void);

/** Nonzero when the twin may be used: CULVERT_SOFT=1, or culv_soft_enable() succeeded.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_bool culv_soft_enabled(void);

CULV_EXTERN_C_END

#endif
