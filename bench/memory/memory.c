/* SPDX-License-Identifier: MIT */
/* What the sections stand on. See memory.h. */
#include "memory.h"

#include "memory_words.h"

#include <inttypes.h>
#include <string.h>

enum { THREADS = 256 };

static void proc(const raw_cuda *cu, const char *name, int version, void *function)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (cu->GetProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found) !=
        CUDA_SUCCESS)
        address = NULL;
    memcpy(function, &address, sizeof address);
}

void memory_kernels_open(memory_kernels *k, const raw_cuda *cu)
{
    k->module = raw_cuda_load(cu, "bench_memory");
    k->fill = raw_cuda_function(cu, k->module, "memory_fill");
    k->check = raw_cuda_function(cu, k->module, "memory_check");
    k->pulse = raw_cuda_function(cu, k->module, "memory_pulse");
    RIG_CU(cu->MemAlloc(&k->wrong, sizeof(uint32_t)));
}

void memory_kernels_close(memory_kernels *k, const raw_cuda *cu)
{
    RIG_CU(cu->MemFree(k->wrong));
    RIG_CU(cu->ModuleUnload(k->module));
}

static uint32_t count_wrong(memory_bench *b, const memory_kernels *kernels, CUstream stream,
                            CUdeviceptr buffer, uint64_t from, uint64_t to)
{
    const raw_cuda *cu = b->bench.rig.cu;
    uint64_t first = from / 16, count = (to - from) / 16;
    uint32_t wrong = 0;
    CUdeviceptr counter = kernels->wrong;
    void *params[] = {&buffer, &first, &count, &b->seed, &counter};
    RIG_CU(cu->MemsetD32Async(counter, 0, 1, stream));
    RIG_CU(
        cu->LaunchKernel(kernels->check, b->blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
    RIG_CU(cu->StreamSynchronize(stream));
    RIG_CU(cu->MemcpyDtoH(&wrong, counter, sizeof wrong));
    return wrong;
}

/* One wrong word is seen, and one that is at another place. */
static void try_check(memory_bench *b)
{
    const rig *r = &b->bench.rig;
    const uint64_t bytes = 65536;
    CUdeviceptr buffer = raw_alloc(b, bytes);
    memory_fill(b, buffer, 0, bytes);
    REQUIRE_EQ(count_wrong(b, &b->kernels, r->stream, buffer, 0, bytes), 0);
    REQUIRE_EQ(count_wrong(b, &b->kernels, r->stream, buffer + 16, 0, bytes - 16), bytes / 4 - 4);
    RIG_CU(r->cu->MemsetD32Async(buffer + bytes / 2, b->seed, 1, r->stream));
    REQUIRE_EQ(count_wrong(b, &b->kernels, r->stream, buffer, 0, bytes), 1);
    raw_free(b, buffer);
}

void memory_open(memory_bench *b)
{
    const raw_cuda *cu = b->bench.rig.cu;
    int processors = 0, managed = 0;
    size_t granularity = 0;
    if (!b->bench.rig.caps.vmm || cu->MemCreate == NULL || cu->MemGetInfo == NULL)
        SKIP("%s has no virtual memory management", b->bench.rig.caps.name);
    proc(cu, "cuMemAllocAsync", 11020, &b->procs.MemAllocAsync);
    proc(cu, "cuMemFreeAsync", 11020, &b->procs.MemFreeAsync);
    RIG_CU(cu->DeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                  b->bench.rig.ordinal));
    if (managed != 0) {
        proc(cu, "cuMemAllocManaged", 6000, &b->procs.MemAllocManaged);
        proc(cu, "cuMemPrefetchAsync", 12020, &b->procs.MemPrefetchAsync);
        proc(cu, "cuMemPrefetchAsync", 8000, &b->procs.MemPrefetchAsync_v1);
    }
    RIG_CU(cu->DeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                  b->bench.rig.ordinal));
    b->blocks = (unsigned)processors * (cu->software ? 1u : 2048u / THREADS);
    b->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    b->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    b->prop.location.id = b->bench.rig.ordinal;
    b->access = (CUmemAccessDesc){.location = b->prop.location,
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    RIG_CU(
        cu->MemGetAllocationGranularity(&granularity, &b->prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    b->granularity = granularity;
    memory_kernels_open(&b->kernels, cu);
    try_check(b);
    b->free_at_start = memory_free(b);
    b->limit = b->bench.rig.caps.is_software ? MEMORY_MIB(64) : MEMORY_GIB(1);
    if (b->bench.quick) b->limit = MEMORY_MIB(16);
    while (b->limit > MEMORY_MIB(16) && !memory_fits(b, 2 * b->limit))
        b->limit /= 2;
}

void memory_collect(memory_bench *b)
{
    RIG_CU(b->bench.rig.cu->StreamSynchronize(b->bench.rig.stream));
    uint64_t left = culv_device_collect(b->bench.rig.device);
    if (left != 0) FAIL("Culvert holds %" PRIu64 " objects although no work is left", left);
}

void memory_require_freed(memory_bench *b)
{
    culv_device_counts counts = culv_device_counts_init();
    if (b->tally.made != b->tally.freed)
        FAIL("%" PRIu64 " objects were had from the driver, %" PRIu64 " were given back",
             b->tally.made, b->tally.freed);
    memory_collect(b);
    CULV_OK_OR_EXIT(culv_device_get_counts(b->bench.rig.device, &counts));
    REQUIRE_EQ(counts.vmm_allocations, 0);
    REQUIRE_EQ(counts.vmm_ranges, 0);
    REQUIRE_EQ(counts.vmm_mappings, 0);
}

void memory_close(memory_bench *b)
{
    memory_require_freed(b);
    memory_kernels_close(&b->kernels, b->bench.rig.cu);
}

uint64_t memory_free(const memory_bench *b)
{
    size_t available = 0, total = 0;
    RIG_CU(b->bench.rig.cu->MemGetInfo(&available, &total));
    return available;
}

bool memory_fits(const memory_bench *b, uint64_t bytes)
{
    return bytes <= memory_free(b) / 10 * 9;
}

/* Contents ------------------------------------------------------------------------------------- */

void memory_fill(memory_bench *b, CUdeviceptr buffer, uint64_t from, uint64_t to)
{
    const rig *r = &b->bench.rig;
    uint64_t first = from / 16, count = (to - from) / 16;
    void *params[] = {&buffer, &first, &count, &b->seed};
    RIG_CU(r->cu->LaunchKernel(b->kernels.fill, b->blocks, 1, 1, THREADS, 1, 1, 0, r->stream,
                               params, NULL));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
}

void memory_check_by(memory_bench *b, const memory_kernels *kernels, CUstream stream,
                     CUdeviceptr buffer, uint64_t from, uint64_t to, const char *what)
{
    uint32_t wrong = count_wrong(b, kernels, stream, buffer, from, to);
    if (wrong != 0)
        FAIL("%s: %" PRIu32 " words of bytes %" PRIu64 " to %" PRIu64 " are wrong", what, wrong,
             from, to);
    b->checked += (to - from) / 4;
}

void memory_check(memory_bench *b, CUdeviceptr buffer, uint64_t from, uint64_t to, const char *what)
{
    memory_check_by(b, &b->kernels, b->bench.rig.stream, buffer, from, to, what);
}

void memory_check_word(memory_bench *b, CUdeviceptr buffer, uint64_t offset, const char *what)
{
    uint32_t is = 0;
    uint64_t at = offset / 4;
    uint32_t expected = MEMORY_WORD(b->seed, at);
    RIG_CU(b->bench.rig.cu->MemcpyDtoH(&is, buffer + offset, sizeof is));
    if (is != expected)
        FAIL("%s: the word at byte %" PRIu64 " is %08" PRIx32 ", not %08" PRIx32, what, offset, is,
             expected);
    b->checked++;
}

/* The driver's calls --------------------------------------------------------------------------- */

CUdeviceptr raw_alloc(memory_bench *b, uint64_t bytes)
{
    CUdeviceptr pointer = 0;
    RIG_CU(b->bench.rig.cu->MemAlloc(&pointer, (size_t)bytes));
    b->tally.made++;
    return pointer;
}

void raw_free(memory_bench *b, CUdeviceptr pointer)
{
    RIG_CU(b->bench.rig.cu->MemFree(pointer));
    b->tally.freed++;
}

CUdeviceptr raw_reserve(memory_bench *b, uint64_t bytes, CUdeviceptr at)
{
    CUdeviceptr pointer = 0;
    RIG_CU(
        b->bench.rig.cu->MemAddressReserve(&pointer, (size_t)bytes, (size_t)b->granularity, at, 0));
    b->tally.made++;
    return pointer;
}

void raw_unreserve(memory_bench *b, CUdeviceptr at, uint64_t bytes)
{
    RIG_CU(b->bench.rig.cu->MemAddressFree(at, (size_t)bytes));
    b->tally.freed++;
}

CUmemGenericAllocationHandle raw_create(memory_bench *b, uint64_t bytes)
{
    CUmemGenericAllocationHandle handle = 0;
    RIG_CU(b->bench.rig.cu->MemCreate(&handle, (size_t)bytes, &b->prop, 0));
    b->tally.made++;
    return handle;
}

void raw_release(memory_bench *b, CUmemGenericAllocationHandle handle)
{
    RIG_CU(b->bench.rig.cu->MemRelease(handle));
    b->tally.freed++;
}

void raw_map(memory_bench *b, CUdeviceptr at, uint64_t bytes, CUmemGenericAllocationHandle handle,
             const CUmemAccessDesc *access, size_t count)
{
    RIG_CU(b->bench.rig.cu->MemMap(at, (size_t)bytes, 0, handle, 0));
    RIG_CU(b->bench.rig.cu->MemSetAccess(at, (size_t)bytes, access, count));
    b->tally.made++;
}

void raw_unmap(memory_bench *b, CUdeviceptr at, uint64_t bytes)
{
    RIG_CU(b->bench.rig.cu->MemUnmap(at, (size_t)bytes));
    b->tally.freed++;
}

bool raw_has_managed(const memory_bench *b)
{
    return b->procs.MemAllocManaged != NULL &&
           (b->procs.MemPrefetchAsync != NULL || b->procs.MemPrefetchAsync_v1 != NULL);
}

CUdeviceptr raw_alloc_managed(memory_bench *b, uint64_t bytes)
{
    CUdeviceptr pointer = 0;
    RIG_CU(b->procs.MemAllocManaged(&pointer, (size_t)bytes, CU_MEM_ATTACH_GLOBAL));
    b->tally.made++;
    return pointer;
}

void raw_prefetch(memory_bench *b, CUdeviceptr at, uint64_t bytes)
{
    const rig *r = &b->bench.rig;
    const CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = r->ordinal};
    if (b->procs.MemPrefetchAsync != NULL)
        RIG_CU(b->procs.MemPrefetchAsync(at, (size_t)bytes, here, 0, r->stream));
    else
        RIG_CU(b->procs.MemPrefetchAsync_v1(at, (size_t)bytes, r->ordinal, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
}
