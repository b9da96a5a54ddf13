/* SPDX-License-Identifier: MIT */
/* What an image must be, whichever API made it. For the limits of CUDA's driver see
 * cuda/limits.h. */
#ifndef CULVI_CORE_IMAGE_CHECK_H_
#define CULVI_CORE_IMAGE_CHECK_H_

#include "core/image.h"

/* Checks a descriptor, with every default explicit, against its memory. `row` may be NULL. */
culv_result culvi_image_check_desc(const culv_memory *memory, const culvi_format *row,
                                   const culv_image_desc *d, const char *label);
/* Bytes that the texels need without what the layout adds; UINT64_MAX: more than fits. */
uint64_t culvi_image_least_size(const culvi_format *row, uint32_t width, uint32_t height,
                                uint32_t depth, uint32_t layers, uint32_t levels);
/* Checks culv_image_desc and its like in each graphics API: fields that do not apply to an image
 * with this many planes must be 0. */
culv_result culvi_image_check_unused(const culvi_voice *voice, const char *label, uint32_t planes,
                                     const uint64_t *plane_offsets);
/* Checks the offsets of planes that are bound separately: each plane lies within the memory, and no
 * two overlap. `size` is what each plane needs, or at least needs. */
culv_result culvi_image_check_planes(const culv_memory *memory, const char *label,
                                     const culvi_format *row, uint64_t offset,
                                     const uint64_t *plane_offsets, const uint64_t *size);

#endif
