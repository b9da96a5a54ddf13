#!/bin/sh
# PCL's own text files lose their colors on the way to PLY.
# Version: pcl-tools 1.13.0+dfsg-3.
# Guess: PLY to PCD, to a PCD as text and back to PLY keeps red 255, green 0, blue 127, in text and in binary.
# Behaviour: as text PCL writes the color as one unsigned number ("TYPE U", 16711807), as its format wants, but its PLY
#   writer knows colors of TYPE F alone. Declared are three bytes; text then has the one number, and binary four
#   bytes, blue first. So in a binary file of one point red and blue are exchanged, and a second point is shifted by
#   a byte. Nothing is said. Without the step through text all is right.
# Seen: directly: text 255 0 127, binary ff007f; through text: TYPE F F F U, text 16711807, binary 7f00ff00; bytes declared: 3
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 pcl-tools=1.13.0+dfsg-3
cd "$work"
cat >in.ply <<'PLY'
ply
format ascii 1.0
element vertex 1
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
end_header
1 2 3 255 0 127
PLY
{ pcl_ply2pcd in.ply direct.pcd && pcl_convert_pcd_ascii_binary direct.pcd text.pcd 0; } >log 2>&1 || unknown "PCL cannot convert"
for pcd in direct text; do
    for format in 0 1; do
        pcl_pcd2ply -format $format -use_camera 0 $pcd.pcd $pcd$format.ply >>log 2>&1 || unknown "PCL cannot write $pcd$format.ply"
    done
done
body() { sed '1,/^end_header$/d' "$1"; }
colors() { echo "text $(body "$1"0.ply | cut -d ' ' -f 4-), binary $(body "$1"1.ply | od -An -v -tx1 -j12 | tr -d ' ')"; }
same "directly: text 255 0 127, binary ff007f; through text: TYPE F F F U, text 16711807, binary 7f00ff00; bytes declared: 3" \
    "directly: $(colors direct); through text: $(grep TYPE text.pcd), $(colors text); bytes declared: $(grep -ac uchar text1.ply)"
