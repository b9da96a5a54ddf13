/* SPDX-License-Identifier: MIT */
/* What a test may set and read of played_nvml.c. */
#ifndef CULVERT_TESTS_PLAYED_NVML_H_
#define CULVERT_TESTS_PLAYED_NVML_H_

#include <stdint.h>

typedef struct played_nvml {
    uint64_t total, used;
    unsigned inits, shutdowns;
    int fails_at; /* 1: nvmlInit, 2: the device, 3: BAR1 */
    int code;
    char bus_id[32]; /* asked for last */
} played_nvml;

#endif
