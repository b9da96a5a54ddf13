#!/bin/sh
# Gray becomes green when FFmpeg makes float RGB of it.
# Version: ffmpeg 7:5.1.9-0+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: gray, gray16 and grayf32 to gbrpf32 put the number into red, green and blue, as to gbrp and gbrp16:
#   what a height or depth map needs to be shown, or to be put into an EXR of three channels.
# Behaviour: black is 0 0.53 0 (red, green, blue), middle gray 0 1 0 and white 0.3 1 0.1, from each of the three
#   and without a message: the missing colors of YUV count as 0 instead of a half. By way of gbrp16 it is
#   gray.
# Seen: gray 0, 128, 255: 0.00 0.53 0.00, 0.00 1.00 0.00, 0.30 1.00 0.11; grayf32 0, 0.5, 1: 0.00 0.53 0.00, 0.00 1.00 0.00, 0.29 1.00 0.08; gray by way of gbrp16: 0.00 0.00 0.00, 0.50 0.50 0.50, 1.00 1.00 1.00
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/gray.py" <<'PY'
import subprocess

import numpy


def convert(value, name, kind, filters="null"):
    out = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", name, "-s", "16x16", "-i", "-", "-vf", filters,
         "-f", "rawvideo", "-pix_fmt", "gbrpf32le", "-"],
        input=numpy.full((16, 16), value, kind).tobytes(), stdout=subprocess.PIPE, check=True).stdout
    green, blue, red = numpy.frombuffer(out, "f4").reshape(3, 256)
    return " ".join(f"{plane[0]:.2f}" for plane in (red, green, blue))


def words(*how):
    return ", ".join(convert(value, *how) for value in (0, 128, 255))


print(f"gray 0, 128, 255: {words('gray', 'u1')}; ", end="")
print(f"grayf32 0, 0.5, 1: {', '.join(convert(x, 'grayf32le', 'f4') for x in (0, 0.5, 1))}; ", end="")
print(f"gray by way of gbrp16: {words('gray', 'u1', 'format=gbrp16le')}")
PY
same "gray 0, 128, 255: 0.00 0.53 0.00, 0.00 1.00 0.00, 0.30 1.00 0.11; grayf32 0, 0.5, 1: 0.00 0.53 0.00, 0.00 1.00 0.00, 0.29 1.00 0.08; gray by way of gbrp16: 0.00 0.00 0.00, 0.50 0.50 0.50, 1.00 1.00 1.00" "$(/usr/bin/python3 "$work/gray.py")"
