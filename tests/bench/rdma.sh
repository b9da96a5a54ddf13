#!/bin/sh
# One case of culvert-bench-rdma's tests: rdma.sh CASE. Environment as bench.sh. No test judges a time.
# SPDX-License-Identifier: MIT
set -eu

. "$BENCH_SOURCE/tests/bench/case.sh"
check_json() {
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/bench/check_rdma.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}
report() { # STATUS ARGUMENT...
    expected=$1
    shift
    run "$expected" "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/rdma-report" --output "$work/page.md" "$@"
}
page_says() { grep -qF -- "$1" "$work/page.md" || { cat "$work/page.md"; fail "the page does not say: $1"; }; }

case $case in
options)
    run 2 "$BENCH" --bogus
    complains "unknown option '--bogus'"
    [ ! -s "$out" ] || fail "output in spite of a wrong option"
    for wrong in --driver=gpu --most=0 --most=2000000 --device=x --seed=-1 --json= --quick=1 something; do
        run 2 "$BENCH" "$wrong"
        complains "$wrong"
        complains "--help"
    done
    run 0 "$BENCH" --help
    for option in --driver --device --most --seed --quick --json --version; do says "$option"; done
    run 0 "$BENCH" --version
    [ "$(cat "$out")" = "culvert-bench-rdma $BENCH_VERSION" ] || fail "not version $BENCH_VERSION"
    report 0
    page_says "No run on a GPU is recorded here yet."
    cmp "$work/page.md" "$BENCH_SOURCE/docs/rdma-performance.md" >/dev/null ||
        grep -q '^## .*, [0-9-]*$' "$BENCH_SOURCE/docs/rdma-performance.md" ||
        fail "docs/rdma-performance.md is not what scripts/rdma-report makes"
    ;;
quick)
    # The program ends with 1 when a look-up's answer is wrong or something is left.
    run 0 "$BENCH" --quick --driver=soft "--json=$work/rdma.json"
    [ ! -s "$err" ] || fail "something on standard error"
    says "by the software twin"
    says "look-ups were checked, none is wrong"
    check_json "$work/rdma.json"
    report 0 "$work/rdma.json"
    page_says "software twin"
    page_says "**the times mean nothing**"
    page_says "1 to 100 registrations: at most logarithmic"
    # shellcheck disable=SC2016
    page_says '| culv_rdma_get_info() |'
    check_json "$work/rdma.json" "documented=$work/page.md"
    cp "$work/page.md" "$work/first.md"
    mkdir "$work/results"
    cp "$work/rdma.json" "$work/results/"
    tar -C "$work" -czf "$work/results.tar.gz" results
    for from in "$work/results" "$work/results.tar.gz"; do
        report 0 "$from"
        cmp "$work/first.md" "$work/page.md" || fail "another page from $from"
    done
    if /usr/bin/python3 -c "import matplotlib" 2>/dev/null; then
        run 0 "$BENCH_SOURCE/scripts/bench-plots" "$work/rdma.json" "$work/plots"
        grep -q "<svg" "$work/plots/rdma-look-ups.svg" || fail "no plot rdma-look-ups"
    fi
    rm "$work/page.md"
    echo '{"schema": 1, "program": "other"}' >"$work/other.json"
    report 1 "$work/other.json"
    complains "results of other"
    report 1 "$work/missing.json"
    complains "missing.json"
    [ ! -e "$work/page.md" ] || fail "a page in spite of an error"
    ;;
one)
    run 0 "$BENCH" --quick --driver=soft --most=1 --seed=7 --json
    [ ! -s "$err" ] || fail "something on standard error"
    check_json "$out" "entries=1" "seed=7"
    ;;
driver_failures)
    for call in cuMemAlloc:1 cuPointerGetAttributes:1 cuMemFree:1; do
        must_end cuda:$call "$BENCH" --quick --driver=soft
    done
    ;;
*) fail "there is no case $case" ;;
esac
echo "ok: $case"
