#!/bin/sh
# Makes a bundle and runs what is in it on the software twin: bundle.sh SOURCE_DIR WORK_DIR
# SPDX-License-Identifier: MIT
set -eu
source=$1 work=$2

rm -rf "$work"
CULVERT_NO_APT=1 "$source/scripts/bundle" --with-validation --output "$work/made"
mkdir "$work/elsewhere"
tar -C "$work/elsewhere" -xzf "$work"/made/*.tar.gz
rm -rf "$work/made"
cd "$work/elsewhere"/*

# Nothing may still point into the build tree or the sources.
if grep -rlF "$source/build/" bin lib share; then
    echo "the files above name the build tree"
    exit 1
fi
./run info --soft | grep -q llvmpipe
./run ripple --device soft --size 96x64 --resolution 160x90 --frames 3 --validation --output "$work/picture.png"
[ -s "$work/picture.png" ]
./run exec culvert-info --version | grep -q '^culvert-info '
./run python-tests --driver=soft driver numpy
./run test --driver=soft --long --jobs="$(nproc)"
if ./run test no_such_suite; then exit 1; fi
