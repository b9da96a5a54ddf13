#!/bin/sh
# PyOpenGL's glReadPixels() changes the context's pack alignment.
# Version: python3-opengl 3.1.6+dfsg-3, python3-numpy 1:1.24.2-1+deb12u1, libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: a program that sets GL_PACK_ALIGNMENT to 4 has it as 4 after glReadPixels(): a query of pixels leaves the state alone, or
#   puts it back.
# Behaviour: it is 1 afterwards. A later read by another library in the same context, which relies on rows of 4 bytes,
#   has them closer together. Set the state before each read.
# Seen: before: 4; after: 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
pyopengl316
cat >"$work/seen.py" <<'PY'
import context  # made current
from OpenGL.GL import *

glBindFramebuffer(GL_FRAMEBUFFER, glGenFramebuffers(1))
glBindTexture(GL_TEXTURE_2D, glGenTextures(1))
glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 3, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, bytes(24))
glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, glGetIntegerv(GL_TEXTURE_BINDING_2D), 0)
glPixelStorei(GL_PACK_ALIGNMENT, 4)
before = glGetIntegerv(GL_PACK_ALIGNMENT)
glReadPixels(0, 0, 3, 2, GL_RGB, GL_UNSIGNED_BYTE)
print(f"before: {before}; after: {glGetIntegerv(GL_PACK_ALIGNMENT)}")
PY
same "before: 4; after: 1" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
