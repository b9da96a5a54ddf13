"""page.py ROOT COMPILER [FLAG...]: the headers compile alone, with exceptions and without, and so do all blocks of
docs/cpp.md. One that is no whole program stands in a function that has what the blocks speak of.
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

root, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
AROUND = """#include <cstdio>
#include <culvert/cuda_api.h>
#include <culvert/vulkan.hpp>
[[maybe_unused]] static int fail(const char *why) { return std::fputs(why, stderr), 1; }
int block(culv_vk_device *vk, CUstream stream, VkQueue queue, VkCommandBuffer commands, culv_vk_ring_desc ring_desc,
          culv_vk_buffer_create_desc buffer_desc);
int block([[maybe_unused]] culv_vk_device *vk, [[maybe_unused]] CUstream stream, [[maybe_unused]] VkQueue queue,
          [[maybe_unused]] VkCommandBuffer commands, [[maybe_unused]] culv_vk_ring_desc ring_desc,
          [[maybe_unused]] culv_vk_buffer_create_desc buffer_desc)
{
%s
    return 0;
}
"""


def compiles(name, text, *more):
    made = subprocess.run([compiler, "-std=c++17", *flags, *more, f"-I{root}/include", "-fsyntax-only", "-x", "c++", "-"],
                          input=text, capture_output=True, text=True)
    print(name, *more, "compiles" if made.returncode == 0 else "FAILED\n" + made.stderr)
    return made.returncode == 0


good = True
for header in ("culvert/culvert.hpp", "culvert/vulkan.hpp"):
    for more in ([], ["-fno-exceptions", "-fno-rtti"], ["-DCULVERT_NO_EXCEPTIONS"], ["-std=c++20"]):
        good &= compiles(header, f"#include <{header}>\n#include <{header}>\n", *more)
text = (root / "docs/cpp.md").read_text()
blocks = re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S)
for number, block in enumerate(blocks, 1):
    plain = "int main" in block
    more = ["-fno-exceptions"] if "if (!" in block and not plain else []
    good &= compiles(f"docs/cpp.md, block {number}", block if plain else AROUND % block, *more)
if len(blocks) < 4:
    sys.exit(f"docs/cpp.md has {len(blocks)} blocks")
sys.exit(not good)
