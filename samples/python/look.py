#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""look: Vulkan draws a Julia set, and an array library looks at the picture in memory of both sides and finds its edges.

With NumPy it runs on the software twin (CULVERT_SOFT=1); on a GPU with --library jax, torch or cupy.
usage: look.py [--library NAME] [--size N] [--out FILE.png] [--window]"""
from typing import Any, Callable, Tuple

from common import arguments, groups, opened, shader, write_png

from culvert import draw

PAINT = """
layout(push_constant) uniform Push { float time; } push;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(p, imageSize(picture)))) return;
    vec2 z = (vec2(p) / float(imageSize(picture).x) - 0.5) * 2.9;
    float n = 0.0;
    for (; n < 220.0 && dot(z, z) < 64.0; n += 1.0)
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + vec2(-0.79, 0.15);
    float smooth_n = n - log2(max(1.0, log2(max(dot(z, z), 2.0)))) + 1.0;
    vec3 colour = n >= 220.0 ? vec3(0.02, 0.02, 0.06)
                             : 0.5 + 0.5 * cos(0.10 * smooth_n + push.time + vec3(0.0, 0.6, 1.1));
    imageStore(picture, p, vec4(colour, 1.0));
}
"""


def library(name: str) -> Tuple[Any, Callable[[Any], Any], Callable[[Any], bytes]]:
    """(functions like NumPy's, an array of a tensor, bytes of an array on the host)"""
    import numpy
    if name == "jax":
        import jax
        return jax.numpy, jax.dlpack.from_dlpack, lambda a: bytes(numpy.asarray(a).tobytes())
    if name == "torch":
        import torch
        torch.set_default_device("cuda")
        return torch, torch.from_dlpack, lambda a: bytes(a.cpu().numpy().tobytes())
    if name == "cupy":
        import cupy
        return cupy, cupy.from_dlpack, lambda a: bytes(a.get().tobytes())
    return numpy, numpy.from_dlpack, lambda a: bytes(a.tobytes())


def main() -> None:
    options = arguments(__doc__, "look.png", 0, library=("numpy", "numpy, jax, torch or cupy"))
    n: int = options.size
    xp, array_of, bytes_of = library(options.library)
    with opened(options, "look") as (gpu, show), draw.Target(gpu, n, n) as picture, draw.Compute(gpu, shader(PAINT)) as paint:
        paint(groups(n), picture=picture, time=3.4)
        seen = array_of(picture.tensor())  # its consumer is ordered after Vulkan
        grey = xp.sqrt((seen[:, :, :3] / 255.0) ** 2).sum(2) / 3
        edges = abs(grey[1:, 1:] - grey[:-1, 1:]) + abs(grey[1:, 1:] - grey[1:, :-1])
        bright = (edges * 2.2).clip(0, 1)
        out = xp.zeros((n, n, 4), dtype=xp.uint8) + xp.asarray([0, 0, 0, 255], dtype=xp.uint8)
        shown = (bright[:, :, None] * xp.asarray([255.0, 235.0, 200.0])).round()
        both = xp.concatenate([seen[1:, 1:n // 2, :3], shown[:, n // 2 - 1:, :].astype("uint8")
                               if options.library != "torch" else shown[:, n // 2 - 1:, :].to(xp.uint8)], 1)
        frame = xp.concatenate([both, out[1:, 1:, 3:]], 2)
        write_png(options.out, bytes_of(frame), n - 1, n - 1)
        print(f"{options.out}: mean edge {float(edges.mean()):.4f}, {options.library} on {gpu.device.name}")
        while options.window and show(picture):
            pass
        del seen


if __name__ == "__main__":
    main()
