#!/bin/sh
# SciPy's distance between two colors of bytes is 246 by one function and 14 by the other.
# Version: python3-scipy 1.10.1-2, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: distance.euclidean(a, b) is the cell of distance.cdist([a], [b]): pixels of bytes become doubles first, as
#   cdist and pdist do, and sqeuclidean of the same module.
# Behaviour: euclidean, cityblock and cosine subtract or multiply in bytes, which wrap: 10, 20 and 20, 10 are 246.2
#   apart instead of 14.1, and a b is not as far from a as a from b. sqeuclidean is 200, whose root is 14.1. Nothing
#   warns. So the color that lies next, or a metric given to a cluster by its function, is chance.
# Seen: euclidean 246.2, cdist 14.1; cityblock 256, cdist 20; cosine 0.64, cdist 0.20; sqeuclidean 200, cdist 200
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/distance.py" <<'PY'
import numpy
from scipy.spatial import distance

a, b = numpy.array([[10, 20], [20, 10]], "u1")
texts = []
for name, digits in (("euclidean", 1), ("cityblock", 0), ("cosine", 2), ("sqeuclidean", 0)):
    texts.append(f"{name} {getattr(distance, name)(a, b):.{digits}f}, cdist {distance.cdist([a], [b], name)[0, 0]:.{digits}f}")
print("; ".join(texts))
PY
same "euclidean 246.2, cdist 14.1; cityblock 256, cdist 20; cosine 0.64, cdist 0.20; sqeuclidean 200, cdist 200" "$(/usr/bin/python3 "$work/distance.py")"
