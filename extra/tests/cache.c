/* SPDX-License-Identifier: MIT */
/* The registration cache: what it shares, what goes first, and that it never gives out what is
 * gone. A card is played by a table of what is pinned. */
#define TEST_GROUP "cache."
#include "gaps.h"
#include "rdma_index.h"
#include "rdma_stage.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = CULV_RDMA_CHUNK };

/* The played card ------------------------------------------------------------------------------ */

typedef struct cache_wish {
    bool exact, notified;
    uint64_t max_bytes;
} cache_wish;

/* A cookie. It stays where it is after it was unpinned, so that a use of it shows. */
typedef struct cache_pin {
    struct cache_pin *next;
    unsigned number;
    _Atomic bool pinned;
    culv_pointer_kind kind;
    uint64_t start, size, id;
} cache_pin;

typedef struct cache_stage {
    rdma_stage r;
    culv_rdma_cache *cache;
    pthread_mutex_t lock; /* of what follows */
    cache_pin *all;
    unsigned pins, unpins, pinned;
    culv_rdma_unpin_why last_why;
    uint64_t last_start;
    /* What pin() does: */
    unsigned room;      /* registrations at a time; 0: any */
    uint64_t largest;   /* bytes; 0: any */
    culv_result answer; /* if not OK */
    CUdeviceptr inner;  /* looked up within it; 0: nothing */
    culv_result inner_result;
    bool yields;    /* others run while it pins */
    unsigned frees; /* times that it says that what it pins was freed */
} cache_stage;

static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    cache_stage *s = user;
    REQUIRE(range->struct_size == sizeof *range && range->page_start % CULV_RDMA_CHUNK == 0);
    REQUIRE(range->page_size % CULV_RDMA_CHUNK == 0 && range->size > 0);
    REQUIRE(range->page_start <= range->start);
    REQUIRE(range->start + range->size <= range->page_start + range->page_size);
    REQUIRE(range->allocation_start <= range->start);
    REQUIRE(range->start + range->size <= range->allocation_start + range->allocation_size);
    if (s->inner != 0) {
        const CUdeviceptr inner = s->inner;
        culv_rdma_registration *other = NULL;
        s->inner = 0;
        s->inner_result = culv_rdma_cache_get(s->cache, inner, 1, &other);
        culv_rdma_registration_put(&other);
    }
    if (s->frees > 0) {
        s->frees--;
        LIB_OK(culv_rdma_cache_invalidate(s->cache, range->start, 1));
    }
    for (int i = 0; s->yields && i < 4; i++)
        sched_yield();
    if (s->answer == CULV_ERROR_DRIVER) { /* with words of its own */
        culv_error error = culv_error_init();
        error.result = CULV_ERROR_DRIVER;
        error.reason = CULV_REASON_CAPTURE;
        strcpy(error.message, "the card's driver says no");
        return culv_last_error_set(&error);
    }
    if (s->answer != CULV_OK) return s->answer;
    if (s->largest != 0 && range->page_size > s->largest) return CULV_ERROR_OUT_OF_MEMORY;
    REQUIRE_EQ(pthread_mutex_lock(&s->lock), 0);
    const bool full = s->room != 0 && s->pinned >= s->room;
    if (!full) {
        cache_pin *p = calloc(1, sizeof *p);
        REQUIRE(p != NULL);
        p->number = ++s->pins;
        p->kind = range->kind;
        p->start = range->start;
        p->size = range->size;
        p->id = range->buffer_id;
        atomic_store(&p->pinned, true);
        p->next = s->all;
        s->all = p;
        s->pinned++;
        *cookie = p;
    }
    REQUIRE_EQ(pthread_mutex_unlock(&s->lock), 0);
    return full ? CULV_ERROR_OUT_OF_MEMORY : CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    cache_stage *s = user;
    cache_pin *p = cookie;
    if (s->cache != NULL) {
        culv_rdma_cache_stats stats = culv_rdma_cache_stats_init();
        LIB_OK(culv_rdma_cache_get_stats(s->cache, &stats)); /* no lock is held */
    }
    REQUIRE_EQ(pthread_mutex_lock(&s->lock), 0);
    REQUIRE(p->start == range->start && p->size == range->size && p->id == range->buffer_id);
    REQUIRE(atomic_exchange(&p->pinned, false));
    s->unpins++;
    s->pinned--;
    s->last_why = why;
    s->last_start = range->start;
    REQUIRE_EQ(pthread_mutex_unlock(&s->lock), 0);
}

static culv_rdma_cache_desc cache_desc(cache_stage *s, const cache_wish *wish)
{
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = pin;
    d.unpin = unpin;
    d.user = s;
    if (wish == NULL) return d;
    d.exact_ranges = wish->exact;
    d.max_bytes = wish->max_bytes;
    d.validity = wish->notified ? CULV_RDMA_VALIDITY_NOTIFICATION : CULV_RDMA_VALIDITY_BUFFER_ID;
    return d;
}

/* wish: NULL for the default. */
static void cache_stage_open_cache(cache_stage *s, const cache_wish *wish)
{
    culv_rdma_cache_desc d = cache_desc(s, wish);
    LIB_OK(culv_rdma_cache_create(s->r.w.device, &d, &s->cache));
}

static void cache_stage_open(cache_stage *s, const cache_wish *wish)
{
    memset(s, 0, sizeof *s);
    REQUIRE_EQ(pthread_mutex_init(&s->lock, NULL), 0);
    rdma_stage_open(&s->r);
    cache_stage_open_cache(s, wish);
}

/* Requires that everything is unpinned then. */
static void cache_stage_close_cache(cache_stage *s)
{
    culv_rdma_cache_destroy(&s->cache);
    REQUIRE(s->cache == NULL);
    REQUIRE_EQ(s->pinned, 0);
    REQUIRE_EQ(s->pins, s->unpins);
    while (s->all != NULL) {
        cache_pin *p = s->all;
        s->all = p->next;
        free(p);
    }
    s->pins = s->unpins = s->room = 0;
    s->largest = 0;
}

static void cache_stage_close(cache_stage *s)
{
    cache_stage_close_cache(s);
    rdma_stage_close(&s->r);
    REQUIRE_EQ(pthread_mutex_destroy(&s->lock), 0);
}

static const cache_pin *cache_pin_of(const culv_rdma_registration *r)
{
    return culv_rdma_registration_cookie(r);
}

/* Requires that the registration covers the range and is pinned. */
static culv_rdma_registration *cache_get(cache_stage *s, CUdeviceptr p, uint64_t size)
{
    culv_rdma_registration *r = NULL;
    LIB_OK(culv_rdma_cache_get(s->cache, p, size, &r));
    const cache_pin *pin = cache_pin_of(r);
    REQUIRE(pin->pinned && pin->start <= p && p + size <= pin->start + pin->size);
    return r;
}

static void cache_put(culv_rdma_registration **r)
{
    REQUIRE(cache_pin_of(*r)->pinned);
    culv_rdma_registration_put(r);
    REQUIRE(*r == NULL);
}

static void cache_require(const cache_stage *s, unsigned pinned, unsigned unpins)
{
    REQUIRE_EQ(s->pinned, pinned);
    REQUIRE_EQ(s->unpins, unpins);
}

static culv_rdma_cache_stats cache_stats(const cache_stage *s)
{
    culv_rdma_cache_stats stats = culv_rdma_cache_stats_init();
    LIB_OK(culv_rdma_cache_get_stats(s->cache, &stats));
    return stats;
}

#define CACHE_CASE(name, ...)                                                                      \
    TEST_ON_(cache_stage, s, cache_stage_open(s, TEST_FIRST(__VA_ARGS__)), cache_stage_close(s),   \
             name, TEST_REST(__VA_ARGS__))

/* The cases ------------------------------------------------------------------------------------ */

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
    cache_put(&one);
    cache_put(&two);
    one = cache_get(s, p + 8 * CHUNK - 1, 1);
    cache_put(&one);
    cache_require(s, 1, 0);
    if (s->r.w.cu->software) REQUIRE_EQ(rdma_counted(&s->r).sync_memops, 1);
    culv_rdma_cache_stats stats = cache_stats(s);
    REQUIRE(stats.entries == 1 && stats.misses == 1 && stats.pins == 1);
    REQUIRE_EQ(stats.bytes, range.page_size);
}

CACHE_CASE(overlaps, &exact)
{
    const CUdeviceptr p = rdma_chunks(&s->r, 63);
    culv_rdma_registration *a = cache_get(s, p + 10, 20);
    culv_rdma_registration *b = cache_get(s, p + 2 * CHUNK, CHUNK);
    REQUIRE(a != b);
    culv_rdma_registration *c = cache_get(s, p + CHUNK - 1, 1); /* a's chunk */
    REQUIRE(c == a);
    cache_put(&c);
    cache_require(s, 2, 0);
    cache_put(&b); /* a stays in use */
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
    cache_put(&a);
    cache_require(s, 1, 2);
    cache_put(&c);
    /* What lies beside it is another one. */
    c = cache_get(s, p + 3 * CHUNK, CHUNK);
    cache_put(&c);
    cache_require(s, 2, 2);
    REQUIRE_EQ(cache_stats(s).bytes, 4 * CHUNK);
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
            cache_put(&r);
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
            /* However many are in the chunk, a look-up goes through no others. */
            REQUIRE(r->rest->beside[0] == NULL && r->rest->beside[1] == NULL);
            cache_put(&r);
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
            cache_put(&r);
            LIB_OK(culv_rdma_cache_invalidate(s->cache, p[i], 512));
            rdma_free(&s->r, &p[i]);
        }
        stats = cache_stats(s);
        REQUIRE(stats.entries == 0 && stats.bytes == 0 && stats.leaving == 0);
        REQUIRE_EQ(stats.pins, (unsigned)(turn + 1) * COUNT);
    }
}

CACHE_CASE(order, (&(cache_wish){.exact = true, .max_bytes = 3 * CHUNK}))
{
    const CUdeviceptr p = rdma_chunks(&s->r, 63);
    culv_rdma_registration *r[8];
    for (int i = 0; i < 3; i++) {
        r[i] = cache_get(s, p + (unsigned)i * 2 * CHUNK, 1);
        cache_put(&r[i]);
    }
    r[0] = cache_get(s, p, 1); /* used again: the second one is the oldest now */
    cache_put(&r[0]);
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
    cache_put(&r[4]);
    r[6] = cache_get(s, p + 20 * CHUNK, 1);
    REQUIRE_EQ(s->last_start, p + 8 * CHUNK);
    for (int i = 0; i < 8; i++)
        if (i == 3 || i == 5 || i == 6) cache_put(&r[i]);
    cache_require(s, 3, 4);
}

CACHE_CASE(budget, (&(cache_wish){.max_bytes = 20 * CHUNK}))
{
    const CUdeviceptr p = rdma_chunks(&s->r, 63); /* too large to be pinned whole */
    culv_rdma_registration *a = cache_get(s, p, 9 * CHUNK);
    culv_rdma_registration *b = cache_get(s, p + 20 * CHUNK, 9 * CHUNK);
    REQUIRE_EQ(cache_stats(s).bytes, 18 * CHUNK);
    culv_rdma_registration *none = NULL;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 40 * CHUNK, 3 * CHUNK, &none),
                OUT_OF_MEMORY, PIN_SPACE);
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 40 * CHUNK, 21 * CHUNK, &none),
                OUT_OF_MEMORY, PIN_SPACE);
    /* What it covers already counts once. */
    culv_rdma_registration *c = cache_get(s, p + 8 * CHUNK, 3 * CHUNK);
    REQUIRE_EQ(cache_stats(s).bytes, 20 * CHUNK);
    cache_put(&a);
    cache_put(&c);
    /* A tenth of the budget is pinned as a whole, and c goes for it. */
    CUdeviceptr q = rdma_alloc(&s->r, 2 * CHUNK);
    culv_rdma_registration *d = cache_get(s, q, 1);
    culv_rdma_range range = culv_rdma_range_init();
    LIB_OK(culv_rdma_registration_get_range(d, &range));
    REQUIRE_EQ(range.size, 2 * CHUNK);
    REQUIRE(cache_stats(s).bytes <= 12 * CHUNK && cache_stats(s).evictions == 1);
    cache_put(&b);
    cache_put(&d);
    LIB_OK(culv_rdma_cache_trim(s->cache, 3 * CHUNK));
    REQUIRE(cache_stats(s).bytes <= 3 * CHUNK && cache_stats(s).entries == 1);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    REQUIRE(cache_stats(s).bytes == 0 && s->pinned == 0);
}

/* The card has less room than the budget says. */
CACHE_CASE(space, &exact)
{
    s->room = 4;
    const CUdeviceptr p = rdma_chunks(&s->r, 63);
    culv_rdma_registration *r[4], *none = NULL;
    for (unsigned i = 0; i < 8; i++) {
        r[0] = cache_get(s, p + i * 2 * CHUNK, 1);
        cache_put(&r[0]);
        REQUIRE(s->pinned <= 4);
    }
    REQUIRE_EQ(cache_stats(s).pin_retries, 4);
    for (unsigned i = 0; i < 4; i++)
        r[i] = cache_get(s, p + i * 2 * CHUNK, 1);
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), OUT_OF_MEMORY,
                PIN_SPACE, "pin()");
    REQUIRE_EQ(cache_stats(s).bytes, 4 * CHUNK);
    for (unsigned i = 0; i < 4; i++)
        cache_put(&r[i]);
    /* The whole does not fit, a part does. */
    cache_stage_close_cache(s);
    cache_stage_open_cache(s, NULL);
    s->largest = 4 * CHUNK;
    r[0] = cache_get(s, p + 7 * CHUNK, 1);
    culv_rdma_range range = culv_rdma_range_init();
    LIB_OK(culv_rdma_registration_get_range(r[0], &range));
    REQUIRE(range.start == p + 7 * CHUNK && range.size == CHUNK);
    cache_put(&r[0]);
    /* Another answer is passed on, and nothing is left of it. */
    s->answer = CULV_ERROR_UNSUPPORTED;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), UNSUPPORTED,
                PIN_REFUSED);
    s->answer = CULV_ERROR_DRIVER;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p + 20 * CHUNK, 1, &none), DRIVER, CAPTURE,
                "the card's driver says no");
    s->answer = CULV_OK;
    r[0] = cache_get(s, p + 20 * CHUNK, 1);
    cache_put(&r[0]);
}

/* Freed, and perhaps allocated again at the same address. */
CACHE_CASE(freed, NULL)
{
    for (int i = 0; i < 4; i++) {
        CUdeviceptr p = rdma_alloc(&s->r, 4 << 20), before = p;
        culv_rdma_registration *r = cache_get(s, p, 4 << 20), *none = NULL;
        const unsigned mine = cache_pin_of(r)->number;
        if (i % 2 == 0) cache_put(&r);
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
            cache_put(&r);
            REQUIRE_EQ((int)s->last_why, (int)CULV_RDMA_UNPIN_FREED);
        }
        cache_put(&again);
        rdma_free(&s->r, &p);
        /* Without a look-up in between: a larger one at the same place. */
        p = rdma_alloc(&s->r, 6 << 20);
        again = cache_get(s, p + (1 << 20), 1 << 20);
        REQUIRE_EQ(cache_pin_of(again)->size, 6 << 20);
        cache_put(&again);
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
        cache_put(&r);
        rdma_import_unmake(&s->r, &import);
    }
    MEASURED("rdma.external", "%u of 5 at the address before", same);
    REQUIRE_EQ(cache_stats(s).pins, 6);
}

CACHE_CASE(notified, (&(cache_wish){.notified = true}))
{
    CUdeviceptr p = rdma_alloc(&s->r, 4 << 20), q = rdma_alloc(&s->r, 4 << 20);
    culv_rdma_registration *a = cache_get(s, p, 1), *b = cache_get(s, q, 1);
    cache_put(&b);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, p, 4 << 20));
    REQUIRE(cache_pin_of(a)->pinned && s->pinned == 2);
    REQUIRE(cache_stats(s).leaving == 1 && cache_stats(s).freed == 1);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, q + 12345, 1));
    REQUIRE_EQ(s->pinned, 1);
    REQUIRE_EQ((int)s->last_why, (int)CULV_RDMA_UNPIN_FREED);
    culv_rdma_registration *again = cache_get(s, p, 1);
    REQUIRE(again != a && s->pinned == 2);
    cache_put(&a);
    REQUIRE_EQ(s->pinned, 1);
    cache_put(&again);
    LIB_INVALID(culv_rdma_cache_invalidate(s->cache, p, 0), SIZE);
    LIB_INVALID(culv_rdma_cache_invalidate(s->cache, p, UINT64_MAX), RANGE);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, 4096, UINT64_C(1) << 62)); /* everything */
    REQUIRE_EQ(s->pinned, 0);
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
    cache_put(&mine);
    cache_put(&other);
    LIB_OK(culv_rdma_cache_invalidate(s->cache, p, 4 << 20));
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
    cache_put(&r);
    REQUIRE_EQ(s->pinned, 2);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    s->inner = p; /* what is being pinned */
    culv_rdma_registration *none = NULL;
    r = cache_get(s, p, 1);
    REQUIRE(s->inner_result == CULV_ERROR_INVALID);
    cache_put(&r);
    s->inner = 0;
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    /* The memory goes while it is being pinned, once, and each time. */
    s->frees = 1;
    r = cache_get(s, p, 1);
    REQUIRE(s->pinned == 1 && s->pins == 5 && s->last_why == CULV_RDMA_UNPIN_FREED);
    cache_put(&r);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    s->frees = 1000;
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, p, 1, &none), INVALID, NOT_MAPPED);
    REQUIRE(s->pinned == 0 && cache_stats(s).bytes == 0);
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
            cache_put(&r);
        }
    }
    rdma_vmm vmm;
    rdma_vmm_make(&s->r, &vmm, 2, CULV_VMM_USAGE_RDMA);
    LIB_REFUSES(none, culv_rdma_cache_get(s->cache, vmm.pointer + RDMA_BLOCK - 1, 2, &none),
                INVALID, RANGE);
    if (s->r.w.cu->software) {
        LIB_REFUSES(none, culv_rdma_cache_get(s->cache, vmm.pointer, 2, &none), INVALID, OPT_IN);
        LIB_OK(culv_rdma_set_sync_memops(s->r.w.device, vmm.pointer, 1, NULL));
        culv_rdma_registration *r = cache_get(s, vmm.pointer, 2); /* the context does it now */
        cache_put(&r);
        LIB_OK(culv_rdma_cache_trim(s->cache, 0));
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
    d.struct_size = 3;
    REFUSED(STRUCT_SIZE);
    LIB_INVALID(culv_rdma_cache_get(s->cache, p, 1, NULL), NULL_ARGUMENT);
    culv_rdma_registration_put(NULL);
    culv_rdma_registration_put(&none);
    culv_rdma_cache_destroy(NULL);
    culv_rdma_cache_destroy(&cache);
    REQUIRE(culv_rdma_registration_cookie(NULL) == NULL);
}

/* Destroyed while somebody still uses something. */
CACHE_CASE(outlived, NULL)
{
    CUdeviceptr p = rdma_alloc(&s->r, 1 << 20), q = rdma_alloc(&s->r, 1 << 20);
    culv_rdma_registration *a = cache_get(s, p, 1), *b = cache_get(s, q, 1);
    cache_put(&b);
    culv_rdma_cache_destroy(&s->cache);
    REQUIRE(s->pinned == 1 && cache_pin_of(a)->pinned);
    cache_put(&a);
    REQUIRE_EQ(s->pinned, 0);
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
        cache_put(&r[i]);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0)); /* it is in use */
    cache_require(s, 1, 0);
    atomic_fetch_sub(&r[0]->state, many);
    cache_put(&r[0]);
    LIB_OK(culv_rdma_cache_trim(s->cache, 0));
    cache_require(s, 0, 1);
}

/* The end of many, in batches: all go, those in use too, and what is behind the range stays. */
CACHE_CASE(many_entries, (&(cache_wish){.exact = true, .notified = true}))
{
    enum { MANY_ENTRIES = 1001, KEPT = 3 };
    static culv_rdma_registration *held[MANY_ENTRIES];
    const CUdeviceptr p = rdma_chunks(&s->r, MANY_ENTRIES + KEPT);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < MANY_ENTRIES + KEPT; i++) {
            culv_rdma_registration *r = cache_get(s, p + (uint64_t)i * CHUNK, CHUNK);
            if (i < MANY_ENTRIES && i % 7 == 0)
                held[i] = r;
            else
                cache_put(&r);
        }
        REQUIRE_EQ(s->pinned, MANY_ENTRIES + KEPT);
        if (turn == 0) {
            LIB_OK(culv_rdma_cache_invalidate(s->cache, p, (uint64_t)MANY_ENTRIES * CHUNK));
            REQUIRE_EQ(s->pinned, KEPT + (MANY_ENTRIES + 6) / 7);
        } else if (turn == 1) {
            LIB_OK(culv_rdma_cache_trim(s->cache, 0));
            REQUIRE_EQ(s->pinned, (MANY_ENTRIES + 6) / 7);
        } else {
            culv_rdma_cache_destroy(&s->cache);
            REQUIRE_EQ(s->pinned, (MANY_ENTRIES + 6) / 7);
        }
        for (unsigned i = 0; i < MANY_ENTRIES; i += 7)
            cache_put(&held[i]);
        REQUIRE_EQ(s->pinned, turn == 0 ? KEPT : turn == 1 ? (MANY_ENTRIES + 6) / 7 : 0);
    }
}

/* From many threads: whoever has a registration has pinned memory, whatever the others evict,
 * replace and invalidate ---------------------------------------------------------------------- */

#undef TEST_GROUP
#define TEST_GROUP "threads."

enum { THREADS = 4, PIECES = 96, MANY = 2048 };

typedef struct crew {
    cache_stage *s;
    CUdeviceptr p;
    unsigned turns, pieces;
    bool invalidates, blocks; /* blocks: of four chunks, which no look-up leaves */
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
        const uint64_t at = next(&m->seed) % c->pieces;
        const uint64_t room = c->blocks ? 4 - at % 4 : c->pieces - at;
        const uint64_t bytes = 1 + next(&m->seed) % ((room < 4 ? room : 4) * CHUNK);
        if (*r != NULL) cache_put(r);
        *r = cache_get(c->s, c->p + at * CHUNK, bytes);
        if (c->invalidates && next(&m->seed) % 16 == 0)
            LIB_OK(culv_rdma_cache_invalidate(c->s->cache, c->p + at * CHUNK, 1));
        for (int k = 0; k < 3; k++)
            if (held[k] != NULL) REQUIRE(cache_pin_of(held[k])->pinned);
    }
    for (int k = 0; k < 3; k++)
        if (held[k] != NULL) cache_put(&held[k]);
    return NULL;
}

static void run_crew(crew *c, uint32_t seed)
{
    member members[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i] = (member){.crew = c, .seed = seed + i};
        REQUIRE_EQ(pthread_create(&members[i].thread, NULL, work, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_join(members[i].thread, NULL), 0);
}

static void crowd(const cache_wish *wish, unsigned pieces, bool invalidates)
{
    cache_stage s;
    cache_stage_open(&s, wish);
    crew c = {.s = &s,
              .turns = test_sanitized() ? 500 : 3000,
              .pieces = pieces,
              .invalidates = invalidates,
              .blocks = wish->max_bytes != 0};
    c.p = rdma_chunks(&s.r, pieces);
    run_crew(&c, 17);
    culv_rdma_cache_stats stats = cache_stats(&s);
    REQUIRE(stats.leaving == 0 && stats.entries == s.pinned && stats.pins == s.pins);
    REQUIRE_EQ(stats.unpins, s.unpins);
    REQUIRE(wish->max_bytes == 0 || (stats.evictions > 0 && stats.bytes <= wish->max_bytes));
    /* What is left is disjoint: as many bytes as all of them have. */
    uint64_t bytes = 0;
    for (const cache_pin *p = s.all; p != NULL; p = p->next)
        if (p->pinned) bytes += (p->size + CHUNK - 1) / CHUNK * CHUNK;
    REQUIRE_EQ(stats.bytes, bytes);
    LIB_OK(culv_rdma_cache_trim(s.cache, 0));
    REQUIRE(s.pinned == 0 && cache_stats(&s).bytes == 0);
    cache_stage_close(&s);
}

TEST_AS(plain, crowd(&(cache_wish){.exact = true}, PIECES, false))

TEST(evicting)
{
    /* Room for what is in use at worst: three blocks of each thread's. */
    crowd(&(cache_wish){.exact = true, .max_bytes = THREADS * 3 * 4 * CHUNK}, MANY, false);
}

TEST_AS(invalidating, crowd(&(cache_wish){.exact = true, .notified = true}, PIECES, true))

/* All want the same at once: one pins, the others wait for it. */
CACHE_CASE(same, NULL)
{
    crew c = {.s = s, .turns = 200, .pieces = PIECES, .p = rdma_chunks(&s->r, PIECES)};
    run_crew(&c, 0);
    REQUIRE_EQ(s->pins, 1);
}

/* A registration that two threads ask for at once, with the other one in each gap of a look-up - */

#undef TEST_GROUP
#define TEST_GROUP ""

static struct {
    lib_world w;
    CUdeviceptr memory;
    culv_rdma_cache *cache;
    culv_rdma_registration *registration[2];
    atomic_uint pins;
} race;

static void open_world(void)
{
    memset(&race, 0, sizeof race);
    lib_open(&race.w);
}

static void close_world(void)
{
    lib_close(&race.w);
}

static culv_result count_pin(void *user, const culv_rdma_range *range, void **cookie)
{
    (void)range;
    (void)user;
    *cookie = (void *)(uintptr_t)(atomic_fetch_add(&race.pins, 1) + 1);
    return CULV_OK;
}

static void count_unpin(void *user, const culv_rdma_range *range, void *cookie,
                        culv_rdma_unpin_why why)
{
    (void)user;
    (void)range;
    (void)cookie;
    (void)why;
    atomic_fetch_sub(&race.pins, 1);
}

static void make_cache(void)
{
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = count_pin;
    d.unpin = count_unpin;
    if (race.w.cu->software)
        race.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1);
    LIB_OK(culv_rdma_cache_create(race.w.device, &d, &race.cache));
    LIB_CU_OK(&race.w, race.w.cu->MemAlloc(&race.memory, 2 << 20));
}

static void get_registration(int who)
{
    LIB_OK(culv_rdma_cache_get(race.cache, race.memory + 100, 70001, &race.registration[who]));
}

static void one_pin(void)
{
    REQUIRE_EQ(atomic_load(&race.pins), 1);
    REQUIRE(race.registration[0] == race.registration[1]);
    for (int i = 0; i < 2; i++)
        culv_rdma_registration_put(&race.registration[i]);
    culv_rdma_cache_destroy(&race.cache);
    REQUIRE_EQ(atomic_load(&race.pins), 0);
    LIB_CU_OK(&race.w, race.w.cu->MemFree(race.memory));
    if (race.w.cu->software) race.w.cu->SoftPlayAttribute(0, 0);
}

static const gaps_path registrations = {.open = open_world,
                                        .begin = make_cache,
                                        .act = get_registration,
                                        .judge = one_pin,
                                        .close = close_world,
                                        .least = {1, 0}};
TEST_AS(registrations_in_gaps, gaps_all(&registrations), .title = "registrations",
        .time_limit = 300, .own = true)
