#!/bin/sh
# One case of culvert-bench's tests: frames.sh CASE. Environment as bench.sh. No test judges a time.
# SPDX-License-Identifier: MIT
set -eu

. "$BENCH_SOURCE/tests/bench/case.sh"
check_json() {
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/bench/check_frames.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}

case $case in
options)
    run 2 "$BENCH" --bogus
    complains "unknown option '--bogus'"
    for wrong in --driver=gpu --only=nothing --scheme=none --size=1 --size=8X --size=8G --loads=110 --loads=0/1 --work=none \
        --depth= --depth=0 --depth=1,,2 --depth=65 --burst=x --frames=0 --rounds=0 --rounds=65 --seed=-1 --json=; do
        run 2 "$BENCH" "$wrong"
        complains "$wrong"
        complains "--help"
    done
    run 0 "$BENCH" --help
    for option in --driver --device --only --list --search --scheme --size --loads --work --depth --burst --frames --rounds \
        --seed --quick --validation --json --version; do
        says "$option"
    done
    run 0 "$BENCH" --version
    [ "$(cat "$out")" = "culvert-bench $BENCH_VERSION" ] || fail "not version $BENCH_VERSION"
    ;;
quick)
    # Every section and scheme; the program ends with 1 when a frame was lost or torn.
    run 0 "$BENCH" --quick --driver=soft "--json=$work/all.json"
    [ ! -s "$err" ] || fail "something on standard error"
    says "by the software twin"
    says "too few frames"
    check_json "$work/all.json" all
    if /usr/bin/python3 -c "import matplotlib" 2>/dev/null; then
        run 0 "$BENCH_SOURCE/scripts/bench-plots" "$work/all.json" "$work/plots"
        for plot in frames latency sizes loads; do
            grep -q "<svg" "$work/plots/$plot.svg" || fail "no plot $plot"
        done
        echo '{"schema": 1, "program": "other"}' >"$work/other.json"
        run 1 "$BENCH_SOURCE/scripts/bench-plots" "$work/other.json" "$work/plots"
        complains "results of other"
    fi
    ;;
chosen)
    run 0 "$BENCH" --quick --driver=soft --only=frames --scheme=culv_ring --size=128K --loads=10/10 --depth=3,6 --burst=3 \
        --frames=50 --rounds=2 --seed=5 --json
    [ ! -s "$err" ] || fail "something on standard error"
    check_json "$out" chosen
    ;;
many)
    # More frames than have command buffers: all are checked.
    run 0 "$BENCH" --quick --driver=soft --only=frames --scheme=in-queue --scheme=async --work=memory --loads=1/1 --depth=2 \
        --burst=1 --frames=2500 --json
    [ ! -s "$err" ] || fail "something on standard error"
    check_json "$out" many
    ;;
search)
    run 0 "$BENCH" --quick --driver=soft --search "--json=$work/search.json"
    check_json "$work/search.json" search
    ;;
validation)
    [ -z "$BENCH_SANITIZE" ] || skip "the validation layer leaks memory of its own"
    status=0
    "$BENCH" --quick --driver=soft --validation --only=frames --only=latency --only=newest --only=copies >"$out" 2>"$err" ||
        status=$?
    ! grep -q "there is no VK_LAYER_KHRONOS_validation" "$err" || skip "the validation layer is not installed"
    [ "$status" -ne 3 ] || skip "$(tail -n 1 "$err")"
    [ "$status" -eq 0 ] || fail "exit status $status under validation"
    ! grep -q "^VALIDATION" "$out" || fail "the validation layer has something to say"
    ;;
driver_failures)
    for call in cuda:cuModuleLoad:1 cuda:cuImportExternalSemaphore:3 cuda:cuLaunchKernel:3 cuda:cuMemcpyDtoH:2 \
        vulkan:vkAllocateMemory:3 vulkan:vkQueueSubmit2:3 vulkan:vkWaitSemaphores:2; do
        must_end $call "$BENCH" --quick --driver=soft --only=frames
    done
    for call in 3 150 900; do
        for kind in cuda vulkan; do
            failing $kind:$call "$BENCH" --quick --driver=soft --only=frames
        done
    done
    ;;
*) fail "there is no case $case" ;;
esac
echo "ok: $case"
