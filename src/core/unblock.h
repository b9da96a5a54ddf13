/* SPDX-License-Identifier: MIT */
/* Streams that wait for a signal which nobody will make. */
#ifndef CULVI_CORE_UNBLOCK_H_
#define CULVI_CORE_UNBLOCK_H_

#include "core/semaphore.h"

/* Signals a timeline with `value`, on a stream of the call's own, in place of the side that was to
 * do it and never will. Does nothing where CUDA was told to signal as much. `value` of a binary
 * semaphore is the number of a wait. Waits for nothing and takes no lock. */
culv_result culvi_semaphore_unblock(culv_semaphore *semaphore, uint64_t value);
/* The value that streams were told to wait for and CUDA does not signal itself; 0: none. */
uint64_t culvi_semaphore_owed(culv_semaphore *semaphore);
/* The same for all semaphores of a lost exporter (culv_semaphore::exporter) that a stream was told
 * to wait for. A binary one is signaled once, since a second signal is lost while the first is
 * there; with `again` also where no wait came since the last time. */
void culvi_semaphores_unblock(culv_device *device, uint64_t exporter, bool again);

#endif
