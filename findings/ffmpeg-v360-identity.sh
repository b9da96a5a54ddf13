#!/bin/sh
# FFmpeg's v360 from a panorama to the same panorama moves and blurs it.
# Version: ffmpeg 7:5.1.9-0+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: v360=e:e (equirectangular to equirectangular, the same size, no rotation) changes nothing, with
#   interp=near and with the linear default alike, as scale to the same size.
# Behaviour: interp=near changes nothing. Linear and cubic sample half a pixel off: at the edges each pixel
#   is the mean of two neighbors, in the middle it is itself, so the picture is squeezed towards its middle
#   and blurred from there to the sides. Four passes bring 0 to 12. flat:flat does the same.
# Seen: 0 8 16 ... 120 128 ... 232 240 248: near 0 8 16 ... 120 128 ... 232 240 248; linear 3 11 19 ... 120 127 ... 228 236 244; four times 12 20 26 ... 120 124 ... 218 224 232
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/panorama.py" <<'PY'
import subprocess

import numpy

panorama = numpy.tile((numpy.arange(32) * 8).astype("u1"), (16, 1))


def words(row):
    return " ... ".join(" ".join(map(str, part)) for part in (row[:3], row[15:17], row[-3:]))


def turn(filters):
    out = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "gray", "-s", "32x16", "-i", "-", "-vf", filters,
         "-f", "rawvideo", "-pix_fmt", "gray", "-"], input=panorama.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    return words(numpy.frombuffer(out, "u1").reshape(16, 32)[8])


print(f"{words(panorama[8])}: near {turn('v360=e:e:interp=near')}; ", end="")
print(f"linear {turn('v360=e:e')}; four times {turn(','.join(['v360=e:e'] * 4))}")
PY
same "0 8 16 ... 120 128 ... 232 240 248: near 0 8 16 ... 120 128 ... 232 240 248; linear 3 11 19 ... 120 127 ... 228 236 244; four times 12 20 26 ... 120 124 ... 218 224 232" "$(/usr/bin/python3 "$work/panorama.py")"
