/* SPDX-License-Identifier: MIT */
/* Memory pools: allocations in stream order, and pools of other processes. */
#define TEST_GROUP "pools."
#include "twin.h"

#include <fcntl.h>
#include <unistd.h>

#define SIZE  100000u
#define POSIX CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

typedef struct pools {
    twin t;
    PFN_cuMemAllocAsync_v11020 alloc;
    PFN_cuMemAllocFromPoolAsync_v11020 alloc_from;
    PFN_cuMemFreeAsync_v11020 free;
    PFN_cuMemPoolCreate_v11020 create;
    PFN_cuMemPoolDestroy_v11020 destroy;
    PFN_cuMemPoolGetAttribute_v11020 get;
    PFN_cuMemPoolSetAttribute_v11020 set;
    PFN_cuMemPoolExportToShareableHandle_v11020 export_pool;
    PFN_cuMemPoolImportFromShareableHandle_v11020 import_pool;
    PFN_cuMemPoolExportPointer_v11020 export_pointer;
    PFN_cuMemPoolImportPointer_v11020 import_pointer;
} pools;

static pools pools_begin(void)
{
    pools p = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    const raw_cuda *cu = p.t.cu;
    twin_proc(cu, "cuMemAllocAsync", 11020, &p.alloc);
    twin_proc(cu, "cuMemAllocFromPoolAsync", 11020, &p.alloc_from);
    twin_proc(cu, "cuMemFreeAsync", 11020, &p.free);
    twin_proc(cu, "cuMemPoolCreate", 11020, &p.create);
    twin_proc(cu, "cuMemPoolDestroy", 11020, &p.destroy);
    twin_proc(cu, "cuMemPoolGetAttribute", 11020, &p.get);
    twin_proc(cu, "cuMemPoolSetAttribute", 11020, &p.set);
    twin_proc(cu, "cuMemPoolExportToShareableHandle", 11020, &p.export_pool);
    twin_proc(cu, "cuMemPoolImportFromShareableHandle", 11020, &p.import_pool);
    twin_proc(cu, "cuMemPoolExportPointer", 11020, &p.export_pointer);
    twin_proc(cu, "cuMemPoolImportPointer", 11020, &p.import_pointer);
    return p;
}

#define POOLS_CASE(...) TEST_ON(pools, p, *p = pools_begin(), twin_finish(&p->t), __VA_ARGS__)

static CUmemoryPool make(const pools *p, CUmemAllocationHandleType types, size_t max)
{
    CUmemPoolProps props;
    CUmemoryPool pool = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = types;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = max;
    CU_OK(p->create(&pool, &props));
    return pool;
}

POOLS_CASE(attributes)
{
    const raw_cuda *cu = p->t.cu;
    CUmemoryPool pool = make(p, CU_MEM_HANDLE_TYPE_NONE, 1u << 20), found = NULL;
    CUdeviceptr a = 0, b = 0;
    uint64_t bytes = 0, zero = 0;
    int on = 0;
    CU_OK(p->get(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &on));
    REQUIRE_EQ(on, 1);
    CU_OK(p->alloc_from(&a, SIZE, pool, p->t.stream));
    CU_IS(p->alloc_from(&b, 1u << 20, pool, p->t.stream), CUDA_ERROR_OUT_OF_MEMORY);
    CU_OK(p->get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
    REQUIRE(bytes >= SIZE && bytes < SIZE + 4096);
    CU_OK(cu->PointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    REQUIRE(found == pool);
    CU_OK(p->free(a, p->t.stream));
    CU_OK(cu->StreamSynchronize(p->t.stream));
    CU_OK(p->get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &bytes));
    REQUIRE(bytes >= SIZE);
    CU_OK(p->set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    CU_OK(p->get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &bytes));
    REQUIRE_EQ(bytes, 0);
    bytes = UINT64_MAX;
    CU_OK(p->set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
    /* Destroyed, it lives on with its memory. */
    CU_OK(p->alloc_from(&a, SIZE, pool, p->t.stream));
    CU_OK(p->destroy(pool));
    CU_IS(p->destroy(pool), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->MemsetD32Async(a, 1, 16, p->t.stream));
    CU_OK(p->free(a, p->t.stream));
    /* The device's pool. */
    PFN_cuDeviceGetDefaultMemPool_v11020 default_pool;
    PFN_cuDeviceGetMemPool_v11020 get_pool;
    PFN_cuDeviceSetMemPool_v11020 set_pool;
    twin_proc(cu, "cuDeviceGetDefaultMemPool", 11020, &default_pool);
    twin_proc(cu, "cuDeviceGetMemPool", 11020, &get_pool);
    twin_proc(cu, "cuDeviceSetMemPool", 11020, &set_pool);
    CUmemoryPool its_own = NULL;
    CU_OK(default_pool(&its_own, 0));
    pool = make(p, CU_MEM_HANDLE_TYPE_NONE, 0);
    CU_OK(set_pool(0, pool));
    CU_OK(get_pool(&found, 0));
    REQUIRE(found == pool);
    CU_OK(p->destroy(pool));
    CU_OK(get_pool(&found, 0));
    REQUIRE(found == its_own);
}

/* Memory's data means something with an exported pool alone, and spoiled data means nothing. */
POOLS_CASE(exported_pointers)
{
    CUmemoryPool pool = make(p, POSIX, 0), closed = make(p, CU_MEM_HANDLE_TYPE_NONE, 0), again;
    CUmemPoolPtrExportData data;
    CUdeviceptr a = 0, c = 0, there;
    int fd = -1;
    REQUIRE_EQ(twin_counts(p->t.cu).memory_pools, 2);
    CU_OK(p->alloc_from(&a, SIZE, pool, p->t.stream));
    CU_OK(p->alloc_from(&c, SIZE, closed, p->t.stream));
    CU_IS(p->export_pointer(&data, c), CUDA_ERROR_INVALID_VALUE);
    CU_OK(p->export_pool(&fd, pool, POSIX, 0));
    CU_OK(p->export_pointer(&data, a));
    CU_OK(p->import_pool(&again, (void *)(intptr_t)fd, POSIX, 0));
    data.reserved[0] ^= 1;
    CU_IS(p->import_pointer(&there, again, &data), CUDA_ERROR_INVALID_VALUE);
    CU_OK(p->destroy(again));
    close(fd);
    CU_OK(p->free(c, p->t.stream));
    CU_OK(p->free(a, p->t.stream));
    CU_OK(p->destroy(closed));
    CU_OK(p->destroy(pool));
    CU_OK(p->t.cu->StreamSynchronize(p->t.stream));
}
