#!/bin/sh
# NumPy's mean of each column is 0.84 for twenty million ones, and its mean of all is 1.
# Version: python3-numpy 1:1.24.2-1+deb12u1.
# Guess: sum() and mean() add in pairs, so an error of float32 grows with the logarithm of the
#   length, along whatever axis: the centre of an array of positions (n, 3) by mean(axis=0) is as
#   good as that of each coordinate alone.
# Behaviour: only along the axis that lies closest in memory. Along axis 0 of (n, 3) it adds one row
#   after the other to a float32, which stays at 2^24: the centre of a cloud of points at 1 is
#   0.8388608. Halves stay at 2,048. A transposed copy, or dtype="f8", gives 1.
# Seen: float32 mean() 1, mean(axis=0) 0.8388608, of the transposed copy 1, in double 1; half sum(axis=0) of 5000 ones 2048
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/axis.py" <<'PY'
import numpy

points = numpy.ones((20_000_000, 3), "f4")
by_column, in_double = points.mean(axis=0), points.mean(axis=0, dtype="f8")
print(f"float32 mean() {points.mean():.8g}, mean(axis=0) {by_column[0]:.7g}, of the transposed copy "
      f"{points.T.copy().mean(axis=1)[0]:.8g}, in double {in_double[0]:.8g}; "
      f"half sum(axis=0) of 5000 ones {numpy.ones((5000, 2), 'f2').sum(axis=0)[0]:.8g}")
PY
same "float32 mean() 1, mean(axis=0) 0.8388608, of the transposed copy 1, in double 1; half sum(axis=0) of 5000 ones 2048" \
    "$(/usr/bin/python3 "$work/axis.py" 2>"$work/log")"
