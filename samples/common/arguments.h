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

/* A path that ends in .png. */
bool argument_png(const char *name, const char *path);

#endif
