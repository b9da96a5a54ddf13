/* SPDX-License-Identifier: MIT */
/* What the library rests on and the texts leave open: answers; asserted only what is needed. */
#define TEST_GROUP "measured."
#include "contract.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *present(PFN_vkVoidFunction function)
{
    return function != NULL ? "not NULL" : "NULL";
}

/* A driver may answer with a function that must not be called: so an attachment cannot find out by
 * asking. */
TEST(procs_of_extensions_not_enabled)
{
    static const char *const names[] = {"vkGetMemoryFdKHR", "vkGetMemoryFdPropertiesKHR",
                                        "vkGetSemaphoreFdKHR", "vkImportSemaphoreFdKHR"};
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    CUuuid uuid;
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    for (int enabled = 0; enabled < 2; enabled++) {
        raw_vk_open(&vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                           .software = cu->software,
                                           .without_memory_fd = !enabled,
                                           .without_semaphore_fd = !enabled});
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            PFN_vkVoidFunction function = vkGetDeviceProcAddr(vk.device, names[i]);
            ANSWER(answer_key("vkGetDeviceProcAddr: %s, extension %s", names[i],
                              enabled ? "enabled" : "not enabled"),
                   "%s", present(function));
            if (enabled) REQUIRE(function != NULL);
        }
        ANSWER(answer_key("vkGetInstanceProcAddr: vkGetMemoryFdKHR, extension %s",
                          enabled ? "enabled" : "not enabled"),
               "%s", present(vkGetInstanceProcAddr(vk.instance, "vkGetMemoryFdKHR")));
        raw_vk_close(&vk);
    }
}

/* `current` is NULL where it depends on the machine whether there is such a context. */
static void answer_calls(const pair *p, const shared_timeline *t, CUevent event, uint64_t value,
                         const char *current)
{
    static const char *const calls[] = {"signal", "wait", "cuEventRecord", "cuStreamSynchronize",
                                        "cuEventQuery"};
    CUresult signal = raw_cuda_signal(p->cu, t->cu, value, p->stream);
    /* A value that nobody signals would be waited for without end; 0 was there from the start. */
    CUresult wait = raw_cuda_wait(p->cu, t->cu, signal == CUDA_SUCCESS ? value : 0, p->stream);
    CUresult record = p->cu->EventRecord(event, p->stream);
    CUresult synchronize = p->cu->StreamSynchronize(p->stream);
    const CUresult results[] = {signal, wait, record, synchronize, p->cu->EventQuery(event)};
    for (size_t i = 0; i < 5; i++) {
        if (current != NULL)
            answer_call(answer_key("%s current: %s", current, calls[i]), results[i]);
        /* The library makes no context current for a stream that it knows. */
        CU_IS(results[i], CUDA_SUCCESS);
    }
}

/* With an explicit stream: does signaling need that stream's context current, or any? */
PAIR_CASE(signal_without_the_context, .own = true)
{
    uint64_t value = 0;
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    answer_calls(p, &t, event, ++value, "its context");

    CU_OK(p->cu->CtxSetCurrent(NULL));
    answer_calls(p, &t, event, ++value, "no context");

    if (p->cu->device_count > 1) {
        CUcontext other = raw_cuda_context(p->cu, 1);
        REQUIRE(other != NULL);
        answer_calls(p, &t, event, ++value, NULL);
        CU_OK(p->cu->CtxSetCurrent(NULL));
        CU_OK(p->cu->DevicePrimaryCtxRelease(1));
    }
    CUcontext created = NULL;
    if (p->cu->CtxCreate(&created, 0, p->device) == CUDA_SUCCESS) {
        answer_calls(p, &t, event, ++value, "another context of the device");
        CU_OK(p->cu->CtxDestroy(created));
    }
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* A context with a part of the multiprocessors. External semaphores are not for its streams. */
PAIR_CASE(green_contexts, .mark = TEST_BOTH, .own = true)
{
    if (p->cu->GreenCtxStreamCreate == NULL) SKIP("the driver has no green contexts");
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext as_context, of_stream;
    CUstream stream, made;
    unsigned groups = 1;
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(p->cu->DeviceGetDevResource(p->device, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU_OK(
        p->cu->DevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, all.sm.minSmPartitionSize));
    CU_OK(p->cu->DevResourceGenerateDesc(&desc, &part, 1));
    CU_OK(p->cu->GreenCtxCreate(&green, desc, p->device, CU_GREEN_CTX_DEFAULT_STREAM));
    CU_OK(p->cu->GreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    CU_OK(p->cu->CtxFromGreenCtx(&as_context, green));
    answer_call("a signal in its stream", raw_cuda_signal(p->cu, t.cu, 1, stream));
    answer_call("a wait in its stream", raw_cuda_wait(p->cu, t.cu, 0, stream));
    CU_OK(p->cu->StreamGetCtx(stream, &of_stream));
    ANSWER("cuStreamGetCtx of its stream", "%s", of_stream == as_context ? "it" : "another one");
    CU_OK(p->cu->CtxSetCurrent(as_context));
    answer_call("it is current: a signal in a stream of the primary context",
                raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    CU_OK(p->cu->StreamCreate(&made, CU_STREAM_NON_BLOCKING));
    answer_call("a signal in a stream of cuStreamCreate, made there",
                raw_cuda_signal(p->cu, t.cu, 2, made));
    CU_OK(p->cu->StreamDestroy(made));
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->EventRecord(event, stream));
    CU_OK(p->cu->StreamWaitEvent(p->stream, event, 0));
    answer_call("a signal behind it, by an event", raw_cuda_signal(p->cu, t.cu, 3, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(p->cu->StreamDestroy(stream));
    CU_OK(p->cu->GreenCtxDestroy(green));
}

/* Which calls break somebody's stream capture: each one during a capture in global, thread-local
 * and relaxed mode, from the capturing thread and from another one, with and without exchanging the
 * calling thread's mode for relaxed. */

/* Everything that an operation needs, until test_settle(); what it consumes is forgotten. */
typedef struct capture_objects {
    pair *p;
    raw_vk_buffer vk;
    VkSemaphore vk_timeline;
    int memory_fd, timeline_fd;
    CUexternalMemory unmapped, imported;
    CUdeviceptr pointer, allocated, own;
    CUexternalSemaphore semaphore, imported_semaphore;
    CUevent event, created;
    shared_image image;
    CUmipmappedArray mapped, created_mipmap; /* more mappings of the image */
    CUarray level;
    CUsurfObject surface, created_surface;
    CUtexObject texture, created_texture;
    CUarray array, created_array;
    void *pages, *registered; /* of the host's; `registered` is with CUDA */
    bool registers;           /* and `pages` is now */
    CUstream other;
    uint64_t value; /* signaled last */
    CUdeviceptr reserved;
    CUmemGenericAllocationHandle physical;
} capture_objects;

enum { PAGES_SIZE = 65536 };

/* An operation that is one call, and what has become of what it took once that has succeeded. */
#define OP(name, call)                                                                             \
    static CUresult op_##name(capture_objects *o)                                                  \
    {                                                                                              \
        return call;                                                                               \
    }
#define OP_ENDS(name, call, thing) OP_THEN(name, call, test_forget(&(thing), sizeof(thing)))
#define OP_THEN(name, call, then)                                                                  \
    static CUresult op_##name(capture_objects *o)                                                  \
    {                                                                                              \
        const CUresult result = call;                                                              \
        if (result == CUDA_SUCCESS) then;                                                          \
        return result;                                                                             \
    }

static CUresult op_none(capture_objects *o)
{
    return CUDA_SUCCESS;
}

OP(ctx_record_event, o->p->cu->CtxRecordEvent(o->p->context, o->event))
OP(event_create, o->p->cu->EventCreate(&o->created, CU_EVENT_DISABLE_TIMING))
OP(event_query, o->p->cu->EventQuery(o->event))
OP_ENDS(event_destroy, o->p->cu->EventDestroy(o->event), o->event)
OP_THEN(import_memory,
        raw_cuda_import_memory(o->p->cu, o->memory_fd, o->vk.allocation_size, false, &o->imported),
        o->memory_fd = -1)

static CUresult op_map_buffer(capture_objects *o)
{
    CUdeviceptr second = 0;
    CUresult result = raw_cuda_map_buffer(o->p->cu, o->unmapped, 0, 65536, &second);
    if (result == CUDA_SUCCESS) o->allocated = second; /* freed the same way */
    return result;
}

OP_ENDS(free_mapping, o->p->cu->MemFree(o->pointer), o->pointer)
OP_ENDS(free, o->p->cu->MemFree(o->own), o->own)

static void CUDA_CB do_nothing(void *user) {}

/* The graph that is being captured keeps what belongs to the program. */
static CUresult op_retain(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    CUgraph graph = NULL;
    CUuserObject object = NULL;
    CUresult result =
        cu->UserObjectCreate(&object, NULL, do_nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result == CUDA_SUCCESS)
        result = cu->StreamGetCaptureInfo(o->p->stream, &status, &id, &graph, NULL, NULL);
    return result == CUDA_SUCCESS
               ? cu->GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE)
               : result;
}

OP_ENDS(destroy_memory, o->p->cu->DestroyExternalMemory(o->unmapped), o->unmapped)
OP_THEN(import_semaphore,
        raw_cuda_import_timeline(o->p->cu, o->timeline_fd, &o->imported_semaphore),
        o->timeline_fd = -1)
OP_THEN(destroy_semaphore, o->p->cu->DestroyExternalSemaphore(o->semaphore), o->semaphore = NULL)
OP(mem_alloc, o->p->cu->MemAlloc(&o->allocated, 65536))
OP(legacy_stream_query, o->p->cu->StreamQuery(NULL))

static CUresult op_pointer_attribute(capture_objects *o)
{
    unsigned long long id = 0;
    return o->p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, o->pointer);
}

static CUresult op_map_image(capture_objects *o)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = image_cuda_desc(o->image.format, &o->image.vk);
    return raw_cuda_map_image(o->p->cu, o->image.memory, 0, &desc, 1, &o->created_mipmap);
}

OP(get_level, o->p->cu->MipmappedArrayGetLevel(&o->level, o->image.mipmap, 0))
OP(create_surface, raw_cuda_surface(o->p->cu, o->level, &o->created_surface))
OP_ENDS(destroy_surface, o->p->cu->SurfObjectDestroy(o->surface), o->surface)
OP_ENDS(destroy_mipmap, o->p->cu->MipmappedArrayDestroy(o->mapped), o->mapped)
OP(create_texture, raw_cuda_texture(o->p->cu, o->level, NULL, &o->created_texture))
OP_ENDS(destroy_texture, o->p->cu->TexObjectDestroy(o->texture), o->texture)

static CUresult op_create_array(capture_objects *o)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 64, 64);
    return o->p->cu->Array3DCreate(&o->created_array, &desc);
}

OP_ENDS(destroy_array, o->p->cu->ArrayDestroy(o->array), o->array)
OP_THEN(register, o->p->cu->MemHostRegister(o->pages, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP),
        o->registers = true)

static CUresult op_unregister(capture_objects *o)
{
    CUresult result = o->p->cu->MemHostUnregister(o->registered);
    if (result == CUDA_SUCCESS) {
        free(o->registered);
        o->registered = NULL;
    }
    return result;
}

OP(stream_query, o->p->cu->StreamQuery(o->other))
OP(stream_synchronize, o->p->cu->StreamSynchronize(o->other))
OP(event_synchronize, o->p->cu->EventSynchronize(o->event))
OP(event_record, o->p->cu->EventRecord(o->event, o->other))
OP(context_synchronize, o->p->cu->CtxSynchronize())

static CUresult op_stream_create(capture_objects *o)
{
    CUstream stream = NULL;
    CUresult result = o->p->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    return result == CUDA_SUCCESS ? o->p->cu->StreamDestroy(stream) : result;
}

static CUresult op_copy(capture_objects *o)
{
    uint32_t word = 1;
    return o->p->cu->MemcpyHtoD(o->pointer, &word, sizeof word);
}

OP(legacy_set, o->p->cu->MemsetD32Async(o->pointer, 1, 1, NULL))
OP(set_elsewhere, o->p->cu->MemsetD32Async(o->pointer, 1, 1, o->other))
OP(signal_elsewhere, raw_cuda_signal(o->p->cu, o->semaphore, ++o->value, o->other))

static CUresult op_load_module(capture_objects *o)
{
    char path[TEST_PATH_MAX];
    CUmodule module = NULL;
    CUresult result = o->p->cu->ModuleLoad(
        &module, test_path(path, o->p->cu->software ? "share/culvert/pattern.soft.so"
                                                    : "share/culvert/pattern.fatbin"));
    return result == CUDA_SUCCESS ? o->p->cu->ModuleUnload(module) : result;
}

static CUresult op_reserve(capture_objects *o)
{
    CUdeviceptr range = 0;
    CUresult result = o->p->cu->MemAddressReserve(&range, VMM_SIZE, 0, 0, 0);
    return result == CUDA_SUCCESS ? o->p->cu->MemAddressFree(range, VMM_SIZE) : result;
}

static CUresult op_create_physical(capture_objects *o)
{
    const CUmemAllocationProp prop = raw_cuda_memory_prop(o->p->device, 0);
    CUmemGenericAllocationHandle handle;
    CUresult result = o->p->cu->MemCreate(&handle, VMM_SIZE, &prop, 0);
    return result == CUDA_SUCCESS ? o->p->cu->MemRelease(handle) : result;
}

static CUresult op_map_physical(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CUresult result = cu->MemMap(o->reserved, VMM_SIZE, 0, o->physical, 0);
    if (result != CUDA_SUCCESS) return result;
    result = vmm_allow(o->p, o->reserved, VMM_SIZE);
    CUresult unmapped = cu->MemUnmap(o->reserved, VMM_SIZE);
    return result == CUDA_SUCCESS ? unmapped : result;
}

/* What was measured: the call breaks no capture; those that forbid the calling thread what a
 * capture cannot see; all of them. */
typedef enum expectation { HARMLESS, UNSAFE, ALWAYS } expectation;

static const struct {
    const char *name;
    CUresult (*run)(capture_objects *o);
    expectation expected;
} operations[] = {
    {"nothing", op_none, HARMLESS},
    {"cuCtxRecordEvent", op_ctx_record_event, ALWAYS},
    {"cuEventCreate", op_event_create, HARMLESS},
    {"cuEventQuery", op_event_query, UNSAFE},
    {"cuEventDestroy", op_event_destroy, HARMLESS},
    {"cuImportExternalMemory", op_import_memory, UNSAFE},
    {"cuExternalMemoryGetMappedBuffer", op_map_buffer, HARMLESS},
    {"cuMemFree_of_mapping", op_free_mapping, UNSAFE},
    {"cuDestroyExternalMemory", op_destroy_memory, UNSAFE},
    {"cuImportExternalSemaphore", op_import_semaphore, UNSAFE},
    {"cuDestroyExternalSemaphore", op_destroy_semaphore, UNSAFE},
    {"cuMemAlloc", op_mem_alloc, UNSAFE},
    {"cuStreamQuery_legacy", op_legacy_stream_query, UNSAFE},
    {"cuPointerGetAttribute", op_pointer_attribute, HARMLESS},
    {"cuExternalMemoryGetMappedMipmappedArray", op_map_image, HARMLESS},
    {"cuMipmappedArrayGetLevel", op_get_level, HARMLESS},
    {"cuSurfObjectCreate", op_create_surface, UNSAFE},
    {"cuSurfObjectDestroy", op_destroy_surface, UNSAFE},
    {"cuMipmappedArrayDestroy", op_destroy_mipmap, UNSAFE},
    {"cuTexObjectCreate", op_create_texture, UNSAFE},
    {"cuTexObjectDestroy", op_destroy_texture, UNSAFE},
    {"cuArray3DCreate", op_create_array, UNSAFE},
    {"cuArrayDestroy", op_destroy_array, UNSAFE},
    {"cuMemHostRegister", op_register, UNSAFE},
    {"cuMemHostUnregister", op_unregister, UNSAFE},
    {"cuStreamQuery", op_stream_query, UNSAFE},
    {"cuStreamSynchronize", op_stream_synchronize, UNSAFE},
    {"cuEventSynchronize", op_event_synchronize, UNSAFE},
    {"cuEventRecord_elsewhere", op_event_record, HARMLESS},
    {"cuCtxSynchronize", op_context_synchronize, ALWAYS},
    {"cuStreamCreate", op_stream_create, HARMLESS},
    {"cuMemcpyHtoD", op_copy, HARMLESS},
    {"cuMemsetD32Async_legacy", op_legacy_set, HARMLESS},
    {"cuMemsetD32Async_elsewhere", op_set_elsewhere, HARMLESS},
    {"cuSignalExternalSemaphoresAsync_elsewhere", op_signal_elsewhere, HARMLESS},
    {"cuModuleLoad", op_load_module, UNSAFE},
    {"cuMemFree", op_free, UNSAFE},
    {"cuGraphRetainUserObject", op_retain, HARMLESS},
    {"cuMemAddressReserve", op_reserve, HARMLESS},
    {"cuMemCreate", op_create_physical, HARMLESS},
    {"cuMemMap_cuMemSetAccess_cuMemUnmap", op_map_physical, HARMLESS},
};

typedef struct attempt {
    capture_objects *objects;
    CUresult (*run)(capture_objects *o);
    bool relax;
    CUresult result, exchange;
} attempt;

static void make_attempt(attempt *a)
{
    const raw_cuda *cu = a->objects->p->cu;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (a->relax) a->exchange = cu->ThreadExchangeStreamCaptureMode(&mode);
    a->result = a->run(a->objects);
    if (a->relax && a->exchange == CUDA_SUCCESS)
        a->exchange = cu->ThreadExchangeStreamCaptureMode(&mode);
}

static void *attempt_on_thread(void *argument)
{
    attempt *a = argument;
    CU_OK(a->objects->p->cu->CtxSetCurrent(a->objects->p->context));
    make_attempt(a);
    return NULL;
}

static void prepare(pair *p, capture_objects *o)
{
    const raw_cuda *cu = p->cu;
    const CUDA_ARRAY3D_DESCRIPTOR own = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 64, 64);
    memset(o, 0, sizeof *o);
    o->p = p;
    o->vk = pair_vk_buffer(p, 65536, RAW_VK_EXPORT);
    o->vk_timeline = raw_vk_timeline(&p->vk, 0, true);
    o->memory_fd = raw_vk_buffer_fd(&p->vk, &o->vk);
    o->timeline_fd = raw_vk_timeline_fd(&p->vk, o->vk_timeline);
    const uint64_t size = o->vk.allocation_size;
    CUexternalMemory memory = raw_cuda_imported(cu, raw_vk_buffer_fd(&p->vk, &o->vk), size, false);
    o->unmapped = raw_cuda_imported(cu, raw_vk_buffer_fd(&p->vk, &o->vk), size, false);
    o->pointer = raw_cuda_mapped(cu, memory, 0, 65536);
    CU_OK(raw_cuda_import_timeline(cu, raw_vk_timeline_fd(&p->vk, o->vk_timeline), &o->semaphore));
    o->event = raw_cuda_event(cu, CU_EVENT_DISABLE_TIMING);
    o->own = raw_cuda_memory(cu, 1);
    o->image = pair_image(p, &image_formats[IMAGE_RGBA8], 64, 64, 1, 0);
    const CUDA_ARRAY3D_DESCRIPTOR desc = image_cuda_desc(o->image.format, &o->image.vk);
    o->mapped = raw_cuda_mapped_image(cu, o->image.memory, 0, &desc, 1);
    o->level = image_level(p, o->image.mipmap, 0);
    o->surface = raw_cuda_surface_of(cu, o->level);
    o->texture = raw_cuda_texture_of(cu, o->level, NULL);
    o->array = raw_cuda_array(cu, &own);
    o->reserved = pair_range(p, VMM_SIZE);
    o->physical = pair_handle(p, VMM_SIZE, 0);
    o->other = raw_cuda_stream(cu); /* ends first */
    o->pages = aligned_alloc(PAGES_SIZE, PAGES_SIZE);
    o->registered = aligned_alloc(PAGES_SIZE, PAGES_SIZE);
    REQUIRE(o->pages != NULL && o->registered != NULL);
    CU_OK(cu->MemHostRegister(o->registered, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
}

/* What operations made, and what has no helper. */
static void clean_up(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CU_OK(cu->StreamSynchronize(o->other));
    (void)cu->MemUnmap(o->reserved, VMM_SIZE); /* in case that it was refused */
    if (o->registers) CU_OK(cu->MemHostUnregister(o->pages));
    if (o->registered != NULL) CU_OK(cu->MemHostUnregister(o->registered));
    free(o->pages);
    free(o->registered);
    if (o->created_array != NULL) CU_OK(cu->ArrayDestroy(o->created_array));
    if (o->created_texture != 0) CU_OK(cu->TexObjectDestroy(o->created_texture));
    if (o->created_surface != 0) CU_OK(cu->SurfObjectDestroy(o->created_surface));
    if (o->created_mipmap != NULL) CU_OK(cu->MipmappedArrayDestroy(o->created_mipmap));
    if (o->allocated != 0) CU_OK(cu->MemFree(o->allocated));
    if (o->imported != NULL) CU_OK(cu->DestroyExternalMemory(o->imported));
    if (o->imported_semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(o->imported_semaphore));
    if (o->semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(o->semaphore));
    if (o->created != NULL) CU_OK(cu->EventDestroy(o->created));
    /* A refused import may have closed the fd; nothing else opened a file since. */
    if (o->memory_fd >= 0 && fd_open(o->memory_fd)) close(o->memory_fd);
    if (o->timeline_fd >= 0 && fd_open(o->timeline_fd)) close(o->timeline_fd);
    raw_vk_timeline_destroy(&o->p->vk, o->vk_timeline);
    test_settle(); /* which ends the pair's stream, too */
    o->p->stream = raw_cuda_stream(cu);
}

/* Whether the call and the capture's end return what was measured. */
static void try_one(pair *p, size_t operation, CUstreamCaptureMode mode, bool other_thread,
                    bool relax, const char *key)
{
    capture_objects objects;
    CUgraph graph = NULL;
    prepare(p, &objects);
    attempt a = {.objects = &objects, .run = operations[operation].run, .relax = relax};
    CU_OK(p->cu->StreamBeginCapture(p->stream, mode));
    if (other_thread) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, attempt_on_thread, &a) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        make_attempt(&a);
    }
    CUresult end = p->cu->StreamEndCapture(p->stream, &graph);
    if (end == CUDA_SUCCESS && graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
    const expectation expected = operations[operation].expected;
    const bool forbids = !relax && mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                         !(other_thread && mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
               breaks = expected == ALWAYS || (expected == UNSAFE && forbids);
    test_answer_is(key,
                   a.result == (breaks ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS) &&
                       end == (breaks ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS),
                   "%s, capture %s", raw_cuda_result_name(a.result), raw_cuda_result_name(end));
    if (relax) CU_IS(a.exchange, CUDA_SUCCESS);
    clean_up(&objects);
}

PAIR_CASE(calls_during_capture, .mark = TEST_BOTH, .time_limit = 300)
{
    static const struct {
        CUstreamCaptureMode mode;
        const char *name;
    } modes[] = {{CU_STREAM_CAPTURE_MODE_GLOBAL, "global"},
                 {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread-local"},
                 {CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed"}};
    if (p->cu->CtxRecordEvent == NULL) SKIP("this driver has no cuCtxRecordEvent");
    for (size_t operation = 0; operation < COUNT_OF(operations); operation++)
        for (size_t m = 0; m < 3; m++)
            for (int i = 0; i < 4; i++)
                try_one(p, operation, modes[m].mode, i / 2 == 1, i % 2 == 1,
                        answer_key("%s, %s capture, %s thread%s", operations[operation].name,
                                   modes[m].name, i / 2 == 1 ? "other" : "same",
                                   i % 2 == 1 ? ", relaxed" : ""));
}

/* What destroying does while work is pending, and after a sticky error: answered, asserted only
 * where the library needs it. */

/* Signals a timeline from the host a little later, by a thread. */
#define DELAY_US 50000
typedef struct late_signal {
    pthread_t thread;
    raw_vk *vk;
    VkSemaphore semaphore;
    uint64_t value;
} late_signal;

static void *signal_late(void *argument)
{
    late_signal *late = argument;
    usleep(DELAY_US);
    raw_vk_timeline_signal(late->vk, late->semaphore, late->value);
    return NULL;
}

static void late_signal_start(late_signal *late, raw_vk *vk, VkSemaphore semaphore, uint64_t value)
{
    late->vk = vk;
    late->semaphore = semaphore;
    late->value = value;
    REQUIRE(pthread_create(&late->thread, NULL, signal_late, late) == 0);
}

static void late_signal_join(late_signal *late)
{
    REQUIRE(pthread_join(late->thread, NULL) == 0);
}

static void CUDA_CB sleep_on_stream(void *data)
{
    usleep(DELAY_US);
}

/* Memory of CUDA's own that the pending work never touches, of the smallest size too: its end waits
 * for all work of the context. */
PAIR_CASE(free_with_pending_work, .mark = TEST_BOTH)
{
    static const size_t sizes[] = {1, 65536, (size_t)4 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        CUdeviceptr kept = 0, freed = 0;
        CU_OK(p->cu->MemAlloc(&kept, sizes[i])); /* so that it is not the last one of its block */
        CU_OK(p->cu->MemAlloc(&freed, sizes[i]));
        CU_OK(p->cu->LaunchHostFunc(p->stream, sleep_on_stream, NULL));
        CU_OK(p->cu->MemFree(freed));
        answer_ok(answer_key("work after cuMemFree of %zu bytes", sizes[i]),
                  p->cu->StreamQuery(p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        CU_OK(p->cu->MemFree(kept));
    }
}

/* The pair's stream waits for `t`, which the host signals a little later. */
static void wait_for_late(pair *p, const shared_timeline *t, late_signal *late)
{
    CU_OK(raw_cuda_wait(p->cu, t->cu, 1, p->stream));
    late_signal_start(late, &p->vk, t->vk, 1);
}

/* The pending work never touches the buffer that is freed. */
PAIR_CASE(free_of_a_mapping_with_pending_work, .own = true)
{
    shared_timeline t = pair_timeline(p, 0);
    for (int by_host_function = 0; by_host_function < 2; by_host_function++) {
        const char *work = by_host_function ? "a host function" : "a timeline wait";
        shared_buffer b;
        late_signal late;
        shared_buffer_open(p, 1u << 20, 0, false, &b);
        if (by_host_function)
            CU_OK(p->cu->LaunchHostFunc(p->stream, sleep_on_stream, NULL));
        else
            wait_for_late(p, &t, &late);
        answer_ok(answer_key("cuMemFree beside %s", work), p->cu->MemFree(b.pointer));
        CU_IS(p->cu->StreamQuery(p->stream), CUDA_SUCCESS); /* it waited for all of it */
        answer_call(answer_key("cuDestroyExternalMemory beside %s", work),
                    p->cu->DestroyExternalMemory(b.memory));
        if (!by_host_function) late_signal_join(&late);
        CU_OK(p->cu->StreamSynchronize(p->stream));
        raw_vk_buffer_destroy(&p->vk, &b.vk);
    }
}

/* Destroying waits for work that has nothing to do with what is destroyed. */
PAIR_CASE(destroy_idle_semaphore_beside_pending_work, .own = true)
{
    shared_timeline idle, busy = pair_timeline(p, 0);
    shared_timeline_open(p, 0, &idle);
    late_signal late;
    wait_for_late(p, &busy, &late);
    answer_ok("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(idle.cu));
    CU_IS(p->cu->StreamQuery(p->stream), CUDA_SUCCESS);
    late_signal_join(&late);
    raw_vk_timeline_destroy(&p->vk, idle.vk);
}

typedef struct cuda_signal {
    pair *p;
    CUexternalSemaphore semaphore;
    VkSemaphore timeline;
    CUstream stream;
    atomic_bool entered, done, rescued;
    int waiter; /* the thread that gives back */
    CUresult result;
} cuda_signal;

static void *signal_late_by_cuda(void *argument)
{
    cuda_signal *s = argument;
    CU_OK(s->p->cu->CtxSetCurrent(s->p->context));
    while (!atomic_load(&s->entered)) /* on a busy machine the other thread may be late */
        usleep(1000);
    usleep(DELAY_US);
    if (s->p->cu->software) (void)test_asleep(0, s->waiter, 0); /* a real driver may spin */
    s->result = raw_cuda_signal(s->p->cu, s->semaphore, 2, s->stream);
    atomic_store(&s->done, true);
    return NULL;
}

/* Ends the wait from Vulkan's side where CUDA's own signal does not get through. */
static void *rescue(void *argument)
{
    cuda_signal *s = argument;
    while (!atomic_load(&s->entered))
        usleep(1000);
    usleep(20 * DELAY_US);
    if (!atomic_load(&s->done)) {
        atomic_store(&s->rescued, true);
        raw_vk_timeline_signal(&s->p->vk, s->timeline, 1);
    }
    return NULL;
}

/* A thread that waits inside cuMemFree keeps another thread from submitting what it waits for. */
PAIR_CASE(free_while_another_thread_signals, .own = true)
{
    shared_buffer b;
    shared_timeline t = pair_timeline(p, 0);
    pthread_t thread, rescuer;
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    cuda_signal s = TEST_ROW(.p = p, .semaphore = t.cu, .timeline = t.vk,
                             .stream = raw_cuda_stream(p->cu), .waiter = (int)syscall(SYS_gettid));
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    REQUIRE(pthread_create(&thread, NULL, signal_late_by_cuda, &s) == 0);
    REQUIRE(pthread_create(&rescuer, NULL, rescue, &s) == 0);
    atomic_store(&s.entered, true);
    const CUresult result = p->cu->MemFree(b.pointer);
    REQUIRE(pthread_join(thread, NULL) == 0 && pthread_join(rescuer, NULL) == 0);
    answer_ok("cuMemFree", result);
    answer_ok("the other thread's signal", s.result);
    REQUIRE(atomic_load(&s.rescued)); /* not its own signal ended the wait */
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
    raw_vk_buffer_destroy(&p->vk, &b.vk);
}

PAIR_CASE(destroy_event_and_stream_with_a_pending_wait, .own = true)
{
    late_signal late;
    CUevent event = NULL;
    CUstream stream = NULL; /* the pair's is destroyed with it */
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(p->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, stream));
    CU_OK(p->cu->EventRecord(event, stream));
    CU_IS(p->cu->EventQuery(event), CUDA_ERROR_NOT_READY);
    late_signal_start(&late, &p->vk, t.vk, 1);
    answer_ok("cuEventDestroy", p->cu->EventDestroy(event));
    answer_ok("cuStreamDestroy", p->cu->StreamDestroy(stream));
    late_signal_join(&late);
    answer_ok("cuCtxSynchronize, once the wait is over", p->cu->CtxSynchronize());
}

PAIR_CASE(after_a_sticky_error, .faults = true)
{
    shared_buffer b;
    shared_timeline t;
    CUevent event = NULL;
    /* A first import, so that what a driver keeps is counted. */
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_buffer_close(p, &b);
    shared_timeline_open(p, 0, &t);
    shared_timeline_close(p, &t);
    const size_t before = test_open_fds();

    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_timeline_open(p, 0, &t);
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUmodule module = raw_cuda_load(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    /* No program has a mapping there. */
    CU_OK(words_launch(p->cu, write, 0x1000, 64, 0, p->stream));
    const CUresult recorded =
        p->cu->EventRecord(event, p->stream); /* fails if the fault is known */
    REQUIRE(recorded == CUDA_SUCCESS || recorded == CUDA_ERROR_ILLEGAL_ADDRESS);
    answer_call("cuStreamSynchronize after the kernel", p->cu->StreamSynchronize(p->stream));
    uint32_t word = 0; /* it stays */
    answer_call("cuMemcpyDtoH of the mapping", p->cu->MemcpyDtoH(&word, b.pointer, sizeof word));
    answer_call("cuEventQuery", p->cu->EventQuery(event));
    answer_call("cuSignalExternalSemaphoresAsync", raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    answer_call("cuEventDestroy", p->cu->EventDestroy(event));
    answer_call("cuMemFree of the mapping", p->cu->MemFree(b.pointer));
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(b.memory));
    answer_call("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(t.cu));
    answer_call("cuModuleUnload", p->cu->ModuleUnload(module));
    answer_call("cuStreamDestroy", p->cu->StreamDestroy(p->stream));
    answer_call("cuCtxSetCurrent(NULL)", p->cu->CtxSetCurrent(NULL));
    answer_call("cuDevicePrimaryCtxRelease", p->cu->DevicePrimaryCtxRelease(p->device));
    CUcontext again = NULL;
    answer_call("cuDevicePrimaryCtxRetain again", p->cu->DevicePrimaryCtxRetain(&again, p->device));
    raw_vk_timeline_destroy(&p->vk, t.vk);
    raw_vk_buffer_destroy(&p->vk, &b.vk);
    ANSWER("fds more than before the objects", "%s", test_open_fds() > before ? "some" : "none");
    if (p->cu->software) {
        REQUIRE_EQ(test_open_fds(), before);
        raw_cuda_require_empty(p->cu);
        raw_vk_close(&p->vk);
    }
    test_pass(); /* NVIDIA's driver is not to be used any further in this process */
}
