/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments to calls about virtual memory and memory pools. */
#define TEST_GROUP "bad."
#include "bad_arguments.h"

#include "vmm.h"

#include <fcntl.h>
#include <unistd.h>

#define NO_DEVICE  99
#define UNRESERVED ((CUdeviceptr)0x600000000000u)
#define POSIX_FD   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static CUmemAllocationProp prop_of(const bad *b)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = b->device;
    return prop;
}

static CUmemAccessDesc access_of(const bad *b)
{
    CUmemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = b->device;
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return desc;
}

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
    const CUmemAllocationProp good = prop_of(b);
    CU_OK(b->cu->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, b->device));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
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
            bad_row_with(rows[i].name, result, "node %d", node);
        else
            answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemRelease(handle));
    }
    CALL_ROW(b->cu, MemCreate, "NULL handle", NULL, VMM_SIZE, &good, 0);
    CALL_ROW(b->cu, MemCreate, "NULL properties", &handle, VMM_SIZE, NULL, 0);
    CALL_ROW(b->cu, MemCreate, "0 bytes", &handle, 0, &good, 0);
    CALL_ROW(b->cu, MemCreate, "4096 bytes", &handle, 4096, &good, 0);
    CALL_ROW(b->cu, MemCreate, "flags 1", &handle, VMM_SIZE, &good, 1);
    CALL_ROW(b->cu, MemCreate, "1 EiB", &handle, (size_t)1 << 60, &good, 0);
    CALL_ROW(b->cu, MemRelease, "0", 0);
}

BAD_CASE(addresses, .title = "bad.vmm_addresses", .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, range = 0;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, MemAddressReserve, "NULL", NULL, VMM_SIZE, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "0 bytes", &pointer, 0, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "4096 bytes", &pointer, 4096, 0, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "aligned to 3 MiB", &pointer, VMM_SIZE, (size_t)3 << 20, 0, 0);
    CALL_ROW(cu, MemAddressReserve, "flags 1", &pointer, VMM_SIZE, 0, 0, 1);
    CALL_ROW(cu, MemAddressReserve, "a hint within a granule", &pointer, VMM_SIZE, 0,
             UNRESERVED + 4096, 0);
    CU_OK(cu->MemAddressReserve(&range, 2 * VMM_SIZE, 0, 0, 0));
    CALL_ROW(cu, MemAddressFree, "half of it", range, VMM_SIZE);
    CALL_ROW(cu, MemAddressFree, "never reserved", UNRESERVED, VMM_SIZE);
    CALL_ROW(cu, MemUnmap, "nothing mapped", range, VMM_SIZE);
    CALL_ROW(cu, MemUnmap, "never reserved", UNRESERVED, VMM_SIZE);
    const CUmemAccessDesc access = access_of(b);
    CALL_ROW(cu, MemSetAccess, "nothing mapped", range, VMM_SIZE, &access, 1);
    CALL_ROW(b, MemsetD8, "reserved, nothing mapped", range, 1, 4);
    CU_OK(cu->MemAddressFree(range, 2 * VMM_SIZE));
}

/* Memory that is mapped and that nobody has access to. */
static void without_access(const bad *b, CUdeviceptr range)
{
    const raw_cuda *cu = b->cu;
    uint32_t word = 0;
    CUresult result = cu->MemsetD32Async(range, 1, 4, b->stream);
    bad_row_with("cuMemsetD32Async: mapped, without access", result, "then the stream %s",
                 raw_cuda_result_name(cu->StreamSynchronize(b->stream)));
    result = cu->MemcpyDtoH(&word, range, sizeof word);
    bad_row_with("cuMemcpyDtoH: mapped, without access", result, "then the context %s",
                 raw_cuda_result_name(cu->CtxSynchronize()));
}

static void access_rows(const bad *b, CUdeviceptr range)
{
    const raw_cuda *cu = b->cu;
    const CUmemAccessDesc good = access_of(b);
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
    CALL_ROW(cu, MemGetAccess, "NULL", NULL, &good.location, range);
    CALL_ROW(cu, MemGetAccess, "memory of cuMemAlloc", &flags, &good.location, b->memory);
}

BAD_CASE(mapping, .title = "bad.vmm_mapping", .mark = TEST_BOTH)
{
    CUdeviceptr range = 0;
    CUmemGenericAllocationHandle two, again;
    const raw_cuda *cu = b->cu;
    const CUmemAllocationProp prop = prop_of(b);
    CU_OK(cu->MemAddressReserve(&range, 4 * VMM_SIZE, 0, 0, 0));
    CU_OK(cu->MemCreate(&two, 2 * VMM_SIZE, &prop, 0));
    CALL_ROW(cu, MemMap, "handle 0", range, VMM_SIZE, 0, 0, 0);
    CALL_ROW(cu, MemMap, "flags 1", range, 2 * VMM_SIZE, 0, two, 1);
    CALL_ROW(cu, MemMap, "an offset of the whole size", range, 2 * VMM_SIZE, 2 * VMM_SIZE, two, 0);
    CALL_ROW(cu, MemMap, "0 bytes", range, 0, 0, two, 0);
    CALL_ROW(cu, MemMap, "never reserved", UNRESERVED, 2 * VMM_SIZE, 0, two, 0);
    CU_OK(cu->MemMap(range, 2 * VMM_SIZE, 0, two, 0));
    CALL_ROW(cu, MemMap, "where something is mapped", range, 2 * VMM_SIZE, 0, two, 0);
    CALL_ROW(cu, MemAddressFree, "while mapped", range, 4 * VMM_SIZE);
    CALL_ROW(cu, MemUnmap, "4096 bytes", range, 4096);
    CALL_ROW(cu, MemRetainAllocationHandle, "NULL", NULL, (void *)(uintptr_t)range);
    CALL_ROW(cu, MemRetainAllocationHandle, "memory of cuMemAlloc", &again,
             (void *)(uintptr_t)b->memory);
    without_access(b, range);
    access_rows(b, range);
    CU_OK(cu->MemUnmap(range, 2 * VMM_SIZE));
    CU_OK(cu->MemRelease(two));
    CU_OK(cu->MemAddressFree(range, 4 * VMM_SIZE));
}

static void importing(const bad *b)
{
    CUmemGenericAllocationHandle handle;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(null >= 0);
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, MemImportFromShareableHandle, "fd -1", &handle, (void *)(intptr_t)BAD_NO_FD,
             POSIX_FD);
    CALL_ROW(cu, MemImportFromShareableHandle, "/dev/null", &handle, (void *)(intptr_t)null,
             POSIX_FD);
    CALL_ROW(cu, MemImportFromShareableHandle, "NULL", NULL, NULL, POSIX_FD);
    CALL_ROW(cu, MemImportFromShareableHandle, "type 0", &handle, NULL, CU_MEM_HANDLE_TYPE_NONE);
    close(null);
}

BAD_CASE(sharing, .title = "bad.vmm_sharing", .mark = TEST_BOTH)
{
    CUmemGenericAllocationHandle own, shared;
    size_t granularity;
    int fd = BAD_NO_FD;
    const raw_cuda *cu = b->cu;
    CUmemAllocationProp prop = prop_of(b);
    CU_OK(cu->MemCreate(&own, VMM_SIZE, &prop, 0));
    prop.requestedHandleTypes = POSIX_FD;
    CU_OK(cu->MemCreate(&shared, VMM_SIZE, &prop, 0));
    CALL_ROW(cu, MemExportToShareableHandle, "not asked for at cuMemCreate", &fd, own, POSIX_FD, 0);
    CALL_ROW(cu, MemExportToShareableHandle, "NULL", NULL, shared, POSIX_FD, 0);
    CALL_ROW(cu, MemExportToShareableHandle, "flags 1", &fd, shared, POSIX_FD, 1);
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
    CU_IS(b->MulticastGetGranularity(NULL, &team, CU_MULTICAST_GRANULARITY_MINIMUM),
          multicast ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
    ANSWER("cuMulticastGetGranularity: NULL", "as the device's attribute lets expect");
    CU_OK(cu->MemRelease(shared));
    CU_OK(cu->MemRelease(own));
}

/* Pools --------------------------------------------------------------------------------------- */

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
    CUmemPoolProps good;
    CUmemoryPool pool;
    memset(&good, 0, sizeof good);
    good.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    good.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    good.location.id = b->device;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUmemPoolProps props = good;
        switch (rows[i].what) {
        case TYPE: props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID; break;
        case DEVICE: props.location.id = NO_DEVICE; break;
        case HOST: props.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}; break;
        case NUMA: props.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA}; break;
        default: props.reserved[10] = 1; break;
        }
        CUresult result = b->MemPoolCreate(&pool, &props);
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->MemPoolDestroy(pool));
    }
    CALL_ROW(b, MemPoolCreate, "NULL", NULL, &good);
    CALL_ROW(b, MemPoolCreate, "NULL properties", &pool, NULL);
    CU_OK(b->MemPoolCreate(&pool, &good));
    CUmemAccessDesc access = access_of(b);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CALL_ROW(b, MemPoolSetAccess, "none for its own device", pool, &access, 1);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CALL_ROW(b, MemPoolSetAccess, "reading alone", pool, &access, 1);
    CU_OK(b->MemPoolDestroy(pool));
}

static void default_pool(const bad *b)
{
    CUmemoryPool pool;
    uint64_t number = 0;
    int fd = BAD_NO_FD;
    CALL_ROW(b, DeviceGetDefaultMemPool, "NULL", NULL, b->device);
    CALL_ROW(b, DeviceGetDefaultMemPool, "device 99", &pool, NO_DEVICE);
    CALL_ROW(b, DeviceSetMemPool, "NULL", b->device, NULL);
    CU_OK(b->DeviceGetDefaultMemPool(&pool, b->device));
    CALL_ROW(b, MemPoolDestroy, "the default pool", pool);
    CALL_ROW(b, MemPoolDestroy, "NULL", NULL);
    CALL_ROW(b, MemPoolSetAttribute, "USED_MEM_CURRENT", pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
             &number);
    number = 5;
    CALL_ROW(b, MemPoolSetAttribute, "USED_MEM_HIGH to 5", pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
             &number);
    CALL_ROW(b, MemPoolGetAttribute, "attribute 99", pool, (CUmemPool_attribute)99, &number);
    CALL_ROW(b, MemPoolGetAttribute, "NULL", pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL);
    CALL_ROW(b, MemPoolTrimTo, "NULL", NULL, 0);
    CALL_ROW(b, MemPoolExportToShareableHandle, "the default pool", &fd, pool, POSIX_FD, 0);
}

BAD_CASE(pools, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, other;
    const raw_cuda *cu = b->cu;
    pools_made(b);
    default_pool(b);
    CALL_ROW(b, MemAllocAsync, "NULL", NULL, 64, b->stream);
    CUresult result = b->MemAllocAsync(&pointer, 0, b->stream);
    answer_call("cuMemAllocAsync: 0 bytes", result);
    if (result == CUDA_SUCCESS) CU_OK(b->MemFreeAsync(pointer, b->stream));
    CALL_ROW(b, MemAllocFromPoolAsync, "NULL pool", &pointer, 64, NULL, b->stream);
    CALL_ROW(b, MemFreeAsync, "0", 0, b->stream);
    CALL_ROW(b, MemFreeAsync, "garbage", BAD_ADDRESS, b->stream);
    CU_OK(cu->MemAlloc(&other, 4097));
    result = b->MemFreeAsync(other, b->stream);
    answer_call("cuMemFreeAsync: memory of cuMemAlloc", result);
    if (result != CUDA_SUCCESS) CU_OK(cu->MemFree(other));
    CU_OK(b->MemAllocAsync(&pointer, 4096, b->stream));
    CALL_ROW(b, MemFreeAsync, "in the middle", pointer + 512, b->stream);
    CU_OK(cu->StreamSynchronize(b->stream));
    result = cu->MemFree(pointer);
    answer_call("cuMemFree: memory of cuMemAllocAsync", result);
    if (result != CUDA_SUCCESS) CU_OK(b->MemFreeAsync(pointer, b->stream));
}
