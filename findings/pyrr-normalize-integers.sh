#!/bin/sh
# A pyrr vector of whole numbers becomes 0 0 0 if it is normalized in place.
# Version: python3-pyrr 0.10.3-5, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: Vector3([1, 2, 2]).normalize() makes the vector 1/3 2/3 2/3, as .normalized answers it, or refuses integers.
# Behaviour: a list of whole numbers makes a vector of int64, and the result is written into it, cut off: 0 0 0, without an error.
#   Write 1.0, or use .normalized.
# Seen: [1, 2, 2]: normalized 0.333 0.667 0.667, normalize() 0.000 0.000 0.000; [1.0, 2.0, 2.0]: normalized 0.333 0.667 0.667, normalize() 0.333 0.667 0.667
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-pyrr=0.10.3-5 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
from pyrr import Vector3

def told(values):
    vector = Vector3(values)
    other = vector.normalized
    vector.normalize()
    return f"{values}: normalized {' '.join(f'{v:.3f}' for v in other)}, normalize() {' '.join(f'{v:.3f}' for v in vector)}"


print(f"{told([1, 2, 2])}; {told([1.0, 2.0, 2.0])}")
PY
same "[1, 2, 2]: normalized 0.333 0.667 0.667, normalize() 0.000 0.000 0.000; [1.0, 2.0, 2.0]: normalized 0.333 0.667 0.667, normalize() 0.333 0.667 0.667" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
