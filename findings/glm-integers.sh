#!/bin/sh
# usubBorrow(5, 3) of GLM is 4294967294, and findMSB(-1) is 31.
# Version: libglm-dev 0.9.9.8+ds-6, g++ 4:12.2.0-3, python3-moderngl 5.7.4-1+b1 on libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: GLM's integer functions are GLSL's of the same names, as its header says (for -1 and 0 findMSB is -1, for other
#   negative numbers the highest bit that is 0; usubBorrow is x - y, and 2^32 more if that is negative), so code of
#   a shader (an octree's key, a long subtraction) can be tried on the CPU.
# Behaviour: usubBorrow gives y - x: 5 - 3 is 4294967294, 3 - 5 is 2, while the borrow is right. findMSB takes the sign for
#   the highest bit. bitfieldExtract of an int does not extend the sign. Mesa's compute shader has the header's numbers.
# Seen (usubBorrow 5 3, 3 5, findMSB -1, -2, -256, bitfieldExtract 240 4 4): GLM 4294967294 2 31 31 31 15; shader 2 4294967294 -1 0 7 -1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libglm-dev=0.9.9.8+ds-6
moderngl57
cat >"$work/glm.cc" <<'CC'
#include <glm/integer.hpp>
#include <cstdio>

int main()
{
    glm::uint borrow;
    std::printf("%u %u %d %d %d %d\n", glm::usubBorrow(5U, 3U, borrow), glm::usubBorrow(3U, 5U, borrow), glm::findMSB(-1),
                glm::findMSB(-2), glm::findMSB(-256), glm::bitfieldExtract(240, 4, 4));
}
CC
g++ -O1 "$work/glm.cc" -o "$work/glm" 2>"$work/log" || unknown "g++ does not compile the program"
cat >"$work/shader.py" <<'PY'
import struct
import moderngl

context = moderngl.create_context(standalone=True, backend="egl")
out = context.buffer(struct.pack("6i", 5, 3, -1, -2, -256, 240))
out.bind_to_storage_buffer(0)
context.compute_shader("""#version 430
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { int v[6]; };
void main() {
    uint five = v[0], three = v[1], borrow;
    v[0] = int(usubBorrow(five, three, borrow)), v[1] = int(usubBorrow(three, five, borrow));
    v[2] = findMSB(v[2]), v[3] = findMSB(v[3]), v[4] = findMSB(v[4]), v[5] = bitfieldExtract(v[5], 4, 4);
}
""").run(1)
print(*struct.unpack("2I4i", out.read()))
PY
same "GLM 4294967294 2 31 31 31 15; shader 2 4294967294 -1 0 7 -1" "GLM $("$work/glm"); shader $(/usr/bin/python3 "$work/shader.py" 2>"$work/log")"
