/* SPDX-License-Identifier: MIT */
/* The limits that CUDA reports for its arrays. */
#ifndef CULVI_CUDA_LIMITS_H_
#define CULVI_CUDA_LIMITS_H_

#include "cuda/device.h"
#include "culvert/image.h"

typedef struct culvi_array_extent {
    uint32_t width, height, depth, layers;
} culvi_array_extent;

/* What the caller's API calls them: "VkImageCreateInfo::extent", "arrayLayers". */
typedef struct culvi_extent_words {
    const char *extent, *layers;
} culvi_extent_words;

/* Checks an image, with every default explicit, against the limits of its kind of array. Lowers
 * `most` to them, even when the image is refused. Asks the driver once for each limit. */
culv_result culvi_array_check_limits(culv_device *device, const char *label,
                                     const culvi_extent_words *words, const culv_image_desc *image,
                                     bool surfaces, culvi_array_extent *most);

#endif
