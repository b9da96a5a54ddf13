/* SPDX-License-Identifier: MIT */
/* Buffers in host memory: what CUDA, Vulkan and the CPU write there is what the others read. */
#define TEST_GROUP "host."
#include "host_stage.h"

#include <inttypes.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

void host_require(const lib_world *w)
{
    if (culv_vk_host_import_alignment(w->attachment) == 0)
        SKIP("this Vulkan device has no VK_EXT_external_memory_host");
}

host_pages host_pages_alloc(const lib_world *w, size_t bytes)
{
    size_t unit = (size_t)culv_vk_host_import_alignment(w->attachment);
    host_pages p = {.size = (bytes + unit - 1) / unit * unit};
    p.block = malloc(p.size + unit);
    REQUIRE(p.block != NULL);
    p.start = (char *)p.block + (unit - (uintptr_t)p.block % unit) % unit;
    memset(p.start, 0x3c, p.size);
    return p;
}

void host_pages_free(host_pages *pages)
{
    free(pages->block);
    memset(pages, 0, sizeof *pages);
}

VkBufferCreateInfo host_info(VkDeviceSize size)
{
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
}

culv_shared_buffer *host_make(const lib_world *w, VkDeviceSize size, const host_pages *pages)
{
    culv_shared_buffer *buffer = NULL;
    const VkBufferCreateInfo info = host_info(size);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "host memory";
    d.host_memory = VK_TRUE;
    if (pages != NULL) {
        d.host_pointer = pages->start;
        d.host_size = pages->size;
    }
    LIB_OK(culv_vk_buffer_create(w->attachment, &d, &buffer));
    REQUIRE(pages == NULL || culv_vk_buffer_host_pointer(buffer) == pages->start);
    return buffer;
}

void host_require_unregistered(const lib_world *w, const host_pages *pages)
{
    const raw_cuda *cu = w->cu;
    LIB_CU_OK(w, cu->MemHostRegister(pages->start, pages->size, 0));
    LIB_CU_OK(w, cu->MemHostUnregister(pages->start));
}

/* Data ----------------------------------------------------------------------------------------- */

/* What Vulkan does in its turn: takes the buffer, copies its end out, fills all of it, and gives it
 * back. */
static void vulkan_turn(stage *s, culv_shared_buffer *b, VkDeviceSize size, uint32_t word,
                        const raw_vk_buffer *out)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    culv_vk_buffer_barrier acquire, release;
    VkDeviceSize bytes = size < out->size ? size : out->size;
    t.buffer = culv_vk_buffer_handle(b);
    t.queue_family = 0;
    t.use = CULV_VK_USE_TRANSFER_SRC;
    LIB_OK(culv_vk_buffer_get_barrier(&t, CULV_VK_ACQUIRE, &acquire));
    t.use = CULV_VK_USE_TRANSFER_DST;
    LIB_OK(culv_vk_buffer_get_barrier(&t, CULV_VK_RELEASE, &release));
    vkCmdPipelineBarrier(commands, acquire.src_stage, acquire.dst_stage, 0, 0, NULL, 1,
                         &acquire.barrier, 0, NULL);
    const VkBufferCopy region = {.srcOffset = size - bytes, .size = bytes};
    vkCmdCopyBuffer(commands, t.buffer, out->buffer, 1, &region);
    const VkMemoryBarrier between = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
                                     .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         0, 1, &between, 0, NULL, 0, NULL);
    vkCmdFillBuffer(commands, t.buffer, 0, VK_WHOLE_SIZE, word);
    /* What the queue wrote, the CPU reads (docs/vulkan-memory.md, "Host memory"). */
    const VkMemoryBarrier host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &host, 0, NULL, 0, NULL);
    vkCmdPipelineBarrier(commands, release.src_stage, release.dst_stage, 0, 0, NULL, 1,
                         &release.barrier, 0, NULL);
    stage_submit(s, commands, 0);
}

static void launch(stage *s, const char *kernel, CUdeviceptr data, uint32_t count, uint32_t operand)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    void *params[] = {&data, &count, &operand};
    CU_OK(cu->LaunchKernel(raw_cuda_function(cu, s->module, kernel), (count + 255) / 256, 1, 1, 256,
                           1, 1, 0, s->stream, params, NULL));
    lib_leave(&s->w, before);
}

/* CPU, kernels, Vulkan, CPU, kernels again: each reads what the one before it wrote, in the same
 * bytes. */
static void round_trip(stage *s, host_origin origin, VkDeviceSize size)
{
    host_pages pages = {.start = NULL};
    raw_vk_buffer out;
    uint32_t count = (uint32_t)(size / 4);
    if (origin == HOST_CALLERS) pages = host_pages_alloc(&s->w, (size_t)size);
    raw_vk_buffer_create(&s->w.vk, BYTES, RAW_VK_HOST, &out);
    culv_shared_buffer *b = host_make(&s->w, size, origin == HOST_CALLERS ? &pages : NULL);
    uint32_t *words = culv_vk_buffer_host_pointer(b);
    CUdeviceptr p = culv_buffer_pointer(culv_shared_buffer_cuda(b));
    VkDeviceSize allocation = 0;
    REQUIRE(words != NULL && p != 0 && culv_vk_buffer_memory(b, &allocation) != VK_NULL_HANDLE);
    REQUIRE(allocation >= size);
    REQUIRE_EQ(allocation % culv_vk_host_import_alignment(s->w.attachment), 0);
    REQUIRE_EQ((uintptr_t)words % culv_vk_host_import_alignment(s->w.attachment), 0);
    REQUIRE_EQ(culv_buffer_size(culv_shared_buffer_cuda(b)), size);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.created, 1);
    REQUIRE_EQ(c.buffers, 1);
    REQUIRE_EQ(c.mappings, 1);
    REQUIRE_EQ(c.memories, 0); /* nothing is imported from a handle */
    for (uint32_t i = 0; i < count; i++) {
        REQUIRE_EQ(words[i], origin == HOST_CALLERS ? 0x3c3c3c3c : 0);
        words[i] = lib_word(i, 5);
    }
    for (uint32_t turn = 1; turn <= 3; turn++) {
        stage_cuda_begin(s);
        launch(s, "library_add", p, count, turn);
        stage_cuda_end(s);
        vulkan_turn(s, b, size, 0xabcd0000u + turn, &out);
        const uint32_t *copied = out.mapped;
        uint32_t copies = count < WORDS ? count : WORDS;
        for (uint32_t i = 0; i < copies; i++)
            REQUIRE_EQ(copied[i], lib_word(count - copies + i, 5) + turn);
        for (uint32_t i = 0; i < count; i++)
            REQUIRE_EQ(words[i], 0xabcd0000u + turn);
        stage_cuda_begin(s);
        launch(s, "library_add", p, count, 1);
        stage_cuda_end(s);
        lib_finish(&s->w, s->stream);
        for (uint32_t i = 0; i < count; i++) {
            REQUIRE_EQ(words[i], 0xabcd0001u + turn);
            words[i] = lib_word(i, 5);
        }
    }
    culv_shared_buffer_destroy(&b, NULL);
    REQUIRE(b == NULL);
    REQUIRE_EQ(lib_counts(&s->w).created, 0);
    REQUIRE_EQ(lib_counts(&s->w).mappings, 0);
    if (origin == HOST_CALLERS) {
        words = pages.start; /* the caller's, as they were left */
        for (uint32_t i = 0; i < count; i++)
            REQUIRE_EQ(words[i], lib_word(i, 5));
        host_require_unregistered(&s->w, &pages);
        host_pages_free(&pages);
    }
    raw_vk_buffer_destroy(&s->w.vk, &out);
}

IMAGE_CASE(both_ways, .smoke = true)
{
    static const VkDeviceSize sizes[] = {4, 100, 4096, BYTES, 1 << 20, (1 << 20) + 4};
    host_require(&s->w);
    MEASURED("library.host_import_alignment", "%" PRIu64,
             (uint64_t)culv_vk_host_import_alignment(s->w.attachment));
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int origin = 0; origin < HOST_ORIGINS; origin++)
            round_trip(s, (host_origin)origin, sizes[k]);
}

/* One buffer in the middle of a larger block: the rest of it is nobody's but the caller's. */
IMAGE_CASE(in_the_middle, .title = "host.in_the_middle_of_a_block")
{
    enum { PAGES = 7, FIRST = 2, SHARED = 3 };
    host_require(&s->w);
    size_t unit = (size_t)culv_vk_host_import_alignment(s->w.attachment);
    host_pages all = host_pages_alloc(&s->w, PAGES * unit);
    char *start = all.start;
    const host_pages some = {.start = start + FIRST * unit, .size = SHARED * unit};
    culv_shared_buffer *b = host_make(&s->w, SHARED * unit, &some);
    stage_cuda_begin(s);
    launch(s, "library_write", culv_buffer_pointer(culv_shared_buffer_cuda(b)),
           (uint32_t)(SHARED * unit / 4), 9);
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
    for (size_t i = 0; i < PAGES * unit; i++)
        if (i < FIRST * unit || i >= (FIRST + SHARED) * unit) REQUIRE_EQ(start[i], 0x3c);
    REQUIRE_WORDS((const uint32_t *)some.start, SHARED * unit / 4, 9);
    /* The neighbours may be used in the same way meanwhile, each whole page once. */
    const host_pages next = {.start = start + (FIRST + SHARED) * unit, .size = unit};
    culv_shared_buffer *neighbour = host_make(&s->w, 64, &next);
    culv_shared_buffer_destroy(&b, NULL);
    culv_shared_buffer_destroy(&neighbour, NULL);
    host_require_unregistered(&s->w, &all);
    host_pages_free(&all);
    /* Work that was begun on the timelines goes on, so Vulkan has its turn. */
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    stage_submit(s, commands, 0);
}

/* A descriptor, a device address, a chain: as of any VkBuffer; and the memory type is the
 * processor's. */
LIB_CASE(is_a_plain_buffer)
{
    host_require(w);
    culv_shared_buffer *b = host_make(w, BYTES, NULL);
    const VkBufferDeviceAddressInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = culv_vk_buffer_handle(b)};
    REQUIRE(vkGetBufferDeviceAddress(w->vk.device, &address) != 0);
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(b)), CULV_SHARING_SHARED);
    culv_buffer *cuda = culv_shared_buffer_cuda(b);
    culv_buffer_unmap(&cuda, NULL);
    REQUIRE(cuda == culv_shared_buffer_cuda(b)); /* refused: it is the buffer's */
    culv_device_caps caps = lib_caps(w->device);
    uintptr_t host = (uintptr_t)culv_vk_buffer_host_pointer(b);
    MEASURED("library.host_pointer", "integrated %u, register %u, same address %u: %s",
             (unsigned)caps.integrated, (unsigned)caps.host_register_supported,
             (unsigned)caps.can_use_host_pointer_for_registered_mem,
             culv_buffer_pointer(cuda) == host ? "the same" : "another");
    if (caps.can_use_host_pointer_for_registered_mem) REQUIRE_EQ(culv_buffer_pointer(cuda), host);
    culv_shared_buffer_destroy(&b, NULL);

    /* An exportable one has no such address. */
    const VkBufferCreateInfo info = host_info(BYTES);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_buffer_create(w->attachment, &d, &b));
    REQUIRE(culv_vk_buffer_host_pointer(b) == NULL);
    culv_shared_buffer_destroy(&b, NULL);
    REQUIRE(culv_vk_buffer_host_pointer(NULL) == NULL);
    REQUIRE_EQ(culv_vk_host_import_alignment(NULL), 0);
}

/* The CPU's memory is every GPU's: no match of UUIDs is needed. */
TEST(on_another_gpu)
{
    lib_world w = {.cu = NULL};
    CUuuid uuid;
    static uint32_t words[WORDS];
    raw_cuda_two_devices();
    w.cu = lib_driver();
    const raw_cuda *cu = w.cu;
    if (cu->device_count < 2) SKIP("one CUDA device only");
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w.vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                         .software = cu->software,
                                         .host_memory = true});
    w.fds = test_open_fds();
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    LIB_OK(culv_device_open_by_ordinal(1, &dd, &w.device));
    culv_vk_device_desc d = lib_vk_desc(&w);
    d.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_attach(w.device, &d, &w.attachment));
    w.context = culv_device_context(w.device);
    host_require(&w);
    culv_shared_buffer *b = host_make(&w, BYTES, NULL);
    const raw_vk_buffer raw = {
        .buffer = culv_vk_buffer_handle(b), .size = BYTES, .flags = RAW_VK_EXPORT};
    CUcontext before = lib_enter(&w);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, 11);
    CU_OK(raw_cuda_upload(cu, culv_buffer_pointer(culv_shared_buffer_cuda(b)), words, BYTES));
    memset(words, 0, sizeof words);
    raw_vk_read(&w.vk, &raw, 0, words, BYTES);
    REQUIRE_WORDS(words, WORDS, 11);
    raw_vk_fill(&w.vk, &raw, 0, BYTES, 0x77aa55cc, NULL);
    CU_OK(cu->MemcpyDtoH(words, culv_buffer_pointer(culv_shared_buffer_cuda(b)), BYTES));
    for (uint32_t i = 0; i < WORDS; i++)
        REQUIRE_EQ(words[i], 0x77aa55cc);
    lib_leave(&w, before);
    culv_shared_buffer_destroy(&b, NULL);
    lib_close(&w);
}
