#!/bin/sh
# Runs what is in this bundle. Needs an NVIDIA driver (or, for the software twin, Mesa's lavapipe) and nothing else
# installed: POSIX sh and the basic utilities. `run help` says how.
# SPDX-License-Identifier: MIT
set -u

here=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat <<'END'
usage: run info [ARGUMENTS]             what this machine can do (culvert-info)
       run test [--driver=auto|nvidia|soft] [--jobs=N] [--long] [--record] [--faults=without|only] [SUITE...]
                                        the test suites; default: all that concern the driver, those called
                                        ...-long (and on a GPU most ...-shared) only with --long. Most cases of a
                                        suite share a process; N processes share the device (default: half the
                                        cores, at most 8), but for cases that want it for themselves.
                                        --record: named answers are printed, for scripts/contract-answers, and not
                                        held against the recorded ones
                                        --faults: without the cases in which kernels fault or hang, or these alone; later
                                        processes may suffer from them
       run suites                       names of the suites
       run ripple [ARGUMENTS]           the sample; run forest [ARGUMENTS]: the one with pointers
       run bench [ARGUMENTS]            culvert-bench-calls with these arguments, then culvert-bench,
                                        then ripple by turns on its paths at two sizes;
                                        --quick and --driver=... count for all
       run python-tests [--driver=soft] [LIBRARY[.CASE]...]
                                        the Python package with PyTorch, CuPy, JAX, Triton and Numba, as far as python3
                                        (or CULVERT_PYTHON) has them; each in a process of its own
       run python-bench [--json=FILE]   what a tensor and a frame cost in Python
       run python FILE [ARGUMENTS]      python3 with the package; the samples are found by their names: look.py
       run all [--no-bench | --only=tests | --only=bench] [--jobs=N] [--long] [--record] [--suite=NAME]... OUTDIR
                                        info, ripple at 4096x4096 and its picture, ripple under the validation
                                        layer, tests, benchmarks, in OUTDIR/results.tar.gz
       run exec COMMAND [ARGUMENTS]     any program, with this bundle's programs and libraries found first
Set VK_DRIVER_FILES to use a Vulkan driver other than the one that is found.
END
}

# The machine's libraries -------------------------------------------------------------------------------------------

PATH=$PATH:/sbin:/usr/sbin
known_libraries=$(ldconfig -p 2>/dev/null)

find_library() { # SONAME: prints its path, or fails
    found=$(printf '%s\n' "$known_libraries" | sed -n "s|^[[:space:]]*$1 (.*x86-64.*=> ||p" | head -n 1)
    [ -z "$found" ] || { printf '%s\n' "$found"; return 0; }
    for directory in $(printf '%s' "${LD_LIBRARY_PATH:-}" | tr ':' ' ') /usr/local/nvidia/lib64 /usr/local/nvidia/lib \
        /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/lib/wsl/lib; do
        [ ! -e "$directory/$1" ] || { printf '%s\n' "$directory/$1"; return 0; }
    done
    return 1
}

set_up_libraries() {
    path=$here/lib:$scratch/lib
    # Only those that the machine lacks; see scripts/bundle.
    mkdir "$scratch/lib"
    for library in "$here"/lib/fallback/*; do
        [ -e "$library" ] || continue
        find_library "$(basename "$library")" >/dev/null || ln -s "$library" "$scratch/lib/"
    done
    cuda=$(find_library libcuda.so.1) || cuda=
    if [ -n "$cuda" ] && ! printf '%s\n' "$known_libraries" | grep -q 'libcuda\.so\.1 '; then
        path=$path:$(dirname "$cuda")
    fi
    LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    [ ! -d "$here/share/vulkan/explicit_layer.d" ] || {
        VK_ADD_LAYER_PATH=$here/share/vulkan/explicit_layer.d${VK_ADD_LAYER_PATH:+:$VK_ADD_LAYER_PATH}
        export VK_ADD_LAYER_PATH
    }
}

# NVIDIA's Vulkan driver: servers often have the library without a manifest where the loader looks.
nvidia_manifest_in() { # DIRECTORY...: prints the first manifest of NVIDIA's, or fails
    for directory in "$@"; do
        for manifest in "$directory"/*.json; do
            if [ -f "$manifest" ] && grep -q 'lib[A-Z]*_nvidia\.so' "$manifest"; then
                printf '%s\n' "$manifest"
                return 0
            fi
        done
    done
    return 1
}

set_up_vulkan_driver() {
    [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
    # Where the loader itself looks.
    places=
    for directory in "${XDG_CONFIG_HOME:-${HOME:-/nonexistent}/.config}" \
        $(printf '%s' "${XDG_CONFIG_DIRS:-/etc/xdg}" | tr ':' ' ') /etc \
        "${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}" \
        $(printf '%s' "${XDG_DATA_DIRS:-/usr/local/share:/usr/share}" | tr ':' ' '); do
        places="$places $directory/vulkan/icd.d"
    done
    # shellcheck disable=SC2086 # a list of words
    nvidia_manifest_in $places >/dev/null && return 0

    [ -n "$cuda" ] || return 0
    beside=$(dirname "$cuda")
    manifest=$(nvidia_manifest_in "$beside" "$beside/../share/vulkan/icd.d" "$beside/../../share/vulkan/icd.d" \
        "$beside/../etc/vulkan/icd.d" /usr/local/nvidia/share/vulkan/icd.d) || {
        # The GLX library is the one that NVIDIA's own manifest names, but it links libX11; the EGL one does not.
        names='libGLX_nvidia.so.0 libEGL_nvidia.so.0'
        find_library libX11.so.6 >/dev/null || names='libEGL_nvidia.so.0 libGLX_nvidia.so.0'
        library=
        for name in $names; do
            if [ -e "$beside/$name" ]; then library=$beside/$name; else library=$(find_library "$name") || library=; fi
            [ -z "$library" ] || break
        done
        [ -n "$library" ] || { echo "note: no Vulkan driver of NVIDIA's beside $cuda" >&2; return 0; }
        manifest=$scratch/nvidia_icd.json
        printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
            "$library" >"$manifest"
    }
    # Added to the others, so that lavapipe stays visible.
    VK_ADD_DRIVER_FILES=$manifest${VK_ADD_DRIVER_FILES:+:$VK_ADD_DRIVER_FILES}
    export VK_ADD_DRIVER_FILES
}

# NVIDIA's EGL, for the same reason: libglvnd's libEGL finds drivers by files of its own.
set_up_egl_driver() {
    [ -z "${__EGL_VENDOR_LIBRARY_FILENAMES:-}${__EGL_VENDOR_LIBRARY_DIRS:-}" ] || return 0
    nvidia_manifest_in /etc/glvnd/egl_vendor.d /usr/share/glvnd/egl_vendor.d >/dev/null && return 0
    [ -n "$cuda" ] || return 0
    library=$(dirname "$cuda")/libEGL_nvidia.so.0
    [ -e "$library" ] || library=$(find_library libEGL_nvidia.so.0) || return 0
    mkdir "$scratch/egl_vendor.d"
    printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s"}}\n' \
        "$library" >"$scratch/egl_vendor.d/10_nvidia.json"
    # Beside Mesa's, which the twin's partner needs.
    __EGL_VENDOR_LIBRARY_DIRS=$scratch/egl_vendor.d:/etc/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d
    export __EGL_VENDOR_LIBRARY_DIRS
}

# Tests -------------------------------------------------------------------------------------------------------------

tab=$(printf '\t')
list=$here/share/culvert/tests.list

suites() { grep -v '^#' "$list" | cut -f1; }

has_nvidia_device() { # by the driver's own files, since nothing else is sure to be there
    [ -n "$cuda" ] && ls /dev/nvidia[0-9]* >/dev/null 2>&1
}

# Some cases of a suite, one after another: what `xargs` calls. The program decides which of them share a process, ends
# those that hang, and says how each one went; here that becomes a file a case.
run_batch() { # SCRATCH DRIVER SUITE FILE: of names
    scratch=$1 with=$2 suite=$3 file=$4
    line=$(grep "^$suite$tab" "$list")
    program=$here/$(printf '%s\n' "$line" | cut -f2)
    arguments=$(printf '%s\n' "$line" | cut -f3 | sed 's/^-$//')
    environment=$(printf '%s\n' "$line" | cut -f4 | sed 's/^-$//')
    [ "$with" != nvidia ] || environment=$(printf '%s\n' "$environment" | sed 's/CULVERT_SOFT=1//')
    output=$scratch/running/$(basename "$file")
    # Should this be ended, the program is, and what it has said until then is told all the same.
    running='' ended=''
    echo $$ >"$output.pid"
    trap 'ended=1; [ -z "$running" ] || kill "$running" 2>/dev/null' HUP INT TERM
    # A suite's own arguments come last, and win. Arguments, environment and cases are lists of words.
    # shellcheck disable=SC2046,SC2086
    env $environment "$program" "--driver=$with" "--results=$scratch/results/$suite" --batch --quiet --begins \
        ${record:+--record} $arguments $(cat "$file") >"$output" 2>&1 </dev/null &
    running=$!
    [ -z "$ended" ] || kill "$running" 2>/dev/null
    wait "$running"
    status=$?
    # A trap ends the first wait, not the program.
    if [ -n "$ended" ]; then
        wait "$running"
        status=$?
    fi
    how="its program ended with status $status"
    [ -z "$ended" ] || how='the run was ended'
    NAMES=$(cat "$file") awk -v suite="$suite" -v to="$scratch/finished/$suite/" -v how="$how" '
        function tell(count, to, i) {
            for (i = count > 40 ? count - 39 : 1; i <= count; i++) print "    " lines[i] >to
        }
        /^BEGIN [A-Za-z0-9_.]+$/ { at = $2; count = 0; next }
        /^(PASS|SKIP|FAIL) [A-Za-z0-9_.]+(: | \()/ {
            name = $2
            sub(/:$/, "", name)
            line = $0
            sub(/^[A-Z]+ /, "&" suite ".", line)
            # Of a case that fails after all, the second word counts.
            print line >(to name)
            said[name] = 1
            at = ""
            if ($1 == "FAIL") tell(count, to name)
            for (i = 1; i <= count; i++)
                if (sub(/^(MEASURED|ANSWER) /, "&" suite ".", lines[i])) print lines[i] >(to name)
            close(to name)
            count = 0
            next
        }
        { lines[++count] = $0 }
        END {
            # A program that ended, or was ended, before it was through.
            number = split(ENVIRON["NAMES"], wanted, "\n")
            for (k = 1; k <= number; k++) {
                name = wanted[k]
                if (name == "" || name in said) continue
                if (name == at) {
                    print "FAIL " suite "." name ": " how " while it ran" >(to name)
                    tell(count, to name)
                } else
                    print "FAIL " suite "." name ": it did not run: " how >(to name)
                close(to name)
            }
        }' "$output"
    rm -f "$output" "$output.pid"
    echo "$suite"
}

# Lists a suite's cases: its names in $scratch/names/SUITE, and `SUITE CASE LIMIT own|shared|faults` lines to standard
# output.
list_cases() { # SUITE
    mkdir -p "$scratch/finished/$1" "$scratch/results/$1"
    program=$here/$(grep "^$1$tab" "$list" | cut -f2)
    # shellcheck disable=SC2046
    if "$program" $(grep "^$1$tab" "$list" | cut -f3 | sed 's/^-$//') --list-times >"$scratch/all" 2>"$scratch/finished/$1.error"; then
        awk -v which="$which_faults" 'which == "" || ($3 == "faults") == (which == "only")' "$scratch/all" >"$scratch/listed"
        sed "s/^/$1 /" "$scratch/listed"
        rm -f "$scratch/finished/$1.error"
    else
        : >"$scratch/listed"
    fi
    cut -d ' ' -f 1 "$scratch/listed" >"$scratch/names/$1"
}

report_suite() { # SUITE: prints, counts into $scratch/counts/SUITE, names failures in $scratch/failures/SUITE
    failures=$scratch/failures/$1
    echo "== $1"
    while read -r name; do
        cat "$scratch/finished/$1/$name" 2>/dev/null || echo "FAIL $1.$name: it left no result${ended:+, and the run was ended}"
    done <"$scratch/names/$1" >"$scratch/report"
    cat "$scratch/report"
    sed -n 's/^FAIL \([^ ]*\):.*/\1/p' "$scratch/report" >"$failures"
    passed=$(grep -c '^PASS ' "$scratch/report")
    if [ -e "$scratch/finished/$1.error" ]; then
        echo "FAIL $1: it does not start: $(tail -n 1 "$scratch/finished/$1.error")"
        echo "$1" >>"$failures"
    elif [ "$passed" -eq 0 ]; then
        echo "FAIL $1: no case passed; a suite that was skipped whole is not a pass"
        echo "$1" >>"$failures"
    fi
    echo "$passed $(wc -l <"$failures") $(grep -c '^SKIP ' "$scratch/report")" >"$scratch/counts/$1"
}

# Reads a line for each batch that is done, and reports the suites that are complete, in an order that is always the
# same: a suite that is done too early waits.
report_complete() {
    while read -r suite; do
        for suite in $order; do
            [ ! -e "$scratch/counts/$suite" ] || continue
            set -- "$scratch/finished/$suite"/*
            if [ ! -e "$1" ] || [ $# -lt "$(wc -l <"$scratch/names/$suite")" ]; then break; fi
            report_suite "$suite"
        done
    done
}

# `-P` is not in POSIX, which has no way to wait for whichever child ends first; GNU, busybox and BSD have it.
run_cases() { # DRIVER JOBS PART: of $scratch/batches
    if [ -n "$ended" ] || [ ! -s "$scratch/batches/$3" ]; then return 0; fi
    # In the background, since a trap waits for what is in the foreground.
    # shellcheck disable=SC2016
    sh -c 'echo $$ >"$1"; shift; exec xargs "$@"' - "$scratch/xargs" -n 2 -P "$2" "$here/$(basename "$0")" batch "$scratch" "$1" \
        <"$scratch/batches/$3" | report_complete &
    pipeline=$!
    wait "$pipeline"
    [ -z "$ended" ] || wait "$pipeline"
}

# A run that is ended tells what it has: the batches end their programs, and say what these were at. `timeout -k` gives a
# few seconds for that.
end_run() {
    ended=1
    trap '' HUP INT TERM
    kill "$(cat "$scratch/xargs" 2>/dev/null)" 2>/dev/null
    for file in "$scratch"/running/*.pid; do
        [ ! -e "$file" ] || kill "$(cat "$file")" 2>/dev/null
    done
    tries=0
    while ls "$scratch"/running/*.pid >/dev/null 2>&1 && [ $tries -lt 80 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}

default_jobs() {
    cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
    default=$((cores / 2))
    [ $default -ge 1 ] || default=1
    [ $default -le 8 ] || default=8
    echo $default
}

# Cases that measure time come when nothing runs beside them, and so do those whose thousands of turns each wait for a
# time slice of every process that draws (two minutes beside eleven of them on an H200).
times='^contract[.](measured[.]|gl[.]turns$)'

run_tests() {
    driver=auto jobs=$(default_jobs) long=0 which_faults=''
    while [ $# -gt 0 ]; do
        case $1 in
        --driver=auto | --driver=nvidia | --driver=soft) driver=${1#--driver=} ;;
        --jobs=[1-9] | --jobs=[1-9][0-9]) jobs=${1#--jobs=} ;;
        --long) long=1 ;;
        --faults=without | --faults=only) which_faults=${1#--faults=} ;;
        --record) record=1 && export record ;; # to the batches
        -*) usage >&2; return 2 ;;
        *) break ;;
        esac
        shift
    done
    for suite in "$@"; do
        grep -q "^$suite$tab" "$list" || { echo "no suite is called $suite; run suites names them" >&2; return 2; }
    done
    if [ $# -eq 0 ]; then
        # Suites of the twin itself say nothing about an NVIDIA driver, nor do injected failures, which only the twin
        # has, nor what only computes, with a GPU that is made up. NVIDIA's Vulkan driver of the H200 has no CUDA in graphics.
        left_out='^$' long_ones='-long$'
        if [ "$driver" = nvidia ] || { [ "$driver" = auto ] && has_nvidia_device; }; then
            left_out='^(twin|library-torture|library-ring-own$)'
            # Processes that open a GPU wait for one another, about two a second; these are the same code, linked otherwise,
            # or under a switch of the twin's.
            long_ones='-long$|-captures$|^library-[^d].*-shared$'
        fi
        [ $long -eq 1 ] || left_out="$left_out|$long_ones"
        # Suites have plain names.
        # shellcheck disable=SC2046
        set -- $(suites | grep -v -E "$left_out")
    fi
    started=$(date +%s)
    ended=''
    trap end_run HUP INT TERM
    for part in counts failures results names finished running batches; do
        rm -rf "${scratch:?}/$part"
        mkdir "$scratch/$part"
    done
    # Those that may take long go first, so that nobody waits for one of them in the end.
    for suite in "$@"; do list_cases "$suite"; done | sort -k 3,3nr -k 1,2 >"$scratch/cases"
    if [ -n "$which_faults" ] && [ ! -s "$scratch/cases" ]; then
        echo "no such case"
        return 0
    fi
    # Cases that say that they fault come last: a kernel's fault makes the drawing of later processes hang on NVIDIA's
    # driver 580 until the machine starts anew. On the twin a case that faults and does not say so fails.
    # Batches: `SUITE FILE` lines in $scratch/batches/PART. Processes that open a GPU wait for one another, so as few as
    # can be; but where several batches run at a time, none should be so long that the others wait for it.
    awk -v to="$scratch/batches/" -v times="$times" '{
        name = $1 "." $2
        part = "pool"
        if ($4 == "faults") part = "faults"
        else if (name ~ times) part = "times"
        else if (name ~ /^samples/) part = "first"
        kind = part "-" $1 "-" $4
        room = part == "times" || part == "faults" ? 1000 : $4 == "own" || part == "first" ? 5 : 50
        if (!(kind in used) || used[kind] == room) {
            used[kind] = 0
            file[kind] = to kind "-" ++batches
            print $1, file[kind] >(to part)
        }
        used[kind]++
        print $2 >file[kind]
    }' "$scratch/cases"
    order=$(cd "$scratch/batches" && cat first pool times faults 2>/dev/null |
        awk '{ last[$1] = NR } END { for (suite in last) print last[suite], suite }' | sort -n | cut -d ' ' -f 2)
    # The samples begin, since their cases are the longest.
    cat "$scratch/batches/first" "$scratch/batches/pool" >"$scratch/batches/both" 2>/dev/null
    run_cases "$driver" "$jobs" both
    for part in times faults; do run_cases "$driver" 1 "$part"; done
    # What did not start, has no cases, or lost one.
    for suite in "$@"; do
        [ -e "$scratch/counts/$suite" ] || { [ -n "$which_faults" ] && [ ! -s "$scratch/names/$suite" ]; } || report_suite "$suite"
    done
    [ -z "$ended" ] || echo "The run was ended by a signal; what had not run by then has no result."
    echo "$(wc -l <"$scratch/cases") cases in $(($(date +%s) - started)) s, $jobs at a time"
    cat "$scratch"/counts/* | awk -v failures="$scratch/failures" '
        { passed += $1; failed += $2; skipped += $3 }
        END {
            if (failed > 0) { print "Failed:"; fflush(); system("sed \"s/^/    /\" " failures "/*") }
            printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
            exit !(failed == 0 && passed > 0)
        }'
}

# Samples -----------------------------------------------------------------------------------------------------------

# The sample's two paths by turns, so that what the machine does besides happens to both: RESULT lines, which
# scripts/report bench reads.
run_ripple_bench() { # [ARGUMENT...]: culvert-bench-calls', of which some are understood
    device=auto quick=0
    for argument in "$@"; do
        case $argument in
        --quick) quick=1 ;;
        --driver=*) device=${argument#--driver=} ;;
        esac
    done
    sizes='1024x1024 4096x4096' frames=200 rounds='1 2'
    # The twin computes on the CPU.
    if [ "$device" = soft ] || { [ "$device" = auto ] && ! has_nvidia_device; }; then sizes=256x256 frames=20; fi
    [ $quick -eq 0 ] || { sizes=64x48 frames=3 rounds=1; }
    ways='ring shared'
    # Not every device has CUDA kernels in Vulkan's command buffers.
    if "$here/bin/ripple" --size 64x48 --frames 1 --path=in-queue --device "$device" --quiet --output "$scratch/bench.png" >"$scratch/in-queue.txt" 2>&1; then
        ways="$ways in-queue async"
    else
        cat "$scratch/in-queue.txt"
    fi
    for size in $sizes; do
        for round in $rounds; do
            for way in $ways; do
                echo "ripple $size, $way, round $round:"
                "$here/bin/ripple" --size "$size" --frames $frames --path=$way --device "$device" --quiet \
                    --output "$scratch/bench.png" || return 1
            done
        done
    done
}

run_bench() {
    "$here/bin/culvert-bench-calls" "$@" || return
    # One part of it, or no table, was all that was wanted.
    for argument in "$@"; do
        case $argument in --help | --version | --list | --json | --only=*) return 0 ;; esac
    done
    for argument in "$@"; do
        shift
        case $argument in --quick | --driver=*) set -- "$@" "$argument" ;; esac
    done
    if [ -x "$here/bin/culvert-bench" ]; then
        echo
        "$here/bin/culvert-bench" "$@" || return
    fi
    echo
    run_ripple_bench "$@"
}

run_all() {
    tests=1 bench=1 samples=1 test_arguments='' test_suites=''
    while [ $# -gt 0 ]; do
        case $1 in
        --no-bench) bench=0 ;;
        --only=tests) bench=0 samples=0 ;;
        --only=bench) tests=0 samples=0 ;;
        --long | --record | --jobs=[1-9] | --jobs=[1-9][0-9]) test_arguments="$test_arguments $1" ;;
        --suite=*) test_suites="$test_suites ${1#--suite=}" ;;
        -*) usage >&2; return 2 ;;
        *) break ;;
        esac
        shift
    done
    if [ $# -ne 1 ] || [ $((tests + bench)) -eq 0 ]; then
        usage >&2
        return 2
    fi
    mkdir -p "$1" || return 1
    into=$(cd "$1" && pwd)
    results=$into/results
    rm -rf "$results" "$results.tar.gz"
    mkdir "$results" || return 1
    worst=0

    step() { # NAME COMMAND...
        step=$1 step_begun=$(date +%s)
        shift
        echo "== $step"
        "$@" >"$results/$step.txt" 2>&1
        step_status=$?
        [ "$step_status" -eq 0 ] || worst=1
        tail -n 3 "$results/$step.txt"
        echo "== $step: exit status $step_status, $(($(date +%s) - step_begun)) s" | tee -a "$results/$step.txt"
    }
    # What can be done without, should time run out, comes last.
    step info "$here/bin/culvert-info"
    step info_json "$here/bin/culvert-info" --json
    if [ $samples -eq 1 ]; then
        step ripple "$here/bin/ripple" --size 4096x4096 --frames 300 --output "$results/ripple.png"
        step forest "$here/bin/forest" --output "$results/forest.png"
        step observer "$here/bin/observer" --output "$results/observer.png"
        [ ! -d "$here/share/vulkan/explicit_layer.d" ] ||
            step validation "$here/bin/ripple" --size 512x512 --frames 60 --validation --output "$results/validated.png"
    fi
    if [ $tests -eq 1 ]; then
        # A list of words.
        # shellcheck disable=SC2086
        step tests run_tests --faults=without $test_arguments $test_suites
        # The format sweep's answers, for scripts/report formats.
        [ ! -f "$scratch/results/formats/formats.jsonl" ] || cp "$scratch/results/formats/formats.jsonl" "$results/"
    fi
    python=${CULVERT_PYTHON:-python3}
    command -v "$python" >/dev/null || python=
    [ -z "$python" ] || [ $tests -eq 0 ] || step python run_python_tests
    if [ $bench -eq 1 ]; then
        [ -z "$python" ] || step python_bench run_python tests bench.py --json "$results/python.json"
        step bench "$here/bin/culvert-bench-calls" --json="$results/bench.json"
        [ ! -x "$here/bin/culvert-bench" ] || step frames "$here/bin/culvert-bench" --json="$results/frames.json"
        step bench_ripple run_ripple_bench
    fi
    # Last of all, benchmarks included: what draws after a kernel's fault may hang.
    if [ $tests -eq 1 ]; then
        # shellcheck disable=SC2086
        step faults run_tests --faults=only $test_arguments $test_suites
        cat "$results/faults.txt" >>"$results/tests.txt"
        rm "$results/faults.txt"
    fi
    # None of them may be there.
    grep -h '^MEASURED ' "$results"/*.txt >"$results/measured.txt"

    # The archive must stay small enough to send; pictures are the only big things in it.
    tar -C "$into" -czf "$results.tar.gz" results
    if [ "$(wc -c <"$results.tar.gz")" -gt 16000000 ]; then
        echo "note: the pictures are left out of results.tar.gz, which must stay under 16 MB; they are in $results"
        tar -C "$into" -czf "$results.tar.gz" --exclude='*.png' results
    fi
    echo "$results.tar.gz: $(wc -c <"$results.tar.gz") bytes"
    return $worst
}

# Python ------------------------------------------------------------------------------------------------------------

run_python() { # DIRECTORY FILE [ARGUMENT...]: a file of the bundle's, if it has one of that name
    files=$here/share/culvert/python
    file=$files/$1/$2
    [ -e "$file" ] || file=$2
    shift 2
    python=${CULVERT_PYTHON:-python3}
    command -v "$python" >/dev/null || { echo "there is no $python; CULVERT_PYTHON may name one" >&2; return 2; }
    PYTHONPATH=$files${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 CULVERT_LIBRARY=$here/lib/libculvert.so.0 \
        "$python" "$file" "$@"
}

run_python_tests() {
    if [ "${1:-}" = --driver=soft ]; then
        shift
        CULVERT_SOFT=1
        export CULVERT_SOFT
    fi
    run_python tests run.py "$@"
    status=$?
    [ $status -ne 77 ] || status=0 # nothing to run is no failure
    return $status
}

verb=${1:-help}
[ $# -eq 0 ] || shift
# Called by this script itself: its environment is set up, and its directory is not this one's to remove.
if [ "$verb" = batch ]; then
    run_batch "$@"
    exit 0
fi
unset record # an option of this script, not the caller's variable
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
set_up_libraries
set_up_vulkan_driver
set_up_egl_driver
case $verb in
info) "$here/bin/culvert-info" "$@" ;;
test) run_tests "$@" ;;
suites) suites ;;
ripple) "$here/bin/ripple" "$@" ;;
forest) "$here/bin/forest" "$@" ;;
bench) run_bench "$@" ;;
python-tests) run_python_tests "$@" ;;
python-bench) run_python tests bench.py "$@" ;;
python)
    [ $# -gt 0 ] || { usage >&2; exit 2; }
    run_python samples "$@"
    ;;
all) run_all "$@" ;;
exec)
    [ $# -gt 0 ] || { usage >&2; exit 2; }
    PATH=$here/bin:$here/bin/tests:$PATH
    "$@"
    ;;
help | -h | --help) usage ;;
*) usage >&2; exit 2 ;;
esac
