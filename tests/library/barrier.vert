// A point wherever a vertex buffer says. SPDX-License-Identifier: MIT
#version 450

layout(location = 0) in vec4 position;

void main()
{
    gl_PointSize = 1.0;
    gl_Position = position;
}
