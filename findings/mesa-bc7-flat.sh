#!/bin/sh
# Mesa's BC7 of a flat gray picture is another gray: it keeps five of eight bits.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2 (llvmpipe), libopengl0 1.6.0-1, python3-moderngl 5.7.4-1+b1,
#   python3-numpy 1:1.24.2-1+deb12u1.
# Guess: glTexImage2D with the internal format COMPRESSED_RGBA_BPTC_UNORM stores a flat block within 1 of its bytes,
#   because BC7 has end points of 7 and 8 bits; it is the best of the formats for pictures.
# Behaviour: gray 7 becomes 0 and 248 becomes 255: levels are 8 apart, and 168 of 256 grays are off by more
#   than 1. The old BC3 has less error there. A dark gradient shows bands of 8.
# Seen: BC7: 32 grays of 256, the largest error 7; BC3: 64 grays, the largest error 3
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
debian12 libopengl0=1.6.0-1
cat >"$work/flat.py" <<'PY'
import ctypes

import moderngl
import numpy

TEXTURE_2D, RGBA, UNSIGNED_BYTE = 0x0DE1, 0x1908, 0x1401
context = moderngl.create_context(standalone=True, backend="egl")
gl = ctypes.CDLL("libOpenGL.so.0")
name = ctypes.c_uint()
gl.glGenTextures(1, ctypes.byref(name))
gl.glBindTexture(TEXTURE_2D, name)


def stored(format, gray):
    block = numpy.full((4, 4, 4), gray, "u1")
    block[..., 3] = 255
    gl.glTexImage2D(TEXTURE_2D, 0, format, 4, 4, 0, RGBA, UNSIGNED_BYTE, block.ctypes.data_as(ctypes.c_void_p))
    gl.glGetTexImage(TEXTURE_2D, 0, RGBA, UNSIGNED_BYTE, block.ctypes.data_as(ctypes.c_void_p))
    return int(block[0, 0, 1])  # green


results = []
for what, format in (("BC7", 0x8E8C), ("BC3", 0x83F3)):
    greens = [stored(format, gray) for gray in range(256)]
    error = max(abs(green - gray) for gray, green in enumerate(greens))
    results.append(f"{what}: {len(set(greens))} grays{' of 256' if what == 'BC7' else ''}, the largest error {error}")
assert gl.glGetError() == 0
print("; ".join(results))
PY
same "BC7: 32 grays of 256, the largest error 7; BC3: 64 grays, the largest error 3" "$(/usr/bin/python3 "$work/flat.py")"
