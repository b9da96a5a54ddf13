/* SPDX-License-Identifier: MIT */
/* Which calls break somebody's stream capture: each one during a capture in global, thread-local
 * and relaxed mode, from the capturing thread and from another one, with and without exchanging the
 * calling thread's mode for relaxed. What was measured on NVIDIA's driver 580 is required of both
 * drivers, the rest is answered. */
#define TEST_GROUP "measured."
#include "images.h"

#include <pthread.h>
#include <unistd.h>

/* Everything that an operation needs; what it consumes, it sets to zero. */
typedef struct capture_objects {
    pair *p;
    raw_vk_buffer vk;
    VkSemaphore vk_timeline;
    int memory_fd, timeline_fd;
    CUexternalMemory memory, unmapped, imported;
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
    size_t granule; /* 0: the driver has no virtual memory management */
    CUdeviceptr reserved;
    CUmemGenericAllocationHandle physical;
    CUgraph graph;
    CUgraphExec exec, created_exec;
} capture_objects;

enum { PAGES_SIZE = 65536 };

/* An operation that is one call, and what has become of what it took once that has succeeded. */
#define OP(name, call)                                                                             \
    static CUresult op_##name(capture_objects *o)                                                  \
    {                                                                                              \
        return call;                                                                               \
    }
#define OP_THEN(name, call, then)                                                                  \
    static CUresult op_##name(capture_objects *o)                                                  \
    {                                                                                              \
        const CUresult result = call;                                                              \
        if (result == CUDA_SUCCESS) then;                                                          \
        return result;                                                                             \
    }

static CUresult op_none(capture_objects *o)
{
    (void)o;
    return CUDA_SUCCESS;
}

OP(ctx_record_event, o->p->cu->CtxRecordEvent != NULL
                         ? o->p->cu->CtxRecordEvent(o->p->context, o->event)
                         : CUDA_ERROR_NOT_FOUND)
OP(event_create, o->p->cu->EventCreate(&o->created, CU_EVENT_DISABLE_TIMING))
OP(event_query, o->p->cu->EventQuery(o->event))
OP_THEN(event_destroy, o->p->cu->EventDestroy(o->event), o->event = NULL)
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

OP_THEN(free_mapping, o->p->cu->MemFree(o->pointer), o->pointer = 0)
OP_THEN(free, o->p->cu->MemFree(o->own), o->own = 0)

static void CUDA_CB do_nothing(void *user)
{
    (void)user;
}

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

OP_THEN(destroy_memory, o->p->cu->DestroyExternalMemory(o->unmapped), o->unmapped = NULL)
OP_THEN(import_semaphore,
        raw_cuda_import_timeline(o->p->cu, o->timeline_fd, &o->imported_semaphore),
        o->timeline_fd = -1)
OP_THEN(destroy_semaphore, o->p->cu->DestroyExternalSemaphore(o->semaphore), o->semaphore = NULL)
OP(mem_alloc, o->p->cu->MemAlloc(&o->allocated, 65536))
OP(legacy_stream_query, o->p->cu->StreamQuery(NULL))

static CUresult op_pointer_attribute(capture_objects *o)
{
    unsigned long long id = 0;
    return o->p->cu->PointerGetAttribute != NULL
               ? o->p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, o->pointer)
               : CUDA_ERROR_NOT_FOUND;
}

static CUresult op_map_image(capture_objects *o)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = image_cuda_desc(o->image.format, &o->image.vk);
    return raw_cuda_map_image(o->p->cu, o->image.memory, 0, &desc, 1, &o->created_mipmap);
}

OP(get_level, o->p->cu->MipmappedArrayGetLevel(&o->level, o->image.mipmap, 0))
OP(create_surface, raw_cuda_surface(o->p->cu, o->level, &o->created_surface))
OP_THEN(destroy_surface, o->p->cu->SurfObjectDestroy(o->surface), o->surface = 0)
OP_THEN(destroy_mipmap, o->p->cu->MipmappedArrayDestroy(o->mapped), o->mapped = NULL)
OP(create_texture, raw_cuda_texture(o->p->cu, o->level, NULL, &o->created_texture))
OP_THEN(destroy_texture, o->p->cu->TexObjectDestroy(o->texture), o->texture = 0)

static CUresult op_create_array(capture_objects *o)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 64, 64);
    return o->p->cu->Array3DCreate(&o->created_array, &desc);
}

OP_THEN(destroy_array, o->p->cu->ArrayDestroy(o->array), o->array = NULL)
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

static CUresult op_graph(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    CUresult result = cu->GraphCreate(&graph, 0);
    if (result == CUDA_SUCCESS) result = cu->GraphInstantiateWithParams(&exec, graph, &how);
    if (result == CUDA_SUCCESS) result = cu->GraphLaunch(exec, o->other);
    if (exec != NULL) CU_OK(cu->GraphExecDestroy(exec));
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    return result;
}

static CUresult op_instantiate(capture_objects *o)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    memset(&how, 0, sizeof how);
    return o->p->cu->GraphInstantiateWithParams(&o->created_exec, o->graph, &how);
}

OP(launch, o->p->cu->GraphLaunch(o->exec, o->other))

static CUmemAllocationProp physical_prop(const capture_objects *o)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = o->p->device};
    return prop;
}

static CUresult op_create_physical(capture_objects *o)
{
    const CUmemAllocationProp prop = physical_prop(o);
    CUmemGenericAllocationHandle handle;
    if (o->granule == 0) return CUDA_ERROR_NOT_FOUND;
    CUresult result = o->p->cu->MemCreate(&handle, o->granule, &prop, 0);
    return result == CUDA_SUCCESS ? o->p->cu->MemRelease(handle) : result;
}

static CUresult op_map_physical(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    const CUmemAccessDesc access = {physical_prop(o).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (o->granule == 0) return CUDA_ERROR_NOT_FOUND;
    CUresult result = cu->MemMap(o->reserved, o->granule, 0, o->physical, 0);
    if (result != CUDA_SUCCESS) return result;
    result = cu->MemSetAccess(o->reserved, o->granule, &access, 1);
    CUresult unmapped = cu->MemUnmap(o->reserved, o->granule);
    return result == CUDA_SUCCESS ? unmapped : result;
}

/* What was measured: the call breaks no capture; those that forbid the calling thread what a
 * capture cannot see; all of them. */
typedef enum expectation { OPEN, HARMLESS, UNSAFE, ALWAYS } expectation;

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
    {"cuGraphLaunch_elsewhere", op_graph, UNSAFE},
    {"cuGraphInstantiateWithParams", op_instantiate, OPEN},
    {"cuGraphLaunch_alone", op_launch, OPEN},
    {"cuMemFree", op_free, UNSAFE},
    {"cuGraphRetainUserObject", op_retain, HARMLESS},
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
    memset(o, 0, sizeof *o);
    o->p = p;
    raw_vk_buffer_create(&p->vk, 65536, RAW_VK_EXPORT, &o->vk);
    o->vk_timeline = raw_vk_timeline(&p->vk, 0, true);
    CU_OK(p->cu->StreamCreate(&o->other, CU_STREAM_NON_BLOCKING));
    o->memory_fd = raw_vk_buffer_fd(&p->vk, &o->vk);
    o->timeline_fd = raw_vk_timeline_fd(&p->vk, o->vk_timeline);
    const uint64_t size = o->vk.allocation_size;
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &o->vk), size, false, &o->memory));
    CU_OK(
        raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &o->vk), size, false, &o->unmapped));
    CU_OK(raw_cuda_map_buffer(p->cu, o->memory, 0, 65536, &o->pointer));
    CU_OK(
        raw_cuda_import_timeline(p->cu, raw_vk_timeline_fd(&p->vk, o->vk_timeline), &o->semaphore));
    CU_OK(p->cu->EventCreate(&o->event, CU_EVENT_DISABLE_TIMING));
    CU_OK(p->cu->MemAlloc(&o->own, 1));
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 64, 64, 1, 0, &o->image);
    const CUDA_ARRAY3D_DESCRIPTOR desc = image_cuda_desc(o->image.format, &o->image.vk);
    CU_OK(raw_cuda_map_image(p->cu, o->image.memory, 0, &desc, 1, &o->mapped));
    o->level = image_level(p, o->image.mipmap, 0);
    CU_OK(raw_cuda_surface(p->cu, o->level, &o->surface));
    CU_OK(raw_cuda_texture(p->cu, o->level, NULL, &o->texture));
    const CUDA_ARRAY3D_DESCRIPTOR own = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 64, 64);
    CU_OK(p->cu->Array3DCreate(&o->array, &own));
    const CUmemAllocationProp prop = physical_prop(o);
    if (p->cu->MemGetAllocationGranularity == NULL || p->cu->MemCreate == NULL ||
        p->cu->MemGetAllocationGranularity(&o->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
            CUDA_SUCCESS)
        o->granule = 0;
    if (o->granule != 0) {
        CU_OK(p->cu->MemAddressReserve(&o->reserved, o->granule, 0, 0, 0));
        CU_OK(p->cu->MemCreate(&o->physical, o->granule, &prop, 0));
    }
    CU_OK(p->cu->GraphCreate(&o->graph, 0));
    CU_OK(op_instantiate(o));
    o->exec = o->created_exec;
    o->created_exec = NULL;
    o->pages = aligned_alloc(PAGES_SIZE, PAGES_SIZE);
    o->registered = aligned_alloc(PAGES_SIZE, PAGES_SIZE);
    REQUIRE(o->pages != NULL && o->registered != NULL);
    CU_OK(p->cu->MemHostRegister(o->registered, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
}

static void clean_up(capture_objects *o)
{
    const raw_cuda *cu = o->p->cu;
    CU_OK(cu->StreamSynchronize(o->other));
    CU_OK(cu->StreamDestroy(o->other));
    if (o->granule != 0) {
        (void)cu->MemUnmap(o->reserved, o->granule); /* in case that it was refused */
        CU_OK(cu->MemRelease(o->physical));
        CU_OK(cu->MemAddressFree(o->reserved, o->granule));
    }
    if (o->created_exec != NULL) CU_OK(cu->GraphExecDestroy(o->created_exec));
    CU_OK(cu->GraphExecDestroy(o->exec));
    CU_OK(cu->GraphDestroy(o->graph));
    if (o->registers) CU_OK(cu->MemHostUnregister(o->pages));
    if (o->registered != NULL) CU_OK(cu->MemHostUnregister(o->registered));
    free(o->pages);
    free(o->registered);
    if (o->created_array != NULL) CU_OK(cu->ArrayDestroy(o->created_array));
    if (o->array != NULL) CU_OK(cu->ArrayDestroy(o->array));
    if (o->created_texture != 0) CU_OK(cu->TexObjectDestroy(o->created_texture));
    if (o->texture != 0) CU_OK(cu->TexObjectDestroy(o->texture));
    if (o->created_surface != 0) CU_OK(cu->SurfObjectDestroy(o->created_surface));
    if (o->surface != 0) CU_OK(cu->SurfObjectDestroy(o->surface));
    if (o->created_mipmap != NULL) CU_OK(cu->MipmappedArrayDestroy(o->created_mipmap));
    if (o->mapped != NULL) CU_OK(cu->MipmappedArrayDestroy(o->mapped));
    shared_image_close(o->p, &o->image);
    if (o->allocated != 0) CU_OK(cu->MemFree(o->allocated));
    if (o->own != 0) CU_OK(cu->MemFree(o->own));
    if (o->pointer != 0) CU_OK(cu->MemFree(o->pointer));
    if (o->imported != NULL) CU_OK(cu->DestroyExternalMemory(o->imported));
    if (o->unmapped != NULL) CU_OK(cu->DestroyExternalMemory(o->unmapped));
    CU_OK(cu->DestroyExternalMemory(o->memory));
    if (o->imported_semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(o->imported_semaphore));
    if (o->semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(o->semaphore));
    if (o->created != NULL) CU_OK(cu->EventDestroy(o->created));
    if (o->event != NULL) CU_OK(cu->EventDestroy(o->event));
    /* A refused import may have closed the fd; nothing else opened a file since. */
    if (o->memory_fd >= 0 && fd_open(o->memory_fd)) close(o->memory_fd);
    if (o->timeline_fd >= 0 && fd_open(o->timeline_fd)) close(o->timeline_fd);
    raw_vk_timeline_destroy(&o->p->vk, o->vk_timeline);
    raw_vk_buffer_destroy(&o->p->vk, &o->vk);
}

enum { OUTCOME_SIZE = 128 };

/* Says in `out` what the call returned, and the capture's end where either is an error. */
static void try_one(pair *p, size_t operation, CUstreamCaptureMode mode, bool other_thread,
                    bool relax, char out[OUTCOME_SIZE])
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
    char call[64];
    snprintf(call, sizeof call, "%s", raw_cuda_result_name(a.result));
    if (a.result == CUDA_SUCCESS && end == CUDA_SUCCESS)
        snprintf(out, OUTCOME_SIZE, "harmless");
    else
        snprintf(out, OUTCOME_SIZE, "%s, capture %s", call, raw_cuda_result_name(end));
    if (end == CUDA_SUCCESS && graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
    const expectation expected = operations[operation].expected;
    const bool forbids = !relax && mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                         !(other_thread && mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
               breaks = expected == ALWAYS || (expected == UNSAFE && forbids);
    if (expected != OPEN) {
        CU_IS(a.result, breaks ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
        CU_IS(end, breaks ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
    }
    if (relax) CU_IS(a.exchange, CUDA_SUCCESS);
    clean_up(&objects);
}

static void answer_outcomes(const char *call, const char *mode, char outcomes[4][OUTCOME_SIZE])
{
    const char *key = answer_key("%s, %s capture", call, mode);
    for (int i = 1; i < 4; i++)
        if (strcmp(outcomes[i], outcomes[0]) != 0) {
            ANSWER(key,
                   "same thread: %s; same thread, relaxed: %s; other thread: %s; "
                   "other thread, relaxed: %s",
                   outcomes[0], outcomes[1], outcomes[2], outcomes[3]);
            return;
        }
    ANSWER(key, "%s", outcomes[0]);
}

PAIR_CASE(calls_during_capture, .mark = TEST_BOTH, .time_limit = 300)
{
    static const struct {
        CUstreamCaptureMode mode;
        const char *name;
    } modes[] = {{CU_STREAM_CAPTURE_MODE_GLOBAL, "global"},
                 {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread-local"},
                 {CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed"}};
    if (p->cu->StreamBeginCapture == NULL || p->cu->ThreadExchangeStreamCaptureMode == NULL)
        SKIP("this driver has no stream capture");
    for (size_t operation = 0; operation < sizeof operations / sizeof operations[0]; operation++)
        for (size_t m = 0; m < 3; m++) {
            char outcomes[4][OUTCOME_SIZE];
            for (int i = 0; i < 4; i++)
                try_one(p, operation, modes[m].mode, i / 2 == 1, i % 2 == 1, outcomes[i]);
            answer_outcomes(operations[operation].name, modes[m].name, outcomes);
        }
}
