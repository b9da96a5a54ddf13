/* SPDX-License-Identifier: MIT */
/* culvert-bench: frames from a CUDA solver to a Vulkan renderer by every scheme. */
#include "options.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

static void print_heading(const frames_bench *b)
{
    const rig *r = &b->bench.rig;
    FILE *out = b->bench.text;
    fprintf(out, PROGRAM " %s: %s by %s, CUDA %u.%u; %s\n", culv_version_string(), r->caps.name,
            r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u, r->vulkan_driver);
    if (r->caps.is_software) fprintf(out, "The twin is no GPU: its times tell nothing of one.\n");
    if (b->bench.quick) fprintf(out, "--quick: too few frames for the times to mean anything.\n");
    if (b->bench.validated)
        fprintf(out, "--validation: the times are those of the validation layer.\n");
    fprintf(
        out,
        "us/frame: median of the runs. ideal: ratio to solver and renderer alone in the same round. "
        "p99 gap: from\n"
        "one frame's end to the next's. CPU: of the one thread that does it all. hand-over: from "
        "the solver's end\n"
        "to the drawing's beginning. age: from the solver's beginning to the drawing's end. over "
        "raw: ratio to\n"
        "the raw ring of the same depth and burst (95 %% interval).\n");
}

/* A frame that was lost or torn has ended the program before. */
static void print_checked(const frames_bench *b, const results *all)
{
    uint64_t checked = 0;
    for (size_t i = 0; i < all->num; i++)
        checked += all->all[i].checked;
    if (checked > 0)
        fprintf(b->bench.text, "\n%llu frames were checked; none was lost, none was wrong.\n",
                (unsigned long long)checked);
}

/* Also after each section, so that what comes after it cannot take it away. */
static bool write_json(const frames_bench *b, const options *o, const results *all, bool complete)
{
    FILE *out = report_open(o->json);
    const bool written = out != NULL && results_write(all, b, PROGRAM, complete, out);
    return report_close(out, written, o->json, PROGRAM);
}

/* Everything that is wanted; false when a report could not be written. */
static bool run_sections(frames_bench *b, const options *o, results *all)
{
    size_t last = 0;
    for (size_t i = 0; i < num_sections; i++)
        if (options_wants(o, &sections[i])) last = i;
    for (size_t i = 0; i <= last; i++) {
        if (!options_wants(o, &sections[i])) continue;
        b->bench.measurement = sections[i].name;
        bench_variant(&b->bench, "%s", "");
        section_run(b, o, all, &sections[i]);
        bool due = o->json != NULL && (i == last || o->json[0] != '\0');
        if (due && !write_json(b, o, all, i == last)) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = options_parse(argc, argv);
    exits_set_up(PROGRAM, o.driver, o.validation);
    frames_bench *b = calloc(1, sizeof *b);
    results *all = calloc(1, sizeof *all);
    REQUIRE(b != NULL && all != NULL);
    bench_set_up(&b->bench, o.quick, o.seed, o.json);
    b->bench.validated = o.validation;
    b->bench.seconds = o.quick ? 0.1 : 1.0;
    exits_watch(60, "opening the devices");
    frames_open(b, o.device);
    options_complete(&o, b->bench.rig.caps.is_software != 0);
    if (b->bench.text != NULL) print_heading(b);
    bool fine = run_sections(b, &o, all);
    if (b->bench.text != NULL) print_checked(b, all);
    if (b->bench.text != NULL && !report_printed(PROGRAM)) fine = false;
    exits_watch(60, "closing the devices");
    frames_close(b);
    free(b->bench.results);
    free(all);
    free(b);
    return fine ? EXIT_SUCCESS : EXITS_FAILURE;
}
