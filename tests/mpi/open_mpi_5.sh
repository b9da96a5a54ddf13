#!/bin/sh
# open_mpi_5.sh SOURCE WORK: the suite `mpi` and ripple-mpi's pictures by Open MPI 5, in a clean clone in a bare root of
# Debian 13. WORK/13 is the root; it stays if something fails.
# SPDX-License-Identifier: MIT
set -eu
source=$1
work=$2
skip() { echo "SKIP: $*"; exit 77; }

[ "${CULVERT_NO_APT:-0}" = 0 ] || skip "CULVERT_NO_APT forbids installing packages"
lack=$("$source/scripts/bare-root" --check 13 2>&1) || skip "$lack"
mkdir -p "$work"
# shellcheck disable=SC2016 # for the root's shell
"$source/scripts/bare-root" --no-toolkit 13 "$work/13" bash -euc '
    . scripts/lib.sh
    mkdir -p build
    need_packages $packages_build $packages_soft vulkan-validationlayers libopenmpi-dev openmpi-bin
    mpirun --version | grep -F "Open MPI) 5."
    build_target="mpi ripple-mpi" build build/dev --preset dev
    CULVERT_SOFT=1 build/dev/bin/tests/mpi | tee build/said
    grep -qx "[1-9][0-9]* passed, 0 skipped, 0 failed" build/said
    CULVERT_SOFT=1 tests/mpi/ripple.sh build/dev/bin build/ripple
    '
rm -rf --one-file-system "${work:?}/13"
