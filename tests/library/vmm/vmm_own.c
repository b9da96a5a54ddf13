/* SPDX-License-Identifier: MIT */
/* What culv_vector and others need of ranges, by libculvert's inner calls. */
#define TEST_GROUP "own."
#include "vmm_stage.h"

#include "vmm/mapping.h"

#include <pthread.h>

/* A change that waits on the host for what is deferred at its place alone, without the device's
 * lock. */
typedef struct settler {
    culv_vmm_range *range;
    atomic_bool done;
    pthread_t thread;
} settler;

static void *settle(void *user)
{
    settler *it = user;
    LIB_OK(culvi_vmm_wait_and_collect(it->range, VMM_BLOCK, VMM_BLOCK));
    atomic_store(&it->done, true);
    return NULL;
}

VMM_CASE(settled)
{
    vmm_gate first, second;
    OWN(culv_vmm_range) *range = vmm_range(s, 4);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    for (uint64_t i = 0; i < 3; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
    LIB_OK(culvi_vmm_wait_and_collect(range, 0, 4 * VMM_BLOCK)); /* nothing to wait for */
    /* The second first: NVIDIA's driver calls host functions one after another (measured). */
    vmm_gate_begin(s, &second);
    vmm_gate_begin(s, &first);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &first.stream)); /* never opened meanwhile */
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, &second.stream));
    LIB_OK(culvi_vmm_wait_and_collect(range, 2 * VMM_BLOCK, 2 * VMM_BLOCK)); /* touches neither */
    settler it = {.range = range};
    atomic_init(&it.done, false);
    REQUIRE_EQ(pthread_create(&it.thread, NULL, settle, &it), 0);
    lib_sleep_ms(50);
    /* The lock is free. */
    REQUIRE_EQ(vmm_count_mappings(s), 3);
    LIB_OK(culv_vmm_map(range, 3 * VMM_BLOCK, one, NULL, 0));
    REQUIRE(!atomic_load(&it.done));
    vmm_gate_open(s, &second);
    REQUIRE_EQ(pthread_join(it.thread, NULL), 0);
    REQUIRE(atomic_load(&it.done));
    REQUIRE_EQ(vmm_count_mappings(s), 3); /* the first one waits on */
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, one, NULL, 0));
    LIB_INVALID(culvi_vmm_wait_and_collect(range, 0, 5 * VMM_BLOCK), RANGE);
    vmm_gate_end(s, &first);
    vmm_gate_end(s, &second);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
    LIB_OK(culvi_vmm_wait_and_collect(range, 0, 4 * VMM_BLOCK));
}

VMM_CASE(unmapped_quietly)
{
    vmm_gate gate;
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    OWN(culv_vmm_range) *range = vmm_range(s, 4);
    for (uint64_t i = 0; i < 4; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
    vmm_gate_begin(s, &gate);
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, &gate.stream));
    culvi_vmm_unmap_or_defer(range, 0, culv_vmm_range_size(range));
    REQUIRE_EQ(vmm_count_mappings(s), 1);
    vmm_gate_end(s, &gate);
    REQUIRE_EQ(vmm_count_mappings(s), 0);
}

/* The plain path makes the driver calls that it needs, and no more. */
VMM_CASE(calls)
{
    if (s->w.cu->SoftCounts == NULL) SKIP("only the twin counts");
    OWN(culv_vmm_range) *range = vmm_range(s, 2);
    uint64_t calls[3] = {0};
    (void)lib_enter(&s->w); /* whose context is current already */
    for (size_t i = 0; i < 2; i++) {
        calls[0] = lib_soft_counts(s->w.cu).calls;
        OWN(culv_vmm_allocation) *allocation = vmm_allocation(s, 1, 0);
        calls[1] = lib_soft_counts(s->w.cu).calls;
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, allocation, NULL, 0));
        calls[2] = lib_soft_counts(s->w.cu).calls;
    }
    /* cuCtxGetId, cuCtxGetCurrent, cuThreadExchangeStreamCaptureMode twice, and the work. */
    REQUIRE_EQ(calls[1] - calls[0], 4 + 1);
    REQUIRE_EQ(calls[2] - calls[1], 4 + 2);
    CU_OK(s->w.cu->CtxSetCurrent(NULL));
}

/* Several threads, each in a part of one range, and allocations that come and go. */
enum { THREADS = 4, TURNS = 40 };

typedef struct worker {
    const vmm_stage *s;
    culv_vmm_range *range;
    uint64_t place;
    pthread_t thread;
} worker;

static void *work(void *user)
{
    const worker *me = user;
    for (int i = 0; i < TURNS; i++) {
        OWN(culv_vmm_allocation) *one = vmm_allocation(me->s, 1, 0);
        LIB_OK(culv_vmm_map(me->range, me->place * VMM_BLOCK, one, NULL, 0));
        if (i % 2 == 0) culv_vmm_allocation_destroy(&one);
        (void)vmm_count_mappings(me->s);
        if (i % 3 == 0) {
            LIB_OK(culv_vmm_unmap(me->range, me->place * VMM_BLOCK, VMM_BLOCK, &(CUstream){NULL}));
            LIB_OK(culvi_vmm_wait_and_collect(me->range, me->place * VMM_BLOCK, VMM_BLOCK));
        } else {
            LIB_OK(culv_vmm_unmap(me->range, me->place * VMM_BLOCK, VMM_BLOCK, NULL));
        }
    }
    return NULL;
}

VMM_CASE(threads)
{
    worker workers[THREADS];
    OWN(culv_vmm_range) *range = vmm_range(s, THREADS);
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.s = s, .range = range, .place = i};
        REQUIRE_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_join(workers[i].thread, NULL), 0);
}
