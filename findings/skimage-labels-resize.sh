#!/bin/sh
# scikit-image's nearest neighbor makes a label 4 between the labels 1 and 5.
# Version: python3-skimage 0.19.3-8, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: resize(labels, order=0, preserve_range=True) of whole numbers picks one of the labels for each pixel: the
#   order 0 is "nearest neighbor", and what anti_aliasing does by default is meant for pictures.
# Behaviour: when it shrinks, a Gaussian blur goes before the pick for all but bool, and the result is cut off to
#   whole numbers again. A segmentation of 0, 1 and 5 gets pixels of 4 where two regions meet: another organ or
#   material. Neither an error nor a warning comes, and enlarging shows nothing. anti_aliasing=False is needed.
# Seen: labels 0 1 5 to 5 x 5: 0 1 4; rescale by a half: 0 1 4 5; anti_aliasing=False: 0 1 5; enlarged: 0 1 5
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-skimage=0.19.3-8 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/labels.py" <<'PY'
import numpy
from skimage import transform

labels = numpy.zeros((12, 12), "u1")
labels[:, 3:8], labels[:, 8:] = 1, 5


def found(function, how, **more):
    return " ".join(map(str, numpy.unique(function(labels, how, order=0, preserve_range=True, **more))))


print(f"labels 0 1 5 to 5 x 5: {found(transform.resize, (5, 5))}; rescale by a half: {found(transform.rescale, 0.5)}; ", end="")
print(f"anti_aliasing=False: {found(transform.resize, (5, 5), anti_aliasing=False)}; enlarged: {found(transform.resize, (30, 30))}")
PY
same "labels 0 1 5 to 5 x 5: 0 1 4; rescale by a half: 0 1 4 5; anti_aliasing=False: 0 1 5; enlarged: 0 1 5" \
    "$(/usr/bin/python3 -W error::UserWarning "$work/labels.py")"
