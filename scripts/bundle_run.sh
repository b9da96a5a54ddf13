#!/bin/sh
# Runs what is in this bundle. Needs an NVIDIA driver (or, for the software twin, Mesa's lavapipe) and nothing else
# installed: POSIX sh and the basic utilities. `run help` says how.
# SPDX-License-Identifier: MIT
set -u

here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

usage() {
    cat <<'END'
usage: run info [ARGUMENTS]             what this machine can do (culvert-info)
       run test [--driver=auto|nvidia|soft] [SUITE...]
                                        the test suites; default: all that concern the driver
       run suites                       names of the suites
       run ripple [ARGUMENTS]           the sample
       run bench [ARGUMENTS]            culvert-bench-calls with these arguments, then ripple by turns on its two
                                        paths at two sizes; --quick and --driver=... count for both
       run all OUTDIR                   info, tests, benchmarks, ripple at 4096x4096 and its picture, in
                                        OUTDIR/results.tar.gz
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

# Tests -------------------------------------------------------------------------------------------------------------

tab=$(printf '\t')
list=$here/share/culvert/tests.list

suites() { grep -v '^#' "$list" | cut -f1; }

has_nvidia_device() { # by the driver's own files, since nothing else is sure to be there
    [ -n "$cuda" ] && ls /dev/nvidia[0-9]* >/dev/null 2>&1
}

run_case() { # PROGRAM DRIVER ARGUMENTS ENVIRONMENT CASE LIMIT OUTPUT RESULTS: sets status, seconds
    begun=$(date +%s)
    # A suite's own arguments come last, and win. Arguments and environment are lists of words.
    # shellcheck disable=SC2086
    timeout -k 10 "$6" env $4 "$1" "--driver=$2" "--results=$8" $3 "$5" >"$7" 2>&1
    status=$?
    seconds=$(($(date +%s) - begun))
}

run_suite() { # SUITE DRIVER: prints; counts into $scratch/counts/SUITE, names failures in $scratch/failures/SUITE
    suite=$1
    line=$(grep "^$suite$tab" "$list")
    program=$here/$(printf '%s\n' "$line" | cut -f2)
    arguments=$(printf '%s\n' "$line" | cut -f3 | sed 's/^-$//')
    environment=$(printf '%s\n' "$line" | cut -f4 | sed 's/^-$//')
    [ "$2" != nvidia ] || environment=$(printf '%s\n' "$environment" | sed 's/CULVERT_SOFT=1//')
    output=$scratch/$suite.output
    left=$scratch/results/$suite # what cases leave besides their output
    mkdir -p "$left"
    passed=0 failed=0 skipped=0
    echo "== $suite"
    if "$program" --list-times >"$scratch/$suite.cases" 2>"$output"; then
        while read -r name limit; do
            run_case "$program" "$2" "$arguments" "$environment" "$name" $((limit + 15)) "$output" \
                "$left" </dev/null
            case $status in
            0)
                echo "PASS $suite.$name ($seconds s)"
                passed=$((passed + 1))
                ;;
            77)
                echo "SKIP $suite.$name: $(sed -n 's/^SKIP[^:]*: *//p' "$output" | tail -n 1)"
                skipped=$((skipped + 1))
                ;;
            *)
                [ "$status" -ne 124 ] || echo "(stopped after $((limit + 15)) s)" >>"$output"
                echo "FAIL $suite.$name: exit status $status"
                tail -n 40 "$output" | sed 's/^/    /'
                failed=$((failed + 1))
                echo "$suite.$name" >>"$scratch/failures/$suite"
                ;;
            esac
            grep '^MEASURED ' "$output" | sed "s/^MEASURED /MEASURED $suite./"
        done <"$scratch/$suite.cases"
        if [ "$passed" -eq 0 ]; then
            echo "FAIL $suite: no case passed; a suite that was skipped whole is not a pass"
            failed=$((failed + 1))
            echo "$suite" >>"$scratch/failures/$suite"
        fi
    else
        echo "FAIL $suite: it does not start: $(tail -n 1 "$output")"
        failed=1
        echo "$suite" >>"$scratch/failures/$suite"
    fi
    echo "$passed $failed $skipped" >"$scratch/counts/$suite"
}

# One at a time, but where a group may share the device: what it measures is then not worth printing as times.
run_suites() { # DRIVER JOBS SUITE...
    with=$1 jobs=$2 running=0
    shift 2
    for each in "$@"; do
        if [ "$jobs" -eq 1 ]; then
            run_suite "$each" "$with"
            continue
        fi
        (run_suite "$each" "$with" >"$scratch/$each.text" 2>&1) &
        running=$((running + 1))
        if [ "$running" -ge "$jobs" ]; then
            wait
            running=0
        fi
    done
    [ "$jobs" -ne 1 ] || return 0
    wait
    for each in "$@"; do cat "$scratch/$each.text"; done
}

run_tests() {
    driver=auto all=0
    while [ $# -gt 0 ]; do
        case $1 in
        --driver=auto | --driver=nvidia | --driver=soft) driver=${1#--driver=} ;;
        -*) usage >&2; return 2 ;;
        *) break ;;
        esac
        shift
    done
    for suite in "$@"; do
        grep -q "^$suite$tab" "$list" || { echo "no suite is called $suite; run suites names them" >&2; return 2; }
    done
    mkdir -p "$scratch/counts" "$scratch/failures"
    rm -rf "$scratch"/counts/* "$scratch"/failures/* "$scratch/results"
    [ $# -gt 0 ] || all=1
    concerned=$driver
    [ "$driver" != auto ] || has_nvidia_device || concerned=soft
    # Suites have plain names.
    # shellcheck disable=SC2046
    if [ $all -eq 0 ]; then
        run_suites "$driver" 1 "$@"
    elif [ "$concerned" = soft ]; then
        run_suites "$driver" 1 $(suites)
    else
        # Suites of the twin itself say nothing about an NVIDIA driver, nor do injected failures, which only the twin
        # has. The samples first and the faults last: after suites that fault kernels on purpose, Vulkan devices of
        # later processes were seen lost. The contract suite measures, so it has the device to itself.
        run_suites "$driver" 1 $(suites | grep '^samples')
        run_suites "$driver" 6 $(suites | grep -v -E '^(samples|contract|twin|layer|library-torture|library-faults)')
        run_suites "$driver" 1 contract $(suites | grep '^library-faults')
    fi
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
# scripts/bench-report reads.
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
    for size in $sizes; do
        for round in $rounds; do
            for way in shared staged; do
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
    echo
    run_ripple_bench "$@"
}

run_all() {
    [ $# -eq 1 ] || { usage >&2; return 2; }
    mkdir -p "$1" || return 1
    into=$(cd "$1" && pwd)
    results=$into/results
    rm -rf "$results" "$results.tar.gz"
    mkdir "$results" || return 1
    worst=0

    step() { # NAME COMMAND...
        step=$1
        shift
        echo "== $step"
        "$@" >"$results/$step.txt" 2>&1
        step_status=$?
        [ "$step_status" -eq 0 ] || worst=1
        tail -n 3 "$results/$step.txt"
        echo "== $step: exit status $step_status" | tee -a "$results/$step.txt"
    }
    step info "$here/bin/culvert-info"
    step info_json "$here/bin/culvert-info" --json
    step ripple "$here/bin/ripple" --size 4096x4096 --frames 300 --output "$results/ripple.png"
    step bench "$here/bin/culvert-bench-calls" --json="$results/bench.json"
    step bench_ripple run_ripple_bench
    [ ! -d "$here/share/vulkan/explicit_layer.d" ] ||
        step validation "$here/bin/ripple" --size 512x512 --frames 60 --validation --output "$results/validated.png"
    step tests run_tests
    grep -h '^MEASURED ' "$results"/*.txt >"$results/measured.txt"
    # The format sweep's answers, for scripts/formats-report.
    [ ! -f "$scratch/results/formats/formats.jsonl" ] || cp "$scratch/results/formats/formats.jsonl" "$results/"

    # The archive must stay small enough to send; pictures are the only big things in it.
    tar -C "$into" -czf "$results.tar.gz" results
    if [ "$(wc -c <"$results.tar.gz")" -gt 16000000 ]; then
        echo "note: the pictures are left out of results.tar.gz, which must stay under 16 MB; they are in $results"
        tar -C "$into" -czf "$results.tar.gz" --exclude='*.png' results
    fi
    echo "$results.tar.gz: $(wc -c <"$results.tar.gz") bytes"
    return $worst
}

verb=${1:-help}
[ $# -eq 0 ] || shift
set_up_libraries
set_up_vulkan_driver
case $verb in
info) "$here/bin/culvert-info" "$@" ;;
test) run_tests "$@" ;;
suites) suites ;;
ripple) "$here/bin/ripple" "$@" ;;
bench) run_bench "$@" ;;
all) run_all "$@" ;;
help | -h | --help) usage ;;
*) usage >&2; exit 2 ;;
esac
