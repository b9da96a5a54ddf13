#!/bin/sh
# Mesa reads a float texture's white as black, or as the least number, if the program asks for integers of 32 bits.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2 (llvmpipe), libopengl0 1.6.0-1, python3-moderngl 5.7.4-1+b1,
#   python3-numpy 1:1.24.2-1+deb12u1.
# Guess: glGetTexImage of an R32F texture as GL_UNSIGNED_INT scales [0, 1] to [0, 0xffffffff], as it scales to
#   0xff and 0xffff for bytes and shorts; what rounds up at the top is 0xffffffff.
# Behaviour: 1 is 0: 2^32 - 1 has no float, the product is 2^32, and its conversion wraps. The largest
#   float below 1 is 0xffffff00, and a depth texture's 1 is 0xffffffff. glReadPixels does the same. As GL_INT, 1 is
#   -0x80000000, as -1 is.
# Seen: 0.5 is 7fffffff or more, the float below 1 is ffffff00, 1 is 00000000; as shorts 1 is ffff; glReadPixels 00000000; as int 80000000
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
debian12 libopengl0=1.6.0-1
cat >"$work/white.py" <<'PY'
import ctypes

import moderngl
import numpy

TEXTURE_2D, RED, UNSIGNED_SHORT, INT, UNSIGNED_INT = 0x0DE1, 0x1903, 0x1403, 0x1404, 0x1405
context = moderngl.create_context(standalone=True, backend="egl")
gl = ctypes.CDLL("libOpenGL.so.0")
values = numpy.array([0.5, numpy.nextafter(numpy.float32(1), numpy.float32(0)), 1, 1], "f4")
picture = context.texture((4, 1), 1, values.tobytes(), dtype="f4")
words, shorts, ints, pixels = (numpy.ones(4, t) for t in ("u4", "u2", "u4", "u4"))
gl.glBindTexture(TEXTURE_2D, picture.glo)
gl.glGetTexImage(TEXTURE_2D, 0, RED, UNSIGNED_INT, words.ctypes.data_as(ctypes.c_void_p))
gl.glGetTexImage(TEXTURE_2D, 0, RED, UNSIGNED_SHORT, shorts.ctypes.data_as(ctypes.c_void_p))
gl.glGetTexImage(TEXTURE_2D, 0, RED, INT, ints.ctypes.data_as(ctypes.c_void_p))
context.framebuffer([picture]).use()
gl.glReadPixels(0, 0, 4, 1, RED, UNSIGNED_INT, pixels.ctypes.data_as(ctypes.c_void_p))
assert gl.glGetError() == 0
half = "7fffffff or more" if 0x7FFFFFFF <= words[0] <= 0x80000000 else f"{words[0]:08x}"
print(f"0.5 is {half}, the float below 1 is {words[1]:08x}, 1 is {words[2]:08x}; as shorts 1 is {shorts[2]:x}; glReadPixels {pixels[2]:08x}; as int {ints[2]:08x}")
PY
same "0.5 is 7fffffff or more, the float below 1 is ffffff00, 1 is 00000000; as shorts 1 is ffff; glReadPixels 00000000; as int 80000000" \
    "$(/usr/bin/python3 "$work/white.py")"
