#!/bin/sh
# Assimp writes the colors of a binary PLY as floats and declares them as bytes.
# Version: assimp-utils 5.2.5~ds0-1+b1.
# Guess: exporting a mesh with colors as "ply" and as "plyb" gives the same mesh in text and in binary, which each
#   program reads, Assimp among them.
# Behaviour: both headers declare "uchar red". The text has 255 0 127 255; the binary has four floats of 4 bytes
#   (0000803f is 1), so from the second vertex on each reader is at the wrong place. Export returns 0; Assimp's own
#   import of the file says that an index is out of range.
# Seen: vertex 0: text 1 0 0 255 0 127 255; binary 0000803f 00000000 00000000 0000803f; the header promises 61 bytes, 97 follow; read back: text yes, binary no
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 assimp-utils=5.2.5~ds0-1+b1
cd "$work"
cat >mesh.ply <<'PLY'
ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 1
property list uchar int vertex_indices
end_header
1 0 0 255 0 127
0 2 0 0 255 128
0 0 3 1 2 64
3 0 1 2
PLY
{ assimp export mesh.ply text.ply -fply && assimp export mesh.ply binary.ply -fplyb; } >log 2>&1 || unknown "Assimp cannot export"
body() { sed '1,/^end_header$/d' "$1"; }
reads() { if assimp info "$1" >>log 2>&1; then echo yes; else echo no; fi; }
[ "$(grep -ac '^property uchar \(red\|green\|blue\|alpha\)$' binary.ply)" = 4 ] || unknown "the header is another"
same "vertex 0: text 1 0 0 255 0 127 255; binary 0000803f 00000000 00000000 0000803f; the header promises 61 bytes, 97 follow; read back: text yes, binary no" \
    "vertex 0: text $(body text.ply | head -n 1); binary $(body binary.ply | od -v -An -tx1 -w4 -N16 | tr -d ' ' | xargs); the header promises $((3 * (3 * 4 + 4) + 1 + 3 * 4)) bytes, $(body binary.ply | wc -c) follow; read back: text $(reads text.ply), binary $(reads binary.ply)"
