#!/bin/sh
# The normals of scikit-image's marching_cubes do not know the spacing that its vertices know.
# Version: python3-skimage 0.19.3-8, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: marching_cubes(volume, spacing=(1, 1, 2)) returns vertices in the spacing's units and normals that stand
#   upright on that surface (or point the other way), as vtkMarchingCubes does with SetSpacing().
# Behaviour: the normals are those of spacing 1. For a plane through such voxels they are 19 degrees off the
#   triangles' own, for voxels of 1 x 1 x 5 (a scan's slices) 39; without spacing it is 0. The surface lies right and
#   is lit wrong, which one takes for a matter of the light. Divide the normals by the spacing and normalize.
# Seen: spacing 1 1 1: 0 degrees; spacing 1 1 2: 19 degrees; spacing 1 1 5: 39 degrees; divided by 1 1 5: 0 degrees
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-skimage=0.19.3-8 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/normals.py" <<'PY'
import numpy
from skimage import measure


def degrees(spacing, divide=False):
    x, y, z = numpy.mgrid[-9:10, -9:10, -9:10]
    plane = (x + y + spacing[2] * z).astype("f4")  # x + y + z in the spacing's units
    vertices, triangles, normals, _ = measure.marching_cubes(plane, 0.5, spacing=spacing)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    upright = numpy.cross(b - a, c - a)
    upright = upright[numpy.linalg.norm(upright, axis=1) > 1e-3][0]
    normal = normals[triangles[0, 0]] / (spacing if divide else 1)
    cosine = abs(upright @ normal) / numpy.linalg.norm(upright) / numpy.linalg.norm(normal)
    return f"{numpy.degrees(numpy.arccos(min(cosine, 1))):.0f} degrees"


texts = [f"spacing 1 1 {n}: {degrees((1, 1, n))}" for n in (1, 2, 5)]
print("; ".join(texts + [f"divided by 1 1 5: {degrees((1, 1, 5), True)}"]))
PY
same "spacing 1 1 1: 0 degrees; spacing 1 1 2: 19 degrees; spacing 1 1 5: 39 degrees; divided by 1 1 5: 0 degrees" "$(/usr/bin/python3 "$work/normals.py")"
