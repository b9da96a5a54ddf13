/* SPDX-License-Identifier: MIT */
/* What vkGetExternalComputeQueueDataNV() of the twin's layer gives, and its cuCtxCreate() takes. */
#ifndef CULV_SOFT_CIG_BLOB_H_
#define CULV_SOFT_CIG_BLOB_H_

#include <stdint.h>

#define CULV_SOFT_CIG_MAGIC "culvCIG1" /* 8 bytes, no terminator */

typedef struct culv_soft_cig_blob {
    char magic[8];
    uint8_t device_uuid[16];
} culv_soft_cig_blob;

#endif
