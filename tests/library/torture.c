/* SPDX-License-Identifier: MIT */
/* Runs a scenario in each of its modes: injects, counts, judges. See torture.h. */
#include "torture.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* In the static library of a build with tests. */
extern void (*_Atomic culvi_lock_hook)(bool before);
extern _Atomic long culvi_alloc_countdown;
extern _Atomic long culvi_alloc_count;

torture_state torture;

static const char *const victim_names[] = {"CUDA call", "Vulkan call", "allocation"};

static uint64_t events(void)
{
    if (torture.mode != TORTURE_FAILURES) return 0;
    if (torture.victim == TORTURE_ALLOCATION) return (uint64_t)atomic_load(&culvi_alloc_count);
    if (torture.victim == TORTURE_CUDA_CALL) return lib_soft_counts(torture.w.cu).calls;
    culv_soft_vk_counts c = {.struct_size = sizeof c};
    torture.layer.counts(&c);
    return c.calls;
}

static void fail_at(uint64_t n)
{
    if (torture.mode != TORTURE_FAILURES) return;
    if (torture.victim == TORTURE_CUDA_CALL)
        torture.w.cu->SoftFailAt(n, torture.code);
    else if (torture.victim == TORTURE_VULKAN_CALL)
        torture.layer.fail_at(n, torture.code);
    else
        atomic_store(&culvi_alloc_countdown, (long)n);
}

void torture_complain(const char *format, ...)
{
    va_list args;
    printf("WRONG: ");
    if (torture.mode == TORTURE_FAILURES)
        printf("%s %" PRIu64 " (%s) failing with %d: ", victim_names[torture.victim], torture.n,
               torture.call != NULL ? torture.call : "-", torture.code);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    torture.complaints++;
}

static uint64_t before_call;
static void guests(bool come);

/* The path's own calls may do what a capture forbids; Culvert's are made as by a thread that has
 * one of the strictest kind, as each thread has at first (R8). Returns the mode before. */
static CUstreamCaptureMode capture_mode(CUstreamCaptureMode mode)
{
    if (torture.mode != TORTURE_CAPTURED) mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (torture.w.cu->ThreadExchangeStreamCaptureMode != NULL)
        CU_OK(torture.w.cu->ThreadExchangeStreamCaptureMode(&mode));
    return mode;
}

/* A call leaves the thread's context and its mode as they are, whatever it answers. */
static void require_left_alone(void)
{
    CUcontext now = NULL;
    const CUstreamCaptureMode mode = capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    CU_OK(torture.w.cu->CtxGetCurrent(&now));
    if (now != torture.found)
        torture_complain("%p is current, not %p", (void *)now, (void *)torture.found);
    if (mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
        torture_complain("the thread's capture mode is %d", (int)mode);
    if (torture.current != NULL) CU_OK(torture.w.cu->CtxPopCurrent(&now));
}

void torture_arm(void)
{
    torture_arm_for("");
}

void torture_arm_for(const char *call)
{
    static const char close[] = "culv_device_close("; /* which nobody may be beside */
    if (torture.current != NULL) CU_OK(torture.w.cu->CtxPushCurrent(torture.current));
    CU_OK(torture.w.cu->CtxGetCurrent(&torture.found));
    (void)capture_mode(CU_STREAM_CAPTURE_MODE_GLOBAL);
    before_call = events();
    if (torture.left > 0) fail_at(torture.left);
    guests(strncmp(call, close, strlen(close)) != 0);
}

bool torture_disarm(void)
{
    const char *call = NULL;
    guests(false);
    uint64_t made = events() - before_call;
    bool hit = torture.left > 0 && made >= torture.left;
    if (hit && torture.victim == TORTURE_CUDA_CALL) call = torture.w.cu->SoftFailedCall();
    if (hit && torture.victim == TORTURE_VULKAN_CALL) call = torture.layer.failed_call();
    if (hit && torture.victim == TORTURE_ALLOCATION) call = "culvi_alloc";
    if (hit && call == NULL)
        FAIL("%s %" PRIu64 " was to fail and did not", victim_names[torture.victim], torture.n);
    if (hit) torture.call = call;
    fail_at(0);
    torture.left = hit ? 0 : torture.left - (torture.left > 0 ? made : 0);
    torture.counted += made;
    require_left_alone();
    return hit;
}

/* The class that a failure may come out as. What is asked before there is a device answers that
 * there is none. */
static void check_error(const char *what, culv_result r, bool opening)
{
    const culv_error e = lib_last_error();
    torture.failures++;
    if (r != e.result || e.message[0] == '\0')
        FAIL("%s: %s, but the last error is %s \"%s\"", what, culv_result_name(r),
             culv_result_name(e.result), e.message);
    bool fits = false;
    bool out_of_memory =
        torture.victim == TORTURE_ALLOCATION ||
        (torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_OUT_OF_MEMORY) ||
        (torture.victim == TORTURE_VULKAN_CALL && torture.code == VK_ERROR_OUT_OF_HOST_MEMORY);
    if (out_of_memory)
        fits = r == CULV_ERROR_OUT_OF_MEMORY;
    else if (torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_ILLEGAL_ADDRESS)
        fits = r == CULV_ERROR_ASYNC;
    else if (torture.victim == TORTURE_VULKAN_CALL && torture.code == VK_ERROR_DEVICE_LOST)
        fits = r == CULV_ERROR_ASYNC;
    else
        fits = r == CULV_ERROR_DRIVER;
    /* A driver that could not be started, or a device that could not be read: the message says
     * which call. */
    if (opening && torture.victim == TORTURE_CUDA_CALL &&
        (r == CULV_ERROR_UNSUPPORTED || r == CULV_ERROR_NO_DEVICE))
        fits = true;
    if (!fits)
        torture_complain("%s is %s, %s: %s", what, culv_result_name(r), culv_reason_name(e.reason),
                         e.message);
    /* Where a native call is named, it is the one that failed (the driver's own name has a
     * version's suffix). */
    if (e.native_api != CULV_NATIVE_NONE && torture.victim != TORTURE_ALLOCATION) {
        const bool within = strcmp(e.native_call, "vkCreateDevice") == 0; /* the loader asks more */
        if (!within && strncmp(torture.call, e.native_call, strlen(e.native_call)) != 0)
            torture_complain("%s: the error names %s: %s", what, e.native_call, e.message);
        if (e.native_code != torture.code)
            torture_complain("%s: the native code is %d", what, (int)e.native_code);
    }
}

void torture_failed(const char *call, culv_result result, bool hit, bool opening)
{
    if (torture.mode != TORTURE_FAILURES) FAIL("%s: %s", call, culv_last_error_message());
    if (hit)
        check_error(call, result, opening);
    else
        torture_complain("it was passed over, and %s fails later: %s", call,
                         culv_last_error_message());
}

bool torture_device_lost(void)
{
    return torture.hit && torture.victim == TORTURE_CUDA_CALL &&
           torture.code == CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* Another thread's: what the device does for it takes the same locks. */
static void *neighbour(void *unused)
{
    enum { BYTES = 4 * 1021 };
    const lib_world world = {.cu = torture.w.cu,
                             .device = torture.w.device,
                             .context = culv_device_context(torture.w.device)};
    const lib_world *w = &world;
    uint32_t words[BYTES / 4];
    culv_vector *vector = NULL;
    culv_vector_desc d = culv_vector_desc_init();
    (void)culv_device_collect(w->device);
    d.size = BYTES;
    d.label = "neighbour";
    culv_result result = culv_vector_create(w->device, &d, &vector);
    if (result != CULV_OK) {
        if (!torture_device_lost())
            torture_complain("another thread has no vector: %s", culv_last_error_message());
        return NULL;
    }
    const CUdeviceptr at = culv_vector_pointer(vector);
    /* The legacy stream, and waits in another mode, would disturb a capture that the call meets. */
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CU_OK(w->cu->ThreadExchangeStreamCaptureMode(&mode));
    CUstream stream = lib_stream(w);
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemsetD32Async(at, (unsigned)torture.n + 1, BYTES / 4, stream));
    CU_OK(w->cu->MemcpyDtoHAsync(words, at, BYTES, stream));
    lib_finish(w, stream);
    lib_leave(w, before);
    lib_stream_destroy(w, stream);
    for (size_t i = 0; i < BYTES / 4; i++)
        if (words[i] != torture.n + 1) FAIL("another thread's vector has other values");
    culv_vector_destroy(&vector, NULL);
    return NULL;
}

void torture_alive(bool hit)
{
    pthread_t thread;
    torture.hit = torture.hit || hit;
    if (!hit && torture.n != 0) return;
    if (torture.w.device != NULL) {
        REQUIRE_EQ(pthread_create(&thread, NULL, neighbour, NULL), 0);
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
    }
    if (torture.path->alive != NULL) torture.path->alive();
}

/* In the gaps of a call: after its unlocks, and on the twin before its driver calls ------------ */

static struct {
    pthread_t thread;
    atomic_int id; /* of it, for the system */
    atomic_bool done;
    atomic_bool welcome;
    bool there;
    atomic_int host; /* the thread whose call has the gaps */
    unsigned came;
} guest;

static void *visit(void *unused)
{
    atomic_store(&guest.id, (int)syscall(SYS_gettid));
    (void)neighbour(unused);
    atomic_store(&guest.done, true);
    return NULL;
}

static void see_off(void)
{
    if (guest.there) REQUIRE_EQ(pthread_join(guest.thread, NULL), 0);
    guest.there = false;
}

/* It stays until it is through, or sleeps because it wants what the call holds. */
static void invite(void)
{
    if ((int)syscall(SYS_gettid) != atomic_load(&guest.host)) return;
    if (!atomic_load(&guest.welcome) || torture.w.device == NULL) return;
    if (guest.there && !atomic_load(&guest.done)) return;
    see_off();
    atomic_store(&guest.done, false);
    atomic_store(&guest.id, 0);
    REQUIRE_EQ(pthread_create(&guest.thread, NULL, visit, NULL), 0);
    guest.there = true;
    guest.came++;
    while (!atomic_load(&guest.done)) {
        const int id = atomic_load(&guest.id);
        if (id != 0 && test_sleeps(id, 5)) return;
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

static void on_lock(bool before)
{
    if (!before) invite();
}

static void on_call(void *user, const char *call)
{
    invite();
    if (atomic_load(&guest.welcome)) torture.w.cu->SoftBefore(1, on_call, NULL);
}

static void guests(bool come)
{
    if (torture.mode != TORTURE_BESIDE) return;
    atomic_store(&guest.host, (int)syscall(SYS_gettid));
    atomic_store(&guest.welcome, come);
    atomic_store(&culvi_lock_hook, come ? on_lock : NULL);
    if (torture.w.cu->SoftBefore != NULL)
        torture.w.cu->SoftBefore(come ? 1 : 0, come ? on_call : NULL, NULL);
    see_off();
}

/* In the mode of turns one device lasts, where what a turn leaves piles up. */
CUstream torture_open(void)
{
    lib_world *w = &torture.w;
    torture.lasts = torture.mode == TORTURE_TURNS;
    if (w->device == NULL) lib_open_culvert(w);
    return lib_stream(w);
}

static void close_culvert(void)
{
    DO(culv_vk_detach(&torture.w.attachment));
    DO(culv_device_close(&torture.w.device));
    REQUIRE(torture.w.attachment == NULL && torture.w.device == NULL);
}

void torture_close(CUstream stream)
{
    lib_world *w = &torture.w;
    lib_stream_destroy(w, stream);
    if (!torture.lasts) {
        close_culvert();
        return;
    }
    lib_settle(w);
    const culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.memories + c.mappings + c.buffers + c.images + c.created + c.semaphores, 0);
    REQUIRE_EQ(c.vmm_allocations + c.vmm_ranges + c.vmm_mappings + c.deferred, 0);
}

typedef struct totals {
    size_t fds, threads;
    culv_soft_counts cuda;
    culv_soft_vk_counts vulkan;
} totals;

static totals count_all(void)
{
    totals n = {.threads = lib_threads()};
    n.fds = test_open_fds(); /* after the threads: one that has ended holds none */
    n.vulkan.struct_size = sizeof n.vulkan;
    n.cuda = lib_soft_counts(torture.w.cu);
    if (torture.layer.counts != NULL) torture.layer.counts(&n.vulkan);
    n.cuda.calls = n.vulkan.calls = 0;
    return n;
}

static void require_the_same(const totals *expected)
{
    totals now = count_all();
    /* A worker that was told to end may take a moment, also one that was counted before. */
    for (unsigned i = 0; i < TEST_FAR_MS && now.threads > expected->threads; i++) {
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
        {"CUDA allocations", now.cuda.device_allocations, expected->cuda.device_allocations},
        {"pinned host memory", now.cuda.host_allocations, expected->cuda.host_allocations},
        {"external memories", now.cuda.external_memories, expected->cuda.external_memories},
        {"external mappings", now.cuda.external_mappings, expected->cuda.external_mappings},
        {"mipmapped arrays", now.cuda.mipmapped_arrays, expected->cuda.mipmapped_arrays},
        {"surfaces", now.cuda.surfaces, expected->cuda.surfaces},
        {"external semaphores", now.cuda.external_semaphores, expected->cuda.external_semaphores},
        {"VMM allocations", now.cuda.physical_allocations, expected->cuda.physical_allocations},
        {"reserved addresses", now.cuda.reservations, expected->cuda.reservations},
        {"VMM mappings", now.cuda.virtual_mappings, expected->cuda.virtual_mappings},
        {"arrays", now.cuda.arrays, expected->cuda.arrays},
        {"modules", now.cuda.modules, expected->cuda.modules},
        {"memory pools", now.cuda.memory_pools, expected->cuda.memory_pools},
        {"pool allocations", now.cuda.pool_allocations, expected->cuda.pool_allocations},
        {"the CUDA driver's fds", now.cuda.fds, expected->cuda.fds},
        {"Vulkan semaphores", now.vulkan.all_semaphores, expected->vulkan.all_semaphores},
        {"exportable ones", now.vulkan.semaphores, expected->vulkan.semaphores},
        {"Vulkan buffers", now.vulkan.buffers, expected->vulkan.buffers},
        {"Vulkan images", now.vulkan.images, expected->vulkan.images},
        {"Vulkan memories", now.vulkan.memories, expected->vulkan.memories},
        {"Vulkan's modules of CUDA", now.vulkan.modules, expected->vulkan.modules},
        {"functions in them", now.vulkan.functions, expected->vulkan.functions},
        {"the layer's fds", now.vulkan.fds, expected->vulkan.fds},
        {"the layer's threads", now.vulkan.threads, expected->vulkan.threads},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].now != rows[i].expected)
            torture_complain("leaves %" PRIu64 " %s, not %" PRIu64, rows[i].now, rows[i].name,
                             rows[i].expected);
}

/* Under an error that it takes for a sticky one, Culvert gives the primary context up for lost
 * together with what is in it. A single injected one is none: the reference is given back here. */
static void mend_a_lost_reference(void)
{
    const raw_cuda *cu = torture.w.cu;
    if (torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_ILLEGAL_ADDRESS &&
        torture.call != NULL && strncmp(torture.call, "cuDevicePrimaryCtxRelease", 25) == 0 &&
        (cu->device_count < 2 || cu->DevicePrimaryCtxRelease(1) != CUDA_SUCCESS))
        CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* Under an error that it takes for a sticky one, Culvert gives the primary context up for lost
 * together with what is in it, so that context is not held then: it goes with the last device. */
static void begin(const torture_path *path, torture_mode mode, bool hold)
{
    if (!path->any_driver && test_driver() == TEST_DRIVER_NVIDIA) SKIP("only on the twin");
    if (mode == TORTURE_FAILURES && test_driver() == TEST_DRIVER_NVIDIA)
        SKIP("only the twin fails on demand");
    if (path->unvalidated && strstr(test_case_name(), ".vulkan_") != NULL)
        lib_with_option("--validation=off");
    memset(&torture, 0, sizeof torture);
    torture.path = path;
    torture.mode = mode;
    torture.n = mode == TORTURE_FAILURES ? 0 : 1;
    lib_with_kernels = path->kernels;
    if (path->one_address)
        lib_open_vulkan_for_one_address(&torture.w);
    else
        lib_open_vulkan(&torture.w);
    const raw_cuda *cu = torture.w.cu;
    if (!cu->software && (mode == TORTURE_FAILURES || !path->any_driver)) SKIP("only on the twin");
    REQUIRE(lib_layer_find(&torture.layer) || !cu->software);
    CUcontext context;
    torture.hold = hold;
    for (int i = 0; hold && i < cu->device_count; i++)
        CU_OK(cu->DevicePrimaryCtxRetain(&context, i));
    lib_start_queue_threads(&torture.w);
    if (path->begin != NULL) path->begin();
    path->run(); /* what both drivers keep from their first use on */
}

static void end(const torture_path *path)
{
    const raw_cuda *cu = torture.w.cu;
    if (torture.lasts) close_culvert();
    for (int i = 0; torture.hold && i < cu->device_count; i++)
        CU_OK(cu->DevicePrimaryCtxRelease(i));
    if (path->end != NULL) path->end();
    lib_close(&torture.w);
}

void torture_all(const torture_path *path, torture_victim victim, int code)
{
    unsigned failed_paths = 0;
    /* Sanitized builds are slow: a call fails there with one of CUDA's four codes, and with
     * Vulkan's even codes or its odd ones. With --sparse=N only each N-th of these happens. */
    const unsigned often = victim == TORTURE_CUDA_CALL ? 4 : victim == TORTURE_ALLOCATION ? 1 : 2;
    const unsigned sparse = (unsigned)strtoul(test_option("sparse", "1"), NULL, 10);
    const unsigned step = (test_sanitized() ? often : 1) * sparse;
    const unsigned first = code % (int)step == 0 ? step : (unsigned)abs(code) % step;
    begin(path, TORTURE_FAILURES, code != CUDA_ERROR_ILLEGAL_ADDRESS);
    torture.victim = victim;
    torture.code = code;
    for (torture.n = 0;; torture.n += torture.n == 0 ? first : step) {
        torture.left = torture.n;
        torture.counted = 0;
        torture.call = NULL;
        torture.hit = false;
        torture.failures = 0;
        totals before = count_all();
        path->run();
        mend_a_lost_reference();
        require_the_same(&before);
        if (torture.n == 0) {
            REQUIRE_EQ(torture.failures, 0);
            printf("one path: %" PRIu64 " of: %s\n", torture.counted, victim_names[victim]);
            continue;
        }
        failed_paths += torture.failures > 0;
        if (torture.left > 0) break; /* fewer events than that: all have had their turn */
    }
    printf("%s: %" PRIu64 " injected with code %d, %u made a call fail\n", victim_names[victim],
           (torture.n - 1) / step, code, failed_paths);
    /* Each step-th call, and not each of them makes as many of the library's calls fail. */
    const unsigned least = step == 1 ? path->least[victim] : path->least[victim] / (2 * step);
    if (failed_paths < least)
        FAIL("%u calls met the failure, not %u: the path tests nothing", failed_paths, least);
    if (torture.complaints > 0) FAIL("%u of them went wrong, see above", torture.complaints);
    MEASURED("library.injected", "%s %" PRIu64, test_case_name(), (torture.n - 1) / step);
    end(path);
}

static void once(const torture_path *path)
{
    const totals before = count_all();
    path->run();
    require_the_same(&before);
    if (torture.complaints > 0) FAIL("%u things went wrong, see above", torture.complaints);
}

/* With no context current, with the device's, and with another one. */
void torture_plain(const torture_path *path)
{
    CUcontext devices = NULL, other = NULL, popped;
    begin(path, TORTURE_PLAIN, true);
    const raw_cuda *cu = torture.w.cu;
    once(path);
    CU_OK(cu->DevicePrimaryCtxRetain(&devices, 0));
    torture.current = devices;
    once(path);
    CU_OK(cu->CtxCreate(&other, 0, 0));
    CU_OK(cu->CtxPopCurrent(&popped));
    torture.current = other;
    once(path);
    torture.current = NULL;
    CU_OK(cu->CtxDestroy(other));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    end(path);
}

void torture_beside(const torture_path *path)
{
    begin(path, TORTURE_BESIDE, true);
    once(path);
    printf("another thread came %u times\n", guest.came);
    REQUIRE(guest.came > 0);
    end(path);
}

/* R8: a capture goes on, whatever the library does meanwhile. */
void torture_captured(const torture_path *path)
{
    CUcontext context;
    CUstream stream;
    CUgraph graph = NULL;
    begin(path, TORTURE_CAPTURED, true);
    const raw_cuda *cu = torture.w.cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver does not capture streams");
    CU_OK(cu->DevicePrimaryCtxRetain(&context, 0));
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU_OK(cu->CtxPopCurrent(&context));
    (void)capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    path->run();
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamEndCapture(stream, &graph));
    REQUIRE(graph != NULL);
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(stream));
    CU_OK(cu->CtxPopCurrent(&context));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    end(path);
}

void torture_turns(const torture_path *path)
{
    const long count = strtol(test_option("turns", "50"), NULL, 10);
    lib_level start = {0};
    totals first = {0};
    REQUIRE(count >= 10);
    begin(path, TORTURE_TURNS, true);
    for (long i = 1; i <= count; i++) {
        path->run();
        if (test_has_option("--leak")) REQUIRE(dup(STDOUT_FILENO) >= 0); /* does it notice? */
        if (i != count / 5) continue;
        first = count_all(); /* caches are full; now nothing may grow */
        start = lib_level_now();
    }
    require_the_same(&first);
    const lib_level now = lib_level_now();
    MEASURED(
        "library.endurance",
        "%s, %ld turns: fds %zu to %zu, maps %zu to %zu, threads %zu to %zu, RSS %ld to %ld KiB",
        test_case_name(), count, start.fds, now.fds, start.maps, now.maps, start.threads,
        now.threads, start.rss, now.rss);
    if (!test_sanitized()) { /* whose allocators keep what was freed */
        /* Neighbours merge and split; a leak would be hundreds. NVIDIA's driver grows by itself. */
        REQUIRE(now.maps <= start.maps + 16);
        REQUIRE(now.rss <= start.rss + (torture.w.cu->software ? 4096 : 16384));
    }
    if (torture.complaints > 0) FAIL("%u things went wrong, see above", torture.complaints);
    end(path);
}
