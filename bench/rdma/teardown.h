/* SPDX-License-Identifier: MIT */
/* Teardown at scale. */
#ifndef CULVERT_BENCH_RDMA_TEARDOWN_H_
#define CULVERT_BENCH_RDMA_TEARDOWN_H_

#include "measure.h"

/* Told of each row: how long the end of so many took. */
typedef void teardown_row(void *user, const char *name, uint64_t entries, double ns);

/* Each collection with a quarter, half and all of `most` entries; of some a part of that, where
 * each entry takes the driver long. */
void teardown(const bench *b, uint64_t most, teardown_row *report, void *user);

#endif
