/* SPDX-License-Identifier: MIT */
/* Resources that Culvert makes, in one call: created, allocated, bound, exported, imported and
 * mapped; next to the same calls made by hand. */
#include "calls.h"

#include <string.h>

typedef struct create_state {
    bench *b;
    VkDeviceSize size;
    bool dedicated; /* as Vulkan prefers it for such a buffer */
    culv_shared_buffer *made;
    raw_vk_buffer raw;
    CUexternalMemory memory;
    CUdeviceptr pointer;
} create_state;

static const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

static bool prefers_dedicated(const raw_vk *vk, const raw_vk_buffer *buffer)
{
    const VkBufferMemoryRequirementsInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = buffer->buffer};
    VkMemoryDedicatedRequirements dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                   .pNext = &dedicated};
    vkGetBufferMemoryRequirements2(vk->device, &info, &needs);
    return dedicated.prefersDedicatedAllocation || dedicated.requiresDedicatedAllocation;
}

static void make(create_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    if (side == BENCH_CULVERT) {
        const VkBufferCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = s->size, .usage = usage};
        culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
        desc.create_info = &info;
        CULV_OK_OR_EXIT(culv_vk_buffer_create(r->attached, &desc, &s->made));
        s->pointer = culv_shared_buffer_pointer(s->made);
        return;
    }
    raw_vk_buffer_create(&r->vk, s->size, RAW_VK_EXPORT | (s->dedicated ? RAW_VK_DEDICATED : 0),
                         &s->raw);
    RIG_CU(raw_cuda_import_memory(r->cu, raw_vk_buffer_fd(&r->vk, &s->raw), s->raw.allocation_size,
                                  s->dedicated, &s->memory));
    RIG_CU(raw_cuda_map_buffer(r->cu, s->memory, 0, s->raw.allocation_size, &s->pointer));
}

static void destroy(create_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    if (side == BENCH_CULVERT) {
        culv_shared_buffer_destroy(&s->made);
        return;
    }
    RIG_CU(r->cu->MemFree(s->pointer));
    RIG_CU(r->cu->DestroyExternalMemory(s->memory));
    raw_vk_buffer_destroy(&r->vk, &s->raw);
}

static void turn(void *state, bench_side side, double ns[])
{
    create_state *s = state;
    double begun = bench_now();
    make(s, side);
    double made = bench_now();
    ns[0] = made - begun;
    destroy(s, side);
    ns[1] = bench_now() - made;
}

/* CUDA writes the end of what was made, Vulkan reads it. */
static void check(create_state *s, bench_side side)
{
    rig *r = &s->b->rig;
    uint32_t got[16], expected[16], word = 0x31415926u + s->b->checks;
    make(s, side);
    raw_vk_buffer buffer = s->raw;
    if (side == BENCH_CULVERT)
        buffer = (raw_vk_buffer){
            .buffer = culv_vk_buffer_handle(s->made), .size = s->size, .flags = RAW_VK_EXPORT};
    for (size_t i = 0; i < 16; i++)
        expected[i] = word;
    RIG_CU(r->cu->MemsetD32Async(s->pointer + s->size - sizeof got, word, 16, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    raw_vk_read(&r->vk, &buffer, s->size - sizeof got, got, sizeof got);
    REQUIRE_EQ_BYTES(got, expected, sizeof got);
    destroy(s, side);
    bench_checked(s->b);
}

static void measure_size(bench *b, VkDeviceSize size, const char *text)
{
    create_state s = {.b = b, .size = size};
    bench_series series;
    raw_vk_buffer_create(&b->rig.vk, size, RAW_VK_EXPORT, &s.raw);
    s.dedicated = prefers_dedicated(&b->rig.vk, &s.raw);
    raw_vk_buffer_destroy(&b->rig.vk, &s.raw);
    bench_variant(b, "%s", text);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    bench_begin(b, &series, (bench_setup){.turn = turn, .state = &s, .num_phases = 2, .calls = 1});
    bench_row(b, &series, (bench_row_desc){.name = "create", .phases = 1});
    bench_row(b, &series, (bench_row_desc){.name = "destroy", .phases = 2});
    bench_end(&series);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
}

void measure_create(bench *b)
{
    measure_size(b, 65536, "64 KiB");
    if (!b->quick) measure_size(b, 8u << 20, "8 MiB");
}
