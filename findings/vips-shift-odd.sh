#!/bin/sh
# vips widens odd bytes up and even ones down.
# Version: libvips-tools 8.14.1-3+deb12u3.
# Guess: vips cast --shift of bytes to 16 bits multiplies by 257, or by 256, and colourspace rgb16 does as grey16 does: 101 is 25957 or 25856.
# Behaviour: the byte is shifted up, and its lowest bit fills the rest: 101 is 26111, 128 is 32768, 255 is 65535, so that steps of one are 1 and 511 by turns.
#   Colors become so in rgb16. Grays in grey16 are byte * 257. Use vips linear IN OUT 257 0 and cast it.
# Seen: of 100 101 128 255
#   cast: 25600 26111 32768 65535
#   rgb16: 25600 26111 32768 65535
#   grey16: 25700 25957 32896 65535
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 libvips-tools=8.14.1-3+deb12u3
cd "$work"
printf 'P2\n4 1\n255\n100 101 128 255\n' >gray.pgm
printf 'P3\n4 1\n255\n100 100 100 101 101 101 128 128 128 255 255 255\n' >color.ppm
{ vips cast gray.pgm cast.v ushort --shift && vips colourspace color.ppm rgb16.v rgb16 && vips colourspace gray.pgm grey16.v grey16; } >log 2>&1 ||
    unknown "vips"
told() { echo "$1:$(for x in 0 1 2 3; do vips getpoint "$1.v" $x 0 | sed 's/^/ /; s/\([0-9]\) .*/\1/' | tr -d '\n'; done)"; }
same "of 100 101 128 255
cast: 25600 26111 32768 65535
rgb16: 25600 26111 32768 65535
grey16: 25700 25957 32896 65535" \
    "$(echo "of 100 101 128 255"; told cast; told rgb16; told grey16)"
