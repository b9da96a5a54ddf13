#!/bin/sh
# pocl fills an image with other bytes than a kernel writes for the same color.
# Version: pocl-opencl-icd 3.1-3+deb12u1, python3-pyopencl 2022.3.1-2.1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: clEnqueueFillImage() converts a float color as write_imagef() does, as OpenCL says: 0.5 is 128 in UNORM_INT8, and 0.1 is 26.
# Behaviour: the fill cuts off and the kernel rounds: 0.5 is 127, 0.1 is 25, and 254.9 / 255 is 254. A background that is filled and one that is drawn
#   differ by one, and a test that compares them for equality fails. Draw both, or fill with a multiple of 1/255.
# Seen: drawn 128 26 255 255
#   filled 127 25 254 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pocl31
cat >"$work/seen.py" <<'PY'
import numpy as np
import pyopencl as cl
from pocl import context, queue

SOURCE = "kernel void draw(write_only image2d_t image, float4 color) { write_imagef(image, (int2)(0, 0), color); }"
program = cl.Program(context, SOURCE).build()
image = cl.Image(context, cl.mem_flags.READ_WRITE, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8), shape=(1, 1))
color = np.array([0.5, 0.1, 254.9 / 255, 1], "f4")


def told(name):
    pixel = np.zeros(4, "u1")
    cl.enqueue_copy(queue, pixel, image, origin=(0, 0), region=(1, 1))
    print(name, *pixel)


program.draw(queue, (1,), None, image, color)
told("drawn")
cl.enqueue_fill_image(queue, image, color, (0, 0), (1, 1))
told("filled")
PY
same "drawn 128 26 255 255
filled 127 25 254 255" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
