/* SPDX-License-Identifier: MIT */
#include "bytes.h"

unsigned char app_byte(uint64_t index, uint32_t seed)
{
    uint32_t h = (uint32_t)index * 2654435761u + seed * 40503u + 17u;

    h ^= h >> 15;
    h *= 0x7feb352du;
    return (unsigned char)(h >> 24);
}

void app_fill_host(unsigned char *to, uint64_t first, uint64_t size, uint32_t seed)
{
    for (uint64_t i = 0; i < size; i++)
        to[i] = app_byte(first + i, seed);
}

uint64_t app_wrong_bytes(const unsigned char *data, uint64_t first, uint64_t size, uint32_t seed,
                         uint64_t *at)
{
    uint64_t wrong = 0;

    for (uint64_t i = size; i-- > 0;)
        if (data[i] != app_byte(first + i, seed)) {
            wrong++;
            *at = i;
        }
    return wrong;
}
