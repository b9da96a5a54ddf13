#!/usr/bin/env python3
"""Compares ripple's pictures by Direct3D, which scripts/wine-test has left in DIR, with those of the
same seed that RIPPLE draws by Vulkan: pictures.py RIPPLE DIR.

Direct3D's shaders are Vulkan's in another language, and two translators bring them to the same CPU:
a channel may differ by a unit where rounding does, and a pixel by more where one of its samples lies
on a triangle's edge. CUDA's kernels compute the same bits.

SPDX-License-Identifier: MIT"""

import os
import struct
import subprocess
import sys
import tempfile
import zlib

MOST = 1  # a channel's difference
SHARE = 0.002  # of the channels that have one; 43 of 96,393 had
EDGES = 4  # pixels that differ by more; at most 1 did


def read_png(path):
    """Width, height and the rows of an RGB PNG."""
    with open(path, "rb") as file:
        data = file.read()
    packed, at, width, height = b"", 8, 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert (depth, color) == (8, 2), f"{path}: not RGB of 8 bits"
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    raw, step = zlib.decompress(packed), 3 * width
    before, rows = bytearray(step), b""
    for y in range(height):
        row = bytearray(raw[y * (step + 1) + 1:(y + 1) * (step + 1)])
        unfilter(raw[y * (step + 1)], row, before)
        rows += row
        before = row
    return width, height, rows


def unfilter(kind, row, above):
    """PNG specification, 9."""
    for i in range(len(row) if kind else 0):
        left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
        guess = (left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind - 1]
        row[i] = (row[i] + guess) & 255


def paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda p: abs(guess - p))


def main():
    ripple, directory = sys.argv[1:]
    if not os.path.exists(os.path.join(directory, "ripple-d3d12-00011.png")):
        print("SKIP: no pictures of Direct3D: Wine, or MinGW's C++, is not installed")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([ripple, "--quiet", "--size=96x64", "--resolution=253x127", "--frames=12",
                        "--every=6", "--device=soft", f"--output={work}/vulkan.png"],
                       check=True, stdout=subprocess.DEVNULL)
        for frame in ("00000", "00006", "00011"):
            width, height, right = read_png(f"{work}/vulkan-{frame}.png")
            assert (width, height) == (253, 127)
            for api in ("d3d12", "d3d11"):
                name = f"ripple-{api}-{frame}.png"
                picture = read_png(os.path.join(directory, name))
                assert picture[:2] == (width, height), f"{name} has another size"
                apart = [abs(a - b) for a, b in zip(picture[2], right) if a != b]
                print(f"{name}: {len(apart)} of {len(right)} channels differ, "
                      f"by at most {max(apart, default=0)}")
                failed |= (sum(d > MOST for d in apart) > 3 * EDGES
                           or len(apart) > SHARE * len(right))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
