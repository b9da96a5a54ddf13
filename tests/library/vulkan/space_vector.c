/* SPDX-License-Identifier: MIT */
/* One address: vectors that live in a space. */
#define TEST_GROUP "space_vector."
#include "space_stage.h"

static culv_vector_desc vector_desc(culv_vk_space *space, uint64_t size, uint64_t reserve)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.size = size;
    d.reserve = reserve;
    d.max_chunk = SPACE_CHUNK;
    d.space = space_info(space).base;
    d.label = "leaves";
    return d;
}

/* One address everywhere, while it grows and shrinks under pointers that stay right. */
SPACE_CASE(grows)
{
    space_gate gate;
    culv_vk_space *space = space_make(t, 256 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL));
    const culv_vector_desc d = vector_desc(space, SPACE_CHUNK, 64 * VMM_MIB);
    culv_vector *a = NULL, *b = NULL;
    LIB_OK(culv_vector_create(t->s.w.device, &d, &a));
    LIB_OK(culv_vector_create(t->s.w.device, &d, &b));
    const CUdeviceptr at = culv_vector_pointer(a), bt = culv_vector_pointer(b);
    REQUIRE_EQ(at, base + SPACE_CHUNK); /* behind the memory that is there */
    REQUIRE_EQ(bt, at + 64 * VMM_MIB);
    space_link(t, SPACE_CUDA, at, bt, 2000, 1);
    space_require_list(t, SPACE_VULKAN, at, at + VMM_MIB, 2000, 1);
    /* Work on the list is held while both grow. */
    space_gate_begin(t, &gate);
    space_launch_chase(t, gate.stream, at, base);
    for (uint64_t size = 2; size <= 16; size *= 2) {
        LIB_OK(culv_vector_grow(a, size * SPACE_CHUNK));
        LIB_OK(culv_vector_grow(b, size * SPACE_CHUNK));
        REQUIRE_EQ(culv_vector_pointer(a), at);
        REQUIRE_EQ(culv_vector_pointer(b), bt);
        space_require_same(t, space, at - base + (size - 1) * SPACE_CHUNK, SPACE_CHUNK,
                           (uint32_t)size);
    }
    space_gate_open(t, &gate);
    space_require_found(t, base, 2000, 1);
    space_link(t, SPACE_VULKAN, at + 15 * SPACE_CHUNK, bt, 2000, 2);
    space_require_list(t, SPACE_CUDA, at + 15 * SPACE_CHUNK, at + VMM_MIB, 2000, 2);
    /* The addresses are used up. */
    LIB_ERROR(culv_vector_grow(a, 64 * VMM_MIB + 1), OUT_OF_MEMORY, ADDRESS,
              "reserve more at first");
    LIB_ERROR(culv_vk_space_commit(space, at - base, SPACE_CHUNK, NULL), BUSY, MAPPED,
              "a vector has");
    LIB_ERROR(culv_vk_space_decommit(space, at - base, SPACE_CHUNK, t->s.stream, 1), BUSY, MAPPED);
    culv_vector_destroy(&b, NULL);
    LIB_OK(culv_vk_space_commit(space, bt - base, SPACE_CHUNK, NULL));
    space_require_same(t, space, bt - base, SPACE_CHUNK, 6);
    culv_vector_destroy(&a, NULL);
    space_gate_end(t, &gate);
    culv_vk_space_destroy(&space);
}

/* By default a vector leaves room for others, and has room to grow. */
SPACE_CASE(reserves)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const culv_vector_desc d = vector_desc(space, 4097, 0);
    culv_vector *vectors[4] = {NULL};
    for (uint32_t i = 0; i < 4; i++) {
        culv_vector_stats stats = culv_vector_stats_init();
        LIB_OK(culv_vector_create(t->s.w.device, &d, &vectors[i]));
        LIB_OK(culv_vector_get_stats(vectors[i], &stats));
        REQUIRE_EQ(stats.reserved, 16 * VMM_MIB);
        LIB_OK(culv_vector_grow(vectors[i], 3 * VMM_MIB + 1));
    }
    for (uint32_t i = 0; i < 4; i++)
        culv_vector_destroy(&vectors[i], NULL);
    culv_vk_space_destroy(&space);
}

/* A shrink takes memory from both sides, after the stream; a grow in its place gets new memory. */
SPACE_CASE(shrinks)
{
    space_gate gate;
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const culv_vector_desc d = vector_desc(space, 8 * SPACE_CHUNK, 0);
    culv_vector *vector = NULL;
    LIB_OK(culv_vector_create(t->s.w.device, &d, &vector));
    const CUdeviceptr at = culv_vector_pointer(vector);
    space_link(t, SPACE_VULKAN, at, at + 7 * SPACE_CHUNK, 2000, 3);
    space_gate_begin(t, &gate);
    space_launch_chase(t, gate.stream, at, at + VMM_MIB);
    LIB_OK(culv_vector_shrink(vector, SPACE_CHUNK, gate.stream));
    LIB_OK(culv_vk_space_collect(space));
    REQUIRE_EQ(space_info(space).decommitting, 7);
    space_gate_open(t, &gate);
    space_require_found(t, at + VMM_MIB, 2000, 3);
    LIB_OK(culv_vector_grow(vector, 4 * SPACE_CHUNK));
    for (uint64_t i = 0; i < 4; i++)
        space_require_same(t, space, i * SPACE_CHUNK, SPACE_CHUNK, (uint32_t)i);
    REQUIRE_EQ(space_info(space).committed, 4 * SPACE_CHUNK);
    culv_vector_destroy(&vector, &gate.stream);
    culv_vk_space_destroy(&space); /* which lives on with the vector's memory, or has gone */
    space_gate_end(t, &gate);
    lib_settle(&t->s.w);
}

/* A queue's lock, by which the test sees that it is held one at a time. */
typedef struct queue_lock {
    volatile int inside;
    volatile unsigned uses;
} queue_lock;

static void lock_queue(void *context)
{
    queue_lock *l = context;
    REQUIRE(__atomic_exchange_n(&l->inside, 1, __ATOMIC_SEQ_CST) == 0);
    __atomic_fetch_add(&l->uses, 1, __ATOMIC_SEQ_CST);
}

static void unlock_queue(void *context)
{
    queue_lock *l = context;
    REQUIRE(__atomic_exchange_n(&l->inside, 0, __ATOMIC_SEQ_CST) == 1);
}

/* The thread that commits ahead binds too. */
SPACE_CASE(ahead)
{
    queue_lock lock = {0, 0};
    culv_vk_space_desc sd = space_desc(t, 256 * VMM_MIB);
    sd.lock_queue = lock_queue;
    sd.unlock_queue = unlock_queue;
    sd.queue_context = &lock;
    culv_vk_space *space = NULL;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &sd, &space));
    culv_vector_desc d = vector_desc(space, SPACE_CHUNK, 128 * VMM_MIB);
    d.commit_ahead = 8 * SPACE_CHUNK;
    culv_vector *vector = NULL;
    LIB_OK(culv_vector_create(t->s.w.device, &d, &vector));
    culv_vk_space_destroy(&space); /* the vector keeps it */
    const CUdeviceptr at = culv_vector_pointer(vector);
    for (uint64_t size = 1; size <= 32; size++) {
        LIB_OK(culv_vector_grow(vector, size * SPACE_CHUNK));
        vmm_stage_kernel(&t->s, "library_write", at + (size - 1) * SPACE_CHUNK, 4096,
                         (uint32_t)size);
    }
    /* With more than half of it left the thread has nothing to do, and does not use the queue. */
    for (unsigned ms = 0; culv_vector_committed(vector) <= 36 * SPACE_CHUNK; ms++) {
        REQUIRE(ms < TEST_FAR_MS);
        lib_sleep_ms(1);
    }
    REQUIRE(lock.uses >= 36);
    /* Nobody uses the queue any more but this thread. */
    space_link(t, SPACE_VULKAN, at, at + 31 * SPACE_CHUNK, 2000, 4);
    space_require_list(t, SPACE_CUDA, at, at + VMM_MIB, 2000, 4);
    culv_vector_destroy(&vector, NULL);
}

/* The space goes before its vectors, and the other way round. */
SPACE_CASE(orders)
{
    for (unsigned order = 0; order < 4; order++) {
        culv_vk_space *space = space_make(t, 64 * VMM_MIB);
        const culv_vector_desc d = vector_desc(space, SPACE_CHUNK, 8 * VMM_MIB);
        culv_vector *vector = NULL;
        LIB_OK(culv_vector_create(t->s.w.device, &d, &vector));
        if (order % 2 == 0) culv_vk_space_destroy(&space);
        culv_vector_destroy(&vector, order >= 2 ? &t->s.stream : NULL);
        if (space != NULL) LIB_OK(culv_vk_space_collect(space));
        culv_vk_space_destroy(&space);
        lib_settle(&t->s.w);
    }
}
