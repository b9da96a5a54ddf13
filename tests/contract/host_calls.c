/* SPDX-License-Identifier: MIT */
/* Contract rows: calls that host code makes and the library does not, as cuda.h says of them. */
#define TEST_GROUP "host."
#include "contract.h"

#include <sys/mman.h>
#include <unistd.h>

/* A local function pointer NAME: cuNAME, looked up as version V. */
#define HOST_CALL(name, v)                                                                         \
    PFN_cu##name##_v##v name;                                                                      \
    raw_cuda_find(p->cu, "cu" #name, v, &name)
#define HOST_ROW(name, what, ...) answer_call("cu" #name ": " what, name(__VA_ARGS__))
enum { COUNT = 1000 };

static const char *code_path(const pair *p, char out[TEST_PATH_MAX])
{
    return test_path(out, p->cu->software ? "share/culvert/pattern.soft.so"
                                          : "share/culvert/pattern.fatbin");
}

/* Kernels of a library: their names, their parameters, and a launch by the kernel itself. */
PAIR_CASE(libraries, .mark = TEST_BOTH)
{
    if (p->cu->KernelGetParamInfo == NULL) SKIP("the driver has no cuKernelGetParamInfo");
    char path[TEST_PATH_MAX];
    CUlibrary library, same;
    CUkernel kernel;
    CUfunction function;
    CUmodule module;
    CUdeviceptr out;
    const char *name;
    static const size_t parameters[3][2] = {{0, 8}, {8, 4}, {12, 4}}; /* offset, bytes */
    unsigned words[COUNT];
    size_t offset, bytes;
    int value;
    CU_OK(p->cu->LibraryLoadFromFile(&library, code_path(p, path), NULL, NULL, 0, NULL, NULL, 0));
    CU_OK(p->cu->LibraryGetKernel(&kernel, library, "pattern_write"));
    CU_OK(p->cu->KernelGetName(&name, kernel));
    answer_so("name", strcmp(name, "pattern_write") == 0, name);
    for (size_t i = 0; i < 3; i++) {
        CU_OK(p->cu->KernelGetParamInfo(kernel, i, &offset, &bytes));
        test_answer_is(answer_key("parameter %zu", i),
                       offset == parameters[i][0] && bytes == parameters[i][1], "%zu bytes at %zu",
                       bytes, offset);
    }
    CALL_ROW(p->cu, KernelGetParamInfo, "parameter 3", kernel, 3, &offset, &bytes);
    CU_OK(p->cu->KernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel,
                                    0));
    CU_OK(p->cu->KernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
                                    0));
    answer_number("dynamic shared memory", value, 1024);
    CU_OK(p->cu->KernelGetFunction(&function, kernel));
    CU_OK(p->cu->FuncGetModule(&module, function));
    CU_OK(p->cu->MemAlloc(&out, sizeof words));
    CU_OK(words_launch(p->cu, (CUfunction)(void *)kernel, out, COUNT, 5, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    cuda_read(p, out, words, sizeof words);
    answer_wrong("words of a launch by the kernel",
                 words_wrong(words, pattern_words(sizeof words, 5), COUNT), COUNT);
    CALL_ROW(p->cu, LibraryGetKernel, "no such kernel", &kernel, library, "nobody");
    CALL_ROW(p->cu, LibraryGetGlobal, "no such variable", &out, &bytes, library, "nobody");
    CALL_ROW(p->cu, LibraryGetKernel, "NULL library", &kernel, NULL, "pattern_write");
    CALL_ROW(p->cu, KernelGetName, "NULL kernel", &name, NULL);
    CALL_ROW(p->cu, KernelGetFunction, "NULL kernel", &function, NULL);
    CALL_ROW(p->cu, KernelGetAttribute, "device 999", &value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel,
             999);
    CALL_ROW(p->cu, LibraryLoadFromFile, "no such file", &same, "/nowhere/kernels", NULL, NULL, 0,
             NULL, NULL, 0);
    CALL_ROW(p->cu, ModuleUnload, "a library's module", module);
    CU_OK(p->cu->MemFree(out));
    CU_OK(p->cu->LibraryUnload(library));
    CALL_ROW(p->cu, LibraryUnload, "NULL", NULL);
}

/* What is asked of pages, and what was said of them. */
static void advice(const pair *p, CUdeviceptr memory, size_t size)
{
    static const CUmem_range_attribute all[] = {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
    int mostly = -9, preferred = -9, prefetched = -9, accessed[3] = {-9, -9, -9};
    void *data[] = {&mostly, &preferred, accessed, &prefetched};
    size_t sizes[] = {4, 4, 12, 4};
    CUmem_range_attribute *which = (CUmem_range_attribute *)(uintptr_t)all;
    CU_OK(p->cu->MemRangeGetAttributes(data, sizes, which, 4, memory, size));
    ANSWER("before any advice", "%d %d [%d %d %d] %d", mostly, preferred, accessed[0], accessed[1],
           accessed[2], prefetched);
    CU_OK(p->cu->MemAdvise(memory, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    CU_OK(p->cu->MemAdvise(memory, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    CU_OK(p->cu->MemAdvise(memory, size, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
    CU_OK(p->cu->MemAdvise(memory, size, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    CU_OK(p->cu->MemPrefetchAsync(memory, size, 0, p->stream));
    CU_OK(p->cu->MemRangeGetAttributes(data, sizes, which, 4, memory, size));
    ANSWER("after it", "%d %d [%d %d %d] %d", mostly, preferred, accessed[0], accessed[1],
           accessed[2], prefetched);
    /* Half of the pages say otherwise. */
    CU_OK(p->cu->MemAdvise(memory, size / 2, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    CU_OK(p->cu->MemPrefetchAsync(memory, size / 2, CU_DEVICE_CPU, p->stream));
    CU_OK(p->cu->MemRangeGetAttributes(data, sizes, which, 4, memory, size));
    ANSWER("halves that differ", "%d %d %d", mostly, preferred, prefetched);
    CU_OK(p->cu->MemRangeGetAttribute(&mostly, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                      memory + size / 2, size / 2));
    ANSWER("the other half", "%d", mostly);
    CALL_ROW(p->cu, MemRangeGetAttribute, "8 bytes for READ_MOSTLY", data, 8,
             CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, size);
    CALL_ROW(p->cu, MemAdvise, "device 999", memory, size, CU_MEM_ADVISE_SET_ACCESSED_BY, 999);
    CALL_ROW(p->cu, MemAdvise, "beyond the end", memory, 2 * size, CU_MEM_ADVISE_SET_READ_MOSTLY,
             0);
    CUdeviceptr plain;
    CU_OK(p->cu->MemAlloc(&plain, size));
    CALL_ROW(p->cu, MemAdvise, "memory of cuMemAlloc", plain, size, CU_MEM_ADVISE_SET_READ_MOSTLY,
             0);
    CALL_ROW(p->cu, MemPrefetchAsync, "memory of cuMemAlloc", plain, size, 0, p->stream);
    CU_OK(p->cu->MemFree(plain));
}

/* The host writes, a kernel adds, the host reads: the same pages. */
PAIR_CASE(managed, .mark = TEST_BOTH)
{
    enum { SIZE = 4 << 20 };
    int managed, concurrent;
    unsigned is_managed, type;
    void *on_host;
    CUdeviceptr memory;
    CU_OK(p->cu->DeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
    CU_OK(p->cu->DeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0));
    if (!managed || !concurrent) SKIP("no managed memory that host and device use at once");
    CU_OK(p->cu->MemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_GLOBAL));
    CU_OK(p->cu->PointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    CU_OK(p->cu->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    CU_OK(p->cu->PointerGetAttribute(&on_host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    ANSWER("attributes", "managed %u, type %u, host pointer %s", is_managed, type,
           (uintptr_t)on_host == memory ? "the same" : "another one");
    unsigned *words = (unsigned *)(uintptr_t)memory;
    memcpy(words, pattern_words(COUNT * 4, 3), COUNT * 4);
    CU_OK(p->cu->StreamAttachMemAsync(p->stream, memory, 0, CU_MEM_ATTACH_SINGLE));
    CU_OK(words_run(p, "pattern_add", memory, COUNT * 4, 7));
    answer_wrong("words after the kernel", words_wrong(words, pattern_words(COUNT * 4, 10), COUNT),
                 COUNT);
    CU_OK(p->cu->StreamAttachMemAsync(p->stream, memory, 0, CU_MEM_ATTACH_GLOBAL));
    CALL_ROW(p->cu, StreamAttachMemAsync, "SINGLE to the NULL stream", NULL, memory, 0,
             CU_MEM_ATTACH_SINGLE);
    advice(p, memory, SIZE);
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(p->cu->MemFree(memory));
    CALL_ROW(p->cu, MemAllocManaged, "flags 0", &memory, SIZE, 0);
    CALL_ROW(p->cu, MemAllocManaged, "SINGLE", &memory, SIZE, CU_MEM_ATTACH_SINGLE);
    CALL_ROW(p->cu, MemAllocManaged, "0 bytes", &memory, 0, CU_MEM_ATTACH_GLOBAL);
}

/* Nodes by cuGraphAddNode, changed in the graph and in the executable one. */
PAIR_CASE(graph_nodes, .mark = TEST_BOTH)
{
    HOST_CALL(GraphAddNode, 12020);
    unsigned words[2][4];
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode set, copy;
    CUdeviceptr memory = raw_cuda_memory(p->cu, sizeof words);
    CU_OK(p->cu->GraphCreate(&graph, 0));
    CUgraphNodeParams setting = {.type = CU_GRAPH_NODE_TYPE_MEMSET},
                      copying = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    setting.memset.dst = memory;
    setting.memset.elementSize = 4;
    setting.memset.width = 4;
    setting.memset.height = 1;
    setting.memset.value = 10;
    copying.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copying.memcpy.copyParams.srcDevice = memory;
    copying.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copying.memcpy.copyParams.dstDevice = memory + 16;
    copying.memcpy.copyParams.WidthInBytes = 16;
    copying.memcpy.copyParams.Height = copying.memcpy.copyParams.Depth = 1;
    CU_OK(GraphAddNode(&set, graph, NULL, 0, &setting));
    CU_OK(GraphAddNode(&copy, graph, &set, 1, &copying));
    setting.memset.value = 11;
    CU_OK(p->cu->GraphNodeSetParams(set, &setting));
    CU_OK(p->cu->GraphInstantiateWithFlags(&exec, graph, 0));
    setting.memset.value = 12;
    for (unsigned turn = 0; turn < 2; turn++) {
        CU_OK(p->cu->GraphLaunch(exec, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        CU_OK(p->cu->MemcpyDtoH(words, memory, sizeof words));
        ANSWER(answer_key("turn %u", turn), "%u %u", words[0][3], words[1][3]);
        CU_OK(p->cu->GraphExecNodeSetParams(exec, set, &setting));
    }
    CALL_ROW(p->cu, GraphNodeSetParams, "another type", set, &copying);
    setting.reserved2 = 1;
    HOST_ROW(GraphAddNode, "a reserved word", &set, graph, NULL, 0, &setting);
    CU_OK(p->cu->GraphExecDestroy(exec));
    CU_OK(p->cu->GraphDestroy(graph));
}

/* What holds on any device. */
PAIR_CASE(occupancy, .mark = TEST_BOTH)
{
    CUfunction write = words_kernel(p->cu, "pattern_write");
    int processors, threads, blocks, grid, size, cooperative;
    size_t shared;
    CUdeviceptr out;
    unsigned count = 1, seed = 0;
    CU_OK(p->cu->DeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    CU_OK(
        p->cu->DeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
    CU_OK(p->cu->DeviceGetAttribute(&cooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    CU_OK(p->cu->OccupancyMaxPotentialBlockSize(&grid, &size, write, NULL, 0, 0));
    CU_OK(p->cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, write, size, 0));
    answer_number("threads of the best blocks", (int64_t)blocks * size, threads);
    answer_number("its grid", grid, (int64_t)blocks * processors);
    CU_OK(p->cu->OccupancyAvailableDynamicSMemPerBlock(&shared, write, blocks, size));
    answer_so("shared memory for that many", shared > 0, "none");
    CU_OK(p->cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, write, 2048, 0));
    answer_number("blocks of 2048 threads", blocks, 0);
    answer_call("blocks of 0 threads",
                p->cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, write, 0, 0));
    answer_call("NULL function",
                p->cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 64, 0));
    answer_call("NULL out", p->cu->OccupancyMaxActiveBlocksPerMultiprocessor(NULL, write, 64, 0));
    answer_number("cooperative launches", cooperative, 1);
    out = raw_cuda_memory(p->cu, 64);
    void *params[] = {&out, &count, &seed};
    CU_OK(p->cu->LaunchCooperativeKernel(write, (unsigned)grid, 1, 1, (unsigned)size, 1, 1, 0,
                                         p->stream, params));
    answer_call("a cooperative launch of one block too many",
                p->cu->LaunchCooperativeKernel(write, (unsigned)grid + 1, 1, 1, (unsigned)size, 1,
                                               1, 0, p->stream, params));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* cuda.h, cuImportExternalMemory: dma-bufs on Tegra only. With CUDA's own where it makes one, else
 * with a memfd. */
PAIR_CASE(import_dma_buf, .title = "host.dma_buf", .mark = TEST_TWIN_STRICTER, .reason = REPORTED,
          .own = true)
{
    const size_t size = 2u << 20;
    CUdeviceptr pointer = raw_cuda_memory(p->cu, size);
    CUexternalMemory memory = NULL;
    /* CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, from cuda.h 13.0 on. */
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = (CUexternalMemoryHandleType)(CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF + 1),
        .handle.fd = -1,
        .size = size};
    if (p->cu->MemGetHandleForAddressRange(&desc.handle.fd, pointer, size,
                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                           0) != CUDA_SUCCESS) {
        desc.handle.fd = memfd_create("no dma-buf", MFD_CLOEXEC);
        REQUIRE(desc.handle.fd >= 0 && ftruncate(desc.handle.fd, (off_t)size) == 0);
    }
    const CUresult imported = p->cu->ImportExternalMemory(&memory, &desc);
    answer_with("import as a dma-buf, flags 0", imported, "the fd is %s",
                fd_open(desc.handle.fd) ? "open" : "closed");
    if (imported == CUDA_SUCCESS) CU_OK(p->cu->DestroyExternalMemory(memory));
    if (fd_open(desc.handle.fd)) close(desc.handle.fd);
}

/* Who sees what who wrote, of Vulkan's host-visible memory that CUDA has imported: an answer for
 * each. A kernel that adds 1 reads and writes, and what CUDA wrote the host always sees. */
enum { SEEN_WORDS = 1024, SEEN_ROUNDS = 3 };

static void all_are(uint32_t *words, uint32_t value)
{
    for (size_t i = 0; i < SEEN_WORDS; i++)
        words[i] = value;
}

PAIR_CASE(who_sees, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin's memory is coherent; on a GPU CUDA reads Vulkan's old words")
{
    static uint32_t words[SEEN_WORDS];
    static const struct {
        const char *what;
        bool vulkan_writes, vulkan_reads, cuda_writes, kernel_last;
    } ways[] = {{"the host writes, a kernel reads", false, false, false, true},
                {"the host writes, Vulkan reads, a kernel reads", false, true, false, true},
                {"CUDA writes, the host reads", false, false, true, false},
                {"the host writes, Vulkan reads", false, true, false, false},
                {"Vulkan writes, the host reads", true, false, false, false},
                {"Vulkan writes, a kernel reads", true, false, false, true}};
    const shared_buffer b = pair_buffer(p, sizeof words, RAW_VK_HOST | RAW_VK_DEDICATED, true);
    uint32_t *host = b.vk.mapped;
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        size_t old = 0;
        all_are(host, 7);
        CU_OK(words_run(p, "pattern_add", b.pointer, sizeof words, 1)); /* CUDA has read it */
        for (uint32_t round = 0; round < SEEN_ROUNDS; round++) {
            const uint32_t value = 100 * (round + 1) + (uint32_t)way;
            const bool only_vulkan = ways[way].vulkan_reads && !ways[way].kernel_last;
            all_are(ways[way].vulkan_writes ? words : host, value);
            if (ways[way].vulkan_writes) raw_vk_write(&p->vk, &b.vk, 0, words, sizeof words);
            if (ways[way].vulkan_reads) raw_vk_read(&p->vk, &b.vk, 0, words, sizeof words);
            if (ways[way].cuda_writes) set_words(p, b.pointer, value + 1, SEEN_WORDS);
            if (ways[way].kernel_last)
                CU_OK(words_run(p, "pattern_add", b.pointer, sizeof words, 1));
            old += words_not(only_vulkan ? words : host,
                             value + (ways[way].cuda_writes || ways[way].kernel_last), SEEN_WORDS);
        }
        ANSWER(ways[way].what, "%s",
               old == 0                          ? "new words"
               : old == SEEN_ROUNDS * SEEN_WORDS ? "old words"
                                                 : "old words in some rounds");
    }
}
