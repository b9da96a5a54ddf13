#!/bin/sh
# A gray picture of bytes that matplotlib saves or shows is not the picture: 24 of 256 grays are a step darker.
# Version: python3-matplotlib 3.6.3-1+b1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: imsave(name, bytes, cmap="gray", vmin=0, vmax=255) is the way to write a gray PNG: the table has 256
#   entries, entry k is k/255, and 255 * k/255 is k.
# Behaviour: the entries become bytes by cutting off, and 255 * (33 / 255) is a bit less than 33 in double: 33
#   is written as 32, 37 as 36, and so on. imshow does the same to each picture on the screen. The array of the
#   same grays as RGB is exact. So a reference picture differs from the render that it was made of.
# Seen: imsave of 0..255: gray 24 differ, by at most 1, the first 33 37 41 45; RGB 0 differ
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-matplotlib=3.6.3-1+b1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/gray.py" <<'PY'
import io

import numpy
from matplotlib import image

grays = numpy.arange(256, dtype="u1").reshape(16, 16)


def saved(picture, **how):
    file = io.BytesIO()
    image.imsave(file, picture, format="png", **how)
    file.seek(0)
    return (image.imread(file)[..., 0] * 255).round().astype(int)


gray, rgb = saved(grays, cmap="gray", vmin=0, vmax=255), saved(numpy.dstack([grays] * 3))
wrong = numpy.flatnonzero(gray != grays)
print(f"imsave of 0..255: gray {len(wrong)} differ, by at most {abs(gray - grays.astype(int)).max()}, the first {' '.join(map(str, wrong[:4]))}; ", end="")
print(f"RGB {(rgb != grays).sum()} differ")
PY
same "imsave of 0..255: gray 24 differ, by at most 1, the first 33 37 41 45; RGB 0 differ" \
    "$(MPLBACKEND=agg MPLCONFIGDIR="$work" /usr/bin/python3 "$work/gray.py")"
