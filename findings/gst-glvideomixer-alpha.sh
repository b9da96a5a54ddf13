#!/bin/sh
# GStreamer's glvideomixer multiplies colors by their alpha, its compositor does not.
# Version: gstreamer1.0-gl, gstreamer1.0-plugins-base and libgstreamer-gl1.0-0 1.22.0-3+deb12u7 on
#   libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: one translucent RGBA picture on a transparent background comes out of the mixer as it went
#   in; glvideomixer is compositor on the GPU, and its caps say the same format.
# Behaviour: compositor gives 200 100 50 128 back. glvideomixer gives 100 50 25 128, which is
#   premultiplied, and no field of the caps says so. Who blends that RGBA as usual darkens each
#   translucent edge once more.
# Seen: compositor 200 100 50 128, glvideomixer 100 50 25 128
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
gstreamer122
printf '\310\144\062\200%.0s' $(seq 64) >"$work/in"
through() {
    # shellcheck disable=SC2086 # a pipeline's words
    timeout 60 gst-launch-1.0 -q filesrc location="$work/in" ! rawvideoparse format=rgba width=8 height=8 ! $1 ! filesink location="$work/out" >"$work/log" 2>&1 ||
        unknown "the pipeline does not run"
    od -An -tu1 -N4 "$work/out" | tr -s ' '
}
cpu=$(through "compositor background=transparent ! video/x-raw,format=RGBA")
gl=$(through "glupload ! glvideomixer background=transparent ! gldownload ! video/x-raw,format=RGBA")
same "compositor 200 100 50 128, glvideomixer 100 50 25 128" "compositor$cpu, glvideomixer$gl"
