/* SPDX-License-Identifier: MIT */
/* What lavapipe's memory says of the images in it: the layer writes it into the header of the file,
 * and the twin's CUDA driver reads it when it maps one of them. */
#ifndef CULV_SOFT_LABELS_H_
#define CULV_SOFT_LABELS_H_

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

/* What lavapipe's memory is: the layer writes it into the header of the file, behind what it says
 * of images there, and the twin's CUDA driver reads it when another GPU's context takes the
 * memory. */

#define CULV_SOFT_MEMORY_LABEL_AT    1792u      /* CULV_SOFT_IMAGE_LABEL ends before */
#define CULV_SOFT_MEMORY_LABEL_MAGIC "culvMEM1" /* 8 bytes, no terminator in the file */

enum { CULV_SOFT_MEMORY_PLAIN, CULV_SOFT_MEMORY_OF_BUFFER, CULV_SOFT_MEMORY_OF_IMAGE };

typedef struct culv_soft_memory_label {
    char magic[8];
    uint64_t size; /* allocationSize */
    uint64_t kind; /* dedicated to what */
} culv_soft_memory_label;

/* What a file that holds an allocation of cuMemCreate begins to say of itself: the twin's CUDA
 * driver writes it, and the layer looks for it in what Vulkan imports. */

#define CULV_SOFT_VMM_LABEL_AT    64u
#define CULV_SOFT_VMM_LABEL_MAGIC "culvVMM1" /* 8 bytes, no terminator in the file */

typedef struct culv_soft_vmm_label {
    char magic[8];
    uint64_t payload, size; /* where the memory starts in the file, and its bytes */
} culv_soft_vmm_label;

/* What a KMT handle of an allocation of cuMemCreate is under Wine: a number that leads, by the name
 * of a section, to this record of its exporter. It goes when the allocation goes, whoever still has
 * the number: a KMT handle holds no reference. */

#define CULV_SOFT_VMM_KMT_MAGIC "culvKMT1" /* 8 bytes, no terminator */
/* The section's name: printf's argument is the number. */
#define CULV_SOFT_VMM_KMT_NAME L"Local\\culvert soft vmm kmt %lx"

typedef struct culv_soft_vmm_kmt {
    char magic[8];
    uint32_t process; /* the exporter's */
    uint32_t section; /* the exporter's handle of the section that holds the memory */
} culv_soft_vmm_kmt;

/* What vkGetExternalComputeQueueDataNV() of the twin's layer gives, and its cuCtxCreate() takes. */

#define CULV_SOFT_CIG_MAGIC "culvCIG1" /* 8 bytes, no terminator */

typedef struct culv_soft_cig_blob {
    char magic[8];
    uint8_t device_uuid[16];
} culv_soft_cig_blob;

#endif
