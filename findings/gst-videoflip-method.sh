#!/bin/sh
# GStreamer's videoflip does not flip if it is told so by its property "method" on a command line.
# Version: gstreamer1.0-tools 1.22.0-2+deb12u1, gstreamer1.0-plugins-good 1.22.0-5+deb12u4.
# Guess: videoflip method=horizontal-flip mirrors the picture. gst-inspect calls the property deprecated, which means that it
#   still works, and that use of it is at most warned of.
# Behaviour: the frames pass as they are, for each value of method, and nothing is said. video-direction=horiz mirrors.
#   So a pipeline of years ago shows what OpenGL rendered upside down.
# Seen: method=horizontal-flip ABCDEFGH, method=rotate-180 ABCDEFGH, video-direction=horiz HGFEDCBA
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gstreamer1.0-tools=1.22.0-2+deb12u1 gstreamer1.0-plugins-base=1.22.0-3+deb12u7 gstreamer1.0-plugins-good=1.22.0-5+deb12u4 \
    gstreamer1.0-plugins-bad=1.22.0-4+deb12u8
printf 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-' >"$work/picture"
through() {
    gst-launch-1.0 -q filesrc location="$work/picture" ! rawvideoparse format=gray8 width=8 height=8 framerate=1/1 ! \
        "$@" ! filesink location="$work/out" 2>"$work/log" || unknown "gst-launch-1.0 failed"
    head -c 8 "$work/out"
}
same "method=horizontal-flip ABCDEFGH, method=rotate-180 ABCDEFGH, video-direction=horiz HGFEDCBA" \
    "method=horizontal-flip $(through videoflip method=horizontal-flip), method=rotate-180 $(
        through videoflip method=rotate-180), video-direction=horiz $(through videoflip video-direction=horiz)"
