/* SPDX-License-Identifier: MIT */
/* culvert-mpi: errors, waits, places, layouts and pipes. */
#define _DEFAULT_SOURCE 1 /* syscall() */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi_inside.h"

#define ALIGNMENT 16u
/* Blocks of a derived type have an int's length. */
#define BLOCK_MAX (UINT64_C(1) << 30)
/* Turns that only give the CPU away. */
#define EAGER_TURNS 200u
/* No naps for as long after a chunk of a part that is not all there: MPI moves it in both sides'
 * calls, and on a fast link a nap takes as long as a chunk. */
#define MOVING_NS  UINT64_C(1000000)
#define NAP_NS     20000L
#define NAP_MAX_NS 200000L

/* Errors --------------------------------------------------------------------------------------- */

static culv_result record(culv_result result, culv_reason reason, culv_native_api api, int64_t code,
                          const char *call, const char *message)
{
    culv_error error = culv_error_init();
    error.result = result;
    error.reason = reason;
    error.native_api = api;
    error.native_code = code;
    snprintf(error.native_call, sizeof error.native_call, "%s", call);
    snprintf(error.message, sizeof error.message, "culvert-mpi: %s", message);
    return culv_last_error_set(&error);
}

culv_result culvi_mpi_fail(culv_result result, culv_reason reason, const char *format, ...)
{
    char message[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return record(result, reason, CULV_NATIVE_NONE, 0, "", message);
}

culv_result culvi_mpi_check(const char *call, bool given, size_t struct_size, size_t expected)
{
    if (!given)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                              "%s: an argument is NULL", call);
    if (struct_size == expected) return CULV_OK;
    return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE,
                          "%s: struct_size is %zu: make the struct by its ..._init()", call,
                          struct_size);
}

void culvi_mpi_last_error(verdict *out)
{
    culv_error error = culv_error_init();
    culv_last_error(&error);
    out->result = error.result;
    out->reason = (int32_t)error.reason;
    const char *prefix = "culvert-mpi: ";
    const char *text = error.message;
    if (strncmp(text, prefix, strlen(prefix)) == 0) text += strlen(prefix);
    snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1, text);
}

culv_result culvi_mpi_answer(const verdict *v)
{
    return record((culv_result)v->result, (culv_reason)v->reason, CULV_NATIVE_NONE, 0, "", v->text);
}

bool culvi_mpi_broken(culv_mpi *m)
{
    if (m->failure.result == CULV_OK) culvi_mpi_last_error(&m->failure);
    return false;
}

bool culvi_mpi_ok(culv_mpi *m, int code, const char *call)
{
    if (code == MPI_SUCCESS) return true;
    /* A rank talks with the renderer alone. ULFM may know of its end before the next look. */
    if (m->joined && !m->peers && culvi_mpi_is_death(code)) {
        (void)culvi_mpi_renderer_ended(m);
        return false;
    }
    char text[MPI_MAX_ERROR_STRING + 1] = "", message[MPI_MAX_ERROR_STRING + 128];
    int length = 0, kind = code;
    (void)MPI_Error_string(code, text, &length);
    (void)MPI_Error_class(code, &kind);
    snprintf(message, sizeof message, "%s failed at rank %d with class %d: %s", call, m->rank, kind,
             text);
    (void)record(CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_NONE, code, call, message);
    return culvi_mpi_broken(m);
}

bool culvi_mpi_is_death(int code)
{
#ifdef MPIX_ERR_PROC_FAILED
    int kind = code;
    (void)MPI_Error_class(code, &kind);
    return kind == MPIX_ERR_PROC_FAILED;
#else
    (void)code;
    return false;
#endif
}

bool culvi_mpi_cu(culv_mpi *m, CUresult code, const char *call)
{
    if (code == CUDA_SUCCESS) return true;
    const char *name = "an unknown error";
    char message[192];
    (void)m->cu->cuGetErrorName(code, &name);
    snprintf(message, sizeof message, "%s answered %s at rank %d", call, name, m->rank);
    bool memory = code == CUDA_ERROR_OUT_OF_MEMORY;
    /* From 700 on they are those of work that was submitted earlier. */
    bool late = (int)code >= 700;
    (void)record(memory ? CULV_ERROR_OUT_OF_MEMORY
                 : late ? CULV_ERROR_ASYNC
                        : CULV_ERROR_DRIVER,
                 memory ? CULV_REASON_DEVICE_MEMORY
                 : late ? CULV_REASON_EARLIER_FAILURE
                        : CULV_REASON_DRIVER_REFUSED,
                 CULV_NATIVE_CUDA, (int64_t)code, call, message);
    return culvi_mpi_broken(m);
}

const char *culv_mpi_way_name(culv_mpi_way way)
{
    static const char *const names[] = {"auto", "direct", "device", "host", "none"};
    const int number = (int)way;
    return number >= 0 && number <= CULV_MPI_WAY_NONE ? names[number] : "unknown";
}

/* Waits ---------------------------------------------------------------------------------------- */

uint64_t culvi_mpi_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void step_others(const culv_mpi *m);

waiting culvi_mpi_wait_begin(uint64_t timeout)
{
    const uint64_t now = culvi_mpi_now();
    return (waiting){.begin = now, .moved_at = now, .timeout = timeout};
}

/* Has a part gone a part of its way? */
static bool half_way(const pipe_line *p)
{
    return p->begun > p->ended &&
           (p->middle > p->ended || p->chunks[p->ended % CHUNKS].position != 0);
}

static bool is_moving(const culv_mpi *m)
{
    bool moving = half_way(&m->pipe);
    for (int i = 0; m->has_data && !moving && i < m->size; i++)
        moving = half_way(&m->peers[i].pipe);
    return moving;
}

bool culvi_mpi_wait_more(const culv_mpi *m, waiting *w)
{
    if (w->timeout == 0) return false;
    step_others(m);
    const uint64_t now = culvi_mpi_now(), passed = now - w->begin;
    if (w->moved != m->moved) w->turns = 0, w->moved_at = now;
    w->moved = m->moved;
    if (w->timeout != CULV_MPI_FOREVER && passed >= w->timeout) return false;
    if (w->turns++ < EAGER_TURNS || (now - w->moved_at < MOVING_NS && is_moving(m))) {
        (void)sched_yield();
        return true;
    }
    long nap = NAP_NS * (long)(1 + (w->turns - EAGER_TURNS) / 50);
    if (nap > NAP_MAX_NS) nap = NAP_MAX_NS;
    const uint64_t left = w->timeout - passed;
    if (left < (uint64_t)nap) nap = (long)left;
    (void)nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    return true;
}

/* Places --------------------------------------------------------------------------------------- */

static void read_link(const char *path, char *out, size_t size)
{
    const ssize_t n = readlink(path, out, size - 1);
    out[n > 0 ? n : 0] = 0;
}

void culvi_mpi_place(place *out)
{
    memset(out, 0, sizeof *out);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        if (!fgets(out->machine, sizeof out->machine, f)) out->machine[0] = 0;
        (void)fclose(f);
    }
    out->machine[strcspn(out->machine, "\n")] = 0;
    read_link("/proc/self/ns/net", out->network, sizeof out->network);
    read_link("/proc/self/ns/pid", out->processes, sizeof out->processes);
    if (gethostname(out->host, sizeof out->host - 1) != 0) out->host[0] = 0;
    out->pid = (int32_t)getpid();
    if (culv_ipc_process_get_start(0, &out->started) != CULV_OK) out->started = 0;
}

static bool same_text(const char *a, const char *b)
{
    return a[0] != 0 && strcmp(a, b) == 0;
}

bool culvi_mpi_same_machine(const place *a, const place *b)
{
    return same_text(a->machine, b->machine);
}

bool culvi_mpi_watchable(const place *a, const place *b)
{
    return same_text(a->machine, b->machine) && same_text(a->processes, b->processes) &&
           b->started != 0 && culvi_mpi_alive(b);
}

bool culvi_mpi_alive(const place *p)
{
    uint64_t started;
    return culv_ipc_process_get_start(p->pid, &started) == CULV_OK && started == p->started;
}

int culvi_mpi_open_process(const place *p)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, p->pid, 0u);
#else
    (void)p;
    return -1;
#endif
}

bool culvi_mpi_device_pointers(void)
{
#ifdef CULVI_MPI_QUERY_CUDA /* MPIX_CUDA_AWARE_SUPPORT is there with a value of 0, too */
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

/* Layouts -------------------------------------------------------------------------------------- */

bool culvi_mpi_layout(layout *out, const culv_mpi_range *ranges, size_t count)
{
    memset(out, 0, sizeof *out);
    if (count > SIZE_MAX / sizeof *ranges) return false;
    out->ranges = malloc((count ? count : 1) * sizeof *out->ranges);
    out->packed = malloc((count ? count : 1) * sizeof *out->packed);
    if (!out->ranges || !out->packed) return false;
    out->num_ranges = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t *end = &out->packed_size;
        out->ranges[i] = ranges[i];
        if (ranges[i].size > 0) /* the alignment that it has in the frame */
            *end += (ranges[i].offset - *end) % ALIGNMENT;
        out->packed[i] = *end;
        *end += ranges[i].size;
        out->bytes += ranges[i].size;
    }
    return true;
}

void culvi_mpi_layout_free(layout *l)
{
    free(l->ranges);
    free(l->packed);
    memset(l, 0, sizeof *l);
}

bool culvi_mpi_type(culv_mpi *m, const layout *l, bool packed, MPI_Datatype *out)
{
    size_t count = 0, n = 0;
    for (size_t i = 0; i < l->num_ranges; i++)
        count += (size_t)(l->ranges[i].size / BLOCK_MAX) + 1;
    int *lengths = malloc(count * sizeof *lengths);
    MPI_Aint *places = malloc(count * sizeof *places);
    bool fine = lengths && places && count <= INT32_MAX;
    if (!fine)
        (void)culvi_mpi_fail(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                             "no memory for a type of %zu blocks", count);
    for (size_t i = 0; fine && i < l->num_ranges; i++) {
        const uint64_t from = packed ? l->packed[i] : l->ranges[i].offset;
        for (uint64_t at = 0; at < l->ranges[i].size; at += BLOCK_MAX) {
            const uint64_t left = l->ranges[i].size - at;
            places[n] = (MPI_Aint)(from + at);
            lengths[n++] = (int)(left < BLOCK_MAX ? left : BLOCK_MAX);
        }
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    fine = fine &&
           culvi_mpi_ok(m, MPI_Type_create_hindexed((int)n, lengths, places, MPI_BYTE, &type),
                        "MPI_Type_create_hindexed") &&
           culvi_mpi_ok(m, MPI_Type_commit(&type), "MPI_Type_commit");
    free(lengths);
    free(places);
    *out = type;
    return fine || culvi_mpi_broken(m);
}

/* Requests, events and pipes ------------------------------------------------------------------- */

bool culvi_mpi_send(culv_mpi *m, const void *data, size_t size, int to, int tag,
                    MPI_Request *request)
{
    return culvi_mpi_ok(m, MPI_Isend(data, (int)size, MPI_BYTE, to, tag, m->comm, request),
                        "MPI_Isend");
}

bool culvi_mpi_receive(culv_mpi *m, void *data, size_t size, int from, int tag,
                       MPI_Request *request)
{
    return culvi_mpi_ok(m, MPI_Irecv(data, (int)size, MPI_BYTE, from, tag, m->comm, request),
                        "MPI_Irecv");
}

bool culvi_mpi_test(culv_mpi *m, MPI_Request *request, bool *done)
{
    int flag = 0;
    *done = *request == MPI_REQUEST_NULL;
    if (*done) return true;
    if (!culvi_mpi_ok(m, MPI_Test(request, &flag, MPI_STATUS_IGNORE), "MPI_Test")) return false;
    *done = flag != 0;
    m->moved += *done;
    return true;
}

void culvi_mpi_cancel(MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL) return;
    if (MPI_Cancel(request) == MPI_SUCCESS) (void)MPI_Wait(request, MPI_STATUS_IGNORE);
    *request = MPI_REQUEST_NULL;
}

bool culvi_mpi_event_done(culv_mpi *m, CUevent event, bool *done)
{
    const CUresult r = m->cu->cuEventQuery(event);
    *done = r == CUDA_SUCCESS;
    m->moved += *done;
    return r == CUDA_ERROR_NOT_READY || culvi_mpi_cu(m, r, "cuEventQuery");
}

bool culvi_mpi_pipe_create(culv_mpi *m, pipe_line *p, uint64_t chunk_size, uint64_t packed_size)
{
    p->chunk_size = chunk_size < packed_size ? chunk_size : packed_size;
    for (int i = 0; i < CHUNKS; i++) {
        if (!CU(m, cuMemHostAlloc, &p->chunks[i].host, (size_t)p->chunk_size,
                CU_MEMHOSTALLOC_PORTABLE) ||
            !CU(m, cuEventCreate, &p->chunks[i].event, CU_EVENT_DISABLE_TIMING))
            return false;
    }
    return true;
}

void culvi_mpi_pipe_destroy(culv_mpi *m, pipe_line *p)
{
    for (int i = 0; i < CHUNKS; i++) {
        chunk *c = &p->chunks[i];
        if (c->event) (void)m->cu->cuEventDestroy(c->event);
        /* A send that never ended may still read it. */
        if (c->host && *c->request == MPI_REQUEST_NULL) (void)m->cu->cuMemFreeHost(c->host);
        c->host = NULL;
        c->event = NULL;
    }
}

void culvi_mpi_pipe_next(pipe_line *p, const layout *part, chunk *c)
{
    const uint64_t left = part->packed_size - p->position;
    c->frame = p->frame;
    c->position = p->position;
    c->size = left < p->chunk_size ? left : p->chunk_size;
    c->last = c->size == left;
    p->position = c->last ? 0 : p->position + c->size;
    if (c->last) p->frame++;
    p->begun++;
}

/* Calls ---------------------------------------------------------------------------------------- */

static atomic_flag list_busy = ATOMIC_FLAG_INIT;
static culv_mpi *list;

static void take(atomic_flag *flag)
{
    while (atomic_flag_test_and_set(flag)) /* for one look */
        (void)sched_yield();
}

bool culvi_mpi_enter(culv_mpi *m)
{
    take(&m->busy);
    if (CU(m, cuCtxPushCurrent, m->context)) return true;
    atomic_flag_clear(&m->busy);
    return false;
}

void culvi_mpi_leave(culv_mpi *m)
{
    CUcontext before;
    (void)m->cu->cuCtxPopCurrent(&before);
    atomic_flag_clear(&m->busy);
}

void culvi_mpi_list(culv_mpi *m)
{
    take(&list_busy);
    m->next = list;
    list = m;
    atomic_flag_clear(&list_busy);
}

void culvi_mpi_unlist(culv_mpi *m)
{
    take(&list_busy);
    for (culv_mpi **at = &list; *at; at = &(*at)->next) {
        if (*at != m) continue;
        *at = m->next;
        break;
    }
    atomic_flag_clear(&list_busy);
}

/* Their failures are their own calls' answers. */
static void step_others(const culv_mpi *m)
{
    if (atomic_flag_test_and_set(&list_busy)) return;
    for (culv_mpi *o = list; o; o = o->next) {
        if (o == m || o->failure.result != CULV_OK || atomic_flag_test_and_set(&o->busy)) continue;
        if (CU(o, cuCtxPushCurrent, o->context)) {
            (void)culvi_mpi_step(o);
            CUcontext before;
            (void)o->cu->cuCtxPopCurrent(&before);
        }
        atomic_flag_clear(&o->busy);
    }
    atomic_flag_clear(&list_busy);
}

bool culvi_mpi_step(culv_mpi *m)
{
    if (m->failure.result != CULV_OK) {
        (void)culvi_mpi_answer(&m->failure);
        return false;
    }
    return (!m->peers || culvi_mpi_step_renderer(m)) && culvi_mpi_step_rank(m);
}
