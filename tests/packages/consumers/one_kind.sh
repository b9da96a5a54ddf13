#!/bin/sh
# one_kind.sh SOURCE WORK shared|static: a Culvert of one kind, with its twin: built, installed, and used by what
# pkg-config says without --static. SPDX-License-Identifier: MIT
set -eu
source=$1 work=$2 kind=$3
fail() { echo "FAIL: $*"; exit 1; }

rm -rf "$work"
mkdir -p "$work"
case $kind in shared) shared=ON other=libculvert.a ;; *) shared=OFF other='libculvert.so*' ;; esac
headers=$work/prefix/include
if [ "$kind" = shared ]; then # elsewhere, as packages of several outputs have it; CMake takes no place in the sources
    headers=$(mktemp -d)
    trap 'rm -rf "$headers"' EXIT
fi
cmake -S "$source" -B "$work/build" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_INCLUDEDIR="$headers" -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=$shared -DCULVERT_SOFT=ON -DCULVERT_TOOLS=ON \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "configuring"; }
cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log"; fail "building"; }
cmake --install "$work/build" --prefix "$work/prefix" >"$work/log"
[ -z "$(find "$work/build" "$work/prefix" -name "$other")" ] || fail "$other is there"
[ -z "$(find "$work/prefix" -name 'culvert_s*.cmake' ! -name "culvert_$kind*")" ] || fail "an export file of the other kind"

! grep 'IMPORT_PREFIX}/include' "$(find "$work/prefix" -name "culvert_$kind.cmake")" || fail "the headers are in $headers"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name culvert.pc)")
export PKG_CONFIG_PATH
softdir=$(pkg-config --variable=softdir culvert)
# shellcheck disable=SC2046 # the flags are several words
gcc -std=c11 $(pkg-config --cflags culvert vulkan) "$source/samples/hello/hello_vulkan.c" -o "$work/program" \
    $(pkg-config --libs culvert vulkan) -lm "-Wl,-rpath,$softdir"
(cd "$work" && ./program) | grep -q ': 0 of 32131 pixels are wrong' || fail "the program"
"$work/prefix/bin/culvert-info" | head -n 1 | grep -q 'software only: ' || { "$work/prefix/bin/culvert-info"; fail "culvert-info"; }
