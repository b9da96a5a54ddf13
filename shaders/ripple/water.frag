/* ripple: water: the sky and stones mirrored in it, and the floor seen through it. Normals come from the full
 * resolution of the shared cells, whatever the mesh's. SPDX-License-Identifier: MIT */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
#include "materials.glsl"

layout(location = 0) in vec3 world;
layout(location = 0) out vec4 color;

const float water_index = 1.333;
const vec3 absorption = vec3(2.15, 0.62, 0.40); /* per world unit */

/* The water's own color and foam (samples/ripple/ripple.cu, ripple_tint). */
layout(RESOURCE(1)) uniform sampler2D tint_image;

vec4 tint_at(vec2 xz)
{
    return textureLod(tint_image, 0.5 + 0.5 * xz / view.half_extent.xy, 0.0);
}

vec3 normal_of(vec4 cell)
{
    return vec3(cell.y, sqrt(max(1.0 - dot(cell.yz, cell.yz), 0.0)), cell.z);
}

/* How much the curved surface above focuses the sun on a point of the floor: the inverse of the determinant
 * that maps an area of surface to the area that its light reaches, softened as murk and the sun's width do. */
float caustic(vec3 p, vec3 to_sun)
{
    vec2 above = p.xz + to_sun.xz / to_sun.y * -p.y;
    float bend = (1.0 - 1.0 / water_index) * -p.y / view.half_extent.z;
    vec2 at = clamp(cell_coordinates(above), vec2(0.0), vec2(view.grid.xy - 1));
    ivec2 a = ivec2(at), b = min(a + 1, view.grid.xy - 1);
    vec2 f = at - vec2(a);
    vec2 aa = cells[a.y * view.grid.x + a.x].yz, ba = cells[a.y * view.grid.x + b.x].yz;
    vec2 ab = cells[b.y * view.grid.x + a.x].yz, bb = cells[b.y * view.grid.x + b.x].yz;
    vec2 dx = mix(ba - aa, bb - ab, f.y), dz = mix(ab - aa, bb - ba, f.x);
    float area = (1.0 + bend * dx.x) * (1.0 + bend * dz.y) - bend * bend * dx.y * dz.x;
    return min(pow(max(abs(area), 0.1), -0.9), 4.2);
}

float shadow(vec3 p, vec3 to_sun)
{
    float light = 1.0;
    for (int i = 1; i <= 4; i++) {
        vec3 q = p + to_sun / to_sun.y * (-p.y + 0.10) * (float(i) - 0.5) / 4.0;
        light = min(light, 1.0 - smoothstep(0.0, 0.05, bottom_at(q.xz) - q.y));
    }
    return light;
}

/* Light from a point of the bottom or a wall, up to the surface. */
vec3 bottom_light(vec3 p, vec3 wall_normal, bool is_wall)
{
    vec3 to_sun = -refract(-sun_direction, vec3(0.0, 1.0, 0.0), 1.0 / water_index);
    vec3 n = wall_normal, albedo;
    float open = 1.0;
    if (is_wall) {
        vec2 q = abs(wall_normal.x) > 0.5 ? p.zy : p.xy;
        albedo = wall_stone(q);
        open = 0.55 + 0.45 * smoothstep(-0.5, 0.0, p.y);
    } else {
        float e = 0.016;
        float west = bottom_at(p.xz - vec2(e, 0.0)), east = bottom_at(p.xz + vec2(e, 0.0));
        float north = bottom_at(p.xz - vec2(0.0, e)), south = bottom_at(p.xz + vec2(0.0, e));
        n = normalize(vec3(west - east, 2.0 * e, north - south));
        /* Contact darkening: what stands higher nearby takes light of the sky away. */
        float r = 0.055;
        float around = 0.0;
        for (int i = 0; i < 4; i++) {
            vec2 to = r * vec2(1 - 2 * (i & 1), 1 - (i & 2));
            around += max(bottom_at(p.xz + to) - p.y, 0.0);
        }
        vec2 to_edge = view.half_extent.xy - abs(p.xz);
        open = 1.0 / (1.0 + 2.2 * around) * (0.55 + 0.45 * smoothstep(0.0, 0.22, min(to_edge.x, to_edge.y)));
        albedo = mix(drowned_stone(p), pebbles(p.xz), smoothstep(0.72, 0.90, n.y));
    }
    float depth = max(-p.y, 0.0);
    float sun = max(dot(n, to_sun), 0.0) * shadow(p + 0.01 * n, to_sun) * caustic(p, to_sun);
    vec3 down = exp(-absorption * depth / to_sun.y);
    vec3 sky_down = exp(-absorption * depth * 1.2);
    return albedo * (sun_color * 0.72 * sun * down + 0.90 * ambient(n) * open * sky_down);
}

/* What a ray under water meets. */
vec3 through_water(vec3 from, vec3 d, vec3 scattering)
{
    vec2 wall = (sign(d.xz) * view.half_extent.xy - from.xz) / d.xz;
    float to_wall = min(wall.x, wall.y);
    vec3 wall_normal = wall.x < wall.y ? vec3(-sign(d.x), 0.0, 0.0) : vec3(0.0, 0.0, -sign(d.z));

    const int steps = 8;
    float limit = min(to_wall, 0.62 / -d.y);
    float before = 0.0, after = limit, t = limit;
    bool met = false;
    for (int i = 1; i <= steps; i++) {
        float at = limit * float(i) / float(steps);
        vec3 q = from + at * d;
        if (q.y <= bottom_at(q.xz)) {
            after = at;
            met = true;
            break;
        }
        before = at;
    }
    for (int i = 0; i < 3; i++) { /* halve what is left of the step, so that steep stones show no terraces */
        float middle = 0.5 * (before + after);
        vec3 q = from + middle * d;
        if (q.y > bottom_at(q.xz)) before = middle;
        else after = middle;
    }
    if (met) t = after;
    vec3 p = from + t * d;
    vec3 light = bottom_light(p, wall_normal, !met && to_wall <= limit);
    vec3 clear = exp(-absorption * t);
    return light * clear + scattering * (1.0 - clear) * (0.8 + 0.5 * sun_direction.y) * 1.6;
}

/* Sky, stones and the rim as the surface mirrors them. */
vec3 mirrored(vec3 from, vec3 d)
{
    vec2 wall = (sign(d.xz) * view.half_extent.xy - from.xz) / d.xz;
    float to_wall = min(wall.x, wall.y);
    vec3 light = sky(d);
    if (from.y + to_wall * d.y < rim_height) light = vec3(0.17, 0.17, 0.165);
    for (int i = 0; i < 6; i++) {
        float t = 0.02 * exp2(0.8 * float(i));
        vec3 q = from + t * d;
        float over = bottom_at(q.xz) - q.y;
        if (over > 0.0) return mix(light, vec3(0.105, 0.105, 0.11), smoothstep(0.0, 0.02, over));
    }
    return light;
}

/* How much of the surface foam covers: patches with holes that grow as it fades. */
float foam_cover(float foam)
{
    vec2 p = world.xz;
    float pattern = 0.5 * noise(p * 42.0) + 0.32 * noise(p * 101.0 + 3.7) + 0.18 * noise(p * 230.0 + 9.1);
    return smoothstep(0.42, 0.78, foam + pattern - 0.42) * smoothstep(0.02, 0.25, foam);
}

/* Foam is lit as any dry thing is, and stones shade it. */
vec3 foam_light(vec3 p, vec3 n)
{
    float sun = max(dot(n, sun_direction), 0.0);
    for (int i = 1; i <= 5; i++) {
        vec3 q = p + sun_direction * 0.045 * float(i);
        sun *= 1.0 - smoothstep(0.0, 0.03, bottom_at(q.xz) - q.y);
    }
    return vec3(0.74, 0.78, 0.80) * (0.40 * sun_color * sun + 0.85 * ambient(n));
}

void main()
{
    vec4 tint = tint_at(world.xz);
    vec4 cell = smooth_cell(world.xz);
    vec3 n = normal_of(cell);
    vec3 toward_eye = normalize(view.eye.xyz - world);
    float facing = max(dot(n, toward_eye), 0.02);
    float fresnel = 0.03 + 0.97 * pow(1.0 - facing, 4.6); /* a little more than water has */

    vec3 up = reflect(-toward_eye, n);
    up.y = abs(up.y) + 0.01;
    up = normalize(up);
    vec3 down = refract(-toward_eye, n, 1.0 / water_index);

    vec3 light = mix(through_water(vec3(world.x, cell.x, world.z), down, 0.35 * tint.rgb), mirrored(world, up), fresnel);
    float glint = max(dot(up, sun_direction), 0.0);
    light += sun_color * fresnel * (30.0 * pow(glint, 1400.0) + 2.2 * pow(glint, 200.0));
    float cover = 0.9 * foam_cover(tint.a);
    if (cover > 0.0) light = mix(light, foam_light(world, n), cover);
    color = finish(light, gl_FragCoord.xy);
}
