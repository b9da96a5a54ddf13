/* SPDX-License-Identifier: MIT */
/* What the GPU draws, by NVIDIA's management library, which is opened where it is there. */
#ifndef CULVERT_BENCH_FRAMES_POWER_H_
#define CULVERT_BENCH_FRAMES_POWER_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct power {
    void *library, *device;
    int (*total_energy)(void *device, unsigned long long *millijoules);
    const char *obstacle; /* NULL: power_energy() answers. Otherwise why not */
} power;

/* `uuid` is that of the CUDA device. */
void power_open(power *p, const uint8_t uuid[16], bool software);
void power_close(power *p);
/* Joules since the driver was loaded, in steps of some hundredths of a second; 0: not known. */
double power_energy(const power *p);

#endif
