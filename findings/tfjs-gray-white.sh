#!/bin/sh
# White is 254 in TensorFlow.js's gray picture.
# Version: npm's @tensorflow/tfjs-core and tfjs-backend-cpu 4.22.0.
# Guess: rgbToGrayscale() of white bytes is 255 and each gray stays what it is: the weights of red, green and blue add up
#   to 1, and integers are rounded.
# Behaviour: the weights are 0.2989, 0.587 and 0.114 and add up to 0.9999; integers are then cut off. So each gray but 0 is one
#   too dark, and 1.0 becomes 0.9999. Add 0.5 in float before the cast to integers.
# Seen: 255 -> 254, 128 -> 127, darker by one: 255; 1.0 -> 0.9999
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-cpu@4.22.0
cat >"$work/seen.mjs" <<'JS'
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

await tf.setBackend("cpu");
const grays = Array.from({ length: 256 }, (_, i) => i);
const gray = (values, type) => tf.image.rgbToGrayscale(tf.tensor3d(values.flatMap((v) => [v, v, v]), [values.length, 1, 3], type)).dataSync();
const bytes = gray(grays, "int32");
console.log(`255 -> ${bytes[255]}, 128 -> ${bytes[128]}, darker by one: ${grays.filter((v) => bytes[v] === v - 1).length}; ` +
  `1.0 -> ${gray([1], "float32")[0].toFixed(4)}`);
JS
same "255 -> 254, 128 -> 127, darker by one: 255; 1.0 -> 0.9999" \
    "$(node "$work/seen.mjs")"
