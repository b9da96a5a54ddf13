/* SPDX-License-Identifier: MIT */
/* A chunk into both sides and out again, next to the same calls made by hand. */
#include "space.h"

#include <string.h>

typedef struct commit_state {
    space_bench *b;
    uint64_t size;
    culv_vk_space *space;
    /* Its addresses alone are used: the raw calls map and bind there. */
    culv_vk_space *place;
    CUmemAllocationProp prop;
    CUmemAccessDesc access;
    uint32_t type; /* of Vulkan's memory */
    VkSemaphore timeline;
    uint64_t value;
    CUmemGenericAllocationHandle handle;
    VkDeviceMemory memory;
} commit_state;

static void bind(commit_state *s, VkDeviceMemory memory)
{
    raw_vk *vk = &s->b->bench.rig.vk;
    const VkSparseMemoryBind part = {.size = s->size, .memory = memory};
    const VkSparseBufferMemoryBindInfo of = {
        .buffer = culv_vk_space_handle(s->place), .bindCount = 1, .pBinds = &part};
    const uint64_t before = s->value++;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = 1,
        .pWaitSemaphoreValues = &before,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &s->value};
    const VkBindSparseInfo info = {.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
                                   .pNext = &values,
                                   .waitSemaphoreCount = 1,
                                   .pWaitSemaphores = &s->timeline,
                                   .bufferBindCount = 1,
                                   .pBufferBinds = &of,
                                   .signalSemaphoreCount = 1,
                                   .pSignalSemaphores = &s->timeline};
    VK_OK(vkQueueBindSparse(s->b->queue, 1, &info, VK_NULL_HANDLE));
    const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &s->timeline,
                                      .pValues = &s->value};
    VK_OK(vkWaitSemaphores(vk->device, &wait, UINT64_MAX));
}

static void commit_by_hand(commit_state *s)
{
    rig *r = &s->b->bench.rig;
    const CUdeviceptr at = culv_vk_space_pointer(s->place);
    int fd = -1;
    RIG_CU(r->cu->MemCreate(&s->handle, s->size, &s->prop, 0));
    RIG_CU(r->cu->MemMap(at, s->size, 0, s->handle, 0));
    RIG_CU(r->cu->MemSetAccess(at, s->size, &s->access, 1));
    RIG_CU(r->cu->MemExportToShareableHandle(&fd, s->handle,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkImportMemoryFdInfoKHR import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                            .pNext = &flags,
                                            .handleType =
                                                VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                            .fd = fd};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &import,
                                       .allocationSize = s->size,
                                       .memoryTypeIndex = s->type};
    VK_OK(vkAllocateMemory(r->vk.device, &info, NULL, &s->memory));
    bind(s, s->memory);
    RIG_CU(r->cu->MemRelease(s->handle)); /* the mapping keeps the memory */
}

static void decommit_by_hand(commit_state *s)
{
    rig *r = &s->b->bench.rig;
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    RIG_CU(r->cu->MemUnmap(culv_vk_space_pointer(s->place), s->size));
    bind(s, VK_NULL_HANDLE);
    vkFreeMemory(r->vk.device, s->memory, NULL);
}

static void turn(void *state, bench_side side, double ns[])
{
    commit_state *s = state;
    rig *r = &s->b->bench.rig;
    double begun = bench_now();
    if (side == BENCH_CULVERT)
        CULV_OK_OR_EXIT(culv_vk_space_commit(s->space, 0, s->size, NULL));
    else
        commit_by_hand(s);
    double made = bench_now();
    ns[0] = made - begun;
    if (side == BENCH_CULVERT)
        CULV_OK_OR_EXIT(culv_vk_space_decommit(s->space, 0, s->size, r->stream));
    else
        decommit_by_hand(s);
    ns[1] = bench_now() - made;
}

/* CUDA writes the end, Vulkan reads it. */
static void check(commit_state *s, bench_side side)
{
    rig *r = &s->b->bench.rig;
    culv_vk_space *space = side == BENCH_CULVERT ? s->space : s->place;
    uint32_t got[16], expected[16], word = 0x27182818u + s->b->bench.checks;
    const raw_vk_buffer buffer = {.buffer = culv_vk_space_handle(space),
                                  .size = culv_vk_space_size(space)};
    if (side == BENCH_CULVERT)
        CULV_OK_OR_EXIT(culv_vk_space_commit(space, 0, s->size, NULL));
    else
        commit_by_hand(s);
    for (size_t i = 0; i < 16; i++)
        expected[i] = word;
    RIG_CU(r->cu->MemsetD32Async(culv_vk_space_pointer(space) + s->size - sizeof got, word, 16,
                                 r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    raw_vk_read(&r->vk, &buffer, s->size - sizeof got, got, sizeof got);
    REQUIRE_EQ_BYTES(got, expected, sizeof got);
    if (side == BENCH_CULVERT)
        CULV_OK_OR_EXIT(culv_vk_space_decommit(space, 0, s->size, r->stream));
    else
        decommit_by_hand(s);
    bench_checked(&s->b->bench);
}

static void measure_size(space_bench *b, uint64_t size)
{
    rig *r = &b->bench.rig;
    commit_state s = {.b = b, .size = size};
    bench_series series;
    VkMemoryRequirements needs;
    s.space = space_make(b, size);
    s.place = space_make(b, size);
    s.prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    s.prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    s.prop.location.id = r->ordinal;
    s.prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    s.access.location = s.prop.location;
    s.access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    s.timeline = raw_vk_timeline(&r->vk, 0, false);
    vkGetBufferMemoryRequirements(r->vk.device, culv_vk_space_handle(s.place), &needs);
    while (
        !(needs.memoryTypeBits >> s.type & 1) ||
        !(r->vk.memory.memoryTypes[s.type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) {
        s.type++;
        REQUIRE(s.type < r->vk.memory.memoryTypeCount);
    }
    bench_variant(&b->bench, "%llu MiB", (unsigned long long)(size >> 20));
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    bench_begin(&b->bench, &series,
                (bench_setup){.turn = turn, .state = &s, .num_phases = 2, .calls = 1});
    bench_row(&b->bench, &series,
              (bench_row_desc){.name = "commit of a chunk", .phases = 1, .goal = 1.05});
    bench_row(&b->bench, &series, (bench_row_desc){.name = "decommit", .phases = 2});
    bench_end(&series);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    culv_vk_space_destroy(&s.space);
    culv_vk_space_destroy(&s.place);
    raw_vk_timeline_destroy(&r->vk, s.timeline);
}

void section_commit(space_bench *b)
{
    measure_size(b, SPACE_MIB(2));
    if (b->bench.quick) return;
    measure_size(b, SPACE_MIB(64));
    if (!b->bench.rig.caps.is_software) measure_size(b, SPACE_MIB(1024));
}
