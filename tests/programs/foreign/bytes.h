/* SPDX-License-Identifier: MIT */
/* Bytes that say where they belong. The kernel foreign_fill writes the same. */
#ifndef CULVERT_TESTS_FOREIGN_BYTES_H_
#define CULVERT_TESTS_FOREIGN_BYTES_H_

#include <stdint.h>

/* The byte that belongs at a place. */
unsigned char app_byte(uint64_t index, uint32_t seed);
/* Writes the bytes of the places from `first` on. */
void app_fill_host(unsigned char *to, uint64_t first, uint64_t size, uint32_t seed);
/* How many are others, and where the first of them is. */
uint64_t app_wrong_bytes(const unsigned char *data, uint64_t first, uint64_t size, uint32_t seed,
                         uint64_t *at);

#endif
