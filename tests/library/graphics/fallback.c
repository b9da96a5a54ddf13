/* SPDX-License-Identifier: MIT */
/* Fallbacks: buffers, the same program on every path; what is refused; how they go. */
#include "fallback_scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 20001, BYTES = WORDS * 4 };

static uint32_t words[WORDS];

static void fill_words(uint32_t seed)
{
    lib_fill(words, WORDS, seed);
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
    fill_words(seed);
    LIB_CU_OK(&s->w, raw_cuda_upload(s->w.cu, culv_shared_buffer_pointer(buffer), words, size));
}

static void require_cuda(const scene *s, const culv_shared_buffer *buffer, size_t size,
                         uint32_t seed)
{
    static uint32_t found[WORDS];
    lib_finish(&s->w, s->stream);
    memset(found, 0, sizeof found);
    LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoH(found, culv_shared_buffer_pointer(buffer), size));
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
    OWN(culv_shared_buffer) *buffer = NULL;
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
    lib_settle(&s->w);
    raw_vk_buffer_destroy(&s->w.vk, &host);
}

/* Copies go into a green context's stream, too. */
static void copy_green(scene *s)
{
    lib_green g = {0};
    culv_shared_buffer *buffer = NULL;
    if (s->path == CULV_SHARING_DIRECT || !lib_green_open(&s->w, &g)) return;
    LIB_OK(scene_buffer(s, BYTES, CULV_FALLBACK_ANY, &buffer));
    for (uint32_t way = CULV_COPY_UPLOAD; way <= CULV_COPY_DOWNLOAD; way++) {
        write_cuda(s, buffer, BYTES, 7 + way);
        LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), (culv_copy)way, g.stream));
        lib_finish(&s->w, g.stream);
    }
    require_cuda(s, buffer, BYTES, s->path == CULV_SHARING_SHARED ? 8 : 7);
    culv_shared_buffer_destroy(&buffer, NULL);
    lib_settle(&s->w);
    lib_green_close(&s->w, &g);
}

/* The device is closed first, the objects last. */
static void device_first(scene *s)
{
    culv_shared_buffer *buffer = NULL;
    LIB_OK(scene_buffer(s, BYTES, CULV_FALLBACK_ANY, &buffer));
    raw_vk_idle(&s->w.vk);
    lib_stream_destroy(&s->w, s->stream);
    culv_vk_detach(&s->w.attachment);
    culv_device_close(&s->w.device);
    culv_shared_semaphore_destroy(&s->to_vulkan, NULL);
    culv_shared_semaphore_destroy(&s->to_cuda, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    lib_close(&s->w);
}

static void buffers(scene_kind kind)
{
    static const size_t sizes[] = {BYTES, 1, 3, 4097, BYTES - 1};
    static scene s;
    scene_open(&s, kind);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        buffer_of(&s, sizes[i]);
    copy_green(&s);
    device_first(&s);
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

/* Where sharing is possible, allowing a fallback or another GPU changes nothing, and the calls for
 * it call nobody. */
SCENE_CASE(scene_open, SCENE_SHARED, shared_costs_nothing)
{
    culv_shared_buffer *buffer = NULL;
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    d.allow_other_gpu = 1;
    LIB_OK(scene_buffer(s, BYTES, CULV_FALLBACK_ANY, &buffer));
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    const uint64_t calls = lib_calls(s->w.cu);
    NEW(culv_vk_device, vk, culv_vk_attach, s->w.device, &d);
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_UPLOAD, s->stream));
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_DOWNLOAD, s->stream));
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_UPLOAD, commands));
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_DOWNLOAD, commands));
    const culv_copy neither = (culv_copy)2;
    LIB_INVALID(culv_buffer_copy(culv_shared_buffer_cuda(buffer), neither, s->stream), VALUE,
                "culv_buffer_copy: copy is 2");
    LIB_INVALID(culv_vk_buffer_record_copy(buffer, neither, commands), VALUE);
    REQUIRE_EQ(lib_calls(s->w.cu), calls);
    raw_vk_submit(&s->w.vk, commands, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_vk_detach(&s->w.attachment);
    s->w.attachment = vk;
    LIB_OK(scene_buffer(s, 4097, 0, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_SHARED);
    culv_shared_buffer_destroy(&buffer, NULL);
}

/* Off unless asked for, and never for calls that are wrong. */
SCENE_CASE(scene_open_bare, SCENE_PAGES, refused)
{
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    LIB_REFUSES(buffer, scene_buffer(s, BYTES, 0, &buffer), UNSUPPORTED, NOT_EXPORTABLE);
    LIB_REFUSES(buffer, scene_buffer(s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
                "own GPU");
    LIB_REFUSES(buffer, scene_buffer(s, BYTES, 8, &buffer), INVALID, VALUE);
    LIB_REFUSES(buffer, scene_buffer(s, 0, CULV_FALLBACK_ANY, &buffer), INVALID, SIZE);
    LIB_REFUSES(semaphore, scene_semaphore(s, 0, &semaphore), UNSUPPORTED, NOT_EXPORTABLE);
    LIB_REFUSES(semaphore, scene_semaphore(s, CULV_FALLBACK_PEER, &semaphore), UNSUPPORTED, PEER);
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.fallback = CULV_FALLBACK_ANY;
    LIB_REFUSES(semaphore, culv_vk_semaphore_create(s->w.attachment, &d, &semaphore), UNSUPPORTED,
                NOT_EXPORTABLE);
    REQUIRE_EQ(culv_buffer_sharing(NULL), CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_image_sharing(NULL), CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_semaphore_sharing(NULL), CULV_SHARING_SHARED);
    REQUIRE_EQ_STR(culv_sharing_name(CULV_SHARING_HOST), "HOST");
    REQUIRE_EQ_STR(culv_sharing_name((culv_sharing)77), "unknown");
}

/* Another GPU: attached only when asked for, and nothing of it is imported, nor tried on the
 * driver. */
SCENE_CASE(scene_open_bare, SCENE_PEER, another_gpu)
{
    culv_vk_device *vk = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    const raw_cuda *cu = s->w.cu;
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    LIB_REFUSES(vk, culv_vk_attach(s->w.device, &d, &vk), INVALID, DEVICE_MISMATCH,
                "culv_vk_device_desc.fallback", "culv_vk_device_desc.allow_other_gpu");
    d.fallback = 64;
    LIB_REFUSES(vk, culv_vk_attach(s->w.device, &d, &vk), INVALID, VALUE);
    raw_vk_buffer own = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(&s->w, 0);
    const uint64_t calls = lib_calls(cu);
    const culv_vk_memory_desc m = lib_vk_memory(&own);
    LIB_REFUSES(memory, culv_vk_memory_import(s->w.attachment, &m, &memory), INVALID,
                DEVICE_MISMATCH);
    LIB_REFUSES(memory, culv_vk_memory_import_shared(s->w.attachment, &m, &memory), INVALID,
                DEVICE_MISMATCH);
    culv_vk_semaphore_desc t = culv_vk_semaphore_desc_init();
    t.semaphore = timeline;
    t.type = CULV_SEMAPHORE_TIMELINE;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(s->w.attachment, &t, &semaphore), INVALID,
                DEVICE_MISMATCH);
    LIB_REFUSES(buffer, scene_buffer(s, BYTES, 0, &buffer), INVALID, DEVICE_MISMATCH);
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    LIB_INVALID(culv_vk_check_buffer(s->w.attachment, &info, NULL, &sharing), DEVICE_MISMATCH);
    REQUIRE_EQ(lib_calls(cu), calls);
    /* Told to, it goes through the host from one GPU to the other. */
    LIB_OK(scene_buffer(s, BYTES, CULV_FALLBACK_HOST, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_HOST);
    culv_shared_buffer_destroy(&buffer, NULL);
    LIB_REFUSES(buffer, scene_buffer(s, 0, CULV_FALLBACK_ANY, &buffer), INVALID, SIZE);
}

/* A VkDevice without the extensions that sharing needs; or, as an engine's, without that for
 * semaphores alone: then memory is shared. */
static void without_extensions(bool memory_too)
{
    static scene s;
    lib_world *w = &s.w;
    CUuuid uuid;
    culv_shared_buffer *buffer = NULL;
    culv_vk_device *vk = NULL;
    memset(&s, 0, sizeof s);
    w->cu = lib_driver();
    const raw_cuda *cu = w->cu;
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = cu->software,
                                          .without_memory_fd = memory_too,
                                          .without_semaphore_fd = true});
    w->fds = test_open_fds() + (cu->software ? 0 : 1000);
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                                   &w->device));
    culv_vk_device_desc d = lib_vk_desc(w);
    LIB_REFUSES(vk, culv_vk_attach(w->device, &d, &vk), INVALID, EXTENSION_MISSING,
                "set culv_vk_device_desc.fallback to CULV_FALLBACK_ANY");
    d.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    w->context = culv_device_context(w->device);
    if (memory_too)
        LIB_REFUSES(buffer, scene_buffer(&s, BYTES, 0, &buffer), UNSUPPORTED, EXTENSION_MISSING);
    LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &s.to_vulkan));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)),
               memory_too ? CULV_SHARING_HOST : CULV_SHARING_SHARED);
    REQUIRE_EQ(culv_semaphore_sharing(culv_shared_semaphore_cuda(s.to_vulkan)), CULV_SHARING_HOST);
    culv_shared_buffer_destroy(&buffer, NULL);
    scene_close(&s);
}

TEST_AS(no_extensions, without_extensions(true))
TEST_AS(no_semaphores, without_extensions(false))

/* Fallbacks: what leads on to the next path. */

static void need_twin(scene *s)
{
    if (s->w.cu->SoftFailAt != NULL) return;
    scene_close(s);
    SKIP("only the twin fails on demand");
}

/* Whatever the driver refuses of the other GPU, HOST is next; and PEER alone says what it was. */
SCENE_CASE(scene_open_bare, SCENE_PEER, peer_refused)
{
    unsigned hits = 0, fell = 0;
    need_twin(s);
    culv_vk_detach(&s->w.attachment);
    for (uint64_t n = 1; n == hits + 1; n++) {
        culv_shared_buffer *buffer = NULL;
        culv_vk_device_desc d = lib_vk_desc(&s->w);
        d.get_instance_proc_addr = lib_lying_loader;
        d.fallback = CULV_FALLBACK_ANY;
        for (int alone = 0; alone < 2; alone++) {
            LIB_OK(culv_vk_attach(s->w.device, &d, &s->w.attachment));
            s->w.cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
            culv_result result =
                scene_buffer(s, 4096, alone ? CULV_FALLBACK_PEER : CULV_FALLBACK_ANY, &buffer);
            if (!alone) hits += s->w.cu->SoftFailedCall() != NULL;
            s->w.cu->SoftFailAt(0, 0);
            if (!alone) LIB_OK(result);
            if (!alone)
                fell += culv_buffer_sharing(culv_shared_buffer_cuda(buffer)) == CULV_SHARING_HOST;
            if (result == CULV_OK) culv_shared_buffer_destroy(&buffer, NULL);
            lib_settle(&s->w);
            culv_vk_detach(&s->w.attachment);
        }
    }
    REQUIRE(hits > 20);
    REQUIRE(fell > 5);
}

/* Fallbacks: semaphores, on each path that copies. */

/* The higher value is asked for first; the streams go on in the order of the values. */
static void out_of_order(scene *s)
{
    culv_semaphore *waits = culv_shared_semaphore_cuda(s->to_cuda);
    CUstream other = lib_stream(&s->w);
    LIB_OK(culv_semaphore_wait(waits, other, 20));
    LIB_OK(culv_semaphore_wait(waits, s->stream, 10));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(s->to_cuda), 10);
    lib_finish(&s->w, s->stream);
    REQUIRE_EQ(lib_query(&s->w, other), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(s->to_cuda), 20);
    lib_finish(&s->w, other);
    lib_stream_destroy(&s->w, other);
}

enum { PAIR = 2 };

/* Vulkan's counters are what Culvert says was signaled last. */
static void require_signaled(scene *s, culv_shared_semaphore *const pair[PAIR], uint64_t first,
                             uint64_t second)
{
    const uint64_t expected[PAIR] = {first, second};
    lib_finish(&s->w, s->stream);
    for (int i = 0; i < PAIR; i++) {
        REQUIRE_EQ(culv_semaphore_last_value(culv_shared_semaphore_cuda(pair[i])), expected[i]);
        /* By another GPU's stream. */
        REQUIRE(raw_vk_timeline_wait(&s->w.vk, culv_vk_semaphore_handle(pair[i]), expected[i],
                                     TEST_FAR_MS));
        lib_sleep_ms(1);
        REQUIRE_EQ(raw_vk_timeline_value(&s->w.vk, culv_vk_semaphore_handle(pair[i])), expected[i]);
    }
}

/* A captured stream takes no point that is relayed, and so none of the batch. */
static void refused_in_capture(scene *s, const culv_semaphore_point *points, uint32_t count)
{
    const raw_cuda *cu = s->w.cu;
    CUgraph graph = NULL;
    size_t nodes = 0;
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_ERROR(culv_semaphore_signal_batch(points, count, s->stream), UNSUPPORTED, CAPTURE);
    LIB_ERROR(culv_semaphore_wait_batch(points, count, s->stream), UNSUPPORTED, CAPTURE);
    CU_OK(cu->StreamEndCapture(s->stream, &graph));
    CU_OK(cu->GraphGetNodes(graph, NULL, &nodes));
    REQUIRE_EQ(nodes, 0);
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(&s->w, before);
}

static bool submits(const char *call)
{
    static const char *const names[] = {"cuLaunchHostFunc", "cuEventRecord", "cuStreamWaitEvent",
                                        "cuSignalExternal", "cuWaitExternal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(call, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* Each driver call of a batch fails once, up to the first that signals or waits: none was signaled
 * or waited for then. */
static void refused_by_driver(scene *s, culv_shared_semaphore *const pair[PAIR], bool signal)
{
    const raw_cuda *cu = s->w.cu;
    const uint64_t ahead = signal ? 1 : 1000000; /* values that nobody has signaled yet */
    const culv_semaphore_point points[] = {{culv_shared_semaphore_cuda(pair[0]), ahead},
                                           {culv_shared_semaphore_cuda(pair[1]), ahead}};
    unsigned refused = 0;
    for (uint64_t n = 1;; n++) {
        cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
        const culv_result r = signal ? culv_semaphore_signal_batch(points, PAIR, s->stream)
                                     : culv_semaphore_wait_batch(points, PAIR, s->stream);
        const char *call = cu->SoftFailedCall();
        cu->SoftFailAt(0, 0);
        if (call == NULL || submits(call) || r == CULV_OK) break;
        refused++;
        REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_SUCCESS); /* no wait holds it up */
        require_signaled(s, pair, 0, 0);
    }
    REQUIRE(refused >= 3); /* two are asked whether the stream is captured, and something is made */
    for (int i = 0; !signal && i < PAIR; i++) {
        culv_semaphore *semaphore = culv_shared_semaphore_cuda(pair[i]);
        raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(pair[i]), ahead);
        culv_semaphore_mark_value(semaphore, ahead);
    }
    lib_finish(&s->w, s->stream);
}

/* A batch of what is relayed, values that step back, and waits out of order. One that is refused
 * has done nothing, whatever its first points are. */
static void batches(scene_kind kind)
{
    static scene s;
    culv_shared_semaphore *pair[PAIR] = {NULL};
    if (kind != SCENE_PEER) lib_with_option("--validation=off");
    scene_open(&s, kind);
    for (int i = 0; i < PAIR; i++)
        LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &pair[i]));
    culv_semaphore *one = culv_shared_semaphore_cuda(pair[0]),
                   *two = culv_shared_semaphore_cuda(pair[1]);
    const culv_semaphore_point right[] = {{one, 4}, {two, 9}};
    LIB_OK(culv_semaphore_signal_batch(right, PAIR, s.stream));
    LIB_OK(culv_semaphore_wait_batch(right, PAIR, s.stream));
    require_signaled(&s, pair, 4, 9);
    static const uint64_t wrong[] = {9, 1, 0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const culv_semaphore_point points[] = {{one, 5}, {two, wrong[i]}};
        LIB_INVALID(culv_semaphore_signal(two, s.stream, wrong[i]), TIMELINE_BACKWARDS);
        LIB_INVALID(culv_semaphore_signal_batch(points, PAIR, s.stream), TIMELINE_BACKWARDS);
        require_signaled(&s, pair, 4, 9);
    }
    const culv_semaphore_point twice[] = {{one, 5}, {one, 6}};
    LIB_INVALID(culv_semaphore_signal_batch(twice, PAIR, s.stream), VALUE);
    /* One that is shared before one that is not. */
    VkSemaphore timeline = VK_NULL_HANDLE;
    culv_semaphore *shared = NULL;
    if (kind != SCENE_PEER) {
        timeline = raw_vk_timeline(&s.w.vk, 0, true);
        culv_semaphore_desc d = culv_semaphore_desc_init();
        d.type = CULV_SEMAPHORE_TIMELINE;
        d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&s.w.vk, timeline));
        LIB_TAKE(culv_semaphore_import(s.w.device, &d, &shared), &d.handle);
    }
    const culv_semaphore_point mixed[] = {{shared != NULL ? shared : two, 11}, {one, 5}};
    refused_in_capture(&s, mixed, PAIR);
    require_signaled(&s, pair, 4, 9);
    LIB_OK(culv_semaphore_signal_batch(mixed, PAIR, s.stream));
    require_signaled(&s, pair, 5, shared != NULL ? 9 : 11);
    if (shared != NULL) REQUIRE_EQ(raw_vk_timeline_value(&s.w.vk, timeline), 11);
    /* NVIDIA's driver may have one thread for all host functions: docs/fallback.md,
     * "Semaphores". */
    if (kind == SCENE_PEER || s.w.cu->software) out_of_order(&s);
    for (int signal = 0; s.w.cu->SoftFailAt != NULL && signal < 2; signal++) {
        /* Ones that no call has prepared anything for. */
        for (int i = 0; i < PAIR; i++) {
            culv_shared_semaphore_destroy(&pair[i], &s.stream);
            LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &pair[i]));
        }
        lib_finish(&s.w, s.stream);
        refused_by_driver(&s, pair, signal);
    }
    culv_semaphore_destroy(&shared, &s.stream);
    for (int i = 0; i < PAIR; i++)
        culv_shared_semaphore_destroy(&pair[i], &s.stream);
    lib_finish(&s.w, s.stream);
    lib_settle(&s.w);
    if (timeline != VK_NULL_HANDLE) raw_vk_timeline_destroy(&s.w.vk, timeline);
    scene_close(&s);
}

TEST_AS(batches_host, batches(SCENE_PAGES), .title = "batches.host", .own = true)
TEST_AS(batches_peer, batches(SCENE_PEER), .title = "batches.peer", .own = true)

/* A host function has nobody to tell that Vulkan refused: the next call does. */
SCENE_CASE(scene_open_unheard, SCENE_PAGES, host_function_fails, .own = true)
{
    lib_layer layer;
    if (!lib_layer_find(&layer)) SKIP("only the twin's layer fails on demand");
    culv_semaphore *semaphore = culv_shared_semaphore_cuda(s->to_vulkan);
    layer.fail_at(1, VK_ERROR_DEVICE_LOST);
    LIB_OK(culv_semaphore_signal(semaphore, s->stream, 1));
    lib_finish(&s->w, s->stream);
    layer.fail_at(0, 0);
    LIB_ERROR(culv_semaphore_signal(semaphore, s->stream, 2), ASYNC, EARLIER_FAILURE,
              "vkSignalSemaphore");
    LIB_ERROR(culv_semaphore_wait(semaphore, s->stream, 2), ASYNC, EARLIER_FAILURE);
}

#undef TEST_GROUP
#define TEST_GROUP "waits."
/* Fallbacks: what waits for the GPU and what does not, and what goes before the VkDevice may. */

enum { WAITS_BYTES = 65536 };

/* Holds streams up. Nobody is to wait for it as long as it is closed; who does is found out after a
 * while. */
static struct {
    atomic_bool open, late;
    bool spins; /* whoever waits in the driver does */
} gate;

static void CUDA_CB waits_hold(void *user)
{
    for (unsigned i = 0; !atomic_load(&gate.open); i++) {
        if (i == TEST_FAR_MS) atomic_store(&gate.late, true);
        if (i == TEST_FAR_MS) return;
        lib_sleep_ms(1);
    }
}

static void close_gate(void)
{
    atomic_store(&gate.open, false);
    atomic_store(&gate.late, false);
}

static void open_gate(void)
{
    REQUIRE(!atomic_load(&gate.late));
    atomic_store(&gate.open, true);
}

static void hold_stream(const scene *s, CUstream stream)
{
    gate.spins = !s->w.cu->software;
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(stream, waits_hold, NULL));
}

/* Once the case waits: it sleeps in a call of the driver's. NVIDIA's driver spins there. */
static void *open_later(void *user)
{
    if (gate.spins)
        lib_sleep_ms(200);
    else
        (void)test_asleep(0, *(const int *)user, 20);
    atomic_store(&gate.open, true);
    return NULL;
}

static pthread_t start_opener(void)
{
    static int waiter;
    pthread_t thread;
    waiter = (int)syscall(SYS_gettid);
    REQUIRE(pthread_create(&thread, NULL, open_later, &waiter) == 0);
    return thread;
}

static void require_opened(pthread_t opener)
{
    bool open = atomic_load(&gate.open);
    REQUIRE(pthread_join(opener, NULL) == 0);
    REQUIRE(open); /* what was called before has waited for it */
}

/* Copies between the GPUs that arrive wrong without an error are found out, once, and HOST is next
 * (R37). One direction is enough for that: half of the words that were copied are right. Work on
 * either GPU is not waited for. */
TEST(wrong_copies, .smoke = true)
{
    char name[256] = "";
    memset(name, 'n', 255);
    memcpy(name + 250, "(end)", 5);
    REQUIRE(setenv("CULVERT_SOFT_DEVICES", "2", 1) == 0);
    if (lib_driver()->SoftPlayName != NULL) lib_driver()->SoftPlayName(name);
    for (int spoilt = 1; spoilt <= 3; spoilt++) {
        static scene s;
        culv_shared_buffer *buffer = NULL;
        CUcontext far = NULL, popped = NULL;
        CUstream there = NULL;
        scene_open_bare(&s, SCENE_PEER);
        const raw_cuda *cu = s.w.cu;
        if (cu->SoftSpoilPeers == NULL) {
            scene_close(&s);
            SKIP("only the twin's copies go wrong on demand");
        }
        s.stream = lib_stream(&s.w);
        CU_OK(cu->DevicePrimaryCtxRetain(&far, 0));
        CU_OK(cu->CtxPushCurrent(far));
        CU_OK(cu->StreamCreate(&there, CU_STREAM_NON_BLOCKING));
        close_gate();
        CU_OK(cu->LaunchHostFunc(there, waits_hold, NULL));
        CU_OK(cu->CtxPopCurrent(&popped));
        hold_stream(&s, s.stream);
        cu->SoftSpoilPeers(spoilt);
        LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
                    "IOMMU", "HOST", name, spoilt == 1 ? "words" : "16384 of 32768 words");
        open_gate();
        CU_OK(cu->CtxPushCurrent(far));
        CU_OK(cu->StreamSynchronize(there));
        CU_OK(cu->StreamDestroy(there));
        CU_OK(cu->CtxPopCurrent(&popped));
        CU_OK(cu->DevicePrimaryCtxRelease(0));
        cu->SoftSpoilPeers(0); /* the verdict stays: nothing is verified twice */
        const uint64_t calls = lib_calls(cu);
        LIB_REFUSES(buffer, scene_buffer(&s, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED,
                    PEER);
        REQUIRE_EQ(lib_calls(cu), calls);
        LIB_OK(scene_buffer(&s, BYTES, CULV_FALLBACK_ANY, &buffer));
        REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_HOST);
        culv_shared_buffer_destroy(&buffer, NULL);
        scene_close(&s);
    }
}

static culv_shared_image *make_image(const scene *s, VkFormat format)
{
    const VkImageCreateInfo info = raw_vk_image_info(
        format, 32, 16, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_ANY;
    NEW(culv_shared_image, image, culv_vk_image_create, s->w.attachment, &d);
    return image;
}

/* Everything given up while its own stream and another one of the context are held up, and so is
 * the attachment, which what was made with it keeps; but if Vulkan's memory is mapped, detaching
 * waits. */
static void after_waits_for_nothing(scene_kind kind)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    if (kind == SCENE_PAGES || kind == SCENE_MAPPED)
        lib_with_option("--validation=off"); /* fallback_scene.c, scene_signal() */
    scene_open(&s, kind);
    CUstream other = lib_case_stream(&s.w);
    LIB_OK(scene_buffer(&s, WAITS_BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &semaphore));
    culv_shared_image *arrays = make_image(&s, VK_FORMAT_R8G8B8A8_UNORM);
    culv_shared_image *linear = make_image(&s, VK_FORMAT_D32_SFLOAT_S8_UINT);
    /* Before the gate: copies of memory that the driver has not pinned hold up the caller. */
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_UPLOAD, s.stream));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(arrays), CULV_COPY_UPLOAD, s.stream));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(linear), CULV_COPY_DOWNLOAD, s.stream));
    close_gate();
    hold_stream(&s, s.stream);
    hold_stream(&s, other);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s.stream, 1));
    culv_shared_buffer_destroy(&buffer, &s.stream);
    culv_shared_image_destroy(&arrays, &s.stream);
    culv_shared_image_destroy(&linear, &s.stream);
    culv_shared_semaphore_destroy(&semaphore, &s.stream);
    REQUIRE(buffer == NULL && arrays == NULL && linear == NULL && semaphore == NULL);
    REQUIRE_EQ(lib_counts(&s.w).deferred, 4);
    if (kind != SCENE_MAPPED) culv_vk_detach(&s.w.attachment);
    open_gate();
    lib_finish(&s.w, other);
    scene_close(&s);
}

TEST_AS(after_pages, after_waits_for_nothing(SCENE_PAGES), .title = "waits.after.pages",
        .own = true)

TEST_AS(after_mapped, after_waits_for_nothing(SCENE_MAPPED), .title = "waits.after.mapped",
        .own = true)

TEST_AS(after_peer, after_waits_for_nothing(SCENE_PEER), .title = "waits.after.peer", .own = true)
TEST_AS(after_direct, after_waits_for_nothing(SCENE_DIRECT), .title = "waits.after.direct")
TEST_AS(after_placed, after_waits_for_nothing(SCENE_PLACED), .title = "waits.after.placed")

/* A semaphore stays as long as a host function is to come, whatever the stream of last use has
 * done. */
SCENE_CASE(scene_open_unheard, SCENE_PAGES, host_function_in_another_stream, .own = true)
{
    culv_shared_semaphore *semaphore = NULL;
    CUstream idle = lib_case_stream(&s->w);
    LIB_OK(scene_semaphore(s, CULV_FALLBACK_ANY, &semaphore));
    close_gate();
    hold_stream(s, s->stream);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s->stream, 1));
    culv_shared_semaphore_destroy(&semaphore, &idle);
    lib_finish(&s->w, idle);
    for (int i = 0; i < 3; i++)
        REQUIRE_EQ(culv_device_collect(s->w.device), 1);
    open_gate();
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
}

static culv_soft_vk_counts layer_counts(void)
{
    lib_layer layer;
    culv_soft_vk_counts c = {.struct_size = sizeof c};
    if (lib_layer_find(&layer)) layer.counts(&c);
    return c;
}

static void require_the_same(const culv_soft_vk_counts *before)
{
    culv_soft_vk_counts now = layer_counts();
    REQUIRE_EQ(now.buffers, before->buffers);
    REQUIRE_EQ(now.images, before->images);
    REQUIRE_EQ(now.memories, before->memories);
    REQUIRE_EQ(now.all_semaphores, before->all_semaphores);
}

/* The VkDevice may go once nothing of an attachment is left, the attachment itself included: what
 * was deferred is waited for then. */
static void last_one_waits(bool detached_first)
{
    static scene s;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    scene_open_bare(&s, SCENE_MAPPED);
    s.stream = lib_stream(&s.w);
    culv_soft_vk_counts before = layer_counts();
    LIB_OK(scene_buffer(&s, WAITS_BYTES, CULV_FALLBACK_ANY, &buffer));
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &semaphore));
    culv_shared_image *image = make_image(&s, VK_FORMAT_R8G8B8A8_UNORM);
    LIB_OK(culv_buffer_copy(culv_shared_buffer_cuda(buffer), CULV_COPY_DOWNLOAD, s.stream));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(image), CULV_COPY_UPLOAD, s.stream));
    close_gate();
    hold_stream(&s, s.stream);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s.stream, 1));
    if (detached_first) culv_vk_detach(&s.w.attachment);
    culv_shared_buffer_destroy(&buffer, &s.stream);
    culv_shared_semaphore_destroy(&semaphore, &s.stream);
    REQUIRE(!atomic_load(&gate.late));
    pthread_t opener = start_opener();
    culv_shared_image_destroy(&image, &s.stream);
    culv_vk_detach(&s.w.attachment);
    require_opened(opener);
    require_the_same(&before);
    REQUIRE_EQ(lib_counts(&s.w).deferred, 0);
    scene_close(&s);
}

TEST(detach_waits, .title = "waits.detach", .own = true)
{
    lib_with_option("--validation=off");
    last_one_waits(false);
    last_one_waits(true);
}

/* A call that is refused while it waits for a host function. Returns the name of that call, NULL:
 * there were less. */
static const char *destroyed_at(scene *s, uint64_t n, int code)
{
    culv_shared_semaphore *semaphore = NULL;
    LIB_OK(scene_semaphore(s, CULV_FALLBACK_ANY, &semaphore));
    close_gate();
    hold_stream(s, s->stream);
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s->stream, 1));
    pthread_t opener = start_opener();
    s->w.cu->SoftFailAt(n, code);
    culv_shared_semaphore_destroy(&semaphore, NULL);
    const char *call = s->w.cu->SoftFailedCall();
    s->w.cu->SoftFailAt(0, 0);
    require_opened(opener);
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    return call;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The host function uses the semaphore: it must be over, whatever the driver says meanwhile. */
SCENE_CASE(scene_open_unheard, SCENE_PAGES, refused_to_wait, .own = true)
{
    unsigned asked = 0, hits = 0;
    need_twin(s);
    for (uint64_t n = 1; n == hits + 1; n++) {
        const char *call = destroyed_at(s, n, CUDA_ERROR_UNKNOWN);
        hits += call != NULL;
        if (call == NULL || (!begins(call, "cuEventQuery") && !begins(call, "cuEventSynchronize")))
            continue;
        /* Nor is an answer that would stay with the context believed at once. */
        (void)destroyed_at(s, n, CUDA_ERROR_ILLEGAL_ADDRESS);
        asked++;
    }
    REQUIRE(asked >= 2);
}
