#!/bin/sh
# Zink fills polygons whole that are stippled.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, mesa-vulkan-drivers 22.3.6-1+deb12u2, python3-opengl 3.1.6+dfsg-3.
# Guess: glPolygonStipple() with every other column set lets zink draw every other column, as llvmpipe does; zink offers the compatibility profile.
# Behaviour: zink draws all pixels, and no error is there. Line stipple works on both. Where a stipple means "transparent", what is behind is covered. Discard in a
#   shader by gl_FragCoord.
# Seen: llvmpipe:
#   polygon: #.#.#.#.
#   line: #.#.#.#.
#   zink:
#   polygon: ########
#   line: #.#.#.#.
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
glEnable(GL_POLYGON_STIPPLE)
glPolygonStipple(bytes([0xAA] * 128))
glRectf(-1, -1, 1, 1)
glDisable(GL_POLYGON_STIPPLE)
row = glReadPixels(0, 0, SIDE, 1, GL_RED, GL_UNSIGNED_BYTE)
print("polygon:", "".join("#" if value else "." for value in bytes(row)))
glClear(GL_COLOR_BUFFER_BIT)
glEnable(GL_LINE_STIPPLE)
glLineStipple(1, 0x5555)
glBegin(GL_LINES)
glVertex2f(-1, 0.1)
glVertex2f(1, 0.1)
glEnd()
row = glReadPixels(0, SIDE // 2, SIDE, 1, GL_RED, GL_UNSIGNED_BYTE)
print("line:", "".join("#" if value else "." for value in bytes(row)))
PY
same "llvmpipe:
polygon: #.#.#.#.
line: #.#.#.#.
zink:
polygon: ########
line: #.#.#.#." \
    "$(cat "$work/seen")"
