#!/bin/sh
# yt's off-axis projection along z is not its projection along z: it leaves a row and a column at zero.
# Version: python3-yt 4.1.4-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: off_axis_projection() with the normal 0 0 1, the domain's centre and its width is the picture that proj() along
#   z gives: a field of 1 in a box of 1 is 1 in each pixel, and a ramp has its values at the pixels' centres.
# Behaviour: the rays stand at the corners of pixels, from one edge to the other, so N pixels are N - 1 steps wide, and
#   the last row and column, at the edge, are 0: of 4 x 4 pixels seven. Sums over the picture (a mass) are (1 - 1/N)^2
#   of the right ones: 3 percent less at 64 x 64. The weighted mean has the same border.
# Seen: proj: sum 1, ramp 0.125 0.375 0.625 0.875; off axis: sum 0.5625, ramp 0.0312 0.344 0.656 0; at 64 x 64: sum 0.969
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-yt=4.1.4-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/project.py" <<'PY'
import numpy
import yt

yt.set_log_level(50)
box = numpy.array([[0, 1]] * 3)
one, ramp = ("stream", "one"), ("stream", "ramp")
x = numpy.broadcast_to(((numpy.arange(16) + 0.5) / 16)[:, None, None], (16, 16, 16)).copy()
data = yt.load_uniform_grid({"one": numpy.ones_like(x), "ramp": x}, x.shape, length_unit=1.0, bbox=box)


def along(field, n):
    return numpy.array(data.proj(field, 2).to_frb(1.0, n)[field])


def off_axis(field, n):
    picture = yt.off_axis_projection(data, [0.5] * 3, [0, 0, 1], 1.0, n, field, north_vector=[0, 1, 0], num_threads=1)
    return numpy.array(picture).T  # its first index is x


def told(project):
    return f"sum {project(one, 4).sum() / 4**2:.4g}, ramp " + " ".join(f"{v:.3g}" for v in project(ramp, 4)[0])


print(f"proj: {told(along)}; off axis: {told(off_axis)}; at 64 x 64: sum {off_axis(one, 64).sum() / 64**2:.3g}")
PY
same "proj: sum 1, ramp 0.125 0.375 0.625 0.875; off axis: sum 0.5625, ramp 0.0312 0.344 0.656 0; at 64 x 64: sum 0.969" \
    "$(/usr/bin/python3 "$work/project.py" 2>"$work/log")"
