#!/bin/sh
# GDAL's Gauss resampling moves the picture.
# Version: libgdal32 3.6.2+dfsg-1+b2, python3-rasterio 1.3.5-1+b1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: reading a raster at a third of its width with the resampling "gauss" gives smoothed values of each third: a ramp stays
#   centered, and a mirrored row gives the mirrored result, as "average" and "bilinear" do.
# Behaviour: the result is about one source pixel too far left: the ramp 0 20 40 ... 160 to three values is 40 100 153, and 20 80 140 by
#   "average". At twice the width a single bright pixel has its peak one pixel left of its place. Values near the right edge are
#   squeezed. Use "average" or "bilinear".
# Seen: average: ramp 20 80 140, mirrored 140 80 20, dot of 7 at 14: 0 0 0 0 0 0 100 100 0 0 0 0 0 0
#   gauss: ramp 40 100 153, mirrored 120 60 7, dot of 7 at 14: 0 0 25 25 50 50 25 25 0 0 0 0 0 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 libgdal32=3.6.2+dfsg-1+b2 python3-rasterio=1.3.5-1+b1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
import numpy
from rasterio.enums import Resampling
from rasterio.io import MemoryFile
from rasterio.transform import from_origin


def read(row, width, resampling):
    raster = numpy.array([row], "f4")
    memory = MemoryFile()
    with memory.open(driver="GTiff", height=1, width=len(row), count=1, dtype="float32", transform=from_origin(0, 1, 1, 1)) as out:
        out.write(raster, 1)
    with memory.open() as source:
        seen = source.read(1, out_shape=(1, width), resampling=Resampling[resampling])[0]
    return " ".join(f"{v:.0f}" for v in seen)


ramp, dot = [20 * i for i in range(9)], [0, 0, 0, 100, 0, 0, 0]
for name in "average", "gauss":
    print(f"{name}: ramp {read(ramp, 3, name)}, mirrored {read(ramp[::-1], 3, name)}, dot of 7 at 14: {read(dot, 14, name)}")
PY
same "average: ramp 20 80 140, mirrored 140 80 20, dot of 7 at 14: 0 0 0 0 0 0 100 100 0 0 0 0 0 0
gauss: ramp 40 100 153, mirrored 120 60 7, dot of 7 at 14: 0 0 25 25 50 50 25 25 0 0 0 0 0 0" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
