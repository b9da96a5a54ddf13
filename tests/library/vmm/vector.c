/* SPDX-License-Identifier: MIT */
/* culv_vector: growing. */
#include "vmm_stage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* A vmm_stage with a stream and two kernels. */
typedef struct vector_stage {
    lib_world w;
    vmm_stage of; /* whose world it is */
    CUstream stream;
    CUmodule module;
    CUfunction write, add;
    uint64_t chunk;   /* the granularity */
    CUdeviceptr wall; /* addresses that are taken, of this size */
    uint64_t wall_size;
    atomic_bool held; /* what vector_hold() submitted waits as long as this is so */
} vector_stage;

#define VECTOR_CASE(...)                                                                           \
    TEST_ON(vector_stage, s, vector_stage_open(s), vector_stage_close(s), __VA_ARGS__)

/* On the twin: VMM objects that the driver has. */
typedef struct vector_objects {
    uint64_t allocations, reservations, mappings;
} vector_objects;

static uint32_t seed_at(uint64_t offset, uint32_t seed)
{
    return lib_word((uint32_t)(offset / 4), seed);
}

/* What was held is done, and given back. */
static void vector_let_go(vector_stage *s)
{
    atomic_store(&s->held, false);
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
}

static void vector_open_wall(vector_stage *s)
{
    if (s->wall == 0) return;
    LIB_CU_OK(&s->w, s->w.cu->MemAddressFree(s->wall, (size_t)s->wall_size));
    s->wall = 0;
}

static bool vector_objects_of(const vector_stage *s, vector_objects *out)
{
    const culv_soft_counts c = lib_soft_counts(s->w.cu);
    *out = (vector_objects){c.physical_allocations, c.reservations, c.virtual_mappings};
    return s->w.cu->SoftCounts != NULL;
}

static void load(vector_stage *s)
{
    s->stream = lib_stream(&s->w);
    CUcontext before = lib_enter(&s->w);
    s->module = raw_cuda_load(s->w.cu, "library_kernels");
    s->write = raw_cuda_function(s->w.cu, s->module, "library_write");
    s->add = raw_cuda_function(s->w.cu, s->module, "library_add");
    lib_leave(&s->w, before);
}

static void unload(vector_stage *s)
{
    LIB_CU_OK(&s->w, s->w.cu->ModuleUnload(s->module));
    lib_stream_destroy(&s->w, s->stream);
}

static void vector_stage_open(vector_stage *s)
{
    memset(s, 0, sizeof *s);
    vmm_stage_open(&s->of);
    s->w = s->of.w;
    s->chunk = VMM_BLOCK;
    load(s);
}

/* Requires that nothing is left. */
static void vector_stage_close(vector_stage *s)
{
    vector_let_go(s);
    vector_open_wall(s);
    unload(s);
    vmm_stage_close(&s->of);
}

static void launch(const vector_stage *s, CUfunction kernel, CUdeviceptr at, uint64_t bytes,
                   uint32_t value)
{
    unsigned count = (unsigned)(bytes / 4);
    void *params[] = {&at, &count, &value};
    REQUIRE(bytes % 4 == 0 && bytes / 4 <= UINT32_MAX);
    if (count == 0) return;
    LIB_CU_OK(&s->w, s->w.cu->LaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0,
                                           s->stream, params, NULL));
    lib_finish(&s->w, s->stream);
}

/* Each word from byte `from` on becomes what lib_word() says of its index from `base` on; done when
 * it returns. */
static void vector_write(const vector_stage *s, CUdeviceptr base, uint64_t from, uint64_t to,
                         uint32_t seed)
{
    launch(s, s->write, base + from, to - from, seed_at(from, seed));
}

static void vector_add(const vector_stage *s, CUdeviceptr base, uint64_t size, uint32_t addend)
{
    launch(s, s->add, base, size, addend);
}

/* The same words, and `addend` on top, are there. */
static void vector_require(const vector_stage *s, CUdeviceptr base, uint64_t size, uint32_t seed,
                           uint32_t addend)
{
    vmm_require_words(s->w.device, s->w.cu, base, (size_t)(size / 4), seed + addend);
}

static void CUDA_CB hold(void *user)
{
    const atomic_bool *held = user;
    while (atomic_load(held))
        lib_sleep_ms(1);
}

/* The stream does nothing any more before vector_let_go(). */
static void vector_hold(vector_stage *s)
{
    atomic_store(&s->held, true);
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(s->stream, hold, &s->held));
}

static culv_vector *vector_make(const vector_stage *s, const culv_vector_desc *d)
{
    NEW(culv_vector, v, culv_vector_create, s->w.device, d);
    return v;
}

static culv_vector_stats vector_stats(const culv_vector *v)
{
    culv_vector_stats out = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v, &out));
    return out;
}

static size_t check_once(const culv_vector *v, bool *changed);

/* Chunks lie side by side from 0 to what is committed, with ids that rise. Returns how many there
 * are. */
static size_t vector_check(const culv_vector *v)
{
    bool changed = true; /* by a thread that commits ahead */
    size_t count = 0;
    for (int i = 0; changed && i < 100; i++)
        count = check_once(v, &changed);
    REQUIRE(!changed);
    return count;
}

static size_t check_once(const culv_vector *v, bool *changed)
{
    size_t count = 0, again = 0;
    uint64_t end = 0, id = 0, generation = 0, before = 0, after = 0;
    LIB_OK(culv_vector_get_parts(v, NULL, 0, &count, &before));
    culv_part *chunks = calloc(count + 1, sizeof *chunks);
    REQUIRE(chunks != NULL);
    LIB_OK(culv_vector_get_parts(v, chunks, count, &again, &generation));
    const uint64_t committed = culv_vector_committed(v), size = culv_vector_size(v);
    const culv_vector_stats stats = vector_stats(v);
    size_t at_last = 0;
    LIB_OK(culv_vector_get_parts(v, NULL, 0, &at_last, &after));
    *changed = after != before;
    if (!*changed) {
        REQUIRE_EQ(again, count);
        REQUIRE_EQ(generation, before);
        for (size_t i = 0; i < count; i++) {
            culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
            LIB_OK(culv_vmm_allocation_get_info(chunks[i].allocation, &info));
            REQUIRE_EQ(info.size, chunks[i].size);
            REQUIRE_EQ(chunks[i].offset, end);
            REQUIRE(chunks[i].id > id && chunks[i].size > 0);
            end += chunks[i].size;
            id = chunks[i].id;
        }
        REQUIRE_EQ(committed, end);
        REQUIRE(size <= end);
        REQUIRE_EQ(stats.chunks, count);
        REQUIRE(stats.peak >= end && stats.reserved >= end);
    }
    free(chunks);
    return count;
}

/* The addresses behind the vector are somebody else's, until the stage closes or
 * vector_open_wall(). */
static void vector_wall(vector_stage *s, const culv_vector *v)
{
    const raw_cuda *cu = s->w.cu;
    const CUdeviceptr end = culv_vector_pointer(v) + vector_stats(v).reserved;
    REQUIRE(s->wall == 0);
    CUcontext before = lib_enter(&s->w);
    /* Where something else is already, the driver chooses another place; small ones NVIDIA's puts
     * elsewhere in any case. */
    for (s->wall_size = s->chunk; s->wall_size <= 256 * s->chunk; s->wall_size *= 16) {
        CU_OK(cu->MemAddressReserve(&s->wall, (size_t)s->wall_size, 0, end, 0));
        if (s->wall == end || s->wall_size == 256 * s->chunk) break;
        CU_OK(cu->MemAddressFree(s->wall, (size_t)s->wall_size));
    }
    lib_leave(&s->w, before);
}

static uint64_t calls_of(const vector_stage *s)
{
    return lib_soft_counts(s->w.cu).calls;
}

/* What a grow makes the driver do, when addresses are there: as much as raw code. */
VECTOR_CASE(calls)
{
    OWN(culv_vector) *v = vector_make(s, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    if (s->w.cu->SoftCounts == NULL) return;
    CUcontext current = lib_enter(&s->w);
    const uint64_t before = calls_of(s);
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    const uint64_t after = calls_of(s);
    lib_leave(&s->w, current);
    MEASURED("vector_grow_calls", "%d", (int)(after - before));
    /* Three of virtual memory management, and with two of them one that looks whether the context
     * is still there, one whether it is current, and two that spare captures. */
    REQUIRE(after - before <= 3 + 2 * 4);
    const uint64_t idle = calls_of(s);
    LIB_OK(culv_vector_grow(v, 2 * s->chunk - 5));
    REQUIRE_EQ(calls_of(s), idle);
}

/* What is reserved and committed for a size to begin with; and a grow while a kernel runs waits for
 * nothing. */
VECTOR_CASE(begins)
{
    const uint64_t c = s->chunk;
    const struct {
        uint64_t reserve, size, reserved, committed;
    } rows[] = {
        {8 * c - 1, 8 * c + 1, 9 * c, 9 * c}, /* more than is to be reserved */
        {64 * GIB, c, 64 * GIB, c},           /* addresses; and memory for what is used */
        {0, 128 * MIB, 16 * 128 * MIB, 128 * MIB},
        {8 * c - 1, 3 * c + 12, 8 * c, 4 * c},
    };
    OWN(culv_vector) *v = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vector_desc d = culv_vector_desc_init();
        d.reserve = rows[i].reserve;
        d.size = rows[i].size;
        culv_vector_destroy(&v, NULL);
        v = vector_make(s, &d);
        LIB_OK(culv_vector_reserve(v, rows[i].reserved));
        REQUIRE_EQ(culv_vector_size(v), rows[i].size);
        REQUIRE_EQ(culv_vector_committed(v), rows[i].committed);
        REQUIRE_EQ(vector_stats(v).reserved, rows[i].reserved);
        REQUIRE_EQ(vector_check(v), 1);
    }
    vector_hold(s);
    LIB_OK(culv_vector_grow(v, 5 * c));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    vector_let_go(s);
    vector_write(s, culv_vector_pointer(v), 0, 5 * c, 1);
    vector_require(s, culv_vector_pointer(v), 5 * c, 1, 0);
}

/* Lives of vectors: sizes, to which they grow and shrink, and the chunks that there are in the end,
 * in granularities. What was written stays, at the same address, for one kernel over all chunks;
 * and each step that changes the chunks is a generation. */
VECTOR_CASE(policies)
{
    enum { STEPS = 6, CHUNKS = 6 };
    const uint64_t c = s->chunk;
    const struct {
        uint64_t reserve, min_chunk, max_chunk; /* the last two in bytes */
        uint32_t percent, no_move;
        int64_t steps[STEPS]; /* less than 0: a shrink */
        uint64_t chunks[CHUNKS];
    } rows[] = {
        {0, 0, 0, 0, 0, {1, 2, 4, 8, 16, 15}, {1, 1, 2, 4, 8}},
        {64, 4 * c - 1, 0, 0, 0, {1, 10}, {4, 6}},
        {64, 0, 3 * c + 1, 0, 0, {8}, {3, 3, 2}},
        {64, 0, 0, 50, 0, {8, 9, 12, 13}, {8, 4, 6}}, /* what 12 asks for is there */
        /* The part that is committed besides is one chunk at most. */
        {64, 0, 2 * c, 50, 0, {8, 9}, {2, 2, 2, 2, 2}},
        /* Where there is no memory for the policy, or no addresses, what is asked for is enough. */
        {512 * GIB / c, 0, 0, UINT32_MAX, 0, {2, 3}, {2, 1}},
        {8, 0, 0, UINT32_MAX, 1, {5, 6}, {5, 3}},
        /* What a policy wants beyond the size goes by a shrink to that size, unless its chunk is
         * in use. */
        {64, c, c, 100, 0, {4, -1, 1}, {1}},
        {64, 0, 0, 100, 0, {2, 3, -2, 3, -3}, {2, 2}},
        {16, c, c, 0, 0, {6, -3, -5, -2, 4, -4}, {1, 1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vector_desc d = culv_vector_desc_init();
        culv_part chunks[CHUNKS];
        size_t count = 0, should = 0;
        uint64_t peak = 0, had = 0;
        d.reserve = rows[i].reserve * c;
        d.min_chunk = rows[i].min_chunk;
        d.max_chunk = rows[i].max_chunk;
        d.growth_percent = rows[i].percent;
        d.no_move = rows[i].no_move;
        OWN(culv_vector) *v = vector_make(s, &d);
        const CUdeviceptr base = culv_vector_pointer(v);
        REQUIRE(base != 0 && base % c == 0 && culv_vector_size(v) == 0);
        REQUIRE(culv_vector_committed(v) == 0 && culv_vector_generation(v) == 1);
        REQUIRE(vector_stats(v).reserved >= (d.reserve > 0 ? d.reserve : GIB));
        for (size_t k = 0; k < STEPS && rows[i].steps[k] != 0; k++) {
            const bool shrinks = rows[i].steps[k] < 0;
            const uint64_t size = (uint64_t)llabs(rows[i].steps[k]) * c - 4;
            const uint64_t committed = culv_vector_committed(v);
            const uint64_t generation = culv_vector_generation(v);
            LIB_OK(shrinks ? culv_vector_shrink(v, size, s->stream) : culv_vector_grow(v, size));
            if (shrinks ? size < had : size > had) had = size;
            REQUIRE(culv_vector_size(v) == had && culv_vector_pointer(v) == base);
            REQUIRE_EQ(culv_vector_generation(v),
                       generation + (culv_vector_committed(v) != committed));
            if (culv_vector_committed(v) > peak) peak = culv_vector_committed(v);
            (void)vector_check(v);
            if (!shrinks) vector_write(s, base, committed, culv_vector_committed(v), 7);
            vector_require(s, base, had, 7, 0);
        }
        vector_add(s, base, had, 5);
        vector_require(s, base, had, 7, 5);
        const culv_vector_stats stats = vector_stats(v);
        REQUIRE_EQ(stats.peak, peak);
        REQUIRE_EQ(stats.moves + stats.extensions + stats.retiring + stats.ahead_commits +
                       stats.ahead_misses,
                   0);
        LIB_OK(culv_vector_get_parts(v, chunks, CHUNKS, &count, NULL));
        while (should < CHUNKS && rows[i].chunks[should] > 0)
            should++;
        REQUIRE_EQ(count, should);
        for (size_t k = 0; k < should; k++)
            REQUIRE_EQ(chunks[k].size, rows[i].chunks[k] * c);
    }
}

/* A second device writes, and the vector's own sees it; of a chunk that came by growing too. */
TEST(two_devices)
{
    vector_stage s;
    raw_cuda_two_devices();
    const raw_cuda *cu = lib_driver();
    int reach = 0;
    if (cu->device_count < 2) SKIP("one CUDA device only");
    vector_stage_open(&s);
    culv_device *other = lib_another_device(1, NULL);
    CU_OK(cu->DeviceCanAccessPeer(&reach, 1, 0));
    if (!reach) SKIP("the second device does not reach the first one's memory");
    culv_vmm_access access[2];
    memset(access, 0, sizeof access);
    access[0].flags = access[1].flags = CULV_VMM_ACCESS_READ_WRITE;
    access[1].device = other;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 4 * s.chunk;
    d.access = access;
    d.access_count = 2;
    d.size = s.chunk;
    culv_vector *v = vector_make(&s, &d);
    vector_stage there = s;
    there.w.device = other;
    there.w.context = culv_device_context(other);
    load(&there);
    vector_wall(&s, v);
    for (uint64_t size = s.chunk; size <= 8 * s.chunk;
         size *= 2) { /* the last one moves or extends */
        LIB_OK(culv_vector_grow(v, size));
        vector_write(&there, culv_vector_pointer(v), 0, size, (uint32_t)size);
        vector_require(&s, culv_vector_pointer(v), size, (uint32_t)size, 0);
        vector_add(&s, culv_vector_pointer(v), size, 1);
        vector_require(&there, culv_vector_pointer(v), size, (uint32_t)size, 1);
    }
    culv_vector_destroy(&v, NULL);
    unload(&there);
    culv_device_close(&other);
    vector_stage_close(&s);
}

/* A vector goes before or after its device is closed. */
VECTOR_CASE(outlives_its_device)
{
    culv_device *second = lib_another_device(0, NULL);
    NEW(OWN(culv_vector), v, culv_vector_create, second, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    culv_device_close(&second);
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    vector_write(s, culv_vector_pointer(v), 0, 2 * s->chunk, 4);
    vector_require(s, culv_vector_pointer(v), 2 * s->chunk, 4, 0);
}

#undef TEST_GROUP
#define TEST_GROUP "errors."
/* culv_vector: what is refused. */

#define REFUSED(change, class, ...)                                                                \
    SPOILT(d, d.change,                                                                            \
           LIB_REFUSES(none, culv_vector_create(s->w.device, &d, &none), class, __VA_ARGS__))

VECTOR_CASE(descriptors)
{
    culv_vector *none;
    size_t count = 0;
    culv_vector_desc d = culv_vector_desc_init();
    const culv_vmm_access odd = {.flags = (culv_vmm_access_flags)77};
    struct {
        culv_vector_desc d;
        size_t later;
    } newer = {culv_vector_desc_init(), 1};
    newer.d.struct_size = sizeof newer;
    LIB_REFUSES(none, culv_vector_create(s->w.device, &newer.d, &none), UNSUPPORTED, STRUCT_SIZE,
                "culv_vector_desc");
    REFUSED(struct_size = 0, INVALID, STRUCT_SIZE, "culv_vector_desc");
    REFUSED(max_chunk = s->chunk - 1, INVALID, VALUE, "max_chunk");
    REFUSED(min_chunk = UINT64_MAX, INVALID, VALUE, "min_chunk");
    REFUSED(usage = CULV_VMM_USAGE_TILE_POOL, INVALID, VALUE, "tile pools");
    REFUSED(usage = 1u << 30, INVALID, VALUE);
    REFUSED(access_count = 1, INVALID, NULL_ARGUMENT, "access");
    d.access = &odd;
    REFUSED(access_count = 1, INVALID, VALUE);
    d.max_chunk = 3 * s->chunk;
    REFUSED(min_chunk = 4 * s->chunk, INVALID, VALUE, "min_chunk");
    d = culv_vector_desc_init();
    d.struct_size =
        offsetof(culv_vector_desc, reserve); /* an older one: what lies behind is not read */
    d.size = s->chunk;
    memset((char *)&d + d.struct_size, 0x77, sizeof d - d.struct_size);
    OWN(culv_vector) *v = vector_make(s, &d);
    culv_vector_stats stats = culv_vector_stats_init();
    stats.struct_size = offsetof(culv_vector_stats, peak);
    stats.peak = 77;
    LIB_OK(culv_vector_get_stats(v, &stats));
    REQUIRE_EQ(stats.committed, s->chunk);
    REQUIRE_EQ(stats.peak, 77);
    stats.struct_size = 0;
    LIB_INVALID(culv_vector_get_stats(v, &stats), STRUCT_SIZE);
    LIB_INVALID(culv_vector_get_parts(v, NULL, 1, &count, NULL), NULL_ARGUMENT);
    LIB_INVALID(culv_vector_retire(v, 4096, NULL), VALUE);
    REQUIRE_EQ(culv_vector_pointer(NULL), 0);
    REQUIRE_EQ(culv_vector_size(NULL), 0);
    REQUIRE_EQ(culv_vector_committed(NULL), 0);
    REQUIRE_EQ(culv_vector_generation(NULL), 0);
}

/* Sizes at the end of what 64 bits hold. */
VECTOR_CASE(huge)
{
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 4096};
    culv_vector_desc d = culv_vector_desc_init();
    culv_vector *none;
    OWN(culv_vector) *v = vector_make(s, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        REFUSED(size = sizes[i], INVALID, SIZE, "size");
        REFUSED(reserve = sizes[i], INVALID, SIZE, "reserve");
        LIB_INVALID(culv_vector_grow(v, sizes[i]), SIZE);
        LIB_INVALID(culv_vector_reserve(v, sizes[i]), SIZE);
    }
    REFUSED(reserve = UINT64_C(1) << 60, OUT_OF_MEMORY, ADDRESS, "addresses");
    REFUSED(size = 512 * GIB, OUT_OF_MEMORY, DEVICE_MEMORY);
    REQUIRE_EQ(culv_vector_size(v), s->chunk);
    REQUIRE_EQ(vector_check(v), 1);
    /* Ahead of everything: all that there is. */
    d.commit_ahead = UINT64_MAX;
    d.reserve = 4 * s->chunk;
    d.no_move = 1;
    OWN(culv_vector) *full = vector_make(s, &d);
    vector_wall(s, full);
    LIB_OK(culv_vector_shrink(full, 0, s->stream)); /* beyond what is kept ahead there is nothing */
}

/* A vector's chunks go with the vector, and messages name the call that was made. */
VECTOR_CASE(chunks)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    culv_vector *v = vector_make(s, NULL);
    culv_part chunk[2];
    size_t count = 0;
    LIB_OK(culv_vector_grow(v, s->chunk));
    LIB_OK(culv_vector_grow(v, s->chunk + 4));
    LIB_OK(culv_vector_get_parts(v, chunk, 2, &count, NULL));
    REQUIRE_EQ(count, 2);
    for (int i = 0; i < 2; i++) {
        LIB_INVALID(culv_vmm_allocation_destroy(&chunk[i].allocation), OWNED);
        REQUIRE(chunk[i].allocation != NULL);
        LIB_SAYS("culv_vmm_allocation_destroy: it is a part of another object; "
                 "culv_vector_destroy() destroys both");
    }
    vector_write(s, culv_vector_pointer(v), 0, s->chunk + 4, 5);
    vector_require(s, culv_vector_pointer(v), s->chunk + 4, 5, 0);
    CUgraph graph = NULL;
    CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    const culv_vector_stats had = vector_stats(v);
    LIB_INVALID(culv_vector_shrink(v, 0, s->stream), CAPTURE, "culv_vector_shrink: the stream");
    const culv_vector_stats has = vector_stats(v);
    REQUIRE_EQ_BYTES(&has, &had, sizeof had);
    LIB_OK(culv_vector_grow(v, 3 * s->chunk)); /* which breaks no capture */
    CU_OK(cu->StreamEndCapture(s->stream, &graph));
    CU_OK(cu->GraphDestroy(graph));
    LIB_OK(culv_vector_shrink(v, 1, s->stream));
    REQUIRE_EQ(vector_check(v), 1);
    culv_vector_destroy(&v, NULL);
    lib_leave(&s->w, before);
}

/* Lets a driver call fail as often as a script says, which names its calls in order. */
typedef struct saboteur {
    const raw_cuda *cu;
    const char *const *script; /* "cuMemMap 2": the second one from here on; NULL: the end */
    unsigned met;
} saboteur;

static const char *const nothing[] = {NULL};

static void sabotage(void *user, culv_log_level level, const char *message)
{
    saboteur *it = user;
    char call[64] = "";
    unsigned nth = 0;
    if (level != CULV_LOG_DEBUG || *it->script == NULL) return;
    REQUIRE_EQ(sscanf(*it->script, "%63s %u", call, &nth), 2);
    const char *at = strstr(message, call);
    if (at == NULL || at[strlen(call)] != '(' || ++it->met < nth) return;
    it->cu->SoftFailAt(1, CUDA_ERROR_UNKNOWN);
    it->met = 0;
    it->script++;
}

static void open_sabotaged(saboteur *it, const vector_stage *s, culv_device **device)
{
    if (s->w.cu->SoftFailAt == NULL) SKIP("the twin alone fails when it is told to");
    *it = (saboteur){.cu = s->w.cu, .script = nothing};
    *device = lib_another_device(0, &(culv_log){sabotage, it, CULV_LOG_DEBUG});
}

/* A grow whose undoing meets a failure too: the next one finds its place free. */
VECTOR_CASE(undone_in_vain)
{
    static const char *const script[] = {"cuMemMap 2", "cuMemUnmap 1", NULL};
    saboteur it;
    OWN(culv_device) *device = NULL;
    open_sabotaged(&it, s, &device);
    culv_vector_desc d = culv_vector_desc_init();
    d.size = s->chunk;
    d.max_chunk = s->chunk;
    NEW(OWN(culv_vector), v, culv_vector_create, device, &d);
    it.script = script;
    LIB_ERROR(culv_vector_grow(v, 3 * s->chunk), DRIVER, DRIVER_REFUSED);
    REQUIRE(*it.script == NULL);
    REQUIRE_EQ(culv_vector_committed(v), s->chunk);
    REQUIRE_EQ(vector_check(v), 1);
    LIB_OK(culv_vector_grow(v, 3 * s->chunk));
    vector_write(s, culv_vector_pointer(v), 0, 3 * s->chunk, 5);
    vector_require(s, culv_vector_pointer(v), 3 * s->chunk, 5, 0);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* culv_vector where its addresses end: in place, and moving. */

/* What a vector told of its moves. */
typedef struct moves {
    unsigned count;
    culv_vector *vector;
    CUdeviceptr before, now;
    uint64_t size; /* as the callback saw it */
} moves;

static void note_move(void *context, culv_vector *vector, CUdeviceptr before, CUdeviceptr now)
{
    moves *m = context;
    m->count++;
    m->vector = vector;
    m->before = before;
    m->now = now;
    m->size = culv_vector_size(vector);
    REQUIRE_EQ(culv_vector_pointer(vector), now);
}

/* A vector of four granularities of addresses, `size` bytes of them written. */
static culv_vector *make_small(vector_stage *s, uint64_t size, moves *m, bool fixed)
{
    culv_vector_desc d = culv_vector_desc_init();
    memset(m, 0, sizeof *m);
    d.reserve = 4 * s->chunk;
    d.moved = note_move;
    d.moved_context = m;
    d.no_move = fixed;
    d.label = "small";
    culv_vector *v = vector_make(s, &d);
    for (uint64_t at = s->chunk; at <= size; at += s->chunk)
        LIB_OK(culv_vector_grow(v, at));
    vector_write(s, culv_vector_pointer(v), 0, size, 11);
    return v;
}

/* Addresses behind it that are free are taken; no chunk lies in two reservations. */
VECTOR_CASE(extends_in_place)
{
    moves m;
    culv_vmm_range *behind = NULL, *probe = NULL;
    culv_vector *v = NULL, *others[8] = {NULL};
    CUdeviceptr base = 0;
    /* What is reserved next comes below this, on the twin, so that giving it back leaves room
     * behind the vector. Other drivers choose by rules of their own: several vectors are made, and
     * the first one with room is taken. */
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = GIB;
    LIB_OK(culv_vmm_range_create(s->w.device, &rd, &behind));
    others[0] = make_small(s, 3 * s->chunk, &m, true);
    LIB_OK(culv_vmm_range_destroy(&behind));
    rd.size = 6 * s->chunk;
    for (size_t i = 0; v == NULL && i < sizeof others / sizeof others[0]; i++) {
        if (i > 0) others[i] = make_small(s, 3 * s->chunk, &m, true);
        base = culv_vector_pointer(others[i]);
        rd.address = base + vector_stats(others[i]).reserved;
        if (culv_vmm_range_create(s->w.device, &rd, &probe) != CULV_OK) continue;
        LIB_OK(culv_vmm_range_destroy(&probe));
        v = others[i];
        others[i] = NULL;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        culv_vector_destroy(&others[i], NULL);
    if (v == NULL) SKIP("no addresses are free behind any vector");
    LIB_OK(culv_vector_grow(v, 7 * s->chunk));
    REQUIRE_EQ(culv_vector_pointer(v), base);
    REQUIRE_EQ(vector_stats(v).extensions, 1);
    REQUIRE_EQ(vector_stats(v).reserved, 8 * s->chunk);
    REQUIRE_EQ(vector_check(v), 5); /* one up to the seam, one behind it */
    REQUIRE_EQ(culv_vector_generation(v), 5);
    vector_require(s, base, 3 * s->chunk, 11, 0);
    vector_write(s, base, 3 * s->chunk, 7 * s->chunk, 11);
    vector_add(s, base, 7 * s->chunk, 2);
    vector_require(s, base, 7 * s->chunk, 11, 2);
    LIB_OK(culv_vector_reserve(v, 9 * s->chunk + 1)); /* once more, and nothing is committed */
    REQUIRE_EQ(vector_stats(v).extensions, 2);
    REQUIRE_EQ(vector_stats(v).reserved, 10 * s->chunk);
    REQUIRE_EQ(culv_vector_generation(v), 5);
    REQUIRE_EQ(culv_vector_committed(v), 7 * s->chunk);
    LIB_OK(culv_vector_grow(v, 10 * s->chunk));
    REQUIRE_EQ(vector_check(v), 7);
    LIB_OK(culv_vector_shrink(v, s->chunk, s->stream)); /* over both seams */
    REQUIRE_EQ(culv_vector_committed(v), s->chunk);
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_grow(v, 9 * s->chunk));
    vector_require(s, base, s->chunk, 11, 2);
    vector_write(s, base, 0, 9 * s->chunk, 12);
    vector_require(s, base, 9 * s->chunk, 12, 0);
    REQUIRE_EQ(vector_stats(v).peak, 10 * s->chunk);
    REQUIRE_EQ(m.count, 0);
    culv_vector_destroy(&v, NULL);
}

/* Where they are taken it moves, without a copy: the same memory is at both addresses. */
VECTOR_CASE(moves_without_a_copy, .smoke = true)
{
    moves m;
    vector_objects had = {0}, has = {0};
    OWN(culv_vector) *v = make_small(s, 3 * s->chunk, &m, false);
    const CUdeviceptr old = culv_vector_pointer(v);
    vector_wall(s, v);
    const bool counts = vector_objects_of(s, &had);
    LIB_OK(culv_vector_grow(v, 6 * s->chunk));
    const CUdeviceptr now = culv_vector_pointer(v);
    REQUIRE(now != old);
    REQUIRE_EQ(m.count, 1);
    REQUIRE(m.vector == v && m.before == old && m.now == now && m.size == 6 * s->chunk);
    culv_vector_stats stats = vector_stats(v);
    REQUIRE(stats.moves == 1 && stats.retiring == 1);
    REQUIRE_EQ(stats.extensions, 0);
    REQUIRE_EQ(stats.peak, 6 * s->chunk); /* aliases are no memory */
    REQUIRE(stats.reserved >= 8 * s->chunk);
    REQUIRE_EQ(culv_vector_generation(v), 5);
    REQUIRE_EQ(vector_check(v), 4);
    if (counts) {
        REQUIRE(vector_objects_of(s, &has));
        REQUIRE_EQ(has.allocations, had.allocations + 1);
        REQUIRE_EQ(has.mappings, 2 * had.mappings + 1);
    }
    vector_require(s, now, 3 * s->chunk, 11, 0);
    vector_require(s, old, 3 * s->chunk, 11, 0);
    vector_add(s, old, 3 * s->chunk, 1); /* a kernel that has the old address goes on */
    vector_require(s, now, 3 * s->chunk, 11, 1);
    vector_write(s, now, 0, 6 * s->chunk, 21);
    vector_require(s, old, 3 * s->chunk, 21, 0);

    LIB_INVALID(culv_vector_retire(v, now, s->stream), VALUE);
    LIB_INVALID(culv_vector_retire(v, old + 4, s->stream), VALUE);
    LIB_OK(culv_vector_shrink(v, 2 * s->chunk, s->stream)); /* at both addresses */
    lib_settle(&s->w);
    if (counts) {
        REQUIRE(vector_objects_of(s, &has));
        REQUIRE_EQ(has.allocations, had.allocations - 1);
    }
    vector_hold(s);
    LIB_OK(culv_vector_retire(v, old, s->stream)); /* DEFERS */
    REQUIRE_EQ(vector_stats(v).retiring, 0);
    REQUIRE(lib_counts(&s->w).deferred > 0);
    if (counts) {
        vector_objects held = {0};
        REQUIRE(vector_objects_of(s, &held));
        REQUIRE_EQ(held.mappings, has.mappings);
    }
    vector_let_go(s);
    if (counts) {
        REQUIRE(vector_objects_of(s, &has));
        REQUIRE_EQ(has.mappings, 2);
        REQUIRE_EQ(has.reservations, had.reservations); /* the wall and the vector's one */
    }
    LIB_INVALID(culv_vector_retire(v, old, s->stream), VALUE);
    LIB_OK(culv_vector_retire(v, 0, s->stream)); /* all there are: none */
    vector_require(s, now, 2 * s->chunk, 21, 0);
}

/* Several times, with nobody to tell; old addresses go together, or with the vector. */
VECTOR_CASE(moves_often)
{
    moves m;
    for (unsigned how = 0; how < 3; how++) {
        culv_vector *v = make_small(s, s->chunk, &m, false);
        CUdeviceptr addresses[3];
        for (unsigned i = 0; i < 3; i++) {
            addresses[i] = culv_vector_pointer(v);
            /* NVIDIA's driver need not build the wall where it is to stand: then the vector may be
             * extended instead. */
            for (unsigned tries = 0; m.count == i && tries < 6; tries++) {
                vector_wall(s, v);
                LIB_OK(culv_vector_grow(v, vector_stats(v).reserved + 1));
                vector_open_wall(s);
            }
            if (m.count == i && !s->w.cu->software) {
                culv_vector_destroy(&v, NULL);
                SKIP(
                    "the driver lets nothing else stand behind the vector, which is extended and never moves");
            }
            REQUIRE_EQ(m.count, i + 1);
        }
        vector_write(s, culv_vector_pointer(v), 0, s->chunk, 5);
        for (unsigned i = 0; i < 3; i++)
            vector_require(s, addresses[i], s->chunk, 5, 0);
        REQUIRE_EQ(vector_stats(v).retiring, 3);
        if (how == 1) {
            LIB_OK(culv_vector_retire(v, addresses[1], s->stream));
            REQUIRE_EQ(vector_stats(v).retiring, 2);
            vector_require(s, addresses[2], s->chunk, 5, 0);
            LIB_OK(culv_vector_retire(v, 0, s->stream));
            REQUIRE_EQ(vector_stats(v).retiring, 0);
            lib_finish(&s->w, s->stream);
        }
        culv_vector_destroy(&v, how == 2 ? &s->stream : NULL);
        REQUIRE(v == NULL);
        lib_finish(&s->w, s->stream);
        lib_settle(&s->w);
    }
}

/* A vector that is `fixed` stays as it is. */
VECTOR_CASE(fixed)
{
    moves m;
    OWN(culv_vector) *v = make_small(s, 2 * s->chunk, &m, true);
    const CUdeviceptr base = culv_vector_pointer(v);
    vector_wall(s, v);
    const uint64_t generation = culv_vector_generation(v);
    LIB_ERROR(culv_vector_grow(v, 5 * s->chunk), OUT_OF_MEMORY, ADDRESS, "no_move");
    LIB_ERROR(culv_vector_reserve(v, 4 * s->chunk + 1), OUT_OF_MEMORY, ADDRESS);
    REQUIRE_EQ(culv_vector_size(v), 2 * s->chunk);
    REQUIRE_EQ(culv_vector_committed(v), 2 * s->chunk);
    REQUIRE_EQ(culv_vector_generation(v), generation);
    REQUIRE_EQ(vector_stats(v).reserved, 4 * s->chunk);
    LIB_OK(culv_vector_grow(v, 4 * s->chunk)); /* what is there may be used */
    REQUIRE_EQ(culv_vector_pointer(v), base);
    vector_require(s, base, 2 * s->chunk, 11, 0);
    REQUIRE_EQ(m.count, 0);
}

/* More than there is memory for, at another address: nothing has happened. */
VECTOR_CASE(too_much_memory)
{
    moves m;
    vector_objects had = {0}, has = {0};
    OWN(culv_vector) *v = make_small(s, 2 * s->chunk, &m, false);
    const CUdeviceptr base = culv_vector_pointer(v);
    vector_wall(s, v);
    const bool counts = vector_objects_of(s, &had);
    const culv_vector_stats before = vector_stats(v);
    LIB_ERROR(culv_vector_grow(v, 512 * GIB), OUT_OF_MEMORY, DEVICE_MEMORY);
    const culv_vector_stats after = vector_stats(v);
    REQUIRE_EQ_BYTES(&after, &before, sizeof before);
    REQUIRE_EQ(culv_vector_pointer(v), base);
    REQUIRE_EQ(m.count, 0);
    if (counts) {
        REQUIRE(vector_objects_of(s, &has));
        REQUIRE_EQ_BYTES(&has, &had, sizeof has);
    }
    vector_require(s, base, 2 * s->chunk, 11, 0);
    /* More than there are addresses for. */
    LIB_ERROR(culv_vector_reserve(v, UINT64_C(1) << 60), OUT_OF_MEMORY, ADDRESS);
    LIB_ERROR(culv_vector_grow(v, UINT64_C(1) << 62), OUT_OF_MEMORY, ADDRESS);
    REQUIRE_EQ(vector_check(v), 2);
    LIB_OK(culv_vector_grow(v, 6 * s->chunk));
    vector_require(s, culv_vector_pointer(v), 2 * s->chunk, 11, 0);
}
/* culv_vector: giving memory back while streams still use it. */

static uint64_t allocations(const vector_stage *s)
{
    vector_objects o = {0};
    return vector_objects_of(s, &o) ? o.allocations : UINT64_MAX;
}

static culv_vector *make(vector_stage *s, uint64_t chunks)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 16 * s->chunk;
    d.label = "shrinking";
    culv_vector *v = vector_make(s, &d);
    for (uint64_t i = 1; i <= chunks; i++)
        LIB_OK(culv_vector_grow(v, i * s->chunk));
    vector_write(s, culv_vector_pointer(v), 0, chunks * s->chunk, 31);
    return v;
}

static void nap(void *unused)
{
    lib_sleep_ms(50);
}

/* The chunks go when the stream has got there; a chunk that is used in part stays. */
VECTOR_CASE(shrinks)
{
    OWN(culv_vector) *v = make(s, 6);
    const CUdeviceptr base = culv_vector_pointer(v);
    vector_hold(s);
    LIB_OK(culv_vector_shrink(v, 2 * s->chunk + 1, s->stream));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY); /* it did not wait */
    REQUIRE_EQ(culv_vector_size(v), 2 * s->chunk + 1);
    REQUIRE_EQ(culv_vector_committed(v), 3 * s->chunk);
    REQUIRE_EQ(culv_vector_generation(v), 8);
    REQUIRE_EQ(vector_check(v), 3);
    REQUIRE(lib_counts(&s->w).deferred > 0);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 6); /* the stream may still use them */
    vector_let_go(s);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 3);
    vector_require(s, base, 3 * s->chunk, 31, 0);
    LIB_OK(culv_vector_shrink(v, 0, s->stream));
    REQUIRE_EQ(culv_vector_committed(v), 0);
    REQUIRE_EQ(vector_check(v), 0);
    REQUIRE_EQ(vector_stats(v).peak, 6 * s->chunk);
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_grow(v, s->chunk));
    vector_write(s, base, 0, s->chunk, 1);
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(s->stream, nap, NULL));
    LIB_OK(culv_vector_shrink(v, 0, s->stream));
    LIB_OK(culv_vector_grow(v, s->chunk)); /* it waits: the stream may still use the addresses */
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_SUCCESS);
}

/* Vectors that go at once, and when their stream is done. */
VECTOR_CASE(destroys)
{
    culv_vector *v = make(s, 3);
    vector_hold(s);
    culv_vector_destroy(&v, &s->stream);
    REQUIRE(v == NULL);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 3);
    vector_let_go(s);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 0);
    v = make(s, 3);
    vector_hold(s);
    LIB_OK(culv_vector_shrink(v, s->chunk, s->stream));
    culv_vector_destroy(&v, NULL); /* what it gave back before still waits for its stream */
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 2);
    vector_let_go(s);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 0);
    v = make(s, 0);
    culv_vector_destroy(&v, &s->stream);
}

/* Two refusals in a row: each object that stays with the driver has its line in the log, and what
 * stays with the device until its end has one for the whole vector. */
typedef struct refusals {
    const raw_cuda *cu;
    size_t kept;      /* lines of the first kind */
    bool with_device; /* the line of the second kind came */
    bool two;         /* the first refusal came, and the next call is refused too */
} refusals;

static void count_kept(void *user, culv_log_level level, const char *text)
{
    refusals *r = user;
    if (level == CULV_LOG_WARNING && strstr(text, "the driver keeps") != NULL) r->kept++;
    if (strstr(text, "is released with the device") != NULL) r->with_device = true;
}

static void refuse_the_next(void *user, const char *call)
{
    refusals *r = user;
    r->two = true;
    r->cu->SoftFailAt(1, CUDA_ERROR_UNKNOWN);
}

static uint64_t driver_objects(const raw_cuda *cu)
{
    const culv_soft_counts c = lib_soft_counts(cu);
    return c.physical_allocations + c.reservations + c.virtual_mappings + c.events;
}

TEST(two_refusals_are_told, .own = true)
{
    vector_stage s;
    vector_stage_open(&s);
    refusals r = {.cu = s.w.cu};
    if (r.cu->SoftBefore == NULL) SKIP("only the twin lets a test act between its calls");
    culv_device *device = lib_another_device(0, &(culv_log){count_kept, &r, CULV_LOG_WARNING});
    const uint64_t first = driver_objects(r.cu);
    uint64_t before = first;
    size_t told = 0;
    r.two = true;
    for (uint64_t n = 0; r.two; n++) { /* 0: no call fails */
        NEW(culv_vector, v, culv_vector_create, device, NULL);
        LIB_OK(culv_vector_grow(v, s.chunk));
        LIB_OK(culv_vector_grow(v, 2 * s.chunk));
        lib_finish(&s.w, s.stream);
        r.two = n == 0;
        r.kept = 0;
        r.with_device = false;
        r.cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
        r.cu->SoftBefore(n, refuse_the_next, &r);
        culv_vector_destroy(&v, &s.stream);
        (void)r.cu->StreamSynchronize(s.stream); /* it may be what is refused */
        (void)culv_device_collect(device);
        r.cu->SoftBefore(0, NULL, NULL);
        r.cu->SoftFailAt(0, 0);
        lib_finish(&s.w, s.stream);
        (void)culv_device_collect(device);
        const uint64_t now = driver_objects(r.cu);
        if (n == 0) before = now; /* what a device makes once */
        if (now > before + r.kept && !r.with_device)
            FAIL("calls %u and the next were refused: %u objects stay, and the log tells of %u",
                 (unsigned)n, (unsigned)(now - before), (unsigned)r.kept);
        before = now;
        told += r.kept;
    }
    REQUIRE(told > 0); /* an event that is refused twice has no third try */
    culv_device_close(&device);
    REQUIRE(driver_objects(r.cu) <= first + told);
    /* vector_stage_close() would find what the driver keeps. */
    unload(&s);
    culv_device_close(&s.of.w.device);
}

/* Where the stream cannot tell, the memory stays as long as the device. */
VECTOR_CASE(goes_with_its_device)
{
    CUgraph graph = NULL;
    culv_device_counts counts = culv_device_counts_init();
    const raw_cuda *cu = s->w.cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver captures no streams");
    culv_device *second = lib_another_device(0, NULL);
    NEW(culv_vector, v, culv_vector_create, second, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    const CUdeviceptr base = culv_vector_pointer(v);
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    culv_error was = culv_error_init(), is = culv_error_init();
    lib_forget_error();
    culv_last_error(&was);
    culv_vector_destroy(&v, &s->stream);
    REQUIRE(v == NULL);
    culv_last_error(&is); /* it has no errors to report */
    REQUIRE_EQ_STR(is.message, was.message);
    LIB_CU_OK(&s->w, cu->StreamEndCapture(s->stream, &graph));
    LIB_CU_OK(&s->w, cu->GraphDestroy(graph));
    LIB_OK(culv_device_get_counts(second, &counts));
    REQUIRE(counts.deferred > 0);
    REQUIRE_EQ(counts.vmm_mappings, 2);
    vector_write(s, base, 0, 2 * s->chunk, 3); /* what the graph would do */
    vector_require(s, base, 2 * s->chunk, 3, 0);
    culv_device_close(&second);
    if (cu->software) REQUIRE_EQ(allocations(s), 0);
}

#undef TEST_GROUP
#define TEST_GROUP "ahead."
/* culv_vector with a thread that commits ahead, and readers beside the one that grows. */

static void wait_committed(const culv_vector *v, uint64_t bytes)
{
    for (unsigned i = 0; culv_vector_committed(v) < bytes; i++) {
        if (i == TEST_FAR_MS)
            FAIL("%d bytes are committed after a minute, not %d", (int)culv_vector_committed(v),
                 (int)bytes);
        lib_sleep_ms(1);
    }
}

/* The thread has gone to sleep: nothing changes any more. */
static void wait_quiet(void)
{
    (void)test_asleep(0, 0, 0);
}

/* Growing into what is there calls no driver; the thread refills when less than half is left. */
VECTOR_CASE(publishes, .smoke = true)
{
    const uint64_t c = s->chunk;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 64 * c;
    d.commit_ahead = 8 * c;
    culv_vector *v = vector_make(s, &d);
    const CUdeviceptr base = culv_vector_pointer(v);
    wait_committed(v, 8 * c);
    wait_quiet();
    REQUIRE_EQ(culv_vector_size(v), 0);
    const uint64_t generation = culv_vector_generation(v), before = calls_of(s);
    for (uint64_t size = 1; size <= 4 * c; size += c / 2) {
        LIB_OK(culv_vector_grow(v, size));
        REQUIRE_EQ(culv_vector_size(v), size);
    }
    REQUIRE_EQ(calls_of(s), before);
    REQUIRE_EQ(culv_vector_generation(v), generation);
    vector_write(s, base, 0, 8 * c, 3);
    LIB_OK(culv_vector_grow(v, 5 * c)); /* less than half is left */
    wait_committed(v, 13 * c);
    wait_quiet();
    REQUIRE_EQ(culv_vector_committed(v), 13 * c);
    REQUIRE_EQ(culv_vector_size(v), 5 * c);
    culv_vector_stats stats = vector_stats(v);
    REQUIRE_EQ(stats.ahead_misses, 0);
    REQUIRE_EQ(stats.ahead_commits, 2);
    REQUIRE_EQ(vector_check(v), 2);
    vector_require(s, base, 8 * c, 3, 0);
    vector_write(s, base, 8 * c, 13 * c, 3);
    vector_require(s, base, 13 * c, 3, 0);
    LIB_OK(culv_vector_grow(v, 30 * c)); /* more than is there */
    REQUIRE_EQ(vector_stats(v).ahead_misses, 1);
    REQUIRE(culv_vector_committed(v) >= 30 * c);
    wait_committed(v, 38 * c);
    wait_quiet();
    LIB_OK(culv_vector_shrink(v, 2 * c, s->stream)); /* but for what is kept ahead */
    wait_quiet();
    REQUIRE_EQ(culv_vector_size(v), 2 * c);
    REQUIRE_EQ(culv_vector_committed(v), 13 * c); /* two chunks: 8 and 5 */
    vector_require(s, base, 13 * c, 3, 0);
    culv_vector_destroy(&v, NULL); /* while it may be at work */
}

/* Its failures are nobody's: a grow commits itself. */
VECTOR_CASE(survives_failures)
{
    const raw_cuda *cu = s->w.cu;
    const uint64_t c = s->chunk;
    if (cu->SoftFailAt == NULL) SKIP("only the twin fails on demand");
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 256 * c;
    d.commit_ahead = 4 * c;
    OWN(culv_vector) *v = vector_make(s, &d);
    uint64_t size = 0;
    for (unsigned n = 1; n <= 8; n++) { /* each of its calls in a commit */
        wait_committed(v, size + d.commit_ahead);
        wait_quiet();
        const uint64_t misses = vector_stats(v).ahead_misses;
        lib_forget_error();
        cu->SoftFailAt(n, n % 2 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN);
        size += 3 * c;
        LIB_OK(culv_vector_grow(v, size));
        wait_quiet();
        cu->SoftFailAt(0, 0);
        LIB_OK(culv_vector_grow(v, size += 6 * c)); /* by itself, or it is there all the same */
        REQUIRE(vector_stats(v).ahead_misses <= misses + 1);
        (void)vector_check(v);
    }
    vector_write(s, culv_vector_pointer(v), 0, size, 6);
    vector_require(s, culv_vector_pointer(v), size, 6, 0);
}

/* Six chunks of addresses, which the thread fills, and moves nothing. A shrink makes room, which it
 * fills again. The caller moves the vector, and the thread goes on there. */
VECTOR_CASE(stops_at_the_wall)
{
    const uint64_t c = s->chunk;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 6 * c;
    d.size = c;
    culv_vector *first = vector_make(s, &d); /* whose place the next one shall have */
    culv_vector_destroy(&first, NULL);
    d.commit_ahead = 4 * c;
    OWN(culv_vector) *v = vector_make(s, &d);
    const CUdeviceptr base = culv_vector_pointer(v);
    vector_wall(s, v);
    wait_committed(v, 5 * c);
    LIB_OK(culv_vector_grow(v, 4 * c));
    wait_committed(v, 6 * c);
    wait_quiet(); /* the thread has found that nothing is left */
    REQUIRE_EQ(culv_vector_pointer(v), base);
    REQUIRE_EQ(vector_stats(v).moves, 0);
    if (culv_vector_committed(v) == 6 * c) {
        LIB_OK(culv_vector_shrink(v, 0, s->stream));
        REQUIRE_EQ(culv_vector_committed(v), 5 * c); /* the last chunk goes, four are kept ahead */
        lib_finish(&s->w, s->stream);
        lib_settle(&s->w);
        LIB_OK(culv_vector_grow(v, 4 * c));
        wait_committed(v, 6 * c);
        REQUIRE_EQ(culv_vector_pointer(v), base);
        vector_write(s, base, 0, 6 * c, 4);
        vector_require(s, base, 6 * c, 4, 0);
        LIB_OK(culv_vector_grow(v, 5 * c));
        wait_quiet();
        const uint64_t before = calls_of(s);
        LIB_OK(culv_vector_grow(v, 6 * c)); /* which wakes nobody in vain */
        wait_quiet();
        REQUIRE_EQ(calls_of(s), before);
        LIB_OK(culv_vector_grow(v, 7 * c));
        REQUIRE(culv_vector_pointer(v) != base);
        REQUIRE_EQ(vector_stats(v).moves, 1);
        wait_committed(v, 11 * c);
    }
    wait_quiet();
    (void)vector_check(v);
}

/* After a shrink, while its memory waits for a stream, the thread waits for nobody. */
VECTOR_CASE(never_waits)
{
    const uint64_t c = s->chunk;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 64 * c;
    d.commit_ahead = 2 * c;
    d.max_chunk = 2 * c;
    OWN(culv_vector) *v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 8 * c));
    wait_committed(v, 10 * c);
    wait_quiet();
    vector_hold(s);
    LIB_OK(culv_vector_shrink(v, c, s->stream));
    REQUIRE(culv_vector_committed(v) <= 4 * c);
    LIB_OK(culv_vector_grow(v, 3 * c)); /* published, and the thread would like to refill */
    lib_sleep_ms(20);
    LIB_OK(culv_vector_shrink(v, 2 * c, s->stream)); /* is not kept waiting */
    REQUIRE(atomic_load(&s->held));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    vector_let_go(s);
    LIB_OK(culv_vector_grow(v, 4 * c));
    wait_committed(v, 6 * c);
    vector_write(s, culv_vector_pointer(v), 0, 6 * c, 2);
    vector_require(s, culv_vector_pointer(v), 6 * c, 2, 0);
}
/* Readers -------------------------------------------------------------------------------------- */

typedef struct reader {
    culv_vector *vector;
    const atomic_bool *stop;
    uint64_t chunk;
    unsigned turns;
} reader;

static void *read_on(void *user)
{
    enum { CAPACITY = 64 };
    reader *me = user;
    culv_vector *v = me->vector;
    uint64_t seen = 0;
    while (!atomic_load(me->stop) || me->turns == 0) {
        culv_part chunks[CAPACITY];
        size_t count = 0;
        uint64_t generation = 0, end = 0;
        const uint64_t had = culv_vector_size(v); /* before the address and what is behind it */
        const CUdeviceptr base = culv_vector_pointer(v);
        REQUIRE(base != 0 && base % me->chunk == 0);
        REQUIRE(culv_vector_committed(v) >= had);
        LIB_OK(culv_vector_get_parts(v, chunks, CAPACITY, &count, &generation));
        REQUIRE(generation >= seen && culv_vector_generation(v) >= generation);
        REQUIRE(count <= CAPACITY);
        for (size_t i = 0; i < count; i++) {
            REQUIRE_EQ(chunks[i].offset, end);
            end += chunks[i].size;
            REQUIRE(lib_allocation(chunks[i].allocation).native_handle != 0);
        }
        REQUIRE(end >= had);
        const culv_vector_stats stats = vector_stats(v);
        REQUIRE(stats.size >= had && stats.committed >= stats.size &&
                stats.reserved >= stats.committed);
        seen = generation;
        me->turns++;
    }
    return NULL;
}

static void read_while_it_grows(uint64_t ahead)
{
    enum { READERS = 3, STEPS = 24 };
    vector_stage s;
    atomic_bool stop = false;
    pthread_t threads[READERS];
    reader readers[READERS];
    vector_stage_open(&s);
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 4 * s.chunk; /* it extends or moves some times */
    d.commit_ahead = ahead * s.chunk;
    culv_vector *v = vector_make(&s, &d);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){v, &stop, s.chunk, 0};
        REQUIRE_EQ(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (uint64_t i = 1; i <= STEPS; i++) {
        LIB_OK(culv_vector_grow(v, i * s.chunk));
        if (i % 6 == 0) LIB_OK(culv_vector_retire(v, 0, s.stream));
        if (i % 4 == 0) lib_sleep_ms(1);
    }
    atomic_store(&stop, true);
    unsigned turns = 0;
    for (int i = 0; i < READERS; i++) {
        REQUIRE_EQ(pthread_join(threads[i], NULL), 0);
        turns += readers[i].turns;
    }
    REQUIRE(turns >= READERS);
    wait_quiet();
    (void)vector_check(v);
    vector_write(&s, culv_vector_pointer(v), 0, STEPS * s.chunk, 17);
    vector_require(&s, culv_vector_pointer(v), STEPS * s.chunk, 17, 0);
    culv_vector_destroy(&v, NULL);
    vector_stage_close(&s);
}

TEST_AS(readers_beside_a_grower, read_while_it_grows(0), .title = "readers_beside_a_grower")
TEST_AS(readers_beside_the_thread, read_while_it_grows(3), .title = "readers_beside_the_thread")

/* The thread does not exist there. Nothing is called in the child but the destruction, which is to
 * come back. */
VECTOR_CASE(destroyed_in_a_child)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.commit_ahead = 4 * s->chunk;
    OWN(culv_vector) *v = vector_make(s, &d);
    wait_committed(v, 4 * s->chunk);
    for (int after = 0; after < 2; after++) {
        int status = 0;
        wait_quiet();
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(TEST_FAR_MS / 1000);
            culv_vector_destroy(&v, after ? &s->stream : NULL);
            _exit(v == NULL ? 7 : 1);
        }
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        LIB_OK(
            culv_vector_grow(v, (uint64_t)(after + 1) * 4 * s->chunk)); /* here it is as it was */
        wait_committed(v, (uint64_t)(after + 2) * 4 * s->chunk);
    }
    vector_write(s, culv_vector_pointer(v), 0, 8 * s->chunk, 5);
    vector_require(s, culv_vector_pointer(v), 8 * s->chunk, 5, 0);
}
