#!/bin/sh
# Normals that Babylon.js bakes do not stand on the surface.
# Version: npm's @babylonjs/core 9.35.0.
# Guess: a sphere that is scaled by 1, 4, 1 has the same shading whether mesh.scaling says it or
#   bakeTransformIntoVertices() bakes it: the renderer multiplies normals by the inverse transposed matrix.
# Behaviour: baking multiplies the normals by the matrix itself and makes them unit vectors: they are up to 61 degrees
#   off here, and the mesh is lit as if it were another one. Call createNormals() after it.
# Seen: scaled by 2 2 2: 0 degrees off; by 1 4 1: 61; by 1 1 0.1: 78
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
npm_modules @babylonjs/core@9.35.0
cat >"$work/seen.mjs" <<'JS'
import { CreateSphere, Logger, Matrix, NullEngine, Scene, Vector3, VertexBuffer } from "@babylonjs/core/index.js";

Logger.LogLevels = Logger.NoneLogLevel; // the engine greets
const scene = new Scene(new NullEngine());
function off(x, y, z) {
  const mesh = CreateSphere("s", { diameter: 2, segments: 8 }, scene);
  mesh.bakeTransformIntoVertices(Matrix.Scaling(x, y, z));
  const p = mesh.getVerticesData(VertexBuffer.PositionKind), n = mesh.getVerticesData(VertexBuffer.NormalKind);
  let worst = 0;
  for (let i = 0; i < p.length; i += 3) {
    const right = new Vector3(p[i] / x / x, p[i + 1] / y / y, p[i + 2] / z / z).normalize();
    worst = Math.max(worst, Math.acos(Math.min(1, Vector3.Dot(right, new Vector3(n[i], n[i + 1], n[i + 2])))));
  }
  return Math.round((worst * 180) / Math.PI);
}
console.log(`scaled by 2 2 2: ${off(2, 2, 2)} degrees off; by 1 4 1: ${off(1, 4, 1)}; by 1 1 0.1: ${off(1, 1, 0.1)}`);
process.exit(0);
JS
same "scaled by 2 2 2: 0 degrees off; by 1 4 1: 61; by 1 1 0.1: 78" \
    "$(node "$work/seen.mjs")"
