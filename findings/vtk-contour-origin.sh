#!/bin/sh
# VTK's contours of a picture far from the origin stand on a raster of half a metre, whatever is asked.
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: the lines of vtkContourFilter lie where the field has the value. Origin, spacing and values
#   are doubles, so an origin of 5,000,000 (metres of a map) costs nothing, at the least with
#   SetOutputPointsPrecision(DOUBLE_PRECISION).
# Behaviour: the points are floats, with the precision asked for, too: for a picture the filter
#   ignores the setting. Five contours that are 0.1 apart become two, 0.5 apart. Set the origin to 0,
#   and move the actor or the points, in double.
# Seen: origin 0: 0.05 0.15 0.25 0.35 0.45; origin 5000000: float 0 0.5; double asked for: float 0 0.5
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/contour.py" <<'PY'
import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy


def contours(origin, precision=vtk.vtkAlgorithm.DEFAULT_PRECISION):
    picture = vtk.vtkImageData()
    picture.SetDimensions(11, 2, 1)
    picture.SetOrigin(origin, 0, 0)
    picture.SetSpacing(0.1, 0.1, 1)
    picture.GetPointData().SetScalars(numpy_to_vtk(numpy.tile(numpy.arange(11.0), 2), deep=True))
    lines = vtk.vtkContourFilter()
    lines.SetInputData(picture)
    lines.SetOutputPointsPrecision(precision)
    lines.GenerateValues(5, 0.5, 4.5)
    lines.Update()
    points = lines.GetOutput().GetPoints().GetData()
    x = sorted({round(float(p) - origin, 6) for p in vtk_to_numpy(points)[:, 0]})
    return points.GetDataTypeAsString(), " ".join(f"{p:g}" for p in x)


near, far, double = contours(0), contours(5e6), contours(5e6, vtk.vtkAlgorithm.DOUBLE_PRECISION)
print(f"origin 0: {near[1]}; origin 5000000: {far[0]} {far[1]}; double asked for: {double[0]} {double[1]}")
PY
same "origin 0: 0.05 0.15 0.25 0.35 0.45; origin 5000000: float 0 0.5; double asked for: float 0 0.5" \
    "$(/usr/bin/python3 "$work/contour.py" 2>"$work/log")"
