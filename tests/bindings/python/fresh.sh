#!/bin/sh
# A newcomer's machine: a wheel and a source archive in fresh virtual environments, without an index and without a GPU. The
# programs are the blocks of docs/python*.md. In bare Debian (scripts/bare-root):
#   scripts/wheel --out DIR && python3 -c "import sys; sys.path.insert(0, 'python'); import culvert_wheel as w; w.build_sdist('DIR')"
#   scripts/bare-root --no-toolkit --bind DIR 13 ROOT tests/bindings/python/fresh.sh DIR
# usage: fresh.sh DIR [PYTHON]     DIR has culvert-*.whl, and may have culvert-*.tar.gz
# SPDX-License-Identifier: MIT
set -eu
unset CULVERT_LIBRARY CULVERT_SOFT_PATH LD_LIBRARY_PATH PYTHONPATH
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 CULVERT_SOFT="${CULVERT_SOFT-1}"
tests=$(cd "$(dirname "$0")" && pwd)
from=$(cd "$1" && pwd)
python=${2:-python3}
# What docs/python.md says that the package stands on. Vulkan's headers and a compiler are for the source archive alone.
install() {
    command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ] || return 0
    dpkg-query -s "$@" >/dev/null 2>&1 || { apt-get -q update && apt-get -q install -y --no-install-recommends "$@"; } >"$room/apt" 2>&1 ||
        { tail -n 20 "$room/apt" >&2; exit 1; }
}
fresh() { # NAME [OPTION]: an environment that has pip; Debian's own Python brings it with python3-venv
    "$python" -m venv "$@" >/dev/null 2>&1 || "$python" -m venv --without-pip "$@"
}
pip() { # NAME ARGUMENT...
    name=$1
    shift
    if [ -x "$room/$name/bin/pip" ]; then "$room/$name/bin/pip" "$@"; else "$python" -m pip --python "$room/$name/bin/python" "$@"; fi
}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
[ -z "${FRESH_NO_APT:-}" ] || install() { :; }

install python3-venv libvulkan1 mesa-vulkan-drivers
fresh "$room/alone"
pip alone install -q "$from"/culvert-*.whl
cd "$room"
"$room/alone/bin/python" - "$room" <<'PROGRAM' # without NumPy
import ctypes
import sys
import culvert
assert culvert.info()["library"].startswith(sys.argv[1]), culvert.info()["library"]
with culvert.vulkan.open() as gpu, gpu.vk.buffer(4096) as buffer:
    f, commands = gpu.functions, gpu.commands()
    f.vkBeginCommandBuffer(commands, culvert.vulkan.VkCommandBufferBeginInfo())
    f.vkCmdFillBuffer(commands, buffer, 0, culvert.vulkan.VK_WHOLE_SIZE, 0x01020304)
    f.vkEndCommandBuffer(commands)
    gpu.submit(commands)
    gpu.wait_idle()
    there = (ctypes.c_uint32 * 1024)()
    gpu.device.make_current()
    gpu.device.cuda.cuMemcpyDtoH(ctypes.addressof(there), buffer.pointer, 4096)
    assert set(there) == {0x01020304}
    picture = culvert.show(buffer.tensor("uint8", (32, 32, 4)), gpu=gpu, window=False, out="alone.png")
    picture.close()
    print("alone:", sys.version.split()[0], culvert.__version__, gpu.device.name)
PROGRAM
[ -s alone.png ]
pip alone uninstall -q -y culvert
if "$room/alone/bin/python" -c 'import culvert' 2>/dev/null; then echo "something is left of it" >&2; exit 1; fi

install python3-numpy python3-pytest glslang-tools # a compiler for the pages' shaders
fresh --system-site-packages "$room/numpy"
# What the Python has that made it, also where that is an environment itself.
"$python" -c "import sysconfig; print(sysconfig.get_paths()['purelib'])" >"$(echo "$room"/numpy/lib/python3*/site-packages)/made_by.pth"
pip numpy install -q "$from"/culvert-*.whl
PATH=$room/numpy/bin:$PATH python - "$tests" <<'PROGRAM'
import os
import sys
sys.path.insert(0, sys.argv[1])
import pages
software = os.environ.get("CULVERT_SOFT") == "1"
mine = [b for b in pages.blocks() if not (software and b.libraries) and "install" not in b.words and not b.needs_compiler]
for block in mine:
    block.run_anywhere()
print(f"with NumPy: {len(mine)} blocks of the pages")
assert len(mine) > 10
PROGRAM

for archive in "$from"/culvert-*.tar.gz; do
    [ -e "$archive" ] || continue
    install cmake make g++ libvulkan-dev
    fresh "$room/sources"
    pip sources install -q "$archive"
    "$room/sources/bin/python" -c "
import culvert
with culvert.vulkan.open() as gpu, gpu.vk.buffer(4097) as buffer:
    print('from sources:', buffer.size, gpu.device.name)"
done
