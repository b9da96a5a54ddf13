#!/bin/sh
# Astropy's MinMaxInterval makes a picture of 16-bit integers black if its values are more than 32,767 apart.
# Version: python3-astropy 5.2.1-2+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: an interval maps its limits to 0 and 1 whatever the type of the picture; int16 is what FITS files hold.
# Behaviour: the difference of the limits is taken in the picture's type. 30000 - -30000 wraps to -5536, so each value
#   is below 0 and is clipped to 0: a black picture without a warning. PercentileInterval(100), whose limits are the
#   same numbers as floats, and simple_norm() are right. int8 and int32 do the same above half their range.
# Seen: -30000 -10000 10000 30000: MinMaxInterval 0 0 0 0; of floats 0 0.333 0.667 1; PercentileInterval(100) 0 0.333 0.667 1; simple_norm 0 0.333 0.667 1; -16384 to 16383: 0 1; to 16384: 0 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-astropy=5.2.1-2+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/black.py" <<'PY'
import numpy
from astropy.visualization import MinMaxInterval, PercentileInterval, simple_norm

picture = numpy.array([-30000, -10000, 10000, 30000], numpy.int16)


def show(values):
    return " ".join(f"{v:.3g}" for v in values)


def reach(last):
    return show(MinMaxInterval()(numpy.array([-16384, last], numpy.int16)))


print(f"{' '.join(map(str, picture))}: MinMaxInterval {show(MinMaxInterval()(picture))}; ", end="")
print(f"of floats {show(MinMaxInterval()(picture.astype(float)))}; ", end="")
print(f"PercentileInterval(100) {show(PercentileInterval(100)(picture))}; simple_norm {show(simple_norm(picture)(picture))}; ", end="")
print(f"-16384 to 16383: {reach(16383)}; to 16384: {reach(16384)}")
PY
same "-30000 -10000 10000 30000: MinMaxInterval 0 0 0 0; of floats 0 0.333 0.667 1; PercentileInterval(100) 0 0.333 0.667 1; simple_norm 0 0.333 0.667 1; -16384 to 16383: 0 1; to 16384: 0 0" \
    "$(/usr/bin/python3 "$work/black.py" 2>"$work/log")"
