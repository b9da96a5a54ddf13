#!/bin/sh
# NumPy's quantile(0.5) of -100 and 100 is 128, if they are bytes with a sign.
# Version: python3-numpy 1:1.24.2-1+deb12u1.
# Guess: quantile and percentile give a number between the two that it interpolates, as a double, and quantile(0.5)
#   is median(): 0. Neither takes a dtype, so there is nothing to get wrong.
# Behaviour: the difference of the two neighbors is built in their own type, and 200 wraps to -56: 128 for int8. For
#   int16 it is so from a difference of 32,768 on: samples of -20000 and 20000 have the median 32768. Bytes without
#   a sign are right, median() and floats too. So the contrast of a picture of heights or normals, set by
#   percentile(picture, (1, 99)), may lie outside all values.
# Seen: int8 -100 100: quantile 128, median 0; int8 -100 120: 75 % 129, as floats 65; int16 -20000 20000: quantile 32768; uint8 0 200: quantile 100
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/quantile.py" <<'PY'
import numpy

small, other = numpy.array([-100, 100], "i1"), numpy.array([-100, 120], "i1")
samples, plain = numpy.array([-20000, 20000], "i2"), numpy.array([0, 200], "u1")
print(f"int8 -100 100: quantile {numpy.quantile(small, 0.5):g}, median {numpy.median(small):g}; ", end="")
print(f"int8 -100 120: 75 % {numpy.percentile(other, 75):g}, as floats {numpy.percentile(other.astype(float), 75):g}; ", end="")
print(f"int16 -20000 20000: quantile {numpy.quantile(samples, 0.5):g}; uint8 0 200: quantile {numpy.quantile(plain, 0.5):g}")
PY
same "int8 -100 100: quantile 128, median 0; int8 -100 120: 75 % 129, as floats 65; int16 -20000 20000: quantile 32768; uint8 0 200: quantile 100" \
    "$(/usr/bin/python3 -W error "$work/quantile.py")"
