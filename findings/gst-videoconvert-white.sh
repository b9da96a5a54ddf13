#!/bin/sh
# White of each YUV format is 253 after GStreamer's videoconvert.
# Version: gstreamer1.0-plugins-base 1.22.0-3+deb12u7.
# Guess: luma 235 without color, white of limited range, becomes 255 in RGBA, as it does on the way
#   back (255 becomes 235) and in glcolorconvert.
# Behaviour: it is 253, and 126 is 126 instead of 128, from I420, NV12, YUY2 and Y444 alike, with
#   and without SIMD: where both sides have 8 bits, a product of 8 bits is used. By way of
#   ARGB64 white is 65,535. Each pass through YUV and back makes a picture darker.
# Seen: I420 253 253 253 255, NV12 253 253 253 255, YUY2 253 253 253 255, Y444 253 253 253 255, I420 by way of ARGB64 255 255 255 255; RGBA to I420 and back five times 241 241 241 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gstreamer1.0-tools=1.22.0-2+deb12u1 gstreamer1.0-plugins-base=1.22.0-3+deb12u7
rgba='videoconvert ! video/x-raw,format=RGBA'
i420='videoconvert ! video/x-raw,format=I420'
# White of a format as what a pipeline makes of it: format, pipeline.
white() {
    # shellcheck disable=SC2086 # a pipeline's words
    timeout 60 gst-launch-1.0 -q filesrc location="$work/$1" ! rawvideoparse format="$1" width=8 height=8 ! $2 ! filesink location="$work/out" \
        >"$work/log" 2>&1 || unknown "the pipeline does not run"
    od -An -tu1 -N4 "$work/out" | tr -s ' '
}
{
    printf '\353%.0s' $(seq 64)
    printf '\200%.0s' $(seq 32)
} | tee "$work/i420" >"$work/nv12"
printf '\353\200%.0s' $(seq 64) >"$work/yuy2"
{
    printf '\353%.0s' $(seq 64)
    printf '\200%.0s' $(seq 128)
} >"$work/y444"
printf '\377%.0s' $(seq 256) >"$work/rgba"
first=$(white i420 "$rgba")
second=$(white nv12 "$rgba")
third=$(white yuy2 "$rgba")
fourth=$(white y444 "$rgba")
wide=$(white i420 "videoconvert ! video/x-raw,format=ARGB64_LE ! $rgba")
again=$(white rgba "$i420 ! $rgba ! $i420 ! $rgba ! $i420 ! $rgba ! $i420 ! $rgba ! $i420 ! $rgba")
same "I420 253 253 253 255, NV12 253 253 253 255, YUY2 253 253 253 255, Y444 253 253 253 255, I420 by way of ARGB64 255 255 255 255; RGBA to I420 and back five times 241 241 241 255" \
    "I420$first, NV12$second, YUY2$third, Y444$fourth, I420 by way of ARGB64$wide; RGBA to I420 and back five times$again"
