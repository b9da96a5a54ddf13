#!/bin/sh
# White of GStreamer's test picture is 235 in the JPEG that jpegenc writes.
# Version: gstreamer1.0-plugins-good 1.22.0-5+deb12u3, gstreamer1.0-plugins-base 1.22.0-3+deb12u7,
#   gstreamer1.0-tools 1.22.0-2+deb12u1, python3-pil 9.4.0-1.1+deb12u1.
# Guess: videotestsrc pattern=white ! jpegenc gives a white picture. JPEG's YUV is of full range, the
#   caps say that the source's is not, so the encoder converts or makes a converter necessary.
# Behaviour: it puts luma 235 into the file as it is, from I420, NV12 and YUY2 alike, and each viewer
#   shows 235 gray and 16 for black: a picture without contrast. Frames of a camera or a decoder
#   become pale when they are kept so. From RGB white stays 255; videoconvert to RGB before helps.
# Seen: without caps 235, I420 235, NV12 235, YUY2 235, RGB 255; black of I420 16
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gstreamer1.0-tools=1.22.0-2+deb12u1 gstreamer1.0-plugins-base=1.22.0-3+deb12u7 gstreamer1.0-plugins-good=1.22.0-5+deb12u3 \
    python3-pil=9.4.0-1.1+deb12u1
through() { # pattern, caps
    # shellcheck disable=SC2086 # caps are a word or none
    gst-launch-1.0 -q videotestsrc "pattern=$1" num-buffers=1 ! $2 jpegenc ! filesink "location=$work/picture.jpg" 2>"$work/log" ||
        unknown "GStreamer does not write a JPEG"
    /usr/bin/python3 -c 'import sys, PIL.Image; print(*sorted(set(PIL.Image.open(sys.argv[1]).getpixel((9, 9)))))' "$work/picture.jpg"
}
all="without caps $(through white "")"
for format in I420 NV12 YUY2 RGB; do all="$all, $format $(through white "video/x-raw,format=$format !")"; done
same "without caps 235, I420 235, NV12 235, YUY2 235, RGB 255; black of I420 16" "$all; black of I420 $(through black "video/x-raw,format=I420 !")"
