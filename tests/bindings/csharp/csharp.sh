#!/bin/sh
# Culvert.cs has every exported function, it compiles, its structs are as large as the C compiler's, and the example runs.
# usage: csharp.sh SOURCES LIBRARY_DIRECTORY MCS PYTHON
# SPDX-License-Identifier: MIT
set -eu
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
declarations=$room/Culvert.cs
"$4" "$1/scripts/python-declarations" --csharp "$declarations"
nm -D --defined-only "$2/libculvert.so.0" | sed -n 's/.* T \(culv[a-z0-9_]*\).*/\1/p' >"$room/names"
[ -s "$room/names" ] || { echo "FAILED: the library exports nothing"; exit 1; }
while read -r name; do
    grep -q " $name(" "$declarations" || { echo "FAILED: Culvert.cs lacks $name"; exit 1; }
done <"$room/names"
# A string without its encoding is one of the machine's code page on Windows.
if grep ' string ' "$declarations" | sed 's/\[MarshalAs(UnmanagedType[.]LPUTF8Str)\] string//g' | grep -v const | grep ' string '; then
    echo "FAILED: a string is not UTF-8"
    exit 1
fi
"$3" -target:library -unsafe -warnaserror -out:"$room/Culvert.dll" "$declarations"

structs=$(sed -n 's/^    public unsafe struct \(culv_[a-z0-9_]*\)$/\1/p' "$declarations")
{
    printf '#include <stdio.h>\n'
    for header in "$1"/include/culvert/*.h; do
        [ "${header##*/}" = cudart.h ] || printf '#include <culvert/%s>\n' "${header##*/}"
    done
    printf 'int main(void) {\n'
    for name in $structs; do
        # The parts of others that have no name of their own in C.
        if grep -rqE "(^|[ *}])$name;|struct $name " "$1/include/culvert"; then
            printf 'printf("%s %%zu\\n", sizeof(%s));\n' "$name" "$name"
        fi
    done
    printf 'return 0; }\n'
} >"$room/sizes.c"
cc -I"$1/include" -I"$1/cuda_headers" "$room/sizes.c" -o "$room/sizes"
"$room/sizes" >"$room/c.txt"
{
    printf 'using System;\nusing Culvert;\npublic static unsafe class Sizes { public static void Main() {\n'
    while read -r name size; do printf 'Console.WriteLine("%s " + sizeof(%s));\n' "$name" "$name"; done <"$room/c.txt"
    printf '} }\n'
} >"$room/Sizes.cs"
"$3" -unsafe -r:"$room/Culvert.dll" -out:"$room/sizes.exe" "$room/Sizes.cs"
mono "$room/sizes.exe" >"$room/cs.txt"
diff "$room/c.txt" "$room/cs.txt"
[ "$(wc -l <"$room/c.txt")" -gt 60 ] || { echo "FAILED: only $(wc -l <"$room/c.txt") structs were compared"; exit 1; }

"$3" -unsafe -r:"$room/Culvert.dll" -out:"$room/vector.exe" "$1/bindings/csharp/examples/Vector.cs"
LD_LIBRARY_PATH="$2" mono "$room/vector.exe" >"$room/said"
cat "$room/said"
grep -q 'grew in place' "$room/said"
