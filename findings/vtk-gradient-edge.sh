#!/bin/sh
# VTK's gradient of a picture is half as steep at the border, and VTK's other gradient is not.
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: vtkImageGradient of a ramp of 6 in each unit is 6 everywhere, the border by the difference to the one
#   neighbor, as vtkGradientFilter's and numpy.gradient's.
# Behaviour: at the border the pixel itself stands for the missing neighbor, but the difference is still divided by
#   two steps: 3 at both ends. vtkImageGradientMagnitude does the same. So a wall of a simulation, where
#   the gradient matters most (heat flux, shear), has half of it.
# Seen: vtkImageGradient 3 6 6 6 6 6 6 3; vtkImageGradientMagnitude 3 6 6 6 6 6 6 3; vtkGradientFilter 6 6 6 6 6 6 6 6; NumPy 6 6 6 6 6 6 6 6
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/gradient.py" <<'PY'
import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

ramp = numpy.tile(numpy.arange(8, dtype="f4") * 3, (8, 1))  # 3 from pixel to pixel, which are 0.5 apart
picture = vtk.vtkImageData()
picture.SetDimensions(8, 8, 1)
picture.SetSpacing(0.5, 0.5, 1)
values = numpy_to_vtk(ramp.ravel(), deep=True)
values.SetName("values")
picture.GetPointData().SetScalars(values)


def row(name, array=None):
    gradient = getattr(vtk, name)()
    gradient.SetInputData(picture)
    if hasattr(gradient, "SetDimensionality"):
        gradient.SetDimensionality(2)
    gradient.Update()
    data = gradient.GetOutput().GetPointData()
    slopes = vtk_to_numpy(data.GetArray(array) if array else data.GetScalars()).reshape(8, 8, -1)
    return f"{name} " + " ".join(f"{x:g}" for x in slopes[4, :, 0])


print(f"{row('vtkImageGradient')}; {row('vtkImageGradientMagnitude')}; {row('vtkGradientFilter', 'Gradients')}; ", end="")
print("NumPy " + " ".join(f"{x:g}" for x in numpy.gradient(ramp, 0.5, axis=1)[4]))
PY
same "vtkImageGradient 3 6 6 6 6 6 6 3; vtkImageGradientMagnitude 3 6 6 6 6 6 6 3; vtkGradientFilter 6 6 6 6 6 6 6 6; NumPy 6 6 6 6 6 6 6 6" \
    "$(/usr/bin/python3 -W ignore "$work/gradient.py" 2>"$work/log")"
