/* SPDX-License-Identifier: MIT */
/* Buffers in host memory: what CUDA, Vulkan and the CPU write there is what the others read. */
#define TEST_GROUP "host."
#include "image_stage.h"

#include <culvert/vulkan_device.h>
#include <inttypes.h>
#include <malloc.h>

/* Where the pages come from. */
typedef enum host_origin { HOST_CULVERTS, HOST_CALLERS, HOST_ORIGINS } host_origin;

/* Whole pages of the test's own, from malloc(): as much as `bytes` need. */
typedef struct host_pages {
    void *start;
    size_t size;
    void *block;
} host_pages;

enum { WORDS = 4096, BYTES = WORDS * 4 };

/* Skips where the device takes no host memory. */
static void host_require(const lib_world *w)
{
    if (culv_vk_host_import_alignment(w->attachment) == 0)
        SKIP("this Vulkan device has no VK_EXT_external_memory_host");
}

static host_pages host_pages_alloc(const lib_world *w, size_t bytes)
{
    size_t unit = (size_t)culv_vk_host_import_alignment(w->attachment);
    host_pages p = {.size = (bytes + unit - 1) / unit * unit};
    p.block = malloc(p.size + unit);
    REQUIRE(p.block != NULL);
    p.start = (char *)p.block + (unit - (uintptr_t)p.block % unit) % unit;
    memset(p.start, 0x3c, p.size);
    return p;
}

static VkBufferCreateInfo host_info(VkDeviceSize size)
{
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
}

/* Of the caller's pages; NULL: of Culvert's. */
static culv_shared_buffer *host_make(const lib_world *w, VkDeviceSize size, const host_pages *pages)
{
    const VkBufferCreateInfo info = host_info(size);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "host memory";
    d.host_memory = VK_TRUE;
    if (pages != NULL) {
        d.host_pointer = pages->start;
        d.host_size = pages->size;
    }
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, w->attachment, &d);
    REQUIRE(pages == NULL || culv_vk_buffer_host_pointer(buffer) == pages->start);
    return buffer;
}

/* Of either origin; `pages` are the caller's, or none. */
static culv_shared_buffer *host_make_of(const lib_world *w, host_origin origin, VkDeviceSize size,
                                        host_pages *pages)
{
    memset(pages, 0, sizeof *pages);
    if (origin == HOST_CULVERTS) return host_make(w, size, NULL);
    *pages = host_pages_alloc(w, (size_t)size);
    return host_make(w, size, pages);
}

/* CUDA knows nothing of these pages: it takes them, and gives them back. */
static void host_require_unregistered(const lib_world *w, const host_pages *pages)
{
    const raw_cuda *cu = w->cu;
    LIB_CU_OK(w, cu->MemHostRegister(pages->start, pages->size, 0));
    LIB_CU_OK(w, cu->MemHostUnregister(pages->start));
}

static void host_pages_free(const lib_world *w, host_pages *pages)
{
    if (pages->start == NULL) return;
    host_require_unregistered(w, pages);
    free(pages->block);
    memset(pages, 0, sizeof *pages);
}

/* Cases of a Vulkan device that takes host memory. */
#define HOST_CASE(...)                                                                             \
    TEST_ON(lib_world, w, (lib_open(w), host_require(w)), lib_close(w), __VA_ARGS__)
#define HOST_STAGE_CASE(...)                                                                       \
    TEST_ON(stage, s, (stage_open(s), host_require(&s->w)), stage_close(s), __VA_ARGS__)

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
    LIB_OK(lib_buffer_barrier(&t, CULV_VK_ACQUIRE, &acquire));
    t.use = CULV_VK_USE_TRANSFER_DST;
    LIB_OK(lib_buffer_barrier(&t, CULV_VK_RELEASE, &release));
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
    void *params[] = {&data, &count, &operand};
    LIB_CU_OK(&s->w, cu->LaunchKernel(raw_cuda_function(cu, s->module, kernel), (count + 255) / 256,
                                      1, 1, 256, 1, 1, 0, s->stream, params, NULL));
}

/* CPU, kernels, Vulkan, CPU, kernels again: each reads what the one before it wrote, in the same
 * bytes. */
static void round_trip(stage *s, host_origin origin, VkDeviceSize size)
{
    host_pages pages;
    raw_vk_buffer out;
    uint32_t count = (uint32_t)(size / 4);
    raw_vk_buffer_create(&s->w.vk, BYTES, RAW_VK_HOST, &out);
    culv_shared_buffer *b = host_make_of(&s->w, origin, size, &pages);
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
        REQUIRE_ALL(words, count, 0xabcd0000u + turn);
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
    }
    host_pages_free(&s->w, &pages);
    raw_vk_buffer_destroy(&s->w.vk, &out);
}

HOST_STAGE_CASE(both_ways, .smoke = true)
{
    static const VkDeviceSize sizes[] = {4, 100, 4096, BYTES, 1 << 20, (1 << 20) + 4};
    MEASURED("library.host_import_alignment", "%" PRIu64,
             (uint64_t)culv_vk_host_import_alignment(s->w.attachment));
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int origin = 0; origin < HOST_ORIGINS; origin++)
            round_trip(s, (host_origin)origin, sizes[k]);
}

/* A descriptor, a device address, a chain: as of any VkBuffer; and the memory type is the
 * processor's. */
HOST_CASE(is_a_plain_buffer)
{
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
    b = lib_made_buffer(w->attachment, &info);
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
    w.device = lib_open_ordinal(cu, 1);
    culv_vk_device_desc d = lib_vk_desc(&w);
    d.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_attach(w.device, &d, &w.attachment));
    w.context = culv_device_context(w.device);
    host_require(&w);
    culv_shared_buffer *b = host_make(&w, BYTES, NULL);
    const raw_vk_buffer raw = {
        .buffer = culv_vk_buffer_handle(b), .size = BYTES, .flags = RAW_VK_EXPORT};
    CUcontext before = lib_enter(&w);
    lib_fill(words, WORDS, 11);
    CU_OK(raw_cuda_upload(cu, culv_buffer_pointer(culv_shared_buffer_cuda(b)), words, BYTES));
    memset(words, 0, sizeof words);
    raw_vk_read(&w.vk, &raw, 0, words, BYTES);
    REQUIRE_WORDS(words, WORDS, 11);
    raw_vk_fill(&w.vk, &raw, 0, BYTES, 0x77aa55cc, NULL);
    CU_OK(cu->MemcpyDtoH(words, culv_buffer_pointer(culv_shared_buffer_cuda(b)), BYTES));
    REQUIRE_ALL(words, WORDS, 0x77aa55cc);
    lib_leave(&w, before);
    culv_shared_buffer_destroy(&b, NULL);
    lib_close(&w);
}

/* Buffers in host memory: every way to give them up, and what they leave. */

/* Given up while the stream is held back: nothing waits for it, or it would hang, and pages and
 * registration stay until it is done. */
HOST_STAGE_CASE(destroyed_with_work_pending)
{
    lib_world *w = &s->w;
    const raw_cuda *cu = w->cu;
    for (int origin = 0; origin < HOST_ORIGINS; origin++) {
        host_pages pages;
        CUdeviceptr copy = 0;
        static uint32_t words[WORDS];
        LIB_CU_OK(w, cu->MemAlloc(&copy, BYTES));
        culv_shared_buffer *b = host_make_of(w, (host_origin)origin, BYTES, &pages);
        CUdeviceptr p = culv_buffer_pointer(culv_shared_buffer_cuda(b));
        VkSemaphore gate = raw_vk_timeline(&w->vk, 0, true);
        culv_semaphore *wait = lib_import_timeline(w, gate);
        LIB_OK(culv_semaphore_wait(wait, s->stream, 1));
        LIB_CU_OK(w, cu->MemsetD32Async(p, 0xfeedbeef, WORDS, s->stream));
        LIB_CU_OK(w, cu->MemcpyDtoDAsync(copy, p, BYTES, s->stream));
        culv_shared_buffer_destroy(&b, &s->stream);
        REQUIRE(b == NULL);
        culv_device_counts c = lib_counts(w);
        REQUIRE_EQ(c.created, 0);
        REQUIRE_EQ(c.buffers, 0);
        REQUIRE_EQ(c.mappings, 1); /* still registered */
        REQUIRE_EQ(c.deferred, 1);
        raw_vk_timeline_signal(&w->vk, gate, 1);
        lib_finish(w, s->stream);
        REQUIRE_EQ(culv_device_collect(w->device), 0);
        c = lib_counts(w);
        REQUIRE_EQ(c.mappings, 0);
        LIB_CU_OK(w, cu->MemcpyDtoH(words, copy, BYTES));
        LIB_CU_OK(w, cu->MemFree(copy));
        REQUIRE_ALL(words, WORDS, 0xfeedbeef);
        if (origin == HOST_CALLERS)
            REQUIRE_EQ(((const uint32_t *)pages.start)[WORDS - 1], 0xfeedbeef);
        host_pages_free(w, &pages);
        culv_semaphore_destroy(&wait, NULL);
        raw_vk_timeline_destroy(&w->vk, gate);
    }
}

/* A loader whose vkFreeMemory looks whether CUDA has let go by then, and the pages are still
 * there. */
static struct {
    const lib_world *w;
    const host_pages *pages; /* the caller's; NULL: Culvert's */
    const volatile uint32_t *words;
    unsigned freed;
} watched;

static VKAPI_ATTR void VKAPI_CALL watching_free(VkDevice device, VkDeviceMemory memory,
                                                const VkAllocationCallbacks *callbacks)
{
    if (watched.words != NULL) {
        REQUIRE_EQ(watched.words[0], 0x12345678);
        REQUIRE_EQ(watched.words[WORDS * 64 - 1], 0x9abcdef0);
        REQUIRE_EQ(lib_counts(watched.w).mappings, 0);
        if (watched.pages != NULL) host_require_unregistered(watched.w, watched.pages);
        watched.freed++;
    }
    vkFreeMemory(device, memory, callbacks);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL watching_device_proc(VkDevice device,
                                                                     const char *name)
{
    return strcmp(name, "vkFreeMemory") == 0 ? (PFN_vkVoidFunction)watching_free
                                             : vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL watching_loader(VkInstance instance,
                                                                const char *name)
{
    return strcmp(name, "vkGetDeviceProcAddr") == 0 ? (PFN_vkVoidFunction)watching_device_proc
                                                    : vkGetInstanceProcAddr(instance, name);
}

/* CUDA's registration, Vulkan's memory, the pages: 1 MiB of them, which free() gives back to the
 * system. */
HOST_CASE(order_of_the_end)
{
    enum { LARGE = BYTES * 64 };
    (void)mallopt(M_MMAP_THRESHOLD, BYTES); /* or free() might keep them */
    culv_vk_device *plain = w->attachment;
    w->attachment = lib_attach(w, watching_loader);
    for (int origin = 0; origin < HOST_ORIGINS; origin++) {
        host_pages pages;
        culv_shared_buffer *b = host_make_of(w, (host_origin)origin, LARGE, &pages);
        uint32_t *words = culv_vk_buffer_host_pointer(b);
        words[0] = 0x12345678;
        words[LARGE / 4 - 1] = 0x9abcdef0;
        watched.w = w;
        watched.pages = origin == HOST_CALLERS ? &pages : NULL;
        watched.words = words;
        watched.freed = 0;
        culv_shared_buffer_destroy(&b, NULL);
        watched.words = NULL;
        REQUIRE_EQ(watched.freed, 1);
        host_pages_free(w, &pages);
    }
    culv_vk_detach(&w->attachment);
    w->attachment = plain;
}

#undef TEST_GROUP
#define TEST_GROUP "host.refused."
/* Buffers in host memory: what is refused, what the gate says before, and what a caller can
 * enable. */

enum { REFUSALS_BYTES = 16384 };

static culv_vk_buffer_create_desc host_desc(const VkBufferCreateInfo *info)
{
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = info;
    d.host_memory = VK_TRUE;
    d.label = "refused";
    return d;
}

static void nothing_is_left(const lib_world *w)
{
    culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.mappings, 0);
    REQUIRE_EQ(c.deferred, 0);
}

#define REFUSES(CLASS, ...)                                                                        \
    do {                                                                                           \
        culv_shared_buffer *b_ = NULL;                                                             \
        LIB_REFUSES(b_, culv_vk_buffer_create(w->attachment, &d, &b_), CLASS, __VA_ARGS__);        \
        nothing_is_left(w);                                                                        \
    } while (0)

/* The alignment, which the message names. */
HOST_CASE(misaligned_memory)
{
    VkDeviceSize unit = culv_vk_host_import_alignment(w->attachment);
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &host};
    vkGetPhysicalDeviceProperties2(w->vk.physical, &all);
    REQUIRE_EQ(unit % host.minImportedHostPointerAlignment, 0);
    REQUIRE(unit >= 4096 && (unit & (unit - 1)) == 0);
    char number[32];
    snprintf(number, sizeof number, " %" PRIu64 ", as", (uint64_t)unit);
    host_pages pages = host_pages_alloc(w, 4 * (size_t)unit);
    VkBufferCreateInfo info = host_info(unit);
    culv_vk_buffer_create_desc d = host_desc(&info);
    static const size_t off[] = {1, 4, 64, 2048};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        d.host_pointer = (char *)pages.start + off[i];
        REFUSES(INVALID, RANGE, number, "host_pointer");
        d.host_pointer = pages.start;
        d.host_size = unit + off[i];
        REFUSES(INVALID, SIZE, number, "host_size");
        d.host_size = 0;
        info.size = unit - off[i]; /* which is the size of the memory, too */
        REFUSES(INVALID, SIZE, number);
        info.size = unit;
    }
    /* A buffer that needs more than there is, and memory that cannot be. */
    info.size = 2 * unit;
    d.host_size = unit;
    REFUSES(INVALID, SIZE, "host_size");
    d.host_size = UINT64_MAX - unit + 1;
    REFUSES(INVALID, RANGE, "address space");
    host_pages_free(w, &pages);
}

HOST_CASE(fields_that_contradict)
{
    host_pages pages = host_pages_alloc(w, REFUSALS_BYTES);
    VkBufferCreateInfo info = host_info(REFUSALS_BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
#define ROW(what, change, ...) SPOILT(what, change, REFUSES(INVALID, __VA_ARGS__))
    ROW(d, d.fallback = CULV_FALLBACK_HOST, VALUE, "fallback");
    ROW(d, d.host_size = REFUSALS_BYTES, VALUE, "host_pointer");
    ROW(d, (d.host_size = REFUSALS_BYTES, d.host_memory = VK_FALSE), VALUE,
        "host_memory is not set");
    d.host_pointer = pages.start;
    ROW(d, d.host_memory = VK_FALSE, VALUE, "host_memory is not set");
    /* What the gate refuses of any buffer. */
    ROW(info, info.size = 0, SIZE, "size is 0");
    ROW(info, info.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT, USAGE, "SPARSE");
    ROW(info, info.pNext = &external, VALUE, "VkExternalMemoryBufferCreateInfo");
    ROW(d, d.memory_properties = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, MEMORY_TYPE,
        "memory_properties");
#undef ROW
    d.memory_properties = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    NEW(culv_shared_buffer, b, culv_vk_buffer_create, w->attachment, &d);
    culv_shared_buffer_destroy(&b, NULL);
    host_pages_free(w, &pages);
}

/* CUDA pins a page once. */
HOST_CASE(memory_that_cuda_has)
{
    const raw_cuda *cu = w->cu;
    host_pages pages = host_pages_alloc(w, REFUSALS_BYTES);
    const VkBufferCreateInfo info = host_info(REFUSALS_BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    d.host_pointer = pages.start;
    LIB_CU_OK(w, cu->MemHostRegister(pages.start, pages.size, 0));
    REFUSES(DRIVER, DRIVER_REFUSED, "cuMemHostRegister", "unregister");
    LIB_CU_OK(w, cu->MemHostUnregister(pages.start)); /* left as it was */
    culv_shared_buffer *one = host_make(w, REFUSALS_BYTES, &pages), *two;
    LIB_REFUSES(two, culv_vk_buffer_create(w->attachment, &d, &two), DRIVER, DRIVER_REFUSED,
                "another buffer");
    REQUIRE_EQ(lib_counts(w).mappings, 1);
    culv_shared_buffer_destroy(&one, NULL);
    host_pages_free(w, &pages);
}

/* Of a VkDevice that was created without the extension. */
TEST(extension_not_enabled)
{
    lib_world without = {.cu = lib_driver()}, *const w = &without;
    CUuuid uuid;
    REQUIRE_EQ(w->cu->DeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software});
    w->fds = test_open_fds();
    lib_open_culvert(w);
    if (!w->cu->software) w->fds = test_open_fds();
    VkDeviceSize unit = culv_vk_host_import_alignment(w->attachment);
    if (unit != 0) {
        REQUIRE(!w->cu->software);
        MEASURED("library.host_extension_not_enabled",
                 "the driver hands its function out all the same");
        lib_close(w);
        return;
    }
    const VkBufferCreateInfo info = host_info(REFUSALS_BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    REFUSES(UNSUPPORTED, EXTENSION_MISSING, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
            "culv_vk_optional_device_extensions()");
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    ask.host_memory = VK_TRUE;
    LIB_ERROR(culv_vk_check_buffer(w->attachment, &info, &ask, &sharing), UNSUPPORTED,
              EXTENSION_MISSING);
    lib_close(w);
}

/* What a driver could say against it. */
HOST_CASE(driver_that_will_not, .title = "host.refused.by_the_driver")
{
    const VkBufferCreateInfo info = host_info(REFUSALS_BYTES);
    culv_vk_buffer_create_desc d = host_desc(&info);
    culv_vk_device *honest = w->attachment;
#define ROW(lie, ...)                                                                              \
    do {                                                                                           \
        lib_lying = (lib_lies){lie};                                                               \
        w->attachment = lib_attach(w, lib_lying_loader);                                           \
        REFUSES(UNSUPPORTED, __VA_ARGS__);                                                         \
        culv_vk_detach(&w->attachment);                                                            \
    } while (0)
    ROW(.exports_nothing = true, USAGE, "fewer usages");
    ROW(.requires_dedicated = true, DEDICATED, "dedicated");
    ROW(.dedicated_only = true, DEDICATED, "dedicated");
    ROW(.missing = "vkGetMemoryHostPointerPropertiesEXT", EXTENSION_MISSING, "without");
#undef ROW
    lib_lying = (lib_lies){.missing = NULL};
    w->attachment = honest;
}

/* The gate's answer beforehand. */
HOST_CASE(asked_before, .title = "host.asked_before")
{
    VkBufferCreateInfo info = host_info(REFUSALS_BYTES);
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    ask.host_memory = VK_TRUE;
    for (int turn = 0; turn < 2; turn++) { /* once more from what is kept */
        LIB_OK(culv_vk_check_buffer(w->attachment, &info, &ask, &s));
        REQUIRE_EQ(s.access, CULV_VK_ACCESS_POINTER);
        REQUIRE_EQ(s.handle_types, 0);
        REQUIRE_EQ(s.handle_type, CULV_HANDLE_NONE);
        REQUIRE_EQ(s.dedicated_required, 0);
        REQUIRE_EQ(s.memory_type_index, UINT32_MAX);
        REQUIRE(s.requirements_known && s.requirements.size >= REFUSALS_BYTES);
    }
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    info.pNext = &external;
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &info, &ask, &s), NOT_EXPORTABLE,
                "HOST_ALLOCATION");
    info.pNext = NULL;
    ask.handle_type = CULV_HANDLE_OPAQUE_FD;
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &info, &ask, &s), VALUE);
    ask.handle_type = CULV_HANDLE_NONE;
    ask.memory_properties = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &info, &ask, &s), MEMORY_TYPE);
    ask.memory_properties = 0;
    const VkImageCreateInfo image = image_info(VK_FORMAT_R8G8B8A8_UNORM, 8, 8, 1, 0, NULL);
    LIB_INVALID(culv_vk_check_image(w->attachment, &image, &ask, &s), VALUE, "for buffers");
}

/* Which of these a device has, library-device.setup.device_extensions holds against it. */
TEST(what_can_be_enabled, .title = "host.what_can_be_enabled")
{
    lib_world w;
    const char *names[8] = {NULL};
    const uint32_t count = culv_vk_optional_device_extensions(VK_API_VERSION_1_3, 8, names);
    REQUIRE_EQ(count, 2);
    REQUIRE_EQ_STR(names[0], VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    REQUIRE_EQ_STR(names[1], VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
    names[1] = NULL;
    REQUIRE_EQ(culv_vk_optional_device_extensions(VK_API_VERSION_1_1, 1, names), count + 2);
    REQUIRE(names[0] != NULL && names[1] == NULL);
    lib_open(&w);
    static culv_vk_candidate all[LIB_CANDIDATES];
    const uint32_t ranked = lib_rank(vkGetInstanceProcAddr, w.vk.instance, NULL, all);
    for (uint32_t i = 0; i < ranked; i++)
        if (all[i].physical_device == w.vk.physical)
            REQUIRE_EQ(all[i].buffer_host_import,
                       raw_vk_has_device_extension(w.vk.physical,
                                                   VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME));
    lib_close(&w);
}
