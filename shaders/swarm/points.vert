/* swarm: a particle as a point of light: blue, brighter where it is fast, and glowing while it is young.
 * SPDX-License-Identifier: MIT */
#version 450

/* samples/swarm/particle.h */
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 velocity;
layout(location = 2) in float born;

layout(push_constant) uniform View
{
    mat4 view_projection;
    float time;
}
view;

layout(location = 0) flat out vec3 light;

void main()
{
    float fast = min(length(velocity) / 4.0, 1.0);
    float young = exp(-max(view.time - born, 0.0) / 2.0);
    vec3 cool = mix(vec3(0.15, 0.10, 0.62), vec3(0.08, 0.60, 0.85), fast * fast);
    light = mix(cool, vec3(3.2, 0.95, 0.18), young);
    gl_Position = view.view_projection * vec4(position, 1.0);
    gl_PointSize = 1.0;
}
