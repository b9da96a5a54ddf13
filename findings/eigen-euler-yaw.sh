#!/bin/sh
# Eigen says that a camera which is turned by -6 degrees about the vertical is turned by 174, and upside down.
# Version: libeigen3-dev 3.4.0-4, g++ 4:12.2.0-3.
# Guess: eulerAngles(2, 1, 0) of a rotation by small yaw, pitch and roll gives these three back, as
#   SciPy's as_euler and the flight formulas with atan2 do; it is unique while the pitch is below 90 degrees.
# Behaviour: the first angle is always between 0 and 180 degrees (its comment says so). Yaw of 6 comes back;
#   yaw of -6 with pitch 3 and roll 1 comes back as 174, 177, -179: the same rotation. A camera that pans
#   across 0 flips all its three angles, and a mean or an interpolation of them is nonsense.
# Seen: 6 3 1: 6 3 1; 0.1 3 1: 0.1 3 1; -0.1 3 1: 179.9 177 -179; -6 3 1: 174 177 -179
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libeigen3-dev=3.4.0-4
cat >"$work/yaw.cc" <<'CC'
#include <Eigen/Geometry>
#include <cmath>
#include <cstdio>

int main()
{
    const double degree = std::acos(-1.0) / 180;
    const char *between = "";
    for (double yaw : {6.0, 0.1, -0.1, -6.0}) {
        Eigen::Matrix3d turned = (Eigen::AngleAxisd(yaw * degree, Eigen::Vector3d::UnitZ()) *
                                  Eigen::AngleAxisd(3 * degree, Eigen::Vector3d::UnitY()) *
                                  Eigen::AngleAxisd(1 * degree, Eigen::Vector3d::UnitX()))
                                     .toRotationMatrix();
        Eigen::Vector3d angles = turned.eulerAngles(2, 1, 0) / degree;
        std::printf("%s%g 3 1: %.4g %.4g %.4g", between, yaw, angles[0], angles[1], angles[2]);
        between = "; ";
    }
    std::puts("");
    return 0;
}
CC
g++ -O1 -I/usr/include/eigen3 "$work/yaw.cc" -o "$work/yaw" 2>"$work/log" || unknown "g++ does not compile the program"
same "6 3 1: 6 3 1; 0.1 3 1: 0.1 3 1; -0.1 3 1: 179.9 177 -179; -6 3 1: 174 177 -179" "$("$work/yaw")"
