#!/bin/sh
# In a bare root, in a clone: builds the packages into the directory above, and runs lintian on them.
# SPDX-License-Identifier: MIT
set -eu
apt-get update -q
apt-get install -q -y --no-install-recommends build-essential lintian
apt-get build-dep -q -y --no-install-recommends ./
dpkg-buildpackage -us -uc -b
lintian --allow-root --info --fail-on error,warning ../*.changes
[ "$(find .. -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' | wc -l)" -eq 7 ] || { echo "not seven packages"; exit 1; }
