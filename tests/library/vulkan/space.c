/* SPDX-License-Identifier: MIT */
/* One address: data and pointers both ways, in spaces of many sizes, and their lives. */
#define TEST_GROUP "space."
#include "space_stage.h"

/* A chunk at either end, data both ways, and a list that goes from end to end and back, built by
 * one side and followed by the other. */
static void both_ends(space_stage *t, uint64_t size, uint32_t seed)
{
    const uint64_t last = size - SPACE_CHUNK;
    culv_vk_space *space = space_make(t, size);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    REQUIRE(base != 0 && base % SPACE_CHUNK == 0);
    REQUIRE_EQ(space_info(space).size, size);
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = space_info(space).buffer};
    REQUIRE_EQ(vkGetBufferDeviceAddress(t->s.w.vk.device, &which), base);
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL));
    if (last > 0) LIB_OK(culv_vk_space_commit(space, last, SPACE_CHUNK, NULL));
    space_require_same(t, space, 0, SPACE_CHUNK, seed);
    space_require_same(t, space, last, SPACE_CHUNK, seed + 1);
    const CUdeviceptr here = base, there = base + size - VMM_MIB, found = base + VMM_MIB / 2;
    enum { NODES = 10000 };
    for (int side = SPACE_CUDA; side <= SPACE_VULKAN; side++) {
        space_link(t, (space_side)side, here, there, NODES, seed + 7u * (unsigned)side);
        space_require_list(t, SPACE_CUDA, here, found, NODES, seed + 7u * (unsigned)side);
        space_require_list(t, SPACE_VULKAN, here, found, NODES, seed + 7u * (unsigned)side);
    }
    const culv_vk_space_info info = space_info(space);
    REQUIRE_EQ(info.address, base);
    REQUIRE_EQ(info.committed, last > 0 ? 2 * SPACE_CHUNK : SPACE_CHUNK);
    REQUIRE_EQ(info.chunks, last > 0 ? 2 : 1);
    REQUIRE_EQ(info.refused_by_cuda + info.refused_by_vulkan + 1, info.attempts);
    MEASURED("space_address", "%llu MiB at 0x%llx, attempt %u", (unsigned long long)(size >> 20),
             (unsigned long long)base, info.attempts);
    culv_vk_space_destroy(&space);
    REQUIRE(space == NULL);
}

SPACE_CASE(sizes, .smoke = true)
{
    static const uint64_t many[] = {2, 4, 6, 64, 256, 1024, 1026, 16 << 10, 64 << 10, 256 << 10};
    culv_vk_space_info info = culv_vk_space_info_init();
    LIB_OK(culv_vk_check_space(t->s.w.attachment, NULL, &info));
    REQUIRE_EQ(info.granularity, SPACE_CHUNK);
    REQUIRE(info.max_size >= UINT64_C(1) << 30);
    for (unsigned i = 0; i < sizeof many / sizeof many[0]; i++)
        if (many[i] * VMM_MIB <= info.max_size) both_ends(t, many[i] * VMM_MIB, 100 * i);
}

/* Two spaces at a time have two addresses, and pointers lead from one to the other. */
SPACE_CASE(two)
{
    culv_vk_space *a = space_make(t, 64 * VMM_MIB), *b = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr at = culv_vk_space_pointer(a), bt = culv_vk_space_pointer(b);
    REQUIRE(at + space_info(a).size <= bt || bt + space_info(b).size <= at);
    LIB_OK(culv_vk_space_commit(a, 0, SPACE_CHUNK, NULL));
    LIB_OK(culv_vk_space_commit(b, 2 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    space_require_same(t, a, 0, SPACE_CHUNK, 1);
    space_require_same(t, b, 2 * SPACE_CHUNK, SPACE_CHUNK, 2);
    space_link(t, SPACE_CUDA, at, bt + 2 * SPACE_CHUNK, 5000, 3);
    space_require_list(t, SPACE_VULKAN, at, at + VMM_MIB, 5000, 3);
    culv_vk_space_destroy(&a);
    space_require_same(t, b, 2 * SPACE_CHUNK, SPACE_CHUNK, 4);
    culv_vk_space_destroy(&b);
}

/* An address of one's own, candidates, and what is told when none is free. */
SPACE_CASE(addresses)
{
    culv_vk_space *first = space_make(t, 64 * VMM_MIB), *space = NULL;
    const CUdeviceptr taken = culv_vk_space_pointer(first);
    culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);
    d.address = taken;
    LIB_REFUSES(space, culv_vk_space_create(t->s.w.attachment, &d, &space), OUT_OF_MEMORY, ADDRESS,
                "1 that were tried");
    culv_vk_space *other = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr free_one = culv_vk_space_pointer(other);
    culv_vk_space_destroy(&other);
    const CUdeviceptr both[] = {taken, free_one};
    d.address = 0;
    d.candidates = both;
    d.num_candidates = 2;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &space));
    REQUIRE_EQ(culv_vk_space_pointer(space), free_one);
    REQUIRE_EQ(space_info(space).attempts, 2);
    REQUIRE_EQ(space_info(space).refused_by_cuda, 1);
    culv_vk_space_destroy(&space);
    d.candidates = NULL;
    d.num_candidates = 0;
    d.address = free_one;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &space));
    REQUIRE_EQ(culv_vk_space_pointer(space), free_one);
    culv_vk_space_destroy(&space);
    culv_vk_space_destroy(&first);
}

/* Memory that goes and comes at a place is new memory on both sides. */
SPACE_CASE(in_and_out)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    for (uint32_t turn = 0; turn < 4; turn++) {
        const uint64_t size = (1 + turn % 2) * SPACE_CHUNK;
        LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, size, NULL));
        LIB_OK(culv_vk_space_commit(space, 8 * SPACE_CHUNK, SPACE_CHUNK, NULL));
        space_require_same(t, space, 4 * SPACE_CHUNK, size, 10 * turn);
        space_require_same(t, space, 8 * SPACE_CHUNK, SPACE_CHUNK, 10 * turn + 1);
        REQUIRE_EQ(space_info(space).committed, size + SPACE_CHUNK);
        LIB_OK(culv_vk_space_decommit(space, 0, space_info(space).size, t->s.stream, 1));
        REQUIRE_EQ(space_info(space).committed, 0);
        REQUIRE_EQ(space_info(space).decommitting, 0);
    }
    culv_vk_space_destroy(&space);
}

/* An allocation of the caller's goes in as a whole, at two places too, and stays the caller's. */
SPACE_CASE(own_allocation)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    culv_vmm_allocation *mine = vmm_stage_allocate(&t->s, SPACE_CHUNK);
    LIB_OK(culv_vk_space_commit_allocation(space, 0, mine, NULL));
    LIB_OK(culv_vk_space_commit_allocation(space, 6 * SPACE_CHUNK, mine, NULL));
    vmm_stage_kernel(&t->s, "library_write", culv_vk_space_pointer(space), 4096, 5);
    uint32_t words[1024];
    const raw_vk_buffer buffer = space_raw(space);
    raw_vk_read(&t->s.w.vk, &buffer, 6 * SPACE_CHUNK, words, sizeof words);
    REQUIRE_WORDS(words, 1024, 5);
    culv_vmm_allocation_destroy(&mine);
    space_require_same(t, space, 0, SPACE_CHUNK, 6);
    culv_vk_space_destroy(&space);
}
