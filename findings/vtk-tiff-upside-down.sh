#!/bin/sh
# A TIFF that VTK wrote is upside down when VTK reads it.
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1, python3-opencv 4.6.0+dfsg-12.
# Guess: vtkTIFFReader gives back what vtkTIFFWriter got, and the picture that vtkPNGReader gives of the same picture as
#   PNG: the file's top row is VTK's last.
# Behaviour: the writer does so, the reader puts the file's top row first, for gray and color, bytes and floats alike. A
#   slice or a height map goes over at each pass, and a stack of TIFFs is mirrored against one of PNGs: left is right.
#   SetOrientationType(ORIENTATION_BOTLEFT), the opposite of what the file says, helps.
# Seen: 1 2, 3 4, 5 6 from below: PNG file 5 6 3 4 1 2, read 1 2 3 4 5 6; TIFF file 5 6 3 4 1 2, read 5 6 3 4 1 2, as BOTLEFT 1 2 3 4 5 6
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1 python3-opencv=4.6.0+dfsg-12
cat >"$work/tiff.py" <<'PY'
import sys

import cv2
import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

picture = vtk.vtkImageData()
picture.SetDimensions(2, 3, 1)
picture.GetPointData().SetScalars(numpy_to_vtk(numpy.arange(1, 7, dtype="u1"), deep=True))


def read(kind, name, orientation=None):
    reader = getattr(vtk, f"vtk{kind}Reader")()
    reader.SetFileName(name)
    if orientation:
        reader.SetOrientationType(orientation)
    reader.Update()
    return " ".join(map(str, vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())))


for kind in ("PNG", "TIFF"):
    writer, name = getattr(vtk, f"vtk{kind}Writer")(), f"{sys.argv[1]}/picture.{kind.lower()}"
    writer.SetFileName(name)
    writer.SetInputData(picture)
    writer.Write()
    print(f"{kind} file {' '.join(map(str, cv2.imread(name, -1).ravel()))}, read {read(kind, name)}", end="; " if kind == "PNG" else "")
print(f", as BOTLEFT {read('TIFF', name, 4)}")
PY
same "PNG file 5 6 3 4 1 2, read 1 2 3 4 5 6; TIFF file 5 6 3 4 1 2, read 5 6 3 4 1 2, as BOTLEFT 1 2 3 4 5 6" "$(/usr/bin/python3 -W ignore "$work/tiff.py" "$work" 2>"$work/log")"
