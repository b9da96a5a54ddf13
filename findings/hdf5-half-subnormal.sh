#!/bin/sh
# HDF5 stores halves that are half of what was written.
# Version: python3-h5py 3.7.0-8 with libhdf5-103-1 1.10.8+repack1-1, python3-numpy
#   1:1.24.2-1+deb12u1 (HDF5 1.14.5 of Debian 13 does what NumPy does).
# Guess: a data set of halves that is given floats gets the nearest halves, as astype("f2") of NumPy,
#   __float2half of CUDA and a GPU's conversion.
# Behaviour: below 2^-14, where halves are subnormal, a value that is rounded up to a power of two
#   becomes half of that power: 6.101e-05 is stored as 3.05e-05, though the error should be 3e-08 at
#   most. And a tie goes away from zero instead of to even: 1 + 2^-11 becomes 1.001 instead of 1. A
#   field of small values (smoke that has nearly gone) gets dark specks. Convert by astype() first.
# Seen: 6.101e-05: HDF5 3.052e-05, NumPy 6.104e-05; 1+2^-11: HDF5 1.001, NumPy 1; of 131071 values up to 2^-14 576 are off by more than a step
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-h5py=3.7.0-8 python3-h5py-serial=3.7.0-8 libhdf5-103-1=1.10.8+repack1-1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/half.py" <<'PY'
import h5py
import numpy


def stored(values):
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        halves = file.create_dataset("x", values.shape, "f2")
        halves[:] = values
        return halves[:].astype("f8")


two = numpy.array([6.101e-05, 1 + 2**-11], "f4")
many = (numpy.arange(1, 2**17) * 2.0**-31).astype("f4")
a, b = stored(two), two.astype("f2").astype("f8")
off = numpy.count_nonzero(abs(stored(many) - many.astype("f8")) > 2**-24)
print(f"6.101e-05: HDF5 {a[0]:.4g}, NumPy {b[0]:.4g}; 1+2^-11: HDF5 {a[1]:.4g}, NumPy {b[1]:.4g}; "
      f"of {many.size} values up to 2^-14 {off} are off by more than a step")
PY
same "6.101e-05: HDF5 3.052e-05, NumPy 6.104e-05; 1+2^-11: HDF5 1.001, NumPy 1; of 131071 values up to 2^-14 576 are off by more than a step" \
    "$(/usr/bin/python3 "$work/half.py" 2>"$work/log")"
