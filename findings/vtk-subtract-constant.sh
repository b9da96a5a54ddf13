#!/bin/sh
# VTK subtracts nothing from a picture of bytes.
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: vtkImageMathematics adds the constant of AddConstant, a double, and converts the sum to the picture's type: 100
#   with -50 is 50, and with 0.6 is 100 or 101. That a sum may wrap (200 + 100 is 44) is the known price.
# Behaviour: the constant itself is converted first, clamped to the type: -50 is 0 for unsigned types, so nothing
#   happens, and 300 is 255, so 100 becomes 99. MultiplyByK with 0.55 is right. Use a signed type, or floats.
# Seen: 100 with -50: uint8 100, uint16 100, int16 50; with 300: uint8 99, uint16 400; times 0.55: uint8 55
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/add.py" <<'PY'
import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy


def computed(kind, constant, multiply=False):
    picture = vtk.vtkImageData()
    picture.SetDimensions(1, 1, 1)
    picture.GetPointData().SetScalars(numpy_to_vtk(numpy.array([100], kind), deep=True))
    compute = vtk.vtkImageMathematics()
    compute.SetInputData(picture)
    if multiply:
        compute.SetOperationToMultiplyByK()
        compute.SetConstantK(constant)
    else:
        compute.SetOperationToAddConstant()
        compute.SetConstantC(constant)
    compute.Update()
    return f"{kind} {vtk_to_numpy(compute.GetOutput().GetPointData().GetScalars())[0]:g}"


print("100 with -50:", ", ".join(computed(kind, -50) for kind in ("uint8", "uint16", "int16")), end="; ")
print("with 300:", ", ".join(computed(kind, 300) for kind in ("uint8", "uint16")), end="; ")
print("times 0.55:", computed("uint8", 0.55, True))
PY
same "100 with -50: uint8 100, uint16 100, int16 50; with 300: uint8 99, uint16 400; times 0.55: uint8 55" \
    "$(/usr/bin/python3 "$work/add.py" 2>"$work/log")"
