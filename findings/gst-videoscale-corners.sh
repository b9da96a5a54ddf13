#!/bin/sh
# GStreamer's videoscale puts the corners of the two pictures together, when it enlarges.
# Version: gstreamer1.0-plugins-base 1.22.0-3+deb12u7, gstreamer1.0-tools 1.22.0-2+deb12u1, ffmpeg
#   7:5.1.9-0+deb12u1.
# Guess: pixels are areas, as for FFmpeg, OpenCV and a GPU's sampler: twice the width of 0 64 128 192
#   is 0 16 48 80 112 144 176 192 by the linear method, which is the default.
# Behaviour: the first and the last pixel's centres stay where they are: 0 27 54 82 109 137 164 191.
#   So the picture is stretched by 7 / 6 inside of its frame, up to half a pixel of the small one at
#   the sides; other methods (catrom, mitchell) do not. Halving uses areas again, so there and
#   back is not the same place. What is marked in the large picture lies elsewhere in the field.
# Seen: GStreamer linear 0 27 54 82 109 137 164 191, catrom 0 11 46 80 112 146 181 192, halved 32 160; FFmpeg linear 0 16 48 80 112 144 176 192
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gstreamer1.0-tools=1.22.0-2+deb12u1 gstreamer1.0-plugins-base=1.22.0-3+deb12u7 ffmpeg=7:5.1.9-0+deb12u1
for _ in 1 2 3 4; do printf '\000\100\200\300'; done >"$work/ramp"
first_row() { od -An -v -tu1 -w"$1" | head -n 1 | tr -s ' '; }
scaled() { # width, method
    gst-launch-1.0 -q filesrc "location=$work/ramp" blocksize=16 ! rawvideoparse format=gray8 width=4 height=4 ! \
        videoscale "method=$2" ! "video/x-raw,width=$1,height=4" ! filesink "location=$work/scaled" >"$work/log" 2>&1 || unknown "GStreamer does not scale"
    first_row "$1" <"$work/scaled"
}
same "GStreamer linear 0 27 54 82 109 137 164 191, catrom 0 11 46 80 112 146 181 192, halved 32 160; FFmpeg linear 0 16 48 80 112 144 176 192" \
    "GStreamer linear$(scaled 8 bilinear), catrom$(scaled 8 catrom), halved$(scaled 2 bilinear); FFmpeg linear$(
        ffmpeg -v error -nostdin -f rawvideo -pix_fmt gray -s 4x4 -i "$work/ramp" -vf scale=8:4:flags=bilinear+accurate_rnd -f rawvideo - 2>"$work/log" | first_row 8)"
