/* SPDX-License-Identifier: MIT */
/* What a KMT handle of an allocation of cuMemCreate is under Wine: a number that leads, by the name
 * of a section, to this record of its exporter. It goes when the allocation goes, whoever still has
 * the number: a KMT handle holds no reference. */
#ifndef CULV_SOFT_VMM_KMT_H_
#define CULV_SOFT_VMM_KMT_H_

#include <stdint.h>

#define CULV_SOFT_VMM_KMT_MAGIC "culvKMT1" /* 8 bytes, no terminator */
/* The section's name: printf's argument is the number. */
#define CULV_SOFT_VMM_KMT_NAME L"Local\\culvert soft vmm kmt %lx"

typedef struct culv_soft_vmm_kmt {
    char magic[8];
    uint32_t process; /* the exporter's */
    uint32_t section; /* the exporter's handle of the section that holds the memory */
} culv_soft_vmm_kmt;

#endif
