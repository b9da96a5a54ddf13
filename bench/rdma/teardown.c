/* SPDX-License-Identifier: MIT */
/* Teardown at scale: how long the end of many takes, of each collection that the library keeps.
 * Twice as many take twice as long, or a little more; a collection whose end is quadratic shows. */
#include "teardown.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNK = 65536 };
#define BLOCK ((uint64_t)2 << 20)

/* What a row has made. */
typedef struct scene {
    const bench *bench;
    culv_device *device;
    uint64_t count;
    CUdeviceptr memory, first; /* from a whole chunk on */
    culv_rdma_cache *cache;
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    culv_vmm_adopted **adopted;
    culv_vector *vector;
    CUstream stream;
} scene;

static void ok(culv_result result)
{
    if (result != CULV_OK) FAIL("%s", culv_last_error_message());
}

/* Registrations -------------------------------------------------------------------------------- */

static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    (void)range;
    *cookie = user;
    return CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    (void)user;
    (void)range;
    (void)cookie;
    (void)why;
}

static void register_all(scene *s)
{
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = pin;
    d.unpin = unpin;
    d.user = s;
    d.validity = CULV_RDMA_VALIDITY_NOTIFICATION;
    d.exact_ranges = d.no_sync_memops = 1;
    ok(culv_rdma_cache_create(s->device, &d, &s->cache));
    RIG_CU(s->bench->rig.cu->MemAlloc(&s->memory, (size_t)(s->count + 1) * CHUNK));
    s->first = (s->memory + CHUNK - 1) / CHUNK * CHUNK;
    for (uint64_t i = 0; i < s->count; i++) {
        culv_rdma_registration *r = NULL;
        ok(culv_rdma_cache_get(s->cache, s->first + i * CHUNK, CHUNK, &r));
        culv_rdma_registration_put(&r);
    }
}

static void destroy_cache(scene *s)
{
    culv_rdma_cache_destroy(&s->cache);
}

static void invalidate_cache(scene *s)
{
    ok(culv_rdma_cache_invalidate(s->cache, s->first, s->count * CHUNK));
}

static void trim_cache(scene *s)
{
    ok(culv_rdma_cache_trim(s->cache, 0));
}

static void end_cache(scene *s)
{
    culv_rdma_cache_destroy(&s->cache);
    RIG_CU(s->bench->rig.cu->MemFree(s->memory));
}

/* Mappings: one block, again and again --------------------------------------------------------- */

static void map_all(scene *s)
{
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    a.size = BLOCK;
    a.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    r.size = s->count * BLOCK;
    ok(culv_vmm_allocation_create(s->device, &a, &s->allocation));
    ok(culv_vmm_range_create(s->device, &r, &s->range));
    for (uint64_t i = 0; i < s->count; i++)
        ok(culv_vmm_map(s->range, i * BLOCK, s->allocation, NULL, 0));
}

static void unmap_at_once(scene *s)
{
    ok(culv_vmm_unmap(s->range, 0, s->count * BLOCK));
}

static void unmap_each(scene *s)
{
    for (uint64_t i = 0; i < s->count; i++)
        ok(culv_vmm_unmap(s->range, i * BLOCK, BLOCK));
}

static void end_range(scene *s)
{
    (void)culv_device_collect(s->device);
    ok(culv_vmm_range_destroy(&s->range));
    culv_vmm_allocation_destroy(&s->allocation);
}

/* Behind a stream that waits. */
static atomic_bool open_gate;
static void CUDA_CB wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&open_gate))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void hold_stream(scene *s)
{
    const raw_cuda *cu = s->bench->rig.cu;
    map_all(s);
    atomic_store(&open_gate, false);
    RIG_CU(cu->StreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    RIG_CU(cu->LaunchHostFunc(s->stream, wait_for_gate, NULL));
}

static void unmap_each_after(scene *s)
{
    for (uint64_t i = 0; i < s->count; i++)
        ok(culv_vmm_unmap_after(s->range, i * BLOCK, BLOCK, s->stream));
}

static void let_go(scene *s)
{
    const raw_cuda *cu = s->bench->rig.cu;
    atomic_store(&open_gate, true);
    RIG_CU(cu->StreamSynchronize(s->stream));
    RIG_CU(cu->StreamDestroy(s->stream));
}

static void end_held(scene *s)
{
    let_go(s);
    end_range(s);
}

static void unmap_and_let_go(scene *s)
{
    hold_stream(s);
    unmap_each_after(s);
    let_go(s);
}

static void collect(scene *s)
{
    REQUIRE(culv_device_collect(s->device) == 0);
}

/* Adopted chunks ------------------------------------------------------------------------------- */

static void adopt_all(scene *s)
{
    map_all(s);
    s->adopted = calloc(s->count, sizeof(culv_vmm_adopted *));
    REQUIRE(s->adopted != NULL);
}

static void adopt_and_drop(scene *s)
{
    const CUdeviceptr base = culv_vmm_range_pointer(s->range);
    for (uint64_t i = 0; i < s->count; i++)
        ok(culv_vmm_adopt(s->device, base + i * BLOCK, BLOCK, &s->adopted[i]));
    for (uint64_t i = 0; i < s->count; i++)
        culv_vmm_adopted_destroy(&s->adopted[i]);
}

static void end_adopted(scene *s)
{
    free(s->adopted);
    unmap_at_once(s);
    end_range(s);
}

/* Vectors -------------------------------------------------------------------------------------- */

static void grow(scene *s)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.size = s->count * BLOCK;
    d.max_chunk = BLOCK;
    ok(culv_vector_create(s->device, &d, &s->vector));
}

static void destroy_vector(scene *s)
{
    culv_vector_destroy(&s->vector);
}

static void nothing(scene *s)
{
    (void)s;
}

/* The rows ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*make)(scene *s);
    void (*act)(scene *s); /* what is timed */
    void (*end)(scene *s);
    uint64_t share; /* of the entries; 1: all */
} rows[] = {
    {"registrations, the cache destroyed", register_all, destroy_cache, end_cache, 1},
    {"registrations, invalidated", register_all, invalidate_cache, end_cache, 1},
    {"registrations, trimmed", register_all, trim_cache, end_cache, 1},
    {"mappings, unmapped at once", map_all, unmap_at_once, end_range, 4},
    {"mappings, unmapped one by one", map_all, unmap_each, end_range, 4},
    {"mappings, unmapped after a stream that waits", hold_stream, unmap_each_after, end_held, 4},
    {"deferred objects, collected", unmap_and_let_go, collect, end_range, 4},
    {"adopted chunks, adopted and dropped", adopt_all, adopt_and_drop, end_adopted, 4},
    {"chunks of a vector, destroyed", grow, destroy_vector, nothing, 40},
};

void teardown(const bench *b, uint64_t most, teardown_row *report, void *user)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint64_t entries = most / 4; entries != 0 && entries <= most; entries *= 2) {
            scene s = {.bench = b, .device = b->rig.device, .count = entries / rows[i].share};
            if (s.count == 0) continue;
            rows[i].make(&s);
            struct timespec before, after;
            clock_gettime(CLOCK_MONOTONIC, &before);
            rows[i].act(&s);
            clock_gettime(CLOCK_MONOTONIC, &after);
            const double ns = (double)(after.tv_sec - before.tv_sec) * 1e9 +
                              (double)(after.tv_nsec - before.tv_nsec);
            rows[i].end(&s);
            report(user, rows[i].name, s.count, ns);
        }
}
