#!/bin/sh
# SciPy makes half a turn about x of a matrix that mirrors, and says nothing.
# Version: python3-scipy 1.10.1-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: Rotation.from_matrix of a mirror (Vulkan's flipped y, a left-handed camera) raises ValueError, as
#   from_quat does for zeros; a matrix that is nearly a rotation becomes the nearest one.
# Behaviour: diag(1, -1, 1), diag(1, 1, -1) and -1 become the same half turn about x, which moves two
#   directions of three elsewhere. A rotation by 30 degrees about z becomes, once it is mirrored, a half turn
#   about z. Look at the determinant first.
# Seen: diag(1, -1, 1), diag(1, 1, -1), diag(-1, -1, -1) become diag(1, -1, -1); 30 degrees about z, y mirrored, becomes 180 degrees about 0.00 0.00 1.00
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/mirror.py" <<'PY'
import warnings

import numpy
from scipy.spatial.transform import Rotation

warnings.simplefilter("error")
names, made = [], set()
for signs in ((1, -1, 1), (1, 1, -1), (-1, -1, -1)):
    matrix = Rotation.from_matrix(numpy.diag(signs)).as_matrix().round(12) + 0.0
    assert numpy.array_equal(matrix, numpy.diag(matrix.diagonal()))
    names.append(f"diag{signs}")
    made.add(", ".join(f"{x:g}" for x in matrix.diagonal()))
print(f"{', '.join(names)} become {' or '.join(f'diag({m})' for m in sorted(made))}; ", end="")
turned = numpy.diag([1, -1, 1]) @ Rotation.from_euler("z", 30, degrees=True).as_matrix()
vector = Rotation.from_matrix(turned).as_rotvec()
angle = numpy.linalg.norm(vector)
axis = " ".join(f"{abs(x):.2f}" for x in vector / angle)
print(f"30 degrees about z, y mirrored, becomes {numpy.degrees(angle):.0f} degrees about {axis}")
PY
same "diag(1, -1, 1), diag(1, 1, -1), diag(-1, -1, -1) become diag(1, -1, -1); 30 degrees about z, y mirrored, becomes 180 degrees about 0.00 0.00 1.00" "$(/usr/bin/python3 "$work/mirror.py")"
