#!/bin/sh
# FFmpeg cuts a float picture off at 0 and 1 when it resizes it.
# Version: ffmpeg 7:5.1.9-0+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: scale of grayf32 and gbrpf32 computes in floats: light above 1 and a field below 0 are what such a
#   format is for, and a picture that keeps its size keeps them.
# Behaviour: a resize goes through 16 bits, whatever the method: -0.5 becomes 0, and 1.5 and 20 become 1. A
#   sun that is 20 is as bright as a sheet of paper after it; distances in metres become 1. No message tells.
# Seen: -0.5 0.25 1.5 20: same size -0.5 0.25 1.5 20; grayf32 twice as large 0 0.25 1 1, by neighbor 0 0.25 1 1; gbrpf32 twice as large 0 0.25 1 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/resize.py" <<'PY'
import subprocess

import numpy

VALUES = (-0.5, 0.25, 1.5, 20)


def resize(value, filters, name="grayf32le", planes=1):
    out = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", name, "-s", "16x16", "-i", "-", "-vf", filters,
         "-f", "rawvideo", "-pix_fmt", name, "-"],
        input=numpy.full((planes, 16, 16), value, "f4").tobytes(), stdout=subprocess.PIPE, check=True).stdout
    return f"{numpy.frombuffer(out, 'f4')[0]:.3g}"


def words(*how):
    return " ".join(resize(value, *how) for value in VALUES)


print(f"-0.5 0.25 1.5 20: same size {words('scale=16:16')}; grayf32 twice as large {words('scale=32:32')}, ", end="")
print(f"by neighbor {words('scale=32:32:flags=neighbor')}; ", end="")
print(f"gbrpf32 twice as large {words('scale=32:32', 'gbrpf32le', 3)}")
PY
same "-0.5 0.25 1.5 20: same size -0.5 0.25 1.5 20; grayf32 twice as large 0 0.25 1 1, by neighbor 0 0.25 1 1; gbrpf32 twice as large 0 0.25 1 1" "$(/usr/bin/python3 "$work/resize.py")"
