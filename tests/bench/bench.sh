#!/bin/sh
# One case of the benchmarks' tests: bench.sh CASE. BENCH is the program, BENCH_SOURCE the repository, BENCH_VERSION
# the version to expect, BENCH_SANITIZE the sanitizers of the build, BENCH_PYTHON an interpreter. Exit 77: skipped,
# with the reason. SPDX-License-Identifier: MIT
set -eu

. "$BENCH_SOURCE/tests/bench/case.sh"
quick() { run 0 "$BENCH" --quick --driver=soft "$@"; }
check_json() {
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/bench/check_json.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}
report() { # STATUS ARGUMENT...
    expected=$1
    shift
    run "$expected" "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/bench-report" --output "$work/page.md" "$@"
}
page_says() { grep -qF -- "$1" "$work/page.md" || { cat "$work/page.md"; fail "the page does not say: $1"; }; }

case $case in
options)
    run 2 "$BENCH" --bogus
    complains "unknown option '--bogus'"
    [ ! -s "$out" ] || fail "output in spite of a wrong option"
    run 2 "$BENCH" something
    complains "unknown argument 'something'"
    for wrong in --driver=gpu --driver= --only=nothing --only= --seconds=0 --seconds=-1 --seconds=x --seconds=nan \
        --seconds=inf --seconds=4000 --seed=-1 --seed= --seed=1x --seed=99999999999999999999 --device=-1 --device=a \
        --device=1024 --json= --quick=1 --only; do
        run 2 "$BENCH" "$wrong"
        complains "$wrong"
        complains "--help"
    done
    run 0 "$BENCH" --help
    for option in --driver --device --only --list --seconds --seed --quick --validation --json --version; do
        says "$option"
    done
    run 0 "$BENCH" --version
    [ "$(cat "$out")" = "culvert-bench-calls $BENCH_VERSION" ] || fail "not version $BENCH_VERSION"
    run 0 "$BENCH" --list
    for name in buffer image create timeline batch submit "round trip" binary streams frames; do says "^$name  "; done
    ;;
full_output)
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
no_device)
    # An empty file of a library's name, found first, fails to load on any machine.
    mkdir "$work/hide"
    : >"$work/hide/libcuda.so.1"
    run 3 LD_LIBRARY_PATH="$work/hide${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" VK_DRIVER_FILES="$work/missing.json" \
        "$BENCH" --quick
    complains "nothing can be measured here"
    run 1 LD_LIBRARY_PATH="$work/hide${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$BENCH" --quick --driver=nvidia
    complains "driver=nvidia"
    ;;
quick)
    quick --json="$work/all.json"
    [ ! -s "$err" ] || fail "something on standard error"
    says "by the software twin"
    says "too few turns"
    "$BENCH" --list | while read -r name rest; do
        case $name in frames) ;; *) says "^$name" ;; esac
    done
    if [ -z "$BENCH_SANITIZE" ]; then says "allocations by Culvert in [0-9]* frames: 0 "; fi
    check_json "$work/all.json" all "sanitized=$BENCH_SANITIZE"
    ;;
json)
    quick --json --only=timeline --only=frames
    [ ! -s "$err" ] || fail "something on standard error"
    check_json "$out" "sanitized=$BENCH_SANITIZE" "measurements=timeline"
    ;;
only)
    quick --only=streams --json="$work/one.json"
    check_json "$work/one.json" "measurements=streams"
    ! grep -q "^buffer" "$out" || fail "more than was asked for"
    ! grep -q "allocations by Culvert" "$out" || fail "more than was asked for"
    ;;
seed)
    quick --seed=77 --only=streams --seconds=0.5 --json="$work/seed.json"
    check_json "$work/seed.json" "seed=77" "measurements=streams"
    ;;
validation)
    [ -z "$BENCH_SANITIZE" ] || skip "the validation layer leaks memory of its own"
    status=0
    "$BENCH" --quick --driver=soft --validation >"$out" 2>"$err" || status=$?
    ! grep -q "there is no VK_LAYER_KHRONOS_validation" "$err" || skip "the validation layer is not installed"
    [ "$status" -ne 3 ] || skip "$(tail -n 1 "$err")"
    [ "$status" -eq 0 ] || fail "exit status $status under validation"
    ! grep -q "^VALIDATION" "$out" || fail "the validation layer has something to say"
    ;;
driver_failures)
    quick --only=timeline --only=frames
    part() { # what was measured before the failure is in the file all the same
        check_json "$work/part.json" incomplete "sanitized=$BENCH_SANITIZE"
        rm -f "$work/part.json"
    }
    part_or_all() { # the call may be one of those that give everything back
        if grep -q '"complete": true' "$work/part.json"; then
            check_json "$work/part.json" "sanitized=$BENCH_SANITIZE" "measurements=streams,timeline"
        else
            part
        fi
    }
    three() { "$1" "$2" "$BENCH" --quick --driver=soft --only=streams --only=timeline --only=frames --json="$work/part.json"; }
    for call in cuda:cuEventRecord:1 cuda:cuImportExternalMemory:1 vulkan:vkQueueSubmit2:1 vulkan:vkAllocateMemory:1; do
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
gl)
    # Each word that CUDA writes through a mapping is read in OpenGL, before the times are taken and after.
    run 0 "$BENCH" --quick --driver=soft "--only=gl register" "--json=$work/calls.json"
    [ ! -s "$err" ] || fail "something on standard error"
    check_json "$work/calls.json" "measurements=gl register"
    run 0 "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/gl-report" "$work/calls.json" --output "$work/page.md"
    for row in "1 buffers | map + unmap" "8 buffers | map + unmap" "64 buffers | map + unmap" "64 buffers, unchecked | map"; do
        grep -qF "| $row " "$work/page.md" || { cat "$work/page.md"; fail "the page does not say: $row"; }
    done
    grep -qF "at most 1.03" "$work/page.md" || fail "the page does not have the goal"
    ;;
watchdog)
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
report)
    quick --json="$work/bench.json"
    cat >"$work/ripple.txt" <<'END'
ripple: a device by a driver
RESULT {"sample": "ripple", "device": "NVIDIA H200", "driver": "NVIDIA", "path": "shared", "width": 1024, "height": 1024, "frames": 300, "simulation_ms": 0.19, "drawing_ms": 4.7, "frame_ms": 5.0, "transfer_bytes_per_frame": 0}
RESULT {"sample": "ripple", "device": "NVIDIA H200", "driver": "NVIDIA", "path": "staged", "width": 1024, "height": 1024, "frames": 300, "simulation_ms": 0.2, "drawing_ms": 4.8, "frame_ms": 10.0, "transfer_bytes_per_frame": 33554432}
END
    report 0 "$work/bench.json" "$work/ripple.txt"
    page_says "# Benchmarks"
    page_says "import + map"
    page_says "software twin"
    page_says "1024 x 1024"
    page_says "2.00"
    page_says "33.6 MB"
    if [ -z "$BENCH_SANITIZE" ]; then page_says "**0 allocations**"; else page_says "not counted"; fi
    # Every key of the JSON is explained there.
    check_json "$work/bench.json" "sanitized=$BENCH_SANITIZE" "documented=$work/page.md"
    # From the directory that `run all` leaves, and from its archive.
    mkdir "$work/results"
    cp "$work/bench.json" "$work/results/bench.json"
    cp "$work/ripple.txt" "$work/results/bench_ripple.txt"
    cp "$work/page.md" "$work/first.md"
    report 0 "$work/results"
    cmp "$work/first.md" "$work/page.md" || fail "another page from a directory"
    tar -C "$work" -czf "$work/results.tar.gz" results
    report 0 "$work/results.tar.gz"
    cmp "$work/first.md" "$work/page.md" || fail "another page from an archive"
    ;;
report_errors)
    report 1 "$work/missing.json"
    complains "missing.json"
    echo "{" >"$work/broken.json"
    report 1 "$work/broken.json"
    complains "broken.json"
    echo '{"schema": 99}' >"$work/newer.json"
    report 1 "$work/newer.json"
    complains "schema 99"
    echo 'RESULT {"sample": "ripple"}' >"$work/short.txt"
    report 1 "$work/short.txt"
    complains "short.txt"
    echo 'nothing' >"$work/empty.txt"
    report 1 "$work/empty.txt"
    complains "empty.txt"
    [ ! -e "$work/page.md" ] || fail "a page in spite of an error"
    ;;
*) fail "there is no case $case" ;;
esac
echo "ok: $case"
