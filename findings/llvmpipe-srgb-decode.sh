#!/bin/sh
# Mesa's llvmpipe decodes sRGB by a rough formula: dark bytes are some percent off.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy
#   1:1.24.2-1+deb12u1.
# Guess: a byte of a texture of sRGB has 256 values, so the sampler has a table, or computes what the
#   standard's formula says to float's digits; the CPU's picture is a reference for a GPU's.
# Behaviour: 209 of 255 are off by more than 0.1 %, up to 2.5 % in the dark (where the formula is a
#   line) and 0.0012 in the bright, a third of a step of 8 bits. What is drawn into sRGB again comes
#   out as the same byte, so a copy does not show it; light that a shader adds up, and a picture that
#   a CUDA kernel decodes by the standard's formula, differ.
# Seen: byte 16 is 0.00529 instead of 0.00518, 188 0.50216 instead of 0.50289; largest error 2.5 % at 5, 0.00119 at 218; off by more than 0.1 %: 209 of 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/srgb.py" <<'PY'
import moderngl
import numpy

context = moderngl.create_context(standalone=True, backend="egl")
pixels = numpy.full((1, 256, 4), 255, "u1")
pixels[0, :, 0] = numpy.arange(256)
SRGB8_ALPHA8 = 0x8C43
context.texture((256, 1), 4, pixels.tobytes(), internal_format=SRGB8_ALPHA8).use(0)
shader = context.compute_shader("""#version 430
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { float value[]; };
uniform sampler2D picture;
void main() { for (int i = 0; i < 256; i++) value[i] = texelFetch(picture, ivec2(i, 0), 0).x; }
""")
out = context.buffer(reserve=4 * 256)
out.bind_to_storage_buffer(0)
shader.run(1)
decoded = numpy.frombuffer(out.read(), "f4").astype("f8")
x = numpy.arange(256) / 255
exact = numpy.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
off = decoded[1:] / exact[1:] - 1
print(f"byte 16 is {decoded[16]:.5f} instead of {exact[16]:.5f}, 188 {decoded[188]:.5f} instead of {exact[188]:.5f}; "
      f"largest error {100 * abs(off).max():.1f} % at {1 + abs(off).argmax()}, {abs(decoded - exact).max():.5f} at {abs(decoded - exact).argmax()}; "
      f"off by more than 0.1 %: {numpy.count_nonzero(abs(off) > 1e-3)} of 255")
PY
same "byte 16 is 0.00529 instead of 0.00518, 188 0.50216 instead of 0.50289; largest error 2.5 % at 5, 0.00119 at 218; off by more than 0.1 %: 209 of 255" \
    "$(/usr/bin/python3 "$work/srgb.py" 2>"$work/log")"
