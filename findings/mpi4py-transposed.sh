#!/bin/sh
# mpi4py sends a transposed array as if it were not transposed.
# Version: python3-mpi4py 3.1.4-2+b2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: a.T of 2 x 3, sent and received into an array of 3 x 2, arrives as a.T, or is refused as
#   an array with a stride is.
# Behaviour: it is sent in the order of its memory, without an error, since Fortran's order counts
#   as contiguous: the receiver has a's rows in the wrong shape. A picture that one rank keeps by
#   columns (asfortranarray, a renderer's transposed matrix) arrives scrambled; a broadcast of it
#   gives the ranks different arrays.
# Seen: sent [[0, 3], [1, 4], [2, 5]], received [[0, 1], [2, 3], [4, 5]]; every second element: refused
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-mpi4py=3.1.4-2+b2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/transposed.py" <<'PY'
import numpy
from mpi4py import MPI


def through(array):
    received = numpy.zeros(array.shape, array.dtype)
    MPI.COMM_SELF.Sendrecv(array, 0, recvbuf=received, source=0)
    return received.tolist()


a = numpy.arange(6, dtype="i4").reshape(2, 3)
print(f"sent {a.T.tolist()}, received {through(a.T)}; every second element: ", end="")
try:
    print(through(a.ravel()[::2]))
except BufferError:
    print("refused")
PY
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same "sent [[0, 3], [1, 4], [2, 5]], received [[0, 1], [2, 3], [4, 5]]; every second element: refused" \
    "$(/usr/bin/python3 "$work/transposed.py" 2>"$work/log")"
