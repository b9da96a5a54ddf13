/* SPDX-License-Identifier: MIT */
/* Kernels of the library's suite. */
#include "culvert_kernel.h"

#include <string.h>

/* Word i becomes what lib_word() says. */
CULV_KERNEL void library_write(CULV_GRID unsigned *out, unsigned count, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = i * 2654435761u + seed;
}

CULV_KERNEL void library_add(CULV_GRID unsigned *data, unsigned count, unsigned addend)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += addend;
}

/* Faults when the address is nobody's. */
CULV_KERNEL void library_poke(CULV_GRID unsigned *address, unsigned value)
{
    if (threadIdx.x == 0) *(volatile unsigned *)address = value;
}

/* A list through two places: nodes of 16 bytes, the even ones at `here`, the odd ones at `there`.
 * Each has the address of the next one, and a word. */
struct library_node {
    unsigned long long next;
    unsigned word, index;
};

static __device__ __forceinline__ unsigned long long
library_place(unsigned long long here, unsigned long long there, unsigned i)
{
    return (i % 2 == 0 ? here : there) + i / 2 * 16ull;
}

CULV_KERNEL void library_link(CULV_GRID unsigned long long here, unsigned long long there,
                              unsigned count, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    library_node *node = (library_node *)library_place(here, there, i);
    node->next = i + 1 < count ? library_place(here, there, i + 1) : 0;
    node->word = i * 2654435761u + seed;
    node->index = i;
}

/* Follows it: out[0] nodes, and out[1], which depends on each node and on their order. */
CULV_KERNEL void library_chase(CULV_GRID unsigned long long first, unsigned *out)
{
    if (blockIdx.x + threadIdx.x > 0) return;
    unsigned count = 0, mixed = 0;
    while (first != 0 && count < 1000000u) {
        const library_node *node = (const library_node *)first;
        mixed = mixed * 31u + node->word;
        count++;
        first = node->next;
    }
    out[0] = count;
    out[1] = mixed;
}

/* Byte b of texel (x, y), as lib_texel_byte() says it: no float that texels hold is an infinity or
 * a NaN. */
static __device__ __forceinline__ unsigned char library_byte(int x, int y, int b, unsigned seed)
{
    unsigned h = (unsigned)x * 73856093u + (unsigned)y * 19349663u + (unsigned)b * 83492791u +
                 seed * 2654435761u;
    return (unsigned char)(0x20u + (h >> 13 & 0x3fu));
}

/* paint: every texel as above. flip: what is there, its lower four bits of each byte inverted. */
CULV_KERNEL void library_paint_uchar4(CULV_GRID cudaSurfaceObject_t surface, int width, int height,
                                      unsigned seed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    surf2Dwrite(make_uchar4(library_byte(x, y, 0, seed), library_byte(x, y, 1, seed),
                            library_byte(x, y, 2, seed), library_byte(x, y, 3, seed)),
                surface, x * 4, y);
}

CULV_KERNEL void library_flip_uchar4(CULV_GRID cudaSurfaceObject_t surface, int width, int height,
                                     unsigned mask)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 texel = surf2Dread<uchar4>(surface, x * 4, y);
    surf2Dwrite(make_uchar4(texel.x ^ mask, texel.y ^ mask, texel.z ^ mask, texel.w ^ mask),
                surface, x * 4, y);
}

/* What a texture returns at (places[3 * i], places[3 * i + 1]) of level places[3 * i + 2]. */
CULV_KERNEL void library_sample(CULV_GRID cudaTextureObject_t texture, const float *places,
                                int count, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex2DLod<float>(texture, places[3 * i], places[3 * i + 1], places[3 * i + 2]);
}

CULV_KERNELS(library_write, library_add, library_poke, library_link, library_chase, library_sample,
             library_paint_uchar4, library_flip_uchar4)
