#!/bin/sh
# CImg turns a float black into a gray of 1.9 by YCbCr and back.
# Version: cimg-dev 3.2.1+dfsg-1, g++ 4:12.2.0-3.
# Guess: RGBtoYCbCr() and YCbCrtoRGB() of float pictures take black, white and gray back to what they were, within a thousandth, as RGBtoYUV() does.
# Behaviour: RGBtoYCbCr() adds the half that would round a byte also if the picture is of floats: black is 16.5 128.5 128.5 in place of 16 128 128, and
#   comes back as 1.9 0.5 2.1; gray 128 as 130. Each further turn adds as much. Of bytes the half is cut off again. Use RGBtoYUV(), or take 0.5 off.
# Seen: 0: YCbCr 16.5 128.5 128.5, back 1.9 0.5 2.1; by YUV 0.0 0.0 0.0
#   128: YCbCr 126.5 128.5 128.5, back 129.9 128.5 130.1; by YUV 128.0 128.0 128.0
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
    for (float level : {0.F, 128.F}) {
        color.fill(level);
        const CImg<float> turned = color.get_RGBtoYCbCr(), back = turned.get_YCbCrtoRGB(), yuv = color.get_RGBtoYUV().YUVtoRGB();
        std::printf("%g: YCbCr %.1f %.1f %.1f, back %.1f %.1f %.1f; by YUV %.1f %.1f %.1f\n", level, turned[0], turned[1], turned[2], back[0],
                    back[1], back[2], yuv[0], yuv[1], yuv[2]);
    }
}
CC
g++ -O1 -o "$work/seen" "$work/seen.cc" -lpthread >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "0: YCbCr 16.5 128.5 128.5, back 1.9 0.5 2.1; by YUV 0.0 0.0 0.0
128: YCbCr 126.5 128.5 128.5, back 129.9 128.5 130.1; by YUV 128.0 128.0 128.0" \
    "$("$work/seen" 2>"$work/log")"
