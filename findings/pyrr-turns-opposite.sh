#!/bin/sh
# pyrr's quaternion and its matrix of one angle turn to opposite sides.
# Version: python3-pyrr 0.10.3-5, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: Quaternion.from_z_rotation(a), Matrix33.from_z_rotation(a) and the matrix of that quaternion turn a vector to the same
#   place, and a product of quaternions is the product of their matrices.
# Behaviour: a quarter around z brings x to y by the quaternion and to -y by the matrix, also by the matrix that is made of
#   the quaternion. So an object that is kept as a quaternion turns one way on the CPU and the other way when its
#   matrix multiplies vectors by pyrr. Use one of the two, or transpose.
# Seen: x by quaternion: 0 1 0, matrix: 0 -1 0, matrix of the quaternion: 0 -1 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-pyrr=0.10.3-5 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
import numpy
from pyrr import Matrix33, Quaternion, Vector3

quarter, x = Quaternion.from_z_rotation(numpy.pi / 2), Vector3([1.0, 0.0, 0.0])
turns = [quarter, Matrix33.from_z_rotation(numpy.pi / 2), Matrix33.from_quaternion(quarter)]
names = "quaternion", "matrix", "matrix of the quaternion"
print("x by " + ", ".join(f"{name}: {' '.join(f'{v + 0:.0f}' for v in (turn * x).round(3))}" for name, turn in zip(names, turns)))
PY
same "x by quaternion: 0 1 0, matrix: 0 -1 0, matrix of the quaternion: 0 -1 0" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
