#!/bin/sh
# hello_installed.sh PREFIX WORK CC: compiles the samples of samples/hello from an installed Culvert, with a compiler and
# pkg-config alone, and runs them. Those of Direct3D run under Wine (tests/windows).
# SPDX-License-Identifier: MIT
set -eu
prefix=$1 work=$2 cc=$3

rm -rf "$work"
mkdir -p "$work"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name culvert.pc)")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
pkg-config --exists vulkan egl || { echo "SKIP: pkg-config knows no vulkan or no egl (Debian: libvulkan-dev, libegl-dev)"; exit 77; }
count=0
# The compiler's first error says what a kernel of nvcc's alone lacks, and what one without CULV_GRID does.
says() { # WORDS SOURCE
    printf %b "$2" >"$work/plain.cu"
    "$prefix/bin/culvert-kernels" --soft -o "$work" "$work/plain.cu" 2>"$work/plain.says" && exit 1
    grep -m 1 error: "$work/plain.says" | grep "$1"
}
header='#include "culvert_kernel.h"\n'
says include_culvert_kernel_h_and_write_CULV_KERNEL 'extern "C" __global__ void one(int *p) { *p = 1; }\n'
says write_CULV_KERNEL "${header}__global__ void one(CULV_GRID int *p) { *p = 1; }\nCULV_KERNELS(one)\n"
says 'CULV_GRID stands before' "${header}CULV_KERNEL void one(int *p) { *p = 1; }\nCULV_KERNELS(one)\n"

for source in "$prefix"/share/doc/culvert/examples/hello_*.c; do
    name=$(basename "$source" .c)
    case $name in hello_d3d*) continue ;; *_gl) api=egl ;; *_window) api="vulkan glfw3" ;; *) api=vulkan ;; esac
    # shellcheck disable=SC2086 # several words
    pkg-config --exists $api || { echo "$name: pkg-config does not know $api"; continue; }
    # shellcheck disable=SC2046,SC2086 # several words
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$source" -o "$work/$name" $(pkg-config --cflags --libs culvert $api) \
        -Wl,-rpath,"$(pkg-config --variable=libdir culvert)" -lm -pthread
    if [ "$name" = hello_cull ]; then
        "$prefix/bin/culvert-kernels" -o "$work" "${source%.c}.cu"
        if [ ! -e "$work/$name.fatbin" ] && [ "${CULVERT_SOFT:-0}" != 1 ]; then
            echo "$name: no nvcc, so there is nothing for a GPU"
            count=$((count + 1))
            continue
        fi
    elif [ "$name" = hello_window ]; then
        "$prefix/bin/culvert-kernels" --soft -o "$work" "${source%.c}.cu"
        echo "hello_window: samples-hello runs it, on a screen"
        continue
    fi
    (cd "$work" && "./$name")
    count=$((count + 1))
done
[ "$count" -eq 5 ] || { echo "$count programs, not 5"; exit 1; }
