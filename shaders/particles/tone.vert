/* particles: a triangle that covers the picture. SPDX-License-Identifier: MIT */
#version 450

void main()
{
    gl_Position = vec4(4.0 * (gl_VertexID & 1) - 1.0, 2.0 * (gl_VertexID & 2) - 1.0, 0.0, 1.0);
}
