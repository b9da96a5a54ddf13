#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""particles: an array library moves points in a buffer, and Vulkan paints them from it. Nothing is copied.

With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU.
usage: particles.py [--count N] [--size N] [--frames N] [--out FILE.png] [--window]"""
from common import arguments, array_library, groups, opened, shader

from culvert import draw

# A pixel gathers the points of its neighbourhood from a grid that the array library has counted.
PAINT = """
layout(binding = 1, std430) readonly buffer Density { float density[]; };
float at(ivec2 p) {
    p = clamp(p, ivec2(0), imageSize(picture) - 1);
    return density[p.y * imageSize(picture).x + p.x];
}
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(p, imageSize(picture)))) return;
    float sharp = at(p), glow = 0.0;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) glow += at(p + ivec2(x, y)) * exp(-0.35 * float(x * x + y * y));
    float light = 1.0 - exp(-0.020 * sharp - 0.006 * glow);
    vec3 colour = mix(vec3(0.02, 0.01, 0.05), vec3(0.95, 0.35, 0.10), smoothstep(0.0, 0.55, light));
    imageStore(picture, p, vec4(mix(colour, vec3(1.0, 0.95, 0.80), smoothstep(0.5, 1.0, light)), 1.0));
}
"""


def main() -> None:
    options = arguments(__doc__, "particles.png", 60, count=(200000, "of points"))
    n: int = options.size
    xp, array_of = array_library()
    with opened(options, "particles") as (gpu, show), gpu.vk.buffer(n * n * 4) as buffer, \
            draw.Target(gpu, n, n) as picture, draw.Compute(gpu, shader(PAINT)) as paint:
        density = array_of(buffer.tensor("float32", (n * n,)))  # the VkBuffer's own memory
        density[:] = 0
        random = xp.random.RandomState(7)
        place = random.uniform(-1, 1, (options.count, 2)).astype("float32")
        for frame in range(options.frames):
            # A strange attractor (Clifford's) that turns slowly: each point is mapped, most of the way.
            a, b, c, d = -1.7 + 0.001 * frame, 1.8, -1.9, -0.4
            x, y = place[:, 0] * 2, place[:, 1] * 2
            place[:, 0] = (xp.sin(a * y) + c * xp.cos(a * x)) / 3
            place[:, 1] = (xp.sin(b * x) + d * xp.cos(b * y)) / 2
            cell = ((place * 0.48 + 0.5) * n).astype("int32").clip(0, n - 1)
            density *= 0.6
            density += xp.bincount(cell[:, 1] * n + cell[:, 0], minlength=n * n).astype("float32")
            # Vulkan's turn: it waits for the array library's stream, and the stream's next work waits for Vulkan.
            paint(groups(n), picture=picture, density=density)
            if not show(picture):
                break
        picture.save(options.out)
        print(f"{options.out}: {options.count} points, {xp.__name__} and Vulkan on {gpu.device.name}")


if __name__ == "__main__":
    main()
