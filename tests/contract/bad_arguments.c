/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments to calls about the driver, devices, contexts, streams and events. */
#define TEST_GROUP "bad."
#include "bad_arguments.h"

#include <stdarg.h>

#define NO_DEVICE 99

void bad_row_with(const char *name, CUresult result, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ANSWER(name, "%s, %s", raw_cuda_result_name(result), text);
}

void bad_open(bad *b)
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
    CU_OK(b->MemAllocHost(&b->pinned, BAD_PINNED));
}

void bad_close(bad *b)
{
    CU_OK(b->cu->StreamSynchronize(b->stream));
    CU_OK(b->cu->MemFreeHost(b->pinned));
    test_settle();
    raw_cuda_leave(b->cu, b->device);
}

/* Before cuInit -------------------------------------------------------------------------------- */

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
    bad_row_with("cuGetProcAddress: before cuInit", before.find, "pfn %s, status %d",
                 before.found ? "set" : "NULL", (int)before.status);
    answer_call("cuInit: flags 1", before.init);
    bad_row_with("cuGetErrorName: an unknown code", before.name, "*pStr %s",
                 before.no_name ? "NULL" : "set");
    bad_row_with("cuGetErrorString: an unknown code", before.string, "*pStr %s",
                 before.no_string ? "NULL" : "set");
    answer_call("cuDriverGetVersion: NULL", before.no_version);
}

/* Entry points and devices --------------------------------------------------------------------- */

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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)7;
        void *address = b;
        CUresult result = b->cu->GetProcAddress(rows[i].symbol, &address, rows[i].version,
                                                rows[i].flags, &status);
        bad_row_with(rows[i].name, result, "pfn %s, status %d",
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
    bad_row_with("cuDeviceGetName: length 4", result, "%zu letters",
                 memchr(text, 0, sizeof text) == NULL ? 0 : strlen(text));
    CALL_ROW(cu, DeviceGetName, "device 99", text, 64, NO_DEVICE);
    CALL_ROW(cu, DeviceGetUuid, "NULL", NULL, b->device);
    CALL_ROW(cu, DeviceGetUuid, "device 99", &uuid, NO_DEVICE);
    CALL_ROW(b, DeviceTotalMem, "NULL", NULL, b->device);
    CALL_ROW(b, DeviceTotalMem, "device -5", &size, -5);
    const CUdevice_attribute warp = CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    CALL_ROW(cu, DeviceGetAttribute, "NULL", NULL, warp, b->device);
    CALL_ROW(cu, DeviceGetAttribute, "attribute 0", &number, (CUdevice_attribute)0, b->device);
    CALL_ROW(cu, DeviceGetAttribute, "attribute 9999", &number, (CUdevice_attribute)9999,
             b->device);
    result = cu->DeviceGetAttribute(&number, (CUdevice_attribute)92, b->device);
    bad_row_with("cuDeviceGetAttribute: attribute 92, deprecated", result, "%d", number);
    CALL_ROW(cu, DeviceGetAttribute, "device 99", &number, warp, NO_DEVICE);
    CALL_ROW(b, DeviceGetPCIBusId, "NULL", NULL, 64, b->device);
    memset(text, '#', sizeof text);
    result = b->DeviceGetPCIBusId(text, 5, b->device);
    bad_row_with("cuDeviceGetPCIBusId: length 5 of 13", result, "%zu letters",
                 memchr(text, 0, sizeof text) == NULL ? 0 : strlen(text));
    CALL_ROW(b, DeviceGetPCIBusId, "device 99", text, 64, NO_DEVICE);
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
    CALL_ROW(b, DeviceGetByPCIBusId, "NULL device", NULL, "0000:00:00.0");
    CALL_ROW(b, DeviceGetByPCIBusId, "NULL string", &device, NULL);
    CALL_ROW(b, DeviceGetByPCIBusId, "garbage", &device, "hello");
    CALL_ROW(b, DeviceGetByPCIBusId, "an address that nobody has", &device, "1234:56:07.0");
    CALL_ROW(cu, DeviceCanAccessPeer, "NULL", NULL, 0, 0);
    CUresult result = cu->DeviceCanAccessPeer(&number, 0, 0);
    bad_row_with("cuDeviceCanAccessPeer: itself", result, "%d", number);
    CALL_ROW(cu, DeviceCanAccessPeer, "peer 99", &number, 0, NO_DEVICE);
    const CUdevice_P2PAttribute access = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    CALL_ROW(cu, DeviceGetP2PAttribute, "NULL", NULL, access, 0, 0);
    CALL_ROW(cu, DeviceGetP2PAttribute, "itself", &number, access, 0, 0);
}

/* Contexts ------------------------------------------------------------------------------------- */

static void primary_contexts(const bad *b)
{
    const raw_cuda *cu = b->cu;
    CUcontext context;
    unsigned flags;
    int active;
    CALL_ROW(cu, DevicePrimaryCtxRetain, "NULL", NULL, b->device);
    CALL_ROW(cu, DevicePrimaryCtxRetain, "device 99", &context, NO_DEVICE);
    CALL_ROW(cu, DevicePrimaryCtxRelease, "device 99", NO_DEVICE);
    CALL_ROW(b, DevicePrimaryCtxSetFlags, "flags 0xf000", b->device, 0xf000);
    CALL_ROW(b, DevicePrimaryCtxSetFlags, "two schedules", b->device, 3);
    CALL_ROW(b, DevicePrimaryCtxSetFlags, "device 99", NO_DEVICE, 0);
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
    CALL_ROW(b, CtxGetDevice, "NULL", NULL);
    CALL_ROW(b, CtxGetFlags, "NULL", NULL);
    CALL_ROW(b, CtxGetApiVersion, "NULL", b->context, NULL);
    CUresult result = b->CtxGetApiVersion(b->context, &version);
    bad_row_with("cuCtxGetApiVersion: the primary context", result, "%u", version);
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

static void CUDA_CB do_nothing(void *data)
{
    (void)data;
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
    CALL_ROW(b, StreamGetCtx, "no context, a stream of one", b->stream, &context);
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
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        64, 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_SURFACE_LDST};
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
    CU_OK(b->MemAllocHost(&pinned, 4096));
    CU_OK(cu->MemHostRegister(pages, 4096, 0));
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    CU_OK(b->GraphInstantiateWithFlags(&exec, graph, 0));
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
    CALL_ROW(b, MemHostGetFlags, "no context", &flags, pinned);
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
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4};
    const raw_cuda *cu = b->cu;
    CU_OK(cu->EventCreate(&event, 0));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->MemAlloc(&own, 4097));
    CU_OK(cu->Array3DCreate(&array, &desc));
    CU_OK(cu->CtxSetCurrent(NULL));
    CUcontext context = b->context;
    CUresult result = cu->CtxGetCurrent(&context);
    bad_row_with("cuCtxGetCurrent: no context", result, "%s", context == NULL ? "NULL" : "one");
    CALL_ROW(cu, CtxPopCurrent, "no context", &context);
    CALL_ROW(cu, CtxSetCurrent, "no context, NULL", NULL);
    CALL_ROW(b, CtxGetDevice, "no context", &device);
    CALL_ROW(cu, CtxGetStreamPriorityRange, "no context", &least, &greatest);
    answer_call("cuCtxSynchronize: no context", cu->CtxSynchronize());
    CALL_ROW(cu, MemAlloc, "no context", &pointer, 4);
    CUstream none = NULL;
    CALL_ROW(cu, StreamCreate, "no context", &none, 0);
    with_a_handle(b, event);
    CALL_ROW(b, MemGetAddressRange, "no context", &base, &size, b->memory);
    CALL_ROW(cu, MemFree, "no context", own);
    CALL_ROW(cu, EventDestroy, "no context", event);
    CALL_ROW(cu, StreamDestroy, "no context", stream);
    CALL_ROW(cu, ArrayDestroy, "no context", array);
    CU_OK(cu->CtxSetCurrent(b->context));
    with_objects(b);
}

/* Streams and events --------------------------------------------------------------------------- */

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
    bad_row_with("cuStreamCreateWithPriority: priority -1000", result, "%d", priority);
    CALL_ROW(cu, StreamDestroy, "NULL", NULL);
    CALL_ROW(cu, StreamDestroy, "CU_STREAM_LEGACY", CU_STREAM_LEGACY);
    CALL_ROW(cu, StreamDestroy, "CU_STREAM_PER_THREAD", CU_STREAM_PER_THREAD);
    CALL_ROW(b, StreamGetFlags, "NULL", b->stream, NULL);
    CALL_ROW(cu, StreamGetPriority, "NULL", b->stream, NULL);
    CALL_ROW(b, StreamGetId, "NULL", b->stream, NULL);
    CALL_ROW(b, StreamGetCtx, "NULL", b->stream, NULL);
    CALL_ROW(b, StreamGetDevice, "NULL", b->stream, NULL);
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
    CALL_ROW(b, EventRecordWithFlags, "flags 0x80", event, b->stream, 0x80);
    CALL_ROW(cu, EventQuery, "NULL", NULL);
    CALL_ROW(cu, EventSynchronize, "NULL", NULL);
    CALL_ROW(b, EventElapsedTime, "never recorded", &milliseconds, event, event);
    CU_OK(cu->EventRecord(event, b->stream));
    CU_OK(cu->EventRecord(untimed, b->stream));
    CU_OK(cu->StreamSynchronize(b->stream));
    CALL_ROW(b, EventElapsedTime, "NULL", NULL, event, event);
    CALL_ROW(b, EventElapsedTime, "without timing", &milliseconds, untimed, untimed);
}
