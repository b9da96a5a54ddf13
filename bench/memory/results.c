/* SPDX-License-Identifier: MIT */
/* Collecting, and text. See results.h. */
#include "results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *results_bytes(char out[RESULTS_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, RESULTS_BYTES, "%" PRIu64 " %s", bytes, units[unit]);
    return out;
}

/* The next place of a list. */
static void *next(void *list, size_t *count, size_t *capacity, size_t size)
{
    void **items = list;
    if (*count == *capacity) {
        *capacity = *capacity != 0 ? 2 * *capacity : 64;
        void *more = realloc(*items, *capacity * size);
        REQUIRE(more != NULL);
        *items = more;
    }
    char *place = (char *)*items + (*count)++ * size;
    memset(place, 0, size);
    return place;
}

bool results_judged(const bench *b)
{
    return !b->quick && !b->rig.caps.is_software;
}

result *results_add(results *all, const bench *b, const char *scheme, const char *variant,
                    const char *what)
{
    result *r = next(&all->all, &all->num, &all->capacity, sizeof *r);
    snprintf(r->section, sizeof r->section, "%s", b->measurement);
    snprintf(r->scheme, sizeof r->scheme, "%s", scheme);
    snprintf(r->variant, sizeof r->variant, "%s", variant);
    snprintf(r->what, sizeof r->what, "%s", what);
    return r;
}

void results_add_ratio(result *r, const bench *b, const char *to, interval ratio, double goal)
{
    REQUIRE(r->num_ratios < RESULTS_RATIOS);
    result_ratio *added = &r->ratios[r->num_ratios++];
    snprintf(added->to, sizeof added->to, "%s", to);
    added->ratio = ratio;
    added->goal = goal;
    if (goal > 0.0 && results_judged(b))
        added->met = ratio.high <= goal ? "yes" : ratio.low > goal ? "no" : "open";
}

void results_add_memory(results *all, const result_memory *memory)
{
    result_memory *added =
        next(&all->memory, &all->num_memory, &all->memory_capacity, sizeof *added);
    *added = *memory;
}

void results_add_fact(results *all, const bench *b, const char *scheme, const char *variant,
                      const char *name, double value, const char *unit, const char *met)
{
    result_fact *f = next(&all->facts, &all->num_facts, &all->facts_capacity, sizeof *f);
    snprintf(f->section, sizeof f->section, "%s", b->measurement);
    snprintf(f->scheme, sizeof f->scheme, "%s", scheme);
    snprintf(f->variant, sizeof f->variant, "%s", variant);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->value = value;
    f->unit = unit;
    f->met = met;
    if (b->text == NULL) return;
    fprintf(b->text, "  %s%s%s: %s: %.0f%s%s", scheme, variant[0] != '\0' ? ", " : "", variant,
            name, value, unit[0] != '\0' ? " " : "", unit);
    if (met != NULL) fprintf(b->text, "  goal: %s", met);
    fputc('\n', b->text);
    fflush(b->text);
}

void results_free(results *all)
{
    free(all->all);
    free(all->memory);
    free(all->facts);
    memset(all, 0, sizeof *all);
}

/* Text ----------------------------------------------------------------------------------------- */

void results_heading(const bench *b, const char *text)
{
    if (b->text == NULL) return;
    fprintf(b->text, "\n%s%s%s\n", b->measurement, text[0] != '\0' ? ", " : "", text);
    fprintf(b->text, "  %-52s %10s %7s %32s %11s   %s\n", "", "bytes", "calls", "us (10 % .. 90 %)",
            "p99", "ratios (95 % interval)");
}

void results_print(const bench *b, const result *r)
{
    char name[128], bytes[RESULTS_BYTES], times[64], p99[32] = "";
    if (b->text == NULL) return;
    snprintf(name, sizeof name, "%s%s%s: %s", r->scheme, r->variant[0] != '\0' ? ", " : "",
             r->variant, r->what);
    int digits = r->us.median < 100.0 ? 2 : 1;
    snprintf(times, sizeof times, "%.*f (%.*f .. %.*f)", digits, r->us.median, digits, r->us.p10,
             digits, r->us.p90);
    if (r->p99 > 0.0) snprintf(p99, sizeof p99, "%.2f", r->p99);
    fprintf(b->text, "  %-52s %10s %7" PRIu64 " %32s %11s  ", name, results_bytes(bytes, r->bytes),
            r->count, times, p99);
    for (size_t i = 0; i < r->num_ratios; i++) {
        const result_ratio *ratio = &r->ratios[i];
        fprintf(b->text, " %.4f (%.4f .. %.4f) of %s", ratio->ratio.value, ratio->ratio.low,
                ratio->ratio.high, ratio->to);
        if (ratio->goal > 0.0)
            fprintf(b->text, ", goal %.2f%s%s", ratio->goal, ratio->met ? ": " : "",
                    ratio->met ? ratio->met : "");
        fputc(';', b->text);
    }
    if (r->goal_us > 0.0)
        fprintf(b->text, " goal: p99 under %g us%s%s", r->goal_us, r->met ? ": " : "",
                r->met ? r->met : "");
    fprintf(b->text, "  n %zu\n", r->us.n);
    fflush(b->text);
}
