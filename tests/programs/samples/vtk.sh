#!/bin/sh
# vtk.sh SOURCE WORK PREFIX COMPARE [CMAKE ARGUMENTS...]: builds samples/vtk as a project of its own against an installed
# Culvert, runs it on a screen that nobody sees, and holds the picture of each way against the one of plain VTK.
# SPDX-License-Identifier: MIT
set -eu
source=$1 work=$2 prefix=$3 compare=$4
shift 4

[ -n "$(find /usr/lib /usr/local/lib -name vtk-config.cmake 2>/dev/null | head -n 1)" ] ||
    { echo "SKIP: VTK is not installed (Debian: libvtk9-dev)"; exit 77; }
command -v Xvfb >/dev/null || { echo "SKIP: Xvfb is not installed (Debian: xvfb)"; exit 77; }

rm -rf "$work"
mkdir -p "$work"
log=$work/build.log
{ cmake -S "$source" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" "$@" && cmake --build "$work/build"; } >"$log" 2>&1 ||
    { tail -n 40 "$log"; exit 1; }

# The server writes the number of its display once it serves it.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1024x768x24 -nolisten tcp -noreset 3>"$work/display" 2>"$work/xvfb.log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
read -r number <"$work/display"
DISPLAY=:$number
export DISPLAY
unset WAYLAND_DISPLAY

for way in staged memory register; do
    "$work/build/vtk_field" "$way" "$work/$way.png"
done
# "staged" is VTK as everybody has it: the others show the same field, by the same filter.
for way in memory register; do
    "$compare" "$work/staged.png" "$work/$way.png" 0 0
done
# An empty texture, or none, makes a smaller file.
[ "$(wc -c <"$work/staged.png")" -gt 20000 ] || { echo "the picture is empty"; exit 1; }
