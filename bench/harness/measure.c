/* SPDX-License-Identifier: MIT */
/* The comparison loop. See measure.h. */
#include "measure.h"

#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_PAIRS = 3, LEAST_PAIRS = 40, MOST_PAIRS = 4000, WARM_UP_PAIRS = 10 };

void bench_set_up(bench *b, bool quick, uint64_t seed, const char *json)
{
    b->quick = quick;
    b->seconds = 1.0;
    b->seed = b->random.state = seed;
    b->text = json == NULL || json[0] != '\0' ? stdout : NULL;
}

void bench_variant(bench *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(b->variant, sizeof b->variant, format, args);
    va_end(args);
    b->headed = false;
    b->checks = 0;
    b->first_of_variant = b->num_results;
    char what[128];
    snprintf(what, sizeof what, "%s%s%s", b->measurement, b->variant[0] != '\0' ? ", " : "",
             b->variant);
    exits_watch(60u + (unsigned)(10.0 * b->seconds), what);
}

void bench_checked(bench *b)
{
    b->checks++;
    for (size_t i = b->first_of_variant; i < b->num_results; i++)
        b->results[i].checks = b->checks;
}

void bench_left_out(bench *b, const char *reason)
{
    REQUIRE(b->num_gaps < BENCH_MAX_GAPS);
    bench_gap *gap = &b->gaps[b->num_gaps++];
    gap->measurement = b->measurement;
    snprintf(gap->reason, sizeof gap->reason, "%s", reason);
    if (b->text != NULL) text_gap(b, gap);
}

/* Both sides once, in an order drawn by lot. */
static void pair_of_turns(bench *b, bench_series *s, bool keep)
{
    bool alone = s->setup.kind == BENCH_SCALE;
    size_t first = alone ? BENCH_RAW : random_below(&b->random, BENCH_SIDES);
    for (size_t turn = 0; turn < (alone ? 1u : (size_t)BENCH_SIDES); turn++) {
        size_t side = turn == 0 ? first : 1 - first;
        double ns[BENCH_MAX_PHASES] = {0};
        s->setup.turn(s->setup.state, (bench_side)side, ns);
        for (unsigned phase = 0; keep && phase < s->setup.num_phases; phase++)
            s->samples[side][phase][s->n] = ns[phase];
    }
    s->n += keep;
}

void bench_begin(bench *b, bench_series *out, bench_setup setup)
{
    size_t most = b->quick ? QUICK_PAIRS : MOST_PAIRS;
    memset(out, 0, sizeof *out);
    out->setup = setup;
    REQUIRE(setup.num_phases > 0 && setup.num_phases <= BENCH_MAX_PHASES && setup.calls > 0);
    for (size_t side = 0; side < BENCH_SIDES; side++) {
        for (unsigned phase = 0; phase < setup.num_phases; phase++) {
            out->samples[side][phase] = calloc(most, sizeof(double));
            REQUIRE(out->samples[side][phase] != NULL);
        }
    }
    for (size_t i = 0; i < (b->quick ? 1u : (size_t)WARM_UP_PAIRS); i++)
        pair_of_turns(b, out, false);
    double end = bench_now() + b->seconds * 1e9;
    while (out->n < most && (b->quick || out->n < LEAST_PAIRS || bench_now() < end))
        pair_of_turns(b, out, true);
}

void bench_end(bench_series *series)
{
    for (size_t side = 0; side < BENCH_SIDES; side++)
        for (unsigned phase = 0; phase < BENCH_MAX_PHASES; phase++)
            free(series->samples[side][phase]);
    memset(series, 0, sizeof *series);
}

static bench_result *new_result(bench *b)
{
    if (b->num_results == b->capacity) {
        size_t capacity = b->capacity != 0 ? 2 * b->capacity : 64;
        bench_result *more = realloc(b->results, capacity * sizeof *more);
        REQUIRE(more != NULL);
        b->results = more;
        b->capacity = capacity;
    }
    bench_result *result = &b->results[b->num_results++];
    memset(result, 0, sizeof *result);
    return result;
}

void bench_row(bench *b, const bench_series *series, bench_row_desc desc)
{
    bench_result *r = new_result(b);
    snprintf(r->measurement, sizeof r->measurement, "%s", b->measurement);
    snprintf(r->variant, sizeof r->variant, "%s", b->variant);
    snprintf(r->name, sizeof r->name, "%s", desc.name);
    r->kind = series->setup.kind;
    r->calls = series->setup.calls;
    r->checks = b->checks;
    r->goal = desc.goal;
    r->judged = !b->quick && !b->validated && !b->rig.caps.is_software;
    double *us[BENCH_SIDES];
    for (size_t side = 0; side < BENCH_SIDES; side++) {
        us[side] = calloc(series->n, sizeof(double));
        REQUIRE(us[side] != NULL);
        for (unsigned phase = 0; phase < series->setup.num_phases; phase++) {
            if ((desc.phases >> phase & 1u) == 0) continue;
            for (size_t i = 0; i < series->n; i++)
                us[side][i] +=
                    series->samples[side][phase][i] / (1e3 * (double)series->setup.calls);
        }
        if (side == BENCH_RAW || r->kind != BENCH_SCALE)
            r->sides[side] = statistics_spread(us[side], series->n);
    }
    if (r->kind != BENCH_SCALE)
        r->compared = statistics_compare(us[BENCH_CULVERT], us[BENCH_RAW], series->n, &b->random);
    free(us[BENCH_CULVERT]);
    free(us[BENCH_RAW]);
    if (b->text != NULL) text_row(b, r);
}

const char *bench_verdict(const bench_result *result)
{
    if (result->goal <= 0.0 || !result->judged) return NULL;
    if (result->compared.ratio.high <= result->goal) return "yes";
    return result->compared.ratio.low > result->goal ? "no" : "open";
}
