#!/bin/sh
# The largest difference of a picture full of NaN is 0, says OpenCV.
# Version: python3-opencv 4.6.0+dfsg-12, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: cv2.norm(seen, expected, NORM_INF) is NaN or large if a pixel of one of them is NaN, as the L1 and
#   the L2 norm and NumPy's max() are: so norm(...) < 0.01 is a test of a kernel's picture.
# Behaviour: NORM_INF leaves NaN out: 0 for a picture of NaN alone, and what the others differ by if one
#   pixel is a number. minMaxLoc leaves it out, too. A kernel that writes NaN everywhere passes.
# Seen: all NaN against 1: NORM_INF 0, NORM_L1 nan, NORM_L2 nan, NumPy nan; one NaN of 4: NORM_INF 0.25, minMaxLoc 0.25, NumPy nan
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-opencv=4.6.0+dfsg-12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/norm.py" <<'PY'
import cv2
import numpy

for width in (3, 16, 33, 100):  # other lengths take other instructions
    expected = numpy.ones((5, width), "f4")
    nothing = numpy.full_like(expected, numpy.nan)
    assert cv2.norm(nothing, expected, cv2.NORM_INF) == 0 == cv2.norm(expected, nothing, cv2.NORM_INF)
print(f"all NaN against 1: NORM_INF {cv2.norm(nothing, expected, cv2.NORM_INF):g}, ", end="")
print(f"NORM_L1 {cv2.norm(nothing, expected, cv2.NORM_L1):g}, NORM_L2 {cv2.norm(nothing, expected, cv2.NORM_L2):g}, ", end="")
print(f"NumPy {numpy.abs(nothing - expected).max():g}; ", end="")
expected = numpy.array([[1, 1, 1, 1]], "f4")
one = numpy.array([[1, numpy.nan, 1.25, 1]], "f4")
largest = cv2.minMaxLoc(cv2.absdiff(one, expected))[1]
print(f"one NaN of 4: NORM_INF {cv2.norm(one, expected, cv2.NORM_INF):g}, minMaxLoc {largest:g}, ", end="")
print(f"NumPy {numpy.abs(one - expected).max():g}")
PY
same "all NaN against 1: NORM_INF 0, NORM_L1 nan, NORM_L2 nan, NumPy nan; one NaN of 4: NORM_INF 0.25, minMaxLoc 0.25, NumPy nan" "$(/usr/bin/python3 "$work/norm.py")"
