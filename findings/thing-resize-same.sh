#!/bin/sh
# A picture that thi.ng's pixel library resizes to its own size is another one.
# Version: npm's @thi.ng/pixel 7.5.37.
# Guess: resize() to the same width and height gives the same picture with each filter, and to twice the width a mirrored
#   picture gives the mirrored result.
# Behaviour: with "linear", "cubic" and "lanczos" each pixel is the mean of itself and its left neighbour: the sampling point is half a
#   pixel away from the center. The picture moves by half a pixel to the right and down, and is blurred. "nearest" is right.
# Seen: nearest: 0 50 100 150 200; linear: 0 25 75 125 175; cubic: 0 21 75 125 178; 0 200 to four, linear: 0 0 100 200, mirrored: 200 200 100 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @thi.ng/pixel@7.5.37
cat >"$work/seen.mjs" <<'JS'
import { GRAY8, intBuffer } from "@thi.ng/pixel";

function resized(values, width, filter) {
  const row = intBuffer(values.length, 1, GRAY8);
  row.data.set(values);
  return Array.from(row.resize(width, 1, filter).data).join(" ");
}
console.log(["nearest", "linear", "cubic"].map((f) => `${f}: ${resized([0, 50, 100, 150, 200], 5, f)}`).join("; ") +
  `; 0 200 to four, linear: ${resized([0, 200], 4, "linear")}, mirrored: ${resized([200, 0], 4, "linear")}`);
JS
same "nearest: 0 50 100 150 200; linear: 0 25 75 125 175; cubic: 0 21 75 125 178; 0 200 to four, linear: 0 0 100 200, mirrored: 200 200 100 0" \
    "$(node "$work/seen.mjs")"
