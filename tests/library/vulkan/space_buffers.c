/* SPDX-License-Identifier: MIT */
/* One address: parts of a space as buffers. */
#define TEST_GROUP "space_buffers."
#include "space_stage.h"

static culv_vk_space_buffer *take(culv_vk_space *space, uint64_t offset, uint64_t size,
                                  VkBufferUsageFlags usage, bool own)
{
    culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();
    culv_vk_space_buffer *buffer = NULL;
    d.offset = offset;
    d.size = size;
    d.usage = usage;
    d.own_handle = own;
    LIB_OK(culv_vk_space_buffer_create(space, &d, &buffer));
    return buffer;
}

/* Side by side, each aligned for its use, and committed as far as needed. */
SPACE_CASE(placed)
{
    culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);
    d.buffer_usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    culv_vk_space *space = NULL;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &space));
    const CUdeviceptr base = culv_vk_space_pointer(space);
    static const VkBufferUsageFlags usages[] = {VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
                                                VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, 0};
    culv_vk_space_buffer *buffers[4];
    for (unsigned i = 0; i < 4; i++) {
        VkDeviceSize offset = 1;
        buffers[i] = take(space, CULV_VK_SPACE_ANYWHERE, 1000000 + i, usages[i], false);
        const CUdeviceptr at = culv_vk_space_buffer_pointer(buffers[i]);
        REQUIRE_EQ(at % 256, 0);
        REQUIRE(culv_vk_space_buffer_handle(buffers[i], &offset) == space_info(space).buffer);
        REQUIRE_EQ(base + offset, at);
        if (i > 0) REQUIRE(at >= culv_vk_space_buffer_pointer(buffers[i - 1]) + 1000000 + i - 1);
        vmm_stage_kernel(&t->s, "library_write", at, 1000000, i);
    }
    REQUIRE_EQ(space_info(space).committed, 2 * SPACE_CHUNK);
    const raw_vk_buffer raw = space_raw(space);
    uint32_t *words = malloc(1000000);
    REQUIRE(words != NULL);
    for (unsigned i = 0; i < 4; i++) {
        raw_vk_read(&t->s.w.vk, &raw, culv_vk_space_buffer_pointer(buffers[i]) - base, words,
                    1000000);
        REQUIRE_WORDS(words, 250000, i);
    }
    free(words);
    /* A hole is found again, and its memory has stayed. */
    const CUdeviceptr second = culv_vk_space_buffer_pointer(buffers[1]);
    culv_vk_space_buffer_destroy(&buffers[1]);
    REQUIRE(buffers[1] == NULL);
    buffers[1] = take(space, CULV_VK_SPACE_ANYWHERE, 900000, 0, false);
    REQUIRE_EQ(culv_vk_space_buffer_pointer(buffers[1]), second);
    REQUIRE_EQ(space_info(space).committed, 2 * SPACE_CHUNK);
    /* What a buffer has is not taken away. */
    LIB_ERROR(culv_vk_space_decommit(space, 0, 2 * SPACE_CHUNK, t->s.stream, 1), BUSY, MAPPED,
              "a buffer has");
    culv_vk_space_destroy(&space);
    for (unsigned i = 0; i < 4; i++)
        culv_vk_space_buffer_destroy(&buffers[i]);
}

/* A VkBuffer of its own on memory of several chunks, some of which were there. */
SPACE_CASE(own_handle)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    LIB_OK(culv_vk_space_commit(space, 2 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    vmm_stage_kernel(&t->s, "library_write", base + 2 * SPACE_CHUNK, 4096, 9);
    const uint64_t at = SPACE_CHUNK + VMM_MIB, size = 3 * SPACE_CHUNK + 4;
    culv_vk_space_buffer *buffer =
        take(space, at, size,
             VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
             true);
    VkDeviceSize offset = 1;
    const raw_vk_buffer own = {.buffer = culv_vk_space_buffer_handle(buffer, &offset),
                               .size = size};
    REQUIRE_EQ(offset, 0);
    REQUIRE(own.buffer != space_info(space).buffer);
    REQUIRE_EQ(culv_vk_space_buffer_pointer(buffer), base + at);
    REQUIRE_EQ(space_info(space).chunks, 3);
    uint32_t words[1024];
    raw_vk_read(&t->s.w.vk, &own, VMM_MIB, words, sizeof words);
    REQUIRE_WORDS(words, 1024, 9);
    raw_vk_fill(&t->s.w.vk, &own, 0, size, 0x12345678u, NULL);
    uint32_t *all = malloc((size_t)size);
    REQUIRE(all != NULL);
    vmm_stage_cuda_read(&t->s, base + at, size, all);
    for (size_t i = 0; i < size / 4; i++)
        REQUIRE_EQ(all[i], 0x12345678u);
    vmm_stage_kernel(&t->s, "library_write", base + at, size, 11);
    raw_vk_read(&t->s.w.vk, &own, 0, all, size);
    REQUIRE_WORDS(all, (size_t)(size / 4), 11);
    free(all);
    culv_vk_space_buffer_destroy(&buffer);
    LIB_OK(culv_vk_space_decommit(space, 0, 64 * VMM_MIB, t->s.stream, 1));
    culv_vk_space_destroy(&space);
}
