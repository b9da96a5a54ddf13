/* SPDX-License-Identifier: MIT */
/* The other process, which reaches CUDA in one of two ways. */
#ifndef CULVERT_TESTS_FOREIGN_PEER_H_
#define CULVERT_TESTS_FOREIGN_PEER_H_

#include <stdbool.h>
#include <stdint.h>

/* Each says why in `why` where it is false. An fd stays the caller's. */
typedef struct peer_way {
    bool (*open)(const char *driver, const char *device, char why[256]);
    /* Compares `bytes` of the memory with those of `seed`, and writes those of seed + 1. */
    bool (*touch_vmm)(int fd, uint64_t size, uint64_t bytes, uint32_t seed, char why[256]);
    bool (*touch_vulkan)(int fd, uint64_t size, uint64_t bytes, uint32_t seed, char why[256]);
    /* New memory; it is let go when the process ends. */
    bool (*make)(uint64_t bytes, uint32_t seed, int *fd, uint64_t *size, char why[256]);
} peer_way;

extern const peer_way peer_raw;     /* the driver's library, opened by its name */
extern const peer_way peer_culvert; /* Culvert */

/* Compares memory of the host, and writes it anew. */
bool peer_turn(unsigned char *data, uint64_t bytes, uint32_t seed, char why[256]);

#endif
