#!/bin/sh
# Every exported function is declared, the crate compiles, and its example runs on the library.
# usage: rust.sh SOURCES LIBRARY_DIRECTORY RUSTC
# SPDX-License-Identifier: MIT
set -eu
declarations=$1/bindings/rust/src/declarations.rs
missing=
# culvert/cuda_api.h is left out.
for name in $(sed -n 's/^    \(culv[a-z0-9_]*\);$/\1/p' "$1/cmake/culvert.map" |
    grep -v '^culv_device_\(check_\)\{0,1\}cuda_api'); do
    grep -q "pub fn $name\\b" "$declarations" || missing="$missing $name"
done
[ -z "$missing" ] || { echo "FAILED: run scripts/rust-declarations; it lacks$missing"; exit 1; }
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
"$3" --edition 2021 -D warnings --crate-type lib --crate-name culvert_sys "$1/bindings/rust/src/lib.rs"
"$3" --edition 2021 -D warnings --extern culvert_sys=libculvert_sys.rlib -L "$2" -l culvert \
    "$1/bindings/rust/examples/vector.rs"
LD_LIBRARY_PATH="$2" ./vector | tee said
grep -q 'grew in place' said
