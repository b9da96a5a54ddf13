/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the shared memory that a module's kernels declare. */
#ifndef SOFT_MODULE_SHARED_H_
#define SOFT_MODULE_SHARED_H_

#include "../shared/module_abi.h"

/* Adds to bytes[i] the sizes of what the table's i-th kernel declares __shared__ in its own body.
 * Nothing where the file has no symbols any more. */
void soft_module_shared(const char *path, const culv_soft_module_table *table, unsigned *bytes);

#endif
