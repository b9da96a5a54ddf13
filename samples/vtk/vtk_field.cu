/* SPDX-License-Identifier: MIT */
/* vtk_field's kernel: waves that run around a torus, in VTK's colours from cool to warm. */
#include "culvert_kernel.h"

/* Whole numbers of waves around and along, so that the field meets itself at the seams. */
static __device__ float wave(float u, float v, float around, float along, float turn)
{
    return cosf(6.2831853f * (around * u + along * v) + turn);
}

static __device__ unsigned char channel(float value)
{
    return (unsigned char)(255.0f * fminf(fmaxf(value, 0.0f), 1.0f) + 0.5f);
}

CULV_KERNEL void vtk_field(CULV_GRID cudaSurfaceObject_t texture, int width, int height, float time)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height) return;
    float u = ((float)x + 0.5f) / (float)width, v = ((float)y + 0.5f) / (float)height;
    float bend = 0.05f * wave(u, v, 2.0f, 1.0f, time);
    float field = 0.45f * wave(u + bend, v, 7.0f, 2.0f, -2.0f * time) +
                  0.35f * wave(u, v + bend, -5.0f, 3.0f, -3.0f * time) +
                  0.20f * wave(u, v, 3.0f, -6.0f, time);

    /* K. Moreland's diverging map (2009), a parabola a side. */
    float cool = fmaxf(-field, 0.0f), warm = fmaxf(field, 0.0f);
    float r = 0.865f - 0.85f * cool + 0.22f * cool * cool - 0.16f * warm * warm;
    float g = 0.865f - 0.62f * cool - 0.55f * warm - 0.30f * warm * warm;
    float b = 0.865f - 0.11f * cool * cool - 0.95f * warm + 0.235f * warm * warm;
    surf2Dwrite(make_uchar4(channel(r), channel(g), channel(b), 255), texture,
                x * (int)sizeof(uchar4), y);
}

CULV_KERNELS(vtk_field)
