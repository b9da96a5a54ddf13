// SPDX-License-Identifier: MIT
// Kernels that read textures: each a list of places.
#include "culvert_kernel.h"

struct place {
    float x, y, z;
    int layer;
    float level; // below -100: by the function without a level
};

#define TEXTURE_KERNEL(name, function, type, args)                                                 \
    CULV_KERNEL void name(CULV_GRID cudaTextureObject_t texture, const place *places, type *out,   \
                          int count)                                                               \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= count) return;                                                                    \
        const place p = places[i];                                                                 \
        if (p.level < -100.0f)                                                                     \
            out[i] = function<type>(texture, ARGS args);                                           \
        else if (i % 2 == 0)                                                                       \
            out[i] = function##Lod<type>(texture, ARGS args, p.level);                             \
        else                                                                                       \
            function##Lod(&out[i], texture, ARGS args, p.level);                                   \
    }
#define ARGS(...) __VA_ARGS__

TEXTURE_KERNEL(read_1d, tex1D, float4, (p.x))
TEXTURE_KERNEL(read_2d, tex2D, float4, (p.x, p.y))
TEXTURE_KERNEL(read_3d, tex3D, float4, (p.x, p.y, p.z))
TEXTURE_KERNEL(read_1d_layered, tex1DLayered, float4, (p.x, p.layer))
TEXTURE_KERNEL(read_2d_layered, tex2DLayered, float4, (p.x, p.y, p.layer))
TEXTURE_KERNEL(read_cube, texCubemap, float4, (p.x, p.y, p.z))
TEXTURE_KERNEL(read_cube_layered, texCubemapLayered, float4, (p.x, p.y, p.z, p.layer))

TEXTURE_KERNEL(read_2d_float, tex2D, float, (p.x, p.y))
TEXTURE_KERNEL(read_2d_uchar4, tex2D, uchar4, (p.x, p.y))
TEXTURE_KERNEL(read_2d_ushort2, tex2D, ushort2, (p.x, p.y))
TEXTURE_KERNEL(read_2d_short2, tex2D, short2, (p.x, p.y))
TEXTURE_KERNEL(read_2d_uint4, tex2D, uint4, (p.x, p.y))
TEXTURE_KERNEL(read_2d_int4, tex2D, int4, (p.x, p.y))

CULV_KERNEL void fetch(CULV_GRID cudaTextureObject_t texture, const place *places, float4 *out,
                       int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i % 2 == 0)
        out[i] = tex1Dfetch<float4>(texture, places[i].layer);
    else
        tex1Dfetch(&out[i], texture, places[i].layer);
}

CULV_KERNELS(read_1d, read_2d, read_3d, read_1d_layered, read_2d_layered, read_cube,
             read_cube_layered, read_2d_float, read_2d_uchar4, read_2d_ushort2, read_2d_short2,
             read_2d_uint4, read_2d_int4, fetch)
