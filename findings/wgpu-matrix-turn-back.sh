#!/bin/sh
# wgpu-matrix's quaternion from a direction to its opposite does not turn anything.
# Version: npm's wgpu-matrix 3.4.2 and gl-matrix 3.4.4.
# Guess: rotationTo(a, -a) is half a turn about some axis across a: a branch of its code exists for this case, and
#   gl-matrix, from whose interface it comes, gives 0 -1 0 0 for z and -z.
# Behaviour: all four numbers are 0 (w is cos of half a turn, 6e-17), for each direction. Its matrix is the identity,
#   so an arrow of a vector field that should point back points forward; normalized, it is the identity, too.
#   Nothing is NaN, and no error is raised. Half a degree beside the opposite it is right.
# Seen: z to -z: gl-matrix 0 -1 0 0, z becomes 0 0 -1; wgpu-matrix 0 0 0 0, z becomes 0 0 1; 3 of 3 axes; half a degree beside: 0 0.009 -1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules wgpu-matrix@3.4.2 gl-matrix@3.4.4
cat >"$work/turn.mjs" <<'JS'
import * as gl from "gl-matrix";
import { mat4, quat, vec3 } from "wgpu-matrix";

const show = (v, digits = 3) => Array.from(v, (x) => Number(x.toFixed(digits)) + 0).join(" ");
const turned = (q, v) => vec3.transformMat4(v, mat4.fromQuat(q));
const z = [0, 0, 1], back = [0, 0, -1];
const theirs = gl.quat.rotationTo(gl.quat.create(), z, back);
const ours = quat.rotationTo(z, back);
const axes = [[1, 0, 0], [0, 1, 0], z];
const still = axes.filter((a) => vec3.dot(turned(quat.rotationTo(a, vec3.negate(a)), a), a) > 0.99);
const beside = [0, Math.sin(Math.PI / 360), -Math.cos(Math.PI / 360)];
console.log(
  `z to -z: gl-matrix ${show(theirs)}, z becomes ${show(gl.vec3.transformQuat(gl.vec3.create(), z, theirs))}; ` +
  `wgpu-matrix ${show(ours)}, z becomes ${show(turned(ours, z))}; ${still.length} of 3 axes; ` +
  `half a degree beside: ${show(turned(quat.rotationTo(z, beside), z))}`);
JS
same "z to -z: gl-matrix 0 -1 0 0, z becomes 0 0 -1; wgpu-matrix 0 0 0 0, z becomes 0 0 1; 3 of 3 axes; half a degree beside: 0 0.009 -1" \
    "$(node "$work/turn.mjs")"
