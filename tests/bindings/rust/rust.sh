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
# Each `_init()` in C, and described() of its type in Rust, byte for byte.
types=$(sed -n 's/^CULV_INIT(\(.*\))$/\1/p; s/^CULV_INLINE \([a-z0-9_]*\) \1_init(void)$/\1/p' "$1"/include/culvert/*.h)
{
    printf '#define CULV_EXPERIMENTAL\n#include <stdio.h>\n'
    (cd "$1/include" && ls culvert/*.h) | sed '/cudart\.h/d; s/.*/#include <&>/'
    echo '#define SAY(t) do { t d = t##_init(); printf("%s", #t); for (size_t i = 0; i < sizeof d; i++) printf(" %02x", ((unsigned char *)&d)[i]); puts(""); } while (0)'
    echo 'int main(void) {'
    printf '    SAY(%s);\n' $types
    echo '}'
} >inits.c
{
    echo 'use culvert_sys::*;'
    echo 'fn say<T: Described>(name: &str) { let d: T = described(); print!("{name}"); let p = &d as *const T as *const u8;'
    echo '    for i in 0..std::mem::size_of::<T>() { print!(" {:02x}", unsafe { *p.add(i) }) } println!() }'
    echo 'fn main() {'
    for type in $types; do echo "    say::<$type>(\"$type\");"; done
    echo '}'
} >inits.rs
cc -I "$1/include" -I "$1/cuda_headers" -o inits_c inits.c
"$3" --edition 2021 -D warnings --extern culvert_sys=libculvert_sys.rlib -L "$2" -l culvert -o inits_rust inits.rs
./inits_c >inits.wanted
LD_LIBRARY_PATH="$2" ./inits_rust >inits.made
[ "$(wc -l <inits.wanted)" -gt 80 ] && diff inits.wanted inits.made || { echo "FAILED: described() differs from _init()"; exit 1; }
LD_LIBRARY_PATH="$2" ./vector | tee said
grep -q 'grew in place' said
"$3" --edition 2021 -D warnings --crate-type lib --crate-name culvert -L . --extern culvert_sys=libculvert_sys.rlib \
    "$crates/culvert/src/lib.rs"
"$3" --edition 2021 -D warnings --extern culvert=libculvert.rlib -L . -L "$2" -l culvert "$crates/culvert/examples/frames.rs"
LD_LIBRARY_PATH="$2" timeout 120 ./frames | tee said
grep -q '^0 of 1000700 bytes are wrong in 25 frames' said
