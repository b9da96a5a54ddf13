/* SPDX-License-Identifier: MIT */
/* Fallbacks: buffers, the same program on every path; what is refused; how they go. */
#include "fallback_scene.h"

#include <stdatomic.h>
#include <time.h>

enum { WORDS = 20001, BYTES = WORDS * 4 };

static uint32_t words[WORDS];

static void fill_words(uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, seed);
}

/* The words' bytes; the last word may be there in part. */
static void require_bytes(const void *found, size_t size, uint32_t seed)
{
    const unsigned char *bytes = found, *wanted = (const unsigned char *)words;
    fill_words(seed);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != wanted[i])
            FAIL("byte %zu of %zu is 0x%02x, not 0x%02x", i, size, bytes[i], wanted[i]);
}

static void write_cuda(const scene *s, const culv_shared_buffer *buffer, size_t size, uint32_t seed)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    fill_words(seed);
    CU_OK(raw_cuda_upload(cu, culv_buffer_pointer(culv_shared_buffer_cuda(buffer)), words, size));
    lib_leave(&s->w, before);
}

static void require_cuda(const scene *s, const culv_shared_buffer *buffer, size_t size,
                         uint32_t seed)
{
    static uint32_t found[WORDS];
    const raw_cuda *cu = s->w.cu;
    lib_finish(&s->w, s->stream);
    CUcontext before = lib_enter(&s->w);
    memset(found, 0, sizeof found);
    CU_OK(cu->MemcpyDtoH(found, culv_buffer_pointer(culv_shared_buffer_cuda(buffer)), size));
    lib_leave(&s->w, before);
    require_bytes(found, size, seed);
}

static void vulkan_copies(scene *s, culv_shared_buffer *buffer, const raw_vk_buffer *host,
                          size_t size, bool out)
{
    const VkBufferCopy all = {.size = size};
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    VkBuffer own = culv_vk_buffer_handle(buffer);
    scene_buffer_barrier(s, commands, buffer, true);
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_UPLOAD, commands));
    vkCmdCopyBuffer(commands, out ? own : host->buffer, out ? host->buffer : own, 1, &all);
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_DOWNLOAD, commands));
    scene_buffer_barrier(s, commands, buffer, false);
    scene_submit(s, commands);
}

/* CUDA writes, Vulkan reads; Vulkan writes, CUDA reads; and CUDA reads back what Vulkan left
 * alone. */
static void buffer_of(scene *s, size_t size)
{
    culv_shared_buffer *buffer = NULL;
    raw_vk_buffer host;
    raw_vk_buffer_create(&s->w.vk, size, RAW_VK_HOST, &host);
    LIB_OK(scene_buffer(s, size, CULV_FALLBACK_ANY, &buffer));
    culv_buffer *cuda = culv_shared_buffer_cuda(buffer);
    REQUIRE_EQ(culv_buffer_sharing(cuda), s->path);
    REQUIRE_EQ(culv_buffer_size(cuda), size);
    REQUIRE(culv_buffer_pointer(cuda) != 0);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.buffers, 1);
    REQUIRE_EQ(c.created, 3);
    REQUIRE_EQ(c.semaphores, 2);
    const bool shared = s->path == CULV_SHARING_SHARED || s->path == CULV_SHARING_DIRECT;
    REQUIRE_EQ(c.memories, shared);
    REQUIRE_EQ(c.mappings, shared);
    REQUIRE_EQ(c.allocations, shared ? 0 : s->kind == SCENE_PEER ? 1 : 2);
    REQUIRE_EQ(c.peers, s->kind == SCENE_PEER);
    for (uint32_t turn = 1; turn <= 3; turn++) {
        write_cuda(s, buffer, size, turn);
        LIB_OK(culv_buffer_copy(cuda, CULV_COPY_UPLOAD, s->stream));
        scene_signal(s);
        memset(host.mapped, 0, size);
        vulkan_copies(s, buffer, &host, size, true);
        scene_wait(s);
        LIB_OK(culv_buffer_copy(cuda, CULV_COPY_DOWNLOAD, s->stream));
        require_cuda(s, buffer, size, turn);
        raw_vk_idle(&s->w.vk);
        require_bytes(host.mapped, size, turn);
        fill_words(turn + 100);
        memcpy(host.mapped, words, size);
        scene_signal(s);
        vulkan_copies(s, buffer, &host, size, false);
        scene_wait(s);
        LIB_OK(culv_buffer_copy(cuda, CULV_COPY_DOWNLOAD, s->stream));
        require_cuda(s, buffer, size, turn + 100);
    }
    raw_vk_idle(&s->w.vk);
    culv_shared_buffer_destroy(&buffer, NULL);
    lib_settle(&s->w);
    raw_vk_buffer_destroy(&s->w.vk, &host);
}

static void buffers(scene_kind kind)
{
    static const size_t sizes[] = {BYTES, 1, 3, 4097, BYTES - 1};
    static scene s;
    scene_open(&s, kind);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        buffer_of(&s, sizes[i]);
    scene_close(&s);
}

TEST_AS(buffers_shared, buffers(SCENE_SHARED), .title = "buffers.shared")
TEST_AS(buffers_pages, buffers(SCENE_PAGES), .title = "buffers.pages")
TEST_AS(buffers_mapped, buffers(SCENE_MAPPED), .title = "buffers.mapped")
TEST_AS(buffers_peer, buffers(SCENE_PEER), .title = "buffers.peer")
TEST_AS(buffers_direct, buffers(SCENE_DIRECT), .title = "buffers.direct")
TEST_AS(buffers_placed, buffers(SCENE_PLACED), .title = "buffers.placed")

/* CUDA numbers the GPUs in another order than Vulkan: the solver is its first one. */
TEST(buffers_in_order, .title = "buffers.in_order", .own = true)
{
    REQUIRE(setenv("CULVERT_SOFT_DEVICES", "1,0", 1) == 0);
    scene_draws = 1;
    buffers(SCENE_DIRECT);
}

/* Where sharing is possible, allowing a fallback changes nothing, and the calls for it call
 * nobody. */
TEST(shared_costs_nothing)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    scene_open(&s, SCENE_SHARED);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    VkCommandBuffer commands = raw_vk_begin(&s.w.vk, 0);
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&before);
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_UPLOAD, s.stream));
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_DOWNLOAD, s.stream));
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_UPLOAD, commands));
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_DOWNLOAD, commands));
    const culv_copy neither = (culv_copy)2;
    LIB_INVALID(culv_buffer_copy(culv_shared_buffer_cuda(buffer), neither, s.stream), VALUE,
                "culv_buffer_copy: copy is 2");
    LIB_INVALID(culv_vk_buffer_record_copy(buffer, neither, commands), VALUE);
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&after);
    REQUIRE_EQ(before.calls, after.calls);
    raw_vk_submit(&s.w.vk, commands, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    scene_close(&s);
}

/* Off unless asked for, and never for calls that are wrong. */
TEST(refused)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    scene_open_bare(&s, SCENE_PAGES);
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, 0, &buffer), UNSUPPORTED, NOT_EXPORTABLE);
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
                "own GPU");
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, 8, &buffer), INVALID, VALUE);
    LIB_REFUSES(buffer, scene_buffer(&s, 0, CULV_FALLBACK_ANY, &buffer), INVALID, SIZE);
    LIB_REFUSES(semaphore, scene_semaphore(&s, 0, &semaphore), UNSUPPORTED, NOT_EXPORTABLE);
    LIB_REFUSES(semaphore, scene_semaphore(&s, CULV_FALLBACK_PEER, &semaphore), UNSUPPORTED, PEER);
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.fallback = CULV_FALLBACK_ANY;
    LIB_REFUSES(semaphore, culv_vk_semaphore_create(s.w.attachment, &d, &semaphore), UNSUPPORTED,
                NOT_EXPORTABLE);
    REQUIRE_EQ(culv_buffer_sharing(NULL), CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_image_sharing(NULL), CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_semaphore_sharing(NULL), CULV_SHARING_SHARED);
    REQUIRE_EQ_STR(culv_sharing_name(CULV_SHARING_HOST), "HOST");
    REQUIRE_EQ_STR(culv_sharing_name((culv_sharing)77), "unknown");
    scene_close(&s);
}

/* Another GPU: attached only when asked for, and nothing of it is imported, nor tried on the
 * driver. */
TEST(another_gpu)
{
    static scene s;
    culv_vk_device *vk = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    scene_open_bare(&s, SCENE_PEER);
    const raw_cuda *cu = s.w.cu;
    culv_vk_device_desc d = lib_vk_desc(&s.w);
    LIB_REFUSES(vk, culv_vk_attach(s.w.device, &d, &vk), INVALID, DEVICE_MISMATCH,
                "culv_vk_device_desc.fallback", "culv_vk_device_desc.allow_other_gpu");
    d.fallback = 64;
    LIB_REFUSES(vk, culv_vk_attach(s.w.device, &d, &vk), INVALID, VALUE);
    raw_vk_buffer own = lib_case_buffer(&s.w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(&s.w, 0);
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    if (cu->SoftCounts != NULL) cu->SoftCounts(&before);
    culv_vk_memory_desc m = culv_vk_memory_desc_init();
    m.memory = own.memory;
    m.allocation_size = own.allocation_size;
    LIB_REFUSES(memory, culv_vk_memory_import(s.w.attachment, &m, &memory), INVALID,
                DEVICE_MISMATCH);
    LIB_REFUSES(memory, culv_vk_memory_import_shared(s.w.attachment, &m, &memory), INVALID,
                DEVICE_MISMATCH);
    culv_vk_semaphore_desc t = culv_vk_semaphore_desc_init();
    t.semaphore = timeline;
    t.type = CULV_SEMAPHORE_TIMELINE;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(s.w.attachment, &t, &semaphore), INVALID,
                DEVICE_MISMATCH);
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, 0, &buffer), INVALID, DEVICE_MISMATCH);
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    LIB_INVALID(culv_vk_check_buffer(s.w.attachment, &info, NULL, &sharing), DEVICE_MISMATCH);
    if (cu->SoftCounts != NULL) cu->SoftCounts(&after);
    REQUIRE_EQ(before.calls, after.calls);
    /* Told to, it goes through the host from one GPU to the other. */
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_HOST, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_HOST);
    culv_shared_buffer_destroy(&buffer, NULL);
    LIB_REFUSES(buffer, scene_buffer(&s, 0, CULV_FALLBACK_ANY, &buffer), INVALID, SIZE);
    scene_close(&s);
}

/* Copies between the GPUs that arrive wrong without an error are found out, once, and HOST is next
 * (R37). */
TEST(wrong_copies)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    char name[256] = "";
    memset(name, 'n', 255);
    memcpy(name + 250, "(end)", 5);
    REQUIRE(setenv("CULVERT_SOFT_DEVICES", "2", 1) == 0);
    if (lib_driver()->SoftPlayName != NULL) lib_driver()->SoftPlayName(name);
    scene_open_bare(&s, SCENE_PEER);
    const raw_cuda *cu = s.w.cu;
    if (cu->SoftSpoilPeers == NULL) {
        scene_close(&s);
        SKIP("only the twin's copies go wrong on demand");
    }
    cu->SoftSpoilPeers(1);
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
                "IOMMU", "HOST", name);
    cu->SoftSpoilPeers(0); /* the verdict stays: nothing is verified twice */
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    cu->SoftCounts(&before);
    LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER);
    cu->SoftCounts(&after);
    REQUIRE_EQ(before.calls, after.calls);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_HOST);
    culv_shared_buffer_destroy(&buffer, NULL);
    scene_close(&s);
}

/* One direction is enough for that: half of the words that were copied are right. */
TEST(wrong_copies_one_way)
{
    raw_cuda_two_devices();
    for (int spoilt = 2; spoilt <= 3; spoilt++) {
        static scene s;
        culv_shared_buffer *buffer = NULL;
        scene_open_bare(&s, SCENE_PEER);
        const raw_cuda *cu = s.w.cu;
        if (cu->SoftSpoilPeers == NULL) {
            scene_close(&s);
            SKIP("only the twin's copies go wrong on demand");
        }
        cu->SoftSpoilPeers(spoilt);
        LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
                    "16384 of 32768 words");
        cu->SoftSpoilPeers(0);
        scene_close(&s);
    }
}

/* A VkDevice without the extensions that sharing needs, of this GPU or of another one; or, as an
 * engine's, without that for semaphores alone: then memory is shared. */
static void without_extensions(bool foreign, bool memory_too)
{
    static scene s;
    lib_world *w = &s.w;
    CUuuid uuid;
    culv_shared_buffer *buffer = NULL;
    culv_vk_device *vk = NULL;
    memset(&s, 0, sizeof s);
    if (foreign) raw_cuda_two_devices();
    w->cu = lib_driver();
    const raw_cuda *cu = w->cu;
    if (foreign && cu->device_count < 2) SKIP("one CUDA device only");
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = cu->software,
                                          .without_memory_fd = memory_too,
                                          .without_semaphore_fd = true});
    w->fds = test_open_fds() + (cu->software ? 0 : 1000);
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    LIB_OK(foreign ? culv_device_open_by_ordinal(1, &dd, &w->device)
                   : culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical,
                                             NULL, &w->device));
    culv_vk_device_desc d = lib_vk_desc(w);
    LIB_REFUSES_AS(vk, culv_vk_attach(w->device, &d, &vk), CULV_ERROR_INVALID,
                   foreign ? CULV_REASON_DEVICE_MISMATCH : CULV_REASON_EXTENSION_MISSING);
    if (!foreign) LIB_SAYS("set culv_vk_device_desc.fallback to CULV_FALLBACK_ANY");
    d.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    w->context = culv_device_context(w->device);
    if (memory_too)
        LIB_REFUSES_AS(buffer, scene_buffer(&s, BYTES, 0, &buffer),
                       foreign ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
                       foreign ? CULV_REASON_DEVICE_MISMATCH : CULV_REASON_EXTENSION_MISSING);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &s.to_vulkan));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)),
               memory_too ? CULV_SHARING_HOST : CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_semaphore_sharing(culv_shared_semaphore_cuda(s.to_vulkan)), CULV_SHARING_HOST);
    culv_shared_buffer_destroy(&buffer, NULL);
    scene_close(&s);
}

TEST_AS(no_extensions, without_extensions(false, true))
TEST_AS(no_semaphores, without_extensions(false, false))
TEST_AS(no_extensions_on_another_gpu, without_extensions(true, true))

/* Stencil has a usage of its own, which copies need as well. */
TEST(stencil_usage)
{
    static scene s;
    culv_shared_image *image = NULL;
    scene_open_bare(&s, SCENE_PAGES);
    const VkImageStencilUsageCreateInfo stencil = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
        .stencilUsage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &stencil,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_D32_SFLOAT_S8_UINT,
                                    .extent = {16, 16, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_HOST;
    LIB_REFUSES(image, culv_vk_image_create(s.w.attachment, &d, &image), INVALID, USAGE,
                "stencilUsage");
    scene_close(&s);
}

/* Given up while the GPU is still at it, in any order; the stream is held by a gate. */
static atomic_bool gate;

static void CUDA_CB hold(void *user)
{
    (void)user;
    while (!atomic_load(&gate))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void given_up_early(scene_kind kind)
{
    static scene s;
    culv_shared_buffer *one = NULL, *two = NULL;
    scene_open(&s, kind);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &one));
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &two));
    atomic_store(&gate, kind == SCENE_MAPPED); /* detaching waits for Vulkan's memory */
    LIB_CU_OK(&s.w, s.w.cu->LaunchHostFunc(s.stream, hold, NULL));
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(one), CULV_COPY_UPLOAD, s.stream));
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(two), CULV_COPY_DOWNLOAD, s.stream));
    culv_shared_buffer_destroy(&one, &s.stream);
    culv_shared_buffer_destroy(&two, &s.stream);
    REQUIRE(one == NULL && two == NULL);
    if (kind != SCENE_MAPPED) REQUIRE_EQ(lib_counts(&s.w).deferred, 2);
    culv_vk_detach(&s.w.attachment); /* objects made with it keep it */
    atomic_store(&gate, true);
    scene_close(&s);
}

TEST_AS(given_up_pages, given_up_early(SCENE_PAGES), .title = "given_up_early.pages")
TEST_AS(given_up_mapped, given_up_early(SCENE_MAPPED), .title = "given_up_early.mapped")
TEST_AS(given_up_peer, given_up_early(SCENE_PEER), .title = "given_up_early.peer")
TEST_AS(given_up_direct, given_up_early(SCENE_DIRECT), .title = "given_up_early.direct")
TEST_AS(given_up_placed, given_up_early(SCENE_PLACED), .title = "given_up_early.placed")

/* The device is closed first, the object last. */
static void device_first(scene_kind kind)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    scene_open_bare(&s, kind);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &semaphore));
    culv_vk_detach(&s.w.attachment);
    culv_device_close(&s.w.device);
    culv_shared_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    lib_close(&s.w);
}

TEST_AS(device_first_host, device_first(SCENE_PAGES), .title = "device_first.host")
TEST_AS(device_first_mapped, device_first(SCENE_MAPPED), .title = "device_first.mapped")
TEST_AS(device_first_peer, device_first(SCENE_PEER), .title = "device_first.peer")
TEST_AS(device_first_direct, device_first(SCENE_DIRECT), .title = "device_first.direct")
TEST_AS(device_first_placed, device_first(SCENE_PLACED), .title = "device_first.placed")
