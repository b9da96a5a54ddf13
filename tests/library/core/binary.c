/* SPDX-License-Identifier: MIT */
/* Binary semaphores: what Culvert knows of their state, and data that two of them hand back and
 * forth. Their other side is Vulkan's, or the software twin's played one
 * (tests/support/raw_binary.h). */
#define TEST_GROUP "state."
#include "library.h"
#include "raw_binary.h"

#include <inttypes.h>
#include <stdatomic.h>

/* In the static library of a build with tests. */
extern _Atomic long culvi_alloc_count;

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

static void pair_open(pair *p)
{
    lib_open(&p->w);
    raw_binary_create(&p->w.vk, p->w.cu, &p->other);
    culv_semaphore_desc d = describe(p);
    LIB_TAKE(culv_semaphore_import(p->w.device, &d, &p->semaphore), &d.handle);
    p->stream = lib_stream(&p->w);
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
    lib_settle(&p->w);
}

/* Imports -------------------------------------------------------------------------------------- */

/* Of the other type: the twin's handles tell, NVIDIA's driver takes many an fd for what it is
 * not. */
PAIR_CASE(types_are_mixed_up, .title = "import.types_are_mixed_up")
{
    VkSemaphore timeline = lib_case_timeline(&p->w, 0);
    culv_semaphore *wrong = POISON(culv_semaphore);
    culv_semaphore_desc d = describe(p);
    d.type = CULV_SEMAPHORE_TIMELINE;
    lib_fd fd = lib_fd_watch(d.handle.value.fd);
    if (p->w.cu->software)
        LIB_REFUSES(wrong, culv_semaphore_import(p->w.device, &d, &wrong), DRIVER, HANDLE_REFUSED);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    d.type = CULV_SEMAPHORE_BINARY;
    d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&p->w.vk, timeline));
    fd = lib_fd_watch(d.handle.value.fd);
    if (p->w.cu->software)
        LIB_REFUSES(wrong, culv_semaphore_import(p->w.device, &d, &wrong), DRIVER, HANDLE_REFUSED);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
}

/* Data ----------------------------------------------------------------------------------------- */

/* CUDA's wait is submitted while the signal, which was submitted before it, still waits for
 * something else. */
PAIR_CASE(stream_waits, .title = "stream_waits", .smoke = true)
{
    VkSemaphore gate = raw_vk_timeline(&p->w.vk, 0, false);
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
    raw_vk_timeline_destroy(&p->w.vk, gate);
}

/* A thousand turns. Vulkan writes word r and signals; CUDA waits, logs it, writes an answer and
 * signals; Vulkan waits and logs that with its next word. One semaphore for each direction, and one
 * queue: a wait that is submitted to another one ahead of time takes a signal meant for an earlier
 * wait (measured, tests/contract/timelines.c). */
LIB_CASE(alternations, .title = "alternations")
{
    enum { ROUNDS = 1000, BATCH = 100 };
    const raw_cuda *cu = w->cu;
    raw_binary asked, answered;
    raw_binary_create(&w->vk, cu, &asked);
    raw_binary_create(&w->vk, cu, &answered);
    culv_semaphore *to_cuda = NULL, *to_vulkan = NULL;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&w->vk, &asked));
    LIB_TAKE(culv_semaphore_import(w->device, &d, &to_cuda), &d.handle);
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&w->vk, &answered));
    LIB_TAKE(culv_semaphore_import(w->device, &d, &to_vulkan), &d.handle);
    raw_vk_buffer shared = lib_case_buffer(w, 4096, RAW_VK_EXPORT);
    raw_vk_buffer log = lib_case_buffer(w, (ROUNDS + 1) * 4, RAW_VK_HOST);
    culv_memory *memory = lib_import(w, &shared);
    NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
    CUstream stream = lib_stream(w);
    CUdeviceptr p = culv_buffer_pointer(buffer) + shared.offset, words = 0;
    static uint32_t heard[ROUNDS];
    long allocated = 0;
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemAlloc(&words, ROUNDS * 4));
    double start = test_now_us();
    for (uint32_t r = 0; r <= ROUNDS; r++) {
        const uint32_t queue = 0;
        if (r == 2) allocated = atomic_load(&culvi_alloc_count);
        VkCommandBuffer commands = raw_vk_begin(&w->vk, queue);
        const VkBufferCopy copy = {.srcOffset = 4, .dstOffset = (VkDeviceSize)r * 4, .size = 4};
        raw_vk_acquire(&w->vk, commands, queue, &shared);
        if (r > 0) vkCmdCopyBuffer(commands, shared.buffer, log.buffer, 1, &copy);
        if (r < ROUNDS) vkCmdFillBuffer(commands, shared.buffer, 0, 4, lib_word(r, 5));
        raw_vk_release(&w->vk, commands, queue, &shared);
        raw_binary_turn turn = {
            .queue = queue, .wait = r > 0 ? &answered : NULL, .signal = r < ROUNDS ? &asked : NULL};
        raw_vk_submit(&w->vk, commands, raw_binary_turn_begin(cu, &turn));
        if (r > 0) LIB_OK(culv_semaphore_mark_waited(to_vulkan));
        if (r == ROUNDS) break;
        LIB_OK(culv_semaphore_mark_signaled(to_cuda));

        LIB_OK(culv_semaphore_wait(to_cuda, stream, 0));
        CU_OK(cu->MemcpyDtoDAsync(words + (CUdeviceptr)r * 4, p, 4, stream));
        CU_OK(cu->MemsetD32Async(p + 4, lib_word(r, 9), 1, stream));
        LIB_OK(culv_semaphore_signal(to_vulkan, stream, 0));
        if (r % BATCH == 0) raw_vk_idle(&w->vk);
    }
    REQUIRE_EQ(atomic_load(&culvi_alloc_count), allocated); /* nothing, once it runs */
    CU_OK(cu->StreamSynchronize(stream));
    raw_vk_idle(&w->vk);
    MEASURED("library.binary_round_trip_us", "%.1f", (test_now_us() - start) / ROUNDS);
    CU_OK(cu->MemcpyDtoH(heard, words, sizeof heard));
    CU_OK(cu->MemFree(words));
    lib_leave(w, before);
    REQUIRE_WORDS(heard, ROUNDS, 5);
    REQUIRE_WORDS((const uint32_t *)log.mapped + 1, ROUNDS, 9);
    culv_semaphore_destroy(&to_cuda, NULL);
    culv_semaphore_destroy(&to_vulkan, NULL);
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    lib_settle(w);
    lib_stream_destroy(w, stream);
    raw_binary_destroy(&w->vk, &asked);
    raw_binary_destroy(&w->vk, &answered);
}

#undef TEST_GROUP
#define TEST_GROUP "vulkan."
/* Binary semaphores by the Vulkan road: the caller's own and those that Culvert makes. */

typedef struct road {
    lib_world w;
    raw_binary other;
    culv_vk_device *vk; /* through which binary semaphores can be had */
    CUstream stream;
} road;

static void road_open(road *r)
{
    lib_open(&r->w);
    raw_binary_create(&r->w.vk, r->w.cu, &r->other);
    const culv_vk_device_desc d = lib_vk_desc(&r->w);
    r->vk = NULL;
    LIB_OK(culv_vk_attach(r->w.device, &d, &r->vk));
    r->stream = lib_stream(&r->w);
}

static void road_close(road *r)
{
    lib_finish(&r->w, r->stream);
    lib_settle(&r->w);
    culv_vk_detach(&r->vk);
    lib_stream_destroy(&r->w, r->stream);
    raw_binary_destroy(&r->w.vk, &r->other);
    lib_close(&r->w);
}

#define ROAD_CASE(...) TEST_ON(road, r, road_open(r), road_close(r), __VA_ARGS__)

/* Three turns in each direction. */
static void alternate(road *r, culv_semaphore *semaphore, const raw_binary *other)
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
    NEW(culv_semaphore, semaphore, culv_vk_semaphore_import, r->vk, &d);
    LIB_INVALID(culv_semaphore_wait(semaphore, r->stream, 0), WAIT_BEFORE_SIGNAL);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, NULL);

    raw_binary_signal(&r->w.vk, r->w.cu, &r->other);
    d.signal_pending = 1;
    LIB_OK(culv_vk_semaphore_import(r->vk, &d, &semaphore));
    LIB_INVALID(culv_semaphore_mark_signaled(semaphore), DOUBLE_SIGNAL);
    LIB_OK(culv_semaphore_wait(semaphore, r->stream, 0));
    lib_finish(&r->w, r->stream);
    alternate(r, semaphore, &r->other);
    culv_semaphore_destroy(&semaphore, NULL);

    raw_binary_signal(&r->w.vk, r->w.cu, &r->other);
    d.signal_pending = 0;
    d.untracked = 1;
    LIB_OK(culv_vk_semaphore_import(r->vk, &d, &semaphore));
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
        LIB_OK(culv_vk_semaphore_create(r->vk, &d, &made));
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
static void lose_until_done(road *r, int calls)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (lib_query(&r->w, r->stream) == CUDA_ERROR_NOT_READY) {
        if (calls-- > 0) LIB_OK(culv_vk_device_lost(r->vk));
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

    NEW(culv_semaphore, tracked, culv_vk_semaphore_import, r->vk, &d);
    for (int i = 0; i < 3; i++) { /* a second call signals what was added */
        LIB_OK(culv_semaphore_mark_signaled(tracked));
        LIB_OK(culv_semaphore_wait(tracked, r->stream, 0));
        REQUIRE_EQ(lib_query(&r->w, r->stream), CUDA_ERROR_NOT_READY);
        lose_until_done(r, 1);
    }
    culv_semaphore_destroy(&tracked, NULL);

    /* Two frames in flight: each call lets one go, or the same one twice. */
    d.untracked = 1;
    LIB_OK(culv_vk_semaphore_import(r->vk, &d, &untracked));
    LIB_OK(culv_semaphore_wait(untracked, r->stream, 0));
    LIB_OK(culv_semaphore_wait(untracked, r->stream, 0));
    lose_until_done(r, 1000000);
    culv_semaphore_destroy(&untracked, NULL);

    /* The destroy of one that Culvert made signals what was added since. */
    culv_vk_semaphore_create_desc m = culv_vk_semaphore_create_desc_init();
    m.type = CULV_SEMAPHORE_BINARY;
    m.untracked = 1;
    LIB_OK(culv_vk_semaphore_create(r->vk, &m, &made));
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
    road r;
    culv_semaphore *semaphore = NULL;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    road_open(&r);
    culv_vk_detach(&r.vk);
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
    LIB_OK(culv_vk_attach(r.w.device, &open, &r.vk));
    b.create_info = &info;
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, r.vk, &b);
    d.semaphore = r.other.vk;
    d.type = CULV_SEMAPHORE_BINARY;
    LIB_OK(culv_vk_semaphore_import(r.vk, &d, &semaphore));
    alternate(&r, semaphore, &r.other);
    culv_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    road_close(&r);
}

/* Asking for it is against the specification, so validation stays off; what a driver does is its
 * own affair, but Culvert answers for what it hands out. */
TEST(not_made_for_export, .own = true)
{
    lib_with_option("--validation=off");
    lib_world w;
    lib_open(&w);
    VkSemaphore plain = raw_vk_binary(&w.vk, false);
    raw_vk_buffer buffer = lib_case_buffer(&w, 65536, 0);
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_memory *memory = POISON(culv_memory);
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    d.semaphore = plain;
    d.type = CULV_SEMAPHORE_BINARY;
    md.memory = buffer.memory;
    md.allocation_size = buffer.allocation_size;
    for (int i = 0; i < 2; i++) {
        culv_error e = culv_error_init();
        lib_forget_error();
        culv_result r = i == 0 ? culv_vk_semaphore_import(w.attachment, &d, &semaphore)
                               : culv_vk_memory_import(w.attachment, &md, &memory);
        culv_last_error(&e);
        printf("%s\n", r == CULV_OK ? "the driver exported it" : e.message);
        if (w.cu->software) REQUIRE(r != CULV_OK && (i == 0 || r == CULV_ERROR_INVALID));
        if (r == CULV_OK) continue;
        REQUIRE(e.reason == CULV_REASON_NOT_EXPORTABLE || e.reason == CULV_REASON_HANDLE_REFUSED);
        if (i == 0) REQUIRE(semaphore == POISON(culv_semaphore));
        if (i == 0) semaphore = NULL;
        if (i == 1) REQUIRE(memory == POISON(culv_memory));
        if (i == 1) memory = NULL;
    }
    culv_semaphore_destroy(&semaphore, NULL);
    culv_memory_destroy(&memory);
    raw_vk_semaphore_destroy(&w.vk, plain);
    lib_close(&w);
}

/* Nobody may ask a binary semaphore for its counter: lavapipe crashes. */
TEST(told_as_timeline)
{
    lib_with_option("--validation=off");
    road r;
    road_open(&r);
    culv_semaphore *semaphore = POISON(culv_semaphore);
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = r.other.vk;
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = "present";
    /* By a handle that is none, or that is a binary semaphore's. */
    culv_vk_device *const roads[] = {r.w.attachment, r.vk};
    for (int i = 0; i < 2; i++) {
        lib_forget_error();
        culv_result result = culv_vk_semaphore_import(roads[i], &d, &semaphore);
        culv_error e = culv_error_init();
        culv_last_error(&e);
        printf("%s\n", e.message);
        if (result == CULV_OK &&
            !r.w.cu->software) { /* an H200's drivers do not tell the two apart (measured) */
            MEASURED("library.binary_told_as_timeline", "value %" PRIu64,
                     culv_semaphore_last_value(semaphore));
            culv_semaphore_destroy(&semaphore, NULL);
            semaphore = POISON(culv_semaphore);
            continue;
        }
        REQUIRE(result != CULV_OK && semaphore == POISON(culv_semaphore));
        REQUIRE(e.reason == CULV_REASON_NOT_EXPORTABLE || e.reason == CULV_REASON_HANDLE_REFUSED);
        LIB_SAYS("'present'");
        REQUIRE_EQ(lib_counts(&r.w).semaphores, 0);
    }
    road_close(&r);
}
