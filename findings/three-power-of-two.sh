#!/bin/sh
# three.js rounds 2^29 up to 2^30.
# Version: npm's three 0.187.0.
# Guess: MathUtils.ceilPowerOfTwo(n) is n for each power of two, and floorPowerOfTwo(n), too: doubles are exact there.
# Behaviour: both divide two natural logarithms. 2^29 (512 MiB), 2^31 and three more below 2^53 double; a buffer of
#   512 MiB that is rounded up is 1 GiB. Down they are right.
# Seen: up 2^29 becomes 2^30; wrong up: 29 31 39 47 51; wrong down: none
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules three@0.187.0
cat >"$work/power.mjs" <<'JS'
import { MathUtils } from "three";

const wrong = (f) => [...Array(53).keys()].filter((n) => f(2 ** n) !== 2 ** n).join(" ") || "none";
console.log(
  `up 2^29 becomes 2^${Math.log2(MathUtils.ceilPowerOfTwo(2 ** 29))}; ` +
  `wrong up: ${wrong(MathUtils.ceilPowerOfTwo)}; wrong down: ${wrong(MathUtils.floorPowerOfTwo)}`);
JS
same "up 2^29 becomes 2^30; wrong up: 29 31 39 47 51; wrong down: none" "$(node "$work/power.mjs")"
