/* swarm: from the light that has gathered in a pixel to its color. SPDX-License-Identifier: MIT */
#version 450

layout(set = 0, binding = 0) uniform sampler2D light;

layout(push_constant) uniform Tone
{
    float exposure;
}
tone;

layout(location = 0) out vec4 color;

/* A pixel's own light, and a glow of its neighbours'. */
vec3 gather(ivec2 at)
{
    const float weights[3] = float[](0.50, 0.19, 0.06);
    ivec2 last = textureSize(light, 0) - 1;
    vec3 sum = vec3(0.0);
    for (int y = -2; y <= 2; y++) {
        for (int x = -2; x <= 2; x++) {
            ivec2 from = clamp(at + ivec2(x, y), ivec2(0), last);
            sum += weights[abs(x)] * weights[abs(y)] * texelFetch(light, from, 0).rgb;
        }
    }
    return sum;
}

void main()
{
    vec3 gathered = gather(ivec2(gl_FragCoord.xy));
    color = vec4(vec3(0.002, 0.003, 0.007) + 1.0 - exp(-tone.exposure * gathered), 1.0);
}
