#!/bin/sh
# A compute shader takes some 20 ns by the clock of Mesa's llvmpipe, however long it runs.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1.
# Guess: GL_TIME_ELAPSED around a dispatch is about the time until glFinish(), as lavapipe's timestamps around
#   vkCmdDispatch are (520 of 529 ms).
# Behaviour: the shader runs inside of glDispatchCompute(), on the thread of the caller, and the query's two ends are both taken
#   behind it. So the query says some 20 ns where the call took 100 ms, and a table of passes has its solver for nothing.
# Seen: the dispatch took over 20 ms: True; by the query under 1 us: True
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/time.py" <<'PY'
import time

import moderngl

SHADER = """#version 430
layout(local_size_x = 8) in;
layout(binding = 0) buffer Out { float sum[]; };
uniform int count;
void main() {
    float all = 0;
    for (int i = 0; i < count; i++) all += sin(float(gl_GlobalInvocationID.x * i));
    sum[gl_GlobalInvocationID.x] = all;
}
"""
context = moderngl.create_context(standalone=True, backend="egl", require=430)
shader = context.compute_shader(SHADER)
context.buffer(reserve=4 * 8 * 4096).bind_to_storage_buffer(0)
for shader["count"] in 1, 2000:
    query = context.query(time=True)
    start = time.monotonic()
    with query:
        shader.run(4096)
    context.finish()
    took = time.monotonic() - start
print(f"the dispatch took over 20 ms: {took > 0.02}; by the query under 1 us: {query.elapsed < 1000}")
PY
same "the dispatch took over 20 ms: True; by the query under 1 us: True" "$(/usr/bin/python3 "$work/time.py")"
