#!/bin/sh
# The volume of vedo's cube is 0.
# Version: python3-vedo 2023.4.3-1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: Cube().volume() is 1 and its area() 6, and a closed cylinder has the volume of its formula: these shapes are what one tries
#   first.
# Behaviour: both look at triangles alone and skip quadrilaterals and polygons without a word: a cube, a box and a cylinder have 0 and 0. A
#   sphere has its volume. Call triangulate() first.
# Seen: cube: 0.00 and 0.00, of triangles 1.00 and 6.00; box 1 2 3: 0.00 and 0.00, of triangles 6.00 and 22.00; cylinder: 0.00 and 0.00, of triangles 6.28 and 18.85; sphere: 4.19 and 12.56, of triangles 4.19 and 12.56
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vedo=2023.4.3-1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
from vedo import Box, Cube, Cylinder, Sphere

shapes = {"cube": Cube(), "box 1 2 3": Box(size=(1, 2, 3)), "cylinder": Cylinder(r=1, height=2, res=200), "sphere": Sphere(res=100)}
told = lambda shape: f"{shape.volume():.2f} and {shape.area():.2f}"
print("; ".join(f"{name}: {told(shape)}, of triangles {told(shape.triangulate())}" for name, shape in shapes.items()))
PY
same "cube: 0.00 and 0.00, of triangles 1.00 and 6.00; box 1 2 3: 0.00 and 0.00, of triangles 6.00 and 22.00; cylinder: 0.00 and 0.00, of triangles 6.28 and 18.85; sphere: 4.19 and 12.56, of triangles 4.19 and 12.56" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
