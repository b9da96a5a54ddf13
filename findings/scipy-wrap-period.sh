#!/bin/sh
# SciPy's mode="wrap" has the period n in its filters and n - 1 in what it interpolates.
# Version: python3-scipy 1.10.1-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: scipy.ndimage with mode="wrap" continues a periodic field of n cells with the cell 0 behind
#   the cell n - 1, in shift() and map_coordinates() as in uniform_filter() of the same module: a
#   shift by a cell is numpy.roll(), as GL_REPEAT would have it.
# Behaviour: the filters do that. shift() and map_coordinates() take the first and the last cell for one
#   and the same, so a shift by 1 loses the last cell, and a look at n finds the cell 1. A field advected with it gets shorter by a cell each time around.
#   mode="grid-wrap" is what one wants.
# Seen: shift by 1 of 0..7: wrap 6 0 1 2 3 4 5 6, grid-wrap 7 0 1 2 3 4 5 6; at 8: wrap 1, grid-wrap 0; a filter's left neighbor of 0: wrap 7
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/wrap.py" <<'PY'
import numpy
from scipy import ndimage

field = numpy.arange(8.0)
shifted = {m: " ".join(f"{x:.0f}" for x in ndimage.shift(field, 1, order=1, mode=m)) for m in ("wrap", "grid-wrap")}
at_8 = {m: ndimage.map_coordinates(field, [[8.0]], order=1, mode=m)[0] for m in ("wrap", "grid-wrap")}
left = ndimage.correlate1d(field, [1.0, 0.0, 0.0], mode="wrap")[0]
print(f"shift by 1 of 0..7: wrap {shifted['wrap']}, grid-wrap {shifted['grid-wrap']}; at 8: wrap {at_8['wrap']:.0f}, "
      f"grid-wrap {at_8['grid-wrap']:.0f}; a filter's left neighbor of 0: wrap {left:.0f}")
PY
same "shift by 1 of 0..7: wrap 6 0 1 2 3 4 5 6, grid-wrap 7 0 1 2 3 4 5 6; at 8: wrap 1, grid-wrap 0; a filter's left neighbor of 0: wrap 7" \
    "$(/usr/bin/python3 "$work/wrap.py" 2>"$work/log")"
