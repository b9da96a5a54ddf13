#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""siren: PyTorch trains a small network of sines (a SIREN) on a picture, and Vulkan paints what it has learnt, from
PyTorch's own tensor. Nothing is copied, and the program's tensors stay PyTorch's.

It needs a GPU and PyTorch. A pool of exportable memory holds the one tensor that is painted; with
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True any tensor would do.
usage: siren.py [--size N] [--frames N] [--steps N] [--out FILE.png] [--window]"""
from typing import Any

from common import arguments, groups, opened, shader

import culvert
from culvert import draw

PAINT = """
layout(binding = 1, std430) readonly buffer Learnt { float rgb[]; };
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(p, imageSize(picture)))) return;
    int i = 3 * (p.y * imageSize(picture).x + p.x);
    imageStore(picture, p, vec4(clamp(vec3(rgb[i], rgb[i + 1], rgb[i + 2]), 0.0, 1.0), 1.0));
}
"""


def main() -> None:
    options = arguments(__doc__, "siren.png", 40, steps=(25, "of training, a frame"))
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("siren.py needs PyTorch with a GPU; particles.py runs with NumPy on the software twin")
    torch.manual_seed(1)
    n: int = options.size

    class Sine(torch.nn.Module):
        def __init__(self, inputs: int, outputs: int, first: bool = False) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(inputs, outputs)
            bound = 1 / inputs if first else (6 / inputs) ** 0.5 / 30
            torch.nn.init.uniform_(self.linear.weight, -bound, bound)

        def forward(self, x: Any) -> Any:
            return torch.sin(30 * self.linear(x))

    net = torch.nn.Sequential(Sine(2, 128, True), Sine(128, 128), Sine(128, 128), torch.nn.Linear(128, 3)).cuda()
    y, x = torch.meshgrid(*[torch.linspace(-1, 1, n, device="cuda")] * 2, indexing="ij")
    places = torch.stack([x, y], -1).reshape(-1, 2)
    # The picture to learn: a low sun over water.
    sun = torch.exp(-18 * ((x - 0.3) ** 2 + (y + 0.25) ** 2))
    sky = torch.stack([0.95 - 0.35 * (y + 1), 0.55 - 0.10 * y, 0.45 + 0.25 * (1 - y)], -1) * 0.8
    ripples = 0.5 + 0.5 * torch.sin(60 * (y + 1.2) ** 2 + 4 * torch.sin(9 * x))
    glitter = ripples * torch.exp(-8 * (x - 0.3) ** 2)
    sea = torch.stack([0.05 + 0.9 * glitter, 0.20 + 0.55 * glitter, 0.35 + 0.2 * ripples], -1)
    target = torch.where((y < 0.15)[..., None], sky + sun[..., None] * torch.tensor([1.0, 0.8, 0.4], device="cuda"),
                         sea).clamp(0, 1).reshape(-1, 3)
    with torch.cuda.use_mem_pool(culvert.torch_pool()):
        learnt = torch.zeros(n * n, 3, device="cuda")
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-4)
    with opened(options, "siren") as (gpu, show), draw.Target(gpu, n, n) as picture, draw.Compute(gpu, shader(PAINT)) as paint:
        loss: Any = torch.zeros(())
        for _ in range(options.frames):
            for _ in range(options.steps):
                chosen = torch.randint(0, n * n, (16384,), device="cuda")
                loss = ((net(places[chosen]) - target[chosen]) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                learnt.copy_(net(places))
            # Vulkan's turn: it waits for PyTorch's stream, and the stream's next work waits for Vulkan.
            paint(groups(n), picture=picture, rgb=learnt)
            if not show(picture):
                break
        picture.save(options.out)
        print(f"{options.out}: {options.frames * options.steps} steps, loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
