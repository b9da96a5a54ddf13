#!/bin/sh
# PyOpenCL's sum of a matrix and its transpose is twice the matrix.
# Version: python3-pyopencl 2022.3.1-2.1, pocl-opencl-icd 3.1-3+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: pyopencl.array works like numpy, as it says: a + a.T is symmetric. If it cannot add arrays of different
#   strides, it raises, as it does for a[:, 0] + a[:, 1].
# Behaviour: .T swaps the strides and moves nothing, and +, *, - and dot() take the elements in the order of memory,
#   whatever the strides. The same holds for a row-major and a column-major array of one content, such as CUDA's and
#   Fortran's. Reading a.T back is right. Copy first: a.T.get() and to_device() of its C-contiguous copy.
# Seen: a.T: numpy 0 2 1 3, pyopencl 0 2 1 3; a + a.T: numpy 0 3 3 6, pyopencl 0 2 4 6; rows + columns of one matrix: numpy 0 2 4 6, pyopencl 0 3 3 6
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pocl31
cat >"$work/sum.py" <<'PY'
import numpy
from pocl import queue
from pyopencl.array import to_device

host = numpy.arange(4, dtype="f4").reshape(2, 2)
a = to_device(queue, host)
columns = to_device(queue, numpy.asfortranarray(host))


def show(array):
    return " ".join(f"{v:g}" for v in numpy.asarray(array).reshape(-1))


print(f"a.T: numpy {show(host.T)}, pyopencl {show(a.T.get())}; ", end="")
print(f"a + a.T: numpy {show(host + host.T)}, pyopencl {show((a + a.T).get())}; ", end="")
print(f"rows + columns of one matrix: numpy {show(host + host)}, pyopencl {show((a + columns).get())}")
PY
same "a.T: numpy 0 2 1 3, pyopencl 0 2 1 3; a + a.T: numpy 0 3 3 6, pyopencl 0 2 4 6; rows + columns of one matrix: numpy 0 2 4 6, pyopencl 0 3 3 6" \
    "$(/usr/bin/python3 "$work/sum.py" 2>"$work/log")"
