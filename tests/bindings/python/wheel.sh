#!/bin/sh
# Makes the wheel and uses it alone, away from the sources and the build tree; then the source archive, whose wheel has
# the same files. pip takes both without an index, where there is a pip.
# usage: wheel.sh SOURCES BUILD PYTHON
# SPDX-License-Identifier: MIT
set -eu
unset CULVERT_LIBRARY CULVERT_SOFT_PATH LD_LIBRARY_PATH PYTHONPATH # what is in the wheel is used, and no other
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
wheel=$("$3" "$1/scripts/wheel" --build "$2" --out "$room")
again=$("$3" "$1/scripts/wheel" --build "$2" --out "$room/again")
cmp "$wheel" "$again"
[ "$(stat -c %s "$wheel")" -lt 4000000 ]
mkdir -p "$room/bare/lib"
cp "$2/lib/libculvert.so.0" "$room/bare/lib/"
if "$3" "$1/scripts/wheel" --build "$room/bare" 2>"$room/said"; then exit 1; fi
grep -q 'no software twin.*--without-twin' "$room/said"
"$3" "$1/scripts/wheel" --build "$room/bare" --out "$room/bare" --without-twin >/dev/null

"$3" -c "import sys; sys.path.insert(0, '$1/bindings/python'); import culvert_wheel; culvert_wheel.build_sdist('$room')"
"$3" -c "import sys; sys.path.insert(0, '$1/bindings/python'); import culvert_wheel; culvert_wheel.build_sdist('$room/again')"
cmp "$room"/culvert-*.tar.gz "$room"/again/culvert-*.tar.gz
[ "$(tar -tzf "$(ls "$room"/culvert-*.tar.gz)" | grep -c '/_declarations.py$\|/_vulkan.py$')" -eq 2 ] # no pycparser is needed
"$3" -c "
import pathlib, sys
sys.path.insert(0, '$1/bindings/python')
import culvert_wheel as wheel
assert wheel.get_requires_for_build_wheel() == wheel.get_requires_for_build_sdist() == []
wheel.MADE, wheel._parser = [pathlib.Path('$room/none.py')], lambda: None
assert wheel.get_requires_for_build_wheel() == ['pycparser']
try:
    wheel._make_declarations()
except SystemExit as error:
    assert 'python3-pycparser' in str(error), error
else:
    raise AssertionError('declarations of nothing')"
mkdir "$room/sources"
tar -xzf "$room"/culvert-*.tar.gz -C "$room/sources" --strip-components=1
(cd "$room/sources" && "$3" -c "
import sys
sys.path.insert(0, 'bindings/python')
import culvert_wheel
culvert_wheel.build_wheel('$room/from-sources', {'build': '$2'})")
cmp "$wheel" "$room"/from-sources/*.whl
if "$3" -m venv --system-site-packages "$room/venv" 2>/dev/null; then
    (cd "$room/sources" && "$room/venv/bin/python" -m pip install -q --no-index --config-settings build="$2" .)
    (cd / && CULVERT_SOFT=1 "$room/venv/bin/python" -c "
import culvert
assert culvert.info()['library'].startswith('$room/venv/'), culvert.info()['library']")
else
    echo "no venv here: pip was not run"
fi
mkdir "$room/site"
"$3" -m zipfile -e "$wheel" "$room/site"
cd "$room"
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
"$3" - "$room" <<'END' # where there is no NumPy
import ctypes
import sys

sys.modules["numpy"] = None
import culvert

with culvert.vulkan.open() as gpu, gpu.vk.buffer(4096) as buffer:
    commands = gpu.commands()
    gpu.functions.vkBeginCommandBuffer(commands, culvert.vulkan.VkCommandBufferBeginInfo())
    gpu.functions.vkCmdFillBuffer(commands, buffer, 0, culvert.vulkan.VK_WHOLE_SIZE, 0x01020304)
    gpu.functions.vkEndCommandBuffer(commands)
    gpu.submit(commands)
    gpu.wait_idle()
    there = (ctypes.c_uint32 * 1024)()
    gpu.device.make_current()
    gpu.device.cuda.cuMemcpyDtoH(ctypes.addressof(there), buffer.pointer, 4096)
    assert set(there) == {0x01020304}
END
