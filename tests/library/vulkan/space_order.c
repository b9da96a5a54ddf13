/* SPDX-License-Identifier: MIT */
/* One address: what may be used when, with work that is still running. A held stream and a held
 * queue go on only after the call that is looked at, so a call that waited for them would hang. */
#include "space_stage.h"

#include <stdio.h>
#include <string.h>

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
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, t->s.stream));
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
    raw_vk_submit(vk, commands,
                  &(raw_vk_job){.wait = culv_vk_space_timeline(space),
                                .wait_value = ready[1],
                                .pending = true});
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
    REQUIRE_EQ(culv_vk_space_ready_value(space), 0);
    REQUIRE_EQ(culv_vk_space_ready_value(NULL), 0);
    culv_vector_desc vd = culv_vector_desc_init();
    vd.size = SPACE_CHUNK;
    vd.reserve = 32 * VMM_MIB;
    vd.max_chunk = SPACE_CHUNK;
    vd.space = culv_vk_space_base(space);
    /* Everything that the queue does waits, also what binds. */
    VkSemaphore hold = raw_vk_timeline(vk, 0, false);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    raw_vk_submit(vk, commands, &(raw_vk_job){.wait = hold, .wait_value = 1, .pending = true});
    LIB_OK(culv_vector_create(t->s.w.device, &vd, &vector));
    const uint64_t first = culv_vk_space_ready_value(space);
    LIB_OK(culv_vector_grow(vector, 4 * SPACE_CHUNK));
    const uint64_t ready = culv_vk_space_ready_value(space);
    REQUIRE(first > 0 && ready > first);
    const CUdeviceptr at = culv_vector_pointer(vector), there = at + 3 * SPACE_CHUNK;
    space_link(t, SPACE_CUDA, at, there, NODES, 4);
    space_require_list(t, SPACE_CUDA, at, at + VMM_MIB, NODES, 4);
    commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, at, there + VMM_MIB);
    raw_vk_submit(
        vk, commands,
        &(raw_vk_job){.wait = culv_vk_space_timeline(space), .wait_value = ready, .pending = true});
    raw_vk_timeline_signal(vk, hold, 1);
    raw_vk_idle(vk);
    space_require_found(t, there + VMM_MIB, NODES, 4);
    raw_vk_timeline_destroy(vk, hold);
    culv_vector_destroy(&vector);
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
    LIB_OK(culv_vk_space_decommit_after(space, 4 * SPACE_CHUNK, SPACE_CHUNK, gate.stream));
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
    REQUIRE(raw_vk_timeline_wait(vk, culv_vk_space_timeline(space), ready + 1, TEST_FAR_MS));
    LIB_OK(culv_vk_space_collect(space));
    REQUIRE_EQ(space_info(space).decommitting, 0);
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_require_same(t, space, 4 * SPACE_CHUNK, SPACE_CHUNK, 5);
    culv_semaphore_destroy(&seen);
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
    LIB_OK(culv_vk_space_decommit_after(space, 4 * SPACE_CHUNK, SPACE_CHUNK, gate.stream));
    culv_vk_space_destroy(&space);
    space_require_list(t, SPACE_CUDA, 0, base, 0, 0); /* the part is still there */
    culv_vk_space_buffer_destroy(&buffer);            /* with this the space goes; CUDA works on */
    space_gate_open(t, &gate);
    space_gate_end(t, &gate);
    lib_settle(&t->s.w);
}

const test_case space_order_cases[] = {
    {.name = "space_order.commit_beside_cuda", .run = commit_beside_cuda},
    {.name = "space_order.commit_behind_vulkan", .run = commit_behind_vulkan},
    {.name = "space_order.vectors_behind_vulkan", .run = vectors_behind_vulkan},
    {.name = "space_order.decommit_after_both", .run = decommit_after_both},
    {.name = "space_order.destroyed_early", .run = destroyed_early},
    {.name = NULL}};
