#!/bin/sh
# VisPy's smooth interpolations brighten a picture by 1.5 percent.
# Version: python3-vispy 0.6.6-3, libgl1-mesa-dri 22.3.6-1+deb12u2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: an Image of one value shows that value with any interpolation: weights sum to 1. 0.5 is 128, as "nearest" and
#   "bilinear" have it.
# Behaviour: the weights are read from a table of bytes, and their sum is about 1.015: bicubic, lanczos, gaussian and
#   the others show 130 for 0.5 and 234 for 0.9. Pictures of bytes do the same.
# Seen: 0.5: nearest 128, bilinear 128, bicubic 130, lanczos 130, gaussian 130; 0.9: nearest 230, bilinear 230, bicubic 233, lanczos 234, gaussian 233
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
debian12 python3-vispy=0.6.6-3
cat >"$work/flat.py" <<'PY'
import numpy
import vispy

vispy.use(app="egl")
from vispy import scene  # behind use()


def brightest(value, interpolation):
    canvas = scene.SceneCanvas(size=(24, 24), show=False, bgcolor="black")
    view = canvas.central_widget.add_view(border_width=0)
    flat = numpy.full((8, 8), value, "f4")
    scene.visuals.Image(flat, cmap="grays", clim=(0, 1), interpolation=interpolation, parent=view.scene)
    view.camera = scene.PanZoomCamera(rect=(0, 0, 8, 8))
    picture = canvas.render()
    canvas.close()
    return picture[..., 0].max()


def row(value):
    names = "nearest", "bilinear", "bicubic", "lanczos", "gaussian"
    return f"{value}: " + ", ".join(f"{name} {brightest(value, name)}" for name in names)


print(f"{row(0.5)}; {row(0.9)}")
PY
same "0.5: nearest 128, bilinear 128, bicubic 130, lanczos 130, gaussian 130; 0.9: nearest 230, bilinear 230, bicubic 233, lanczos 234, gaussian 233" \
    "$(/usr/bin/python3 "$work/flat.py" 2>/dev/null)"
