/* SPDX-License-Identifier: MIT */
/* The host waits for a timeline, whichever side signals it. */
#ifndef CULVI_GRAPHICS_HOST_WAIT_H_
#define CULVI_GRAPHICS_HOST_WAIT_H_

#include "core/semaphore.h"
#include "graphics/pair.h"

/* As culvi_graphics_api::timeline_wait. NVIDIA's vkWaitSemaphores returns up to 10 ms late for a
 * value that CUDA signals (measured on an H200, docs/waits.md), so for such a value this looks at
 * the counter instead. Direct3D's waits are not late, and Windows has no naps that are short
 * enough. *call is the API's call that answered. */
int culvi_graphics_wait(const culvi_graphics *graphics, const culvi_semaphore_pair *pair,
                        uint64_t value, uint64_t timeout_ns, const char **call);

#endif
