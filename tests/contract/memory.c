/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan memory imported as an opaque fd, where it works and where it fails, and the
 * fd after that. */
#define TEST_GROUP "memory."
#include "contract.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void import_and_compare(pair *p, unsigned vk_flags, bool dedicated_flag)
{
    static const size_t sizes[] = {4, 4096, 65536, 1000000, 8u << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        shared_buffer b = pair_buffer(p, sizes[i], vk_flags, dedicated_flag);
        answer_same_memory(p, answer_key("a buffer of %zu", sizes[i]), &b.vk, 0, b.pointer,
                           sizes[i], 0x1000u + (uint32_t)i);
    }
}

PAIR_AS(plain, import_and_compare(p, 0, false), .mark = TEST_BOTH, .smoke = true)
PAIR_AS(dedicated, import_and_compare(p, RAW_VK_DEDICATED, true), .mark = TEST_BOTH)
PAIR_AS(dedicated_without_flag, import_and_compare(p, RAW_VK_DEDICATED, false), .mark = TEST_BOTH,
        .reason = "neither driver sees the missing flag; the library does")
PAIR_AS(plain_with_flag, import_and_compare(p, 0, true), .mark = TEST_BOTH,
        .reason = "neither driver sees the flag too many; the library does")

PAIR_CASE(fd_is_consumed, .mark = TEST_BOTH)
{
    CUexternalMemory memory;
    raw_vk_buffer vk = pair_vk_buffer(p, 65536, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk), other = raw_vk_buffer_fd(&p->vk, &vk);
    CU_OK(raw_cuda_import_memory(p->cu, fd, vk.allocation_size, false, &memory));
    ANSWER("an imported fd", "%s",
           fd_open(fd) ? "still open, the driver's" : "closed by the import");
    CU_OK(p->cu->DestroyExternalMemory(memory));
    REQUIRE(!fd_open(fd) ||
            !same_file(fd, other)); /* gone, though a driver may have taken the number again */
    answer_ok("an import of a second fd",
              raw_cuda_import_memory(p->cu, other, vk.allocation_size, false, &memory));
    CU_OK(p->cu->DestroyExternalMemory(memory));
}

static unsigned long long buffer_id(const pair *p, CUdeviceptr pointer)
{
    unsigned long long id = 0;
    CU_OK(p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer));
    return id;
}

/* Every allocation and every mapping has a number of its own, also one at an address that was used
 * before. */
PAIR_CASE(pointer_attributes, .mark = TEST_BOTH)
{
    enum { PLAIN, MAPPED, AGAIN, ANEW, IDS };
    CUdeviceptr plain = 0;
    unsigned long long ids[IDS];
    int on = 1;
    CU_OK(p->cu->MemAlloc(&plain, 65536));
    ids[PLAIN] = buffer_id(p, plain);
    CU_OK(p->cu->MemFree(plain));
    shared_buffer b = pair_buffer(p, 65536, 0, false);
    ids[MAPPED] = buffer_id(p, b.pointer);
    REQUIRE_EQ(buffer_id(p, b.pointer + 4096), ids[MAPPED]);
    CU_OK(p->cu->MemFree(b.pointer));
    CU_OK(raw_cuda_map_buffer(p->cu, b.memory, 0, 65536, &b.pointer));
    ids[AGAIN] = buffer_id(p, b.pointer);
    CU_OK(p->cu->MemAlloc(&plain, 65536));
    ids[ANEW] = buffer_id(p, plain);
    CU_OK(p->cu->MemFree(plain));
    int zero = 0, alike = 0;
    for (int i = 0; i < IDS; i++) {
        zero += ids[i] == 0;
        for (int k = 0; k < i; k++)
            alike += ids[i] == ids[k];
    }
    answer_number("buffer ids of two allocations and two mappings, zero or alike", zero + alike, 0);
    answer_ok("SYNC_MEMOPS of a mapping",
              p->cu->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b.pointer));
}

#define SIZE (1u << 20)

PAIR_CASE(size_zero, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk);
    CUresult result = raw_cuda_import_memory(p->cu, fd, 0, false, &memory);
    answer_with("an import of size 0", result, "fd %s", fd_open(fd) ? "open" : "closed");
    REQUIRE(memory == NULL);
    answer_ok("the fd imported then",
              raw_cuda_import_memory(p->cu, fd, vk.allocation_size, false, &memory));
    CU_OK(p->cu->DestroyExternalMemory(memory));
}

PAIR_CASE(double_the_size, .mark = TEST_BOTH)
{
    CUexternalMemory memory;
    CUdeviceptr pointer = 0;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    const size_t twice = 2 * vk.allocation_size;
    answer_ok("an import of twice the size",
              raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &vk), twice, false, &memory));
    answer_call("a mapping of that size", raw_cuda_map_buffer(p->cu, memory, 0, twice, &pointer));
    REQUIRE_EQ(pointer, 0);
    CU_OK(p->cu->DestroyExternalMemory(memory));
}

PAIR_CASE(mapping_past_the_end, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0;
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    const uint64_t all = b.vk.allocation_size;
    answer_call("all of it, from 65,536 on",
                raw_cuda_map_buffer(p->cu, b.memory, 65536, all, &pointer));
    answer_call("from its end on", raw_cuda_map_buffer(p->cu, b.memory, all, 65536, &pointer));
    answer_call("twice its size", raw_cuda_map_buffer(p->cu, b.memory, 0, 2 * all, &pointer));
    REQUIRE_EQ(pointer, 0);
    answer_same_memory(p, "the good mapping", &b.vk, 0, b.pointer, SIZE, 3);
}

PAIR_CASE(second_mapping_of_dedicated, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0;
    shared_buffer b = pair_buffer(p, SIZE, RAW_VK_DEDICATED, true);
    answer_call("a mapping of the second half",
                raw_cuda_map_buffer(p->cu, b.memory, SIZE / 2, SIZE / 2, &pointer));
    CUresult whole = raw_cuda_map_buffer(p->cu, b.memory, 0, SIZE, &pointer);
    answer_call("a second whole mapping", whole);
    if (whole == CUDA_SUCCESS) CU_OK(p->cu->MemFree(pointer));
    answer_same_memory(p, "the first mapping", &b.vk, 0, b.pointer, SIZE, 4);
}

/* Whether a refused fd is closed differs from driver to driver, so it is reported. What the library
 * needs is that none is taken for memory without an error, and that it can tell afterwards whether
 * the number is still its own. */
PAIR_CASE(wrong_fds, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses each; NVIDIA's driver takes a timeline; both close them")
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    VkSemaphore timeline = raw_vk_timeline(&p->vk, 0, true);
    const struct {
        const char *name;
        int fd;
    } wrong[] = {{"dev_null", open("/dev/null", O_RDWR | O_CLOEXEC)},
                 {"pipe_read", ends[0]},
                 {"pipe_write", ends[1]},
                 {"eventfd", eventfd(0, EFD_CLOEXEC)},
                 {"program_file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC)},
                 {"timeline", raw_vk_timeline_fd(&p->vk, timeline)},
                 {"number -1", -1},
                 {"number 1000000", 1000000}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CUexternalMemory memory = NULL;
        const bool is_file = fd_open(wrong[i].fd);
        const int given = is_file ? fcntl(wrong[i].fd, F_DUPFD_CLOEXEC, 0) : wrong[i].fd;
        const CUresult result = raw_cuda_import_memory(p->cu, given, SIZE, false, &memory);
        const char *key = answer_key("import: %s", wrong[i].name);
        if (is_file)
            answer_with(key, result, "fd %s", fd_state(given, wrong[i].fd));
        else
            answer_refused(key, result);
        if (result == CUDA_SUCCESS) {
            CUdeviceptr pointer = 0;
            answer_refused(answer_key("map: %s", wrong[i].name),
                           raw_cuda_map_buffer(p->cu, memory, 0, SIZE, &pointer));
            CU_OK(p->cu->DestroyExternalMemory(memory));
        }
        if (is_file && same_file(given, wrong[i].fd)) close(given);
        if (is_file) close(wrong[i].fd);
    }
    raw_vk_timeline_destroy(&p->vk, timeline);
}

/* GPUDirect RDMA as user space sees it: which memory carries SYNC_MEMOPS, whose ids change, what
 * dma-bufs of parts of pages are, flushes and tokens. */
#undef TEST_GROUP
#define TEST_GROUP "rdma."

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
        CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, 0);
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
    void *locked = NULL;
    int on_stack = 0;
    CUdeviceptr one = raw_cuda_memory(p->cu, 1000);
    CU_OK(p->cu->MemAlloc(&freed, 64u << 20));
    CU_OK(p->cu->MemFree(freed));
    CU_OK(p->cu->MemHostAlloc(&locked, BYTES, 0));
    tell(p, "cuMemAlloc", one);
    tell(p, "freed", freed);
    tell(p, "page-locked host memory", (CUdeviceptr)(uintptr_t)locked);
    tell(p, "the stack", (CUdeviceptr)(uintptr_t)&on_stack);
    tell_all(p, "a mapped external buffer", pair_buffer(p, BYTES, 0, false).pointer);
    CU_OK(p->cu->MemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    tell_all(p, "managed memory", managed);
    CU_OK(p->cu->MemFree(managed));
    CU_OK(p->cu->MemAllocAsync(&pooled, BYTES, p->stream));
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
    CU_OK(p->cu->DeviceGetAttribute(
        &options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, p->device));
    CU_OK(p->cu->DeviceGetAttribute(&ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                    p->device));
    ANSWER("flush options, ordering", "%d, %d", options, ordering);
    answer_call("flush to the owner",
                p->cu->FlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    answer_call("flush to all devices",
                p->cu->FlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
    if (p->cu->CtxSetFlags == NULL) SKIP("the driver has no cuCtxSetFlags");
    CU_OK(p->cu->CtxGetFlags(&flags));
    const CUresult set = p->cu->CtxSetFlags(flags | CU_CTX_SYNC_MEMOPS);
    CU_OK(p->cu->CtxGetFlags(&now));
    answer_with("cuCtxSetFlags, SYNC_MEMOPS", set, "%s",
                (now & CU_CTX_SYNC_MEMOPS) != 0 ? "it is set" : "it is not set");
    CU_OK(p->cu->CtxSetFlags(flags));
}
