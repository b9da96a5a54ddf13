/* SPDX-License-Identifier: MIT */
/* The kernel of hello_cull.c: a thread for each object. It writes a draw for an object that is in
 * sight, and nothing for the others. */
#include "culvert_kernel.h"

struct vertex {
    float x, y;
    unsigned colour; // R8G8B8A8
};

// VkDrawIndirectCommand, and what vkCmdDrawIndirectCount reads.
struct draw {
    unsigned vertices, instances, first_vertex, first_instance;
};
struct draw_list {
    unsigned count, unused[3];
    draw draws[1]; // as many as there are objects
};

CULV_KERNEL void cull(CULV_GRID draw_list *list, vertex *vertices, int objects, int left, int top)
{
    const int width = 253, height = 127, row = 64, cell = 16, side = 11;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= objects) return;
    int x = i % row * cell + i * 7 % 5 - left, y = i / row * cell + i * 11 % 5 - top;
    if (x <= -side || x >= width || y <= -side || y >= height) return;

    unsigned colour = 0xff404040u | 2654435761u * (i + 1);
    float x0 = 2.0f * x / width - 1, x1 = 2.0f * (x + side) / width - 1;
    float y0 = 2.0f * y / height - 1, y1 = 2.0f * (y + side) / height - 1;
    unsigned at = atomicAdd(&list->count, 1u);
    vertex *square = vertices + 6 * at;
    square[0] = {x0, y0, colour};
    square[1] = square[3] = {x1, y0, colour};
    square[2] = square[4] = {x0, y1, colour};
    square[5] = {x1, y1, colour};
    list->draws[at] = {6, 1, 6 * at, 0};
}

CULV_KERNELS(cull)
