#!/bin/sh
# Builds and runs a program by what pkg-config says: build.sh PREFIX SOURCE_DIR WORK_DIR VERSION shared|static
# SPDX-License-Identifier: MIT
set -eu
prefix=$1 source=$2 work=$3 version=$4 kind=$5

rm -rf "$work"
mkdir -p "$work"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name culvert.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion culvert)" = "$version" ] || { echo "pkg-config says another version"; exit 1; }

if [ "$kind" = static ]; then
    # --static gives the private libraries and definitions; the linker is told which form of libculvert to take.
    cflags=$(pkg-config --static --cflags culvert)
    libs=$(pkg-config --static --libs culvert | sed 's/-lculvert/-l:libculvert.a/')
    case $cflags in *-DCULV_STATIC*) ;; *) echo "no -DCULV_STATIC in: $cflags"; exit 1 ;; esac
else
    cflags=$(pkg-config --cflags culvert)
    libs="$(pkg-config --libs culvert) -Wl,-rpath,$(pkg-config --variable=libdir culvert)"
    case $cflags in *-DCULV_STATIC*) echo "-DCULV_STATIC in: $cflags"; exit 1 ;; esac
fi

cp "$source/version.c" "$work/version.cpp"
# shellcheck disable=SC2086 # the flags are several words
{
    gcc -std=c11 $cflags "$source/version.c" -o "$work/c_program" $libs
    g++ -std=c++11 $cflags "$work/version.cpp" -o "$work/cxx_program" $libs
}
programs="c_program cxx_program"
softdir=$(pkg-config --variable=softdir culvert)
if [ -e "$softdir/libculvert-soft.so.0" ] && pkg-config --exists vulkan; then
    # On the twin, by CULVERT_SOFT=1 alone. A static libculvert has nothing beside it, so the program says where to look.
    [ -f "$(pkg-config --variable=softlayerdir culvert)/VkLayer_culvert_soft.json" ] || { echo "no manifest of the layer"; exit 1; }
    # shellcheck disable=SC2086 # the flags are several words
    gcc -std=c11 $cflags $(pkg-config --cflags vulkan) "$source/../../../samples/hello/hello_vulkan.c" -o "$work/soft_program" \
        $libs $(pkg-config --libs vulkan) -lm "-Wl,-rpath,$softdir"
    programs="$programs soft_program"
fi
cd "$work"
for program in $programs; do
    case $program in soft_program) says="hello_vulkan.ppm: 0 of 32131 pixels are wrong" ;; *) says="culvert $version" ;; esac
    [ "$("./$program")" = "$says" ] || { echo "$program failed"; exit 1; }
    needs=$(readelf -d "$work/$program" | grep -c 'libculvert' || true)
    if [ "$kind" = static ]; then expected=0; else expected=1; fi
    [ "$needs" -eq "$expected" ] || { echo "$program: linked the wrong form of libculvert"; exit 1; }
done
