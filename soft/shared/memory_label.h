/* SPDX-License-Identifier: MIT */
/* What lavapipe's memory is: the layer writes it into the header of the file, behind what it says
 * of images there, and the twin's CUDA driver reads it when another GPU's context takes the
 * memory. */
#ifndef CULV_SOFT_MEMORY_LABEL_H_
#define CULV_SOFT_MEMORY_LABEL_H_

#include <stdint.h>

#define CULV_SOFT_MEMORY_LABEL_AT    1792u      /* shared/image_label.h ends before */
#define CULV_SOFT_MEMORY_LABEL_MAGIC "culvMEM1" /* 8 bytes, no terminator in the file */

enum { CULV_SOFT_MEMORY_PLAIN, CULV_SOFT_MEMORY_OF_BUFFER, CULV_SOFT_MEMORY_OF_IMAGE };

typedef struct culv_soft_memory_label {
    char magic[8];
    uint64_t size; /* allocationSize */
    uint64_t kind; /* dedicated to what */
} culv_soft_memory_label;

#endif
