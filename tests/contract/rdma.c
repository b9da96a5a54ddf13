/* SPDX-License-Identifier: MIT */
/* GPUDirect RDMA as user space sees it: which memory carries SYNC_MEMOPS, whose ids change, what
 * dma-bufs of parts of pages are, flushes and tokens. */
#define TEST_GROUP "rdma."
#include "images.h"
#include "vmm.h"

#include <unistd.h>

static const char *result_of(CUresult result)
{
    return raw_cuda_result_name(result);
}

static CUresult set_sync(const pair *p, CUdeviceptr pointer)
{
    unsigned on = 1;
    return p->cu->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer);
}

static CUmemGenericAllocationHandle create(const pair *p, bool rdma, CUresult *result)
{
    CUmemAllocationProp prop;
    CUmemGenericAllocationHandle handle = 0;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = p->device;
    prop.allocFlags.gpuDirectRDMACapable = rdma;
    *result = p->cu->MemCreate(&handle, VMM_SIZE, &prop, 0);
    return handle;
}

static void capable(const pair *p, const char *what, CUdeviceptr pointer)
{
    unsigned yes = 7;
    CUresult r =
        p->cu->PointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, pointer);
    ANSWER(answer_key("IS_GPU_DIRECT_RDMA_CAPABLE, %s", what), "%s, %u", result_of(r), yes & 0xff);
}

static void tokens(const pair *p, const char *what, CUdeviceptr pointer)
{
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS t;
    CUresult r = p->cu->PointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_P2P_TOKENS, pointer);
    ANSWER(answer_key("P2P_TOKENS, %s", what), "%s", result_of(r));
}

VMM_PAIR_CASE(of_vmm, .mark = TEST_BOTH)
{
    unsigned long long before = 0, after = 0;
    if (p->cu->PointerGetAttribute == NULL || p->cu->PointerSetAttribute == NULL)
        SKIP("no pointer attributes");
    const CUdeviceptr at = pair_range(p, 2 * VMM_SIZE);
    for (int rdma = 0; rdma < 2; rdma++) {
        const char *what = rdma ? "VMM memory with the flag" : "VMM memory without";
        CUresult made;
        CUmemGenericAllocationHandle handle = create(p, rdma != 0, &made);
        ANSWER(answer_key("cuMemCreate, %s", what), "%s", result_of(made));
        if (made != CUDA_SUCCESS) continue;
        vmm_map(p, at, VMM_SIZE, handle);
        capable(p, what, at);
        tokens(p, what, at);
        ANSWER(answer_key("SYNC_MEMOPS, %s", what), "%s", result_of(set_sync(p, at)));
        CU_OK(p->cu->PointerGetAttribute(&before, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
        CU_OK(p->cu->MemUnmap(at, VMM_SIZE));
        vmm_map(p, at, VMM_SIZE, handle);
        CU_OK(p->cu->PointerGetAttribute(&after, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
        ANSWER(answer_key("BUFFER_ID of the same mapped again there, %s", what), "%s",
               after == 0        ? "0"
               : after == before ? "the same"
                                 : "another");
        REQUIRE(before != 0);
        CU_OK(p->cu->MemUnmap(at, VMM_SIZE));
        CU_OK(p->cu->MemRelease(handle));
    }
}

static void dma_buf(const pair *p, const char *what, CUdeviceptr pointer, size_t size,
                    unsigned long long flags)
{
    int fd = -1;
    CUresult r = CUDA_ERROR_NOT_FOUND;
    if (p->cu->MemGetHandleForAddressRange != NULL)
        r = p->cu->MemGetHandleForAddressRange(&fd, pointer, size,
                                               CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
    ANSWER(answer_key("dma-buf, %s", what), "%s", result_of(r));
    if (r == CUDA_SUCCESS) close(fd);
}

/* Small allocations share a page of the host, so a dma-buf of one has others in it. */
PAIR_CASE(of_small, .mark = TEST_BOTH)
{
    enum { COUNT = 3 };
    CUdeviceptr small[COUNT];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < COUNT; i++)
        CU_OK(p->cu->MemAlloc(&small[i], 1000));
    const CUdeviceptr start = small[1] / page * page;
    const CUdeviceptr end = (small[1] + 1000 + page - 1) / page * page;
    dma_buf(p, "the pages of 1000 bytes", start, (size_t)(end - start), 0);
    capable(p, "cuMemAlloc", small[1]);
    tokens(p, "cuMemAlloc", small[1]);
    ANSWER("SYNC_MEMOPS, cuMemAlloc", "%s", result_of(set_sync(p, small[1])));
    for (int i = 0; i < COUNT; i++)
        CU_OK(p->cu->MemFree(small[i]));
    CUdeviceptr large = raw_cuda_memory(p->cu, 4u << 20);
    dma_buf(p, "a part of 4 MiB", large + page, 8 * page, 0);
    dma_buf(p, "over PCI Express", large, 8 * page, 1);
    dma_buf(p, "beyond the end", large, (4u << 20) + (64u << 20), 0);
}

/* What one question tells of each kind of memory. */
static void tell(const pair *p, const char *what, CUdeviceptr pointer)
{
    unsigned type = 0, managed = 0;
    unsigned long long id = 0;
    CUcontext context = NULL;
    CUmemoryPool pool = NULL;
    size_t size = 0;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,   CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    void *values[] = {&type, &managed, &id, &context, &size, &pool};
    CUresult r = p->cu->PointerGetAttributes(6, attributes, values, pointer);
    ANSWER(answer_key("one question, %s", what), "%s, type %u, %s, %s, %s, %s, %zu bytes",
           result_of(r), type, managed & 0xff ? "managed" : "not managed", id ? "an id" : "no id",
           context != NULL ? "a context" : "no context", pool != NULL ? "a pool" : "no pool", size);
    ANSWER(answer_key("BUFFER_ID alone, %s", what), "%s",
           result_of(p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer)));
}

static void *optional(const pair *p, const char *name, int version)
{
    CUdriverProcAddressQueryResult status;
    void *address = NULL;
    if (p->cu->GetProcAddress(name, &address, version, 0, &status) != CUDA_SUCCESS) return NULL;
    return address;
}

PAIR_CASE(kinds, .mark = TEST_BOTH)
{
    enum { BYTES = 1 << 20 };
    CUdeviceptr freed = 0, imported = 0, managed = 0, pooled = 0;
    void *locked = NULL, *address;
    int on_stack = 0;
    if (p->cu->PointerGetAttributes == NULL) SKIP("no pointer attributes");
    CUdeviceptr one = raw_cuda_memory(p->cu, 1000);
    CU_OK(p->cu->MemAlloc(&freed, 64u << 20));
    CU_OK(p->cu->MemFree(freed));
    CU_OK(p->cu->MemHostAlloc(&locked, BYTES, 0));
    tell(p, "cuMemAlloc", one);
    tell(p, "freed", freed);
    tell(p, "page-locked host memory", (CUdeviceptr)(uintptr_t)locked);
    tell(p, "the stack", (CUdeviceptr)(uintptr_t)&on_stack);
    shared_buffer shared;
    shared_buffer_open(p, BYTES, 0, false, &shared);
    imported = shared.pointer;
    tell(p, "a mapped external buffer", imported);
    capable(p, "a mapped external buffer", imported);
    tokens(p, "a mapped external buffer", imported);
    ANSWER("SYNC_MEMOPS, a mapped external buffer", "%s", result_of(set_sync(p, imported)));
    dma_buf(p, "a mapped external buffer", imported, BYTES, 0);
    shared_buffer_close(p, &shared);
    if ((address = optional(p, "cuMemAllocManaged", 6000)) != NULL) {
        PFN_cuMemAllocManaged_v6000 alloc;
        memcpy(&alloc, &address, sizeof alloc);
        CU_OK(alloc(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
        tell(p, "managed memory", managed);
        capable(p, "managed memory", managed);
        tokens(p, "managed memory", managed);
        ANSWER("SYNC_MEMOPS, managed memory", "%s", result_of(set_sync(p, managed)));
        dma_buf(p, "managed memory", managed, BYTES, 0);
        CU_OK(p->cu->MemFree(managed));
    }
    if ((address = optional(p, "cuMemAllocAsync", 11020)) != NULL) {
        PFN_cuMemAllocAsync_v11020 alloc;
        memcpy(&alloc, &address, sizeof alloc);
        CU_OK(alloc(&pooled, BYTES, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        tell(p, "a pool's memory", pooled);
        capable(p, "a pool's memory", pooled);
        tokens(p, "a pool's memory", pooled);
        ANSWER("SYNC_MEMOPS, a pool's memory", "%s", result_of(set_sync(p, pooled)));
        dma_buf(p, "a pool's memory", pooled, BYTES, 0);
        CU_OK(p->cu->MemFree(pooled));
    }
    CU_OK(p->cu->MemFreeHost(locked));
}

/* Freed, and allocated again at the same address. */
PAIR_CASE(ids, .mark = TEST_BOTH)
{
    enum { TURNS = 16 };
    CUdeviceptr before = 0;
    unsigned long long last = 0;
    unsigned again = 0, other = 0;
    if (p->cu->PointerGetAttribute == NULL) SKIP("no pointer attributes");
    for (int i = 0; i < TURNS; i++) {
        CUdeviceptr at = 0;
        unsigned long long id = 0;
        CU_OK(p->cu->MemAlloc(&at, 8u << 20));
        CU_OK(p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
        if (i > 0 && at == before) {
            again++;
            other += id != last;
        }
        before = at;
        last = id;
        CU_OK(p->cu->MemFree(at));
    }
    MEASURED("rdma.ids", "%u of %d at the address before", again, TURNS - 1);
    ANSWER("BUFFER_ID of another allocation at the same address", "%s",
           other == again ? "another" : "the same");
}

PAIR_CASE(flushes, .mark = TEST_BOTH)
{
    int options = -1, ordering = -1;
    PFN_cuFlushGPUDirectRDMAWrites_v11030 flush = NULL;
    PFN_cuCtxSetFlags_v12010 set_flags = NULL;
    PFN_cuCtxGetFlags_v7000 get_flags = NULL;
    CUdriverProcAddressQueryResult status;
    void *address = NULL;
    CU_OK(p->cu->DeviceGetAttribute(
        &options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, p->device));
    CU_OK(p->cu->DeviceGetAttribute(&ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                    p->device));
    ANSWER("flush options, ordering", "%d, %d", options, ordering);
    if (p->cu->GetProcAddress("cuFlushGPUDirectRDMAWrites", &address, 11030, 0, &status) ==
            CUDA_SUCCESS &&
        address != NULL) {
        memcpy(&flush, &address, sizeof flush);
        ANSWER("flush to the owner", "%s",
               result_of(flush(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                               CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)));
        ANSWER("flush to all devices", "%s",
               result_of(flush(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                               CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES)));
    }
    address = NULL;
    if (p->cu->GetProcAddress("cuCtxSetFlags", &address, 12010, 0, &status) == CUDA_SUCCESS &&
        address != NULL) {
        unsigned flags = 0;
        memcpy(&set_flags, &address, sizeof set_flags);
        CU_OK(p->cu->GetProcAddress("cuCtxGetFlags", &address, 7000, 0, &status));
        memcpy(&get_flags, &address, sizeof get_flags);
        CU_OK(get_flags(&flags));
        const CUresult set = set_flags(flags | CU_CTX_SYNC_MEMOPS);
        unsigned now = 0;
        CU_OK(get_flags(&now));
        ANSWER("cuCtxSetFlags, SYNC_MEMOPS", "%s, %s", result_of(set),
               (now & CU_CTX_SYNC_MEMOPS) != 0 ? "it is set" : "it is not set");
        CU_OK(set_flags(flags));
    }
}
