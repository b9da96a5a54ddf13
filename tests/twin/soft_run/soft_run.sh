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
    says "culvert-soft-run: the program calls cuTexRefCreate, which the software twin does not have"
    ;;
errors)
    # The first call that fails says what the driver is, and only that one.
    CULVERT_SOFT_FAIL_AT=cuda:cuStreamCreate:1 "$SOFT_RUN" "$PROGRAMS/soft-run-linked" >"$out" 2>&1 && fail "nothing failed"
    says "culvert-soft-run: cuStreamCreate answers CUDA_ERROR_UNKNOWN. No GPU did that: libcuda.so.1 is Culvert's software twin"
    [ "$(grep -c 'No GPU did that' "$out")" -eq 1 ] || fail "it says it more than once"
    ;;
links)
    # What --libs prints is all that a program needs, and its libcuda.so.1 is found where the program runs.
    printf 'int cuInit(unsigned);int cuTexRefCreate(void *);int main(void){return cuInit(0)+0*!cuTexRefCreate;}' >"$out.c"
    # shellcheck disable=SC2046
    cc -o "$out.program" "$out.c" $("$SOFT_RUN" --libs)
    "$SOFT_RUN" "$out.program" || fail "cuInit answers $?"
    directory=$("$SOFT_RUN" --libs | sed 's/^-L\(.*\) -lcuda$/\1/')
    cp "$directory/libcuda.so" "$directory/libcuda.so.1"
    status=0
    LD_LIBRARY_PATH=$directory "$out.program" >"$out" 2>&1 || status=$?
    rm "$out.c" "$out.program" "$directory/libcuda.so.1"
    [ $status -eq 34 ] || fail "the stub answers $status"
    says "this libcuda.so.1 is for linking"
    ;;
video)
    # Programs find libraries of video that can do nothing.
    "$SOFT_RUN" python3 -c 'import ctypes
n = ctypes.c_uint()
assert ctypes.CDLL("libnvcuvid.so.1").cuvidGetDecoderCaps(None) == 801
e = ctypes.CDLL("libnvidia-encode.so.1")
assert e.NvEncodeAPIGetMaxSupportedVersion(ctypes.byref(n)) == 0 and n.value >= 12 << 4
assert e.NvEncodeAPICreateInstance(None) == 1' || fail "libnvcuvid.so.1 or libnvidia-encode.so.1"
    ;;
runtime)
    # What it asks of a driver first (CUDA 13.0): cuGetProcAddress for itself, and then for NVIDIA's own tables.
    "$SOFT_RUN" python3 -c 'import ctypes
ask, found = ctypes.CDLL("libcuda.so.1").cuGetProcAddress_v2, ctypes.c_void_p()
for name, version in (b"cuGetProcAddress", 12000), (b"cuGetExportTable", 3000):
    assert ask(name, ctypes.byref(found), version, ctypes.c_ulonglong(0), ctypes.byref(ctypes.c_int())) == 0
    ask = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, *[ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong, ctypes.c_void_p])(found.value or 0)
assert not found' >"$out" 2>&1 || { cat "$out" >&2; fail "the driver has NVIDIA's tables"; }
    says "culvert-soft-run: the program uses the CUDA runtime API"
    [ "$(grep -c . "$out")" -eq 1 ] || fail "it says it more than once"
    ;;
options)
    "$SOFT_RUN" --help >"$out"
    says "usage: culvert-soft-run PROGRAM"
    for arguments in "" "--nonsense" "--print more" "--env more" "--libs more" "--"; do
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
