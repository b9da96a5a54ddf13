#!/bin/sh
# debian.sh SOURCE WORK: builds the Debian packages of a clean clone in a bare root of Debian 12, looks at them with
# lintian, installs them in another bare root, and builds and runs programs against them there.
# WORK/build and WORK/use are the roots.
# SPDX-License-Identifier: MIT
set -eu
source=$1
work=$2
skip() { echo "SKIP: $*"; exit 77; }

[ "${CULVERT_NO_APT:-0}" = 0 ] || skip "CULVERT_NO_APT forbids installing packages"
lack=$("$source/scripts/bare-root" --check 12 2>&1) || skip "$lack"
rm -rf --one-file-system "${work:?}/use" "${work:?}/build"
mkdir -p "$work"
"$source/scripts/bare-root" --no-toolkit 12 "$work/use" true
cp -a "$work/use" "$work/build"
"$source/scripts/bare-root" --no-toolkit 12 "$work/build" tests/packages/consumers/debian_build.sh
mkdir "$work/use/debs"
mv "$work"/build/*.deb "$work/use/debs/"
rm -rf --one-file-system "$work/build"
"$source/scripts/bare-root" --no-toolkit 12 "$work/use" tests/packages/consumers/debian_use.sh
rm -rf --one-file-system "${work:?}/use" "${work:?}/build"
