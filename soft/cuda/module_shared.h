/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the shared memory that a module's kernels declare. */
#ifndef SOFT_MODULE_SHARED_H_
#define SOFT_MODULE_SHARED_H_

#include "../shared/module_abi.h"

#include <stdbool.h>

/* Whether a symbol is that of a __shared__ variable in this kernel, of the form whose threads have
 * stacks: to the host's compiler it is a thread's own one in a function, and its name begins with
 * the function's ("_ZZL6reduceIN...6stacksE...E4tile", Itanium C++ ABI, 5.1.6). */
bool soft_shared_is_of(const char *symbol, const char *kernel);
/* Adds to bytes[i] the sizes of what the table's i-th kernel declares __shared__ in its own body.
 * Nothing where the file has no symbols any more. */
void soft_module_shared(const char *path, const culv_soft_module_table *table, unsigned *bytes);
/* The variables that the file's symbols name; one block for free(), NULL without any. */
struct soft_variables *soft_module_variables(const char *path);
/* Where it lies behind the library's base. */
bool soft_variables_find(const struct soft_variables *variables, const char *name,
                         uintptr_t *offset, size_t *size);

#endif
