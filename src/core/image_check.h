/* SPDX-License-Identifier: MIT */
/* What an image must be, whichever API made it. What CUDA's driver limits: cuda/limits.h. */
#ifndef CULVI_CORE_IMAGE_CHECK_H_
#define CULVI_CORE_IMAGE_CHECK_H_

#include "core/image.h"

/* Holds a descriptor, every default explicit, against the memory that it is in; `row` may be
 * NULL. */
culv_result culvi_image_check_desc(const culv_memory *memory, const culvi_format *row,
                                   const culv_image_desc *d, const char *label);
/* Bytes that the texels alone need, whatever the layout adds; UINT64_MAX: more than that. */
uint64_t culvi_image_least_size(const culvi_format *row, uint32_t width, uint32_t height,
                                uint32_t depth, uint32_t layers, uint32_t levels);
/* Of culv_image_desc, and of the like of each graphics API: what says nothing of an image of so
 * many planes is 0. */
culv_result culvi_image_check_unused(const culvi_voice *voice, const char *label, uint32_t planes,
                                     const uint64_t *plane_offsets);
/* Where the planes of a format of several lie that are bound by themselves: each within the memory,
 * none over another. `size` is what each needs, or needs at the least. */
culv_result culvi_image_check_planes(const culv_memory *memory, const char *label,
                                     const culvi_format *row, uint64_t offset,
                                     const uint64_t *plane_offsets, const uint64_t *size);

#endif
