/* SPDX-License-Identifier: MIT */
/* Samples: paths and whole files. */
#ifndef CULVERT_SAMPLES_FILES_H_
#define CULVERT_SAMPLES_FILES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_PATH_MAX 4096

/* <directory of this program>/../share/culvert/<name>: the layout of a build tree, an installation
 * and a bundle. */
bool files_share_path(char out[FILES_PATH_MAX], const char *name);

/* Makes the directories above a file's path. False, with a message, when one could not be made. */
bool files_make_parents(const char *path);

/* Reads a file; *data is for free(). A 0 follows, which *size does not count. False, with a
 * message, on failure. */
bool files_read(const char *path, void **data, size_t *size);

/* Writes a file. False, with a message, on failure. */
bool files_write(const char *path, const void *data, size_t size);

/* The pattern "a-%04d.png" with its one %d or %0Nd replaced by the number. With no % in it, out is
 * the pattern itself. False when the pattern has anything else after a %, or the path is too
 * long. */
bool files_numbered(char out[FILES_PATH_MAX], const char *pattern, uint64_t number);

/* Samples: PNG files of 8-bit pictures. */

/* Writes a picture of RGBA rows (top first, tightly packed, sRGB) as an RGB PNG; the alpha is left
 * out. The bytes depend on nothing but the picture. False, with a message, when the file could not
 * be written. */
bool png_write_rgba(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels);

/* Reads a PNG as RGBA rows; *pixels is for free(). False with a message when it could not be
 * read. */
bool png_read_rgba(const char *path, uint32_t *width, uint32_t *height, uint8_t **pixels);

#endif
