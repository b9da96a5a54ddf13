#!/bin/sh
# bare_root.sh SOURCE WORK RELEASE [COMMAND]: COMMAND, else the README's commands and scripts/test, in a clean clone, in a
# bare Debian root. WORK/RELEASE is the root; it stays if something fails.
# SPDX-License-Identifier: MIT
set -eu
source=$1
work=$2
release=$3
shift 3
skip() { echo "SKIP: $*"; exit 77; }

[ "${CULVERT_NO_APT:-0}" = 0 ] || skip "CULVERT_NO_APT forbids installing packages"
lack=$("$source/scripts/bare-root" --check "$release" 2>&1) || skip "$lack"
mkdir -p "$work"
option=
[ "$release$*" = 13 ] || option=--no-toolkit # the README's once with a CUDA toolkit, once without
# shellcheck disable=SC2086 # an option or nothing
"$source/scripts/bare-root" $option "$release" "$work/$release" "$@"
rm -rf --one-file-system "${work:?}/$release"
