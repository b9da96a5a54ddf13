#!/bin/sh
# Cesium's heading of something that looks straight up is another one.
# Version: npm's @cesium/engine 24.0.0.
# Guess: HeadingPitchRoll.fromQuaternion() may choose heading and roll at a pitch of 90 degrees, where they are one angle, but
#   what it says describes the same attitude: turned back into a quaternion, it is the one from before.
# Behaviour: at exactly 90 degrees heading and roll come from atan2() of rounding errors: heading 1, roll 0.5 come back as 1.57 and
#   1.57, which is 29 degrees off. At 89.95 degrees all is right. Keep the quaternion.
# Seen: pitch 89.95: 0.0 degrees off; pitch 90: 28.6 degrees off; pitch -90: 12.8 degrees off
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @cesium/engine@24.0.0
cat >"$work/seen.mjs" <<'JS'
import HeadingPitchRoll from "@cesium/engine/Source/Core/HeadingPitchRoll.js";
import Quaternion from "@cesium/engine/Source/Core/Quaternion.js";

function off(heading, degrees, roll) {
  const before = Quaternion.fromHeadingPitchRoll(new HeadingPitchRoll(heading, (degrees * Math.PI) / 180, roll));
  const after = Quaternion.fromHeadingPitchRoll(HeadingPitchRoll.fromQuaternion(before));
  return `${((2 * Math.acos(Math.min(1, Math.abs(Quaternion.dot(before, after)))) * 180) / Math.PI).toFixed(1)} degrees off`;
}
console.log(`pitch 89.95: ${off(1, 89.95, 0.5)}; pitch 90: ${off(1, 90, 0.5)}; pitch -90: ${off(-2, -90, 0.3)}`);
JS
same "pitch 89.95: 0.0 degrees off; pitch 90: 28.6 degrees off; pitch -90: 12.8 degrees off" \
    "$(node "$work/seen.mjs")"
