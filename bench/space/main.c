/* SPDX-License-Identifier: MIT */
/* culvert-bench-space: what one address costs, how it is found, and what it saves. */
#include "arguments.h"
#include "json.h"
#include "report.h"
#include "space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "culvert-bench-space measures memory that has one address in CUDA and in Vulkan: what a chunk and a growth "
    "cost,\n"
    "how often the first address is free, and what it saves the sample forest.\n"
    "\n"
    "usage: culvert-bench-space [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --only=NAME      one of --list\n"
    "  --list           what there is to measure\n"
    "  --starts=N       processes that look for an address (1000, which a GPU needs some 7 minutes for; on the twin 20)\n"
    "  --kind=NAME      only those that before had done nothing (plain), or that had loaded many libraries (libraries),\n"
    "                   broken up their addresses (fragments) or reserved ranges like PyTorch's allocator (allocator)\n"
    "  --seconds=N      for all of them: what is left out then is told (50)\n"
    "  --seed=N         of the order of turns (1)\n"
    "  --quick          short and small: to see that it works, not to read times\n"
    "  --json           print JSON (docs/measured/benchmarks.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed or was wrong, 2 wrong usage, 3 no device that can have one address\n";

static const struct section {
    const char *name, *what;
    void (*run)(space_bench *b);
} sections[] = {
    {"commit", "a chunk into both sides and out again, next to the raw calls", section_commit},
    {"grow", "a vector in a space that grows, with memory committed ahead", section_grow},
    {"forest", "the sample forest, with one address and with copies, at three sizes",
     section_forest},
    {"starts", "processes that look for an address", section_starts},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

typedef struct options {
    const char *driver, *json, *only, *start, *kind;
    int device;
    uint64_t seed, starts, seconds;
    bool quick;
} options;

static const char *section_named(const arguments *all, const char *argument, const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (strcmp(name, sections[i].name) == 0) return sections[i].name;
    arguments_wrong(all, "nothing is measured under that name (--list shows the names):", argument);
}

static options parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1, .seconds = 50};
    const arguments all = {SPACE_PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value;
        if (arguments_take(&all, a)) continue;
        if ((value = arguments_value(a, "--only")) != NULL) {
            o.only = section_named(&all, a, value);
        } else if ((value = arguments_value(a, "--starts")) != NULL) {
            o.starts = arguments_number(&all, a, value, 1, 100000);
        } else if ((value = arguments_value(a, "--seconds")) != NULL) {
            o.seconds = arguments_number(&all, a, value, 1, 100000);
        } else if ((value = arguments_value(a, "--kind")) != NULL) {
            if (!starts_has_kind(value)) arguments_wrong(&all, "no kind of processes:", a);
            o.kind = value;
        } else if ((value = arguments_value(a, "--start")) != NULL) {
            o.start = value; /* by section_starts() */
        } else if (strcmp(a, "--list") == 0) {
            for (size_t s = 0; s < SECTIONS; s++)
                printf("%-10s %s\n", sections[s].name, sections[s].what);
            arguments_printed();
        } else {
            arguments_unknown(&all, a);
        }
    }
    return o;
}

/* The devices ---------------------------------------------------------------------------------- */

static void open_vulkan(void *state, raw_vk *vk, const raw_vk_options *given)
{
    raw_vk_options with = *given;
    (void)state;
    with.one_address = true;
    raw_vk_open(vk, &with);
}

static void open_with(space_bench *b, int device, rig_open_vulkan *open)
{
    rig *r = &b->bench.rig;
    rig_open_with(r, device, open, NULL);
    if (culv_vk_check_space(r->attached, NULL, NULL) != CULV_OK) {
        fprintf(stderr, SPACE_PROGRAM ": %s\n", culv_last_error_message());
        exit(EXITS_NO_DEVICE);
    }
    for (uint32_t i = 0; i < r->vk.queue_count && b->queue == NULL; i++)
        if (r->vk.queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT) b->queue = r->vk.queues[i].queue;
    REQUIRE(b->queue != NULL);
}

void space_open(space_bench *b, int device)
{
    open_with(b, device, open_vulkan);
}

void space_open_child(space_bench *b, int device)
{
    open_with(b, device, space_open_lean);
}

void space_close(space_bench *b)
{
    rig_close(&b->bench.rig);
}

culv_vk_space *space_make(space_bench *b, uint64_t size)
{
    culv_vk_space_desc d = culv_vk_space_desc_init();
    culv_vk_space *space = NULL;
    d.size = size;
    d.queue = b->queue;
    CULV_OK_OR_EXIT(culv_vk_space_create(b->bench.rig.attached, &d, &space));
    return space;
}

/* Results -------------------------------------------------------------------------------------- */

bool space_judged(const space_bench *b)
{
    return !b->bench.quick && !b->bench.rig.caps.is_software;
}

void space_add_fact(space_bench *b, const char *variant, const char *name, double value,
                    const char *unit, double goal)
{
    if (b->num_facts == b->capacity) {
        const size_t capacity = b->capacity != 0 ? 2 * b->capacity : 32;
        space_fact *more = realloc(b->facts, capacity * sizeof *more);
        REQUIRE(more != NULL);
        b->facts = more;
        b->capacity = capacity;
    }
    space_fact *fact = &b->facts[b->num_facts++];
    *fact =
        (space_fact){.section = b->bench.measurement, .value = value, .goal = goal, .unit = unit};
    snprintf(fact->variant, sizeof fact->variant, "%s", variant);
    snprintf(fact->name, sizeof fact->name, "%s", name);
    if (goal > 0.0 && space_judged(b)) fact->met = value < goal ? "yes" : "no";
    if (b->bench.text == NULL) return;
    fprintf(b->bench.text, "%-8s %-32s %-36s %12.3f %s", fact->section, variant, name, value, unit);
    if (goal > 0.0)
        fprintf(b->bench.text, "  (goal: below %g: %s)", goal,
                fact->met != NULL ? fact->met : "not judged");
    fputc('\n', b->bench.text);
    fflush(b->bench.text);
}

bool space_write(const space_bench *b, bool complete, FILE *out)
{
    struct json json = {.out = out, .first = true};
    json_begin(&json, NULL, '{');
    report_head(&json, &b->bench, SPACE_PROGRAM, complete);
    report_left_out(&json, &b->bench);
    report_results(&json, "results", &b->bench);
    json_begin(&json, "facts", '[');
    for (size_t i = 0; i < b->num_facts; i++) {
        const space_fact *f = &b->facts[i];
        json_begin(&json, NULL, '{');
        json_string(&json, "section", f->section);
        json_text(&json, "variant", f->variant);
        json_string(&json, "name", f->name);
        report_number(&json, "value", f->value);
        json_text(&json, "unit", f->unit);
        if (f->goal > 0.0)
            report_number(&json, "goal", f->goal);
        else
            json_null(&json, "goal");
        json_string(&json, "met", f->met);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', out);
    return fflush(out) == 0 && !ferror(out);
}

static bool write_json(const space_bench *b, const options *o, bool complete)
{
    FILE *out = report_open(o->json);
    const bool written = out != NULL && space_write(b, complete, out);
    return report_close(out, written, o->json, SPACE_PROGRAM);
}

static void print_heading(const space_bench *b)
{
    const rig *r = &b->bench.rig;
    FILE *out = b->bench.text;
    fprintf(out, SPACE_PROGRAM " %s: %s by %s, CUDA %u.%u; %s\n", culv_version_string(),
            r->caps.name, r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u, r->vulkan_driver);
    if (r->caps.is_software) fprintf(out, "The twin is no GPU: its times tell nothing of one.\n");
    if (b->bench.quick) fprintf(out, "--quick: too few turns for the times to mean anything.\n");
}

static bool run_sections(space_bench *b, const options *o)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        if (o->only != NULL && o->only != sections[i].name) continue;
        b->bench.measurement = sections[i].name;
        bench_variant(&b->bench, "%s", "");
        exits_watch(120, sections[i].name);
        sections[i].run(b);
        /* Also in between, so that what comes after cannot take it away. */
        const bool last = i + 1 == SECTIONS || o->only != NULL;
        if (o->json != NULL && (last || o->json[0] != '\0') && !write_json(b, o, last))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    exits_set_up(SPACE_PROGRAM, o.driver, false);
    space_bench *b = calloc(1, sizeof *b);
    REQUIRE(b != NULL);
    bench_set_up(&b->bench, o.quick, o.seed, o.json);
    b->driver = o.driver;
    b->device = o.device;
    b->seconds = (unsigned)o.seconds;
    b->kind = o.kind;
    exits_watch(60, "opening the devices");
    if (o.start != NULL) {
        space_open_child(b, o.device);
        return starts_child(b, o.start);
    }
    space_open(b, o.device);
    b->starts = o.starts != 0                        ? (unsigned)o.starts
                : o.quick                            ? 2
                : b->bench.rig.caps.is_software != 0 ? 20
                                                     : 1000;
    if (b->bench.text != NULL) print_heading(b);
    bool fine = run_sections(b, &o);
    if (b->bench.text != NULL && !report_printed(SPACE_PROGRAM)) fine = false;
    exits_watch(60, "closing the devices");
    space_close(b);
    free(b->facts);
    free(b->bench.results);
    free(b);
    return fine ? EXIT_SUCCESS : EXITS_FAILURE;
}
