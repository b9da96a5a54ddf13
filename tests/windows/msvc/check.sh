#!/usr/bin/env bash
# Does Culvert build for Microsoft's ABI? check.sh SOURCE WORK builds culvert-0.dll, culvert-info.exe and culvert.lib by the
# project's CMake with clang-cl and lld-link (sysroot.sh says of what), warnings as errors, and compiles each public header
# behind windows.h. tests/windows/zip.sh runs programs with that DLL.
# SPDX-License-Identifier: MIT
set -euo pipefail
source=$1 work=$2
mkdir -p "$work"
work=$(cd "$work" && pwd)
"$source/tests/windows/msvc/sysroot.sh" "$work/sysroot"

# Both kinds of the library are configured, whose names must not meet. One is built.
cmake -G Ninja -S "$source" -B "$work/build" -DCMAKE_TOOLCHAIN_FILE="$source/tests/windows/msvc/toolchain.cmake" \
    -DCULVERT_MSVC_SYSROOT="$work/sysroot" -DCMAKE_BUILD_TYPE=Debug -DCULVERT_WERROR=ON -DCULVERT_TOOLS=ON >"$work/configure.log" 2>&1 ||
    { tail -n 30 "$work/configure.log"; echo "FAILED: configuring"; exit 1; }
cmake --build "$work/build" --target culvert_shared culvert-info >"$work/build.log" 2>&1 ||
    { grep -E -A 4 'error|warning' "$work/build.log" | head -n 60; echo "FAILED: building"; exit 1; }
[ -f "$work/build/bin/culvert-0.dll" ] && [ -f "$work/build/lib/culvert.lib" ] || { echo "FAILED: no DLL or no .lib"; exit 1; }

# What the DLL exports is what its list has.
objdump=$(dirname "$(readlink -f "$work/sysroot/bin/lld-link")")/llvm-objdump
"$objdump" -p "$work/build/bin/culvert-0.dll" | awk '/^ +Ordinal +RVA +Name/ { on = 1; next } on && NF == 3 { print $3 }' | sort >"$work/exports"
sed -n 's/^    //p' "$work/build/src/culvert.def" | sort | diff - "$work/exports" ||
    { echo "FAILED: exports differ from culvert.def"; exit 1; }

# Headers: each alone, behind all that windows.h defines.
rm -rf "$work/headers"
mkdir "$work/headers"
for header in "$source"/include/culvert/*.h; do
    name=${header##*/}
    case $name in
    format_list.h) continue ;; # a list of macro calls
    cudart.h) continue ;;      # it includes the toolkit's runtime
    esac
    printf '#define CULV_EXPERIMENTAL 1\n#include <windows.h>\n#include <culvert/%s>\nint main(void) { return 0; }\n' "$name" >"$work/headers/${name%.h}.c"
done
cd "$work/headers"
find . -name '*.c' -print0 | xargs -0 -P 2 -n 8 "$work/sysroot/bin/clang-cl" --target=x86_64-pc-windows-msvc /nologo /W4 /WX /std:c11 \
    /D_UCRT /imsvc "$work/sysroot/include" /imsvc /usr/share/mingw-w64/include /imsvc "$source/cuda_headers" \
    /imsvc "$work/build/host_vulkan" /I "$source/include" -fsyntax-only -- ||
    { echo "FAILED: a header"; exit 1; }
echo "$(wc -l <"$work/exports") functions; $(find . -name '*.c' | wc -l) headers behind windows.h"
