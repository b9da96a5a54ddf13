#!/usr/bin/env bash
# The zip for Windows: packed twice, the same bytes; unpacked into an empty folder; used by MinGW and by clang-cl with
# find_package(culvert); what they built, the zip's programs and culvert-selftest run under Wine; support-table reads the
# report. zip.sh SOURCE MINGW_BUILD MSVC_WORK WORK, where MSVC_WORK is tests/windows/msvc/check.sh's. Exit 77 without Wine.
# SPDX-License-Identifier: MIT
set -euo pipefail
source=$1 build=$(cd "$2" && pwd) msvc=$(realpath -m "$3") work=$4
skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
rm -rf "$work"
mkdir -p "$work"
work=$(cd "$work" && pwd)
# shellcheck source=scripts/wine_lib.sh
. "$source/scripts/wine_lib.sh"
[ -f "$build/lib/culvert.lib" ] || skip "llvm-dlltool is not installed (Debian: llvm), which makes culvert.lib"

echo "== the same bytes, linked and packed again"
"$source/scripts/windows-zip" --build "$build" --output "$work/first"
rm "$build"/bin/culvert-0.dll "$build"/lib/libculvert.dll.a "$build"/lib/culvert.lib "$build"/bin/culvert-selftest.exe
cmake --build "$build" --target culvert_windows_zip >"$work/build.log" 2>&1 || { tail "$work/build.log"; fail "linking again"; }
sleep 1
"$source/scripts/windows-zip" --build "$build" --output "$work/second" >/dev/null
cmp "$work"/first/*.zip "$work"/second/*.zip || fail "two zips of one source differ"

python3 -m zipfile -e "$work"/first/*.zip "$work/unpacked"
zip=$(echo "$work"/unpacked/culvert-*)
lines=$(wc -l <"$zip/README.txt")
[ "$lines" -le 40 ] || fail "README.txt has $lines lines, which is no screen"

mkdir "$work/consumer"
cp "$source/tests/windows/consumer.c" "$zip"/samples/hello_d3d1[12].c "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
set(CMAKE_C_STANDARD 11)
find_package(culvert 0.1 REQUIRED)
if(NOT culvert_SOFT)
  message(FATAL_ERROR "the zip has culvert-soft.dll, and culvert_SOFT says that it has not")
endif()
foreach(name IN ITEMS consumer hello_d3d12 hello_d3d11)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE culvert::culvert d3d12 d3d11)
endforeach()
END
# consumer NAME CMAKE_ARGUMENTS...
consumer() {
    local name=$1
    shift
    echo "== find_package(culvert): $name"
    { cmake -G Ninja -S "$work/consumer" -B "$work/$name" -Dculvert_DIR="$zip/lib/cmake/culvert" \
        -DCMAKE_BUILD_TYPE=Release "$@" && cmake --build "$work/$name"; } >"$work/$name.log" 2>&1 ||
        { tail -n 20 "$work/$name.log"; fail "the consumer does not build: $name"; }
}
consumer mingw -DCMAKE_TOOLCHAIN_FILE="$source/cmake/mingw.cmake"
with_msvc=0
if [ -f "$msvc/build/bin/culvert-0.dll" ]; then
    consumer msvc -DCMAKE_TOOLCHAIN_FILE="$source/tests/windows/msvc/toolchain.cmake" -DCULVERT_MSVC_SYSROOT="$msvc/sysroot"
    with_msvc=1
else
    echo "without clang-cl: there is no $msvc/build/bin/culvert-0.dll"
fi

wine_find "$work/prefix"
unset CULVERT_SOFT CULVERT_WINE_REMOVE_AT
end() {
    wine_stop
    rm -rf "$work/prefix"
}
trap end EXIT
trap 'exit 1' INT TERM
wine_start "$work"
rig=$build/bin/windows/rig
cp "$rig/nvcuda.dll" "$rig/culvert-soft.dll" "$WINEPREFIX/drive_c/windows/system32/"
rig=$rig/culvert-rig.exe

# run WHAT COMMAND...: its output must say WHAT.
run() {
    local what=$1 code=0
    shift
    echo "== $*"
    CULVERT_SOFT=1 timeout -k 5 120 "$wine" "$@" </dev/null >"$work/output" 2>&1 || code=$?
    sed 's/^/    /' "$work/output" # its cases are not this test's
    [ $code -eq 0 ] || fail "it ended with $code"
    grep -q "$what" "$work/output" || fail "it does not say '$what'"
}

cd "$work"
for name in mingw msvc; do
    [ -d "$name" ] || continue
    cp "$zip/bin/culvert-0.dll" "$name/"
    run "KiB came back" "$name/consumer.exe"
    run ": 0 of 32131 pixels" "$rig" "$name/hello_d3d12.exe"
    run ": 0 of 32131 pixels" "$rig" "$name/hello_d3d11.exe"
done
if [ $with_msvc = 1 ]; then
    echo "== with the DLL that clang-cl and lld-link made"
    cp "$msvc/build/bin/culvert-0.dll" mingw/
    cp "$msvc/build/bin/culvert-0.dll" "$msvc/build/bin/culvert-info.exe" msvc/
    run "KiB came back" mingw/consumer.exe
    run ": 0 of 32131 pixels" "$rig" msvc/hello_d3d12.exe
    run "^Software twin's device 0" msvc/culvert-info.exe >"$work/info"
fi
cd "$zip"
run "culvert-soft.dll" bin/culvert-info.exe --soft >"$work/info"
cases="d3d12.handles d3d12.placed d3d12.match d3d11.textures d3d_register.buffers d3d_register.textures9"
# shellcheck disable=SC2086 # a list of words
run "# 6 passed, 0 failed, 0 skipped" "$rig" bin/culvert-selftest.exe $cases
# As with NVIDIA's driver: what only the twin or the rig plays is skipped, and what they count is not asked.
# shellcheck disable=SC2086
CULVERT_SELFTEST_AS_NVIDIA=1 run "# 5 passed, 0 failed, 2 skipped" \
    "$rig" bin/culvert-selftest.exe --report as_nvidia.txt d3d12.torture $cases
grep -q "^SKIP windows.d3d12.match: only the" as_nvidia.txt || fail "a case that needs another adapter was not skipped"
grep -q "^      bytes compared: [1-9][0-9][0-9][0-9]" as_nvidia.txt || fail "the report does not say what was compared"
# A case that fails does not end the others.
CULVERT_SOFT=1 CULVERT_SELFTEST_FAIL=d3d12.handles "$wine" "$rig" bin/culvert-selftest.exe --report failed.txt \
    d3d12.kinds d3d12.handles d3d12.placed </dev/null >"$work/output" 2>&1 && fail "a case that failed is no failure"
grep -q "^FAIL windows.d3d12.handles: " failed.txt && grep -q "^PASS windows.d3d12.placed" failed.txt ||
    { cat failed.txt; fail "what a failed case leaves"; }

echo "== scripts/support-table"
python3 "$source/scripts/support-table" record windows 2000-01-01 culvert-selftest.txt --into "$work"
grep -q "^PASS windows: d3d11.textures d3d12.handles d3d12.match d3d12.placed d3d_register.buffers" "$work/windows-2000-01-01.txt" ||
    { cat "$work/windows-2000-01-01.txt"; fail "support-table reads something else"; }
echo "passed"
