#!/bin/sh
# Each blur of a picture of bytes by SciPy takes a step of its brightness away.
# Version: python3-scipy 1.10.1-2, python3-opencv 4.6.0+dfsg-12, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: gaussian_filter and uniform_filter of bytes give the nearest byte, as OpenCV's GaussianBlur and as
#   shift() and zoom() of the same module: the mean stays.
# Behaviour: filters cut the fraction off, along each axis anew, so a pass in two dimensions darkens by one
#   step: ten passes of a random picture bring its mean from 128.2 to 118.2; OpenCV's stay at 128.2. A
#   constant picture does not show it. Filter floats, and round once.
# Seen: mean 128.2, after ten gaussian_filter 118.2, after ten GaussianBlur 128.2; uniform_filter of 0 10 10 0: 3 6 6 3; shift by 0.25 of 0 1 2 3: 0 1 2 3, shift by 0.75: 0 0 1 2
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-scipy=1.10.1-2 python3-opencv=4.6.0+dfsg-12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/blur.py" <<'PY'
import cv2
import numpy
from scipy import ndimage

picture = numpy.random.default_rng(1).integers(0, 256, (256, 256), dtype="u1")
by_scipy = by_opencv = picture
for _ in range(10):
    by_scipy = ndimage.gaussian_filter(by_scipy, 1, mode="wrap")
    by_opencv = cv2.GaussianBlur(numpy.pad(by_opencv, 8, mode="wrap"), (0, 0), 1)[8:-8, 8:-8]


def words(row):
    return " ".join(map(str, row))


print(f"mean {picture.mean():.1f}, after ten gaussian_filter {by_scipy.mean():.1f}, ", end="")
print(f"after ten GaussianBlur {by_opencv.mean():.1f}; ", end="")
print(f"uniform_filter of 0 10 10 0: {words(ndimage.uniform_filter(numpy.array([0, 10, 10, 0], 'u1'), 3))}; ", end="")
ramp = numpy.arange(4, dtype="u1")
print(f"shift by 0.25 of 0 1 2 3: {words(ndimage.shift(ramp, 0.25, order=1))}, ", end="")
print(f"shift by 0.75: {words(ndimage.shift(ramp, 0.75, order=1))}")
PY
same "mean 128.2, after ten gaussian_filter 118.2, after ten GaussianBlur 128.2; uniform_filter of 0 10 10 0: 3 6 6 3; shift by 0.25 of 0 1 2 3: 0 1 2 3, shift by 0.75: 0 0 1 2" "$(/usr/bin/python3 "$work/blur.py")"
