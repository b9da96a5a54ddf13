/* particles: a star's light, added to what is there. SPDX-License-Identifier: MIT */
#version 450

layout(location = 0) flat in vec3 light;
layout(location = 1) flat in float core;
layout(location = 0) out vec4 color;

void main()
{
    vec2 off = 2.0 * gl_PointCoord - 1.0;
    float r2 = dot(off, off);
    if (r2 >= 1.0) discard;
    float soft = (1.0 - r2) * (1.0 - r2);
    color = vec4(light * mix(3.0 * soft, 9.0 * soft * soft * soft * soft, core), 1.0);
}
