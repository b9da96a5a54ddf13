#!/bin/sh
# mpi4py reads the byte order of an array's interface and then forgets it.
# Version: python3-mpi4py 3.1.4-2+b2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: an array of big-endian numbers ('>f8', whose typestr both interfaces define) is sent in
#   its order, swapped, or refused. A NumPy array is refused, if with a bare KeyError: '>d'.
# Behaviour: by __cuda_array_interface__ the same array is taken and sent as native doubles: 1.0
#   arrives as 3.03865e-319, without an error.
# Seen: buffer: KeyError '>d'; __cuda_array_interface__: 1.0 arrives as 3.03865e-319
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-mpi4py=3.1.4-2+b2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/order.py" <<'END'
import numpy
from mpi4py import MPI


class Exporter:
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = dict(array.__array_interface__, version=3)


big = numpy.array([1.0], ">f8")
for name, sent in ("buffer", big), ("__cuda_array_interface__", Exporter(big)):
    received = numpy.zeros(1)
    try:
        MPI.COMM_SELF.Sendrecv(sent, 0, 1, received, 0, 1)
        print(f"{name}: 1.0 arrives as {received[0]:.6g}")
    except KeyError as error:
        print(f"{name}: KeyError {error}", end="; ")
END
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same "buffer: KeyError '>d'; __cuda_array_interface__: 1.0 arrives as 3.03865e-319" "$(/usr/bin/python3 "$work/order.py")"
