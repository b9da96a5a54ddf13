/* particles: from the light that has gathered in a pixel, and around it, to its color. SPDX-License-Identifier: MIT */
#version 450

layout(binding = 0) uniform sampler2D light;
layout(binding = 1) uniform sampler2D glow;
layout(location = 0) uniform vec2 picture; /* pixels */

layout(location = 0) out vec4 color;

float hash(uvec2 p)
{
    uint x = p.x * 0x9e3779b9u ^ p.y * 0x85ebca6bu;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return float((x ^ (x >> 16)) >> 8) / 16777216.0;
}

/* Stars of the sky behind, one in a few hundred cells. */
vec3 sky(uvec2 pixel, float scale)
{
    uvec2 cell = uvec2(vec2(pixel) / (7.0 * scale));
    float chance = hash(cell);
    if (chance < 0.985) return vec3(0.0);
    vec2 middle = (vec2(cell) + 0.25 + 0.5 * vec2(hash(cell + 91u), hash(cell + 57u))) * 7.0 * scale;
    float r2 = dot(vec2(pixel) + 0.5 - middle, vec2(pixel) + 0.5 - middle) / (scale * scale);
    vec3 tint = mix(vec3(1.0, 0.8, 0.6), vec3(0.6, 0.75, 1.0), hash(cell + 13u));
    return tint * 0.35 * hash(cell + 7u) * exp(-1.6 * r2);
}

void main()
{
    vec2 at = gl_FragCoord.xy / picture;
    vec3 sum = texelFetch(light, ivec2(gl_FragCoord.xy), 0).rgb;
    sum += textureLod(glow, at, 0.0).rgb;
    sum += sky(uvec2(gl_FragCoord.xy), picture.y / 720.0);
    vec2 off = at - 0.5;
    sum = sum * (1.0 - 0.55 * dot(off, off)) + vec3(0.0035, 0.0045, 0.010);

    /* Filmic curve (Narkowicz 2015, a fit of ACES); bright light loses its color before. */
    float most = max(sum.r, max(sum.g, sum.b));
    sum = mix(sum, vec3(most), 0.35 * smoothstep(1.0, 8.0, most));
    sum = clamp((sum * (2.51 * sum + 0.03)) / (sum * (2.43 * sum + 0.59) + 0.14), 0.0, 1.0);
    vec3 srgb = mix(12.92 * sum, 1.055 * pow(sum, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, sum));
    color = vec4(srgb, 1.0);
}
