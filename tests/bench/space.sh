#!/bin/sh
# One case of culvert-bench-space's tests: space.sh CASE. Environment as bench.sh. No test judges a time.
# SPDX-License-Identifier: MIT
set -eu

. "$BENCH_SOURCE/tests/bench/case.sh"
check_json() {
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/bench/check_space.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}
report() { # STATUS ARGUMENT...
    expected=$1
    shift
    run "$expected" "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/space-report" --output "$work/page.md" "$@"
}
page_says() { grep -qF -- "$1" "$work/page.md" || { cat "$work/page.md"; fail "the page does not say: $1"; }; }

case $case in
options)
    run 2 "$BENCH" --bogus
    complains "unknown option '--bogus'"
    [ ! -s "$out" ] || fail "output in spite of a wrong option"
    for wrong in --driver=gpu --only=nothing --only= --device=x --seed=-1 --json= --quick=1 --starts=0 --kind=nothing --seconds=x something; do
        run 2 "$BENCH" "$wrong"
        complains "$wrong"
        complains "--help"
    done
    run 0 "$BENCH" --help
    for option in --driver --device --only --list --starts --kind --seconds --seed --quick --json --version; do says "$option"; done
    run 0 "$BENCH" --list
    for name in commit grow forest starts; do says "^$name  "; done
    run 0 "$BENCH" --version
    [ "$(cat "$out")" = "culvert-bench-space $BENCH_VERSION" ] || fail "not version $BENCH_VERSION"
    report 0
    page_says "No run on a GPU is recorded here yet."
    sed '/^No run on a GPU/q' "$work/page.md" | head -n 6 >"$work/head"
    head -n 6 "$BENCH_SOURCE/docs/space-performance.md" | cmp - "$work/head" || fail "docs/space-performance.md is not what scripts/space-report makes"
    ;;
quick)
    # The program ends with 1 when a word is wrong, a picture differs or something is left.
    run 0 "$BENCH" --quick --driver=soft "--json=$work/space.json"
    [ ! -s "$err" ] || fail "something on standard error"
    says "by the software twin"
    says "too few turns"
    check_json "$work/space.json" all "documented=$BENCH_SOURCE/docs/space.md"
    report 0 "$work/space.json"
    page_says "software twin"
    page_says "**the times mean nothing**"
    page_says "| 2 MiB | commit of a chunk |"
    page_says "| a fresh process |"
    cp "$work/page.md" "$work/first.md"
    mkdir "$work/results"
    cp "$work/space.json" "$work/results/"
    tar -C "$work" -czf "$work/results.tar.gz" results
    for from in "$work/results" "$work/results.tar.gz"; do
        report 0 "$from"
        cmp "$work/first.md" "$work/page.md" || fail "another page from $from"
    done
    if /usr/bin/python3 -c "import matplotlib" 2>/dev/null && ! grep -q '"measurement": "forest"' "$work/space.json"; then
        run 0 "$BENCH_SOURCE/scripts/bench-plots" "$work/space.json" "$work/plots"
        grep -q "<svg" "$work/plots/space.svg" || fail "no plot space"
    fi
    rm "$work/page.md"
    echo '{"schema": 1, "program": "other"}' >"$work/other.json"
    report 1 "$work/other.json"
    complains "results of other"
    [ ! -e "$work/page.md" ] || fail "a page in spite of an error"
    ;;
one)
    run 0 "$BENCH" --quick --driver=soft --only=starts --starts=3 --seed=7 --json
    check_json "$out" "sections=starts" "starts=3" "seed=7"
    ;;
driver_failures)
    for call in cuda:cuMemAddressReserve:1 cuda:cuMemCreate:1 cuda:cuMemMap:2 cuda:cuMemSetAccess:1 vulkan:vkQueueBindSparse:1 vulkan:vkAllocateMemory:1; do
        must_end $call "$BENCH" --quick --driver=soft --only=commit
    done
    ;;
*) fail "there is no case $case" ;;
esac
echo "ok: $case"
