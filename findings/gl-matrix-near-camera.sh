#!/bin/sh
# gl-matrix's camera jumps to the origin if its target is nearer than a millionth.
# Version: npm's gl-matrix 3.4.4 and wgpu-matrix 3.4.2.
# Guess: lookAt() depends on the direction to the target only, and puts the eye at 0 0 0 at each scale: a scene in
#   metres may be a micrometre wide, and float's digits are the same there.
# Behaviour: if eye and target differ by less than 0.000001 in x, y and z each, the matrix is the identity: not
#   looking elsewhere from the same eye, but from the origin, along -z. At five millionths all is right.
# Seen: target 5e-6 away: eye becomes 0 0 0, target 0 0 -0.000005; 5e-7 away: eye becomes 2 0 0, target 2.0000005 0 0; wgpu-matrix: eye becomes 0 0 0, target 0 0 -5e-7
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules wgpu-matrix@3.4.2 gl-matrix@3.4.4
cat >"$work/near.mjs" <<'JS'
import * as gl from "gl-matrix";
import * as wgpu from "wgpu-matrix";

gl.glMatrix.setMatrixArrayType(Array); // doubles, so digits are not in question
const eye = [2, 0, 0], up = [0, 1, 0];
const show = (v) => v.map((x) => Number(x.toPrecision(8))).map((x) => (Math.abs(x) < 1e-12 ? 0 : x)).join(" ");
const told = (view, target) =>
  `eye becomes ${show(gl.vec3.transformMat4([], eye, view))}, target ${show(gl.vec3.transformMat4([], target, view))}`;
const far = [2 + 5e-6, 0, 0], near = [2 + 5e-7, 0, 0];
console.log(
  `target 5e-6 away: ${told(gl.mat4.lookAt([], eye, far, up), far)}; ` +
  `5e-7 away: ${told(gl.mat4.lookAt([], eye, near, up), near)}; ` +
  `wgpu-matrix: ${told(wgpu.mat4d.lookAt(eye, near, up), near)}`);
JS
same "target 5e-6 away: eye becomes 0 0 0, target 0 0 -0.000005; 5e-7 away: eye becomes 2 0 0, target 2.0000005 0 0; wgpu-matrix: eye becomes 0 0 0, target 0 0 -5e-7" \
    "$(node "$work/near.mjs")"
