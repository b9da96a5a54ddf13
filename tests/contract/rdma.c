/* SPDX-License-Identifier: MIT */
/* GPUDirect RDMA as user space sees it: which memory carries SYNC_MEMOPS, whose ids change, what
 * dma-bufs of parts of pages are, flushes and tokens. */
#define TEST_GROUP "rdma."
#include "contract.h"

#include <unistd.h>

static void set_sync(const pair *p, const char *what, CUdeviceptr pointer)
{
    unsigned on = 1;
    answer_call(answer_key("SYNC_MEMOPS, %s", what),
                p->cu->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer));
}

static void capable(const pair *p, const char *what, CUdeviceptr pointer)
{
    unsigned yes = 7;
    CUresult r =
        p->cu->PointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, pointer);
    answer_with(answer_key("IS_GPU_DIRECT_RDMA_CAPABLE, %s", what), r, "%u", yes & 0xff);
}

static void tokens(const pair *p, const char *what, CUdeviceptr pointer)
{
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS t;
    CUresult r = p->cu->PointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_P2P_TOKENS, pointer);
    answer_call(answer_key("P2P_TOKENS, %s", what), r);
}

PAIR_CASE(of_vmm, .mark = TEST_BOTH)
{
    unsigned long long before = 0, after = 0;
    const CUdeviceptr at = pair_range(p, 2 * VMM_SIZE);
    for (int rdma = 0; rdma < 2; rdma++) {
        const char *what = rdma ? "VMM memory with the flag" : "VMM memory without";
        CUmemAllocationProp prop = device_prop(p->device, 0);
        CUmemGenericAllocationHandle handle = 0;
        prop.allocFlags.gpuDirectRDMACapable = rdma != 0;
        const CUresult made = p->cu->MemCreate(&handle, VMM_SIZE, &prop, 0);
        answer_call(answer_key("cuMemCreate, %s", what), made);
        if (made != CUDA_SUCCESS) continue;
        vmm_map(p, at, VMM_SIZE, handle);
        capable(p, what, at);
        tokens(p, what, at);
        set_sync(p, what, at);
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
    const CUresult r = p->cu->MemGetHandleForAddressRange(
        &fd, pointer, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
    answer_call(answer_key("dma-buf, %s", what), r);
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
    set_sync(p, "cuMemAlloc", small[1]);
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
    answer_with(answer_key("one question, %s", what), r, "type %u, %s, %s, %s, %s, %zu bytes", type,
                managed & 0xff ? "managed" : "not managed", id ? "an id" : "no id",
                context != NULL ? "a context" : "no context", pool != NULL ? "a pool" : "no pool",
                size);
    answer_call(answer_key("BUFFER_ID alone, %s", what),
                p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer));
}

/* All questions of 1 MiB. */
static void tell_all(const pair *p, const char *what, CUdeviceptr pointer)
{
    tell(p, what, pointer);
    capable(p, what, pointer);
    tokens(p, what, pointer);
    set_sync(p, what, pointer);
    dma_buf(p, what, pointer, 1 << 20, 0);
}

PAIR_CASE(kinds, .mark = TEST_BOTH)
{
    enum { BYTES = 1 << 20 };
    CUdeviceptr freed = 0, managed = 0, pooled = 0;
    PFN_cuMemAllocManaged_v6000 alloc_managed;
    PFN_cuMemAllocAsync_v11020 alloc_async;
    void *locked = NULL;
    int on_stack = 0;
    raw_cuda_find(p->cu, "cuMemAllocManaged", 6000, &alloc_managed);
    raw_cuda_find(p->cu, "cuMemAllocAsync", 11020, &alloc_async);
    CUdeviceptr one = raw_cuda_memory(p->cu, 1000);
    CU_OK(p->cu->MemAlloc(&freed, 64u << 20));
    CU_OK(p->cu->MemFree(freed));
    CU_OK(p->cu->MemHostAlloc(&locked, BYTES, 0));
    tell(p, "cuMemAlloc", one);
    tell(p, "freed", freed);
    tell(p, "page-locked host memory", (CUdeviceptr)(uintptr_t)locked);
    tell(p, "the stack", (CUdeviceptr)(uintptr_t)&on_stack);
    tell_all(p, "a mapped external buffer", pair_buffer(p, BYTES, 0, false).pointer);
    CU_OK(alloc_managed(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    tell_all(p, "managed memory", managed);
    CU_OK(p->cu->MemFree(managed));
    CU_OK(alloc_async(&pooled, BYTES, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    tell_all(p, "a pool's memory", pooled);
    CU_OK(p->cu->MemFree(pooled));
    CU_OK(p->cu->MemFreeHost(locked));
}

/* Freed, and allocated again at the same address. */
PAIR_CASE(ids, .mark = TEST_BOTH)
{
    enum { TURNS = 16 };
    CUdeviceptr before = 0;
    unsigned long long last = 0;
    unsigned again = 0, other = 0;
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
    ANSWER("BUFFER_ID of another allocation at the same address", "%s",
           other == again ? "another" : "the same");
}

PAIR_CASE(flushes, .mark = TEST_BOTH)
{
    int options = -1, ordering = -1;
    unsigned flags = 0, now = 0;
    PFN_cuFlushGPUDirectRDMAWrites_v11030 flush;
    PFN_cuCtxSetFlags_v12010 set_flags;
    PFN_cuCtxGetFlags_v7000 get_flags;
    CU_OK(p->cu->DeviceGetAttribute(
        &options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, p->device));
    CU_OK(p->cu->DeviceGetAttribute(&ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                    p->device));
    ANSWER("flush options, ordering", "%d, %d", options, ordering);
    raw_cuda_find(p->cu, "cuFlushGPUDirectRDMAWrites", 11030, &flush);
    answer_call("flush to the owner", flush(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    answer_call("flush to all devices", flush(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                              CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
    raw_cuda_find(p->cu, "cuCtxSetFlags", 12010, &set_flags);
    raw_cuda_find(p->cu, "cuCtxGetFlags", 7000, &get_flags);
    CU_OK(get_flags(&flags));
    const CUresult set = set_flags(flags | CU_CTX_SYNC_MEMOPS);
    CU_OK(get_flags(&now));
    answer_with("cuCtxSetFlags, SYNC_MEMOPS", set, "%s",
                (now & CU_CTX_SYNC_MEMOPS) != 0 ? "it is set" : "it is not set");
    CU_OK(set_flags(flags));
}
