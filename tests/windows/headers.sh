#!/bin/sh
# The Direct3D half compiles, warnings as errors, with each compiler and each set of headers that there is: MinGW's gcc
# and clang's Windows target, which also has the public headers in C++; MinGW's headers and Microsoft's own (DirectX-Headers, which have Direct3D 12 alone).
# headers.sh SOURCE CUDA_HEADERS. SPDX-License-Identifier: MIT
set -eu
source=$1 cuda=$2
cd "$source"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/user.c" <<'END'
#define COBJMACROS
#include <windows.h>
#include <d3d12.h>
#include <culvert/d3d.h>
#include <culvert/d3d12.h>
#include <culvert/d3d_register.h>
int main(void) { return culv_d3d_register_desc_init().access == 0 && culv_d3d_device_desc_init().device == 0; }
END
cp "$work/user.c" "$work/user.cpp"

# check COMPILER FLAGS... -- FILE...
check() {
    compiler=$1
    shift
    flags=
    while [ "$1" != -- ]; do flags="$flags $1" && shift; done
    shift
    for file; do
        # shellcheck disable=SC2086 # lists of words
        $compiler $flags -fsyntax-only $warnings -DCULV_STATIC -DCULV_EXPERIMENTAL -I include -I src -isystem "$cuda" "$file"
        count=$((count + 1))
    done
}

count=0
sources="src/d3d/d3d*.c src/d3d/keyed_mutex.c"
of_12="src/d3d/d3d12*.c src/d3d/d3d_*.c"
microsoft="-isystem /usr/include/directx -D__REQUIRED_RPCNDR_H_VERSION__=475"
for compiler in x86_64-w64-mingw32-gcc "clang --target=x86_64-w64-mingw32"; do
    command -v "${compiler%% *}" >/dev/null || { echo "SKIP: ${compiler%% *} is not installed"; exit 77; }
    # shellcheck disable=SC2086
    check "$compiler" -std=c11 -- $sources "$work/user.c"
    if [ -f /usr/include/directx/d3d12.h ]; then
        # shellcheck disable=SC2086
        check "$compiler" -std=c11 $microsoft -- $of_12 "$work/user.c"
    else
        echo "without Microsoft's headers (Debian: directx-headers-dev)"
    fi
done
check "clang --target=x86_64-w64-mingw32" -x c++ -std=c++11 -- "$work/user.cpp"
echo "$count compilations"
