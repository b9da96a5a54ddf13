#!/bin/sh
# Black in CImg is a dark violet after Lab and back.
# Version: cimg-dev 3.2.1+dfsg-1, g++ 4:12.2.0-3.
# Guess: RGBtoLab() and LabtoRGB() of floats give back black, as they do red, green, blue and white within a thousandth.
# Behaviour: black is L = a = b = 0 and comes back as 1.7 0 0.8; bytes get 1 0 0. A gray of 1 comes back as 1.6 0.8 1.3, and grays of 2 and more as they were.
#   A mask that is zero outside is not zero any more. Set black pixels again after a turn through Lab.
# Seen: 0: Lab 0.00 0.00 0.00, back 1.7 0.0 0.8
#   1: Lab 3.54 0.00 0.00, back 1.6 0.8 1.3
#   2: Lab 7.08 0.00 0.00, back 2.0 2.0 2.0
#   3: Lab 10.38 0.00 -0.00, back 3.0 3.0 3.0
#   128: Lab 76.19 0.00 0.00, back 128.0 128.0 128.0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 cimg-dev=3.2.1+dfsg-1
cat >"$work/seen.cc" <<'CC'
#define cimg_display 0
#include <CImg.h>
using namespace cimg_library;
int main()
{
    CImg<float> color(1, 1, 1, 3);
    for (float level : {0.F, 1.F, 2.F, 3.F, 128.F}) {
        color.fill(level);
        const CImg<float> lab = color.get_RGBtoLab(), back = lab.get_LabtoRGB();
        std::printf("%g: Lab %.2f %.2f %.2f, back %.1f %.1f %.1f\n", level, lab[0], lab[1], lab[2], back[0], back[1], back[2]);
    }
}
CC
g++ -O1 -o "$work/seen" "$work/seen.cc" -lpthread >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "0: Lab 0.00 0.00 0.00, back 1.7 0.0 0.8
1: Lab 3.54 0.00 0.00, back 1.6 0.8 1.3
2: Lab 7.08 0.00 0.00, back 2.0 2.0 2.0
3: Lab 10.38 0.00 -0.00, back 3.0 3.0 3.0
128: Lab 76.19 0.00 0.00, back 128.0 128.0 128.0" \
    "$("$work/seen" 2>"$work/log")"
