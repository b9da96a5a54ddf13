/* SPDX-License-Identifier: MIT */
/* One address: data and pointers both ways, in spaces of many sizes, and their lives. */
#define TEST_GROUP "space."
#include "vulkan_vmm_stage.h"

#include <culvert/dlpack.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

LIB_ENDS(culv_vk_space, culv_vk_space_destroy(object))
LIB_ENDS(culv_vk_space_buffer, culv_vk_space_buffer_destroy(object))

#define SPACE_CHUNK (2 * VMM_MIB)

/* A stream that waits for a timeline of Vulkan's, until it is opened. */
typedef struct space_gate {
    VkSemaphore timeline;
    culv_semaphore *semaphore;
    CUstream stream;
} space_gate;

typedef struct space_stage {
    vmm_stage s;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    space_gate gate; /* of the cases with one */
} space_stage;

#define SPACE_CASE(...) TEST_ON(space_stage, t, space_open(t), space_close(t), __VA_ARGS__)
typedef enum space_side { SPACE_CUDA, SPACE_VULKAN } space_side;

static void space_begin(space_stage *t);
static void gate_end(space_stage *t);

static void space_link(space_stage *t, space_side side, CUdeviceptr here, CUdeviceptr there,
                       uint32_t count, uint32_t seed);

typedef struct constants {
    uint64_t here, there;
    uint32_t count, seed; /* no count: what is found from here on goes there */
} constants;

/* Vulkan --------------------------------------------------------------------------------------- */

static culv_vk_space_desc space_desc(const space_stage *t, uint64_t size);

/* Skips a GPU that cannot have one address; the twin can. */
static void space_open(space_stage *t)
{
    lib_world *w = &t->s.w;
    memset(t, 0, sizeof *t);
    lib_open_vulkan_for_one_address(w);
    lib_open_culvert(w);
    vmm_stage_begin(&t->s);
    culv_vk_space_desc d = space_desc(t, SPACE_CHUNK);
    culv_vk_space *space = NULL;
    if (culv_vk_space_create(w->attachment, &d, &space) != CULV_OK) {
        if (w->cu->software) FAIL("%s", culv_last_error_message());
        SKIP("%s", culv_last_error_message());
    }
    culv_vk_space_destroy(&space);
    space_begin(t);
}

/* The shaders alone, for a device that was opened in another way. */
static void space_begin(space_stage *t)
{
    const lib_world *w = &t->s.w;
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(constants)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    VK_OK(vkCreatePipelineLayout(w->vk.device, &layout, NULL, &t->layout));
    t->pipeline = lib_compute_pipeline(w->vk.device, "library_space.comp", t->layout);
    /* Before anything is held: a driver that loads lazily would hold up the rest, too. */
    static const char *const kernels[] = {"library_write", "library_add", "library_link",
                                          "library_chase"};
    CUcontext before = lib_enter(w);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        (void)raw_cuda_function(w->cu, t->s.module, kernels[i]);
    lib_leave(w, before);
}

static void space_end(space_stage *t)
{
    VkDevice device = t->s.w.vk.device;
    raw_vk_idle(&t->s.w.vk);
    vkDestroyPipeline(device, t->pipeline, NULL);
    vkDestroyPipelineLayout(device, t->layout, NULL);
}

static void space_close(space_stage *t)
{
    gate_end(t);
    space_end(t);
    vmm_stage_close(&t->s);
}

/* The first queue that binds sparse buffers. */
static VkQueue space_queue(const space_stage *t)
{
    const raw_vk *vk = &t->s.w.vk;
    uint32_t i = 0;
    while (i < vk->queue_count && !(vk->queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        i++;
    REQUIRE(i < vk->queue_count);
    return vk->queues[i].queue;
}

static void run(space_stage *t, constants c, VkCommandBuffer commands)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, t->pipeline);
    vkCmdPushConstants(commands, t->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof c, &c);
    vkCmdDispatch(commands, c.count / 64 + 1, 1, 1);
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                         1, &barrier, 0, NULL, 0, NULL);
}

/* Spaces --------------------------------------------------------------------------------------- */

static culv_vk_space_desc space_desc(const space_stage *t, uint64_t size)
{
    culv_vk_space_desc d = culv_vk_space_desc_init();
    d.size = size;
    d.queue = space_queue(t);
    d.label = "trees";
    return d;
}

static culv_vk_space *space_make(const space_stage *t, uint64_t size)
{
    const culv_vk_space_desc d = space_desc(t, size);
    NEW(culv_vk_space, space, culv_vk_space_create, t->s.w.attachment, &d);
    return space;
}

static culv_vk_space_info space_info(culv_vk_space *space)
{
    culv_vk_space_info info = culv_vk_space_info_init();
    LIB_OK(culv_vk_space_get_info(space, &info));
    return info;
}

/* Of a vector that lives in it. */
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

/* A buffer for raw_vk_fill() and its like. */
static raw_vk_buffer space_raw(culv_vk_space *space)
{
    const culv_vk_space_info info = space_info(space);
    return (raw_vk_buffer){.buffer = info.buffer, .size = info.size};
}

/* Both sides read what either wrote, by its own address, there. */
static void space_require_same(space_stage *t, culv_vk_space *space, uint64_t offset, uint64_t size,
                               uint32_t seed)
{
    const raw_vk_buffer buffer = space_raw(space);
    const CUdeviceptr at = culv_vk_space_pointer(space) + offset;
    LIB_BLOCK(uint32_t, words, size);
    vmm_stage_kernel(&t->s, "library_write", at, size, seed);
    raw_vk_read(&t->s.w.vk, &buffer, offset, words, size);
    REQUIRE_WORDS(words, (size_t)(size / 4), seed);
    raw_vk_fill(&t->s.w.vk, &buffer, offset, size, seed ^ 0x5a5a5a5au, NULL);
    vmm_stage_cuda_read(&t->s, at, size, words);
    REQUIRE_ALL(words, size / 4, seed ^ 0x5a5a5a5au);
}

/* Lists ---------------------------------------------------------------------------------------- */

/* A list through two places, built by one side and followed by the other. `found` is an address
 * with 8 bytes. */
static void space_link(space_stage *t, space_side side, CUdeviceptr here, CUdeviceptr there,
                       uint32_t count, uint32_t seed)
{
    if (side == SPACE_VULKAN) {
        VkCommandBuffer commands = raw_vk_begin(&t->s.w.vk, 0);
        run(t, (constants){here, there, count, seed}, commands);
        raw_vk_submit(&t->s.w.vk, commands, NULL);
        return;
    }
    const raw_cuda *cu = t->s.w.cu;
    unsigned long long a = here, b = there;
    void *params[] = {&a, &b, &count, &seed};
    LIB_CU_OK(&t->s.w,
              cu->LaunchKernel(raw_cuda_function(cu, t->s.module, "library_link"),
                               (count + 255) / 256, 1, 1, 256, 1, 1, 0, t->s.stream, params, NULL));
    lib_finish(&t->s.w, t->s.stream);
}

/* Commands that follow a list, for a queue that is to be held. */
static void space_record_chase(space_stage *t, VkCommandBuffer commands, CUdeviceptr first,
                               CUdeviceptr found)
{
    run(t, (constants){first, found, 0, 0}, commands);
}

/* Launches without waiting. */
static void space_launch_chase(space_stage *t, CUstream stream, CUdeviceptr first,
                               CUdeviceptr found)
{
    const raw_cuda *cu = t->s.w.cu;
    unsigned long long from = first;
    void *params[] = {&from, &found};
    LIB_CU_OK(&t->s.w, cu->LaunchKernel(raw_cuda_function(cu, t->s.module, "library_chase"), 1, 1,
                                        1, 1, 1, 1, 0, stream, params, NULL));
}

static void space_require_found(space_stage *t, CUdeviceptr found, uint32_t count, uint32_t seed)
{
    uint32_t words[2] = {0, 0}, mixed = 0;
    for (uint32_t i = 0; i < count; i++)
        mixed = mixed * 31u + lib_word(i, seed);
    vmm_stage_cuda_read(&t->s, found, sizeof words, words);
    REQUIRE_EQ(words[0], count);
    REQUIRE_EQ(words[1], mixed);
}

static void space_require_list(space_stage *t, space_side side, CUdeviceptr first,
                               CUdeviceptr found, uint32_t count, uint32_t seed)
{
    if (side == SPACE_VULKAN) {
        VkCommandBuffer commands = raw_vk_begin(&t->s.w.vk, 0);
        space_record_chase(t, commands, first, found);
        raw_vk_submit(&t->s.w.vk, commands, NULL);
    } else {
        space_launch_chase(t, t->s.stream, first, found);
        lib_finish(&t->s.w, t->s.stream);
    }
    space_require_found(t, found, count, seed);
}

/* Gates ---------------------------------------------------------------------------------------- */

static void gate_begin(space_stage *t)
{
    space_gate *gate = &t->gate;
    gate->timeline = raw_vk_timeline(&t->s.w.vk, 0, true);
    gate->semaphore = lib_import_timeline(&t->s.w, gate->timeline);
    gate->stream = lib_stream(&t->s.w);
    LIB_OK(culv_semaphore_wait(gate->semaphore, gate->stream, 1));
}

static void gate_open(space_stage *t)
{
    raw_vk_timeline_signal(&t->s.w.vk, t->gate.timeline, 1);
    lib_finish(&t->s.w, t->gate.stream);
}

/* At a case's end, or before. */
static void gate_end(space_stage *t)
{
    space_gate *gate = &t->gate;
    if (gate->timeline == VK_NULL_HANDLE) return;
    lib_finish(&t->s.w, gate->stream);
    lib_stream_destroy(&t->s.w, gate->stream);
    culv_semaphore_destroy(&gate->semaphore, NULL);
    raw_vk_timeline_destroy(&t->s.w.vk, gate->timeline);
    gate->timeline = VK_NULL_HANDLE;
}

/* A chunk at either end, data both ways, and a list that goes from end to end and back, built by
 * one side and followed by the other, and one from here to another space, which has a chunk. */
static void both_ends(space_stage *t, uint64_t size, culv_vk_space *other, uint32_t seed)
{
    const uint64_t last = size - SPACE_CHUNK;
    culv_vk_space *space = space_make(t, size);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    REQUIRE(base != 0 && base % SPACE_CHUNK == 0);
    REQUIRE_EQ(space_info(space).size, size);
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = space_info(space).buffer};
    REQUIRE_EQ(vkGetBufferDeviceAddress(t->s.w.vk.device, &which), base);
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL, NULL));
    if (last > 0) LIB_OK(culv_vk_space_commit(space, last, SPACE_CHUNK, NULL, NULL));
    space_require_same(t, space, 0, SPACE_CHUNK, seed);
    space_require_same(t, space, last, SPACE_CHUNK, seed + 1);
    const CUdeviceptr here = base, there = base + size - VMM_MIB, found = base + VMM_MIB / 2;
    enum { NODES = 10000 };
    for (int side = SPACE_CUDA; side <= SPACE_VULKAN; side++) {
        space_link(t, (space_side)side, here, there, NODES, seed + 7u * (unsigned)side);
        space_require_list(t, SPACE_CUDA, here, found, NODES, seed + 7u * (unsigned)side);
        space_require_list(t, SPACE_VULKAN, here, found, NODES, seed + 7u * (unsigned)side);
    }
    const CUdeviceptr elsewhere = culv_vk_space_pointer(other);
    REQUIRE(elsewhere + SPACE_CHUNK <= base || base + size <= elsewhere);
    space_link(t, SPACE_CUDA, here, elsewhere, NODES, seed + 3);
    space_require_list(t, SPACE_VULKAN, here, found, NODES, seed + 3);
    const culv_vk_space_info info = space_info(space);
    REQUIRE_EQ(info.address, base);
    REQUIRE_EQ(info.committed, last > 0 ? 2 * SPACE_CHUNK : SPACE_CHUNK);
    REQUIRE_EQ(info.chunks, last > 0 ? 2 : 1);
    REQUIRE_EQ(info.refused_by_cuda + info.refused_by_vulkan + 1, info.attempts);
    MEASURED("space_address", "%llu MiB at 0x%llx, attempt %u", (unsigned long long)(size >> 20),
             (unsigned long long)base, info.attempts);
    culv_vk_space_destroy(&space);
    REQUIRE(space == NULL);
    space_require_same(t, other, 0, SPACE_CHUNK, seed + 4);
}

SPACE_CASE(sizes, .smoke = true)
{
    static const uint64_t many[] = {2, 4, 6, 64, 256, 1024, 1026, 16 << 10, 64 << 10, 256 << 10};
    OWN(culv_vk_space) *least = space_make(t, SPACE_CHUNK);
    const culv_vk_space_info info = space_info(least);
    LIB_OK(culv_vk_space_commit(least, 0, SPACE_CHUNK, NULL, NULL));
    REQUIRE_EQ(info.granularity, SPACE_CHUNK);
    REQUIRE(info.max_size >= UINT64_C(1) << 30);
    for (unsigned i = 0; i < sizeof many / sizeof many[0]; i++)
        if (many[i] * VMM_MIB <= info.max_size) both_ends(t, many[i] * VMM_MIB, least, 100 * i);
}

/* An address of one's own, and what is told when it is not free. */
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
    d.address = free_one;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &space));
    REQUIRE_EQ(culv_vk_space_pointer(space), free_one);
    culv_vk_space_destroy(&space);
    culv_vk_space_destroy(&first);
}

/* An allocation of the caller's goes in as a whole, at two places too, and stays the caller's. */
SPACE_CASE(own_allocation)
{
    OWN(culv_vk_space) *space = space_make(t, 64 * VMM_MIB);
    culv_vmm_allocation *mine = vmm_stage_allocate(&t->s, SPACE_CHUNK);
    LIB_OK(culv_vk_space_commit(space, 0, 0, mine, NULL));
    LIB_OK(culv_vk_space_commit(space, 6 * SPACE_CHUNK, 0, mine, NULL));
    vmm_stage_kernel(&t->s, "library_write", culv_vk_space_pointer(space), 4096, 5);
    uint32_t words[1024];
    const raw_vk_buffer buffer = space_raw(space);
    raw_vk_read(&t->s.w.vk, &buffer, 6 * SPACE_CHUNK, words, sizeof words);
    REQUIRE_WORDS(words, 1024, 5);
    culv_vmm_allocation_destroy(&mine);
    space_require_same(t, space, 0, SPACE_CHUNK, 6);
}

#undef TEST_GROUP
#define TEST_GROUP "space_buffers."
/* One address: parts of a space as buffers. */

static culv_vk_space_buffer *take(culv_vk_space *space, uint64_t offset, uint64_t size,
                                  VkBufferUsageFlags usage)
{
    culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();
    d.offset = offset;
    d.size = size;
    d.usage = usage;
    NEW(culv_vk_space_buffer, buffer, culv_vk_space_buffer_create, space, &d);
    return buffer;
}

/* Side by side, each aligned for its use, and committed as far as needed. */
SPACE_CASE(placed)
{
    culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);
    d.buffer_usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    NEW(culv_vk_space, space, culv_vk_space_create, t->s.w.attachment, &d);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    static const VkBufferUsageFlags usages[] = {VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
                                                VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, 0};
    culv_vk_space_buffer *buffers[4];
    for (unsigned i = 0; i < 4; i++) {
        buffers[i] = take(space, CULV_VK_SPACE_ANYWHERE, 1000000 + i, usages[i]);
        const CUdeviceptr at = culv_vk_space_buffer_pointer(buffers[i]);
        REQUIRE_EQ(at % 256, 0);
        if (i > 0) REQUIRE(at >= culv_vk_space_buffer_pointer(buffers[i - 1]) + 1000000 + i - 1);
        vmm_stage_kernel(&t->s, "library_write", at, 1000000, i);
    }
    REQUIRE_EQ(space_info(space).committed, 2 * SPACE_CHUNK);
    const raw_vk_buffer raw = space_raw(space);
    LIB_BLOCK(uint32_t, words, 1000000);
    for (unsigned i = 0; i < 4; i++) {
        raw_vk_read(&t->s.w.vk, &raw, culv_vk_space_buffer_pointer(buffers[i]) - base, words,
                    1000000);
        REQUIRE_WORDS(words, 250000, i);
    }
    /* A hole is found again, and its memory has stayed. */
    const CUdeviceptr second = culv_vk_space_buffer_pointer(buffers[1]);
    culv_vk_space_buffer_destroy(&buffers[1]);
    REQUIRE(buffers[1] == NULL);
    buffers[1] = take(space, CULV_VK_SPACE_ANYWHERE, 900000, 0);
    REQUIRE_EQ(culv_vk_space_buffer_pointer(buffers[1]), second);
    REQUIRE_EQ(space_info(space).committed, 2 * SPACE_CHUNK);
    /* What a buffer has is not taken away. */
    LIB_ERROR(culv_vk_space_decommit(space, 0, 2 * SPACE_CHUNK, t->s.stream, 1), BUSY, MAPPED,
              "a buffer has");
    culv_vk_space_destroy(&space);
    for (unsigned i = 0; i < 4; i++)
        culv_vk_space_buffer_destroy(&buffers[i]);
}

/* On memory of several chunks, some of which were there. */
SPACE_CASE(on_chunks)
{
    OWN(culv_vk_space) *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    LIB_OK(culv_vk_space_commit(space, 2 * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    vmm_stage_kernel(&t->s, "library_write", base + 2 * SPACE_CHUNK, 4096, 9);
    const uint64_t at = SPACE_CHUNK + VMM_MIB, size = 3 * SPACE_CHUNK + 4;
    culv_vk_space_buffer *buffer = take(space, at, size, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    const raw_vk_buffer raw = space_raw(space);
    REQUIRE_EQ(culv_vk_space_buffer_pointer(buffer), base + at);
    REQUIRE_EQ(space_info(space).chunks, 3);
    uint32_t words[1024];
    raw_vk_read(&t->s.w.vk, &raw, at + VMM_MIB, words, sizeof words);
    REQUIRE_WORDS(words, 1024, 9);
    raw_vk_fill(&t->s.w.vk, &raw, at, size, 0x12345678u, NULL);
    LIB_BLOCK(uint32_t, all, size);
    vmm_stage_cuda_read(&t->s, base + at, size, all);
    REQUIRE_ALL(all, size / 4, 0x12345678u);
    vmm_stage_kernel(&t->s, "library_write", base + at, size, 11);
    raw_vk_read(&t->s.w.vk, &raw, at, all, size);
    REQUIRE_WORDS(all, (size_t)(size / 4), 11);
    culv_vk_space_buffer_destroy(&buffer);
    /* All of it goes, with the holes, and what comes at a place is new memory on both sides. */
    LIB_OK(culv_vk_space_commit(space, 8 * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    LIB_OK(culv_vk_space_decommit(space, 0, 64 * VMM_MIB, t->s.stream, 1));
    REQUIRE_EQ(space_info(space).committed, 0);
    REQUIRE_EQ(space_info(space).decommitting, 0);
    LIB_OK(culv_vk_space_commit(space, 2 * SPACE_CHUNK, 2 * SPACE_CHUNK, NULL, NULL));
    space_require_same(t, space, 2 * SPACE_CHUNK, 2 * SPACE_CHUNK, 12);
}

#undef TEST_GROUP
#define TEST_GROUP "space.devices."
/* One address: two VkDevices, a second GPU of CUDA's that follows the same pointers, and two GPUs
 * with a space each. */

enum { NODES = 5000 };

static culv_device *open_second(const raw_cuda *cu)
{
    culv_device_desc d = culv_device_desc_init();
    d.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    NEW(culv_device, device, culv_device_open_by_ordinal, 1, &d);
    return device;
}

/* The second GPU has the memory at the address that the first one and Vulkan have. */
TEST(peer, .own = true)
{
    static space_stage t, second;
    raw_cuda_two_devices();
    const raw_cuda *cu = lib_driver();
    if (cu->device_count < 2) SKIP("one CUDA device only");
    space_open(&t);
    culv_device *other = open_second(cu);
    const culv_vmm_access both[] = {{.device = t.s.w.device, .flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = other, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    culv_vk_space_desc d = space_desc(&t, 64 * VMM_MIB);
    culv_vk_space *space = NULL;
    d.access = both;
    d.access_count = 2;
    if (culv_vk_space_create(t.s.w.attachment, &d, &space) != CULV_OK) {
        culv_error error = culv_error_init();
        culv_last_error(&error);
        REQUIRE_EQ(error.reason, CULV_REASON_PEER);
        culv_device_close(&other);
        SKIP("the second GPU does not reach the first: %s", culv_last_error_message());
    }
    second = t;
    second.s.w.device = other;
    second.s.w.context = culv_device_context(other);
    vmm_stage_begin(&second.s);
    const CUdeviceptr base = culv_vk_space_pointer(space), found = base + VMM_MIB / 2;
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL, NULL));
    LIB_OK(culv_vk_space_commit(space, 6 * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    const CUdeviceptr there = base + 6 * SPACE_CHUNK;
    space_link(&t, SPACE_CUDA, base, there, NODES, 1);
    space_require_list(&second, SPACE_CUDA, base, found, NODES, 1);
    space_link(&t, SPACE_VULKAN, base, there, NODES, 2);
    space_require_list(&second, SPACE_CUDA, base, found, NODES, 2);
    space_link(&second, SPACE_CUDA, base, there, NODES, 3);
    space_require_list(&t, SPACE_VULKAN, base, found, NODES, 3);
    space_require_list(&t, SPACE_CUDA, base, found, NODES, 3);
    culv_vk_space_destroy(&space);
    lib_settle(&t.s.w);
    LIB_CU_OK(&second.s.w, cu->ModuleUnload(second.s.module));
    lib_stream_destroy(&second.s.w, second.s.stream);
    culv_device_close(&other);
    space_close(&t);
}

/* Of one GPU, or of two, where each has a device of CUDA's. The second one's space goes first, and
 * the first one's after it still works. The twin has Vulkan for its first device alone. */
static void two_vulkans(bool two_gpus)
{
    static space_stage a, b;
    const raw_cuda *cu = lib_driver();
    if (two_gpus && cu->software) SKIP("the twin has Vulkan for one device");
    if (two_gpus && cu->device_count < 2) SKIP("one CUDA device only");
    space_open(&a);
    b = a;
    lib_world *w = &b.s.w;
    CUuuid uuid;
    CU_OK(cu->DeviceGetUuid(&uuid, two_gpus));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = cu->software,
                                          .one_address = true});
    REQUIRE(w->vk.device != a.s.w.vk.device);
    if (two_gpus) {
        w->fds = test_open_fds() + 1000; /* NVIDIA's driver opens files with each context */
        lib_open_culvert(w);
        vmm_stage_begin(&b.s);
    } else {
        const culv_vk_device_desc d = lib_vk_desc(w);
        LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    }
    space_begin(&b);
    culv_vk_space *x = space_make(&a, 64 * VMM_MIB), *y = space_make(&b, 64 * VMM_MIB);
    /* Addresses differ, since CUDA has one list of them for all devices. */
    const CUdeviceptr at = culv_vk_space_pointer(x), bt = culv_vk_space_pointer(y);
    REQUIRE(at + space_info(x).size <= bt || bt + space_info(y).size <= at);
    LIB_OK(culv_vk_space_commit(x, 0, SPACE_CHUNK, NULL, NULL));
    LIB_OK(culv_vk_space_commit(y, 0, SPACE_CHUNK, NULL, NULL));
    space_require_same(&a, x, 0, SPACE_CHUNK, 3);
    space_require_same(&b, y, 0, SPACE_CHUNK, 4);
    culv_vk_space_destroy(&y);
    space_require_same(&a, x, 0, SPACE_CHUNK, 5);
    culv_vk_space_destroy(&x);
    lib_settle(w);
    if (two_gpus) {
        space_close(&b);
    } else {
        space_end(&b);
        culv_vk_detach(&w->attachment);
        raw_vk_close(&w->vk);
    }
    space_close(&a);
}

TEST_AS(two_vulkan_devices, two_vulkans(false), .own = true)
TEST_AS(two_gpus, two_vulkans(true), .own = true)

#undef TEST_GROUP
#define TEST_GROUP "space_order."
/* One address: what may be used when, with work that is still running. A held stream and a held
 * queue go on only after the call that is looked at, so a call that waited for them would hang. */

enum { ORDER_NODES = 3000 };

/* Vulkan's queue is held, the very one that binds, and vectors grow without a wait where the space
 * says so. */
SPACE_CASE(vectors_behind_vulkan)
{
    raw_vk *vk = &t->s.w.vk;
    culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);
    d.vectors_do_not_wait = 1;
    NEW(OWN(culv_vk_space), space, culv_vk_space_create, t->s.w.attachment, &d);
    REQUIRE_EQ(space_info(space).ready_value, 0);
    const culv_vector_desc vd = vector_desc(space, SPACE_CHUNK, 32 * VMM_MIB);
    /* Everything that the queue does waits, also what binds. */
    VkSemaphore hold = raw_vk_timeline(vk, 0, false);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    raw_vk_submit(vk, commands, &(raw_vk_job){.wait = hold, .wait_value = 1, .pending = true});
    NEW(OWN(culv_vector), vector, culv_vector_create, t->s.w.device, &vd);
    const uint64_t first = space_info(space).ready_value;
    LIB_OK(culv_vector_grow(vector, 4 * SPACE_CHUNK));
    const uint64_t ready = space_info(space).ready_value;
    REQUIRE(first > 0 && ready > first);
    const CUdeviceptr at = culv_vector_pointer(vector), there = at + 3 * SPACE_CHUNK;
    space_link(t, SPACE_CUDA, at, there, ORDER_NODES, 4);
    space_require_list(t, SPACE_CUDA, at, at + VMM_MIB, ORDER_NODES, 4);
    commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, at, there + VMM_MIB);
    raw_vk_submit(
        vk, commands,
        &(raw_vk_job){.wait = space_info(space).timeline, .wait_value = ready, .pending = true});
    raw_vk_timeline_signal(vk, hold, 1);
    raw_vk_idle(vk);
    space_require_found(t, there + VMM_MIB, ORDER_NODES, 4);
    raw_vk_timeline_destroy(vk, hold);
}

/* A deferred decommit takes nothing away from work that is held, on either side, and the memory is
 * there until then. */
SPACE_CASE(decommit_after_both)
{
    raw_vk *vk = &t->s.w.vk;
    OWN(culv_vk_space) *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space), part = base + 4 * SPACE_CHUNK;
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL, NULL));
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    space_link(t, SPACE_CUDA, part, part + VMM_MIB, ORDER_NODES, 3);
    gate_begin(t);
    space_launch_chase(t, t->gate.stream, part, base);
    /* Vulkan's work is behind CUDA's, and the stream waits for it too. */
    VkSemaphore drawn = raw_vk_timeline(vk, 0, true);
    culv_semaphore *seen = lib_import_timeline(&t->s.w, drawn);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, part, base + 64);
    raw_vk_submit(vk, commands,
                  &(raw_vk_job){.wait = t->gate.timeline,
                                .wait_value = 1,
                                .signal = drawn,
                                .signal_value = 1,
                                .pending = true});
    LIB_OK(culv_semaphore_wait(seen, t->gate.stream, 1));
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, t->gate.stream, 0));
    LIB_OK(culv_vk_space_decommit(space, 0, 0, NULL, 0));
    REQUIRE_EQ(space_info(space).decommitting, 1);
    REQUIRE_EQ(space_info(space).committed, SPACE_CHUNK);
    /* Elsewhere life goes on: the queue that binds is held. A commit that gives a value does not
     * wait, CUDA has its memory at once, and Vulkan's work that waits for the value finds it. */
    const CUdeviceptr here = base + 8 * SPACE_CHUNK;
    uint64_t first = 0, ready = 0;
    LIB_OK(culv_vk_space_commit(space, 8 * SPACE_CHUNK, SPACE_CHUNK, NULL, &first));
    LIB_OK(culv_vk_space_commit(space, 10 * SPACE_CHUNK, SPACE_CHUNK, NULL, &ready));
    REQUIRE(first > 0 && ready > first);
    space_link(t, SPACE_CUDA, here, here + 2 * SPACE_CHUNK, ORDER_NODES, 4);
    space_require_list(t, SPACE_CUDA, here, here + VMM_MIB, ORDER_NODES, 4);
    commands = raw_vk_begin(vk, 0);
    space_record_chase(t, commands, here, base + 128);
    raw_vk_submit(
        vk, commands,
        &(raw_vk_job){.wait = space_info(space).timeline, .wait_value = ready, .pending = true});
    raw_vk_timeline_signal(vk, t->gate.timeline, 1);
    lib_finish(&t->s.w, t->gate.stream);
    raw_vk_idle(vk);
    space_require_found(t, base, ORDER_NODES, 3);
    space_require_found(t, base + 64, ORDER_NODES, 3);
    space_require_found(t, base + 128, ORDER_NODES, 4);
    LIB_OK(culv_vk_space_decommit(space, 0, 0, NULL, 0));
    /* What waits for Vulkan's unbinding goes with the next call. */
    REQUIRE(raw_vk_timeline_wait(vk, space_info(space).timeline, ready + 1, TEST_FAR_MS));
    LIB_OK(culv_vk_space_decommit(space, 0, 0, NULL, 0));
    REQUIRE_EQ(space_info(space).decommitting, 0);
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    space_require_same(t, space, 4 * SPACE_CHUNK, SPACE_CHUNK, 5);
    /* A buffer at the place of the second of two chunks that go has memory of its own. */
    culv_vk_space_buffer *buffer = NULL;
    culv_vk_space_buffer_desc bd = culv_vk_space_buffer_desc_init();
    bd.offset = 5 * SPACE_CHUNK;
    bd.size = SPACE_CHUNK;
    LIB_OK(culv_vk_space_commit(space, bd.offset, SPACE_CHUNK, NULL, NULL));
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, 2 * SPACE_CHUNK, t->gate.stream, 0));
    lib_finish(&t->s.w, t->gate.stream);
    LIB_OK(culv_vk_space_buffer_create(space, &bd, &buffer));
    LIB_OK(culv_vk_space_decommit(space, 0, 0, NULL, 0));
    space_require_same(t, space, bd.offset, SPACE_CHUNK, 6);
    culv_vk_space_buffer_destroy(&buffer);
    culv_semaphore_destroy(&seen, NULL);
    raw_vk_timeline_destroy(vk, drawn);
}

/* A space that is given up goes with its last part; what is deferred goes with its stream. */
SPACE_CASE(destroyed_early)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();
    d.size = VMM_MIB;
    NEW(culv_vk_space_buffer, buffer, culv_vk_space_buffer_create, space, &d);
    REQUIRE_EQ(culv_vk_space_buffer_pointer(buffer), base);
    LIB_OK(culv_vk_space_commit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    space_link(t, SPACE_VULKAN, base + 4 * SPACE_CHUNK, base + 5 * SPACE_CHUNK - VMM_MIB,
               ORDER_NODES, 6);
    gate_begin(t);
    space_launch_chase(t, t->gate.stream, base + 4 * SPACE_CHUNK,
                       base + 4 * SPACE_CHUNK + VMM_MIB / 2);
    LIB_OK(culv_vk_space_decommit(space, 4 * SPACE_CHUNK, SPACE_CHUNK, t->gate.stream, 0));
    culv_vk_space_destroy(&space);
    space_require_list(t, SPACE_CUDA, 0, base, 0, 0); /* the part is still there */
    culv_vk_space_buffer_destroy(&buffer);            /* with this the space goes; CUDA works on */
    gate_open(t);
    gate_end(t);
    lib_settle(&t->s.w);
}
/* While one thread is inside a callback or a wait, another one makes each call that is for any
 * thread. What it waits for comes after all of them. */

enum { MINE = 8, DEFERRED = 12, OTHERS = 16 }; /* chunks */

typedef struct beside {
    space_stage *t;
    culv_vk_space *space;
    culv_vector *vector;
    VkSemaphore hold;  /* holds the queue */
    atomic_int thread; /* that is held */
    atomic_bool in_callback, callback_holds;
    pthread_t main;
    atomic_uint uses;     /* of the queue, one at a time, in this space and its vectors */
    unsigned others_uses; /* by other threads than the main one */
    void (*held)(struct beside *b);
} beside;

static void take_queue(void *context)
{
    beside *b = context;
    REQUIRE(!atomic_exchange(&b->in_callback, true));
    atomic_fetch_add(&b->uses, 1);
    if (!pthread_equal(pthread_self(), b->main)) b->others_uses++;
    while (atomic_load(&b->callback_holds) && !pthread_equal(pthread_self(), b->main))
        lib_sleep_ms(1);
}

static void give_queue(void *context)
{
    REQUIRE(atomic_exchange(&((beside *)context)->in_callback, false));
}

static void open_beside(beside *b, space_stage *t, uint64_t size)
{
    culv_vk_space_desc d = space_desc(t, size);
    memset(b, 0, sizeof *b);
    b->t = t;
    b->main = pthread_self();
    d.lock_queue = take_queue;
    d.unlock_queue = give_queue;
    d.queue_context = b;
    LIB_OK(culv_vk_space_create(t->s.w.attachment, &d, &b->space));
}

static void grow_vector(beside *b)
{
    LIB_OK(culv_vector_grow(b->vector, 4 * SPACE_CHUNK));
}

static void commit_and_wait(beside *b)
{
    LIB_OK(culv_vk_space_commit(b->space, MINE * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
}

static void decommit(beside *b)
{
    LIB_OK(culv_vk_space_decommit(b->space, MINE * SPACE_CHUNK, SPACE_CHUNK, b->t->gate.stream, 1));
}

static void take_place(beside *b)
{
    culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();
    d.size = SPACE_CHUNK;
    d.offset = DEFERRED * SPACE_CHUNK;
    NEW(OWN(culv_vk_space_buffer), buffer, culv_vk_space_buffer_create, b->space, &d);
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
    uint64_t ready = 0;
    LIB_OK(culv_vk_space_decommit(b->space, 0, 0, NULL, 0));
    LIB_OK(culv_vk_space_commit(b->space, (OTHERS + 1) * SPACE_CHUNK, SPACE_CHUNK, NULL, &ready));
    REQUIRE_EQ(space_info(b->space).ready_value, ready);
    LIB_OK(culv_vk_space_decommit(b->space, (OTHERS + 1) * SPACE_CHUNK, SPACE_CHUNK, b->t->s.stream,
                                  0));
    if (queue_is_held) return; /* a vector of this space waits for Vulkan */
    const culv_vector_desc d = vector_desc(b->space, SPACE_CHUNK, 2 * SPACE_CHUNK);
    NEW(OWN(culv_vector), vector, culv_vector_create, b->t->s.w.device, &d);
    LIB_OK(culv_vector_shrink(vector, 0, b->t->s.stream));
}

typedef enum obstacle { CALLBACK, STREAM, QUEUE } obstacle;

static void beside_call(space_stage *t, void (*held)(beside *), obstacle what)
{
    raw_vk *vk = &t->s.w.vk;
    pthread_t thread;
    beside b;
    open_beside(&b, t, 256 * VMM_MIB);
    b.held = held;
    const culv_vector_desc v = vector_desc(b.space, SPACE_CHUNK, 4 * SPACE_CHUNK);
    LIB_OK(culv_vector_create(t->s.w.device, &v, &b.vector));
    LIB_OK(culv_vk_space_commit(b.space, OTHERS * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    LIB_OK(culv_vk_space_commit(b.space, DEFERRED * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    if (held == decommit)
        LIB_OK(culv_vk_space_commit(b.space, MINE * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
    gate_begin(t);
    LIB_OK(culv_vk_space_decommit(b.space, DEFERRED * SPACE_CHUNK, SPACE_CHUNK, t->gate.stream, 0));
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
    raw_vk_timeline_signal(vk, t->gate.timeline, 1);
    raw_vk_timeline_signal(vk, b.hold, 1);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    raw_vk_idle(vk);
    gate_end(t);
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
        beside b;
        culv_dl_managed_tensor_versioned *tensors[2] = {NULL};
        pthread_t thread;
        open_beside(&b, t, 64 * VMM_MIB);
        LIB_OK(culv_vk_space_commit(b.space, MINE * SPACE_CHUNK, SPACE_CHUNK, NULL, NULL));
        const culv_vector_desc v = vector_desc(b.space, 2 * SPACE_CHUNK, 4 * SPACE_CHUNK);
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
            LIB_OK(culv_vk_space_commit(b.space, 0, 4 * SPACE_CHUNK, NULL, NULL));
            space_require_same(t, b.space, 0, 4 * SPACE_CHUNK, i);
            LIB_OK(culv_vk_space_decommit(b.space, 0, 0, NULL, 0));
            REQUIRE_EQ(space_info(b.space).decommitting, 0);
        }
        culv_vk_space_destroy(&b.space);
        lib_settle(&t->s.w);
        REQUIRE_EQ(lib_counts(&t->s.w).vmm_mappings, 0);
        REQUIRE_EQ(lib_counts(&t->s.w).vmm_ranges, 0);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "space_refused."
/* One address: what is refused, with which words, and that nothing is made. */

#define REFUSED(change, ...)                                                                       \
    do {                                                                                           \
        culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);                                        \
        change;                                                                                    \
        LIB_REFUSES(space, culv_vk_space_create(t->s.w.attachment, &d, &space), __VA_ARGS__);      \
    } while (0)

SPACE_CASE(descriptors)
{
    culv_vk_space *space = NULL;
    REFUSED(d.queue = NULL, INVALID, NULL_ARGUMENT, "SPARSE_BINDING");
    REFUSED(d.size = 0, INVALID, SIZE, "size is 0");
    REFUSED(d.size = UINT64_MAX, INVALID, SIZE, "sparseAddressSpaceSize");
    REFUSED(d.address = 4096, INVALID, VALUE, "multiple of the granularity");
    REFUSED(d.access_count = 1, INVALID, VALUE, "access is NULL");
    REFUSED(d.struct_size = 3, INVALID, STRUCT_SIZE, "struct_size");
    /* A Vulkan that is too old for it, as far as Culvert was told. */
    culv_vk_device_desc vd = lib_vk_desc(&t->s.w);
    vd.api_version = VK_API_VERSION_1_1;
    NEW(culv_vk_device, old, culv_vk_attach, t->s.w.device, &vd);
    const culv_vk_space_desc right = space_desc(t, SPACE_CHUNK);
    LIB_REFUSES(space, culv_vk_space_create(old, &right, &space), UNSUPPORTED, VULKAN_VERSION,
                "needs Vulkan 1.2");
    culv_vk_detach(&old);
    culv_vk_space_destroy(NULL);
    culv_vk_space_destroy(&space);
    REQUIRE_EQ(culv_vk_space_pointer(NULL), 0);
}

SPACE_CASE(places)
{
    OWN(culv_vk_space) *space = space_make(t, 64 * VMM_MIB);
    const CUstream s = t->s.stream;
    uint64_t ready = 77;
#define COMMIT(at, size, ...)                                                                      \
    LIB_ERROR(culv_vk_space_commit(space, at, size, NULL, &ready), __VA_ARGS__)
#define DECOMMIT(how, ...)                                                                         \
    LIB_ERROR(culv_vk_space_decommit(space, 0, SPACE_CHUNK, s, how), INVALID, NOT_MAPPED,          \
              __VA_ARGS__)
    COMMIT(4096, SPACE_CHUNK, INVALID, VALUE);
    COMMIT(0, 4096, INVALID, VALUE);
    COMMIT(0, 0, INVALID, RANGE);
    COMMIT(64 * VMM_MIB, SPACE_CHUNK, INVALID, RANGE);
    COMMIT(62 * VMM_MIB, 2 * SPACE_CHUNK, INVALID, RANGE);
    COMMIT(UINT64_MAX - SPACE_CHUNK + 1, SPACE_CHUNK, INVALID, RANGE);
    DECOMMIT(1, "culv_vk_space_decommit: nothing is mapped");
    DECOMMIT(0, "culv_vk_space_decommit: nothing is mapped");
    LIB_OK(culv_vk_space_commit(space, 0, 2 * SPACE_CHUNK, NULL, NULL));
    COMMIT(SPACE_CHUNK, SPACE_CHUNK, BUSY, MAPPED, "are committed at offset 0");
    DECOMMIT(1, "culv_vk_space_decommit");
#undef DECOMMIT
#undef COMMIT
    REQUIRE_EQ(ready, 77);
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    ad.size = SPACE_CHUNK;
    NEW(culv_vmm_allocation, kept, culv_vmm_allocation_create, t->s.w.device, &ad);
    LIB_ERROR(culv_vk_space_commit(space, 8 * SPACE_CHUNK, 0, kept, NULL), INVALID, NOT_EXPORTABLE);
    culv_vmm_allocation_destroy(&kept);
    REQUIRE_EQ(space_info(space).chunks, 1);
}

SPACE_CASE(buffers)
{
    OWN(culv_vk_space) *space = space_make(t, 64 * VMM_MIB);
    culv_vk_space_buffer *buffer = NULL;
#define WRONG(change, ...)                                                                         \
    do {                                                                                           \
        culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();                            \
        d.size = 4096;                                                                             \
        change;                                                                                    \
        LIB_REFUSES(buffer, culv_vk_space_buffer_create(space, &d, &buffer), __VA_ARGS__);         \
    } while (0)
    WRONG(d.size = 0, INVALID, SIZE, "a byte or more");
    WRONG(d.size = 65 * VMM_MIB, INVALID, RANGE, "leave the space");
    WRONG(d.offset = 64 * VMM_MIB, INVALID, RANGE, "leave the space");
    WRONG(d.size = UINT64_MAX, INVALID, RANGE, "leave the space");
    WRONG(d.offset = 100, INVALID, VALUE, "its use needs a multiple of");
    WRONG(d.alignment = 3, INVALID, VALUE, "power of two");
    WRONG(d.alignment = 64 * VMM_MIB, INVALID, VALUE, "granularity");
    WRONG(d.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, INVALID, USAGE, "buffer_usage");
    culv_vk_space_buffer_desc most = culv_vk_space_buffer_desc_init();
    most.size = 63 * VMM_MIB;
    most.offset = 0;
    NEW(culv_vk_space_buffer, first, culv_vk_space_buffer_create, space, &most);
    WRONG(d.offset = 4096, BUSY, MAPPED, "a buffer has");
    WRONG(d.size = 2 * VMM_MIB, OUT_OF_MEMORY, ADDRESS, "no free place");
    const culv_vector_desc vd = vector_desc(space, 0, 2 * SPACE_CHUNK);
    culv_vector *vector = NULL;
    LIB_REFUSES(vector, culv_vector_create(t->s.w.device, &vd, &vector), OUT_OF_MEMORY, ADDRESS);
    culv_vk_space_buffer_destroy(&first);
    culv_vk_space_buffer_destroy(&first);
    culv_vk_space_buffer_destroy(NULL);
    REQUIRE_EQ(culv_vk_space_buffer_pointer(NULL), 0);
}

/* The device features, for a device that is still to be made. */
SPACE_CASE(features)
{
    culv_vk_device_desc vd = lib_vk_desc(&t->s.w);
    culv_vk_device_features storage = culv_vk_device_features_init();
    const void *chain = NULL;
    storage.one_address = 1;
    LIB_OK(culv_vk_merge_device_features(&vd, NULL, &storage, &chain));
    REQUIRE(storage.features2.features.sparseBinding &&
            storage.features2.features.sparseResidencyBuffer);
    REQUIRE(storage.buffer_device_address.bufferDeviceAddress &&
            storage.buffer_device_address.bufferDeviceAddressCaptureReplay);
    REQUIRE(chain == &storage.features2);
    VkPhysicalDeviceVulkan12Features mine = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                           .pNext = &mine};
    LIB_OK(culv_vk_merge_device_features(&vd, &features2, &storage, &chain));
    REQUIRE(features2.features.sparseBinding && features2.features.sparseResidencyBuffer);
    REQUIRE(mine.bufferDeviceAddress && mine.bufferDeviceAddressCaptureReplay &&
            mine.timelineSemaphore);
    storage = culv_vk_device_features_init();
    memset(&mine.samplerMirrorClampToEdge, 0,
           sizeof mine - offsetof(VkPhysicalDeviceVulkan12Features, samplerMirrorClampToEdge));
    LIB_OK(culv_vk_merge_device_features(&vd, &mine, &storage, &chain));
    REQUIRE(!mine.bufferDeviceAddressCaptureReplay);
    vd.api_version = VK_API_VERSION_1_1;
    storage.one_address = 1;
    LIB_ERROR(culv_vk_merge_device_features(&vd, NULL, &storage, &chain), UNSUPPORTED,
              VULKAN_VERSION);
}

/* A VkDevice that was made without them: Culvert learns it from Vulkan's answers, and not by trying
 * all addresses. */
TEST(without_features)
{
    lib_world w;
    culv_vk_space *space = NULL;
    lib_with_option("--validation=off"); /* it tells of each try */
    lib_open(&w);
    if (!w.cu->software) SKIP("the driver may have them although nobody asked");
    if (test_sanitized()) SKIP("a sanitizer has the addresses that CUDA is asked for");
    culv_vk_space_desc d = culv_vk_space_desc_init();
    d.size = 3 * VMM_MIB + 1;
    d.queue = w.vk.queues[0].queue;
    LIB_REFUSES(space, culv_vk_space_create(w.attachment, &d, &space), UNSUPPORTED, USAGE,
                "not one of 4", "culv_vk_device_features::one_address");
    lib_close(&w);
}

#undef TEST_GROUP
#define TEST_GROUP "space_vector."
/* One address: vectors that live in a space. */

/* One address everywhere, while it grows and shrinks under pointers that stay right. */
SPACE_CASE(grows)
{
    OWN(culv_vk_space) *space = space_make(t, 256 * VMM_MIB);
    const CUdeviceptr base = culv_vk_space_pointer(space);
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL, NULL));
    const culv_vector_desc d = vector_desc(space, SPACE_CHUNK, 64 * VMM_MIB);
    NEW(OWN(culv_vector), a, culv_vector_create, t->s.w.device, &d);
    NEW(culv_vector, b, culv_vector_create, t->s.w.device, &d);
    const CUdeviceptr at = culv_vector_pointer(a), bt = culv_vector_pointer(b);
    REQUIRE_EQ(at, base + SPACE_CHUNK); /* behind the memory that is there */
    REQUIRE_EQ(bt, at + 64 * VMM_MIB);
    space_link(t, SPACE_CUDA, at, bt, 2000, 1);
    space_require_list(t, SPACE_VULKAN, at, at + VMM_MIB, 2000, 1);
    /* Work on the list is held while both grow. */
    gate_begin(t);
    space_launch_chase(t, t->gate.stream, at, base);
    for (uint64_t size = 2; size <= 16; size *= 2) {
        LIB_OK(culv_vector_grow(a, size * SPACE_CHUNK));
        LIB_OK(culv_vector_grow(b, size * SPACE_CHUNK));
        REQUIRE_EQ(culv_vector_pointer(a), at);
        REQUIRE_EQ(culv_vector_pointer(b), bt);
        space_require_same(t, space, at - base + (size - 1) * SPACE_CHUNK, SPACE_CHUNK,
                           (uint32_t)size);
    }
    gate_open(t);
    space_require_found(t, base, 2000, 1);
    space_link(t, SPACE_VULKAN, at + 15 * SPACE_CHUNK, bt, 2000, 2);
    space_require_list(t, SPACE_CUDA, at + 15 * SPACE_CHUNK, at + VMM_MIB, 2000, 2);
    /* The addresses are used up. */
    LIB_ERROR(culv_vector_grow(a, 64 * VMM_MIB + 1), OUT_OF_MEMORY, ADDRESS,
              "reserve more at first");
    LIB_ERROR(culv_vk_space_commit(space, at - base, SPACE_CHUNK, NULL, NULL), BUSY, MAPPED,
              "a vector has");
    LIB_ERROR(culv_vk_space_decommit(space, at - base, SPACE_CHUNK, t->s.stream, 1), BUSY, MAPPED);
    culv_vector_destroy(&b, NULL);
    LIB_OK(culv_vk_space_commit(space, bt - base, SPACE_CHUNK, NULL, NULL));
    space_require_same(t, space, bt - base, SPACE_CHUNK, 6);
}

/* By default a vector leaves room for others, and has room to grow. */
SPACE_CASE(reserves)
{
    OWN(culv_vk_space) *space = space_make(t, 64 * VMM_MIB);
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
}

/* A shrink takes memory from both sides, after the stream; a grow in its place gets new memory. */
SPACE_CASE(shrinks)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const culv_vector_desc d = vector_desc(space, 8 * SPACE_CHUNK, 0);
    NEW(culv_vector, vector, culv_vector_create, t->s.w.device, &d);
    const CUdeviceptr at = culv_vector_pointer(vector);
    space_link(t, SPACE_VULKAN, at, at + 7 * SPACE_CHUNK, 2000, 3);
    gate_begin(t);
    space_launch_chase(t, t->gate.stream, at, at + VMM_MIB);
    LIB_OK(culv_vector_shrink(vector, SPACE_CHUNK, t->gate.stream));
    LIB_OK(culv_vk_space_decommit(space, 0, 0, NULL, 0));
    REQUIRE_EQ(space_info(space).decommitting, 7);
    gate_open(t);
    space_require_found(t, at + VMM_MIB, 2000, 3);
    LIB_OK(culv_vector_grow(vector, 4 * SPACE_CHUNK));
    for (uint64_t i = 0; i < 4; i++)
        space_require_same(t, space, i * SPACE_CHUNK, SPACE_CHUNK, (uint32_t)i);
    REQUIRE_EQ(space_info(space).committed, 4 * SPACE_CHUNK);
    culv_vector_destroy(&vector, &t->gate.stream);
    culv_vk_space_destroy(&space); /* which lives on with the vector's memory, or has gone */
    gate_end(t);
    lib_settle(&t->s.w);
}

/* The thread that commits ahead binds too. */
SPACE_CASE(ahead)
{
    beside b;
    open_beside(&b, t, 256 * VMM_MIB);
    culv_vector_desc d = vector_desc(b.space, SPACE_CHUNK, 128 * VMM_MIB);
    d.commit_ahead = 8 * SPACE_CHUNK;
    NEW(OWN(culv_vector), vector, culv_vector_create, t->s.w.device, &d);
    culv_vk_space_destroy(&b.space); /* the vector keeps it */
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
    REQUIRE(atomic_load(&b.uses) >= 36);
    /* Nobody uses the queue any more but this thread. */
    space_link(t, SPACE_VULKAN, at, at + 31 * SPACE_CHUNK, 2000, 4);
    space_require_list(t, SPACE_CUDA, at, at + VMM_MIB, 2000, 4);
}
