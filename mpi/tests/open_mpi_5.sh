#!/usr/bin/env bash
# The suite `mpi` and ripple-mpi's pictures by Open MPI 5, in the clone that bare_root.sh has put into Debian 13.
# SPDX-License-Identifier: MIT
set -euo pipefail
. scripts/lib.sh
mkdir -p build
# shellcheck disable=SC2086 # lists of words
need_packages $packages_build $packages_soft vulkan-validationlayers libopenmpi-dev openmpi-bin
mpirun --version | grep -F "Open MPI) 5."
build_target="mpi ripple-mpi" build build/dev --preset dev
CULVERT_SOFT=1 build/dev/bin/tests/mpi | tee build/said
grep -qx "[1-9][0-9]* passed, 0 skipped, 0 failed" build/said
CULVERT_SOFT=1 mpi/tests/ripple.sh build/dev/bin build/ripple
