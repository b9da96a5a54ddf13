#!/usr/bin/env bash
# The suite `clients` with Debian 13's packages, in the clone that bare_root.sh has put there.
# SPDX-License-Identifier: MIT
set -euo pipefail
. scripts/lib.sh
mkdir -p build
# shellcheck disable=SC2086 # lists of words
need_packages $packages_build $packages_soft $packages_clients ffmpeg xvfb xauth
build_target="clients_vendor culvert-check" build build/dev --preset dev -DCULVERT_CHECK=ON
ctest --test-dir build/dev --no-tests=error --output-on-failure -R '^clients[.]' -LE long | tee build/said
! grep -F Skipped build/said
