/* particles: the light around a pixel, from coarse levels of the picture's. Nobody sees that this is done for a
 * sixteenth of the pixels. SPDX-License-Identifier: MIT */
#version 450

layout(binding = 0) uniform sampler2D light;
layout(location = 0) uniform vec2 picture; /* pixels, of the glow's own */
layout(location = 1) uniform vec2 whole;   /* those of the light */
layout(location = 2) uniform int levels;

layout(location = 0) out vec4 color;

/* A level, smoothed so that its texels do not show. */
vec3 smooth_level(vec2 at, float level)
{
    vec2 texel = 0.75 * exp2(level) / whole;
    return 0.25 * (textureLod(light, at + texel, level).rgb + textureLod(light, at - texel, level).rgb +
                   textureLod(light, at + vec2(texel.x, -texel.y), level).rgb +
                   textureLod(light, at + vec2(-texel.x, texel.y), level).rgb);
}

void main()
{
    vec2 at = gl_FragCoord.xy / picture;
    vec3 sum = vec3(0.0);
    float weight = 0.40;
    for (int level = 1; level < levels; level++) {
        sum += weight * smooth_level(at, float(level));
        weight *= 0.78;
    }
    color = vec4(sum, 1.0);
}
