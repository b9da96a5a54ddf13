#!/bin/sh
# Pillow cuts gray of 16 bits off at 255 when it converts, and takes the upper byte of RGB.
# Version: python3-pil 9.4.0-1.1+deb12u1, python3-numpy 1:1.24.2-1+deb12u1, ffmpeg
#   7:5.1.9-0+deb12u1, which makes the pictures.
# Guess: convert("L") of a PNG of 16-bit gray (a height or depth map) scales 0..65,535 to 0..255, as
#   converting does everywhere else; and what it does with gray it does with RGB.
# Behaviour: of gray all that is above 255 becomes 255: the picture is white but for its blackest
#   256th. RGB of the same values becomes 8 bits when the file is opened, by its upper byte, and the
#   lower byte is lost without a word. So one ramp looks right in color and white in gray.
# Seen: 0 255 256 32768 65535: gray opened as I 0 255 256 32768 65535, converted to L 0 255 255 255 255; RGB opened as RGB 0 0 1 128 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-pil=9.4.0-1.1+deb12u1 python3-numpy=1:1.24.2-1+deb12u1 ffmpeg=7:5.1.9-0+deb12u1
cat >"$work/wide.py" <<'PY'
import subprocess
import sys

import numpy
import PIL.Image


def opened(kind, channels):
    values = numpy.repeat(numpy.array([0, 255, 256, 32768, 65535], ">u2"), channels)
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", kind, "-s", "5x1", "-i", "-", sys.argv[1]],
                   input=values.tobytes(), check=True)
    return PIL.Image.open(sys.argv[1])


def text(picture):
    return " ".join(str(x) for x in numpy.asarray(picture).reshape(5, -1)[:, 0])


gray, rgb = opened("gray16be", 1).copy(), opened("rgb48be", 3)
print(f"0 255 256 32768 65535: gray opened as {gray.mode} {text(gray)}, converted to L {text(gray.convert('L'))}; "
      f"RGB opened as {rgb.mode} {text(rgb)}")
PY
same "0 255 256 32768 65535: gray opened as I 0 255 256 32768 65535, converted to L 0 255 255 255 255; RGB opened as RGB 0 0 1 128 255" \
    "$(/usr/bin/python3 "$work/wide.py" "$work/wide.png" 2>"$work/log")"
