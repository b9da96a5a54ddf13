#!/bin/sh
# GLM packs 0.00001 into R11G11B10 as 42,496.
# Version: libglm-dev 0.9.9.8+ds-6, g++ 4:12.2.0-3.
# Guess: packF2x11_1x10 makes what a GPU reads as GL_R11F_G11F_B10F, and a number too small becomes a small one or
#   0; packF3x9_E1x5 (RGB9_E5) keeps all up to its largest, 65,408.
# Behaviour: below 6.1e-5 there is no check: the exponent wraps around to 30, which a GPU reads as GLM does, so
#   1e-5 becomes 42,496 and 1e-6 4,288; 131,072 becomes 0 instead of the largest. RGB9_E5 of all above 32,768 is
#   32,768. So the darkest pixels of an HDR picture that is uploaded so are its brightest.
# Seen: R11G11B10: 0.1 is 0.0996094, 1e-05 is 42496 (exponent 30), 1e-06 is 4288, 131072 is 0; RGB9_E5: 30000 is 30016, 60000 is 32768
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 g++=4:12.2.0-3 libglm-dev=0.9.9.8+ds-6
cat >"$work/pack.cc" <<'CC'
#include <glm/glm.hpp>
#include <glm/gtc/packing.hpp>
#include <cstdio>

static double eleven(float x)
{
    return double(glm::unpackF2x11_1x10(glm::packF2x11_1x10(glm::vec3(x))).x);
}

static double shared(float x)
{
    return double(glm::unpackF3x9_E1x5(glm::packF3x9_E1x5(glm::vec3(x))).x);
}

int main()
{
    std::printf("R11G11B10: 0.1 is %g, 1e-05 is %g (exponent %u), 1e-06 is %g, 131072 is %g; ", eleven(0.1F), eleven(1e-5F),
                glm::packF2x11_1x10(glm::vec3(1e-5F)) >> 6 & 31, eleven(1e-6F), eleven(131072));
    std::printf("RGB9_E5: 30000 is %g, 60000 is %g\n", shared(30000), shared(60000));
}
CC
g++ -O1 "$work/pack.cc" -o "$work/pack" 2>"$work/log" || unknown "g++ does not compile the program"
same "R11G11B10: 0.1 is 0.0996094, 1e-05 is 42496 (exponent 30), 1e-06 is 4288, 131072 is 0; RGB9_E5: 30000 is 30016, 60000 is 32768" "$("$work/pack")"
