#!/bin/sh
# Mesa's llvmpipe rounds a layer between two layers of an array texture to the even one, OpenGL says up.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: the layer that texture() of a sampler2DArray reads is floor(layer + 0.5), as GLSL 4.50 (8.9) has it: 0.5 is
#   layer 1, 2.5 is layer 3.
# Behaviour: the layer is rounded to even, as Vulkan asks: 0.5 is 0, 2.5 is 2, 4.5 is 4. A player of frames
#   in layers that steps by halves shows the even ones three times and the odd ones once.
# Seen: layers at 0, 0.5 ... 5: 0 0 1 2 2 2 3 4 4 4 5
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/layer.py" <<'PY'
import moderngl
import numpy

VERTICES = """#version 450
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
"""
FRAGMENTS = """#version 450
uniform sampler2DArray layers;
out float color;
void main() { color = texture(layers, vec3(0.5, 0.5, floor(gl_FragCoord.x) * 0.5)).r; }
"""
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(vertex_shader=VERTICES, fragment_shader=FRAGMENTS)
layers = context.texture_array((1, 1, 6), 1, numpy.arange(6, dtype="f4").tobytes(), dtype="f4")
layers.filter = moderngl.NEAREST, moderngl.NEAREST
drawn = context.texture((11, 1), 1, dtype="f4")
context.framebuffer([drawn]).use()
layers.use()
context.vertex_array(program, []).render(vertices=3)
print("layers at 0, 0.5 ... 5:", *(f"{v:g}" for v in numpy.frombuffer(drawn.read(), "f4")))
PY
same "layers at 0, 0.5 ... 5: 0 0 1 2 2 2 3 4 4 4 5" "$(/usr/bin/python3 "$work/layer.py")"
