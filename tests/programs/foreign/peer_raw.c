/* SPDX-License-Identifier: MIT */
/* A peer that has never heard of Culvert: the CUDA driver API alone. */
#include "peer.h"

#include "bytes.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The functions by the names that the library exports, which cuda.h's macros know. */
#define NAME_(name) #name
#define NAME(name)  NAME_(name)
#define PROCS(X)                                                                                   \
    X(cuInit)                                                                                      \
    X(cuDeviceGet)                                                                                 \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxSetCurrent)                                                                             \
    X(cuStreamSynchronize)                                                                         \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuMemGetAllocationGranularity)                                                               \
    X(cuMemCreate)                                                                                 \
    X(cuMemRelease)                                                                                \
    X(cuMemAddressReserve)                                                                         \
    X(cuMemAddressFree)                                                                            \
    X(cuMemMap)                                                                                    \
    X(cuMemUnmap)                                                                                  \
    X(cuMemSetAccess)                                                                              \
    X(cuMemExportToShareableHandle)                                                                \
    X(cuMemImportFromShareableHandle)                                                              \
    X(cuImportExternalMemory)                                                                      \
    X(cuExternalMemoryGetMappedBuffer)                                                             \
    X(cuDestroyExternalMemory)                                                                     \
    X(cuMemFree)

static struct {
#define FIELD(name) __typeof__(&name) p_##name;
    PROCS(FIELD)
#undef FIELD
} cu;
static int device;

static bool fine(CUresult result, const char *call, char why[256])
{
    if (result != CUDA_SUCCESS) snprintf(why, 256, "%s: CUDA error %d", call, (int)result);
    return result == CUDA_SUCCESS;
}
#define FINE(name, ...) fine(cu.p_##name(__VA_ARGS__), #name, why)

static bool raw_open(const char *driver, const char *number, char why[256])
{
    void *library = dlopen(driver, RTLD_NOW);
    CUcontext context;

    if (!library) {
        snprintf(why, 256, "%s", dlerror());
        return false;
    }
#define LOAD(name)                                                                                 \
    *(void **)&cu.p_##name = dlsym(library, NAME(name));                                           \
    if (!cu.p_##name) {                                                                            \
        snprintf(why, 256, "%s lacks %s", driver, NAME(name));                                     \
        return false;                                                                              \
    }
    PROCS(LOAD)
#undef LOAD
    return FINE(cuInit, 0) && FINE(cuDeviceGet, &device, atoi(number)) &&
           FINE(cuDevicePrimaryCtxRetain, &context, device) && FINE(cuCtxSetCurrent, context);
}

/* To the host, compared, written anew, and back. */
static bool turn(CUdeviceptr at, uint64_t bytes, uint32_t seed, char why[256])
{
    unsigned char *copy = malloc(bytes);
    bool ok = copy && FINE(cuMemcpyDtoH, copy, at, bytes) && peer_turn(copy, bytes, seed, why) &&
              FINE(cuMemcpyHtoD, at, copy, bytes) && FINE(cuStreamSynchronize, NULL);

    free(copy);
    return ok;
}

static bool map(CUmemGenericAllocationHandle memory, uint64_t size, CUdeviceptr *at, char why[256])
{
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    return FINE(cuMemAddressReserve, at, size, 0, 0, 0) &&
           FINE(cuMemMap, *at, size, 0, memory, 0) && FINE(cuMemSetAccess, *at, size, &access, 1);
}

static bool raw_touch_vmm(int fd, uint64_t size, uint64_t bytes, uint32_t seed, char why[256])
{
    CUmemGenericAllocationHandle memory;
    CUdeviceptr at;

    return FINE(cuMemImportFromShareableHandle, &memory, (void *)(uintptr_t)fd,
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) &&
           map(memory, size, &at, why) && turn(at, bytes, seed, why) &&
           FINE(cuMemUnmap, at, size) && FINE(cuMemAddressFree, at, size) &&
           FINE(cuMemRelease, memory);
}

static bool raw_touch_vulkan(int fd, uint64_t size, uint64_t bytes, uint32_t seed, char why[256])
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC import = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                               .size = size};
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC all = {.size = size};
    CUexternalMemory memory;
    CUdeviceptr at;

    /* The driver keeps the descriptor that it gets; this one is the caller's. */
    import.handle.fd = dup(fd);
    return FINE(cuImportExternalMemory, &memory, &import) &&
           FINE(cuExternalMemoryGetMappedBuffer, &at, memory, &all) && turn(at, bytes, seed, why) &&
           FINE(cuMemFree, at) && FINE(cuDestroyExternalMemory, memory);
}

static bool raw_make(uint64_t bytes, uint32_t seed, int *fd, uint64_t *size, char why[256])
{
    const CUmemAllocationProp what = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    unsigned char *data = calloc(1, bytes);
    CUmemGenericAllocationHandle memory;
    size_t granule;
    CUdeviceptr at;
    bool ok = false;

    if (data &&
        FINE(cuMemGetAllocationGranularity, &granule, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM)) {
        *size = (bytes + granule - 1) / granule * granule;
        app_fill_host(data, 0, bytes, seed);
        ok = FINE(cuMemCreate, &memory, *size, &what, 0) && map(memory, *size, &at, why) &&
             FINE(cuMemcpyHtoD, at, data, bytes) && FINE(cuStreamSynchronize, NULL) &&
             FINE(cuMemExportToShareableHandle, fd, memory,
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) &&
             /* What was exported keeps the memory. */
             FINE(cuMemUnmap, at, *size) && FINE(cuMemAddressFree, at, *size) &&
             FINE(cuMemRelease, memory);
    }
    free(data);
    return ok;
}

const peer_way peer_raw = {raw_open, raw_touch_vmm, raw_touch_vulkan, raw_make};
