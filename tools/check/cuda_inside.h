/* SPDX-License-Identifier: MIT */
/* What the files before the CUDA driver share. */
#ifndef CHECK_CUDA_INSIDE_H_
#define CHECK_CUDA_INSIDE_H_

#define __CUDA_API_VERSION_INTERNAL /* symbols as they are exported */
#include <cuda.h>

#include "cuda_calls.h"
#include "shim.h"

#include <string.h>

enum {
#define ROW(base, version, symbol)          ROW_##symbol,
#define ROW2(base, version, symbol, suffix) ROW_##symbol, ROW_##symbol##_##suffix,
    CHECK_CUDA_PLAIN(ROW) CHECK_CUDA_PER_THREAD(ROW2) NUM_ROWS
#undef ROW
#undef ROW2
};

typedef struct row {
    const char *base;
    int version;
    bool per_thread;
    const char *symbol;
    void (*wrapper)(void);
} row;
extern const row cuda_rows[NUM_ROWS];

/* A function of the driver that is not watched, or the driver's own of one that is. */
void *cuda_ask_driver(const char *symbol);
void *cuda_real_of(int i);

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

/* ---- a call on a stream ---- */

#define CUDA_MOST 64
typedef struct work {
    check_site site;
    CUstream handle;
    bool per_thread;
    bool capturing;
    check_access accesses[CUDA_MOST];
    unsigned num_accesses;
    check_turn turns[CUDA_MOST];
    unsigned num_turns;
    bool signals;
    CUevent records; /* or NULL */
    CUevent follows;
    bool joins_all;
    bool runs_code;
    bool blocks; /* the host may wait in the call */
    bool tells_hosts;
    int agent;
    check_mark *mark;
} work;

void cuda_work_begin(work *w, const char *call, CUstream handle, bool per_thread);
/* Tells the model, before the driver may begin. */
void cuda_work_submit(work *w);
void cuda_work_failed(const work *w);
void cuda_host_saw_stream(CUstream handle, bool per_thread);
/* What is touched of shared memory; of an array its first byte. */
void cuda_touch(work *w, uint64_t address, uint64_t size, check_access_kind kind);
void cuda_touch_array(work *w, CUarray array, check_access_kind kind);
bool cuda_context_uuid(uint8_t uuid[CHECK_UUID]);
/* The driver refused a signal or a wait: is the stream on another GPU than the semaphore? */
void cuda_look_at_gpu(const work *w);
/* Looks at what is imported; returns a reference, of something unseen where nothing is known. */
check_payload *cuda_ask_import(int fd, check_import *i, const check_site *site);
/* In a child of fork(). */
void cuda_forget_memory(void);
void cuda_forget_streams(void);
void cuda_forget_graphs(void);
bool cuda_has_imports(void); /* of shared memory */
bool cuda_has_objects(void); /* surface and texture objects of it */

/* What something touches, one call for each part: an array, or bytes. */
typedef void (*cuda_each)(void *user, uint64_t address, uint64_t size, CUarray array,
                          check_access_kind kind);
/* Of a call on a stream; `user` is its work. */
void cuda_touch_any(void *user, uint64_t address, uint64_t size, CUarray array,
                    check_access_kind kind);
/* One side of a copy of a box: its first and its last row, because what is between rows may be
 * others'. Without gaps it is all of the first slice. */
void cuda_box(cuda_each each, void *user, CUmemorytype type, CUarray array, CUdeviceptr base,
              size_t x, size_t y, size_t z, size_t pitch, size_t slice, size_t width, size_t height,
              size_t depth, check_access_kind kind);
void cuda_copy_box(cuda_each each, void *user, const CUDA_MEMCPY3D *p);
/* What of a kernel's arguments points into shared memory: the byte pointed at is used, at least.
 * The kernel is `f`, or `k` where that is NULL. */
void cuda_arguments(cuda_each each, void *user, CUfunction f, CUkernel k, void **params,
                    void **extra);

/* What a range or an array is now. Under the lock. */
typedef enum cuda_found { CUDA_NOTHING, CUDA_SHARED, CUDA_ENDED } cuda_found;
cuda_found cuda_resolve(uint64_t address, uint64_t size, CUarray array, check_access_kind kind,
                        const char *how, check_access *out);
/* Changes with what is imported and mapped, and so with what cuda_resolve() says. */
extern uint64_t cuda_generation;
/* The agent of a stream. Not under the lock. */
int cuda_agent_of(CUstream handle, bool per_thread);
/* Agents whose work until now is before a work of this stream; under the lock. */
uint64_t cuda_before(CUstream handle, bool per_thread);
/* Semaphores that a graph has: their order is lost where a graph is not followed. */
void cuda_in_graph(const CUexternalSemaphore *handles, unsigned count);
void cuda_out_of_graph(check_model *m, const check_payload *p); /* under the lock */

#define REAL(symbol, parameters, arguments)                                                        \
    CUresult(CUDAAPI *real) parameters = NULL;                                                     \
    void *real_symbol = cuda_real_of(ROW_##symbol);                                                \
    memcpy(&real, &real_symbol, sizeof real);                                                      \
    if (real_symbol == NULL) return CUDA_ERROR_NOT_FOUND;                                          \
    if (check_inside > 0) return real arguments;

/* A call on a stream, in both of its forms. `tell` says what it does; `after` runs on success. */
#define ON_STREAM_1(symbol, is_per_thread, parameters, arguments, stream_, tell, after)            \
    CHECK_EXPORT CUresult CUDAAPI symbol parameters                                                \
    {                                                                                              \
        const bool per_thread = is_per_thread;                                                     \
        work w;                                                                                    \
        REAL(symbol, parameters, arguments)                                                        \
        const uint64_t since = check_trace_now();                                                  \
        cuda_work_begin(&w, cuda_rows[ROW_##symbol].base, stream_, per_thread);                    \
        tell;                                                                                      \
        cuda_work_submit(&w);                                                                      \
        const int slot = w.blocks && !w.capturing ? check_wait_begin_at(&w.site, NULL, 0) : -1;    \
        const CUresult result = real arguments;                                                    \
        check_wait_end(slot);                                                                      \
        if (result == CUDA_SUCCESS && !w.capturing) {                                              \
            after;                                                                                 \
        }                                                                                          \
        if (result != CUDA_SUCCESS && !w.capturing) cuda_work_failed(&w);                          \
        if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE ||           \
            result == CUDA_ERROR_INVALID_CONTEXT)                                                  \
            cuda_look_at_gpu(&w);                                                                  \
        (void)per_thread;                                                                          \
        check_trace_call(w.site.call, since);                                                      \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
#define ON_STREAM(symbol, suffix, parameters, arguments, stream_, tell, after)                     \
    ON_STREAM_1(symbol, false, parameters, arguments, stream_, tell, after)                        \
    ON_STREAM_1(symbol##_##suffix, true, parameters, arguments, stream_, tell, after)

#define NOTHING    (void)0
#define SEEN       cuda_host_saw_stream(NULL, per_thread)
#define SEEN_ON(s) cuda_host_saw_stream(s, per_thread)

#endif
