/* SPDX-License-Identifier: MIT */
/* The log at INFO and DEBUG: objects made and destroyed, driver calls with values and results. */
#define TEST_GROUP "log."
#include "cuda/watch.h"
#include "log_scene.h"

#include <inttypes.h>

static void make_and_destroy(log_scene *s)
{
    OWN(culv_shared_buffer) *buffer = log_make_buffer(s, "particles", 40000);
    OWN(culv_shared_semaphore) *semaphore = log_make_timeline(s, "frames", 7);
    culv_vector_desc d = culv_vector_desc_init();
    culv_memory *memory = NULL;
    char share[TEST_PATH_MAX];
    d.size = 4096;
    d.label = "growing";
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    raw_vk_buffer raw;
    raw_vk_buffer_create(&s->w.vk, 65536, RAW_VK_EXPORT, &raw);
    memory = lib_import(&s->w, &raw);
    culv_buffer_desc b = culv_buffer_desc_init();
    b.offset = 256;
    b.size = 1000;
    b.label = "a part";
    NEW(OWN(culv_buffer), mapped, culv_buffer_map, memory, &b);
    NEW(culv_kernels, kernels, culv_kernels_load, s->w.device, test_path(share, "share/culvert"),
        "library_kernels");
    culv_kernels_unload(&kernels);
    culv_memory_destroy(&memory); /* lives on in the buffer */
    raw_vk_buffer_destroy(&s->w.vk, &raw);
}

/* Each object that was made is destroyed, under the same name and with the same size. */
LOG_CASE(objects, CULV_LOG_INFO, .smoke = true)
{
    static const char *const expected[] = {"made buffer 'a part', 1000 bytes",
                                           "made import of memory, 65536 bytes",
                                           "made Vulkan buffer 'particles', ",
                                           "made buffer 'particles', 40000 bytes",
                                           "made import of memory 'particles',",
                                           "made timeline semaphore 'frames'",
                                           "made vector 'growing', ",
                                           "made VMM allocation 'growing', ",
                                           "made address range 'growing', ",
                                           "made kernels 'library_kernels."};
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "opened ", NULL) < s->count);
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "attached Vulkan device ", NULL) < s->count);
    log_forget(s);
    make_and_destroy(s);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        (void)log_line_of(s, CULV_LOG_INFO, expected[i], NULL);
    unsigned made = 0, destroyed = 0;
    for (size_t i = 0; i < s->count; i++) {
        char end[LOG_WIDTH];
        REQUIRE(s->lines[i].level <= CULV_LOG_INFO);
        destroyed += strncmp(s->lines[i].text, "destroyed ", 10) == 0;
        if (strncmp(s->lines[i].text, "made ", 5) != 0) continue;
        snprintf(end, sizeof end, "destroyed %s", s->lines[i].text + 5);
        size_t at = log_find(s, i + 1, CULV_LOG_INFO, end, NULL);
        if (at == s->count) FAIL("no line says '%s'", end);
        REQUIRE_EQ_STR(s->lines[at].text, end);
        made++;
    }
    REQUIRE(made >= sizeof expected / sizeof *expected);
    REQUIRE_EQ(destroyed, made);
    log_forget(s);
    culv_vk_detach(&s->w.attachment);
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "detached Vulkan device ", NULL) < s->count);
    culv_device_close(&s->w.device);
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "closed device ", NULL) < s->count);
}

/* Driver calls are in the order in which they were made, with what they were given and answered. */
LOG_CASE(calls, CULV_LOG_DEBUG)
{
    char pointer[64], given[64], mapped[64];
    REQUIRE(log_find(s, 0, CULV_LOG_DEBUG, "cuInit(0) = CUDA_SUCCESS", NULL) < s->count);
    REQUIRE(log_find(s, 0, CULV_LOG_DEBUG, "cuDevicePrimaryCtxRetain(-> 0x", ") = CUDA_SUCCESS") <
            s->count);
    raw_vk_buffer raw = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    log_forget(s);
    culv_memory *memory = lib_import(&s->w, &raw);
    NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
    snprintf(pointer, sizeof pointer, "cuMemFree(%#llx) = CUDA_SUCCESS",
             (unsigned long long)culv_buffer_pointer(buffer));
    snprintf(given, sizeof given, "size %llu", (unsigned long long)culv_memory_size(memory));
    snprintf(mapped, sizeof mapped, "cuExternalMemoryGetMappedBuffer(-> %#llx, ",
             (unsigned long long)culv_buffer_pointer(buffer));
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    const struct {
        const char *text, *another;
    } order[] = {{"vkGetMemoryFdKHR(", ") = VK_SUCCESS"},
                 {"cuImportExternalMemory(-> 0x", given},
                 {mapped, ") = CUDA_SUCCESS"},
                 {pointer, NULL},
                 {"cuDestroyExternalMemory(0x", ") = CUDA_SUCCESS"}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        (void)log_line_of(s, CULV_LOG_DEBUG, order[i].text, order[i].another);
        at = log_find(s, at, CULV_LOG_DEBUG, order[i].text, order[i].another);
        if (at == s->count) FAIL("'%s' comes too early", order[i].text);
    }
    log_forget(s);
    culv_shared_buffer *made = log_make_buffer(s, "made", 12345);
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkCreateBuffer(0x", "{12345 bytes, usage 0x1, ");
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkAllocateMemory(0x", ") = VK_SUCCESS");
    culv_shared_buffer_destroy(&made, NULL);
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkDestroyBuffer(0x", NULL);
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkFreeMemory(0x", NULL);
    /* A vector has memory for export, and addresses: the granularity of both is asked for once. */
    culv_vector_desc d = culv_vector_desc_init();
    d.size = 12345;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    for (int i = 0; i < 2; i++) {
        log_forget(s);
        NEW(culv_vector, vector, culv_vector_create, s->w.device, &d);
        culv_vector_destroy(&vector, NULL);
    }
    REQUIRE_EQ(log_find(s, 0, CULV_LOG_DEBUG, "cuMemGetAllocationGranularity(", NULL), s->count);
}

/* A call that fails is there with what the driver answered; its outputs are not read. */
LOG_CASE(failures, CULV_LOG_DEBUG, .own = true)
{
    if (s->w.cu->SoftFailAt == NULL) SKIP("only the twin fails on demand");
    raw_vk_buffer raw = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    bool seen = false;
    for (uint64_t n = 1; !seen && n < 40; n++) {
        culv_memory *memory = NULL;
        culv_memory_desc d = lib_memory_desc(&s->w, &raw, raw_vk_buffer_fd(&s->w.vk, &raw));
        culv_error error = culv_error_init();
        log_forget(s);
        s->w.cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        culv_result result = culv_memory_import(s->w.device, &d, &memory);
        s->w.cu->SoftFailAt(0, 0);
        culv_last_error(&error);
        culv_handle_close(&d.handle);
        culv_memory_destroy(&memory);
        if (result == CULV_OK || strcmp(error.native_call, "cuImportExternalMemory") != 0) continue;
        const char *line = log_line_of(s, CULV_LOG_DEBUG, "cuImportExternalMemory(0x",
                                       ") = CUDA_ERROR_OUT_OF_MEMORY");
        REQUIRE(strstr(line, "-> ") == NULL);
        size_t call = log_find(s, 0, CULV_LOG_DEBUG, "cuImportExternalMemory(", NULL);
        size_t told = log_find(s, 0, CULV_LOG_ERROR, "cuImportExternalMemory", NULL);
        REQUIRE(call < told && told < s->count);
        seen = true;
    }
    REQUIRE(seen);
}

static uint64_t cuda_calls(const log_scene *s)
{
    return lib_soft_counts(s->w.cu).calls;
}

/* A level hears nothing of what lies below it, and no level changes what is called. */
TEST(silence, .own = true)
{
    static const culv_log_level levels[] = {CULV_LOG_ERROR, CULV_LOG_WARNING, CULV_LOG_INFO,
                                            CULV_LOG_DEBUG};
    uint64_t made[4] = {0};
    for (int i = 0; i < 4; i++) {
        log_scene s;
        log_open(&s, levels[i]);
        if (s.w.cu->SoftCounts == NULL) SKIP("only the twin counts its calls");
        culv_shared_buffer *warm = log_make_buffer(&s, "warm", 40000);
        culv_shared_buffer_destroy(&warm, NULL);
        log_forget(&s);
        uint64_t before = cuda_calls(&s);
        culv_shared_buffer *buffer = log_make_buffer(&s, "particles", 40000);
        culv_shared_buffer_destroy(&buffer, NULL);
        made[i] = cuda_calls(&s) - before;
        for (size_t k = 0; k < s.count; k++)
            REQUIRE(s.lines[k].level <= levels[i]);
        REQUIRE_EQ(s.count > 0, i >= 2);
        log_close(&s);
    }
    REQUIRE_EQ(made[0], made[1]);
    REQUIRE_EQ(made[0], made[2]);
    REQUIRE_EQ(made[0], made[3]);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* Destroys that wait for a stream that waits: the log says which object, which stream, for what. */

/* Opens a gate once the log has said that somebody waits. */
typedef struct opener {
    log_scene *s;
    VkSemaphore gate;
    uint64_t value;
    bool heard;
    pthread_t thread;
} opener;

static void *open_when_told(void *user)
{
    opener *o = user;
    o->heard = log_wait(o->s, CULV_LOG_WARNING, " has waited for ");
    raw_vk_timeline_signal(&o->s->w.vk, o->gate, o->value);
    return NULL;
}

static void opener_start(opener *o, log_scene *s, VkSemaphore gate, uint64_t value)
{
    *o = (opener){.s = s, .gate = gate, .value = value};
    REQUIRE_EQ(pthread_create(&o->thread, NULL, open_when_told, o), 0);
}

static void opener_end(opener *o)
{
    REQUIRE_EQ(pthread_join(o->thread, NULL), 0);
    REQUIRE(o->heard);
}

static void require_has(const char *line, const char *text)
{
    if (strstr(line, text) == NULL) FAIL("'%s' is not in '%s'", text, line);
}

/* The plain destroy of a buffer, while a stream waits for a semaphore that Culvert made: its
 * counter is told. */
LOG_CASE(buffer_waits, CULV_LOG_WARNING, .title = "waits.buffer")
{
    opener o;
    char stream[64];
    culv_shared_buffer *buffer = log_make_buffer(s, "late", 65536);
    OWN(culv_shared_semaphore) *gate = log_make_timeline(s, "gate", 3);
    OWN(culv_shared_semaphore) *other = log_make_timeline(s, "reached", 9);
    CUstream work = lib_case_stream(&s->w);
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(other), work, 9));
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), work, 5));
    opener_start(&o, s, culv_vk_semaphore_handle(gate), 5);
    culv_shared_buffer_destroy(&buffer, NULL);
    opener_end(&o);
    const char *line =
        log_line_of(s, CULV_LOG_WARNING, "buffer 'late' (65536 bytes): its release has waited for",
                    "waits for the semaphore 'gate' to reach 5, and it is at 3");
    snprintf(stream, sizeof stream, "stream %p waits for", (void *)work);
    require_has(line, stream);
    require_has(line, "The driver waits there for all work of the context");
    REQUIRE(strstr(line, "'reached'") == NULL);
    (void)log_line_of(s, CULV_LOG_WARNING, "buffer 'late' (65536 bytes): its release went on",
                      NULL);
    lib_finish(&s->w, work);
}

/* The plain destroy of the semaphore itself, an import of the caller's, whose counter Culvert does
 * not read: the VkSemaphore may be gone. */
LOG_CASE(semaphore_waits, CULV_LOG_NONE, .title = "waits.semaphore")
{
    opener o;
    VkSemaphore gate = lib_case_timeline(&s->w, 1);
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    culv_semaphore *semaphore = NULL;
    d.semaphore = gate;
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = "theirs";
    LIB_OK(culv_vk_semaphore_import(s->w.attachment, &d, &semaphore));
    CUstream work = lib_case_stream(&s->w);
    LIB_OK(culv_semaphore_wait(semaphore, work, 4));
    opener_start(&o, s, gate, 4);
    culv_semaphore_destroy(&semaphore, NULL);
    opener_end(&o);
    const char *line = log_line_of(
        s, CULV_LOG_WARNING, "timeline semaphore 'theirs': its release has waited for",
        "was told to wait for the semaphore 'theirs' to reach 4, whose counter Culvert cannot read");
    require_has(line, "and 1 was reported");
    lib_finish(&s->w, work);
}

/* The end of a device waits for what was deferred behind a stream: that stream is named. */
LOG_CASE(closing_waits, CULV_LOG_WARNING, .title = "waits.closing", .own = true)
{
    opener o;
    char stream[64];
    VkSemaphore gate = lib_case_timeline(&s->w, 0);
    culv_semaphore *semaphore = lib_import_timeline(&s->w, gate);
    raw_vk_buffer raw = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    culv_memory *memory = lib_import(&s->w, &raw);
    culv_buffer_desc d = culv_buffer_desc_init();
    d.label = "deferred";
    NEW(culv_buffer, buffer, culv_buffer_map, memory, &d);
    CUstream work = lib_stream(&s->w);
    LIB_OK(culv_semaphore_wait(semaphore, work, 1));
    culv_buffer_unmap(&buffer, &work);
    culv_memory_destroy(&memory);
    opener_start(&o, s, gate, 1);
    (void)culv_device_collect(s->w.device); /* does not wait for it */
    REQUIRE_EQ(lib_counts(&s->w).deferred, 1);
    culv_semaphore_destroy(&semaphore, &work);
    culv_vk_detach(&s->w.attachment);
    culv_device_close(&s->w.device);
    opener_end(&o);
    snprintf(stream, sizeof stream, "It waits until stream %p has got to its last use",
             (void *)work);
    (void)log_line_of(s, CULV_LOG_WARNING, "buffer 'deferred' (65536 bytes): its release", stream);
}

/* A second call waits while the thread that tells sleeps long, since it has told of the first one
 * more than once: played by a first one that is due in an hour. */
LOG_CASE(second_waits, CULV_LOG_WARNING, .title = "waits.second")
{
    culvi_watch first = {.kind = "block", .size = 1}, second = first;
    culv_device *device = s->w.device;
    culvi_watchman *man = &device->watchman;
    culvi_watch_begin(device, &first, "first");
    CULVI_LOCKED(&man->lock, first.due += (uint64_t)3600 * 1000000000);
    for (bool sleeps = false; !sleeps; lib_sleep_ms(1))
        CULVI_LOCKED(&man->lock, sleeps = man->until == first.due);
    culvi_watch_begin(device, &second, "second");
    REQUIRE(log_wait(s, CULV_LOG_WARNING, "block 'second' (1 bytes): its release has waited for"));
    culvi_watch_done(device, &second);
    culvi_watch_done(device, &first);
    REQUIRE_EQ(log_find(s, 0, CULV_LOG_WARNING, "'first'", NULL), s->count);
    /* The end of a device watches two calls with one watch: the second one did not wait. */
    const size_t told = s->count;
    culvi_watch_begin(device, &second, "second");
    culvi_watch_done(device, &second);
    REQUIRE_EQ(log_find(s, told, CULV_LOG_WARNING, "went on after", NULL), s->count);
}

/* A ring's side that waits without an end says in the log who is late, and for what. */
typedef struct sides {
    culv_ring *ring;
    _Atomic uint64_t counter[2];
} sides;

static culv_result counter_of(void *context, uint64_t *value)
{
    *value = atomic_load((_Atomic uint64_t *)context);
    return CULV_OK;
}

static culv_result wait_for_counter(void *context, uint64_t value, uint64_t timeout)
{
    for (const double end = test_now_us() + (double)timeout / 1000; test_now_us() < end;) {
        if (atomic_load((_Atomic uint64_t *)context) >= value) return CULV_OK;
        lib_sleep_ms(1);
    }
    return atomic_load((_Atomic uint64_t *)context) >= value ? CULV_OK : CULV_ERROR_TIMEOUT;
}

/* What lacks comes while the log is told: a ring that did not look again would sleep until the
 * second warning is due, 10 s after it began. */
static void go_on(void *user)
{
    sides *r = user;
    culv_ring_frame frame;
    if (atomic_exchange(&r->counter[0], 1) == 1) {
        atomic_store(&r->counter[1], 1);
        return;
    }
    LIB_OK(culv_ring_acquire(r->ring, CULV_RING_PRODUCER, 0, &frame));
    LIB_OK(culv_ring_release(r->ring, CULV_RING_PRODUCER, &frame));
}

LOG_CASE(ring_waits, CULV_LOG_WARNING, .title = "waits.ring")
{
    sides r = {.ring = NULL};
    culv_ring_frame frame;
    culv_ring_desc d = culv_ring_desc_init();
    culv_ring_settings settings = culv_ring_settings_init();
    settings.depth = 1;
    settings.max_frames_in_flight = 1;
    d.max_depth = 1;
    d.label = "late";
    d.settings = &settings;
    d.ready = (culv_ring_timeline){
        .value = counter_of, .wait = wait_for_counter, .context = &r.counter[0]};
    d.done = (culv_ring_timeline){
        .value = counter_of, .wait = wait_for_counter, .context = &r.counter[1]};
    LIB_OK(culv_ring_create(s->w.device, &d, &r.ring));
    s->told = go_on;
    s->user = &r;
    const double begun = test_now_us();
    LIB_OK(culv_ring_acquire(r.ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &frame));
    REQUIRE(test_now_us() - begun < 9e6);
    REQUIRE_EQ(frame.number, 0);
    LIB_OK(culv_ring_release(r.ring, CULV_RING_CONSUMER, &frame));
    for (int side = 0; side < 2; side++) {
        LIB_OK(culv_ring_acquire(r.ring, (culv_ring_side)side, 0, &frame));
        LIB_OK(culv_ring_release(r.ring, (culv_ring_side)side, &frame));
    }
    /* Two frames are queued ahead of the consumer's GPU, whose signals nobody has submitted. */
    LIB_OK(culv_ring_acquire(r.ring, CULV_RING_PRODUCER, CULV_RING_FOREVER, &frame));
    LIB_OK(culv_ring_cancel(r.ring, CULV_RING_PRODUCER, &frame));
    s->told = NULL;
    static const char *const said[] = {
        "the producer is late: within 1000 ms it handed no frame over",
        "the consumer is late: 'done' has not reached 1 within"};
    size_t lines = 0;
    for (size_t at = 0; at < s->count; at++)
        if (strstr(s->lines[at].text, "ring 'late': a call still waits: ") != NULL) {
            REQUIRE(lines < 2 && strstr(s->lines[at].text, said[lines]) != NULL);
            lines++;
        }
    REQUIRE_EQ(lines, 2);
    LIB_OK(culv_ring_acquire(r.ring, CULV_RING_PRODUCER, 0, &frame));
    LIB_OK(culv_ring_destroy(&r.ring, NULL));
    (void)log_line_of(s, CULV_LOG_WARNING, "ring 'late' is destroyed too early; the producer: ",
                      "it holds frame 2 in slot 0. First call culv_ring_stop()");
}
