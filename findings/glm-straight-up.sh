#!/bin/sh
# GLM's Euler angles of a camera that looks straight up are those of one that hangs upside down.
# Version: libglm-dev 0.9.9.8+ds-6, g++ 4:12.2.0-3.
# Guess: quat(eulerAngles(q)) is q, or -q, which is the same rotation: at a pitch of 90 degrees the three angles are
#   not unique, but any triple that is given turns as q does. The functions say that they take care of that place.
# Behaviour: at 90 degrees and -90, x 10 and z 30 become x -20 and z 180 instead of 0: only the angle about x knows the
#   special place, and that about z is the quotient of two rounding errors. The rotation that is made of it is half a
#   turn off. At 89.99 all is right, so one sees it only when a camera points exactly at the zenith.
# Seen: 10 89.99 30: off by 0; 10 90 30: -20 90 180, off by 180; 10 -90 30: 40 -90 180, off by 180
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libglm-dev=0.9.9.8+ds-6
cat >"$work/up.cc" <<'CC'
#include <glm/gtc/quaternion.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

// How far eulerAngles' angles turn x or y from where the rotation by these degrees turns it, in degrees.
static void print(float x, float y, float z, bool angles)
{
    glm::quat turn(glm::radians(glm::vec3(x, y, z)));
    glm::vec3 found = glm::eulerAngles(turn);
    glm::quat again(found);
    float off = 0;
    for (glm::vec3 axis : { glm::vec3(1, 0, 0), glm::vec3(0, 1, 0) })
        off = std::max(off, glm::degrees(std::acos(glm::clamp(glm::dot(turn * axis, again * axis), -1.0F, 1.0F))));
    found = glm::degrees(found);
    std::printf("%g %g %g: ", double(x), double(y), double(z));
    if (angles) std::printf("%.0f %.0f %.0f, ", double(found.x), double(found.y), double(found.z));
    std::printf("off by %.0f\n", double(off));
}

int main()
{
    print(10, 89.99F, 30, false);
    print(10, 90, 30, true);
    print(10, -90, 30, true);
}
CC
g++ -O1 "$work/up.cc" -o "$work/up" 2>"$work/log" || unknown "g++ does not compile the program"
same "10 89.99 30: off by 0
10 90 30: -20 90 180, off by 180
10 -90 30: 40 -90 180, off by 180" "$("$work/up")"
