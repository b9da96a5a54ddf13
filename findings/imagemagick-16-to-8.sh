#!/bin/sh
# -depth 8 of ImageMagick cuts 16 bits off, and a format that has 8 bits anyway gets them rounded.
# Version: imagemagick 8:6.9.11.60+dfsg-1.6+deb12u15 (Q16), ffmpeg 7:5.1.9-0+deb12u1, which makes the picture.
# Guess: -depth 8 takes the byte that is nearest: 255 of 65,535 is 1 (0.99), 65,407 is 255 (254.502). For BMP and TGA,
#   which have no more, it changes nothing.
# Behaviour: with -depth 8 the fraction of n / 257 is cut off for each format, so a picture is half a step too dark on
#   average: 255 and 256 are 0. Without it BMP and TGA are rounded. So half of all pixels of a reference picture
#   depend on an option that says what the format says already.
# Seen for 0 128 129 255 256 257 65407 65408 65535: PNG, TIFF, BMP, TGA with -depth 8 0 0 0 0 0 1 254 254 255; BMP, TGA without it 0 0 1 1 1 1 255 255 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 imagemagick=8:6.9.11.60+dfsg-1.6+deb12u15 ffmpeg=7:5.1.9-0+deb12u1
cd "$work"
for n in 0 128 129 255 256 257 65407 65408 65535; do
    # shellcheck disable=SC2059 # a format of two bytes
    printf "\\$(printf %o $((n % 256)))\\$(printf %o $((n / 256)))"
done | ffmpeg -v error -nostdin -f rawvideo -pix_fmt gray16le -s 9x1 -i - -pix_fmt gray16be wide.png 2>"$work/log" || unknown "ffmpeg"
bytes() {
    convert wide.png "$@" 2>"$work/log"
    echo "$* $(for name; do :; done && convert "$name" -depth 8 gray:- | od -An -tu1 | tr -s ' ')"
}
same "-depth 8 a.png  0 0 0 0 0 1 254 254 255
-depth 8 a.tif  0 0 0 0 0 1 254 254 255
-depth 8 a.bmp  0 0 0 0 0 1 254 254 255
-depth 8 a.tga  0 0 0 0 0 1 254 254 255
b.bmp  0 0 1 1 1 1 255 255 255
b.tga  0 0 1 1 1 1 255 255 255" "$(bytes -depth 8 a.png && bytes -depth 8 a.tif && bytes -depth 8 a.bmp && bytes -depth 8 a.tga && bytes b.bmp && bytes b.tga)"
