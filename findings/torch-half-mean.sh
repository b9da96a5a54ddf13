#!/bin/sh
# PyTorch's mean of a half-float picture of 256 x 256 that is 0.9 everywhere is 0, on the CPU.
# Version: python3-torch 1.13.1+dfsg-4, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: mean() of halves adds in floats and rounds once, as NumPy's mean does and as sums of PyTorch's bfloat16 do:
#   0.9 for 0.9, 1 for white. A sum may overflow a half, a mean and a length need not.
# Behaviour: the sum becomes a half before it is divided, and so does the number of pixels: 65,536 is infinite as
#   a half. 0.9 has the mean 0 (a number by infinity), white NaN. norm() adds squares in a half, which stands
#   still at 2,048, so the length of 65,536 ones is 45.25 instead of 256. Nothing warns. An exposure by the mean
#   of an HDR picture is black; say dtype=torch.float.
# Seen: mean of 0.9: 65280 pixels 0.9, 65536 pixels 0, as floats 0.9, NumPy 0.9; of 1: 65536 pixels nan; norm of 65536 ones 45.25, as floats 256
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-torch=1.13.1+dfsg-4 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/mean.py" <<'PY'
import torch

torch.set_num_threads(1)
ones = torch.ones(256, 256, dtype=torch.half)
dim = ones * 0.9
print(f"mean of 0.9: 65280 pixels {dim[:255].mean().item():.2g}, 65536 pixels {dim.mean().item():.2g}, ", end="")
print(f"as floats {dim.mean(dtype=torch.float).item():.2g}, NumPy {dim.numpy().mean():.2g}; ", end="")
print(f"of 1: 65536 pixels {ones.mean().item():g}; ", end="")
print(f"norm of 65536 ones {ones.norm().item():g}, as floats {ones.float().norm().item():g}")
PY
same "mean of 0.9: 65280 pixels 0.9, 65536 pixels 0, as floats 0.9, NumPy 0.9; of 1: 65536 pixels nan; norm of 65536 ones 45.25, as floats 256" \
    "$(/usr/bin/python3 "$work/mean.py")"
