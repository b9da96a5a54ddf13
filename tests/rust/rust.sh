#!/bin/sh
# The crates' declarations are made of the headers and have every exported function, both crates compile, and their
# examples run on the library. cargo does the same, but need not be there.
# usage: rust.sh SOURCES LIBRARY_DIRECTORY RUSTC
# SPDX-License-Identifier: MIT
set -eu
crates=$1/bindings/rust
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
export OUT_DIR="$room" CARGO_MANIFEST_DIR="$crates/culvert-sys"
"$3" --edition 2021 -D warnings --crate-name make "$crates/culvert-sys/build.rs"
./make
# culvert/cuda_api.h's functions are left out.
nm -D --defined-only "$2/libculvert.so.0" | sed -n 's/.* T \(culv[a-z0-9_]*\).*/\1/p' |
    grep -v '^culv_device_\(check_\)\{0,1\}cuda_api' >names
[ -s names ] || { echo "FAILED: the library exports nothing"; exit 1; }
while read -r name; do
    grep -q "pub fn $name\\b" declarations.rs || { echo "FAILED: declarations.rs lacks $name"; exit 1; }
done <names
"$3" --edition 2021 -D warnings --crate-type lib --crate-name culvert_sys "$crates/culvert-sys/src/lib.rs"
"$3" --edition 2021 -D warnings --extern culvert_sys=libculvert_sys.rlib -L "$2" -l culvert "$crates/culvert-sys/examples/vector.rs"
LD_LIBRARY_PATH="$2" ./vector | tee said
grep -q 'grew in place' said
"$3" --edition 2021 -D warnings --crate-type lib --crate-name culvert -L . --extern culvert_sys=libculvert_sys.rlib \
    "$crates/culvert/src/lib.rs"
"$3" --edition 2021 -D warnings --extern culvert=libculvert.rlib -L . -L "$2" -l culvert "$crates/culvert/examples/frames.rs"
LD_LIBRARY_PATH="$2" ./frames | tee said
grep -q '^0 of 1000700 bytes are wrong in 25 frames' said
