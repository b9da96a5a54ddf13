/* SPDX-License-Identifier: MIT */
/* culvert-bench-rdma: how long a look-up in the registration cache takes, by the number of
 * registrations, beside UCX's structure; and what the calls for cards cost. */
#include "arguments.h"
#include "json.h"
#include "measure.h"
#include "report.h"
#include "teardown.h"
#include "ucx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "culvert-bench-rdma"

static const char usage[] =
    "culvert-bench-rdma measures look-ups in the registration cache for cards (RDMA), by the number of "
    "registrations and of threads,\n"
    "beside UCX's structure rebuilt, what the calls for cards cost, and how long the end of many "
    "takes.\n"
    "Every look-up's answer is checked.\n"
    "\n"
    "usage: culvert-bench-rdma [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --most=N         registrations at the most (1000000; 100000 on the twin)\n"
    "  --teardown=N     entries at the most whose end is timed (160000; 160 with --quick)\n"
    "  --seed=N         of the order of look-ups (1)\n"
    "  --quick          little and once: to see that it works, not to read times\n"
    "  --json           print JSON (docs/measured/rdma-performance.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed or was wrong, 2 wrong usage, 3 no device that CUDA and "
    "Vulkan share\n";

enum { CHUNK = 65536, TURNS = 31, MOST_THREADS = 8, MOST_ROWS = 256, BLOCK = 256 << 20 };

typedef struct row {
    const char *section, *scheme;
    uint64_t entries;
    unsigned threads;
    spread ns;
    double goal; /* ns; 0: none */
    const char *met;
} row;

typedef struct program {
    bench bench;
    uint64_t most, checked;
    CUdeviceptr first; /* of the registrations */
    /* What they lie in: an allocation, or a block that is mapped again and again. */
    CUdeviceptr memory;
    size_t size;
    CUmemGenericAllocationHandle block;
    unsigned mappings;
    row rows[MOST_ROWS];
    size_t num_rows;
    /* Of the registrations that are there: */
    uint64_t entries;
    culv_rdma_cache *notified, *by_id;
    ucx_cache *ucx;
} program;

static row *add_row(program *p, const char *section, const char *scheme, uint64_t entries,
                    unsigned threads, const double *ns, size_t n)
{
    REQUIRE(p->num_rows < MOST_ROWS);
    row *r = &p->rows[p->num_rows++];
    *r = (row){.section = section, .scheme = scheme, .entries = entries, .threads = threads};
    r->ns = statistics_spread(ns, n);
    return r;
}

static void print_row(const program *p, const row *r)
{
    if (p->bench.text == NULL) return;
    if (strcmp(r->section, "look-ups") == 0)
        fprintf(p->bench.text,
                "%9llu registrations, %u thread%s  %-34s %9.1f ns (%.1f to %.1f)%s%s\n",
                (unsigned long long)r->entries, r->threads, r->threads == 1 ? " " : "s", r->scheme,
                r->ns.median, r->ns.p10, r->ns.p90, r->met != NULL ? "  met: " : "",
                r->met != NULL ? r->met : "");
    else if (strcmp(r->section, "teardown") == 0)
        fprintf(p->bench.text, "%9llu %-48s %9.1f ms, %.0f ns each\n",
                (unsigned long long)r->entries, r->scheme, r->ns.median / 1e6,
                r->ns.median / (double)r->entries);
    else
        fprintf(p->bench.text, "%-60s %11.1f ns (%.1f to %.1f)\n", r->scheme, r->ns.median,
                r->ns.p10, r->ns.p90);
    fflush(p->bench.text);
}

/* The card: a cookie is the number of the chunk. */
static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    const program *p = user;
    *cookie = (void *)(uintptr_t)((range->page_start - p->first) / CHUNK + 1);
    return CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    (void)user;
    (void)range;
    (void)cookie;
    (void)why;
}

/* Look-ups ------------------------------------------------------------------------------------- */

typedef enum scheme { NOTIFIED, BY_ID, UCX, DRIVER, SCHEMES } scheme;
static const char *const names[SCHEMES] = {"Culvert, by notification", "Culvert, by BUFFER_ID",
                                           "UCX's structure", "the driver's BUFFER_ID alone"};

static void wrong(const char *what, uint64_t at)
{
    FAIL("%s: registration %llu is not what was pinned", what, (unsigned long long)at);
}

static void look_up(program *p, scheme which, uint64_t at)
{
    const CUdeviceptr address = p->first + at * CHUNK + 4096;
    if (which == UCX) {
        ucx_region *r = ucx_get(p->ucx, address, 1024);
        if (r == NULL || (uintptr_t)ucx_cookie(r) != at + 1) wrong(names[which], at);
        ucx_put(p->ucx, r);
    } else if (which == DRIVER) {
        unsigned long long id = 0;
        RIG_CU(p->bench.rig.cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
        if (id == 0) wrong(names[which], at);
    } else {
        culv_rdma_registration *r = NULL;
        culv_rdma_cache *cache = which == NOTIFIED ? p->notified : p->by_id;
        if (culv_rdma_cache_get(cache, address, 1024, &r) != CULV_OK)
            FAIL("%s", culv_last_error_message());
        if ((uintptr_t)culv_rdma_registration_cookie(r) != at + 1) wrong(names[which], at);
        culv_rdma_registration_put(&r);
    }
}

typedef struct looker {
    program *program;
    scheme scheme;
    uint64_t seed;
    unsigned count;
    double ns;
    pthread_barrier_t *barrier;
    pthread_t thread;
} looker;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *look(void *user)
{
    looker *l = user;
    program *p = l->program;
    random_source random = {l->seed};
    RIG_CU(p->bench.rig.cu->CtxSetCurrent(p->bench.rig.context));
    uint32_t *places = malloc(l->count * sizeof *places);
    REQUIRE(places != NULL);
    for (unsigned i = 0; i < l->count; i++)
        places[i] = (uint32_t)random_below(&random, (size_t)p->entries);
    pthread_barrier_wait(l->barrier);
    const double start = now_ns();
    for (unsigned i = 0; i < l->count; i++)
        look_up(p, l->scheme, places[i]);
    l->ns = (now_ns() - start) / l->count;
    free(places);
    return NULL;
}

/* The mean of the threads' times for a look-up, in ns. */
static double turn(program *p, scheme which, unsigned threads)
{
    looker lookers[MOST_THREADS];
    pthread_barrier_t barrier;
    double sum = 0;
    REQUIRE(pthread_barrier_init(&barrier, NULL, threads) == 0);
    for (unsigned i = 0; i < threads; i++) {
        lookers[i] = (looker){.program = p,
                              .scheme = which,
                              .seed = random_next(&p->bench.random),
                              .count = p->bench.quick ? 500 : 20000,
                              .barrier = &barrier};
        if (i > 0) REQUIRE(pthread_create(&lookers[i].thread, NULL, look, &lookers[i]) == 0);
    }
    look(&lookers[0]);
    for (unsigned i = 1; i < threads; i++)
        REQUIRE(pthread_join(lookers[i].thread, NULL) == 0);
    for (unsigned i = 0; i < threads; i++) {
        sum += lookers[i].ns;
        p->checked += lookers[i].count;
    }
    pthread_barrier_destroy(&barrier);
    return sum / threads;
}

static void register_all(program *p, uint64_t entries)
{
    for (uint64_t i = p->entries; i < entries; i++) {
        const CUdeviceptr at = p->first + i * CHUNK;
        culv_rdma_registration *r = NULL;
        for (int which = 0; which < 2; which++) {
            if (culv_rdma_cache_get(which == 0 ? p->notified : p->by_id, at, CHUNK, &r) != CULV_OK)
                FAIL("%s", culv_last_error_message());
            culv_rdma_registration_put(&r);
        }
        REQUIRE(ucx_insert(p->ucx, at, at + CHUNK, (void *)(uintptr_t)(i + 1)));
    }
    p->entries = entries;
}

static void measure(program *p, uint64_t entries, unsigned threads)
{
    double ns[SCHEMES][TURNS];
    const size_t turns = p->bench.quick ? 1 : TURNS;
    const row *rows[SCHEMES];
    register_all(p, entries);
    for (size_t t = 0; t < turns; t++)
        for (int which = 0; which < SCHEMES; which++)
            ns[which][t] = turn(p, (scheme)which, threads);
    for (int which = SCHEMES - 1; which >= 0; which--) {
        row *r = add_row(p, "look-ups", names[which], entries, threads, ns[which], turns);
        rows[which] = r;
        if (entries == 100000 && threads == 1 && which != UCX && which != DRIVER) {
            r->goal = which == NOTIFIED ? 100.0 : 200.0 + rows[DRIVER]->ns.median;
            if (!p->bench.quick && !p->bench.rig.caps.is_software)
                r->met = r->ns.median <= r->goal ? "yes" : "no";
        }
    }
    for (int which = 0; which < SCHEMES; which++)
        print_row(p, rows[which]);
}

static culv_rdma_cache *make_cache(program *p, culv_rdma_validity validity)
{
    culv_rdma_cache *cache = NULL;
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = pin;
    d.unpin = unpin;
    d.user = p;
    d.validity = validity;
    d.exact_ranges = 1;
    d.no_sync_memops = 1; /* all are parts of one allocation */
    if (culv_rdma_cache_create(p->bench.rig.device, &d, &cache) != CULV_OK)
        FAIL("%s", culv_last_error_message());
    return cache;
}

/* Addresses for as many registrations on a device that has no memory for them: one block of its
 * memory, mapped side by side. False: it has no such memory either. */
static bool map_again(program *p, size_t size)
{
    const raw_cuda *cu = p->bench.rig.cu;
    CUmemAllocationProp prop;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, p->bench.rig.ordinal},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = access.location;
    if (cu->MemCreate == NULL || cu->MemCreate(&p->block, BLOCK, &prop, 0) != CUDA_SUCCESS)
        return false;
    p->size = (size + BLOCK - 1) / BLOCK * BLOCK;
    if (cu->MemAddressReserve(&p->memory, p->size, 0, 0, 0) != CUDA_SUCCESS) {
        RIG_CU(cu->MemRelease(p->block));
        return false;
    }
    for (p->mappings = 0; p->mappings < p->size / BLOCK; p->mappings++)
        RIG_CU(cu->MemMap(p->memory + (size_t)p->mappings * BLOCK, BLOCK, 0, p->block, 0));
    RIG_CU(cu->MemSetAccess(p->memory, p->size, &access, 1));
    return true;
}

/* For `most` registrations, or as many as there are addresses for. */
static uint64_t get_memory(program *p, uint64_t most)
{
    for (;; most /= 10) {
        const size_t size = (size_t)(most + 1) * CHUNK;
        const CUresult r = p->bench.rig.cu->MemAlloc(&p->memory, size);
        if (r == CUDA_SUCCESS) break;
        if (r != CUDA_ERROR_OUT_OF_MEMORY || most == 1) RIG_CU(r);
        if (map_again(p, size)) break;
    }
    p->first = (p->memory + CHUNK - 1) / CHUNK * CHUNK;
    return most;
}

static void give_memory(const program *p)
{
    const raw_cuda *cu = p->bench.rig.cu;
    if (p->mappings == 0) {
        RIG_CU(cu->MemFree(p->memory));
        return;
    }
    for (unsigned i = 0; i < p->mappings; i++)
        RIG_CU(cu->MemUnmap(p->memory + (size_t)i * BLOCK, BLOCK));
    RIG_CU(cu->MemRelease(p->block));
    RIG_CU(cu->MemAddressFree(p->memory, p->size));
}

static void look_ups(program *p)
{
    static const uint64_t counts[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    p->bench.measurement = "look-ups";
    const uint64_t most = get_memory(p, p->most);
    if (most < p->most) bench_left_out(&p->bench, "there is no memory for as many registrations");
    p->notified = make_cache(p, CULV_RDMA_VALIDITY_NOTIFICATION);
    p->by_id = make_cache(p, CULV_RDMA_VALIDITY_BUFFER_ID);
    p->ucx = ucx_open();
    REQUIRE(p->ucx != NULL);
    const unsigned many = p->bench.quick ? 2 : 4;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && counts[i] <= most; i++) {
        measure(p, counts[i], 1);
        measure(p, counts[i], many);
    }
    culv_rdma_cache_destroy(&p->notified);
    culv_rdma_cache_destroy(&p->by_id);
    ucx_close(p->ucx);
    give_memory(p);
}

/* Calls ---------------------------------------------------------------------------------------- */

typedef struct calls {
    culv_device *device;
    CUdeviceptr pointer;
} calls;

static bool call(const calls *c, int which)
{
    culv_rdma_info info = culv_rdma_info_init();
    culv_rdma_tokens tokens = culv_rdma_tokens_init();
    culv_rdma_dma_buf dma_buf = culv_rdma_dma_buf_init();
    culv_rdma_bar1 bar1 = culv_rdma_bar1_init();
    culv_result r = CULV_OK;
    switch (which) {
    case 0: return culv_rdma_get_info(c->device, c->pointer, &info) == CULV_OK;
    case 1: return culv_rdma_check_range(c->device, c->pointer, 65536) == CULV_OK;
    case 2: return culv_rdma_set_sync_memops(c->device, c->pointer, 0, NULL) == CULV_OK;
    case 3: return culv_rdma_get_tokens(c->device, c->pointer, &tokens) == CULV_OK;
    case 4:
    case 5:
        r = culv_rdma_dma_buf_export_dup(c->device, c->pointer, which == 4 ? 65536 : 16 << 20, 0,
                                         &dma_buf);
        if (r == CULV_OK) culv_handle_close(&dma_buf.handle);
        return r == CULV_OK;
    case 6: return culv_rdma_flush_writes(c->device, CULV_RDMA_ORDERING_OWNER) == CULV_OK;
    default: return culv_rdma_get_bar1(c->device, &bar1) == CULV_OK;
    }
}

static void costs(program *p)
{
    static const char *const what[] = {"culv_rdma_get_info()",
                                       "culv_rdma_check_range()",
                                       "culv_rdma_set_sync_memops()",
                                       "culv_rdma_get_tokens()",
                                       "culv_rdma_dma_buf_export_dup(), 64 KiB, and its close",
                                       "culv_rdma_dma_buf_export_dup(), 16 MiB, and its close",
                                       "culv_rdma_flush_writes()",
                                       "culv_rdma_get_bar1()"};
    const raw_cuda *cu = p->bench.rig.cu;
    calls c = {.device = p->bench.rig.device};
    double ns[TURNS];
    RIG_CU(cu->MemAlloc(&c.pointer, 16 << 20));
    p->bench.measurement = "calls";
    for (int which = 0; which < (int)(sizeof what / sizeof what[0]); which++) {
        const unsigned repeat = p->bench.quick || which == 7 ? 1 : 20;
        if (!call(&c, which)) {
            bench_left_out(&p->bench, what[which]);
            continue;
        }
        for (int t = 0; t < TURNS; t++) {
            const double start = now_ns();
            for (unsigned i = 0; i < repeat; i++)
                REQUIRE(call(&c, which));
            ns[t] = (now_ns() - start) / repeat;
        }
        print_row(p, add_row(p, "calls", what[which], 0, 1, ns, TURNS));
    }
    RIG_CU(cu->MemFree(c.pointer));
}

/* Teardown ------------------------------------------------------------------------------------- */

static void tell_teardown(void *user, const char *name, uint64_t entries, double ns)
{
    print_row(user, add_row(user, "teardown", name, entries, 1, &ns, 1));
}

/* The program ---------------------------------------------------------------------------------- */

static bool write_results(const program *p, FILE *out)
{
    struct json json = {.out = out, .first = true};
    json_begin(&json, NULL, '{');
    report_head(&json, &p->bench, PROGRAM, true);
    json_integer(&json, "look_ups_checked", (int64_t)p->checked);
    json_integer(&json, "mappings", p->mappings);
    report_left_out(&json, &p->bench);
    json_begin(&json, "times", '[');
    for (size_t i = 0; i < p->num_rows; i++) {
        const row *r = &p->rows[i];
        json_begin(&json, NULL, '{');
        json_string(&json, "section", r->section);
        json_string(&json, "scheme", r->scheme);
        json_integer(&json, "entries", (int64_t)r->entries);
        json_integer(&json, "threads", r->threads);
        report_spread(&json, "ns", &r->ns);
        if (r->goal > 0.0)
            report_number(&json, "goal", r->goal);
        else
            json_null(&json, "goal");
        json_string(&json, "met", r->met);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', out);
    return fflush(out) == 0 && !ferror(out);
}

typedef struct options {
    const char *driver, *json;
    int device;
    uint64_t seed, most, teardown;
    bool quick;
} options;

static options parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    const arguments all = {PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (arguments_take(&all, argv[i])) continue;
        if ((value = arguments_value(argv[i], "--most")) != NULL)
            o.most = arguments_number(&all, argv[i], value, 1, 1000000);
        else if ((value = arguments_value(argv[i], "--teardown")) != NULL)
            o.teardown = arguments_number(&all, argv[i], value, 4, 1000000);
        else
            arguments_unknown(&all, argv[i]);
    }
    return o;
}

static bool write_json(const program *p, const options *o)
{
    FILE *out = report_open(o->json);
    const bool written = out != NULL && write_results(p, out);
    return report_close(out, written, o->json, PROGRAM);
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    exits_set_up(PROGRAM, o.driver, false);
    program *p = calloc(1, sizeof *p);
    REQUIRE(p != NULL);
    bench *b = &p->bench;
    bench_set_up(b, o.quick, o.seed, o.json);
    exits_watch(600, "all of it");
    rig_open(&b->rig, o.device);
    const bool software = b->rig.caps.is_software != 0;
    p->most = o.most != 0 ? o.most : o.quick ? 100 : software ? 100000 : 1000000;
    if (b->text != NULL) {
        fprintf(b->text, PROGRAM " %s: %s by %s\n", culv_version_string(), b->rig.caps.name,
                software ? "the software twin" : "NVIDIA's driver");
        if (o.quick)
            fprintf(b->text, "--quick: once, too little for the times to mean anything.\n");
        fprintf(b->text,
                "A look-up and its put, in ns: the median of %d turns, and the 10th and "
                "90th percentile.\n",
                TURNS);
    }
    look_ups(p);
    costs(p);
    b->measurement = "teardown";
    teardown(b, o.teardown != 0 ? o.teardown : o.quick ? 160 : 160000, tell_teardown, p);
    if (b->text != NULL)
        fprintf(b->text, "%llu look-ups were checked, none is wrong.\n",
                (unsigned long long)p->checked);
    const bool fine = o.json == NULL || write_json(p, &o);
    rig_close(&b->rig);
    free(p);
    return fine ? 0 : EXITS_FAILURE;
}
