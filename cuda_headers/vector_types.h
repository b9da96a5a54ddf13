/* SPDX-License-Identifier: MIT */
/* CUDA's vector types for kernels that the host compiler builds for the twin, where no CUDA toolkit
 * is installed: the same names, members and alignment. The test abi.same_as_the_toolkit holds them
 * against a toolkit. */
#ifndef CULVERT_ABI_VECTOR_TYPES_H_
#define CULVERT_ABI_VECTOR_TYPES_H_

#define CULVERT_ABI_VECTORS(X, T, name)                                                            \
    struct name##1                                                                                 \
    {                                                                                              \
        T x;                                                                                       \
    };                                                                                             \
    struct __attribute__((aligned(2 * sizeof(T)))) name##2                                         \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    struct name##3                                                                                 \
    {                                                                                              \
        T x, y, z;                                                                                 \
    };                                                                                             \
    struct __attribute__((aligned(sizeof(T) < 8 ? 4 * sizeof(T) : 16))) name##4                    \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    X(T, name)
#define CULVERT_ABI_NOTHING(T, name)

#ifdef __cplusplus
#    define CULVERT_ABI_TYPEDEFS CULVERT_ABI_NOTHING
#else
#    define CULVERT_ABI_TYPEDEFS(T, name)                                                          \
        typedef struct name##1 name##1;                                                            \
        typedef struct name##2 name##2;                                                            \
        typedef struct name##3 name##3;                                                            \
        typedef struct name##4 name##4;
#endif

#define CULVERT_ABI_BASE_TYPES(X)                                                                  \
    X(signed char, char)                                                                           \
    X(unsigned char, uchar)                                                                        \
    X(short, short)                                                                                \
    X(unsigned short, ushort)                                                                      \
    X(int, int)                                                                                    \
    X(unsigned int, uint)                                                                          \
    X(long, long)                                                                                  \
    X(unsigned long, ulong)                                                                        \
    X(long long, longlong)                                                                         \
    X(unsigned long long, ulonglong)                                                               \
    X(float, float)                                                                                \
    X(double, double)

#define CULVERT_ABI_STRUCTS(T, name) CULVERT_ABI_VECTORS(CULVERT_ABI_TYPEDEFS, T, name)
CULVERT_ABI_BASE_TYPES(CULVERT_ABI_STRUCTS)

struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
#endif
};

#endif
