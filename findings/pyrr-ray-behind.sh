#!/bin/sh
# A pyrr ray hits a plane that lies behind it.
# Version: python3-pyrr 0.10.3-5, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: ray_intersect_plane() of a ray that looks away from a plane is None, as a ray has one end: a cursor does not pick
#   the ground while it points to the sky.
# Behaviour: it is the point behind the ray; only a parallel ray gives None. ray_intersect_aabb() does look at the direction. Compare the
#   point's direction from the origin with the ray's.
# Seen: down: plane [0.1 0.6 1. ], box [0.1 0.6 1. ]; up: plane [ 0.1 -0.2  1. ], box None; along: plane None, box None
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-pyrr=0.10.3-5 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
from pyrr import aabb, geometric_tests, plane, ray

ground = plane.create_from_position([0.0, 0.0, 1.0], [0.0, 0.0, 1.0])
box = aabb.create_from_bounds([-1.0, -1.0, 0.0], [1.0, 1.0, 1.0])


def told(direction):
    looking = ray.create([0.1, 0.2, 5.0], direction)
    return f"plane {geometric_tests.ray_intersect_plane(looking, ground)}, box {geometric_tests.ray_intersect_aabb(looking, box)}"


print(f"down: {told([0.0, 0.1, -1.0])}; up: {told([0.0, 0.1, 1.0])}; along: {told([1.0, 0.1, 0.0])}")
PY
same "down: plane [0.1 0.6 1. ], box [0.1 0.6 1. ]; up: plane [ 0.1 -0.2  1. ], box None; along: plane None, box None" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
