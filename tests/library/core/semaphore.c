/* SPDX-License-Identifier: MIT */
/* Timelines: round trips, values, threads. */
#include "core/semaphore.h"
#include "culvert/semaphore.h"
#include "library.h"
#include "raw_binary.h"

#include <inttypes.h>
#include <stdatomic.h>

/* In the static library of a build with tests. */
extern _Atomic long culvi_alloc_count;

enum { ROUND_TRIPS = 1000, TOGETHER = 100 };

/* A semaphore that both sides have. One of binary ones has the value 0, and what the other side did
 * is said. */
typedef struct shared_semaphore {
    VkSemaphore timeline;
    raw_binary binary;
    culv_semaphore *cuda;
} shared_semaphore;

static shared_semaphore share(lib_world *w, bool binary)
{
    shared_semaphore s = {.timeline = VK_NULL_HANDLE};
    if (!binary) s.timeline = lib_case_timeline(w, 0);
    if (binary) raw_binary_create(&w->vk, w->cu, &s.binary);
    s.cuda = binary ? lib_import_semaphore_fd(w->device, CULV_SEMAPHORE_BINARY,
                                              raw_binary_fd(&w->vk, &s.binary))
                    : lib_import_timeline(w, s.timeline);
    return s;
}

/* A thousand turns, all on the GPU's side: CUDA writes word r and signals; Vulkan waits, copies it
 * to its log and writes an answer; CUDA waits and copies the answer to its own. No data may be
 * late or lost, and once it runs, Culvert allocates nothing. Timelines in every other turn by
 * batches, with a third one. Binary semaphores on one queue: a wait that is submitted to another
 * one ahead of time takes a signal meant for an earlier wait (measured,
 * tests/contract/timelines.c). */
static void thousand_turns(lib_world *w, bool binary)
{
    const raw_cuda *cu = w->cu;
    static uint32_t answered[ROUND_TRIPS];
    long allocated = 0;
    raw_vk_buffer shared = lib_case_buffer(w, 4096, RAW_VK_EXPORT);
    raw_vk_buffer log = lib_case_buffer(w, ROUND_TRIPS * 4, RAW_VK_HOST);
    shared_semaphore a = share(w, binary), b = share(w, binary), c = share(w, binary);
    OWN(culv_memory) *memory = lib_import(w, &shared);
    NEW(OWN(culv_buffer), buffer, culv_buffer_map, memory, NULL);
    CUstream stream = lib_case_stream(w);
    CUdeviceptr p = culv_buffer_pointer(buffer) + shared.offset, answers = 0;
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemAlloc(&answers, ROUND_TRIPS * 4));
    double start = test_now_us();
    for (uint32_t r = 1; r <= ROUND_TRIPS; r++) {
        const uint64_t value = binary ? 0 : r;
        const uint32_t queue = binary ? 0 : r % w->vk.queue_count, places = binary || r % 2 ? 1 : 2;
        const culv_semaphore_point signals[] = {{a.cuda, value}, {c.cuda, value}},
                                   waits[] = {{b.cuda, value}, {c.cuda, 0}};
        raw_binary_turn turn = {.wait = &a.binary, .signal = &b.binary};
        const raw_vk_job job = {.queue = queue,
                                .wait = a.timeline,
                                .wait_value = r,
                                .signal = b.timeline,
                                .signal_value = r,
                                .pending = true};
        if (r == 3) allocated = atomic_load(&culvi_alloc_count);
        CU_OK(cu->MemsetD32Async(p, lib_word(r - 1, 5), 1, stream));
        LIB_OK(places == 1 ? culv_semaphore_signal(a.cuda, stream, value)
                           : culv_semaphore_signal_batch(signals, places, stream));
        VkCommandBuffer commands = raw_vk_begin(&w->vk, queue);
        const VkBufferCopy copy = {.dstOffset = (r - 1) * 4, .size = 4};
        raw_vk_acquire(&w->vk, commands, queue, &shared);
        vkCmdCopyBuffer(commands, shared.buffer, log.buffer, 1, &copy);
        vkCmdFillBuffer(commands, shared.buffer, 4, 4, lib_word(r - 1, 9));
        raw_vk_release(&w->vk, commands, queue, &shared);
        raw_vk_submit(&w->vk, commands, binary ? raw_binary_turn_begin(cu, &turn) : &job);
        if (binary) LIB_OK(culv_semaphore_mark_waited(a.cuda));
        if (binary) LIB_OK(culv_semaphore_mark_signaled(b.cuda));
        LIB_OK(places == 1 ? culv_semaphore_wait(b.cuda, stream, value)
                           : culv_semaphore_wait_batch(waits, places, stream));
        CU_OK(cu->MemcpyDtoDAsync(answers + (r - 1) * 4, p + 4, 4, stream));
        if (r % TOGETHER == 0) raw_vk_idle(&w->vk);
    }
    REQUIRE_EQ(atomic_load(&culvi_alloc_count), allocated);
    CU_OK(cu->StreamSynchronize(stream));
    MEASURED(binary ? "library.binary_round_trip_us" : "library.round_trip_us", "%.1f",
             (test_now_us() - start) / ROUND_TRIPS);
    CU_OK(cu->MemcpyDtoH(answered, answers, sizeof answered));
    CU_OK(cu->MemFree(answers));
    lib_leave(w, before);
    REQUIRE_WORDS((const uint32_t *)log.mapped, ROUND_TRIPS, 5);
    REQUIRE_WORDS(answered, ROUND_TRIPS, 9);
    if (!binary) REQUIRE_EQ(raw_vk_timeline_value(&w->vk, a.timeline), ROUND_TRIPS);
    if (!binary) REQUIRE_EQ(raw_vk_timeline_value(&w->vk, c.timeline), ROUND_TRIPS);
    raw_vk_idle(&w->vk);
    shared_semaphore *const all[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        culv_semaphore_destroy(&all[i]->cuda, NULL);
        lib_settle(w);
        if (binary) raw_binary_destroy(&w->vk, &all[i]->binary);
    }
}

LIB_CASE(round_trips, .smoke = true)
{
    thousand_turns(w, false);
}

LIB_CASE(alternations)
{
    thousand_turns(w, true);
}

/* Values --------------------------------------------------------------------------------------- */

#define BACKWARDS(value)                                                                           \
    LIB_INVALID(culv_semaphore_signal(semaphore, stream, (value)), TIMELINE_BACKWARDS)

LIB_CASE(values_go_up, .title = "values.go_up")
{
    VkSemaphore timeline = lib_case_timeline(w, 7);
    OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
    CUstream stream = lib_case_stream(w);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 7); /* the counter, as it was found */
    BACKWARDS(0);
    BACKWARDS(6);
    BACKWARDS(7);
    LIB_SAYS("7");
    LIB_OK(culv_semaphore_signal(semaphore, stream, 8));
    BACKWARDS(8);
    culv_semaphore_mark_value(semaphore, 20); /* promised by somebody else */
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 20);
    BACKWARDS(9);
    BACKWARDS(20);
    culv_semaphore_mark_value(semaphore, 10); /* known better */
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 20);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 21));
    lib_finish(w, stream);
    /* None of the refused ones reached it */
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), 21);
    culv_semaphore_destroy(&semaphore, NULL);

    semaphore = lib_import_timeline(w, timeline);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 21);
    culv_semaphore_destroy(&semaphore, NULL);

    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.value = 30; /* the raw road: what the caller says */
    d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&w->vk, timeline));
    LIB_TAKE(culv_semaphore_import(w->device, &d, &semaphore), &d.handle);
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), 30);
    BACKWARDS(30);
    LIB_OK(culv_semaphore_signal(semaphore, stream, 31));
    BACKWARDS(UINT64_C(31));
    lib_finish(w, stream);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), 31);
}

#undef TEST_GROUP
#define TEST_GROUP "errors."
/* Semaphores that are imported or made wrongly: each its class and reason, nothing consumed,
 * nothing left. */

static void refuse(const lib_world *w, const bad_handle *handle)
{
    static const culv_semaphore_type types[] = {CULV_SEMAPHORE_TIMELINE, CULV_SEMAPHORE_BINARY};
    culv_semaphore *semaphore = NULL;
    for (int i = 0; i < 2; i++) {
        culv_semaphore_desc d = culv_semaphore_desc_init();
        d.handle = culv_handle_opaque_fd(handle->fd);
        d.type = types[i];
        LIB_REFUSES_AS(semaphore, culv_semaphore_import(w->device, &d, &semaphore), handle->result,
                       handle->reason);
    }
}

LIB_CASE(wrong_fds)
{
    bad_handles_try(w, 65536, refuse);
}

LIB_CASE(wrong_descriptors)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    lib_fd fd = lib_fd_watch(raw_vk_timeline_fd(&w->vk, timeline));
    culv_semaphore_desc right = culv_semaphore_desc_init();
    right.type = CULV_SEMAPHORE_TIMELINE;
    right.handle = culv_handle_opaque_fd(fd.fd);
    memcpy(right.exporter.bytes, w->vk.id.deviceUUID, 16);
    culv_semaphore *semaphore = NULL;
#define ROW(change, class, why)                                                                    \
    SPOILT(                                                                                        \
        right, right.change,                                                                       \
        LIB_REFUSES(semaphore, culv_semaphore_import(w->device, &right, &semaphore), class, why))
    ROW(type = CULV_SEMAPHORE_NONE, INVALID, VALUE);
    ROW(type = (culv_semaphore_type)3, INVALID, VALUE);
    ROW(type = (culv_semaphore_type)-1, INVALID, VALUE);
    ROW(untracked = 1, INVALID, VALUE); /* of binary ones */
    ROW(exporter.bytes[0] ^= 0x80, INVALID, DEVICE_MISMATCH);
#undef ROW
    lib_fd_require_untouched(&fd);
    /* Right at last: borrowed, then taken. */
    NEW(OWN(culv_semaphore), borrowed, culv_semaphore_import, w->device, &right);
    lib_fd_require_untouched(&fd);
    NEW(OWN(culv_semaphore), taken, culv_semaphore_import, w->device, &right);
    lib_fd_end(&fd, true);
    LIB_OK(culv_semaphore_signal(taken, NULL, 1));
    LIB_OK(culv_semaphore_wait(borrowed, NULL, 1));
    lib_finish(w, NULL);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), 1);
}

/* Of both ways through Vulkan, what differs by the way. */
LIB_CASE(vulkan_road)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_semaphore *semaphore = NULL;
    culv_shared_semaphore *made = NULL;
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    culv_vk_semaphore_create_desc cd = culv_vk_semaphore_create_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID,
                NULL_ARGUMENT);
    d.semaphore = timeline;
    static const int types[] = {CULV_SEMAPHORE_NONE, 3, -1};
    for (int i = 0; i < 3; i++) {
        d.type = cd.type = (culv_semaphore_type)types[i];
        LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID,
                    VALUE);
        if (types[i] != CULV_SEMAPHORE_NONE) /* which is a timeline, for one that is made */
            LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, VALUE);
    }
    d.type = cd.type = CULV_SEMAPHORE_TIMELINE;
    d.untracked = cd.untracked = 1;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID, VALUE);
    LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, VALUE);
    d.untracked = 0;
    d.signal_pending = 1;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID, VALUE);
    cd = culv_vk_semaphore_create_desc_init();
    cd.type = CULV_SEMAPHORE_BINARY;
    cd.initial_value = 1;
    LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, VALUE);
    cd.struct_size = 3;
    LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, STRUCT_SIZE);
}

#undef TEST_GROUP
#define TEST_GROUP "made."
/* Timelines that Culvert makes: ownership, values, refusals. */

static culv_shared_semaphore *make(const lib_world *w, uint64_t initial)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.initial_value = initial;
    d.label = "frame";
    NEW(culv_shared_semaphore, made, culv_vk_semaphore_create, w->attachment, &d);
    return made;
}

static uint64_t layer_semaphores(void)
{
    lib_layer layer;
    if (!lib_layer_find(&layer)) return 0;
    culv_soft_vk_counts c = {.struct_size = sizeof c};
    layer.counts(&c);
    return c.all_semaphores;
}

/* The host waits for either side's signal, and moves nothing. */
LIB_CASE(host_waits)
{
    OWN(culv_shared_semaphore) *binary = NULL;
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    OWN(culv_shared_semaphore) *made = make(w, 3), *gate = make(w, 0);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made);
    VkSemaphore handle = culv_vk_semaphore_handle(made);
    CUstream stream = lib_case_stream(w);
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 2, 0));
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 3, 0));
    for (int i = 0; i < 2; i++)
        LIB_ERROR(culv_shared_semaphore_wait_on_host(made, 4, i == 0 ? 0 : 2000000), TIMEOUT,
                  NOT_READY);
    LIB_SAYS("has not reached 4 in 2000000 ns; CUDA has signaled or promised 3");
    LIB_OK(culv_semaphore_signal(cuda, stream, 4));
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 4, UINT64_MAX));
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, handle), 4);
    raw_vk_timeline_signal(&w->vk, handle, 5);
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 5, 0));
    LIB_OK(culv_semaphore_wait(cuda, stream, 5));
    LIB_OK(culv_semaphore_signal(cuda, stream, 6));
    lib_finish(w, stream);
    /* CUDA is to signal it, and stands still. */
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), stream, 1));
    LIB_OK(culv_semaphore_signal(cuda, stream, 7));
    for (int i = 0; i < 2; i++)
        LIB_ERROR(culv_shared_semaphore_wait_on_host(made, 7, i == 0 ? 0 : 2000000), TIMEOUT,
                  NOT_READY);
    LIB_SAYS("CUDA has signaled or promised 7");
    raw_vk_timeline_signal(&w->vk, culv_vk_semaphore_handle(gate), 1);
    LIB_OK(culv_shared_semaphore_wait_on_host(made, 7, UINT64_MAX));
    lib_finish(w, stream);
    culv_shared_semaphore_destroy(&gate, NULL);
    d.type = CULV_SEMAPHORE_BINARY;
    if (culv_vk_semaphore_create(w->attachment, &d, &binary) == CULV_OK)
        LIB_INVALID(culv_shared_semaphore_wait_on_host(binary, 0, 0), VALUE);
}

/* CUDA's side is no object of the caller's: giving it up is refused, and nothing happens. */
LIB_CASE(cuda_side_is_not_the_callers)
{
    OWN(culv_shared_semaphore) *made = make(w, 0);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made), *kept = cuda;
    for (int i = 0; i < 2; i++) {
        LIB_INVALID(culv_semaphore_destroy(&cuda, i == 0 ? NULL : &(CUstream){NULL}), OWNED,
                    "culv_semaphore_destroy",
                    "culv_shared_semaphore_destroy() destroys both"); /* what to do */
        LIB_SAYS("'frame'");
        REQUIRE(cuda == kept);
        REQUIRE(culv_shared_semaphore_cuda(made) == kept);
        REQUIRE_EQ(lib_counts(w).semaphores, 1);
        REQUIRE_EQ(lib_counts(w).deferred, 0);
        lib_require_driver_counts(w, 0, 0, 1);
        LIB_OK(culv_semaphore_signal(cuda, NULL, (uint64_t)i + 1));
    }
    REQUIRE(raw_vk_timeline_wait(&w->vk, culv_vk_semaphore_handle(made), 2, TEST_FAR_MS));
    lib_finish(w, NULL);
}

/* With a stream of last use nothing waits: the VkSemaphore goes at once, CUDA's side when the
 * stream gets there. */
LIB_CASE(destroyed_while_cuda_uses_it)
{
    uint64_t before = layer_semaphores();
    VkSemaphore gate = lib_case_timeline(w, 0);
    OWN(culv_semaphore) *closed = lib_import_timeline(w, gate);
    CUstream stream = lib_case_stream(w);
    culv_shared_semaphore *made = make(w, 0);
    LIB_OK(culv_semaphore_wait(closed, stream, 1));
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(made), stream, 1));
    culv_shared_semaphore_destroy(&made, &stream);
    REQUIRE(made == NULL);
    REQUIRE_EQ(lib_query(w, stream), CUDA_ERROR_NOT_READY); /* it did not wait */
    culv_device_counts c = lib_counts(w);
    REQUIRE(c.created == 0 && c.semaphores == 2 && c.deferred == 1);
    REQUIRE_EQ(c.attached_devices, 1);
    lib_require_driver_counts(w, 0, 0, 2);
    if (w->cu->software) REQUIRE_EQ(layer_semaphores(), before + 1); /* the gate */
    raw_vk_timeline_signal(&w->vk, gate, 1);
    lib_finish(w, stream);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).semaphores, 1);
}

/* Such devices may be attached, for binary semaphores and memory. */
LIB_CASE(device_without_timelines)
{
    culv_shared_semaphore *made = NULL;
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.no_timelines = true};
    NEW(culv_vk_device, vk, culv_vk_attach, w->device, &d);
    LIB_REFUSES(made, culv_vk_semaphore_create(vk, NULL, &made), UNSUPPORTED, EXTENSION_MISSING,
                "timelineSemaphore");
    culv_vk_detach(&vk);
    lib_lying = (lib_lies){0};
}

#undef TEST_GROUP
#define TEST_GROUP "streams."
/* Semaphores and streams: the default ones, those of other contexts and devices; alone and in
 * batches. */

static culv_result signal_batch(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    const culv_semaphore_point point = {semaphore, value};
    return culv_semaphore_signal_batch(&point, 1, stream);
}

static culv_result wait_batch(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    const culv_semaphore_point point = {semaphore, value};
    return culv_semaphore_wait_batch(&point, 1, stream);
}

typedef culv_result (*stream_call)(culv_semaphore *semaphore, CUstream stream, uint64_t value);
static const stream_call signal_calls[] = {culv_semaphore_signal, signal_batch};
static const stream_call wait_calls[] = {culv_semaphore_wait, wait_batch};

/* A timeline for each direction: validation takes one that CUDA signals for pending, and warns of
 * the host's signal. */
LIB_CASE(default_streams, .title = "streams.default")
{
    VkSemaphore out = lib_case_timeline(w, 0), in = lib_case_timeline(w, 0);
    culv_semaphore *to_vulkan = lib_import_timeline(w, out), *to_cuda = lib_import_timeline(w, in);
    CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (uint64_t i = 0; i < 6; i++) {
        CUstream stream = streams[i % 3];
        stream_call signal = signal_calls[i / 3], wait = wait_calls[i / 3];
        LIB_OK(signal(to_vulkan, stream, 2 * i + 1));
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 1, TEST_FAR_MS));
        LIB_OK(wait(to_cuda, stream, i + 1));
        LIB_OK(signal(to_vulkan, stream, 2 * i + 2));
        lib_sleep_ms(20);
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, out), 2 * i + 1); /* the stream waits */
        raw_vk_timeline_signal(&w->vk, in, i + 1);
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 2, TEST_FAR_MS));
    }
    lib_finish(w, NULL);
    culv_semaphore_destroy(&to_vulkan, &(CUstream){CU_STREAM_PER_THREAD});
    culv_semaphore_destroy(&to_cuda, &(CUstream){NULL});
}

/* A stream of another context: one of the device's own (which the driver would refuse: measured),
 * or the primary one of the second device. */
typedef struct foreign {
    CUcontext context;
    CUstream stream;
} foreign;

static foreign foreign_open(const raw_cuda *cu, CUdevice device)
{
    foreign o = {NULL, NULL};
    CUcontext popped = NULL;
    REQUIRE(cu->CtxCreate != NULL);
    if (device == 0) {
        CU_OK(cu->CtxCreate(&o.context, 0, 0));
    } else {
        CU_OK(cu->DevicePrimaryCtxRetain(&o.context, device));
        CU_OK(cu->CtxPushCurrent(o.context));
    }
    CU_OK(cu->StreamCreate(&o.stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    return o;
}

static void foreign_close(const raw_cuda *cu, CUdevice device, const foreign *o)
{
    CUcontext popped = NULL;
    CU_OK(cu->CtxPushCurrent(o->context));
    CU_OK(cu->StreamDestroy(o->stream));
    CU_OK(cu->CtxPopCurrent(&popped));
    CU_OK(device == 0 ? cu->CtxDestroy(o->context) : cu->DevicePrimaryCtxRelease(device));
}

/* Each call with a stream that is not the semaphore's; a refused signal promises nothing. */
static void streams_refuse(const lib_world *w, culv_semaphore *semaphore, CUstream stream,
                           const char *says)
{
    const raw_cuda *cu = w->cu;
    CUcontext current = NULL;
    uint64_t last = culv_semaphore_last_value(semaphore);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 2; i++) {
            LIB_INVALID(signal_calls[i](semaphore, stream, last + 1), STREAM_DEVICE, says);
            LIB_INVALID(wait_calls[i](semaphore, stream, last), STREAM_DEVICE, says);
            LIB_INVALID(
                culv_stream_wait_stream(w->device, i == 0 ? stream : NULL, i == 0 ? NULL : stream),
                STREAM_DEVICE, says);
        }
    }
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), last);
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
}

TEST_ON(lib_world, w, (raw_cuda_two_devices(), lib_open(w)), lib_close(w), of_other_contexts)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    for (CUdevice device = 0; device < (w->cu->device_count > 1 ? 2 : 1); device++) {
        OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
        const foreign other = foreign_open(w->cu, device);
        streams_refuse(w, semaphore, other.stream, device == 0 ? "context" : "device 1");
        LIB_OK(culv_semaphore_signal(semaphore, NULL, (uint64_t)device + 1));
        REQUIRE(raw_vk_timeline_wait(&w->vk, timeline, (uint64_t)device + 1, TEST_FAR_MS));
        lib_finish(w, NULL);
        foreign_close(w->cu, device, &other);
    }
}

/* One that was used before and then destroyed: the refusal says so. Others than the twin may crash
 * on it. */
LIB_CASE(destroyed)
{
    if (!w->cu->software) {
        lib_close(w);
        SKIP("no stream that is gone is handed to a real driver");
    }
    VkSemaphore timeline = lib_case_timeline(w, 0);
    OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
    const stream_call rows[] = {signal_calls[0], signal_calls[1], wait_calls[0], wait_calls[1]};
    for (uint64_t i = 0; i < 4; i++) {
        CUstream stream = lib_stream(w);
        LIB_OK(culv_semaphore_signal(semaphore, stream, i + 1));
        lib_finish(w, stream);
        lib_stream_destroy(w, stream);
        for (int twice = 0; twice < 2; twice++) {
            LIB_ERROR(rows[i](semaphore, stream, i + 2), DRIVER, STREAM_DEVICE,
                      "was it destroyed?");
        }
        REQUIRE_EQ(culv_semaphore_last_value(semaphore), i + 1);
    }
}

/* One stream writes a value, and another one copies it to its place in `seen`, turn for turn. */
static void turns(lib_world *w, CUstream a, CUstream b, CUdeviceptr value, CUdeviceptr seen,
                  uint32_t first, uint32_t count)
{
    const raw_cuda *cu = w->cu;
    for (uint32_t i = first; i < first + count; i++) {
        CU_OK(cu->MemsetD32Async(value, i, 1, a));
        LIB_OK(culv_stream_wait_stream(w->device, b, a));
        CU_OK(cu->MemcpyDtoDAsync(seen + i * sizeof(uint32_t), value, sizeof(uint32_t), b));
        LIB_OK(culv_stream_wait_stream(w->device, a, b));
    }
}

enum { AHEAD = 101, TURNS = 3001 };

/* Streams in order: behind a semaphore that has not come, which takes more words than a block has,
 * and with words that are used again. */
LIB_CASE(in_order)
{
    static uint32_t seen[TURNS];
    const raw_cuda *cu = w->cu;
    VkSemaphore timeline = lib_case_timeline(w, 0);
    OWN(culv_semaphore) *semaphore = lib_import_timeline(w, timeline);
    CUcontext before = lib_enter(w);
    CUstream plain = lib_stream(w), second = lib_stream(w);
    CUdeviceptr value = 0, list = 0;
    CU_OK(cu->MemAlloc(&value, 4));
    CU_OK(cu->MemAlloc(&list, sizeof seen));
    CUstream pairs[][2] = {{plain, second}, {plain, NULL}, {CU_STREAM_PER_THREAD, plain}};
    for (uint64_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        CUstream a = pairs[i][0], b = pairs[i][1];
        CU_OK(cu->MemsetD32Async(list, UINT32_MAX, TURNS, a));
        lib_finish(w, a);
        LIB_OK(culv_semaphore_wait(semaphore, a, i + 1));
        turns(w, a, b, value, list, 0, AHEAD);
        lib_sleep_ms(20);
        CU_OK(cu->MemcpyDtoHAsync(seen, list, 4, second == b ? CU_STREAM_PER_THREAD : second));
        lib_finish(w, second == b ? CU_STREAM_PER_THREAD : second);
        REQUIRE_EQ(seen[0], UINT32_MAX); /* nothing has run */
        raw_vk_timeline_signal(&w->vk, timeline, i + 1);
        turns(w, a, b, value, list, AHEAD, TURNS - AHEAD);
        lib_finish(w, a);
        CU_OK(cu->MemcpyDtoHAsync(seen, list, sizeof seen, a));
        lib_finish(w, a);
        for (uint32_t k = 0; k < TURNS; k++)
            if (seen[k] != k) FAIL("pair %d: turn %u copied %u", (int)i, k, seen[k]);
    }
    LIB_OK(culv_stream_wait_stream(w->device, plain, plain));
    CU_OK(cu->MemFree(list));
    CU_OK(cu->MemFree(value));
    lib_stream_destroy(w, second);
    lib_stream_destroy(w, plain);
    lib_leave(w, before);
}

/* Green contexts ------------------------------------------------------------------------------- */

enum { ROUNDS = 33 };

static void CUDA_CB nap(void *user)
{
    lib_sleep_ms(10);
}

/* A green context's stream waits and signals, submitted ahead and in a graph, and ends an
 * object. */
LIB_CASE(of_green_contexts)
{
    lib_green g = {0};
    uint32_t seen[ROUNDS + 1];
    const raw_cuda *cu = w->cu;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {0};
    if (!lib_green_open(w, &g)) {
        lib_close(w);
        SKIP("the driver has no green contexts");
    }
    VkSemaphore out = lib_case_timeline(w, 0), in = lib_case_timeline(w, 0),
                two = lib_case_timeline(w, 0);
    culv_semaphore *to_vulkan = lib_import_timeline(w, out), *to_cuda = lib_import_timeline(w, in),
                   *second = lib_import_timeline(w, two);
    CUcontext before = lib_enter(w);
    CUstream plain = lib_stream(w), reader = lib_stream(w);
    CUdeviceptr value = 0, list = 0;
    CU_OK(cu->MemAlloc(&value, 4));
    CU_OK(cu->MemAlloc(&list, sizeof seen));
    CU_OK(cu->MemsetD32Async(list, UINT32_MAX, ROUNDS + 1, reader));
    lib_finish(w, reader);
    CU_OK(cu->StreamBeginCapture(reader, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* somebody else's */
    for (uint32_t i = 0; i <= ROUNDS; i++) {
        const bool captured = i == ROUNDS;
        if (captured) CU_OK(cu->StreamEndCapture(reader, &graph));
        if (captured) CU_OK(cu->GraphDestroy(graph));
        if (captured) CU_OK(cu->StreamBeginCapture(g.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        LIB_OK((i % 2 ? wait_batch : culv_semaphore_wait)(to_cuda, g.stream, i + 1));
        CU_OK(cu->MemsetD32Async(value, i, 1, g.stream));
        const culv_semaphore_point points[] = {{to_vulkan, 2 * i + 1}, {second, i + 1}};
        LIB_OK(culv_semaphore_signal_batch(points, 1 + i % 2, g.stream));
        if (!captured) LIB_OK(culv_stream_wait_stream(w->device, plain, g.stream));
        if (i < 4) CU_OK(cu->LaunchHostFunc(plain, nap, NULL));
        CU_OK(cu->MemcpyDtoDAsync(list + i * sizeof(uint32_t), value, sizeof(uint32_t),
                                  captured ? g.stream : plain));
        if (!captured) LIB_OK(culv_stream_wait_stream(w->device, g.stream, plain));
        LIB_OK(culv_semaphore_signal(to_vulkan, g.stream, 2 * i + 2));
    }
    CU_OK(cu->StreamEndCapture(g.stream, &graph));
    CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &how));
    lib_sleep_ms(20);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, out), 0);
    for (uint32_t i = 0; i <= ROUNDS; i++) {
        if (i == ROUNDS) CU_OK(cu->GraphLaunch(exec, plain));
        raw_vk_timeline_signal(&w->vk, in, i + 1);
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 2, TEST_FAR_MS));
        /* The signal comes behind the copy. */
        CU_OK(cu->MemcpyDtoHAsync(&seen[i], list + i * sizeof(uint32_t), 4, reader));
        lib_finish(w, reader);
        REQUIRE_EQ(seen[i], i);
    }
    lib_finish(w, plain);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, two), ROUNDS + 1);
    CU_OK(cu->MemcpyDtoHAsync(seen, list, sizeof seen, plain));
    lib_finish(w, plain);
    for (uint32_t i = 0; i <= ROUNDS; i++)
        REQUIRE_EQ(seen[i], i);
    LIB_OK(culv_semaphore_destroy(&to_vulkan, &g.stream));
    LIB_OK(culv_semaphore_destroy(&to_cuda, &g.stream));
    LIB_OK(culv_semaphore_destroy(&second, &g.stream));
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->MemFree(list));
    CU_OK(cu->MemFree(value));
    lib_green_close(w, &g);
    lib_stream_destroy(w, reader);
    lib_stream_destroy(w, plain);
    lib_leave(w, before);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* Several semaphores by one driver call: all of a batch or nothing. */

enum { MAX = CULV_SEMAPHORE_BATCH_MAX, BINARIES = 2 };

/* More timelines than a batch may have, two binary semaphores where the driver has a partner for
 * them, and a stream. */
typedef struct fleet {
    lib_world w;
    CUstream stream;
    VkSemaphore timelines[MAX + 1];
    culv_semaphore *semaphores[MAX + 1];
    raw_binary others[BINARIES];
    culv_semaphore *binaries[BINARIES];
} fleet;

static fleet f;

#define FLEET_CASE(...)        FLEET_CASE_(fleet_open(false), __VA_ARGS__, .next = NULL)
#define FLEET_BINARY_CASE(...) FLEET_CASE_(fleet_open(true), __VA_ARGS__, .next = NULL)
#define FLEET_CASE_(open, name, ...)                                                               \
    static void name##_by(void);                                                                   \
    TEST_(name, __VA_ARGS__)                                                                       \
    {                                                                                              \
        open;                                                                                      \
        name##_by();                                                                               \
        fleet_close();                                                                             \
    }                                                                                              \
    static void name##_by(void)

static void fleet_open(bool binaries)
{
    memset(&f, 0, sizeof f);
    lib_open(&f.w);
    f.stream = lib_stream(&f.w);
    for (int i = 0; i <= MAX; i++) {
        f.timelines[i] = raw_vk_timeline(&f.w.vk, 0, true);
        f.semaphores[i] = lib_import_timeline(&f.w, f.timelines[i]);
    }
    for (int i = 0; binaries && i < BINARIES; i++) {
        raw_binary_create(&f.w.vk, f.w.cu, &f.others[i]);
        f.binaries[i] = lib_import_semaphore_fd(f.w.device, CULV_SEMAPHORE_BINARY,
                                                raw_binary_fd(&f.w.vk, &f.others[i]));
    }
}

static void fleet_close(void)
{
    lib_finish(&f.w, f.stream);
    for (int i = 0; i < BINARIES; i++) {
        if (f.binaries[i] == NULL) continue;
        culv_semaphore_destroy(&f.binaries[i], NULL);
        raw_binary_destroy(&f.w.vk, &f.others[i]);
    }
    for (int i = 0; i <= MAX; i++)
        culv_semaphore_destroy(&f.semaphores[i], NULL);
    lib_settle(&f.w);
    for (int i = 0; i <= MAX; i++)
        raw_vk_timeline_destroy(&f.w.vk, f.timelines[i]);
    lib_stream_destroy(&f.w, f.stream);
    lib_close(&f.w);
}

/* The stream's work is done, and each timeline is at `value` for CUDA, Culvert and Vulkan alike. */
static void require_values(uint64_t value)
{
    lib_finish(&f.w, f.stream);
    for (int i = 0; i <= MAX; i++) {
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[i]), value);
        REQUIRE_EQ(raw_vk_timeline_value(&f.w.vk, f.timelines[i]), value);
    }
}

static void all_timelines(culv_semaphore_point points[MAX + 1], uint64_t value)
{
    for (int i = 0; i <= MAX; i++)
        points[i] = (culv_semaphore_point){f.semaphores[i], value};
}

/* Sizes ---------------------------------------------------------------------------------------- */

FLEET_CASE(sizes)
{
    culv_semaphore_point points[MAX + 1];
    LIB_OK(culv_semaphore_signal_batch(NULL, 0, f.stream));
    LIB_OK(culv_semaphore_wait_batch(NULL, 0, f.stream));
    all_timelines(points, 1);
    LIB_OK(culv_semaphore_signal_batch(points, 0, f.stream));
    require_values(0);
    static const uint32_t too_many[] = {MAX + 1, MAX + 2, UINT32_MAX};
    for (int i = 0; i < 3; i++) { /* refused before what is beyond the array is read */
        LIB_INVALID(culv_semaphore_signal_batch(points, too_many[i], f.stream), VALUE);
        LIB_INVALID(culv_semaphore_wait_batch(points, too_many[i], f.stream), VALUE);
    }
    require_values(0);
    /* The largest one, and one of a single semaphore. */
    for (uint64_t value = 1; value <= 3; value++) {
        all_timelines(points, value);
        LIB_OK(culv_semaphore_signal_batch(points, MAX, f.stream));
        LIB_OK(culv_semaphore_signal_batch(points + MAX, 1, f.stream));
        LIB_OK(culv_semaphore_wait_batch(points, MAX, f.stream));
        require_values(value);
    }
    /* Each its own value. */
    for (int i = 0; i < MAX; i++)
        points[i].value = 100 + (uint64_t)i;
    LIB_OK(culv_semaphore_signal_batch(points, MAX, f.stream));
    lib_finish(&f.w, f.stream);
    for (int i = 0; i < MAX; i++)
        REQUIRE_EQ(raw_vk_timeline_value(&f.w.vk, f.timelines[i]), 100 + i);
}

/* The stream goes on when the last of them is there, each at its own value. Vulkan's timelines,
 * which may be waited for first. */
FLEET_CASE(waits_for_all)
{
    enum { COUNT = 5 };
    culv_semaphore_point points[COUNT];
    for (int i = 0; i < COUNT; i++) {
        points[i] = (culv_semaphore_point){f.semaphores[i], (uint64_t)i + 2};
        raw_vk_timeline_signal(&f.w.vk, f.timelines[i], (uint64_t)i + 1); /* not enough */
    }
    LIB_OK(culv_semaphore_wait_batch(points, COUNT, f.stream));
    for (int i = 0; i < COUNT; i++) {
        lib_sleep_ms(10);
        REQUIRE_EQ(lib_query(&f.w, f.stream), CUDA_ERROR_NOT_READY);
        raw_vk_timeline_signal(&f.w.vk, f.timelines[i], (uint64_t)i + 2);
    }
    lib_finish(&f.w, f.stream);
}

/* All or nothing ------------------------------------------------------------------------------- */

/* Binary semaphore i is as it was: signaled by nobody, or by the other API. */
static void require_binary(int i, bool signaled)
{
    if (signaled)
        LIB_INVALID(culv_semaphore_mark_signaled(f.binaries[i]), DOUBLE_SIGNAL);
    else
        LIB_INVALID(culv_semaphore_wait(f.binaries[i], f.stream, 0), WAIT_BEFORE_SIGNAL);
}

FLEET_BINARY_CASE(one_is_wrong, .title = "nothing.one_is_wrong")
{
    CUstream s = f.stream;
    LIB_OK(culv_semaphore_signal(f.semaphores[2], s, 9));
    /* The wrong one is third of four each time. */
    const struct {
        culv_semaphore_point wrong;
        culv_reason reason;
    } rows[] = {
        {{f.semaphores[2], 9}, CULV_REASON_TIMELINE_BACKWARDS},
        {{f.semaphores[2], 1}, CULV_REASON_TIMELINE_BACKWARDS},
        {{f.semaphores[3], 0}, CULV_REASON_TIMELINE_BACKWARDS},
        {{f.binaries[1], 1}, CULV_REASON_VALUE},
        {{f.semaphores[0], 6}, CULV_REASON_VALUE},
        {{f.binaries[0], 0}, CULV_REASON_VALUE},
        {{NULL, 1}, CULV_REASON_NULL_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const culv_semaphore_point points[] = {
            {f.semaphores[0], 5}, {f.binaries[0], 0}, rows[i].wrong, {f.semaphores[1], 5}};
        LIB_FAILS(culv_semaphore_signal_batch(points, 4, s), CULV_ERROR_INVALID, rows[i].reason);
        require_binary(0, false);
        require_binary(1, false);
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[0]), 0);
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[1]), 0);
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[2]), 9);
    }

    /* Waits: the first is signaled, the third is not. */
    raw_binary_signal(&f.w.vk, f.w.cu, &f.others[0]);
    LIB_OK(culv_semaphore_mark_signaled(f.binaries[0]));
    const culv_semaphore_point waits[] = {
        {f.binaries[0], 0}, {f.semaphores[2], 9}, {f.binaries[1], 0}, {f.semaphores[1], 0}};
    LIB_INVALID(culv_semaphore_wait_batch(waits, 4, s), WAIT_BEFORE_SIGNAL);
    require_binary(0, true);
    require_binary(1, false);
    const culv_semaphore_point twice[] = {
        {f.semaphores[0], 0}, {f.binaries[0], 0}, {f.semaphores[0], 0}};
    LIB_INVALID(culv_semaphore_wait_batch(twice, 3, s), VALUE);
    require_binary(0, true);
    LIB_OK(culv_semaphore_wait(f.binaries[0], s, 0));
    lib_finish(&f.w, s);
    for (int i = 0; i <= MAX; i++) /* what the driver has done */
        REQUIRE_EQ(raw_vk_timeline_value(&f.w.vk, f.timelines[i]), i == 2 ? 9 : 0);
}

/* The same in batches of timelines alone, which are checked by a way of their own: at each place,
 * the last one's included. */
FLEET_CASE(timelines_that_are_wrong, .title = "nothing.timelines_that_are_wrong")
{
    static const uint32_t sizes[] = {2, 3, MAX};
    static const struct {
        bool again; /* the semaphore of the point before, or of the one behind it */
        uint64_t value;
        culv_reason reason;
    } rows[] = {{false, 9, CULV_REASON_TIMELINE_BACKWARDS},
                {false, 8, CULV_REASON_TIMELINE_BACKWARDS},
                {false, 0, CULV_REASON_TIMELINE_BACKWARDS},
                {true, 10, CULV_REASON_VALUE},
                {true, 11, CULV_REASON_VALUE}};
    culv_semaphore_point points[MAX + 1];
    all_timelines(points, 9);
    LIB_OK(culv_semaphore_signal_batch(points, MAX, f.stream));
    LIB_OK(culv_semaphore_signal(f.semaphores[MAX], f.stream, 9));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (uint32_t at = 0; at < sizes[k]; at++) {
                all_timelines(points, 10);
                points[at].value = rows[r].value;
                if (rows[r].again) points[at].semaphore = f.semaphores[at > 0 ? at - 1 : 1];
                LIB_FAILS(culv_semaphore_signal_batch(points, sizes[k], f.stream),
                          CULV_ERROR_INVALID, rows[r].reason);
                if (rows[r].again)
                    LIB_FAILS(culv_semaphore_wait_batch(points, sizes[k], f.stream),
                              CULV_ERROR_INVALID, rows[r].reason);
            }
    require_values(9);
    all_timelines(points, 9); /* waits may repeat a value */
    LIB_OK(culv_semaphore_wait_batch(points, MAX, f.stream));
}

/* A stream that is refused. Each driver call fails in the scenario "binary". */
FLEET_BINARY_CASE(failures_are_taken_back, .title = "nothing.failures_are_taken_back")
{
    const raw_cuda *cu = f.w.cu;
    const foreign other = foreign_open(cu, 0);
    raw_binary_signal(&f.w.vk, cu, &f.others[1]);
    LIB_OK(culv_semaphore_mark_signaled(f.binaries[1]));
    const culv_semaphore_point signals[] = {
        {f.semaphores[0], 3}, {f.binaries[0], 0}, {f.semaphores[1], 3}};
    const culv_semaphore_point waits[] = {
        {f.semaphores[0], 0}, {f.binaries[1], 0}, {f.semaphores[1], 0}};
    LIB_INVALID(culv_semaphore_signal_batch(signals, 3, other.stream), STREAM_DEVICE);
    LIB_INVALID(culv_semaphore_wait_batch(waits, 3, other.stream), STREAM_DEVICE);
    require_binary(0, false);
    require_binary(1, true);
    LIB_OK(culv_semaphore_signal_batch(signals, 3, f.stream));
    LIB_OK(culv_semaphore_wait_batch(waits, 3, f.stream));
    REQUIRE(raw_binary_wait(&f.w.vk, cu, &f.others[0], TEST_FAR_MS));
    foreign_close(cu, 0, &other);
}

/* Of two devices, and of two culv_device of one GPU. */
FLEET_CASE_((raw_cuda_two_devices(), fleet_open(false)), of_two_devices,
            .title = "nothing.of_two_devices")
{
    int32_t last = f.w.cu->device_count > 1 ? 1 : 0;
    for (int32_t ordinal = 0; ordinal <= last; ordinal++) {
        OWN(culv_device) *second = lib_another_device(ordinal, NULL);
        culv_semaphore *stranger = lib_import_semaphore_fd(
            second, CULV_SEMAPHORE_TIMELINE, raw_vk_timeline_fd(&f.w.vk, f.timelines[MAX]));
        const culv_semaphore_point points[] = {
            {f.semaphores[0], 1}, {stranger, 1}, {f.semaphores[1], 1}};
        LIB_INVALID(culv_semaphore_signal_batch(points, 3, f.stream), DEVICE_MISMATCH);
        LIB_INVALID(culv_semaphore_wait_batch(points, 3, f.stream), DEVICE_MISMATCH);
        REQUIRE_EQ(culv_semaphore_last_value(stranger), 0);
        require_values(0);
        culv_semaphore_destroy(&stranger, NULL);
    }
}

/* Driver calls --------------------------------------------------------------------------------- */

static uint64_t calls(void)
{
    return lib_calls(f.w.cu);
}

/* What a hand-written program calls and nothing besides, whatever context is current: a stream that
 * is known brings its own along. */
FLEET_CASE(one_driver_call)
{
    culv_semaphore_point points[MAX + 1];
    if (f.w.cu->SoftCounts == NULL) SKIP("only the twin counts its calls");
    /* The stream is known from now on */
    LIB_OK(culv_semaphore_signal(f.semaphores[MAX], f.stream, 1));
    for (int inside = 0; inside < 2; inside++) {
        CUcontext before = NULL;
        if (inside) before = lib_enter(&f.w);
        static const uint32_t counts[] = {1, 2, MAX};
        for (int i = 0; i < 3; i++) {
            all_timelines(points, (uint64_t)(10 * inside + i + 2));
            uint64_t start = calls();
            LIB_OK(culv_semaphore_signal_batch(points, counts[i], f.stream));
            REQUIRE_EQ(calls() - start, 1);
            start = calls();
            LIB_OK(culv_semaphore_wait_batch(points, counts[i], f.stream));
            REQUIRE_EQ(calls() - start, 1);
        }
        /* For a default stream Culvert's context is made current. */
        uint64_t start = calls();
        LIB_OK(culv_semaphore_wait(f.semaphores[0], NULL, 0));
        REQUIRE_EQ(calls() - start, inside ? 2 : 4);
        start = calls();
        culv_semaphore_mark_value(f.semaphores[0], 1);
        (void)culv_semaphore_last_value(f.semaphores[0]);
        REQUIRE_EQ(calls() - start, 0);
        if (inside) lib_leave(&f.w, before);
    }
}

/* Each way to signal, with what each of them must look at. There is no Direct3D here: its counter
 * and its words are played. */

enum { TOUCHED = 3 }; /* of the fleet's timelines */
typedef enum way { ONE, BATCH_OF_ONE, BATCH, NODE, NODE_UPDATE, WAYS } way;

static culv_result signal_by(way how, uint64_t value)
{
    const raw_cuda *cu = f.w.cu;
    const culv_semaphore_point points[] = {{f.semaphores[0], value},
                                           {f.semaphores[1], 100 * value}};
    /* The node's own, before its update */
    const culv_semaphore_point others[] = {
        {f.semaphores[2], culv_semaphore_last_value(f.semaphores[2]) + 1}};
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphExec exec = NULL;
    culv_result result;
    switch (how) {
    case ONE: return culv_semaphore_signal(points[0].semaphore, f.stream, value);
    case BATCH_OF_ONE: return culv_semaphore_signal_batch(points, 1, f.stream);
    case BATCH:
        return culv_semaphore_signal_batch(points, value < UINT64_MAX / 100 ? 2 : 1, f.stream);
    default: break;
    }
    CUcontext before = lib_enter(&f.w);
    CU_OK(cu->GraphCreate(&graph, 0));
    result = culv_graph_add_node(graph, NULL, 0, CULV_GRAPH_SIGNAL, how == NODE ? points : others,
                                 1, &node);
    if (how == NODE_UPDATE) {
        CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
        LIB_OK(result);
        CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &params));
        result = culv_graph_exec_set_node(exec, node, CULV_GRAPH_SIGNAL, points, 1);
        CU_OK(cu->GraphExecDestroy(exec));
    }
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(&f.w, before);
    return result;
}

static bool play_counter(void *context, uint64_t *out)
{
    *out = *(uint64_t *)context;
    return *out != 0; /* 0: it does not answer */
}

FLEET_CASE(each_way_to_signal)
{
    static const struct {
        uint64_t reported, counter, value;
        bool d3d;
        culv_reason reason;
    } rows[] = {
        {5, 0, 5, false, CULV_REASON_TIMELINE_BACKWARDS},
        {0, 7, 7, false, CULV_REASON_TIMELINE_BACKWARDS},
        {3, 7, 6, true, CULV_REASON_TIMELINE_BACKWARDS},
        {0, UINT64_MAX, 9, true, CULV_REASON_TIMELINE_BACKWARDS}, /* the device was removed */
        {0, 0, UINT64_MAX, true, CULV_REASON_VALUE},
        {0, 7, 8, true, CULV_REASON_NONE},
        {5, 0, 6, false, CULV_REASON_NONE},
    };
    for (unsigned i = 0; i < WAYS * sizeof rows / sizeof rows[0]; i++) {
        const unsigned row = i / WAYS;
        uint64_t counter = rows[row].counter;
        /* New ones for each row; a new device for each takes a GPU with company minutes. */
        for (int j = 0; i > 0 && j < TOUCHED; j++) {
            culv_semaphore_destroy(&f.semaphores[j], NULL);
            lib_settle(&f.w);
            raw_vk_timeline_destroy(&f.w.vk, f.timelines[j]);
            f.timelines[j] = raw_vk_timeline(&f.w.vk, 0, true);
            f.semaphores[j] = lib_import_timeline(&f.w, f.timelines[j]);
        }
        culv_semaphore *s = f.semaphores[0];
        const culvi_words *own = s->words;
        culvi_words words = *own;
        if (rows[row].d3d) words.api = CULV_NATIVE_D3D;
        s->words = &words;
        if (rows[row].d3d || counter != 0) s->present.read = play_counter;
        s->present.context = &counter;
        culv_semaphore_mark_value(s, rows[row].reported);
        printf("row %u, way %u\n", row, i % WAYS);
        if (rows[row].reason == CULV_REASON_NONE)
            LIB_OK(signal_by((way)(i % WAYS), rows[row].value));
        else
            LIB_FAILS(signal_by((way)(i % WAYS), rows[row].value), CULV_ERROR_INVALID,
                      rows[row].reason);
        s->present.read = NULL;
        s->words = own;
        lib_finish(&f.w, f.stream);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "state."
/* Binary semaphores: what Culvert knows of their state, and data that two of them hand back and
 * forth. Their other side is Vulkan's, or the software twin's played one
 * (tests/support/raw_binary.h). */

/* A binary semaphore, imported by its fd, and a stream for it. */
typedef struct pair {
    lib_world w;
    raw_binary other;
    culv_semaphore *semaphore;
    CUstream stream;
} pair;

static culv_semaphore_desc describe(pair *p)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&p->w.vk, &p->other));
    d.type = CULV_SEMAPHORE_BINARY;
    d.label = "gate";
    memcpy(d.exporter.bytes, p->w.vk.id.deviceUUID, VK_UUID_SIZE);
    return d;
}

/* Without the import. */
static void pair_begin(pair *p)
{
    lib_open(&p->w);
    raw_binary_create(&p->w.vk, p->w.cu, &p->other);
    p->semaphore = NULL;
    p->stream = lib_stream(&p->w);
}

static void pair_open(pair *p)
{
    pair_begin(p);
    culv_semaphore_desc d = describe(p);
    LIB_TAKE(culv_semaphore_import(p->w.device, &d, &p->semaphore), &d.handle);
}

static void pair_close(pair *p)
{
    lib_finish(&p->w, p->stream);
    culv_semaphore_destroy(&p->semaphore, NULL);
    lib_settle(&p->w);
    lib_stream_destroy(&p->w, p->stream);
    raw_binary_destroy(&p->w.vk, &p->other);
    lib_close(&p->w);
}

#define PAIR_CASE(...) TEST_ON(pair, p, pair_open(p), pair_close(p), __VA_ARGS__)

/* The state table ------------------------------------------------------------------------------ */

typedef enum state { UNSIGNALED, BY_CUDA, BY_PEER, STATES } state;
typedef enum action {
    SIGNAL,
    WAIT,
    SIGNAL_BATCH,
    WAIT_BATCH,
    NOTE_SIGNAL,
    NOTE_WAIT,
    ACTIONS
} action;
static const char *const state_names[] = {"unsignaled", "signaled by CUDA",
                                          "signaled by the other API"};
static const char *const action_names[] = {"signal",     "wait",        "signal_batch",
                                           "wait_batch", "note_signal", "note_wait"};

static culv_result act(pair *p, action what)
{
    const culv_semaphore_point point = {p->semaphore, 0};
    switch (what) {
    case SIGNAL: return culv_semaphore_signal(p->semaphore, p->stream, 0);
    case WAIT: return culv_semaphore_wait(p->semaphore, p->stream, 0);
    case SIGNAL_BATCH: return culv_semaphore_signal_batch(&point, 1, p->stream);
    case WAIT_BATCH: return culv_semaphore_wait_batch(&point, 1, p->stream);
    case NOTE_SIGNAL: return culv_semaphore_mark_signaled(p->semaphore);
    case NOTE_WAIT: return culv_semaphore_mark_waited(p->semaphore);
    case ACTIONS: break;
    }
    FAIL("no such action");
}

/* The same as a program does it: the other API's half is submitted before it is told of. */
static void really_act(pair *p, action what)
{
    if (what == NOTE_SIGNAL) raw_binary_signal(&p->w.vk, p->w.cu, &p->other);
    if (what == NOTE_WAIT) REQUIRE(raw_binary_wait(&p->w.vk, p->w.cu, &p->other, TEST_FAR_MS));
    LIB_OK(act(p, what));
    /* The other API may signal again once the wait is done; programs have the other direction's
     * semaphore for that. */
    if (what == WAIT || what == WAIT_BATCH) lib_finish(&p->w, p->stream);
}

static void bring_into(pair *p, state to)
{
    if (to == BY_CUDA) really_act(p, SIGNAL);
    if (to == BY_PEER) really_act(p, NOTE_SIGNAL);
}

/* From any state to unsignaled, as it must be for this to succeed. */
static void bring_back(pair *p, state from)
{
    if (from == BY_CUDA) really_act(p, NOTE_WAIT);
    if (from == BY_PEER) really_act(p, WAIT);
}

static void require_state(pair *p, state expected)
{
    if (expected == BY_PEER) {
        LIB_INVALID(act(p, SIGNAL), DOUBLE_SIGNAL, "the other API");
        return;
    }
    LIB_FAILS(act(p, WAIT), CULV_ERROR_INVALID,
              expected == BY_CUDA ? CULV_REASON_SAME_SIDE : CULV_REASON_WAIT_BEFORE_SIGNAL);
}

/* What each action is in each state: refused for a reason, or the next state. */
static const struct {
    culv_reason reason;
    state next;
} table[STATES][ACTIONS] = {
    [UNSIGNALED] = {[SIGNAL] = {CULV_REASON_NONE, BY_CUDA},
                    [SIGNAL_BATCH] = {CULV_REASON_NONE, BY_CUDA},
                    [WAIT] = {CULV_REASON_WAIT_BEFORE_SIGNAL, UNSIGNALED},
                    [WAIT_BATCH] = {CULV_REASON_WAIT_BEFORE_SIGNAL, UNSIGNALED},
                    [NOTE_SIGNAL] = {CULV_REASON_NONE, BY_PEER},
                    [NOTE_WAIT] = {CULV_REASON_WAIT_BEFORE_SIGNAL, UNSIGNALED}},
    [BY_CUDA] = {[SIGNAL] = {CULV_REASON_DOUBLE_SIGNAL, BY_CUDA},
                 [SIGNAL_BATCH] = {CULV_REASON_DOUBLE_SIGNAL, BY_CUDA},
                 [WAIT] = {CULV_REASON_SAME_SIDE, BY_CUDA},
                 [WAIT_BATCH] = {CULV_REASON_SAME_SIDE, BY_CUDA},
                 [NOTE_SIGNAL] = {CULV_REASON_DOUBLE_SIGNAL, BY_CUDA},
                 [NOTE_WAIT] = {CULV_REASON_NONE, UNSIGNALED}},
    /* A wait of the other API for its own signal is its own affair: Vulkan allows it. */
    [BY_PEER] = {[SIGNAL] = {CULV_REASON_DOUBLE_SIGNAL, BY_PEER},
                 [SIGNAL_BATCH] = {CULV_REASON_DOUBLE_SIGNAL, BY_PEER},
                 [WAIT] = {CULV_REASON_NONE, UNSIGNALED},
                 [WAIT_BATCH] = {CULV_REASON_NONE, UNSIGNALED},
                 [NOTE_SIGNAL] = {CULV_REASON_DOUBLE_SIGNAL, BY_PEER},
                 [NOTE_WAIT] = {CULV_REASON_NONE, UNSIGNALED}},
};

PAIR_CASE(state_table, .title = "state.table")
{
    for (int from = 0; from < STATES; from++) {
        for (int what = 0; what < ACTIONS; what++) {
            printf("%s, %s\n", state_names[from], action_names[what]);
            bring_into(p, (state)from);
            if (table[from][what].reason == CULV_REASON_NONE) {
                really_act(p, (action)what);
            } else {
                LIB_FAILS(act(p, (action)what), CULV_ERROR_INVALID, table[from][what].reason,
                          "'gate'");
            }
            require_state(p, table[from][what].next);
            bring_back(p, table[from][what].next);
            require_state(p, UNSIGNALED);
        }
    }
}

PAIR_CASE(values_are_for_timelines)
{
    static const uint64_t values[] = {1, 2, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        const culv_semaphore_point point = {p->semaphore, values[i]};
        LIB_INVALID(culv_semaphore_signal(p->semaphore, p->stream, values[i]), VALUE);
        LIB_INVALID(culv_semaphore_signal_batch(&point, 1, p->stream), VALUE);
        require_state(p, UNSIGNALED);
        bring_into(p, BY_PEER);
        LIB_INVALID(culv_semaphore_wait(p->semaphore, p->stream, values[i]), VALUE);
        LIB_INVALID(culv_semaphore_wait_batch(&point, 1, p->stream), VALUE);
        require_state(p, BY_PEER);
        bring_back(p, BY_PEER);
    }
    culv_semaphore_mark_value(p->semaphore, 7); /* a timeline's */
    REQUIRE_EQ(culv_semaphore_last_value(p->semaphore), 0);
    require_state(p, UNSIGNALED);
    bring_into(p, BY_CUDA);
    bring_back(p, BY_CUDA);

    /* And the other way round. */
    VkSemaphore timeline = lib_case_timeline(&p->w, 0);
    OWN(culv_semaphore) *other = lib_import_timeline(&p->w, timeline);
    LIB_INVALID(culv_semaphore_mark_signaled(other), VALUE, "culv_semaphore_mark_value");
    LIB_INVALID(culv_semaphore_mark_waited(other), VALUE);
}

/* Data ----------------------------------------------------------------------------------------- */

static void wait_until(void *opened)
{
    while (!atomic_load((atomic_bool *)opened))
        lib_sleep_ms(1);
}

/* CUDA's wait is submitted while the signal, which was submitted before it, still waits for
 * something else. */
PAIR_CASE(stream_waits, .title = "stream_waits", .smoke = true)
{
    VkSemaphore gate = raw_vk_timeline(&p->w.vk, 0, false);
    atomic_bool opened = false;
    bool played = p->other.vk == VK_NULL_HANDLE;
    if (!played)
        raw_vk_submit(
            &p->w.vk, raw_vk_begin(&p->w.vk, 0),
            &(raw_vk_job){.wait = gate, .wait_value = 1, .signal = p->other.vk, .pending = true});
    LIB_OK(act(p, NOTE_SIGNAL));
    LIB_OK(act(p, WAIT));
    lib_sleep_ms(30);
    REQUIRE_EQ(lib_query(&p->w, p->stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&p->w.vk, gate, 1);
    if (played) raw_binary_signal(&p->w.vk, p->w.cu, &p->other);
    lib_finish(&p->w, p->stream);
    raw_vk_idle(&p->w.vk);
    /* Both halves are given up before the next wait is over, Vulkan's first. */
    raw_vk_timeline_destroy(&p->w.vk, gate);
    LIB_CU_OK(&p->w, p->w.cu->LaunchHostFunc(p->stream, wait_until, &opened));
    bring_into(p, BY_PEER);
    LIB_OK(act(p, WAIT));
    raw_binary_destroy(&p->w.vk, &p->other);
    LIB_OK(culv_semaphore_destroy(&p->semaphore, &p->stream));
    REQUIRE_EQ(lib_query(&p->w, p->stream), CUDA_ERROR_NOT_READY);
    atomic_store(&opened, true);
    lib_finish(&p->w, p->stream);
}

#undef TEST_GROUP
#define TEST_GROUP "vulkan."
/* Binary semaphores by the Vulkan road: the caller's own and those that Culvert makes. */

#define ROAD_CASE(...) TEST_ON(pair, r, pair_begin(r), pair_close(r), __VA_ARGS__)

/* Three turns in each direction. */
static void alternate(pair *r, culv_semaphore *semaphore, const raw_binary *other)
{
    for (int i = 0; i < 3; i++) {
        LIB_OK(culv_semaphore_signal(semaphore, r->stream, 0));
        REQUIRE(raw_binary_wait(&r->w.vk, r->w.cu, other, TEST_FAR_MS));
        LIB_OK(culv_semaphore_mark_waited(semaphore));
        raw_binary_signal(&r->w.vk, r->w.cu, other);
        LIB_OK(culv_semaphore_mark_signaled(semaphore));
        LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0));
        lib_finish(&r->w, r->stream);
    }
}

ROAD_CASE(imported)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r->other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    NEW(culv_semaphore, semaphore, culv_vk_semaphore_import, r->w.attachment, &d);
    LIB_INVALID(culv_semaphore_wait(semaphore, r->stream, 0), WAIT_BEFORE_SIGNAL);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, NULL);

    raw_binary_signal(&r->w.vk, r->w.cu, &r->other);
    d.signal_pending = 1;
    LIB_OK(culv_vk_semaphore_import(r->w.attachment, &d, &semaphore));
    LIB_INVALID(culv_semaphore_mark_signaled(semaphore), DOUBLE_SIGNAL);
    LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0));
    lib_finish(&r->w, r->stream);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, NULL);

    raw_binary_signal(&r->w.vk, r->w.cu, &r->other);
    d.signal_pending = 0;
    d.untracked = 1;
    LIB_OK(culv_vk_semaphore_import(r->w.attachment, &d, &semaphore));
    LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0)); /* nobody told of the signal */
    lib_finish(&r->w, r->stream);
    for (int i = 0; i < 2; i++) { /* no-ops, in any order */
        LIB_OK(culv_semaphore_mark_waited(semaphore));
        LIB_OK(culv_semaphore_mark_signaled(semaphore));
        LIB_OK(culv_semaphore_mark_signaled(semaphore));
    }
    alternate(r, semaphore, &r->other);
    LIB_INVALID(culv_semaphore_signal(semaphore, r->stream, 1), VALUE);
    LIB_INVALID(culv_semaphore_wait(semaphore, r->stream, 1), VALUE);
    culv_semaphore_destroy(&semaphore, &r->stream);
}

ROAD_CASE(made)
{
    culv_shared_semaphore *made = NULL;
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    for (int i = 0; i < 2; i++) {
        d.untracked = i == 1;
        LIB_OK(culv_vk_semaphore_create(r->w.attachment, &d, &made));
        REQUIRE(culv_vk_semaphore_handle(made) != VK_NULL_HANDLE);
        culv_semaphore *cuda = culv_shared_semaphore_cuda(made);
        REQUIRE_EQ(lib_counts(&r->w).created, 1);
        const raw_binary other = {.vk = culv_vk_semaphore_handle(made), .peer = -1};
        alternate(r, cuda, &other);
        if (d.untracked)
            LIB_OK(culv_semaphore_mark_waited(cuda)); /* a no-op */
        else
            LIB_INVALID(culv_semaphore_mark_waited(cuda), WAIT_BEFORE_SIGNAL);
        raw_vk_idle(&r->w.vk); /* Vulkan's use is over, and the validation layer knows */
        culv_shared_semaphore_destroy(&made, i != 0 ? &r->stream : NULL);
        REQUIRE(made == NULL);
    }
}

/* Each call of culv_vk_device_lost() lets one wait go; `calls`: as many as are allowed. */
static void lose_until_done(pair *r, int calls)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (lib_query(&r->w, r->stream) == CUDA_ERROR_NOT_READY) {
        if (calls-- > 0) LIB_OK(culv_vk_device_lost(r->w.attachment));
        lib_sleep_ms(1);
        if (test_now_us() > until) FAIL("the stream still waits");
    }
    lib_finish(&r->w, r->stream);
}

/* The VkDevice is lost, and with it a submission that was to signal: CUDA signals in its place.
 * What a GPU's driver does after a real loss is not known; here its VkDevice lives. */
ROAD_CASE(lost, .own = true)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r->other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    culv_semaphore *untracked = NULL;
    culv_shared_semaphore *made = NULL;

    NEW(culv_semaphore, tracked, culv_vk_semaphore_import, r->w.attachment, &d);
    for (int i = 0; i < 3; i++) { /* a second call signals what was added */
        LIB_OK(culv_semaphore_mark_signaled(tracked));
        LIB_OK(culv_semaphore_wait(tracked, r->stream, 0));
        REQUIRE_EQ(lib_query(&r->w, r->stream), CUDA_ERROR_NOT_READY);
        lose_until_done(r, 1);
    }
    culv_semaphore_destroy(&tracked, NULL);

    /* Two frames in flight: each call lets one go, or the same one twice. */
    d.untracked = 1;
    LIB_OK(culv_vk_semaphore_import(r->w.attachment, &d, &untracked));
    LIB_OK(culv_semaphore_wait(untracked, r->stream, 0));
    LIB_OK(culv_semaphore_wait(untracked, r->stream, 0));
    lose_until_done(r, 1000000);
    culv_semaphore_destroy(&untracked, NULL);

    /* The destroy of one that Culvert made signals what was added since. */
    culv_vk_semaphore_create_desc m = culv_vk_semaphore_create_desc_init();
    m.type = CULV_SEMAPHORE_BINARY;
    m.untracked = 1;
    LIB_OK(culv_vk_semaphore_create(r->w.attachment, &m, &made));
    culv_semaphore *cuda = culv_shared_semaphore_cuda(made);
    /* A signal may be left of the calls before. */
    for (int i = 0; i < 3 && lib_query(&r->w, r->stream) == CUDA_SUCCESS; i++)
        LIB_OK(culv_semaphore_wait(cuda, r->stream, 0));
    REQUIRE_EQ(lib_query(&r->w, r->stream), CUDA_ERROR_NOT_READY);
    culv_shared_semaphore_destroy(&made, NULL);
    lose_until_done(r, 0);
}

/* What the device says of itself decides, also of a semaphore of the caller's: drivers crash when
 * they are to export what they cannot. */
static void refuse_export(culv_semaphore_type type, lib_lies lies, const char *advice)
{
    lib_world w;
    lib_open(&w);
    culv_shared_semaphore *made = NULL;
    culv_semaphore *imported = NULL;
    culv_vk_device *vk = NULL;
    culv_vk_device_desc open = lib_vk_desc(&w);
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    culv_vk_semaphore_desc own = culv_vk_semaphore_desc_init();
    d.type = own.type = type;
    d.label = own.label = "present";
    own.semaphore = type == CULV_SEMAPHORE_BINARY ? raw_vk_binary(&w.vk, true)
                                                  : raw_vk_timeline(&w.vk, 0, true);
    lib_lying = lies;
    open.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(w.device, &open, &vk));
    LIB_REFUSES(made, culv_vk_semaphore_create(vk, &d, &made), UNSUPPORTED, NOT_EXPORTABLE,
                "'present'", w.vk.properties.deviceName, advice);
    LIB_REFUSES(imported, culv_vk_semaphore_import(vk, &own, &imported), UNSUPPORTED,
                NOT_EXPORTABLE, advice);
    lib_require_driver_counts(&w, 0, 0, 0);
    culv_vk_detach(&vk);
    raw_vk_semaphore_destroy(&w.vk, own.semaphore);
    lib_close(&w); /* nothing was made */
}

TEST(not_exportable)
{
    refuse_export(CULV_SEMAPHORE_BINARY, (lib_lies){.exports_no_binaries = true}, "use a timeline");
}

/* Such a device is no partner for rings, but memory and binary semaphores go. */
TEST(timelines_not_exportable)
{
    static culv_vk_candidate list[16];
    uint32_t count = 16, i = 0;
    refuse_export(CULV_SEMAPHORE_TIMELINE, (lib_lies){.exports_no_timelines = true},
                  "use a binary one");
    pair r;
    culv_semaphore *semaphore = NULL;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    pair_begin(&r);
    culv_vk_device *vk = NULL;
    culv_vk_device_desc open = lib_vk_desc(&r.w);
    open.get_instance_proc_addr = lib_lying_loader;
    lib_lying = (lib_lies){.exports_no_timelines = true};
    for (uint32_t j = 0; j < count; j++)
        list[j] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(lib_lying_loader, r.w.vk.instance, NULL, list, count,
                                         &count));
    while (i < count && list[i].physical_device != r.w.vk.physical)
        i++;
    REQUIRE(i < count && !list[i].reachable);
    REQUIRE_EQ(list[i].reason, CULV_REASON_NOT_EXPORTABLE);
    REQUIRE(strstr(list[i].reason_text, "Memory and binary semaphores can be shared") != NULL);
    LIB_OK(culv_vk_attach(r.w.device, &open, &vk));
    b.create_info = &info;
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, vk, &b);
    d.semaphore = r.other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    LIB_OK(culv_vk_semaphore_import(vk, &d, &semaphore));
    alternate(&r, semaphore, &r.other);
    culv_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_vk_detach(&vk);
    pair_close(&r);
}

/* Nobody may ask a binary semaphore for its counter: lavapipe crashes. */
TEST(told_as_timeline)
{
    lib_with_option("--validation=off");
    pair r;
    pair_begin(&r);
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r.other.vk;
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = "present";
    const culv_result result = culv_vk_semaphore_import(r.w.attachment, &d, &semaphore);
    const culv_error e = lib_last_error();
    printf("%s\n", e.message);
    if (result == CULV_OK && !r.w.cu->software) { /* an H200's do not tell them apart (measured) */
        MEASURED("library.binary_told_as_timeline", "value %" PRIu64,
                 culv_semaphore_last_value(semaphore));
        culv_semaphore_destroy(&semaphore, NULL);
    } else {
        REQUIRE(result != CULV_OK && semaphore == POISON(culv_semaphore));
        REQUIRE(e.reason == CULV_REASON_NOT_EXPORTABLE || e.reason == CULV_REASON_HANDLE_REFUSED);
        LIB_SAYS("'present'");
        REQUIRE_EQ(lib_counts(&r.w).semaphores, 0);
    }
    pair_close(&r);
}
