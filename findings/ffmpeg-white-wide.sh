#!/bin/sh
# White is not white when FFmpeg converts 8 bits to 10 or 16.
# Version: ffmpeg 7:5.1.9-0+deb12u1.
# Guess: rgb24 with 255 everywhere becomes 65,535 in rgb48 (or at the least 65,280), 1,023 in
#   x2rgb10; gray to gray16 does so. Alpha of 255 becomes 65,535.
# Behaviour: rgb48 has 65,283, x2rgb10 has 1,014 (252.8 of 255), and an opaque rgba becomes 65,532 in
#   rgba64, which is not opaque; accurate_rnd and bitexact change nothing. A 10-bit swapchain that
#   is fed so has no white, and a test for opaque pixels fails.
# Seen: gray16 65535 65535 65535 65535, rgb48 65283 65283 65283 65283, rgba64 65283 65283 65283 65532, x2rgb10 1014 1014 1014
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1
convert() {
    head -c "$((64 * $2))" /dev/zero | tr '\000' '\377' | ffmpeg -v error -nostdin -f rawvideo -pix_fmt "$1" -s 8x8 -i - \
        -vf scale=flags=accurate_rnd+full_chroma_int+bitexact -f rawvideo -pix_fmt "$3" - 2>"$work/log" | od -An "-t$4" -v -w8 -N8 | tr -s ' '
}
same "gray16 65535 65535 65535 65535, rgb48 65283 65283 65283 65283, rgba64 65283 65283 65283 65532, x2rgb10 1014 1014 1014" "gray16$(convert gray 1 gray16le u2), rgb48$(convert rgb24 3 rgb48le u2), rgba64$(convert rgba 4 rgba64le u2), x2rgb10$(
    convert rgb24 3 x2rgb10le u4 | awk '{ print " " int($1 / 1048576) % 1024, int($1 / 1024) % 1024, $1 % 1024 }')"
