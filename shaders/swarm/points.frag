/* swarm: a particle's light, added to what is there. SPDX-License-Identifier: MIT */
#version 450

layout(location = 0) flat in vec3 light;
layout(location = 0) out vec4 color;

void main()
{
    color = vec4(light, 1.0);
}
