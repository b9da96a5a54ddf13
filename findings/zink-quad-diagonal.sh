#!/bin/sh
# Zink draws the diagonal of a quad in line mode, and counts two primitives for it.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, mesa-vulkan-drivers 22.3.6-1+deb12u2, python3-opengl 3.1.6+dfsg-3.
# Guess: glPolygonMode(GL_FRONT_AND_BACK, GL_LINE) draws the four edges of a GL_QUADS, and GL_PRIMITIVES_GENERATED is 1, as on llvmpipe.
# Behaviour: zink makes two triangles of a quad, draws the edge between them, and counts both; a polygon of five corners is three. A wire frame of quads has
#   lines that are in no model. Draw the edges as lines.
# Seen: llvmpipe:
#   pixels of the middle that are drawn: none; primitives: 1
#   zink:
#   pixels of the middle that are drawn: some; primitives: 2
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
query = glGenQueries(1)
glPolygonMode(GL_FRONT_AND_BACK, GL_LINE)
glBeginQuery(GL_PRIMITIVES_GENERATED, int(query))
glBegin(GL_QUADS)
for x, y in ((-0.6, -0.6), (0.6, -0.6), (0.6, 0.6), (-0.6, 0.6)):
    glVertex2f(x, y)
glEnd()
glEndQuery(GL_PRIMITIVES_GENERATED)
inside = bytes(glReadPixels(3, 3, 2, 2, GL_RED, GL_UNSIGNED_BYTE))
print("pixels of the middle that are drawn:", "some" if any(inside) else "none", end="; ")
print("primitives:", int(glGetQueryObjectuiv(int(query), GL_QUERY_RESULT)))
PY
same "llvmpipe:
pixels of the middle that are drawn: none; primitives: 1
zink:
pixels of the middle that are drawn: some; primitives: 2" \
    "$(cat "$work/seen")"
