/* SPDX-License-Identifier: MIT */
/* Driver calls in the log: the values of their arguments, told apart by type. */
#ifndef CULVI_BASE_VALUE_H_
#define CULVI_BASE_VALUE_H_

#include "base/text.h"

/* One argument. It is written after the call, so that it can show what the call wrote to it. */
typedef struct culvi_value culvi_value;
struct culvi_value {
    void (*add)(culvi_text *text, const culvi_value *value);
    union {
        unsigned long long number;
        const void *pointer;
    } at;
    bool output; /* not read after a failure */
};

culvi_value culvi_value_signed(long long number);
culvi_value culvi_value_unsigned(unsigned long long number);
/* Addresses, handles, sets of bits. */
culvi_value culvi_value_hex(unsigned long long number);
culvi_value culvi_value_pointer(const void *pointer);
culvi_value culvi_value_text(const char *text);
/* What a pointer points to. */
culvi_value culvi_value_out_text(const char *text);
culvi_value culvi_value_out_int(const int *out);
culvi_value culvi_value_out_unsigned(const unsigned *out);
culvi_value culvi_value_out_long(const unsigned long *out);
culvi_value culvi_value_out_hex(const unsigned long long *out);
/* `out` points to a pointer: a handle. */
culvi_value culvi_value_out_handle(const void *out);
/* A struct, by a function of its own. */
culvi_value culvi_value_struct(void (*add)(culvi_text *text, const culvi_value *value),
                               const void *pointer);

/* Defines culvi_value_NAME() of a struct that the file's add_NAME() writes. */
#define CULVI_VALUE_STRUCT(name, type)                                                             \
    culvi_value culvi_value_##name(const type *pointer)                                            \
    {                                                                                              \
        return culvi_value_struct(add_##name, pointer);                                            \
    }

/* Writes "call(values) = result" and logs it. `result` NULL: the call returns nothing. */
void culvi_trace(const culvi_voice *voice, const char *call, const char *result, bool success,
                 const culvi_value *values, size_t count);

static inline bool culvi_traces(const culvi_voice *voice)
{
    return voice != NULL && voice->log.level >= CULV_LOG_DEBUG && voice->log.fn != NULL;
}

/* A row of a _Generic: arguments of this type are shown so. */
/* clang-format off */
#define CULVI_AS(type, how) type: culvi_value_##how
/* clang-format on */
/* The rows that the types of C have. Smaller integers do not occur. */
#define CULVI_VALUE_TYPES                                                                          \
    CULVI_AS(int, signed), CULVI_AS(long, signed), CULVI_AS(long long, signed),                    \
        CULVI_AS(unsigned, unsigned), CULVI_AS(unsigned long, unsigned),                           \
        CULVI_AS(unsigned long long, hex), CULVI_AS(const char *, text),                           \
        CULVI_AS(char *, out_text), CULVI_AS(int *, out_int), CULVI_AS(unsigned *, out_unsigned),  \
        CULVI_AS(unsigned long *, out_long), CULVI_AS(unsigned long long *, out_hex)

/* M(argument) of each of up to eight arguments, as a list; and how many there are. */
#define CULVI_PICK_9_(a, b, c, d, e, f, g, h, n, ...) n
#define CULVI_EACH_1_(M, a)                           M(a)
#define CULVI_EACH_2_(M, a, ...)                      M(a), CULVI_EACH_1_(M, __VA_ARGS__)
#define CULVI_EACH_3_(M, a, ...)                      M(a), CULVI_EACH_2_(M, __VA_ARGS__)
#define CULVI_EACH_4_(M, a, ...)                      M(a), CULVI_EACH_3_(M, __VA_ARGS__)
#define CULVI_EACH_5_(M, a, ...)                      M(a), CULVI_EACH_4_(M, __VA_ARGS__)
#define CULVI_EACH_6_(M, a, ...)                      M(a), CULVI_EACH_5_(M, __VA_ARGS__)
#define CULVI_EACH_7_(M, a, ...)                      M(a), CULVI_EACH_6_(M, __VA_ARGS__)
#define CULVI_EACH_8_(M, a, ...)                      M(a), CULVI_EACH_7_(M, __VA_ARGS__)
#define CULVI_EACH(M, ...)                                                                         \
    CULVI_PICK_9_(__VA_ARGS__, CULVI_EACH_8_, CULVI_EACH_7_, CULVI_EACH_6_, CULVI_EACH_5_,         \
                  CULVI_EACH_4_, CULVI_EACH_3_, CULVI_EACH_2_, CULVI_EACH_1_, 0)                   \
    (M, __VA_ARGS__)
#define CULVI_COUNT(...) CULVI_PICK_9_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)

#endif
