/* ripple: the basin's rim: a profile from the inner wall over the coping out to the deck, swept around the
 * rectangle. Four sides of seven strips of two triangles. SPDX-License-Identifier: MIT */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"

layout(location = 0) out vec3 world;
layout(location = 1) out vec3 normal;
layout(location = 2) out vec2 place; /* distance outward from the wall, along the side */
layout(location = 3) flat out int part;

const int num_points = 8;
/* Distance outward, height. */
const vec2 profile[num_points] =
    vec2[](vec2(0.0, -0.30), vec2(0.0, rim_height - 0.02), vec2(0.006, rim_height - 0.006),
           vec2(0.02, rim_height), vec2(rim_width - 0.015, rim_height), vec2(rim_width, rim_height - 0.015),
           vec2(rim_width, rim_height - 0.05), vec2(30.0, rim_height - 0.05));

vec2 slope_normal(int segment)
{
    vec2 along = profile[clamp(segment + 1, 1, num_points - 1)] - profile[clamp(segment, 0, num_points - 2)];
    return normalize(vec2(-along.y, along.x));
}

void main()
{
    const ivec2 corners[6] =
        ivec2[](ivec2(0, 0), ivec2(1, 0), ivec2(0, 1), ivec2(0, 1), ivec2(1, 0), ivec2(1, 1));
    ivec2 corner = corners[VERTEX_INDEX % 6];
    int strip = VERTEX_INDEX / 6 % (num_points - 1);
    int side = VERTEX_INDEX / (6 * (num_points - 1));

    vec2 point = profile[strip + corner.x];
    /* Flat across long strips, smooth over the rounded edges. */
    bool rounded = strip == 1 || strip == 2 || strip == 4;
    vec2 n = slope_normal(strip);
    if (rounded) n = normalize(n + slope_normal(strip + (corner.x == 0 ? -1 : 1)));

    float end = corner.y == 0 ? -1.0 : 1.0;
    const vec2 directions[4] = vec2[](vec2(0, -1), vec2(1, 0), vec2(0, 1), vec2(-1, 0));
    vec2 out_direction = directions[side];
    vec2 along = vec2(-out_direction.y, out_direction.x);
    vec2 xz = (view.half_extent.xy + point.x) * (out_direction + end * along);
    world = vec3(xz.x, point.y, xz.y);
    normal = vec3(n.x * out_direction.x, n.y, n.x * out_direction.y);
    place = vec2(point.x, dot(xz, along));
    part = strip == 0 ? part_wall : strip == num_points - 2 ? part_deck : part_coping;
    gl_Position = view.view_projection * vec4(world, 1.0);
}
