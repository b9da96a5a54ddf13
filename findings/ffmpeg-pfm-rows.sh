#!/bin/sh
# FFmpeg and all others do not agree which row of a PFM picture is the first.
# Version: ffmpeg 7:5.1.9-0+deb12u1, netpbm 2:11.01.00-2, python3-opencv 4.6.0+dfsg-12.
# Guess: a float picture that one program writes the other reads the right way up: PFM's rows go
#   from the bottom to the top.
# Behaviour: FFmpeg writes and reads them from the top, so a picture through FFmpeg alone is right,
#   and each exchange with another program turns it over, without an error. A displacement or a
#   depth map that is symmetric enough is wrong unseen.
# Seen: 1 2 above 3 4 by FFmpeg: FFmpeg 1 2 3 4, Netpbm 3 4 1 2, OpenCV 3 4 1 2
#       1 2 above 3 4 by OpenCV: FFmpeg 3 4 1 2, Netpbm 1 2 3 4, OpenCV 1 2 3 4
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1 netpbm=2:11.01.00-2 python3-opencv=4.6.0+dfsg-12
/usr/bin/python3 - "$work" <<'PY' || unknown "OpenCV cannot write a PFM"
import sys

import cv2
import numpy

picture = numpy.array([[0.25, 0.5], [0.75, 1]], "f4")
picture.tofile(sys.argv[1] + "/raw")
cv2.imwrite(sys.argv[1] + "/opencv.pfm", picture)
PY
ffmpeg -v error -nostdin -f rawvideo -pix_fmt grayf32le -s 2x2 -i "$work/raw" "$work/ffmpeg.pfm" 2>"$work/log" || unknown "ffmpeg cannot write a PFM"
netpbm() { pfmtopam -maxval 4 "$1" 2>/dev/null | tail -c 4 | od -An -tu1 | tr -s ' '; }
opencv() { /usr/bin/python3 -c 'import cv2, sys; print("", *(int(4 * x) for x in cv2.imread(sys.argv[1], -1).ravel()))' "$1"; }
ffmpeg_() { ffmpeg -v error -nostdin -i "$1" -f rawvideo -pix_fmt grayf32le - | /usr/bin/python3 -c 'import array, sys; print("", *(int(4 * x) for x in array.array("f", sys.stdin.buffer.read())))'; }
same "1 2 above 3 4 by FFmpeg: FFmpeg 1 2 3 4, Netpbm 3 4 1 2, OpenCV 3 4 1 2
1 2 above 3 4 by OpenCV: FFmpeg 3 4 1 2, Netpbm 1 2 3 4, OpenCV 1 2 3 4" "1 2 above 3 4 by FFmpeg: FFmpeg$(ffmpeg_ "$work/ffmpeg.pfm"), Netpbm$(netpbm "$work/ffmpeg.pfm"), OpenCV$(opencv "$work/ffmpeg.pfm")
1 2 above 3 4 by OpenCV: FFmpeg$(ffmpeg_ "$work/opencv.pfm"), Netpbm$(netpbm "$work/opencv.pfm"), OpenCV$(opencv "$work/opencv.pfm")"
