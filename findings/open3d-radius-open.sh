#!/bin/sh
# A neighbour at exactly the radius is none for Open3D, so points of a grid have no neighbours at its spacing.
# Version: python3-open3d 0.16.1+ds-2+b4, python3-scipy 1.10.1-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: search_radius_vector_3d(point, 1) finds the six neighbours at distance 1 on a grid, as SciPy's
#   query_ball_point() does, and cluster_dbscan(eps=1) joins a row of points 1 apart, as "eps" is the largest distance.
# Behaviour: only nearer points count. The search finds the point alone, DBSCAN calls the whole row noise, and
#   remove_radius_outlier() removes all of it.
# Seen: neighbours on a grid: Open3D 1, SciPy 7; a row of 20: clusters {-1}, 0 points left; a radius of 1.001: 7, {0}, 20
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-open3d=0.16.1+ds-2+b4 python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/radius.py" <<'PY'
import numpy
import open3d
from scipy.spatial import cKDTree


def cloud(points):
    return open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))


grid = numpy.stack(numpy.meshgrid(*[numpy.arange(3.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
row = cloud(numpy.c_[numpy.arange(20.0), numpy.zeros((20, 2))])
points = cloud(grid)
tree = open3d.geometry.KDTreeFlann(points)


def neighbours(radius):
    return tree.search_radius_vector_3d([1, 1, 1], radius)[0]


def clusters(radius):
    return set(row.cluster_dbscan(radius, 2))


def left(radius):
    return len(row.remove_radius_outlier(1, radius)[0].points)


print(f"neighbours on a grid: Open3D {neighbours(1)}, SciPy {len(cKDTree(grid).query_ball_point([1, 1, 1], 1))}; ", end="")
print(f"a row of 20: clusters {clusters(1)}, {left(1)} points left; ", end="")
print(f"a radius of 1.001: {neighbours(1.001)}, {clusters(1.001)}, {left(1.001)}")
PY
same "neighbours on a grid: Open3D 1, SciPy 7; a row of 20: clusters {-1}, 0 points left; a radius of 1.001: 7, {0}, 20" \
    "$(/usr/bin/python3 "$work/radius.py" 2>/dev/null)"
