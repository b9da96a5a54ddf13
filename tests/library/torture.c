/* The whole path, with each driver call, Vulkan call and allocation of Culvert's made to fail once in turn.
 *
 * A path that meets a failure either succeeds all the same or answers with an error whose class fits; what it
 * was to write stays as it was, handles stay the caller's, and after it everything that was made can be
 * destroyed and nothing is left: file descriptors, the driver's and the layer's objects, threads. Only the
 * calls that Culvert makes are counted: failures are armed around its calls alone. SPDX-License-Identifier:
 * MIT */
#include "library.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* In the static library of a build with tests (src/message.c). */
extern _Atomic long culvi_alloc_countdown;
extern _Atomic long culvi_alloc_count;

typedef enum victim { CUDA_CALL, VULKAN_CALL, ALLOCATION } victim;
static const char *const victim_names[] = {"CUDA call", "Vulkan call", "allocation"};

typedef struct torture {
    lib_world w; /* Vulkan only; each path opens its own device */
    lib_layer layer;
    raw_vk_buffer vk;
    VkSemaphore timeline;
    uint64_t value; /* that the timeline has reached */
    bool hold;      /* keep the primary context, so that what is forgotten in it shows */
    /* The failure being injected: the n-th event from now. */
    victim victim;
    uint64_t n;
    int code;
    bool armed;
    uint64_t left;    /* events until the failure; 0: it has happened */
    uint64_t counted; /* CUDA calls, Vulkan calls or allocations that Culvert made */
    const char *call;
    unsigned failures;   /* of this path */
    unsigned complaints; /* of all paths: one run shows every one */
} torture;

static torture t;

static uint64_t events(void)
{
    if (t.victim == ALLOCATION) return (uint64_t)atomic_load(&culvi_alloc_count);
    if (t.victim == CUDA_CALL) {
        culv_soft_counts c = {.struct_size = sizeof c};
        t.w.cu->SoftCounts(&c);
        return c.calls;
    }
    culv_soft_vk_counts c = {.struct_size = sizeof c};
    t.layer.counts(&c);
    return c.calls;
}

static void fail_at(uint64_t n)
{
    if (t.victim == CUDA_CALL)
        t.w.cu->SoftFailAt(n, t.code);
    else if (t.victim == VULKAN_CALL)
        t.layer.fail_at(n, t.code);
    else
        atomic_store(&culvi_alloc_countdown, (long)n);
}

/* Prints what is wrong with the injection under way, and goes on; the case fails at its end. */
static void complain(const char *format, ...) TEST_PRINTF(1, 2);
static void complain(const char *format, ...)
{
    va_list args;
    printf("WRONG: %s %" PRIu64 " (%s) failing with %d: ", victim_names[t.victim], t.n,
           t.call != NULL ? t.call : "-", t.code);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    t.complaints++;
}

static uint64_t before_call;

static void arm(void)
{
    before_call = events();
    if (t.left > 0) fail_at(t.left);
}

/* Disarms, and tells whether the failure was injected in the call just made. */
static bool disarm(void)
{
    const char *call = NULL;
    uint64_t made = events() - before_call;
    bool hit = t.left > 0 && made >= t.left;
    if (hit && t.victim == CUDA_CALL) call = t.w.cu->SoftFailedCall();
    if (hit && t.victim == VULKAN_CALL) call = t.layer.failed_call();
    if (hit && t.victim == ALLOCATION) call = "culvi_alloc";
    if (hit && call == NULL) FAIL("%s %" PRIu64 " was to fail and did not", victim_names[t.victim], t.n);
    if (hit) t.call = call;
    fail_at(0);
    t.left = hit ? 0 : t.left - (t.left > 0 ? made : 0);
    t.counted += made;
    return hit;
}

/* The class that a failure may come out as. What is asked before there is a device answers that there is
 * none. */
static void check_error(const char *what, culv_result r, bool opening)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    t.failures++;
    if (r != e.result || e.message[0] == '\0')
        FAIL("%s: %s, but the last error is %s \"%s\"", what, culv_result_name(r), culv_result_name(e.result),
             e.message);
    bool fits = false;
    bool out_of_memory = t.victim == ALLOCATION ||
                         (t.victim == CUDA_CALL && t.code == CUDA_ERROR_OUT_OF_MEMORY) ||
                         (t.victim == VULKAN_CALL && t.code == VK_ERROR_OUT_OF_HOST_MEMORY);
    if (out_of_memory)
        fits = r == CULV_ERROR_OUT_OF_MEMORY;
    else if (t.victim == CUDA_CALL && t.code == CUDA_ERROR_ILLEGAL_ADDRESS)
        fits = r == CULV_ERROR_ASYNC;
    else if (t.victim == VULKAN_CALL && t.code == VK_ERROR_DEVICE_LOST)
        fits = r == CULV_ERROR_ASYNC;
    else
        fits = r == CULV_ERROR_DRIVER;
    /* A driver that could not be started, or a device that could not be read: the message says which call. */
    if (opening && t.victim == CUDA_CALL && (r == CULV_ERROR_UNSUPPORTED || r == CULV_ERROR_NO_DEVICE))
        fits = true;
    if (!fits) complain("%s is %s, %s: %s", what, culv_result_name(r), culv_reason_name(e.reason), e.message);
    /* Where a native call is named, it is the one that failed (the driver's own name has a version's suffix).
     */
    if (e.native_api != CULV_API_NONE && t.victim != ALLOCATION) {
        if (strncmp(t.call, e.native_call, strlen(e.native_call)) != 0)
            complain("%s: the error names %s: %s", what, e.native_call, e.message);
        if (e.native_code != t.code) complain("%s: the native code is %d", what, (int)e.native_code);
    }
}

/* A call that fails although the failure came in an earlier one, which went on as if nothing were: only an
 * attribute that the driver says not to know is so taken. */
static void check_late_error(const char *what)
{
    t.failures++;
    if (t.victim == CUDA_CALL && t.code == CUDA_ERROR_INVALID_VALUE && t.call != NULL &&
        strcmp(t.call, "cuDeviceGetAttribute") == 0)
        return;
    complain("it was passed over, and %s fails later: %s", what, culv_last_error_message());
}

/* Makes one call of Culvert's; on failure checks it, and jumps to `otherwise`. */
#define TRY(made, opening, otherwise)                                                                        \
    do {                                                                                                     \
        lib_forget_error();                                                                                  \
        arm();                                                                                               \
        culv_result r_ = (made);                                                                             \
        bool hit_ = disarm();                                                                                \
        if (r_ != CULV_OK) {                                                                                 \
            if (hit_)                                                                                        \
                check_error(#made, r_, (opening));                                                           \
            else                                                                                             \
                check_late_error(#made);                                                                     \
            goto otherwise;                                                                                  \
        }                                                                                                    \
    } while (0)
#define DO(made)                                                                                             \
    do {                                                                                                     \
        arm();                                                                                               \
        made;                                                                                                \
        (void)disarm();                                                                                      \
    } while (0)

static void path(void)
{
    lib_world *w = &t.w;
    const raw_cuda *cu = w->cu;
    culv_device *device = POISON(culv_device);
    culv_vk *vk = POISON(culv_vk);
    culv_memory *memory = POISON(culv_memory), *taken = POISON(culv_memory);
    culv_buffer *one = POISON(culv_buffer), *two = POISON(culv_buffer);
    culv_semaphore *semaphore = POISON(culv_semaphore), *borrowed = POISON(culv_semaphore);
    uint32_t count = 999, word = 0;
    CUstream stream = NULL;
    CUcontext current = NULL;
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &t.vk));
    lib_fd fd2 = lib_fd_watch(raw_vk_timeline_fd(&w->vk, t.timeline));
    bool taken_fd = false;

    TRY(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, &count, NULL), true,
        no_rank);
    REQUIRE(count < 64);
no_rank:
    if (t.failures > 0) REQUIRE_EQ(count, 999);
    unsigned failures = t.failures;
    TRY(culv_vk_device_open(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL, &device), true,
        no_device);
    w->context = culv_device_context(device);
    culv_vk_desc vd = lib_vk_desc(w);
    TRY(culv_vk_attach(device, &vd, &vk), false, no_vk);

    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = t.vk.memory;
    md.allocation_size = t.vk.allocation_size;
    md.buffer = t.vk.buffer;
    md.label = "tortured";
    TRY(culv_vk_memory_import(vk, &md, &memory), false, no_memory);
    culv_memory_desc d = lib_memory_desc(w, &t.vk, fd.fd);
    TRY(culv_memory_import_take(device, &d, &taken), false, no_taken);
    taken_fd = true;
    TRY(culv_buffer_map(memory, NULL, &one), false, no_one);
    culv_buffer_desc bd = culv_buffer_desc_init();
    bd.offset = 256;
    TRY(culv_buffer_map(taken, &bd, &two), false, no_two);
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    sd.semaphore = t.timeline;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    TRY(culv_vk_semaphore_import(vk, &sd, &semaphore), false, no_semaphore);
    culv_semaphore_desc rd = culv_semaphore_desc_init();
    rd.handle = culv_handle_opaque_fd(fd2.fd);
    rd.type = CULV_SEMAPHORE_TIMELINE;
    TRY(culv_semaphore_import_borrow(device, &rd, &borrowed), false, no_borrowed);

    stream = lib_stream(w);
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemsetD32Async(culv_buffer_pointer(one), 0x1234abcd, 256, stream));
    lib_leave(w, before);
    uint64_t last = culv_semaphore_last_value(semaphore);
    REQUIRE_EQ(last, t.value);
    TRY(culv_semaphore_signal(semaphore, stream, t.value + 1), false, no_signal);
    t.value++;
    TRY(culv_semaphore_wait(borrowed, stream, t.value), false, no_signal);
    CU_OK(cu->CtxSetCurrent(w->context));
    CU_OK(cu->StreamSynchronize(stream));
    CU_OK(cu->MemcpyDtoH(&word, culv_buffer_pointer(two), 4)); /* the same memory, by another import */
    CU_OK(cu->CtxSetCurrent(NULL));
    REQUIRE_EQ(word, 0x1234abcd);
    culv_device_counts counts = culv_device_counts_init();
    TRY(culv_device_get_counts(device, &counts), false, no_signal);
no_signal:
    if (t.failures > failures && word == 0) {
        REQUIRE(culv_semaphore_last_value(semaphore) == t.value);
        CU_OK(cu->CtxSetCurrent(w->context));
        CU_OK(cu->StreamSynchronize(stream));
        CU_OK(cu->CtxSetCurrent(NULL));
    }
    DO(culv_semaphore_destroy_after(&borrowed, stream));
    REQUIRE(borrowed == NULL);
no_borrowed:
    if (t.failures > failures && stream == NULL && two != POISON(culv_buffer) &&
        semaphore != POISON(culv_semaphore))
        REQUIRE(borrowed == POISON(culv_semaphore));
    DO(culv_semaphore_destroy(&semaphore));
no_semaphore:
    if (stream != NULL)
        DO(culv_buffer_unmap_after(&two, stream));
    else
        DO(culv_buffer_unmap(&two));
no_two:
    DO(culv_buffer_unmap(&one));
no_one:
    DO(culv_memory_destroy(&taken));
no_taken:
    DO(culv_memory_destroy(&memory));
no_memory:
    DO(culv_vk_detach(&vk));
no_vk:
    /* Each is NULL (destroyed) or still what it was before a call that failed. */
    REQUIRE(vk == NULL || vk == POISON(culv_vk));
    REQUIRE(memory == NULL || memory == POISON(culv_memory));
    REQUIRE(taken == NULL || taken == POISON(culv_memory));
    REQUIRE(one == NULL || one == POISON(culv_buffer));
    REQUIRE(two == NULL || two == POISON(culv_buffer));
    REQUIRE(semaphore == NULL || semaphore == POISON(culv_semaphore));
    REQUIRE(borrowed == NULL || borrowed == POISON(culv_semaphore));
    if (stream != NULL) lib_stream_destroy(w, stream);
    DO(culv_device_close(&device));
no_device:
    REQUIRE(device == NULL || device == POISON(culv_device));
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
    if (taken_fd)
        lib_fd_require_gone(&fd);
    else
        lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, !taken_fd);
    lib_fd_require_untouched(&fd2);
    lib_fd_done(&fd2, true);
}

typedef struct totals {
    size_t fds, threads;
    culv_soft_counts cuda;
    culv_soft_vk_counts vulkan;
} totals;

static totals count_all(void)
{
    totals n = {.fds = test_open_fds(), .threads = lib_threads()};
    n.cuda.struct_size = sizeof n.cuda;
    n.vulkan.struct_size = sizeof n.vulkan;
    t.w.cu->SoftCounts(&n.cuda);
    t.layer.counts(&n.vulkan);
    n.cuda.calls = n.vulkan.calls = 0;
    return n;
}

static void require_the_same(const totals *expected)
{
    totals now = count_all();
    /* A worker that was told to end may take a moment, also one that was counted before. */
    for (int i = 0; i < 1000 && now.threads > expected->threads; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        now = count_all();
    }
    if (now.threads < expected->threads) now.threads = expected->threads;
    const struct {
        const char *name;
        uint64_t now, expected;
    } rows[] = {
        {"file descriptors", now.fds, expected->fds},
        {"threads", now.threads, expected->threads},
        {"CUDA contexts", now.cuda.contexts, expected->cuda.contexts},
        {"CUDA streams", now.cuda.streams, expected->cuda.streams},
        {"CUDA events", now.cuda.events, expected->cuda.events},
        {"external memories", now.cuda.external_memories, expected->cuda.external_memories},
        {"external mappings", now.cuda.external_mappings, expected->cuda.external_mappings},
        {"external semaphores", now.cuda.external_semaphores, expected->cuda.external_semaphores},
        {"the CUDA driver's fds", now.cuda.fds, expected->cuda.fds},
        {"Vulkan semaphores", now.vulkan.semaphores, expected->vulkan.semaphores},
        {"Vulkan memories", now.vulkan.memories, expected->vulkan.memories},
        {"the layer's fds", now.vulkan.fds, expected->vulkan.fds},
        {"the layer's threads", now.vulkan.threads, expected->vulkan.threads},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].now != rows[i].expected)
            complain("leaves %" PRIu64 " %s, not %" PRIu64, rows[i].now, rows[i].name, rows[i].expected);
}

/* Under an error that it takes for a sticky one, Culvert gives the primary context up for lost together with
 * what is in it. A single injected one is none: the reference is given back here. */
static void mend_a_lost_reference(void)
{
    const raw_cuda *cu = t.w.cu;
    if (t.victim == CUDA_CALL && t.code == CUDA_ERROR_ILLEGAL_ADDRESS && t.call != NULL &&
        strncmp(t.call, "cuDevicePrimaryCtxRelease", 25) == 0)
        CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* All N of one kind with one code; returns how many were injected. */
static uint64_t all(victim kind, int code)
{
    uint64_t failed_paths = 0;
    t.victim = kind;
    t.code = code;
    for (t.n = 0;; t.n++) {
        t.left = t.n;
        t.counted = 0;
        t.call = NULL;
        t.failures = 0;
        totals before = count_all();
        path();
        mend_a_lost_reference();
        require_the_same(&before);
        if (t.n == 0) {
            REQUIRE_EQ(t.failures, 0);
            printf("one path: %" PRIu64 " of: %s\n", t.counted, victim_names[kind]);
            continue;
        }
        failed_paths += t.failures > 0;
        if (t.left > 0) break; /* fewer events than that: all have had their turn */
    }
    printf("%s: %" PRIu64 " injected with code %d, %" PRIu64 " made a call fail\n", victim_names[kind],
           t.n - 1, code, failed_paths);
    REQUIRE(t.n > 4 && failed_paths > 3);
    if (t.complaints > 0) FAIL("%u of them went wrong, see above", t.complaints);
    return t.n - 1;
}

static void begin(bool hold)
{
    memset(&t, 0, sizeof t);
    lib_open_vulkan(&t.w);
    if (t.w.cu->SoftCounts == NULL) SKIP("only the twin fails on demand");
    REQUIRE(lib_layer_find(&t.layer));
    raw_vk_buffer_create(&t.w.vk, 65536, RAW_VK_EXPORT, &t.vk);
    t.timeline = raw_vk_timeline(&t.w.vk, 0, true);
    t.hold = hold;
    const raw_cuda *cu = t.w.cu;
    CUcontext context;
    if (hold) CU_OK(cu->DevicePrimaryCtxRetain(&context, 0));
    close(raw_vk_timeline_fd(&t.w.vk, t.timeline));
    path(); /* what both drivers keep from their first use on */
}

static void end(uint64_t injected)
{
    const raw_cuda *cu = t.w.cu;
    MEASURED("library.injected", "%s %" PRIu64, test_case_name(), injected);
    if (t.hold) CU_OK(cu->DevicePrimaryCtxRelease(0));
    raw_vk_timeline_destroy(&t.w.vk, t.timeline);
    raw_vk_buffer_destroy(&t.w.vk, &t.vk);
    lib_close(&t.w);
}

static void cuda_out_of_memory(void)
{
    begin(true);
    end(all(CUDA_CALL, CUDA_ERROR_OUT_OF_MEMORY));
}

static void cuda_invalid_value(void)
{
    begin(true);
    end(all(CUDA_CALL, CUDA_ERROR_INVALID_VALUE));
}

static void cuda_unknown(void)
{
    begin(true);
    end(all(CUDA_CALL, CUDA_ERROR_UNKNOWN));
}

/* The context goes with the last device, so that what a sticky error would leave goes too. */
static void cuda_illegal_address(void)
{
    begin(false);
    end(all(CUDA_CALL, CUDA_ERROR_ILLEGAL_ADDRESS));
}

static void vulkan_out_of_memory(void)
{
    begin(true);
    end(all(VULKAN_CALL, VK_ERROR_OUT_OF_HOST_MEMORY));
}

static void vulkan_device_lost(void)
{
    begin(true);
    end(all(VULKAN_CALL, VK_ERROR_DEVICE_LOST));
}

static void vulkan_unknown(void)
{
    begin(true);
    end(all(VULKAN_CALL, VK_ERROR_UNKNOWN));
}

static void allocations(void)
{
    begin(true);
    end(all(ALLOCATION, 0));
}

static const test_case cases[] = {
    {.name = "cuda.out_of_memory", .run = cuda_out_of_memory, .time_limit = 300},
    {.name = "cuda.invalid_value", .run = cuda_invalid_value, .time_limit = 300},
    {.name = "cuda.unknown", .run = cuda_unknown, .time_limit = 300},
    {.name = "cuda.illegal_address", .run = cuda_illegal_address, .time_limit = 300},
    {.name = "vulkan.out_of_memory", .run = vulkan_out_of_memory, .time_limit = 300},
    {.name = "vulkan.device_lost", .run = vulkan_device_lost, .time_limit = 300},
    {.name = "vulkan.unknown", .run = vulkan_unknown, .time_limit = 300},
    {.name = "allocations", .run = allocations, .time_limit = 300},
    {.name = NULL},
};
TEST_SUITE(cases);
