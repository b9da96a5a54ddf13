#!/bin/sh
# PETSc's 2 / 0 is 0.
# Version: python3-petsc4py-real3.18 3.18.5-1 on libpetsc-real3.18 3.18.5+dfsg1-1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: VecPointwiseDivide(w, x, y), whose page says w[i] = x[i] / y[i], gives infinity for 2 / 0, -infinity for
#   -2 / 0 and NaN for 0 / 0, as C, CUDA and numpy do, so that a norm shows the fault.
# Behaviour: where y is 0 the result is 0. Scaling by a diagonal that has a zero, or dividing by a cell's mass that
#   nobody set, passes unseen: the norm is finite. Only VecReciprocal's page speaks of zeros, and does another thing.
# Seen: 1 2 -2 0 / 2 0 0 0: numpy 0.5 inf -inf nan; PETSc 0.5 0 0 0, norm 0.5; 2 / 1e-300: 2e+300
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-petsc4py-real3.18=3.18.5-1 libpetsc-real3.18=3.18.5+dfsg1-1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/divide.py" <<'PY'
import numpy
from petsc4py import PETSc

numpy.seterr(all="ignore")


def vector(*values):
    return PETSc.Vec().createWithArray(numpy.array(values, float))


def show(values):
    return " ".join(f"{abs(v) if v == 0 else v:g}" for v in values)


x, y, w = vector(1, 2, -2, 0), vector(2, 0, 0, 0), vector(7, 7, 7, 7)
w.pointwiseDivide(x, y)
small = vector(7)
small.pointwiseDivide(vector(2), vector(1e-300))
print(f"1 2 -2 0 / 2 0 0 0: numpy {show(x.array / y.array)}; PETSc {show(w.array)}, norm {w.norm():g}; ", end="")
print(f"2 / 1e-300: {small.array[0]:g}")
PY
export PYTHONPATH=/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages
same "1 2 -2 0 / 2 0 0 0: numpy 0.5 inf -inf nan; PETSc 0.5 0 0 0, norm 0.5; 2 / 1e-300: 2e+300" \
    "$(/usr/bin/python3 "$work/divide.py" 2>"$work/log")"
