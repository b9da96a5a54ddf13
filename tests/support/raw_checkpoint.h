/* SPDX-License-Identifier: MIT */
/* Checkpoints of the process under test: the twin's by itself, on a GPU by a child of the suite's
 * (raw_checkpoint_agent()), since NVIDIA's driver was measured from outside. */
#ifndef CULVERT_TESTS_RAW_CHECKPOINT_H_
#define CULVERT_TESTS_RAW_CHECKPOINT_H_

#include "raw_cuda.h"

typedef struct raw_checkpoint {
    CUresult lock, checkpoint, restore, unlock; /* all of them are called */
    CUprocessState locked, checkpointed, last;
} raw_checkpoint;

/* Lock, checkpoint, restore, unlock. Skips the case where the driver has no checkpoints. */
raw_checkpoint raw_checkpoint_run(const raw_cuda *cu, const char *agent);
void raw_checkpoint_agent(void);

#endif
