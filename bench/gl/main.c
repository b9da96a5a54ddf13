/* SPDX-License-Identifier: MIT */
/* culvert-bench-gl: a frame from CUDA to OpenGL by each way of a culv_gl_ring, at three sizes. CUDA
 * writes each word of the slot's buffer, and OpenGL copies the buffer into one of its own. What the
 * two take alone is the least that a frame can take on one GPU. The numbers are in
 * docs/measured/gl-performance.md. */
#include "arguments.h"
#include "json.h"
#include "raw_gl.h"
#include "report.h"

#include <culvert/gl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "culvert-bench-gl"

enum { SIZES = 3, WAYS = 3, MOST_TURNS = 31, WAIT_SECONDS = 60 };
static const uint64_t FAR = WAIT_SECONDS * UINT64_C(1000000000);

static const struct flow {
    uint32_t depth, burst;
} flows[] = {{1, 1}, {4, 1}, {16, 8}};
enum { FLOWS = sizeof flows / sizeof flows[0] };

static const struct way {
    const char *name;
    culv_gl_way way;
} ways[WAYS] = {{"memory", CULV_GL_WAY_MEMORY},
                {"register", CULV_GL_WAY_REGISTER},
                {"staged", CULV_GL_WAY_STAGED}};

static const char usage[] =
    "culvert-bench-gl measures frames from CUDA to OpenGL by memory objects and semaphores, by\n"
    "registration, and by copies through the host. The words of frames are checked in each way.\n"
    "\n"
    "usage: culvert-bench-gl [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --only=NAME      one of --list\n"
    "  --list           the ways\n"
    "  --seed=N         of the order of the rows (1)\n"
    "  --quick          small and few: to see that it works, not to read times\n"
    "  --json           print JSON (docs/measured/gl-performance.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed or was wrong, 2 wrong usage, 3 no device that CUDA and "
    "Vulkan share\n";

typedef struct options {
    const char *driver, *json, *only;
    int device;
    uint64_t seed;
    bool quick;
} options;

typedef struct row {
    const struct way *way;
    struct flow flow;
    uint64_t bytes, frames; /* frames of a turn */
    bool on_cpu;
    spread us;                   /* a frame */
    double cuda_alone, gl_alone; /* us */
    unsigned turns;
    double samples[MOST_TURNS];
    const char *left_out; /* NULL: measured */
    char why[256];
} row;

typedef struct world {
    bench bench;
    raw_gl gl;
    culv_gl *attached;
    GLuint seen; /* OpenGL's own buffer */
    uint64_t checked;
    size_t num_rows;
    row rows[WAYS * FLOWS * SIZES];
} world;

static options parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    const arguments all = {PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value;
        if (arguments_take(&all, a)) continue;
        if ((value = arguments_value(a, "--only")) != NULL) {
            for (int w = 0; w < WAYS; w++)
                if (strcmp(value, ways[w].name) == 0) o.only = ways[w].name;
            if (o.only == NULL || strcmp(o.only, value) != 0)
                arguments_wrong(&all, "there is no such way (--list shows the names):", a);
        } else if (strcmp(a, "--list") == 0) {
            for (int w = 0; w < WAYS; w++)
                printf("%s\n", ways[w].name);
            arguments_printed();
        } else {
            arguments_unknown(&all, a);
        }
    }
    return o;
}

/* Frames --------------------------------------------------------------------------------------- */

/* 0 is what the buffer has before. */
static uint32_t word_of(uint64_t number)
{
    return (uint32_t)number * 2654435761u | 1;
}

static culv_result make_ring(world *w, const row *r, culv_gl_ring **out)
{
    culv_gl_buffer_create_desc buffer = culv_gl_buffer_create_desc_init();
    const culv_gl_ring_resource resource = {.buffer = &buffer};
    culv_ring_settings settings = culv_ring_settings_init();
    culv_gl_ring_desc d = culv_gl_ring_desc_init();
    buffer.size = r->bytes;
    settings.burst = r->flow.burst;
    d.max_depth = r->flow.depth;
    d.settings = &settings;
    d.resources = &resource;
    d.num_resources = 1;
    d.way = r->way->way;
    return culv_gl_ring_create(w->attached, &d, out);
}

static void by_cuda(world *w, culv_gl_ring *ring, const row *r)
{
    const rig *g = &w->bench.rig;
    culv_ring_frame f;
    CULV_OK_OR_EXIT(
        culv_ring_acquire_on(culv_gl_ring_core(ring), CULV_RING_PRODUCER, g->stream, FAR, &f));
    RIG_CU(g->cu->MemsetD32Async(culv_gl_ring_pointer(ring, f.slot, 0), word_of(f.number),
                                 (size_t)r->bytes / 4, g->stream));
    CULV_OK_OR_EXIT(
        culv_ring_release_on(culv_gl_ring_core(ring), CULV_RING_PRODUCER, g->stream, &f));
}

static uint64_t by_gl(world *w, culv_gl_ring *ring, const row *r)
{
    culv_ring_frame f;
    CULV_OK_OR_EXIT(culv_gl_ring_acquire(ring, FAR, &f));
    w->gl.CopyNamedBufferSubData(culv_gl_ring_name(ring, f.slot, 0), w->seen, 0, 0,
                                 (GLsizeiptr)r->bytes);
    CULV_OK_OR_EXIT(culv_gl_ring_release(ring, &f));
    return f.number;
}

static void check(world *w, const row *r, uint64_t number)
{
    uint32_t *words = malloc((size_t)r->bytes);
    REQUIRE(words != NULL);
    raw_gl_read_buffer(&w->gl, w->seen, words, (size_t)r->bytes);
    for (size_t i = 0; i < r->bytes / 4; i++)
        if (words[i] != word_of(number))
            FAIL("%s, %llu bytes, frame %llu: word %zu is 0x%08x, not 0x%08x", r->way->name,
                 (unsigned long long)r->bytes, (unsigned long long)number, i, (unsigned)words[i],
                 (unsigned)word_of(number));
    w->checked += r->bytes / 4;
    free(words);
}

static void finish(world *w)
{
    w->gl.Finish();
    RIG_CU(w->bench.rig.cu->StreamSynchronize(w->bench.rig.stream));
}

/* Frames in bursts by turns; the number of the last one. */
static uint64_t run_frames(world *w, culv_gl_ring *ring, const row *r, uint64_t frames)
{
    uint64_t last = 0;
    for (uint64_t done = 0; done < frames; done += r->flow.burst) {
        for (uint32_t i = 0; i < r->flow.burst; i++)
            by_cuda(w, ring, r);
        for (uint32_t i = 0; i < r->flow.burst; i++)
            last = by_gl(w, ring, r);
    }
    return last;
}

/* The first frames one by one, each looked at: every slot's. */
static void check_slots(world *w, culv_gl_ring *ring, const row *r)
{
    for (uint32_t done = 0; done < 2 * r->flow.depth; done += r->flow.burst) {
        for (uint32_t i = 0; i < r->flow.burst; i++)
            by_cuda(w, ring, r);
        for (uint32_t i = 0; i < r->flow.burst; i++)
            check(w, r, by_gl(w, ring, r));
    }
}

static double frame_us(world *w, culv_gl_ring *ring, const row *r, uint64_t frames, bool checks)
{
    finish(w);
    const double begun = bench_now();
    const uint64_t last = run_frames(w, ring, r, frames);
    CULV_OK_OR_EXIT(culv_ring_drain(culv_gl_ring_core(ring), FAR, 0));
    finish(w);
    const double took = (bench_now() - begun) / 1e3 / (double)frames;
    if (checks) check(w, r, last);
    return took;
}

/* What each side does, without the other. */
static double alone_us(world *w, const row *r, bool cuda)
{
    enum { TIMES = 20 };
    const rig *g = &w->bench.rig;
    double samples[7];
    GLuint from = 0;
    CUdeviceptr to = 0;
    if (cuda) {
        RIG_CU(g->cu->MemAlloc(&to, (size_t)r->bytes));
    } else {
        w->gl.CreateBuffers(1, &from);
        w->gl.NamedBufferStorage(from, (GLsizeiptr)r->bytes, NULL, 0);
    }
    for (int k = 0; k < 8; k++) { /* the first warms up */
        finish(w);
        const double begun = bench_now();
        for (int i = 0; i < TIMES; i++) {
            if (cuda)
                RIG_CU(g->cu->MemsetD32Async(to, 1, (size_t)r->bytes / 4, g->stream));
            else
                w->gl.CopyNamedBufferSubData(from, w->seen, 0, 0, (GLsizeiptr)r->bytes);
        }
        finish(w);
        if (k > 0) samples[k - 1] = (bench_now() - begun) / 1e3 / TIMES;
    }
    if (cuda)
        RIG_CU(g->cu->MemFree(to));
    else
        w->gl.DeleteBuffers(1, &from);
    return statistics_spread(samples, 7).median;
}

/* Rows of one size ----------------------------------------------------------------------------- */

static void print_row(const world *w, const row *r)
{
    FILE *out = w->bench.text;
    if (out == NULL) return;
    fprintf(out, "%8llu KiB  %-8s %2u/%u  ", (unsigned long long)(r->bytes >> 10), r->way->name,
            (unsigned)r->flow.depth, (unsigned)r->flow.burst);
    if (r->left_out != NULL)
        fprintf(out, "left out: %s\n", r->left_out);
    else
        fprintf(out, "%10.1f us (%.1f..%.1f)  %6.2f of both alone (%.1f + %.1f)%s\n", r->us.median,
                r->us.p10, r->us.p90, r->us.median / (r->cuda_alone + r->gl_alone), r->cuda_alone,
                r->gl_alone, r->on_cpu ? "  waits on the CPU" : "");
    fflush(out);
}

/* By turns, in an order drawn by lot for each round: what the machine does besides happens to all.
 */
static void measure(world *w, row *rows, size_t count, unsigned turns, double least_us)
{
    culv_gl_ring *rings[WAYS * FLOWS];
    size_t order[WAYS * FLOWS];
    for (size_t i = 0; i < count; i++) {
        row *r = &rows[i];
        order[i] = i;
        rings[i] = NULL;
        if (make_ring(w, r, &rings[i]) != CULV_OK) {
            snprintf(r->why, sizeof r->why, "%s", culv_last_error_message());
            r->left_out = r->why;
            continue;
        }
        r->on_cpu = culv_gl_ring_waits_on_host(rings[i]) != 0;
        check_slots(w, rings[i], r);
        const double once = frame_us(w, rings[i], r, r->flow.burst, true);
        const double wished = least_us / (once > 1.0 ? once : 1.0);
        r->frames = wished > 1000.0 ? 1000 : (uint64_t)wished;
        if (r->frames < r->flow.burst) r->frames = r->flow.burst;
        r->frames = r->frames / r->flow.burst * r->flow.burst;
    }
    for (unsigned turn = 0; turn < turns; turn++) {
        for (size_t i = count; i > 1; i--) {
            const size_t k = random_below(&w->bench.random, i), kept = order[i - 1];
            order[i - 1] = order[k];
            order[k] = kept;
        }
        for (size_t i = 0; i < count; i++) {
            row *r = &rows[order[i]];
            if (r->left_out == NULL)
                r->samples[r->turns++] = frame_us(w, rings[order[i]], r, r->frames, turn % 8 == 0);
        }
    }
    for (size_t i = 0; i < count; i++) {
        row *r = &rows[i];
        if (r->left_out == NULL) r->us = statistics_spread(r->samples, r->turns);
        CULV_OK_OR_EXIT(culv_gl_ring_destroy(&rings[i]));
        print_row(w, r);
    }
}

static void measure_size(world *w, const options *o, uint64_t bytes)
{
    row *rows = &w->rows[w->num_rows];
    const bool software = w->bench.rig.caps.is_software != 0;
    size_t count = 0;
    exits_watch(600, "the frames of one size");
    w->gl.CreateBuffers(1, &w->seen);
    w->gl.NamedBufferStorage(w->seen, (GLsizeiptr)bytes, NULL, 0);
    for (int way = 0; way < WAYS; way++)
        for (int flow = 0; flow < FLOWS; flow++) {
            if (o->only != NULL && strcmp(o->only, ways[way].name) != 0) continue;
            rows[count++] = (row){.way = &ways[way], .flow = flows[flow], .bytes = bytes};
        }
    const double cuda = alone_us(w, rows, true), gl = alone_us(w, rows, false);
    for (size_t i = 0; i < count; i++) {
        rows[i].cuda_alone = cuda;
        rows[i].gl_alone = gl;
    }
    measure(w, rows, count, o->quick ? 1 : software ? 5 : MOST_TURNS, o->quick ? 0.0 : 20000.0);
    w->num_rows += count;
    w->gl.DeleteBuffers(1, &w->seen);
}

/* The report ----------------------------------------------------------------------------------- */

static bool write_json(const world *w, const char *path, bool complete)
{
    FILE *out = report_open(path);
    if (out != NULL) {
        struct json json = {.out = out, .first = true};
        json_begin(&json, NULL, '{');
        report_head(&json, &w->bench, PROGRAM, complete);
        json_string(&json, "renderer", (const char *)w->gl.GetString(GL_RENDERER));
        json_integer(&json, "words_checked", (int64_t)w->checked);
        report_left_out(&json, &w->bench);
        json_begin(&json, "frames", '[');
        for (size_t i = 0; i < w->num_rows; i++) {
            const row *r = &w->rows[i];
            json_begin(&json, NULL, '{');
            json_string(&json, "way", r->way->name);
            json_integer(&json, "bytes", (int64_t)r->bytes);
            json_integer(&json, "depth", r->flow.depth);
            json_integer(&json, "burst", r->flow.burst);
            json_integer(&json, "frames_per_turn", (int64_t)r->frames);
            json_bool(&json, "waits_on_cpu", r->on_cpu);
            report_number(&json, "cuda_alone", r->cuda_alone);
            report_number(&json, "gl_alone", r->gl_alone);
            report_spread(&json, "us", &r->us);
            json_string(&json, "left_out", r->left_out);
            json_end(&json, '}');
        }
        json_end(&json, ']');
        json_end(&json, '}');
        fputc('\n', out);
    }
    const bool written = out != NULL && fflush(out) == 0 && ferror(out) == 0;
    return report_close(out, written, path, PROGRAM);
}

static void print_heading(const world *w)
{
    const rig *r = &w->bench.rig;
    FILE *out = w->bench.text;
    fprintf(out, PROGRAM " %s: %s by %s, CUDA %u.%u; OpenGL %s\n", culv_version_string(),
            r->caps.name, r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u,
            (const char *)w->gl.GetString(GL_VERSION));
    if (r->caps.is_software) fprintf(out, "The twin is no GPU: its times tell nothing of one.\n");
    if (w->bench.quick) fprintf(out, "--quick: once, too little for the times to mean anything.\n");
    fprintf(out, "Depth/burst of the ring; time of a frame, median (10th..90th percentile).\n\n");
}

static bool run(world *w, const options *o)
{
    static const uint64_t gpu[SIZES] = {UINT64_C(1) << 20, UINT64_C(16) << 20, UINT64_C(128) << 20};
    static const uint64_t twin[SIZES] = {UINT64_C(64) << 10, UINT64_C(512) << 10,
                                         UINT64_C(4) << 20};
    static const uint64_t quick[SIZES] = {UINT64_C(4) << 10, UINT64_C(16) << 10,
                                          UINT64_C(64) << 10};
    const bool software = w->bench.rig.caps.is_software != 0;
    const uint64_t *sizes = o->quick ? quick : software ? twin : gpu;
    culv_gl_desc d = culv_gl_desc_init();
    const char *why = raw_gl_try(&w->gl, software, w->bench.rig.ordinal, RAW_GL_CORE);
    w->bench.measurement = "frames";
    if (why != NULL) {
        bench_left_out(&w->bench, why);
        fprintf(stderr, PROGRAM ": %s\n", why);
        exit(EXITS_NO_DEVICE);
    }
    d.get_proc_address = raw_gl_get_proc;
    CULV_OK_OR_EXIT(culv_gl_attach(w->bench.rig.device, &d, &w->attached));
    if (w->bench.text != NULL) print_heading(w);
    bool fine = true;
    for (int i = 0; i < SIZES && fine; i++) {
        measure_size(w, o, sizes[i]);
        const bool last = i + 1 == SIZES;
        if (o->json != NULL && (last || o->json[0] != '\0')) fine = write_json(w, o->json, last);
    }
    culv_gl_detach(&w->attached);
    raw_gl_close(&w->gl);
    return fine;
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    exits_set_up(PROGRAM, o.driver, false);
    world *w = calloc(1, sizeof *w);
    REQUIRE(w != NULL);
    bench_set_up(&w->bench, o.quick, o.seed, o.json);
    exits_watch(60, "opening the devices");
    rig_open(&w->bench.rig, o.device);
    bool fine = run(w, &o);
    if (w->bench.text != NULL) {
        fprintf(w->bench.text, "\n%llu words were checked, none is wrong.\n",
                (unsigned long long)w->checked);
        if (!report_printed(PROGRAM)) fine = false;
    }
    exits_watch(60, "closing the devices");
    rig_close(&w->bench.rig);
    free(w->bench.results);
    free(w);
    return fine ? EXIT_SUCCESS : EXITS_FAILURE;
}
