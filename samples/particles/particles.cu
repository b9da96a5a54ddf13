/* SPDX-License-Identifier: MIT */
/* particles' kernels: stars that fall towards all heavy ones, by Newton's law, and a copy of them
 * for the renderer. Additions, multiplications, divisions and roots alone: every device computes
 * the same bits. */
#include "culvert_kernel.h"

#include "star.h"

/* What all heavy stars, the first ones of `positions`, do to each star's velocity. w is a mass. */
CULV_KERNEL void particles_kick(CULV_GRID const float4 *positions, float4 *velocities, int heavy,
                                int count, float softening2, float dt)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    float x = positions[n].x, y = positions[n].y, z = positions[n].z;
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int i = 0; i < heavy; i++) {
        float4 other = positions[i];
        float dx = other.x - x, dy = other.y - y, dz = other.z - z;
        float r2 = dx * dx + dy * dy + dz * dz + softening2;
        float pull = other.w / (r2 * sqrtf(r2));
        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    velocities[n].x += dt * ax;
    velocities[n].y += dt * ay;
    velocities[n].z += dt * az;
}

CULV_KERNEL void particles_drift(CULV_GRID float4 *positions, const float4 *velocities, int count,
                                 float dt)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    positions[n].x += dt * velocities[n].x;
    positions[n].y += dt * velocities[n].y;
    positions[n].z += dt * velocities[n].z;
}

/* What the renderer sees: places and speeds. The galaxy is the sign of a velocity's w. */
CULV_KERNEL void particles_publish(CULV_GRID star *stars, const float4 *positions,
                                   const float4 *velocities, int count)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    float4 p = positions[n], v = velocities[n];
    float speed = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
    star s = {p.x, p.y, p.z, v.w * speed};
    stars[n] = s;
}

CULV_KERNELS(particles_kick, particles_drift, particles_publish)
