#!/bin/sh
# Zink draws back faces in the mode of front faces.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, mesa-vulkan-drivers 22.3.6-1+deb12u2, python3-opengl 3.1.6+dfsg-3.
# Guess: glPolygonMode(GL_FRONT, GL_LINE) and (GL_BACK, GL_FILL) fill a triangle that is seen from behind, as on llvmpipe.
# Behaviour: zink draws the lines of both, whatever the back's mode, and no error is there: Vulkan has one mode for both. What is seen from behind alone is a wire
#   frame. Draw twice, with one side culled each time.
# Seen: llvmpipe:
#   front has lines
#   back is filled
#   zink:
#   front has lines
#   back has lines
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
zink22 <<'PY'

SIDE = 8
glBindFramebuffer(GL_FRAMEBUFFER, glGenFramebuffers(1))
glBindRenderbuffer(GL_RENDERBUFFER, glGenRenderbuffers(1))
glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, SIDE, SIDE)
glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, 1)
glViewport(0, 0, SIDE, SIDE)
glClear(GL_COLOR_BUFFER_BIT)
glPolygonMode(GL_FRONT, GL_LINE)
glPolygonMode(GL_BACK, GL_FILL)
for name, corners in ("front", ((-1, -1), (1, -1), (-1, 1))), ("back", ((-1, -1), (-1, 1), (1, -1))):
    glClear(GL_COLOR_BUFFER_BIT)
    glBegin(GL_TRIANGLES)
    for x, y in corners:
        glVertex2f(x * 0.9, y * 0.9)
    glEnd()
    print(name, "is filled" if bytes(glReadPixels(2, 2, 1, 1, GL_RED, GL_UNSIGNED_BYTE))[0] else "has lines")
PY
same "llvmpipe:
front has lines
back is filled
zink:
front has lines
back has lines" \
    "$(cat "$work/seen")"
