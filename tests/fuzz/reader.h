/* SPDX-License-Identifier: MIT */
/* Bytes of a fuzzer's input as values. An input that has run out reads as zeros, and zero always
 * means the usual value: the empty input is a plain, correct use, and each byte may spoil it
 * somewhere. */
#ifndef CULVERT_TESTS_FUZZ_READER_H_
#define CULVERT_TESTS_FUZZ_READER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fuzz_reader {
    const uint8_t *data;
    size_t left;
} fuzz_reader;

static inline uint64_t fuzz_bytes(fuzz_reader *r, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count && r->left > 0; i++, r->data++, r->left--)
        value |= (uint64_t)*r->data << (8 * i);
    return value;
}

static inline uint8_t fuzz_u8(fuzz_reader *r)
{
    return (uint8_t)fuzz_bytes(r, 1);
}

static inline uint32_t fuzz_u32(fuzz_reader *r)
{
    return (uint32_t)fuzz_bytes(r, 4);
}

static inline uint64_t fuzz_u64(fuzz_reader *r)
{
    return fuzz_bytes(r, 8);
}

/* Below count, which is at most 256. */
static inline uint32_t fuzz_pick(fuzz_reader *r, uint32_t count)
{
    return fuzz_u8(r) % count;
}

/* True for one byte in `one_in`, never for zero. */
static inline bool fuzz_rarely(fuzz_reader *r, uint32_t one_in)
{
    return fuzz_u8(r) % one_in == one_in - 1;
}

static inline bool fuzz_flag(fuzz_reader *r)
{
    return (fuzz_u8(r) & 1) != 0;
}

/* The usual value for half of all bytes; else one near it, a border, a power of two, or
 * anything. */
static inline uint64_t fuzz_value(fuzz_reader *r, uint64_t usual)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return usual;
    switch (how & 15) {
    case 0: return 0;
    case 1: return 1;
    case 2: return usual - 1;
    case 3: return usual + 1;
    case 4: return usual * 2;
    case 5: return usual / 2;
    case 6: return UINT64_MAX;
    case 7: return UINT32_MAX;
    case 8: return UINT64_C(1) << (fuzz_u8(r) & 63);
    case 9: return (UINT64_C(1) << (fuzz_u8(r) & 63)) - 1;
    case 10: return UINT64_MAX - fuzz_u8(r);
    case 11:
    case 12: return fuzz_u8(r);
    case 13: return fuzz_bytes(r, 2);
    case 14: return fuzz_u32(r);
    default: return fuzz_u64(r);
    }
}

static inline uint32_t fuzz_value32(fuzz_reader *r, uint32_t usual)
{
    return (uint32_t)fuzz_value(r, usual);
}

/* An enum's value below count, or seldom something that is none. */
static inline uint32_t fuzz_enum(fuzz_reader *r, uint32_t count)
{
    uint8_t byte = fuzz_u8(r);
    return byte < 240 ? byte % count : fuzz_u32(r);
}

/* Any float: small whole numbers, fractions, and the odd ones (infinities, NaN, denormals). */
static inline float fuzz_float(fuzz_reader *r)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return (float)(how & 31);
    if (how < 192) return ((float)how - 160.0f) / 8.0f;
    uint32_t bits = fuzz_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A bit set: one that is given, or any. */
static inline uint32_t fuzz_bits(fuzz_reader *r, uint32_t usual)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return usual;
    if (how < 160) return usual | 1u << (how & 31);
    if (how < 192) return usual & ~(1u << (how & 31));
    if (how < 224) return 1u << (how & 31);
    return fuzz_u32(r);
}

#endif
