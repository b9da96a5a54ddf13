/* SPDX-License-Identifier: MIT */
/* Virtual memory management, as only the twin can be asked: counts, played devices,
 * multicast objects. */
#define TEST_GROUP "vmm."
#include "twin.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
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

TWIN_CASE(limits, CU_STREAM_NON_BLOCKING)
{
    size_t total = 0, before = 0, after = 0;
    CUmemGenericAllocationHandle handle = 0, half;
    const CUmemAllocationProp prop = raw_cuda_memory_prop(0, CU_MEM_HANDLE_TYPE_NONE);
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
    CUmemAllocationProp prop = raw_cuda_memory_prop(0, CU_MEM_HANDLE_TYPE_NONE), found;
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
    prop = raw_cuda_memory_prop(0, CU_MEM_HANDLE_TYPE_FABRIC);
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    t->cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_PERMITTED);
    CU_OK(t->cu->DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    REQUIRE_EQ(value, POSIX | CU_MEM_HANDLE_TYPE_FABRIC); /* as an H200 says */
    t->cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    prop = raw_cuda_memory_prop(0, CU_MEM_HANDLE_TYPE_NONE);
    CU_IS(t->cu->MemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    t->cu->SoftPlayAttribute(0, 0);
    CU_OK(t->cu->DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0));
    REQUIRE_EQ(value, 0);
    CU_OK(t->cu->MemCreate(&handle, GRANULE, &prop, 0));
    CU_OK(t->cu->MemRelease(handle));
}

/* Copies, pointers, and memory imported from files that look like lavapipe's. */
#undef TEST_GROUP
#define TEST_GROUP "memory."

enum { SIZE = 20000 };

/* Another process cuts the file of an import off: the copy fails as one of memory that is not
 * there, and the process lives. No kernel was loaded before. */
TEST(cut_off, .faults = true)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    unsigned char *payload;
    uint32_t word = 0;
    CUexternalMemory memory;
    CUdeviceptr pointer;
    const int fd = twin_memory_fd(SIZE, &payload), theirs = dup(fd);
    CU_OK(raw_cuda_import_memory(t.cu, fd, SIZE, false, &memory));
    CU_OK(raw_cuda_map_buffer(t.cu, memory, 0, SIZE, &pointer));
    REQUIRE_EQ(ftruncate(theirs, 4096), 0);
    CU_IS(t.cu->MemcpyDtoH(&word, pointer + SIZE - 4, sizeof word), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(t.cu->MemsetD32Async(pointer, 1, 1, t.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    close(theirs);
}

/* The page of a timeline that could be cut off is none. */
TWIN_CASE(cut_off_timeline, CU_STREAM_NON_BLOCKING)
{
    culv_soft_timeline *page;
    CUexternalSemaphore semaphore;
    unsigned char bytes[CULV_SOFT_TIMELINE_SIZE];
    const int sealed = twin_timeline_fd(t->cu, &page),
              plain = memfd_create("timeline", MFD_CLOEXEC);
    memcpy(bytes, page, sizeof bytes);
    REQUIRE(plain >= 0 && write(plain, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    CU_IS(raw_cuda_import_timeline(t->cu, plain, &semaphore), CUDA_ERROR_UNKNOWN);
    CU_OK(raw_cuda_import_timeline(t->cu, sealed, &semaphore));
    CU_OK(t->cu->DestroyExternalSemaphore(semaphore));
}

/* Memory pools: allocations in stream order, and pools of other processes. */
#undef TEST_GROUP
#define TEST_GROUP "pools."

#define POOLED 100000u

static CUmemoryPool make(const twin *t, CUmemAllocationHandleType types, size_t max)
{
    CUmemPoolProps props = raw_cuda_pool_props(0, types);
    CUmemoryPool pool = NULL;
    props.maxSize = max;
    CU_OK(t->cu->MemPoolCreate(&pool, &props));
    return pool;
}

TWIN_CASE(attributes, CU_STREAM_NON_BLOCKING)
{
    CUmemoryPool pool = make(t, CU_MEM_HANDLE_TYPE_NONE, 1u << 20), found = NULL;
    CUdeviceptr a = 0, b = 0;
    uint64_t bytes = 0, zero = 0;
    int on = 0;
    CU_OK(t->cu->MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &on));
    REQUIRE_EQ(on, 1);
    CU_OK(t->cu->MemAllocFromPoolAsync(&a, POOLED, pool, t->stream));
    CU_IS(t->cu->MemAllocFromPoolAsync(&b, 1u << 20, pool, t->stream), CUDA_ERROR_OUT_OF_MEMORY);
    CU_OK(t->cu->MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
    REQUIRE(bytes >= POOLED && bytes < POOLED + 4096);
    CU_OK(t->cu->PointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    REQUIRE(found == pool);
    CU_OK(t->cu->MemFreeAsync(a, t->stream));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    CU_OK(t->cu->MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &bytes));
    REQUIRE(bytes >= POOLED);
    CU_OK(t->cu->MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    CU_OK(t->cu->MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &bytes));
    REQUIRE_EQ(bytes, 0);
    bytes = UINT64_MAX;
    CU_OK(t->cu->MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
    /* Destroyed, it lives on with its memory. */
    CU_OK(t->cu->MemAllocFromPoolAsync(&a, POOLED, pool, t->stream));
    CU_OK(t->cu->MemPoolDestroy(pool));
    CU_IS(t->cu->MemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->MemsetD32Async(a, 1, 16, t->stream));
    CU_OK(t->cu->MemFreeAsync(a, t->stream));
    /* The device's pool. */
    CUmemoryPool its_own = NULL;
    CU_OK(t->cu->DeviceGetDefaultMemPool(&its_own, 0));
    pool = make(t, CU_MEM_HANDLE_TYPE_NONE, 0);
    CU_OK(t->cu->DeviceSetMemPool(0, pool));
    CU_OK(t->cu->DeviceGetMemPool(&found, 0));
    REQUIRE(found == pool);
    CU_OK(t->cu->MemPoolDestroy(pool));
    CU_OK(t->cu->DeviceGetMemPool(&found, 0));
    REQUIRE(found == its_own);
}

/* Memory's data means something with an exported pool alone, and spoiled data means nothing. */
TWIN_CASE(exported_pointers, CU_STREAM_NON_BLOCKING)
{
    CUmemoryPool pool = make(t, POSIX, 0), closed = make(t, CU_MEM_HANDLE_TYPE_NONE, 0), again;
    CUmemPoolPtrExportData data;
    CUdeviceptr a = 0, c = 0, there;
    int fd = -1;
    REQUIRE_EQ(twin_counts(t->cu).memory_pools, 2);
    CU_OK(t->cu->MemAllocFromPoolAsync(&a, POOLED, pool, t->stream));
    CU_OK(t->cu->MemAllocFromPoolAsync(&c, POOLED, closed, t->stream));
    CU_IS(t->cu->MemPoolExportPointer(&data, c), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->MemPoolExportToShareableHandle(&fd, pool, POSIX, 0));
    CU_OK(t->cu->MemPoolExportPointer(&data, a));
    CU_OK(t->cu->MemPoolImportFromShareableHandle(&again, (void *)(intptr_t)fd, POSIX, 0));
    data.reserved[0] ^= 1;
    CU_IS(t->cu->MemPoolImportPointer(&there, again, &data), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->MemPoolDestroy(again));
    close(fd);
    CU_OK(t->cu->MemFreeAsync(c, t->stream));
    CU_OK(t->cu->MemFreeAsync(a, t->stream));
    CU_OK(t->cu->MemPoolDestroy(closed));
    CU_OK(t->cu->MemPoolDestroy(pool));
    CU_OK(t->cu->StreamSynchronize(t->stream));
}

/* Multicast objects of devices that are played to have them. */
#undef TEST_GROUP
#define TEST_GROUP "multicast."

typedef struct team {
    twin t;
    CUmemGenericAllocationHandle memory[2];
} team;

static team team_begin(void)
{
    REQUIRE_EQ(setenv("CULVERT_SOFT_DEVICES", "3", 1), 0);
    team m = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    m.t.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
    for (int i = 0; i < 2; i++)
        m.memory[i] = twin_memory(m.t.cu, i, 2 * GRANULE, CU_MEM_HANDLE_TYPE_NONE);
    return m;
}

static void team_finish(team *m)
{
    for (int i = 0; i < 2; i++)
        CU_OK(m->t.cu->MemRelease(m->memory[i]));
    twin_finish(&m->t);
}

#define TEAM_CASE(...) TEST_ON(team, m, *m = team_begin(), team_finish(m), __VA_ARGS__)

static CUmulticastObjectProp of_two(void)
{
    CUmulticastObjectProp prop;
    memset(&prop, 0, sizeof prop);
    prop.numDevices = 2;
    prop.size = 4 * GRANULE;
    return prop;
}

TEAM_CASE(refused_without, .own = true)
{
    CUmulticastObjectProp prop = of_two();
    CUmemGenericAllocationHandle object = 0;
    size_t size = 0;
    m->t.cu->SoftPlayAttribute(0, 0);
    CU_IS(m->t.cu->MulticastGetGranularity(&size, &prop, CU_MULTICAST_GRANULARITY_MINIMUM),
          CUDA_ERROR_NOT_SUPPORTED);
    CU_IS(m->t.cu->MulticastCreate(&object, &prop), CUDA_ERROR_NOT_SUPPORTED);
    m->t.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
    CU_OK(m->t.cu->MulticastGetGranularity(&size, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
    REQUIRE_EQ(size, GRANULE);
    CU_OK(m->t.cu->MulticastGetGranularity(&size, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    REQUIRE(size > GRANULE && size % GRANULE == 0);
    prop.size = GRANULE + 1;
    CU_IS(m->t.cu->MulticastCreate(&object, &prop), CUDA_ERROR_INVALID_VALUE);
    prop = of_two();
    prop.numDevices = 4;
    CU_IS(m->t.cu->MulticastCreate(&object, &prop), CUDA_ERROR_INVALID_VALUE);
    prop.numDevices = 0;
    CU_IS(m->t.cu->MulticastCreate(&object, &prop), CUDA_ERROR_INVALID_VALUE);
}

/* What reads through them: multicast.team of culvert-extra. */
TEAM_CASE(bound, .own = true)
{
    const raw_cuda *cu = m->t.cu;
    const CUmulticastObjectProp prop = of_two();
    CUmemGenericAllocationHandle object = 0,
                                 third = twin_memory(cu, 2, 2 * GRANULE, CU_MEM_HANDLE_TYPE_NONE);
    CUmemAllocationProp found;
    CU_OK(m->t.cu->MulticastCreate(&object, &prop));
    CU_IS(cu->MemGetAllocationPropertiesFromHandle(&found, object), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->t.cu->MulticastAddDevice(object, 0));
    CU_IS(m->t.cu->MulticastAddDevice(object, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->t.cu->MulticastAddDevice(object, 9), CUDA_ERROR_INVALID_DEVICE);
    CU_OK(m->t.cu->MulticastAddDevice(object, 1));
    CU_IS(m->t.cu->MulticastAddDevice(object, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->t.cu->MulticastBindMem(object, 0, third, 0, GRANULE, 0), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(m->t.cu->MulticastBindMem(object, 100, m->memory[0], 0, GRANULE, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->t.cu->MulticastBindMem(object, 3 * GRANULE, m->memory[0], 0, 2 * GRANULE, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->t.cu->MulticastBindMem(object, 0, m->memory[0], GRANULE, 2 * GRANULE, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->t.cu->MulticastBindMem(m->memory[0], 0, m->memory[0], 0, GRANULE, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->t.cu->MulticastBindMem(object, 0, m->memory[0], 0, 2 * GRANULE, 0));
    CU_IS(m->t.cu->MulticastBindMem(object, GRANULE, m->memory[0], 0, GRANULE, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->t.cu->MulticastBindMem(object, GRANULE, m->memory[1], 0, GRANULE, 0));
    CU_IS(m->t.cu->MulticastUnbind(object, 0, 0, GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->t.cu->MulticastUnbind(object, 2, 0, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->t.cu->MulticastUnbind(object, 0, 0, 2 * GRANULE));
    CU_OK(cu->MemRelease(third));
    CU_OK(cu->MemRelease(object)); /* with a binding, which goes with it */
}

typedef struct waiting {
    team *m;
    CUmemGenericAllocationHandle object;
    _Atomic bool done;
} waiting;

static void *bind_early(void *arg)
{
    waiting *w = arg;
    CU_OK(w->m->t.cu->MulticastBindMem(w->object, 0, w->m->memory[0], 0, GRANULE, 0));
    w->done = true;
    return NULL;
}

/* Binding waits for the last device (cuda.h), without holding up other calls. */
TEAM_CASE(waits_for_the_team, .own = true)
{
    const CUmulticastObjectProp prop = of_two();
    waiting w = {.m = m};
    pthread_t thread;
    CU_OK(m->t.cu->MulticastCreate(&w.object, &prop));
    CU_OK(m->t.cu->MulticastAddDevice(w.object, 0));
    REQUIRE_EQ(pthread_create(&thread, NULL, bind_early, &w), 0);
    usleep(50000);
    REQUIRE(!w.done);
    CU_OK(m->t.cu->MulticastAddDevice(w.object, 1));
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    REQUIRE(w.done);
    CU_OK(m->t.cu->MulticastUnbind(w.object, 0, 0, GRANULE));
    CU_OK(m->t.cu->MemRelease(w.object));
}
