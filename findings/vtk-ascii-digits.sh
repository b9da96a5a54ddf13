#!/bin/sh
# VTK's text files do not bring a float back: the old format has six digits, the XML format all.
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: what vtkStructuredPointsWriter writes as text vtkStructuredPointsReader reads back bit by
#   bit: nine digits for a float, seventeen for a double, as the XML writers of the same library do.
# Behaviour: a float has six digits there and a double eleven: of 1,000 numbers between 0 and 1, 961
#   floats and all doubles change. A solver that starts again from such a file does not go on where
#   it was, and a comparison with the picture of the run sees differences of 4e-6. Binary is exact.
# Seen: old text: 961 of 1000 floats and 1000 of 1000 doubles change; XML text: 0 and 0; old binary: 0 and 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/digits.py" <<'PY'
import sys

import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy


def changed(kind, writer, reader, mode):
    values = numpy.random.RandomState(0).rand(1000).astype(kind)
    line = vtk.vtkImageData()
    line.SetDimensions(1000, 1, 1)
    line.GetPointData().SetScalars(numpy_to_vtk(values, deep=True))
    writer.SetFileName(sys.argv[1])
    reader.SetFileName(sys.argv[1])
    writer.SetInputData(line)
    mode(writer)
    writer.Write()
    reader.Update()
    return numpy.count_nonzero(vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()) != values)


def old(kind, mode):
    return changed(kind, vtk.vtkStructuredPointsWriter(), vtk.vtkStructuredPointsReader(), mode)


def xml(kind):
    return changed(kind, vtk.vtkXMLImageDataWriter(), vtk.vtkXMLImageDataReader(), lambda w: w.SetDataModeToAscii())


print(f"old text: {old('f4', lambda w: w.SetFileTypeToASCII())} of 1000 floats and {old('f8', lambda w: w.SetFileTypeToASCII())} "
      f"of 1000 doubles change; XML text: {xml('f4')} and {xml('f8')}; "
      f"old binary: {old('f4', lambda w: w.SetFileTypeToBinary())} and {old('f8', lambda w: w.SetFileTypeToBinary())}")
PY
same "old text: 961 of 1000 floats and 1000 of 1000 doubles change; XML text: 0 and 0; old binary: 0 and 0" \
    "$(/usr/bin/python3 "$work/digits.py" "$work/file" 2>"$work/log")"
