#!/bin/sh
# oiiotool changes the colors of a PNG that it only copies.
# Version: openimageio-tools 2.4.7.1+dfsg-2, python3-opencv 4.6.0+dfsg-12.
# Guess: oiiotool in.png -o out.png, without an operation, keeps the bytes of 8-bit RGBA; ffmpeg,
#   OpenCV and ImageMagick do.
# Behaviour: PNG has straight alpha, OpenImageIO's memory premultiplied alpha of the same 8 bits, so
#   the color is multiplied by alpha and divided again: lost where alpha is 0 or 1, a step less at
#   128. A texture that keeps data beside an alpha of 0 (normals, an id) is black after that.
#   --no-autopremult keeps it.
# Seen: in:  [200, 100, 50, 0] [200, 100, 50, 1] [200, 100, 50, 10] [200, 100, 50, 128] [200, 100, 50, 255]
#       out: [0, 0, 0, 0] [0, 0, 0, 1] [178, 76, 25, 10] [199, 99, 49, 128] [200, 100, 50, 255]
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 openimageio-tools=2.4.7.1+dfsg-2 python3-opencv=4.6.0+dfsg-12
cat >"$work/picture.py" <<'PY'
import sys

import cv2
import numpy

if sys.argv[1] == "write":
    pixels = [[[200, 100, 50, alpha] for alpha in (0, 1, 10, 128, 255)]]
    cv2.imwrite(sys.argv[2], numpy.array(pixels, "u1"))
else:
    print(*cv2.imread(sys.argv[2], -1)[0].tolist())
PY
/usr/bin/python3 "$work/picture.py" write "$work/in.png"
oiiotool "$work/in.png" -o "$work/out.png" >"$work/log" 2>&1 || unknown oiiotool
oiiotool --no-autopremult "$work/in.png" -o "$work/kept.png" >"$work/log" 2>&1 || unknown oiiotool
same "in:  [200, 100, 50, 0] [200, 100, 50, 1] [200, 100, 50, 10] [200, 100, 50, 128] [200, 100, 50, 255]
out: [0, 0, 0, 0] [0, 0, 0, 1] [178, 76, 25, 10] [199, 99, 49, 128] [200, 100, 50, 255]
with --no-autopremult: [200, 100, 50, 0] [200, 100, 50, 1] [200, 100, 50, 10] [200, 100, 50, 128] [200, 100, 50, 255]" "in:  $(/usr/bin/python3 "$work/picture.py" read "$work/in.png")
out: $(/usr/bin/python3 "$work/picture.py" read "$work/out.png")
with --no-autopremult: $(/usr/bin/python3 "$work/picture.py" read "$work/kept.png")"
