/* SPDX-License-Identifier: MIT */
/* culv_vector where its addresses end: in place, and moving. */
#include "vector_stage.h"

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
    rd.fixed_address = 1;
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
    culv_vector *v = make_small(s, 3 * s->chunk, &m, false);
    const CUdeviceptr old = culv_vector_pointer(v);
    vector_wall(s, v);
    const bool counts = vector_objects_of(s, &had);
    LIB_OK(culv_vector_grow(v, 6 * s->chunk));
    const CUdeviceptr now = culv_vector_pointer(v);
    REQUIRE(now != old);
    REQUIRE_EQ(m.count, 1);
    REQUIRE(m.vector == v && m.before == old && m.now == now && m.size == 6 * s->chunk);
    culv_vector_stats stats = vector_stats(v);
    REQUIRE_EQ(stats.moves, 1);
    REQUIRE_EQ(stats.retiring, 1);
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
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    if (counts) {
        REQUIRE(vector_objects_of(s, &has));
        REQUIRE_EQ(has.mappings, 4);
        REQUIRE_EQ(has.reservations, had.reservations); /* the wall and the vector's one */
    }
    LIB_INVALID(culv_vector_retire(v, old, s->stream), VALUE);
    LIB_OK(culv_vector_retire(v, 0, s->stream)); /* all there are: none */
    vector_require(s, now, 6 * s->chunk, 21, 0);
    culv_vector_destroy(&v, NULL);
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
    culv_vector *v = make_small(s, 2 * s->chunk, &m, true);
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
    culv_vector_destroy(&v, NULL);
}

/* More than there is memory for, at another address: nothing has happened. */
VECTOR_CASE(too_much_memory)
{
    moves m;
    vector_objects had = {0}, has = {0};
    culv_vector *v = make_small(s, 2 * s->chunk, &m, false);
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
    culv_vector_destroy(&v, NULL);
}
