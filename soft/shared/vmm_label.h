/* SPDX-License-Identifier: MIT */
/* What a file that holds an allocation of cuMemCreate begins to say of itself: the twin's CUDA
 * driver writes it, and the layer looks for it in what Vulkan imports. */
#ifndef CULV_SOFT_VMM_LABEL_H_
#define CULV_SOFT_VMM_LABEL_H_

#include <stdint.h>

#define CULV_SOFT_VMM_LABEL_AT    64u
#define CULV_SOFT_VMM_LABEL_MAGIC "culvVMM1" /* 8 bytes, no terminator in the file */

typedef struct culv_soft_vmm_label {
    char magic[8];
    uint64_t payload, size; /* where the memory starts in the file, and its bytes */
} culv_soft_vmm_label;

#endif
