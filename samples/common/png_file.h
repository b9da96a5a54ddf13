/* SPDX-License-Identifier: MIT */
/* Samples: PNG files of 8-bit pictures. */
#ifndef CULVERT_SAMPLES_PNG_FILE_H_
#define CULVERT_SAMPLES_PNG_FILE_H_

#include <stdbool.h>
#include <stdint.h>

/* Writes a picture of RGBA rows (top first, tightly packed, sRGB) as an RGB PNG; the alpha is left
 * out. The bytes depend on nothing but the picture. False, with a message, when the file could not
 * be written. */
bool png_write_rgba(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels);

/* Reads a PNG as RGBA rows; *pixels is for free(). False with a message when it could not be
 * read. */
bool png_read_rgba(const char *path, uint32_t *width, uint32_t *height, uint8_t **pixels);

#endif
