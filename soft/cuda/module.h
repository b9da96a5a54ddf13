/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: modules, and libraries, which make one for each context that uses
 * them. */
#ifndef SOFT_MODULE_H_
#define SOFT_MODULE_H_

#include "soft.h"

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

/* --- module_load.c */
/* Opens what a program gives as code; a .soft.so, or the error that says what it is instead, in the
 * program's log too where it gives one. `size`: of a copy that the caller needs; may be NULL. */
CUresult soft_code_open(const void *code, unsigned num_options, const CUjit_option *options,
                        void **values, struct soft_image *out, size_t *size);
CUresult soft_code_open_file(const char *name, unsigned num_options, const CUjit_option *options,
                             void **values, struct soft_image *out);

#endif
