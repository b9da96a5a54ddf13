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
bool cuda_has_mappings(void); /* of shared memory */
/* In a child of fork(). */
void cuda_forget_memory(void);
void cuda_forget_streams(void);

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
