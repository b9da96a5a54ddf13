/* SPDX-License-Identifier: MIT */
/* The registration cache from many threads: whoever has a registration has pinned memory, whatever
 * the others evict, replace and invalidate. */
#define TEST_GROUP "threads."
#include "cache_stage.h"

#include <stdatomic.h>

enum { THREADS = 4, PIECES = 96, MANY = 2048, CHUNK = 65536 };

typedef struct crew {
    cache_stage *s;
    CUdeviceptr p;
    unsigned turns, pieces;
    bool invalidates;
} crew;

typedef struct member {
    crew *crew;
    uint32_t seed;
    pthread_t thread;
} member;

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void *work(void *user)
{
    member *m = user;
    crew *c = m->crew;
    culv_rdma_registration *held[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < c->turns; i++) {
        culv_rdma_registration **r = &held[next(&m->seed) % 3];
        const uint64_t at = next(&m->seed) % c->pieces, room = c->pieces - at;
        const uint64_t bytes = 1 + next(&m->seed) % ((room < 4 ? room : 4) * CHUNK);
        if (*r != NULL) cache_put(c->s, r);
        *r = cache_get(c->s, c->p + at * CHUNK, bytes);
        if (c->invalidates && next(&m->seed) % 16 == 0)
            LIB_OK(culv_rdma_cache_invalidate(c->s->cache, c->p + at * CHUNK, 1));
        for (int k = 0; k < 3; k++)
            if (held[k] != NULL) REQUIRE(cache_pin_of(held[k])->pinned);
    }
    for (int k = 0; k < 3; k++)
        if (held[k] != NULL) cache_put(c->s, &held[k]);
    return NULL;
}

static void crowd(const cache_wish *wish, unsigned pieces, bool invalidates)
{
    cache_stage s;
    member members[THREADS];
    cache_stage_open(&s, wish);
    crew c = {.s = &s,
              .turns = test_sanitized() ? 500 : 3000,
              .pieces = pieces,
              .invalidates = invalidates};
    CUdeviceptr all = rdma_alloc(&s.r, (size_t)(pieces + 1) * CHUNK);
    c.p = (all + CHUNK - 1) / CHUNK * CHUNK;
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i] = (member){.crew = &c, .seed = 17 + i};
        REQUIRE_EQ(pthread_create(&members[i].thread, NULL, work, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_join(members[i].thread, NULL), 0);
    culv_rdma_cache_stats stats = cache_stats(&s);
    REQUIRE_EQ(stats.leaving, 0);
    REQUIRE_EQ(stats.entries, s.pinned);
    REQUIRE_EQ(stats.pins, s.pins);
    REQUIRE(stats.leaving == 0 && stats.entries == s.pinned && stats.pins == s.pins);
    REQUIRE_EQ(stats.unpins, s.unpins);
    REQUIRE(wish->max_entries == 0 || (stats.evictions > 0 && stats.entries <= wish->max_entries));
    /* What is left is disjoint: as many bytes as all of them have. */
    uint64_t bytes = 0;
    for (const cache_pin *p = s.all; p != NULL; p = p->next)
        if (p->pinned) bytes += (p->size + CHUNK - 1) / CHUNK * CHUNK;
    REQUIRE_EQ(stats.bytes, bytes);
    LIB_OK(culv_rdma_cache_trim(s.cache, 0));
    REQUIRE(s.pinned == 0 && cache_stats(&s).bytes == 0);
    rdma_free(&s.r, &all);
    cache_stage_close(&s);
}

TEST_AS(plain, crowd(&(cache_wish){.exact = true}, PIECES, false))

TEST(evicting)
{
    /* Room for what is in use at worst: each thread has three, or two while it pins one that
     * replaces five. */
    crowd(&(cache_wish){.exact = true, .max_entries = 40}, MANY, false);
}

TEST_AS(invalidating, crowd(&(cache_wish){.exact = true, .notified = true}, PIECES, true))

/* All want the same at once: one pins, the others wait for it. */
CACHE_CASE(same, NULL)
{
    member members[THREADS];
    CUdeviceptr all = rdma_alloc(&s->r, (PIECES + 1) * CHUNK);
    crew c = {.s = s, .turns = 200, .pieces = PIECES, .p = (all + CHUNK - 1) / CHUNK * CHUNK};
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i] = (member){.crew = &c, .seed = i};
        REQUIRE_EQ(pthread_create(&members[i].thread, NULL, work, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_join(members[i].thread, NULL), 0);
    REQUIRE_EQ(s->pins, 1);
    rdma_free(&s->r, &all);
}
