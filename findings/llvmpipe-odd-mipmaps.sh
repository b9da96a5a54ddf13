#!/bin/sh
# The mipmaps of Mesa's llvmpipe forget texels if a size is odd.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy
#   1:1.24.2-1+deb12u1.
# Guess: each texel of a level counts in the next one, with equal weights as OpenGL recommends, so
#   the smallest level of a float texture is about its mean, whatever its size: what automatic
#   exposure and a test for "is anything here" read.
# Behaviour: a texel of the next level is one linear sample at its centre. Of five texels the middle
#   one is left out: 0 0 5 0 0 becomes 0 0. Of three the middle one is all: 0 3 0 becomes 3, and 3 0 3
#   becomes 0. The smallest level of 1023 x 1023 is the texel in the middle, a million times the mean
#   if that one alone is not 0. Even sizes are right.
# Seen: 0 0 5 0 0: 0 0; 0 3 0: 3; 3 0 3: 0; 1 2 3 4: 1.5 3.5; 1023 x 1023 with the mean 1, all of it in the middle texel: 1.046e+06
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/odd.py" <<'PY'
import moderngl
import numpy

context = moderngl.create_context(standalone=True, backend="egl")


def level(values, number=1):
    values = numpy.atleast_2d(numpy.array(values, "f4"))
    texture = context.texture(values.shape[::-1], 1, values.tobytes(), dtype="f4")
    texture.build_mipmaps()
    return " ".join(f"{x:.4g}" for x in numpy.frombuffer(texture.read(level=number), "f4"))


print(f"0 0 5 0 0: {level([0, 0, 5, 0, 0])}; 0 3 0: {level([0, 3, 0])}; 3 0 3: {level([3, 0, 3])}; 1 2 3 4: {level([1, 2, 3, 4])}; ", end="")
spike = numpy.zeros((1023, 1023))
spike[511, 511] = spike.size
print(f"1023 x 1023 with the mean 1, all of it in the middle texel: {level(spike, 9)}")
PY
same "0 0 5 0 0: 0 0; 0 3 0: 3; 3 0 3: 0; 1 2 3 4: 1.5 3.5; 1023 x 1023 with the mean 1, all of it in the middle texel: 1.046e+06" \
    "$(/usr/bin/python3 "$work/odd.py" 2>"$work/log")"
