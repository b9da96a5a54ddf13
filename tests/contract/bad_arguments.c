/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments to calls about the driver, devices, contexts, streams and events. */
#define TEST_GROUP "bad."
#include "bad_arguments.h"

#include <stdarg.h>

#define NO_DEVICE 99

void bad_row(const char *name, CUresult result)
{
    ANSWER(name, "%s", raw_cuda_result_name(result));
}

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
    CU_OK(b->cu->StreamCreate(&b->stream, CU_STREAM_NON_BLOCKING));
    CU_OK(b->cu->MemAlloc(&b->memory, BAD_MEMORY));
    CU_OK(b->MemAllocHost(&b->pinned, BAD_PINNED));
}

void bad_close(bad *b)
{
    CU_OK(b->cu->StreamSynchronize(b->stream));
    CU_OK(b->cu->MemFreeHost(b->pinned));
    CU_OK(b->cu->MemFree(b->memory));
    CU_OK(b->cu->StreamDestroy(b->stream));
    CU_OK(b->cu->CtxSetCurrent(NULL));
    CU_OK(b->cu->DevicePrimaryCtxRelease(b->device));
    raw_cuda_require_empty(b->cu);
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
    bad_row("cuDeviceGetCount: before cuInit", before.count);
    bad_row("cuCtxGetCurrent: before cuInit", before.current);
    bad_row("cuMemAlloc: before cuInit", before.alloc);
    bad_row("cuDriverGetVersion: before cuInit", before.version);
    bad_row_with("cuGetProcAddress: before cuInit", before.find, "pfn %s, status %d",
                 before.found ? "set" : "NULL", (int)before.status);
    bad_row("cuInit: flags 1", before.init);
    bad_row_with("cuGetErrorName: an unknown code", before.name, "*pStr %s",
                 before.no_name ? "NULL" : "set");
    bad_row_with("cuGetErrorString: an unknown code", before.string, "*pStr %s",
                 before.no_string ? "NULL" : "set");
    bad_row("cuDriverGetVersion: NULL", before.no_version);
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
    bad_row("cuDeviceGetName: NULL", cu->DeviceGetName(NULL, 64, b->device));
    BAD_CRASHES(b, "cuDeviceGetName: length 0", cu->DeviceGetName(text, 0, b->device));
    memset(text, '#', sizeof text);
    CUresult result = cu->DeviceGetName(text, 4, b->device);
    bad_row_with("cuDeviceGetName: length 4", result, "%zu letters",
                 memchr(text, 0, sizeof text) == NULL ? 0 : strlen(text));
    bad_row("cuDeviceGetName: device 99", cu->DeviceGetName(text, 64, NO_DEVICE));
    bad_row("cuDeviceGetUuid: NULL", cu->DeviceGetUuid(NULL, b->device));
    bad_row("cuDeviceGetUuid: device 99", cu->DeviceGetUuid(&uuid, NO_DEVICE));
    bad_row("cuDeviceTotalMem: NULL", b->DeviceTotalMem(NULL, b->device));
    bad_row("cuDeviceTotalMem: device -5", b->DeviceTotalMem(&size, -5));
    const CUdevice_attribute warp = CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    bad_row("cuDeviceGetAttribute: NULL", cu->DeviceGetAttribute(NULL, warp, b->device));
    bad_row("cuDeviceGetAttribute: attribute 0",
            cu->DeviceGetAttribute(&number, (CUdevice_attribute)0, b->device));
    bad_row("cuDeviceGetAttribute: attribute 9999",
            cu->DeviceGetAttribute(&number, (CUdevice_attribute)9999, b->device));
    result = cu->DeviceGetAttribute(&number, (CUdevice_attribute)92, b->device);
    bad_row_with("cuDeviceGetAttribute: attribute 92, deprecated", result, "%d", number);
    bad_row("cuDeviceGetAttribute: device 99", cu->DeviceGetAttribute(&number, warp, NO_DEVICE));
    bad_row("cuDeviceGetPCIBusId: NULL", b->DeviceGetPCIBusId(NULL, 64, b->device));
    memset(text, '#', sizeof text);
    result = b->DeviceGetPCIBusId(text, 5, b->device);
    bad_row_with("cuDeviceGetPCIBusId: length 5 of 13", result, "%zu letters",
                 memchr(text, 0, sizeof text) == NULL ? 0 : strlen(text));
    bad_row("cuDeviceGetPCIBusId: device 99", b->DeviceGetPCIBusId(text, 64, NO_DEVICE));
}

BAD_CASE(devices, .mark = TEST_BOTH)
{
    CUdevice device;
    int number = 7;
    const raw_cuda *cu = b->cu;
    bad_row("cuDeviceGet: NULL", cu->DeviceGet(NULL, 0));
    bad_row("cuDeviceGet: ordinal -1", cu->DeviceGet(&device, -1));
    bad_row("cuDeviceGet: ordinal 99", cu->DeviceGet(&device, 99));
    bad_row("cuDeviceGetCount: NULL", cu->DeviceGetCount(NULL));
    device_properties(b);
    bad_row("cuDeviceGetByPCIBusId: NULL device", b->DeviceGetByPCIBusId(NULL, "0000:00:00.0"));
    bad_row("cuDeviceGetByPCIBusId: NULL string", b->DeviceGetByPCIBusId(&device, NULL));
    bad_row("cuDeviceGetByPCIBusId: garbage", b->DeviceGetByPCIBusId(&device, "hello"));
    bad_row("cuDeviceGetByPCIBusId: an address that nobody has",
            b->DeviceGetByPCIBusId(&device, "1234:56:07.0"));
    bad_row("cuDeviceCanAccessPeer: NULL", cu->DeviceCanAccessPeer(NULL, 0, 0));
    CUresult result = cu->DeviceCanAccessPeer(&number, 0, 0);
    bad_row_with("cuDeviceCanAccessPeer: itself", result, "%d", number);
    bad_row("cuDeviceCanAccessPeer: peer 99", cu->DeviceCanAccessPeer(&number, 0, NO_DEVICE));
    const CUdevice_P2PAttribute access = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    bad_row("cuDeviceGetP2PAttribute: NULL", cu->DeviceGetP2PAttribute(NULL, access, 0, 0));
    bad_row("cuDeviceGetP2PAttribute: itself", cu->DeviceGetP2PAttribute(&number, access, 0, 0));
}

/* Contexts ------------------------------------------------------------------------------------- */

static void primary_contexts(const bad *b)
{
    const raw_cuda *cu = b->cu;
    CUcontext context;
    unsigned flags;
    int active;
    bad_row("cuDevicePrimaryCtxRetain: NULL", cu->DevicePrimaryCtxRetain(NULL, b->device));
    bad_row("cuDevicePrimaryCtxRetain: device 99", cu->DevicePrimaryCtxRetain(&context, NO_DEVICE));
    bad_row("cuDevicePrimaryCtxRelease: device 99", cu->DevicePrimaryCtxRelease(NO_DEVICE));
    bad_row("cuDevicePrimaryCtxSetFlags: flags 0xf000",
            b->DevicePrimaryCtxSetFlags(b->device, 0xf000));
    bad_row("cuDevicePrimaryCtxSetFlags: two schedules", b->DevicePrimaryCtxSetFlags(b->device, 3));
    bad_row("cuDevicePrimaryCtxSetFlags: device 99", b->DevicePrimaryCtxSetFlags(NO_DEVICE, 0));
    bad_row("cuDevicePrimaryCtxGetState: NULL flags",
            cu->DevicePrimaryCtxGetState(b->device, NULL, &active));
    bad_row("cuDevicePrimaryCtxGetState: NULL active",
            cu->DevicePrimaryCtxGetState(b->device, &flags, NULL));
    bad_row("cuDevicePrimaryCtxGetState: device 99",
            cu->DevicePrimaryCtxGetState(NO_DEVICE, &flags, &active));
}

BAD_CASE(contexts, .mark = TEST_BOTH)
{
    CUcontext context;
    unsigned version = 0;
    const raw_cuda *cu = b->cu;
    primary_contexts(b);
    bad_row("cuCtxCreate: NULL", b->CtxCreate(NULL, NULL, 0, b->device));
    bad_row("cuCtxCreate: flags 0xf000", b->CtxCreate(&context, NULL, 0xf000, b->device));
    bad_row("cuCtxCreate: device 99", b->CtxCreate(&context, NULL, 0, NO_DEVICE));
    bad_row("cuCtxDestroy: NULL", cu->CtxDestroy(NULL));
    bad_row("cuCtxPushCurrent: NULL", cu->CtxPushCurrent(NULL));
    bad_row("cuCtxGetCurrent: NULL", cu->CtxGetCurrent(NULL));
    bad_row("cuCtxGetDevice: NULL", b->CtxGetDevice(NULL));
    bad_row("cuCtxGetFlags: NULL", b->CtxGetFlags(NULL));
    bad_row("cuCtxGetApiVersion: NULL", b->CtxGetApiVersion(b->context, NULL));
    CUresult result = b->CtxGetApiVersion(b->context, &version);
    bad_row_with("cuCtxGetApiVersion: the primary context", result, "%u", version);
    bad_row("cuCtxGetId: NULL", cu->CtxGetId(b->context, NULL));
    bad_row("cuCtxGetStreamPriorityRange: NULL", cu->CtxGetStreamPriorityRange(NULL, NULL));
    bad_row("cuCtxEnablePeerAccess: the current context", cu->CtxEnablePeerAccess(b->context, 0));
    bad_row("cuCtxEnablePeerAccess: NULL", cu->CtxEnablePeerAccess(NULL, 0));
    bad_row("cuCtxDisablePeerAccess: the current context", cu->CtxDisablePeerAccess(b->context));
    bad_row("cuCtxDisablePeerAccess: NULL", cu->CtxDisablePeerAccess(NULL));
}

/* Nobody else may hold the primary context. */
TEST(primary_alone, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = raw_cuda_open();
    bad_row("cuDevicePrimaryCtxRelease: not retained", cu->DevicePrimaryCtxRelease(0));
    CUcontext context = raw_cuda_context(cu, 0);
    bad_row("cuCtxDestroy: a primary context", cu->CtxDestroy(context));
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
    bad_row("cuEventRecord: no context, a stream of one", cu->EventRecord(event, b->stream));
    bad_row("cuEventSynchronize: no context", cu->EventSynchronize(event));
    bad_row("cuEventQuery: no context", cu->EventQuery(event));
    bad_row("cuStreamWaitEvent: no context, a stream of one",
            cu->StreamWaitEvent(b->stream, event, 0));
    bad_row("cuStreamGetCtx: no context, a stream of one", b->StreamGetCtx(b->stream, &context));
    bad_row("cuMemsetD32Async: no context, a stream of one",
            cu->MemsetD32Async(b->memory, 1, 4, b->stream));
    bad_row("cuMemcpyDtoDAsync: no context, a stream of one",
            cu->MemcpyDtoDAsync(b->memory, b->memory + 4096, 64, b->stream));
    bad_row("cuLaunchHostFunc: no context, a stream of one",
            cu->LaunchHostFunc(b->stream, do_nothing, NULL));
    bad_row("cuStreamSynchronize: no context, a stream of one", cu->StreamSynchronize(b->stream));
    bad_row("cuStreamQuery: no context, a stream of one", cu->StreamQuery(b->stream));
    bad_row("cuPointerGetAttribute: no context, MEMORY_TYPE",
            cu->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, b->memory));
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
    bad_row("cuMipmappedArrayGetLevel: no context", cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    bad_row("cuArray3DGetDescriptor: no context", cu->Array3DGetDescriptor(&told, array));
    bad_row("cuMemcpy2DAsync: no context, a stream of one", cu->Memcpy2DAsync(&copy, b->stream));
    bad_row("cuGraphLaunch: no context, a stream of one", cu->GraphLaunch(exec, b->stream));
    bad_row("cuMemHostGetFlags: no context", b->MemHostGetFlags(&flags, pinned));
    bad_row("cuMemHostGetDevicePointer: no context", cu->MemHostGetDevicePointer(&p, pinned, 0));
    bad_row("cuTexObjectGetResourceDesc: no context", cu->TexObjectGetResourceDesc(&r, texture));
    bad_row("cuTexObjectDestroy: no context", cu->TexObjectDestroy(texture));
    bad_row("cuMemFreeHost: no context", cu->MemFreeHost(pinned));
    bad_row("cuMemHostUnregister: no context", cu->MemHostUnregister(pages));
    bad_row("cuMipmappedArrayDestroy: no context", cu->MipmappedArrayDestroy(mipmap));
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
    bad_row("cuCtxPopCurrent: no context", cu->CtxPopCurrent(&context));
    bad_row("cuCtxSetCurrent: no context, NULL", cu->CtxSetCurrent(NULL));
    bad_row("cuCtxGetDevice: no context", b->CtxGetDevice(&device));
    bad_row("cuCtxGetStreamPriorityRange: no context",
            cu->CtxGetStreamPriorityRange(&least, &greatest));
    bad_row("cuCtxSynchronize: no context", cu->CtxSynchronize());
    bad_row("cuMemAlloc: no context", cu->MemAlloc(&pointer, 4));
    CUstream none = NULL;
    bad_row("cuStreamCreate: no context", cu->StreamCreate(&none, 0));
    with_a_handle(b, event);
    bad_row("cuMemGetAddressRange: no context", b->MemGetAddressRange(&base, &size, b->memory));
    bad_row("cuMemFree: no context", cu->MemFree(own));
    bad_row("cuEventDestroy: no context", cu->EventDestroy(event));
    bad_row("cuStreamDestroy: no context", cu->StreamDestroy(stream));
    bad_row("cuArrayDestroy: no context", cu->ArrayDestroy(array));
    CU_OK(cu->CtxSetCurrent(b->context));
    with_objects(b);
}

/* Streams and events --------------------------------------------------------------------------- */

BAD_CASE(streams, .mark = TEST_BOTH)
{
    CUstream stream = NULL;
    CUevent event;
    int priority = 1;
    const raw_cuda *cu = b->cu;
    CU_OK(cu->EventCreate(&event, 0));
    bad_row("cuStreamCreate: NULL", cu->StreamCreate(NULL, 0));
    bad_row("cuStreamCreate: flags 0x80", cu->StreamCreate(&stream, 0x80));
    bad_row("cuStreamCreateWithPriority: NULL", cu->StreamCreateWithPriority(NULL, 0, 0));
    CUresult result = cu->StreamCreateWithPriority(&stream, 0, -1000);
    if (result == CUDA_SUCCESS) {
        CU_OK(cu->StreamGetPriority(stream, &priority));
        CU_OK(cu->StreamDestroy(stream));
    }
    bad_row_with("cuStreamCreateWithPriority: priority -1000", result, "%d", priority);
    bad_row("cuStreamDestroy: NULL", cu->StreamDestroy(NULL));
    bad_row("cuStreamDestroy: CU_STREAM_LEGACY", cu->StreamDestroy(CU_STREAM_LEGACY));
    bad_row("cuStreamDestroy: CU_STREAM_PER_THREAD", cu->StreamDestroy(CU_STREAM_PER_THREAD));
    bad_row("cuStreamGetFlags: NULL", b->StreamGetFlags(b->stream, NULL));
    bad_row("cuStreamGetPriority: NULL", cu->StreamGetPriority(b->stream, NULL));
    bad_row("cuStreamGetId: NULL", b->StreamGetId(b->stream, NULL));
    bad_row("cuStreamGetCtx: NULL", b->StreamGetCtx(b->stream, NULL));
    bad_row("cuStreamGetDevice: NULL", b->StreamGetDevice(b->stream, NULL));
    bad_row("cuStreamWaitEvent: NULL event", cu->StreamWaitEvent(b->stream, NULL, 0));
    bad_row("cuStreamWaitEvent: flags 0x80", cu->StreamWaitEvent(b->stream, event, 0x80));
    bad_row("cuLaunchHostFunc: NULL function", cu->LaunchHostFunc(b->stream, NULL, NULL));
    CU_OK(cu->EventDestroy(event));
}

BAD_CASE(events, .mark = TEST_BOTH)
{
    CUevent event, untimed, none = NULL;
    float milliseconds;
    const raw_cuda *cu = b->cu;
    CU_OK(cu->EventCreate(&event, 0));
    CU_OK(cu->EventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    bad_row("cuEventCreate: NULL", cu->EventCreate(NULL, 0));
    bad_row("cuEventCreate: flags 0x80", cu->EventCreate(&none, 0x80));
    bad_row("cuEventCreate: INTERPROCESS without DISABLE_TIMING",
            cu->EventCreate(&none, CU_EVENT_INTERPROCESS));
    bad_row("cuEventDestroy: NULL", cu->EventDestroy(NULL));
    bad_row("cuEventRecord: NULL event", cu->EventRecord(NULL, b->stream));
    bad_row("cuEventRecordWithFlags: flags 0x80", b->EventRecordWithFlags(event, b->stream, 0x80));
    bad_row("cuEventQuery: NULL", cu->EventQuery(NULL));
    bad_row("cuEventSynchronize: NULL", cu->EventSynchronize(NULL));
    bad_row("cuEventElapsedTime: never recorded", b->EventElapsedTime(&milliseconds, event, event));
    CU_OK(cu->EventRecord(event, b->stream));
    CU_OK(cu->EventRecord(untimed, b->stream));
    CU_OK(cu->StreamSynchronize(b->stream));
    bad_row("cuEventElapsedTime: NULL", b->EventElapsedTime(NULL, event, event));
    bad_row("cuEventElapsedTime: without timing",
            b->EventElapsedTime(&milliseconds, untimed, untimed));
    CU_OK(cu->EventDestroy(untimed));
    CU_OK(cu->EventDestroy(event));
}
