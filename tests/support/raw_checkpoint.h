/* SPDX-License-Identifier: MIT */
/* Checkpoints of the process under test. The twin takes them of its own process. NVIDIA's driver
 * was measured from another one, so there a child of the suite's makes the calls: a case of it
 * calls raw_checkpoint_agent(). */
#ifndef CULVERT_TESTS_RAW_CHECKPOINT_H_
#define CULVERT_TESTS_RAW_CHECKPOINT_H_

#include "raw_cuda.h"

typedef struct raw_checkpoint {
    CUresult lock, checkpoint, restore, unlock; /* all of them are called */
    CUprocessState locked, checkpointed, last;
} raw_checkpoint;

/* Skips the case where the driver has no checkpoints. */
void raw_checkpoint_need(const raw_cuda *cu);
/* Lock, checkpoint, restore, unlock. No other thread calls CUDA meanwhile. */
raw_checkpoint raw_checkpoint_run(const raw_cuda *cu, const char *agent);
void raw_checkpoint_agent(void);

#endif
