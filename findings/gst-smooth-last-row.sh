#!/bin/sh
# GStreamer's smooth makes the last row of a picture black.
# Version: gstreamer1.0-tools 1.22.0-2+deb12u1, gstreamer1.0-plugins-bad 1.22.0-4+deb12u8.
# Guess: smooth leaves a picture of one color as it is: it averages neighbours that differ little, and these are equal.
# Behaviour: the last row of the luma is 0, whatever the tolerance is; the colors are right, so the row is dark, not
#   gray. With active=false the picture passes as it is.
# Seen: active=false: 16 rows of 100; active=true: 15 rows of 100, 1 of 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gstreamer1.0-tools=1.22.0-2+deb12u1 gstreamer1.0-plugins-base=1.22.0-3+deb12u7 gstreamer1.0-plugins-bad=1.22.0-4+deb12u8
printf '%0384d' 0 | tr 0 d >"$work/picture"
through() {
    gst-launch-1.0 -q filesrc location="$work/picture" ! rawvideoparse format=i420 width=16 height=16 framerate=1/1 ! \
        smooth "$@" ! filesink location="$work/out" 2>"$work/log" || unknown "gst-launch-1.0 failed"
    head -c 256 "$work/out" | od -An -v -tu1 -w16 | uniq -c | awk '{ print $1, "x", $2, $3, "..." }' | paste -sd ' '
}
same "active=false: 16 x 100 100 ...; active=true: 15 x 100 100 ... 1 x 0 0 ...; tolerance=100: 15 x 100 100 ... 1 x 0 0 ..." \
    "active=false: $(through active=false); active=true: $(through active=true); tolerance=100: $(through tolerance=100)"
