/* ripple: the stones, pulled from the shared cells. SPDX-License-Identifier: MIT */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"

layout(location = 0) out vec3 world;

void main()
{
    vec4 cell;
    world = mesh_vertex(VERTEX_INDEX, cell);
    world.y = cell.w;
    gl_Position = view.view_projection * vec4(world, 1.0);
}
