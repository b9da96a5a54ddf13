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
            bad_row(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemRelease(handle));
    }
    bad_row("cuMemCreate: NULL handle", b->cu->MemCreate(NULL, VMM_SIZE, &good, 0));
    bad_row("cuMemCreate: NULL properties", b->cu->MemCreate(&handle, VMM_SIZE, NULL, 0));
    bad_row("cuMemCreate: 0 bytes", b->cu->MemCreate(&handle, 0, &good, 0));
    bad_row("cuMemCreate: 4096 bytes", b->cu->MemCreate(&handle, 4096, &good, 0));
    bad_row("cuMemCreate: flags 1", b->cu->MemCreate(&handle, VMM_SIZE, &good, 1));
    bad_row("cuMemCreate: 1 EiB", b->cu->MemCreate(&handle, (size_t)1 << 60, &good, 0));
    bad_row("cuMemRelease: 0", b->cu->MemRelease(0));
}

BAD_CASE(addresses, .title = "bad.vmm_addresses", .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, range = 0;
    const raw_cuda *cu = b->cu;
    bad_row("cuMemAddressReserve: NULL", cu->MemAddressReserve(NULL, VMM_SIZE, 0, 0, 0));
    bad_row("cuMemAddressReserve: 0 bytes", cu->MemAddressReserve(&pointer, 0, 0, 0, 0));
    bad_row("cuMemAddressReserve: 4096 bytes", cu->MemAddressReserve(&pointer, 4096, 0, 0, 0));
    bad_row("cuMemAddressReserve: aligned to 3 MiB",
            cu->MemAddressReserve(&pointer, VMM_SIZE, (size_t)3 << 20, 0, 0));
    bad_row("cuMemAddressReserve: flags 1", cu->MemAddressReserve(&pointer, VMM_SIZE, 0, 0, 1));
    bad_row("cuMemAddressReserve: a hint within a granule",
            cu->MemAddressReserve(&pointer, VMM_SIZE, 0, UNRESERVED + 4096, 0));
    CU_OK(cu->MemAddressReserve(&range, 2 * VMM_SIZE, 0, 0, 0));
    bad_row("cuMemAddressFree: half of it", cu->MemAddressFree(range, VMM_SIZE));
    bad_row("cuMemAddressFree: never reserved", cu->MemAddressFree(UNRESERVED, VMM_SIZE));
    bad_row("cuMemUnmap: nothing mapped", cu->MemUnmap(range, VMM_SIZE));
    bad_row("cuMemUnmap: never reserved", cu->MemUnmap(UNRESERVED, VMM_SIZE));
    const CUmemAccessDesc access = access_of(b);
    bad_row("cuMemSetAccess: nothing mapped", cu->MemSetAccess(range, VMM_SIZE, &access, 1));
    bad_row("cuMemsetD8: reserved, nothing mapped", b->MemsetD8(range, 1, 4));
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
    bad_row("cuMemSetAccess: for nobody", cu->MemSetAccess(range, 2 * VMM_SIZE, &good, 0));
    bad_row("cuMemSetAccess: NULL", cu->MemSetAccess(range, 2 * VMM_SIZE, NULL, 1));
    bad_row("cuMemSetAccess: part of the mapping", cu->MemSetAccess(range, VMM_SIZE, &good, 1));
    CUmemAccessDesc other = good;
    other.flags = (CUmemAccess_flags)9;
    bad_row("cuMemSetAccess: access 9", cu->MemSetAccess(range, 2 * VMM_SIZE, &other, 1));
    other = good;
    other.location.id = NO_DEVICE;
    bad_row("cuMemSetAccess: device 99", cu->MemSetAccess(range, 2 * VMM_SIZE, &other, 1));
    bad_row("cuMemGetAccess: NULL", cu->MemGetAccess(NULL, &good.location, range));
    bad_row("cuMemGetAccess: memory of cuMemAlloc",
            cu->MemGetAccess(&flags, &good.location, b->memory));
}

BAD_CASE(mapping, .title = "bad.vmm_mapping", .mark = TEST_BOTH)
{
    CUdeviceptr range = 0;
    CUmemGenericAllocationHandle two, again;
    const raw_cuda *cu = b->cu;
    const CUmemAllocationProp prop = prop_of(b);
    CU_OK(cu->MemAddressReserve(&range, 4 * VMM_SIZE, 0, 0, 0));
    CU_OK(cu->MemCreate(&two, 2 * VMM_SIZE, &prop, 0));
    bad_row("cuMemMap: handle 0", cu->MemMap(range, VMM_SIZE, 0, 0, 0));
    bad_row("cuMemMap: flags 1", cu->MemMap(range, 2 * VMM_SIZE, 0, two, 1));
    bad_row("cuMemMap: an offset of the whole size",
            cu->MemMap(range, 2 * VMM_SIZE, 2 * VMM_SIZE, two, 0));
    bad_row("cuMemMap: 0 bytes", cu->MemMap(range, 0, 0, two, 0));
    bad_row("cuMemMap: never reserved", cu->MemMap(UNRESERVED, 2 * VMM_SIZE, 0, two, 0));
    CU_OK(cu->MemMap(range, 2 * VMM_SIZE, 0, two, 0));
    bad_row("cuMemMap: where something is mapped", cu->MemMap(range, 2 * VMM_SIZE, 0, two, 0));
    bad_row("cuMemAddressFree: while mapped", cu->MemAddressFree(range, 4 * VMM_SIZE));
    bad_row("cuMemUnmap: 4096 bytes", cu->MemUnmap(range, 4096));
    bad_row("cuMemRetainAllocationHandle: NULL",
            cu->MemRetainAllocationHandle(NULL, (void *)(uintptr_t)range));
    bad_row("cuMemRetainAllocationHandle: memory of cuMemAlloc",
            cu->MemRetainAllocationHandle(&again, (void *)(uintptr_t)b->memory));
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
    bad_row("cuMemImportFromShareableHandle: fd -1",
            cu->MemImportFromShareableHandle(&handle, (void *)(intptr_t)BAD_NO_FD, POSIX_FD));
    bad_row("cuMemImportFromShareableHandle: /dev/null",
            cu->MemImportFromShareableHandle(&handle, (void *)(intptr_t)null, POSIX_FD));
    bad_row("cuMemImportFromShareableHandle: NULL",
            cu->MemImportFromShareableHandle(NULL, NULL, POSIX_FD));
    bad_row("cuMemImportFromShareableHandle: type 0",
            cu->MemImportFromShareableHandle(&handle, NULL, CU_MEM_HANDLE_TYPE_NONE));
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
    bad_row("cuMemExportToShareableHandle: not asked for at cuMemCreate",
            cu->MemExportToShareableHandle(&fd, own, POSIX_FD, 0));
    bad_row("cuMemExportToShareableHandle: NULL",
            cu->MemExportToShareableHandle(NULL, shared, POSIX_FD, 0));
    bad_row("cuMemExportToShareableHandle: flags 1",
            cu->MemExportToShareableHandle(&fd, shared, POSIX_FD, 1));
    bad_row("cuMemExportToShareableHandle: type 0",
            cu->MemExportToShareableHandle(&fd, shared, CU_MEM_HANDLE_TYPE_NONE, 0));
    importing(b);
    const CUmemAllocationGranularity_flags minimum = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    bad_row("cuMemGetAllocationGranularity: NULL",
            cu->MemGetAllocationGranularity(NULL, &prop, minimum));
    bad_row(
        "cuMemGetAllocationGranularity: option 7",
        cu->MemGetAllocationGranularity(&granularity, &prop, (CUmemAllocationGranularity_flags)7));
    bad_row("cuMemGetAllocationGranularity: NULL properties",
            cu->MemGetAllocationGranularity(&granularity, NULL, minimum));
    bad_row("cuMemGetAllocationPropertiesFromHandle: handle 0",
            cu->MemGetAllocationPropertiesFromHandle(&prop, 0));
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
        bad_row(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->MemPoolDestroy(pool));
    }
    bad_row("cuMemPoolCreate: NULL", b->MemPoolCreate(NULL, &good));
    bad_row("cuMemPoolCreate: NULL properties", b->MemPoolCreate(&pool, NULL));
    CU_OK(b->MemPoolCreate(&pool, &good));
    CUmemAccessDesc access = access_of(b);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    bad_row("cuMemPoolSetAccess: none for its own device", b->MemPoolSetAccess(pool, &access, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    bad_row("cuMemPoolSetAccess: reading alone", b->MemPoolSetAccess(pool, &access, 1));
    CU_OK(b->MemPoolDestroy(pool));
}

static void default_pool(const bad *b)
{
    CUmemoryPool pool;
    uint64_t number = 0;
    int fd = BAD_NO_FD;
    bad_row("cuDeviceGetDefaultMemPool: NULL", b->DeviceGetDefaultMemPool(NULL, b->device));
    bad_row("cuDeviceGetDefaultMemPool: device 99", b->DeviceGetDefaultMemPool(&pool, NO_DEVICE));
    bad_row("cuDeviceSetMemPool: NULL", b->DeviceSetMemPool(b->device, NULL));
    CU_OK(b->DeviceGetDefaultMemPool(&pool, b->device));
    bad_row("cuMemPoolDestroy: the default pool", b->MemPoolDestroy(pool));
    bad_row("cuMemPoolDestroy: NULL", b->MemPoolDestroy(NULL));
    bad_row("cuMemPoolSetAttribute: USED_MEM_CURRENT",
            b->MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &number));
    number = 5;
    bad_row("cuMemPoolSetAttribute: USED_MEM_HIGH to 5",
            b->MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &number));
    bad_row("cuMemPoolGetAttribute: attribute 99",
            b->MemPoolGetAttribute(pool, (CUmemPool_attribute)99, &number));
    bad_row("cuMemPoolGetAttribute: NULL",
            b->MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL));
    bad_row("cuMemPoolTrimTo: NULL", b->MemPoolTrimTo(NULL, 0));
    bad_row("cuMemPoolExportToShareableHandle: the default pool",
            b->MemPoolExportToShareableHandle(&fd, pool, POSIX_FD, 0));
}

BAD_CASE(pools, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, other;
    const raw_cuda *cu = b->cu;
    pools_made(b);
    default_pool(b);
    bad_row("cuMemAllocAsync: NULL", b->MemAllocAsync(NULL, 64, b->stream));
    CUresult result = b->MemAllocAsync(&pointer, 0, b->stream);
    bad_row("cuMemAllocAsync: 0 bytes", result);
    if (result == CUDA_SUCCESS) CU_OK(b->MemFreeAsync(pointer, b->stream));
    bad_row("cuMemAllocFromPoolAsync: NULL pool",
            b->MemAllocFromPoolAsync(&pointer, 64, NULL, b->stream));
    bad_row("cuMemFreeAsync: 0", b->MemFreeAsync(0, b->stream));
    bad_row("cuMemFreeAsync: garbage", b->MemFreeAsync(BAD_ADDRESS, b->stream));
    CU_OK(cu->MemAlloc(&other, 4097));
    result = b->MemFreeAsync(other, b->stream);
    bad_row("cuMemFreeAsync: memory of cuMemAlloc", result);
    if (result != CUDA_SUCCESS) CU_OK(cu->MemFree(other));
    CU_OK(b->MemAllocAsync(&pointer, 4096, b->stream));
    bad_row("cuMemFreeAsync: in the middle", b->MemFreeAsync(pointer + 512, b->stream));
    CU_OK(cu->StreamSynchronize(b->stream));
    result = cu->MemFree(pointer);
    bad_row("cuMemFree: memory of cuMemAllocAsync", result);
    if (result != CUDA_SUCCESS) CU_OK(b->MemFreeAsync(pointer, b->stream));
}
