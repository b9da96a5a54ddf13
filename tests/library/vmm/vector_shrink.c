/* SPDX-License-Identifier: MIT */
/* culv_vector: giving memory back while streams still use it. */
#include "vector_stage.h"

static uint64_t allocations(const vector_stage *s)
{
    vector_objects o = {0};
    return vector_objects_of(s, &o) ? o.allocations : UINT64_MAX;
}

static culv_vector *make(vector_stage *s, uint64_t chunks)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 16 * s->chunk;
    d.label = "shrinking";
    culv_vector *v = vector_make(s, &d);
    for (uint64_t i = 1; i <= chunks; i++)
        LIB_OK(culv_vector_grow(v, i * s->chunk));
    vector_write(s, culv_vector_pointer(v), 0, chunks * s->chunk, 31);
    return v;
}

/* The chunks go when the stream has got there; a chunk that is used in part stays. */
VECTOR_CASE(shrinks)
{
    culv_vector *v = make(s, 6);
    const CUdeviceptr base = culv_vector_pointer(v);
    vector_hold(s);
    LIB_OK(culv_vector_shrink(v, 2 * s->chunk + 1, s->stream));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY); /* it did not wait */
    REQUIRE_EQ(culv_vector_size(v), 2 * s->chunk + 1);
    REQUIRE_EQ(culv_vector_committed(v), 3 * s->chunk);
    REQUIRE_EQ(culv_vector_generation(v), 8);
    REQUIRE_EQ(vector_check(v), 3);
    REQUIRE(lib_counts(&s->w).deferred > 0);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 6); /* the stream may still use them */
    vector_let_go(s);
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 3);
    vector_require(s, base, 3 * s->chunk, 31, 0);
    LIB_OK(culv_vector_shrink(v, 5 * s->chunk, s->stream)); /* it has less */
    LIB_OK(culv_vector_shrink(v, 2 * s->chunk, s->stream));
    REQUIRE_EQ(culv_vector_committed(v), 2 * s->chunk);
    LIB_OK(culv_vector_shrink(v, s->chunk + 4, s->stream)); /* no chunk lies beyond it */
    REQUIRE_EQ(culv_vector_generation(v), 9);
    LIB_OK(culv_vector_grow(v, 4 * s->chunk));
    REQUIRE_EQ(culv_vector_pointer(v), base);
    vector_require(s, base, 2 * s->chunk, 31, 0);
    vector_write(s, base, 2 * s->chunk, 4 * s->chunk, 31);
    vector_require(s, base, 4 * s->chunk, 31, 0);
    LIB_OK(culv_vector_shrink(v, 0, s->stream));
    REQUIRE_EQ(culv_vector_committed(v), 0);
    REQUIRE_EQ(vector_check(v), 0);
    REQUIRE_EQ(vector_stats(v).peak, 6 * s->chunk);
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_grow(v, s->chunk));
    vector_write(s, base, 0, s->chunk, 1);
    culv_vector_destroy(&v, NULL);
}

/* What was committed beyond the size, as a policy wants it, goes by a shrink to that size. */
VECTOR_CASE(shrinks_to_fit)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.growth_percent = 100;
    d.max_chunk = s->chunk;
    d.min_chunk = s->chunk;
    culv_vector *v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 4 * s->chunk));
    REQUIRE_EQ(vector_check(v), 4);
    LIB_OK(culv_vector_shrink(v, s->chunk - 8, s->stream));
    LIB_OK(culv_vector_grow(v, s->chunk));
    REQUIRE_EQ(vector_check(v), 1);
    culv_vector_destroy(&v, NULL);
    d.max_chunk = 0;
    v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    LIB_OK(culv_vector_grow(v, 3 * s->chunk));
    REQUIRE_EQ(culv_vector_committed(v), 4 * s->chunk);
    LIB_OK(culv_vector_shrink(v, 2 * s->chunk, s->stream));
    LIB_OK(culv_vector_grow(v, 3 * s->chunk));
    LIB_OK(culv_vector_shrink(v, 3 * s->chunk, s->stream)); /* the last chunk is in use */
    REQUIRE_EQ(culv_vector_committed(v), 4 * s->chunk);
    culv_vector_destroy(&v, NULL);
}

/* A stream in capture tells nothing: refused, and nothing has changed. */
VECTOR_CASE(refuses_captures)
{
    CUgraph graph = NULL;
    const raw_cuda *cu = s->w.cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver captures no streams");
    culv_vector *v = make(s, 3);
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    const culv_vector_stats had = vector_stats(v);
    LIB_INVALID(culv_vector_shrink(v, s->chunk, s->stream), CAPTURE);
    const culv_vector_stats has = vector_stats(v);
    REQUIRE_EQ_BYTES(&has, &had, sizeof had);
    REQUIRE_EQ(culv_vector_generation(v), 4);
    LIB_OK(culv_vector_grow(v, 4 * s->chunk)); /* which breaks no capture */
    LIB_CU_OK(&s->w, cu->StreamEndCapture(s->stream, &graph));
    LIB_CU_OK(&s->w, cu->GraphDestroy(graph));
    vector_require(s, culv_vector_pointer(v), 3 * s->chunk, 31, 0);
    culv_vector_destroy(&v, NULL);
}

/* Vectors that go at once, and when their stream is done. */
VECTOR_CASE(destroys)
{
    culv_vector *v = make(s, 3);
    vector_hold(s);
    culv_vector_destroy(&v, &s->stream);
    REQUIRE(v == NULL);
    culv_vector_destroy(&v, &s->stream);
    culv_vector_destroy(NULL, &s->stream);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 3);
    vector_let_go(s);
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 0);
    v = make(s, 3);
    vector_hold(s);
    LIB_OK(culv_vector_shrink(v, s->chunk, s->stream));
    culv_vector_destroy(&v, NULL); /* what it gave back before still waits for its stream */
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 2);
    vector_let_go(s);
    lib_finish(&s->w, s->stream);
    lib_settle(&s->w);
    if (s->w.cu->software) REQUIRE_EQ(allocations(s), 0);
    v = make(s, 0);
    culv_vector_destroy(&v, &s->stream);
    culv_vector_destroy(NULL, NULL);
}

/* A destroy has no error to report, so that it tries again what the driver refuses once. */
VECTOR_CASE(destroys_in_spite_of_a_refusal)
{
    const raw_cuda *cu = s->w.cu;
    if (cu->SoftFailAt == NULL) SKIP("only the twin fails on demand");
    const char *failed = "";
    for (uint64_t n = 1; failed != NULL; n++) {
        culv_vector *v = make(s, 2);
        cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
        culv_vector_destroy(&v, &s->stream);
        failed = cu->SoftFailedCall();
        cu->SoftFailAt(0, 0);
        lib_finish(&s->w, s->stream);
        (void)culv_device_collect(s->w.device);
        if (allocations(s) != 0 || lib_counts(&s->w).deferred != 0)
            FAIL("call %u, %s, was refused once, and the memory stays", (unsigned)n, failed);
    }
}

/* Two refusals in a row: each object that stays with the driver has its line in the log, and what
 * stays with the device until its end has one for the whole vector. */
typedef struct refusals {
    const raw_cuda *cu;
    size_t kept;      /* lines of the first kind */
    bool with_device; /* the line of the second kind came */
    bool two;         /* the first refusal came, and the next call is refused too */
} refusals;

static void count_kept(void *user, culv_log_level level, const char *text)
{
    refusals *r = user;
    if (level == CULV_LOG_WARNING && strstr(text, "the driver keeps") != NULL) r->kept++;
    if (strstr(text, "is released with the device") != NULL) r->with_device = true;
}

static void refuse_the_next(void *user, const char *call)
{
    refusals *r = user;
    (void)call;
    r->two = true;
    r->cu->SoftFailAt(1, CUDA_ERROR_UNKNOWN);
}

static uint64_t driver_objects(const raw_cuda *cu)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    cu->SoftCounts(&c);
    return c.physical_allocations + c.reservations + c.virtual_mappings + c.events;
}

TEST(two_refusals_are_told, .own = true)
{
    vector_stage s;
    culv_device *device = NULL;
    vector_stage_open(&s);
    refusals r = {.cu = s.w.cu};
    if (r.cu->SoftBefore == NULL) SKIP("only the twin lets a test act between its calls");
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    dd.log.fn = count_kept;
    dd.log.user = &r;
    dd.log.level = CULV_LOG_WARNING;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &device));
    const uint64_t first = driver_objects(r.cu);
    uint64_t before = first;
    size_t told = 0;
    r.two = true;
    for (uint64_t n = 0; r.two; n++) { /* 0: no call fails */
        culv_vector *v = NULL;
        LIB_OK(culv_vector_create(device, NULL, &v));
        LIB_OK(culv_vector_grow(v, s.chunk));
        LIB_OK(culv_vector_grow(v, 2 * s.chunk));
        lib_finish(&s.w, s.stream);
        r.two = n == 0;
        r.kept = 0;
        r.with_device = false;
        r.cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
        r.cu->SoftBefore(n, refuse_the_next, &r);
        culv_vector_destroy(&v, &s.stream);
        (void)r.cu->StreamSynchronize(s.stream); /* it may be what is refused */
        (void)culv_device_collect(device);
        r.cu->SoftBefore(0, NULL, NULL);
        r.cu->SoftFailAt(0, 0);
        lib_finish(&s.w, s.stream);
        (void)culv_device_collect(device);
        const uint64_t now = driver_objects(r.cu);
        if (n == 0) before = now; /* what a device makes once */
        if (now > before + r.kept && !r.with_device)
            FAIL("calls %u and the next were refused: %u objects stay, and the log tells of %u",
                 (unsigned)n, (unsigned)(now - before), (unsigned)r.kept);
        before = now;
        told += r.kept;
    }
    REQUIRE(told > 0); /* an event that is refused twice has no third try */
    culv_device_close(&device);
    REQUIRE(driver_objects(r.cu) <= first + told);
    /* vector_stage_close() would find what the driver keeps. */
    CUcontext outer = lib_enter(&s.w);
    CU_OK(r.cu->ModuleUnload(s.module));
    lib_leave(&s.w, outer);
    lib_stream_destroy(&s.w, s.stream);
    culv_device_close(&s.w.device);
}

/* Where the stream cannot tell, the memory stays as long as the device. */
VECTOR_CASE(goes_with_its_device)
{
    CUgraph graph = NULL;
    culv_device *second = NULL;
    culv_vector *v = NULL;
    culv_device_counts counts = culv_device_counts_init();
    const raw_cuda *cu = s->w.cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver captures no streams");
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &second));
    LIB_OK(culv_vector_create(second, NULL, &v));
    LIB_OK(culv_vector_grow(v, s->chunk));
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    const CUdeviceptr base = culv_vector_pointer(v);
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    culv_error was = culv_error_init(), is = culv_error_init();
    lib_forget_error();
    culv_last_error(&was);
    culv_vector_destroy(&v, &s->stream);
    REQUIRE(v == NULL);
    culv_last_error(&is); /* it has no errors to report */
    REQUIRE_EQ_STR(is.message, was.message);
    LIB_CU_OK(&s->w, cu->StreamEndCapture(s->stream, &graph));
    LIB_CU_OK(&s->w, cu->GraphDestroy(graph));
    LIB_OK(culv_device_get_counts(second, &counts));
    REQUIRE(counts.deferred > 0);
    REQUIRE_EQ(counts.vmm_mappings, 2);
    vector_write(s, base, 0, 2 * s->chunk, 3); /* what the graph would do */
    vector_require(s, base, 2 * s->chunk, 3, 0);
    culv_device_close(&second);
    if (cu->software) REQUIRE_EQ(allocations(s), 0);
}
