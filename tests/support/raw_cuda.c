/* SPDX-License-Identifier: MIT */
/* Opens the CUDA driver under test and wraps the few calls that need a filled-in structure. See
 * raw_cuda.h. */
#include "raw_cuda.h"
#include "answers.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>

#define WHY_SIZE (TEST_PATH_MAX + 128)

static raw_cuda driver;
static CUcontext kept_context; /* device 0's primary one, while cases share this process */
static void (*look_before_init)(const raw_cuda *cu);

const char *raw_cuda_result_name(CUresult result)
{
    static _Thread_local char number[32];
    const char *name = NULL;
    if (driver.GetErrorName != NULL && driver.GetErrorName(result, &name) == CUDA_SUCCESS &&
        name != NULL)
        return name;
    snprintf(number, sizeof number, "CUresult %d", (int)result);
    return number;
}

void raw_cuda_require(const char *file, int line, const char *text, CUresult actual,
                      CUresult expected)
{
    if (actual == expected) return;
    char expected_name[64];
    snprintf(expected_name, sizeof expected_name, "%s", raw_cuda_result_name(expected));
    test_fail(file, line, "%s is %s, not %s", text, raw_cuda_result_name(actual), expected_name);
}

/* Copies a symbol's address into a function pointer; false, and NULL there, when the library has
 * none. */
static bool symbol(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool entry(raw_cuda *cu, const char *name, int version, void *function)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result =
        cu->GetProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    if (result != CUDA_SUCCESS) address = NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* Fills in *cu from an open library and initializes it; on false, why not is in `why`. */
static bool use(raw_cuda *cu, void *library, char why[WHY_SIZE])
{
    memset(cu, 0, sizeof *cu);
    cu->library = library;
    if (!symbol(library, "cuGetProcAddress_v2", &cu->GetProcAddress)) {
        snprintf(why, WHY_SIZE, "no cuGetProcAddress_v2 (a driver older than 12.0)");
        return false;
    }
#define RESOLVE(name, version) (void)entry(cu, "cu" #name, version, &cu->name);
    RAW_CUDA_CALLS(RESOLVE)
#undef RESOLVE
    (void)entry(cu, "cuDeviceGetUuid", 9020, &cu->DeviceGetUuid_v1);
    (void)entry(cu, "cuStreamBeginCaptureToGraph", 12030, &cu->StreamBeginCaptureToGraph);
    (void)entry(cu, "cuLogsRegisterCallback", 12090, &cu->LogsRegisterCallback);
    (void)entry(cu, "cuLogsUnregisterCallback", 12090, &cu->LogsUnregisterCallback);
#define RESOLVE(name) (void)symbol(library, "culvSoft" #name, &cu->Soft##name);
    RAW_CUDA_SOFT(RESOLVE)
#undef RESOLVE
    cu->software = cu->SoftCounts != NULL;

    if (look_before_init != NULL) look_before_init(cu);
    CUresult result = cu->Init(0);
    if (result == CUDA_SUCCESS) result = cu->DriverGetVersion(&cu->driver_version);
    if (result == CUDA_SUCCESS) result = cu->DeviceGetCount(&cu->device_count);
    if (result != CUDA_SUCCESS || cu->device_count == 0) {
        const char *name = "no device";
        if (result != CUDA_SUCCESS && cu->GetErrorName(result, &name) != CUDA_SUCCESS)
            name = "an unknown error";
        snprintf(why, WHY_SIZE, "cuInit and cuDeviceGetCount: %s", name);
        return false;
    }
    return true;
}

static void *open_soft(char why[WHY_SIZE])
{
    char path[TEST_PATH_MAX];
    struct stat status;
    test_path(path, "lib/libculvert-soft.so.0");
    if (stat(path, &status) != 0) {
        const char *other = getenv("CULVERT_SOFT_PATH");
        if (other == NULL) {
            snprintf(why, WHY_SIZE, "no %s, and CULVERT_SOFT_PATH is not set", path);
            return NULL;
        }
        bool directory = stat(other, &status) == 0 && S_ISDIR(status.st_mode);
        int length =
            snprintf(path, sizeof path, "%s%s", other, directory ? "/libculvert-soft.so.0" : "");
        REQUIRE(length > 0 && length < TEST_PATH_MAX);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) snprintf(why, WHY_SIZE, "%s", dlerror());
    return library;
}

/* What a case must not leave in the twin. */
// clang-format off
#define LEFT(X)                                                                                    \
    X(streams) X(events) X(device_allocations) X(host_allocations) X(external_memories)            \
    X(external_mappings) X(external_semaphores) X(modules) X(arrays) X(mipmapped_arrays)           \
    X(surfaces) X(textures) X(peers) X(graphs) X(graph_execs) X(user_objects)                      \
    X(physical_allocations) X(reservations) X(virtual_mappings) X(memory_pools)                    \
    X(pool_allocations) X(graphics_resources) X(fds)
#define SUM(field)          + c.field
#define REQUIRE_NONE(field) REQUIRE_EQ(counts.field, 0);
// clang-format on

/* A context takes NVIDIA's driver long to make: with a reference held here, the cases' own do not
 * make it. */
static bool clean(void)
{
    CUcontext context = NULL;
    if (driver.SoftFailAt != NULL) driver.SoftFailAt(0, 0);
    if (driver.SoftBefore != NULL) driver.SoftBefore(0, NULL, NULL);
    if (driver.SoftPlayVersion != NULL) driver.SoftPlayVersion(0);
    if (driver.SoftPlayAttribute != NULL) driver.SoftPlayAttribute(0, 0);
    if (driver.SoftPlayFabric != NULL) driver.SoftPlayFabric(0);
    if (driver.SoftPlayDmaBufImport != NULL) driver.SoftPlayDmaBufImport(0);
    if (driver.SoftBarPeers != NULL) driver.SoftBarPeers(0);
    if (driver.SoftSpoilPeers != NULL) driver.SoftSpoilPeers(0);
    do {
        if (driver.CtxPopCurrent(&context) != CUDA_SUCCESS) context = NULL;
    } while (context != NULL);
    if (driver.SoftCounts == NULL) return true;
    culv_soft_counts c = {.struct_size = sizeof c};
    driver.SoftCounts(&c);
    return c.contexts == (kept_context != NULL) && (LEFT(SUM)) == 0;
}

/* Neither reset nor lost by a fault. */
static bool usable(void)
{
    CUcontext none = NULL;
    return driver.CtxPushCurrent(kept_context) == CUDA_SUCCESS &&
           driver.CtxSynchronize() == CUDA_SUCCESS && driver.CtxPopCurrent(&none) == CUDA_SUCCESS;
}

static void end(void)
{
    CU_OK(driver.DevicePrimaryCtxRelease(0));
    kept_context = NULL;
}

static void keep_context(void)
{
    static const test_fixture fixture = {clean, usable, end};
    if (!test_shared()) return;
    if (driver.DevicePrimaryCtxRetain(&kept_context, 0) == CUDA_SUCCESS) test_keep(&fixture);
}

const raw_cuda *raw_cuda_open(void)
{
    if (driver.library != NULL) return &driver;
    test_driver_choice choice = test_driver();
    char why_nvidia[WHY_SIZE] = "not asked for", why_soft[WHY_SIZE] = "not asked for";
    if (choice != TEST_DRIVER_SOFT) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            snprintf(why_nvidia, sizeof why_nvidia, "%s", dlerror());
        else if (use(&driver, library, why_nvidia)) {
            test_answers_of(driver.software);
            keep_context();
            return &driver;
        } else
            dlclose(library);
    }
    if (choice != TEST_DRIVER_NVIDIA) {
        void *library = open_soft(why_soft);
        if (library != NULL && use(&driver, library, why_soft)) {
            test_answers_of(driver.software);
            keep_context();
            return &driver;
        }
    }
    driver.library = NULL;
    if (choice != TEST_DRIVER_AUTO)
        FAIL("--driver=%s: %s", test_option("driver", ""),
             choice == TEST_DRIVER_SOFT ? why_soft : why_nvidia);
    SKIP("no CUDA driver with a device. libcuda.so.1: %s. The twin: %s", why_nvidia, why_soft);
}

void raw_cuda_before_init(void (*look)(const raw_cuda *cu))
{
    test_wants_own_process();
    look_before_init = look;
}

void raw_cuda_two_devices(void)
{
    if (!test_shared())
        REQUIRE(setenv("CULVERT_SOFT_DEVICES", "2", 0) == 0); /* NVIDIA's driver does not know it */
    else if (raw_cuda_open()->software)
        test_wants_own_process();
}

CUcontext raw_cuda_context(const raw_cuda *cu, CUdevice device)
{
    CUcontext context = NULL;
    CU_OK(cu->DevicePrimaryCtxRetain(&context, device));
    CU_OK(cu->CtxSetCurrent(context));
    return context;
}

CUresult raw_cuda_upload(const raw_cuda *cu, CUdeviceptr to, const void *from, size_t size)
{
    CUresult result = cu->MemcpyHtoD(to, from, size);
    return result == CUDA_SUCCESS ? cu->StreamSynchronize(NULL) : result;
}

CUmodule raw_cuda_load(const raw_cuda *cu, const char *name)
{
    char relative[256], path[TEST_PATH_MAX];
    snprintf(relative, sizeof relative, "share/culvert/%s%s", name,
             cu->software ? ".soft.so" : ".fatbin");
    test_path(path, relative);
    struct stat status;
    if (stat(path, &status) != 0) SKIP("%s: %s", path, strerror(errno));
    CUmodule module = NULL;
    CU_OK(cu->ModuleLoad(&module, path));
    return module;
}

CUfunction raw_cuda_function(const raw_cuda *cu, CUmodule module, const char *kernel)
{
    CUfunction function = NULL;
    CU_OK(cu->ModuleGetFunction(&function, module, kernel));
    /* Its first launch might be behind a wait that is not over, and hold up all other streams. */
    if (cu->FuncLoad != NULL) CU_OK(cu->FuncLoad(function));
    return function;
}

CUresult raw_cuda_import_memory(const raw_cuda *cu, int fd, uint64_t size, bool dedicated,
                                CUexternalMemory *out)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
        .handle.fd = fd,
        .size = size,
        .flags = dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0};
    return cu->ImportExternalMemory(out, &desc);
}

CUresult raw_cuda_map_buffer(const raw_cuda *cu, CUexternalMemory memory, uint64_t offset,
                             uint64_t size, CUdeviceptr *out)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = {.offset = offset, .size = size};
    return cu->ExternalMemoryGetMappedBuffer(out, memory, &desc);
}

static CUresult import_semaphore(const raw_cuda *cu, CUexternalSemaphoreHandleType type, int fd,
                                 CUexternalSemaphore *out)
{
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type = type, .handle.fd = fd};
    return cu->ImportExternalSemaphore(out, &desc);
}

CUresult raw_cuda_import_timeline(const raw_cuda *cu, int fd, CUexternalSemaphore *out)
{
    return import_semaphore(cu, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, fd, out);
}

CUresult raw_cuda_import_binary(const raw_cuda *cu, int fd, CUexternalSemaphore *out)
{
    return import_semaphore(cu, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, fd, out);
}

CUresult raw_cuda_signal(const raw_cuda *cu, CUexternalSemaphore semaphore, uint64_t value,
                         CUstream stream)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {.params.fence.value = value};
    return cu->SignalExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

CUresult raw_cuda_wait(const raw_cuda *cu, CUexternalSemaphore semaphore, uint64_t value,
                       CUstream stream)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {.params.fence.value = value};
    return cu->WaitExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

CUresult raw_cuda_set_signal(const raw_cuda *cu, CUgraphExec exec, CUgraphNode node,
                             CUexternalSemaphore semaphore, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.params.fence.value = value};
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS params = {&semaphore, &signal, 1};
    return cu->GraphExecExternalSemaphoresSignalNodeSetParams(exec, node, &params);
}

CUresult raw_cuda_set_wait(const raw_cuda *cu, CUgraphExec exec, CUgraphNode node,
                           CUexternalSemaphore semaphore, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.params.fence.value = value};
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS params = {&semaphore, &wait, 1};
    return cu->GraphExecExternalSemaphoresWaitNodeSetParams(exec, node, &params);
}

CUmemAllocationProp raw_cuda_memory_prop(CUdevice device, unsigned handle_types)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = (CUmemAllocationHandleType)handle_types,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

CUmemPoolProps raw_cuda_pool_props(CUdevice device, unsigned handle_types)
{
    return (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = (CUmemAllocationHandleType)handle_types,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

CUmemAccessDesc raw_cuda_access(CUdevice device, CUmemAccess_flags flags)
{
    return (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                             .flags = flags};
}

void raw_cuda_find(const raw_cuda *cu, const char *name, int version, void *function)
{
    void *address = NULL;
    CUresult result =
        cu->GetProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
    if (result != CUDA_SUCCESS || address == NULL) SKIP("no %s of version %d", name, version);
    memcpy(function, &address, sizeof address);
}

RAW_CUDA_MAKES(CUdeviceptr, raw_cuda_memory, MemFree, cu->MemAlloc(&made, size), const raw_cuda *cu,
               size_t size)
RAW_CUDA_MAKES(CUevent, raw_cuda_event, EventDestroy, cu->EventCreate(&made, flags),
               const raw_cuda *cu, unsigned flags)
RAW_CUDA_MAKES(CUmodule, raw_cuda_module, ModuleUnload,
               (made = raw_cuda_load(cu, name), CUDA_SUCCESS), const raw_cuda *cu, const char *name)
RAW_CUDA_MAKES(CUarray, raw_cuda_array, ArrayDestroy, cu->Array3DCreate(&made, desc),
               const raw_cuda *cu, const CUDA_ARRAY3D_DESCRIPTOR *desc)
RAW_CUDA_MAKES(CUmipmappedArray, raw_cuda_mipmap, MipmappedArrayDestroy,
               cu->MipmappedArrayCreate(&made, desc, levels), const raw_cuda *cu,
               const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels)
RAW_CUDA_MAKES(CUexternalMemory, raw_cuda_imported, DestroyExternalMemory,
               raw_cuda_import_memory(cu, fd, size, dedicated, &made), const raw_cuda *cu, int fd,
               uint64_t size, bool dedicated)
RAW_CUDA_MAKES(CUdeviceptr, raw_cuda_mapped, MemFree,
               raw_cuda_map_buffer(cu, memory, offset, size, &made), const raw_cuda *cu,
               CUexternalMemory memory, uint64_t offset, uint64_t size)
RAW_CUDA_MAKES(CUstream, raw_cuda_stream, StreamDestroy,
               cu->StreamCreate(&made, CU_STREAM_NON_BLOCKING), const raw_cuda *cu)

CUgraph raw_cuda_conditional(const raw_cuda *cu, CUcontext context, CUgraph graph,
                             CUgraphNode *node)
{
    CUgraphNodeParams params;
    memset(&params, 0, sizeof params);
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = context;
    CU_OK(cu->GraphConditionalHandleCreate(&params.conditional.handle, graph, context, 1, 1));
    CU_OK(cu->GraphAddNode(node, graph, NULL, NULL, 0, &params));
    return params.conditional.phGraph_out[0];
}

void raw_cuda_require_empty(const raw_cuda *cu)
{
    if (cu->SoftCounts == NULL) return;
    culv_soft_counts counts = {.struct_size = sizeof counts};
    cu->SoftCounts(&counts);
    REQUIRE_EQ(counts.contexts, kept_context != NULL);
    LEFT(REQUIRE_NONE)
}

void raw_cuda_leave(const raw_cuda *cu, CUdevice device)
{
    CU_OK(cu->CtxSetCurrent(NULL));
    CU_OK(cu->DevicePrimaryCtxRelease(device));
    raw_cuda_require_empty(cu);
}
