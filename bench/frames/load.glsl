// The renderer's work on one pixel: reads words of the frame that lie all over it, at its beginning and at its end,
// and works in between for as long as it is told. SPDX-License-Identifier: MIT
#extension GL_GOOGLE_include_directive : require
#include "frame_words.h"

layout(push_constant) uniform Job {
    uint number;     // of the frame that has to be there; 0: nothing is checked
    uint words;      // of a frame
    uint iterations;
    uint pixels;
} job;
layout(set = 0, binding = 0) volatile readonly buffer Frame { uint words[]; } frame;
layout(set = 0, binding = 1) buffer Verdict { uint frames, wrong; } verdict;

void check(uint at, inout uint wrong) {
    if (frame.words[at] != FRAME_WORD(job.number, at)) wrong++;
}

// Pixels 0 and the last look at the frame's first and last word.
uint work(uint pixel) {
    uint wrong = 0u;
    uint at = pixel == 0u ? 0u : pixel == job.pixels - 1u ? job.words - 1u : (pixel * 0x9e3779b1u) % job.words;
    check(at, wrong);
    uint x = frame.words[at] ^ pixel ^ 1u;
    for (uint i = 0u; i < job.iterations; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    check((at + job.words / 2u) % job.words, wrong);
    check(at, wrong);
    if (job.number != 0u) {
        if (wrong != 0u) atomicAdd(verdict.wrong, 1u);
        if (pixel == 0u) atomicAdd(verdict.frames, 1u);
    }
    return x;
}
