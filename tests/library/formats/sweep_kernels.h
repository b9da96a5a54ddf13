/* SPDX-License-Identifier: MIT */
/* What the kernels of the format sweep and the program that launches them agree on. C and CUDA. */
#ifndef CULVERT_TESTS_SWEEP_KERNELS_H_
#define CULVERT_TESTS_SWEEP_KERNELS_H_

/* The dimensions of the table, in its order: (number, name in the results). */
#define SWEEP_DIMENSIONS(X)                                                                        \
    X(SWEEP_1D, "1D")                                                                              \
    X(SWEEP_2D, "2D")                                                                              \
    X(SWEEP_3D, "3D")                                                                              \
    X(SWEEP_CUBE, "cube")                                                                          \
    X(SWEEP_1D_ARRAY, "1D array")                                                                  \
    X(SWEEP_2D_ARRAY, "2D array")                                                                  \
    X(SWEEP_CUBE_ARRAY, "cube array")

enum {
#define SWEEP_DIMENSION_(id, name) id,
    SWEEP_DIMENSIONS(SWEEP_DIMENSION_)
#undef SWEEP_DIMENSION_
        SWEEP_NUM_DIMENSIONS
};

/* Types of surface accesses: (culv_format_info::kernel_type, in C++). */
#define SWEEP_TYPES(X)                                                                             \
    X(char, char)                                                                                  \
    X(char2, char2)                                                                                \
    X(char4, char4)                                                                                \
    X(uchar, unsigned char)                                                                        \
    X(uchar2, uchar2)                                                                              \
    X(uchar4, uchar4)                                                                              \
    X(short, short)                                                                                \
    X(short2, short2)                                                                              \
    X(short4, short4)                                                                              \
    X(ushort, unsigned short)                                                                      \
    X(ushort2, ushort2)                                                                            \
    X(ushort4, ushort4)                                                                            \
    X(int, int)                                                                                    \
    X(int2, int2)                                                                                  \
    X(int4, int4)                                                                                  \
    X(uint, unsigned int)                                                                          \
    X(uint2, uint2)                                                                                \
    X(uint4, uint4)                                                                                \
    X(float, float)                                                                                \
    X(float2, float2)                                                                              \
    X(float4, float4)

enum {
#define SWEEP_TYPE_(name, type) SWEEP_TYPE_##name,
    SWEEP_TYPES(SWEEP_TYPE_)
#undef SWEEP_TYPE_
        SWEEP_NUM_TYPES
};

/* What a texture read returns. */
enum { SWEEP_FLOAT, SWEEP_SINT, SWEEP_UINT, SWEEP_NUM_NUMBERS };

#endif
