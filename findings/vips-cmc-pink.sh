#!/bin/sh
# Some pinks become green in vips on the way through CMC.
# Version: libvips-tools 8.14.1-3+deb12u3.
# Guess: vips colourspace to cmc and back to srgb gives colors back within two levels, as lch and lab do.
# Behaviour: where the hue is from 359 to 360 degrees, the color that comes back has another hue: 221 119 153 is 84 167 113. It is ten of
#   the 4096 colors that are multiples of 17. Others are right, and lch keeps all of them. Use lch for work on hues.
# Seen: of 221 119 153, 221 119 136, 221 119 170, 255 0 136
#   lch: 221 119 153, 221 119 136, 221 119 170, 255 0 136
#   cmc: 84 167 113, 221 119 136, 221 119 170, 166 127 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 libvips-tools=8.14.1-3+deb12u3
cd "$work"
printf 'P3\n4 1\n255\n221 119 153 221 119 136 221 119 170 255 0 136\n' >pinks.ppm
told() {
    { vips colourspace pinks.ppm there.v "$1" && vips colourspace there.v back.v srgb; } >log 2>&1 || unknown "vips colourspace"
    echo "$1: $(for x in 0 1 2 3; do vips getpoint back.v $x 0 | sed 's/ $/, /' | tr -d '\n'; done | sed 's/, $//')"
}
same "of 221 119 153, 221 119 136, 221 119 170, 255 0 136
lch: 221 119 153, 221 119 136, 221 119 170, 255 0 136
cmc: 84 167 113, 221 119 136, 221 119 170, 166 127 0" \
    "$(echo "of 221 119 153, 221 119 136, 221 119 170, 255 0 136"; told lch; told cmc)"
