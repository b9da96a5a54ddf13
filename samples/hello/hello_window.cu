/* SPDX-License-Identifier: MIT */
/* The kernel of hello_window.c: a wave of bars, each of two triangles. Heights and colours are
 * whole numbers, so every device draws the same picture. */
#include "culvert_kernel.h"

struct vertex {
    float x, y;
    unsigned colour; // R8G8B8A8
};

CULV_KERNEL void wave(CULV_GRID vertex *out, int bars, int frame)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bars) return;
    int phase = (8 * i + 4 * frame) % 256;
    if (phase > 128) phase = 256 - phase;
    int height = 20 + phase * phase * 200 / 16384; // of 240

    float left = 2.0f * i / bars - 1, right = 2.0f * (i + 1) / bars - 1, top = 1 - height / 120.0f;
    unsigned colour = (40u + phase) | (90u + phase) << 8 | (255u - phase) << 16 | 255u << 24;
    vertex *bar = out + 6 * i;
    bar[0] = {left, top, colour};
    bar[1] = bar[3] = {right, top, colour};
    bar[2] = bar[4] = {left, 1, colour};
    bar[5] = {right, 1, colour};
}

CULV_KERNELS(wave)
