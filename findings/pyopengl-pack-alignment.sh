#!/bin/sh
# PyOpenGL's glReadPixels() changes the context's pack alignment.
# Version: python3-opengl 3.1.6+dfsg-3, python3-numpy 1:1.24.2-1+deb12u1, libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: a program that sets GL_PACK_ALIGNMENT to 4 has it as 4 after glReadPixels(): a query of pixels leaves the state alone, or
#   puts it back.
# Behaviour: it is 1 afterwards, while row length and skipped rows, which would change where its own bytes go, stay. A later read by
#   another library in the same context, which relies on rows of 4 bytes, has them closer together. Set the state before each read.
# Seen: before: alignment 8, row length 7, skipped rows 1; after: alignment 1, row length 7, skipped rows 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 libgl1-mesa-dri=22.3.6-1+deb12u2 libegl-mesa0=22.3.6-1+deb12u2 libegl1=1.6.0-1 libgl1=1.6.0-1 libopengl0=1.6.0-1 \
    python3-opengl=3.1.6+dfsg-3 python3-numpy=1:1.24.2-1+deb12u1
export PYOPENGL_PLATFORM=egl EGL_PLATFORM=surfaceless LIBGL_ALWAYS_SOFTWARE=1
cat >"$work/seen.py" <<'PY'
from OpenGL.EGL import *

display = eglGetDisplay(EGL_DEFAULT_DISPLAY)
eglInitialize(display, EGLint(), EGLint())
eglBindAPI(EGL_OPENGL_API)
config = (EGLConfig * 1)()
eglChooseConfig(display, (EGLint * 3)(EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE), config, 1, EGLint())
eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, eglCreateContext(display, config[0], EGL_NO_CONTEXT, None))
from OpenGL.GL import *

glBindFramebuffer(GL_FRAMEBUFFER, glGenFramebuffers(1))
glBindTexture(GL_TEXTURE_2D, glGenTextures(1))
glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 3, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, bytes(24))
glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, glGetIntegerv(GL_TEXTURE_BINDING_2D), 0)
state = {"alignment": GL_PACK_ALIGNMENT, "row length": GL_PACK_ROW_LENGTH, "skipped rows": GL_PACK_SKIP_ROWS}
for name, value in zip(state.values(), (8, 7, 1)):
    glPixelStorei(name, value)
told = lambda: ", ".join(f"{name} {glGetIntegerv(at)}" for name, at in state.items())
before = told()
glReadPixels(0, 0, 3, 1, GL_RGB, GL_UNSIGNED_BYTE)
print(f"before: {before}; after: {told()}")
PY
same "before: alignment 8, row length 7, skipped rows 1; after: alignment 1, row length 7, skipped rows 1" \
    "$(/usr/bin/python3 "$work/seen.py" 2>"$work/log")"
