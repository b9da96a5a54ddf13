#!/bin/sh
# Bullet's cones and capsules turn like boxes.
# Version: libbullet-dev 3.24+dfsg-2, g++ 4:12.2.0-3.
# Guess: calculateLocalInertia() of a cone of radius 1, height 2 and mass 1 is 0.3 around its axis, as it is exact for a box, a
#   sphere and a cylinder; a capsule of radius 1 and length 2 between its caps has 0.46.
# Behaviour: the inertia is that of the box around the shape: the cone, around its axis and across, is that of a cube with a margin,
#   0.84, nearly three times too much, and the capsule has 0.67. A top spins up too slowly. Pass your own inertia to the body.
# Seen: cylinder 0.58 across and 0.50; cone 0.84 across and 0.84; capsule 1.67 across and 0.67; around the axis
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libbullet-dev=3.24+dfsg-2
cat >"$work/seen.cc" <<'CC'
#include <btBulletCollisionCommon.h>
#include <cstdio>
static void told(const char *name, const btConvexInternalShape &shape)
{
    btVector3 inertia;
    shape.calculateLocalInertia(1, inertia);
    printf("%s %.2f across and %.2f; ", name, inertia.x(), inertia.y());
}
int main()
{
    told("cylinder", btCylinderShape(btVector3(1, 1, 1))), told("cone", btConeShape(1, 2)), told("capsule", btCapsuleShape(1, 2));
    puts("around the axis");
}
CC
g++ -O1 -I/usr/include/bullet -o "$work/seen" "$work/seen.cc" -lBulletCollision -lLinearMath >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "cylinder 0.58 across and 0.50; cone 0.84 across and 0.84; capsule 1.67 across and 0.67; around the axis" \
    "$("$work/seen")"
