#!/bin/sh
# CImg equalizes by another bin than it has counted a value in.
# Version: cimg-dev 3.2.1+dfsg-1, g++ 4:12.2.0-3.
# Guess: equalize(256) of 10, 10, 20 and 30 maps each value to its part of all pixels that are not brighter: 20, 20, 25 and 30.
# Behaviour: the histogram divides the range into 256 bins, and the look-up into 255: 20 is counted in bin 128 and looked up in bin 127, so it becomes 20, as
#   10 does, and two levels are one. Where the values reach from 0 to 255 the bins agree. Stretch a picture by normalize(0, 255) first.
# Seen: of 10 10 20 30: 20 20 20 30
#   stretched first: 127 127 191 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 cimg-dev=3.2.1+dfsg-1
cat >"$work/seen.cc" <<'CC'
#define cimg_display 0
#include <CImg.h>
using namespace cimg_library;
static void told(const char *name, const CImg<unsigned char> &picture)
{
    const CImg<unsigned char> even = picture.get_equalize(256);
    std::printf("%s: %d %d %d %d\n", name, even[0], even[1], even[2], even[3]);
}
int main()
{
    const CImg<unsigned char> picture(4, 1, 1, 1, 10, 10, 20, 30);
    told("of 10 10 20 30", picture), told("stretched first", picture.get_normalize(0, 255));
}
CC
g++ -O1 -o "$work/seen" "$work/seen.cc" -lpthread >"$work/log" 2>&1 || unknown "g++ does not compile seen.cc"
same "of 10 10 20 30: 20 20 20 30
stretched first: 127 127 191 255" \
    "$("$work/seen" 2>"$work/log")"
