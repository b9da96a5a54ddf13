/* SPDX-License-Identifier: MIT */
/* Tensors of vectors, which pin them, and the order between streams. */
#define TEST_GROUP "dlpack_vector."
#include "dlpack_stage.h"
#include "vmm_stage.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORDS = 1024 };

static culv_vector *make(const vmm_stage *s, uint64_t blocks)
{
    culv_vector *v = NULL;
    culv_vector_desc d = culv_vector_desc_init();
    d.size = blocks * VMM_BLOCK;
    d.max_chunk = VMM_BLOCK;
    d.reserve = 64 * VMM_BLOCK;
    d.label = "points";
    LIB_OK(culv_vector_create(s->w.device, &d, &v));
    return v;
}

static CUdeviceptr address(const culv_dl_managed_tensor_versioned *tensor)
{
    return (CUdeviceptr)(uintptr_t)tensor->dl_tensor.data;
}

/* What a tensor covers stays; the rest of the vector lives on. */
VMM_CASE(pins)
{
    culv_vector *v = make(s, 2);
    CUstream stream = lib_stream(&s->w);
    culv_dl_managed_tensor_versioned *tensor = NULL, *second = NULL;
    LIB_OK(culv_vector_get_dlpack(v, NULL, &tensor));
    REQUIRE_EQ(tensor->dl_tensor.shape[0], 2 * VMM_BLOCK);
    REQUIRE_EQ(address(tensor), culv_vector_pointer(v));
    LIB_OK(culv_vector_grow(v, 4 * VMM_BLOCK));
    REQUIRE_EQ(tensor->dl_tensor.shape[0], 2 * VMM_BLOCK);
    vmm_write(s->w.device, s->w.cu, address(tensor) + VMM_BLOCK, WORDS, 4);
    LIB_OK(culv_vector_shrink(v, 2 * VMM_BLOCK, stream)); /* beyond the tensor */
    LIB_ERROR(culv_vector_shrink(v, VMM_BLOCK, stream), BUSY, OWNED);
    REQUIRE_EQ(culv_vector_size(v), 2 * VMM_BLOCK);
    vmm_require_words(s->w.device, s->w.cu, address(tensor) + VMM_BLOCK, WORDS, 4);
    LIB_OK(culv_vector_get_dlpack(v, NULL, &second));
    tensor->deleter(tensor);
    LIB_ERROR(culv_vector_shrink(v, VMM_BLOCK, stream), BUSY, OWNED);
    second->deleter(second);
    LIB_OK(culv_vector_shrink(v, VMM_BLOCK, stream));
    lib_finish(&s->w, stream);
    culv_vector_destroy(&v, NULL);
    lib_stream_destroy(&s->w, stream);
}

/* The vector's memory is there until its last tensor goes, whichever destroy took it. */
TEST(outlives)
{
    for (int after = 0; after < 2; after++) {
        vmm_stage s;
        vmm_stage_open(&s);
        culv_vector *v = make(&s, 3);
        CUstream stream = lib_stream(&s.w);
        culv_dl_managed_tensor_versioned *tensor = NULL, *second = NULL;
        LIB_OK(culv_vector_get_dlpack(v, NULL, &tensor));
        LIB_OK(culv_vector_get_dlpack(v, NULL, &second));
        vmm_write(s.w.device, s.w.cu, address(tensor), WORDS, 6);
        culv_vector_destroy(&v, after != 0 ? &stream : NULL);
        REQUIRE(v == NULL);
        vmm_require_counts(&s, 3, 1, 3);
        tensor->deleter(tensor);
        vmm_require_words(s.w.device, s.w.cu, address(second), WORDS, 6);
        second->deleter(second);
        vmm_require_counts(&s, 0, 0, 0);
        lib_stream_destroy(&s.w, stream);
        vmm_stage_close(&s);
    }
}

/* An old address is a tensor's until that is given up. */
VMM_CASE(moves)
{
    culv_vector *v = NULL;
    culv_vector_desc d = culv_vector_desc_init();
    d.size = d.reserve = VMM_BLOCK;
    LIB_OK(culv_vector_create(s->w.device, &d, &v));
    /* What lies behind it is taken, so that it moves. */
    culv_vmm_range *wall = NULL;
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    r.size = VMM_BLOCK;
    r.address = culv_vector_pointer(v) + VMM_BLOCK;
    LIB_OK(culv_vmm_range_create(s->w.device, &r, &wall));
    CUstream stream = lib_stream(&s->w);
    culv_dl_managed_tensor_versioned *tensor = NULL;
    LIB_OK(culv_vector_get_dlpack(v, NULL, &tensor));
    const CUdeviceptr before = address(tensor);
    LIB_OK(culv_vector_grow(v, 2 * VMM_BLOCK));
    if (culv_vector_pointer(v) != before) {
        vmm_write(s->w.device, s->w.cu, culv_vector_pointer(v), WORDS, 8);
        vmm_require_words(s->w.device, s->w.cu, before, WORDS, 8);
        LIB_ERROR(culv_vector_retire(v, before, stream), BUSY, OWNED);
        LIB_ERROR(culv_vector_retire(v, 0, stream), BUSY, OWNED);
        vmm_require_words(s->w.device, s->w.cu, before, WORDS, 8);
    }
    tensor->deleter(tensor);
    LIB_OK(culv_vector_retire(v, 0, stream));
    lib_finish(&s->w, stream);
    culv_vector_destroy(&v, NULL);
    LIB_OK(culv_vmm_range_destroy(&wall));
    lib_stream_destroy(&s->w, stream);
}

/* A consumer's stream waits for what the producer's has: without the hand-over it would copy the
 * old words. */
VMM_CASE(handed_over)
{
    static uint32_t words[WORDS];
    const raw_cuda *cu = s->w.cu;
    culv_vector *v = make(s, 2);
    const CUdeviceptr from = culv_vector_pointer(v), to = from + VMM_BLOCK;
    CUstream consumer = lib_stream(&s->w);
    vmm_write(s->w.device, cu, from, WORDS, 1);
    for (int row = 0; row < 2; row++) {
        vmm_gate gate;
        vmm_gate_begin(s, &gate);
        CUcontext before = lib_enter(&s->w);
        CU_OK(cu->MemsetD32Async(from, (unsigned)row + 5, WORDS, gate.stream));
        if (row == 0) {
            LIB_OK(culv_dlpack_hand_over(s->w.device, gate.stream, CULV_DLPACK_STREAM_NONE));
            LIB_OK(
                culv_dlpack_hand_over(s->w.device, gate.stream, (int64_t)(uintptr_t)gate.stream));
            REQUIRE_EQ(lib_query(&s->w, consumer), CUDA_SUCCESS);
            LIB_OK(culv_dlpack_hand_over(s->w.device, gate.stream, (int64_t)(uintptr_t)consumer));
            CU_OK(cu->MemcpyDtoDAsync(to, from, WORDS * 4, consumer));
            REQUIRE_EQ(lib_query(&s->w, consumer), CUDA_ERROR_NOT_READY);
            vmm_gate_open(s, &gate);
            lib_finish(&s->w, consumer);
        } else {
            vmm_gate_open(s, &gate);
            CU_OK(cu->MemcpyDtoDAsync(to, from, WORDS * 4, gate.stream));
            LIB_OK(culv_dlpack_hand_over(s->w.device, gate.stream, CULV_DLPACK_STREAM_HOST));
        }
        CU_OK(cu->MemcpyDtoH(words, to, sizeof words));
        lib_leave(&s->w, before);
        for (size_t i = 0; i < WORDS; i++)
            REQUIRE_EQ(words[i], (uint32_t)row + 5);
        vmm_gate_end(s, &gate);
    }
    LIB_INVALID(culv_dlpack_hand_over(s->w.device, consumer, 0), VALUE);
    LIB_INVALID(culv_dlpack_hand_over(s->w.device, consumer, -3), VALUE);
    LIB_OK(culv_dlpack_hand_over(s->w.device, NULL, CULV_DLPACK_STREAM_LEGACY));
    LIB_OK(culv_dlpack_hand_over(s->w.device, consumer, CULV_DLPACK_STREAM_PER_THREAD));
    lib_stream_destroy(&s->w, consumer);
    culv_vector_destroy(&v, NULL);
}

static void CUDA_CB nap(void *user)
{
    lib_sleep_ms(50);
    atomic_store((atomic_int *)user, 1);
}

static void *delete_it(void *tensor)
{
    culv_dl_managed_tensor_versioned *t = tensor;
    t->deleter(t);
    return NULL;
}

/* The last tensor of a destroyed vector: its deleter waits for the work that uses it, and a capture
 * in the same context goes on, whatever its mode. */
VMM_CASE(last_one_waits)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUstream work = lib_stream(&s->w), captured = lib_stream(&s->w);
    for (int mode = -1; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        culv_dl_managed_tensor_versioned *tensor = NULL;
        atomic_int done = 0;
        pthread_t thread;
        CUgraph graph = NULL;
        culv_vector *v = make(s, 2);
        LIB_OK(culv_vector_get_dlpack(v, NULL, &tensor));
        CU_OK(cu->LaunchHostFunc(work, nap, &done));
        CU_OK(cu->MemsetD32Async(address(tensor), 7, WORDS, work));
        culv_vector_destroy(&v, NULL);
        if (mode >= 0) CU_OK(cu->StreamBeginCapture(captured, (CUstreamCaptureMode)mode));
        REQUIRE_EQ(pthread_create(&thread, NULL, delete_it, tensor), 0);
        REQUIRE_EQ(pthread_join(thread, NULL), 0);
        REQUIRE(atomic_load(&done));
        if (mode >= 0) CU_OK(cu->StreamEndCapture(captured, &graph));
        if (mode >= 0) CU_OK(cu->GraphDestroy(graph));
        vmm_require_counts(s, 0, 0, 0);
        lib_finish(&s->w, work);
    }
    lib_leave(&s->w, before);
    lib_stream_destroy(&s->w, work);
    lib_stream_destroy(&s->w, captured);
}

/* Hand-overs while a stream is captured: the capture is whole afterwards, and what it would have
 * ended is refused by name. */
typedef enum end { HOST, LEGACY, FREE, FREE_TOO, CAPTURED } end;

static int64_t number_of(end e, const CUstream *streams)
{
    return e == HOST     ? CULV_DLPACK_STREAM_HOST
           : e == LEGACY ? CULV_DLPACK_STREAM_LEGACY
                         : (int64_t)(uintptr_t)streams[e];
}

typedef struct hand_over {
    culv_device *device;
    CUstream producer;
    int64_t consumer;
    bool plain; /* culv_stream_wait_stream() */
    culv_result result;
    culv_reason reason;
} hand_over;

static void *run_hand_over(void *user)
{
    hand_over *h = user;
    h->result =
        h->plain ? culv_stream_wait_stream(h->device, (CUstream)(uintptr_t)h->consumer, h->producer)
                 : culv_dlpack_hand_over(h->device, h->producer, h->consumer);
    culv_error error = {.struct_size = sizeof error};
    culv_last_error(&error);
    h->reason = h->result == CULV_OK ? CULV_REASON_NONE : error.reason;
    return NULL;
}

VMM_CASE(handed_over_beside_captures)
{
    static const struct {
        end producer, consumer;
        bool ok[2]; /* beside a capture of a stream that the legacy one waits for, and of another */
    } rows[] = {
        {FREE, HOST, {true, true}},         {FREE, FREE_TOO, {true, true}},
        {CAPTURED, CAPTURED, {true, true}}, {LEGACY, HOST, {false, true}},
        {LEGACY, FREE, {false, true}},      {FREE, LEGACY, {false, true}},
        {CAPTURED, HOST, {false, false}},   {CAPTURED, FREE, {false, false}},
        {CAPTURED, LEGACY, {false, false}}, {FREE, CAPTURED, {false, false}},
        {LEGACY, CAPTURED, {false, false}},
    };
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    for (unsigned i = 0; i < 24 * sizeof rows / sizeof rows[0]; i++) {
        const unsigned row = i / 24, mode = i / 8 % 3, plain = i / 4 % 2, other_thread = i / 2 % 2,
                       kind = i % 2;
        if (plain && rows[row].consumer == HOST) continue;
        CUstream streams[CAPTURED + 1] = {NULL};
        CUgraph graph = NULL;
        pthread_t thread;
        streams[FREE] = lib_stream(&s->w);
        streams[FREE_TOO] = lib_stream(&s->w);
        CU_OK(cu->StreamCreate(&streams[CAPTURED],
                               kind == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
        CU_OK(cu->StreamBeginCapture(streams[CAPTURED], (CUstreamCaptureMode)mode));
        hand_over h = {.device = s->w.device,
                       .producer = streams[rows[row].producer],
                       .consumer = number_of(rows[row].consumer, streams),
                       .plain = plain};
        if (other_thread) {
            REQUIRE_EQ(pthread_create(&thread, NULL, run_hand_over, &h), 0);
            REQUIRE_EQ(pthread_join(thread, NULL), 0);
        } else {
            run_hand_over(&h);
        }
        const CUresult ended = cu->StreamEndCapture(streams[CAPTURED], &graph);
        if (ended != CUDA_SUCCESS ||
            h.reason != (rows[row].ok[kind] ? CULV_REASON_NONE : CULV_REASON_CAPTURE))
            FAIL("row %u, mode %u, plain %u, thread %u, kind %u: reason %d, the capture's end %d",
                 row, mode, plain, other_thread, kind, (int)h.reason, (int)ended);
        CU_OK(cu->GraphDestroy(graph));
        for (int k = FREE; k <= CAPTURED; k++)
            CU_OK(cu->StreamDestroy(streams[k]));
    }
    lib_leave(&s->w, before);
}
