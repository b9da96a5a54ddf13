#!/bin/sh
# OpenCV's remap and warpAffine of float pictures look at 32 places between two pixels.
# Version: python3-opencv 4.6.0+dfsg-12, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: with a float picture, a float map and INTER_LINEAR the result is exact to float's digits,
#   finer than a GPU's texture unit, which has 8 bits of fraction: so it serves as the reference.
# Behaviour: coordinates are rounded to 1/32 of a pixel for all types, coarser than the texture
#   unit. Between 0 and 320 a place of 0.01 gives 0 instead of 3.2, and a ramp of 1,001 places has
#   33 values. A kernel's error against that "reference" is the reference's own.
# Seen: remap at 0.01: 0, at 0.02: 10, 33 values; 0 320 640 moved by 0.01 of a pixel: 0 320 640
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-opencv=4.6.0+dfsg-12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/steps.py" <<'PY'
import cv2
import numpy

picture = numpy.array([[0, 320]], "f4")
places = numpy.linspace(0, 1, 1001, dtype="f4")[None]
ramp = cv2.remap(picture, places, numpy.zeros_like(places), cv2.INTER_LINEAR)[0]
shift = numpy.array([[1, 0, -0.01], [0, 1, 0]], "f4")
moved = cv2.warpAffine(numpy.array([[0, 320, 640]], "f4"), shift, (3, 1))
print(f"remap at 0.01: {ramp[10]:g}, at 0.02: {ramp[20]:g}, {len(set(ramp))} values; ", end="")
print(f"0 320 640 moved by 0.01 of a pixel: {' '.join(f'{x:g}' for x in moved[0])}")
PY
same "remap at 0.01: 0, at 0.02: 10, 33 values; 0 320 640 moved by 0.01 of a pixel: 0 320 640" "$(/usr/bin/python3 "$work/steps.py")"
