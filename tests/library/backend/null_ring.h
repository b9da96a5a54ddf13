/* SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_NULL_RING_H_
#define CULVERT_TESTS_NULL_RING_H_

#include "backend.h"

culv_result null_ring_create(void *attachment, const backend_ring *d, void **out);
void null_ring_destroy(void **ring);
culv_ring *null_ring_core(const void *ring);
culv_buffer *null_ring_buffer(const void *ring, uint32_t slot);
CUdeviceptr null_ring_pointer(const void *ring, uint32_t slot);
culv_result null_ring_acquire(void *ring, uint64_t timeout, culv_ring_frame *out);
culv_result null_ring_release(void *ring, culv_ring_frame *frame, uint32_t word);
culv_result null_ring_flush(void *ring);

#endif
