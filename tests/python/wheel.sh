#!/bin/sh
# Makes the wheel and uses it alone, away from the sources and the build tree.
# usage: wheel.sh SOURCES BUILD PYTHON
# SPDX-License-Identifier: MIT
set -eu
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
wheel=$("$3" "$1/scripts/wheel" --build "$2" --out "$room")
again=$("$3" "$1/scripts/wheel" --build "$2" --out "$room/again")
cmp "$wheel" "$again"
mkdir "$room/site"
"$3" -m zipfile -e "$wheel" "$room/site"
cd "$room"
unset CULVERT_LIBRARY CULVERT_SOFT_PATH LD_LIBRARY_PATH
export CULVERT_SOFT=1 PYTHONPATH="$room/site"
"$3" - "$room" <<'END'
import pathlib
import sys

import numpy as np

import culvert

room = pathlib.Path(sys.argv[1]).resolve()
assert room in pathlib.Path(culvert.__file__).resolve().parents, culvert.__file__
assert pathlib.Path(culvert.info()["library"]).resolve().parent == room / "site" / "culvert" / "lib"
with culvert.vulkan.open() as gpu, gpu.vk.buffer(4096) as buffer:
    words = np.asarray(buffer.tensor("uint32"))
    words[:] = np.arange(1024)
    assert (np.from_dlpack(buffer.tensor("uint32")) == np.arange(1024)).all()
    print("the wheel alone:", gpu.device.name)
END
