#!/bin/sh
# pocl lists images of one half, and neither reads nor writes their texels.
# Version: pocl-opencl-icd 3.1-3+deb12u1, python3-pyopencl 2022.3.1-2.1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: an image of CL_R and CL_HALF_FLOAT, which clGetSupportedImageFormats lists, keeps 1, 2, 0.5 and -3, as images of four halves and of one
#   float do.
# Behaviour: write_imagef() writes other bits than the value's, and read_imagef() answers the same number for each texel of an image that the host has
#   filled, and no error is returned. CL_A is the same. Images of CL_RGBA and CL_HALF_FLOAT are right: use those, or one float.
# Seen: listed
#   one half: read wrong, written wrong
#   four halves: read right, written right
#   one float: read right, written right
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pocl31
cat >"$work/seen.py" <<'PY'
import numpy as np
import pyopencl as cl
from pocl import context, queue

SOURCE = """
kernel void draw(write_only image2d_t image) {
    const float values[4] = {1, 2, .5f, -3};
    write_imagef(image, (int2)(get_global_id(0), 0), (float4)(values[get_global_id(0)]));
}
kernel void look(read_only image2d_t image, sampler_t s, global float *out) {
    out[get_global_id(0)] = read_imagef(image, s, (int2)(get_global_id(0), 0)).x;
}"""
program = cl.Program(context, SOURCE).build()
nearest = cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
both = cl.mem_flags.READ_WRITE


def right(array):
    return "right" if np.array_equal(array, [1, 2, 0.5, -3]) else "wrong"


def told(name, order, kind, dtype, channels):
    pixels = np.repeat(np.array([1, 2, 0.5, -3], dtype), channels)
    image = cl.Image(context, both | cl.mem_flags.COPY_HOST_PTR, cl.ImageFormat(order, kind), shape=(4, 1), hostbuf=pixels)
    seen, out = np.zeros(4, "f4"), cl.Buffer(context, both, 16)
    program.look(queue, (4,), None, image, nearest, out)
    cl.enqueue_copy(queue, seen, out)
    image = cl.Image(context, both, cl.ImageFormat(order, kind), shape=(4, 1))
    program.draw(queue, (4,), None, image)
    cl.enqueue_copy(queue, pixels, image, origin=(0, 0), region=(4, 1))
    print(f"{name}: read {right(seen)}, written {right(pixels[::channels])}")


one, four = cl.channel_order.R, cl.channel_order.RGBA
listed = cl.get_supported_image_formats(context, both, cl.mem_object_type.IMAGE2D)
print("listed" if cl.ImageFormat(one, cl.channel_type.HALF_FLOAT) in listed else "not listed")
told("one half", one, cl.channel_type.HALF_FLOAT, "f2", 1)
told("four halves", four, cl.channel_type.HALF_FLOAT, "f2", 4)
told("one float", one, cl.channel_type.FLOAT, "f4", 1)
PY
same "listed
one half: read wrong, written wrong
four halves: read right, written right
one float: read right, written right" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
