/* SPDX-License-Identifier: MIT */
/* Binary semaphores: what Culvert knows of their state, and data that two of them hand back and
 * forth. Their other side is Vulkan's, or the software twin's played one
 * (tests/support/raw_binary.h). */
#define TEST_GROUP "state."
#include "library.h"
#include "raw_binary.h"

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

/* Neither a stream that is refused nor a driver that refuses changes what is known. */
PAIR_CASE(failed_calls_change_nothing)
{
    const raw_cuda *cu = p->w.cu;
    CUcontext context = NULL, popped = NULL;
    CUstream stream = NULL, own = p->stream;
    REQUIRE(cu->CtxCreate != NULL);
    CU_OK(cu->CtxCreate(&context, 0, 0));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    for (int what = SIGNAL; what <= WAIT_BATCH; what++) {
        state from = what == WAIT || what == WAIT_BATCH ? BY_PEER : UNSIGNALED;
        bring_into(p, from);
        p->stream = stream;
        LIB_INVALID(act(p, (action)what), STREAM_DEVICE);
        p->stream = own;
        require_state(p, from);
        bool met = cu->SoftFailAt == NULL;
        /* Each driver call of it in turn. */
        for (uint64_t n = 1; cu->SoftFailAt != NULL; n++) {
            lib_forget_error();
            cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
            culv_result r = act(p, (action)what);
            const char *call = cu->SoftFailedCall();
            cu->SoftFailAt(0, 0);
            if (r == CULV_OK) break;
            REQUIRE_EQ(r, CULV_ERROR_DRIVER);
            REQUIRE(call != NULL);
            met = met || strstr(call, "ExternalSemaphoresAsync") != NULL;
            require_state(p, from);
        }
        REQUIRE(met);
        if (cu->SoftFailAt == NULL) LIB_OK(act(p, (action)what));
        lib_finish(&p->w, own);
        require_state(p, table[from][what].next);
        bring_back(p, table[from][what].next);
    }
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamDestroy(stream));
    CU_OK(cu->CtxDestroy(context));
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

PAIR_CASE(signal_is_pending_at_import, .title = "import.signal_is_pending")
{
    culv_semaphore_destroy(&p->semaphore, NULL);
    culv_semaphore_desc d = describe(p);
    d.signal_pending = 1;
    raw_binary_signal(&p->w.vk, p->w.cu, &p->other);
    LIB_TAKE(culv_semaphore_import(p->w.device, &d, &p->semaphore), &d.handle);
    REQUIRE_EQ(culv_semaphore_last_value(p->semaphore), 0);
    require_state(p, BY_PEER);
    LIB_INVALID(act(p, NOTE_SIGNAL), DOUBLE_SIGNAL);
    really_act(p, WAIT);
    require_state(p, UNSIGNALED);
}

/* Whoever asks for it keeps the order alone. */
PAIR_CASE(untracked)
{
    culv_semaphore_destroy(&p->semaphore, NULL);
    culv_semaphore_desc d = describe(p);
    d.untracked = 1;
    LIB_TAKE(culv_semaphore_import(p->w.device, &d, &p->semaphore), &d.handle);
    for (int i = 0; i < 3; i++) { /* no-ops, in any order */
        LIB_OK(act(p, NOTE_WAIT));
        LIB_OK(act(p, NOTE_SIGNAL));
        LIB_OK(act(p, NOTE_SIGNAL));
        LIB_OK(act(p, NOTE_WAIT));
        LIB_OK(act(p, i == 0 ? SIGNAL_BATCH : SIGNAL)); /* of a signaled one, as it was told */
        REQUIRE(raw_binary_wait(&p->w.vk, p->w.cu, &p->other, TEST_FAR_MS));
        raw_binary_signal(&p->w.vk, p->w.cu, &p->other);
        LIB_OK(act(p, i == 0 ? WAIT_BATCH : WAIT)); /* nobody told of that signal */
        lib_finish(&p->w, p->stream);
    }
    LIB_INVALID(culv_semaphore_signal(p->semaphore, p->stream, 1), VALUE);
    LIB_INVALID(culv_semaphore_wait(p->semaphore, p->stream, 1), VALUE);
}

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
    raw_vk_buffer shared, log;
    raw_vk_buffer_create(&w->vk, 4096, RAW_VK_EXPORT, &shared);
    raw_vk_buffer_create(&w->vk, (ROUNDS + 1) * 4, RAW_VK_HOST, &log);
    culv_memory *memory = lib_import(w, &shared);
    NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
    CUstream stream = lib_stream(w);
    CUdeviceptr p = culv_buffer_pointer(buffer) + shared.offset, words = 0;
    static uint32_t heard[ROUNDS];
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemAlloc(&words, ROUNDS * 4));
    double start = test_now_us();
    for (uint32_t r = 0; r <= ROUNDS; r++) {
        const uint32_t queue = 0;
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
    raw_vk_buffer_destroy(&w->vk, &log);
    raw_vk_buffer_destroy(&w->vk, &shared);
}
