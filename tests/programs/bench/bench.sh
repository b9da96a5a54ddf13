#!/bin/sh
# One case of the benchmarks' tests: bench.sh NAME CASE. NAME: calls or frames. BENCH is its program, BENCH_SOURCE the repository, BENCH_VERSION the version to expect, BENCH_SANITIZE the sanitizers of the build,
# BENCH_PYTHON an interpreter, BENCH_NCCL where the played NCCL is. No test judges a time or a rate. Exit 77: skipped, with the reason. SPDX-License-Identifier: MIT
set -eu

name=$1 case=$2
unset CULVERT_SOFT CULVERT_SOFT_DEVICES CULVERT_SOFT_FAIL_AT CULVERT_SOFT_DELAY CULVERT_LOG CUDA_VISIBLE_DEVICES
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
err=$work/err
json=$work/$name.json

# What a run must have said -------------------------------------------------------------------------------------------

fail() {
    echo "FAIL: $*"
    for file in "$out" "$err"; do
        [ ! -f "$file" ] || { echo "--- standard $(basename "$file")"; cat "$file"; }
    done
    echo "FAIL: $*" # again: a summary may show only the last lines
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
silent() { [ ! -s "$err" ] || fail "something on standard error"; }
quick() { run 0 "$BENCH" --quick --driver=soft "$@"; }

# failing CALL OPTION...: a quick run with a driver's call that fails. It says which, ends with 1, and hangs never.
# A call by its number among all may be tried again, or be no obstacle; its number moves with other threads' calls.
# $status has how it ended.
failing() {
    failing_call=$1
    shift
    status=0
    CULVERT_SOFT_FAIL_AT=$failing_call timeout 60 "$BENCH" --quick --driver=soft "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq 0 ] && return
    [ "$status" -eq 1 ] || [ "$status" -eq 3 ] || fail "$failing_call: exit status $status"
    complains "^$(basename "$BENCH"): "
}

# must_end CALL OPTION...: as failing, with a call that the program cannot do without.
must_end() {
    failing "$@"
    [ "$status" -eq 1 ] || fail "$failing_call: exit status $status, expected 1"
}

check_json() {
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/programs/bench/check_$name.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}

# The tables that are made of the results ---------------------------------------------------------------------------------

report() { # STATUS ARGUMENT...
    report_status=$1
    shift
    run "$report_status" "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/report" bench "$@"
}

refuses() { # TEXT COMMAND...: ends with 1 and says so
    refused=$1
    shift
    "$@"
    complains "$refused"
    [ ! -s "$out" ] || fail "a table in spite of an error"
}

# Cases that are alike ------------------------------------------------------------------------------------------------

# options PROGRAM: uses $wrong, $right and $listed, what --list shows, each with $after behind it.
options() {
    run 2 "$BENCH" --bogus
    complains "unknown option '--bogus'"
    [ ! -s "$out" ] || fail "output in spite of a wrong option"
    for option in $wrong; do
        run 2 "$BENCH" "$option"
        complains "$option"
        complains "--help"
    done
    run 0 "$BENCH" --help
    for option in $right --driver --device --seed --quick --json --version; do says "$option"; done
    if [ -n "$listed" ]; then
        run 0 "$BENCH" --list
        for section in $listed; do says "^$section$after"; done
    fi
    run 0 "$BENCH" --version
    [ "$(cat "$out")" = "$1 $BENCH_VERSION" ] || fail "not version $BENCH_VERSION"
}

# quick_tables JSON_CHECK... -- TEXT...: after a quick run: its JSON, whose keys docs/measured/benchmarks.md has, and its tables, which
# are the same from the directory that `run all` leaves, and from its archive.
quick_tables() {
    checks=
    while [ "$1" != -- ]; do
        checks="$checks $1"
        shift
    done
    shift
    says "by the software twin"
    # shellcheck disable=SC2086 # several words
    check_json "$json" $checks "documented=$BENCH_SOURCE/docs/measured/benchmarks.md"
    report 0 "$json"
    for text in "software twin" "**the numbers mean nothing**" "$@"; do
        grep -qF -- "$text" "$out" || fail "the tables do not say: $text"
    done
    cp "$out" "$work/first.md"
    mkdir "$work/results"
    case $name in calls) cp "$json" "$work/results/bench.json" ;; *) cp "$json" "$work/results/" ;; esac
    tar -C "$work" -czf "$work/results.tar.gz" results
    for from in "$work/results" "$work/results.tar.gz"; do
        report 0 "$from"
        cmp "$work/first.md" "$out" || fail "other tables from $from"
    done
    echo '{"schema": 1, "program": "other"}' >"$work/other.json"
    refuses "results of other" report 1 "$work/other.json"
}

validation() { # OPTION...
    [ -z "$BENCH_SANITIZE" ] || skip "the validation layer leaks memory of its own"
    status=0
    "$BENCH" --quick --driver=soft --validation "$@" >"$out" 2>"$err" || status=$?
    ! grep -q "there is no VK_LAYER_KHRONOS_validation" "$err" || skip "the validation layer is not installed"
    [ "$status" -ne 3 ] || skip "$(tail -n 1 "$err")"
    [ "$status" -eq 0 ] || fail "exit status $status under validation"
    ! grep -q "^VALIDATION" "$out" || fail "the validation layer has something to say"
}

# The cases -----------------------------------------------------------------------------------------------------------

after="  "
case $name.$case in
calls.options)
    wrong="--driver=gpu --driver= --only=nothing --only= --seconds=0 --seconds=-1 --seconds=x --seconds=nan --seconds=inf
        --seconds=4000 --seed=-1 --seed= --seed=1x --seed=99999999999999999999 --device=-1 --device=a --device=1024 --json=
        --quick=1 --only"
    right="--only --list --seconds --validation"
    listed="buffer image timeline submit frames"
    options culvert-bench-calls
    run 2 "$BENCH" something
    complains "unknown argument 'something'"
    ;;
frames.options)
    wrong="--driver=gpu --only=nothing --scheme=none --size=1 --size=8X --size=8G --loads=110 --loads=0/1 --work=none --depth=
        --depth=0 --depth=1,,2 --depth=65 --burst=x --frames=0 --rounds=0 --rounds=65 --within=0 --seed=-1 --json="
    right="--only --list --advise --within --scheme --size --loads --work --depth --burst --frames --rounds --validation"
    listed="frames overlap latency sizes loads waits backwards streams advise across fields"
    options culvert-bench
    ;;

calls.full_output)
    [ -c /dev/full ] || skip "there is no /dev/full"
    for option in --list --help; do
        status=0
        "$BENCH" "$option" >/dev/full 2>"$err" || status=$?
        [ "$status" -eq 1 ] || fail "$option: exit status $status with a full disk"
    done
    for option in --json --quick --json=/dev/full; do
        status=0
        "$BENCH" --quick --only=frames "$option" >/dev/full 2>"$err" || status=$?
        [ "$status" -ne 3 ] || skip "$(tail -n 1 "$err")"
        [ "$status" -eq 1 ] || fail "$option: exit status $status with a full disk"
        complains "could not be written"
    done
    run 1 "$BENCH" --quick --only=frames --json="$work/no/such/directory/file.json"
    complains "$work/no/such/directory/file.json could not be written"
    ;;
calls.no_device)
    # An empty file of a library's name, found first, fails to load on any machine.
    mkdir "$work/hide"
    : >"$work/hide/libcuda.so.1"
    run 3 LD_LIBRARY_PATH="$work/hide${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" VK_DRIVER_FILES="$work/missing.json" \
        "$BENCH" --quick
    complains "nothing can be measured here"
    run 1 LD_LIBRARY_PATH="$work/hide${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$BENCH" --quick --driver=nvidia
    complains "driver=nvidia"
    ;;

calls.quick)
    quick --json="$json"
    silent
    says "too few turns"
    "$BENCH" --list | while read -r section rest; do
        case $section in frames) ;; *) says "^$section" ;; esac
    done
    says "allocations by Culvert"
    allocations="**0 allocations**"
    [ -z "$BENCH_SANITIZE" ] || allocations="not counted"
    quick_tables "sanitized=$BENCH_SANITIZE" -- "| buffer, 64 KiB | import + map |" "signal + wait" "$allocations"
    ;;
frames.quick)
    quick "--json=$json"
    silent
    says "too few frames"
    quick_tables all -- "### waits: 64 KiB" "none was wrong"
    ;;

calls.json)
    quick --json --only=timeline --only=frames
    silent
    check_json "$out" "sanitized=$BENCH_SANITIZE" "measurements=timeline"
    ;;
calls.only)
    quick --seed=77 --only=timeline --seconds=0.5 --json="$json"
    check_json "$json" "seed=77" "measurements=timeline"
    ! grep -q "^buffer" "$out" || fail "more than was asked for"
    ! grep -q "allocations by Culvert" "$out" || fail "more than was asked for"
    ;;
frames.chosen)
    quick --only=frames --scheme=culv_ring --size=128K --loads=10/10 --depth=3,6 --burst=3 --frames=50 --rounds=2 --seed=5 --json
    silent
    check_json "$out" chosen
    ;;
frames.many)
    # More frames than have command buffers: all are checked.
    quick --only=frames --scheme=in-queue --scheme=async --work=memory --loads=1/1 --depth=2 --burst=1 --frames=2500 --json
    silent
    check_json "$out" many
    ;;
frames.advise)
    quick --advise --loads=10/20 --rounds=1
    says "settings.depth = "
    run 0 CULVERT_SOFT_DEVICES=2 "$BENCH" --quick --driver=soft --advise --loads=10/20 --rounds=1
    says "CUDA device 1 reaches this one's memory"
    run 0 CULVERT_SOFT_DEVICES=2 "$BENCH" --quick --driver=soft --advise --loads=10/20 --rounds=1 --solver-device=1
    says "allow_other_gpu = 1"
    quick --advise --loads=10/20 --rounds=1 --within=1
    says "No way has frames that are at most 0.00 ms old."
    quick --advise --loads=10/20 "--json=$json"
    check_json "$json" advise
    ;;
frames.fields)
    quick --only=fields
    says "culv_image_write"
    ;;
frames.across)
    across() { # STATUS NCCL
        run "$1" CULVERT_SOFT_DEVICES=2 "LD_LIBRARY_PATH=$BENCH_NCCL" "PLAYED_NCCL=$2" "$BENCH" --quick --driver=soft \
            --only=across --solver-device=1 "--json=$json"
    }
    quick --only=across
    says "left out: it needs --solver-device"
    across 0 fails
    says "left out: NCCL: ncclCommInitAll: played"
    check_json "$json" across=cuMemcpyPeerAsync
    across 0 works
    check_json "$json" across=NCCL
    report 0 "$json"
    says "copy, 2 buffers"
    across 1 spoils # a word of 16,384
    complains "across.c"
    ;;

calls.validation) validation ;;
frames.validation)
    validation --only=frames --only=latency --only=backwards
    export CULVERT_SOFT_DEVICES=2
    validation --only=across --solver-device=1
    ;;
frames.first_drawing)
    # What a GPU answers on which a kernel has faulted before: 2 is VK_TIMEOUT.
    must_end vulkan:vkWaitForFences:1:2 --only=frames
    complains "The first drawing does not end"
    complains "Xid 109"
    ;;

calls.driver_failures)
    quick --only=timeline --only=frames
    part() { # what was measured before the failure is in the file all the same
        check_json "$work/part.json" incomplete "sanitized=$BENCH_SANITIZE"
        rm -f "$work/part.json"
    }
    part_or_all() { # the call may be one of those that give everything back
        if grep -q '"complete": true' "$work/part.json"; then
            check_json "$work/part.json" "sanitized=$BENCH_SANITIZE" "measurements=submit,timeline"
        else
            part
        fi
    }
    three() { "$1" "$2" --only=submit --only=timeline --only=frames --json="$work/part.json"; }
    for call in cuda:cuImportExternalMemory:1 vulkan:vkQueueSubmit2:1 vulkan:vkAllocateMemory:1; do
        three must_end $call
        part
    done
    for call in cuda:cuSignalExternalSemaphoresAsync:2 cuda:cuImportExternalSemaphore:1 vulkan:vkCreateSemaphore:1 \
        vulkan:vkWaitSemaphores:1; do
        three must_end $call
    done
    for call in 1 8 55 144 377 900; do
        for kind in cuda vulkan; do
            rm -f "$work/part.json"
            three failing $kind:$call
            if [ "$status" -ne 0 ] && [ -e "$work/part.json" ]; then part_or_all; fi
        done
    done
    ;;
frames.driver_failures)
    for call in cuda:cuModuleLoadData:1 cuda:cuImportExternalSemaphore:3 cuda:cuLaunchKernel:3 cuda:cuMemcpyDtoH:2 \
        vulkan:vkAllocateMemory:3 vulkan:vkQueueSubmit2:3 vulkan:vkWaitSemaphores:2; do
        must_end $call --only=frames
    done
    for call in 3 150 900; do
        for kind in cuda vulkan; do failing $kind:$call --only=frames; done
    done
    ;;

calls.watchdog)
    # The alarm that a hang would meet, sent by hand.
    "$BENCH" --driver=soft --only=timeline --seconds=60 >"$out" 2>"$err" &
    pid=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        ! grep -q "Microseconds a call" "$out" || break
        kill -0 $pid 2>/dev/null || break
        sleep 1
    done
    kill -ALRM $pid 2>/dev/null || true
    status=0
    wait $pid || status=$?
    [ "$status" -ne 3 ] || skip "$(tail -n 1 "$err")"
    [ "$status" -eq 1 ] || fail "exit status $status"
    complains "^culvert-bench-calls: .* hangs: not done after [0-9]* s"
    ;;
calls.report_errors)
    cat >"$work/ripple.txt" <<'END'
ripple: a device by a driver
RESULT {"sample": "ripple", "device": "NVIDIA H200", "driver": "NVIDIA", "path": "shared", "width": 1024, "height": 1024, "frames": 300, "simulation_ms": 0.19, "drawing_ms": 4.7, "frame_ms": 5.0}
RESULT {"sample": "ripple", "device": "NVIDIA H200", "driver": "NVIDIA", "path": "ring", "width": 1024, "height": 1024, "frames": 300, "simulation_ms": 0.2, "drawing_ms": 4.8, "frame_ms": 10.0}
END
    report 0 "$work/ripple.txt"
    says "| 1024 x 1024 | ring | 10.00 |"
    refuses "missing.json" report 1 "$work/missing.json"
    echo "{" >"$work/broken.json"
    refuses "broken.json" report 1 "$work/broken.json"
    echo '{"schema": 99}' >"$work/newer.json"
    refuses "schema 99" report 1 "$work/newer.json"
    echo 'RESULT {"sample": "ripple"}' >"$work/short.txt"
    refuses "short.txt" report 1 "$work/short.txt"
    echo 'nothing' >"$work/empty.txt"
    refuses "empty.txt" report 1 "$work/empty.txt"
    ;;
*) fail "there is no case $case of $name" ;;
esac
echo "ok: $name $case"
