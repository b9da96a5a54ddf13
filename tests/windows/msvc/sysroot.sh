#!/bin/sh
# What clang-cl and lld-link need beside Debian's packages to build for Microsoft's ABI without Microsoft's SDK:
# sysroot.sh OUT makes OUT/bin/clang-cl, OUT/include and OUT/lib. Exit 77 and "SKIP: ..." where a package is missing.
# - The headers are MinGW's (mingw-w64-common); include/_mingw.h takes back what they do to compilers other than GCC.
# - The import libraries are made from .def files, and those from the export tables of Wine's DLLs. So what links here
#   is what the UCRT has, and nothing of MinGW's own: a function of GCC's runtime or of POSIX fails to link.
# - start.c and runtime.c are what Microsoft links into each program and DLL.
# SPDX-License-Identifier: MIT
set -eu
[ $# -eq 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
out=$1
here=$(cd "$(dirname "$0")" && pwd)
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

mkdir -p "$out/bin" "$out/include" "$out/lib"
ln -sf "$(readlink -f "$clang")" "$out/bin/clang-cl" # the name makes it cl's driver
ln -sf "$(readlink -f "$(tool lld-link)")" "$out/bin/lld-link"
ln -sf "$(readlink -f "$lib")" "$out/bin/llvm-lib"
ln -sf "$(readlink -f "$rc")" "$out/bin/llvm-rc"

cat >"$out/include/_mingw.h" <<'END'
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
    } >"$out/lib/$dll.def"
    [ "$(wc -l <"$out/lib/$dll.def")" -gt 2 ] || { echo "FAILED: no exports in $wine/$dll.dll"; exit 1; }
    "$dlltool" -m i386:x86-64 -d "$out/lib/$dll.def" -l "$out/lib/$dll.lib"
done
for part in start runtime; do
    "$out/bin/clang-cl" --target=x86_64-pc-windows-msvc /nologo /c /O1 /GS- /Zl /imsvc "$out/include" /imsvc $mingw \
        /D_UCRT /Fo"$out/lib/$part.obj" -- "$here/$part.c"
done
# By the names that /MD asks for. memcpy and its like are vcruntime's, __chkstk is ntdll's.
"$out/bin/llvm-lib" /nologo /out:"$out/lib/msvcrt.lib" "$out/lib/start.obj" "$out/lib/runtime.obj" \
    "$out/lib/ucrtbase.lib" "$out/lib/vcruntime140.lib" "$out/lib/ntdll.lib"
cp "$out/lib/msvcrt.lib" "$out/lib/msvcrtd.lib" # /MDd; Wine has one UCRT
printf 'LIBRARY none.dll\nEXPORTS\n' >"$out/lib/none.def"
"$dlltool" -m i386:x86-64 -d "$out/lib/none.def" -l "$out/lib/oldnames.lib"
