/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments, one row a call: what the driver answers to it. A row's name,
 * "ENTRYPOINT: what is bad", is the key of its answer. Where NVIDIA's driver crashes, the row is not
 * called there and the recorded answer is "crashes". */
#define TEST_GROUP "bad."
#include "contract.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* Entry points that raw_cuda lacks, or has in another form. */
#define BAD_CALLS(X)                                                                               \
    X(CtxCreate, 12050)                                                                            \
    X(EventElapsedTime, 12080)                                                                     \
    X(GraphAddDependencies, 12030)                                                                 \
    X(StreamGetCaptureInfo, 12030)

typedef struct bad {
    const raw_cuda *cu;
    CUdevice device;
    CUcontext context; /* primary, current */
    CUstream stream;
    CUdeviceptr memory; /* 1 MiB */
    void *pinned;       /* 64 KiB */
#define BAD_FIELD(name, version) PFN_cu##name##_v##version name;
    BAD_CALLS(BAD_FIELD)
#undef BAD_FIELD
} bad;

#define BAD_MEMORY  ((size_t)1 << 20)
#define BAD_PINNED  ((size_t)65536)
#define BAD_NO_FD   (-1)
#define BAD_ADDRESS ((CUdeviceptr)0x123456789000u) /* nobody's */

/* A row at which NVIDIA's driver crashes. */
#define BAD_CRASHES(b, name, call)                                                                 \
    do {                                                                                           \
        if ((b)->cu->software)                                                                     \
            answer_call((name), (call));                                                           \
        else                                                                                       \
            ANSWER((name), "crashes");                                                             \
    } while (0)

#define NO_DEVICE 99

#define MEBIBYTE ((size_t)1 << 20)

static void CUDA_CB do_nothing(void *data) {}

/* 64 x 64 texels of four bytes. */
static CUDA_ARRAY3D_DESCRIPTOR good_desc(unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){64, 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, flags};
}

/* Skips where the driver lacks one of them. */
static void bad_open(bad *b)
{
    memset(b, 0, sizeof *b);
    b->cu = raw_cuda_open();
    void *address;
#define RESOLVE(name, version)                                                                     \
    address = NULL;                                                                                \
    (void)b->cu->GetProcAddress("cu" #name, &address, version, 0, NULL);                           \
    if (address == NULL) SKIP("the driver has no cu%s of version %d", #name, version);             \
    memcpy(&b->name, &address, sizeof address);
    BAD_CALLS(RESOLVE)
#undef RESOLVE
    CU_OK(b->cu->DeviceGet(&b->device, 0));
    b->context = raw_cuda_context(b->cu, b->device);
    b->stream = raw_cuda_stream(b->cu);
    b->memory = raw_cuda_memory(b->cu, BAD_MEMORY);
    CU_OK(b->cu->MemAllocHost(&b->pinned, BAD_PINNED));
}

static void bad_close(bad *b)
{
    CU_OK(b->cu->StreamSynchronize(b->stream));
    CU_OK(b->cu->MemFreeHost(b->pinned));
    test_settle();
    raw_cuda_leave(b->cu, b->device);
}
#define BAD_CASE(...) TEST_ON(bad, b, bad_open(b), bad_close(b), __VA_ARGS__)

static struct {
    CUresult count, current, alloc, version, find, init, name, string, no_version;
    bool found, no_name, no_string;
    CUdriverProcAddressQueryResult status;
} before;

static void look_before_init(const raw_cuda *cu)
{
    int number = 0;
    CUcontext context = NULL;
    CUdeviceptr pointer = 0;
    void *address = NULL;
    const char *name = "", *string = "";
    before.count = cu->DeviceGetCount(&number);
    before.current = cu->CtxGetCurrent(&context);
    before.alloc = cu->MemAlloc(&pointer, 4);
    before.version = cu->DriverGetVersion(&number);
    before.status = (CUdriverProcAddressQueryResult)7;
    before.find = cu->GetProcAddress("cuMemAlloc", &address, 12000, 0, &before.status);
    before.found = address != NULL;
    before.init = cu->Init(1);
    before.name = cu->GetErrorName((CUresult)99999, &name);
    before.no_name = name == NULL;
    before.string = cu->GetErrorString((CUresult)99999, &string);
    before.no_string = string == NULL;
    before.no_version = cu->DriverGetVersion(NULL);
}

TEST(before_init, .mark = TEST_BOTH, .own = true)
{
    raw_cuda_before_init(look_before_init);
    raw_cuda_open();
    answer_call("cuDeviceGetCount: before cuInit", before.count);
    answer_call("cuCtxGetCurrent: before cuInit", before.current);
    answer_call("cuMemAlloc: before cuInit", before.alloc);
    answer_call("cuDriverGetVersion: before cuInit", before.version);
    answer_with("cuGetProcAddress: before cuInit", before.find, "pfn %s, status %d",
                before.found ? "set" : "NULL", (int)before.status);
    answer_call("cuInit: flags 1", before.init);
    answer_with("cuGetErrorName: an unknown code", before.name, "*pStr %s",
                before.no_name ? "NULL" : "set");
    answer_with("cuGetErrorString: an unknown code", before.string, "*pStr %s",
                before.no_string ? "NULL" : "set");
    answer_call("cuDriverGetVersion: NULL", before.no_version);
}

BAD_CASE(entry_points, .mark = TEST_BOTH)
{
    static const struct {
        const char *name, *symbol;
        int version;
        cuuint64_t flags;
    } rows[] = {
        {"cuGetProcAddress: flags 0x80", "cuInit", 13000, 0x80},
        {"cuGetProcAddress: version 99000", "cuInit", 99000, 0},
        {"cuGetProcAddress: version 0", "cuInit", 0, 0},
        {"cuGetProcAddress: an unknown symbol", "cuNoSuchCall", 13000, 0},
        {"cuGetProcAddress: a symbol newer than the version", "cuMemAllocAsync", 11000, 0},
        {"cuGetProcAddress: the per-thread flag", "cuMemcpyHtoD", 13000,
         CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)7;
        void *address = b;
        CUresult result = b->cu->GetProcAddress(rows[i].symbol, &address, rows[i].version,
                                                rows[i].flags, &status);
        answer_with(rows[i].name, result, "pfn %s, status %d",
                    address == b      ? "untouched"
                    : address != NULL ? "set"
                                      : "NULL",
                    (int)status);
    }
    void *address = NULL;
    BAD_CRASHES(b, "cuGetProcAddress: NULL symbol",
                b->cu->GetProcAddress(NULL, &address, 13000, 0, NULL));
    BAD_CRASHES(b, "cuGetProcAddress: NULL pfn",
                b->cu->GetProcAddress("cuInit", NULL, 13000, 0, NULL));
    BAD_CRASHES(b, "cuGetErrorName: NULL", b->cu->GetErrorName(CUDA_SUCCESS, NULL));
}

static void device_properties(const bad *b)
{
    const raw_cuda *cu = b->cu;
    char text[64];
    CUuuid uuid;
    size_t size;
    int number = 0;
    CALL_ROW(cu, DeviceGetName, "NULL", NULL, 64, b->device);
    BAD_CRASHES(b, "cuDeviceGetName: length 0", cu->DeviceGetName(text, 0, b->device));
    memset(text, '#', sizeof text);
    CUresult result = cu->DeviceGetName(text, 4, b->device);
    answer_with("cuDeviceGetName: length 4", result, "%zu letters",
                memchr(text, 0, sizeof text) == NULL ? 0 : strlen(text));
    CALL_ROW(cu, DeviceGetName, "device 99", text, 64, NO_DEVICE);
    CALL_ROW(cu, DeviceGetUuid, "NULL", NULL, b->device);
    CALL_ROW(cu, DeviceGetUuid, "device 99", &uuid, NO_DEVICE);
    CALL_ROW(b->cu, DeviceTotalMem, "NULL", NULL, b->device);
    CALL_ROW(b->cu, DeviceTotalMem, "device -5", &size, -5);
    const CUdevice_attribute warp = CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    CALL_ROW(cu, DeviceGetAttribute, "NULL", NULL, warp, b->device);
    CALL_ROW(cu, DeviceGetAttribute, "attribute 0", &number, (CUdevice_attribute)0, b->device);
    CALL_ROW(cu, DeviceGetAttribute, "attribute 9999", &number, (CUdevice_attribute)9999,
             b->device);
    result = cu->DeviceGetAttribute(&number, (CUdevice_attribute)92, b->device);
    answer_with("cuDeviceGetAttribute: attribute 92, deprecated", result, "%d", number);
    CALL_ROW(cu, DeviceGetAttribute, "device 99", &number, warp, NO_DEVICE);
    CALL_ROW(b->cu, DeviceGetPCIBusId, "NULL", NULL, 64, b->device);
    memset(text, '#', sizeof text);
    result = b->cu->DeviceGetPCIBusId(text, 5, b->device);
    answer_with("cuDeviceGetPCIBusId: length 5 of 13", result, "%zu letters",
                memchr(text, 0, sizeof text) == NULL ? 0 : strlen(text));
    CALL_ROW(b->cu, DeviceGetPCIBusId, "device 99", text, 64, NO_DEVICE);
}

BAD_CASE(devices, .mark = TEST_BOTH)
{
    CUdevice device;
    int number = 7;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, DeviceGet, "NULL", NULL, 0);
    CALL_ROW(cu, DeviceGet, "ordinal -1", &device, -1);
    CALL_ROW(cu, DeviceGet, "ordinal 99", &device, 99);
    CALL_ROW(cu, DeviceGetCount, "NULL", NULL);
    device_properties(b);
    CALL_ROW(b->cu, DeviceGetByPCIBusId, "NULL device", NULL, "0000:00:00.0");
    CALL_ROW(b->cu, DeviceGetByPCIBusId, "NULL string", &device, NULL);
    CALL_ROW(b->cu, DeviceGetByPCIBusId, "garbage", &device, "hello");
    CALL_ROW(b->cu, DeviceGetByPCIBusId, "an address that nobody has", &device, "1234:56:07.0");
    CALL_ROW(cu, DeviceCanAccessPeer, "NULL", NULL, 0, 0);
    CUresult result = cu->DeviceCanAccessPeer(&number, 0, 0);
    answer_with("cuDeviceCanAccessPeer: itself", result, "%d", number);
    CALL_ROW(cu, DeviceCanAccessPeer, "peer 99", &number, 0, NO_DEVICE);
    const CUdevice_P2PAttribute access = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    CALL_ROW(cu, DeviceGetP2PAttribute, "NULL", NULL, access, 0, 0);
    CALL_ROW(cu, DeviceGetP2PAttribute, "itself", &number, access, 0, 0);
}

static void primary_contexts(const bad *b)
{
    const raw_cuda *cu = b->cu;
    CUcontext context;
    unsigned flags;
    int active;
    CALL_ROW(cu, DevicePrimaryCtxRetain, "NULL", NULL, b->device);
    CALL_ROW(cu, DevicePrimaryCtxRetain, "device 99", &context, NO_DEVICE);
    CALL_ROW(cu, DevicePrimaryCtxRelease, "device 99", NO_DEVICE);
    CALL_ROW(b->cu, DevicePrimaryCtxSetFlags, "flags 0xf000", b->device, 0xf000);
    CALL_ROW(b->cu, DevicePrimaryCtxSetFlags, "two schedules", b->device, 3);
    CALL_ROW(b->cu, DevicePrimaryCtxSetFlags, "device 99", NO_DEVICE, 0);
    CALL_ROW(cu, DevicePrimaryCtxGetState, "NULL flags", b->device, NULL, &active);
    CALL_ROW(cu, DevicePrimaryCtxGetState, "NULL active", b->device, &flags, NULL);
    CALL_ROW(cu, DevicePrimaryCtxGetState, "device 99", NO_DEVICE, &flags, &active);
}

BAD_CASE(contexts, .mark = TEST_BOTH)
{
    CUcontext context;
    unsigned version = 0;
    const raw_cuda *cu = b->cu;
    primary_contexts(b);
    CALL_ROW(b, CtxCreate, "NULL", NULL, NULL, 0, b->device);
    CALL_ROW(b, CtxCreate, "flags 0xf000", &context, NULL, 0xf000, b->device);
    CALL_ROW(b, CtxCreate, "device 99", &context, NULL, 0, NO_DEVICE);
    CALL_ROW(cu, CtxDestroy, "NULL", NULL);
    CALL_ROW(cu, CtxPushCurrent, "NULL", NULL);
    CALL_ROW(cu, CtxGetCurrent, "NULL", NULL);
    CALL_ROW(b->cu, CtxGetDevice, "NULL", NULL);
    CALL_ROW(b->cu, CtxGetFlags, "NULL", NULL);
    CALL_ROW(b->cu, CtxGetApiVersion, "NULL", b->context, NULL);
    CUresult result = b->cu->CtxGetApiVersion(b->context, &version);
    answer_with("cuCtxGetApiVersion: the primary context", result, "%u", version);
    CALL_ROW(cu, CtxGetId, "NULL", b->context, NULL);
    CALL_ROW(cu, CtxGetStreamPriorityRange, "NULL", NULL, NULL);
    CALL_ROW(cu, CtxEnablePeerAccess, "the current context", b->context, 0);
    CALL_ROW(cu, CtxEnablePeerAccess, "NULL", NULL, 0);
    CALL_ROW(cu, CtxDisablePeerAccess, "the current context", b->context);
    CALL_ROW(cu, CtxDisablePeerAccess, "NULL", NULL);
}

/* Nobody else may hold the primary context. */
TEST(primary_alone, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = raw_cuda_open();
    CALL_ROW(cu, DevicePrimaryCtxRelease, "not retained", 0);
    CUcontext context = raw_cuda_context(cu, 0);
    CALL_ROW(cu, CtxDestroy, "a primary context", context);
    CU_OK(cu->CtxSetCurrent(NULL));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* No context is current: what is given has one of its own. */
static void with_a_handle(const bad *b, CUevent event)
{
    const raw_cuda *cu = b->cu;
    CUcontext context;
    unsigned type;
    CALL_ROW(cu, EventRecord, "no context, a stream of one", event, b->stream);
    CALL_ROW(cu, EventSynchronize, "no context", event);
    CALL_ROW(cu, EventQuery, "no context", event);
    CALL_ROW(cu, StreamWaitEvent, "no context, a stream of one", b->stream, event, 0);
    CALL_ROW(b->cu, StreamGetCtx, "no context, a stream of one", b->stream, &context);
    CALL_ROW(cu, MemsetD32Async, "no context, a stream of one", b->memory, 1, 4, b->stream);
    CALL_ROW(cu, MemcpyDtoDAsync, "no context, a stream of one", b->memory, b->memory + 4096, 64,
             b->stream);
    CALL_ROW(cu, LaunchHostFunc, "no context, a stream of one", b->stream, do_nothing, NULL);
    CALL_ROW(cu, StreamSynchronize, "no context, a stream of one", b->stream);
    CALL_ROW(cu, StreamQuery, "no context, a stream of one", b->stream);
    CALL_ROW(cu, PointerGetAttribute, "no context, MEMORY_TYPE", &type,
             CU_POINTER_ATTRIBUTE_MEMORY_TYPE, b->memory);
}

/* As FFmpeg's cleanup makes them: after the context was popped. */
static void with_objects(const bad *b)
{
    const raw_cuda *cu = b->cu;
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_ARRAY3D_DESCRIPTOR told;
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    const CUDA_TEXTURE_DESC sampling = {.addressMode = {1, 1, 1}}; /* clamped */
    CUmipmappedArray mipmap;
    CUarray array, level;
    CUtexObject texture;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUdeviceptr p;
    void *pinned, *pages = aligned_alloc(4096, 4096);
    unsigned flags;
    REQUIRE(pages != NULL);
    CU_OK(cu->MipmappedArrayCreate(&mipmap, &desc, 2));
    CU_OK(cu->Array3DCreate(&array, &desc));
    r.res.array.hArray = array;
    CU_OK(cu->TexObjectCreate(&texture, &r, &sampling, NULL));
    CU_OK(b->cu->MemAllocHost(&pinned, 4096));
    CU_OK(cu->MemHostRegister(pages, 4096, 0));
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    CU_OK(b->cu->GraphInstantiateWithFlags(&exec, graph, 0));
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = b->memory,
                                .srcPitch = 256,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = 256,
                                .Height = 64};
    CU_OK(cu->CtxSetCurrent(NULL));
    CALL_ROW(cu, MipmappedArrayGetLevel, "no context", &level, mipmap, 0);
    CALL_ROW(cu, Array3DGetDescriptor, "no context", &told, array);
    CALL_ROW(cu, Memcpy2DAsync, "no context, a stream of one", &copy, b->stream);
    CALL_ROW(cu, GraphLaunch, "no context, a stream of one", exec, b->stream);
    CALL_ROW(b->cu, MemHostGetFlags, "no context", &flags, pinned);
    CALL_ROW(cu, MemHostGetDevicePointer, "no context", &p, pinned, 0);
    CALL_ROW(cu, TexObjectGetResourceDesc, "no context", &r, texture);
    CALL_ROW(cu, TexObjectDestroy, "no context", texture);
    CALL_ROW(cu, MemFreeHost, "no context", pinned);
    CALL_ROW(cu, MemHostUnregister, "no context", pages);
    CALL_ROW(cu, MipmappedArrayDestroy, "no context", mipmap);
    CU_OK(cu->CtxSetCurrent(b->context));
    CU_OK(cu->StreamSynchronize(b->stream));
    CU_OK(cu->TexObjectDestroy(texture));
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->ArrayDestroy(array));
    free(pages);
}

BAD_CASE(no_context, .mark = TEST_BOTH)
{
    CUevent event;
    CUstream stream;
    CUdeviceptr own, base, pointer = 0;
    CUarray array;
    CUdevice device;
    size_t size;
    int least, greatest;
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    const raw_cuda *cu = b->cu;
    CU_OK(cu->EventCreate(&event, 0));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->MemAlloc(&own, 4097));
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(cu->CtxSetCurrent(NULL));
    CUcontext context = b->context;
    CUresult result = cu->CtxGetCurrent(&context);
    answer_with("cuCtxGetCurrent: no context", result, "%s", context == NULL ? "NULL" : "one");
    CALL_ROW(cu, CtxPopCurrent, "no context", &context);
    CALL_ROW(cu, CtxSetCurrent, "no context, NULL", NULL);
    CALL_ROW(b->cu, CtxGetDevice, "no context", &device);
    CALL_ROW(cu, CtxGetStreamPriorityRange, "no context", &least, &greatest);
    answer_call("cuCtxSynchronize: no context", cu->CtxSynchronize());
    CALL_ROW(cu, MemAlloc, "no context", &pointer, 4);
    CUstream none = NULL;
    CALL_ROW(cu, StreamCreate, "no context", &none, 0);
    with_a_handle(b, event);
    CALL_ROW(b->cu, MemGetAddressRange, "no context", &base, &size, b->memory);
    CALL_ROW(cu, MemFree, "no context", own);
    CALL_ROW(cu, EventDestroy, "no context", event);
    CALL_ROW(cu, StreamDestroy, "no context", stream);
    CALL_ROW(cu, ArrayDestroy, "no context", array);
    CU_OK(cu->CtxSetCurrent(b->context));
    with_objects(b);
}

BAD_CASE(streams, .mark = TEST_BOTH)
{
    CUstream stream = NULL;
    int priority = 1;
    const raw_cuda *cu = b->cu;
    CUevent event = raw_cuda_event(cu, 0);
    CALL_ROW(cu, StreamCreate, "NULL", NULL, 0);
    CALL_ROW(cu, StreamCreate, "flags 0x80", &stream, 0x80);
    CALL_ROW(cu, StreamCreateWithPriority, "NULL", NULL, 0, 0);
    CUresult result = cu->StreamCreateWithPriority(&stream, 0, -1000);
    if (result == CUDA_SUCCESS) {
        CU_OK(cu->StreamGetPriority(stream, &priority));
        CU_OK(cu->StreamDestroy(stream));
    }
    answer_with("cuStreamCreateWithPriority: priority -1000", result, "%d", priority);
    CALL_ROW(cu, StreamDestroy, "NULL", NULL);
    CALL_ROW(cu, StreamDestroy, "CU_STREAM_LEGACY", CU_STREAM_LEGACY);
    CALL_ROW(cu, StreamDestroy, "CU_STREAM_PER_THREAD", CU_STREAM_PER_THREAD);
    CALL_ROW(b->cu, StreamGetFlags, "NULL", b->stream, NULL);
    CALL_ROW(cu, StreamGetPriority, "NULL", b->stream, NULL);
    CALL_ROW(b->cu, StreamGetId, "NULL", b->stream, NULL);
    CALL_ROW(b->cu, StreamGetCtx, "NULL", b->stream, NULL);
    CALL_ROW(cu, StreamWaitEvent, "NULL event", b->stream, NULL, 0);
    CALL_ROW(cu, StreamWaitEvent, "flags 0x80", b->stream, event, 0x80);
    CALL_ROW(cu, LaunchHostFunc, "NULL function", b->stream, NULL, NULL);
}

BAD_CASE(events, .mark = TEST_BOTH)
{
    CUevent none = NULL;
    float milliseconds;
    const raw_cuda *cu = b->cu;
    CUevent event = raw_cuda_event(cu, 0);
    CUevent untimed = raw_cuda_event(cu, CU_EVENT_DISABLE_TIMING);
    CALL_ROW(cu, EventCreate, "NULL", NULL, 0);
    CALL_ROW(cu, EventCreate, "flags 0x80", &none, 0x80);
    CALL_ROW(cu, EventCreate, "INTERPROCESS without DISABLE_TIMING", &none, CU_EVENT_INTERPROCESS);
    CALL_ROW(cu, EventDestroy, "NULL", NULL);
    CALL_ROW(cu, EventRecord, "NULL event", NULL, b->stream);
    CALL_ROW(cu, EventQuery, "NULL", NULL);
    CALL_ROW(cu, EventSynchronize, "NULL", NULL);
    CALL_ROW(b, EventElapsedTime, "never recorded", &milliseconds, event, event);
    CU_OK(cu->EventRecord(event, b->stream));
    CU_OK(cu->EventRecord(untimed, b->stream));
    CU_OK(cu->StreamSynchronize(b->stream));
    CALL_ROW(b, EventElapsedTime, "NULL", NULL, event, event);
    CALL_ROW(b, EventElapsedTime, "without timing", &milliseconds, untimed, untimed);
}

static void nodes(const bad *b, CUgraph graph)
{
    const raw_cuda *cu = b->cu;
    CUgraphNode node, other;
    CUgraphNodeType type;
    CUDA_KERNEL_NODE_PARAMS kernel;
    const CUDA_HOST_NODE_PARAMS host = {.fn = NULL};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = b->memory, .elementSize = 3, .width = 4, .height = 1};
    CALL_ROW(cu, GraphAddEmptyNode, "NULL dependencies, 1", &node, graph, NULL, 1);
    CALL_ROW(cu, GraphAddEmptyNode, "NULL graph", &node, NULL, NULL, 0);
    CU_OK(cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    const CUgraphNode same[2] = {node, node};
    CALL_ROW(cu, GraphAddEmptyNode, "a dependency twice", &other, graph, same, 2);
    CALL_ROW(cu, GraphAddHostNode, "NULL function", &node, graph, NULL, 0, &host);
    CALL_ROW(cu, GraphAddHostNode, "NULL parameters", &node, graph, NULL, 0, NULL);
    CALL_ROW(cu, GraphAddMemsetNode, "elements of 3", &node, graph, NULL, 0, &set, b->context);
    set.elementSize = 4;
    CALL_ROW(cu, GraphAddMemsetNode, "NULL context", &node, graph, NULL, 0, &set, NULL);
    memset(&kernel, 0, sizeof kernel);
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    CALL_ROW(cu, GraphAddKernelNode, "NULL function", &node, graph, NULL, 0, &kernel);
    CALL_ROW(cu, GraphNodeGetType, "NULL node", NULL, &type);
}

/* Of two nodes in a graph of their own. */
static void edges(const bad *b)
{
    const raw_cuda *cu = b->cu;
    CUgraph graph;
    CUgraphNode x, y;
    CUgraphExec exec = NULL;
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddEmptyNode(&x, graph, NULL, 0));
    CU_OK(cu->GraphAddEmptyNode(&y, graph, NULL, 0));
    CU_OK(b->GraphAddDependencies(graph, &x, &y, NULL, 1));
    CALL_ROW(b, GraphAddDependencies, "an edge twice", graph, &x, &y, NULL, 1);
    CUresult result = b->GraphAddDependencies(graph, &y, &x, NULL, 1);
    answer_with("cuGraphAddDependencies: a cycle", result, "then instantiation %s",
                raw_cuda_result_name(b->cu->GraphInstantiateWithFlags(&exec, graph, 0)));
    CU_OK(cu->GraphDestroy(graph));
}

BAD_CASE(graphs, .mark = TEST_BOTH)
{
    CUgraph graph, other;
    CUgraphExec exec;
    CUuserObject object;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, GraphCreate, "NULL", NULL, 0);
    CALL_ROW(cu, GraphCreate, "flags 1", &other, 1);
    CALL_ROW(cu, GraphDestroy, "NULL", NULL);
    CU_OK(cu->GraphCreate(&graph, 0));
    nodes(b, graph);
    edges(b);
    CALL_ROW(cu, GraphGetNodes, "NULL count", graph, NULL, NULL);
    answer_call("cuGraphInstantiate: NULL", b->cu->GraphInstantiateWithFlags(NULL, graph, 0));
    answer_call("cuGraphInstantiate: flags 1 << 40",
                b->cu->GraphInstantiateWithFlags(&exec, graph, (cuuint64_t)1 << 40));
    answer_call("cuGraphInstantiate: NULL graph", b->cu->GraphInstantiateWithFlags(&exec, NULL, 0));
    CALL_ROW(cu, GraphLaunch, "NULL", NULL, b->stream);
    CALL_ROW(cu, GraphExecDestroy, "NULL", NULL);
    CALL_ROW(cu, GraphClone, "NULL", NULL, graph);
    CU_OK(cu->GraphDestroy(graph));
    CALL_ROW(cu, UserObjectCreate, "flags 0", &object, NULL, do_nothing, 1, 0);
    CALL_ROW(cu, UserObjectCreate, "no references", &object, NULL, do_nothing, 0,
             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
}

BAD_CASE(captures, .mark = TEST_BOTH)
{
    CUgraph graph;
    const CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode mode = (CUstreamCaptureMode)9;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, StreamBeginCapture, "the NULL stream", NULL, global);
    CALL_ROW(cu, StreamBeginCapture, "mode 9", b->stream, (CUstreamCaptureMode)9);
    CALL_ROW(cu, StreamEndCapture, "not capturing", b->stream, &graph);
    CALL_ROW(cu, StreamIsCapturing, "NULL", b->stream, NULL);
    CALL_ROW(b, StreamGetCaptureInfo, "NULL status", b->stream, NULL, NULL, NULL, NULL, NULL, NULL);
    CU_OK(cu->StreamBeginCapture(b->stream, global));
    CALL_ROW(cu, StreamBeginCapture, "twice", b->stream, global);
    /* Whether it is broken by then does not matter. */
    if (cu->StreamEndCapture(b->stream, &graph) == CUDA_SUCCESS) CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamBeginCapture(b->stream, global));
    CUresult result = cu->StreamEndCapture(b->stream, NULL);
    answer_call("cuStreamEndCapture: NULL", result);
    if (result != CUDA_SUCCESS && cu->StreamEndCapture(b->stream, &graph) == CUDA_SUCCESS)
        CU_OK(cu->GraphDestroy(graph));
    BAD_CRASHES(b, "cuThreadExchangeStreamCaptureMode: NULL",
                cu->ThreadExchangeStreamCaptureMode(NULL));
    result = cu->ThreadExchangeStreamCaptureMode(&mode);
    answer_call("cuThreadExchangeStreamCaptureMode: mode 9", result);
    if (result == CUDA_SUCCESS) CU_OK(cu->ThreadExchangeStreamCaptureMode(&mode)); /* as before */
}

/* What is left of the driver is of no interest. */
TEST(left_behind, .mark = TEST_BOTH, .own = true)
{
    bad b;
    CUarray level;
    CUmipmappedArray mipmap;
    CUuserObject object;
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    bad_open(&b);
    const raw_cuda *cu = b.cu;
    CU_OK(cu->UserObjectCreate(&object, NULL, do_nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    CALL_ROW(cu, UserObjectRelease, "more than there are", object, 5);
    CU_OK(cu->MipmappedArrayCreate(&mipmap, &desc, 4));
    CU_OK(cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CALL_ROW(cu, ArrayDestroy, "a level of a mipmapped array", level);
    test_pass();
}

static char pageable[4096];

static void pitched(const bad *b)
{
    static const struct {
        const char *name;
        size_t width, height;
        unsigned element;
    } rows[] = {{"cuMemAllocPitch: elements of 3", 64, 64, 3},
                {"cuMemAllocPitch: elements of 1", 64, 64, 1},
                {"cuMemAllocPitch: width 0", 0, 64, 4},
                {"cuMemAllocPitch: height 0", 64, 0, 4}};
    CUdeviceptr pointer = 0;
    size_t pitch;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUresult result =
            b->cu->MemAllocPitch(&pointer, &pitch, rows[i].width, rows[i].height, rows[i].element);
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemFree(pointer));
    }
    CALL_ROW(b->cu, MemAllocPitch, "NULL pitch", &pointer, NULL, 64, 64, 4);
}

BAD_CASE(device_memory, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, base, freed;
    size_t size;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, MemAlloc, "NULL", NULL, 4);
    CALL_ROW(cu, MemAlloc, "0 bytes", &pointer, 0);
    CALL_ROW(cu, MemAlloc, "1 EiB", &pointer, ((size_t)1 << 60));
    pitched(b);
    CALL_ROW(cu, MemFree, "0", 0);
    CALL_ROW(cu, MemFree, "garbage", BAD_ADDRESS);
    CALL_ROW(cu, MemFree, "in the middle", b->memory + 256);
    CALL_ROW(cu, MemFree, "host memory", (CUdeviceptr)(uintptr_t)b->pinned);
    CU_OK(cu->MemAlloc(&freed, MEBIBYTE));
    CU_OK(cu->MemFree(freed));
    CALL_ROW(cu, MemFree, "twice", freed);
    CALL_ROW(cu, MemGetInfo, "NULL", NULL, NULL);
    CALL_ROW(b->cu, MemGetAddressRange, "a pointer that nobody knows", &base, &size,
             (CUdeviceptr)(uintptr_t)pageable);
    CALL_ROW(b->cu, MemGetAddressRange, "0", &base, &size, 0);
    CALL_ROW(b->cu, MemGetAddressRange, "freed memory", &base, &size, freed);
    CALL_ROW(b->cu, MemGetAddressRange, "NULL", NULL, NULL, b->memory);
}

static unsigned char *pages(int protection)
{
    void *made = mmap(NULL, BAD_PINNED, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(made != MAP_FAILED);
    return made;
}

static void registered(const bad *b)
{
    const raw_cuda *cu = b->cu;
    unsigned char *own = pages(PROT_READ | PROT_WRITE);
    unsigned flags = 77;
    CUdeviceptr base;
    size_t size;
    CU_OK(cu->MemHostRegister(own, BAD_PINNED / 2, 0));
    CALL_ROW(cu, MemHostRegister, "twice", own, BAD_PINNED / 2, 0);
    CALL_ROW(cu, MemHostRegister, "overlapping", own + BAD_PINNED / 4, BAD_PINNED / 2, 0);
    CALL_ROW(cu, MemHostUnregister, "in the middle", own + 4096);
    CALL_ROW(cu, MemFreeHost, "registered memory", own);
    CUresult result = b->cu->MemHostGetFlags(&flags, own);
    answer_with("cuMemHostGetFlags: registered memory", result, "%u", flags);
    CALL_ROW(b->cu, MemGetAddressRange, "registered memory", &base, &size,
             (CUdeviceptr)(uintptr_t)own);
    CU_OK(cu->MemHostUnregister(own));
    CALL_ROW(cu, MemHostRegister, "8 bytes into a page", own + 8, 4096, 0);
    CU_OK(cu->MemHostUnregister(own + 8));
    REQUIRE_EQ(munmap(own, BAD_PINNED), 0);
    own = pages(PROT_READ);
    CALL_ROW(cu, MemHostRegister, "read-only pages", own, BAD_PINNED, 0);
    CALL_ROW(cu, MemHostRegister, "read-only pages, said to be", own, 4096,
             CU_MEMHOSTREGISTER_READ_ONLY);
    CU_OK(cu->MemHostUnregister(own));
    REQUIRE_EQ(munmap(own, BAD_PINNED), 0);
    CALL_ROW(cu, MemHostRegister, "pages that are not there", own, BAD_PINNED, 0);
}

BAD_CASE(host_memory, .mark = TEST_BOTH)
{
    void *memory = NULL;
    CUdeviceptr pointer;
    unsigned flags = 77;
    const raw_cuda *cu = b->cu;
    CALL_ROW(b->cu, MemAllocHost, "NULL", NULL, 4);
    CALL_ROW(b->cu, MemAllocHost, "0 bytes", &memory, 0);
    if (memory != NULL) (void)cu->MemFreeHost(memory); /* what it was given is nobody's promise */
    CALL_ROW(cu, MemHostAlloc, "flags 0x80", &memory, 64, 0x80);
    CALL_ROW(cu, MemFreeHost, "NULL", NULL);
    CALL_ROW(cu, MemFreeHost, "the stack", &memory);
    CALL_ROW(cu, MemFreeHost, "device memory", (void *)(uintptr_t)b->memory);
    CALL_ROW(cu, MemHostRegister, "NULL", NULL, 64, 0);
    CALL_ROW(cu, MemHostRegister, "0 bytes", pageable, 0, 0);
    CALL_ROW(cu, MemHostRegister, "flags 0x80", pageable, 64, 0x80);
    CALL_ROW(cu, MemHostRegister, "memory of cuMemAllocHost", b->pinned, 4096, 0);
    CALL_ROW(cu, MemHostUnregister, "NULL", NULL);
    CALL_ROW(cu, MemHostUnregister, "not registered", pageable);
    CALL_ROW(cu, MemHostUnregister, "memory of cuMemAllocHost", b->pinned);
    registered(b);
    CALL_ROW(cu, MemHostGetDevicePointer, "not pinned", &pointer, pageable, 0);
    CALL_ROW(cu, MemHostGetDevicePointer, "flags 1", &pointer, b->pinned, 1);
    CALL_ROW(cu, MemHostGetDevicePointer, "NULL", NULL, b->pinned, 0);
    CALL_ROW(b->cu, MemHostGetFlags, "not pinned", &flags, pageable);
    CALL_ROW(b->cu, MemHostGetFlags, "NULL", NULL, b->pinned);
    CUresult result = b->cu->MemHostGetFlags(&flags, b->pinned);
    answer_with("cuMemHostGetFlags: memory of cuMemAllocHost", result, "%u", flags);
}

static void linear_copies(const bad *b)
{
    const raw_cuda *cu = b->cu;
    const CUdeviceptr host = (CUdeviceptr)(uintptr_t)pageable;
    char *more = test_memory(4 * MEBIBYTE);
    CALL_ROW(cu, MemcpyHtoD, "NULL source", b->memory, NULL, 64);
    CALL_ROW(cu, MemcpyHtoD, "to 0", 0, pageable, 64);
    CALL_ROW(cu, MemcpyHtoD, "past the end", b->memory, more, 4 * MEBIBYTE);
    CALL_ROW(cu, MemcpyHtoD, "0 bytes between bad pointers", 0x1234, NULL, 0);
    CALL_ROW(cu, MemcpyHtoD, "to pageable memory", host, pageable + 64, 64);
    CALL_ROW(cu, MemcpyHtoD, "to pinned memory", (CUdeviceptr)(uintptr_t)b->pinned, pageable, 64);
    CALL_ROW(cu, MemcpyDtoH, "from pageable memory", pageable, host + 64, 64);
    CALL_ROW(cu, MemcpyDtoH, "to device memory", (void *)(uintptr_t)b->memory, b->memory + 4096,
             64);
    CALL_ROW(b->cu, MemcpyDtoD, "from garbage", b->memory, BAD_ADDRESS, 64);
    CALL_ROW(b->cu, MemcpyDtoD, "overlapping", b->memory, b->memory + 16, 64);
    CALL_ROW(b->cu, Memcpy, "between pageable memory", host, host + 64, 64);
    CU_OK(cu->CtxSynchronize());
}

/* 4 rows of 64 bytes, from the host to the device, with one thing changed. */
static void copies_2d(const bad *b, CUarray array)
{
    const CUDA_MEMCPY2D good =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 64,
                 .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b->memory, .dstPitch = 64,
                 .WidthInBytes = 64, .Height = 4);
    CUDA_MEMCPY2D copy = good, to_array = good;
#define WRONG(of, what, change)                                                                    \
    change;                                                                                        \
    CALL_ROW(b->cu, Memcpy2D, what, &of);                                                          \
    copy = good
    WRONG(copy, "a pitch less than the width", copy.srcPitch = 32);
    WRONG(copy, "a pitch beyond MAX_PITCH", copy.dstPitch = (size_t)1 << 33);
    WRONG(copy, "memory type 9", copy.srcMemoryType = (CUmemorytype)9);
    WRONG(to_array, "a NULL array", to_array.dstMemoryType = CU_MEMORYTYPE_ARRAY);
    to_array.dstArray = array;
    WRONG(to_array, "past the array's height", to_array.dstY = 62);
    WRONG(copy, "height 0", copy.Height = 0);
    to_array.dstY = 0;
    to_array.WidthInBytes = 62;
    WRONG(to_array, "to within a texel of an array", to_array.dstXInBytes = 2);
    WRONG(copy, "pitch 0, 4 rows", copy.srcPitch = 0);
#undef WRONG
    CALL_ROW(b->cu, Memcpy2D, "NULL", NULL);
}

static void copies_3d(const bad *b)
{
    const CUDA_MEMCPY3D good =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 64,
                 .srcHeight = 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b->memory,
                 .dstPitch = 64, .dstHeight = 4, .WidthInBytes = 64, .Height = 4, .Depth = 1);
    CALL_ROW(b->cu, Memcpy3D, "NULL", NULL);
    CUDA_MEMCPY3D copy = good;
    copy.srcLOD = 1;
    CALL_ROW(b->cu, Memcpy3D, "srcLOD 1", &copy);
    copy = good;
    copy.Depth = 0;
    CALL_ROW(b->cu, Memcpy3D, "depth 0", &copy);
    copy = good;
    copy.Depth = 2;
    copy.srcHeight = 2;
    CALL_ROW(b->cu, Memcpy3D, "a height less than the rows", &copy);
}

BAD_CASE(copies, .mark = TEST_BOTH)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    CUarray array = raw_cuda_array(b->cu, &desc);
    linear_copies(b);
    copies_2d(b, array);
    copies_3d(b);
    CALL_ROW(b->cu, MemsetD16, "an odd address", b->memory + 1, 0, 4);
    CALL_ROW(b->cu, MemsetD32, "an address that is no multiple of 4", b->memory + 2, 0, 4);
    CALL_ROW(b->cu, MemsetD32, "0 elements", b->memory, 0, 0);
    CALL_ROW(b->cu, MemsetD8, "past the end", b->memory, 0, 4 * MEBIBYTE);
    CALL_ROW(b->cu, MemsetD8, "address 0", 0, 0, 4);
    CALL_ROW(b->cu, MemsetD8, "pinned memory", (CUdeviceptr)(uintptr_t)b->pinned, 0, 4);
}

BAD_CASE(pointers, .mark = TEST_BOTH)
{
    union {
        unsigned word;
        unsigned long long number;
        void *pointer;
        unsigned long long tokens[2]; /* more than the two of P2P_TOKENS need */
    } value = {.number = 0};
    int fd = BAD_NO_FD;
    const raw_cuda *cu = b->cu;
    const CUdeviceptr host = (CUdeviceptr)(uintptr_t)pageable;
    CUpointer_attribute type = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CALL_ROW(cu, PointerGetAttribute, "NULL", NULL, type, b->memory);
    CALL_ROW(cu, PointerGetAttribute, "attribute 999", &value, (CUpointer_attribute)999, b->memory);
    CALL_ROW(cu, PointerGetAttribute, "pageable memory", &value, type, host);
    CALL_ROW(cu, PointerGetAttribute, "HOST_POINTER of device memory", &value,
             CU_POINTER_ATTRIBUTE_HOST_POINTER, b->memory);
    CALL_ROW(cu, PointerGetAttribute, "P2P_TOKENS", &value, CU_POINTER_ATTRIBUTE_P2P_TOKENS,
             b->memory);
    CALL_ROW(b->cu, PointerGetAttributes, "none", 0, NULL, NULL, b->memory);
    value.word = 9;
    void *out = &value.word;
    CUresult result = b->cu->PointerGetAttributes(1, &type, &out, host);
    answer_with("cuPointerGetAttributes: pageable memory", result, "%u", value.word);
    value.word = 1;
    CALL_ROW(cu, PointerSetAttribute, "MEMORY_TYPE", &value, type, b->memory);
    CALL_ROW(cu, PointerSetAttribute, "NULL", NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b->memory);
    const CUmemRangeHandleType dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    CALL_ROW(cu, MemGetHandleForAddressRange, "NULL", NULL, b->memory, 4096, dma_buf, 0);
    CALL_ROW(cu, MemGetHandleForAddressRange, "type 9", &fd, b->memory, 4096,
             (CUmemRangeHandleType)9, 0);
    CALL_ROW(cu, MemGetHandleForAddressRange, "100 bytes", &fd, b->memory, 100, dma_buf, 0);
}

static void arrays_made(const bad *b)
{
    enum { U8 = CU_AD_FORMAT_UNSIGNED_INT8, BC1 = CU_AD_FORMAT_BC1_UNORM };
    static const struct {
        const char *name;
        int format;
        unsigned channels, flags;
        size_t width, height, depth;
    } rows[] = {
        {"cuArray3DCreate: width 0", U8, 4, 0, 0, 64, 0},
        {"cuArray3DCreate: 3 channels", U8, 3, 0, 64, 64, 0},
        {"cuArray3DCreate: 0 channels", U8, 0, 0, 64, 64, 0},
        {"cuArray3DCreate: format 0", 0, 4, 0, 64, 64, 0},
        {"cuArray3DCreate: height 0, depth 4", U8, 4, 0, 64, 0, 4},
        {"cuArray3DCreate: flags 0x8000", U8, 4, 0x8000, 64, 64, 0},
        {"cuArray3DCreate: LAYERED, depth 0", U8, 4, CUDA_ARRAY3D_LAYERED, 64, 64, 0},
        {"cuArray3DCreate: CUBEMAP, depth 5", U8, 4, CUDA_ARRAY3D_CUBEMAP, 64, 64, 5},
        {"cuArray3DCreate: CUBEMAP, 64 x 32", U8, 4, CUDA_ARRAY3D_CUBEMAP, 64, 32, 6},
        {"cuArray3DCreate: cubes of layers, depth 8", U8, 4,
         CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 64, 64, 8},
        {"cuArray3DCreate: width 1 << 20", U8, 4, 0, 1 << 20, 64, 0},
        {"cuArray3DCreate: TEXTURE_GATHER, 1D", U8, 4, CUDA_ARRAY3D_TEXTURE_GATHER, 64, 0, 0},
        {"cuArray3DCreate: DEPTH_TEXTURE, 4 channels", U8, 4, CUDA_ARRAY3D_DEPTH_TEXTURE, 64, 64,
         0},
        {"cuArray3DCreate: NV12, 3 channels", CU_AD_FORMAT_NV12, 3, 0, 64, 64, 0},
        {"cuArray3DCreate: BC1, 1D", BC1, 4, 0, 64, 0, 0},
        {"cuArray3DCreate: BC1, SURFACE_LDST", BC1, 4, CUDA_ARRAY3D_SURFACE_LDST, 64, 64, 0},
    };
    const CUDA_ARRAY3D_DESCRIPTOR good = good_desc(0);
    CUarray array;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const CUDA_ARRAY3D_DESCRIPTOR desc =
            TEST_ROW(rows[i].width, rows[i].height, rows[i].depth, (CUarray_format)rows[i].format,
                     rows[i].channels, rows[i].flags);
        CUresult result = b->cu->Array3DCreate(&array, &desc);
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->ArrayDestroy(array));
    }
    CALL_ROW(b->cu, Array3DCreate, "NULL", NULL, &good);
    CALL_ROW(b->cu, Array3DCreate, "NULL descriptor", &array, NULL);
    CALL_ROW(b->cu, ArrayCreate, "NULL descriptor", &array, NULL);
}

BAD_CASE(arrays, .mark = TEST_BOTH)
{
    CUarray other;
    CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0), flat_desc = desc;
    CUDA_ARRAY_DESCRIPTOR flat;
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    const raw_cuda *cu = b->cu;
    CUarray array = raw_cuda_array(cu, &desc);
    CUmipmappedArray mipmap = raw_cuda_mipmap(cu, &desc, 4);
    arrays_made(b);
    flat_desc.NumChannels = 1;
    for (unsigned levels = 0; levels <= 99; levels += 99) {
        CUmipmappedArray made;
        CUresult result = cu->MipmappedArrayCreate(&made, &flat_desc, levels);
        answer_call(answer_key("cuMipmappedArrayCreate: %u levels", levels), result);
        if (result == CUDA_SUCCESS) CU_OK(cu->MipmappedArrayDestroy(made));
    }
    CALL_ROW(cu, ArrayDestroy, "NULL", NULL);
    CALL_ROW(cu, Array3DGetDescriptor, "NULL", NULL, array);
    CALL_ROW(cu, Array3DGetDescriptor, "NULL array", &desc, NULL);
    CALL_ROW(b->cu, ArrayGetDescriptor, "NULL array", &flat, NULL);
    CALL_ROW(b->cu, ArrayGetSparseProperties, "not sparse", &sparse, array);
    CALL_ROW(b->cu, MipmappedArrayGetSparseProperties, "not sparse", &sparse, mipmap);
    CALL_ROW(cu, MipmappedArrayGetLevel, "level 4 of 4", &other, mipmap, 4);
    CALL_ROW(cu, MipmappedArrayGetLevel, "NULL", NULL, mipmap, 0);
    CALL_ROW(cu, MipmappedArrayGetLevel, "NULL array", &other, NULL, 0);
    CALL_ROW(cu, MipmappedArrayDestroy, "NULL", NULL);
}

static CUDA_RESOURCE_DESC of_array(CUarray array)
{
    return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
}

static void surface_row(const bad *b, const char *name, const CUDA_RESOURCE_DESC *resource)
{
    CUsurfObject surface;
    CUresult result = b->cu->SurfObjectCreate(&surface, resource);
    answer_call(name, result);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->SurfObjectDestroy(surface));
}

BAD_CASE(surfaces, .mark = TEST_BOTH)
{
    CUsurfObject surface;
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(CUDA_ARRAY3D_SURFACE_LDST),
                                  without = good_desc(0);
    const raw_cuda *cu = b->cu;
    CUarray array = raw_cuda_array(cu, &desc);
    CUarray plain = raw_cuda_array(cu, &without);
    CUmipmappedArray mipmap = raw_cuda_mipmap(cu, &desc, 4);
    const CUDA_RESOURCE_DESC good = of_array(array);
    BAD_CRASHES(b, "cuSurfObjectCreate: NULL", cu->SurfObjectCreate(NULL, &good));
    surface_row(b, "cuSurfObjectCreate: NULL description", NULL);
    CUDA_RESOURCE_DESC resource = of_array(NULL);
    surface_row(b, "cuSurfObjectCreate: a NULL array", &resource);
    resource = of_array(plain);
    surface_row(b, "cuSurfObjectCreate: an array without SURFACE_LDST", &resource);
    resource = good;
    resource.flags = 1;
    surface_row(b, "cuSurfObjectCreate: flags 1", &resource);
    resource = good;
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap;
    surface_row(b, "cuSurfObjectCreate: a mipmapped array", &resource);
    CALL_ROW(cu, SurfObjectDestroy, "0", 0);
    CU_OK(cu->SurfObjectCreate(&surface, &good));
    CALL_ROW(cu, SurfObjectGetResourceDesc, "NULL", NULL, surface);
    CU_OK(cu->SurfObjectDestroy(surface));
}

static void texture_row(const bad *b, const char *name, const CUDA_RESOURCE_DESC *resource,
                        const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUtexObject made;
    CUresult result = b->cu->TexObjectCreate(&made, resource, texture, view);
    answer_call(name, result);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->TexObjectDestroy(made));
}

static void textures_of_memory(const bad *b, const CUDA_TEXTURE_DESC *texture)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_RESOURCE_VIEW_DESC view;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    view.width = 64;
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = b->memory;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.linear.numChannels = 4;
    resource.res.linear.sizeInBytes = 256;
    texture_row(b, "cuTexObjectCreate: linear memory with a view", &resource, texture, &view);
    resource.res.linear.devPtr = b->memory + 4;
    texture_row(b, "cuTexObjectCreate: linear memory that is not aligned", &resource, texture,
                NULL);
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = b->memory;
    resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = 64;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = 100;
    texture_row(b, "cuTexObjectCreate: rows of memory with a pitch of 100", &resource, texture,
                NULL);
}

BAD_CASE(textures, .mark = TEST_BOTH)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    const raw_cuda *cu = b->cu;
    CUarray array = raw_cuda_array(cu, &desc);
    const CUDA_RESOURCE_DESC good = of_array(array), none = of_array(NULL);
    CUDA_TEXTURE_DESC plain, texture;
    memset(&plain, 0, sizeof plain);
    for (int i = 0; i < 3; i++)
        plain.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
    texture_row(b, "cuTexObjectCreate: NULL texture description", &good, NULL, NULL);
    texture_row(b, "cuTexObjectCreate: NULL resource", NULL, &plain, NULL);
    texture_row(b, "cuTexObjectCreate: a NULL array", &none, &plain, NULL);
    texture = plain;
    texture.addressMode[0] = (CUaddress_mode)9;
    texture_row(b, "cuTexObjectCreate: address mode 9", &good, &texture, NULL);
    texture = plain;
    texture.maxAnisotropy = 99;
    texture_row(b, "cuTexObjectCreate: maxAnisotropy 99", &good, &texture, NULL);
    texture = plain;
    texture.flags = 0x800;
    texture_row(b, "cuTexObjectCreate: flags 0x800", &good, &texture, NULL);
    textures_of_memory(b, &plain);
    CALL_ROW(cu, TexObjectDestroy, "0", 0);
}

/* Of /dev/null, or of no fd; what became of it. */
static void memory_row(const bad *b, const char *name, CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc,
                       bool null_device)
{
    CUexternalMemory memory;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(null >= 0);
    const int given = null_device ? fcntl(null, F_DUPFD_CLOEXEC, 0) : BAD_NO_FD;
    desc.handle.fd = given;
    CUresult result = b->cu->ImportExternalMemory(&memory, &desc);
    const bool open_still = null_device && fd_open(given) && same_file(given, null);
    if (null_device)
        answer_with(name, result, "fd %s", open_still ? "open" : "closed");
    else
        answer_call(name, result);
    if (open_still) close(given);
    close(null);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->DestroyExternalMemory(memory));
}

static void memory_imports(const bad *b)
{
    static const struct {
        const char *name;
        int type;
        unsigned flags;
        bool null_device;
    } rows[] = {
        {"cuImportExternalMemory: fd -1", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 0, false},
        {"cuImportExternalMemory: type 0", 0, 0, false},
        {"cuImportExternalMemory: type 99", 99, 0, false},
        {"cuImportExternalMemory: a D3D12 heap on Linux", CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP,
         0, false},
        {"cuImportExternalMemory: a Win32 handle on Linux",
         CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32, 0, false},
        {"cuImportExternalMemory: flags 0x80", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 0x80,
         true},
        {"cuImportExternalMemory: /dev/null", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 0, true}};
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    CUexternalMemory memory;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        memset(&desc, 0, sizeof desc);
        desc.type = (CUexternalMemoryHandleType)rows[i].type;
        desc.size = 4096;
        desc.flags = rows[i].flags;
        memory_row(b, rows[i].name, desc, rows[i].null_device);
    }
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.size = 4096;
    desc.handle.fd = BAD_NO_FD;
    CALL_ROW(b->cu, ImportExternalMemory, "NULL", NULL, &desc);
    CALL_ROW(b->cu, ImportExternalMemory, "NULL description", &memory, NULL);
    desc.reserved[15] = 1;
    desc.handle.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int given = desc.handle.fd, kept = fcntl(given, F_DUPFD_CLOEXEC, 0);
    CALL_ROW(b->cu, ImportExternalMemory, "a reserved word", &memory, &desc);
    if (fd_open(given) && same_file(given, kept)) close(given);
    close(kept);
}

static void mapped_imports(const bad *b)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {.size = 4096};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image;
    CUdeviceptr pointer;
    CUmipmappedArray mipmap;
    memset(&image, 0, sizeof image);
    image.arrayDesc = good_desc(0);
    image.numLevels = 1;
    CALL_ROW(b->cu, ExternalMemoryGetMappedBuffer, "NULL memory", &pointer, NULL, &buffer);
    CALL_ROW(b->cu, ExternalMemoryGetMappedMipmappedArray, "NULL memory", &mipmap, NULL, &image);
    CALL_ROW(b->cu, DestroyExternalMemory, "NULL", NULL);
}

static void semaphore_imports(const bad *b)
{
    enum {
        BINARY = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD,
        TIMELINE = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
    };
    static const struct {
        const char *name;
        int type;
        unsigned flags, reserved;
    } rows[] = {{"cuImportExternalSemaphore: a timeline, fd -1", TIMELINE, 0, 0},
                {"cuImportExternalSemaphore: a binary one, fd -1", BINARY, 0, 0},
                {"cuImportExternalSemaphore: type 0", 0, 0, 0},
                {"cuImportExternalSemaphore: type 99", 99, 0, 0},
                {"cuImportExternalSemaphore: a D3D12 fence on Linux",
                 CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE, 0, 0},
                {"cuImportExternalSemaphore: flags 1", TIMELINE, 1, 0},
                {"cuImportExternalSemaphore: a reserved word", TIMELINE, 0, 1}};
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc;
    CUexternalSemaphore semaphore = NULL;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        memset(&desc, 0, sizeof desc);
        desc.type = (CUexternalSemaphoreHandleType)rows[i].type;
        desc.handle.fd = BAD_NO_FD;
        desc.flags = rows[i].flags;
        desc.reserved[15] = rows[i].reserved;
        answer_call(rows[i].name, b->cu->ImportExternalSemaphore(&semaphore, &desc));
    }
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    desc.handle.fd = BAD_NO_FD;
    CALL_ROW(b->cu, ImportExternalSemaphore, "NULL", NULL, &desc);
    CALL_ROW(b->cu, ImportExternalSemaphore, "NULL description", &semaphore, NULL);
    CALL_ROW(b->cu, DestroyExternalSemaphore, "NULL", NULL);
}

/* Files that are no semaphores, as a peer may send them: what a driver says, and what becomes of
 * the number. One that takes such a file must give it up again. */
BAD_CASE(rubbish_semaphores, .mark = TEST_BOTH, .faults = true)
{
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    const struct {
        const char *name;
        int fd;
    } files[] = {{"dev_null", open("/dev/null", O_RDWR | O_CLOEXEC)},
                 {"pipe", ends[0]},
                 {"eventfd", eventfd(0, EFD_CLOEXEC)},
                 {"memfd", memfd_create("rubbish", MFD_CLOEXEC)},
                 {"program", open("/proc/self/exe", O_RDONLY | O_CLOEXEC)}};
    REQUIRE(files[3].fd >= 0 && ftruncate(files[3].fd, 100) == 0);
    for (int binary = 0; binary < 2; binary++)
        for (size_t k = 0; k < COUNT_OF(files); k++)
            answer_import(b->cu,
                          answer_key("cuImportExternalSemaphore: %s as a %s", files[k].name,
                                     binary ? "binary" : "timeline"),
                          files[k].fd, !binary);
    for (size_t k = 0; k < COUNT_OF(files); k++)
        close(files[k].fd);
    close(ends[1]);
}

BAD_CASE(imports, .mark = TEST_BOTH)
{
    CUexternalSemaphore none = NULL;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    const raw_cuda *cu = b->cu;
    memory_imports(b);
    mapped_imports(b);
    semaphore_imports(b);
    memset(&signal, 0, sizeof signal);
    memset(&wait, 0, sizeof wait);
    CALL_ROW(cu, SignalExternalSemaphoresAsync, "NULL, 1", NULL, NULL, 1, b->stream);
    CALL_ROW(cu, SignalExternalSemaphoresAsync, "NULL, 0", NULL, NULL, 0, b->stream);
    BAD_CRASHES(b, "cuSignalExternalSemaphoresAsync: a NULL semaphore",
                cu->SignalExternalSemaphoresAsync(&none, &signal, 1, b->stream));
    CALL_ROW(cu, WaitExternalSemaphoresAsync, "a NULL semaphore", &none, &wait, 1, b->stream);
}

BAD_CASE(modules, .mark = TEST_BOTH)
{
    CUmodule module;
    CUfunction function;
    int number;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, ModuleLoad, "NULL name", &module, NULL);
    CALL_ROW(cu, ModuleLoad, "NULL", NULL, "/nonexistent");
    CALL_ROW(cu, ModuleLoad, "no such file", &module, "/nonexistent");
    CALL_ROW(cu, ModuleLoad, "a text file", &module, "/etc/passwd");
    CALL_ROW(cu, ModuleLoad, "a directory", &module, "/tmp");
    CALL_ROW(cu, ModuleUnload, "NULL", NULL);
    CALL_ROW(cu, ModuleGetFunction, "NULL module", &function, NULL, "x");
    CALL_ROW(b->cu, FuncGetAttribute, "NULL function", &number, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    CALL_ROW(cu, LaunchKernel, "NULL function", NULL, 1, 1, 1, 1, 1, 1, 0, b->stream, NULL, NULL);
    CALL_ROW(b->cu, LaunchKernelEx, "NULL configuration", NULL, NULL, NULL, NULL);
}

#define UNRESERVED ((CUdeviceptr)0x600000000000u)

/* cuMemCreate of a granule with one thing changed. */
BAD_CASE(creating, .title = "bad.vmm_creating", .mark = TEST_BOTH)
{
    enum { TYPE, LOCATION, HOST_FD, NUMA_CURRENT, NUMA, WIN32, HANDLE, COMPRESSION, DEVICE };
    static const struct {
        const char *name;
        int what;
    } rows[] = {{"cuMemCreate: type 0", TYPE},
                {"cuMemCreate: location 0", LOCATION},
                {"cuMemCreate: HOST with an fd", HOST_FD},
                {"cuMemCreate: HOST_NUMA_CURRENT", NUMA_CURRENT},
                {"cuMemCreate: HOST_NUMA, the node of the attribute HOST_NUMA_ID", NUMA},
                {"cuMemCreate: a Win32 handle", WIN32},
                {"cuMemCreate: handle type 0x80", HANDLE},
                {"cuMemCreate: compression 2", COMPRESSION},
                {"cuMemCreate: device 99", DEVICE}};
    int node = -7;
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp good = raw_cuda_memory_prop(b->device, 0);
    CU_OK(b->cu->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, b->device));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUmemAllocationProp prop = good;
        switch (rows[i].what) {
        case TYPE: prop.type = CU_MEM_ALLOCATION_TYPE_INVALID; break;
        case LOCATION: prop.location.type = CU_MEM_LOCATION_TYPE_INVALID; break;
        case HOST_FD:
            prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
            prop.requestedHandleTypes = POSIX_FD;
            break;
        case NUMA_CURRENT: prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT; break;
        case NUMA:
            prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
            prop.location.id = node;
            break;
        case WIN32: prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32; break;
        case HANDLE: prop.requestedHandleTypes = (CUmemAllocationHandleType)0x80; break;
        case COMPRESSION: prop.allocFlags.compressionType = 2; break;
        default: prop.location.id = NO_DEVICE; break;
        }
        CUresult result = b->cu->MemCreate(&handle, VMM_SIZE, &prop, 0);
        if (rows[i].what == NUMA)
            answer_with(rows[i].name, result, "node %d", node);
        else
            answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemRelease(handle));
    }
    CALL_ROW(b->cu, MemCreate, "NULL handle", NULL, VMM_SIZE, &good, 0);
    CALL_ROW(b->cu, MemCreate, "NULL properties", &handle, VMM_SIZE, NULL, 0);
    CALL_ROW(b->cu, MemCreate, "0 bytes", &handle, 0, &good, 0);
    CALL_ROW(b->cu, MemCreate, "4096 bytes", &handle, 4096, &good, 0);
    CALL_ROW(b->cu, MemCreate, "half a granule", &handle, VMM_SIZE / 2, &good, 0);
    CALL_ROW(b->cu, MemCreate, "flags 1", &handle, VMM_SIZE, &good, 1);
    CALL_ROW(b->cu, MemCreate, "1 EiB", &handle, (size_t)1 << 60, &good, 0);
    CALL_ROW(b->cu, MemRelease, "0", 0);
}

BAD_CASE(addresses, .title = "bad.vmm_addresses", .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, range = 0;
    CUmemGenericAllocationHandle handle = 0;
    unsigned long long told = 0;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, MemAddressReserve, "NULL", NULL, VMM_SIZE, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "0 bytes", &pointer, 0, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "4096 bytes", &pointer, 4096, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "aligned to 3 MiB", &pointer, VMM_SIZE, (size_t)3 << 20, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "flags 1", &pointer, VMM_SIZE, 0, 0, 1);
    CALL_ROW(cu, MemAddressReserve, "100 bytes", &pointer, 100, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "aligned to 3", &pointer, VMM_SIZE, 3, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "1 EiB", &pointer, (size_t)1 << 60, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "a hint within a granule", &pointer, VMM_SIZE, 0,
             UNRESERVED + 4096, 0);
    CU_OK(cu->MemAddressReserve(&range, 2 * VMM_SIZE, 0, 0, 0));
    CALL_ROW(cu, MemAddressFree, "half of it", range, VMM_SIZE);
    CALL_ROW(cu, MemAddressFree, "from the middle", range + VMM_SIZE, VMM_SIZE);
    CALL_ROW(cu, MemRetainAllocationHandle, "nothing mapped", &handle, (void *)(uintptr_t)range);
    CALL_ROW(cu, MemAddressFree, "never reserved", UNRESERVED, VMM_SIZE);
    CALL_ROW(cu, MemUnmap, "nothing mapped", range, VMM_SIZE);
    CALL_ROW(cu, MemUnmap, "never reserved", UNRESERVED, VMM_SIZE);
    const CUmemAccessDesc access = raw_cuda_access(b->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CALL_ROW(cu, MemSetAccess, "nothing mapped", range, VMM_SIZE, &access, 1);
    CALL_ROW(cu, MemGetAccess, "nothing mapped", &told, &access.location, range);
    CALL_ROW(b->cu, MemsetD8, "reserved, nothing mapped", range, 1, 4);
    CU_OK(cu->MemAddressFree(range, 2 * VMM_SIZE));
}

static void access_rows(const bad *b, CUdeviceptr range)
{
    const raw_cuda *cu = b->cu;
    const CUmemAccessDesc good = raw_cuda_access(b->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unsigned long long flags = 0;
    CALL_ROW(cu, MemSetAccess, "for nobody", range, 2 * VMM_SIZE, &good, 0);
    CALL_ROW(cu, MemSetAccess, "NULL", range, 2 * VMM_SIZE, NULL, 1);
    CALL_ROW(cu, MemSetAccess, "part of the mapping", range, VMM_SIZE, &good, 1);
    CUmemAccessDesc other = good;
    other.flags = (CUmemAccess_flags)9;
    CALL_ROW(cu, MemSetAccess, "access 9", range, 2 * VMM_SIZE, &other, 1);
    other = good;
    other.location.id = NO_DEVICE;
    CALL_ROW(cu, MemSetAccess, "device 99", range, 2 * VMM_SIZE, &other, 1);
    other = (CUmemAccessDesc){.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .flags = good.flags};
    CALL_ROW(cu, MemSetAccess, "of the host's to device memory", range, 2 * VMM_SIZE, &other, 1);
    CALL_ROW(cu, MemSetAccess, "of more than is mapped", range, 4 * VMM_SIZE, &good, 1);
    CALL_ROW(cu, MemGetAccess, "NULL", NULL, &good.location, range);
    CALL_ROW(cu, MemGetAccess, "memory of cuMemAlloc", &flags, &good.location, b->memory);
}

BAD_CASE(mapping, .title = "bad.vmm_mapping", .mark = TEST_BOTH)
{
    CUdeviceptr range = 0;
    CUmemGenericAllocationHandle two, again;
    const raw_cuda *cu = b->cu;
    const CUmemAllocationProp prop = raw_cuda_memory_prop(b->device, 0);
    CU_OK(cu->MemAddressReserve(&range, 4 * VMM_SIZE, 0, 0, 0));
    CU_OK(cu->MemCreate(&two, 2 * VMM_SIZE, &prop, 0));
    CALL_ROW(cu, MemMap, "handle 0", range, VMM_SIZE, 0, 0, 0);
    CALL_ROW(cu, MemMap, "flags 1", range, 2 * VMM_SIZE, 0, two, 1);
    CALL_ROW(cu, MemMap, "an offset of the whole size", range, 2 * VMM_SIZE, 2 * VMM_SIZE, two, 0);
    CALL_ROW(cu, MemMap, "0 bytes", range, 0, 0, two, 0);
    CALL_ROW(cu, MemMap, "an odd address", range + 4096, 2 * VMM_SIZE, 0, two, 0);
    CALL_ROW(cu, MemMap, "twice the allocation", range, 4 * VMM_SIZE, 0, two, 0);
    CALL_ROW(cu, MemMap, "half the allocation", range, VMM_SIZE, 0, two, 0);
    CALL_ROW(cu, MemMap, "from the middle of the allocation", range, VMM_SIZE, VMM_SIZE, two, 0);
    CALL_ROW(cu, MemMap, "never reserved", UNRESERVED, 2 * VMM_SIZE, 0, two, 0);
    CU_OK(cu->MemMap(range, 2 * VMM_SIZE, 0, two, 0));
    CALL_ROW(cu, MemMap, "where something is mapped", range, 2 * VMM_SIZE, 0, two, 0);
    CALL_ROW(cu, MemAddressFree, "while mapped", range, 4 * VMM_SIZE);
    CALL_ROW(cu, MemUnmap, "4096 bytes", range, 4096);
    CALL_ROW(cu, MemRetainAllocationHandle, "NULL", NULL, (void *)(uintptr_t)range);
    CALL_ROW(cu, MemRetainAllocationHandle, "memory of cuMemAlloc", &again,
             (void *)(uintptr_t)b->memory);
    access_rows(b, range);
    CU_OK(cu->MemUnmap(range, 2 * VMM_SIZE));
    CU_OK(cu->MemRelease(two));
    CU_OK(cu->MemAddressFree(range, 4 * VMM_SIZE));
}

static void importing(const bad *b)
{
    CUmemGenericAllocationHandle handle;
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    const struct {
        const char *name;
        int fd;
    } files[] = {{"/dev/null", open("/dev/null", O_RDWR | O_CLOEXEC)},
                 {"a pipe", ends[0]},
                 {"a memfd", memfd_create("plain", MFD_CLOEXEC)}};
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, MemImportFromShareableHandle, "fd -1", &handle, (void *)(intptr_t)BAD_NO_FD,
             POSIX_FD);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const int keep = fcntl(files[i].fd, F_DUPFD_CLOEXEC, 0);
        void *given = (void *)(intptr_t)files[i].fd;
        answer_call(answer_key("cuMemImportFromShareableHandle: %s", files[i].name),
                    cu->MemImportFromShareableHandle(&handle, given, POSIX_FD));
        ANSWER(answer_key("cuMemImportFromShareableHandle: %s: the fd", files[i].name), "%s",
               fd_state(files[i].fd, keep));
        close(keep);
        close(files[i].fd);
    }
    close(ends[1]);
    CALL_ROW(cu, MemImportFromShareableHandle, "NULL", NULL, NULL, POSIX_FD);
    CALL_ROW(cu, MemImportFromShareableHandle, "type 0", &handle, NULL, CU_MEM_HANDLE_TYPE_NONE);
}

BAD_CASE(sharing, .title = "bad.vmm_sharing", .mark = TEST_BOTH)
{
    CUmemGenericAllocationHandle own, shared;
    size_t granularity;
    int fd = BAD_NO_FD;
    const raw_cuda *cu = b->cu;
    CUmemAllocationProp prop = raw_cuda_memory_prop(b->device, 0);
    CU_OK(cu->MemCreate(&own, VMM_SIZE, &prop, 0));
    prop.requestedHandleTypes = POSIX_FD;
    CU_OK(cu->MemCreate(&shared, VMM_SIZE, &prop, 0));
    CALL_ROW(cu, MemExportToShareableHandle, "not asked for at cuMemCreate", &fd, own, POSIX_FD, 0);
    CALL_ROW(cu, MemExportToShareableHandle, "NULL", NULL, shared, POSIX_FD, 0);
    CALL_ROW(cu, MemExportToShareableHandle, "flags 1", &fd, shared, POSIX_FD, 1);
    CALL_ROW(cu, MemExportToShareableHandle, "a Win32 handle", &fd, shared,
             CU_MEM_HANDLE_TYPE_WIN32, 0);
    CALL_ROW(cu, MemExportToShareableHandle, "type 0", &fd, shared, CU_MEM_HANDLE_TYPE_NONE, 0);
    importing(b);
    const CUmemAllocationGranularity_flags minimum = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    CALL_ROW(cu, MemGetAllocationGranularity, "NULL", NULL, &prop, minimum);
    CALL_ROW(cu, MemGetAllocationGranularity, "option 7", &granularity, &prop,
             (CUmemAllocationGranularity_flags)7);
    CALL_ROW(cu, MemGetAllocationGranularity, "NULL properties", &granularity, NULL, minimum);
    CALL_ROW(cu, MemGetAllocationPropertiesFromHandle, "handle 0", &prop, 0);
    const CUmulticastObjectProp team = {.numDevices = 1, .size = VMM_SIZE};
    /* H200s with multicast and without it were met. */
    int multicast = 0;
    CU_OK(cu->DeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    CU_IS(b->cu->MulticastGetGranularity(NULL, &team, CU_MULTICAST_GRANULARITY_MINIMUM),
          multicast ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
    ANSWER("cuMulticastGetGranularity: NULL", "as the device's attribute lets expect");
    CU_OK(cu->MemRelease(shared));
    CU_OK(cu->MemRelease(own));
}

static void pools_made(const bad *b)
{
    enum { TYPE, DEVICE, HOST, NUMA, RESERVED };
    static const struct {
        const char *name;
        int what;
    } rows[] = {{"cuMemPoolCreate: type 0", TYPE},
                {"cuMemPoolCreate: device 99", DEVICE},
                {"cuMemPoolCreate: HOST", HOST},
                {"cuMemPoolCreate: HOST_NUMA, node 0", NUMA},
                {"cuMemPoolCreate: a reserved byte", RESERVED}};
    const CUmemPoolProps good = raw_cuda_pool_props(b->device, 0);
    CUmemoryPool pool;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUmemPoolProps props = good;
        switch (rows[i].what) {
        case TYPE: props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID; break;
        case DEVICE: props.location.id = NO_DEVICE; break;
        case HOST: props.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}; break;
        case NUMA: props.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA}; break;
        default: props.reserved[10] = 1; break;
        }
        CUresult result = b->cu->MemPoolCreate(&pool, &props);
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemPoolDestroy(pool));
    }
    CALL_ROW(b->cu, MemPoolCreate, "NULL", NULL, &good);
    CALL_ROW(b->cu, MemPoolCreate, "NULL properties", &pool, NULL);
    CU_OK(b->cu->MemPoolCreate(&pool, &good));
    CUmemAccessDesc access = raw_cuda_access(b->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CALL_ROW(b->cu, MemPoolSetAccess, "none for its own device", pool, &access, 1);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CALL_ROW(b->cu, MemPoolSetAccess, "reading alone", pool, &access, 1);
    CU_OK(b->cu->MemPoolDestroy(pool));
}

static void default_pool(const bad *b)
{
    CUmemoryPool pool;
    uint64_t number = 0;
    int fd = BAD_NO_FD;
    CALL_ROW(b->cu, DeviceGetDefaultMemPool, "NULL", NULL, b->device);
    CALL_ROW(b->cu, DeviceGetDefaultMemPool, "device 99", &pool, NO_DEVICE);
    CALL_ROW(b->cu, DeviceSetMemPool, "NULL", b->device, NULL);
    CU_OK(b->cu->DeviceGetDefaultMemPool(&pool, b->device));
    CALL_ROW(b->cu, MemPoolDestroy, "the default pool", pool);
    CALL_ROW(b->cu, MemPoolDestroy, "NULL", NULL);
    CALL_ROW(b->cu, MemPoolSetAttribute, "USED_MEM_CURRENT", pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
             &number);
    number = 5;
    CALL_ROW(b->cu, MemPoolSetAttribute, "USED_MEM_HIGH to 5", pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
             &number);
    CALL_ROW(b->cu, MemPoolGetAttribute, "attribute 99", pool, (CUmemPool_attribute)99, &number);
    CALL_ROW(b->cu, MemPoolGetAttribute, "NULL", pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL);
    CALL_ROW(b->cu, MemPoolTrimTo, "NULL", NULL, 0);
    CALL_ROW(b->cu, MemPoolExportToShareableHandle, "the default pool", &fd, pool, POSIX_FD, 0);
}

BAD_CASE(pools, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, other;
    const raw_cuda *cu = b->cu;
    pools_made(b);
    default_pool(b);
    CALL_ROW(b->cu, MemAllocAsync, "NULL", NULL, 64, b->stream);
    CUresult result = b->cu->MemAllocAsync(&pointer, 0, b->stream);
    answer_call("cuMemAllocAsync: 0 bytes", result);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->MemFreeAsync(pointer, b->stream));
    CALL_ROW(b->cu, MemAllocFromPoolAsync, "NULL pool", &pointer, 64, NULL, b->stream);
    CALL_ROW(b->cu, MemFreeAsync, "0", 0, b->stream);
    CALL_ROW(b->cu, MemFreeAsync, "garbage", BAD_ADDRESS, b->stream);
    CU_OK(cu->MemAlloc(&other, 4097));
    result = b->cu->MemFreeAsync(other, b->stream);
    answer_call("cuMemFreeAsync: memory of cuMemAlloc", result);
    if (result != CUDA_SUCCESS) CU_OK(cu->MemFree(other));
    CU_OK(b->cu->MemAllocAsync(&pointer, 4096, b->stream));
    CALL_ROW(b->cu, MemFreeAsync, "in the middle", pointer + 512, b->stream);
    CU_OK(cu->StreamSynchronize(b->stream));
    result = cu->MemFree(pointer);
    answer_call("cuMemFree: memory of cuMemAllocAsync", result);
    if (result != CUDA_SUCCESS) CU_OK(b->cu->MemFreeAsync(pointer, b->stream));
}
