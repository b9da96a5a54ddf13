#!/bin/sh
# crates.sh SOURCES WORK: cargo packages both crates without a registry, and twice the same bytes.
# SPDX-License-Identifier: MIT
set -eu
lack=$("$1/scripts/rust-crates" --check) || { echo "SKIP: $lack"; exit 77; }
rm -rf "$2"
mkdir -p "$2"
"$1/scripts/rust-crates" --output "$2/a" "$2/build"
"$1/scripts/rust-crates" --output "$2/b" "$2/again/build"
for crate in culvert-sys culvert; do cmp "$2/a/$crate"-[0-9]*.crate "$2/b/$crate"-[0-9]*.crate; done
