#!/bin/sh
# A half turn by TensorFlow.js loses a row and a column.
# Version: npm's @tensorflow/tfjs-core and tfjs-backend-cpu 4.22.0.
# Guess: rotateWithOffset() turns around the picture's center by default, as its page says, so a half turn is a flip of
#   rows and columns, and each pixel comes back after two.
# Behaviour: the center is taken as width / 2 and height / 2 in a frame where the first pixel is 0, so it is half a pixel too
#   far right and down. A half turn puts the first row and column out of the picture and fills them with zeros. Pass
#   center = [(width - 1) / (2 * width), (height - 1) / (2 * height)].
# Seen: 1 2 3 / 4 5 6 by half a turn: 0 0 0 0 6 5; around the true center: 6 5 4 3 2 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-cpu@4.22.0
cat >"$work/seen.mjs" <<'JS'
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

await tf.setBackend("cpu");
const picture = tf.tensor4d([1, 2, 3, 4, 5, 6], [1, 2, 3, 1]);
const turned = (center) => tf.image.rotateWithOffset(picture, Math.PI, 0, center).dataSync().join(" ");
console.log(`1 2 3 / 4 5 6 by half a turn: ${turned()}; around the true center: ${turned([1 / 3, 1 / 4])}`);
JS
same "1 2 3 / 4 5 6 by half a turn: 0 0 0 0 6 5; around the true center: 6 5 4 3 2 1" \
    "$(node "$work/seen.mjs")"
