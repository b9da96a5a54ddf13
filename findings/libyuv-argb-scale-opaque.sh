#!/bin/sh
# libyuv's ARGBScale with a filter takes 1 or 2 off each byte, so that opaque pictures are not opaque any more.
# Version: libyuv-dev 0.0~git20230123.b2528b0-1, g++ 4:12.2.0-3.
# Guess: a picture of one color keeps it if it is scaled, as ScalePlane() does: 255 stays 255, and so does alpha.
# Behaviour: where a width changes by other than a half, kFilterLinear, kFilterBilinear and kFilterBox take 1 off each byte up to 128 and 2 off
#   each one above, alpha included.
#   kFilterNone, a half, and a change of height alone keep it, and so does ScalePlane() of the same
#   bytes. Set alpha anew after ARGBScale().
# Seen: white of 64x48
#   bilinear to 128x96: ARGB 253, alpha 253; plane 255
#   bilinear to 32x24: ARGB 255, alpha 255; plane 255
#   bilinear to 64x47: ARGB 255, alpha 255; plane 255
#   box to 63x47: ARGB 253, alpha 253; plane 255
#   none to 63x47: ARGB 255, alpha 255; plane 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libyuv-dev=0.0~git20230123.b2528b0-1
cat >"$work/seen.cc" <<'CC'
#include <cstdint>
#include <cstdio>
#include <vector>
#include <libyuv.h>
static void scale(const char *name, int width, int height, libyuv::FilterMode filter)
{
    const std::vector<uint8_t> from(64 * 48 * 4, 255);
    std::vector<uint8_t> colors(width * height * 4), plane(width * height);
    libyuv::ARGBScale(from.data(), 64 * 4, 64, 48, colors.data(), width * 4, width, height, filter);
    libyuv::ScalePlane(from.data(), 64, 64, 48, plane.data(), width, width, height, filter);
    printf("%s to %dx%d: ARGB %d, alpha %d; plane %d\n", name, width, height, colors[8], colors[11], plane[2]);
}
int main()
{
    puts("white of 64x48");
    scale("bilinear", 128, 96, libyuv::kFilterBilinear), scale("bilinear", 32, 24, libyuv::kFilterBilinear);
    scale("bilinear", 64, 47, libyuv::kFilterBilinear), scale("box", 63, 47, libyuv::kFilterBox), scale("none", 63, 47, libyuv::kFilterNone);
}
CC
g++ -O1 -o "$work/seen" "$work/seen.cc" -lyuv >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "white of 64x48
bilinear to 128x96: ARGB 253, alpha 253; plane 255
bilinear to 32x24: ARGB 255, alpha 255; plane 255
bilinear to 64x47: ARGB 255, alpha 255; plane 255
box to 63x47: ARGB 253, alpha 253; plane 255
none to 63x47: ARGB 255, alpha 255; plane 255" \
    "$("$work/seen" 2>"$work/log")"
