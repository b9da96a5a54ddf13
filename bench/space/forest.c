/* SPDX-License-Identifier: MIT */
/* The sample forest with one address, and copying and patching, by turns at three sizes. */
#include "process.h"
#include "space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MODES = 2, MOST_ROUNDS = 3, SIZES = 3 };

static const char *const modes[MODES] = {"one", "copy"};

typedef struct times {
    double frame_ms, build_ms, hand_over_ms, drawing_ms;
    char picture[20];
} times;

static const char *value_of(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted);
    if (at == NULL) FAIL("forest's RESULT has no %s: %s", key, line);
    return at + strlen(quoted);
}

static void run(const space_bench *b, const char *mode, unsigned long particles, bool small,
                times *out)
{
    char path[TEST_PATH_MAX], mode_is[32], count[48], output[320], answer[8192];
    char frames[] = "--frames=60", few[] = "--frames=3", size[] = "--size=640x360",
         tiny[] = "--size=16x16", samples[] = "--samples=1", quiet[] = "--quiet",
         nvidia[] = "--device=nvidia", soft[] = "--device=soft";
    const char *directory = getenv("TMPDIR");
    process p;
    int status = 0;
    test_path(path, "bin/forest");
    snprintf(mode_is, sizeof mode_is, "--mode=%s", mode);
    snprintf(count, sizeof count, "--particles=%lu", particles);
    snprintf(output, sizeof output, "--output=%s/" SPACE_PROGRAM "-%ld.png",
             directory != NULL ? directory : "/tmp", (long)getpid());
    char *const arguments[] = {path,
                               mode_is,
                               count,
                               output,
                               small ? few : frames,
                               small ? tiny : size,
                               b->bench.rig.caps.is_software ? soft : nvidia,
                               samples,
                               quiet,
                               NULL};
    process_start(&p, arguments);
    process_answer(&p, answer, sizeof answer);
    while (waitpid(p.pid, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    (void)remove(strchr(output, '=') + 1);
    if (status != 0) FAIL("forest %s %s failed: %s", mode_is, count, answer);
    const char *line = strstr(answer, "RESULT {");
    if (line == NULL) FAIL("forest told no RESULT: %s", answer);
    out->frame_ms = atof(value_of(line, "frame_ms"));
    out->build_ms = atof(value_of(line, "build_ms"));
    out->hand_over_ms = atof(value_of(line, "hand_over_ms"));
    out->drawing_ms = atof(value_of(line, "drawing_ms"));
    snprintf(out->picture, sizeof out->picture, "%s", value_of(line, "picture"));
}

static void measure(space_bench *b, unsigned long particles, size_t rounds, bool small)
{
    times t[MODES][MOST_ROUNDS];
    double values[MOST_ROUNDS], frame[MODES];
    char variant[48];
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < MODES; i++) {
            const size_t mode = (i + round) % MODES;
            exits_watch(120, "forest");
            run(b, modes[mode], particles, small, &t[mode][round]);
            if (strcmp(t[mode][round].picture, t[round % MODES][0].picture) != 0)
                FAIL("forest draws another picture by --mode=%s", modes[mode]);
            bench_checked(&b->bench);
        }
    for (size_t mode = 0; mode < MODES; mode++) {
        static const char *const names[4] = {"a frame", "of it building",
                                             "of it copying and patching", "of it drawing"};
        snprintf(variant, sizeof variant, "%lu particles, mode %s", particles, modes[mode]);
        for (size_t what = 0; what < 4; what++) {
            for (size_t round = 0; round < rounds; round++) {
                const times *one = &t[mode][round];
                values[round] = what == 0   ? one->frame_ms
                                : what == 1 ? one->build_ms
                                : what == 2 ? one->hand_over_ms
                                            : one->drawing_ms;
            }
            const double median = statistics_quantile(values, rounds, 0.5);
            if (what == 0) frame[mode] = median;
            space_add_fact(b, variant, names[what], median, "ms", 0.0);
        }
    }
    snprintf(variant, sizeof variant, "%lu particles", particles);
    space_add_fact(b, variant, "a frame, one over copy", frame[1] > 0.0 ? frame[0] / frame[1] : 0.0,
                   "", 0.0);
}

void section_forest(space_bench *b)
{
    static const unsigned long gpu[SIZES] = {250000, 1000000, 4000000},
                               twin[SIZES] = {30000, 60000, 120000};
    const bool small = b->bench.rig.caps.is_software || b->bench.quick;
    char path[TEST_PATH_MAX];
    FILE *sample = fopen(test_path(path, "bin/forest"), "rb");
    if (sample == NULL) {
        bench_left_out(&b->bench, "the sample forest was not built");
        return;
    }
    fclose(sample);
    for (size_t i = 0; i < (b->bench.quick ? 1 : SIZES); i++)
        measure(b, small ? twin[i] : gpu[i], b->bench.quick ? 1 : MOST_ROUNDS, small);
}
