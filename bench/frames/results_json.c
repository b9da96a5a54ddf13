/* SPDX-License-Identifier: MIT */
/* Results for programs. See results.h. */
#include "results.h"

#include "json.h"
#include "report.h"

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
    if (r->automatic) {
        json_begin(json, "chosen", '{');
        json_bool(json, "host_waits_for_cuda", r->on_host);
        json_bool(json, "tries", r->tries);
        json_end(json, '}');
    } else {
        json_null(json, "chosen");
    }
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
