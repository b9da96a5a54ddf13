#!/bin/sh
# Eigen's exp(-1000) is 0 in the last cells of an array and 2.9e-39 in the others.
# Version: libeigen3-dev 3.4.0-4, g++ 4:12.2.0-3 on amd64 (packets of four floats).
# Guess: a function of an array gives each cell what C's gives: exp(-1000) and exp(-infinity) are 0, and equal
#   cells stay equal.
# Behaviour: where a packet is full the argument is cut off at about -88.7, so the result is never 0: a
#   difference to 0 of no weight, but exp(-infinity) > 0 is true, and log(exp(-1000)) is -88.7 and not
#   -infinity. The cells that are left over at the end are C's: a softmax's or a light's hard 0 depends
#   on the place in the array. log() of subnormal numbers is cut off at -87.3 likewise.
# Seen: exp(-1000) of 5 cells: 2.94e-39 2.94e-39 2.94e-39 2.94e-39 0, C 0; exp(-inf) > 0: 1 1 1 1 0; log of that: -88.7 -88.7 -88.7 -88.7 -inf; log(1e-40): -87.3 -87.3 -87.3 -87.3 -92.1, C -92.1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libeigen3-dev=3.4.0-4
cat >"$work/tail.cc" <<'CC'
#include <Eigen/Core>
#include <cmath>
#include <cstdio>

template <typename Cells> static void print(const char *name, const Cells &cells)
{
    std::printf("%s", name);
    for (float cell : cells) std::printf(" %.3g", double(cell));
}

int main()
{
    Eigen::ArrayXf small = Eigen::ArrayXf::Constant(5, -1000), least = Eigen::ArrayXf::Constant(5, -INFINITY);
    Eigen::ArrayXf tiny = Eigen::ArrayXf::Constant(5, 1e-40F);
    Eigen::ArrayXf none = least.exp(), weights = small.exp();
    Eigen::ArrayXf back(5), logs = tiny.log();
    for (int i = 0; i < 5; i++) back[i] = std::log(weights[i]);
    print("exp(-1000) of 5 cells:", weights);
    std::printf(", C %g; exp(-inf) > 0:", std::exp(-1000.0F));
    for (float cell : none) std::printf(" %d", cell > 0);
    print("; log of that:", back);
    print("; log(1e-40):", logs);
    std::printf(", C %.1f\n", std::log(1e-40F));
    return 0;
}
CC
g++ -O1 -I/usr/include/eigen3 "$work/tail.cc" -o "$work/tail" 2>"$work/log" || unknown "g++ does not compile the program"
same "exp(-1000) of 5 cells: 2.94e-39 2.94e-39 2.94e-39 2.94e-39 0, C 0; exp(-inf) > 0: 1 1 1 1 0; log of that: -88.7 -88.7 -88.7 -88.7 -inf; log(1e-40): -87.3 -87.3 -87.3 -87.3 -92.1, C -92.1" "$("$work/tail")"
