#!/bin/sh
# math.gl's Euler angles give one rotation as a matrix and another one as a quaternion.
# Version: npm's @math.gl/core 4.1.0.
# Guess: new Euler(x, y, z, order) is one rotation: getRotationMatrix() and getQuaternion() turn a vector to the same place, for
#   each of the six orders.
# Behaviour: for XYZ they do. For the five others getQuaternion() gives the angles x, y and z to the axes in the order's sequence, so for ZYX
#   x's angle turns around z. Build the quaternion by rotateZ(z), rotateY(y) and rotateX(x).
# Seen: XYZ: z goes to 0.00 -1.00 0.00 by matrix, 0.00 -1.00 0.00 by quaternion; ZYX: z goes to 0.00 -1.00 0.00 by matrix, 0.00 0.00 1.00 by quaternion; YXZ: z goes to 0.00 -1.00 0.00 by matrix, 1.00 0.00 0.00 by quaternion
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @math.gl/core@4.1.0
cat >"$work/seen.mjs" <<'JS'
import { Euler, Vector3 } from "@math.gl/core";

const show = (v) => [...v].map((x) => x.toFixed(2)).join(" ");
console.log(["XYZ", "ZYX", "YXZ"].map((order) => {
  const turn = new Euler(Math.PI / 2, 0, 0, Euler[order]); // a quarter around x
  return `${order}: z goes to ${show(turn.getRotationMatrix().slice(8, 11))} by matrix, ` +
    `${show(new Vector3(0, 0, 1).transformByQuaternion(turn.getQuaternion()))} by quaternion`;
}).join("; "));
JS
same "XYZ: z goes to 0.00 -1.00 0.00 by matrix, 0.00 -1.00 0.00 by quaternion; ZYX: z goes to 0.00 -1.00 0.00 by matrix, 0.00 0.00 1.00 by quaternion; YXZ: z goes to 0.00 -1.00 0.00 by matrix, 1.00 0.00 0.00 by quaternion" \
    "$(node "$work/seen.mjs")"
