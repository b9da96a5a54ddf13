#!/bin/sh
# TensorFlow.js's linspace() does not end at its end.
# Version: npm's @tensorflow/tfjs-core and tfjs-backend-cpu 4.22.0.
# Guess: the last of linspace(0, 1, 11) is 1, as NumPy and TensorFlow for Python promise, so that it is a valid coordinate
#   of a color map or texture.
# Behaviour: each value is the one before plus the step, in float: the last one is 1.0000001 for 11 values, 0.99999 for
#   1,001 and 1.001 for 100,001. The error grows with the count. Compute i / (n - 1) in place of it.
# Seen: 11 values end at 1.0000001, 101 values end at 0.9999993, 1001 values end at 0.9999907, 100001 values end at 1.0009902
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-cpu@4.22.0
cat >"$work/seen.mjs" <<'JS'
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

await tf.setBackend("cpu");
console.log([11, 101, 1001, 100001].map((n) => `${n} values end at ${tf.linspace(0, 1, n).dataSync()[n - 1].toFixed(7)}`).join(", "));
JS
same "11 values end at 1.0000001, 101 values end at 0.9999993, 1001 values end at 0.9999907, 100001 values end at 1.0009902" \
    "$(node "$work/seen.mjs")"
