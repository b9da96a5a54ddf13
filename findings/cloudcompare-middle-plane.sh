#!/bin/sh
# CloudCompare's distances between points and a plane that halves their box are all NaN.
# Version: cloudcompare 2.11.3-7.1.
# Guess: the distance to a square at z = 0 is z, signed, for points above it, also if the cloud reaches from -0.5 to
#   0.5: the plainest arrangement for a test, and the ground of many scenes.
# Behaviour: the mesh is looked for in cells of an octree around both boxes' union. A triangle that lies in the faces between
#   cells, as the middle plane does at each level, is in no cell; so each distance is NaN, the log says "Mean
#   distance = 0.000000", and the exit status is 0. With -MAX_DIST 5 each distance is 5. A cloud up to 0.51 is right.
# Seen: up to 0.5: nan nan nan; with -MAX_DIST 5: 5 5 5; up to 0.51: 0.51 -0.5 0.25; mean distance told: 0.000000
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 cloudcompare=2.11.3-7.1
export QT_QPA_PLATFORM=offscreen HOME="$work" XDG_RUNTIME_DIR="$work"
cd "$work"
cat >square.ply <<'PLY'
ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
element face 2
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
1 1 0
0 1 0
3 0 1 2
3 0 2 3
PLY
distances() {
    printf '0.3 0.2 %s\n0.6 0.4 -0.5\n0.5 0.25 0.25\n' "$1" >points.txt
    shift
    CloudCompare -SILENT -NO_TIMESTAMP -AUTO_SAVE OFF -C_EXPORT_FMT ASC -PREC 2 -O points.txt -O square.ply \
        -C2M_DIST "$@" -SAVE_CLOUDS FILE out.asc >log 2>&1 || unknown "CloudCompare"
    cut -d ' ' -f 4 out.asc | sed 's/\.00$//; s/\(\.[1-9]*\)0*$/\1/' | xargs
}
half=$(distances 0.5)
told=$(sed -n 's/.*Mean distance = \([^ ]*\) .*/\1/p' log)
same "up to 0.5: nan nan nan; with -MAX_DIST 5: 5 5 5; up to 0.51: 0.51 -0.5 0.25; mean distance told: 0.000000" \
    "up to 0.5: $half; with -MAX_DIST 5: $(distances 0.5 -MAX_DIST 5); up to 0.51: $(distances 0.51); mean distance told: $told"
