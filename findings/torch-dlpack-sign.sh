#!/bin/sh
# PyTorch loses the sign of a lazily negated tensor when it hands it on by DLPack.
# Version: python3-torch 1.13.1+dfsg-4, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: z.conj().imag is a view that PyTorch negates only when it is read (is_neg() is true), so
#   DLPack negates it first or refuses: numpy() refuses, and DLPack itself refuses a tensor that is
#   to be conjugated.
# Behaviour: DLPack hands on the memory as it lies there, and the consumer reads the other sign,
#   PyTorch's own from_dlpack too. So does mpi4py, which prefers DLPack. resolve_neg() before the
#   export helps.
# Seen: tensor [-2.0, -4.0]; numpy() RuntimeError; DLPack to NumPy [2.0, 4.0], to PyTorch [2.0, 4.0]; conj() by DLPack RuntimeError
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-torch=1.13.1+dfsg-4 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/sign.py" <<'PY'
import numpy
import torch


def attempt(action):
    try:
        return action().tolist()
    except Exception as error:
        return type(error).__name__


z = torch.tensor([1 + 2j, 3 + 4j])
negated = z.conj().imag
print(f"tensor {negated.tolist()}; numpy() {attempt(negated.numpy)}; ", end="")
print(f"DLPack to NumPy {attempt(lambda: numpy.from_dlpack(negated))}, ", end="")
print(f"to PyTorch {attempt(lambda: torch.from_dlpack(negated))}; ", end="")
print(f"conj() by DLPack {attempt(lambda: numpy.from_dlpack(z.conj()))}")
PY
same "tensor [-2.0, -4.0]; numpy() RuntimeError; DLPack to NumPy [2.0, 4.0], to PyTorch [2.0, 4.0]; conj() by DLPack RuntimeError" \
    "$(/usr/bin/python3 "$work/sign.py")"
