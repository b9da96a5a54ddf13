#!/bin/sh
# A Bullet slerp between two near rotations stays at the first one.
# Version: libbullet-dev 3.24+dfsg-2, g++ 4:12.2.0-3.
# Guess: slerp(b, 0.5) is half way between two rotations that are 0.02 degrees apart, or at least one of those that a lerp gives; a
#   camera that follows by slerp(target, 0.1) each frame arrives.
# Behaviour: if the cosine of half the angle is 1 within float's digits, which is so below about 0.05 degrees, the answer is the first
#   rotation for each t, even for t = 1. A slow turntable of 0.02 degrees a frame stands still. Add the quaternions by hand there and normalize.
# Seen: 0.2 degrees: at 0.5 0.500 of it, at 1 1.000; 0.02 degrees: 0.000, 0.000
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libbullet-dev=3.24+dfsg-2
cat >"$work/seen.cc" <<'CC'
#include <LinearMath/btTransform.h>
#include <cstdio>
int main()
{
    const btVector3 up(0, 0, 1);
    const btQuaternion from(up, 0), near(up, 0.02F * SIMD_PI / 180), far(up, 0.2F * SIMD_PI / 180);
    printf("0.2 degrees: at 0.5 %.3f of it, at 1 %.3f; ", from.slerp(far, 0.5F).z() / far.z(), from.slerp(far, 1).z() / far.z());
    printf("0.02 degrees: %.3f, %.3f\n", from.slerp(near, 0.5F).z() / near.z(), from.slerp(near, 1).z() / near.z());
}
CC
g++ -O1 -I/usr/include/bullet -o "$work/seen" "$work/seen.cc" -lBulletCollision -lLinearMath >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "0.2 degrees: at 0.5 0.500 of it, at 1 1.000; 0.02 degrees: 0.000, 0.000" \
    "$("$work/seen")"
