/* SPDX-License-Identifier: MIT */
/* One address: what may be used when, with work that is still running. A held stream and a held
 * queue go on only after the call that is looked at, so a call that waited for them would hang. */
#define TEST_GROUP "space_order."
#include "space_stage.h"

#include <culvert/dlpack.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES = 3000 };

/* CUDA's work in the space is held; memory comes and goes elsewhere in it. */
SPACE_CASE(commit_beside_cuda)
{
    space_gate gate;
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space), found = base + VMM_MIB;
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL));
    space_link(t, SPACE_VULKAN, base, base + VMM_MIB / 2, NODES, 1);
    space_gate_begin(t, &gate);
    space_launch_chase(t, gate.stream, base, found);
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_require_same(t, space, 4 * SPACE_CHUNK, SPACE_CHUNK, 2);
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, t->s.stream, 1));
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    REQUIRE_EQ(lib_query(&t->s.w, gate.stream), CUDA_ERROR_NOT_READY);
    space_gate_open(t, &gate);
    space_require_found(t, found, NODES, 1);
    space_gate_end(t, &gate);
    culv_vk_space_destroy(&space);
}

/* Vulkan's queue is held, the very one that binds. A commit that gives a value does not wait, CUDA
 * has its memory at once, and Vulkan's work that waits for the value finds it. */
SPACE_CASE(commit_behind_vulkan)
{
    raw_vk *vk = &t->s.w.vk;
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space), found = base + VMM_MIB;
    uint64_t ready[2] = {0, 0};
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL));
    space_link(t, SPACE_CUDA, base, base + VMM_MIB / 2, NODES, 1);
    VkSemaphore hold = raw_vk_timeline(vk, 0, false);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, base, found);
    raw_vk_submit(vk, commands, &(raw_vk_job){.wait = hold, .wait_value = 1, .pending = true});
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, &ready[0]));
    LIB_OK(culv_vk_space_commit(space, 8 * SPACE_CHUNK, SPACE_CHUNK, &ready[1]));
    REQUIRE(ready[0] > 0 && ready[1] > ready[0]);
    const CUdeviceptr here = base + 4 * SPACE_CHUNK, there = base + 8 * SPACE_CHUNK;
    space_link(t, SPACE_CUDA, here, there, NODES, 2);
    space_require_list(t, SPACE_CUDA, here, here + VMM_MIB, NODES, 2);
    commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, here, there + VMM_MIB);
    raw_vk_submit(
        vk, commands,
        &(raw_vk_job){.wait = space_info(space).timeline, .wait_value = ready[1], .pending = true});
    raw_vk_timeline_signal(vk, hold, 1);
    raw_vk_idle(vk);
    space_require_found(t, found, NODES, 1);
    space_require_found(t, there + VMM_MIB, NODES, 2);
    raw_vk_timeline_destroy(vk, hold);
    culv_vk_space_destroy(&space);
}

/* The same with vectors, which grow without a wait where the space says so. */
SPACE_CASE(vectors_behind_vulkan)
{
    raw_vk *vk = &t->s.w.vk;
    culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);
    culv_vk_space *space = NULL;
    culv_vector *vector = NULL;
    d.vectors_do_not_wait = 1;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &space));
    REQUIRE_EQ(space_info(space).ready_value, 0);
    culv_vector_desc vd = culv_vector_desc_init();
    vd.size = SPACE_CHUNK;
    vd.reserve = 32 * VMM_MIB;
    vd.max_chunk = SPACE_CHUNK;
    vd.space = space_info(space).base;
    /* Everything that the queue does waits, also what binds. */
    VkSemaphore hold = raw_vk_timeline(vk, 0, false);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    raw_vk_submit(vk, commands, &(raw_vk_job){.wait = hold, .wait_value = 1, .pending = true});
    LIB_OK(culv_vector_create(t->s.w.device, &vd, &vector));
    const uint64_t first = space_info(space).ready_value;
    LIB_OK(culv_vector_grow(vector, 4 * SPACE_CHUNK));
    const uint64_t ready = space_info(space).ready_value;
    REQUIRE(first > 0 && ready > first);
    const CUdeviceptr at = culv_vector_pointer(vector), there = at + 3 * SPACE_CHUNK;
    space_link(t, SPACE_CUDA, at, there, NODES, 4);
    space_require_list(t, SPACE_CUDA, at, at + VMM_MIB, NODES, 4);
    commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, at, there + VMM_MIB);
    raw_vk_submit(
        vk, commands,
        &(raw_vk_job){.wait = space_info(space).timeline, .wait_value = ready, .pending = true});
    raw_vk_timeline_signal(vk, hold, 1);
    raw_vk_idle(vk);
    space_require_found(t, there + VMM_MIB, NODES, 4);
    raw_vk_timeline_destroy(vk, hold);
    culv_vector_destroy(&vector, NULL);
    culv_vk_space_destroy(&space);
}

/* A deferred decommit takes nothing away from work that is held, on either side, and the memory is
 * there until then. */
SPACE_CASE(decommit_after_both)
{
    space_gate gate;
    raw_vk *vk = &t->s.w.vk;
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space), part = base + 4 * SPACE_CHUNK;
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL));
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_link(t, SPACE_CUDA, part, part + VMM_MIB, NODES, 3);
    space_gate_begin(t, &gate);
    space_launch_chase(t, gate.stream, part, base);
    /* Vulkan's work is behind CUDA's, and the stream waits for it too. */
    VkSemaphore drawn = raw_vk_timeline(vk, 0, true);
    culv_semaphore *seen = lib_import_timeline(&t->s.w, drawn);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, part, base + 64);
    raw_vk_submit(vk, commands,
                  &(raw_vk_job){.wait = gate.timeline,
                                .wait_value = 1,
                                .signal = drawn,
                                .signal_value = 1,
                                .pending = true});
    LIB_OK(culv_semaphore_wait(seen, gate.stream, 1));
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, gate.stream, 0));
    LIB_OK(culv_vk_space_collect(space));
    REQUIRE_EQ(space_info(space).decommitting, 1);
    REQUIRE_EQ(space_info(space).committed, SPACE_CHUNK);
    /* Elsewhere life goes on, by the value: the queue is held. */
    uint64_t ready = 0;
    LIB_OK(culv_vk_space_commit(space, 8 * SPACE_CHUNK, SPACE_CHUNK, &ready));
    space_link(t, SPACE_CUDA, base + 8 * SPACE_CHUNK, base + 9 * SPACE_CHUNK - VMM_MIB, NODES, 4);
    raw_vk_timeline_signal(vk, gate.timeline, 1);
    lib_finish(&t->s.w, gate.stream);
    raw_vk_idle(vk);
    space_require_found(t, base, NODES, 3);
    space_require_found(t, base + 64, NODES, 3);
    LIB_OK(culv_vk_space_collect(space));
    /* What waits for Vulkan's unbinding goes with the next call. */
    REQUIRE(raw_vk_timeline_wait(vk, space_info(space).timeline, ready + 1, TEST_FAR_MS));
    LIB_OK(culv_vk_space_collect(space));
    REQUIRE_EQ(space_info(space).decommitting, 0);
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_require_same(t, space, 4 * SPACE_CHUNK, SPACE_CHUNK, 5);
    culv_semaphore_destroy(&seen, NULL);
    raw_vk_timeline_destroy(vk, drawn);
    space_gate_end(t, &gate);
    culv_vk_space_destroy(&space);
}

/* A space that is given up goes with its last part; what is deferred goes with its stream. */
SPACE_CASE(destroyed_early)
{
    space_gate gate;
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();
    culv_vk_space_buffer *buffer = NULL;
    d.size = VMM_MIB;
    LIB_OK(culv_vk_space_buffer_create(space, &d, &buffer));
    REQUIRE_EQ(culv_vk_space_buffer_pointer(buffer), base);
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_link(t, SPACE_VULKAN, base + 4 * SPACE_CHUNK, base + 5 * SPACE_CHUNK - VMM_MIB, NODES, 6);
    space_gate_begin(t, &gate);
    space_launch_chase(t, gate.stream, base + 4 * SPACE_CHUNK,
                       base + 4 * SPACE_CHUNK + VMM_MIB / 2);
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, gate.stream, 0));
    culv_vk_space_destroy(&space);
    space_require_list(t, SPACE_CUDA, 0, base, 0, 0); /* the part is still there */
    culv_vk_space_buffer_destroy(&buffer);            /* with this the space goes; CUDA works on */
    space_gate_open(t, &gate);
    space_gate_end(t, &gate);
    lib_settle(&t->s.w);
}

/* While one thread is inside a callback or a wait, another one makes each call that is for any
 * thread. What it waits for comes after all of them. */

enum { MINE = 8, DEFERRED = 12, OTHERS = 16 }; /* chunks */

typedef struct beside {
    space_stage *t;
    culv_vk_space *space;
    culv_vector *vector;
    space_gate gate;   /* holds a stream */
    VkSemaphore hold;  /* holds the queue */
    atomic_int thread; /* that is held */
    atomic_bool in_callback, callback_holds;
    pthread_t main;
    unsigned others_uses; /* of the queue, by other threads than the main one */
    void (*held)(struct beside *b);
} beside;

static void take_queue(void *context)
{
    beside *b = context;
    if (!pthread_equal(pthread_self(), b->main)) b->others_uses++;
    atomic_store(&b->in_callback, true);
    while (atomic_load(&b->callback_holds) && !pthread_equal(pthread_self(), b->main))
        lib_sleep_ms(1);
}

static void give_queue(void *context)
{
    atomic_store(&((beside *)context)->in_callback, false);
}

static void grow_vector(beside *b)
{
    LIB_OK(culv_vector_grow(b->vector, 4 * SPACE_CHUNK));
}

static void commit_and_wait(beside *b)
{
    LIB_OK(culv_vk_space_commit(b->space, MINE * SPACE_CHUNK, SPACE_CHUNK, NULL));
}

static void decommit(beside *b)
{
    LIB_OK(culv_vk_space_decommit(b->space, MINE * SPACE_CHUNK, SPACE_CHUNK, b->gate.stream, 1));
}

static void take_place(beside *b)
{
    culv_vk_space_buffer *buffer = NULL;
    culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();
    d.size = SPACE_CHUNK;
    d.offset = DEFERRED * SPACE_CHUNK;
    LIB_OK(culv_vk_space_buffer_create(b->space, &d, &buffer));
    culv_vk_space_buffer_destroy(&buffer);
}

static void *run_held(void *user)
{
    beside *b = user;
    atomic_store(&b->thread, (int)syscall(SYS_gettid));
    b->held(b);
    return NULL;
}

/* Where the queue is another thread's, or is not to be used: these never use it. */
static void call_without_queue(beside *b)
{
    const uint64_t value = space_info(b->space).ready_value;
    REQUIRE(value > 0);
    REQUIRE(space_info(b->space).size == 256 * VMM_MIB);
    REQUIRE(space_info(b->space).timeline != VK_NULL_HANDLE &&
            space_info(b->space).buffer != VK_NULL_HANDLE && culv_vk_space_pointer(b->space) != 0);
    LIB_OK(culv_vk_space_decommit(b->space, OTHERS * SPACE_CHUNK, SPACE_CHUNK, b->t->s.stream, 0));
}

static void call_with_queue(beside *b, bool queue_is_held)
{
    culv_vector_desc d = culv_vector_desc_init();
    culv_vector *vector = NULL;
    uint64_t ready = 0;
    LIB_OK(culv_vk_space_collect(b->space));
    LIB_OK(culv_vk_space_commit(b->space, (OTHERS + 1) * SPACE_CHUNK, SPACE_CHUNK, &ready));
    REQUIRE_EQ(space_info(b->space).ready_value, ready);
    LIB_OK(culv_vk_space_decommit(b->space, (OTHERS + 1) * SPACE_CHUNK, SPACE_CHUNK, b->t->s.stream,
                                  0));
    if (queue_is_held) return; /* a vector of this space waits for Vulkan */
    d.size = SPACE_CHUNK;
    d.reserve = 2 * SPACE_CHUNK;
    d.space = space_info(b->space).base;
    LIB_OK(culv_vector_create(b->t->s.w.device, &d, &vector));
    LIB_OK(culv_vector_shrink(vector, 0, b->t->s.stream));
    culv_vector_destroy(&vector, NULL);
}

typedef enum obstacle { CALLBACK, STREAM, QUEUE } obstacle;

static void beside_call(space_stage *t, void (*held)(beside *), obstacle what)
{
    raw_vk *vk = &t->s.w.vk;
    pthread_t thread;
    beside b = {.t = t, .main = pthread_self(), .held = held};
    culv_vk_space_desc d = space_desc(t, 256 * VMM_MIB);
    d.lock_queue = take_queue;
    d.unlock_queue = give_queue;
    d.queue_context = &b;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &b.space));
    culv_vector_desc v = culv_vector_desc_init();
    v.size = SPACE_CHUNK;
    v.reserve = 4 * SPACE_CHUNK;
    v.max_chunk = SPACE_CHUNK;
    v.space = space_info(b.space).base;
    LIB_OK(culv_vector_create(t->s.w.device, &v, &b.vector));
    LIB_OK(culv_vk_space_commit(b.space, OTHERS * SPACE_CHUNK, SPACE_CHUNK, NULL));
    LIB_OK(culv_vk_space_commit(b.space, DEFERRED * SPACE_CHUNK, SPACE_CHUNK, NULL));
    if (held == decommit)
        LIB_OK(culv_vk_space_commit(b.space, MINE * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_gate_begin(t, &b.gate);
    LIB_OK(culv_vk_space_decommit(b.space, DEFERRED * SPACE_CHUNK, SPACE_CHUNK, b.gate.stream, 0));
    b.hold = raw_vk_timeline(vk, 0, false);
    if (what == QUEUE)
        raw_vk_submit(vk, raw_vk_begin(vk, 0),
                      &(raw_vk_job){.wait = b.hold, .wait_value = 1, .pending = true});
    atomic_store(&b.callback_holds, what == CALLBACK);
    REQUIRE_EQ(pthread_create(&thread, NULL, run_held, &b), 0);
    /* NVIDIA's waits spin, so nobody sleeps there. */
    const unsigned most = t->s.w.cu->software ? TEST_FAR_MS : 200;
    for (unsigned i = 0;
         what == CALLBACK ? !atomic_load(&b.in_callback)
                          : atomic_load(&b.thread) == 0 ||
                                (i < most && !test_sleeps(atomic_load(&b.thread), 20));
         i++)
        lib_sleep_ms(1);
    call_without_queue(&b);
    if (what != CALLBACK) call_with_queue(&b, what == QUEUE);
    if (what == QUEUE) culv_vector_destroy(&b.vector, NULL); /* does not wait */
    atomic_store(&b.callback_holds, false);
    raw_vk_timeline_signal(vk, b.gate.timeline, 1);
    raw_vk_timeline_signal(vk, b.hold, 1);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    raw_vk_idle(vk);
    space_gate_end(t, &b.gate);
    raw_vk_timeline_destroy(vk, b.hold);
    culv_vector_destroy(&b.vector, NULL);
    culv_vk_space_destroy(&b.space);
    lib_settle(&t->s.w);
}

SPACE_CASE(beside_the_queues_callback, .time_limit = 60, .own = true)
{
    beside_call(t, grow_vector, CALLBACK);
    beside_call(t, commit_and_wait, CALLBACK);
}

SPACE_CASE(beside_a_wait_for_a_stream, .time_limit = 60, .own = true)
{
    beside_call(t, decommit, STREAM);
    beside_call(t, take_place, STREAM);
}

SPACE_CASE(beside_a_wait_for_vulkan, .time_limit = 60, .own = true)
{
    beside_call(t, commit_and_wait, QUEUE);
}

/* Tensors of a vector in a space --------------------------------------------------------------- */

static void *delete_it(void *tensor)
{
    culv_dl_managed_tensor_versioned *d = tensor;
    d->deleter(d);
    return NULL;
}

/* The last tensor goes in its consumer's thread, before and after its space, and makes no call of
 * Vulkan's there: the VkDevice may be gone by then. What it leaves in a space that lives, a later
 * call frees. */
SPACE_CASE(last_tensor_without_vulkan)
{
    lib_layer layer;
    culv_soft_vk_counts before = {.struct_size = sizeof before}, after = before;
    const bool has_layer = lib_layer_find(&layer);
    for (unsigned i = 0; i < 8; i++) {
        const bool space_first = i & 1, deferred = i & 2, two = i & 4;
        beside b = {.t = t, .main = pthread_self()};
        culv_dl_managed_tensor_versioned *tensors[2] = {NULL};
        pthread_t thread;
        culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);
        culv_vector_desc v = culv_vector_desc_init();
        d.lock_queue = take_queue;
        d.unlock_queue = give_queue;
        d.queue_context = &b;
        LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &b.space));
        LIB_OK(culv_vk_space_commit(b.space, MINE * SPACE_CHUNK, SPACE_CHUNK, NULL));
        v.size = 2 * SPACE_CHUNK;
        v.reserve = 4 * SPACE_CHUNK;
        v.space = space_info(b.space).base;
        LIB_OK(culv_vector_create(t->s.w.device, &v, &b.vector));
        for (int k = 0; k < 1 + two; k++)
            LIB_OK(culv_vector_get_dlpack(b.vector, NULL, &tensors[k]));
        const CUdeviceptr at = culv_vector_pointer(b.vector);
        LIB_CU_OK(&t->s.w, t->s.w.cu->MemsetD32Async(at, 40 + i, 1024, t->s.stream));
        culv_vector_destroy(&b.vector, deferred ? &t->s.stream : NULL);
        if (two) tensors[1]->deleter(tensors[1]);
        if (space_first) culv_vk_space_destroy(&b.space);
        uint32_t word = 0;
        lib_finish(&t->s.w, t->s.stream);
        LIB_CU_OK(&t->s.w, t->s.w.cu->MemcpyDtoH(&word, at, sizeof word));
        REQUIRE_EQ(word, 40 + i);
        if (has_layer) layer.counts(&before);
        REQUIRE_EQ(pthread_create(&thread, NULL, delete_it, tensors[0]), 0);
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        if (has_layer) layer.counts(&after);
        REQUIRE(memcmp(&before, &after, sizeof before) == 0);
        REQUIRE_EQ(b.others_uses, 0);
        if (!space_first) {
            LIB_OK(culv_vk_space_commit(b.space, 0, 4 * SPACE_CHUNK, NULL));
            space_require_same(t, b.space, 0, 4 * SPACE_CHUNK, i);
            LIB_OK(culv_vk_space_collect(b.space));
            REQUIRE_EQ(space_info(b.space).decommitting, 0);
        }
        culv_vk_space_destroy(&b.space);
        lib_settle(&t->s.w);
        REQUIRE_EQ(lib_counts(&t->s.w).vmm_mappings, 0);
        REQUIRE_EQ(lib_counts(&t->s.w).vmm_ranges, 0);
    }
}
