/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver. A program that links libcuda.so.1 gets these functions,
 * because this library is loaded first; one that looks them up gets them from dlsym() and
 * cuGetProcAddress(). Each tells the model what is asked, and then asks the driver. */
#define __CUDA_API_VERSION_INTERNAL /* symbols as they are exported */
#include <cuda.h>

#include "cuda_calls.h"
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

static const row rows[] = {
#define ROW(base, version, symbol) {#base, version, false, #symbol, (void (*)(void))symbol},
#define ROW2(base, version, symbol, suffix)                                                        \
    {#base, version, false, #symbol, (void (*)(void))symbol},                                      \
        {#base, version, true, #symbol "_" #suffix, (void (*)(void))symbol##_##suffix},
    CHECK_CUDA_PLAIN(ROW) CHECK_CUDA_PER_THREAD(ROW2)
#undef ROW
#undef ROW2
};

/* ---- which driver ---- */

static _Atomic(void *) reals[NUM_ROWS];
static _Atomic(void *) driver; /* its module, as dladdr() knows it */
static _Atomic(void *) library;

static void *module_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static void *open_library(void)
{
    static const char *const names[] = {"libcuda.so.1", "libculvert-soft.so.0"};
    void *found = library;
    for (size_t i = 0; found == NULL && i < 2; i++)
        found = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    library = found;
    return found;
}

/* A function of the driver that is not watched, or the driver's own of one that is. */
static void *ask_driver(const char *symbol)
{
    check_inside++;
    void *found = check_find_symbol(RTLD_NEXT, symbol);
    if (found == NULL && open_library() != NULL) found = check_find_symbol(library, symbol);
    check_inside--;
    return found;
}

static void *real_of(int i)
{
    void *found = reals[i];
    if (found == NULL) reals[i] = found = ask_driver(rows[i].symbol);
    return found;
}

static void *wrapper_of(int i)
{
    void *wrapper;
    memcpy(&wrapper, &rows[i].wrapper, sizeof wrapper);
    return wrapper;
}

/* What stands for `found` of the row. A second driver in the process is not watched. */
static void *stand_in(int i, void *found)
{
    void *wrapper = wrapper_of(i);
    if (found == NULL || found == wrapper) return found;
    void *module = module_of(found), *none = NULL;
    if (module != driver &&
        !__atomic_compare_exchange_n((void **)&driver, &none, module, 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST) &&
        none != module) {
        check_note("A second CUDA driver is in the process; its calls were not seen");
        return found;
    }
    void *nothing = NULL;
    (void)__atomic_compare_exchange_n((void **)&reals[i], &nothing, found, 0, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    return wrapper;
}

void *check_cuda_found(const char *name, void *found)
{
    for (int i = 0; i < NUM_ROWS; i++)
        if (strcmp(rows[i].symbol, name) == 0) return stand_in(i, found);
    return found;
}

static void answer(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    int best = -1;
    if (symbol == NULL || pfn == NULL || *pfn == NULL) return;
    for (int i = 0; i < NUM_ROWS; i++) {
        if (strcmp(rows[i].base, symbol) != 0 || rows[i].version > version) continue;
        if (rows[i].per_thread && !per_thread) continue;
        if (best < 0 || rows[i].version > rows[best].version || rows[i].per_thread) best = i;
    }
    if (best >= 0) *pfn = stand_in(best, *pfn);
}

/* ---- what is imported and mapped; all under the model's lock ---- */

typedef struct import {
    struct import *next;
    unsigned references; /* its handle and its mappings */
    check_payload *payload;
    uint64_t size;
    bool gone;
    check_site end;
} import;
static import *imports;

typedef struct mapping {
    struct mapping *next;
    import *of;
    uint64_t begin, end, offset;
    bool freed;
    check_site end_site;
} mapping;
static mapping *mappings;

typedef struct image { /* a mipmapped array, or a level of one */
    import *of;
    uint64_t offset;
} image;

static void import_drop(check_model *m, import *i)
{
    if (--i->references > 0) return;
    import **link = &imports;
    while (*link != i)
        link = &(*link)->next;
    *link = i->next;
    check_payload_drop(m, i->payload);
    free(i);
}

static void mapping_remove(check_model *m, mapping **link)
{
    mapping *gone = *link;
    *link = gone->next;
    import_drop(m, gone->of);
    free(gone);
}

/* What was there before is over: its addresses are given out again. Some of the ended ones are
 * kept, for (h). */
static void mapping_add(check_model *m, import *of, uint64_t begin, uint64_t size, uint64_t offset)
{
    const uint64_t end = begin + size;
    unsigned ended = 0;
    for (mapping **link = &mappings; *link != NULL;) {
        mapping *at = *link;
        const bool dead = at->freed || at->of->gone;
        if (dead) ended++;
        if (dead && ((at->begin < end && begin < at->end) || ended > 64))
            mapping_remove(m, link);
        else
            link = &at->next;
    }
    mapping *made = of != NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) return;
    of->references++;
    *made = (mapping){.next = mappings, .of = of, .begin = begin, .end = end, .offset = offset};
    mappings = made;
}

static unsigned imports_of(const check_payload *p)
{
    unsigned count = 0;
    for (const import *i = imports; i != NULL; i = i->next)
        if (i->payload == p && !i->gone) count++;
    return count;
}

/* ---- streams ---- */

static void forget_streams(void);

/* The parent's imports and streams are not a child's. */
void check_cuda_forget(void)
{
    imports = NULL;
    mappings = NULL;
    forget_streams();
}

typedef struct stream {
    int agent;
    bool blocking;
} stream;

static uint64_t blocking_agents, cuda_agents;
static _Atomic int captures;

#define LEGACY_KEY UINT64_C(1)

static void forget_streams(void)
{
    blocking_agents = cuda_agents = 0;
    captures = 0;
}

static uint64_t stream_key(CUstream handle, bool per_thread)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t thread;
    if (handle == CU_STREAM_PER_THREAD || (handle == NULL && per_thread)) {
        if (thread == 0) thread = (UINT64_C(1) << 63) + ++threads;
        return thread;
    }
    return handle == NULL || handle == CU_STREAM_LEGACY ? LEGACY_KEY : (uint64_t)(uintptr_t)handle;
}

static stream *stream_add(check_model *m, uint64_t key, bool blocking)
{
    char name[48];
    stream *s = check_get(CHECK_OF_CU_STREAM, key);
    if (s != NULL) return s;
    s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    if (key == LEGACY_KEY)
        (void)snprintf(name, sizeof name, "the legacy stream");
    else if (key >> 63 != 0)
        (void)snprintf(name, sizeof name, "a per-thread stream");
    else
        (void)snprintf(name, sizeof name, "CUstream 0x%llx", (unsigned long long)key);
    s->agent = check_agent_make(m, CHECK_CUDA, name);
    s->blocking = blocking && key != LEGACY_KEY;
    if (s->agent > 0) cuda_agents |= UINT64_C(1) << s->agent;
    if (s->blocking && s->agent > 0) blocking_agents |= UINT64_C(1) << s->agent;
    (void)check_put(CHECK_OF_CU_STREAM, key, s);
    return s;
}

/* ---- a call on a stream ---- */

#define MOST 64
typedef struct work {
    check_site site;
    CUstream handle;
    bool per_thread;
    bool capturing;
    check_access accesses[MOST];
    unsigned num_accesses;
    check_turn turns[MOST];
    unsigned num_turns;
    bool signals;
    CUevent records; /* or NULL */
    CUevent follows;
    bool joins_all;
    bool blocks; /* the host may wait in the call */
    int agent;
    check_mark *mark;
} work;

typedef struct suspect {
    mapping copy;
    bool is;
} suspect;

static void work_begin(work *w, const char *call, CUstream handle, bool per_thread)
{
    memset(w, 0, offsetof(work, accesses));
    w->num_accesses = w->num_turns = 0;
    w->signals = w->joins_all = w->blocks = false;
    w->records = w->follows = NULL;
    w->mark = NULL;
    w->agent = 0;
    w->site = check_here(call);
    w->handle = handle;
    w->per_thread = per_thread;
    check_inside++;
    if (captures > 0 && stream_key(handle, per_thread) != LEGACY_KEY) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUresult(CUDAAPI * ask)(CUstream, CUstreamCaptureStatus *);
        void *found = ask_driver(per_thread ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing");
        memcpy(&ask, &found, sizeof ask);
        if (found != NULL && ask(handle, &status) == CUDA_SUCCESS)
            w->capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
    }
}

/* The memory of a mapping that was freed may be another allocation's by now; the driver knows. */
static bool is_live_memory(uint64_t address)
{
    CUdeviceptr base;
    size_t size;
    CUresult(CUDAAPI * ask)(CUdeviceptr *, size_t *, CUdeviceptr);
    void *found = ask_driver("cuMemGetAddressRange_v2");
    memcpy(&ask, &found, sizeof ask);
    return found == NULL || ask(&base, &size, address) == CUDA_SUCCESS;
}

static void touch(work *w, uint64_t address, uint64_t size, check_access_kind kind)
{
    bool ended = false;
    if (w->capturing || size == 0 || mappings == NULL) return;
    check_model *m = check_open();
    if (m == NULL) return;
    mapping *at = mappings;
    while (at != NULL && (address < at->begin || address >= at->end))
        at = at->next;
    if (at != NULL) {
        ended = at->freed || at->of->gone;
        if (!ended && at->of->payload != NULL && w->num_accesses < MOST) {
            const uint64_t begin = at->offset + (address - at->begin);
            const uint64_t most = at->end - address;
            w->accesses[w->num_accesses++] =
                (check_access){.payload = at->of->payload,
                               .begin = begin,
                               .end = begin + (size < most ? size : most),
                               .kind = kind,
                               .how = w->site.call};
        }
    }
    check_close();
    if (!ended) return;
    /* An address of the import that has not been freed is nobody else's. */
    const bool live = is_live_memory(address);
    m = check_open();
    if (m == NULL) return;
    mapping **link = &mappings;
    while (*link != NULL && (address < (*link)->begin || address >= (*link)->end))
        link = &(*link)->next;
    if (*link != NULL && (*link)->freed && live)
        mapping_remove(m, link);
    else if (*link != NULL && ((*link)->freed || (*link)->of->gone))
        check_used_after(m, (*link)->of->payload, &w->site,
                         (*link)->freed ? &(*link)->end_site : &(*link)->of->end);
    check_close();
}

static void touch_array(work *w, CUarray array, check_access_kind kind)
{
    check_model *m = w->capturing ? NULL : check_open();
    if (m == NULL) return;
    const image *i = check_get(CHECK_OF_CU_ARRAY, (uint64_t)(uintptr_t)array);
    /* How much of the image that is, only the driver knows; its first byte stands for it. */
    if (i != NULL && !i->of->gone && w->num_accesses < MOST)
        w->accesses[w->num_accesses++] = (check_access){.payload = i->of->payload,
                                                        .begin = i->offset,
                                                        .end = i->offset + 1,
                                                        .kind = kind,
                                                        .how = w->site.call};
    else if (i != NULL && i->of->gone)
        check_used_after(m, i->of->payload, &w->site, &i->of->end);
    check_close();
}

static int agent_of(CUstream handle, bool per_thread)
{
    const uint64_t key = stream_key(handle, per_thread);
    unsigned flags = 0;
    check_model *m = check_open();
    if (m == NULL) return 0;
    const stream *s = check_get(CHECK_OF_CU_STREAM, key);
    const int known = s != NULL ? s->agent : -1;
    check_close();
    if (known >= 0) return known;
    if (key != LEGACY_KEY && key >> 63 == 0) {
        CUresult(CUDAAPI * ask)(CUstream, unsigned *);
        void *found = ask_driver("cuStreamGetFlags");
        memcpy(&ask, &found, sizeof ask);
        if (found == NULL || ask(handle, &flags) != CUDA_SUCCESS) return 0; /* no stream at all */
    }
    m = check_open();
    if (m == NULL) return 0;
    s = stream_add(m, key, (flags & CU_STREAM_NON_BLOCKING) == 0);
    const int agent = s != NULL ? s->agent : 0;
    check_close();
    return agent;
}

/* Tells the model, before the driver may begin. */
static void work_submit(work *w)
{
    if (w->capturing) {
        check_model *m = check_open();
        if (m == NULL) return;
        /* A graph does it later, as often as it is launched. */
        for (unsigned i = 0; i < w->num_turns; i++)
            check_payload_opaque(w->turns[i].payload);
        check_close();
        return;
    }
    w->agent = agent_of(w->handle, w->per_thread);
    check_model *m = check_open();
    if (m == NULL) return;
    const stream *s = check_get(CHECK_OF_CU_STREAM, stream_key(w->handle, w->per_thread));
    const stream *legacy = check_get(CHECK_OF_CU_STREAM, LEGACY_KEY);
    check_work told = {
        .accesses = w->accesses, .num_accesses = w->num_accesses, .joins_all = w->joins_all};
    if (w->signals) {
        told.signals = w->turns;
        told.num_signals = w->num_turns;
    } else {
        told.waits = w->turns;
        told.num_waits = w->num_turns;
    }
    if (s != NULL && s == legacy)
        told.after_agents = blocking_agents;
    else if (s != NULL && s->blocking && legacy != NULL && legacy->agent > 0)
        told.after_agents = UINT64_C(1) << legacy->agent;
    if (w->follows != NULL) {
        told.after = check_get(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)w->follows);
        if (told.after == NULL) told.joins_all = true; /* another process's, or never recorded */
    }
    if (w->records != NULL) {
        told.mark = check_mark_make();
        if (told.mark != NULL)
            check_mark_drop(
                check_put(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)w->records, told.mark));
    }
    if (w->mark != NULL) told.mark = w->mark;
    check_submit(m, w->agent, &told, &w->site);
    check_close();
}

static void work_failed(const work *w)
{
    check_model *m = check_open();
    if (m == NULL) return;
    const check_work told = {.waits = w->turns,
                             .num_waits = w->num_turns,
                             .accesses = w->accesses,
                             .num_accesses = w->num_accesses};
    check_submit_failed(m, &told);
    check_close();
}

static void host_saw_stream(CUstream handle, bool per_thread)
{
    const uint64_t key = stream_key(handle, per_thread);
    check_model *m = check_open();
    if (m == NULL) return;
    const stream *s = check_get(CHECK_OF_CU_STREAM, key);
    if (s != NULL) check_host_saw_agent(m, s->agent);
    if (s != NULL && key == LEGACY_KEY) check_host_saw_agents(m, blocking_agents);
    check_close();
}

static bool context_uuid(uint8_t uuid[CHECK_UUID])
{
    CUdevice device;
    CUuuid is;
    CUresult(CUDAAPI * current)(CUdevice *);
    CUresult(CUDAAPI * ask)(CUuuid *, CUdevice);
    void *found = ask_driver("cuCtxGetDevice"), *found_ask = ask_driver("cuDeviceGetUuid_v2");
    if (found_ask == NULL) found_ask = ask_driver("cuDeviceGetUuid");
    memcpy(&current, &found, sizeof current);
    memcpy(&ask, &found_ask, sizeof ask);
    if (found == NULL || found_ask == NULL || current(&device) != CUDA_SUCCESS ||
        ask(&is, device) != CUDA_SUCCESS)
        return false;
    memcpy(uuid, is.bytes, CHECK_UUID);
    return true;
}

/* The driver refused a signal or a wait: is the stream on another GPU than the semaphore? */
static void look_at_gpu(const work *w)
{
    CUcontext context;
    uint8_t uuid[CHECK_UUID];
    CUresult(CUDAAPI * of)(CUstream, CUcontext *);
    CUresult(CUDAAPI * push)(CUcontext);
    CUresult(CUDAAPI * pop)(CUcontext *);
    if (w->num_turns == 0) return;
    void *found = ask_driver("cuStreamGetCtx"), *found_push = ask_driver("cuCtxPushCurrent_v2"),
         *found_pop = ask_driver("cuCtxPopCurrent_v2");
    memcpy(&of, &found, sizeof of);
    memcpy(&push, &found_push, sizeof push);
    memcpy(&pop, &found_pop, sizeof pop);
    if (found == NULL || found_push == NULL || found_pop == NULL ||
        of(w->handle, &context) != CUDA_SUCCESS || push(context) != CUDA_SUCCESS)
        return;
    const bool known = context_uuid(uuid);
    (void)pop(&context);
    check_model *m = known ? check_open() : NULL;
    if (m == NULL) return;
    for (unsigned i = 0; i < w->num_turns; i++)
        check_used_on(m, w->turns[i].payload, uuid, &w->site);
    check_close();
}

#define REAL(symbol, parameters, arguments)                                                        \
    CUresult(CUDAAPI *real) parameters = NULL;                                                     \
    void *real_symbol = real_of(ROW_##symbol);                                                     \
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
        work_begin(&w, rows[ROW_##symbol].base, stream_, per_thread);                              \
        tell;                                                                                      \
        work_submit(&w);                                                                           \
        const int slot = w.blocks && !w.capturing ? check_wait_begin_at(&w.site, NULL, 0) : -1;    \
        const CUresult result = real arguments;                                                    \
        check_wait_end(slot);                                                                      \
        if (result == CUDA_SUCCESS && !w.capturing) {                                              \
            after;                                                                                 \
        }                                                                                          \
        if (result != CUDA_SUCCESS && !w.capturing) work_failed(&w);                               \
        if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE ||           \
            result == CUDA_ERROR_INVALID_CONTEXT)                                                  \
            look_at_gpu(&w);                                                                       \
        (void)per_thread;                                                                          \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
#define ON_STREAM(symbol, suffix, parameters, arguments, stream_, tell, after)                     \
    ON_STREAM_1(symbol, false, parameters, arguments, stream_, tell, after)                        \
    ON_STREAM_1(symbol##_##suffix, true, parameters, arguments, stream_, tell, after)

/* One side of a copy of a box: its first and its last row, because what is between rows may be
 * others'. Without gaps it is all of the first slice. */
static void side(work *w, CUmemorytype type, CUarray array, CUdeviceptr base, size_t x, size_t y,
                 size_t z, size_t pitch, size_t slice, size_t width, size_t height, size_t depth,
                 check_access_kind kind)
{
    if (type == CU_MEMORYTYPE_ARRAY) touch_array(w, array, kind);
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return;
    if (width == 0 || height == 0 || depth == 0) return;
    /* What the driver makes of a pitch that is too small is not known. */
    if (pitch < width && (height > 1 || depth > 1 || y > 0 || z > 0)) return;
    if (slice < height && (depth > 1 || z > 0)) return;
    const CUdeviceptr first = base + (z * slice + y) * pitch + x;
    const bool whole = pitch == width;
    touch(w, first, whole ? width * height : width, kind);
    if (depth > 1 || (height > 1 && !whole))
        touch(w, first + ((depth - 1) * slice + height - 1) * pitch, width, kind);
}

/* A copy to pageable memory is done when the call returns, whatever its name says (CUDA driver API,
 * "API synchronization behavior"). The driver knows of what is not pageable. */
static bool is_pageable(const work *w, const void *at)
{
    unsigned type;
    static _Atomic(void *) asked;
    if (w->num_accesses == 0) return false; /* nobody asks */
    if (asked == NULL) asked = ask_driver("cuPointerGetAttribute");
    void *found = asked;
    CUresult(CUDAAPI * ask)(void *, CUpointer_attribute, CUdeviceptr);
    memcpy(&ask, &found, sizeof ask);
    return found == NULL ||
           ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)at) != CUDA_SUCCESS;
}

// clang-format off
#define NOTHING (void)0
#define SEEN host_saw_stream(NULL, per_thread)
#define SEEN_ON(s) host_saw_stream(s, per_thread)
#define COPY(to, from, size) (touch(&w, from, size, CHECK_READ), touch(&w, to, size, CHECK_WRITE))
#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

ON_STREAM(cuMemcpy, ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size), NULL, (w.blocks = true, COPY(to, from, size)), SEEN) /* it may be a copy of the host's */
ON_STREAM(cuMemcpyAsync, ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s), s, (w.blocks = true, COPY(to, from, size)), if (is_pageable(&w, (const void *)(uintptr_t)to)) SEEN_ON(s))
ON_STREAM(cuMemcpyHtoD_v2, ptds, (CUdeviceptr to, const void *from, size_t size), (to, from, size), NULL, (w.blocks = true, touch(&w, to, size, CHECK_WRITE)), SEEN)
ON_STREAM(cuMemcpyHtoDAsync_v2, ptsz, (CUdeviceptr to, const void *from, size_t size, CUstream s), (to, from, size, s), s, (w.blocks = true, touch(&w, to, size, CHECK_WRITE)), NOTHING)
ON_STREAM(cuMemcpyDtoH_v2, ptds, (void *to, CUdeviceptr from, size_t size), (to, from, size), NULL, (w.blocks = true, touch(&w, from, size, CHECK_READ)), SEEN)
ON_STREAM(cuMemcpyDtoHAsync_v2, ptsz, (void *to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s), s, (w.blocks = true, touch(&w, from, size, CHECK_READ)), if (is_pageable(&w, to)) SEEN_ON(s))
ON_STREAM(cuMemcpyDtoD_v2, ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size), NULL, COPY(to, from, size), NOTHING)
ON_STREAM(cuMemcpyDtoDAsync_v2, ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s), s, COPY(to, from, size), NOTHING)
ON_STREAM(cuMemsetD8_v2, ptds, (CUdeviceptr to, unsigned char v, size_t n), (to, v, n), NULL, touch(&w, to, n, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD16_v2, ptds, (CUdeviceptr to, unsigned short v, size_t n), (to, v, n), NULL, touch(&w, to, n * 2, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD32_v2, ptds, (CUdeviceptr to, unsigned v, size_t n), (to, v, n), NULL, touch(&w, to, n * 4, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD8Async, ptsz, (CUdeviceptr to, unsigned char v, size_t n, CUstream s), (to, v, n, s), s, touch(&w, to, n, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD16Async, ptsz, (CUdeviceptr to, unsigned short v, size_t n, CUstream s), (to, v, n, s), s, touch(&w, to, n * 2, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD32Async, ptsz, (CUdeviceptr to, unsigned v, size_t n, CUstream s), (to, v, n, s), s, touch(&w, to, n * 4, CHECK_WRITE), NOTHING)

#define SIDE_2D(p, x, kind) side(&w, (p)->x##MemoryType, (p)->x##Array, (p)->x##Device, (p)->x##XInBytes, (p)->x##Y, 0, (p)->x##Pitch, 0, (p)->WidthInBytes, (p)->Height, 1, kind)
#define SIDE_3D(p, x, kind) side(&w, (p)->x##MemoryType, (p)->x##Array, (p)->x##Device, (p)->x##XInBytes, (p)->x##Y, (p)->x##Z, (p)->x##Pitch, (p)->x##Height, (p)->WidthInBytes, (p)->Height, (p)->Depth, kind)
#define BOX_2D(p) w.blocks = true; if ((p) != NULL) { SIDE_2D(p, src, CHECK_READ); SIDE_2D(p, dst, CHECK_WRITE); }
#define BOX_3D(p) w.blocks = true; if ((p) != NULL) { SIDE_3D(p, src, CHECK_READ); SIDE_3D(p, dst, CHECK_WRITE); }
#define HOST_SIDE(p) if ((p)->srcMemoryType == CU_MEMORYTYPE_HOST || (p)->dstMemoryType == CU_MEMORYTYPE_HOST) SEEN
#define HOST_END(p, s) if ((p)->dstMemoryType == CU_MEMORYTYPE_HOST && is_pageable(&w, (p)->dstHost)) SEEN_ON(s)
ON_STREAM(cuMemcpy2D_v2, ptds, (const CUDA_MEMCPY2D *p), (p), NULL, BOX_2D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy2DUnaligned_v2, ptds, (const CUDA_MEMCPY2D *p), (p), NULL, BOX_2D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy2DAsync_v2, ptsz, (const CUDA_MEMCPY2D *p, CUstream s), (p, s), s, BOX_2D(p), HOST_END(p, s))
ON_STREAM(cuMemcpy3D_v2, ptds, (const CUDA_MEMCPY3D *p), (p), NULL, BOX_3D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy3DAsync_v2, ptsz, (const CUDA_MEMCPY3D *p, CUstream s), (p, s), s, BOX_3D(p), HOST_END(p, s))

ON_STREAM(cuStreamWaitValue32_v2, ptsz, (CUstream s, CUdeviceptr at, cuuint32_t v, unsigned f), (s, at, v, f), s, w.joins_all = true, NOTHING)
ON_STREAM(cuStreamWaitValue64_v2, ptsz, (CUstream s, CUdeviceptr at, cuuint64_t v, unsigned f), (s, at, v, f), s, w.joins_all = true, NOTHING)
ON_STREAM(cuEventRecord, ptsz, (CUevent e, CUstream s), (e, s), s, w.records = e, NOTHING)
ON_STREAM(cuEventRecordWithFlags, ptsz, (CUevent e, CUstream s, unsigned f), (e, s, f), s, w.records = e, NOTHING)
ON_STREAM(cuStreamWaitEvent, ptsz, (CUstream s, CUevent e, unsigned f), (s, e, f), s, w.follows = e, NOTHING)
ON_STREAM(cuGraphLaunch, ptsz, (CUgraphExec g, CUstream s), (g, s), s, NOTHING, NOTHING)
// clang-format on

/* ---- kernels ---- */

static void look_at(work *w, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        if (word != 0) touch(w, word, 1, CHECK_READ_OR_WRITE);
    }
}

/* What of the arguments points into shared memory. The byte pointed at is used, at least. */
static void look_at_arguments(work *w, CUfunction f, void **params, void **extra)
{
    if (mappings == NULL || w->capturing) return;
    if (extra != NULL) {
        const unsigned char *bytes = NULL;
        size_t size = 0;
        for (; extra[0] != NULL; extra += 2)
            if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
                bytes = extra[1];
            else
                size = *(const size_t *)extra[1];
        if (bytes != NULL) look_at(w, bytes, size);
        return;
    }
    static _Atomic(void *) asked;
    if (asked == NULL) asked = ask_driver("cuFuncGetParamInfo");
    void *found = asked;
    if (params == NULL) return;
    if (found == NULL) {
        check_note(
            "The driver has no cuFuncGetParamInfo (CUDA 12.4), so pointers that kernels get were not looked at");
        return;
    }
    CUresult(CUDAAPI * ask)(CUfunction, size_t, size_t *, size_t *);
    memcpy(&ask, &found, sizeof ask);
    size_t offset, size;
    for (size_t i = 0; i < 1024 && ask(f, i, &offset, &size) == CUDA_SUCCESS; i++)
        if (offset % 8 == 0 && size >= 8) look_at(w, params[i], size);
}

// clang-format off
#define LAUNCH_PARAMETERS (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
#define LAUNCH_ARGUMENTS  (f, gx, gy, gz, bx, by, bz, shared, s, params, extra)
ON_STREAM(cuLaunchKernel, ptsz, LAUNCH_PARAMETERS, LAUNCH_ARGUMENTS, s, look_at_arguments(&w, f, params, extra), NOTHING)
ON_STREAM(cuLaunchKernelEx, ptsz, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra), (config, f, params, extra),
          config != NULL ? config->hStream : NULL, look_at_arguments(&w, f, params, extra), NOTHING)
// clang-format on

/* ---- host functions: when one runs, what was before it in the stream is done ---- */

typedef struct host_call {
    CUhostFn function;
    void *user;
    check_mark *mark;
} host_call;

static void CUDA_CB call_host(void *user)
{
    host_call call = *(host_call *)user;
    check_model *m = check_open();
    free(user);
    if (m != NULL) {
        check_host_saw_mark(m, call.mark);
        check_mark_drop(call.mark);
        check_close();
    }
    call.function(call.user);
}

static CUresult launch_host(CUresult(CUDAAPI *real)(CUstream, CUhostFn, void *), CUstream s,
                            CUhostFn function, void *user, bool per_thread)
{
    work w;
    work_begin(&w, "cuLaunchHostFunc", s, per_thread);
    host_call *call = w.capturing || function == NULL ? NULL : calloc(1, sizeof *call);
    check_mark *mark = call != NULL ? check_mark_make() : NULL;
    if (mark != NULL) {
        *call = (host_call){function, user, mark};
        w.mark = mark;
    } else {
        free(call);
        call = NULL;
    }
    work_submit(&w);
    const CUresult result = call != NULL ? real(s, call_host, call) : real(s, function, user);
    if (result != CUDA_SUCCESS && call != NULL) free(call);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuLaunchHostFunc(CUstream s, CUhostFn function, void *user)
{
    REAL(cuLaunchHostFunc, (CUstream, CUhostFn, void *), (s, function, user))
    return launch_host(real, s, function, user, false);
}

CHECK_EXPORT CUresult CUDAAPI cuLaunchHostFunc_ptsz(CUstream s, CUhostFn function, void *user)
{
    REAL(cuLaunchHostFunc_ptsz, (CUstream, CUhostFn, void *), (s, function, user))
    return launch_host(real, s, function, user, true);
}

/* ---- semaphores ---- */

static void look_at_turns(work *w, const CUexternalSemaphore *handles, const void *params,
                          size_t stride, unsigned count, bool signals)
{
    check_model *m = handles != NULL && params != NULL ? check_open() : NULL;
    if (m == NULL) return;
    w->signals = signals;
    for (unsigned i = 0; i < count && w->num_turns < MOST; i++) {
        unsigned long long value; /* params.fence.value comes first in both structs */
        memcpy(&value, (const char *)params + i * stride, sizeof value);
        check_payload *p = check_get(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)handles[i]);
        if (p != NULL) w->turns[w->num_turns++] = (check_turn){.payload = p, .value = value};
    }
    check_close();
}

// clang-format off
ON_STREAM(cuSignalExternalSemaphoresAsync, ptsz,
          (const CUexternalSemaphore *x, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p, unsigned n, CUstream s), (x, p, n, s), s,
          look_at_turns(&w, x, p, sizeof *p, n, true), NOTHING)
ON_STREAM(cuWaitExternalSemaphoresAsync, ptsz,
          (const CUexternalSemaphore *x, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p, unsigned n, CUstream s), (x, p, n, s), s,
          look_at_turns(&w, x, p, sizeof *p, n, false), NOTHING)
// clang-format on

static void make_opaque(const CUexternalSemaphore *handles, unsigned count)
{
    check_model *m = handles != NULL ? check_open() : NULL;
    if (m == NULL) return;
    for (unsigned i = 0; i < count; i++)
        check_payload_opaque(check_get(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)handles[i]));
    check_close();
}

CHECK_EXPORT CUresult CUDAAPI cuGraphAddExternalSemaphoresSignalNode(
    CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params)
{
    REAL(cuGraphAddExternalSemaphoresSignalNode,
         (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
          const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *),
         (node, graph, dependencies, count, params))
    if (params != NULL) make_opaque(params->extSemArray, params->numExtSems);
    return real(node, graph, dependencies, count, params);
}

CHECK_EXPORT CUresult CUDAAPI cuGraphAddExternalSemaphoresWaitNode(
    CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params)
{
    REAL(cuGraphAddExternalSemaphoresWaitNode,
         (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
          const CUDA_EXT_SEM_WAIT_NODE_PARAMS *),
         (node, graph, dependencies, count, params))
    if (params != NULL) make_opaque(params->extSemArray, params->numExtSems);
    return real(node, graph, dependencies, count, params);
}

/* ---- imports ---- */

/* Looks at what is imported; returns a reference, of something unseen where nothing is known. */
static check_payload *ask_import(int fd, check_import *i, const check_site *site)
{
    uint8_t uuid[CHECK_UUID];
    const bool has_uuid = context_uuid(uuid);
    check_model *m = check_open();
    if (m == NULL) return NULL;
    const check_identity now = check_identify(fd);
    i->payload = fd >= 0 ? check_fd_asked(m, fd, &now, site) : NULL;
    i->uuid = has_uuid ? uuid : NULL;
    if (i->payload != NULL) {
        check_payload_keep(i->payload);
        check_imported(m, i, site);
    } else {
        const check_payload_info info = {.kind = i->memory     ? CHECK_MEMORY
                                                 : i->timeline ? CHECK_TIMELINE
                                                               : CHECK_BINARY,
                                         .size = i->size,
                                         .shared = true,
                                         .foreign = true};
        i->payload = check_payload_make(m, &info, "that the checker did not see made", site);
    }
    i->uuid = NULL;
    check_close();
    return i->payload;
}

CHECK_EXPORT CUresult CUDAAPI cuImportExternalMemory(CUexternalMemory *out,
                                                     const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    REAL(cuImportExternalMemory, (CUexternalMemory *, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *),
         (out, desc))
    if (desc == NULL) return real(out, desc);
    const check_site site = check_here("cuImportExternalMemory");
    const bool has_fd = desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
                        desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD;
    check_import i = {.size = desc->size,
                      .dedicated = (desc->flags & CUDA_EXTERNAL_MEMORY_DEDICATED) != 0,
                      .memory = true,
                      /* VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, ..._DMA_BUF_BIT_EXT */
                      .type = desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD   ? 0x1
                              : desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD ? 0x200
                                                                                       : 0};
    const int fd = has_fd ? desc->handle.fd : -1;
    check_inside++;
    check_payload *p = ask_import(fd, &i, &site);
    const CUresult result = real(out, desc);
    check_model *m = check_open();
    if (m != NULL) {
        if (check_fd_is(m, fd, p)) check_fd_taken(m, fd, result == CUDA_SUCCESS, &site);
        import *made = result == CUDA_SUCCESS && p != NULL ? calloc(1, sizeof *made) : NULL;
        if (made != NULL) {
            made->references = 1;
            made->payload = p;
            made->size = i.size;
            made->next = imports;
            imports = made;
            (void)check_put(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)*out, made);
        } else
            check_payload_drop(m, p);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuDestroyExternalMemory(CUexternalMemory handle)
{
    REAL(cuDestroyExternalMemory, (CUexternalMemory), (handle))
    const check_site site = check_here("cuDestroyExternalMemory");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        import *i = check_put(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle, NULL);
        if (i != NULL) {
            /* Its mappings and the handle: one reference is none. */
            bool mapped = false;
            for (const mapping *at = mappings; at != NULL; at = at->next)
                if (at->of == i && !at->freed) mapped = true;
            if (mapped && imports_of(i->payload) == 1)
                check_destroying(m, i->payload, CHECK_CUDA, &site);
            i->gone = true;
            i->end = site;
            import_drop(m, i);
        }
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuExternalMemoryGetMappedBuffer(
    CUdeviceptr *out, CUexternalMemory handle, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    REAL(cuExternalMemoryGetMappedBuffer,
         (CUdeviceptr *, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *),
         (out, handle, desc))
    if (desc == NULL) return real(out, handle, desc);
    const check_site site = check_here("cuExternalMemoryGetMappedBuffer");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        const import *i = check_get(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle);
        if (i != NULL) check_mapped(m, i->payload, i->size, desc->offset, desc->size, &site);
        check_close();
    }
    const CUresult result = real(out, handle, desc);
    m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        import *i = check_get(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle);
        mapping_add(m, i, *out, desc->size, desc->offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address)
{
    REAL(cuMemFree_v2, (CUdeviceptr), (address))
    const check_site site = check_here("cuMemFree");
    check_inside++;
    /* Before the driver has it: the address may be another thread's mapping at once. */
    bool marked = false;
    check_model *m = check_open();
    if (m != NULL) {
        for (mapping *at = mappings; at != NULL && !marked; at = at->next)
            if (at->begin == address && !at->freed) {
                at->freed = marked = true;
                at->end_site = site;
            }
        check_close();
    }
    const CUresult result = real(address);
    m = check_open();
    if (m != NULL) {
        /* It waits for what uses the memory. */
        if (result == CUDA_SUCCESS) check_host_may_know(m, CHECK_CUDA);
        for (mapping *at = mappings; at != NULL && marked && result != CUDA_SUCCESS; at = at->next)
            if (at->begin == address && at->freed) at->freed = marked = false;
        check_close();
    }
    check_inside--;
    return result;
}

static void image_add(unsigned kind, const void *handle, import *of, uint64_t offset)
{
    image *made = calloc(1, sizeof *made);
    if (made == NULL) return;
    of->references++;
    *made = (image){of, offset};
    image *before = check_put(kind, (uint64_t)(uintptr_t)handle, made);
    if (before != NULL) before->of->references--;
    free(before);
}

/* An image has at least its texels; 1 where they may be fewer, or their size is unknown. */
static uint64_t least_size(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    uint64_t texel = 0;
    switch (d->Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: texel = 1; break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: texel = 2; break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: texel = 4; break;
    default: return 1;
    }
    const uint64_t height = d->Height > 0 ? d->Height : 1, depth = d->Depth > 0 ? d->Depth : 1;
    const uint64_t most = UINT64_C(1) << 20; /* no image is larger in any way; that is not judged */
    if ((d->Flags & CUDA_ARRAY3D_SPARSE) != 0 || d->Width == 0 || d->Width > most ||
        height > most || depth > most || d->NumChannels == 0 || d->NumChannels > 4)
        return 1;
    return d->Width * height * depth * texel * d->NumChannels;
}

CHECK_EXPORT CUresult CUDAAPI
cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *out, CUexternalMemory handle,
                                        const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc)
{
    REAL(cuExternalMemoryGetMappedMipmappedArray,
         (CUmipmappedArray *, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *),
         (out, handle, desc))
    if (desc == NULL) return real(out, handle, desc);
    const check_site site = check_here("cuExternalMemoryGetMappedMipmappedArray");
    check_inside++;
    const CUresult result = real(out, handle, desc);
    check_model *m = check_open();
    if (m != NULL) {
        import *i = check_get(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle);
        if (i != NULL)
            check_mapped(m, i->payload, i->size, desc->offset, least_size(&desc->arrayDesc), &site);
        if (i != NULL && result == CUDA_SUCCESS)
            image_add(CHECK_OF_CU_MIPMAPS, *out, i, desc->offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray mipmaps,
                                                       unsigned level)
{
    REAL(cuMipmappedArrayGetLevel, (CUarray *, CUmipmappedArray, unsigned), (out, mipmaps, level))
    check_inside++;
    const CUresult result = real(out, mipmaps, level);
    check_model *m = result == CUDA_SUCCESS && level == 0 ? check_open() : NULL;
    if (m != NULL) {
        const image *i = check_get(CHECK_OF_CU_MIPMAPS, (uint64_t)(uintptr_t)mipmaps);
        if (i != NULL) image_add(CHECK_OF_CU_ARRAY, *out, i->of, i->offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray mipmaps)
{
    REAL(cuMipmappedArrayDestroy, (CUmipmappedArray), (mipmaps))
    CUarray level = NULL;
    check_inside++;
    void *ask_symbol = real_of(ROW_cuMipmappedArrayGetLevel);
    CUresult(CUDAAPI * ask)(CUarray *, CUmipmappedArray, unsigned);
    memcpy(&ask, &ask_symbol, sizeof ask);
    if (ask_symbol == NULL || ask(&level, mipmaps, 0) != CUDA_SUCCESS) level = NULL;
    const CUresult result = real(mipmaps);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        image *ended[2] = {
            check_put(CHECK_OF_CU_MIPMAPS, (uint64_t)(uintptr_t)mipmaps, NULL),
            level != NULL ? check_put(CHECK_OF_CU_ARRAY, (uint64_t)(uintptr_t)level, NULL) : NULL};
        for (int i = 0; i < 2; i++) {
            if (ended[i] == NULL) continue;
            import_drop(m, ended[i]->of);
            free(ended[i]);
        }
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI
cuImportExternalSemaphore(CUexternalSemaphore *out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc)
{
    REAL(cuImportExternalSemaphore,
         (CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *), (out, desc))
    if (desc == NULL) return real(out, desc);
    const check_site site = check_here("cuImportExternalSemaphore");
    const bool timeline = desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    const bool has_fd = timeline || desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    const int fd = has_fd ? desc->handle.fd : -1;
    check_import i = {.timeline = timeline, .type = 0x1};
    check_inside++;
    check_payload *p = ask_import(fd, &i, &site);
    const CUresult result = real(out, desc);
    check_model *m = check_open();
    if (m != NULL) {
        if (check_fd_is(m, fd, p)) check_fd_taken(m, fd, result == CUDA_SUCCESS, &site);
        if (result == CUDA_SUCCESS && p != NULL)
            check_payload_drop(m, check_put(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)*out, p));
        else
            check_payload_drop(m, p);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuDestroyExternalSemaphore(CUexternalSemaphore handle)
{
    REAL(cuDestroyExternalSemaphore, (CUexternalSemaphore), (handle))
    const check_site site = check_here("cuDestroyExternalSemaphore");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        check_payload *p = check_put(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)handle, NULL);
        check_destroying(m, p, CHECK_CUDA, &site);
        check_payload_drop(m, p);
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

/* ---- memory of cuMemCreate, which leaves as a descriptor ---- */

typedef struct allocation {
    unsigned references;
    import *of;
} allocation;

CHECK_EXPORT CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                                          const CUmemAllocationProp *prop, unsigned long long flags)
{
    REAL(cuMemCreate,
         (CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long),
         (out, size, prop, flags))
    check_inside++;
    const CUresult result = real(out, size, prop, flags);
    check_model *m = NULL;
    if (result == CUDA_SUCCESS &&
        (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
        m = check_open();
    if (m != NULL) {
        const check_site site = check_here("cuMemCreate");
        const check_payload_info info = {
            .kind = CHECK_MEMORY, .size = size, .shared = true, .any_dedication = true};
        char object[64];
        (void)snprintf(object, sizeof object, "of cuMemCreate 0x%llx", (unsigned long long)*out);
        import *made = calloc(1, sizeof *made);
        allocation *entry = calloc(1, sizeof *entry);
        if (made != NULL && entry != NULL) {
            *made = (import){.next = imports,
                             .references = 1,
                             .payload = check_payload_make(m, &info, object, &site),
                             .size = size};
            imports = made;
            *entry = (allocation){.references = 1, .of = made};
            free(check_put(CHECK_OF_CU_ALLOCATION, *out, entry));
        } else {
            free(made);
            free(entry);
        }
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out,
                                                          void *address)
{
    REAL(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *, void *), (out, address))
    check_inside++;
    const CUresult result = real(out, address);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, *out);
        if (entry != NULL) entry->references++;
        check_close();
    }
    check_inside--;
    return result;
}

/* Its mappings and exports go on. */
CHECK_EXPORT CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    REAL(cuMemRelease, (CUmemGenericAllocationHandle), (handle))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, handle);
        if (entry != NULL && --entry->references == 0) {
            (void)check_put(CHECK_OF_CU_ALLOCATION, handle, NULL);
            import_drop(m, entry->of);
            free(entry);
        }
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                                       CUmemGenericAllocationHandle handle,
                                       unsigned long long flags)
{
    REAL(cuMemMap, (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long),
         (address, size, offset, handle, flags))
    check_inside++;
    const CUresult result = real(address, size, offset, handle, flags);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, handle);
        mapping_add(m, entry != NULL ? entry->of : NULL, address, size, offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size)
{
    REAL(cuMemUnmap, (CUdeviceptr, size_t), (address, size))
    const check_site site = check_here("cuMemUnmap");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        for (mapping *at = mappings; at != NULL; at = at->next)
            if (at->begin >= address && at->end <= address + size && !at->freed) {
                at->freed = true;
                at->end_site = site;
            }
        check_close();
    }
    const CUresult result = real(address, size);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemExportToShareableHandle(void *out,
                                                           CUmemGenericAllocationHandle handle,
                                                           CUmemAllocationHandleType type,
                                                           unsigned long long flags)
{
    REAL(cuMemExportToShareableHandle,
         (void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long),
         (out, handle, type, flags))
    const check_site site = check_here("cuMemExportToShareableHandle");
    check_inside++;
    const CUresult result = real(out, handle, type, flags);
    check_model *m = result == CUDA_SUCCESS && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                         ? check_open()
                         : NULL;
    if (m != NULL) {
        int fd;
        memcpy(&fd, out, sizeof fd);
        const allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, handle);
        const check_identity identity = check_identify(fd);
        check_fd_born(m, fd, entry != NULL ? entry->of->payload : NULL, &identity, &site);
        check_close();
    }
    check_inside--;
    return result;
}

/* ---- streams, events, what the host knows ---- */

static void stream_made(CUstream handle, unsigned flags)
{
    check_model *m = check_open();
    if (m == NULL) return;
    (void)stream_add(m, (uint64_t)(uintptr_t)handle, (flags & CU_STREAM_NON_BLOCKING) == 0);
    check_close();
}

CHECK_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned flags)
{
    REAL(cuStreamCreate, (CUstream *, unsigned), (out, flags))
    check_inside++;
    const CUresult result = real(out, flags);
    if (result == CUDA_SUCCESS) stream_made(*out, flags);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                                         int priority)
{
    REAL(cuStreamCreateWithPriority, (CUstream *, unsigned, int), (out, flags, priority))
    check_inside++;
    const CUresult result = real(out, flags, priority);
    if (result == CUDA_SUCCESS) stream_made(*out, flags);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
    REAL(cuStreamDestroy_v2, (CUstream), (handle))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        stream *s = check_put(CHECK_OF_CU_STREAM, (uint64_t)(uintptr_t)handle, NULL);
        if (s != NULL) {
            if (s->agent > 0) {
                blocking_agents &= ~(UINT64_C(1) << s->agent);
                cuda_agents &= ~(UINT64_C(1) << s->agent);
            }
            check_agent_end(m, s->agent);
            free(s);
        }
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

static CUresult saw_stream(CUresult(CUDAAPI *real)(CUstream), CUstream s, bool per_thread,
                           const char *call)
{
    check_inside++;
    const int slot = call != NULL ? check_wait_begin(call, NULL, 0) : -1;
    const CUresult result = real(s);
    check_wait_end(slot);
    if (result == CUDA_SUCCESS) host_saw_stream(s, per_thread);
    check_inside--;
    return result;
}

#define SAW_STREAM(symbol, per_thread, call)                                                       \
    CHECK_EXPORT CUresult CUDAAPI symbol(CUstream s)                                               \
    {                                                                                              \
        REAL(symbol, (CUstream), (s))                                                              \
        return saw_stream(real, s, per_thread, call);                                              \
    }
SAW_STREAM(cuStreamSynchronize, false, "cuStreamSynchronize")
SAW_STREAM(cuStreamSynchronize_ptsz, true, "cuStreamSynchronize")
SAW_STREAM(cuStreamQuery, false, NULL)
SAW_STREAM(cuStreamQuery_ptsz, true, NULL)

static CUresult saw_event(CUresult(CUDAAPI *real)(CUevent), CUevent e, const char *call)
{
    /* The mark of now: the event may be recorded again meanwhile. */
    check_mark *mark = NULL;
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        mark = check_get(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e);
        check_mark_keep(mark);
        check_close();
    }
    const int slot = call != NULL ? check_wait_begin(call, NULL, 0) : -1;
    const CUresult result = real(e);
    check_wait_end(slot);
    m = mark != NULL ? check_open() : NULL;
    if (m != NULL) {
        if (result == CUDA_SUCCESS) check_host_saw_mark(m, mark);
        check_mark_drop(mark);
        check_close();
    } else if (result == CUDA_SUCCESS && (m = check_open()) != NULL) {
        check_host_may_know(m, CHECK_CUDA); /* it was recorded unseen */
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent e)
{
    REAL(cuEventSynchronize, (CUevent), (e))
    return saw_event(real, e, "cuEventSynchronize");
}

CHECK_EXPORT CUresult CUDAAPI cuEventQuery(CUevent e)
{
    REAL(cuEventQuery, (CUevent), (e))
    return saw_event(real, e, NULL);
}

CHECK_EXPORT CUresult CUDAAPI cuEventDestroy_v2(CUevent e)
{
    REAL(cuEventDestroy_v2, (CUevent), (e))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        check_mark_drop(check_put(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e, NULL));
        check_close();
    }
    const CUresult result = real(e);
    check_inside--;
    return result;
}

static CUresult saw_all(CUresult result)
{
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        check_host_saw_api(m, CHECK_CUDA);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    REAL(cuCtxSynchronize, (void), ())
    check_inside++;
    const int slot = check_wait_begin("cuCtxSynchronize", NULL, 0);
    const CUresult result = real();
    check_wait_end(slot);
    return saw_all(result);
}

CHECK_EXPORT CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context)
{
    REAL(cuCtxSynchronize_v2, (CUcontext), (context))
    check_inside++;
    const int slot = check_wait_begin("cuCtxSynchronize", NULL, 0);
    const CUresult result = real(context);
    check_wait_end(slot);
    return saw_all(result);
}

#define BEGIN_CAPTURE(symbol)                                                                      \
    CHECK_EXPORT CUresult CUDAAPI symbol(CUstream s, CUstreamCaptureMode mode)                     \
    {                                                                                              \
        REAL(symbol, (CUstream, CUstreamCaptureMode), (s, mode))                                   \
        check_inside++;                                                                            \
        const CUresult result = real(s, mode);                                                     \
        if (result == CUDA_SUCCESS) captures++;                                                    \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
/* An event of the context: all streams' work is before it. */
CHECK_EXPORT CUresult CUDAAPI cuCtxRecordEvent(CUcontext context, CUevent e)
{
    REAL(cuCtxRecordEvent, (CUcontext, CUevent), (context, e))
    const check_site site = check_here("cuCtxRecordEvent");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        static int agent;
        if (agent == 0) agent = check_agent_make(m, CHECK_CUDA, "a context");
        check_work told = {.after_agents = cuda_agents, .mark = check_mark_make()};
        if (told.mark != NULL)
            check_mark_drop(check_put(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e, told.mark));
        check_submit(m, agent, &told, &site);
        check_close();
    }
    const CUresult result = real(context, e);
    check_inside--;
    return result;
}

BEGIN_CAPTURE(cuStreamBeginCapture_v2)
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz)

#define END_CAPTURE(symbol)                                                                        \
    CHECK_EXPORT CUresult CUDAAPI symbol(CUstream s, CUgraph *graph)                               \
    {                                                                                              \
        REAL(symbol, (CUstream, CUgraph *), (s, graph))                                            \
        check_inside++;                                                                            \
        const CUresult result = real(s, graph);                                                    \
        if (result == CUDA_SUCCESS && captures > 0) captures--;                                    \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)

CHECK_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                                  cuuint64_t flags,
                                                  CUdriverProcAddressQueryResult *status)
{
    REAL(cuGetProcAddress_v2,
         (const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *),
         (symbol, pfn, version, flags, status))
    check_inside++;
    const CUresult result = real(symbol, pfn, version, flags, status);
    if (result == CUDA_SUCCESS) answer(symbol, pfn, version, flags);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version,
                                               cuuint64_t flags)
{
    REAL(cuGetProcAddress, (const char *, void **, int, cuuint64_t), (symbol, pfn, version, flags))
    check_inside++;
    const CUresult result = real(symbol, pfn, version, flags);
    if (result == CUDA_SUCCESS) answer(symbol, pfn, version, flags);
    check_inside--;
    return result;
}
