#!/bin/sh
# hello_lines.sh DIRECTORY: each sample there is one file of less than 150 lines that includes only what is installed.
# SPDX-License-Identifier: MIT
set -eu
count=0
for source in "$1"/hello_*.c "$1"/hello_*.cpp; do
    lines=$(wc -l <"$source")
    echo "$source: $lines lines"
    [ "$lines" -lt 150 ] || { echo "150 lines or more"; exit 1; }
    if grep -n '#include' "$source" | grep -v -E '<(culvert/[a-z0-9_]+|EGL/egl(ext)?|GL/glcorearb|math|pthread|stdio|stdlib|string|sys/wait|unistd|windows|d3d1[12])\.h>$' | grep -v -E '<(culvert/vulkan\.hpp|cstdio|stdexcept|string|vector)>$'; then
        echo "$source includes what a newcomer does not have"
        exit 1
    fi
    count=$((count + 1))
done
[ "$count" -eq 14 ] || { echo "$count programs, not 14"; exit 1; }
