/* SPDX-License-Identifier: MIT */
/* make_float4() and its like, for vector_types.h beside this file. */
#ifndef CULVERT_ABI_VECTOR_FUNCTIONS_H_
#define CULVERT_ABI_VECTOR_FUNCTIONS_H_

#include "vector_types.h"

#define CULVERT_ABI_MAKE(T, name)                                                                  \
    static inline struct name##1 make_##name##1(T x)                                               \
    {                                                                                              \
        struct name##1 v = {x};                                                                    \
        return v;                                                                                  \
    }                                                                                              \
    static inline struct name##2 make_##name##2(T x, T y)                                          \
    {                                                                                              \
        struct name##2 v = {x, y};                                                                 \
        return v;                                                                                  \
    }                                                                                              \
    static inline struct name##3 make_##name##3(T x, T y, T z)                                     \
    {                                                                                              \
        struct name##3 v = {x, y, z};                                                              \
        return v;                                                                                  \
    }                                                                                              \
    static inline struct name##4 make_##name##4(T x, T y, T z, T w)                                \
    {                                                                                              \
        struct name##4 v = {x, y, z, w};                                                           \
        return v;                                                                                  \
    }
CULVERT_ABI_BASE_TYPES(CULVERT_ABI_MAKE)

#endif
