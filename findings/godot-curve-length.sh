#!/bin/sh
# A straight curve of 100 in Godot is 100.5 long, and its end is not reached.
# Version: godot3-server 3.2.3-stable-1+b3.
# Guess: Curve3D of two points that are 100 apart has get_baked_length() 100, and interpolate_baked(100) is the second point.
# Behaviour: the points in between are taken at the bake interval as it happens, and the last interval counts as a whole one: 100.52 is the length, of 4 it is
#   4.002, of 10 it is 9.997, and the place at 100 is 99.48. In 2D it is 100.05. What moves along at a constant speed arrives late. Take
#   the distance of the points where the curve is straight.
# Seen: 4: 4.002 long, at 4 it is 3.998
#   10: 9.997 long, at 10 it is 10.000
#   100: 100.521 long, at 100 it is 99.478
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
godot32 <<'GD'
for length in [4, 10, 100]:
    var curve = Curve3D.new()
    curve.add_point(Vector3())
    curve.add_point(Vector3(length, 0, 0))
    print("%d: %.3f long, at %d it is %.3f" % [length, curve.get_baked_length(), length, curve.interpolate_baked(length).x])
GD
same "4: 4.002 long, at 4 it is 3.998
10: 9.997 long, at 10 it is 10.000
100: 100.521 long, at 100 it is 99.478" \
    "$(cat "$work/seen")"
