#!/bin/sh
# SciPy's decimate of a constant 300 is 296.6.
# Version: python3-scipy 1.10.1-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: a filter against aliasing lets the frequency 0 through unchanged, so decimate of a constant is the constant
#   at least far from the ends, as with resample, resample_poly and ftype="fir".
# Behaviour: the default is a Chebyshev filter of the order 8 with a ripple of 0.05 dB, and one of even order has the
#   ripple's lower end at the frequency 0; it runs to and fro, so 0.1 dB are lost: 1.1 % of everything. A temperature
#   of 300 K becomes 296.6 K, twice decimated 293.2. An odd order (n=7) keeps it.
# Seen: decimate 296.57, twice 293.17, n=7 300.00, fir 300.00; resample 300.00; resample_poly 300.00
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/decimate.py" <<'PY'
import numpy
from scipy import signal

constant = numpy.full(4096, 300.0)


def middle(values):
    return f"{values[len(values) // 2]:.2f}"


print(f"decimate {middle(signal.decimate(constant, 4))}, twice {middle(signal.decimate(signal.decimate(constant, 4), 4))}, ", end="")
print(f"n=7 {middle(signal.decimate(constant, 4, n=7))}, fir {middle(signal.decimate(constant, 4, ftype='fir'))}; ", end="")
print(f"resample {middle(signal.resample(constant, 1024))}; resample_poly {middle(signal.resample_poly(constant, 1, 4))}")
PY
same "decimate 296.57, twice 293.17, n=7 300.00, fir 300.00; resample 300.00; resample_poly 300.00" "$(/usr/bin/python3 "$work/decimate.py")"
