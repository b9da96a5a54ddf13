#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""waves: an array library solves the wave equation in a buffer that Vulkan paints from. Nothing is copied.

With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU.
usage: waves.py [--size N] [--frames N] [--out FILE.png] [--window]"""
from common import arguments, array_library, groups, opened, shader

from culvert import draw

PAINT = """
layout(binding = 1, std430) readonly buffer Field { float field[]; };
float at(int x, int y) {
    ivec2 size = imageSize(picture);
    return field[min(y, size.y - 1) * size.x + min(x, size.x - 1)];
}
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(p, imageSize(picture)))) return;
    float h = at(p.x, p.y);
    vec3 n = normalize(vec3(at(p.x, p.y) - at(p.x + 1, p.y), at(p.x, p.y) - at(p.x, p.y + 1), 0.08));
    vec3 sun = normalize(vec3(-0.5, -0.7, 0.6));
    float shine = pow(max(dot(reflect(-sun, n), vec3(0, 0, 1)), 0.0), 24.0);
    vec3 water = mix(vec3(0.01, 0.09, 0.22), vec3(0.05, 0.55, 0.62), clamp(0.5 + 1.4 * h, 0.0, 1.0));
    vec3 colour = water * (0.35 + 0.75 * max(dot(n, sun), 0.0)) + vec3(1.0, 0.92, 0.75) * shine;
    imageStore(picture, p, vec4(pow(clamp(colour, 0.0, 1.0), vec3(1 / 1.8)), 1.0));
}
"""


def main() -> None:
    options = arguments(__doc__, "waves.png", 260)
    n: int = options.size
    xp, array_of = array_library()
    with opened(options, "waves") as (gpu, show), gpu.vk.buffer(n * n * 4) as buffer, \
            draw.Target(gpu, n, n) as picture, draw.Compute(gpu, shader(PAINT)) as paint:
        field = array_of(buffer.tensor("float32", (n, n)))  # the VkBuffer's own memory
        y, x = xp.mgrid[0:n, 0:n].astype("float32") / n
        field[:] = 0
        for cx, cy, height, width in ((0.3, 0.35, 3.4, 0.02), (0.72, 0.3, -2.4, 0.03), (0.6, 0.75, 2.9, 0.025)):
            field += height * xp.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * width ** 2))
        wall = (abs(y - 0.55) < 0.008) & (abs(x - 0.30) > 0.04) & (x < 0.55)
        field[wall] = 0
        before = field.copy()
        for _ in range(options.frames):
            around = -4 * field
            around[1:] += field[:-1]
            around[:-1] += field[1:]
            around[:, 1:] += field[:, :-1]
            around[:, :-1] += field[:, 1:]
            after = 1.998 * field - 0.998 * before + 0.24 * around
            after[wall] = 0
            before[:] = field
            field[:] = after
            # Vulkan's turn: it waits for the array library's stream, and the stream's next work waits for Vulkan.
            paint(groups(n), picture=picture, field=field)
            if not show(picture):
                break
        picture.save(options.out)
        print(f"{options.out}: {options.frames} frames of {n} x {n}, {xp.__name__} and Vulkan on {gpu.device.name}")


if __name__ == "__main__":
    main()
