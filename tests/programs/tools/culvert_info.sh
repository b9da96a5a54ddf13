#!/bin/sh
# One case of culvert-info's tests: culvert_info.sh CASE. CULVERT_INFO is the program, CULVERT_BUILD the build tree,
# CULVERT_SOURCE the repository, CULVERT_VERSION the version to expect, CULVERT_SANITIZE the build's sanitizers, if it has
# any. Exit 77: skipped, with the reason.
#
# A driver library is hidden by an empty file of its name that the dynamic linker finds first: on any machine it then
# fails to load. SPDX-License-Identifier: MIT
set -eu

case=$1
info=$CULVERT_INFO
unset CULVERT_SOFT CULVERT_SOFT_PATH CULVERT_SOFT_DEVICES CULVERT_SOFT_FAIL_AT CULVERT_SOFT_DELAY CULVERT_LOG CUDA_VISIBLE_DEVICES
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
err=$work/err
mkdir "$work/hide-cuda" "$work/hide-vulkan"
: >"$work/hide-cuda/libcuda.so.1"
: >"$work/hide-vulkan/libvulkan.so.1"
rest=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
no_cuda=LD_LIBRARY_PATH=$work/hide-cuda$rest
no_vulkan=LD_LIBRARY_PATH=$work/hide-vulkan$rest
neither=LD_LIBRARY_PATH=$work/hide-cuda:$work/hide-vulkan$rest
posing=LD_LIBRARY_PATH=$CULVERT_BUILD/lib/pose$rest
no_icd=VK_DRIVER_FILES=$work/missing.json

fail() {
    echo "FAIL: $*"
    for file in "$out" "$err"; do
        [ ! -f "$file" ] || { echo "--- standard $(basename "$file")"; cat "$file"; }
    done
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
    [ "$status" -eq "$expected" ] || fail "exit status $status, expected $expected: $*"
}

says() { grep -q -- "$1" "$out" || fail "the report does not say: $1"; }
says_not() { ! grep -q -- "$1" "$out" || fail "the report says: $1"; }
verdict() { head -n 1 "$out" | grep -q -- "$1" || fail "the first line is not: $1"; }
quiet() { [ ! -s "$err" ] || fail "something on standard error"; }

need_lavapipe() {
    run 0 "$no_cuda" "$info"
    grep -q "draws on the CPU" "$out" || skip "there is no CPU Vulkan device (Mesa's lavapipe)"
}

need_python() { python3 -c '' 2>/dev/null || skip "python3 is not installed"; }
check_json() {
    python3 -B "$CULVERT_SOURCE/tests/programs/tools/check_info.py" "$out" "$@" >"$work/json" 2>&1 ||
        fail "$(cat "$work/json")"
}

copy_tree() { # without the twin
    mkdir -p "$work/tree/bin" "$work/tree/lib"
    cp "$info" "$work/tree/bin/"
    cp -P "$CULVERT_BUILD"/lib/libculvert.so* "$work/tree/lib/"
}

case $case in
options)
    run 2 "$info" --bogus
    grep -q "unknown option '--bogus'" "$err" || fail "no clear line"
    [ ! -s "$out" ] || fail "a report in spite of a wrong option"
    run 2 "$info" --json something
    grep -q "unknown argument 'something'" "$err" || fail "no clear line"
    run 0 "$info" --help
    for option in --json --soft --verbose --require --version --help; do says "$option"; done
    run 0 "$info" --version
    [ "$(cat "$out")" = "culvert-info $CULVERT_VERSION" ] || fail "not version $CULVERT_VERSION"
    ;;
full_output)
    [ -c /dev/full ] || skip "there is no /dev/full"
    for option in --json --verbose; do
        status=0
        "$info" "$option" >/dev/full 2>"$err" || status=$?
        [ "$status" -eq 1 ] || fail "exit status $status with a full disk"
        grep -q "could not be written" "$err" || fail "no clear line"
    done
    ;;
layout)
    for option in --verbose --soft; do
        run 0 "$info" "$option"
        ! grep -q "$(printf '\033')" "$out" || fail "colours in a file"
        ! grep -q ' $' "$out" || fail "trailing spaces"
        # Only the verdict is one line whatever its length; a path alone may be longer than a line.
        awk 'NR > 1 && length($0) > 100 { long = 1; for (i = 1; i <= NF; i++) if (length($i) > 75) long = 0
             if (long) exit 1 }' "$out" || fail "a line of more than 100 columns"
    done
    ;;
no_cuda)
    run 0 "$no_cuda" "$info"
    quiet
    verdict "^Nothing here is reachable: .*CUDA driver (libcuda.so.1)"
    says "^Try: "
    says "CUDA  *none: .*libcuda.so.1"
    if grep -q "draws on the CPU" "$out"; then says "--soft or"; fi
    ;;
no_vulkan_driver)
    run 0 "$no_icd" "$info"
    verdict "^Nothing here is reachable: .*Vulkan has no driver"
    says "^Try: unset or correct VK_DRIVER_FILES"
    says "  VK_DRIVER_FILES=$work/missing.json"
    says_not "^Vulkan device"
    ;;
no_vulkan_loader)
    run 0 "$no_vulkan" "$info"
    quiet
    verdict "^Nothing here is reachable: .*there is no Vulkan (libvulkan.so.1)"
    says "^Try: install the Vulkan loader"
    says_not "^Vulkan device"
    ;;
neither)
    run 0 "$neither" "$info" --verbose
    quiet
    verdict "there is no Vulkan (libvulkan.so.1), and there is no CUDA driver (libcuda.so.1)"
    says "^Try: "
    ;;
variables)
    run 0 CUDA_VISIBLE_DEVICES=none CUDA_DEVICE_ORDER="$(printf 'a\033[31mb')" "$info"
    says "  CUDA_VISIBLE_DEVICES=none"
    says "  CUDA_DEVICE_ORDER=a?.31mb"
    ;;
require)
    run 3 "$neither" "$info" --require
    verdict "^Nothing here is reachable"
    grep -q -- "--require" "$err" || fail "no clear line"
    run 3 "$no_cuda" "$info" --require --json
    need_lavapipe
    [ -e "$CULVERT_BUILD/lib/libculvert-soft.so.0" ] || exit 0
    run 0 "$no_cuda" "$info" --require --soft
    ;;
json)
    need_python
    run 0 "$info" --json
    check_json
    run 0 "$info" --json --soft
    check_json
    run 0 "$no_icd" "$info" --json --soft
    check_json unreachable no_graphics
    run 0 "$neither" "$info" --json
    check_json unreachable no_graphics no_cuda
    run 0 CUDA_DEVICE_ORDER="$(printf 'q"b\\t\tx\001u\303\251bad\377\300')" "$info" --json
    check_json
    [ ! -e "$CULVERT_BUILD/lib/pose/libcuda.so.1" ] || {
        run 0 "$posing" "$info" --json
        check_json two_lonely_cuda
    }
    ;;
json_documented)
    need_python
    run 0 "$info" --json --soft
    check_json "documented=$CULVERT_SOURCE/docs/culvert-info.md"
    ;;
twin | twin_variable)
    need_lavapipe
    if [ "$case" = twin ]; then
        run 0 "$no_cuda" "$info" --soft
    else
        run 0 "$no_cuda" CULVERT_SOFT=1 "$info"
        says "  CULVERT_SOFT=1"
    fi
    quiet
    verdict "^CUDA and Vulkan can share memory in software only: .* = software twin's device 0)"
    says "CUDA  *software twin's device 0"
    says "buffer memory as opaque fd  *yes"
    says "timeline semaphore as opaque fd  *yes"
    says_not "Not reachable"
    says "^OpenGL"
    ;;
twin_without_vulkan)
    run 0 "$neither" "$info" --soft
    verdict "^Nothing here is reachable: there is no Vulkan"
    says "Software twin  CUDA .*CUDA_ERROR_NO_DEVICE\|Software twin  CUDA .*cuInit"
    says "lavapipe"
    ;;
posing)
    run 0 "$posing" "$info" --verbose
    verdict "^Nothing here is reachable: "
    says "^CUDA device 0: Culvert posing device 0"
    says "^CUDA device 1: Culvert posing device 1"
    [ "$(grep -c "^  No match  .* UUID" "$out")" -eq 2 ] || fail "not two reasons"
    says "HANDLE_TYPE_FABRIC_SUPPORTED=0"
    need_lavapipe
    # Beside the posing driver, the twin is found for lavapipe and takes no posing device.
    run 0 "$posing" "$info" --soft
    verdict "software only: .* = software twin's device 0)"
    says "^CUDA device 1: Culvert posing device 1"
    ;;
driver_failures)
    # Whichever call of the twin fails, there is a whole report, and each no in it has its reason.
    need_python
    need_lavapipe
    for call in cuda:1 cuda:2 cuda:3 cuda:4 cuda:5 cuda:6 cuda:7 cuda:8 cuda:9 cuda:10 cuda:11 cuda:12 cuda:13 \
        cuda:14 cuda:15 cuda:16 cuda:17 cuda:20 cuda:25 cuda:30 cuda:31 vulkan:1 vulkan:2 vulkan:3 vulkan:4 \
        vulkan:5 vulkan:6 vulkan:7 vulkan:8 vulkan:9 vulkan:10 vulkan:11 vulkan:12 vulkan:14 vulkan:16; do
        # A start loads lavapipe; both forms say the same, so each call has one of them in turn.
        if [ $((${call#*:} % 2)) = 0 ]; then
            run 0 "$no_cuda" CULVERT_SOFT_FAIL_AT=$call "$info" --json --soft
            check_json
        else
            run 0 "$no_cuda" CULVERT_SOFT_FAIL_AT=$call "$info" --soft
            grep -q "^Try: \|software only" "$out" || fail "$call: nothing to try"
        fi
    done
    # A call that does not exist fails nothing, and that is told.
    run 0 "$no_cuda" CULVERT_SOFT_FAIL_AT=cuda:cuMemCraete:1 "$info" --soft
    grep -q "the twin has no call cuMemCraete" "$err" || fail "a wrong name of CUDA's is not told"
    run 0 "$no_cuda" CULVERT_SOFT_FAIL_AT=vulkan:vkQueueSubmit3:1 "$info" --soft
    grep -q "vkQueueSubmit3 is no call" "$err" || fail "a wrong name of Vulkan's is not told"
    ;;
moved)
    copy_tree
    cp -P "$CULVERT_BUILD"/lib/libculvert-soft.so* "$CULVERT_BUILD"/lib/libVkLayer_culvert_soft.so "$work/tree/lib/"
    cp -R "$CULVERT_BUILD/lib/culvert" "$work/tree/lib/"
    need_lavapipe
    run 0 "$no_cuda" "$work/tree/bin/culvert-info" --soft
    verdict "software only: "
    says "$work/tree/lib/libculvert-soft.so.0"
    ;;
layer_missing)
    # Neither the twin nor the loader finds the layer's manifest.
    copy_tree
    cp -P "$CULVERT_BUILD"/lib/libculvert-soft.so* "$CULVERT_BUILD"/lib/libVkLayer_culvert_soft.so "$work/tree/lib/"
    need_lavapipe
    run 0 "$no_cuda" VK_LAYER_PATH="$work" "$work/tree/bin/culvert-info" --soft
    verdict "^Nothing here is reachable: "
    says "^Try: install VkLayer_culvert_soft.json"
    ;;
twin_missing)
    copy_tree
    run 0 "$no_cuda" CULVERT_SOFT=1 "$work/tree/bin/culvert-info"
    verdict "^Nothing here is reachable: "
    says "Software twin  none: .*libculvert-soft.so.0"
    says "CULVERT_SOFT_PATH"
    ;;
other_cpu_driver)
    # Chromium's SwiftShader (Debian's chromium-common) exports binary semaphores alone, and does not stand in lavapipe's way.
    swiftshader=${CULVERT_SWIFTSHADER:-/usr/lib/chromium/vk_swiftshader_icd.json}
    [ -f "$swiftshader" ] || skip "SwiftShader is not installed ($swiftshader)"
    run 0 "$no_cuda" VK_DRIVER_FILES="$swiftshader" "$info" --soft
    verdict "^Nothing here is reachable: SwiftShader.* is in both, and shares memory and binary semaphores, but no timelines"
    says "rings and timelines need"
    quiet
    # One whose inside differs is refused by name: files of that word are not SwiftShader's.
    [ -n "$CULVERT_SANITIZE" ] || for word in Memory Semaphore; do
        printf '%s\n' '#define _GNU_SOURCE' '#include <string.h>' '#include <sys/syscall.h>' '#include <unistd.h>' \
            'ssize_t readlink(const char *path, char *out, size_t size) {' \
            'ssize_t n = syscall(SYS_readlink, path, out, size);' \
            'char *at = n > 0 ? memmem(out, (size_t)n, "'$word'", 4) : NULL;' 'if (at != NULL) *at = 0;' 'return n; }' |
            ${CC:-cc} -shared -fPIC -x c - -o "$work/$word.so"
        run 0 "$no_cuda" LD_PRELOAD="$work/$word.so" VK_DRIVER_FILES="$swiftshader" "$info" --soft
        verdict "^Nothing here is reachable: "
        grep -q "SwiftShader.* is no device of it: the twin does not know its .*$(echo $word | cut -c2-)" "$err" ||
            fail "the twin does not say what differs: $(cat "$err")"
    done
    need_lavapipe
    lavapipe=$(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name 'lvp_icd*.json' 2>/dev/null | head -n 1)
    [ -n "$lavapipe" ] || skip "lavapipe's manifest is not where Debian has it"
    run 0 "$no_cuda" VK_DRIVER_FILES="$swiftshader:$lavapipe" "$info" --soft
    verdict "software only: .* = software twin's device [01])"
    ;;
shared_late)
    # Servers that do not answer, or without end, keep nobody for longer than the page says.
    need_python
    mkdir -m 700 "$work/doors"
    python3 "$CULVERT_SOURCE/tests/programs/tools/silent_servers.py" "$work/doors" >"$work/ready" &
    servers=$!
    trap 'kill "$servers" 2>/dev/null || :; rm -rf "$work"' EXIT
    until grep -q ready "$work/ready"; do
        kill -0 "$servers" 2>/dev/null || fail "the servers do not run"
        sleep 0.1
    done
    run 0 "$info" "--shared=$work/doors"
    quiet
    says "^22 of 22 did not tell all they offer. Each has half a second, and all together three\.$"
    [ "$(grep -c "^  not told" "$out")" -eq 22 ] || fail "not 22 reasons"
    reason() { # NAME TEXT: what is said of this server
        sed -n "/^$1\( .*\)\{0,1\}\$/,/^\$/p" "$out" | tr -s ' \n' ' ' | grep -q -- "$2" || fail "$1: not '$2'"
    }
    reason silent-7 "has not answered in time"
    reason endless "cells VMM memory.*\(time is over after [0-9]* of 65536 offers\|has not answered in time\)"
    reason dead "there is no server"
    run 0 "$info" "--shared=$work/doors" --json
    python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(len(d["servers"]) != 22 or any(not s["why"] for s in d["servers"]))' "$out" || fail "the JSON lacks a why"
    ;;
*) fail "there is no case $case" ;;
esac
echo "ok: $case"
