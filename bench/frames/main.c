/* SPDX-License-Identifier: MIT */
/* culvert-bench: frames from a CUDA solver to a Vulkan renderer by every scheme. */
#include "sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The command line. */

enum { FRAMES_LONGEST = 100000000 };

static const char usage[] =
    "culvert-bench carries frames from a CUDA solver to a Vulkan renderer by every scheme there is, side by "
    "side in\n"
    "one run, and checks every frame.\n"
    "\n"
    "usage: culvert-bench [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --solver-device=N  another CUDA device solves, and writes straight into the frames of --device: docs/two-gpus.md\n"
    "  --only=NAME      one of --list; may be given several times\n"
    "  --list           what there is to measure\n"
    "  --advise         which way is best for the loads of --loads, and how to write it (--only=advise)\n"
    "  --within=US      --advise: of the ways whose frames are at most so old\n"
    "  --scheme=NAME    one of \"host waits\", \"raw ring\", \"culv_ring\", \"raw in-queue\",\n"
    "                   \"in-queue\", \"raw async\", \"async\"; may be given several times\n"
    "  --size=BYTES     of a frame, with K, M or G (8M; on the twin 64K)\n"
    "  --loads=S/R      microseconds of the solver and of the renderer (110/177)\n"
    "  --work=NAME      what the solver does meanwhile: arithmetic on all multiprocessors (\"arithmetic\", default),\n"
    "                   in blocks of a 16th of the time (\"blocks\") or of a 64th (\"short blocks\"), in one block a\n"
    "                   multiprocessor (\"small\"), or loads from memory in one block a multiprocessor (\"memory\");\n"
    "                   --only=overlap has all but the first\n"
    "  --depth=N,...    slots (1,2,4,8,16)\n"
    "  --burst=N,...    frames that are handed over together (1,4,8,16)\n"
    "  --frames=N       of a run (as many as take 75 ms); more than 2048 with culv_ring, in-queue, async and "
    "their\n"
    "                   raw forms in Vulkan's queues, all of them checked, the first ones timed\n"
    "  --rounds=N       runs of each scheme (8; on the twin 3)\n"
    "  --seed=N         of the order of turns, and of the intervals (1)\n"
    "  --quick          short and small: to see that it works, not to read times\n"
    "  --validation     with Vulkan's validation: the same\n"
    "  --json           print JSON (docs/measured/performance.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed or a frame was lost or torn, 2 wrong usage, 3 no device that CUDA\n"
    "and Vulkan share\n";

static size_t numbers(const arguments *all, const char *argument, const char *text,
                      uint32_t out[OPTIONS_LIST])
{
    size_t count = 0;
    char *end = NULL;
    for (;; text = end + 1) {
        if (count == OPTIONS_LIST) arguments_wrong(all, "too many in", argument);
        out[count++] =
            (uint32_t)arguments_number_before(all, argument, text, 1, CULV_RING_MAX_DEPTH, &end);
        if (*end == '\0') return count;
        if (*end != ',') arguments_wrong(all, "not a list of numbers:", argument);
    }
}

static uint64_t size(const arguments *all, const char *argument, const char *text)
{
    char *end = NULL;
    uint64_t value = arguments_number_before(all, argument, text, 1, UINT64_C(1) << 40, &end);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (*end != '\0' && (shift == 0 || end[1] != '\0'))
        arguments_wrong(all, "not a size:", argument);
    value <<= shift;
    /* Words are counted by 32 bits, and a storage buffer has its own limit. */
    if (value < 1024 || value > UINT64_C(1) << 32 || value % 1024 != 0)
        arguments_wrong(all, "not a multiple of 1 KiB up to 4 GiB:", argument);
    return value;
}

static void loads(const arguments *all, const char *argument, const char *text, options *o)
{
    char *end = NULL;
    o->solver_us = strtod(text, &end);
    if (end == text || *end != '/')
        arguments_wrong(all, "not SOLVER/RENDERER in microseconds:", argument);
    text = end + 1;
    o->renderer_us = strtod(text, &end);
    if (end == text || *end != '\0' || !(o->solver_us >= 1.0 && o->solver_us <= 1e6) ||
        !(o->renderer_us >= 1.0 && o->renderer_us <= 1e6))
        arguments_wrong(all, "not SOLVER/RENDERER in microseconds:", argument);
}

static solver_work work_named(const arguments *all, const char *argument, const char *name)
{
    for (int i = 0; i < SOLVER_WORKS; i++)
        if (strcmp(name, solver_work_names[i]) == 0) return (solver_work)i;
    arguments_wrong(all, "not a kind of work:", argument);
}

static void append(const arguments *all, const char *argument, const char *name, const char **list,
                   size_t *count)
{
    if (*count == OPTIONS_LIST) arguments_wrong(all, "too many of", argument);
    list[(*count)++] = name;
}

static const char *section_named(const arguments *all, const char *argument, const char *name)
{
    for (size_t i = 0; i < num_sections; i++)
        if (strcmp(name, sections[i].name) == 0) return sections[i].name;
    arguments_wrong(all, "nothing is measured under that name (--list shows the names):", argument);
}

static const char *scheme_named(const arguments *all, const char *argument, const char *name)
{
    static const scheme *const schemes[] = {
        &scheme_host_waits, &scheme_raw,       &scheme_ring, &scheme_raw_in_queue,
        &scheme_in_queue,   &scheme_raw_async, &scheme_async};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strcmp(name, schemes[i]->name) == 0) return schemes[i]->name;
    arguments_wrong(all, "no such scheme:", argument);
}

static void list(void)
{
    for (size_t i = 0; i < num_sections; i++)
        printf("%-10s %s\n", sections[i].name, sections[i].what);
}

static void parse_value(options *o, const arguments *all, const char *a)
{
    const char *value;
    if ((value = arguments_value(a, "--solver-device")) != NULL) {
        rig_solver_device = (int)arguments_number(all, a, value, 0, 255);
    } else if ((value = arguments_value(a, "--only")) != NULL) {
        append(all, a, section_named(all, a, value), o->only, &o->num_only);
    } else if ((value = arguments_value(a, "--scheme")) != NULL) {
        append(all, a, scheme_named(all, a, value), o->schemes, &o->num_schemes);
    } else if ((value = arguments_value(a, "--size")) != NULL) {
        o->bytes = size(all, a, value);
    } else if ((value = arguments_value(a, "--loads")) != NULL) {
        loads(all, a, value, o);
    } else if ((value = arguments_value(a, "--within")) != NULL) {
        o->within_us = (double)arguments_number(all, a, value, 1, 1000000000);
    } else if ((value = arguments_value(a, "--work")) != NULL) {
        o->work = work_named(all, a, value);
    } else if ((value = arguments_value(a, "--depth")) != NULL) {
        o->num_depths = numbers(all, a, value, o->depths);
    } else if ((value = arguments_value(a, "--burst")) != NULL) {
        o->num_bursts = numbers(all, a, value, o->bursts);
    } else if ((value = arguments_value(a, "--frames")) != NULL) {
        o->frames = (uint32_t)arguments_number(all, a, value, 1, FRAMES_LONGEST);
    } else if ((value = arguments_value(a, "--rounds")) != NULL) {
        o->rounds = (size_t)arguments_number(all, a, value, 1, FRAMES_ROUNDS);
    } else {
        arguments_unknown(all, a);
    }
}

void options_complete(options *o, bool software)
{
    static const uint32_t depths[] = {1, 2, 4, 8, 16}, bursts[] = {1, 4, 8, 16};
    static const uint32_t quick_depths[] = {1, 2, 4}, quick_bursts[] = {1, 2, 4};
    if (o->num_depths == 0) {
        o->num_depths = o->quick ? 3 : 5;
        memcpy(o->depths, o->quick ? quick_depths : depths, o->num_depths * sizeof(uint32_t));
    }
    if (o->num_bursts == 0) {
        o->num_bursts = o->quick ? 3 : 4;
        memcpy(o->bursts, o->quick ? quick_bursts : bursts, o->num_bursts * sizeof(uint32_t));
    }
    /* A CPU writes 8 MiB in milliseconds: more than the loads are long. */
    if (o->bytes == 0) o->bytes = o->quick || software ? UINT64_C(64) << 10 : UINT64_C(8) << 20;
    if (o->solver_us == 0.0) {
        o->solver_us = o->quick ? 20.0 : 110.0;
        o->renderer_us = o->quick ? 30.0 : 177.0;
    }
    if (o->rounds == 0) o->rounds = o->quick ? 1 : software ? 3 : 8;
}

options options_parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    const arguments all = {PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (arguments_take(&all, a)) continue;
        if (strcmp(a, "--validation") == 0) {
            o.validation = true;
        } else if (strcmp(a, "--advise") == 0) {
            o.advise = true;
        } else if (strcmp(a, "--list") == 0) {
            list();
            arguments_printed();
        } else {
            parse_value(&o, &all, a);
        }
    }
    return o;
}

bool options_wants(const options *o, const section *s)
{
    for (size_t i = 0; i < o->num_only; i++)
        if (strcmp(o->only[i], s->name) == 0) return true;
    if (o->advise && strcmp(s->name, "advise") == 0) return true;
    return o->num_only == 0 && !o->advise && !s->on_request;
}
