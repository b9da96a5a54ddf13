/* SPDX-License-Identifier: MIT */
/* One address, with each call of the drivers and each allocation made to fail once in turn. */
#include "torture.h"

#define CHUNK (UINT64_C(2) << 20)

static culv_vk_space_info space_info(culv_vk_space *space)
{
    culv_vk_space_info info = culv_vk_space_info_init();
    LIB_OK(culv_vk_space_get_info(space, &info));
    return info;
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_vk_space *space = POISON(culv_vk_space);
    culv_vk_space_buffer *part = POISON(culv_vk_space_buffer), *own = POISON(culv_vk_space_buffer);
    culv_vector *vector = POISON(culv_vector);
    culv_vmm_allocation *allocation = NULL;
    uint64_t ready = 7;
    CUstream stream = torture_open();
    culv_vk_space_desc d = culv_vk_space_desc_init();
    d.size = 64 * CHUNK;
    d.queue = w->vk.queues[0].queue;
    TRY_AGAIN(culv_vk_check_space(w->attachment, &d, NULL), true);
    TRY_AGAIN(culv_vk_space_create(w->attachment, &d, &space), space == POISON(culv_vk_space));
    TRY_AGAIN(culv_vk_space_commit(space, 0, CHUNK, NULL), space_info(space).committed == 0);
    TRY_AGAIN(culv_vk_space_commit(space, 4 * CHUNK, 2 * CHUNK, &ready),
              space_info(space).committed == CHUNK && ready == 7);
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    ad.size = CHUNK;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_allocation_create(w->device, &ad, &allocation));
    TRY_AGAIN(culv_vk_space_commit_allocation(space, 8 * CHUNK, allocation, NULL),
              space_info(space).committed == 3 * CHUNK);
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_space_buffer_desc bd = culv_vk_space_buffer_desc_init();
    bd.size = 3 * CHUNK;
    bd.offset = 3 * CHUNK;
    TRY_AGAIN(culv_vk_space_buffer_create(space, &bd, &part),
              part == POISON(culv_vk_space_buffer) && space_info(space).committed == 4 * CHUNK);
    bd.offset = 7 * CHUNK;
    bd.own_handle = 1;
    bd.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    TRY_AGAIN(culv_vk_space_buffer_create(space, &bd, &own),
              own == POISON(culv_vk_space_buffer) && space_info(space).committed == 5 * CHUNK);
    culv_vector_desc vd = culv_vector_desc_init();
    vd.size = 2 * CHUNK;
    vd.max_chunk = CHUNK;
    vd.reserve = 8 * CHUNK;
    vd.space = space_info(space).base;
    TRY_AGAIN(culv_vector_create(w->device, &vd, &vector), vector == POISON(culv_vector));
    TRY_AGAIN(culv_vector_grow(vector, 4 * CHUNK), culv_vector_committed(vector) == 2 * CHUNK);
    TRY_AGAIN(culv_vector_shrink(vector, CHUNK, stream),
              culv_vector_committed(vector) == 4 * CHUNK);
    TRY_AGAIN(culv_vector_grow(vector, 3 * CHUNK), culv_vector_committed(vector) == CHUNK);
    DO(culv_vector_destroy(&vector, NULL));
    DO(culv_vk_space_buffer_destroy(&part));
    DO(culv_vk_space_buffer_destroy(&own));
    TRY_AGAIN(culv_vk_space_decommit(space, 0, CHUNK, stream, 0), true);
    lib_finish(w, stream);
    TRY_AGAIN(culv_vk_space_collect(space), true);
    DO(culv_vk_space_destroy(&space));
    lib_settle(w);
    torture_close(stream);
}

static const torture_path path = {.any_driver = true,
                                  .unvalidated = true,
                                  .run = run,
                                  .one_address = true,
                                  .least = {16, 16, 16}};
TORTURE_CASES("space", path)
