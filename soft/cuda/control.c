/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the way into every call, and the private controls of shared/control.h. */
#include "../shared/delay.h"
#include "module.h"
#include "vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct soft_driver soft = {.lock = PTHREAD_MUTEX_INITIALIZER,
                           .progress = PTHREAD_COND_INITIALIZER,
                           .driver_version = SOFT_DRIVER_VERSION};

/* Guarded by its own lock: a call is counted before the driver's lock is asked for. */
static pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t calls;
static uint64_t calls_until_failure; /* 0 = disarmed */
static char call_to_fail[64];        /* empty: any call counts */
static int failure;
static const char *failed_call;
static uint64_t wanted_by_environment; /* the N of CULVERT_SOFT_FAIL_AT; 0: none, or armed anew */
static _Thread_local bool calls_forbidden;
static atomic_bool tells_errors;
static _Thread_local const char *call_now;
static atomic_bool is_child;

/* fork() gives a child one thread: no worker runs there, and what other threads held stays held. */
static void begin_child(void)
{
    pthread_mutex_init(&soft.lock, NULL);
    pthread_mutex_init(&control_lock, NULL);
    atomic_store(&is_child, true);
}

void soft_refuse_children(void)
{
    soft_on_fork(begin_child);
}

bool soft_is_child(void)
{
    return atomic_load(&is_child);
}
static struct soft_delays delays = SOFT_DELAYS_INIT;
static _Atomic uint64_t faults;

static void read_environment(void)
{
    static const char prefix[] = "cuda:";
    soft_delays_read(&delays, "cuda", secure_getenv("CULVERT_SOFT_DELAY"));
    const char *text = secure_getenv("CULVERT_SOFT_FAIL_AT");
    if (text == NULL) return;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0) {
        if (strncmp(text, "vulkan:", 7) != 0)
            fprintf(stderr,
                    "culvert: CULVERT_SOFT_FAIL_AT=%s begins neither with cuda: nor with vulkan:, "
                    "ignored\n",
                    text);
        return;
    }
    struct soft_fail_at at;
    CUresult error = CUDA_ERROR_UNKNOWN;
    char *end = NULL;
    bool good = soft_fail_at_parse(text + sizeof prefix - 1, &at);
    if (good && at.error != NULL && !soft_error_by_name(at.error, &error)) {
        error = (CUresult)strtol(at.error, &end, 10);
        good = *end == '\0';
    }
    if (!good) {
        fprintf(stderr, "culvert: CULVERT_SOFT_FAIL_AT=%s is not cuda:[CALL:]N[:ERROR], ignored\n",
                text);
        return;
    }
    if (at.call[0] != '\0' && !soft_proc_known(at.call)) {
        fprintf(stderr, "culvert: CULVERT_SOFT_FAIL_AT=%s: the twin has no call %s, ignored\n",
                text, at.call);
        return;
    }
    memcpy(call_to_fail, at.call, sizeof call_to_fail);
    failure = (int)error;
    calls_until_failure = wanted_by_environment = at.n;
}

__attribute__((destructor)) static void tell_what_never_failed(void)
{
    if (calls_until_failure > 0 && wanted_by_environment > 0 && !soft_is_child())
        soft_fail_at_tell_none("CUDA", call_to_fail, wanted_by_environment - calls_until_failure,
                               wanted_by_environment);
}

static bool must_fail(const char *call, CUresult *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    bool fails = false;
    pthread_mutex_lock(&control_lock);
    calls++;
    if (calls_until_failure > 0 && soft_fail_at_counts(call_to_fail, call) &&
        --calls_until_failure == 0) {
        *error = (CUresult)failure;
        failed_call = call;
        fails = true;
    }
    const uint64_t told = fails ? wanted_by_environment : 0;
    pthread_mutex_unlock(&control_lock);
    if (told > 0) soft_fail_at_tell(call, told);
    soft_delays_pass(&delays, call);
    return fails;
}

/* Work that is not done yet is no error, and programs ask of every pointer what it is. */
static CUresult told(CUresult result)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY || !atomic_load(&tells_errors) ||
        call_now == NULL || strncmp(call_now, "cuPointerGet", 12) == 0 ||
        !atomic_exchange(&tells_errors, false))
        return result;
    (void)cuGetErrorName(result, &name);
    fprintf(
        stderr,
        "culvert-soft-run: %s answers %s. No GPU did that: libcuda.so.1 is Culvert's software twin, a CUDA driver on the CPU. "
        "docs/twin-for-ci.md says what it cannot do. Later errors are not told\n",
        call_now, name);
    return result;
}

void culvSoftTellErrors(int tell)
{
    atomic_store(&tells_errors, tell != 0);
}

static CUresult begin(const char *call, enum soft_need need, struct soft_context **context)
{
    CUresult error;
    if (need != SOFT_NEED_NOTHING && soft_is_child()) return CUDA_ERROR_NOT_INITIALIZED;
    if (must_fail(call, &error)) return error;
    /* R3: host functions make no CUDA calls. */
    if (calls_forbidden) return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&soft.lock);
    if (need == SOFT_NEED_NOTHING) return CUDA_SUCCESS;
    if (!soft.initialized) {
        pthread_mutex_unlock(&soft.lock);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (soft_capture_forbids(call)) {
        pthread_mutex_unlock(&soft.lock);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    error = soft_checkpoint_pass(call);
    if (error != CUDA_SUCCESS) {
        pthread_mutex_unlock(&soft.lock);
        return error;
    }
    if (need == SOFT_NEED_INIT) return CUDA_SUCCESS;
    struct soft_context *current = soft_context_current();
    soft_context_enter(current);
    error = CUDA_SUCCESS;
    if (current == NULL) {
        error = CUDA_ERROR_INVALID_CONTEXT;
    } else if (soft_object_find(current, SOFT_CONTEXT) == NULL || !current->active) {
        error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    } else if (need == SOFT_NEED_CONTEXT) {
        error = (CUresult)current->error;
    }
    if (error != CUDA_SUCCESS) {
        pthread_mutex_unlock(&soft.lock);
        return error;
    }
    *context = current;
    return CUDA_SUCCESS;
}

CUresult soft_begin(const char *call, enum soft_need need, struct soft_context **context)
{
    call_now = call;
    return told(begin(call, need, context));
}

CUresult soft_begin_stream(const char *call, CUstream handle, struct soft_context **context)
{
    const bool needs_current =
        handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
    *context = NULL;
    CUresult result = soft_begin(call, needs_current ? SOFT_NEED_CONTEXT : SOFT_NEED_INIT, context);
    if (result != CUDA_SUCCESS || needs_current) return result;
    const struct soft_object *stream = soft_object_find(handle, SOFT_STREAM);
    if (stream != NULL) soft_context_enter(stream->context);
    return CUDA_SUCCESS;
}

CUresult soft_begin_on(const char *call, CUstream handle, struct soft_stream **stream)
{
    struct soft_context *context;
    SOFT_TRY(soft_begin_stream(call, handle, &context));
    result = soft_stream_get(context, handle, stream);
    return result == CUDA_SUCCESS ? result : soft_end(result);
}

CUresult soft_end(CUresult result)
{
    pthread_mutex_unlock(&soft.lock);
    return told(result);
}

void soft_forbid_calls(bool forbid)
{
    calls_forbidden = forbid;
}

/* Those of libraries go with them. */
static void count_module(void *object, void *arg)
{
    const struct soft_module *module = object;
    if (module->library == NULL) ++*(uint64_t *)arg;
}

void culvSoftCounts(culv_soft_counts *out)
{
    if (out == NULL) return;
    culv_soft_counts now = {.struct_size = out->struct_size};
    pthread_mutex_lock(&soft.lock);
    now.contexts = soft_context_references();
    now.streams = soft_object_count(SOFT_STREAM);
    now.events = soft_object_count(SOFT_EVENT);
    now.device_allocations = soft_range_count(SOFT_RANGE_DEVICE);
    now.host_allocations =
        soft_range_count(SOFT_RANGE_HOST) + soft_range_count(SOFT_RANGE_REGISTERED);
    now.external_memories = soft_object_count(SOFT_EXTERNAL_MEMORY);
    now.dedicated_memories = soft_external_memories_dedicated();
    now.external_mappings = soft_range_count(SOFT_RANGE_MAPPED) + soft_mipmaps_mapped();
    now.external_semaphores = soft_object_count(SOFT_EXTERNAL_SEMAPHORE);
    now.modules = soft_object_count(SOFT_LIBRARY) + soft_object_count(SOFT_LINKER);
    soft_objects_each(SOFT_MODULE, count_module, &now.modules);
    now.arrays = soft_object_count(SOFT_ARRAY);
    now.mipmapped_arrays = soft_object_count(SOFT_MIPMAP);
    now.surfaces = soft_object_count(SOFT_SURFACE);
    now.textures = soft_object_count(SOFT_TEXTURE);
    now.peers = soft_peers_count();
    now.graphs = soft_object_count(SOFT_GRAPH);
    now.graph_execs = soft_object_count(SOFT_EXEC);
    now.user_objects = soft_object_count(SOFT_USER_OBJECT);
    now.physical_allocations = soft_physical_count();
    now.reservations = soft_reservation_count();
    now.virtual_mappings = soft_range_count(SOFT_RANGE_VIRTUAL);
    now.graphics_resources = soft_object_count(SOFT_GRAPHICS);
    now.memory_pools = soft_pool_count();
    now.pool_allocations = soft_range_count(SOFT_RANGE_POOLED);
    now.fds = soft_external_memory_fds() + soft_physical_fds() + soft_pool_fds() + soft_shown_fds();
    pthread_mutex_unlock(&soft.lock);
    pthread_mutex_lock(&control_lock);
    now.calls = calls;
    pthread_mutex_unlock(&control_lock);
    memcpy(out, &now, out->struct_size < sizeof(now) ? out->struct_size : sizeof(now));
}

void culvSoftFailAt(uint64_t n, int error)
{
    pthread_mutex_lock(&control_lock);
    calls_until_failure = n;
    wanted_by_environment = 0;
    call_to_fail[0] = '\0';
    failure = error;
    failed_call = NULL;
    pthread_mutex_unlock(&control_lock);
}

void soft_note_fault(void)
{
    atomic_fetch_add(&faults, 1);
}

uint64_t culvSoftFaults(void)
{
    return atomic_load(&faults);
}

void culvSoftBefore(uint64_t n, void (*hook)(void *user, const char *call), void *user)
{
    soft_delays_before(&delays, n, hook, user);
}

void culvSoftPlayVersion(int version)
{
    pthread_mutex_lock(&soft.lock);
    soft.driver_version =
        version > 0 && version < SOFT_DRIVER_VERSION ? version : SOFT_DRIVER_VERSION;
    pthread_mutex_unlock(&soft.lock);
}

void culvSoftSpoilPeers(int spoil)
{
    pthread_mutex_lock(&soft.lock);
    soft.peers_spoiled = spoil;
    pthread_mutex_unlock(&soft.lock);
}

void culvSoftPlayAttribute(int attribute, int value)
{
    pthread_mutex_lock(&soft.lock);
    soft_play_attribute(attribute, value);
    pthread_mutex_unlock(&soft.lock);
}

void culvSoftPlayName(const char *name)
{
    pthread_mutex_lock(&soft.lock);
    snprintf(soft.played_name, sizeof(soft.played_name), "%s", name != NULL ? name : "");
    pthread_mutex_unlock(&soft.lock);
}

void culvSoftPlayLuid(int device, const uint8_t luid[8], unsigned node_mask)
{
    if (device < 0 || device >= SOFT_MAX_DEVICES) return;
    pthread_mutex_lock(&soft.lock);
    struct soft_device *d = &soft.devices[device];
    d->has_luid = luid != NULL;
    if (luid != NULL) memcpy(d->luid, luid, sizeof(d->luid));
    d->node_mask = node_mask;
    pthread_mutex_unlock(&soft.lock);
}

void culvSoftBarPeers(int bar)
{
    pthread_mutex_lock(&soft.lock);
    soft.peers_barred = bar != 0;
    pthread_mutex_unlock(&soft.lock);
}

const char *culvSoftFailedCall(void)
{
    pthread_mutex_lock(&control_lock);
    const char *call = failed_call;
    pthread_mutex_unlock(&control_lock);
    return call;
}
