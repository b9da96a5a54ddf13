/* SPDX-License-Identifier: MIT */
/* VkDeviceMemory made of handles: of Vulkan's own exports (which lavapipe takes too), and of
 * dma-bufs, played where the machine has none. */
#define TEST_GROUP "from_handle."
#include "fallback_scene.h"
#include "library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

/* A buffer without memory that takes such memory. */
static VkBuffer make_buffer(const lib_world *w, VkExternalMemoryHandleTypeFlagBits type)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = type};
    VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkBuffer buffer;
    info.pNext = &external;
    VK_OK(vkCreateBuffer(w->vk.device, &info, NULL, &buffer));
    return buffer;
}

static culv_vk_memory_from_handle_desc describe(const lib_world *w, const raw_vk_buffer *like,
                                                culv_handle handle)
{
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = handle;
    d.size = like->allocation_size;
    d.memory_type_bits = 1u << like->memory_type;
    memcpy(d.exporter.bytes, w->vk.id.deviceUUID, VK_UUID_SIZE);
    d.label = "twice";
    return d;
}

static void export(const lib_world *w, const raw_vk_buffer *buffer, culv_handle *out)
{
    LIB_OK(culv_vk_memory_export_dup(w->attachment, buffer->memory, CULV_HANDLE_OPAQUE_FD, out));
}

/* A second VkDeviceMemory of the same pages: what one writes the other shows. The handle stays the
 * caller's. */
static void same_pages(lib_world *w, bool dedicated)
{
    static uint32_t words[WORDS], back[WORDS];
    raw_vk_buffer first =
        lib_case_buffer(w, BYTES, RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0));
    raw_vk_buffer second = {.size = BYTES, .flags = RAW_VK_IMPORT};
    second.buffer = make_buffer(w, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
    size_t fds = test_open_fds();
    culv_handle handle;
    export(w, &first, &handle);
    lib_fd fd = lib_fd_watch(handle.value.fd);
    culv_vk_memory_from_handle_desc d = describe(w, &first, handle);
    if (dedicated) {
        d.memory_type_bits = 0;
        d.buffer = second.buffer;
        d.dedicated = VK_TRUE;
    }
    LIB_OK(culv_vk_memory_from_handle(w->attachment, &d, &second.memory));
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, false);
    culv_handle_close(&handle);
    VK_OK(vkBindBufferMemory(w->vk.device, second.buffer, second.memory, 0));
    lib_fill(words, WORDS, 5);
    raw_vk_write(&w->vk, &first, 0, words, BYTES);
    raw_vk_read(&w->vk, &second, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, 5);
    vkDestroyBuffer(w->vk.device, second.buffer, NULL);
    vkFreeMemory(w->vk.device, second.memory, NULL);
    if (w->cu->software) REQUIRE_EQ(test_open_fds(), fds);
}

LIB_CASE(opaque, .smoke = true)
{
    same_pages(w, false);
    same_pages(w, true);
}

LIB_CASE(wrong_descriptors)
{
    raw_vk_buffer like = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    VkBuffer buffer = make_buffer(w, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
    VkImage image; /* only told of */
    memcpy(&image, &buffer, sizeof image);
    culv_handle handle;
    export(w, &like, &handle);
    lib_fd fd = lib_fd_watch(handle.value.fd);
    size_t fds = test_open_fds();
    VkDeviceMemory out;
    culv_vk_device *vk = w->attachment;
    culv_vk_memory_from_handle_desc d = describe(w, &like, handle);
#define ROW(change, class, ...)                                                                    \
    SPOILT(d, change,                                                                              \
           LIB_REFUSES(out, culv_vk_memory_from_handle(vk, &d, &out), class, __VA_ARGS__))
    ROW(d.struct_size = 0, INVALID, STRUCT_SIZE);
    ROW(d.size = 0, INVALID, SIZE);
    ROW(d.exporter.bytes[3] ^= 1, INVALID, DEVICE_MISMATCH, "'twice'");
    ROW((d.buffer = buffer, d.image = image), INVALID, VALUE);
    ROW(d.buffer = buffer, INVALID, VALUE, "memory_type_bits");
    ROW((d.buffer = buffer, d.memory_type_bits = 0, d.size = BYTES - 1), INVALID, SIZE);
    ROW(d.dedicated = VK_TRUE, INVALID, VALUE, "dedicated");
    ROW(d.memory_type_bits = 1u << 31, INVALID, MEMORY_TYPE);
    ROW(d.handle.type = CULV_HANDLE_OPAQUE_WIN32, UNSUPPORTED, HANDLE_TYPE);
    ROW(d.handle.type = CULV_HANDLE_NONE, INVALID, HANDLE_TYPE);
    ROW(d.handle = culv_handle_opaque_fd(-1), INVALID, HANDLE_BAD);
    if (!w->vk.dma_buf)
        ROW(d.handle.type = CULV_HANDLE_DMA_BUF_FD, UNSUPPORTED, EXTENSION_MISSING,
            "so it neither exports nor imports a dma-buf");
    raw_vk_buffer bigger;
    raw_vk_buffer_create(&w->vk, (VkDeviceSize)BYTES * 2, RAW_VK_EXPORT, &bigger);
    export(w, &bigger, &d.handle); /* more than it needs, as CUDA's allocations are */
    d.buffer = buffer;
    d.memory_type_bits = 0;
    d.size = bigger.allocation_size;
    ROW(d.dedicated = VK_TRUE, INVALID, DEDICATED, "exactly the size", "leave dedicated 0");
#undef ROW
    VkDeviceMemory memory;
    LIB_OK(culv_vk_memory_from_handle(vk, &d, &memory));
    vkFreeMemory(w->vk.device, memory, NULL);
    culv_handle_close(&d.handle);
    raw_vk_buffer_destroy(&w->vk, &bigger);
    lib_fd_require_untouched(&fd);
    REQUIRE_EQ(test_open_fds(), fds);
    lib_fd_done(&fd, true);
    vkDestroyBuffer(w->vk.device, buffer, NULL);
}

/* Requires a failure that leaves the handle and the number of descriptors as they were. */
static void refused(const lib_world *w, const char *what, int file, VkDeviceSize size,
                    culv_result class)
{
    const VkDeviceMemory nobodys = (VkDeviceMemory)POISON(void);
    VkDeviceMemory out = nobodys;
    lib_fd fd = lib_fd_watch(file);
    size_t fds = test_open_fds();
    culv_error e = culv_error_init();
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = culv_handle_opaque_fd(file);
    d.size = size;
    d.memory_type_bits = 1;
    culv_result r = culv_vk_memory_from_handle(w->attachment, &d, &out);
    if (r == CULV_OK) FAIL("%s was taken for memory", what);
    culv_last_error(&e);
    printf("%s: %s\n", what, e.message);
    if (w->cu->software) REQUIRE_EQ(r, class);
    REQUIRE(out == nobodys);
    lib_fd_require_untouched(&fd);
    REQUIRE_EQ(test_open_fds(), fds);
    lib_fd_done(&fd, false);
}

/* What the driver refuses: whether it closes what it was given (Mesa 22, 25) or not, nothing is
 * left and the caller's own is untouched. */
TEST(driver_refuses, .own = true)
{
    lib_with_option("--validation=off");
    lib_world w;
    lib_open(&w);
    raw_vk_buffer like = lib_case_buffer(&w, BYTES, RAW_VK_EXPORT);
    int file = memfd_create("garbage", MFD_CLOEXEC);
    REQUIRE(file >= 0 && ftruncate(file, BYTES) == 0);
    refused(&w, "a memfd of zeros", file, BYTES, CULV_ERROR_DRIVER);
    close(file);
    if (w.cu->software) { /* its own, but for less than is asked for */
        file = raw_vk_buffer_fd(&w.vk, &like);
        refused(&w, "half the memory", file, like.allocation_size + 2048, CULV_ERROR_OUT_OF_MEMORY);
        refused(&w, "a bit of the memory", file, 1 << 30, CULV_ERROR_INVALID);
        close(file);
    }
    lib_close(&w);
}

/* A device with dma-bufs, played: the types that Vulkan tells are held against those of the
 * buffer. */
LIB_CASE(played_dma_bufs)
{
    if (!w->cu->software) SKIP("played on lavapipe only, whose one memory type is known");
    raw_vk_buffer like = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    culv_vk_device *lying = NULL;
    culv_handle handle;
    export(w, &like, &handle);
    handle.type = CULV_HANDLE_DMA_BUF_FD;
    lib_fd fd = lib_fd_watch(handle.value.fd);
    VkDeviceMemory memory;
    culv_vk_memory_from_handle_desc d = describe(w, &like, handle);
    static const struct {
        uint32_t told, asked;
        VkMemoryPropertyFlags second;
        int type; /* -1: refused */
    } rows[] = {{1, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
                {2, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 1},
                {3, 2, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 1},
                {3, 0, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 0},
                {2, 0, VK_MEMORY_PROPERTY_PROTECTED_BIT, -1},
                {2, 0, VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, -1},
                {2, 1, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, -1},
                {0, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lib_lying = (lib_lies){
            .plays_dma_bufs = true, .dma_buf_types = rows[i].told, .second_type = rows[i].second};
        d.memory_type_bits = rows[i].asked;
        culv_vk_detach(&lying); /* which asked for the types when it was attached */
        lying = lib_attach(w, lib_lying_loader);
        if (rows[i].type < 0) {
            LIB_REFUSES_AS(memory, culv_vk_memory_from_handle(lying, &d, &memory),
                           rows[i].told == 0 ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_INVALID,
                           CULV_REASON_MEMORY_TYPE);
        } else {
            LIB_OK(culv_vk_memory_from_handle(lying, &d, &memory));
            REQUIRE_EQ(lib_saw_type, rows[i].type);
            vkFreeMemory(w->vk.device, memory, NULL);
        }
        lib_fd_require_untouched(&fd);
    }
    lib_lying.dma_buf_result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    LIB_REFUSES(memory, culv_vk_memory_from_handle(lying, &d, &memory), DRIVER, HANDLE_REFUSED,
                "as a dma-buf");
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    culv_vk_detach(&lying);
}

/* A VkDevice that was created without the extension might take no notice of the import's struct. */
LIB_CASE(not_enabled)
{
    raw_vk_buffer like = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    culv_handle handle;
    export(w, &like, &handle);
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.missing = "vkGetMemoryFdKHR"};
    vd.get_instance_proc_addr = lib_lying_loader;
    vd.fallback = CULV_FALLBACK_ANY;
    NEW(culv_vk_device, poor, culv_vk_attach, w->device, &vd);
    lib_fd fd = lib_fd_watch(handle.value.fd);
    size_t fds = test_open_fds();
    for (int i = 0; i < 4; i++) { /* as both types, with the exporter and without */
        VkDeviceMemory out;
        culv_vk_memory_from_handle_desc d = describe(w, &like, handle);
        if (i & 1) d.handle.type = CULV_HANDLE_DMA_BUF_FD;
        if (i & 2) memset(&d.exporter, 0, sizeof d.exporter);
        LIB_REFUSES(out, culv_vk_memory_from_handle(poor, &d, &out), UNSUPPORTED, EXTENSION_MISSING,
                    VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        lib_fd_require_untouched(&fd);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    lib_fd_done(&fd, true);
    culv_vk_detach(&poor);
}

/* Attached as another GPU than the culv_device: what Vulkan's GPU exported it takes back, what
 * CUDA's did never. */
TEST(another_gpu)
{
    static scene s;
    scene_open_bare(&s, SCENE_PEER);
    lib_world *w = &s.w;
    raw_vk_buffer like = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_handle handle, semaphore;
    export(w, &like, &handle);
    LIB_OK(
        culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &semaphore));
    culv_handle_close(&semaphore);
    lib_fd fd = lib_fd_watch(handle.value.fd);
    culv_device_caps caps = lib_caps(w->device);
    VkDeviceMemory memory;
    culv_vk_memory_from_handle_desc d = describe(w, &like, handle);
    REQUIRE(memcmp(&d.exporter, &caps.uuid, sizeof caps.uuid) != 0);
    LIB_OK(culv_vk_memory_from_handle(w->attachment, &d, &memory));
    vkFreeMemory(w->vk.device, memory, NULL);
    d.exporter = caps.uuid;
    LIB_REFUSES(memory, culv_vk_memory_from_handle(w->attachment, &d, &memory), INVALID,
                DEVICE_MISMATCH, "another GPU");
    d.exporter.bytes[5] ^= 0x40; /* a third one's */
    LIB_REFUSES(memory, culv_vk_memory_from_handle(w->attachment, &d, &memory), INVALID,
                DEVICE_MISMATCH, w->vk.properties.deviceName);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    scene_close(&s);
}

/* Mesa from 25 on takes any memfd for a dma-buf, whole: the road that a real one goes, with
 * data. */
LIB_CASE(mesa_dma_buf)
{
    static uint32_t back[WORDS];
    if (!w->vk.dma_buf)
        SKIP("%s has no %s", w->vk.properties.deviceName,
             VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
    if (!w->cu->software) SKIP("a memfd is a dma-buf for software Vulkan only");
    raw_vk_buffer buffer = {.size = BYTES, .flags = RAW_VK_IMPORT};
    buffer.buffer = make_buffer(w, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT);
    int file = memfd_create("dma-buf", MFD_CLOEXEC);
    REQUIRE(file >= 0 && ftruncate(file, BYTES) == 0);
    uint32_t *words = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(words != MAP_FAILED);
    lib_fill(words, WORDS, 9);
    lib_fd fd = lib_fd_watch(file);
    size_t fds = test_open_fds();
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = culv_handle_dma_buf_fd(file);
    d.size = BYTES;
    d.buffer = buffer.buffer;
    LIB_OK(culv_vk_memory_from_handle(w->attachment, &d, &buffer.memory));
    VK_OK(vkBindBufferMemory(w->vk.device, buffer.buffer, buffer.memory, 0));
    lib_fd_require_untouched(&fd);
    raw_vk_read(&w->vk, &buffer, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, 9);
    raw_vk_fill(&w->vk, &buffer, 0, BYTES, 0x01020304, NULL);
    REQUIRE_EQ(words[WORDS - 1], 0x01020304);
    vkDestroyBuffer(w->vk.device, buffer.buffer, NULL);
    vkFreeMemory(w->vk.device, buffer.memory, NULL);
    REQUIRE_EQ(test_open_fds(), fds);
    munmap(words, BYTES);
    lib_fd_done(&fd, true);
}

#undef TEST_GROUP
#define TEST_GROUP "acquire."
/* culv_vk_memory_import_shared(): one import a VkDeviceMemory, however many resources are in it. */

enum { ACQUIRE_BYTES = 1 << 20 };

static culv_memory *acquire(culv_vk_device *vk, const raw_vk_buffer *buffer)
{
    culv_vk_memory_desc d = lib_vk_memory(buffer);
    NEW(culv_memory, memory, culv_vk_memory_import_shared, vk, &d);
    return memory;
}

static culv_buffer *map(culv_memory *memory, uint64_t offset, uint64_t size)
{
    culv_buffer_desc d = culv_buffer_desc_init();
    d.offset = offset;
    d.size = size;
    NEW(culv_buffer, buffer, culv_buffer_map, memory, &d);
    return buffer;
}

/* As an allocator's user does: acquire, map, give the import up at once, for each of a dozen
 * resources. That it is found and made anew: backend-vulkan.import.shared_is_found_again. */
LIB_CASE(one_import)
{
    enum { RESOURCES = 12, SIZE = 4096 };
    culv_buffer *buffers[RESOURCES];
    raw_vk_buffer block = lib_case_buffer(w, ACQUIRE_BYTES, RAW_VK_EXPORT);
    OWN(culv_memory) *first = acquire(w->attachment, &block);
    culv_memory *const kept = first;
    const size_t fds = test_open_fds();
    for (uint64_t i = 0; i < RESOURCES; i++) {
        culv_memory *again = acquire(w->attachment, &block);
        REQUIRE(again == first);
        buffers[i] = map(again, i * 2 * SIZE, SIZE);
        culv_memory_destroy(&again);
        REQUIRE_EQ(culv_buffer_pointer(buffers[i]), culv_buffer_pointer(buffers[0]) + i * 2 * SIZE);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    lib_require_driver_counts(w, 1, 1, 0);
    /* A buffer alone keeps it findable. */
    culv_memory_destroy(&first);
    for (int i = 1; i < RESOURCES; i++)
        culv_buffer_unmap(&buffers[i], NULL);
    first = acquire(w->attachment, &block);
    REQUIRE(first == kept);
    culv_buffer_unmap(&buffers[0], NULL);
}

/* What was given up and waits for the GPU is not found: its VkDeviceMemory may be another by
 * then. */
LIB_CASE(deferred_is_not_found)
{
    raw_vk_buffer block = lib_case_buffer(w, ACQUIRE_BYTES, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
    CUstream stream = lib_case_stream(w);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 1)); /* the stream stands still */
    culv_memory *memory = acquire(w->attachment, &block);
    culv_buffer *buffer = map(memory, 0, 4096);
    culv_memory_destroy(&memory);
    culv_buffer_unmap(&buffer, &stream);
    REQUIRE_EQ(lib_counts(w).deferred, 1);
    memory = acquire(w->attachment, &block);
    REQUIRE_EQ(lib_counts(w).memories, 2); /* the old one and the new one */
    culv_memory_destroy(&memory);
    raw_vk_timeline_signal(&w->vk, timeline, 1);
    lib_finish(w, stream);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).memories, 0);
}

/* Imports of culv_vk_memory_import(), and those of another attachment, are apart. */
LIB_CASE(apart)
{
    raw_vk_buffer block = lib_case_buffer(w, ACQUIRE_BYTES, RAW_VK_EXPORT);
    culv_vk_device *other = lib_attach(w, vkGetInstanceProcAddr);
    culv_memory *plain = lib_import(w, &block);
    culv_memory *a = acquire(w->attachment, &block);
    culv_memory *b = acquire(other, &block);
    REQUIRE(plain != a && a != b && plain != b);
    REQUIRE_EQ(lib_counts(w).memories, 3);
    culv_vk_detach(&other);
    /* A third attachment may lie where the second was: its imports are its own all the same. */
    other = lib_attach(w, vkGetInstanceProcAddr);
    culv_memory *c = acquire(other, &block);
    REQUIRE(c != b);
    culv_vk_detach(&other);
    culv_memory_destroy(&a);
    culv_memory_destroy(&b);
    culv_memory_destroy(&c);
    culv_memory_destroy(&plain);
}

LIB_CASE(acquire_refused, .title = "acquire.refused")
{
    culv_memory *memory = NULL;
    raw_vk_buffer block = lib_case_buffer(w, ACQUIRE_BYTES, RAW_VK_EXPORT);
    OWN(culv_memory) *first = acquire(w->attachment, &block);
    culv_vk_memory_desc d = lib_vk_memory(&block);
#define ROW(call, change, ...)                                                                     \
    SPOILT(d, change, LIB_REFUSES(memory, call(w->attachment, &d, &memory), INVALID, __VA_ARGS__))
    ROW(culv_vk_memory_import_shared, d.allocation_size -= 1, SIZE, "allocation_size");
    ROW(culv_vk_memory_import_shared, d.dedicated = VK_TRUE, DEDICATED);
    d.buffer = block.buffer;
    d.buffer_offset = block.allocation_size;
    /* Found or not, what is said of the resource is checked. */
    ROW(culv_vk_memory_import_shared, (void)0, RANGE);
    ROW(culv_vk_memory_import_shared, d.memory = VK_NULL_HANDLE, NULL_ARGUMENT);
    static const VkDeviceSize more[] = {1, 256, 4096, 1 << 20};
    raw_vk_buffer alone = lib_case_buffer(w, ACQUIRE_BYTES + 4, RAW_VK_EXPORT | RAW_VK_DEDICATED);
    d = lib_vk_memory(&alone);
    d.dedicated = VK_TRUE;
    d.buffer = alone.buffer;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        ROW(culv_vk_memory_import, d.allocation_size += more[i], SIZE, "has exactly");
#undef ROW
    REQUIRE_EQ(lib_counts(w).memories, 1);
}

/* Of depth and stencil formats that CUDA finds in dedicated allocations alone, the gate says so,
 * and what Culvert makes is so. That a block is refused for them: library-images.maps. */
LIB_CASE(dedicated_formats)
{
    static const VkFormat formats[] = {VK_FORMAT_D16_UNORM, VK_FORMAT_S8_UINT,
                                       VK_FORMAT_D32_SFLOAT};
    lib_lying = (lib_lies){.missing = NULL}; /* which says nothing but the truth */
    culv_vk_device *watched = lib_attach(w, lib_lying_loader);
    for (int i = 0; i < 3; i++) {
        const VkImageCreateInfo planned = raw_vk_image_info(
            formats[i], 64, 32, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
        LIB_OK(culv_vk_check_image(watched, &planned, NULL, &sharing));
        if (i < 2) REQUIRE_EQ(sharing.dedicated_required, 1);
        lib_saw_dedicated = false;
        culv_shared_image *made = lib_made_image(watched, &planned);
        REQUIRE(lib_saw_dedicated || !sharing.dedicated_required);
        culv_shared_image_destroy(&made, NULL);
    }
    culv_vk_detach(&watched);
}
