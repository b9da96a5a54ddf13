#!/bin/sh
# VTK's convolution with the identity changes each pixel at the border.
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: vtkImageConvolve with a 3 x 3 kernel of 0 and a 1 in the middle gives the picture back; at the border other
#   kernels miss some neighbours at most.
# Behaviour: at the border the weights go, in their order, to the neighbours that exist, so the 1 in the middle, the
#   fifth weight, meets another pixel: the first row becomes the second one, the columns at the sides take the row
#   behind, and the corners, with four neighbours, are 0. Inside and in the last row all is right. Pad the picture
#   first (vtkImageMirrorPad), and crop.
# Seen: 0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15 becomes 0 5 6 0 / 8 5 6 10 / 12 9 10 14 / 0 13 14 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/convolve.py" <<'PY'
import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy


def show(values):
    return " / ".join(" ".join(f"{v:g}" for v in row) for row in values.reshape(4, 4))


values = numpy.arange(16.0)
picture = vtk.vtkImageData()
picture.SetDimensions(4, 4, 1)
picture.GetPointData().SetScalars(numpy_to_vtk(values, deep=True))
convolve = vtk.vtkImageConvolve()
convolve.SetInputData(picture)
convolve.SetKernel3x3([0, 0, 0, 0, 1, 0, 0, 0, 0])
convolve.Update()
print(f"{show(values)} becomes {show(vtk_to_numpy(convolve.GetOutput().GetPointData().GetScalars()))}")
PY
same "0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15 becomes 0 5 6 0 / 8 5 6 10 / 12 9 10 14 / 0 13 14 0" \
    "$(/usr/bin/python3 "$work/convolve.py" 2>"$work/log")"
