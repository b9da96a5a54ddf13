/* SPDX-License-Identifier: MIT */
/* observer's kernel: particles that drift along Aizawa's attractor, and new ones at its middle.
 * Additions and multiplications alone, in one order. */
#include "culvert_kernel.h"

#include "particle.h"

/* A step of all of them, from one slot to another, which may be the same. Those from `old` on are
 * new. */
CULV_KERNEL void observer_step(CULV_GRID const particle *before, particle *after, int old,
                               int count, unsigned int step, float dt)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    particle p;
    p.mark = (unsigned int)n * 2654435761u ^ step;
    if (n < old) {
        float x = before[n].x, y = before[n].y, z = before[n].z, r = x * x + y * y;
        p.x = x + dt * ((z - 0.7f) * x - 3.5f * y);
        p.y = y + dt * (3.5f * x + (z - 0.7f) * y);
        p.z = z + dt * (0.6f + 0.95f * z - z * z * z / 3.0f - r * (1.0f + 0.25f * z) +
                        0.1f * z * x * x * x);
    } else {
        unsigned int h = p.mark * 2246822519u;
        p.x = 0.2f + (float)(h >> 8 & 1023u) * 0.0008f;
        p.y = -0.4f + (float)(h >> 18 & 1023u) * 0.0008f;
        p.z = -0.3f + (float)(h & 1023u) * 0.0012f;
    }
    after[n] = p;
}

CULV_KERNELS(observer_step)
