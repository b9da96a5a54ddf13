#!/bin/sh
# No ray of Open3D's hits anything in Debian, so every point is outside of every body.
# Version: python3-open3d 0.16.1+ds-2+b4, libembree3-3 3.13.5+dfsg-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: RaycastingScene.cast_rays() hits a triangle in its middle, and compute_signed_distance() is negative
#   inside of a closed mesh; if the package could not cast rays, it would raise an error.
# Behaviour: t_hit is infinite for each ray, compute_occupancy() is 0 everywhere, and the distance inside of a
#   cube is right but positive. The closest points, which need no ray, are right. Nothing is raised or logged.
# Seen: a ray at a triangle: inf; inside of a cube: occupancy 0, distance 0.3; inside: 0 of 1000 points; closest point 1 1 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-open3d=0.16.1+ds-2+b4 libembree3-3=3.13.5+dfsg-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/rays.py" <<'PY'
import numpy
import open3d

geometry = open3d.t.geometry


def tensor(rows):
    return open3d.core.Tensor(numpy.array(rows, numpy.float32))


flat = geometry.RaycastingScene()
flat.add_triangles(tensor([[0, 0, 0], [4, 0, 0], [0, 4, 0]]), open3d.core.Tensor(numpy.array([[0, 1, 2]], numpy.uint32)))
hit = flat.cast_rays(tensor([[1, 1, 1, 0, 0, -1]]))["t_hit"].item()
closest = flat.compute_closest_points(tensor([[1, 1, 1]]))["points"].numpy()[0]
cube = geometry.RaycastingScene()
cube.add_triangles(geometry.TriangleMesh.from_legacy(open3d.geometry.TriangleMesh.create_box()))
point = tensor([[0.4, 0.3, 0.5]])
many = numpy.random.default_rng(7).random((1000, 3))
inside = (cube.compute_signed_distance(tensor(many)).numpy() < 0).sum()
print(f"a ray at a triangle: {hit:g}; inside of a cube: occupancy {cube.compute_occupancy(point).item():g}, ", end="")
print(f"distance {cube.compute_signed_distance(point).item():g}; inside: {inside} of 1000 points; ", end="")
print("closest point", *(f"{v:g}" for v in closest))
PY
same "a ray at a triangle: inf; inside of a cube: occupancy 0, distance 0.3; inside: 0 of 1000 points; closest point 1 1 0" \
    "$(/usr/bin/python3 "$work/rays.py" 2>/dev/null)"
