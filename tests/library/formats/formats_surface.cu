// SPDX-License-Identifier: MIT
// Kernels of the format sweep: whole levels from and to plain memory, through a surface object, in
// every dimension and every type that surfaces have.
#include "culvert_kernel.h"

#include "sweep_kernels.h"

#include <string.h>

// z is the slice, layer, face or layer-face.
template <typename T>
static __device__ __noinline__ void store(const unsigned char *from, cudaSurfaceObject_t surface,
                                          int dimension, int x, int y, int z)
{
    T texel;
    memcpy(&texel, from, sizeof texel);
    x *= (int)sizeof(T);
    switch (dimension) {
    case SWEEP_1D: surf1Dwrite(texel, surface, x); break;
    case SWEEP_2D: surf2Dwrite(texel, surface, x, y); break;
    case SWEEP_3D: surf3Dwrite(texel, surface, x, y, z); break;
    case SWEEP_CUBE: surfCubemapwrite(texel, surface, x, y, z); break;
    case SWEEP_1D_ARRAY: surf1DLayeredwrite(texel, surface, x, z); break;
    case SWEEP_2D_ARRAY: surf2DLayeredwrite(texel, surface, x, y, z); break;
    case SWEEP_CUBE_ARRAY: surfCubemapLayeredwrite(texel, surface, x, y, z); break;
    }
}

template <typename T>
static __device__ __noinline__ void load(unsigned char *to, cudaSurfaceObject_t surface,
                                         int dimension, int x, int y, int z)
{
    T texel = {};
    x *= (int)sizeof(T);
    switch (dimension) {
    case SWEEP_1D: texel = surf1Dread<T>(surface, x); break;
    case SWEEP_2D: texel = surf2Dread<T>(surface, x, y); break;
    case SWEEP_3D: texel = surf3Dread<T>(surface, x, y, z); break;
    case SWEEP_CUBE: texel = surfCubemapread<T>(surface, x, y, z); break;
    case SWEEP_1D_ARRAY: texel = surf1DLayeredread<T>(surface, x, z); break;
    case SWEEP_2D_ARRAY: texel = surf2DLayeredread<T>(surface, x, y, z); break;
    case SWEEP_CUBE_ARRAY: texel = surfCubemapLayeredread<T>(surface, x, y, z); break;
    }
    memcpy(to, &texel, sizeof texel);
}

#define AT_TEXEL                                                                                   \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
    if (i >= width * height * slices) return;                                                      \
    int x = i % width, y = i / width % height, z = i / (width * height);

// texels: slice after slice, row after row, without padding.
CULV_KERNEL void sweep_store(CULV_GRID cudaSurfaceObject_t surface, int dimension, int type,
                             int width, int height, int slices, unsigned char *texels)
{
    AT_TEXEL
    switch (type) {
#define TYPE(name, t)                                                                              \
    case SWEEP_TYPE_##name:                                                                        \
        store<t>(texels + (size_t)i * sizeof(t), surface, dimension, x, y, z);                     \
        break;
        SWEEP_TYPES(TYPE)
#undef TYPE
    }
}

CULV_KERNEL void sweep_load(CULV_GRID cudaSurfaceObject_t surface, int dimension, int type,
                            int width, int height, int slices, unsigned char *texels)
{
    AT_TEXEL
    switch (type) {
#define TYPE(name, t)                                                                              \
    case SWEEP_TYPE_##name:                                                                        \
        load<t>(texels + (size_t)i * sizeof(t), surface, dimension, x, y, z);                      \
        break;
        SWEEP_TYPES(TYPE)
#undef TYPE
    }
}

CULV_KERNELS(sweep_store, sweep_load)
