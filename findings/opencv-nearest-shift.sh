#!/bin/sh
# OpenCV's nearest neighbor leans to the left: a picture that is flipped and shrunk is not the other way around.
# Version: python3-opencv 4.6.0+dfsg-12, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: INTER_NEAREST takes the pixel below the centre of each new one, as a blit of a GPU with the nearest
#   filter: of 5 pixels shrunk to 3 it takes 0, 2 and 4, and a flip before is a flip after.
# Behaviour: it takes pixel floor(i * 5 / 3), which is the one below the new pixel's left edge: 0, 1, 3. After
#   a flip the same picture gives 1, 3, 4. Of a row of 640 shrunk to 200 each pixel is another than
#   the blit's, half a new pixel to the left. Masks and ids drift against the
#   picture that INTER_LINEAR shrinks. INTER_NEAREST_EXACT takes the centres.
# Seen: 5 to 3: nearest 0 1 3, flipped 1 3 4, exact 0 2 4; 640 to 200: nearest other than the centre's 200 of 200, 1.6 to the left on average
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-opencv=4.6.0+dfsg-12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/nearest.py" <<'PY'
import cv2
import numpy


def shrink(row, width, how):
    return cv2.resize(row[None].copy(), (width, 1), interpolation=how)[0]


def words(row):
    return " ".join(f"{x:g}" for x in row)


five, wide = numpy.arange(5, dtype="f4"), numpy.arange(640, dtype="f4")
flipped = shrink(five[::-1], 3, cv2.INTER_NEAREST)[::-1]
print(f"5 to 3: nearest {words(shrink(five, 3, cv2.INTER_NEAREST))}, flipped {words(flipped)}, ", end="")
print(f"exact {words(shrink(five, 3, cv2.INTER_NEAREST_EXACT))}; ", end="")
centres = numpy.floor((numpy.arange(200) + 0.5) * 640 / 200)
off = centres - shrink(wide, 200, cv2.INTER_NEAREST)
print(f"640 to 200: nearest other than the centre's {(off != 0).sum()} of 200, {off.mean():.1f} to the left on average")
PY
same "5 to 3: nearest 0 1 3, flipped 1 3 4, exact 0 2 4; 640 to 200: nearest other than the centre's 200 of 200, 1.6 to the left on average" "$(/usr/bin/python3 "$work/nearest.py")"
