/* SPDX-License-Identifier: MIT */
/* swarm's kernels: particles that flow along Aizawa's strange attractor, and the fountain that they
 * come from. Additions and multiplications alone: every device computes the same bits. */
#include "culvert_kernel.h"

#include "particle.h"

static __device__ uint32_t hash(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du; /* C. Wellons' lowbias32 */
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* A number from 0 to 1 for each particle and purpose. */
static __device__ float chance(uint32_t id, uint32_t purpose)
{
    return (float)(hash(id * 4u + purpose) >> 8) / 16777216.0f;
}

/* dx/dt = (z - b) x - d y,  dy/dt = d x + (z - b) y,
 * dz/dt = c + a z - z^3 / 3 - (x^2 + y^2) (1 + e z) + f z x^3,  a to f = 0.95 0.7 0.6 3.5 0.25
 * 0.1 */
static __device__ float3 flow(float x, float y, float z)
{
    float vx = (z - 0.7f) * x - 3.5f * y;
    float vy = 3.5f * x + (z - 0.7f) * y;
    float vz = 0.6f + 0.95f * z - z * z * z * (1.0f / 3.0f) - (x * x + y * y) * (1.0f + 0.25f * z) +
               0.1f * z * (x * x * x);
    return make_float3(vx, vy, vz);
}

/* Makes the particles first to first + count - 1, in a cube around the source. They are born all
 * over the `span` of time that the next steps will cover: such a one begins as far upstream. */
CULV_KERNEL void swarm_emit(CULV_GRID particle *particles, int first, int count, float reach,
                            float time, float span)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    uint32_t id = (uint32_t)(first + n) + 1u;
    float x = 0.1f + reach * (2.0f * chance(id, 0u) - 1.0f),
          y = reach * (2.0f * chance(id, 1u) - 1.0f);
    float z = reach * (2.0f * chance(id, 2u) - 1.0f), wait = span * chance(id, 3u);
    float3 v = flow(x, y, z);
    particle p = {x - wait * v.x, y - wait * v.y, z - wait * v.z, id, v.x, v.y, v.z, time + wait};
    particles[first + n] = p;
}

/* Moves each by some steps (Adams and Bashforth's of second order, for which a particle has its
 * last velocity). */
CULV_KERNEL void swarm_step(CULV_GRID particle *particles, int count, int steps, float dt)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    particle p = particles[n];
    for (int i = 0; i < steps; i++) {
        float3 v = flow(p.x, p.y, p.z);
        p.x += dt * (1.5f * v.x - 0.5f * p.vx);
        p.y += dt * (1.5f * v.y - 0.5f * p.vy);
        p.z += dt * (1.5f * v.z - 0.5f * p.vz);
        p.vx = v.x;
        p.vy = v.y;
        p.vz = v.z;
    }
    particles[n] = p;
}

CULV_KERNELS(swarm_emit, swarm_step)
