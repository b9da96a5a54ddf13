#!/bin/sh
# An array interface without elements whose pointer is null is no array for NumPy.
# Version: python3-numpy 1:1.24.2-1+deb12u1.
# Guess: __array_interface__ = {shape: (0,), data: (0, False), ...} is an empty array. A buffer of
#   no bytes has no address, and the CUDA array interface even demands 0 for a size of zero.
# Behaviour: a null pointer means to NumPy that the object itself is the one element, so it asks
#   it for float(): a TypeError that names the object's class. Any other address is taken. An
#   exporter must invent one.
# Seen: null: TypeError: float() argument must be a string or a real number, not 'Exporter'
#       any other: float32 (0,)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/empty.py" <<'END'
import numpy


class Exporter:
    def __init__(self, pointer):
        self.__array_interface__ = {"version": 3, "shape": (0,), "typestr": "<f4", "data": (pointer, False)}


for name, pointer in ("null", 0), ("any other", 16):
    try:
        array = numpy.asarray(Exporter(pointer))
        print(f"{name}: {array.dtype} {array.shape}")
    except TypeError as error:
        print(f"{name}: TypeError: {error}")
END
same "null: TypeError: float() argument must be a string or a real number, not 'Exporter'
any other: float32 (0,)" "$(/usr/bin/python3 "$work/empty.py")"
