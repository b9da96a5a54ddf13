#!/bin/sh
# TensorFlow.js divides integers downwards, and its mean does not.
# Version: npm's @tensorflow/tfjs-core and tfjs-backend-cpu 4.22.0.
# Guess: div() is A / B, as its page says and TensorFlow for Python does it: 7 / 2 is 3.5 for integers, too, as mean() of the
#   integers 3 and 4 is 3.5. If not, it would cut off as C does.
# Behaviour: if both tensors are int32, div() is floorDiv(): 7 / 2 is 3 and -7 / 2 is -4, still int32. With a float on one side it
#   is 3.5. toFloat() first.
# Seen: 7 and -7 by 2: 3 -4 (int32), by 2.0: 3.5 -3.5 (float32); mean of 3 and 4: 3.5 (float32)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-cpu@4.22.0
cat >"$work/seen.mjs" <<'JS'
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

await tf.setBackend("cpu");
const told = (t) => `${t.dataSync().join(" ")} (${t.dtype})`;
const seven = tf.tensor1d([7, -7], "int32"), two = tf.tensor1d([2, 2], "int32");
console.log(`7 and -7 by 2: ${told(tf.div(seven, two))}, by 2.0: ${told(tf.div(seven, tf.tensor1d([2, 2])))}; ` +
  `mean of 3 and 4: ${told(tf.mean(tf.tensor1d([3, 4], "int32")))}`);
JS
same "7 and -7 by 2: 3 -4 (int32), by 2.0: 3.5 -3.5 (float32); mean of 3 and 4: 3.5 (float32)" \
    "$(node "$work/seen.mjs")"
