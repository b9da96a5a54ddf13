/* SPDX-License-Identifier: MIT */
/* Entry points by version, devices, contexts, and the posing build. */
#define TEST_GROUP "identity."
#include "twin.h"

#include <dlfcn.h>
#include <unistd.h>

static CUresult find(const raw_cuda *cu, const char *name, int version, void **address, int *status)
{
    CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)-1;
    CUresult result =
        cu->GetProcAddress(name, address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    *status = (int)found;
    return result;
}

TEST(proc_versions)
{
    const raw_cuda *cu = raw_cuda_open();
    void *address = NULL, *exported, *older, *newer;
    int status;

    CU_OK(find(cu, "cuMemAlloc", 12000, &address, &status));
    exported = dlsym(cu->library, "cuMemAlloc_v2");
    REQUIRE(exported != NULL && address == exported);
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    /* Two forms of one name. */
    CU_OK(find(cu, "cuStreamGetCtx", 12000, &older, &status));
    CU_OK(find(cu, "cuStreamGetCtx", 12050, &newer, &status));
    REQUIRE(older != newer);
    /* Too old, and unknown: no error, but no address. */
    address = &address;
    CU_OK(find(cu, "cuMemAlloc", 2000, &address, &status));
    REQUIRE(address == NULL);
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    address = &address;
    CU_OK(find(cu, "cuTensorMapEncodeTiled", 13000, &address, &status));
    REQUIRE(address == NULL);
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    /* The form without a status says it by an error. */
    PFN_cuGetProcAddress_v11030 old_form;
    CU_OK(find(cu, "cuGetProcAddress", 11030, &older, &status));
    memcpy(&old_form, &older, sizeof old_form);
    CU_IS(old_form("cuTensorMapEncodeTiled", &address, 13000, 0), CUDA_ERROR_NOT_FOUND);
    /* Newer than the driver, also where an older one is played: refused, and nothing is written. */
    address = &address;
    CU_IS(find(cu, "cuMemAlloc", 13010, &address, &status), CUDA_ERROR_INVALID_VALUE);
    cu->SoftPlayVersion(12020);
    CU_IS(find(cu, "cuStreamGetCtx", 12050, &address, &status), CUDA_ERROR_INVALID_VALUE);
    cu->SoftPlayVersion(0);
    REQUIRE(address == &address);
    CU_OK(find(cu, "culvSoftCounts", 13000, &address, &status));
    REQUIRE(address == dlsym(cu->library, "culvSoftCounts"));
}

TEST(attributes)
{
    const raw_cuda *cu = raw_cuda_open();
    int value = -1;
    CU_OK(cu->DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 0));
    REQUIRE_EQ(value, 16384); /* what cuArray3DCreate takes: arrays.refusals */

    PROC(cu, DeviceGetPCIBusId, 4010);
    PROC(cu, DeviceGetByPCIBusId, 4010);
    char address[32];
    CUdevice device = -1;
    CU_OK(DeviceGetPCIBusId(address, sizeof address, 0));
    CU_OK(DeviceGetByPCIBusId(&device, address));
    REQUIRE_EQ(device, 0);
}

TWIN_CASE(contexts, 0, .own = true)
{
    PROC(t->cu, CtxCreate, 3020);
    PROC(t->cu, CtxDestroy, 4000);
    PROC(t->cu, CtxGetDevice, 2000);
    CUcontext own, current, popped;
    CUdevice device = -1;

    CU_OK(CtxCreate(&own, 0, 0));
    CU_OK(t->cu->CtxGetCurrent(&current));
    REQUIRE(current == own);
    CU_OK(CtxGetDevice(&device));
    REQUIRE_EQ(device, 0);
    /* A stream of another context is no handle for events of this one (R6). */
    CUevent event;
    CU_OK(t->cu->EventCreate(&event, 0));
    CU_IS(t->cu->EventRecord(event, t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t->cu->CtxPushCurrent(t->context));
    CU_OK(t->cu->CtxPopCurrent(&popped));
    REQUIRE(popped == t->context);
    /* With what is in it. */
    CU_OK(CtxDestroy(own));
    CU_OK(t->cu->CtxGetCurrent(&current));
    REQUIRE(current == t->context);
    CU_IS(CtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(t->cu->EventDestroy(event), CUDA_ERROR_INVALID_HANDLE);

    /* Released and retained again: the handle stays, what was in it does not. */
    CU_OK(t->cu->DevicePrimaryCtxRelease(0));
    CU_IS(t->cu->StreamQuery(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CU_IS(t->cu->StreamQuery(t->stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(raw_cuda_context(t->cu, 0) == t->context);
    CU_IS(t->cu->StreamQuery(t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t->cu->StreamCreate(&t->stream, 0));
}

TEST(repeated_devices, .own = true)
{
    REQUIRE_EQ(setenv("CULVERT_SOFT_DEVICES", "3", 1), 0);
    const raw_cuda *cu = raw_cuda_open();
    CUuuid uuids[3];
    REQUIRE_EQ(cu->device_count, 3);
    for (int i = 0; i < 3; i++)
        CU_OK(cu->DeviceGetUuid(&uuids[i], i));
    REQUIRE_EQ_BYTES(uuids[0].bytes, uuids[1].bytes, 15);
    REQUIRE_EQ((unsigned char)uuids[1].bytes[15], (unsigned char)(uuids[0].bytes[15] + 1));
    REQUIRE_EQ((unsigned char)uuids[2].bytes[15], (unsigned char)(uuids[0].bytes[15] + 2));

    /* Vulkan's memory is device 0's; to another device it is foreign, and the fd is lost. */
    CUcontext context = raw_cuda_context(cu, 1);
    unsigned char *payload;
    CUexternalMemory memory;
    int fd = twin_memory_fd(65536, &payload);
    REQUIRE(context != NULL);
    CU_IS(raw_cuda_import_memory(cu, fd, 65536, false, &memory), CUDA_ERROR_UNKNOWN);
    REQUIRE(!twin_fd_open(fd));
    CU_OK(cu->DevicePrimaryCtxRelease(1));
    raw_cuda_require_empty(cu);
}

TEST(posing, .own = true)
{
    char path[TEST_PATH_MAX], name[256];
    void *library = dlopen(test_path(path, "lib/pose/libcuda.so.1"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) FAIL("%s", dlerror());
    raw_cuda cu = {.library = library};
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&cu.GetProcAddress, &symbol, sizeof symbol);
    PROC(&cu, Init, 2000);
    PROC(&cu, DeviceGetCount, 2000);
    PROC(&cu, DeviceGetName, 2000);
    PROC(&cu, DeviceGetUuid, 11040);
    int count = 0;
    CUuuid first, second;
    CU_IS(DeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    CU_OK(Init(0));
    CU_OK(DeviceGetCount(&count));
    REQUIRE_EQ(count, 2);
    CU_OK(DeviceGetUuid(&first, 0));
    CU_OK(DeviceGetUuid(&second, 1));
    REQUIRE_EQ_BYTES(first.bytes, "culvert\0posing\0\xa0", 16);
    REQUIRE_EQ_BYTES(second.bytes, "culvert\0posing\0\xa1", 16);
    CU_OK(DeviceGetName(name, sizeof name, 1));
    REQUIRE_EQ_STR(name, "Culvert posing device 1");
}

/* The layer's manifest is found beside the library, and its directory added to the variable that
 * the Vulkan loader reads, once. */
TEST(layer_path, .own = true)
{
    const raw_cuda *cu = raw_cuda_open();
    char manifest[TEST_PATH_MAX], expected[TEST_PATH_MAX * 4];
    const char *(*add_layer_path)(void), *(*get_layer_path)(void);
    test_path(manifest, "lib/culvert/explicit_layer.d/VkLayer_culvert_soft.json");
    twin_proc(cu, "culvSoftAddLayerPath", 13000, &add_layer_path);
    twin_proc(cu, "culvSoftLayerPath", 13000, &get_layer_path);
    REQUIRE_EQ(setenv("VK_ADD_LAYER_PATH", "/before", 1), 0);
    REQUIRE_EQ(unsetenv("VK_LAYER_PATH"), 0);
    if (access(manifest, R_OK) != 0) SKIP("no manifest in this build");
    const char *directory = get_layer_path();
    REQUIRE(directory != NULL);
    REQUIRE(strstr(directory, "culvert/explicit_layer.d") != NULL);
    REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), "/before");
    snprintf(expected, sizeof expected, "/before:%s", directory);
    for (int i = 0; i < 2; i++) {
        REQUIRE(add_layer_path() == directory);
        REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), expected);
    }
    /* A part of an entry is not the entry. */
    snprintf(expected, sizeof expected, "%s/more::/x%s", directory, directory);
    REQUIRE_EQ(setenv("VK_ADD_LAYER_PATH", expected, 1), 0);
    REQUIRE(add_layer_path() == directory);
    snprintf(expected, sizeof expected, "%s/more::/x%s:%s", directory, directory, directory);
    REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), expected);
    /* The loader ignores that variable while this one is set. */
    REQUIRE_EQ(setenv("VK_LAYER_PATH", "/mine", 1), 0);
    REQUIRE_EQ(setenv("VK_ADD_LAYER_PATH", "/before", 1), 0);
    snprintf(expected, sizeof expected, "/mine:%s", directory);
    for (int i = 0; i < 2; i++) {
        REQUIRE(add_layer_path() == directory);
        REQUIRE_EQ_STR(getenv("VK_LAYER_PATH"), expected);
        REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), "/before");
    }
}
