/* SPDX-License-Identifier: MIT */
/* What it costs that another GPU may use the memory: cuCtxEnablePeerAccess, which maps every
 * allocation, against access that is granted chunk by chunk. */
#include "growable.h"
#include "sections.h"
#include "trial.h"

#include <stdlib.h>

enum { ALLOCATIONS = 256, FEW_ALLOCATIONS = 16 };

typedef enum peers_subject {
    ALLOC,       /* cuMemAlloc, no peer */
    ALLOC_PEER,  /* ... with peer access enabled */
    ENABLE_NONE, /* cuCtxEnablePeerAccess, nothing allocated; and disabling it */
    ENABLE_MANY, /* ... with all of them there */
    VMM_ONE,     /* by hand, access by its own device */
    VMM_TWO,     /* ... by both */
    VMM_FEW,     /* ... by both to one of them alone */
    VECTOR_ONE,  /* culv_vector, access by its own device */
    VECTOR_TWO,  /* ... by both */
    PEERS_SUBJECTS
} peers_subject;

enum { MAKE, GIVE_BACK, PHASES };

typedef struct peers_state {
    memory_bench *b;
    CUdevice ordinal;
    CUcontext context;
    CUstream stream;
    culv_device *device;
    memory_kernels kernels; /* of the other device */
    CUmemAccessDesc access[2];
    uint64_t size; /* of an allocation */
    size_t count;
    CUdeviceptr pointers[ALLOCATIONS];
    growable g;
} peers_state;

static void enable(peers_state *s)
{
    const rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->CtxSetCurrent(s->context));
    RIG_CU(r->cu->CtxEnablePeerAccess(r->context, 0));
    RIG_CU(r->cu->CtxSetCurrent(r->context));
}

static void disable(peers_state *s)
{
    const rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->CtxSetCurrent(s->context));
    RIG_CU(r->cu->CtxDisablePeerAccess(r->context));
    RIG_CU(r->cu->CtxSetCurrent(r->context));
}

/* The other device reads what this one wrote. */
static void check_by_peer(peers_state *s, CUdeviceptr buffer, uint64_t from, uint64_t to,
                          const char *what)
{
    const rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->CtxSetCurrent(s->context));
    memory_check_by(s->b, &s->kernels, s->stream, buffer, from, to, what);
    RIG_CU(r->cu->CtxSetCurrent(r->context));
}

static void allocate(peers_state *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->pointers[i] = raw_alloc(s->b, s->size);
}

static void free_all(peers_state *s)
{
    for (size_t i = 0; i < s->count; i++)
        raw_free(s->b, s->pointers[i]);
}

static void by_alloc(peers_state *s, peers_subject subject, double ns[])
{
    memory_bench *b = s->b;
    if (subject == ALLOC_PEER) enable(s);
    double begun = bench_now();
    allocate(s);
    ns[MAKE] = bench_now() - begun;
    for (size_t i = 0; i < s->count; i++)
        memory_fill(b, s->pointers[i], 0, s->size);
    for (size_t i = 0; i < s->count; i++)
        memory_check(b, s->pointers[i], 0, s->size, "cuMemAlloc");
    if (subject == ALLOC_PEER)
        check_by_peer(s, s->pointers[s->count - 1], 0, s->size, "cuMemAlloc");
    begun = bench_now();
    free_all(s);
    ns[GIVE_BACK] = bench_now() - begun;
    if (subject == ALLOC_PEER) disable(s);
}

static void by_enabling(peers_state *s, peers_subject subject, double ns[])
{
    if (subject == ENABLE_MANY) allocate(s);
    double begun = bench_now();
    enable(s);
    ns[MAKE] = bench_now() - begun;
    if (subject == ENABLE_MANY) {
        memory_fill(s->b, s->pointers[0], 0, s->size);
        check_by_peer(s, s->pointers[0], 0, s->size, "cuCtxEnablePeerAccess");
    }
    begun = bench_now();
    disable(s);
    ns[GIVE_BACK] = bench_now() - begun;
    if (subject == ENABLE_MANY) free_all(s);
}

static void by_hand(peers_state *s, peers_subject subject, double ns[])
{
    memory_bench *b = s->b;
    growable *g = &s->g;
    uint64_t all = s->count * s->size;
    *g = (growable){.b = b};
    g->pointer = raw_reserve(b, all, 0);
    double begun = bench_now();
    for (size_t i = 0; i < s->count; i++) {
        raw_chunk *chunk = &g->chunks[g->num_chunks++];
        bool shared = subject == VMM_TWO || (subject == VMM_FEW && i == 0);
        *chunk = (raw_chunk){raw_create(b, s->size), i * s->size, s->size};
        raw_map(b, g->pointer + chunk->offset, chunk->size, chunk->handle, s->access,
                shared ? 2 : 1);
    }
    ns[MAKE] = bench_now() - begun;
    memory_fill(b, g->pointer, 0, all);
    memory_check(b, g->pointer, 0, all, "cuMemSetAccess");
    if (subject != VMM_ONE)
        check_by_peer(s, g->pointer, 0, subject == VMM_TWO ? all : s->size, "cuMemSetAccess");
    begun = bench_now();
    growable_raw_unmap(g);
    ns[GIVE_BACK] = bench_now() - begun;
    raw_unreserve(b, g->pointer, all);
}

static void by_vector(peers_state *s, peers_subject subject, double ns[])
{
    memory_bench *b = s->b;
    uint64_t all = s->count * s->size;
    const culv_vmm_access access[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                      {.device = s->device, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    culv_vector_desc desc = culv_vector_desc_init();
    desc.reserve = all;
    desc.access = access;
    desc.access_count = subject == VECTOR_TWO ? 2 : 1;
    culv_vector *vector = growable_vector(b, &desc);
    double begun = bench_now();
    for (size_t i = 1; i <= s->count; i++)
        CULV_OK_OR_EXIT(culv_vector_grow(vector, i * s->size));
    ns[MAKE] = bench_now() - begun;
    memory_fill(b, culv_vector_pointer(vector), 0, all);
    memory_check(b, culv_vector_pointer(vector), 0, all, "culv_vector");
    if (subject == VECTOR_TWO) check_by_peer(s, culv_vector_pointer(vector), 0, all, "culv_vector");
    begun = bench_now();
    culv_vector_destroy(&vector);
    ns[GIVE_BACK] = bench_now() - begun;
}

static void turn(void *state, size_t subject, double ns[])
{
    peers_state *s = state;
    switch ((peers_subject)subject) {
    case ALLOC:
    case ALLOC_PEER: by_alloc(s, (peers_subject)subject, ns); break;
    case ENABLE_NONE:
    case ENABLE_MANY: by_enabling(s, (peers_subject)subject, ns); break;
    case VMM_ONE:
    case VMM_TWO:
    case VMM_FEW: by_hand(s, (peers_subject)subject, ns); break;
    default: by_vector(s, (peers_subject)subject, ns); break;
    }
}

static void report(peers_state *s, const trial *t)
{
    static const struct {
        const char *scheme, *variant, *what[PHASES];
        peers_subject over; /* the same: nothing to compare with */
    } rows[PEERS_SUBJECTS] = {
        [ALLOC] = {"cuMemAlloc", "no peer", {"all allocations", "give all back"}, ALLOC},
        [ALLOC_PEER] = {"cuMemAlloc",
                        "peer access enabled",
                        {"all allocations", "give all back"},
                        ALLOC},
        [ENABLE_NONE] = {"cuCtxEnablePeerAccess",
                         "nothing allocated",
                         {"enable", "disable"},
                         ENABLE_NONE},
        [ENABLE_MANY] = {"cuCtxEnablePeerAccess",
                         "all of them there",
                         {"enable", "disable"},
                         ENABLE_NONE},
        [VMM_ONE] = {"raw VMM", "one device", {"all allocations", "give all back"}, VMM_ONE},
        [VMM_TWO] = {"raw VMM", "two devices", {"all allocations", "give all back"}, VMM_ONE},
        [VMM_FEW] = {"raw VMM",
                     "two devices, one chunk",
                     {"all allocations", "give all back"},
                     VMM_ONE},
        [VECTOR_ONE] = {"culv_vector", "one device", {"all allocations", "give all back"}, VMM_ONE},
        [VECTOR_TWO] = {"culv_vector",
                        "two devices",
                        {"all allocations", "give all back"},
                        VMM_TWO},
    };
    memory_bench *b = s->b;
    char to[96];
    for (size_t i = 0; i < PEERS_SUBJECTS; i++) {
        for (size_t phase = 0; phase < PHASES; phase++) {
            result *r = results_add(&b->results, &b->bench, rows[i].scheme, rows[i].variant,
                                    rows[i].what[phase]);
            r->bytes = i == ENABLE_NONE ? 0 : s->count * s->size;
            r->count = i == ENABLE_NONE || i == ENABLE_MANY ? 1 : s->count;
            r->us = trial_spread(t, i, phase, phase);
            snprintf(to, sizeof to, "%s, %s", rows[rows[i].over].scheme,
                     rows[rows[i].over].variant);
            if (rows[i].over != (peers_subject)i)
                results_add_ratio(r, &b->bench, to,
                                  trial_ratio(b, t, i, rows[i].over, phase, phase), 0.0);
            results_print(&b->bench, r);
        }
    }
}

static void open_peer(peers_state *s)
{
    const rig *r = &s->b->bench.rig;
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = r->cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    CULV_OK_OR_EXIT(culv_device_open_by_ordinal((int32_t)s->ordinal, &desc, &s->device));
    s->context = raw_cuda_context(r->cu, s->ordinal);
    RIG_CU(r->cu->StreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    memory_kernels_open(&s->kernels, r->cu);
    RIG_CU(r->cu->CtxSetCurrent(r->context));
    s->access[0] = s->access[1] = s->b->access;
    s->access[1].location.id = (int)s->ordinal;
}

static void close_peer(peers_state *s)
{
    const rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->CtxSetCurrent(s->context));
    memory_kernels_close(&s->kernels, r->cu);
    RIG_CU(r->cu->StreamDestroy(s->stream));
    RIG_CU(r->cu->CtxSetCurrent(r->context));
    RIG_CU(r->cu->DevicePrimaryCtxRelease(s->ordinal));
    culv_device_close(&s->device);
}

/* Another device that reaches this one's memory. */
static bool find_peer(peers_state *s)
{
    const rig *r = &s->b->bench.rig;
    for (int i = 0; i < r->cu->device_count; i++) {
        int can = 0;
        RIG_CU(r->cu->DeviceGet(&s->ordinal, i));
        if (s->ordinal == r->ordinal || r->cu->DeviceCanAccessPeer == NULL) continue;
        RIG_CU(r->cu->DeviceCanAccessPeer(&can, s->ordinal, r->ordinal));
        if (can != 0) return true;
    }
    return false;
}

void section_peers(memory_bench *b, const options *o)
{
    peers_state *s = calloc(1, sizeof *s);
    trial t;
    char heading[64], bytes[RESULTS_BYTES];
    REQUIRE(s != NULL);
    (void)o;
    s->b = b;
    if (!find_peer(s)) {
        bench_left_out(&b->bench, b->bench.rig.cu->device_count < 2
                                      ? "there is one GPU alone"
                                      : "no other GPU reaches this one's memory");
        free(s);
        return;
    }
    s->size = b->granularity;
    s->count = ALLOCATIONS;
    while (s->count > FEW_ALLOCATIONS && (b->bench.quick || s->count * s->size > b->limit))
        s->count /= 2;
    open_peer(s);
    snprintf(heading, sizeof heading, "%zu allocations of %s", s->count,
             results_bytes(bytes, s->size));
    results_heading(&b->bench, heading);
    trial_run(b, &t,
              (trial_setup){.turn = turn,
                            .state = s,
                            .subjects = PEERS_SUBJECTS,
                            .phases = PHASES,
                            .least = 12,
                            .seconds = 4.0});
    report(s, &t);
    trial_end(&t);
    close_peer(s);
    free(s);
}
