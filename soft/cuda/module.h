/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: modules, and libraries, which make one for each context that uses
 * them. */
#ifndef SOFT_MODULE_H_
#define SOFT_MODULE_H_

#include "soft.h"

#include <stdbool.h>

struct soft_library;
struct soft_module {
    struct soft_object object;
    struct soft_image image;
    struct soft_function *functions; /* one for each row of the table */
    struct soft_library *library;    /* whose it is; NULL: the program loaded it */
};

/* --- module.c */
/* Takes the image, also when it fails. */
CUresult soft_module_make(struct soft_context *context, struct soft_image *image,
                          struct soft_module **out);
/* What a function is before anything is set. */
struct soft_function soft_function_of_table(const struct soft_image *image, uint32_t index);
CUresult soft_function_get(const struct soft_function *function, CUfunction_attribute attribute,
                           int *out);
CUresult soft_function_set(struct soft_function *function, CUfunction_attribute attribute,
                           int value);
CUresult soft_module_variable(struct soft_module *module, const char *name, CUdeviceptr *dptr,
                              size_t *bytes);
bool soft_cache_config_valid(CUfunc_cache config);

/* --- module.c: images */
/* Opens what a program gives as code; a .soft.so, or the error that says what it is instead, in the
 * program's log too where it gives one. `size`: of a copy that the caller needs; may be NULL. */
CUresult soft_code_open(const void *code, unsigned num_options, const CUjit_option *options,
                        void **values, struct soft_image *out, size_t *size);
CUresult soft_code_open_file(const char *name, unsigned num_options, const CUjit_option *options,
                             void **values, struct soft_image *out);

/* The shared memory that a module's kernels declare. */

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
