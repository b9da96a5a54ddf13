/* SPDX-License-Identifier: MIT */
/* culvert-bench-import: what a program pays for VK_NVX_binary_import, and for kernels in its
 * command buffers: time, the GPU's memory, the host's. Each process does each step once and for the
 * first time; processes with the extension and without, with CUDA and without, take turns. */
#include "arguments.h"
#include "import.h"
#include "json.h"
#include "measure.h"
#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "culvert-bench-import"

enum { RUNS = 7, VARIANTS = 4 };

static const char usage[] =
    "culvert-bench-import measures what VK_NVX_binary_import costs a program that enables it: each step of a fresh\n"
    "process, its time and its memory, with the extension and without, beside CUDA and alone.\n"
    "\n"
    "usage: culvert-bench-import [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --seed=N         of the order of turns (1)\n"
    "  --quick          once: to see that it works, not to read times\n"
    "  --json           print JSON (docs/kernels.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed, 2 wrong usage, 3 no device that CUDA and Vulkan share\n";

static const char *const step_names[NUM_STEPS] = {
    [STEP_STARTED] = "process",   [STEP_CUDA] = "cuda",
    [STEP_INSTANCE] = "instance", [STEP_DEVICE] = "device",
    [STEP_MODULE] = "module",     [STEP_FUNCTION] = "function",
    [STEP_LAUNCH] = "launch",     [STEP_MODULE_2] = "module again"};

typedef struct options {
    const char *driver, *json, *child;
    int device;
    uint64_t seed;
    bool quick;
} options;

/* Of one step of one variant, over the runs. Bytes are what the step added. */
typedef struct samples {
    size_t n;
    double us[RUNS], device[RUNS], usage[RUNS], resident[RUNS];
} samples;

typedef struct program {
    bench bench;
    const char *driver;
    samples all[VARIANTS][NUM_STEPS];
} program;

static bool has_cuda(size_t variant)
{
    return variant >= 2;
}

static bool has_import(size_t variant)
{
    return variant % 2 != 0;
}

/* The child ------------------------------------------------------------------------------------ */

/* "CUDA IMPORT SOFTWARE UUID" as 3 digits and 32 hexadecimal ones. */
static int run_child(const char *text)
{
    child_options o;
    memset(&o, 0, sizeof o);
    REQUIRE(strlen(text) == 3 + 2 * sizeof o.uuid);
    o.cuda = text[0] == '1';
    o.import = text[1] == '1';
    o.software = text[2] == '1';
    for (size_t i = 0; i < sizeof o.uuid; i++) {
        unsigned byte = 0;
        REQUIRE(sscanf(text + 3 + 2 * i, "%2x", &byte) == 1);
        o.uuid[i] = (uint8_t)byte;
    }
    return child_run(&o, STDIN_FILENO, STDOUT_FILENO);
}

static void spell_child(char out[64], const program *p, size_t variant)
{
    CUuuid uuid;
    size_t at = (size_t)snprintf(out, 64, "--child=%d%d%d", has_cuda(variant), has_import(variant),
                                 p->bench.rig.cu->software);
    RIG_CU(p->bench.rig.cu->DeviceGetUuid(&uuid, p->bench.rig.ordinal));
    for (size_t i = 0; i < sizeof uuid.bytes; i++)
        at += (size_t)snprintf(out + at, 64 - at, "%02x", (unsigned)(uint8_t)uuid.bytes[i]);
}

/* Runs ----------------------------------------------------------------------------------------- */

static double used(const program *p)
{
    size_t free_bytes = 0, total = 0;
    RIG_CU(p->bench.rig.cu->MemGetInfo(&free_bytes, &total));
    return (double)(total - free_bytes);
}

static pid_t start(const program *p, size_t variant, int *in, int *out)
{
    int to[2], from[2];
    char child[64], driver[32];
    spell_child(child, p, variant);
    snprintf(driver, sizeof driver, "--driver=%s", p->driver);
    REQUIRE(pipe(to) == 0 && pipe(from) == 0);
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) { /* only what may be called between fork() and exec() */
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[0]), (void)close(to[1]), (void)close(from[0]), (void)close(from[1]);
        execl("/proc/self/exe", PROGRAM, driver, child, (char *)NULL);
        _exit(EXITS_FAILURE);
    }
    close(to[0]);
    close(from[1]);
    *in = from[0];
    *out = to[1];
    return pid;
}

static bool read_all(int fd, step_report *r)
{
    size_t at = 0;
    while (at < sizeof *r) {
        const ssize_t n = read(fd, (char *)r + at, sizeof *r - at);
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

static void run(program *p, size_t variant)
{
    int in, out, status = 0;
    double before = 0, device;
    step_report r, last = {0};
    exits_watch(60, "a process of its own");
    const pid_t pid = start(p, variant, &in, &out);
    while (read_all(in, &r)) {
        REQUIRE(r.step >= 0 && r.step < NUM_STEPS);
        samples *s = &p->all[variant][r.step];
        device = used(p);
        REQUIRE(s->n < RUNS);
        s->us[s->n] = r.us;
        s->device[s->n] = r.step == STEP_STARTED ? 0 : device - before;
        s->usage[s->n] = r.usage > last.usage ? (double)(r.usage - last.usage) : 0;
        s->resident[s->n] = (double)r.resident - (double)last.resident;
        s->n++;
        before = device;
        last = r;
        if (write(out, "", 1) != 1) break;
    }
    close(in);
    close(out);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("a process %s the extension, %s CUDA, ended with %d",
             has_import(variant) ? "with" : "without", has_cuda(variant) ? "beside" : "without",
             status);
}

/* Results -------------------------------------------------------------------------------------- */

static void print(const program *p)
{
    FILE *out = p->bench.text;
    fprintf(out, "\n%-10s %-10s %-14s %12s %12s %14s %14s\n", "CUDA", "extension", "step", "us",
            "GPU, KiB", "budget, KiB", "host, KiB");
    for (size_t v = 0; v < VARIANTS; v++)
        for (size_t i = 1; i < NUM_STEPS; i++) {
            const samples *s = &p->all[v][i];
            if (s->n == 0) continue;
            fprintf(out, "%-10s %-10s %-14s %12.1f %12.0f %14.0f %14.0f\n",
                    has_cuda(v) ? "yes" : "no", has_import(v) ? "yes" : "no", step_names[i],
                    statistics_quantile(s->us, s->n, 0.5),
                    statistics_quantile(s->device, s->n, 0.5) / 1024.0,
                    statistics_quantile(s->usage, s->n, 0.5) / 1024.0,
                    statistics_quantile(s->resident, s->n, 0.5) / 1024.0);
        }
}

static void put(struct json *json, size_t variant, size_t i, const samples *s)
{
    const spread us = statistics_spread(s->us, s->n);
    json_begin(json, NULL, '{');
    json_bool(json, "cuda", has_cuda(variant));
    json_bool(json, "extension", has_import(variant));
    json_string(json, "step", step_names[i]);
    report_spread(json, "us", &us);
    report_number(json, "device", statistics_quantile(s->device, s->n, 0.5));
    report_number(json, "budget", statistics_quantile(s->usage, s->n, 0.5));
    report_number(json, "host", statistics_quantile(s->resident, s->n, 0.5));
    json_end(json, '}');
}

static bool write_json(const program *p, const options *o)
{
    FILE *out = report_open(o->json);
    if (out == NULL) return report_close(out, false, o->json, PROGRAM);
    struct json json = {.out = out, .first = true};
    json_begin(&json, NULL, '{');
    report_head(&json, &p->bench, PROGRAM, true);
    report_left_out(&json, &p->bench);
    json_begin(&json, "import", '[');
    for (size_t v = 0; v < VARIANTS; v++)
        for (size_t i = 1; i < NUM_STEPS; i++)
            if (p->all[v][i].n != 0) put(&json, v, i, &p->all[v][i]);
    json_end(&json, ']');
    json_end(&json, '}');
    return report_close(out, fflush(out) == 0 && ferror(out) == 0, o->json, PROGRAM);
}

static options parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    const arguments all = {PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        if (arguments_take(&all, argv[i])) continue;
        o.child = arguments_value(argv[i], "--child");
        if (o.child == NULL) arguments_unknown(&all, argv[i]);
    }
    return o;
}

/* The parent's own device has the extension, where it is there: it is open all the time. */
static void open_vulkan(void *state, raw_vk *vk, const raw_vk_options *options_)
{
    raw_vk_options with = *options_;
    (void)state;
    with.kernels = true;
    raw_vk_open(vk, &with);
}

static void measure(program *p, bool quick)
{
    for (size_t n = 0; n < (quick ? 1u : (size_t)RUNS); n++) {
        size_t order[VARIANTS] = {0, 1, 2, 3};
        for (size_t i = VARIANTS; i > 1; i--) {
            const size_t other = random_below(&p->bench.random, i), swapped = order[i - 1];
            order[i - 1] = order[other];
            order[other] = swapped;
        }
        for (size_t i = 0; i < VARIANTS; i++)
            if (p->bench.rig.vk.kernels || !has_import(order[i])) run(p, order[i]);
    }
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    exits_set_up(PROGRAM, o.driver, false);
    if (o.child != NULL) return run_child(o.child);
    program *p = calloc(1, sizeof *p);
    REQUIRE(p != NULL);
    bench *b = &p->bench;
    (void)signal(SIGPIPE, SIG_IGN);
    bench_set_up(b, o.quick, o.seed, o.json);
    b->measurement = "import";
    rig_open_with(&b->rig, o.device, open_vulkan, NULL);
    p->driver = b->rig.cu->software ? "soft" : "nvidia";
    if (b->text != NULL) {
        fprintf(b->text, PROGRAM " %s: %s by %s\n", culv_version_string(), b->rig.caps.name,
                b->rig.cu->software ? "the software twin" : "NVIDIA's driver");
        if (o.quick)
            fprintf(b->text, "--quick: once, too little for the times to mean anything.\n");
    }
    if (!b->rig.vk.kernels) bench_left_out(b, "the device has no VK_NVX_binary_import");
    measure(p, o.quick);
    if (b->text != NULL) print(p);
    const bool fine = o.json == NULL || write_json(p, &o);
    rig_close(&b->rig);
    free(p);
    return fine ? 0 : EXITS_FAILURE;
}
