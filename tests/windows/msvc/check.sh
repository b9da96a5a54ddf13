#!/usr/bin/env bash
# Does Culvert build for Microsoft's ABI? check.sh SOURCE WORK builds culvert-0.dll, culvert-info.exe and culvert.lib by the
# project's CMake with clang-cl and lld-link, warnings as errors, and compiles each public header behind windows.h.
# tests/windows/zip.sh runs programs with that DLL. Exit 77 and "SKIP: ..." where a package is missing.
# What clang-cl and lld-link need beside Debian's packages, without Microsoft's SDK, is in WORK/sysroot:
# - The headers are MinGW's (mingw-w64-common); include/_mingw.h takes back what they do to compilers other than GCC.
# - The import libraries are made from .def files, and those from the export tables of Wine's DLLs. So what links here
#   is what the UCRT has, and nothing of MinGW's own: a function of GCC's runtime or of POSIX fails to link.
# - runtime.c is what Microsoft links into each program and DLL.
# SPDX-License-Identifier: MIT
set -euo pipefail
source=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
work=$(cd "$work" && pwd)
root=$work/sysroot
skip() { echo "SKIP: $*"; exit 77; }
tool() { # of Debian's default LLVM, by either name
    for name in "$1" "/usr/lib/llvm-19/bin/$1" "/usr/lib/llvm-14/bin/$1"; do
        command -v "$name" && return
    done
    return 1
}
clang=$(tool clang) || skip "clang is not installed (Debian: clang)"
tool lld-link >/dev/null || skip "lld-link is not installed (Debian: lld)"
dlltool=$(tool llvm-dlltool) && objdump=$(tool llvm-objdump) && lib=$(tool llvm-lib) && rc=$(tool llvm-rc) ||
    skip "llvm-dlltool and llvm-rc are not installed (Debian: llvm)"
mingw=/usr/share/mingw-w64/include
[ -f $mingw/windows.h ] || skip "MinGW's headers are not installed (Debian: mingw-w64-common)"
wine=
for directory in /usr/lib/x86_64-linux-gnu/wine/x86_64-windows /usr/lib/wine/x86_64-windows; do
    [ ! -f "$directory/ucrtbase.dll" ] || wine=$directory
done
[ -n "$wine" ] || skip "Wine's DLLs are not installed (Debian: libwine), whose exports the import libraries list"

mkdir -p "$root/bin" "$root/include" "$root/lib"
ln -sf "$(readlink -f "$clang")" "$root/bin/clang-cl" # the name makes it cl's driver
ln -sf "$(readlink -f "$(tool lld-link)")" "$root/bin/lld-link"
ln -sf "$(readlink -f "$lib")" "$root/bin/llvm-lib"
ln -sf "$(readlink -f "$rc")" "$root/bin/llvm-rc"

cat >"$root/include/_mingw.h" <<'END'
/* MinGW's headers take a compiler that is not GCC's for one that lacks attributes. */
#pragma clang system_header
#include_next <_mingw.h>
#undef __attribute__
#undef __MINGW_ATTRIB_DEPRECATED
#define __MINGW_ATTRIB_DEPRECATED
#undef __MINGW_ATTRIB_NORETURN
#define __MINGW_ATTRIB_NORETURN __attribute__((__noreturn__))
END

for dll in ucrtbase vcruntime140 ntdll kernel32 user32 advapi32 d3d9 d3d10 d3d11 d3d12 dxgi; do
    { printf 'LIBRARY %s.dll\nEXPORTS\n' $dll
      "$objdump" -p "$wine/$dll.dll" | awk '/^ +Ordinal +RVA +Name/ { on = 1; next } on && NF == 0 { exit }
            on && /forwarded to/ { print "    " $2; next } on && NF == 3 { print "    " $3 }'
    } >"$root/lib/$dll.def"
    [ "$(wc -l <"$root/lib/$dll.def")" -gt 2 ] || { echo "FAILED: no exports in $wine/$dll.dll"; exit 1; }
    "$dlltool" -m i386:x86-64 -d "$root/lib/$dll.def" -l "$root/lib/$dll.lib"
done
for part in START RUNTIME; do
    "$root/bin/clang-cl" --target=x86_64-pc-windows-msvc /nologo /c /O1 /GS- /Zl /imsvc "$root/include" /imsvc $mingw \
        /D_UCRT /D$part /Fo"$root/lib/$part.obj" -- "$here/runtime.c"
done
# By the names that /MD asks for. memcpy and its like are vcruntime's, __chkstk is ntdll's.
"$root/bin/llvm-lib" /nologo /out:"$root/lib/msvcrt.lib" "$root/lib/START.obj" "$root/lib/RUNTIME.obj" \
    "$root/lib/ucrtbase.lib" "$root/lib/vcruntime140.lib" "$root/lib/ntdll.lib"
cp "$root/lib/msvcrt.lib" "$root/lib/msvcrtd.lib" # /MDd; Wine has one UCRT
printf 'LIBRARY none.dll\nEXPORTS\n' >"$root/lib/none.def"
"$dlltool" -m i386:x86-64 -d "$root/lib/none.def" -l "$root/lib/oldnames.lib"

# Both kinds of the library are configured, whose names must not meet. One is built.
cmake -G Ninja -S "$source" -B "$work/build" -DCMAKE_TOOLCHAIN_FILE="$source/tests/windows/msvc/toolchain.cmake" \
    -DCULVERT_MSVC_SYSROOT="$root" -DCMAKE_BUILD_TYPE=Debug -DCULVERT_WERROR=ON -DCULVERT_TOOLS=ON >"$work/configure.log" 2>&1 ||
    { tail -n 30 "$work/configure.log"; echo "FAILED: configuring"; exit 1; }
cmake --build "$work/build" --target culvert_shared culvert-info >"$work/build.log" 2>&1 ||
    { grep -E -A 4 'error|warning' "$work/build.log" | head -n 60; echo "FAILED: building"; exit 1; }
[ -f "$work/build/bin/culvert-0.dll" ] && [ -f "$work/build/lib/culvert.lib" ] || { echo "FAILED: no DLL or no .lib"; exit 1; }

# What the DLL exports is what its list has.
objdump=$(dirname "$(readlink -f "$root/bin/lld-link")")/llvm-objdump
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
find . -name '*.c' -print0 | xargs -0 -P 2 -n 8 "$root/bin/clang-cl" --target=x86_64-pc-windows-msvc /nologo /W4 /WX /std:c11 \
    /D_UCRT /imsvc "$root/include" /imsvc /usr/share/mingw-w64/include /imsvc "$source/cuda_headers" \
    /imsvc "$work/build/host_vulkan" /I "$source/include" -fsyntax-only -- ||
    { echo "FAILED: a header"; exit 1; }
echo "$(wc -l <"$work/exports") functions; $(find . -name '*.c' | wc -l) headers behind windows.h"
