/* SPDX-License-Identifier: MIT */
/* culvert-bench-calls: what each of Culvert's calls costs, next to the same done with the raw APIs.
 * docs/measured/benchmarks.md has what is measured and how, and numbers. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM "culvert-bench-calls"

enum { FRAMES = 1000, QUICK_FRAMES = 64, MAX_ONLY = 16 };

static const struct {
    const char *name;
    const char *what;
    void (*run)(bench *b); /* NULL: frames, which are counted and not timed */
} measurements[] = {
    {"buffer", "import a VkDeviceMemory, map it as a buffer, unmap, release", measure_buffer},
    {"image", "import a VkImage's memory, map it as an array, make a surface, unmap, release",
     measure_image},
    {"timeline", "signal and wait on a stream", measure_timeline},
    {"submit", "Vulkan's half of a frame between barriers; a whole frame's calls", measure_submit},
    {"frames", "allocations by Culvert in a loop of frames", NULL},
};

enum { NUM_MEASUREMENTS = sizeof measurements / sizeof measurements[0] };

typedef struct options {
    const char *driver;
    const char *json; /* NULL: none; "": standard output, in place of the text */
    const char *only[MAX_ONLY];
    unsigned num_only;
    int device;
    bool quick, validation;
    double seconds;
    uint64_t seed;
} options;

static const char usage[] =
    "culvert-bench-calls measures each of Culvert's calls next to the same done with the raw APIs.\n"
    "\n"
    "usage: culvert-bench-calls [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --only=NAME      one of --list; may be given several times\n"
    "  --list           what there is to measure\n"
    "  --seconds=S      time for each comparison (2)\n"
    "  --seed=N         of the order within pairs, and of the intervals (1)\n"
    "  --quick          a few turns of everything: to see that it works, not to read times\n"
    "  --validation     with Vulkan's validation: the same\n"
    "  --json           print JSON (docs/measured/benchmarks.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed or was not as it should be, 2 wrong usage, 3 no device that\n"
    "CUDA and Vulkan share\n";

static double seconds(const arguments *all, const char *argument, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0.0 && value <= 3600.0))
        arguments_wrong(all, "not a number of seconds:", argument);
    return value;
}

static const char *one_of_them(const arguments *all, const char *argument, const char *name)
{
    for (size_t i = 0; i < NUM_MEASUREMENTS; i++)
        if (strcmp(name, measurements[i].name) == 0) return name;
    arguments_wrong(all, "nothing is measured under that name (--list shows the names):", argument);
}

static void list(void)
{
    for (size_t i = 0; i < NUM_MEASUREMENTS; i++)
        printf("%-16s %s\n", measurements[i].name, measurements[i].what);
}

static options parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seconds = 2.0, .seed = 1};
    const arguments all = {PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value;
        if (arguments_take(&all, a)) continue;
        if (strcmp(a, "--validation") == 0) {
            o.validation = true;
        } else if ((value = arguments_value(a, "--only")) != NULL) {
            if (o.num_only == MAX_ONLY) arguments_wrong(&all, "too many of", "--only");
            o.only[o.num_only++] = one_of_them(&all, a, value);
        } else if ((value = arguments_value(a, "--seconds")) != NULL) {
            o.seconds = seconds(&all, a, value);
        } else if (strcmp(a, "--list") == 0) {
            list();
            arguments_printed();
        } else {
            arguments_unknown(&all, a);
        }
    }
    return o;
}

static bool wanted(const options *o, const char *name)
{
    for (unsigned i = 0; i < o->num_only; i++)
        if (strcmp(o->only[i], name) == 0) return true;
    return o->num_only == 0;
}

static void print_frames(const bench *b, const report_frames *f)
{
    if (b->text == NULL) return;
    if (f->counted)
        fprintf(
            b->text,
            "\nallocations by Culvert in %llu frames: %llu (by drivers and loader: %llu; the counter saw "
            "%llu in "
            "culv_buffer_map)\n",
            (unsigned long long)f->frames, (unsigned long long)f->culvert,
            (unsigned long long)f->others, (unsigned long long)f->control);
    else
        fprintf(b->text, "\nallocations by Culvert: not counted, a sanitizer has its own malloc\n");
}

/* Also after each measurement, so that what comes after it cannot take it away. */
static bool write_json(const bench *b, const options *o, const report_frames *frames, bool complete)
{
    FILE *out = report_open(o->json);
    if (out != NULL) report_json(b, PROGRAM, frames, complete, out);
    const bool written = out != NULL && fflush(out) == 0 && ferror(out) == 0;
    return report_close(out, written, o->json, PROGRAM);
}

/* Everything that is wanted; false when a report could not be written. */
static bool run(bench *b, const options *o, report_frames *frames)
{
    size_t last = 0;
    for (size_t i = 0; i < NUM_MEASUREMENTS; i++)
        if (wanted(o, measurements[i].name)) last = i;
    for (size_t i = 0; i <= last; i++) {
        if (!wanted(o, measurements[i].name)) continue;
        b->measurement = measurements[i].name;
        if (measurements[i].run != NULL) {
            measurements[i].run(b);
        } else {
            bench_variant(b, "%s", "");
            *frames = count_frames(b, o->quick ? QUICK_FRAMES : FRAMES);
            print_frames(b, frames);
        }
        bool due = o->json != NULL && (i == last || o->json[0] != '\0');
        if (due && !write_json(b, o, frames->frames != 0 ? frames : NULL, i == last)) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    exits_set_up(PROGRAM, o.driver, o.validation);
    bench *b = calloc(1, sizeof *b);
    REQUIRE(b != NULL);
    bench_set_up(b, o.quick, o.seed, o.json);
    b->validated = o.validation;
    b->seconds = o.seconds;
    exits_watch(60, "opening the devices");
    rig_open(&b->rig, o.device);
    if (b->text != NULL) text_heading(b, PROGRAM);

    report_frames frames = {0};
    bool fine = run(b, &o, &frames);
    if (b->text != NULL && !report_printed(PROGRAM)) fine = false;
    exits_watch(60, "closing the devices");
    rig_close(&b->rig);
    if (frames.culvert != 0) {
        fprintf(stderr, PROGRAM ": Culvert allocated in the frame path\n");
        fine = false;
    }
    free(b->results);
    free(b);
    return fine ? EXIT_SUCCESS : EXITS_FAILURE;
}
