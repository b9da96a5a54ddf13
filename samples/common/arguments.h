/* SPDX-License-Identifier: MIT */
/* Samples: values on command lines. Each is false, with a message that names the option, when the
 * value is none. */
#ifndef CULVERT_SAMPLES_ARGUMENTS_H_
#define CULVERT_SAMPLES_ARGUMENTS_H_

#include <stdbool.h>
#include <stdint.h>

/* A number from low to high. */
bool argument_number(const char *name, const char *text, uint64_t low, uint64_t high,
                     uint64_t *out);

/* WIDTHxHEIGHT, each from low to high. */
bool argument_size(const char *name, const char *text, uint32_t low, uint32_t high, uint32_t *width,
                   uint32_t *height);

/* The one of `valued` (NULL ends it) that argv[*i] is, and its value: what stands behind its "=", or
 * the next argument, whose index *i is then. NULL: it is none of them, or has no value. */
const char *argument_valued(const char *const *valued, int argc, char **argv, int *i,
                            const char **value);

/* A path that ends in .png. */
bool argument_png(const char *name, const char *path);

#endif
