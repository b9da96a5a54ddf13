#!/bin/sh
# Red does not survive OpenCV's YUV of 8 bits, and white not its XYZ.
# Version: python3-opencv 4.6.0+dfsg-12, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: COLOR_BGR2YUV and COLOR_YUV2BGR give a color back within a step or two, as the pair of YCrCb does: V
#   has 8 bits for its whole range. BGR2XYZ and back likewise.
# Behaviour: V is 0.877 (R - Y) + 128, which is 285 for red and is cut off at 255: 255 0 0 comes back as 221
#   17 1. Z of white would be 278, so white comes back as 255 254 231, yellowish. Of 140,608 colors 1,023
#   are off by more than ten steps in YUV and 1,532 in XYZ. Floats are not cut off.
# Seen: YUV: red 221 17 1, white 255 255 255, off by more than 10: 1023 of 140608; XYZ: red 255 0 0, white 255 254 231, off by more than 10: 1532 of 140608; YCrCb: red 254 0 0, white 255 255 255, off by more than 10: 0 of 140608
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-opencv=4.6.0+dfsg-12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/colors.py" <<'PY'
import cv2
import numpy

steps = numpy.arange(0, 256, 5)
colors = numpy.stack(numpy.meshgrid(steps, steps, steps), -1).reshape(1, -1, 3).astype("u1")


def there_and_back(picture, name):
    there = cv2.cvtColor(picture, getattr(cv2, "COLOR_RGB2" + name))
    return cv2.cvtColor(there, getattr(cv2, f"COLOR_{name}2RGB"))


def word(color, name):
    return " ".join(map(str, there_and_back(numpy.array([[color]], "u1"), name)[0, 0]))


texts = []
for name in ("YUV", "XYZ", "YCrCb"):
    off = numpy.abs(there_and_back(colors, name).astype(int) - colors).max(-1)
    texts.append(f"{name}: red {word((255, 0, 0), name)}, white {word((255, 255, 255), name)}, ")
    texts[-1] += f"off by more than 10: {(off > 10).sum()} of {off.size}"
print("; ".join(texts))
PY
same "YUV: red 221 17 1, white 255 255 255, off by more than 10: 1023 of 140608; XYZ: red 255 0 0, white 255 254 231, off by more than 10: 1532 of 140608; YCrCb: red 254 0 0, white 255 255 255, off by more than 10: 0 of 140608" "$(/usr/bin/python3 "$work/colors.py")"
