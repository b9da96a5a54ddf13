/* SPDX-License-Identifier: MIT */
/* What lavapipe's memory says of the images in it: the layer writes it into the header of the file,
 * and the twin's CUDA driver reads it when it maps one of them. */
#ifndef CULV_SOFT_IMAGE_LABEL_H_
#define CULV_SOFT_IMAGE_LABEL_H_

#include <stdint.h>

#define CULV_SOFT_IMAGE_LABEL_AT    128u /* Mesa's header ends before, its payload begins behind */
#define CULV_SOFT_IMAGE_LABEL_MAGIC "culvIMG1" /* 8 bytes, no terminator in the file */
#define CULV_SOFT_IMAGE_LABELS      200u

/* Images that NVIDIA's driver maps without an error and reads at other places than Vulkan. */
typedef struct culv_soft_image_label {
    char magic[8];
    uint64_t count;
    uint64_t offsets[CULV_SOFT_IMAGE_LABELS]; /* in the memory */
} culv_soft_image_label;

#endif
