#!/bin/sh
# One case of culvert-bench-kinds' tests: kinds.sh CASE. Environment as bench.sh. No test judges a rate.
# SPDX-License-Identifier: MIT
set -eu

. "$BENCH_SOURCE/tests/bench/case.sh"
check_json() {
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/bench/check_kinds.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}
report() { # STATUS ARGUMENT...
    expected=$1
    shift
    run "$expected" "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/kinds-report" --output "$work/page.md" "$@"
}
page_says() { grep -qF -- "$1" "$work/page.md" || { cat "$work/page.md"; fail "the page does not say: $1"; }; }

case $case in
options)
    run 2 "$BENCH" --bogus
    complains "unknown option '--bogus'"
    [ ! -s "$out" ] || fail "output in spite of a wrong option"
    for wrong in --driver=gpu --only=nothing --only= --device=x --seed=-1 --json= --quick=1 something; do
        run 2 "$BENCH" "$wrong"
        complains "$wrong"
        complains "--help"
    done
    run 0 "$BENCH" --help
    for option in --driver --device --only --list --seed --quick --json --version; do says "$option"; done
    run 0 "$BENCH" --list
    for name in buffers images; do says "^$name  "; done
    run 0 "$BENCH" --version
    [ "$(cat "$out")" = "culvert-bench-kinds $BENCH_VERSION" ] || fail "not version $BENCH_VERSION"
    report 0
    page_says "No run on a GPU is recorded here yet."
    cmp "$work/page.md" "$BENCH_SOURCE/docs/memory-kinds.md" >/dev/null ||
        grep -q '^## .*, [0-9-]*$' "$BENCH_SOURCE/docs/memory-kinds.md" ||
        fail "docs/memory-kinds.md is not what scripts/kinds-report makes"
    ;;
quick)
    # The program ends with 1 when a word is wrong or something is left.
    run 0 "$BENCH" --quick --driver=soft "--json=$work/kinds.json"
    [ ! -s "$err" ] || fail "something on standard error"
    says "by the software twin"
    says "words were checked, none is wrong"
    check_json "$work/kinds.json" all
    report 0 "$work/kinds.json"
    page_says "software twin"
    page_says "**the rates mean nothing**"
    page_says "| culv_vk_buffer_create() | fast |"
    check_json "$work/kinds.json" all "documented=$work/page.md"
    cp "$work/page.md" "$work/first.md"
    mkdir "$work/results"
    cp "$work/kinds.json" "$work/results/"
    tar -C "$work" -czf "$work/results.tar.gz" results
    for from in "$work/results" "$work/results.tar.gz"; do
        report 0 "$from"
        cmp "$work/first.md" "$work/page.md" || fail "another page from $from"
    done
    if /usr/bin/python3 -c "import matplotlib" 2>/dev/null; then
        run 0 "$BENCH_SOURCE/scripts/bench-plots" "$work/kinds.json" "$work/plots"
        for plot in buffers images; do
            grep -q "<svg" "$work/plots/memory-kinds-$plot.svg" || fail "no plot memory-kinds-$plot"
        done
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
    run 0 "$BENCH" --quick --driver=soft --only=buffers --seed=7 --json
    [ ! -s "$err" ] || fail "something on standard error"
    check_json "$out" "sections=buffers" "seed=7"
    ;;
driver_failures)
    for call in cuMemAlloc:1 cuLaunchKernel:2 cuEventRecord:1 cuImportExternalMemory:1 cuMemCreate:1 cuArray3DCreate:1; do
        must_end cuda:$call "$BENCH" --quick --driver=soft
    done
    for call in vkAllocateMemory:2 vkCreateComputePipelines:1 vkCreateBuffer:3; do
        must_end vulkan:$call "$BENCH" --quick --driver=soft
    done
    ;;
*) fail "there is no case $case" ;;
esac
echo "ok: $case"
