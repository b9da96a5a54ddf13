/* SPDX-License-Identifier: MIT */
/* Objects given up: what the driver sees first, and beside a capture. */
#define TEST_GROUP "order."
#include "library.h"

#include <pthread.h>
#include <stdatomic.h>

/* The driver sees the unmapping before the import's release: counts in between. */
LIB_CASE(mapping_goes_before_import)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    culv_memory *memory = lib_import(w, &vk);
    NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
    culv_memory_destroy(&memory);
    REQUIRE_EQ(lib_counts(w).memories, 1); /* the buffer holds it */
    lib_require_driver_counts(w, 1, 1, 0);
    culv_buffer_unmap(&buffer, NULL);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).memories, 0);
    lib_require_driver_counts(w, 0, 0, 0);
}

/* R8: a capture in global mode goes on, whatever is imported, mapped and given up meanwhile. */
LIB_CASE(capture_is_left_alone, .title = "capture.is_left_alone")
{
    const raw_cuda *cu = w->cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver does not capture streams");
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    CUstream captured = NULL, other = lib_case_stream(w), legacy = CU_STREAM_LEGACY;
    CUgraph graph = NULL;
    CUcontext before = lib_enter(w);
    CU_OK(cu->StreamCreate(&captured, CU_STREAM_DEFAULT)); /* the legacy one waits for it */
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    culv_memory *memory = lib_import(w, &vk);
    NEW(culv_buffer, one, culv_buffer_map, memory, NULL);
    NEW(culv_buffer, two, culv_buffer_map, memory, NULL);
    NEW(culv_buffer, three, culv_buffer_map, memory, NULL);
    NEW(culv_buffer, four, culv_buffer_map, memory, NULL);
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    LIB_OK(culv_semaphore_signal(semaphore, other, 1));
    culv_buffer_unmap(&one, &other);
    culv_buffer_unmap(&two, &captured); /* its event must not become part of the graph */
    culv_buffer_unmap(&three, NULL);
    culv_buffer_unmap(&four, &legacy);
    culv_semaphore_destroy(&semaphore, &other);
    culv_memory_destroy(&memory);
    (void)lib_counts(w);
    CU_OK(cu->StreamEndCapture(captured, &graph));
    REQUIRE(graph != NULL);
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(captured));
    lib_leave(w, before);
    lib_settle(w);
}

#undef TEST_GROUP
#define TEST_GROUP "deferred."
/* Objects given up while the GPU still works with them: deferred behind a stream, or waited for. */

/* A stream that waits for a timeline's value 1, and then writes the buffer: whoever releases the
 * mapping before makes that a fault. */
typedef struct busy {
    raw_vk_buffer vk;
    VkSemaphore gate;
    culv_memory *memory;
    culv_buffer *buffer;
    culv_semaphore *semaphore;
    CUstream stream;
} busy;

static void busy_begin(lib_world *w, busy *b)
{
    lib_open(w);
    const raw_cuda *cu = w->cu;
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &b->vk);
    b->gate = raw_vk_timeline(&w->vk, 0, true);
    b->memory = lib_import(w, &b->vk);
    LIB_OK(culv_buffer_map(b->memory, NULL, &b->buffer));
    b->semaphore = lib_import_timeline(w, b->gate);
    b->stream = lib_stream(w);
    LIB_OK(culv_semaphore_wait(b->semaphore, b->stream, 1));
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemsetD32Async(culv_buffer_pointer(b->buffer), 0xfeedbeef, 65536 / 4, b->stream));
    CU_IS(cu->StreamQuery(b->stream), CUDA_ERROR_NOT_READY);
    lib_leave(w, before);
}

static void busy_end(lib_world *w, busy *b)
{
    static uint32_t words[65536 / 4];
    raw_vk_read(&w->vk, &b->vk, 0, words, sizeof words);
    for (size_t i = 0; i < sizeof words / 4; i++)
        REQUIRE_EQ(words[i], 0xfeedbeef);
    if (b->stream != NULL) lib_stream_destroy(w, b->stream);
    raw_vk_timeline_destroy(&w->vk, b->gate);
    raw_vk_buffer_destroy(&w->vk, &b->vk);
    lib_close(w);
}

/* Opens the gate a while after it was started. What is not to wait comes before that, or it hangs:
 * no time is long enough on a busy machine. */
typedef struct opener {
    lib_world *w;
    VkSemaphore gate;
    long after_ms;
    atomic_bool opened;
    pthread_t thread;
} opener;

static void *open_later(void *user)
{
    opener *o = user;
    lib_sleep_ms(o->after_ms);
    atomic_store(&o->opened, true);
    raw_vk_timeline_signal(&o->w->vk, o->gate, 1);
    return NULL;
}

static void opener_start(opener *o, lib_world *w, const busy *b, long after_ms)
{
    o->w = w;
    o->gate = b->gate;
    o->after_ms = after_ms;
    atomic_init(&o->opened, false);
    REQUIRE_EQ(pthread_create(&o->thread, NULL, open_later, o), 0);
}

/* With a stream of last use nothing waits, and nothing is released before that stream has got
 * there. */
TEST(after_a_stream, .smoke = true)
{
    lib_world w;
    busy b;
    busy_begin(&w, &b);
    culv_buffer_unmap(&b.buffer, &b.stream);
    culv_semaphore_destroy(&b.semaphore, &b.stream);
    culv_memory_destroy(&b.memory);
    REQUIRE(b.buffer == NULL && b.semaphore == NULL && b.memory == NULL);
    for (int i = 0; i < 20; i++) {
        culv_device_counts c = lib_counts(&w);
        REQUIRE_EQ(c.buffers, 0);  /* the caller's is gone, */
        REQUIRE_EQ(c.mappings, 1); /* the driver's is not */
        REQUIRE_EQ(c.memories, 1);
        REQUIRE_EQ(c.semaphores, 1);
        REQUIRE_EQ(c.deferred, 2);
        REQUIRE_EQ(culv_device_collect(w.device), 2);
        lib_require_driver_counts(&w, 1, 1, 1);
        lib_sleep_ms(5);
    }
    raw_vk_timeline_signal(&w.vk, b.gate, 1);
    lib_finish(&w, b.stream);
    REQUIRE_EQ(culv_device_collect(w.device), 0);
    lib_require_driver_counts(&w, 0, 0, 0);
    busy_end(&w, &b);
}

static void count_warnings(void *user, culv_log_level level, const char *message)
{
    if (level == CULV_LOG_WARNING && strstr(message, "culv_device_collect") != NULL) ++*(int *)user;
}

/* The _after calls alone never release anything: what piles up is told of. */
LIB_CASE(nobody_collects)
{
    raw_vk_buffer vk;
    int warnings = 0;
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &vk);
    culv_device_caps caps = lib_caps(w->device);
    culv_device_desc d = culv_device_desc_init();
    d.driver = caps.is_software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    d.log = (culv_log){.fn = count_warnings, .user = &warnings};
    culv_memory *memory = NULL;
    NEW(OWN(culv_device), device, culv_device_open_by_uuid, &caps.uuid, &d);
    culv_memory_desc m = lib_memory_desc(w, &vk, raw_vk_buffer_fd(&w->vk, &vk));
    LIB_TAKE(culv_memory_import(device, &m, &memory), &m.handle);
    CUstream stream = lib_stream(w);
    for (int i = 1; i <= 2048; i++) {
        NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
        culv_buffer_unmap(&buffer, &stream);
        REQUIRE_EQ(warnings, i / 1024);
    }
    culv_memory_destroy(&memory);
    lib_finish(w, stream);
    REQUIRE_EQ(culv_device_collect(device), 0);
    lib_stream_destroy(w, stream);
    raw_vk_buffer_destroy(&w->vk, &vk);
}

/* Without one, the driver waits: the call returns when the work is done, not before. */
TEST(plain_unmap_waits, .title = "plain.unmap_waits")
{
    lib_world w;
    busy b;
    opener o;
    busy_begin(&w, &b);
    NEW(culv_buffer, second, culv_buffer_map, b.memory, NULL);
    culv_buffer_unmap(&second, NULL); /* not the last range: nothing to release */
    opener_start(&o, &w, &b, 300);
    culv_buffer_unmap(&b.buffer, NULL);
    REQUIRE(atomic_load(&o.opened));
    REQUIRE_EQ(lib_counts(&w).mappings, 0);
    REQUIRE_EQ(lib_counts(&w).deferred, 0);
    REQUIRE_EQ(pthread_join(o.thread, NULL), 0);
    lib_finish(&w, b.stream);
    culv_semaphore_destroy(&b.semaphore, NULL);
    culv_memory_destroy(&b.memory);
    busy_end(&w, &b);
}

TEST(plain_semaphore_destroy_waits, .title = "plain.semaphore_destroy_waits")
{
    lib_world w;
    busy b;
    opener o;
    busy_begin(&w, &b);
    opener_start(&o, &w, &b, 300);
    culv_semaphore_destroy(&b.semaphore, NULL);
    REQUIRE(atomic_load(&o.opened));
    REQUIRE_EQ(lib_counts(&w).semaphores, 0);
    REQUIRE_EQ(pthread_join(o.thread, NULL), 0);
    lib_finish(&w, b.stream);
    culv_buffer_unmap(&b.buffer, NULL);
    culv_memory_destroy(&b.memory);
    busy_end(&w, &b);
}

/* Giving up after another stream, which is done, does not wait for the busy one, and neither do
 * imports and mappings after it: what is due is released by calls that may wait. */
TEST(idle_stream_does_not_wait)
{
    lib_world w;
    busy b;
    busy_begin(&w, &b);
    raw_vk_buffer other;
    raw_vk_buffer_create(&w.vk, 65536, RAW_VK_EXPORT, &other);
    culv_memory *memory = lib_import(&w, &other);
    NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
    CUstream idle = lib_stream(&w);
    culv_buffer_unmap(&buffer, &idle);
    culv_memory_destroy(&memory);
    lib_finish(&w, idle);
    memory = lib_import(&w, &other);
    LIB_OK(culv_buffer_map(memory, NULL, &buffer));
    culv_buffer_unmap(&buffer, &idle);
    raw_vk_timeline_signal(&w.vk, b.gate, 1); /* all this while the gate was closed */
    lib_finish(&w, b.stream);
    culv_memory_destroy(&memory);
    lib_settle(&w);
    lib_stream_destroy(&w, idle);
    raw_vk_buffer_destroy(&w.vk, &other);
    culv_buffer_unmap(&b.buffer, NULL);
    culv_semaphore_destroy(&b.semaphore, NULL);
    culv_memory_destroy(&b.memory);
    busy_end(&w, &b);
}

/* A range of the same import that others still use keeps the mapping, also past a deferred one. */
TEST(deferred_range_keeps_the_mapping, .title = "deferred.range_keeps_the_mapping")
{
    lib_world w;
    busy b;
    busy_begin(&w, &b);
    culv_buffer *second = NULL;
    culv_buffer_unmap(&b.buffer, &b.stream);
    LIB_OK(culv_buffer_map(b.memory, NULL, &second)); /* mapped anew while the first is deferred */
    REQUIRE_EQ(lib_counts(&w).mappings, 1);
    REQUIRE_EQ(lib_counts(&w).deferred, 1);
    raw_vk_timeline_signal(&w.vk, b.gate, 1);
    lib_finish(&w, b.stream);
    lib_settle(&w);
    REQUIRE_EQ(lib_counts(&w).mappings, 1);
    uint32_t word = 0;
    LIB_CU_OK(&w, w.cu->MemcpyDtoH(&word, culv_buffer_pointer(second), 4));
    REQUIRE_EQ(word, 0xfeedbeef);
    culv_buffer_unmap(&second, NULL);
    culv_semaphore_destroy(&b.semaphore, NULL);
    culv_memory_destroy(&b.memory);
    busy_end(&w, &b);
}

/* The last call on a device waits for what is deferred; here the device itself is closed first. */
TEST(device_is_closed_first)
{
    lib_world w;
    busy b;
    opener o;
    busy_begin(&w, &b);
    CUcontext held = NULL; /* so that the stream outlives the device */
    const raw_cuda *cu = w.cu;
    CU_OK(cu->DevicePrimaryCtxRetain(&held, lib_caps(w.device).ordinal));
    culv_device_close(&w.device);
    culv_vk_detach(&w.attachment);
    culv_memory_destroy(&b.memory);
    culv_buffer_unmap(&b.buffer, &b.stream);
    opener_start(&o, &w, &b, 300);
    culv_semaphore_destroy(&b.semaphore, &b.stream); /* the last object */
    REQUIRE(atomic_load(&o.opened));
    lib_require_driver_counts(&w, 0, 0, 0);
    REQUIRE_EQ(pthread_join(o.thread, NULL), 0);
    lib_stream_destroy(&w, b.stream);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    b.stream = NULL;
    busy_end(&w, &b);
}

/* A last use that cannot be told (the stream is gone) is no reason to wait now, nor to release
 * early later. */
TEST(last_use_on_a_destroyed_stream)
{
    lib_world w;
    busy b;
    opener o;
    busy_begin(&w, &b);
    if (!w.cu->software) SKIP("a destroyed stream's handle is undefined on NVIDIA's driver");
    CUstream gone = lib_stream(&w);
    lib_stream_destroy(&w, gone);
    culv_buffer_unmap(&b.buffer, &gone);
    culv_semaphore_destroy(&b.semaphore, &gone);
    culv_memory_destroy(&b.memory);
    opener_start(&o, &w, &b, 300);
    REQUIRE_EQ(culv_device_collect(w.device), 0); /* the driver waits in here */
    REQUIRE(atomic_load(&o.opened));
    REQUIRE_EQ(pthread_join(o.thread, NULL), 0);
    lib_finish(&w, b.stream);
    lib_settle(&w);
    REQUIRE_EQ(lib_counts(&w).mappings, 0);
    busy_end(&w, &b);
}

typedef struct giver {
    lib_world *w;
    culv_semaphore *semaphore;
    culv_buffer *buffer;
} giver;

static void *give_up(void *user)
{
    giver *g = user;
    CUcontext before = lib_enter(g->w);
    LIB_OK(culv_semaphore_wait(g->semaphore, CU_STREAM_PER_THREAD, 1));
    culv_buffer_unmap(&g->buffer, &(CUstream){CU_STREAM_PER_THREAD});
    lib_leave(g->w, before);
    return NULL;
}

/* One handle names each thread's own stream: what is held up in one thread's keeps nothing of
 * another's. */
LIB_CASE(per_thread_streams)
{
    raw_vk_buffer vk;
    pthread_t thread;
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &vk);
    VkSemaphore gate = raw_vk_timeline(&w->vk, 0, true);
    OWN(culv_memory) *memory = lib_import(w, &vk);
    giver g = {.w = w, .semaphore = lib_import_timeline(w, gate)};
    LIB_OK(culv_buffer_map(memory, NULL, &g.buffer));
    NEW(culv_buffer, mine, culv_buffer_map, memory, NULL);
    REQUIRE_EQ(pthread_create(&thread, NULL, give_up, &g), 0);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    culv_buffer_unmap(&mine, &(CUstream){CU_STREAM_PER_THREAD});
    for (unsigned i = 0; i < TEST_FAR_MS && lib_counts(w).deferred > 1; i++) {
        (void)culv_device_collect(w->device);
        lib_sleep_ms(1);
    }
    REQUIRE_EQ(lib_counts(w).deferred, 1);
    raw_vk_timeline_signal(&w->vk, gate, 1);
    lib_settle(w);
    culv_semaphore_destroy(&g.semaphore, NULL);
    raw_vk_timeline_destroy(&w->vk, gate);
    raw_vk_buffer_destroy(&w->vk, &vk);
}
