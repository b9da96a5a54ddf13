/* SPDX-License-Identifier: MIT */
/* Results for people. See text.h. */
#include "text.h"

void text_heading(const bench *b, const char *program)
{
    const rig *r = &b->rig;
    fprintf(b->text, "%s %s: %s by %s, CUDA %u.%u; %s\n", program, culv_version_string(),
            r->caps.name, r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u, r->vulkan_driver);
    if (r->caps.is_software)
        fprintf(b->text, "The twin is no GPU: its times tell nothing of one, the ratios little.\n");
    if (b->quick) fprintf(b->text, "--quick: too few turns for the times to mean anything.\n");
    if (b->validated)
        fprintf(b->text, "--validation: the times are those of the validation layer.\n");
    fprintf(
        b->text,
        "Microseconds a call: median (10 %% .. 90 %%). Added: median difference of neighbours.\n"
        "Ratio of medians (95 %% interval).\n");
    fprintf(b->text, "\n%-26s %30s %30s %10s   %s\n", "", "Culvert", "raw calls", "added", "ratio");
}

void text_gap(const bench *b, const bench_gap *gap)
{
    fprintf(b->text, "%s\n  left out: %s\n", gap->measurement, gap->reason);
}

static void put_time(FILE *out, const spread *s)
{
    char text[64] = "-";
    int digits = s->median < 100.0 ? 3 : 1;
    if (s->n != 0)
        snprintf(text, sizeof text, "%.*f (%.*f .. %.*f)", digits, s->median, digits, s->p10,
                 digits, s->p90);
    fprintf(out, " %30s", text);
}

void text_row(bench *b, const bench_result *r)
{
    if (!b->headed) {
        fprintf(b->text, "%s%s%s\n", r->measurement, r->variant[0] != '\0' ? ", " : "", r->variant);
        b->headed = true;
    }
    char name[sizeof r->name + 8];
    snprintf(name, sizeof name, "%s%s", r->name, r->kind == BENCH_CONTROL ? " [A/A]" : "");
    fprintf(b->text, "  %-24s", name);
    put_time(b->text, &r->sides[BENCH_CULVERT]);
    put_time(b->text, &r->sides[BENCH_RAW]);
    if (r->kind != BENCH_SCALE) {
        const comparison *c = &r->compared;
        fprintf(b->text, "  %+9.3f   %.4f (%.4f .. %.4f)", c->added.value, c->ratio.value,
                c->ratio.low, c->ratio.high);
        const char *verdict = bench_verdict(r);
        if (verdict != NULL)
            fprintf(b->text, "  within %.0f %%: %s", 100.0 * (r->goal - 1.0), verdict);
    }
    fprintf(b->text, "  n %zu\n", r->sides[BENCH_RAW].n);
    fflush(b->text);
}
