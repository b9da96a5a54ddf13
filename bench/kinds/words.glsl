// SPDX-License-Identifier: MIT
// What every word is, and which one is read next: bench_kinds.cu has the same.
uint mixed(uint n) {
    n *= 0x85ebca77u;
    n ^= n >> 15;
    n *= 0x9e3779b1u;
    return n ^ n >> 13;
}
// Of a buffer or an image: noise, which nothing compresses, or the same everywhere.
uint word_of(uint at, uint noise) { return noise != 0 ? mixed(at) : 7u; }
uint next_random(uint state) { return state * 1664525u + 1013904223u; }
