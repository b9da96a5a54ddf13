#version 460
// SPDX-License-Identifier: MIT
// A pixel's count goes up for each particle in it, and the first word for each that is wrong.
layout(local_size_x = 256) in;

struct Particle {
    float x, y, z;
    uint mark;
};

layout(set = 0, binding = 0, std430) readonly buffer Particles {
    Particle particles[];
};
layout(set = 0, binding = 1, std430) buffer Picture {
    uint wrong;
    uint pixels[];
};
layout(push_constant) uniform Constants {
    uint first, count, step, width, height;
    float turn;
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    Particle p = particles[i];
    if (p.mark != ((first + i) * 2654435761u ^ step)) atomicAdd(wrong, 1u);
    float c = cos(turn), s = sin(turn);
    vec3 at = vec3(c * p.x - s * p.y, s * p.x + c * p.y, p.z - 0.7);
    at.yz = vec2(0.94 * at.y - 0.34 * at.z, 0.34 * at.y + 0.94 * at.z); // from a little above
    float scale = 1.35 / (5.0 + at.y) * 0.99;
    ivec2 pixel = ivec2(vec2(0.5 * float(width) + scale * float(height) * at.x,
                             0.5 * float(height) - scale * float(height) * at.z));
    if (pixel.x < 0 || pixel.y < 0 || pixel.x >= int(width) || pixel.y >= int(height)) return;
    atomicAdd(pixels[uint(pixel.y) * width + uint(pixel.x)], 1u);
}
