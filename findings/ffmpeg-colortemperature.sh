#!/bin/sh
# FFmpeg's colortemperature is neutral at 6,600 K, and its default is 6,500.
# Version: ffmpeg 7:5.1.9-0+deb12u1.
# Guess: 6,500 K, the default and the white of sRGB and BT.709 (D65), leaves colors alone, as the other color
#   filters do at their defaults (hue, colorbalance, exposure); 6,400 and 6,600 tint to either side.
# Behaviour: white becomes 255 254 250 at the default, and stays white at 6,600. So a filter that is inserted
#   "neutral" and turned later tints from the start, and 510 of 768 random values change.
# Seen: white at the default 255 254 250, at 6500 255 254 250, at 6600 255 255 255, at 6700 254 248 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1
white() {
    head -c 192 /dev/zero | tr '\0' '\377' | ffmpeg -v error -f rawvideo -pix_fmt rgb24 -s 8x8 -i - -vf "colortemperature$1" \
        -f rawvideo -pix_fmt rgb24 - 2>"$work/log" | head -c 3 | od -An -tu1 | tr -s ' '
}
same "white at the default 255 254 250, at 6500 255 254 250, at 6600 255 255 255, at 6700 254 248 255" \
    "white at the default$(white ''), at 6500$(white '=6500'), at 6600$(white '=6600'), at 6700$(white '=6700')"
