/* SPDX-License-Identifier: MIT */
/* culv_vector with a thread that commits ahead, and readers beside the one that grows. */
#define TEST_GROUP "ahead."
#include "vector_stage.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

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

static uint64_t calls(const vector_stage *s)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (s->w.cu->SoftCounts == NULL) return 0;
    s->w.cu->SoftCounts(&c);
    return c.calls;
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
    const uint64_t generation = culv_vector_generation(v), before = calls(s);
    for (uint64_t size = 1; size <= 4 * c; size += c / 2) {
        LIB_OK(culv_vector_grow(v, size));
        REQUIRE_EQ(culv_vector_size(v), size);
    }
    REQUIRE_EQ(calls(s), before);
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

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How long growing takes where the thread keeps up. */
VECTOR_CASE(is_quick)
{
    enum { GROWS = 2000 };
    static double us[GROWS];
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 4096 * s->chunk;
    d.commit_ahead = 64 * s->chunk; /* few of the grows wake the thread */
    culv_vector *v = vector_make(s, &d);
    wait_committed(v, d.commit_ahead);
    for (int i = 0; i < GROWS; i++) { /* 125 granularities in all */
        const uint64_t size = (uint64_t)(i + 1) * (s->chunk / 16);
        const double started = test_now_us();
        LIB_OK(culv_vector_grow(v, size));
        us[i] = test_now_us() - started;
        lib_sleep_ms(i % 8 == 0); /* as a solver would that has work */
    }
    const culv_vector_stats stats = vector_stats(v);
    qsort(us, GROWS, sizeof us[0], compare);
    MEASURED("vector_grow_ahead_us",
             "median %.3f, 99th percentile %.3f, most %.1f, %d misses of %d", us[GROWS / 2],
             us[GROWS * 99 / 100], us[GROWS - 1], (int)stats.ahead_misses, GROWS);
    if (!s->w.cu->software) REQUIRE(us[GROWS * 99 / 100] < 5);
    culv_vector_destroy(&v, NULL);
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
    culv_vector *v = vector_make(s, &d);
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
    culv_vector_destroy(&v, NULL);
}

/* Six chunks of addresses, which the thread has committed as far as it can; four are in use. */
static culv_vector *before_a_wall(vector_stage *s)
{
    const uint64_t c = s->chunk;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 6 * c;
    d.size = c;
    culv_vector *first = vector_make(s, &d); /* whose place the next one shall have */
    culv_vector_destroy(&first, NULL);
    d.commit_ahead = 4 * c;
    culv_vector *v = vector_make(s, &d);
    vector_wall(s, v);
    wait_committed(v, 5 * c);
    LIB_OK(culv_vector_grow(v, 4 * c));
    wait_committed(v, 6 * c);
    return v;
}

/* The thread fills what there is of addresses, and moves nothing; the caller does, and it goes on
 * there. */
VECTOR_CASE(stops_at_the_wall)
{
    const uint64_t c = s->chunk;
    culv_vector *v = before_a_wall(s);
    const CUdeviceptr base = culv_vector_pointer(v);
    wait_quiet();
    REQUIRE_EQ(culv_vector_pointer(v), base);
    REQUIRE_EQ(vector_stats(v).moves, 0);
    if (culv_vector_committed(v) == 6 * c) {
        LIB_OK(culv_vector_grow(v, 5 * c));
        wait_quiet();
        const uint64_t before = calls(s);
        LIB_OK(culv_vector_grow(v, 6 * c)); /* which wakes nobody in vain */
        wait_quiet();
        REQUIRE_EQ(calls(s), before);
        LIB_OK(culv_vector_grow(v, 7 * c));
        REQUIRE(culv_vector_pointer(v) != base);
        REQUIRE_EQ(vector_stats(v).moves, 1);
        wait_committed(v, 11 * c);
    }
    wait_quiet();
    (void)vector_check(v);
    culv_vector_destroy(&v, NULL);
}

/* A shrink makes room before the wall, and the thread fills it again. */
VECTOR_CASE(refills_after_a_shrink)
{
    const uint64_t c = s->chunk;
    culv_vector *v = before_a_wall(s);
    const CUdeviceptr base = culv_vector_pointer(v);
    wait_quiet(); /* the thread has found that nothing is left */
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
    }
    culv_vector_destroy(&v, NULL);
}

/* After a shrink, while its memory waits for a stream, the thread waits for nobody. */
VECTOR_CASE(never_waits)
{
    const uint64_t c = s->chunk;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 64 * c;
    d.commit_ahead = 2 * c;
    d.max_chunk = 2 * c;
    culv_vector *v = vector_make(s, &d);
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
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    LIB_OK(culv_vector_grow(v, 4 * c));
    wait_committed(v, 6 * c);
    vector_write(s, culv_vector_pointer(v), 0, 6 * c, 2);
    vector_require(s, culv_vector_pointer(v), 6 * c, 2, 0);
    culv_vector_destroy(&v, NULL);
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
        culv_vector_chunk chunks[CAPACITY];
        size_t count = 0;
        uint64_t generation = 0, end = 0;
        const uint64_t had = culv_vector_size(v); /* before the address and what is behind it */
        const CUdeviceptr base = culv_vector_pointer(v);
        REQUIRE(base != 0 && base % me->chunk == 0);
        REQUIRE(culv_vector_committed(v) >= had);
        LIB_OK(culv_vector_get_chunks(v, chunks, CAPACITY, &count, &generation));
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
    culv_vector *v = vector_make(s, &d);
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
    culv_vector_destroy(&v, NULL);
}
