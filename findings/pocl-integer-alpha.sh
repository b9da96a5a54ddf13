#!/bin/sh
# The alpha of a one-channel integer image is 0 in pocl, and 1 if the image is float.
# Version: pocl-opencl-icd 3.1-3+deb12u1, python3-pyopencl 2022.3.1-2.1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: read_imageui() of a CL_R image answers (r, 0, 0, 1), as OpenCL says for channels that an image lacks, and as read_imagef() of a float or
#   UNORM image does.
# Behaviour: read_imageui() and read_imagei() answer (r, 0, 0, 0), for 8, 16 and 32 bits. read_imagef() answers alpha 1. A kernel that masks by .w or
#   divides by it sees an empty image. Take .x alone.
# Seen: float: 7 0 0 1
#   unsigned 8 bits: 7 0 0 0
#   signed 32 bits: 7 0 0 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pocl31
cat >"$work/seen.py" <<'PY'
import numpy as np
import pyopencl as cl
from pocl import context, queue

SOURCE = """
kernel void look(read_only image2d_t f, read_only image2d_t u, read_only image2d_t i, global float4 *out) {
    out[0] = read_imagef(f, (int2)(0, 0));
    out[1] = convert_float4(read_imageui(u, (int2)(0, 0)));
    out[2] = convert_float4(read_imagei(i, (int2)(0, 0)));
}"""
program = cl.Program(context, SOURCE).build([])


def image(kind, dtype):
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    return cl.Image(context, flags, cl.ImageFormat(cl.channel_order.R, kind), shape=(1, 1), hostbuf=np.array([7], dtype))


kinds = cl.channel_type
seen = np.zeros((3, 4), "f4")
out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, seen.nbytes)
program.look(queue, (1,), None, image(kinds.FLOAT, "f4"), image(kinds.UNSIGNED_INT8, "u1"), image(kinds.SIGNED_INT32, "i4"), out)
cl.enqueue_copy(queue, seen, out)
for name, texel in zip(("float", "unsigned 8 bits", "signed 32 bits"), seen):
    print(f"{name}:", *(f"{v:g}" for v in texel))
PY
same "float: 7 0 0 1
unsigned 8 bits: 7 0 0 0
signed 32 bits: 7 0 0 0" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
