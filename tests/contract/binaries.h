/* SPDX-License-Identifier: MIT */
/* A binary semaphore imported by CUDA, with its other side. */
#ifndef CULVERT_TESTS_BINARIES_H_
#define CULVERT_TESTS_BINARIES_H_

#include "contract.h"
#include "raw_binary.h"

#define FAR_MS 20000u /* long enough for any machine; only a failure takes it */

typedef struct shared_binary {
    raw_binary peer;
    CUexternalSemaphore cu;
} shared_binary;

/* Skips the case where the other side can be neither Vulkan nor played. */
void shared_binary_open(pair *p, shared_binary *out);
void shared_binary_close(pair *p, shared_binary *binary);
shared_binary pair_binary(pair *p); /* until the case ends */

#endif
