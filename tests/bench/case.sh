# shellcheck shell=sh
# What bench.sh and frames.sh begin with: a scratch directory, and what a run must have said. SPDX-License-Identifier: MIT
case=$1
unset CULVERT_SOFT CULVERT_SOFT_DEVICES CULVERT_SOFT_FAIL_AT CULVERT_LOG CUDA_VISIBLE_DEVICES
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
err=$work/err

fail() {
    echo "FAIL: $*"
    for file in "$out" "$err"; do
        [ ! -f "$file" ] || { echo "--- standard $(basename "$file")"; cat "$file"; }
    done
    echo "FAIL: $*" # once more: a summary may show the last lines alone
    exit 1
}

skip() {
    echo "SKIP: $*"
    exit 77
}

# run STATUS [VARIABLE=VALUE ...] PROGRAM [OPTION ...]
run() {
    expected=$1
    shift
    status=0
    env "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq 3 ] && [ "$expected" -eq 0 ] && skip "$(tail -n 1 "$err")"
    [ "$status" -eq "$expected" ] || fail "exit status $status, expected $expected: $*"
}

says() { grep -q -- "$1" "$out" || fail "the output does not say: $1"; }
complains() { grep -q -- "$1" "$err" || fail "no clear line: $1"; }
