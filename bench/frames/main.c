/* SPDX-License-Identifier: MIT */
/* culvert-bench: frames from a CUDA solver to a Vulkan renderer by every scheme. */
#include "options.h"
#include "processes.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

const section sections[] = {
    {"frames", "every scheme, depth and burst at one size and load", section_frames, false},
    {"overlap", "kernels in Vulkan's queues beside drawing, by what the solver does",
     section_overlap, false},
    {"latency", "the automatic policy against fixed depths and bursts, under bounds of latency",
     section_latency, false},
    {"newest", "the mailbox: each side's rate beside one that is ten times slower", section_newest,
     false},
    {"copies", "CUDA to Vulkan's copy to CUDA, on the queues for graphics and for transfers",
     section_copies, false},
    {"calls", "CPU time of a frame's calls, Culvert's against the drivers'", section_calls, false},
    {"launches", "many small kernels in a frame: by a stream, a graph, a command buffer",
     section_launches, false},
    {"small",
     "why many small kernels cost what they do: barriers, blocks, queues, one launch and many",
     section_small, false},
    {"graphs", "the solver's side launched as CUDA graphs", section_graphs, false},
    {"sizes", "the main schemes over frames of 1 MiB to 1 GiB", section_sizes, false},
    {"loads", "the main schemes over loads of 20 us to 5 ms", section_loads, false},
    {"waits", "the GPU waits, or the host in its place, over loads of 100 us to 20 ms",
     section_waits, false},
    {"backwards", "the same from Vulkan to CUDA: the renderer writes, the solver reads",
     section_backwards, false},
    {"processes", "the same with the renderer in a process of its own", section_processes, false},
    {"wakes", "how a host learns that the GPU is done: how late, at what cost", section_wakes,
     false},
    {"advise", "the ways for the loads of --loads, and the lines of code for the best",
     section_advise, true},
    {"search", "what changes the cost of switching between solver and renderer", section_search,
     true},
};
const size_t num_sections = sizeof sections / sizeof sections[0];

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
        sections[i].run(b, o, all);
        bool due = o->json != NULL && (i == last || o->json[0] != '\0');
        if (due && !write_json(b, o, all, i == last)) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = options_parse(argc, argv);
    if (o.renderer_of != NULL)
        return processes_renderer(o.renderer_of, o.driver, o.device, o.quick);
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
