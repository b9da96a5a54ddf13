#!/bin/sh
# Bullet's matrix takes Euler angles in one order and gives them back in another one.
# Version: libbullet-dev 3.24+dfsg-2, g++ 4:12.2.0-3.
# Guess: setEulerZYX(0.1, 0.2, 0.3) and getEulerZYX() of btMatrix3x3 are each other's inverse, and btQuaternion::setEulerZYX() with
#   the same three numbers is the same rotation.
# Behaviour: the matrix's setter takes the angle around x first, its getter and the quaternion's setter have the one around z first. So
#   0.1 0.2 0.3 come back as 0.3 0.2 0.1, and matrix and quaternion differ. setEulerYPR() agrees with the getters. Name the axes.
# Seen: matrix set by ZYX: 0.3 0.2 0.1; quaternion set by ZYX: 0.1 0.2 0.3; matrix set by YPR: 0.1 0.2 0.3
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libbullet-dev=3.24+dfsg-2
cat >"$work/seen.cc" <<'CC'
#include <LinearMath/btTransform.h>
#include <cstdio>
int main()
{
    btScalar z, y, x;
    btMatrix3x3 matrix;
    matrix.setEulerZYX(.1f, .2f, .3f);
    matrix.getEulerZYX(z, y, x);
    printf("matrix set by ZYX: %.1f %.1f %.1f; ", z, y, x);
    btQuaternion quaternion;
    quaternion.setEulerZYX(.1f, .2f, .3f);
    quaternion.getEulerZYX(z, y, x);
    printf("quaternion set by ZYX: %.1f %.1f %.1f; ", z, y, x);
    matrix.setEulerYPR(.1f, .2f, .3f);
    matrix.getEulerZYX(z, y, x);
    printf("matrix set by YPR: %.1f %.1f %.1f\n", z, y, x);
}
CC
g++ -O1 -I/usr/include/bullet -o "$work/seen" "$work/seen.cc" -lBulletCollision -lLinearMath >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "matrix set by ZYX: 0.3 0.2 0.1; quaternion set by ZYX: 0.1 0.2 0.3; matrix set by YPR: 0.1 0.2 0.3" \
    "$("$work/seen")"
