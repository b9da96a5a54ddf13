#!/bin/sh
# 300 in a byte of an HDF5 file is 44 or 255: h5py asks NumPy for a number and HDF5 for an array.
# Version: python3-h5py 3.7.0-8 with libhdf5-103-1 1.10.8+repack1-1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: one data set converts in one way: what does not fit wraps as in NumPy and C (300 becomes 44), or it is
#   cut off as in HDF5 (255), no matter whether the numbers come one by one or in one array.
# Behaviour: dataset[i] = values[i] is NumPy's conversion, dataset[:] = values HDF5's. So a loop over cells and
#   one assignment of the whole field write two files of the same numbers, without an error, and a dark
#   spot of the one (44) is a bright one of the other.
# Seen: 300 -5 255: one by one 44 251 255, in one array 255 0 255, by NumPy 44 251 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-h5py=3.7.0-8 libhdf5-103-1=1.10.8+repack1-1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/byte.py" <<'PY'
import sys

import h5py
import numpy

values = numpy.array([300, -5, 255])
with h5py.File(sys.argv[1], "w") as file:
    cells, field = file.create_dataset("cells", (3,), "u1"), file.create_dataset("field", (3,), "u1")
    for i, value in enumerate(values):
        cells[i] = value
    field[:] = values
    texts = [" ".join(map(str, row)) for row in (values, cells[:], field[:], values.astype("u1"))]
    print(f"{texts[0]}: one by one {texts[1]}, in one array {texts[2]}, by NumPy {texts[3]}")
PY
same "300 -5 255: one by one 44 251 255, in one array 255 0 255, by NumPy 44 251 255" "$(/usr/bin/python3 "$work/byte.py" "$work/field.h5")"
