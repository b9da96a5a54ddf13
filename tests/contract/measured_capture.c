/* SPDX-License-Identifier: MIT */
/* Which calls break somebody's stream capture: each one during a capture in global, thread-local
 * and relaxed mode, from the capturing thread and from another one, with and without exchanging the
 * calling thread's mode for relaxed. What was measured on NVIDIA's driver 580 is required of both
 * drivers, the rest is answered. */
#define TEST_GROUP "measured."
#include "contract.h"

#include <pthread.h>
#include <unistd.h>

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
    (void)o;
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

static CUresult op_create_physical(capture_objects *o)
{
    const CUmemAllocationProp prop = device_prop(o->p->device, 0);
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
    CU_OK(cu->GraphCreate(&o->graph, 0));
    CU_OK(op_instantiate(o));
    o->exec = o->created_exec;
    o->created_exec = NULL;
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
    if (o->created_exec != NULL) CU_OK(cu->GraphExecDestroy(o->created_exec));
    CU_OK(cu->GraphExecDestroy(o->exec));
    CU_OK(cu->GraphDestroy(o->graph));
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
    if (a.result == CUDA_SUCCESS && end == CUDA_SUCCESS)
        snprintf(out, OUTCOME_SIZE, "harmless");
    else
        snprintf(out, OUTCOME_SIZE, "%s, capture %s", raw_cuda_result_name(a.result),
                 raw_cuda_result_name(end));
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
    if (p->cu->CtxRecordEvent == NULL) SKIP("this driver has no cuCtxRecordEvent");
    for (size_t operation = 0; operation < COUNT_OF(operations); operation++)
        for (size_t m = 0; m < 3; m++) {
            char outcomes[4][OUTCOME_SIZE];
            for (int i = 0; i < 4; i++)
                try_one(p, operation, modes[m].mode, i / 2 == 1, i % 2 == 1, outcomes[i]);
            answer_outcomes(operations[operation].name, modes[m].name, outcomes);
        }
}
