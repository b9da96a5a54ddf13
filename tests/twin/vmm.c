/* SPDX-License-Identifier: MIT */
/* Virtual memory management, as only the twin can be asked: counts, every call failing, played
 * devices, multicast objects. */
#define TEST_GROUP "vmm."
#include "twin.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define GRANULE ((size_t)TWIN_GRANULE)
#define POSIX   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

TWIN_CASE(counted, CU_STREAM_NON_BLOCKING)
{
    CUdeviceptr a = 0, b = 0;
    CUmemGenericAllocationHandle retained = 0;
    const size_t fds = test_open_fds();
    CUmemGenericAllocationHandle plain = twin_memory(t->cu, 0, GRANULE, CU_MEM_HANDLE_TYPE_NONE);
    REQUIRE_EQ(test_open_fds(), fds); /* only what may be exported is a file */
    CUmemGenericAllocationHandle shared = twin_memory(t->cu, 0, GRANULE, POSIX);
    REQUIRE_EQ(twin_counts(t->cu).physical_allocations, 2);
    REQUIRE_EQ(twin_counts(t->cu).fds, 1);
    CU_OK(t->cu->MemAddressReserve(&a, 4 * GRANULE, 0, 0, 0));
    CU_OK(t->cu->MemAddressReserve(&b, GRANULE, 0, 0, 0));
    REQUIRE_EQ(twin_counts(t->cu).reservations, 2);
    CU_OK(t->cu->MemMap(a, GRANULE, 0, plain, 0));
    CU_OK(t->cu->MemMap(a + GRANULE, GRANULE, 0, shared, 0));
    CU_OK(t->cu->MemMap(b, GRANULE, 0, plain, 0));
    REQUIRE_EQ(twin_counts(t->cu).virtual_mappings, 3);
    CU_OK(t->cu->MemRelease(plain));
    REQUIRE_EQ(twin_counts(t->cu).physical_allocations, 2); /* mapped yet */
    CU_OK(t->cu->MemUnmap(a, 2 * GRANULE));
    REQUIRE_EQ(twin_counts(t->cu).virtual_mappings, 1);
    REQUIRE_EQ(twin_counts(t->cu).physical_allocations, 2);
    CU_OK(t->cu->MemRetainAllocationHandle(&retained, (void *)(uintptr_t)b));
    REQUIRE(retained == plain);
    CU_OK(t->cu->MemUnmap(b, GRANULE));
    CU_OK(t->cu->MemRelease(retained));
    REQUIRE_EQ(twin_counts(t->cu).physical_allocations, 1);
    CU_OK(t->cu->MemRelease(shared));
    CU_OK(t->cu->MemAddressFree(a, 4 * GRANULE));
    CU_OK(t->cu->MemAddressFree(b, GRANULE));
    REQUIRE_EQ(test_open_fds(), fds);
}

/* Neither a context nor its end means anything to it. */
TWIN_CASE(outlives_contexts, CU_STREAM_NON_BLOCKING)
{
    CUdeviceptr a = 0;
    uint32_t word = 0;
    CUcontext made;
    CU_OK(t->cu->CtxSetCurrent(NULL));
    CUmemGenericAllocationHandle handle = twin_memory(t->cu, 0, GRANULE, CU_MEM_HANDLE_TYPE_NONE);
    CU_OK(t->cu->MemAddressReserve(&a, GRANULE, 0, 0, 0));
    CU_OK(t->cu->MemMap(a, GRANULE, 0, handle, 0));
    CU_OK(twin_allow(t->cu, 0, a, GRANULE));
    CU_OK(t->cu->CtxCreate(&made, 0, 0));
    CU_OK(t->cu->MemsetD32Async(a, 0x11223344u, GRANULE / 4, NULL));
    CU_OK(t->cu->CtxSynchronize());
    CU_OK(t->cu->CtxDestroy(made));
    CU_OK(t->cu->CtxSetCurrent(t->context));
    CU_OK(t->cu->MemcpyDtoH(&word, a + GRANULE - 4, 4));
    REQUIRE_EQ(word, 0x11223344u);
    CU_OK(t->cu->MemUnmap(a, GRANULE));
    CU_OK(t->cu->MemRelease(handle));
    CU_OK(t->cu->MemAddressFree(a, GRANULE));
}

TWIN_CASE(limits, CU_STREAM_NON_BLOCKING)
{
    size_t total = 0, before = 0, after = 0;
    CUmemGenericAllocationHandle handle = 0, half;
    const CUmemAllocationProp prop = twin_memory_prop(0, CU_MEM_HANDLE_TYPE_NONE);
    CU_OK(t->cu->MemGetInfo(&before, &total));
    const size_t most = total / GRANULE * GRANULE;
    CU_IS(t->cu->MemCreate(&handle, most + GRANULE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    half = twin_memory(t->cu, 0, most / 2 / GRANULE * GRANULE,
                       CU_MEM_HANDLE_TYPE_NONE); /* no page of it is touched */
    CU_IS(t->cu->MemCreate(&handle, most, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CU_OK(t->cu->MemRelease(half));
    CU_OK(t->cu->MemGetInfo(&after, NULL));
    REQUIRE_EQ(after, before);
}

TWIN_CASE(played, CU_STREAM_NON_BLOCKING)
{
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp prop = twin_memory_prop(0, CU_MEM_HANDLE_TYPE_NONE), found;
    int value = -1;
    prop.allocFlags.gpuDirectRDMACapable = 1;
    prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    t->cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1);
    t->cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 1);
    CU_OK(t->cu->DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0));
    REQUIRE_EQ(value, 1);
    CU_OK(t->cu->MemCreate(&handle, GRANULE, &prop, 0));
    CU_OK(t->cu->MemGetAllocationPropertiesFromHandle(&found, handle));
    REQUIRE_EQ(found.allocFlags.gpuDirectRDMACapable, 1);
    REQUIRE_EQ(found.allocFlags.compressionType, CU_MEM_ALLOCATION_COMP_GENERIC);
    CU_OK(t->cu->MemRelease(handle));
    prop = twin_memory_prop(0, CU_MEM_HANDLE_TYPE_FABRIC);
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    t->cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_PERMITTED);
    CU_OK(t->cu->DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    REQUIRE_EQ(value, POSIX | CU_MEM_HANDLE_TYPE_FABRIC); /* as an H200 says */
    t->cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    prop = twin_memory_prop(0, CU_MEM_HANDLE_TYPE_NONE);
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    t->cu->SoftPlayAttribute(0, 0);
    CU_OK(t->cu->DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0));
    REQUIRE_EQ(value, 0);
    CU_OK(t->cu->MemCreate(&handle, GRANULE, &prop, 0));
    CU_OK(t->cu->MemRelease(handle));
}

/* What a small program holds; zero = not made. */
typedef struct held {
    CUdeviceptr range, mapped;
    CUmemGenericAllocationHandle made, imported, retained;
    int fd; /* -1 = none */
} held;

static CUresult run(const raw_cuda *cu, held *h)
{
    const CUmemAllocationProp prop = twin_memory_prop(0, POSIX);
    CUmemAllocationProp found;
    CUmemLocation location = prop.location;
    size_t granularity = 0;
    unsigned long long flags = 0;
    CUresult r =
        cu->MemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (r == CUDA_SUCCESS) r = cu->MemCreate(&h->made, GRANULE, &prop, 0);
    if (r == CUDA_SUCCESS) r = cu->MemGetAllocationPropertiesFromHandle(&found, h->made);
    if (r == CUDA_SUCCESS) r = cu->MemAddressReserve(&h->range, GRANULE, 0, 0, 0);
    if (r == CUDA_SUCCESS) r = cu->MemMap(h->range, GRANULE, 0, h->made, 0);
    if (r == CUDA_SUCCESS) h->mapped = h->range;
    if (r == CUDA_SUCCESS) r = twin_allow(cu, 0, h->range, GRANULE);
    if (r == CUDA_SUCCESS) r = cu->MemGetAccess(&flags, &location, h->range);
    if (r == CUDA_SUCCESS)
        r = cu->MemRetainAllocationHandle(&h->retained, (void *)(uintptr_t)h->range);
    if (r == CUDA_SUCCESS) r = cu->MemExportToShareableHandle(&h->fd, h->made, POSIX, 0);
    if (r == CUDA_SUCCESS)
        r = cu->MemImportFromShareableHandle(&h->imported, (void *)(intptr_t)h->fd, POSIX);
    return r;
}

static CUresult clean(const raw_cuda *cu, held *h)
{
    CUresult r = CUDA_SUCCESS;
    if (h->mapped != 0) r = cu->MemUnmap(h->mapped, GRANULE);
    if (r == CUDA_SUCCESS) h->mapped = 0;
    CUmemGenericAllocationHandle *handles[] = {&h->made, &h->imported, &h->retained};
    for (size_t i = 0; i < 3 && r == CUDA_SUCCESS; i++) {
        if (*handles[i] != 0) r = cu->MemRelease(*handles[i]);
        if (r == CUDA_SUCCESS) *handles[i] = 0;
    }
    if (r == CUDA_SUCCESS && h->range != 0) r = cu->MemAddressFree(h->range, GRANULE);
    if (r == CUDA_SUCCESS) h->range = 0;
    if (h->fd >= 0) close(h->fd);
    h->fd = -1;
    return r;
}

TWIN_CASE(every_call_fails_once, CU_STREAM_NON_BLOCKING)
{
    size_t fds = 0;
    unsigned n = 1;
    for (;; n++) {
        held h = {.fd = -1};
        t->cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        CUresult result = run(t->cu, &h);
        if (result == CUDA_SUCCESS) result = clean(t->cu, &h);
        const char *failed = t->cu->SoftFailedCall();
        t->cu->SoftFailAt(0, 0);
        CU_OK(clean(t->cu, &h)); /* what the failed call left, and it can be tried again */
        if (n == 2) fds = test_open_fds();
        if (n > 2) REQUIRE_EQ(test_open_fds(), fds);
        REQUIRE_EQ(twin_counts(t->cu).physical_allocations, 0);
        if (failed == NULL) {
            CU_OK(result);
            break;
        }
        CU_IS(result, CUDA_ERROR_OUT_OF_MEMORY);
    }
    REQUIRE_EQ(n - 1, 15);
}

/* Grows and shrinks a range of its own, with work in it, as others do beside it. */
static void *grow_and_shrink(void *arg)
{
    const twin *t = arg;
    CUdeviceptr a = 0;
    CUstream stream;
    uint32_t word = 0;
    CU_OK(t->cu->CtxSetCurrent(t->context));
    CU_OK(t->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(t->cu->MemAddressReserve(&a, 4 * GRANULE, 0, 0, 0));
    for (uint32_t turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < 4; i++) {
            CUmemGenericAllocationHandle handle =
                twin_memory(t->cu, 0, GRANULE, i % 2 ? POSIX : CU_MEM_HANDLE_TYPE_NONE);
            CU_OK(t->cu->MemMap(a + i * GRANULE, GRANULE, 0, handle, 0));
            CU_OK(twin_allow(t->cu, 0, a + i * GRANULE, GRANULE));
            CU_OK(t->cu->MemRelease(handle));
            CU_OK(t->cu->MemsetD32Async(a, turn, (i + 1) * 4096,
                                        stream)); /* not all of the bytes: it takes time */
        }
        CU_OK(t->cu->StreamSynchronize(stream));
        CU_OK(t->cu->MemcpyDtoH(&word, a + 4096, 4));
        REQUIRE_EQ(word, turn);
        CU_OK(t->cu->MemUnmap(a, 4 * GRANULE));
    }
    CU_OK(t->cu->MemAddressFree(a, 4 * GRANULE));
    CU_OK(t->cu->StreamDestroy(stream));
    return NULL;
}

TWIN_CASE(threads, CU_STREAM_NON_BLOCKING)
{
    pthread_t thread[4];
    for (size_t i = 0; i < 4; i++)
        REQUIRE_EQ(pthread_create(&thread[i], NULL, grow_and_shrink, t), 0);
    for (size_t i = 0; i < 4; i++)
        REQUIRE_EQ(pthread_join(thread[i], NULL), 0);
    REQUIRE_EQ(twin_counts(t->cu).virtual_mappings, 0);
}
