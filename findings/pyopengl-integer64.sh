#!/bin/sh
# PyOpenGL's glGetInteger64v() answers floats of other numbers.
# Version: python3-opengl 3.1.6+dfsg-3, python3-numpy 1:1.24.2-1+deb12u1, libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: glGetInteger64v(GL_MAX_TEXTURE_SIZE) is the number that glGetIntegerv() answers, as a 64-bit integer, and GL_TIMESTAMP
#   counts nanoseconds.
# Behaviour: the bits of the integer are taken for those of a double: 16384 is 8.095e-320, each timestamp is about 1e-310, and a
#   driver's longest wait is NaN. Pass an array of ctypes.c_int64 as second argument, or call .view("i8") on the answer.
# Seen: glGetIntegerv 16384, glGetInteger64v 8.095e-320 (float64), its bits 16384, into an own array 16384; a timestamp below 1e-300: True
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pyopengl316
cat >"$work/seen.py" <<'PY'
import context  # made current
from ctypes import c_int64
from OpenGL.GL import *

narrow, wide, own = glGetIntegerv(GL_MAX_TEXTURE_SIZE), glGetInteger64v(GL_MAX_TEXTURE_SIZE), (c_int64 * 1)()
glGetInteger64v(GL_MAX_TEXTURE_SIZE, own)
print(f"glGetIntegerv {narrow}, glGetInteger64v {wide} ({wide.dtype}), its bits {wide.view('i8')}, into an own array {own[0]}; a timestamp below 1e-300: {0 < glGetInteger64v(GL_TIMESTAMP) < 1e-300}")
PY
same "glGetIntegerv 16384, glGetInteger64v 8.095e-320 (float64), its bits 16384, into an own array 16384; a timestamp below 1e-300: True" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
