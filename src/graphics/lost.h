/* SPDX-License-Identifier: MIT */
/* A native device that is lost. */
#ifndef CULVI_GRAPHICS_LOST_H_
#define CULVI_GRAPHICS_LOST_H_

#include "graphics/graphics_ring.h"

/* Notes that the native device is lost: stops its rings, and signals what CUDA was told to wait for
 * in its place. Waits for nothing, and keeps the last error. */
void culvi_graphics_lose(culvi_graphics *graphics);
/* Call it before what may wait for CUDA's work: CUDA then waits for no lost device. */
void culvi_graphics_let_go(culvi_graphics *graphics);

/* Rings that stop with their device. */
void culvi_graphics_add_ring(culvi_graphics_ring *ring);
void culvi_graphics_remove_ring(culvi_graphics_ring *ring);

/* Asks the counter of a semaphore whether the device is lost, before the semaphore goes. The native
 * work with it is over, as its caller says: what CUDA waits for still comes soon or is signaled
 * here. */
void culvi_semaphore_pair_settle(culvi_semaphore_pair *pair);
/* The same at once. */
culv_result culvi_semaphore_pair_give_up(culvi_semaphore_pair *pair);

/* What a call of the API's answered, and its error is recorded: a lost device is noticed. One that
 * waited when a ring was stopped is not lost. */
culv_result culvi_graphics_notice(culvi_graphics *graphics, culv_result result);

#endif
