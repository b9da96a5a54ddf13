#!/bin/sh
# Cesium inverts the matrix of a small model to zeros.
# Version: npm's @cesium/engine 24.0.0.
# Guess: Matrix4.inverse() of a scale by 1e-8 is a scale by 1e8: numbers are doubles, so nothing is near their limits, and a
#   model in units of 10 nanometres is valid. If it could not be inverted, the exception of the page would come.
# Behaviour: below a determinant of 1e-21 (a scale of about 1e-7) a matrix whose 3 x 3 part has small elements is answered by zeros
#   and the negated translation, without an error. Matrix3.inverse() of a scale by 1e-6 throws that the matrix is not
#   invertible, while Matrix4 inverts it. Use Matrix4.inverseTransformation() for rotations, and scale by hand.
# Seen: 4 x 4: 1e-6 -> 1000000, 1e-8 -> 0; 3 x 3: 1e-4 -> 10000, 1e-6 -> matrix is not invertible
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @cesium/engine@24.0.0
cat >"$work/seen.mjs" <<'JS'
import Matrix3 from "@cesium/engine/Source/Core/Matrix3.js";
import Matrix4 from "@cesium/engine/Source/Core/Matrix4.js";

function told(M, scale) {
  try {
    return `${M.inverse(M.fromUniformScale(scale), new M())[0].toPrecision(6) * 1}`;
  } catch (error) {
    return error.message;
  }
}
console.log(`4 x 4: 1e-6 -> ${told(Matrix4, 1e-6)}, 1e-8 -> ${told(Matrix4, 1e-8)}; 3 x 3: 1e-4 -> ${told(Matrix3, 1e-4)}, 1e-6 -> ${told(Matrix3, 1e-6)}`);
JS
same "4 x 4: 1e-6 -> 1000000, 1e-8 -> 0; 3 x 3: 1e-4 -> 10000, 1e-6 -> matrix is not invertible" \
    "$(node "$work/seen.mjs")"
