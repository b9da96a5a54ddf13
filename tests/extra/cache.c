/* SPDX-License-Identifier: MIT */
/* The registration cache: what it shares, what goes first, and that it never gives out what is
 * gone. A card is played by a table of what is pinned. */
#define TEST_GROUP "cache."
#include "cache_stage.h"

#include "rdma_index.h"

#include <sys/wait.h>
#include <unistd.h>

enum { KIB = 1024, CHUNK = 64 * KIB };

static const cache_wish exact = {.exact = true};

/* One allocation, many requests. */
CACHE_CASE(shared, NULL, .smoke = true)
{
    CUdeviceptr p = rdma_alloc(&s->r, 8 * CHUNK);
    culv_rdma_registration *one = cache_get(s, p, 100), *two = cache_get(s, p + 5 * CHUNK, CHUNK);
    REQUIRE(one == two); /* the allocation is small, so all of it was pinned */
    culv_rdma_range range = culv_rdma_range_init();
    LIB_OK(culv_rdma_registration_get_range(one, &range));
    REQUIRE(range.start == p && range.size == 8 * CHUNK && range.allocation_start == p);
    REQUIRE(range.allocation_size == 8 * CHUNK && range.buffer_id != 0);
    REQUIRE(range.page_start % CHUNK == 0 && range.page_size % CHUNK == 0);
    REQUIRE(range.page_start <= p && range.page_start + range.page_size >= p + 8 * CHUNK);
    cache_put(s, &one);
    cache_put(s, &two);
    one = cache_get(s, p + 8 * CHUNK - 1, 1);
    cache_put(s, &one);
    cache_require(s, 1, 0);
    if (s->r.w.cu->software) REQUIRE_EQ(rdma_counted(&s->r).sync_memops, 1);
    culv_rdma_cache_stats stats = cache_stats(s);
    REQUIRE(stats.entries == 1 && stats.misses == 1 && stats.pins == 1);
    REQUIRE_EQ(stats.bytes, range.page_size);
    rdma_free(&s->r, &p);
}

CACHE_CASE(overlaps, &exact)
{
    CUdeviceptr all = rdma_alloc(&s->r, 64 * CHUNK);
    CUdeviceptr p = (all + CHUNK - 1) / CHUNK * CHUNK;
    culv_rdma_registration *a = cache_get(s, p + 10, 20);
    culv_rdma_registration *b = cache_get(s, p + 2 * CHUNK, CHUNK);
    REQUIRE(a != b);
    culv_rdma_registration *c = cache_get(s, p + CHUNK - 1, 1); /* a's chunk */
    REQUIRE(c == a);
    cache_put(s, &c);
    cache_require(s, 2, 0);
    cache_put(s, &b); /* a stays in use */
    /* Over both: b goes at once, a with its last use. */
    c = cache_get(s, p + CHUNK - 1, CHUNK + 2);
    REQUIRE(c != a);
    cache_require(s, 2, 1);
    REQUIRE_EQ((int)s->last_why, (int)CULV_RDMA_UNPIN_REPLACED);
    REQUIRE(cache_pin_of(a)->pinned); /* who has it may go on */
    culv_rdma_cache_stats stats = cache_stats(s);
    REQUIRE(stats.entries == 1 && stats.leaving == 1 && stats.replaced == 2);
    REQUIRE_EQ(stats.bytes, 3 * CHUNK);
    culv_rdma_range range = culv_rdma_range_init();
    LIB_OK(culv_rdma_registration_get_range(c, &range));
    REQUIRE(range.start == p && range.size == 3 * CHUNK);
    cache_put(s, &a);
    cache_require(s, 1, 2);
    cache_put(s, &c);
    /* What lies beside it is another one. */
    c = cache_get(s, p + 3 * CHUNK, CHUNK);
    cache_put(s, &c);
    cache_require(s, 2, 2);
    REQUIRE_EQ(cache_stats(s).bytes, 4 * CHUNK);
    rdma_free(&s->r, &all);
}

/* Many small allocations in one chunk: each has its own, and chunks are counted once. */
CACHE_CASE(small, NULL)
{
    enum { COUNT = 200 };
    CUdeviceptr p[COUNT];
    uint64_t chunks[2 * COUNT];
    for (int turn = 0; turn < 2; turn++) {
        size_t n = 0;
        for (int i = 0; i < COUNT; i++) {
            p[i] = rdma_alloc(&s->r, 512);
            culv_rdma_registration *r = cache_get(s, p[i] + 5, 500);
            cache_put(s, &r);
        }
        for (int i = 0; i < COUNT; i++) {
            for (uint64_t at = p[i] / CHUNK; at <= (p[i] + 511) / CHUNK; at++) {
                size_t k = 0;
                while (k < n && chunks[k] != at)
                    k++;
                if (k == n) chunks[n++] = at;
            }
            culv_rdma_registration *r = cache_get(s, p[i], 512);
            culv_rdma_range range = culv_rdma_range_init();
            LIB_OK(culv_rdma_registration_get_range(r, &range));
            REQUIRE(range.start == p[i] && range.size == 512);
            cache_put(s, &r);
        }
        culv_rdma_cache_stats stats = cache_stats(s);
        REQUIRE_EQ(stats.entries, COUNT);
        REQUIRE_EQ(stats.bytes, n * CHUNK);
        MEASURED("rdma.small", "%d allocations in %zu chunks", COUNT, n);
        for (int i = 0; i < COUNT; i += 2) { /* half of them, then the rest */
            LIB_OK(culv_rdma_cache_invalidate(s->cache, p[i], 512));
            rdma_free(&s->r, &p[i]);
        }
        for (int i = 1; i < COUNT; i += 2) {
            culv_rdma_registration *r = cache_get(s, p[i], 512);
            cache_put(s, &r);
            LIB_OK(culv_rdma_cache_invalidate(s->cache, p[i], 512));
            rdma_free(&s->r, &p[i]);
        }
        stats = cache_stats(s);
        REQUIRE(stats.entries == 0 && stats.bytes == 0 && stats.leaving == 0);
        REQUIRE_EQ(stats.pins, (unsigned)(turn + 1) * COUNT);
    }
}

CACHE_CASE(order, (&(cache_wish){.exact = true, .max_entries = 3}))
{
    CUdeviceptr all = rdma_alloc(&s->r, 64 * CHUNK);
    CUdeviceptr p = (all + CHUNK - 1) / CHUNK * CHUNK;
    culv_rdma_registration *r[8];
    for (int i = 0; i < 3; i++) {
        r[i] = cache_get(s, p + (unsigned)i * 2 * CHUNK, 1);
        cache_put(s, &r[i]);
    }
    r[0] = cache_get(s, p, 1); /* used again: the second one is the oldest now */
    cache_put(s, &r[0]);
    r[3] = cache_get(s, p + 6 * CHUNK, 1);
    cache_require(s, 3, 1);
    REQUIRE_EQ(s->last_start, p + 2 * CHUNK);
    REQUIRE_EQ((int)s->last_why, (int)CULV_RDMA_UNPIN_EVICTED);
    r[4] = cache_get(s, p + 8 * CHUNK, 1);
    REQUIRE_EQ(s->last_start, p + 4 * CHUNK);
    r[5] = cache_get(s, p + 10 * CHUNK, 1);
    REQUIRE_EQ(s->last_start, p);
    /* All three are in use. */
    culv_rdma_registration *none = NULL;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), OUT_OF_MEMORY,
                PIN_SPACE, "budget");
    cache_put(s, &r[4]);
    r[6] = cache_get(s, p + 20 * CHUNK, 1);
    REQUIRE_EQ(s->last_start, p + 8 * CHUNK);
    for (int i = 0; i < 8; i++)
        if (i == 3 || i == 5 || i == 6) cache_put(s, &r[i]);
    cache_require(s, 3, 4);
    rdma_free(&s->r, &all);
}

CACHE_CASE(budget, (&(cache_wish){.max_bytes = 8 * CHUNK, .whole_percent = 50}))
{
    CUdeviceptr all = rdma_alloc(&s->r, 64 * CHUNK); /* too large to be pinned whole */
    CUdeviceptr p = (all + CHUNK - 1) / CHUNK * CHUNK;
    culv_rdma_registration *a = cache_get(s, p, 3 * CHUNK);
    culv_rdma_registration *b = cache_get(s, p + 10 * CHUNK, 3 * CHUNK);
    REQUIRE_EQ(cache_stats(s).bytes, 6 * CHUNK);
    culv_rdma_registration *none = NULL;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 3 * CHUNK, &none),
                OUT_OF_MEMORY, PIN_SPACE);
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 9 * CHUNK, &none),
                OUT_OF_MEMORY, PIN_SPACE);
    /* What it covers already counts once. */
    culv_rdma_registration *c = cache_get(s, p + 2 * CHUNK, 3 * CHUNK);
    REQUIRE_EQ(cache_stats(s).bytes, 8 * CHUNK);
    cache_put(s, &a);
    cache_put(s, &c);
    /* A whole allocation that fits in half of the budget, but not beside b: the range alone. */
    CUdeviceptr q = rdma_alloc(&s->r, 2 * CHUNK);
    culv_rdma_registration *d = cache_get(s, q, 1);
    culv_rdma_range range = culv_rdma_range_init();
    LIB_OK(culv_rdma_registration_get_range(d, &range));
    REQUIRE_EQ(range.size, 2 * CHUNK);
    REQUIRE(cache_stats(s).bytes <= 8 * CHUNK);
    cache_put(s, &b);
    cache_put(s, &d);
    LIB_OK(culv_rdma_cache_trim(s->cache, 3 * CHUNK));
    REQUIRE(cache_stats(s).bytes <= 3 * CHUNK && cache_stats(s).entries == 1);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    REQUIRE(cache_stats(s).bytes == 0 && s->pinned == 0);
    rdma_free(&s->r, &all);
    rdma_free(&s->r, &q);
}

/* The card has less room than the budget says. */
CACHE_CASE(space, &exact)
{
    s->room = 4;
    CUdeviceptr all = rdma_alloc(&s->r, 64 * CHUNK);
    CUdeviceptr p = (all + CHUNK - 1) / CHUNK * CHUNK;
    culv_rdma_registration *r[4], *none = NULL;
    for (unsigned i = 0; i < 8; i++) {
        r[0] = cache_get(s, p + i * 2 * CHUNK, 1);
        cache_put(s, &r[0]);
        REQUIRE(s->pinned <= 4);
    }
    REQUIRE_EQ(cache_stats(s).pin_retries, 4);
    for (unsigned i = 0; i < 4; i++)
        r[i] = cache_get(s, p + i * 2 * CHUNK, 1);
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), OUT_OF_MEMORY,
                PIN_SPACE, "pin()");
    REQUIRE_EQ(cache_stats(s).bytes, 4 * CHUNK);
    for (unsigned i = 0; i < 4; i++)
        cache_put(s, &r[i]);
    /* The whole does not fit, a part does. */
    cache_stage_close_cache(s);
    cache_stage_open_cache(s, NULL);
    s->largest = 4 * CHUNK;
    r[0] = cache_get(s, p + 7 * CHUNK, 1);
    culv_rdma_range range = culv_rdma_range_init();
    LIB_OK(culv_rdma_registration_get_range(r[0], &range));
    REQUIRE(range.start == p + 7 * CHUNK && range.size == CHUNK);
    cache_put(s, &r[0]);
    /* Another answer is passed on, and nothing is left of it. */
    s->answer = CULV_ERROR_UNSUPPORTED;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), UNSUPPORTED,
                PIN_REFUSED);
    s->answer = CULV_ERROR_DRIVER;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), DRIVER, CAPTURE,
                "the card's driver says no");
    s->answer = CULV_OK;
    r[0] = cache_get(s, p + 20 * CHUNK, 1);
    cache_put(s, &r[0]);
    rdma_free(&s->r, &all);
}

/* Freed, and perhaps allocated again at the same address. */
CACHE_CASE(freed, NULL)
{
    for (int i = 0; i < 4; i++) {
        CUdeviceptr p = rdma_alloc(&s->r, 4 << 20), before = p;
        culv_rdma_registration *r = cache_get(s, p, 4 << 20), *none = NULL;
        const unsigned mine = cache_pin_of(r)->number;
        if (i % 2 == 0) cache_put(s, &r);
        rdma_free(&s->r, &p);
        LIB_REFUSES(none, culv_rdma_cache_get(s->cache, before, 1, &none), INVALID, NOT_MAPPED);
        REQUIRE_EQ(s->pinned, i % 2);
        p = rdma_alloc(&s->r, 4 << 20);
        MEASURED("rdma.freed", "%s", p == before ? "the same address" : "another address");
        culv_rdma_registration *again = cache_get(s, p, 4 << 20);
        REQUIRE(cache_pin_of(again)->number != mine);
        REQUIRE(cache_pin_of(again)->id != 0);
        if (r != NULL) { /* its user gives it back now */
            REQUIRE(cache_pin_of(r)->pinned);
            cache_put(s, &r);
            REQUIRE_EQ((int)s->last_why, (int)CULV_RDMA_UNPIN_FREED);
        }
        cache_put(s, &again);
        rdma_free(&s->r, &p);
        /* Without a look-up in between: a larger one at the same place. */
        p = rdma_alloc(&s->r, 6 << 20);
        again = cache_get(s, p + (1 << 20), 1 << 20);
        REQUIRE_EQ(cache_pin_of(again)->size, 6 << 20);
        cache_put(s, &again);
        LIB_OK(culv_rdma_cache_trim(s->cache, 0));
        rdma_free(&s->r, &p);
    }
}

/* R38: a mapping of imported memory that goes, and another at its address. */
CACHE_CASE(external, NULL)
{
    CUdeviceptr before = 0;
    unsigned last = 0, same = 0;
    for (int i = 0; i < 6; i++) {
        rdma_import import;
        rdma_import_make(&s->r, &import, 1 << 20);
        culv_rdma_registration *r = cache_get(s, import.pointer, 1 << 20);
        REQUIRE(cache_pin_of(r)->kind == CULV_POINTER_EXTERNAL && cache_pin_of(r)->number != last);
        last = cache_pin_of(r)->number;
        same += import.pointer == before;
        before = import.pointer;
        cache_put(s, &r);
        rdma_import_unmake(&s->r, &import);
    }
    MEASURED("rdma.external", "%u of 5 at the address before", same);
    REQUIRE_EQ(cache_stats(s).pins, 6);
}

CACHE_CASE(notified, (&(cache_wish){.notified = true}))
{
    CUdeviceptr p = rdma_alloc(&s->r, 4 << 20), q = rdma_alloc(&s->r, 4 << 20);
    culv_rdma_registration *a = cache_get(s, p, 1), *b = cache_get(s, q, 1);
    cache_put(s, &b);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, p, 4 << 20));
    REQUIRE(cache_pin_of(a)->pinned && s->pinned == 2);
    REQUIRE(cache_stats(s).leaving == 1 && cache_stats(s).freed == 1);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, q + 12345, 1));
    REQUIRE_EQ(s->pinned, 1);
    REQUIRE_EQ((int)s->last_why, (int)CULV_RDMA_UNPIN_FREED);
    culv_rdma_registration *again = cache_get(s, p, 1);
    REQUIRE(again != a && s->pinned == 2);
    cache_put(s, &a);
    REQUIRE_EQ(s->pinned, 1);
    cache_put(s, &again);
    LIB_INVALID(culv_rdma_cache_invalidate(s->cache, p, 0), SIZE);
    LIB_INVALID(culv_rdma_cache_invalidate(s->cache, p, UINT64_MAX), RANGE);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, 4096, UINT64_C(1) << 62)); /* everything */
    REQUIRE_EQ(s->pinned, 0);
    rdma_free(&s->r, &p);
    rdma_free(&s->r, &q);
}

/* A child of fork() gets nothing of the parent's, and unpins nothing. */
static void fork_with(cache_stage *s)
{
    int status = 0;
    CUdeviceptr p = rdma_alloc(&s->r, 4 << 20);
    culv_rdma_registration *mine = cache_get(s, p, 1), *other = NULL;
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        LIB_REFUSES(other, culv_rdma_cache_get(s->cache, p, 1, &other), UNSUPPORTED, FORKED,
                    "child of fork()");
        LIB_OK(culv_rdma_cache_invalidate(s->cache, p, 4 << 20));
        culv_rdma_registration_put(&mine);
        LIB_OK(culv_rdma_cache_trim(s->cache, 0));
        culv_rdma_cache_destroy(&s->cache);
        REQUIRE(mine == NULL && s->cache == NULL && s->unpins == 0);
        fflush(NULL);
        _exit(0);
    }
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    LIB_OK(culv_rdma_cache_get(s->cache, p, 1, &other));
    REQUIRE(other == mine && s->pins == 1);
    cache_put(s, &mine);
    cache_put(s, &other);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, p, 4 << 20));
    rdma_free(&s->r, &p);
}

CACHE_CASE(forked, NULL, .own = true)
{
    fork_with(s);
}

CACHE_CASE(forked_notified, (&(cache_wish){.notified = true}), .own = true)
{
    fork_with(s);
}

/* No callback is under a lock that it could need. */
CACHE_CASE(callbacks, NULL)
{
    CUdeviceptr p = rdma_alloc(&s->r, 1 << 20), q = rdma_alloc(&s->r, 1 << 20);
    s->inner = q; /* pin() looks this one up, and unpin() asks for statistics */
    culv_rdma_registration *r = cache_get(s, p, 1);
    cache_put(s, &r);
    REQUIRE_EQ(s->pinned, 2);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    s->inner = p; /* what is being pinned */
    culv_rdma_registration *none = NULL;
    r = cache_get(s, p, 1);
    REQUIRE(s->inner_result == CULV_ERROR_INVALID);
    cache_put(s, &r);
    s->inner = 0;
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    /* The memory goes while it is being pinned, once, and each time. */
    s->frees = 1;
    r = cache_get(s, p, 1);
    REQUIRE(s->pinned == 1 && s->pins == 5 && s->last_why == CULV_RDMA_UNPIN_FREED);
    cache_put(s, &r);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    s->frees = 1000;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p, 1, &none), INVALID, NOT_MAPPED);
    REQUIRE(s->pinned == 0 && cache_stats(s).bytes == 0);
    rdma_free(&s->r, &p);
    rdma_free(&s->r, &q);
}

CACHE_CASE(bad_input, NULL)
{
    culv_rdma_registration *none = NULL;
    CUdeviceptr p = rdma_alloc(&s->r, 1 << 20);
    int on_stack = 0;
    const CUdeviceptr stack = (CUdeviceptr)(uintptr_t)&on_stack;
    const struct {
        CUdeviceptr p;
        uint64_t size;
        culv_reason reason;
    } rows[] = {{0, 1, CULV_REASON_NULL_ARGUMENT},    {p, 0, CULV_REASON_SIZE},
                {p, UINT64_MAX, CULV_REASON_RANGE},   {p, (1 << 20) + 1, CULV_REASON_RANGE},
                {stack, 4, CULV_REASON_HOST_POINTER}, {UINT64_MAX, 1, CULV_REASON_RANGE}};
    for (int pinned = 0; pinned < 2; pinned++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            LIB_REFUSES_AS(none, culv_rdma_cache_get(s->cache, rows[i].p, rows[i].size, &none),
                           CULV_ERROR_INVALID, rows[i].reason);
        if (pinned == 0) {
            culv_rdma_registration *r = cache_get(s, p, 1 << 20);
            cache_put(s, &r);
        }
    }
    rdma_vmm vmm;
    rdma_vmm_make(&s->r, &vmm, 2, CULV_VMM_USAGE_RDMA);
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, vmm.pointer + RDMA_BLOCK - 1, 2, &none),
                INVALID, RANGE);
    if (s->r.w.cu->software) {
        LIB_REFUSES(none, culv_rdma_cache_get(s->cache, vmm.pointer, 2, &none), INVALID, OPT_IN);
        REQUIRE_EQ(s->r.w.cu->SoftPlayManaged(p), 0);
        LIB_OK(culv_rdma_cache_invalidate(s->cache, p, 1));
        LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p, 1, &none), INVALID, MANAGED);
    }
    rdma_vmm_unmake(&vmm);
    culv_rdma_cache *cache = NULL;
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
#define REFUSED(...)                                                                               \
    LIB_REFUSES(cache, culv_rdma_cache_create(s->r.w.device, &d, &cache), INVALID, __VA_ARGS__)
    REFUSED(NULL_ARGUMENT);
    d = cache_desc(s, NULL);
    d.validity = (culv_rdma_validity)7;
    REFUSED(VALUE);
    d = cache_desc(s, NULL);
    d.whole_percent = 101;
    REFUSED(VALUE);
    d.struct_size = 3;
    REFUSED(STRUCT_SIZE);
    LIB_INVALID(culv_rdma_cache_get(s->cache, p, 1, NULL), NULL_ARGUMENT);
    culv_rdma_registration_put(NULL);
    culv_rdma_registration_put(&none);
    culv_rdma_cache_destroy(NULL);
    culv_rdma_cache_destroy(&cache);
    REQUIRE(culv_rdma_registration_cookie(NULL) == NULL);
    rdma_free(&s->r, &p);
}

/* Destroyed while somebody still uses something. */
CACHE_CASE(outlived, NULL)
{
    CUdeviceptr p = rdma_alloc(&s->r, 1 << 20), q = rdma_alloc(&s->r, 1 << 20);
    culv_rdma_registration *a = cache_get(s, p, 1), *b = cache_get(s, q, 1);
    cache_put(s, &b);
    culv_rdma_cache_destroy(&s->cache);
    REQUIRE(s->pinned == 1 && cache_pin_of(a)->pinned);
    cache_put(s, &a);
    REQUIRE_EQ(s->pinned, 0);
    rdma_free(&s->r, &p);
    rdma_free(&s->r, &q);
}

/* More uses than 31 bits count. */
CACHE_CASE(many_uses, NULL)
{
    const uint64_t many = (UINT64_C(1) << 31) - 3;
    culv_rdma_registration *r[8];
    CUdeviceptr p = rdma_alloc(&s->r, 70001);
    r[0] = cache_get(s, p, 100);
    atomic_fetch_add(&r[0]->state, many); /* so many more gets */
    for (int i = 1; i < 8; i++) {
        r[i] = cache_get(s, p + 7, 100);
        REQUIRE(r[i] == r[0]);
    }
    cache_require(s, 1, 0);
    for (int i = 1; i < 8; i++)
        cache_put(s, &r[i]);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0)); /* it is in use */
    cache_require(s, 1, 0);
    atomic_fetch_sub(&r[0]->state, many);
    cache_put(s, &r[0]);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    cache_require(s, 0, 1);
    rdma_free(&s->r, &p);
}

/* The end of many, in batches: all go, those in use too, and what is behind the range stays. */
CACHE_CASE(many_entries, (&(cache_wish){.exact = true, .notified = true}))
{
    enum { MANY = 1001, KEPT = 3 };
    static culv_rdma_registration *held[MANY];
    CUdeviceptr all = rdma_alloc(&s->r, (size_t)(MANY + KEPT + 1) * 65536);
    const CUdeviceptr p = (all + 65535) / 65536 * 65536;
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < MANY + KEPT; i++) {
            culv_rdma_registration *r = cache_get(s, p + (uint64_t)i * 65536, 65536);
            if (i < MANY && i % 7 == 0)
                held[i] = r;
            else
                cache_put(s, &r);
        }
        REQUIRE_EQ(s->pinned, MANY + KEPT);
        if (turn == 0) {
            LIB_OK(culv_rdma_cache_invalidate(s->cache, p, (uint64_t)MANY * 65536));
            REQUIRE_EQ(s->pinned, KEPT + (MANY + 6) / 7);
        } else if (turn == 1) {
            LIB_OK(culv_rdma_cache_trim(s->cache, 0));
            REQUIRE_EQ(s->pinned, (MANY + 6) / 7);
        } else {
            culv_rdma_cache_destroy(&s->cache);
            REQUIRE_EQ(s->pinned, (MANY + 6) / 7);
        }
        for (unsigned i = 0; i < MANY; i += 7)
            cache_put(s, &held[i]);
        REQUIRE_EQ(s->pinned, turn == 0 ? KEPT : turn == 1 ? (MANY + 6) / 7 : 0);
    }
    rdma_free(&s->r, &all);
}
