#!/bin/sh
# A byte less a larger byte is 1.8e19 in a function that Numba compiles.
# Version: python3-numba 0.56.4+dfsg-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: a[i] - b[i] of two pictures of bytes, 1 and 2, is 255, as in the same function without @njit
#   (NumPy's bytes wrap), or -1, as in C and in a CUDA kernel, where bytes become int.
# Behaviour: bytes become 64 bits without a sign, so it is 18446744073709551615, and abs() and a float of it are
#   1.8e19. 200 + 100 is 300 instead of 44, and int32's largest + 1 goes on as int64 instead of wrapping. So a
#   picture of differences, or a hash that relies on 32 bits, changes as soon as its loop is compiled.
#   Whole arrays (a - b) wrap in both.
# Seen: 1 - 2: plain 255.0, compiled 1.8446744073709552e+19; 200 + 100: plain 44.0, compiled 300.0; 2147483647 + 1: plain -2147483648.0, compiled 2147483648.0; whole array 1 - 2: plain 255, compiled 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-numba=0.56.4+dfsg-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/difference.py" <<'PY'
import numba
import numpy


def less(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] - b[i]


def more(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] + b[i]


def both(function, a, b, kind):
    texts = []
    for name, call in (("plain", function), ("compiled", numba.njit(function))):
        out = numpy.zeros(1)
        call(numpy.array([a], kind), numpy.array([b], kind), out)
        texts.append(f"{name} {out[0]}")
    return ", ".join(texts)


one, two = numpy.array([1], "u1"), numpy.array([2], "u1")
whole = numba.njit(lambda a, b: a - b)
print(f"1 - 2: {both(less, 1, 2, 'u1')}; 200 + 100: {both(more, 200, 100, 'u1')}; ", end="")
print(f"2147483647 + 1: {both(more, 2**31 - 1, 1, 'i4')}; whole array 1 - 2: plain {(one - two)[0]}, compiled {whole(one, two)[0]}")
PY
same "1 - 2: plain 255.0, compiled 1.8446744073709552e+19; 200 + 100: plain 44.0, compiled 300.0; 2147483647 + 1: plain -2147483648.0, compiled 2147483648.0; whole array 1 - 2: plain 255, compiled 255" \
    "$(/usr/bin/python3 -W ignore "$work/difference.py" 2>"$work/log")"
