#!/bin/sh
# OpenColorIO interpolates between a table's entries although the table says that the nearest one counts.
# Version: python3-pyopencolorio 2.1.2+dfsg1-4+b3, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: a Lut1DTransform or Lut3DTransform with INTERP_NEAREST gives an entry of the table, so that it colours labels:
#   of the entries 0 1 0 1, 0.1 gets 0, 0.2 and 0.45 get 1.
# Behaviour: the numbers between are 0.3, 0.6 and 0.65, as INTERP_LINEAR has them, on the CPU at each level of
#   optimization, for floats and bytes, and the GPU's texture asks for linear filtering. The processor still tells
#   that its table's interpolation is the nearest.
# Seen: 1D at 0.1 0.2 0.45: 0.3 0.6 0.65; of bytes 75 153; 3D at 0.1: 0.1; the table says INTERP_NEAREST, the texture INTERP_LINEAR
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-pyopencolorio=2.1.2+dfsg1-4+b3 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/nearest.py" <<'PY'
import numpy
import PyOpenColorIO as ocio

config = ocio.Config.CreateRaw()
table = ocio.Lut1DTransform(4, False)
for i in range(4):
    table.setValue(i, i % 2, i % 2, i % 2)
cube = ocio.Lut3DTransform(2)
for i in range(8):
    r, g, b = i >> 2, i >> 1 & 1, i & 1
    cube.setValue(r, g, b, r, g, b)
for lut in table, cube:
    lut.setInterpolation(ocio.INTERP_NEAREST)


def red(lut, value):
    exact = config.getProcessor(lut).getOptimizedCPUProcessor(ocio.OPTIMIZATION_NONE)
    return f"{exact.applyRGB([value] * 3)[0]:.3g}"


processor = config.getProcessor(table)
gray = numpy.array([[[25] * 3, [51] * 3]], "u1")
bits = ocio.BIT_DEPTH_UINT8
processor.getOptimizedCPUProcessor(bits, bits, ocio.OPTIMIZATION_DEFAULT).apply(
    ocio.PackedImageDesc(gray, 2, 1, ocio.CHANNEL_ORDERING_RGB, bits, 1, 3, 6))
shader = ocio.GpuShaderDesc.CreateShaderDesc(language=ocio.GPU_LANGUAGE_GLSL_4_0)
processor.getDefaultGPUProcessor().extractGpuShaderInfo(shader)
told = list(processor.createGroupTransform())[0].getInterpolation()
print("1D at 0.1 0.2 0.45:", *(red(table, v) for v in (0.1, 0.2, 0.45)), end="; ")
print("of bytes", *gray[0, :, 0], end="; ")
print(f"3D at 0.1: {red(cube, 0.1)}; the table says {told.name}, the texture {list(shader.getTextures())[0].interpolation.name}")
PY
same "1D at 0.1 0.2 0.45: 0.3 0.6 0.65; of bytes 75 153; 3D at 0.1: 0.1; the table says INTERP_NEAREST, the texture INTERP_LINEAR" \
    "$(/usr/bin/python3 "$work/nearest.py" 2>/dev/null)"
