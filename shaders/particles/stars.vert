/* particles: a star as a soft sprite: gold where it is fast, near a core, and blue where it is slow, far out.
 * SPDX-License-Identifier: MIT */
#version 450

/* samples/particles/star.h */
layout(std430, binding = 0) readonly buffer Stars
{
    vec4 stars[];
};

layout(location = 0) uniform mat4 view_projection;
layout(location = 1) uniform float height; /* of the picture, in pixels */
layout(location = 2) uniform float share;  /* of the light that is one star's */

layout(location = 0) flat out vec3 light;
layout(location = 1) flat out float core;

float hash(uint x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return float((x ^ (x >> 16)) >> 8) / 16777216.0;
}

vec3 by_speed(float speed)
{
    const vec3 far_out = vec3(0.10, 0.24, 1.00), arms = vec3(0.30, 0.52, 1.00);
    const vec3 disc = vec3(1.00, 0.72, 0.58), middle = vec3(1.00, 0.50, 0.16);
    vec3 color = mix(far_out, arms, smoothstep(0.30, 0.80, speed));
    color = mix(color, disc, smoothstep(0.85, 1.45, speed));
    return mix(color, middle, smoothstep(1.5, 2.3, speed));
}

void main()
{
    vec4 star = stars[gl_VertexID];
    uint id = uint(gl_VertexID);
    float chance = hash(id), speed = abs(star.w);
    vec3 color = by_speed(speed);
    if (star.w < 0.0) color = mix(color, vec3(color.r, 0.6 * color.g, color.b), 0.5);

    /* A few are giants, some are dust that gives light only together, the rest is stars. */
    float bright = 0.25 + 0.75 * chance * chance, size = 0.009;
    if (chance > 0.985) {
        bright = 5.0;
        size = 0.014;
        if (speed < 1.1) color = mix(color, vec3(1.0, 0.22, 0.45), step(0.5, hash(id + 77u)));
    } else if (chance < 0.22) {
        bright = 1.3;
        size = 0.050;
    }
    gl_Position = view_projection * vec4(star.xyz, 1.0);
    float pixels = size * height / (0.72 * gl_Position.w);
    gl_PointSize = clamp(pixels, 2.0, 0.12 * height);
    /* The same light, on however many pixels. */
    float reference = height / 720.0;
    light = color * bright * share * 1.3 * reference * reference / (gl_PointSize * gl_PointSize);
    core = chance > 0.985 ? 1.0 : 0.0;
}
