/* SPDX-License-Identifier: MIT */
/* An allocator of the program's own: one VkDeviceMemory, cut into pieces of all sizes, which CUDA
 * imports once. */
#define TEST_GROUP "allocator."
#include "foreign.h"

#include <stdlib.h>
#include <string.h>

#define PIECES   7
#define BLOCK    ((VkDeviceSize)4 << 20)
#define NOBODYS  0xa5
#define NUM_BITS 0xa5a5a5a5u

typedef struct piece {
    VkBuffer buffer;
    VkDeviceSize offset, size;
    culv_buffer *shared;
} piece;

typedef struct block {
    VkDeviceMemory memory;
    VkDeviceSize size, used;
    piece all; /* a buffer on the whole block, for what is between the pieces */
    piece pieces[PIECES];
    uint32_t type;
} block;

static VkBuffer make_buffer(app *a, VkDeviceSize size)
{
    const VkBufferCreateInfo info = app_buffer_info(size, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    VkBuffer buffer;

    CULV(culv_vk_check_buffer(a->vk, &info, NULL, &how));
    if (how.dedicated_required) SKIP("this device shares buffers of dedicated allocations alone");
    VK(vkCreateBuffer(a->device, &info, NULL, &buffer));
    return buffer;
}

static void make_block(app *a, block *b)
{
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryRequirements needs;

    memset(b, 0, sizeof *b);
    b->all.size = BLOCK;
    b->all.buffer = make_buffer(a, BLOCK);
    vkGetBufferMemoryRequirements(a->device, b->all.buffer, &needs);
    b->size = needs.size;
    b->type = app_memory_type(a, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    const VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                             .pNext = &exported,
                                             .allocationSize = b->size,
                                             .memoryTypeIndex = b->type};
    VK(vkAllocateMemory(a->device, &allocation, NULL, &b->memory));
    VK(vkBindBufferMemory(a->device, b->all.buffer, b->memory, 0));
}

static void place(app *a, block *b, piece *p, VkDeviceSize size)
{
    VkMemoryRequirements needs;

    p->size = size;
    p->buffer = make_buffer(a, size);
    vkGetBufferMemoryRequirements(a->device, p->buffer, &needs);
    REQUIRE((needs.memoryTypeBits >> b->type & 1) != 0);
    /* One step of the alignment stays empty before each piece. */
    p->offset = (b->used / needs.alignment + 2) * needs.alignment;
    b->used = p->offset + needs.size;
    REQUIRE(b->used <= b->size);
    VK(vkBindBufferMemory(a->device, p->buffer, b->memory, p->offset));
}

static void map(culv_memory *memory, piece *p)
{
    culv_buffer_desc range = culv_buffer_desc_init();

    range.offset = p->offset;
    range.size = p->size;
    CULV(culv_buffer_map(memory, &range, &p->shared));
    REQUIRE_EQ(culv_buffer_size(p->shared), p->size);
}

static void make_pieces(app *a, block *b, bool shared)
{
    const VkDeviceSize sizes[PIECES] = {1, 4097, 819200, 3, APP_WIDTH * APP_HEIGHT * 4, 65537, 255};
    culv_vk_memory_desc import = culv_vk_memory_desc_init();
    culv_memory *memory = NULL;

    import.memory = b->memory;
    import.allocation_size = b->size;
    if (!shared) CULV(culv_vk_memory_import(a->vk, &import, &memory));
    for (int i = 0; i < PIECES; i++) {
        place(a, b, &b->pieces[i], sizes[i]);
        if (shared) { /* the import is the same each time, and is found again */
            culv_memory_destroy(&memory);
            import.buffer = b->pieces[i].buffer;
            import.buffer_offset = b->pieces[i].offset;
            CULV(culv_vk_memory_import_shared(a->vk, &import, &memory));
        }
        map(memory, &b->pieces[i]);
    }
    culv_memory_destroy(&memory);

    culv_device_counts counts = culv_device_counts_init();
    CULV(culv_device_get_counts(a->culvert, &counts));
    REQUIRE_EQ(counts.memories, 1);
    REQUIRE_EQ(counts.mappings, 1);
    REQUIRE_EQ(counts.buffers, PIECES);
}

static void destroy_block(app *a, block *b)
{
    for (int i = 0; i < PIECES; i++) {
        culv_buffer_unmap(&b->pieces[i].shared, NULL);
        vkDestroyBuffer(a->device, b->pieces[i].buffer, NULL);
    }
    vkDestroyBuffer(a->device, b->all.buffer, NULL);
    vkFreeMemory(a->device, b->memory, NULL);
}

/* Reads the block by its one buffer, and by the buffer of each piece. */
static void check_block(app *a, const block *b, const app_host *host, uint32_t seed,
                        const app_sync *sync)
{
    VkDeviceSize end = 0;
    VkCommandBuffer commands = app_begin(a);

    app_transfer_buffer(a, commands, b->all.buffer, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_SRC);
    app_record_read(commands, b->all.buffer, 0, host, 0, BLOCK);
    app_transfer_buffer(a, commands, b->all.buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC);
    app_run(a, commands, sync);
    for (int i = 0; i < PIECES; i++) {
        const piece *p = &b->pieces[i];

        for (VkDeviceSize j = end; j < p->offset; j++)
            if (host->data[j] != NOBODYS)
                FAIL("before piece %d, byte %llu of the block is 0x%02x", i, (unsigned long long)j,
                     host->data[j]);
        app_require_bytes("a piece, by the block", host->data + p->offset, 0, p->size,
                          seed + (uint32_t)i);
        end = p->offset + p->size;
    }
    for (VkDeviceSize j = end; j < BLOCK; j++)
        if (host->data[j] != NOBODYS)
            FAIL("behind the pieces, byte %llu is 0x%02x", (unsigned long long)j, host->data[j]);

    commands = app_begin(a);
    for (int i = 0; i < PIECES; i++) {
        const piece *p = &b->pieces[i];

        app_transfer_buffer(a, commands, p->buffer, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_SRC);
        app_record_read(commands, p->buffer, 0, host, p->offset, p->size);
        app_transfer_buffer(a, commands, p->buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC);
    }
    memset(host->data, 0, BLOCK);
    app_run(a, commands, &(app_sync){0});
    for (int i = 0; i < PIECES; i++)
        app_require_bytes("a piece, by its own buffer", host->data + b->pieces[i].offset, 0,
                          b->pieces[i].size, seed + (uint32_t)i);
}

/* Vulkan writes all pieces; CUDA counts the bytes that are wrong. */
static void write_pieces(app *a, const block *b, const app_host *host, const app_sync *sync)
{
    VkCommandBuffer commands = app_begin(a);

    for (int i = 0; i < PIECES; i++) {
        const piece *p = &b->pieces[i];
        const VkBufferCopy region = {.srcOffset = p->offset, .size = p->size};

        app_fill_host(host->data + p->offset, 0, p->size, 100 + (uint32_t)i);
        app_transfer_buffer(a, commands, p->buffer, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_DST);
        vkCmdCopyBuffer(commands, host->buffer, p->buffer, 1, &region);
        app_transfer_buffer(a, commands, p->buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_DST);
    }
    app_run(a, commands, sync);
}

static void count_wrong(app *a, const block *b)
{
    CUdeviceptr wrong;
    unsigned count = 0;

    CU(a->cu->cuMemAlloc(&wrong, sizeof count));
    for (int i = 0; i < PIECES; i++) {
        CUdeviceptr from = culv_buffer_pointer(b->pieces[i].shared);
        unsigned long long first = 0, size = b->pieces[i].size;
        uint32_t seed = 100 + (uint32_t)i;
        void *arguments[] = {&from, &first, &size, &seed, &wrong};

        CU(a->cu->cuMemsetD8Async(wrong, 0, sizeof count, a->stream));
        app_launch(a, "foreign_count_wrong", (unsigned)size, 1, arguments);
        CU(a->cu->cuMemcpyDtoHAsync(&count, wrong, sizeof count, a->stream));
        CU(a->cu->cuStreamSynchronize(a->stream));
        if (count != 0) FAIL("piece %d of %llu bytes: CUDA reads %u wrong", i, size, count);
    }
    CU(a->cu->cuMemFree(wrong));
}

static void use_block(bool shared)
{
    culv_shared_semaphore *sync;
    app_host host;
    block b;
    app a;

    app_open(&a);
    make_block(&a, &b);
    make_pieces(&a, &b, shared);
    app_host_create(&a, BLOCK, &host);
    CULV(culv_vk_semaphore_create(a.vk, NULL, &sync));
    const VkSemaphore timeline = culv_vk_semaphore_handle(sync);

    VkCommandBuffer commands = app_begin(&a);
    vkCmdFillBuffer(commands, b.all.buffer, 0, VK_WHOLE_SIZE, NUM_BITS);
    app_transfer_buffer(&a, commands, b.all.buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_DST);
    app_run(&a, commands, &(app_sync){.signal = timeline, .signal_value = 1});

    CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a.stream, 1));
    for (int i = 0; i < PIECES; i++)
        app_fill(&a, culv_buffer_pointer(b.pieces[i].shared), 0, b.pieces[i].size, (uint32_t)i);
    CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(sync), a.stream, 2));
    check_block(&a, &b, &host, 0, &(app_sync){.wait = timeline, .wait_value = 2});

    write_pieces(&a, &b, &host, &(app_sync){.signal = timeline, .signal_value = 3});
    CULV(culv_semaphore_wait(culv_shared_semaphore_cuda(sync), a.stream, 3));
    count_wrong(&a, &b);

    culv_shared_semaphore_destroy(&sync, NULL);
    app_host_destroy(&a, &host);
    destroy_block(&a, &b);
    app_close(&a);
}

TEST_AS(imported_once, use_block(false), .smoke = true)
TEST_AS(found_again, use_block(true))
