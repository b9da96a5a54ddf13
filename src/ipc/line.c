/* SPDX-License-Identifier: MIT */
/* Pages that two processes share, and timelines: counters in a page, or imported semaphores. */
#include "ipc/ipc_line.h"

#include "core/semaphore.h"

/* Pages ---------------------------------------------------------------------------------------- */

static void free_pages(culvi_ipc_pages *p)
{
    culvi_ipc_pages_unmap(p->map, CULVI_IPC_PAGE);
    culvi_ipc_close_own(&p->native, 1);
    if (p->kept != NULL) *p->kept = NULL;
    culvi_free(p);
}

static bool release_pages(culv_device *device, culvi_deferred *self, bool last_try)
{
    culvi_ipc_pages *p = CULVI_CONTAINER(self, culvi_ipc_pages, deferred);
    CUresult r = CULVI_RELEASE(device, cuMemHostUnregister, (p->map));
    if (!culvi_release_done(device, "cuMemHostUnregister", r, last_try)) return false;
    device->counts.mappings--;
    culvi_tie_remove(&p->tie);
    free_pages(p);
    return true;
}

static culv_result register_pages(culvi_ipc_pages *p, const char *label)
{
    culv_device *device = p->device;
    culvi_scope scope;
    const char *call = "cuMemHostRegister";
    CULVI_TRY(culvi_enter(device, &scope, label));
    CUresult r = CULVI_CU(
        device, cuMemHostRegister,
        (p->map, CULVI_IPC_PAGE, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    if (r == CUDA_SUCCESS) {
        call = "cuMemHostGetDevicePointer";
        r = CULVI_CU(device, cuMemHostGetDevicePointer, (&p->at, p->map, 0));
        if (r != CUDA_SUCCESS) CULVI_RELEASE_TWICE(device, cuMemHostUnregister, (p->map));
    }
    culvi_leave(device, &scope);
    CULVI_CU_CHECK(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                   "the page with the counters could not be pinned for CUDA");
    p->registered = true;
    culvi_mutex_lock(&device->lock);
    device->counts.mappings++;
    culvi_tie_add(
        device, &p->tie, "page", p->label,
        "belongs to a ring between processes, which is not restored; destroy the ring's end before");
    culvi_mutex_unlock(&device->lock);
    culvi_made(device, &p->deferred, "page", p->label, CULVI_IPC_PAGE);
    return CULV_OK;
}

culv_result culvi_ipc_pages_open(culv_device *device, culvi_ipc_native native, bool writable,
                                 bool streams, const char *label, culvi_ipc_pages **out)
{
    const culvi_voice *voice = culvi_ipc_voice(device);
    CULVI_NEW(culvi_ipc_pages, p, voice, label);
    p->device = device;
    p->native = CULVI_IPC_NO_NATIVE;
    culvi_label_set(p->label, label);
    bool strange = false;
    p->map = culvi_ipc_pages_map(native, CULVI_IPC_PAGE, writable, &strange);
    if (p->map == NULL) {
        const int error = culvi_ipc_os_error();
        culvi_free(p);
        if (strange)
            return culvi_fail(
                voice, label, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                "the page that the other process sent is not sealed, or is not of %d bytes",
                (int)CULVI_IPC_PAGE);
        return culvi_fail_os(voice, label, error, "mmap", "the ring's page could not be mapped");
    }
    if (streams) {
        CULVI_TRY_OR(register_pages(p, label), free_pages(p));
    }
    if (device != NULL) culvi_device_ref(device);
    *out = p;
    return CULV_OK;
}

void culvi_ipc_pages_leave(culvi_ipc_pages **pages, culvi_ipc_pages **kept)
{
    culvi_ipc_pages *p = *pages;
    if (p == NULL) return;
    culv_device *device = p->device;
    *pages = NULL;
    if (!p->registered) {
        free_pages(p);
    } else {
        p->deferred.release = release_pages;
        culvi_mutex_lock(&device->lock);
        p->kept = kept;
        if (kept != NULL) *kept = p;
        culvi_defer(device, &p->deferred);
        culvi_mutex_unlock(&device->lock);
    }
    if (device != NULL) culvi_device_unref(device);
}

static bool is_quiet(const culvi_ipc_pages *p)
{
    culvi_ipc_consumer_page *page = p->map;
    for (uint32_t slot = 0; slot < CULV_RING_MAX_DEPTH; slot++)
        if (atomic_load(&page->last[slot]) > atomic_load(&page->done)) return false;
    return true;
}

culvi_ipc_pages *culvi_ipc_pages_take(culv_device *device, culvi_ipc_pages **kept, uint32_t user,
                                      int32_t pid)
{
    culvi_mutex_lock(&device->lock); /* a collection of another thread's may release them */
    culvi_ipc_pages *p = *kept;
    if (p != NULL && (p->user != user || p->pid != pid || !is_quiet(p))) p = NULL;
    if (p != NULL) {
        culvi_undefer(device, &p->deferred);
        p->kept = NULL;
        *kept = NULL;
    }
    culvi_mutex_unlock(&device->lock);
    if (p != NULL) culvi_device_ref(device);
    return p;
}

void culvi_ipc_pages_forget(culv_device *device, culvi_ipc_pages **kept)
{
    culvi_mutex_lock(&device->lock);
    if (*kept != NULL) {
        culvi_ipc_close_own(&(*kept)->native, 1);
        (*kept)->native = CULVI_IPC_NO_NATIVE;
        (*kept)->kept = NULL;
        *kept = NULL;
    }
    culvi_mutex_unlock(&device->lock);
}

uint64_t culvi_ipc_soon(uint64_t *began, uint64_t until)
{
    /* ns. A system's shortest sleep takes 60000, a turn of two processes on a GPU about 100000. */
    enum { AT_ONCE = 100000, LONGEST = 500000 };
    const uint64_t now = culvi_now();
    if (*began == 0) *began = now;
    const uint64_t since = now - *began;
    const uint64_t nap = since < AT_ONCE ? 0 : since / 8 < LONGEST ? since / 8 : LONGEST;
    return until - now < nap || until < now ? until : now + nap;
}

/* Timelines ------------------------------------------------------------------------------------ */

culv_result culvi_ipc_timelines_check(const culvi_voice *voice, const char *label,
                                      const char *where, const culv_ipc_timelines *t)
{
    const culv_handle_type type = t->ready.type;
    if (type == t->done.type && culvi_ipc_is_timeline(type) && t->ready.name == NULL &&
        t->done.name == NULL)
        return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                      "%s: ready is %s and done is %s%s; both must be %s", where,
                      culvi_handle_type_name(type), culvi_handle_type_name(t->done.type),
                      t->ready.name != NULL || t->done.name != NULL ? ", and one is a name" : "",
                      culvi_ipc_is_timeline(CULV_HANDLE_D3D12_FENCE)
                          ? "handles of one type: OPAQUE_WIN32, D3D12_FENCE or D3D11_FENCE"
                          : "OPAQUE_FD");
}

bool culvi_ipc_can_count(const culv_device *device)
{
    return device->cuda->cuStreamWaitValue64 != NULL && device->cuda->cuStreamWriteValue64 != NULL;
}

culv_result culvi_ipc_line_import(culv_device *device, const culv_handle *handle,
                                  const culv_uuid *exporter, const char *label,
                                  culvi_ipc_line *line)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.handle = *handle;
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.exporter = *exporter;
    d.label = label;
    return culv_semaphore_import(device, &d, &line->semaphore);
}

static culv_result count(culv_device *device, const culvi_ipc_line *line, const char *label,
                         CUstream stream, uint64_t value, bool signal)
{
    bool pushed;
    culvi_capture capture = CULVI_NOT_CAPTURED;
    CULVI_TRY(culvi_enter_stream(device, label, stream, &pushed));
    const char *call = "cuStreamIsCapturing";
    CUresult r = culvi_stream_capture(device, stream, &capture);
    if (r == CUDA_SUCCESS && capture == CULVI_NOT_CAPTURED) {
        call = signal ? "cuStreamWriteValue64" : "cuStreamWaitValue64";
        r = signal ? CULVI_CU(device, cuStreamWriteValue64,
                              (stream, line->at, value, CU_STREAM_WRITE_VALUE_DEFAULT))
                   : CULVI_CU(device, cuStreamWaitValue64,
                              (stream, line->at, value, CU_STREAM_WAIT_VALUE_GEQ));
    }
    culvi_leave_frame(device, pushed);
    CULVI_REFUSE_IF(r == CUDA_SUCCESS && capture != CULVI_NOT_CAPTURED, &device->voice, label,
                    CULV_REASON_CAPTURE,
                    "the stream is being captured, and each frame has values of its own");
    return CULVI_CU_RESULT(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "value %" PRIu64 " could not be %s in the ring's page", value,
                           signal ? "signaled" : "waited for");
}

culv_result culvi_ipc_line_use(culv_device *device, culvi_ipc_line *line, const char *label,
                               CUstream stream, uint64_t value, culvi_ipc_line_how how)
{
    const bool signal = how == CULVI_IPC_SIGNALS;
    if (line->word != NULL) return count(device, line, label, stream, value, signal);
    line->used = true;
    return signal ? culv_semaphore_signal(line->semaphore, stream, value)
                  : culv_semaphore_wait(line->semaphore, stream, value);
}

/* A stream of its own, of a middle priority: it shares no queue of the GPU with streams that wait,
 * nor with those of culvi_semaphore_unblock(). */
static culv_result make_stream(culv_device *device, const char *label, CUstream *out)
{
    const CUresult r = culvi_stream_create_apart(device, true, out);
    return CULVI_CU_RESULT(device, label, r, "cuStreamCreate", CULV_REASON_DRIVER_REFUSED,
                           "no stream could be made that looks how far a graphics API is");
}

void culvi_ipc_line_move_on(culv_device *device, culvi_ipc_line *line, const char *label,
                            const char *why)
{
    culv_result result = CULV_OK;
    if (line->waited == 0) return;
    if (line->word != NULL) {
        uint64_t now = atomic_load(line->word);
        if (now >= line->waited) return; /* nobody waits */
        while (now < line->waited &&
               !atomic_compare_exchange_weak(line->word, &now, line->waited)) {
        }
    } else if (line->signal != NULL) {
        result = line->signal(line->context, line->waited);
    } else if (line->semaphore != NULL) {
        line->used = true;
        result = culvi_semaphore_unblock(line->semaphore, line->waited);
    }
    culvi_log(culvi_ipc_voice(device), result == CULV_OK ? CULV_LOG_INFO : CULV_LOG_ERROR,
              "'%s': %s; a timeline was %s value %" PRIu64, label, why,
              result == CULV_OK ? "moved on to" : "not moved on to", line->waited);
    if (result == CULV_OK) line->waited = 0;
}

void culvi_ipc_line_close(culvi_ipc_line *line)
{
    if (line->semaphore == NULL) return;
    if (line->used)
        culvi_semaphore_put_off(line->semaphore);
    else
        culv_semaphore_destroy(&line->semaphore, NULL);
    line->semaphore = NULL;
}

/* Following ------------------------------------------------------------------------------------ */

culv_result culvi_ipc_watch_for(culv_device *device, culvi_ipc_watch *watch, culvi_ipc_line *line,
                                const char *label, uint64_t value)
{
    culv_result result = CULV_OK;
    if (watch->stream == NULL)
        CULVI_INSIDE(result, device, label, make_stream(device, label, &watch->stream));
    if (result != CULV_OK) return result;
    CULVI_TRY(culvi_ipc_line_use(device, line, label, watch->stream, value, CULVI_IPC_WAITS));
    if (line->waited < value) line->waited = value;
    return culvi_ipc_line_use(device, &watch->to, label, watch->stream, value, CULVI_IPC_SIGNALS);
}

void culvi_ipc_watch_close(culv_device *device, culvi_ipc_watch *watch, culvi_ipc_line *line,
                           const char *label)
{
    culvi_scope scope;
    if (watch->stream == NULL) return;
    if (atomic_load(watch->to.word) < line->waited)
        culvi_ipc_line_move_on(device, line, label, "this side has left before its GPU was done");
    if (culvi_enter(device, &scope, label) != CULV_OK) return;
    CULVI_CU_TWICE(device, cuStreamDestroy, (watch->stream));
    watch->stream = NULL;
    culvi_leave(device, &scope);
}
