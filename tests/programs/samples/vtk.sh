#!/bin/sh
# vtk.sh PAGE WORK PREFIX [CMAKE ARGUMENTS...]: builds vtk_field.cpp with the page's header as a project of its own against
# an installed Culvert, runs it on a screen that nobody sees, and holds the picture of each way against the one of plain VTK.
# SPDX-License-Identifier: MIT
set -eu
page=$1 work=$2 prefix=$3
shift 3

[ -n "$(find /usr/lib /usr/local/lib -name vtk-config.cmake 2>/dev/null | head -n 1)" ] ||
    { echo "SKIP: VTK is not installed (Debian: libvtk9-dev)"; exit 77; }
command -v Xvfb >/dev/null || { echo "SKIP: Xvfb is not installed (Debian: xvfb)"; exit 77; }

rm -rf "$work"
mkdir -p "$work"
log=$work/build.log
awk '/^<!-- file vtk_field.h -->$/ { here = 1 } here && /^```$/ { exit } inside { print } here && /^```cpp$/ { inside = 1 }' "$page" >"$work/vtk_field.h"
cp "$(dirname "$0")/vtk_field.cpp" "$work"
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(vtk_field LANGUAGES C CXX)
find_package(culvert 0.1 REQUIRED)
find_package(VTK 9 REQUIRED COMPONENTS FiltersSources IOImage RenderingOpenGL2)
add_executable(vtk_field vtk_field.cpp)
set_target_properties(vtk_field PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
target_compile_options(vtk_field PRIVATE -Wall -Wextra)
target_link_libraries(vtk_field PRIVATE culvert::culvert ${VTK_LIBRARIES})
vtk_module_autoinit(TARGETS vtk_field MODULES ${VTK_LIBRARIES})
END
{ cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" "$@" && cmake --build "$work/build"; } >"$log" 2>&1 ||
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

for way in plain shared registered; do
    "$work/build/vtk_field" "$way" "$work/$way.png"
done
for way in shared registered; do
    cmp "$work/plain.png" "$work/$way.png"
done
# An empty texture, or none, makes a smaller file.
[ "$(wc -c <"$work/plain.png")" -gt 20000 ] || { echo "the picture is empty"; exit 1; }
