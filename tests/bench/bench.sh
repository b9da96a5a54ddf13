#!/bin/sh
# One case of the benchmarks' tests: bench.sh NAME CASE. NAME: calls, frames, gl, import, kinds, memory, peers, rdma or space. BENCH is
# its program, BENCH_SOURCE the repository, BENCH_VERSION the version to expect, BENCH_SANITIZE the sanitizers of the build,
# BENCH_PYTHON an interpreter. No test judges a time or a rate. Exit 77: skipped, with the reason. SPDX-License-Identifier: MIT
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
    "$BENCH_PYTHON" "$BENCH_SOURCE/tests/bench/check_$name.py" "$@" >"$work/json" 2>&1 || fail "$(cat "$work/json")"
}

# The page that is made of the results -----------------------------------------------------------------

report() { # STATUS ARGUMENT...
    report_status=$1
    shift
    run "$report_status" "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/report" "$name" --output "$work/page.md" "$@"
}

page_says() { grep -qF -- "$1" "$work/page.md" || { cat "$work/page.md"; fail "the page does not say: $1"; }; }

# same_from_a_bundle FILE NAME ...: the page is the same from the directory that `run all` leaves, and from its archive.
same_from_a_bundle() {
    cp "$work/page.md" "$work/first.md"
    mkdir "$work/results"
    while [ $# -gt 0 ]; do
        cp "$1" "$work/results/$2"
        shift 2
    done
    tar -C "$work" -czf "$work/results.tar.gz" results
    for from in "$work/results" "$work/results.tar.gz"; do
        report 0 "$from"
        cmp "$work/first.md" "$work/page.md" || fail "another page from $from"
    done
    rm "$work/page.md"
}

refuses() { # TEXT COMMAND...: ends with 1 and says so
    refused=$1
    shift
    "$@"
    complains "$refused"
    [ ! -e "$work/page.md" ] || fail "a page in spite of an error"
}

# tables BLOCKS KIND TEXT...: the tables of a page that is written by hand otherwise.
tables() {
    blocks=$1 kind=$2
    shift 2
    { echo Before.; for block in $blocks; do printf '<!-- %s -->\nOld.\n<!-- end -->\n' "$block"; done; } >"$work/page.md"
    run 1 "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/report" "$kind" --output "$work/page.md" "$json"
    complains "whose times mean nothing"
    run 0 "$BENCH_PYTHON" "$BENCH_SOURCE/scripts/report" "$kind" --quick --output "$work/page.md" "$json"
    ! grep -q "Old" "$work/page.md" || fail "the old tables are there"
    for text in Before. "$@"; do page_says "$text"; done
    rm "$work/page.md"
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

# empty_page PAGE: without results the page has only the method. The page in docs/measured begins in the same way.
empty_page() {
    report 0
    page_says "No run on a GPU is recorded here yet."
    sed '/^No run on a GPU/,$d' "$work/page.md" >"$work/head"
    head -n "$(wc -l <"$work/head")" "$BENCH_SOURCE/docs/measured/$1" | cmp - "$work/head" ||
        fail "docs/measured/$1 is not what scripts/report $name makes"
}

# quick_page WHAT JSON_CHECK... -- TEXT...: after a quick run, whose WHAT mean nothing: its JSON, its page that says TEXT.
quick_page() {
    means_nothing=$1 checks=
    shift
    while [ "$1" != -- ]; do
        checks="$checks $1"
        shift
    done
    shift
    silent
    says "by the software twin"
    # shellcheck disable=SC2086 # several words
    check_json "$json" $checks
    report 0 "$json"
    page_says "software twin"
    page_says "**the $means_nothing mean nothing**"
    for text in "$@"; do page_says "$text"; done
    # shellcheck disable=SC2086
    check_json "$json" $checks "documented=${documented:-$work/page.md}"
    same_from_a_bundle "$json" "$name.json"
    echo '{"schema": 1, "program": "other"}' >"$work/other.json"
    refuses "results of other" report 1 "$work/other.json"
    refuses "missing.json" report 1 "$work/missing.json"
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
usual_wrong="--driver=gpu --only=nothing --only= --device=x --seed=-1 --json= --quick=1 something"
case $name.$case in
calls.options)
    wrong="--driver=gpu --driver= --only=nothing --only= --seconds=0 --seconds=-1 --seconds=x --seconds=nan --seconds=inf
        --seconds=4000 --seed=-1 --seed= --seed=1x --seed=99999999999999999999 --device=-1 --device=a --device=1024 --json=
        --quick=1 --only"
    right="--only --list --seconds --validation"
    listed="buffer image create timeline batch submit round.trip binary streams frames"
    options culvert-bench-calls
    run 2 "$BENCH" something
    complains "unknown argument 'something'"
    ;;
frames.options)
    wrong="--driver=gpu --only=nothing --scheme=none --size=1 --size=8X --size=8G --loads=110 --loads=0/1 --work=none --depth=
        --depth=0 --depth=1,,2 --depth=65 --burst=x --frames=0 --rounds=0 --rounds=65 --within=0 --seed=-1 --json= --trace=none.csv --kernel=file --kernel=:name --grid=0 --grid=1,2,3,4
        --block=x --launches=0 --args=frame,i3:3 --args=5X --groups=0 --frame-binding=-1"
    right="--only --list --advise --within --trace --kernel --grid --block --shared --launches --args --shader --groups --frame-binding --search --scheme --size --loads --work --depth --burst --frames --rounds --validation"
    listed=
    options culvert-bench
    ;;
gl.options)
    wrong=$usual_wrong right="--only --list" listed="memory register staged" after="\$"
    options culvert-bench-gl
    empty_page gl-performance.md
    ;;
import.options)
    wrong="--driver=gpu --device=x --seed=-1 --json= --quick=1 something" right="" listed=
    options culvert-bench-import
    ;;
kinds.options)
    wrong=$usual_wrong right="--only --list" listed="buffers images"
    options culvert-bench-kinds
    empty_page memory-kinds.md
    ;;
memory.options)
    wrong=$usual_wrong right="--only --list --large" listed="grow chunks ahead free peers large"
    options culvert-bench-memory
    empty_page memory-performance.md
    ;;
rdma.options)
    wrong="--driver=gpu --most=0 --most=2000000 --teardown=1 --device=x --seed=-1 --json= --quick=1 something"
    right="--most --teardown" listed=
    options culvert-bench-rdma
    empty_page rdma-performance.md
    ;;
space.options)
    wrong="$usual_wrong --starts=0 --kind=nothing --seconds=x"
    right="--only --list --starts --kind --seconds" listed="commit grow forest starts"
    options culvert-bench-space
    empty_page space-performance.md
    ;;
peers.options)
    for wrong in --bogus --frames=0 --frames=x --pace-us=1000000 --limit-us= something; do
        run 2 "$BENCH" "$wrong"
        complains "usage: culvert-bench-peers"
    done
    run 0 "$BENCH" --help
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
    says "by the software twin"
    says "too few turns"
    "$BENCH" --list | while read -r section rest; do
        case $section in frames) ;; *) says "^$section" ;; esac
    done
    if [ -z "$BENCH_SANITIZE" ]; then says "allocations by Culvert in [0-9]* frames: 0 "; fi
    check_json "$json" all "sanitized=$BENCH_SANITIZE"
    ;;
frames.quick)
    # Every section and scheme; the program ends with 1 when a frame was lost or torn.
    quick "--json=$json"
    silent
    says "by the software twin"
    says "too few frames"
    check_json "$json" all
    tables "waits backwards processes wakes" waits "| solver + renderer | Vulkan's queue waits |" "the ring chooses" "| renderer + solver | the GPU waits |" "| \`cuLaunchHostFunc\`, eventfd, poll |" "| \`vkWaitForFences\` |"
    tables small small "| 16 x 2 |" "culv_vk_kernel_get_barrier2()" "a CUDA graph without edges"
    ;;
# The program ends with 1 when a word or a look-up's answer is wrong, a picture differs or something is left.
gl.quick)
    quick "--json=$json"
    says "words were checked, none is wrong"
    # shellcheck disable=SC2016
    quick_page times -- '| `memory`, waits on the CPU | 4/1 |'
    ;;
import.quick)
    # Each launch of a process is checked in it, and how it ends by its parent.
    quick "--json=$json"
    silent
    says "^yes *yes *launch "
    says "too little for the times"
    check_json "$json"
    tables import small "| \`vkCreateDevice()\` |" "| the first \`vkCreateCuModuleNVX()\` |  | "
    ;;
kinds.quick)
    quick "--json=$json"
    says "words were checked, none is wrong"
    quick_page rates all -- "| culv_vk_buffer_create() | fast |"
    ;;
memory.quick)
    run 0 CULVERT_SOFT_DEVICES=2 "$BENCH" --quick --driver=soft "--json=$json"
    says "too few turns"
    says "words were checked, none is wrong"
    quick_page times all -- "culv_vector_shrink"
    ;;
rdma.quick)
    quick "--json=$json"
    says "look-ups were checked, none is wrong"
    quick_page times -- "1 to 100 registrations: at most logarithmic" "| culv_rdma_get_info() |"
    ;;
space.quick)
    quick "--json=$json"
    says "too few turns"
    documented=$BENCH_SOURCE/docs/space.md
    quick_page times all -- "| 2 MiB | commit of a chunk |" "| a fresh process |"
    ;;
peers.quick)
    # It ends with 1 when an honest consumer was dropped, as happens where the machine is busy. The promises to consumers
    # are library-ipc's to test (ring.past_every.*, ring.past_newest.*).
    status=0
    CULVERT_SOFT=1 "$BENCH" --soft --quick --frames=60 --limit-us=1000000 "--json=$json" >"$out" 2>"$err" || status=$?
    [ "$status" -le 1 ] || fail "status $status"
    silent
    for row in "keeps up" "is stopped with a frame" "lies in its page" "is killed" "never reads"; do says "$row"; done
    check_json "$json"
    ;;

calls.json)
    quick --json --only=timeline --only=frames
    silent
    check_json "$out" "sanitized=$BENCH_SANITIZE" "measurements=timeline"
    ;;
calls.only)
    quick --only=streams --json="$json"
    check_json "$json" "measurements=streams"
    ! grep -q "^buffer" "$out" || fail "more than was asked for"
    ! grep -q "allocations by Culvert" "$out" || fail "more than was asked for"
    ;;
calls.seed)
    quick --seed=77 --only=streams --seconds=0.5 --json="$json"
    check_json "$json" "seed=77" "measurements=streams"
    ;;
calls.gl)
    # Each word that CUDA writes through a mapping is read in OpenGL, before the times are taken and after.
    quick "--only=gl register" "--json=$json"
    silent
    check_json "$json" "measurements=gl register"
    name=gl
    report 0 "$json"
    for row in "1 buffers | map + unmap" "8 buffers | map + unmap" "64 buffers | map + unmap" "64 buffers, unchecked | map"; do
        page_says "| $row "
    done
    page_says "at most 1.03"
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
frames.choice)
    quick --only=waits --only=backwards --choice "--json=$json"
    says "the ring's choice takes [0-9.]* of the best fixed way: depth [12]"
    check_json "$json" choice
    ;;
frames.advise)
    quick --advise --loads=10/20 --rounds=1
    says "settings.depth = "
    says "settings.way = CULV_RING_WAY_AUTO"
    quick --advise --loads=10/20 --rounds=1 --within=1
    says "No way has frames that are at most 0.00 ms old."
    quick --advise --loads=10/20 "--json=$json"
    check_json "$json" advise
    ;;
frames.advise_work)
    # The user's own work: a recorded trace, a kernel and a shader. Frames are checked as ever. A kernel that gets a wrong
    # address ends the run, so it is the kernel that runs.
    share=$(dirname "$BENCH")/../share/culvert
    kernel=$share/bench_frames.soft.so:frames_count
    printf 'solver,renderer\n# in microseconds\n\n10,20\n12;25\n' >"$work/trace.csv"
    for n in 1 2 3 4 5 6 7 8 9; do printf '%d,4%d\n2%d, 3%d\n' "$n" "$n" "$n" "$n" >>"$work/trace.csv"; done
    quick "--trace=$work/trace.csv" "--json=$json"
    says "Your trace: 20 frames; the solver takes 14.[0-9] us"
    says "Each run has 20 of them, from frame 0 on"
    says "settings.way = CULV_RING_WAY_AUTO"
    check_json "$json" trace
    printf '1,2\n1\n' >"$work/trace.csv"
    run 2 "$BENCH" "--trace=$work/trace.csv"
    complains "line 2 of the trace"
    run 2 "$BENCH" --advise --args=frame
    complains "which kernel"
    quick "--kernel=$kernel" --grid=64 --block=256 --launches=3 --args=frame,u32:16384,u32:1 "--shader=$share/bench_frame.comp.spv" --groups=4,2
    says "Your kernel 'frames_count' takes .* us in 3 launches"
    says "Your shader takes .* in 4 x 2 x 1 groups; the frame is binding 0"
    says "frames were checked; none was lost, none was wrong"
    if [ -z "$BENCH_SANITIZE" ]; then # it would find the wrong address first
        run 1 "$BENCH" --quick --driver=soft "--kernel=$kernel" --grid=64 --block=256 --args=u64:0,u32:16384,u32:1
        complains "ILLEGAL_ADDRESS"
    fi
    run 1 "$BENCH" --quick --driver=soft "--kernel=$kernel" --args=frame
    complains "takes 3 arguments"
    run 1 "$BENCH" --quick --driver=soft "--shader=$share/bench_draw.frag.spv"
    complains "has no compute shader"
    run 1 "$BENCH" --quick --driver=soft "--shader=$share/bench_frame.comp.spv" --frame-binding=3
    complains "has no storage buffer 3"
    ;;
frames.search)
    quick --search "--json=$json"
    check_json "$json" search
    ;;
gl.one)
    quick --only=register --seed=7 --json
    silent
    check_json "$out" "ways=register" "seed=7"
    ;;
kinds.one)
    quick --only=buffers --seed=7 --json
    silent
    check_json "$out" "sections=buffers" "seed=7"
    ;;
memory.one)
    quick --only=large --only=peers --seed=7 --json
    silent
    check_json "$out" "sections=large" "left_out=peers" "seed=7"
    ;;
rdma.one)
    quick --most=1 --seed=7 --json
    silent
    check_json "$out" "entries=1" "seed=7"
    ;;
space.one)
    quick --only=starts --starts=3 --seed=7 --json
    check_json "$out" "sections=starts" "starts=3" "seed=7"
    ;;

calls.validation) validation ;;
frames.validation)
    validation --only=frames --only=latency --only=newest --only=copies --only=small --only=backwards --only=wakes
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
            check_json "$work/part.json" "sanitized=$BENCH_SANITIZE" "measurements=streams,timeline"
        else
            part
        fi
    }
    three() { "$1" "$2" --only=streams --only=timeline --only=frames --json="$work/part.json"; }
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
frames.driver_failures)
    for call in cuda:cuModuleLoadData:1 cuda:cuImportExternalSemaphore:3 cuda:cuLaunchKernel:3 cuda:cuMemcpyDtoH:2 \
        vulkan:vkAllocateMemory:3 vulkan:vkQueueSubmit2:3 vulkan:vkWaitSemaphores:2; do
        must_end $call --only=frames
    done
    for call in 3 150 900; do
        for kind in cuda vulkan; do failing $kind:$call --only=frames; done
    done
    ;;
gl.driver_failures)
    for call in cuMemsetD32Async:1 cuGraphicsUnmapResources:1 cuEventRecord:1 cuStreamSynchronize:3; do must_end cuda:$call; done
    ;;
kinds.driver_failures)
    for call in cuda:cuMemAlloc:1 cuda:cuLaunchKernel:2 cuda:cuEventRecord:1 cuda:cuImportExternalMemory:1 cuda:cuMemCreate:1 \
        cuda:cuArray3DCreate:1 vulkan:vkAllocateMemory:2 vulkan:vkCreateComputePipelines:1 vulkan:vkCreateBuffer:3; do
        must_end $call
    done
    ;;
memory.driver_failures)
    for call in cuMemAddressReserve:1 cuMemMap:1 cuMemCreate:3 cuMemSetAccess:1 cuLaunchKernel:2 cuMemcpyDtoH:1 cuMemFree:1; do
        must_end cuda:$call --only=large --only=ahead
    done
    for call in 60 200 420; do failing cuda:$call --only=large --only=ahead; done
    ;;
rdma.driver_failures)
    for call in cuMemAlloc:1 cuPointerGetAttributes:1 cuMemFree:1; do must_end cuda:$call; done
    ;;
space.driver_failures)
    for call in cuda:cuMemAddressReserve:1 cuda:cuMemCreate:1 cuda:cuMemMap:2 cuda:cuMemSetAccess:1 vulkan:vkQueueBindSparse:1 \
        vulkan:vkAllocateMemory:1; do
        must_end $call --only=commit
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
calls.report)
    quick --json="$json"
    cat >"$work/ripple.txt" <<'END'
ripple: a device by a driver
RESULT {"sample": "ripple", "device": "NVIDIA H200", "driver": "NVIDIA", "path": "shared", "width": 1024, "height": 1024, "frames": 300, "simulation_ms": 0.19, "drawing_ms": 4.7, "frame_ms": 5.0, "transfer_bytes_per_frame": 0}
RESULT {"sample": "ripple", "device": "NVIDIA H200", "driver": "NVIDIA", "path": "staged", "width": 1024, "height": 1024, "frames": 300, "simulation_ms": 0.2, "drawing_ms": 4.8, "frame_ms": 10.0, "transfer_bytes_per_frame": 33554432}
END
    report 0 "$json" "$work/ripple.txt"
    for text in "# Benchmarks" "import + map" "software twin" "1024 x 1024" "2.00" "33.6 MB"; do page_says "$text"; done
    if [ -z "$BENCH_SANITIZE" ]; then page_says "**0 allocations**"; else page_says "not counted"; fi
    # Every key of the JSON is explained there.
    check_json "$json" "sanitized=$BENCH_SANITIZE" "documented=$work/page.md"
    same_from_a_bundle "$json" bench.json "$work/ripple.txt" bench_ripple.txt
    ;;
calls.report_errors)
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
