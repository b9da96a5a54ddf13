/* SPDX-License-Identifier: MIT */
/* Driver calls in the log: the values of their arguments, told apart by type. */
#ifndef CULVI_BASE_VALUE_H_
#define CULVI_BASE_VALUE_H_

#include "base/text.h"

/* How an argument is written. An output is what a pointer points to; it is not read after a
 * failure. */
enum {
    CULVI_VALUE_end,
    CULVI_VALUE_int,
    CULVI_VALUE_long,
    CULVI_VALUE_long_long,
    CULVI_VALUE_unsigned,
    CULVI_VALUE_unsigned_long,
    CULVI_VALUE_hex,   /* addresses, handles, sets of bits */
    CULVI_VALUE_bytes, /* a struct of 64 bytes, of which none is shown */
    CULVI_VALUE_text,
    CULVI_VALUE_pointer,
    CULVI_VALUE_out_text,
    CULVI_VALUE_out_int,
    CULVI_VALUE_out_unsigned,
    CULVI_VALUE_out_long,
    CULVI_VALUE_out_hex,
    CULVI_VALUE_out_handle,
    CULVI_VALUE_STRUCTS /* from here on: pointers to a room's own structs */
};

typedef struct culvi_value_bytes {
    char bytes[64];
} culvi_value_bytes;

/* Writes what a pointer to a room's struct points to. */
typedef void (*culvi_value_add)(culvi_text *text, unsigned kind, const void *pointer);

/* Writes "call(values) = result" and logs it. `result` NULL: the call returns nothing. `kinds` has a
 * byte for each value, the lowest for the first one. It is called after the call, so that it can
 * show what the call wrote. */
void culvi_trace(const culvi_voice *voice, const char *call, const char *result, bool success,
                 culvi_value_add add, uint64_t kinds, va_list values);

static inline bool culvi_traces(const culvi_voice *voice)
{
    return voice != NULL && voice->log.level >= CULV_LOG_DEBUG && voice->log.fn != NULL;
}

/* A row of a _Generic: arguments of this type are shown so. */
/* clang-format off */
#define CULVI_AS(type, how) type: CULVI_VALUE_##how
/* clang-format on */
/* The rows that the types of C have. Smaller integers are passed as an int. */
#define CULVI_VALUE_TYPES                                                                          \
    CULVI_AS(bool, int), CULVI_AS(char, int), CULVI_AS(signed char, int),                          \
        CULVI_AS(unsigned char, int), CULVI_AS(short, int), CULVI_AS(unsigned short, int),         \
        CULVI_AS(int, int), CULVI_AS(long, long), CULVI_AS(long long, long_long),                  \
        CULVI_AS(unsigned, unsigned), CULVI_AS(unsigned long, unsigned_long),                      \
        CULVI_AS(unsigned long long, hex), CULVI_AS(const char *, text),                           \
        CULVI_AS(char *, out_text), CULVI_AS(int *, out_int), CULVI_AS(unsigned *, out_unsigned),  \
        CULVI_AS(unsigned long *, out_long), CULVI_AS(unsigned long long *, out_hex),              \
        CULVI_AS(culvi_value_end, end)

typedef struct culvi_value_end {
    char nothing;
} culvi_value_end;

/* The kinds of up to eight arguments, each of which KIND() tells. */
#define CULVI_KINDS(KIND, ...)                                                                     \
    CULVI_KINDS_(KIND, __VA_ARGS__, CULVI_END_, CULVI_END_, CULVI_END_, CULVI_END_, CULVI_END_,    \
                 CULVI_END_, CULVI_END_, CULVI_END_)
#define CULVI_END_                                                                                 \
    (culvi_value_end)                                                                              \
    {                                                                                              \
        0                                                                                          \
    }
#define CULVI_KINDS_(KIND, a, b, c, d, e, f, g, h, ...)                                            \
    ((uint64_t)KIND(a) | (uint64_t)KIND(b) << 8 | (uint64_t)KIND(c) << 16 |                        \
     (uint64_t)KIND(d) << 24 | (uint64_t)KIND(e) << 32 | (uint64_t)KIND(f) << 40 |                 \
     (uint64_t)KIND(g) << 48 | (uint64_t)KIND(h) << 56)
/* Arguments in brackets, without them. */
#define CULVI_LIST(...) __VA_ARGS__

#endif
