// A point that a vertex buffer says, behind the far plane: fetched, and never drawn. SPDX-License-Identifier: MIT
#version 450

layout(location = 0) in vec4 position;

void main()
{
    gl_PointSize = 1.0;
    gl_Position = vec4(position.xy, abs(position.z) + 2.0, 1.0);
}
