/* SPDX-License-Identifier: MIT */
/* culv_vector: what is refused. */
#define TEST_GROUP "errors."
#include "vector_stage.h"

VECTOR_CASE(nulls)
{
    culv_vector *v = NULL;
    culv_vector_stats stats = culv_vector_stats_init();
    size_t count = 0;
    REQUIRE_EQ(culv_vector_pointer(NULL), 0);
    REQUIRE_EQ(culv_vector_size(NULL), 0);
    REQUIRE_EQ(culv_vector_committed(NULL), 0);
    REQUIRE_EQ(culv_vector_generation(NULL), 0);
    v = vector_make(s, NULL);
    LIB_INVALID(culv_vector_get_chunks(v, NULL, 1, &count, NULL), NULL_ARGUMENT);
    stats.struct_size = 0;
    LIB_INVALID(culv_vector_get_stats(v, &stats), STRUCT_SIZE);
    LIB_INVALID(culv_vector_retire(v, 4096, NULL), VALUE);
    culv_vector_destroy(&v, NULL);
}

static void refuse(const vector_stage *s, const culv_vector_desc *d, culv_result result,
                   culv_reason reason, const char *says)
{
    culv_vector *v;
    LIB_REFUSES_AS(v, culv_vector_create(s->w.device, d, &v), result, reason, says);
}

VECTOR_CASE(descriptors)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.struct_size = 0;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE, "culv_vector_desc");
    struct {
        culv_vector_desc d;
        size_t later;
    } newer = {culv_vector_desc_init(), 1};
    newer.d.struct_size = sizeof newer;
    refuse(s, &newer.d, CULV_ERROR_UNSUPPORTED, CULV_REASON_STRUCT_SIZE, "culv_vector_desc");
    d = culv_vector_desc_init();
    d.struct_size =
        offsetof(culv_vector_desc, reserve); /* an older one: what lies behind is not read */
    d.size = s->chunk;
    memset((char *)&d + d.struct_size, 0x77, sizeof d - d.struct_size);
    culv_vector *v = vector_make(s, &d);
    culv_vector_stats stats = culv_vector_stats_init();
    stats.struct_size = offsetof(culv_vector_stats, peak);
    stats.peak = 77;
    LIB_OK(culv_vector_get_stats(v, &stats));
    REQUIRE_EQ(stats.committed, s->chunk);
    REQUIRE_EQ(stats.peak, 77);
    culv_vector_destroy(&v, NULL);
    d = culv_vector_desc_init();
    d.min_chunk = 4 * s->chunk;
    d.max_chunk = 3 * s->chunk;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "min_chunk");
    d = culv_vector_desc_init();
    d.max_chunk = s->chunk - 1;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "max_chunk");
    d.max_chunk = 0;
    d.min_chunk = UINT64_MAX;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "min_chunk");
    d = culv_vector_desc_init();
    d.usage = CULV_VMM_USAGE_TILE_POOL;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE, "tile pools");
    d.usage = 1u << 30;
    LIB_INVALID(culv_vector_create(s->w.device, &d, &(culv_vector *){NULL}), VALUE);
    d = culv_vector_desc_init();
    d.access_count = 1;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "access");
    const culv_vmm_access odd = {.flags = (culv_vmm_access_flags)77};
    d.access = &odd;
    LIB_INVALID(culv_vector_create(s->w.device, &d, &(culv_vector *){NULL}), VALUE);
}

/* Sizes at the end of what 64 bits hold. */
VECTOR_CASE(huge)
{
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 4096};
    culv_vector *v = vector_make(s, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        culv_vector_desc d = culv_vector_desc_init();
        d.size = sizes[i];
        refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE, "size");
        d.size = 0;
        d.reserve = sizes[i];
        refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE, "reserve");
        LIB_INVALID(culv_vector_grow(v, sizes[i]), SIZE);
        LIB_INVALID(culv_vector_reserve(v, sizes[i]), SIZE);
    }
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = UINT64_C(1) << 60;
    refuse(s, &d, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS, "addresses");
    d.reserve = 0;
    d.size = 512 * GIB;
    LIB_ERROR(culv_vector_create(s->w.device, &d, &(culv_vector *){NULL}), OUT_OF_MEMORY,
              DEVICE_MEMORY);
    REQUIRE_EQ(culv_vector_size(v), s->chunk);
    REQUIRE_EQ(vector_check(v), 1);
    /* Ahead of everything: all that there is. */
    d = culv_vector_desc_init();
    d.commit_ahead = UINT64_MAX;
    d.reserve = 4 * s->chunk;
    d.no_move = 1;
    culv_vector *full = vector_make(s, &d);
    vector_wall(s, full);
    LIB_OK(culv_vector_shrink(full, 0, s->stream)); /* beyond what is kept ahead there is nothing */
    culv_vector_destroy(&full, NULL);
    culv_vector_destroy(&v, NULL);
}

/* A stream of nobody's. */
VECTOR_CASE(streams)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext other = NULL, before = NULL;
    CUstream stranger = NULL;
    if (cu->CtxCreate == NULL || cu->CtxDestroy == NULL) SKIP("the driver makes no second context");
    CU_OK(cu->CtxGetCurrent(&before));
    CU_OK(cu->CtxCreate(&other, 0, 0));
    CU_OK(cu->StreamCreate(&stranger, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxSetCurrent(before));
    culv_vector *v = vector_make(s, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    const culv_result result = culv_vector_shrink(v, s->chunk, stranger);
    MEASURED("vector_shrink_stranger", "%s", culv_result_name(result));
    if (result != CULV_OK) {
        REQUIRE_EQ(culv_vector_size(v), 2 * s->chunk);
        REQUIRE_EQ(culv_vector_committed(v), 2 * s->chunk);
    }
    culv_vector_destroy(&v, NULL);
    CU_OK(cu->CtxSetCurrent(other));
    CU_OK(cu->StreamDestroy(stranger));
    CU_OK(cu->CtxSetCurrent(before));
    CU_OK(cu->CtxDestroy(other));
}

/* A vector's chunks go with the vector, and messages name the call that was made. */
VECTOR_CASE(chunks)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    culv_vector *v = vector_make(s, NULL);
    culv_vector_chunk chunk[2];
    size_t count = 0;
    LIB_OK(culv_vector_grow(v, s->chunk));
    LIB_OK(culv_vector_grow(v, s->chunk + 4));
    LIB_OK(culv_vector_get_chunks(v, chunk, 2, &count, NULL));
    REQUIRE_EQ(count, 2);
    for (int i = 0; i < 2; i++) {
        LIB_INVALID(culv_vmm_allocation_destroy(&chunk[i].allocation), OWNED);
        REQUIRE(chunk[i].allocation != NULL);
        LIB_SAYS("culv_vmm_allocation_destroy: it is a part of another object; "
                 "culv_vector_destroy() destroys both");
    }
    vector_write(s, culv_vector_pointer(v), 0, s->chunk + 4, 5);
    vector_require(s, culv_vector_pointer(v), s->chunk + 4, 5, 0);
    CUgraph graph = NULL;
    CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_INVALID(culv_vector_shrink(v, 0, s->stream), CAPTURE, "culv_vector_shrink: the stream");
    CU_OK(cu->StreamEndCapture(s->stream, &graph));
    CU_OK(cu->GraphDestroy(graph));
    LIB_OK(culv_vector_shrink(v, 1, s->stream));
    REQUIRE_EQ(vector_check(v), 1);
    culv_vector_destroy(&v, NULL);
    lib_leave(&s->w, before);
}

/* Lets a driver call fail as often as a script says, which names its calls in order. */
typedef struct saboteur {
    const raw_cuda *cu;
    const char *const *script; /* "cuMemMap 2": the second one from here on; NULL: the end */
    unsigned met;
} saboteur;

static const char *const nothing[] = {NULL};

static void sabotage(void *user, culv_log_level level, const char *message)
{
    saboteur *it = user;
    char call[64] = "";
    unsigned nth = 0;
    if (level != CULV_LOG_DEBUG || *it->script == NULL) return;
    REQUIRE_EQ(sscanf(*it->script, "%63s %u", call, &nth), 2);
    const char *at = strstr(message, call);
    if (at == NULL || at[strlen(call)] != '(' || ++it->met < nth) return;
    it->cu->SoftFailAt(1, CUDA_ERROR_UNKNOWN);
    it->met = 0;
    it->script++;
}

static void open_sabotaged(saboteur *it, const vector_stage *s, culv_device **device)
{
    culv_device_desc dd = culv_device_desc_init();
    if (s->w.cu->SoftFailAt == NULL) SKIP("the twin alone fails when it is told to");
    *it = (saboteur){.cu = s->w.cu, .script = nothing};
    dd.driver = CULV_DRIVER_SOFT;
    dd.log = (culv_log){.fn = sabotage, .user = it, .level = CULV_LOG_DEBUG};
    LIB_OK(culv_device_open_by_ordinal(0, &dd, device));
}

/* A grow whose undoing meets a failure too: the next one finds its place free. */
VECTOR_CASE(undone_in_vain)
{
    static const char *const script[] = {"cuMemMap 2", "cuMemUnmap 1", NULL};
    saboteur it;
    culv_device *device = NULL;
    culv_vector *v = NULL;
    open_sabotaged(&it, s, &device);
    culv_vector_desc d = culv_vector_desc_init();
    d.size = s->chunk;
    d.max_chunk = s->chunk;
    LIB_OK(culv_vector_create(device, &d, &v));
    it.script = script;
    LIB_ERROR(culv_vector_grow(v, 3 * s->chunk), DRIVER, DRIVER_REFUSED);
    REQUIRE(*it.script == NULL);
    REQUIRE_EQ(culv_vector_committed(v), s->chunk);
    REQUIRE_EQ(vector_check(v), 1);
    LIB_OK(culv_vector_grow(v, 3 * s->chunk));
    vector_write(s, culv_vector_pointer(v), 0, 3 * s->chunk, 5);
    vector_require(s, culv_vector_pointer(v), 3 * s->chunk, 5, 0);
    culv_vector_destroy(&v, NULL);
    culv_device_close(&device);
}
