#!/bin/sh
# A picture that Jimp resizes to its own size by bicubic loses its right and lower border, and one row becomes black.
# Version: npm's jimp 1.6.1.
# Guess: a resize to the same size changes nothing with each of the modes, as "nearest" and "bilinear" do, and a picture of one row
#   keeps its colors.
# Behaviour: "bicubic", "hermite" and "bezier" spread the first w - 1 columns over all w: 0 50 100 150 200 becomes 0 40 80 120 160 with
#   "hermite". In a picture of one row (or one column) these columns are none, and all is 0. The default mode and "bilinear" are right.
# Seen: bilinear: 0 50 100 150 200, one row: 0 50 100 150 200; bicubic: 0 35 77 122 164, one row: 0 0 0 0 0; hermite: 0 40 80 120 160, one row: 0 0 0 0 0; bezier: 0 38 79 121 162, one row: 0 0 0 0 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules jimp@1.6.1
cat >"$work/seen.mjs" <<'JS'
import { Jimp, ResizeStrategy } from "jimp";

function resized(rows, mode) {
  const picture = new Jimp({ width: 5, height: rows, color: 0xffffffff });
  for (let i = 0; i < 5 * rows; i++) picture.bitmap.data[4 * i] = 50 * (i % 5);
  picture.resize({ w: 5, h: rows, mode });
  return Array.from({ length: 5 }, (_, i) => picture.bitmap.data[4 * i]).join(" ");
}
console.log(["BILINEAR", "BICUBIC", "HERMITE", "BEZIER"].map((m) =>
  `${m.toLowerCase()}: ${resized(3, ResizeStrategy[m])}, one row: ${resized(1, ResizeStrategy[m])}`).join("; "));
JS
same "bilinear: 0 50 100 150 200, one row: 0 50 100 150 200; bicubic: 0 35 77 122 164, one row: 0 0 0 0 0; hermite: 0 40 80 120 160, one row: 0 0 0 0 0; bezier: 0 38 79 121 162, one row: 0 0 0 0 0" \
    "$(node "$work/seen.mjs")"
