#!/bin/sh
# White pixels that were written to a netCDF file are read back as missing.
# Version: python3-netcdf4 1.6.2-1+b1 (libnetcdf19 1:4.9.0-3+b1), python3-numpy 1:1.24.2-1+deb12u1.
# Guess: a variable of unsigned bytes without an attribute _FillValue holds 256 values, so a picture
#   comes back as it was written. Of 16 and 32 bits likewise.
# Behaviour: the value that the library puts into what was never written is taken for missing where
#   it was written, too: 255 of u1, -127 of i1, -32767 of i2. The array is masked there, so the mean
#   of a picture of two black and two white pixels is 0, and numpy.ma leaves white out of everything.
#   set_auto_mask(False) helps.
# Seen: u1: wrote 0 255 255 0, read 0 -- -- 0, mean 0; i1 wrote -127, read --; i2 wrote -32767, read --; without masks, mean 127.5
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-netcdf4=1.6.2-1+b1 libnetcdf19=1:4.9.0-3+b1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/white.py" <<'PY'
import netCDF4
import numpy

file = netCDF4.Dataset("x", "w", diskless=True)
file.createDimension("x", 4)


def variable(kind, values):
    made = file.createVariable(kind, kind, ("x",))
    made[:] = numpy.array(values, kind)
    return made


u1, i1, i2 = variable("u1", [0, 255, 255, 0]), variable("i1", [-127, 0, 1, 2]), variable("i2", [-32767, 0, 1, 2])
read = " ".join(str(x) for x in u1[:])
print(f"u1: wrote 0 255 255 0, read {read}, mean {u1[:].mean():g}; i1 wrote -127, read {i1[:][0]}; "
      f"i2 wrote -32767, read {i2[:][0]}; without masks, mean ", end="")
u1.set_auto_mask(False)
print(u1[:].mean())
PY
same "u1: wrote 0 255 255 0, read 0 -- -- 0, mean 0; i1 wrote -127, read --; i2 wrote -32767, read --; without masks, mean 127.5" \
    "$(/usr/bin/python3 "$work/white.py" 2>"$work/log")"
