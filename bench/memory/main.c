/* SPDX-License-Identifier: MIT */
/* culvert-bench-memory: what device memory costs that grows, shrinks and is given back. */
#include "options.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

const section sections[] = {
    {"grow", "a buffer that is doubled, by every scheme: times and memory", section_grow},
    {"chunks", "a buffer that grows by small steps, under policies for its chunks", section_chunks},
    {"ahead", "a grow call in a loop of frames, with memory committed ahead", section_ahead},
    {"free", "memory given back while another stream's kernels run", section_free},
    {"peers", "memory that another GPU may use (two GPUs)", section_peers},
    {"large", "a vector of up to 64 GiB that grows with no copy", section_large},
};
const size_t num_sections = sizeof sections / sizeof sections[0];

static void print_heading(const memory_bench *b)
{
    const rig *r = &b->bench.rig;
    FILE *out = b->bench.text;
    char bytes[RESULTS_BYTES];
    fprintf(out, PROGRAM " %s: %s by %s, CUDA %u.%u; granularity %s\n", culv_version_string(),
            r->caps.name, r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u,
            results_bytes(bytes, b->granularity));
    if (r->caps.is_software) fprintf(out, "The twin is no GPU: its times tell nothing of one.\n");
    if (b->bench.quick) fprintf(out, "--quick: too few turns for the times to mean anything.\n");
    fprintf(
        out,
        "Times are of the host's calls, all of a row's together: medians of rounds in which every "
        "scheme runs "
        "once.\n");
}

/* Also after each section, so that what comes after it cannot take it away. */
static bool write_json(const memory_bench *b, const options *o, bool complete)
{
    FILE *out = report_open(o->json);
    const bool written = out != NULL && results_write(b, PROGRAM, complete, out);
    return report_close(out, written, o->json, PROGRAM);
}

/* Everything that is wanted; false when a report could not be written. */
static bool run_sections(memory_bench *b, const options *o)
{
    size_t last = 0;
    for (size_t i = 0; i < num_sections; i++)
        if (options_wants(o, &sections[i])) last = i;
    for (size_t i = 0; i <= last; i++) {
        if (!options_wants(o, &sections[i])) continue;
        b->bench.measurement = sections[i].name;
        bench_variant(&b->bench, "%s", "");
        sections[i].run(b, o);
        memory_require_freed(b);
        bool due = o->json != NULL && (i == last || o->json[0] != '\0');
        if (due && !write_json(b, o, i == last)) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = options_parse(argc, argv);
    exits_set_up(PROGRAM, o.driver, false);
    memory_bench *b = calloc(1, sizeof *b);
    REQUIRE(b != NULL);
    bench_set_up(&b->bench, o.quick, o.seed, o.json);
    exits_watch(60, "opening the devices");
    rig_open(&b->bench.rig, o.device);
    memory_open(b);
    if (b->bench.text != NULL) print_heading(b);
    bool fine = run_sections(b, &o);
    if (b->bench.text != NULL) {
        fprintf(b->bench.text,
                "\n%llu words were checked, none is wrong; %llu objects were made and freed.\n",
                (unsigned long long)b->checked, (unsigned long long)b->tally.freed);
        if (!report_printed(PROGRAM)) fine = false;
    }
    exits_watch(60, "closing the devices");
    memory_close(b);
    rig_close(&b->bench.rig);
    results_free(&b->results);
    free(b->bench.results);
    free(b);
    return fine ? EXIT_SUCCESS : EXITS_FAILURE;
}
