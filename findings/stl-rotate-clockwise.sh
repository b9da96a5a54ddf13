#!/bin/sh
# numpy-stl turns a mesh clockwise, and the other way if one gives it the matrix of that rotation.
# Version: python3-stl 2.9.0-2+b3, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: mesh.rotate([0, 0, 1], pi / 2) turns x to y, as a right hand does, and is the same as transform() by
#   rotation_matrix([0, 0, 1], pi / 2).
# Behaviour: rotate() multiplies rows by the matrix, which turns by the negative angle: x goes to -y. transform() multiplies columns
#   and turns x to y. Negate the angle for rotate().
# Seen: x by rotate(): 0 -1 0, by transform(): 0 1 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-stl=2.9.0-2+b3 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
import numpy
from stl import mesh


def turned(turn):
    one = mesh.Mesh(numpy.zeros(1, mesh.Mesh.dtype))
    one.vectors[0] = [[1, 0, 0], [0, 0, 1], [0, 0, 2]]
    turn(one)
    return " ".join(f"{v + 0:.0f}" for v in one.vectors[0, 0].round(3))


matrix = numpy.eye(4)
matrix[:3, :3] = mesh.Mesh.rotation_matrix([0, 0, 1], numpy.pi / 2)
print(f"x by rotate(): {turned(lambda m: m.rotate([0, 0, 1], numpy.pi / 2))}, by transform(): {turned(lambda m: m.transform(matrix))}")
PY
same "x by rotate(): 0 -1 0, by transform(): 0 1 0" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
