/* SPDX-License-Identifier: MIT */
/* The order of two streams of one GPU, by a word that one writes and the other waits for.
 *
 * An event between them would do, but a stream that waits for an event keeps CUDA on the GPU while
 * the first one waits for a graphics API: a frame then takes a time slice more, 2.4 ms in place of
 * 0.35 (measured, docs/waits.md).
 *
 * Each use takes a word of its own in the GPU's memory. Behind its wait the waiting stream writes
 * the same value into a mark in the host's memory. A word whose mark is equal can be used again. */
#include "cuda/context.h"

#include "culvert/semaphore.h"

enum {
    WORDS = 128, /* of a block */
    BLOCKS = 64  /* if all words of so many blocks are in use, events order the streams */
};

struct culvi_order_block {
    struct culvi_order_block *next;
    CUdeviceptr words; /* in the GPU's memory */
    CUdeviceptr at;    /* the marks, as the GPU sees them */
    void *pages;       /* the host's memory that the marks lie in */
    _Atomic uint64_t *marks;
    CUevent cleared; /* passed once the words are 0 */
    bool ready;
    uint32_t next_word;
    uint64_t values[WORDS]; /* the last value of each word; equal to the mark: the word is free */
};

/* The stream of this context that has a green one's semaphores. */
struct culvi_detour {
    struct culvi_detour *next;
    CUstream green, stream;
};

/* An event between two streams. */
static CUresult order_by_event(culv_device *device, CUstream before, CUstream after,
                               const char **call)
{
    CUevent event = NULL;
    CUresult r = CULVI_CU_AS(*call, device, cuEventCreate, (&event, CU_EVENT_DISABLE_TIMING));
    if (r != CUDA_SUCCESS) return r;
    r = CULVI_CU_AS(*call, device, cuEventRecord, (event, before));
    if (r == CUDA_SUCCESS) r = CULVI_CU_AS(*call, device, cuStreamWaitEvent, (after, event, 0));
    /* The driver keeps an event until the work that waits for it is done (cuda.h). */
    CULVI_CU_TWICE(device, cuEventDestroy, (event));
    return r;
}

static void free_block(culv_device *device, culvi_order_block *b)
{
    if (b->cleared != NULL) CULVI_RELEASE_TWICE(device, cuEventDestroy, (b->cleared));
    /* cuMemFree waits for all work, and so for the marks' writes, too. */
    if (b->words != 0) CULVI_RELEASE_TWICE(device, cuMemFree, (b->words));
    if (b->at != 0) CULVI_RELEASE_TWICE(device, cuMemHostUnregister, (b->marks));
    culvi_free(b->pages);
    culvi_free(b);
}

/* Nothing here waits: the caller's streams may wait for work that this thread has yet to submit.
 * NULL: no block can be had. */
static culvi_order_block *make_block(culv_device *device)
{
    const size_t bytes = WORDS * sizeof(uint64_t), page = (size_t)culvi_page_size();
    const size_t room = bytes < page ? page : bytes;
    CUstream stream = NULL;
    culvi_order_block *b = culvi_alloc(sizeof *b);
    if (b == NULL) return NULL;
    b->pages = culvi_alloc(room + page);
    if (b->pages == NULL) goto free;
    b->marks = (_Atomic uint64_t *)(((uintptr_t)b->pages + page - 1) / page * page);
    if (CULVI_CU(device, cuMemAlloc, (&b->words, bytes)) != CUDA_SUCCESS) goto free;
    if (CULVI_CU(device, cuMemHostRegister,
                 ((void *)b->marks, room,
                  CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP)) != CUDA_SUCCESS)
        goto free;
    if (CULVI_CU(device, cuMemHostGetDevicePointer, (&b->at, (void *)b->marks, 0)) !=
        CUDA_SUCCESS) {
        CULVI_RELEASE_TWICE(device, cuMemHostUnregister, ((void *)b->marks));
        b->at = 0;
        goto free;
    }
    if (CULVI_CU(device, cuEventCreate, (&b->cleared, CU_EVENT_DISABLE_TIMING)) != CUDA_SUCCESS ||
        CULVI_CU(device, cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS)
        goto free;
    const bool cleared =
        CULVI_CU(device, cuMemcpyHtoDAsync, (b->words, (const void *)b->marks, bytes, stream)) ==
            CUDA_SUCCESS &&
        CULVI_CU(device, cuEventRecord, (b->cleared, stream)) == CUDA_SUCCESS;
    /* The driver keeps a stream until its work is done (cuda.h). */
    CULVI_CU_TWICE(device, cuStreamDestroy, (stream));
    if (cleared) return b;
free:
    free_block(device, b);
    return NULL;
}

/* A word that nobody uses. */
static bool take_word(culv_device *device, culvi_order_block *b, uint32_t *word)
{
    if (!b->ready) b->ready = CULVI_CU(device, cuEventQuery, (b->cleared)) == CUDA_SUCCESS;
    for (uint32_t i = 0; b->ready && i < WORDS; i++) {
        *word = (b->next_word + i) % WORDS;
        if (atomic_load(&b->marks[*word]) != b->values[*word]) continue;
        b->next_word = *word + 1;
        b->values[*word]++;
        return true;
    }
    return false;
}

/* NULL: there is none now. The caller holds the lock of the orders. */
static culvi_order_block *find_word(culv_device *device, uint32_t *word)
{
    uint32_t blocks = 0;
    bool waits = false;
    for (culvi_order_block *b = device->orders; b != NULL; b = b->next, blocks++) {
        if (take_word(device, b, word)) return b;
        waits = waits || !b->ready;
    }
    if (waits || blocks == BLOCKS) return NULL;
    culvi_order_block *b = make_block(device);
    if (b == NULL) return NULL;
    b->next = device->orders;
    device->orders = b;
    return take_word(device, b, word) ? b : NULL;
}

static CUresult order_by_word(culv_device *device, culvi_order_block *b, uint32_t word,
                              uint64_t value, CUstream before, CUstream after, const char **call)
{
    const CUdeviceptr at = b->words + word * sizeof(uint64_t);
    const CUdeviceptr mark = b->at + word * sizeof(uint64_t);
    CUresult r = CULVI_CU_AS(*call, device, cuStreamWriteValue64,
                             (before, at, (cuuint64_t)value, CU_STREAM_WRITE_VALUE_DEFAULT));
    if (r != CUDA_SUCCESS) {
        CULVI_LOCKED(&device->orders_lock, b->values[word]--);
        return r;
    }
    r = CULVI_CU_AS(*call, device, cuStreamWaitValue64,
                    (after, at, (cuuint64_t)value, CU_STREAM_WAIT_VALUE_EQ));
    /* After a refused wait the word is free once it is written. If the mark is refused, too, the
     * word stays taken. */
    CUstream last = r == CUDA_SUCCESS ? after : before;
    CULVI_CU_TWICE(device, cuStreamWriteValue64,
                   (last, mark, (cuuint64_t)value, CU_STREAM_WRITE_VALUE_DEFAULT));
    return r;
}

CUresult culvi_order(culv_device *device, CUstream before, CUstream after, const char **call)
{
    culvi_order_block *block = NULL;
    uint64_t value = 0;
    uint32_t word = 0;
    culvi_capture capture = CULVI_NOT_CAPTURED;
    *call = "cuStreamIsCapturing";
    CUresult r = culvi_stream_capture(device, before, &capture);
    if (r == CUDA_SUCCESS && capture == CULVI_NOT_CAPTURED)
        r = culvi_stream_capture(device, after, &capture);
    if (r != CUDA_SUCCESS) return r;
    /* In a capture an event is an edge of the graph, and costs nothing. */
    if (capture == CULVI_NOT_CAPTURED && device->cuda->cuStreamWriteValue64 != NULL &&
        device->cuda->cuStreamWaitValue64 != NULL && !atomic_load(&device->orders_by_event)) {
        culvi_mutex_lock(&device->orders_lock);
        block = find_word(device, &word);
        if (block != NULL) value = block->values[word];
        culvi_mutex_unlock(&device->orders_lock);
    }
    if (block == NULL) return order_by_event(device, before, after, call);
    r = order_by_word(device, block, word, value, before, after, call);
    if (r != CUDA_ERROR_NOT_SUPPORTED) return r;
    atomic_store(&device->orders_by_event, true); /* a driver or a virtual GPU without them */
    return order_by_event(device, before, after, call);
}

CUresult culvi_detour_of(culv_device *device, CUstream green, CUstream *out, const char **call)
{
    CUresult r = CUDA_SUCCESS;
    culvi_mutex_lock(&device->orders_lock);
    culvi_detour *found = device->detours;
    while (found != NULL && found->green != green)
        found = found->next;
    if (found == NULL) {
        *call = "cuStreamCreate";
        found = culvi_alloc(sizeof *found);
        r = found == NULL
                ? CUDA_ERROR_OUT_OF_MEMORY
                : CULVI_CU(device, cuStreamCreate, (&found->stream, CU_STREAM_NON_BLOCKING));
        if (r == CUDA_SUCCESS) {
            found->green = green;
            found->next = device->detours;
            device->detours = found;
        } else {
            culvi_free(found);
        }
    }
    if (r == CUDA_SUCCESS) *out = found->stream;
    culvi_mutex_unlock(&device->orders_lock);
    return r;
}

CUresult culvi_arrive_prepare(culv_device *device, const char **call)
{
    CUresult r = CUDA_SUCCESS;
    *call = "cuMemAlloc";
    culvi_mutex_lock(&device->orders_lock);
    if (device->arrived == 0)
        r = CULVI_CU(device, cuMemAlloc, (&device->arrived, sizeof(uint64_t)));
    if (r == CUDA_SUCCESS && device->cuda->cuStreamWriteValue64 == NULL) r = CUDA_ERROR_NOT_FOUND;
    culvi_mutex_unlock(&device->orders_lock);
    return r;
}

/* NVIDIA's driver (580) writes memsets of up to 4 KiB and copies of some KiB from the host inline.
 * If the memory is another GPU's, the signal of an external semaphore can overtake them: Vulkan and
 * OpenGL read what was there before (measured on two H200, docs/two-gpus.md). OpenGL on the same
 * GPU reads the last 108 or 236 of 1,004 bytes from before, if other processes use it (docs/gl.md).
 * CUDA's own streams do, too (docs/ring.md). The barrier of such a write of a word waits for them;
 * an event does not. */
CUresult culvi_arrive(const culv_device *device, CUstream stream)
{
    return device->cuda->cuStreamWriteValue64(stream, device->arrived, 1,
                                              CU_STREAM_WRITE_VALUE_DEFAULT);
}

/* Captures ------------------------------------------------------------------------------------- */

static culv_result refuse_capture(const culv_device *device, const char *function, CUstream stream,
                                  const char *is, culvi_capture capture)
{
    char name[40];
    culvi_stream_name(stream, name);
    return culvi_fail(
        &device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_CAPTURE,
        "%s: %s, %s, %s, and the order that is asked for would end that capture; call it before the capture, let both streams be of one capture, or order them by yourself",
        function, name, is,
        capture == CULVI_CAPTURED ? "is being captured" : "waits for a stream that is");
}

/* Whether two captured streams are of one capture, whose graph the event then becomes part of. */
static bool same_capture(const culv_device *device, CUstream a, CUstream b)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t ids[2] = {0, 0};
    const CUstream streams[] = {a, b};
    for (int i = 0; i < 2; i++)
        if (device->cuda->cuStreamGetCaptureInfo == NULL ||
            CULVI_CU(device, cuStreamGetCaptureInfo,
                     (streams[i], &status, &ids[i], NULL, NULL, NULL)) != CUDA_SUCCESS)
            return false;
    return ids[0] == ids[1];
}

/* What the driver does not tell here, the call after it does. */
culv_result culvi_order_check(const culv_device *device, const char *function, CUstream before,
                              const char *before_is, CUstream after, const char *after_is)
{
    culvi_capture from = CULVI_NOT_CAPTURED, into = CULVI_NOT_CAPTURED;
    (void)culvi_stream_capture(device, before, &from);
    if (after_is != NULL) (void)culvi_stream_capture(device, after, &into);
    if (from == CULVI_CAPTURED && into == CULVI_CAPTURED && same_capture(device, before, after))
        return CULV_OK;
    if (from != CULVI_NOT_CAPTURED)
        return refuse_capture(device, function, before, before_is, from);
    return into == CULVI_NOT_CAPTURED ? CULV_OK
                                      : refuse_capture(device, function, after, after_is, into);
}

/* For the caller ------------------------------------------------------------------------------- */

culv_result culv_stream_wait_stream(culv_device *device, CUstream stream, CUstream other)
{
    culvi_scope scope;
    bool pushed = false;
    const char *call = NULL;
    CULVI_REQUIRE(NULL, device);
    if (stream == NULL) stream = CU_STREAM_LEGACY;
    if (other == NULL) other = CU_STREAM_LEGACY;
    if (stream == other) return CULV_OK;
    CULVI_TRY(culvi_enter(device, &scope, NULL));
    culv_result result = culvi_enter_any_stream(device, NULL, other, NULL, &pushed);
    if (result == CULV_OK) {
        culvi_leave_frame(device, pushed);
        result = culvi_enter_any_stream(device, NULL, stream, NULL, &pushed);
    }
    if (result == CULV_OK) {
        result = culvi_order_check(device, "culv_stream_wait_stream", other,
                                   "the one that is waited for", stream, "the one that waits");
        CUresult r = result == CULV_OK ? culvi_order(device, other, stream, &call) : CUDA_SUCCESS;
        culvi_leave_frame(device, pushed);
        if (r != CUDA_SUCCESS)
            result = culvi_fail_cuda(device, NULL, r, call, CULV_REASON_DRIVER_REFUSED,
                                     "stream %p could not be made to wait for stream %p",
                                     (void *)stream, (void *)other);
    }
    culvi_leave(device, &scope);
    return result;
}

void culvi_order_end(culv_device *device)
{
    culvi_scope scope;
    if (device->orders == NULL && device->detours == NULL && device->arrived == 0) return;
    const bool entered = culvi_enter_to_end(device, &scope);
    while (device->detours != NULL) {
        culvi_detour *detour = device->detours;
        device->detours = detour->next;
        CULVI_RELEASE_TWICE(device, cuStreamDestroy, (detour->stream));
        culvi_free(detour);
    }
    if (device->arrived != 0) CULVI_RELEASE_TWICE(device, cuMemFree, (device->arrived));
    while (device->orders != NULL) {
        culvi_order_block *b = device->orders;
        device->orders = b->next;
        free_block(device, b);
    }
    if (entered) culvi_leave(device, &scope);
}
