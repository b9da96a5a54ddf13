#!/bin/sh
# vips enlarges half a pixel to the right.
# Version: libvips-tools 8.14.1-3+deb12u3.
# Guess: vips resize by 2 with the linear kernel takes pixel centers to pixel centers, so that a mirrored row gives the mirrored answer. The nearest
#   kernel, and each kernel that makes smaller, do.
# Behaviour: each enlarged pixel holds what belongs half a pixel further left, with linear, cubic and the lanczos kernels, by any factor: the left end is
#   twice 0, the right end only once 240. A picture that is laid over another one, enlarged by other software, does not fit. Use vips affine with
#   odx and ody of 0.5.
# Seen: right nearest: 0 0 60 60 120 120 180 180 240 240
#   right linear: 0 0 30 60 90 120 150 180 210 240
#   left linear: 240 240 210 180 150 120 90 60 30 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 libvips-tools=8.14.1-3+deb12u3
cd "$work"
printf 'P2\n5 1\n255\n0 60 120 180 240\n' >right.pgm
printf 'P2\n5 1\n255\n240 180 120 60 0\n' >left.pgm
told() { # file, kernel
    { vips resize "$1.pgm" big.v 2 --vscale 1 --kernel "$2" && vips copy big.v big.csv; } >log 2>&1 || unknown "vips resize"
    echo "$1 $2: $(tr '\t' ' ' <big.csv)"
}
same "right nearest: 0 0 60 60 120 120 180 180 240 240
right linear: 0 0 30 60 90 120 150 180 210 240
left linear: 240 240 210 180 150 120 90 60 30 0" \
    "$(told right nearest; told right linear; told left linear)"
