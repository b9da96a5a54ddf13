#!/bin/sh
# Runs the tests of the Windows half under Wine: wine.sh DIRECTORY, which holds handles.exe and nvcuda.dll. Exit 77 where
# there is no Wine.
# SPDX-License-Identifier: MIT
set -eu
wine=$(command -v wine64 || command -v /usr/lib/wine/wine64 || true)
if [ -z "$wine" ]; then
    echo "SKIP: Wine is not installed (Debian: wine64); the Windows half is compiled only"
    exit 77
fi
prefix=$(mktemp -d)
export WINEPREFIX="$prefix" WINEDEBUG=-all
export WINEDLLOVERRIDES="mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d"
server=$(command -v wineserver64 || command -v /usr/lib/wine/wineserver64 || command -v wineserver || true)
stop() { [ -z "$server" ] || "$server" -k >/dev/null 2>&1 || true; rm -rf "$prefix"; }
trap stop EXIT
"$wine" wineboot -i </dev/null >/dev/null 2>&1 || { echo "FAILED: Wine makes no prefix"; exit 1; }
# Culvert loads NVIDIA's driver from the system directory alone.
cp "$1/nvcuda.dll" "$prefix/drive_c/windows/system32/"
"$wine" "$1/handles.exe" </dev/null
