#!/bin/sh
# The standard deviation of a field that is 273.15 everywhere is 0.75, says xarray.
# Version: python3-xarray 2023.01.0-1.1, python3-bottleneck 1.3.5+ds1-2+b1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: DataArray.std() is NumPy's nanstd, which differs from 0 by rounding only (0.0002 for a million floats), with or
#   without Bottleneck, an optional package that makes it faster.
# Behaviour: if Bottleneck is installed and nothing is said, it adds a million floats one by one in a float, whose
#   mean is 0.7 off, and takes that mean's distance for the deviation; mean() of xarray does not use it and is
#   right, and so is std() of doubles. A million cells are one slice of a climate model in kelvin.
# Seen: mean 273.15; std 0.75, with skipna=False 0.00, without Bottleneck 0.00; of doubles 0.00
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-xarray=2023.01.0-1.1 python3-bottleneck=1.3.5+ds1-2+b1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/deviation.py" <<'PY'
import numpy
import xarray

field = xarray.DataArray(numpy.full((1000, 1000), 273.15, "f4"))
print(f"mean {field.mean():.2f}; std {field.std():.2f}, with skipna=False {field.std(skipna=False):.2f}, ", end="")
with xarray.set_options(use_bottleneck=False):
    print(f"without Bottleneck {field.std():.2f}; of doubles ", end="")
print(f"{field.astype('f8').std():.2f}")
PY
same "mean 273.15; std 0.75, with skipna=False 0.00, without Bottleneck 0.00; of doubles 0.00" "$(/usr/bin/python3 -W ignore "$work/deviation.py")"
