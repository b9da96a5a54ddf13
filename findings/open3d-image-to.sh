#!/bin/sh
# Open3D's conversion of an image multiplies by the offset, so it makes every picture black.
# Version: python3-open3d 0.16.1+ds-2+b4, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: t.geometry.Image.to(Float32) has the pixels' numbers, and to(dtype, scale, offset) is value * scale +
#   offset, as its help says, on a CPU as on a GPU.
# Behaviour: the value is multiplied by the offset, and the scale means nothing: without an offset all pixels are 0,
#   or the smallest normal float, to which results are clamped from below, also negative ones. Debian's build has no IPP,
#   and the other filters raise an error that says so. Tensor.to() of the same numbers is right.
# Seen: to float: 1.18e-38 1.18e-38 1.18e-38; scale 2, offset 3, to int32: 3 21 600; the tensor: 1 7 200
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-open3d=0.16.1+ds-2+b4 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/to.py" <<'PY'
import numpy
import open3d

core = open3d.core
tensor = core.Tensor(numpy.array([[[1], [7], [200]]], numpy.uint8))
image = open3d.t.geometry.Image(tensor)


def show(numbers):
    return " ".join(f"{v:.3g}" for v in numbers.numpy().ravel())


print("to float:", show(image.to(core.float32).as_tensor()), end="; ")
print("scale 2, offset 3, to int32:", show(image.to(core.int32, scale=2.0, offset=3.0).as_tensor()), end="; ")
print("the tensor:", show(tensor.to(core.float32)))
PY
same "to float: 1.18e-38 1.18e-38 1.18e-38; scale 2, offset 3, to int32: 3 21 600; the tensor: 1 7 200" \
    "$(/usr/bin/python3 "$work/to.py" 2>/dev/null)"
