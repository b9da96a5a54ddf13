#!/bin/sh
# Between two bytes Mesa's llvmpipe has no value: a filtered texel is a byte again.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy
#   1:1.24.2-1+deb12u1.
# Guess: a linear filter of R8 gives a float between the texels, with 8 bits of fraction on a GPU and
#   more on the CPU: half way between 0 and 1/255 is 0.5/255, and a ramp from 0 to 1/255 has 256
#   values at the least. R16F and R32F textures of the same numbers do.
# Behaviour: half way is 1/255, and the ramp has two values, 0 and 1/255. A ramp from 0 to 255 has 256.
#   A volume of bytes that is enlarged, or a dark gradient whose contrast is raised in the shader, has
#   steps; lighting by differences of such samples is flat with jumps.
# Seen: from 0 to 1/255 of 4,097 places: R8 2 values, middle 1/255; R16F 4097 values, middle 0.5/255; R32F 4097 values, middle 0.5/255; from 0 to 1: R8 256 values
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/linear.py" <<'PY'
import moderngl
import numpy

context = moderngl.create_context(standalone=True, backend="egl")
shader = context.compute_shader("""#version 430
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { float value[]; };
uniform sampler2D picture;
void main() {
    for (int i = 0; i <= 4096; i++) value[i] = textureLod(picture, vec2(0.25 + float(i) / 8192.0, 0.5), 0.0).x;
}
""")
out = context.buffer(reserve=4 * 4097)


def ramp(kind, pair):
    picture = context.texture((2, 1), 1, pair.tobytes(), dtype=kind, alignment=1)
    picture.filter, picture.repeat_x = (moderngl.LINEAR, moderngl.LINEAR), False
    picture.use(0)
    out.bind_to_storage_buffer(0)
    shader.run(1)
    return numpy.frombuffer(out.read(), "f4")


def text(kind, pair, unit):
    values = ramp(kind, pair)
    return f"{len(numpy.unique(values))} values, middle {values[2048] * unit:.2g}/255"


half, single, byte = numpy.array([0, 1], "f2"), numpy.array([0, 1], "f4"), numpy.array([0, 1], "u1")
print(f"from 0 to 1/255 of 4,097 places: R8 {text('f1', byte, 255)}; R16F {text('f2', half, 1)}; R32F {text('f4', single, 1)}; "
      f"from 0 to 1: R8 {len(numpy.unique(ramp('f1', 255 * byte)))} values")
PY
same "from 0 to 1/255 of 4,097 places: R8 2 values, middle 1/255; R16F 4097 values, middle 0.5/255; R32F 4097 values, middle 0.5/255; from 0 to 1: R8 256 values" \
    "$(/usr/bin/python3 "$work/linear.py" 2>"$work/log")"
