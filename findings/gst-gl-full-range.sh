#!/bin/sh
# GStreamer's glcolorconvert does not look at the range of YUV.
# Version: gstreamer1.0-gl, gstreamer1.0-plugins-base and libgstreamer-gl1.0-0 1.22.0-3+deb12u7 on
#   libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: with colorimetry=1:4:0:0 in the caps (full range, what cameras and JPEG have) luma 16 stays
#   16 and 235 stays 235 in RGB, on the GPU as on the CPU. BT.2020 has a matrix of its own.
# Behaviour: videoconvert does so. glcolorconvert stretches 16 to 0 and 235 to 255, the same as for
#   limited range, and uses BT.601's matrix for BT.2020. What lies outside 16 to 235 is lost, and
#   no message says so. (That videoconvert has 253 for 235 is another thing, gst-videoconvert-white.sh.)
# Seen: full range: CPU 16/16/16 235/235/235 126/87/255, GL 1/0/1 255/254/255 129/84/255
#       BT.601: CPU 0/0/0 253/253/253 126/82/255, GL 1/0/1 255/254/255 129/84/255
#       BT.2020: CPU 0/0/0 253/253/253 126/104/255, GL 1/0/1 255/254/255 129/84/255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
gstreamer122
# Luma 16 and 235 without color, and 126 with much blue.
{
    printf '\020\353\176\176\176\176\176\176%.0s' $(seq 8)
    printf '\200\200\360\200\200\200\200\200%.0s' $(seq 8)
    printf '\200%.0s' $(seq 64)
} >"$work/in"
through() {
    # shellcheck disable=SC2086 # a pipeline's words
    timeout 60 gst-launch-1.0 -q filesrc location="$work/in" blocksize=192 ! \
        "video/x-raw,format=Y444,width=8,height=8,framerate=1/1,colorimetry=$1" ! $2 ! filesink location="$work/out" >"$work/log" 2>&1 ||
        unknown "the pipeline does not run"
    od -An -tu1 -v -w4 -N12 "$work/out" | awk '{ printf " %d/%d/%d", $1, $2, $3 }'
}
rgba=video/x-raw,format=RGBA
cpu="videoconvert ! $rgba"
gl="glupload ! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA ! gldownload ! $rgba"
line() {
    on_cpu=$(through "$2" "$cpu")
    on_gl=$(through "$2" "$gl")
    echo "$1: CPU$on_cpu, GL$on_gl" >>"$work/seen"
}
line "full range" 1:4:0:0
line BT.601 bt601
line BT.2020 bt2020
same "full range: CPU 16/16/16 235/235/235 126/87/255, GL 1/0/1 255/254/255 129/84/255
BT.601: CPU 0/0/0 253/253/253 126/82/255, GL 1/0/1 255/254/255 129/84/255
BT.2020: CPU 0/0/0 253/253/253 126/104/255, GL 1/0/1 255/254/255 129/84/255" "$(cat "$work/seen")"
