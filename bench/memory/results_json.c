/* SPDX-License-Identifier: MIT */
/* Results for programs. See results.h. */
#include "memory.h"

#include "json.h"
#include "report.h"

static void put_ratio(struct json *json, const result_ratio *r)
{
    json_begin(json, NULL, '{');
    json_string(json, "to", r->to);
    report_number(json, "value", r->ratio.value);
    report_number(json, "low", r->ratio.low);
    report_number(json, "high", r->ratio.high);
    if (r->goal > 0.0)
        report_number(json, "goal", r->goal);
    else
        json_null(json, "goal");
    json_string(json, "met", r->met);
    json_end(json, '}');
}

static void put_result(struct json *json, const result *r)
{
    json_begin(json, NULL, '{');
    json_string(json, "section", r->section);
    json_string(json, "scheme", r->scheme);
    json_text(json, "variant", r->variant);
    json_string(json, "what", r->what);
    json_integer(json, "bytes", (int64_t)r->bytes);
    json_integer(json, "count", (int64_t)r->count);
    report_spread(json, "us", &r->us);
    report_number(json, "p99", r->p99);
    report_number(json, "most", r->most);
    json_begin(json, "ratios", '[');
    for (size_t i = 0; i < r->num_ratios; i++)
        put_ratio(json, &r->ratios[i]);
    json_end(json, ']');
    if (r->goal_us > 0.0)
        report_number(json, "goal_us", r->goal_us);
    else
        json_null(json, "goal_us");
    json_string(json, "met", r->met);
    json_end(json, '}');
}

static void put_memory(struct json *json, const result_memory *m)
{
    json_begin(json, NULL, '{');
    json_string(json, "variant", m->variant);
    json_string(json, "scheme", m->scheme);
    json_integer(json, "bytes", (int64_t)m->bytes);
    json_integer(json, "committed", (int64_t)m->committed);
    json_integer(json, "used", (int64_t)m->used);
    json_integer(json, "peak", (int64_t)m->peak);
    json_end(json, '}');
}

static void put_fact(struct json *json, const result_fact *f)
{
    json_begin(json, NULL, '{');
    json_string(json, "section", f->section);
    json_string(json, "scheme", f->scheme);
    json_text(json, "variant", f->variant);
    json_string(json, "name", f->name);
    report_number(json, "value", f->value);
    json_text(json, "unit", f->unit);
    json_string(json, "met", f->met);
    json_end(json, '}');
}

bool results_write(const memory_bench *b, const char *program, bool complete, FILE *out)
{
    struct json json = {.out = out, .first = true};
    const results *all = &b->results;
    json_begin(&json, NULL, '{');
    report_head(&json, &b->bench, program, complete);
    json_integer(&json, "limit", (int64_t)b->limit);
    json_integer(&json, "granularity", (int64_t)b->granularity);
    json_integer(&json, "words_checked", (int64_t)b->checked);
    json_begin(&json, "objects", '{');
    json_integer(&json, "made", (int64_t)b->tally.made);
    json_integer(&json, "freed", (int64_t)b->tally.freed);
    json_end(&json, '}');
    report_left_out(&json, &b->bench);
    json_begin(&json, "times", '[');
    for (size_t i = 0; i < all->num; i++)
        put_result(&json, &all->all[i]);
    json_end(&json, ']');
    json_begin(&json, "memory", '[');
    for (size_t i = 0; i < all->num_memory; i++)
        put_memory(&json, &all->memory[i]);
    json_end(&json, ']');
    json_begin(&json, "facts", '[');
    for (size_t i = 0; i < all->num_facts; i++)
        put_fact(&json, &all->facts[i]);
    json_end(&json, ']');
    json_end(&json, '}');
    return fflush(out) == 0 && ferror(out) == 0;
}
