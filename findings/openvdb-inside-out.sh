#!/bin/sh
# The sphere that OpenVDB makes polygons of is inside out.
# Version: python3-openvdb 10.0.1-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: the corners of a polygon of convertToPolygons go round counter-clockwise if one looks from outside (from where the
#   level set is positive), as OpenGL's front faces, glTF and STL want it.
# Behaviour: they go clockwise, all of them: each normal by (b - a) x (c - a) points inwards, and the volume is negative.
#   With culling one sees the far wall from inside; a light of one side lights the wrong one. Turn each polygon around.
# Seen: OpenVDB: 0 of 7470 polygons face outwards, volume -0.997 of a sphere's; turned around: 7470, 0.997
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-openvdb=10.0.1-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/sphere.py" <<'PY'
import numpy
import pyopenvdb

points, _, polygons = pyopenvdb.createLevelSetSphere(radius=10, voxelSize=0.5).convertToPolygons(isovalue=0, adaptivity=0)


def text(polygons):
    a, b, c, d = (points[polygons[:, i]].astype(float) for i in range(4))
    outwards = (numpy.cross(c - a, d - b) * (a + b + c + d)).sum(axis=1) > 0
    volume = sum((a * numpy.cross(*pair)).sum() / 6 for pair in ((b, c), (c, d)))
    return outwards.sum(), volume / (4 / 3 * numpy.pi * 1000)


count, volume = text(polygons)
turned, other = text(polygons[:, ::-1])
print(f"OpenVDB: {count} of {len(polygons)} polygons face outwards, volume {volume:.3f} of a sphere's; turned around: {turned}, {other:.3f}")
PY
same "OpenVDB: 0 of 7470 polygons face outwards, volume -0.997 of a sphere's; turned around: 7470, 0.997" "$(/usr/bin/python3 "$work/sphere.py")"
