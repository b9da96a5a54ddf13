#!/bin/sh
# math.gl's spherical coordinates of a point are those of another point.
# Version: npm's @math.gl/core 4.1.0.
# Guess: fromVector3() and toVector3() of SphericalCoordinates are each other's inverse.
# Behaviour: fromVector3() takes phi as the angle from z and theta as the one around z; toVector3() turns by theta around x first
#   and by phi around z then, so the two angles have changed places. 1 2 3 comes back as 1.00 -1.34 3.35. The length is kept.
#   Compute the vector by hand.
# Seen: 1 2 3 -> 1.00 -1.34 3.35; 1 0 0 -> 1.00 -0.00 0.00; 0 0 1 -> 0.00 0.00 1.00
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @math.gl/core@4.1.0
cat >"$work/seen.mjs" <<'JS'
import { SphericalCoordinates } from "@math.gl/core";

const back = (v) => [...new SphericalCoordinates().fromVector3(v).toVector3()].map((x) => x.toFixed(2)).join(" ");
console.log(`1 2 3 -> ${back([1, 2, 3])}; 1 0 0 -> ${back([1, 0, 0])}; 0 0 1 -> ${back([0, 0, 1])}`);
JS
same "1 2 3 -> 1.00 -1.34 3.35; 1 0 0 -> 1.00 -0.00 0.00; 0 0 1 -> 0.00 0.00 1.00" \
    "$(node "$work/seen.mjs")"
