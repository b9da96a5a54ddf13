/* SPDX-License-Identifier: MIT */
/* Contract rows: what belongs to virtual memory management besides single allocations: ranges of
 * several devices' memory, memory pools, and stream captures meanwhile. */
#define TEST_GROUP "vmm_pools."
#include "vmm.h"

#include <fcntl.h>
#include <unistd.h>

#define POSIX_FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define SIZE     (1u << 20)

typedef struct pool_procs {
    PFN_cuMemAllocFromPoolAsync_v11020 alloc;
    PFN_cuMemFreeAsync_v11020 free;
    PFN_cuMemPoolCreate_v11020 create;
    PFN_cuMemPoolDestroy_v11020 destroy;
    PFN_cuMemPoolExportToShareableHandle_v11020 export_pool;
    PFN_cuMemPoolImportFromShareableHandle_v11020 import_pool;
    PFN_cuMemPoolExportPointer_v11020 export_pointer;
    PFN_cuMemPoolImportPointer_v11020 import_pointer;
} pool_procs;

static pool_procs pool_open(pair *p)
{
    pool_procs f;
    vmm_pair_open(p);
    raw_cuda_find(p->cu, "cuMemAllocFromPoolAsync", 11020, &f.alloc);
    raw_cuda_find(p->cu, "cuMemFreeAsync", 11020, &f.free);
    raw_cuda_find(p->cu, "cuMemPoolCreate", 11020, &f.create);
    raw_cuda_find(p->cu, "cuMemPoolDestroy", 11020, &f.destroy);
    raw_cuda_find(p->cu, "cuMemPoolExportToShareableHandle", 11020, &f.export_pool);
    raw_cuda_find(p->cu, "cuMemPoolImportFromShareableHandle", 11020, &f.import_pool);
    raw_cuda_find(p->cu, "cuMemPoolExportPointer", 11020, &f.export_pointer);
    raw_cuda_find(p->cu, "cuMemPoolImportPointer", 11020, &f.import_pointer);
    return f;
}

static CUmemoryPool make_pool(const pair *p, const pool_procs *f, unsigned handle_types)
{
    CUmemPoolProps props;
    CUmemoryPool pool = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = (CUmemAllocationHandleType)handle_types;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = p->device;
    CU_OK(f->create(&pool, &props));
    return pool;
}

TEST(pool_memory, .title = "vmm_pools.memory", .mark = TEST_BOTH)
{
    pair p;
    const pool_procs f = pool_open(&p);
    CUmemoryPool pool = make_pool(&p, &f, 0), found = NULL;
    CUdeviceptr memory = 0;
    CUmemGenericAllocationHandle handle = 0;
    uint64_t value = 99;
    uint32_t word = 0;
    CU_OK(f.alloc(&memory, SIZE, pool, p.stream));
    CU_OK(p.cu->MemsetD32Async(memory, 0x31415926u, SIZE / 4, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    cuda_read(&p, memory + SIZE - 4, &word, 4);
    answer_word("cuMemsetD32Async's last word", word, 0x31415926u);
    /* R31 [measure]: what is asked when such memory is to be exported. */
    CU_OK(p.cu->PointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
    answer_so("MEMPOOL_HANDLE", found == pool, "its pool", "another one");
    CUresult result =
        p.cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, memory);
    ANSWER("ALLOWED_HANDLE_TYPES", "%s, 0x%llx", raw_cuda_result_name(result),
           (unsigned long long)value);
    answer_call("MEMORY_BLOCK_ID",
                p.cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, memory));
    MEASURED("pool_memory", "MEMORY_BLOCK_ID 0x%llx", (unsigned long long)value);
    result = p.cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
    ANSWER("CONTEXT", "%s, %s", raw_cuda_result_name(result), value == 0 ? "NULL" : "a context");
    result = p.cu->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)memory);
    answer_call("cuMemRetainAllocationHandle", result);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemRelease(handle));
    CU_OK(f.free(memory, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(f.destroy(pool));
    pair_close(&p);
}

TEST(pool_of_another_process_child, .title = "vmm_pools.of_another_process_child")
{
    const char *text = getenv("CONTRACT_POOL");
    if (text == NULL) SKIP("only as a child");
    pair p;
    const pool_procs f = pool_open(&p);
    CUmemPoolPtrExportData data;
    CUmemoryPool pool = NULL;
    CUdeviceptr memory = 0, more = 0;
    uint32_t word = 0;
    int fd = -1, pipe_fd = -1;
    REQUIRE(sscanf(text, "%d,%d", &fd, &pipe_fd) == 2);
    REQUIRE(read(pipe_fd, &data, sizeof data) == (ssize_t)sizeof data);
    CU_OK(f.import_pool(&pool, (void *)(intptr_t)fd, POSIX_FD, 0));
    ANSWER("imported: the fd", "%s", fd_open(fd) ? "open" : "closed");
    CUresult result = f.alloc(&more, SIZE, pool, p.stream);
    answer_call("imported: cuMemAllocFromPoolAsync", result);
    REQUIRE(result != CUDA_SUCCESS);
    CU_OK(f.import_pointer(&memory, pool, &data));
    cuda_read(&p, memory + SIZE - 4, &word, 4);
    answer_word("imported: the exporter's last word", word, 0x27182818u);
    CU_OK(p.cu->MemsetD32Async(memory, 0x28182845u, SIZE / 4, p.stream));
    CU_OK(f.free(memory, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(f.destroy(pool));
    pair_close(&p);
}

/* An H200 says that it has them (0x9). */
static void fabric_pool(const pair *p, const pool_procs *f)
{
    CUmemoryPool pool = NULL;
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = (CUmemAllocationHandleType)8; /* FABRIC, from cuda.h 12.3 on */
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = p->device;
    const CUresult result = f->create(&pool, &props);
    answer_call("cuMemPoolCreate for fabric handles", result);
    if (result == CUDA_SUCCESS) CU_OK(f->destroy(pool));
}

/* Without an IMEX channel the pool is made, and its export must tell. With one the bytes are the
 * pool. */
TEST(pool_by_fabric, .title = "vmm_pools.by_fabric", .mark = TEST_BOTH, .own = true)
{
    enum { FABRIC = 8 };
    pair p;
    const raw_cuda *cu = raw_cuda_open();
    int supported = 0;
    if (cu->software) {
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
        cu->SoftPlayFabric(0);
    }
    const pool_procs f = pool_open(&p);
    CU_OK(p.cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
                                   p.device));
    if (!(supported & FABRIC)) SKIP("pools of this device have no fabric handles");
    const CUmemAllocationHandleType type = (CUmemAllocationHandleType)FABRIC;
    CUmemoryPool pool = make_pool(&p, &f, FABRIC), imported = NULL;
    CUmemPoolPtrExportData data;
    CUdeviceptr memory = 0, there = 0;
    uint32_t word = 0;
    unsigned char bytes[64];
    CUresult result = f.export_pool(bytes, pool, type, 0);
    if (result != CUDA_SUCCESS) {
        answer_call("cuMemPoolExportToShareableHandle without an IMEX channel", result);
    }
    if (p.cu->software) {
        cu->SoftPlayFabric(1);
        result = f.export_pool(bytes, pool, type, 0);
        CU_OK(result);
    }
    /* cuMemPoolDestroy may crash after an export that failed (measured of an fd's): it stays. */
    if (result != CUDA_SUCCESS) {
        pair_close(&p);
        return;
    }
    CU_OK(f.alloc(&memory, SIZE, pool, p.stream));
    CU_OK(p.cu->MemsetD32Async(memory, 0x27182818u, SIZE / 4, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(f.export_pointer(&data, memory));
    /* In this same process; what a driver says of that is no promise of Culvert's. */
    result = f.import_pool(&imported, bytes, type, 0);
    MEASURED("pool_by_fabric_in_its_own_process", "%s", raw_cuda_result_name(result));
    REQUIRE(result == CUDA_SUCCESS || !p.cu->software);
    if (result == CUDA_SUCCESS && f.import_pointer(&there, imported, &data) == CUDA_SUCCESS) {
        cuda_read(&p, there + SIZE - 4, &word, 4);
        REQUIRE_EQ(word, 0x27182818u);
        CU_OK(f.free(there, p.stream));
    }
    REQUIRE(word != 0 || !p.cu->software);
    CU_OK(f.free(memory, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    if (imported != NULL) CU_OK(f.destroy(imported));
    CU_OK(f.destroy(pool));
    pair_close(&p);
}

/* To other CUDA processes it goes; to Vulkan it does not. */
TEST(pool_of_another_process, .title = "vmm_pools.of_another_process", .mark = TEST_BOTH,
     .own = true)
{
    pair p;
    const pool_procs f = pool_open(&p);
    CUmemPoolPtrExportData data;
    CUdeviceptr memory = 0;
    uint32_t word = 0;
    char text[64];
    int fd = -1, ends[2], supported = 0;
    CU_OK(p.cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
                                   p.device));
    ANSWER("MEMPOOL_SUPPORTED_HANDLE_TYPES", "0x%x", (unsigned)supported);
    REQUIRE(supported & POSIX_FD);
    CUmemoryPool pool = make_pool(&p, &f, POSIX_FD), closed = make_pool(&p, &f, 0);
    fabric_pool(&p, &f);
    CUresult result = f.export_pool(&fd, closed, POSIX_FD, 0);
    answer_call("cuMemPoolExportToShareableHandle of a pool not made for it", result);
    REQUIRE(result != CUDA_SUCCESS);
    CU_OK(f.destroy(closed));
    CU_OK(f.alloc(&memory, SIZE, pool, p.stream));
    CU_OK(p.cu->MemsetD32Async(memory, 0x27182818u, SIZE / 4, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    /* cuda.h: the pointer is one "from an already shared memory pool". */
    answer_is("cuMemPoolExportPointer before the pool's export", f.export_pointer(&data, memory),
              CUDA_ERROR_INVALID_VALUE);
    CU_OK(f.export_pool(&fd, pool, POSIX_FD, 0));
    CU_OK(f.export_pointer(&data, memory));
    result = f.export_pointer(&data, memory + 4096);
    answer_call("cuMemPoolExportPointer from the middle of an allocation", result);
    if (p.cu->software) CU_IS(result, CUDA_ERROR_INVALID_VALUE);
    CU_OK(f.export_pointer(&data, memory));

    raw_vk_buffer usual;
    raw_vk_buffer_create(&p.vk, SIZE, RAW_VK_EXPORT, &usual);
    const VkImportMemoryFdInfoKHR import_info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &import_info,
                                       .allocationSize = SIZE,
                                       .memoryTypeIndex = usual.memory_type};
    VkDeviceMemory imported = VK_NULL_HANDLE;
    VkResult vk = vkAllocateMemory(p.vk.device, &info, NULL, &imported);
    /* An H200 refused it in one run and took it in another, so nobody may rely on either; the twin
     * refuses. */
    MEASURED("pool_in_vulkan", "VkResult %d", (int)vk);
    REQUIRE(vk != VK_SUCCESS || !p.cu->software);
    vkFreeMemory(p.vk.device, imported, NULL);
    raw_vk_buffer_destroy(&p.vk, &usual);

    REQUIRE(pipe(ends) == 0 && write(ends[1], &data, sizeof data) == (ssize_t)sizeof data);
    REQUIRE(fcntl(fd, F_SETFD, 0) == 0);
    snprintf(text, sizeof text, "%d,%d", fd, ends[0]);
    REQUIRE(setenv("CONTRACT_POOL", text, 1) == 0);
    REQUIRE_EQ(test_run_child("vmm_pools.of_another_process_child"), 0);
    cuda_read(&p, memory, &word, 4);
    answer_word("the importer's first word", word, 0x28182845u);
    close(ends[0]);
    close(ends[1]);
    close(fd);
    CU_OK(f.free(memory, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(f.destroy(pool));
    pair_close(&p);
}

/* R26: one range, every other chunk another device's. */
TEST(striped, .title = "vmm_pools.striped_range", .mark = TEST_BOTH)
{
    enum { CHUNKS = 4 };
    pair p;
    CUmemGenericAllocationHandle chunks[CHUNKS];
    CUmemAccessDesc access[2];
    CUcontext contexts[2];
    int can = 0;
    raw_cuda_two_devices();
    vmm_pair_open(&p);
    if (p.cu->device_count < 2) SKIP("one CUDA device only");
    CU_OK(p.cu->DeviceCanAccessPeer(&can, 0, 1));
    if (!can) SKIP("devices 0 and 1 are no peers");
    memset(access, 0, sizeof access);
    for (int i = 0; i < 2; i++) {
        access[i].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access[i].location.id = i;
        access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        contexts[i] = raw_cuda_context(p.cu, i);
    }
    const CUdeviceptr base = vmm_reserve(&p, CHUNKS * VMM_SIZE);
    for (unsigned i = 0; i < CHUNKS; i++) {
        CUmemAllocationProp prop = vmm_prop(&p, 0);
        prop.location.id = (int)(i % 2);
        CU_OK(p.cu->MemCreate(&chunks[i], VMM_SIZE, &prop, 0));
        CU_OK(p.cu->MemMap(base + i * VMM_SIZE, VMM_SIZE, 0, chunks[i], 0));
    }
    CU_OK(p.cu->MemSetAccess(base, CHUNKS * VMM_SIZE, access, 2));
    for (int i = 0; i < 2; i++) {
        CUstream stream;
        CU_OK(p.cu->CtxSetCurrent(contexts[i]));
        CU_OK(p.cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CUmodule module = raw_cuda_load(p.cu, "pattern");
        pair on = p; /* for its stream */
        on.stream = stream;
        CU_OK(vmm_kernel(&on,
                         raw_cuda_function(p.cu, module, i == 0 ? "pattern_write" : "pattern_add"),
                         base, CHUNKS * VMM_SIZE, 17));
        CU_OK(p.cu->ModuleUnload(module));
        CU_OK(p.cu->StreamDestroy(stream));
    }
    vmm_answer_words(&p, "a kernel of each device over all chunks", base, CHUNKS * VMM_SIZE, 17,
                     17);
    int ordinal = -1;
    CU_OK(
        p.cu->PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base + VMM_SIZE));
    answer_number("DEVICE_ORDINAL of the second chunk", ordinal, 1);
    CU_OK(p.cu->CtxSetCurrent(p.context));
    for (int i = 0; i < 2; i++)
        CU_OK(p.cu->DevicePrimaryCtxRelease(i));
    CU_OK(p.cu->MemUnmap(base, CHUNKS * VMM_SIZE));
    for (unsigned i = 0; i < CHUNKS; i++)
        CU_OK(p.cu->MemRelease(chunks[i]));
    CU_OK(p.cu->MemAddressFree(base, CHUNKS * VMM_SIZE));
    pair_close(&p);
}

/* R8: growing does not break a capture, by the same thread, in the strictest mode. */
VMM_PAIR_CASE(during_a_capture, .mark = TEST_BOTH)
{
    static const char *const calls[] = {"cuMemCreate",     "cuMemAddressReserve", "cuMemMap",
                                        "cuMemSetAccess",  "cuMemUnmap",          "cuMemRelease",
                                        "cuMemAddressFree"};
    if (p->cu->StreamBeginCapture == NULL || p->cu->StreamEndCapture == NULL)
        SKIP("no stream capture");
    const CUmemAllocationProp prop = vmm_prop(p, 0);
    for (size_t call = 0; call < sizeof calls / sizeof calls[0]; call++) {
        CUmemGenericAllocationHandle handle = call >= 1 ? vmm_create(p, VMM_SIZE, 0) : 0;
        CUdeviceptr base = call >= 2 ? vmm_reserve(p, VMM_SIZE) : 0;
        CUgraph graph = NULL;
        bool mapped = call == 3 || call == 4;
        if (mapped) CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
        CU_OK(p->cu->StreamBeginCapture(p->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CUresult result = CUDA_SUCCESS;
        switch (call) {
        case 0: result = p->cu->MemCreate(&handle, VMM_SIZE, &prop, 0); break;
        case 1: result = p->cu->MemAddressReserve(&base, VMM_SIZE, 0, 0, 0); break;
        case 2: result = p->cu->MemMap(base, VMM_SIZE, 0, handle, 0); break;
        case 3: result = vmm_allow(p, base, VMM_SIZE); break;
        case 4: result = p->cu->MemUnmap(base, VMM_SIZE); break;
        case 5: result = p->cu->MemRelease(handle); break;
        default: result = p->cu->MemAddressFree(base, VMM_SIZE); break;
        }
        CUresult end = p->cu->StreamEndCapture(p->stream, &graph);
        ANSWER(calls[call], "%s, cuStreamEndCapture %s", raw_cuda_result_name(result),
               raw_cuda_result_name(end));
        if (result != CUDA_SUCCESS || end != CUDA_SUCCESS)
            FAIL("%s: %s, cuStreamEndCapture %s", calls[call], raw_cuda_result_name(result),
                 raw_cuda_result_name(end));
        if (graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
        if (call == 2) mapped = true;
        if (call == 4) mapped = false;
        if (mapped) CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
        if (handle != 0 && call != 5) CU_OK(p->cu->MemRelease(handle));
        if (base != 0 && call != 6) CU_OK(p->cu->MemAddressFree(base, VMM_SIZE));
    }
}
