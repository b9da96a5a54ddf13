#!/bin/sh
# PyOpenGL's arrays of pixels have width and height the wrong way around.
# Version: python3-opengl 3.1.6+dfsg-3, python3-numpy 1:1.24.2-1+deb12u1, libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: glReadPixels() of a picture 3 wide and 2 high as floats is an array of 2 rows and 3 columns, as glTexImage2D() took it, so
#   that seen[y, x] is a pixel. glGetTexImage() likewise.
# Behaviour: the array has the shape (3, 2, 3): the bytes are those of rows, but the first index counts 3. The first "row" has pixels 0 and 1,
#   the second has pixel 2 and the first one of the next row. A square picture looks right. Textures of three dimensions are
#   turned around, too. Say seen.reshape(height, width, -1).
# Seen: given (2, 3, 3), read (3, 2, 3), row by row the same: True; given (2, 3, 4), read (4, 3, 2)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pyopengl316
cat >"$work/seen.py" <<'PY'
import context  # made current
import numpy
from OpenGL.GL import *

picture = numpy.arange(2 * 3 * 3, dtype="f4").reshape(2, 3, 3) / 32
glBindTexture(GL_TEXTURE_2D, glGenTextures(1))
glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB32F, 3, 2, 0, GL_RGB, GL_FLOAT, picture)
seen = glGetTexImage(GL_TEXTURE_2D, 0, GL_RGB, GL_FLOAT)
glBindTexture(GL_TEXTURE_3D, glGenTextures(1))
glTexImage3D(GL_TEXTURE_3D, 0, GL_R32F, 4, 3, 2, 0, GL_RED, GL_FLOAT, numpy.zeros((2, 3, 4), "f4"))
solid = glGetTexImage(GL_TEXTURE_3D, 0, GL_RED, GL_FLOAT)
print(f"given {picture.shape}, read {seen.shape}, row by row the same: {(seen.ravel() == picture.ravel()).all()}; given (2, 3, 4), read {solid.shape}")
PY
same "given (2, 3, 3), read (3, 2, 3), row by row the same: True; given (2, 3, 4), read (4, 3, 2)" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
