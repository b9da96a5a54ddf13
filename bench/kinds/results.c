/* SPDX-License-Identifier: MIT */
/* What was measured, as text and as JSON (docs/measured/memory-kinds.md). */
#include "json.h"
#include "kinds.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static const char *const sides[KINDS_SIDES] = {"CUDA", "Vulkan"};

const char *kinds_kind_name(culv_memory_kind kind)
{
    switch (kind) {
    case CULV_MEMORY_KIND_FAST: return "fast";
    case CULV_MEMORY_KIND_COMPRESSIBLE: return "compressible";
    case CULV_MEMORY_KIND_PLAIN: return "plain";
    default: return NULL;
    }
}

kinds_row *kinds_add_row(kinds *k, const char *scheme, const char *pattern, kinds_side side,
                         uint64_t bytes, spread rate)
{
    if (k->num_rows == k->capacity) {
        const size_t capacity = k->capacity != 0 ? 2 * k->capacity : 64;
        kinds_row *more = realloc(k->rows, capacity * sizeof *more);
        REQUIRE(more != NULL);
        k->rows = more;
        k->capacity = capacity;
    }
    kinds_row *row = &k->rows[k->num_rows++];
    const bool words = strstr(pattern, "random") != NULL;
    *row = (kinds_row){.scheme = scheme,
                       .pattern = pattern,
                       .unit = words ? "G words/s" : "GB/s",
                       .side = side,
                       .bytes = bytes,
                       .rate = rate};
    return row;
}

static const kinds_row *baseline(const kinds *k, const kinds_row *row, const char *to)
{
    for (size_t i = 0; i < k->num_rows; i++) {
        const kinds_row *r = &k->rows[i];
        if (strcmp(r->scheme, to) == 0 && r->side == KINDS_CUDA && r->bytes == row->bytes &&
            strcmp(r->pattern, row->pattern) == 0)
            return r;
    }
    return NULL;
}

void kinds_end_row(kinds *k, kinds_row *row, const char *to, double goal)
{
    const bench *b = &k->bench;
    const kinds_row *base = baseline(k, row, to);
    /* The GPU's limits show in buffers of GiBs alone. */
    const bool judged =
        !b->quick && !b->rig.caps.is_software && row->bytes >= UINT64_C(4) << 30 && goal > 0.0;
    if (base != NULL && base->rate.median > 0.0) row->ratio = row->rate.median / base->rate.median;
    if (judged && row->ratio > 0.0) {
        row->goal = goal;
        row->met = row->ratio >= goal ? "yes" : "no";
    }
    if (b->text == NULL) return;
    fprintf(b->text, "%7llu MiB  %-38s %-13s %-7s %-18s %10.2f %-10s %6.3f%s%s\n",
            (unsigned long long)(row->bytes >> 20), row->scheme, row->kind != NULL ? row->kind : "",
            sides[row->side], row->pattern, row->rate.median, row->unit, row->ratio,
            row->met != NULL ? "  met: " : "", row->met != NULL ? row->met : "");
    fflush(b->text);
}

bool kinds_write(const kinds *k, bool complete, FILE *out)
{
    struct json json = {.out = out, .first = true};
    json_begin(&json, NULL, '{');
    report_head(&json, &k->bench, KINDS_PROGRAM, complete);
    json_integer(&json, "threads", k->threads);
    json_integer(&json, "reads", k->reads);
    json_integer(&json, "words_checked", (int64_t)k->checked);
    report_left_out(&json, &k->bench);
    json_begin(&json, "rates", '[');
    for (size_t i = 0; i < k->num_rows; i++) {
        const kinds_row *r = &k->rows[i];
        json_begin(&json, NULL, '{');
        json_string(&json, "section", "buffers");
        json_string(&json, "scheme", r->scheme);
        json_string(&json, "memory_kind", r->kind);
        json_integer(&json, "bytes", (int64_t)r->bytes);
        json_string(&json, "side", sides[r->side]);
        json_string(&json, "pattern", r->pattern);
        json_string(&json, "unit", r->unit);
        report_spread(&json, "rate", &r->rate);
        if (r->ratio > 0.0)
            report_number(&json, "ratio", r->ratio);
        else
            json_null(&json, "ratio");
        if (r->goal > 0.0)
            report_number(&json, "goal", r->goal);
        else
            json_null(&json, "goal");
        json_string(&json, "met", r->met);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', out);
    return fflush(out) == 0 && !ferror(out);
}
