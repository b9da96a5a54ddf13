/* SPDX-License-Identifier: MIT */
/* Summing up, and text. See results.h. */
#include "results.h"
#include "json.h"

#include <stdio.h>
#include <string.h>

const char *results_bytes(char out[RESULTS_BYTES], uint64_t bytes)
{
    if (bytes % (UINT64_C(1) << 30) == 0)
        snprintf(out, RESULTS_BYTES, "%llu GiB", (unsigned long long)(bytes >> 30));
    else if (bytes % (1u << 20) == 0)
        snprintf(out, RESULTS_BYTES, "%llu MiB", (unsigned long long)(bytes >> 20));
    else
        snprintf(out, RESULTS_BYTES, "%llu KiB", (unsigned long long)(bytes >> 10));
    return out;
}

/* The same ring written by hand; NULL: it did not run, or this is none. */
static const outcome *raw_like(const outcome *outcomes, size_t count, const config *c)
{
    const scheme *raw = c->scheme == &scheme_ring       ? &scheme_raw
                        : c->scheme == &scheme_in_queue ? &scheme_raw_in_queue
                        : c->scheme == &scheme_async    ? &scheme_raw_async
                                                        : NULL;

    for (size_t i = 0; i < count; i++) {
        const config *o = &outcomes[i].config;
        if (o->scheme == raw && o->depth == c->depth && o->burst == c->burst &&
            strcmp(o->variant, c->variant) == 0 && outcomes[i].rounds > 0)
            return &outcomes[i];
    }
    return NULL;
}

static void sum_up(result *r, frames_bench *b, const workload *w, const outcome *outcomes,
                   size_t count, const outcome *o)
{
    const config *c = &o->config;
    memset(r, 0, sizeof *r);
    snprintf(r->scheme, sizeof r->scheme, "%s", c->scheme->name);
    snprintf(r->variant, sizeof r->variant, "%s", c->variant);
    r->workload = *w;
    r->solver_alone = statistics_quantile(outcomes[0].us, outcomes[0].rounds, 0.5);
    r->renderer_alone = statistics_quantile(outcomes[1].us, outcomes[1].rounds, 0.5);
    r->depth = c->max_latency != 0 ? o->chosen.depth : c->depth;
    r->burst = c->max_latency != 0 ? o->chosen.burst : c->burst;
    r->frames = c->frames;
    r->max_latency = c->max_latency;
    r->checked = o->checked;
    r->wrong = o->wrong;
    r->obstacle = o->obstacle;
    if (o->rounds == 0) return;
    r->us = statistics_spread(o->us, o->rounds);
    r->ratio = statistics_spread(o->ratio, o->rounds);
    r->cpu = statistics_quantile(o->cpu, o->rounds, 0.5);
    r->interval_p99 = samples_quantile(&o->interval, 0.99);
    r->hand_over = samples_quantile(&o->hand_over, 0.5);
    r->hand_over_p99 = samples_quantile(&o->hand_over, 0.99);
    r->age = samples_quantile(&o->age, 0.5);
    r->age_p99 = samples_quantile(&o->age, 0.99);
    const outcome *raw = c->max_latency == 0 ? raw_like(outcomes, count, c) : NULL;
    if (raw != NULL)
        r->against_raw = statistics_compare(o->us, raw->us, o->rounds, &b->bench.random).ratio;
}

/* Text ----------------------------------------------------------------------------------------- */

static void put(FILE *out, int width, int digits, double value)
{
    if (value != 0.0)
        fprintf(out, " %*.*f", width, digits, value);
    else
        fprintf(out, " %*s", width, "-");
}

static void print_heading(FILE *out, const char *section, const result *r)
{
    char size[RESULTS_BYTES], draws[48] = "";
    if (r->workload.parts > 1)
        snprintf(draws, sizeof draws, " of %u draws and a copy",
                 r->workload.parts * r->workload.parts);
    fprintf(
        out,
        "\n%s: frames of %s, the solver's work is %s; alone, it takes %.1f us, the renderer%s %.1f: the ideal is %.1f\n",
        section, results_bytes(size, r->workload.bytes), solver_work_names[r->workload.work],
        r->solver_alone, draws, r->renderer_alone, r->solver_alone + r->renderer_alone);
    fprintf(out, "  %-42s %5s %5s %9s %19s %6s %9s %7s %16s %9s  %s\n", "", "depth", "burst",
            "us/frame", "(10 % .. 90 %)", "ideal", "p99 gap", "CPU us", "hand-over (p99)",
            "age p99", "over raw");
}

static void print(FILE *out, const result *r)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s%s", r->scheme, r->variant[0] != '\0' ? ", " : "", r->variant);
    fprintf(out, "  %-42s %5u %5u", name, r->depth, r->burst);
    if (r->obstacle != NULL) {
        fprintf(out, " left out: %s\n", r->obstacle);
        return;
    }
    fprintf(out, " %9.1f (%7.1f .. %7.1f) %6.3f", r->us.median, r->us.p10, r->us.p90,
            r->ratio.median);
    put(out, 9, 1, r->interval_p99);
    put(out, 7, 2, r->cpu);
    put(out, 7, 1, r->hand_over);
    put(out, 8, 1, r->hand_over_p99);
    put(out, 9, 1, r->age_p99);
    if (r->against_raw.value != 0.0)
        fprintf(out, "  %.4f (%.4f .. %.4f)", r->against_raw.value, r->against_raw.low,
                r->against_raw.high);
    fputc('\n', out);
    fflush(out);
}

void results_add(results *all, frames_bench *b, const char *section, const workload *w,
                 const outcome *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        REQUIRE(all->num < RESULTS_MAX);
        result *r = &all->all[all->num++];
        sum_up(r, b, w, outcomes, count, &outcomes[i]);
        snprintf(r->section, sizeof r->section, "%s", section);
        if (b->bench.text == NULL) continue;
        if (i == 0) print_heading(b->bench.text, section, r);
        print(b->bench.text, r);
    }
    all->clocks_known = b->clocks.known;
    all->clocks_same = b->clocks.same;
    all->clocks_error = b->clocks.error * 1e-3;
}

const result *results_best(const results *all, const char *section, const char *name, double age_us,
                           double clearly)
{
    const result *best = NULL;
    for (size_t i = 0; i < all->num; i++) {
        const result *r = &all->all[i];
        if (strcmp(r->section, section) != 0 || strcmp(r->scheme, name) != 0 ||
            r->max_latency != 0 || r->us.n == 0 || r->age_p99 > age_us)
            continue;
        if (best == NULL || r->us.median < best->us.median / clearly) best = r;
    }
    return best;
}

/* Results for programs. See results.h. */

static void put_result(struct json *json, const result *r)
{
    json_begin(json, NULL, '{');
    json_string(json, "section", r->section);
    json_string(json, "scheme", r->scheme);
    json_text(json, "variant", r->variant);
    json_integer(json, "bytes", (int64_t)r->workload.bytes);
    json_string(json, "work", solver_work_names[r->workload.work]);
    json_integer(json, "draws", r->workload.parts != 0 ? r->workload.parts * r->workload.parts : 1);
    report_number(json, "solver_wanted", r->workload.solver_us);
    report_number(json, "renderer_wanted", r->workload.renderer_us);
    report_number(json, "solver_alone", r->solver_alone);
    report_number(json, "renderer_alone", r->renderer_alone);
    json_integer(json, "depth", r->depth);
    json_integer(json, "burst", r->burst);
    json_integer(json, "max_latency_ns", (int64_t)r->max_latency);
    json_integer(json, "frames", r->frames);
    json_string(json, "left_out", r->obstacle);
    report_spread(json, "us", &r->us);
    report_spread(json, "of_ideal", &r->ratio);
    report_number(json, "cpu", r->cpu);
    report_number(json, "interval_p99", r->interval_p99);
    report_number(json, "hand_over", r->hand_over);
    report_number(json, "hand_over_p99", r->hand_over_p99);
    report_number(json, "age", r->age);
    report_number(json, "age_p99", r->age_p99);
    json_integer(json, "checked", (int64_t)r->checked);
    json_integer(json, "wrong", (int64_t)r->wrong);
    if (r->against_raw.value != 0.0)
        report_interval(json, "over_raw", &r->against_raw);
    else
        json_null(json, "over_raw");
    json_end(json, '}');
}

bool results_write(const results *all, const frames_bench *b, const char *program, bool complete,
                   FILE *out)
{
    struct json json = {.out = out, .first = true};
    json_begin(&json, NULL, '{');
    report_head(&json, &b->bench, program, complete);
    json_integer(&json, "solver_device", rig_solver_device); /* -1: the one that draws */
    json_begin(&json, "clocks", '{');
    json_bool(&json, "known", all->clocks_known);
    json_bool(&json, "same", all->clocks_same);
    report_number(&json, "error", all->clocks_error);
    json_end(&json, '}');
    report_left_out(&json, &b->bench);
    json_begin(&json, "frames", '[');
    for (size_t i = 0; i < all->num; i++)
        put_result(&json, &all->all[i]);
    json_end(&json, ']');
    report_results(&json, "results", &b->bench);
    json_end(&json, '}');
    return fflush(out) == 0 && ferror(out) == 0;
}
