#!/bin/sh
# In a bare root that has the packages in /debs: installs them, and builds and runs programs against them. Of the clone
# only the programs' sources are used.
# SPDX-License-Identifier: MIT
set -eu
fail() { echo "FAIL: $*"; exit 1; }
say() { printf '== %s\n' "$*"; }

rm -f /debs/*-dbgsym_*
apt-get update -q
apt-get install -q -y --no-install-recommends /debs/*.deb gcc g++ make cmake pkg-config python3 libvulkan-dev mesa-vulkan-drivers
work=$(mktemp -d)
unset CULVERT_SOFT CULVERT_SOFT_PATH VK_ADD_LAYER_PATH VK_LAYER_PATH LD_LIBRARY_PATH

# runs PROGRAM: CULVERT_SOFT=1 is enough, and without it the program says so.
runs() {
    (cd "$work" && CULVERT_SOFT=1 "$1") | grep -q ': 0 of 32131 pixels are wrong' || fail "$1 did not run"
    if "$1" 2>"$work/err"; then fail "$1 ran without CULVERT_SOFT=1"; fi
    grep -q 'CULVERT_SOFT=1' "$work/err" || { cat "$work/err"; fail "$1 does not name CULVERT_SOFT=1"; }
}

say "by pkg-config"
# shellcheck disable=SC2046 # the flags are several words
gcc -std=c11 samples/hello/hello_vulkan.c -o "$work/shared" $(pkg-config --cflags --libs culvert vulkan) -lm
# shellcheck disable=SC2046
gcc -std=c11 samples/hello/hello_vulkan.c -o "$work/static" $(pkg-config --static --cflags culvert) \
    $(pkg-config --static --libs culvert | sed 's/-lculvert/-l:libculvert.a/') $(pkg-config --libs vulkan) -lm
runs "$work/shared"
runs "$work/static"
ldd "$work/shared" | grep -q '/usr/lib/.*/libculvert.so.0\|/lib/.*/libculvert.so.0' || fail "another libculvert was linked"
if ldd "$work/static" | grep -q libculvert; then fail "the static program links libculvert.so"; fi

say "by find_package"
cmake -S tests/packages/consumers/find_package -B "$work/found" -DCMAKE_BUILD_TYPE=Release
cmake --build "$work/found" --parallel 2
for kind in culvert shared static; do runs "$work/found/c_soft_$kind"; done
grep -q '^culvert_DIR:PATH=/usr/lib/' "$work/found/CMakeCache.txt" || fail "another culvert was found"

say "the tools"
culvert-info --soft | head -n 1 | grep -q 'software only: ' || { culvert-info --soft; fail "culvert-info --soft"; }
for program in info check kernels soft-run; do
    [ -s /usr/share/man/man1/culvert-$program.1.gz ] || fail "culvert-$program has no manual page"
done
"$(pkg-config --variable=kernel_compiler culvert)" --soft -o "$work" samples/observer/observer.cu
[ -s "$work/observer.soft.so" ] || fail "no kernels"

say "what autopkgtest runs: a sample, a project, a program that is no user of Culvert, culvert-check, Python, the manual"
apt-get install -q -y --no-install-recommends python3-numpy
for one in hello cmake soft-run python check docs; do AUTOPKGTEST_TMP=$(mktemp -d) "debian/tests/$one" || fail "debian/tests/$one"; done

say "without the twin, and without the static library"
apt-get remove -q -y libculvert-soft
if CULVERT_SOFT=1 "$work/shared" 2>"$work/err"; then fail "it ran without the twin"; fi
grep -q 'Install the software twin' "$work/err" || { cat "$work/err"; fail "it does not say that the twin is missing"; }
rm /usr/lib/*/libculvert.a
rm -rf "$work/found"
cmake -S tests/packages/consumers/parts -B "$work/found" -DKIND=shared -DTARGETS=shared -DSOFT=OFF

say "purged"
apt-get purge -q -y libculvert0 libculvert-dev libculvert-extra-dev libculvert-soft culvert-check culvert-tools culvert-doc python3-culvert
left=$(find /usr /etc /var/lib -xdev \( -name '*culvert*' -o -name '*VkLayer_culvert*' \) ! -path '/var/lib/apt/*')
[ -z "$left" ] || fail "left behind: $left"
