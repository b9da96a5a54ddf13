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

# failing CALL PROGRAM [OPTION ...]: runs it with a driver's call that fails. It says which, ends with 1, and hangs never.
# A call by its number among all may be tried again, or be no obstacle; its number moves with other threads' calls.
# $status has how it ended.
failing() {
    failing_call=$1
    shift
    status=0
    CULVERT_SOFT_FAIL_AT=$failing_call timeout 60 "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq 0 ] && return
    [ "$status" -eq 1 ] || [ "$status" -eq 3 ] || fail "$failing_call: exit status $status"
    complains "^$(basename "$BENCH"): "
}

# must_end CALL PROGRAM [OPTION ...]: as failing, with a call that the program cannot do without.
must_end() {
    failing "$@"
    [ "$status" -eq 1 ] || fail "$failing_call: exit status $status, expected 1"
}
