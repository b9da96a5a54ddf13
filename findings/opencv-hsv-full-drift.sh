#!/bin/sh
# OpenCV's HSV_FULL turns the hue a bit with each way there and back, and HSV does not.
# Version: python3-opencv 4.6.0+dfsg-12, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: HSV_FULL has 256 hues where HSV of 8 bits has 180, so it is the closer one, and a picture that goes there and back
#   once more has the same bytes again.
# Behaviour: RGB2HSV_FULL takes a full turn for 256 and HSV2RGB_FULL for 255. Blue becomes 171 and then (6, 0, 255); after
#   20 turns it is violet, (120, 0, 255). HSV keeps blue, and the others that are nearest to its steps. HLS_FULL drifts, too.
# Seen: HSV 1: (0, 0, 255), 2: (0, 0, 255), 20: (0, 0, 255); HSV_FULL 1: (6, 0, 255), 2: (12, 0, 255), 20: (120, 0, 255); HLS_FULL 1: (7, 1, 255), 2: (13, 1, 255), 20: (121, 1, 255)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-opencv=4.6.0+dfsg-12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/hues.py" <<'PY'
import cv2
import numpy

for name, there, back in (
    ("HSV", cv2.COLOR_RGB2HSV, cv2.COLOR_HSV2RGB),
    ("HSV_FULL", cv2.COLOR_RGB2HSV_FULL, cv2.COLOR_HSV2RGB_FULL),
    ("HLS_FULL", cv2.COLOR_RGB2HLS_FULL, cv2.COLOR_HLS2RGB_FULL),
):
    picture = numpy.uint8([[[0, 0, 255]]])
    seen = []
    for turn in range(1, 21):
        picture = cv2.cvtColor(cv2.cvtColor(picture, there), back)
        if turn in (1, 2, 20):
            seen.append(f"{turn}: {tuple(int(v) for v in picture[0, 0])}")
    print(name, ", ".join(seen))
PY
same "HSV 1: (0, 0, 255), 2: (0, 0, 255), 20: (0, 0, 255)
HSV_FULL 1: (6, 0, 255), 2: (12, 0, 255), 20: (120, 0, 255)
HLS_FULL 1: (7, 1, 255), 2: (13, 1, 255), 20: (121, 1, 255)" "$(/usr/bin/python3 "$work/hues.py")"
