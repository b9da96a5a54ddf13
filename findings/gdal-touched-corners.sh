#!/bin/sh
# GDAL's "all touched" burns two corner pixels beside a polygon's edge and not those between them.
# Version: libgdal32 3.6.2+dfsg-1+b2, python3-rasterio 1.3.5-1+b1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: a rectangle whose right edge lies on the border between two columns burns the left one of them in each row, and the right
#   one in each row or in none: all its rows touch that edge in the same way.
# Behaviour: the right column is burned in the first and the last row, where a horizontal edge ends at the border, and not between. If the
#   horizontal edges lie on borders of rows too, it is not burned at all. Shrink the polygon by a thousandth of a pixel.
# Seen: x 1 to 3, y 0.5 to 2.5: 01110 01100 01110; y 0 to 3: 01100 01100 01100
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 libgdal32=3.6.2+dfsg-1+b2 python3-rasterio=1.3.5-1+b1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/seen.py" <<'PY'
from rasterio.features import rasterize


def burned(top, bottom):
    ring = [(1, top), (3, top), (3, bottom), (1, bottom), (1, top)]
    rows = rasterize([{"type": "Polygon", "coordinates": [ring]}], out_shape=(3, 5), all_touched=True)
    return " ".join("".join(map(str, row)) for row in rows)


print(f"x 1 to 3, y 0.5 to 2.5: {burned(0.5, 2.5)}; y 0 to 3: {burned(0, 3)}")
PY
same "x 1 to 3, y 0.5 to 2.5: 01110 01100 01110; y 0 to 3: 01100 01100 01100" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
