/* SPDX-License-Identifier: MIT */
/* Contract rows: calls that host code makes and the library does not, as cuda.h says of them. */
#define TEST_GROUP "host."
#include "contract.h"

typedef struct host {
    const raw_cuda *cu;
    CUcontext context; /* primary, current */
    CUstream stream;
} host;

static void host_open(host *h)
{
    memset(h, 0, sizeof *h);
    h->cu = raw_cuda_open();
    h->context = raw_cuda_context(h->cu, 0);
    h->stream = raw_cuda_stream(h->cu);
}

static void host_close(host *h)
{
    test_settle();
    raw_cuda_leave(h->cu, 0);
}
#define HOST_CASE(...) TEST_ON(host, h, host_open(h), host_close(h), __VA_ARGS__)

/* A local function pointer NAME: cuNAME, looked up as version V. */
#define HOST_CALL(name, v)                                                                         \
    PFN_cu##name##_v##v name;                                                                      \
    raw_cuda_find(h->cu, "cu" #name, v, &name)
static unsigned expected(unsigned i, unsigned seed)
{
    return i * 2654435761u + seed;
}

enum { COUNT = 1000 };

static const char *code_path(const host *h, char out[TEST_PATH_MAX])
{
    return test_path(out, h->cu->software ? "share/culvert/pattern.soft.so"
                                          : "share/culvert/pattern.fatbin");
}

/* Kernels of a library: their names, their parameters, and a launch by the kernel itself. */
HOST_CASE(libraries, .mark = TEST_BOTH, .reason = "cuda.h")
{
    HOST_CALL(LibraryLoadFromFile, 12000);
    HOST_CALL(LibraryUnload, 12000);
    HOST_CALL(LibraryGetKernel, 12000);
    HOST_CALL(LibraryGetKernelCount, 12040);
    HOST_CALL(LibraryEnumerateKernels, 12040);
    HOST_CALL(LibraryGetModule, 12000);
    HOST_CALL(LibraryGetGlobal, 12000);
    HOST_CALL(KernelGetFunction, 12000);
    HOST_CALL(KernelGetLibrary, 12050);
    HOST_CALL(KernelGetName, 12030);
    HOST_CALL(KernelGetParamInfo, 12040);
    HOST_CALL(KernelGetAttribute, 12000);
    HOST_CALL(KernelSetAttribute, 12000);
    char path[TEST_PATH_MAX];
    CUlibrary library, same;
    CUkernel kernel, kernels[2];
    CUfunction function, by_module;
    CUmodule module;
    CUdeviceptr out;
    const char *name;
    unsigned count, words[COUNT], size = COUNT, seed = 5;
    size_t offset, bytes;
    int value;
    CU_OK(LibraryLoadFromFile(&library, code_path(h, path), NULL, NULL, 0, NULL, NULL, 0));
    CU_OK(LibraryGetKernelCount(&count, library));
    ANSWER("kernels", "%u", count);
    CU_OK(LibraryEnumerateKernels(kernels, 2, library));
    CU_OK(LibraryGetKernel(&kernel, library, "pattern_write"));
    REQUIRE(kernel == kernels[0] || kernel == kernels[1]);
    CU_OK(KernelGetName(&name, kernel));
    ANSWER("name", "%s", name);
    CU_OK(KernelGetLibrary(&same, kernel));
    ANSWER("its library", "%s", same == library ? "the same" : "another one");
    for (size_t i = 0; i < 3; i++) {
        CU_OK(KernelGetParamInfo(kernel, i, &offset, &bytes));
        ANSWER(answer_key("parameter %zu", i), "%zu bytes at %zu", bytes, offset);
    }
    answer_call("cuKernelGetParamInfo: parameter 3",
                KernelGetParamInfo(kernel, 3, &offset, &bytes));
    CU_OK(KernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel, 0));
    CU_OK(KernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    ANSWER("dynamic shared memory", "%d", value);
    CU_OK(LibraryGetModule(&module, library));
    CU_OK(KernelGetFunction(&function, kernel));
    CU_OK(h->cu->ModuleGetFunction(&by_module, module, "pattern_write"));
    ANSWER("its function", "%s", function == by_module ? "the module's" : "another one");
    CU_OK(h->cu->MemAlloc(&out, sizeof words));
    void *params[] = {&out, &size, &seed};
    CU_OK(h->cu->LaunchKernel((CUfunction)(void *)kernel, (COUNT + 63) / 64, 1, 1, 64, 1, 1, 0,
                              h->stream, params, NULL));
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CU_OK(h->cu->MemcpyDtoH(words, out, sizeof words));
    size_t wrong = 0;
    for (unsigned i = 0; i < COUNT; i++)
        wrong += words[i] != expected(i, seed);
    answer_wrong("words of a launch by the kernel", wrong, COUNT);
    answer_call("cuLibraryGetKernel: no such kernel", LibraryGetKernel(&kernel, library, "nobody"));
    answer_call("cuLibraryGetGlobal: no such variable",
                LibraryGetGlobal(&out, &bytes, library, "nobody"));
    answer_call("cuLibraryGetKernel: NULL library",
                LibraryGetKernel(&kernel, NULL, "pattern_write"));
    answer_call("cuKernelGetName: NULL kernel", KernelGetName(&name, NULL));
    answer_call("cuKernelGetFunction: NULL kernel", KernelGetFunction(&function, NULL));
    answer_call("cuKernelGetAttribute: device 999",
                KernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernels[0], 999));
    answer_call("cuLibraryLoadFromFile: no such file",
                LibraryLoadFromFile(&same, "/nowhere/kernels", NULL, NULL, 0, NULL, NULL, 0));
    CALL_ROW(h->cu, ModuleUnload, "a library's module", module);
    CU_OK(h->cu->MemFree(out));
    CU_OK(LibraryUnload(library));
    answer_call("cuLibraryUnload: NULL", LibraryUnload(NULL));
}

/* What is asked of pages, and what was said of them. */
static void advice(const host *h, CUdeviceptr memory, size_t size)
{
    static const CUmem_range_attribute all[] = {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
    HOST_CALL(MemAdvise, 8000);
    HOST_CALL(MemPrefetchAsync, 8000);
    HOST_CALL(MemRangeGetAttribute, 8000);
    HOST_CALL(MemRangeGetAttributes, 8000);
    int mostly = -9, preferred = -9, prefetched = -9, accessed[3] = {-9, -9, -9};
    void *data[] = {&mostly, &preferred, accessed, &prefetched};
    size_t sizes[] = {4, 4, 12, 4};
    CU_OK(MemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)(uintptr_t)all, 4, memory,
                                size));
    ANSWER("before any advice", "%d %d [%d %d %d] %d", mostly, preferred, accessed[0], accessed[1],
           accessed[2], prefetched);
    CU_OK(MemAdvise(memory, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    CU_OK(MemAdvise(memory, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    CU_OK(MemAdvise(memory, size, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
    CU_OK(MemAdvise(memory, size, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    CU_OK(MemPrefetchAsync(memory, size, 0, h->stream));
    CU_OK(MemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)(uintptr_t)all, 4, memory,
                                size));
    ANSWER("after it", "%d %d [%d %d %d] %d", mostly, preferred, accessed[0], accessed[1],
           accessed[2], prefetched);
    /* Half of the pages say otherwise. */
    CU_OK(MemAdvise(memory, size / 2, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    CU_OK(MemPrefetchAsync(memory, size / 2, CU_DEVICE_CPU, h->stream));
    CU_OK(MemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)(uintptr_t)all, 4, memory,
                                size));
    ANSWER("halves that differ", "%d %d %d", mostly, preferred, prefetched);
    CU_OK(MemRangeGetAttribute(&mostly, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory + size / 2,
                               size / 2));
    ANSWER("the other half", "%d", mostly);
    answer_call("cuMemRangeGetAttribute: 8 bytes for READ_MOSTLY",
                MemRangeGetAttribute(data, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, size));
    answer_call("cuMemAdvise: device 999",
                MemAdvise(memory, size, CU_MEM_ADVISE_SET_ACCESSED_BY, 999));
    answer_call("cuMemAdvise: beyond the end",
                MemAdvise(memory, 2 * size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    CUdeviceptr plain;
    CU_OK(h->cu->MemAlloc(&plain, size));
    answer_call("cuMemAdvise: memory of cuMemAlloc",
                MemAdvise(plain, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    answer_call("cuMemPrefetchAsync: memory of cuMemAlloc",
                MemPrefetchAsync(plain, size, 0, h->stream));
    CU_OK(h->cu->MemFree(plain));
}

/* The host writes, a kernel adds, the host reads: the same pages. */
HOST_CASE(managed, .mark = TEST_BOTH, .reason = "cuda.h")
{
    enum { SIZE = 4 << 20 };
    HOST_CALL(MemAllocManaged, 6000);
    HOST_CALL(StreamAttachMemAsync, 6000);
    int managed, concurrent;
    unsigned is_managed, type, count = COUNT, addend = 7;
    void *on_host;
    CUdeviceptr memory;
    CU_OK(h->cu->DeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
    CU_OK(h->cu->DeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0));
    if (!managed || !concurrent) SKIP("no managed memory that host and device use at once");
    CU_OK(MemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_GLOBAL));
    CU_OK(h->cu->PointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    CU_OK(h->cu->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    CU_OK(h->cu->PointerGetAttribute(&on_host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    ANSWER("attributes", "managed %u, type %u, host pointer %s", is_managed, type,
           (uintptr_t)on_host == memory ? "the same" : "another one");
    unsigned *words = (unsigned *)(uintptr_t)memory;
    for (unsigned i = 0; i < COUNT; i++)
        words[i] = expected(i, 3);
    CUmodule module = raw_cuda_module(h->cu, "pattern");
    CUfunction add = raw_cuda_function(h->cu, module, "pattern_add");
    void *params[] = {&memory, &count, &addend};
    CU_OK(StreamAttachMemAsync(h->stream, memory, 0, CU_MEM_ATTACH_SINGLE));
    CU_OK(h->cu->LaunchKernel(add, (COUNT + 63) / 64, 1, 1, 64, 1, 1, 0, h->stream, params, NULL));
    CU_OK(h->cu->StreamSynchronize(h->stream));
    size_t wrong = 0;
    for (unsigned i = 0; i < COUNT; i++)
        wrong += words[i] != expected(i, 3) + addend;
    answer_wrong("words after the kernel", wrong, COUNT);
    CU_OK(StreamAttachMemAsync(h->stream, memory, 0, CU_MEM_ATTACH_GLOBAL));
    answer_call("cuStreamAttachMemAsync: SINGLE to the NULL stream",
                StreamAttachMemAsync(NULL, memory, 0, CU_MEM_ATTACH_SINGLE));
    advice(h, memory, SIZE);
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CU_OK(h->cu->MemFree(memory));
    answer_call("cuMemAllocManaged: flags 0", MemAllocManaged(&memory, SIZE, 0));
    answer_call("cuMemAllocManaged: SINGLE", MemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_SINGLE));
    answer_call("cuMemAllocManaged: 0 bytes", MemAllocManaged(&memory, 0, CU_MEM_ATTACH_GLOBAL));
}

/* A stream waits for one word and writes two others, in one call. */
HOST_CASE(batches_of_words, .mark = TEST_BOTH, .reason = "cuda.h")
{
    HOST_CALL(StreamBatchMemOp, 11070);
    uint64_t found[3] = {0};
    CUstream other = raw_cuda_stream(h->cu);
    CUdeviceptr words = raw_cuda_memory(h->cu, sizeof found);
    CU_OK(h->cu->MemsetD32Async(words, 0, 6, h->stream));
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CUstreamBatchMemOpParams ops[3];
    memset(ops, 0, sizeof ops);
    ops[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    ops[0].waitValue.address = words;
    ops[0].waitValue.value64 = 41;
    ops[0].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    ops[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    ops[1].writeValue.address = words + 8;
    ops[1].writeValue.value64 = 0x1122334455667788u;
    ops[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[2].writeValue.address = words + 16;
    ops[2].writeValue.value = 99;
    CU_OK(StreamBatchMemOp(h->stream, 3, ops, 0));
    answer_call("before the value", h->cu->StreamQuery(h->stream));
    CU_OK(h->cu->StreamWriteValue64(other, words, 42, 0));
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CU_OK(h->cu->MemcpyDtoH(found, words, sizeof found));
    ANSWER("after it", "%llu %llx %llu", (unsigned long long)found[0], (unsigned long long)found[1],
           (unsigned long long)found[2]);
    answer_call("cuStreamBatchMemOp: 256 of them", StreamBatchMemOp(h->stream, 256, ops, 0));
    if (h->cu->software) /* an H100's driver crashes (580.159.04) */
        answer_call("cuStreamBatchMemOp: NULL", StreamBatchMemOp(h->stream, 1, NULL, 0));
    else
        ANSWER("cuStreamBatchMemOp: NULL", "crashes");
    answer_call("cuStreamBatchMemOp: flags 1", StreamBatchMemOp(h->stream, 3, ops, 1));
    ops[1].operation = (CUstreamBatchMemOpType)77;
    answer_call("cuStreamBatchMemOp: operation 77", StreamBatchMemOp(h->stream, 3, ops, 0));
    CU_OK(h->cu->StreamSynchronize(h->stream));
}

/* A captured write and a captured wait of a word. */
HOST_CASE(captured_words, .mark = TEST_BOTH, .reason = "cuda.h")
{
    HOST_CALL(GraphInstantiateWithFlags, 11040);
    uint64_t found = 0;
    size_t count = 0;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[4];
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUdeviceptr word = raw_cuda_memory(h->cu, sizeof found);
    CU_OK(h->cu->MemsetD32Async(word, 0, 2, h->stream));
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CU_OK(h->cu->StreamBeginCapture(h->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    answer_call("cuStreamWriteValue64", h->cu->StreamWriteValue64(h->stream, word, 7, 0));
    answer_call("cuStreamWaitValue64",
                h->cu->StreamWaitValue64(h->stream, word, 7, CU_STREAM_WAIT_VALUE_GEQ));
    const CUresult ended = h->cu->StreamEndCapture(h->stream, &graph);
    answer_call("cuStreamEndCapture", ended);
    if (ended != CUDA_SUCCESS) return;
    CU_OK(h->cu->GraphGetNodes(graph, NULL, &count));
    REQUIRE(count >= 1 && count <= 4);
    CU_OK(h->cu->GraphGetNodes(graph, nodes, &count));
    CU_OK(h->cu->GraphNodeGetType(nodes[0], &type));
    ANSWER("the graph", "%zu nodes, the first of type %d", count, (int)type);
    CU_OK(GraphInstantiateWithFlags(&exec, graph, 0));
    CU_OK(h->cu->GraphLaunch(exec, h->stream));
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CU_OK(h->cu->MemcpyDtoH(&found, word, sizeof found));
    REQUIRE_EQ(found, 7);
    CU_OK(h->cu->GraphExecDestroy(exec));
    CU_OK(h->cu->GraphDestroy(graph));
}

/* Copies of a batch, with sources that the call is done with when it returns. */
HOST_CASE(batches_of_copies, .mark = TEST_BOTH, .reason = "cuda.h")
{
    HOST_CALL(MemcpyBatchAsync, 12080);
    enum { EACH = 4096 };
    static unsigned char from[2][EACH], back[2][EACH];
    CUmemcpyAttributes attributes[2];
    size_t failed = 0, first[2] = {0, 1}, sizes[2] = {EACH, EACH};
    memset(attributes, 0, sizeof attributes);
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    for (unsigned i = 0; i < EACH; i++) {
        from[0][i] = (unsigned char)(i * 7);
        from[1][i] = (unsigned char)(i * 11 + 1);
    }
    CUdeviceptr memory = raw_cuda_memory(h->cu, sizeof from);
    CUdeviceptr to[2] = {memory, memory + EACH}, of[2] = {(uintptr_t)from[0], (uintptr_t)from[1]};
    CU_OK(MemcpyBatchAsync(to, of, sizes, 2, attributes, first, 2, &failed, h->stream));
    memset(from, 0, sizeof from);
    CU_OK(h->cu->StreamSynchronize(h->stream));
    CU_OK(h->cu->MemcpyDtoH(back, memory, sizeof back));
    size_t wrong = 0;
    for (unsigned i = 0; i < EACH; i++)
        wrong += back[0][i] != (unsigned char)(i * 7) || back[1][i] != (unsigned char)(i * 11 + 1);
    answer_wrong("bytes", wrong, EACH);
    answer_call("the NULL stream",
                MemcpyBatchAsync(to, of, sizes, 2, attributes, first, 2, &failed, NULL));
    first[0] = 1;
    answer_call("attributes that do not begin with 0",
                MemcpyBatchAsync(to, of, sizes, 2, attributes, first, 1, &failed, h->stream));
    first[0] = 0;
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    answer_call("no access order",
                MemcpyBatchAsync(to, of, sizes, 2, attributes, first, 2, &failed, h->stream));
}

/* Nodes by cuGraphAddNode, changed in the graph and in the executable one; a node that records an
 * event which others wait for, and one that waits. */
HOST_CASE(graph_nodes, .mark = TEST_BOTH, .reason = "cuda.h")
{
    HOST_CALL(GraphAddNode, 12020);
    HOST_CALL(GraphNodeSetParams, 12020);
    HOST_CALL(GraphExecNodeSetParams, 12020);
    HOST_CALL(GraphEventRecordNodeGetEvent, 11010);
    HOST_CALL(GraphInstantiateWithFlags, 11040);
    unsigned words[2][4];
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode set, copy, record, wait, batch;
    CUgraphNodeType type;
    CUevent same;
    CUstream other = raw_cuda_stream(h->cu);
    CUevent done = raw_cuda_event(h->cu, CU_EVENT_DISABLE_TIMING);
    CUevent before = raw_cuda_event(h->cu, CU_EVENT_DISABLE_TIMING);
    CUdeviceptr memory = raw_cuda_memory(h->cu, sizeof words + 16);
    CU_OK(h->cu->GraphCreate(&graph, 0));
    CUgraphNodeParams waiting = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT},
                      recording = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD},
                      setting = {.type = CU_GRAPH_NODE_TYPE_MEMSET},
                      copying = {.type = CU_GRAPH_NODE_TYPE_MEMCPY},
                      writing = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    CUstreamBatchMemOpParams op;
    memset(&op, 0, sizeof op);
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = memory + sizeof words;
    op.writeValue.value = 1234;
    waiting.eventWait.event = before;
    recording.eventRecord.event = done;
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
    writing.memOp.count = 1;
    writing.memOp.paramArray = &op;
    writing.memOp.ctx = h->context;
    CU_OK(GraphAddNode(&wait, graph, NULL, 0, &waiting));
    CU_OK(GraphAddNode(&set, graph, &wait, 1, &setting));
    CU_OK(GraphAddNode(&copy, graph, &set, 1, &copying));
    CU_OK(GraphAddNode(&batch, graph, &copy, 1, &writing));
    CU_OK(GraphAddNode(&record, graph, &batch, 1, &recording));
    CU_OK(h->cu->GraphNodeGetType(record, &type));
    CU_OK(GraphEventRecordNodeGetEvent(record, &same));
    ANSWER("the node of the event", "type %d, %s", (int)type,
           same == done ? "its event" : "another event");
    setting.memset.value = 11;
    CU_OK(GraphNodeSetParams(set, &setting));
    CU_OK(GraphInstantiateWithFlags(&exec, graph, 0));
    setting.memset.value = 12;
    for (unsigned turn = 0; turn < 2; turn++) {
        uint32_t number = 0;
        CU_OK(h->cu->EventRecord(before, other));
        CU_OK(h->cu->GraphLaunch(exec, h->stream));
        /* The event is the launch's from here on: who waits for it sees what was done. */
        CU_OK(h->cu->StreamWaitEvent(other, done, 0));
        CU_OK(h->cu->StreamSynchronize(other));
        CU_OK(h->cu->MemcpyDtoH(words, memory, sizeof words));
        CU_OK(h->cu->MemcpyDtoH(&number, memory + sizeof words, sizeof number));
        ANSWER(answer_key("turn %u", turn), "%u %u %u", words[0][3], words[1][3], number);
        CU_OK(GraphExecNodeSetParams(exec, set, &setting));
    }
    CU_OK(h->cu->StreamSynchronize(h->stream));
    answer_call("cuGraphNodeSetParams: another type", GraphNodeSetParams(set, &copying));
    writing.memOp.ctx = NULL;
    answer_call("cuGraphAddNode: words without a context",
                GraphAddNode(&batch, graph, NULL, 0, &writing));
    setting.reserved2 = 1;
    answer_call("cuGraphAddNode: a reserved word", GraphAddNode(&set, graph, NULL, 0, &setting));
    recording.eventRecord.event = NULL;
    answer_call("cuGraphAddNode: NULL event", GraphAddNode(&record, graph, NULL, 0, &recording));
    CU_OK(h->cu->GraphExecDestroy(exec));
    CU_OK(h->cu->GraphDestroy(graph));
}

/* What holds on any device. */
HOST_CASE(occupancy, .mark = TEST_BOTH, .reason = "cuda.h")
{
    HOST_CALL(OccupancyMaxActiveBlocksPerMultiprocessor, 6050);
    HOST_CALL(OccupancyMaxPotentialBlockSize, 6050);
    HOST_CALL(OccupancyAvailableDynamicSMemPerBlock, 10020);
    HOST_CALL(LaunchCooperativeKernel, 9000);
    CUmodule module = raw_cuda_module(h->cu, "pattern");
    CUfunction write = raw_cuda_function(h->cu, module, "pattern_write");
    int processors, threads, blocks, grid, size, cooperative;
    size_t shared;
    CUdeviceptr out;
    unsigned count = 1, seed = 0;
    CU_OK(h->cu->DeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    CU_OK(
        h->cu->DeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
    CU_OK(h->cu->DeviceGetAttribute(&cooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    CU_OK(OccupancyMaxPotentialBlockSize(&grid, &size, write, NULL, 0, 0));
    CU_OK(OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, write, size, 0));
    ANSWER("the best block", "%s",
           blocks * size == threads ? "fills the multiprocessor" : "leaves some of it");
    ANSWER("its grid", "%s", grid == blocks * processors ? "fills the device" : "is another one");
    CU_OK(OccupancyAvailableDynamicSMemPerBlock(&shared, write, blocks, size));
    ANSWER("shared memory for that many", "%s", shared > 0 ? "some" : "none");
    CU_OK(OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, write, 2048, 0));
    ANSWER("blocks of 2048 threads", "%d", blocks);
    answer_call("blocks of 0 threads",
                OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, write, 0, 0));
    answer_call("NULL function", OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 64, 0));
    answer_call("NULL out", OccupancyMaxActiveBlocksPerMultiprocessor(NULL, write, 64, 0));
    ANSWER("cooperative launches", "%d", cooperative);
    out = raw_cuda_memory(h->cu, 64);
    void *params[] = {&out, &count, &seed};
    CU_OK(LaunchCooperativeKernel(write, (unsigned)grid, 1, 1, (unsigned)size, 1, 1, 0, h->stream,
                                  params));
    answer_call("a cooperative launch of one block too many",
                LaunchCooperativeKernel(write, (unsigned)grid + 1, 1, 1, (unsigned)size, 1, 1, 0,
                                        h->stream, params));
    CU_OK(h->cu->StreamSynchronize(h->stream));
}
