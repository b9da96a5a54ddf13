/* SPDX-License-Identifier: MIT */
/* culvert-bench-kinds: what each kind of shared memory is worth, from CUDA's side and Vulkan's. */
#include "arguments.h"
#include "kinds.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "culvert-bench-kinds measures how fast each kind of memory is that CUDA and Vulkan can share, "
    "from both sides:\n"
    "streams through a buffer, and reads at random. Every word that is read is checked.\n"
    "\n"
    "usage: culvert-bench-kinds [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --seed=N         of the places that are read (1)\n"
    "  --quick          small and once: to see that it works, not to read rates\n"
    "  --json           print JSON (docs/measured/memory-kinds.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed or was wrong, 2 wrong usage, 3 no device that CUDA and "
    "Vulkan share\n";

typedef struct options {
    const char *driver, *json;
    int device;
    uint64_t seed;
    bool quick;
} options;

static options parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    const arguments all = {KINDS_PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (arguments_take(&all, a)) continue;
        arguments_unknown(&all, a);
    }
    return o;
}

static void open_vulkan(void *state, raw_vk *vk, const raw_vk_options *given)
{
    raw_vk_options with = *given;
    (void)state;
    with.sparse_buffers = true;
    raw_vk_open(vk, &with);
}

static void print_heading(const kinds *k)
{
    const rig *r = &k->bench.rig;
    FILE *out = k->bench.text;
    fprintf(out, KINDS_PROGRAM " %s: %s by %s, CUDA %u.%u; %s\n", culv_version_string(),
            r->caps.name, r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u, r->vulkan_driver);
    if (r->caps.is_software)
        fprintf(out,
                "The twin is no GPU: its rates tell nothing of one, and it has but one kind.\n");
    if (k->bench.quick) fprintf(out, "--quick: once, too little for the rates to mean anything.\n");
    fprintf(out, "The kind is what Culvert says of it. The last number is the rate over that of "
                 "CUDA's own memory, by CUDA.\n");
}

static bool write_json(const kinds *k, const options *o, bool complete)
{
    FILE *out = report_open(o->json);
    const bool written = out != NULL && kinds_write(k, complete, out);
    return report_close(out, written, o->json, KINDS_PROGRAM);
}

static bool run(kinds *k, const options *o)
{
    static const uint64_t gpu[] = {UINT64_C(256) << 20, UINT64_C(1) << 30, UINT64_C(4) << 30};
    static const uint64_t twin[] = {UINT64_C(4) << 20, UINT64_C(16) << 20};
    const bool small = k->bench.rig.caps.is_software || k->bench.quick;
    k->bench.measurement = "buffers";
    kinds_buffers(k, small ? twin : gpu, small ? (k->bench.quick ? 1 : 2) : 3);
    return o->json == NULL || write_json(k, o, true);
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    exits_set_up(KINDS_PROGRAM, o.driver, false);
    kinds *k = calloc(1, sizeof *k);
    REQUIRE(k != NULL);
    bench_set_up(&k->bench, o.quick, o.seed, o.json);
    exits_watch(60, "opening the devices");
    rig_open_with(&k->bench.rig, o.device, open_vulkan, NULL);
    const bool software = k->bench.rig.caps.is_software != 0;
    k->seed = (uint32_t)o.seed;
    k->threads = software || o.quick ? 1u << 12 : 1u << 20;
    k->reads = software || o.quick ? 16 : 64;
    k->turns = o.quick ? 1 : software ? 3 : 7;
    k->least_ns = o.quick ? 0.0 : software ? 1e6 : 4e6;
    kinds_open(k);
    if (k->bench.text != NULL) print_heading(k);
    bool fine = run(k, &o);
    if (k->bench.text != NULL) {
        fprintf(k->bench.text, "\n%llu words were checked, none is wrong.\n",
                (unsigned long long)k->checked);
        if (!report_printed(KINDS_PROGRAM)) fine = false;
    }
    exits_watch(60, "closing the devices");
    kinds_close(k);
    rig_close(&k->bench.rig);
    free(k->rows);
    free(k->bench.results);
    free(k);
    return fine ? EXIT_SUCCESS : EXITS_FAILURE;
}
