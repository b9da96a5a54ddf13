#!/bin/sh
# The legend of three.js's color maps shows other colors than the picture.
# Version: npm's three 0.187.0.
# Guess: Lut.getColor(v) is the color that its table has there, updateCanvas() draws the same colors as a legend, and a
#   mesh whose vertices have them looks like the legend: 0.2 of "grayscale" is 404040 in all three.
# Behaviour: the table's numbers, which are meant for a screen, are taken for linear light. The legend writes them as
#   they are (404040), but each Color shows brighter: its getHexString(), and with the renderer's default output the
#   mesh, is 898989. Call convertSRGBToLinear() on a copy of each color that getColor() returns.
# Seen: 0.2: table 404040, legend 404040, color 898989, converted 404040; 0.5: table 7f7f80, legend 7f7f80, color bbbbbc, converted 7f7f80
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules three@0.187.0
cat >"$work/lut.mjs" <<'JS'
import { Color } from "three";
import { ColorMapKeywords, Lut } from "three/addons/math/Lut.js";

const lut = new Lut("grayscale", 10).setMin(0).setMax(1);
const rows = { data: new Uint8ClampedArray(4 * 10) };
lut.updateCanvas({ getContext: () => ({ getImageData: () => rows, putImageData() {} }) });

function told(value) {
  const [, hex] = ColorMapKeywords.grayscale.find(([at]) => at === value);
  const row = 4 * Math.round(9 - 10 * value); // the legend goes down from 0.9
  const legend = new Color().setRGB(...Array.from(rows.data.slice(row, row + 3), (x) => x / 255), "srgb").getHexString();
  const color = lut.getColor(value);
  return `${value}: table ${hex.toString(16)}, legend ${legend}, color ${color.getHexString()}, ` +
    `converted ${color.clone().convertSRGBToLinear().getHexString()}`;
}
console.log(`${told(0.2)}; ${told(0.5)}`);
JS
same "0.2: table 404040, legend 404040, color 898989, converted 404040; 0.5: table 7f7f80, legend 7f7f80, color bbbbbc, converted 7f7f80" \
    "$(node "$work/lut.mjs")"
