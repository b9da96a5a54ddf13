#!/bin/sh
# FFmpeg takes 16-bit gray for limited range when it becomes float, and 8-bit gray not.
# Version: ffmpeg 7:5.1.9-0+deb12u1.
# Guess: gray16 to grayf32 maps 0 and 65,535 to 0 and 1, as gray maps 0 and 255; and back, so a
#   height or depth map of 16 bits may pass through a float picture.
# Behaviour: from 8 bits it does so. From 16 bits 0 becomes 0.0625 and 65,535 becomes 0.921: the
#   values are squeezed into video range, and from float 0.5 becomes 33,384 instead of 32,768. To
#   and fro the errors nearly cancel, so a round trip does not show it.
# Seen: 0, 128, 255 of 8 bits: 0 0.5019608 1
#       0, 32768, 65535 of 16 bits: 0.06251621 0.49184406 0.92115664
#       0, 0.5, 1 to 16 bits: 0 33384 65531
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1
convert() {
    ffmpeg -v error -nostdin -f rawvideo -pix_fmt "$1" -s 8x1 -i - -f rawvideo -pix_fmt "$2" - 2>"$work/log" | od -An "-t$3" -v | tr -s ' ' | sed 's/^ //' |
        paste -s -d ' ' | cut -d ' ' -f "1,4,8"
}
eight='\000\040\100\200\240\300\340\377'
sixteen='\000\000\000\040\000\100\000\200\000\240\000\300\000\340\377\377'
floats='\000\000\000\000\000\000\200\076\000\000\300\076\000\000\000\077\000\000\040\077\000\000\100\077\000\000\140\077\000\000\200\077'
# shellcheck disable=SC2059 # bytes
same "0, 128, 255 of 8 bits: 0 0.5019608 1
0, 32768, 65535 of 16 bits: 0.06251621 0.49184406 0.92115664
0, 0.5, 1 to 16 bits: 0 33384 65531" \
    "0, 128, 255 of 8 bits: $(printf "$eight" | convert gray grayf32le f4)
0, 32768, 65535 of 16 bits: $(printf "$sixteen" | convert gray16le grayf32le f4)
0, 0.5, 1 to 16 bits: $(printf "$floats" | convert grayf32le gray16le u2)"
