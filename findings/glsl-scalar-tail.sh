#!/bin/sh
# GLSL's scalar layout is not C's: what follows a struct lies in the struct's padding.
# Version: glslang-tools 12.0.0-2, spirv-tools 2023.1-2 (which finds the module valid), gcc
#   4:12.2.0-3 on amd64.
# Guess: layout(scalar) is the layout of C and CUDA, so one header can serve a kernel and a
#   shader: {struct {float a; uint8_t b;} s; uint8_t t;} has t at 8 in both, for sizeof(s) is 8.
# Behaviour: glslang puts t at 5, behind the last byte of s that is used. Behind an array of two
#   such structs (16 in C) it puts it at 13. So a kernel that writes a whole struct, padding and
#   all, writes over what the shader has there. Structs whose size is a multiple of their
#   alignment are laid out alike.
# Seen: struct: C 8, GLSL 5; array of two: C 16, GLSL 13; valid
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 glslang-tools=12.0.0-2 spirv-tools=2023.1-2
cat >"$work/tail.comp" <<'END'
#version 450
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
struct part { float a; uint8_t b; };
layout(scalar, binding = 0) buffer One { part s; uint8_t t; } one;
layout(scalar, binding = 1) buffer Two { part s[2]; uint8_t t; } two;
void main() { one.t = two.t; }
END
glslangValidator -V --target-env vulkan1.2 -o "$work/tail.spv" "$work/tail.comp" >"$work/log" || unknown "glslangValidator"
spirv-dis "$work/tail.spv" >"$work/tail.txt"
glsl() { sed -n "s/^ *OpMemberDecorate %$1 1 Offset //p" "$work/tail.txt"; }
compile tail <<'END'
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct part {
    float a;
    uint8_t b;
};
struct one {
    struct part s;
    uint8_t t;
};
struct two {
    struct part s[2];
    uint8_t t;
};

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    printf("struct: C %zu, GLSL %s; array of two: C %zu, GLSL %s; ", offsetof(struct one, t),
           argv[1], offsetof(struct two, t), argv[2]);
    return 0;
}
END
same "struct: C 8, GLSL 5; array of two: C 16, GLSL 13; valid" \
    "$("$work/tail" "$(glsl One)" "$(glsl Two)")$(spirv-val --scalar-block-layout --target-env vulkan1.2 "$work/tail.spv" && echo valid)"
