#!/bin/sh
# The cases of culvert-soft-run. SOFT_RUN is the script, PROGRAMS the directory of the programs.
# SPDX-License-Identifier: MIT
set -eu

fail() {
    echo "FAIL: $*" >&2
    exit 1
}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
unset CULVERT_SOFT CULVERT_SOFT_PATH LD_LIBRARY_PATH VK_INSTANCE_LAYERS VK_LAYER_PATH VK_ADD_LAYER_PATH
says() {
    grep -qF -- "$1" "$out" || { cat "$out" >&2; fail "it does not say: $1"; }
}
# The value of a variable in what --print prints.
value() {
    sed -n "s/^$1='\(.*\)'\$/\1/p" "$out"
}

case $1 in
linked | opened | linked_culvert | opened_culvert)
    "$SOFT_RUN" "$PROGRAMS/soft-run-$1" >"$out" 2>&1 || { cat "$out" >&2; fail "the program failed"; }
    says shared
    ;;
elsewhere)
    # From another directory, by a symbolic link to the script.
    directory=$(mktemp -d)
    ln -s "$SOFT_RUN" "$directory/run"
    (cd "$directory" && ./run "$PROGRAMS/soft-run-opened" >"$out" 2>&1) || { cat "$out" >&2; fail "the program failed"; }
    rm -r "$directory"
    says shared
    ;;
without)
    # The programs are what they seem: without the script they do not get the twin.
    if "$PROGRAMS/soft-run-opened" >"$out" 2>&1 && grep -q shared "$out"; then
        fail "libcuda.so.1 was the twin already"
    fi
    ;;
lacks)
    "$SOFT_RUN" "$PROGRAMS/soft-run-linked" lacks >"$out" 2>&1 || { cat "$out" >&2; fail "no NOT_SUPPORTED"; }
    says "culvert-soft-run: the program calls cuGreenCtxDestroy, which the software twin does not have"
    ;;
runtime)
    status=0
    "$SOFT_RUN" "$PROGRAMS/soft-run-runtime" >"$out" 2>&1 || status=$?
    [ $status -eq 3 ] || { cat "$out" >&2; fail "exit status $status"; }
    says "culvert-soft-run: the program uses the CUDA runtime API"
    [ "$(grep -c . "$out")" -eq 1 ] || fail "it says it more than once"
    ;;
options)
    "$SOFT_RUN" --help >"$out"
    says "usage: culvert-soft-run PROGRAM"
    for arguments in "" "--nonsense" "--print more" "--env more" "--"; do
        status=0
        # shellcheck disable=SC2086
        "$SOFT_RUN" $arguments >"$out" 2>&1 || status=$?
        [ $status -eq 125 ] || fail "'$arguments': exit status $status"
    done
    # The program's arguments and exit status are its own.
    status=0
    "$SOFT_RUN" sh -c 'printf "%s|" "$@"; exit 7' name 'a b' '' '*' >"$out" || status=$?
    [ $status -eq 7 ] || fail "exit status $status, not 7"
    [ "$(cat "$out")" = 'a b||*|' ] || fail "arguments became $(cat "$out")"
    ;;
variables)
    "$SOFT_RUN" --print >"$out"
    [ "$(value CULVERT_SOFT)" = 1 ] || fail "CULVERT_SOFT"
    [ -e "$(value LD_LIBRARY_PATH)/libcuda.so.1" ] || fail "LD_LIBRARY_PATH"
    [ -e "$(value VK_ADD_LAYER_PATH)/VkLayer_culvert_soft.json" ] || fail "VK_ADD_LAYER_PATH"
    [ "$(value VK_INSTANCE_LAYERS)" = VK_LAYER_CULVERT_soft ] || fail "VK_INSTANCE_LAYERS"
    # The other form has the same without quotes.
    sed "s/='\(.*\)'\$/=\1/" "$out" >"$out.plain"
    "$SOFT_RUN" --env | cmp - "$out.plain" || fail "--env is not --print without quotes"
    rm "$out.plain"
    directory=$(value VK_ADD_LAYER_PATH)
    # What is set stays, and VK_LAYER_PATH hides VK_ADD_LAYER_PATH from the loader.
    LD_LIBRARY_PATH=/a VK_LAYER_PATH=/b VK_INSTANCE_LAYERS=other VK_DRIVER_FILES=/c "$SOFT_RUN" --print >"$out"
    case $(value LD_LIBRARY_PATH) in *:/a) ;; *) fail "LD_LIBRARY_PATH" ;; esac
    [ "$(value VK_LAYER_PATH)" = "/b:$directory" ] || fail "VK_LAYER_PATH"
    [ "$(value VK_INSTANCE_LAYERS)" = VK_LAYER_CULVERT_soft:other ] || fail "VK_INSTANCE_LAYERS"
    grep -q VK_LOADER_DRIVERS_SELECT "$out" && fail "drivers that the user chose are overridden"
    VK_LAYER_PATH=/b "$SOFT_RUN" "$PROGRAMS/soft-run-opened" >"$out" 2>&1 || { cat "$out" >&2; fail "with VK_LAYER_PATH"; }
    says shared
    ;;
*)
    fail "there is no case $1"
    ;;
esac
