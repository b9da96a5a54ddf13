#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gl_moderngl: an array library writes a texture and a vertex buffer of moderngl's program. Nothing is copied by the host.

The texture is Culvert's, in memory that both sides have. The vertex buffer is moderngl's own, registered with CUDA.
With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU. Debian: python3-moderngl.
usage: gl_moderngl.py [--size N] [--frames N] [--out FILE.png]"""
from typing import Any

from common import arguments, array_library, write_png

import culvert

VERTEX = """#version 450
in vec2 place;
void main() { gl_Position = vec4(place, 0, 1); }
"""
FRAGMENT = """#version 450
uniform sampler2D picture;
out vec4 color;
void main() { color = texelFetch(picture, ivec2(gl_FragCoord.xy), 0); }
"""


def main() -> None:
    options = arguments(__doc__, "gl_moderngl.png", 20)
    import moderngl
    n = options.size
    xp, array_of = array_library()
    # moderngl's own types say that a backend is a dict.
    egl: Any = "egl"  # its stubs say otherwise
    context = moderngl.create_context(standalone=True, require=450, backend=egl)
    y, x = xp.meshgrid(xp.linspace(-1, 1, n, dtype="float32"), xp.linspace(-1, 1, n, dtype="float32"), indexing="ij")
    with culvert.gl.attach() as gl, gl.texture(xp.zeros((n, n, 4), "uint8")) as texture:
        picture = context.external_texture(texture.name, (n, n), 4, 0, "f1")
        vertices = context.buffer(reserve=4 * 2 * 4)  # moderngl's own
        target = context.framebuffer([context.texture((n, n), 4)])
        program = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
        quad = context.vertex_array(program, [(vertices, "2f", "place")])
        with gl.register_buffer(vertices.glo, "float32", (4, 2)) as corners:
            with corners.cuda() as turn:
                array_of(turn.tensor())[:] = xp.asarray([[-1, -1], [1, -1], [-1, 1], [1, 1]], dtype="float32")
            for frame in range(options.frames):
                r = xp.sqrt((x - 0.3) ** 2 + (y + 0.1) ** 2)
                waves = [xp.sin(20 * r - 0.3 * frame + phase) for phase in (0, 1, 2)] + [xp.ones_like(r)]
                texture.update((127.5 + 127.5 * xp.stack(waves, axis=-1)).astype("uint8"))  # in a turn of CUDA's
                target.use()
                picture.use(0)
                quad.render(moderngl.TRIANGLE_STRIP)
        write_png(options.out, target.read(components=4), n, n)
        print(f"{xp.__name__}: {options.frames} frames by {texture.way} on {gl.report.renderer}: {options.out}")


if __name__ == "__main__":
    main()
