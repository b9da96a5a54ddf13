#!/bin/sh
# A depth that a program uploads to Mesa's llvmpipe is cut off, and the same depth cleared or drawn is rounded.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: glTexSubImage2D of GL_FLOAT to a depth texture of 24 bits stores the nearest step, as glClear and
#   gl_FragDepth do, so that a fragment of that depth passes GL_EQUAL.
# Behaviour: the upload stores the step below. 0.25 (step 4194303.75) becomes 3fffff, a clear and a fragment
#   make 400000 of it, and GL_EQUAL passes nowhere. Of 1,001 depths from 0 to 1 a quarter differ. A visualizer that
#   uploads a solver's depth and draws against it sees that; depth of 32 bits (float) does not differ.
# Seen: 0.25: uploaded 3fffff, cleared 400000, drawn 400000; passes GL_EQUAL: 0 of 16; uploaded other than cleared: 251 of 1001
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/depth.py" <<'PY'
import moderngl
import numpy

VERTICES = """#version 450
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
"""
FRAGMENTS = """#version 450
uniform float z;
void main() { gl_FragDepth = z; }
"""
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(vertex_shader=VERTICES, fragment_shader=FRAGMENTS)
triangle = context.vertex_array(program, [])
depth = context.depth_texture((4, 4))  # 24 bits
target = context.framebuffer([], depth)
target.use()
context.enable(moderngl.DEPTH_TEST)


def step():
    return int(round(float(numpy.frombuffer(depth.read(), "f4")[0]) * 0xFFFFFF))


def upload(z):
    depth.write(numpy.full(16, z, "f4"))
    return step()


def clear(z):
    target.clear(depth=z)
    return step()


uploaded, cleared = upload(0.25), clear(0.25)
program["z"] = 0.25
context.depth_func = "1"
triangle.render(vertices=3)
drawn = step()
upload(0.25)
context.depth_func = "=="
query = context.query(samples=True)
with query:
    triangle.render(vertices=3)
steps = [float(numpy.float32(i / 1000)) for i in range(1001)]
other = sum(upload(z) != clear(z) for z in steps)
print(f"0.25: uploaded {uploaded:06x}, cleared {cleared:06x}, drawn {drawn:06x}; passes GL_EQUAL: {query.samples} of 16; ", end="")
print(f"uploaded other than cleared: {other} of 1001")
PY
same "0.25: uploaded 3fffff, cleared 400000, drawn 400000; passes GL_EQUAL: 0 of 16; uploaded other than cleared: 251 of 1001" \
    "$(/usr/bin/python3 "$work/depth.py")"
