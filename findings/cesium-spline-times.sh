#!/bin/sh
# Cesium's natural spline through points of a straight line swings if their times are not one apart.
# Version: npm's @cesium/engine 24.0.0.
# Guess: three points x = t at the times 0, 0.1 and 1 give x = t at each time: a natural cubic spline of a straight line is that
#   line, and its page promises a curve of class C2. Its example has times that are 1.5 apart.
# Behaviour: the tangents are computed as if all times were one apart. With 0, 1, 2 the curve is the line; with 0, 0.5, 1 it is
#   0.024 off, and with 0, 0.1, 1 it is 0.074 off and its speed jumps at 0.1. Give the points the times 0, 1, 2 ..., if they are even.
# Seen: times 0, 1, 2: 0.000 off; times 0, 0.5, 1: 0.024 off; times 0, 0.1, 1: 0.074 off
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @cesium/engine@24.0.0
cat >"$work/seen.mjs" <<'JS'
import Cartesian3 from "@cesium/engine/Source/Core/Cartesian3.js";
import HermiteSpline from "@cesium/engine/Source/Core/HermiteSpline.js";

function off(times) {
  const spline = HermiteSpline.createNaturalCubic({ times, points: times.map((t) => new Cartesian3(t, 0, 0)) });
  const at = Array.from({ length: 1001 }, (_, i) => (i / 1000) * times[2]);
  return `times ${times.join(", ")}: ${Math.max(...at.map((t) => Math.abs(spline.evaluate(t).x - t))).toFixed(3)} off`;
}
console.log([[0, 1, 2], [0, 0.5, 1], [0, 0.1, 1]].map(off).join("; "));
JS
same "times 0, 1, 2: 0.000 off; times 0, 0.5, 1: 0.024 off; times 0, 0.1, 1: 0.074 off" \
    "$(node "$work/seen.mjs")"
