#!/bin/sh
# source.sh ROOT: scripts/release in a clone. It refuses a tree that is not HEAD's, and an output with foreign files, and
# says which, before it makes anything; the sources' archive is the same twice, and has what is tracked and no more.
# SPDX-License-Identifier: MIT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { cat "$work/said"; echo "FAIL: $*"; exit 1; }
skip() { echo "SKIP: $*"; exit 77; }
git -C "$root" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "this is no git checkout"
for program in debootstrap gcc cmake ninja python3 objdump; do command -v $program >/dev/null || skip "$program is not installed"; done
git clone -q --shared "$root" "$work/clone"
cd "$work/clone"
# What is changed there and not committed is tried, too.
(cd "$root" && git diff --binary HEAD) | git apply --index --allow-empty
git -c user.name=test -c user.email=test@example.org commit -q --allow-empty -a -m "as it is"
refuses() { # WHAT TEXT ARGUMENTS...
    what=$1 text=$2
    shift 2
    if CULVERT_NO_APT=1 scripts/release "$@" >"$work/said" 2>&1; then fail "$what is not refused"; fi
    grep -q -e "$text" "$work/said" || fail "$what: it does not say '$text'"
    [ ! -d build/release/a ] || fail "$what: it built first"
}
touch new
refuses "a dirty tree" '?? new' --output "$work/out" source
rm new
mkdir -p "$work/out/culvert"
touch "$work/out/culvert/mine"
refuses "a foreign file" 'did not make: culvert/mine' --output "$work/out" source
rm -r "$work/out"
refuses "no release to test" 'has no release' --output "$work/out" --test source
for turn in 1 2; do # over the first one's files, too
    CULVERT_NO_APT=1 scripts/release --output "$work/out" source >"$work/said" 2>&1 || fail "it makes nothing"
    cp "$work/out/SHA256SUMS" "$work/sums$turn"
done
cmp "$work/sums1" "$work/sums2"
touch "$work/out/mine"
rm -r build/release/a
refuses "a foreign file beside a release" 'did not make: mine' --output "$work/out" source
(cd "$work/out" && sha256sum --quiet -c SHA256SUMS)
tar -tzf "$work/out"/culvert-*.tar.gz | sed 's|^[^/]*/||' | grep -v '/$' | grep . | sort >"$work/has"
git ls-files | grep -v -e '^\.ci/' -e '^\.git' | sort >"$work/tracked"
diff "$work/tracked" "$work/has" >"$work/said" || fail "the archive has not what is tracked"
echo "$(wc -l <"$work/has") files, the same twice; four wrong ways are refused"
