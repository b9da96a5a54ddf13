/* ripple: the basin's rim and the deck around it. SPDX-License-Identifier: MIT */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
#include "materials.glsl"

layout(location = 0) in vec3 world;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 place;
layout(location = 3) flat in int part;
layout(location = 0) out vec4 color;

void main()
{
    vec3 n = normalize(normal);
    vec3 albedo;
    float open = 1.0, sun = max(dot(n, sun_direction), 0.0);
    if (part != part_deck) {
        albedo = slab(world.xz + world.y, place.y * 2.6 + 0.13);
        /* Inside: light fades to the water, and splashes keep a band wet. */
        if (part == part_wall) {
            float above = world.y - smooth_cell(world.xz).x;
            albedo *= mix(0.45, 1.0, smoothstep(0.008, 0.035, above));
            open = 0.45 + 0.55 * smoothstep(-0.02, rim_height, above);
        }
    } else {
        albedo = deck(world.xz);
        /* The coping shades the deck next to it. */
        float reach = place.x - rim_width;
        open = 0.40 + 0.60 * smoothstep(0.0, 0.16, reach);
        vec2 outward = abs(world.x) - view.half_extent.x > abs(world.z) - view.half_extent.y
                           ? vec2(sign(world.x), 0.0)
                           : vec2(0.0, sign(world.z));
        float away = -dot(outward, sun_direction.xz);
        if (away > 0.0) sun *= smoothstep(0.8, 1.2, reach / (0.05 * away / sun_direction.y));
    }
    vec3 light = albedo * (sun_color * sun + ambient(n) * open);
    color = finish(light, gl_FragCoord.xy);
}
