// SPDX-License-Identifier: MIT
// A kernel of the format sweep: what a texture object returns at the middle of each texel of one
// level, in every dimension.
#include "culvert_kernel.h"

#include "sweep_kernels.h"

#include <string.h>

// The direction to a face's place (CUDA Programming Guide, "Cubemap Textures").
static __device__ __forceinline__ void direction(int face, float s, float t, float *x, float *y,
                                                 float *z)
{
    switch (face) {
    case 0: *x = 1.0f, *y = -t, *z = -s; break;
    case 1: *x = -1.0f, *y = -t, *z = s; break;
    case 2: *x = s, *y = 1.0f, *z = t; break;
    case 3: *x = s, *y = -1.0f, *z = -t; break;
    case 4: *x = s, *y = -t, *z = 1.0f; break;
    default: *x = -s, *y = -t, *z = -1.0f; break;
    }
}

// z is the slice, layer, face or layer-face.
template <typename T>
static __device__ __forceinline__ void sample(unsigned *to, cudaTextureObject_t texture,
                                              int dimension, float level, float u, float v, float w,
                                              int z)
{
    T value = {};
    float dx = 0.0f, dy = 0.0f, dz = 0.0f;
    direction(z % 6, 2.0f * u - 1.0f, 2.0f * v - 1.0f, &dx, &dy, &dz);
    switch (dimension) {
    case SWEEP_1D: value = tex1DLod<T>(texture, u, level); break;
    case SWEEP_2D: value = tex2DLod<T>(texture, u, v, level); break;
    case SWEEP_3D: value = tex3DLod<T>(texture, u, v, w, level); break;
    case SWEEP_CUBE: value = texCubemapLod<T>(texture, dx, dy, dz, level); break;
    case SWEEP_1D_ARRAY: value = tex1DLayeredLod<T>(texture, u, z, level); break;
    case SWEEP_2D_ARRAY: value = tex2DLayeredLod<T>(texture, u, v, z, level); break;
    case SWEEP_CUBE_ARRAY:
        value = texCubemapLayeredLod<T>(texture, dx, dy, dz, z / 6, level);
        break;
    }
    memcpy(to, &value, sizeof value);
}

// Four words a texel, of which the first `channels` are written.
CULV_KERNEL void sweep_sample(CULV_GRID cudaTextureObject_t texture, int dimension, int number,
                              int channels, int level, int width, int height, int slices,
                              unsigned *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height * slices) return;
    int x = i % width, y = i / width % height, z = i / (width * height);
    float u = ((float)x + 0.5f) / (float)width, v = ((float)y + 0.5f) / (float)height;
    float w = ((float)z + 0.5f) / (float)slices;
    unsigned *to = values + (size_t)i * 4;
#define NUMBER(which, one, two, four)                                                              \
    case which:                                                                                    \
        if (channels == 1) sample<one>(to, texture, dimension, (float)level, u, v, w, z);          \
        if (channels == 2) sample<two>(to, texture, dimension, (float)level, u, v, w, z);          \
        if (channels > 2) sample<four>(to, texture, dimension, (float)level, u, v, w, z);          \
        break;
    switch (number) {
        NUMBER(SWEEP_FLOAT, float, float2, float4)
        NUMBER(SWEEP_SINT, int, int2, int4)
        NUMBER(SWEEP_UINT, unsigned, uint2, uint4)
    }
#undef NUMBER
}

CULV_KERNELS(sweep_sample)
