/* ripple: stones above the water. SPDX-License-Identifier: MIT */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
#include "materials.glsl"

layout(location = 0) in vec3 world;
layout(location = 0) out vec4 color;

void main()
{
    float e = 1.5 * view.half_extent.z * float(max(view.grid.w, 1));
    float west = smooth_cell(world.xz - vec2(e, 0.0)).w, east = smooth_cell(world.xz + vec2(e, 0.0)).w;
    float north = smooth_cell(world.xz - vec2(0.0, e)).w, south = smooth_cell(world.xz + vec2(0.0, e)).w;
    vec3 n = normalize(vec3(west - east, 2.0 * e, north - south));
    vec2 bump = vec2(noise(world.xz * 70.0 + world.y * 40.0), noise(world.zx * 70.0 - world.y * 40.0)) - 0.5;
    n = normalize(n + 0.35 * vec3(bump.x, 0.0, bump.y));

    float water = smooth_cell(world.xz + normalize(n.xz + 1e-4) * 0.02).x;
    float above = world.y - max(water, 0.0);
    float wet = 1.0 - smoothstep(0.004, 0.030, above + 0.012 * (noise(world.xz * 40.0) - 0.5));

    float sun = max(dot(n, sun_direction), 0.0);
    for (int i = 1; i <= 6; i++) {
        vec3 q = world + sun_direction * 0.035 * float(i);
        sun *= 1.0 - smoothstep(0.0, 0.03, bottom_at(q.xz) - q.y);
    }
    float around = 0.0;
    for (int i = 0; i < 4; i++) {
        vec2 to = 0.05 * vec2(1 - 2 * (i & 1), 1 - (i & 2));
        around += max(bottom_at(world.xz + to) - world.y, 0.0);
    }
    float open = 1.0 / (1.0 + 7.0 * around) * (0.50 + 0.50 * smoothstep(-0.02, 0.09, above));

    vec3 albedo = granite(world) * mix(1.0, 0.42, wet);
    vec3 from_water = vec3(0.05, 0.13, 0.14) * (0.5 - 0.5 * n.y) * exp(-9.0 * max(above, 0.0));
    vec3 light = albedo * (sun_color * sun + ambient(n) * open + from_water);
    vec3 toward_eye = normalize(view.eye.xyz - world);
    vec3 mirror = reflect(-toward_eye, n);
    float gloss = pow(max(dot(mirror, sun_direction), 0.0), 60.0);
    float fresnel = 0.03 + 0.6 * pow(1.0 - max(dot(n, toward_eye), 0.0), 5.0);
    light += (0.08 + wet) * gloss * sun_color * 0.5 * min(sun * 3.0, 1.0);
    light += wet * fresnel * clear_sky(vec3(mirror.x, abs(mirror.y), mirror.z)) * open;
    color = finish(light, gl_FragCoord.xy);
}
