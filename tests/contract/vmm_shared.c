/* SPDX-License-Identifier: MIT */
/* Contract rows: VMM allocations as file descriptors, to Vulkan, back to CUDA, and to another
 * process. */
#define TEST_GROUP "vmm_shared."
#include "contract.h"

#include <fcntl.h>
#include <unistd.h>

#define SIZE (4 * VMM_SIZE)

/* As Vulkan would allocate a buffer of that size; `offset` bytes into memory of SIZE. */
static raw_vk_buffer like(pair *p, VkDeviceSize size, VkDeviceSize offset, unsigned flags)
{
    raw_vk_buffer usual;
    raw_vk_buffer_create(&p->vk, size, RAW_VK_EXPORT | flags, &usual);
    raw_vk_buffer out = usual;
    raw_vk_buffer_destroy(&p->vk, &usual);
    out.allocation_size = SIZE;
    out.offset = offset;
    return out;
}

static void vulkan_buffer(pair *p, unsigned flags, VkDeviceSize size, VkDeviceSize offset)
{
    vmm_block b;
    raw_vk_buffer vk;
    uint32_t word = 0;
    vmm_open(p, SIZE, POSIX_FD, &b);
    const raw_vk_buffer usual = like(p, size, offset, flags);
    raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &vk);
    answer_same_memory(p, "both sides", &vk, 0, b.pointer + offset, size, 40);
    CU_OK(words_run(p, "pattern_write", b.pointer, SIZE, 41));
    raw_vk_read(&p->vk, &vk, size - 4, &word, 4);
    const uint32_t last = (uint32_t)((offset + size) / 4 - 1) * 2654435761u + 41;
    answer_so("a kernel's last word, by Vulkan", word == last, "wrong");
    /* Vulkan's half lives on when CUDA's is gone. */
    vmm_close(p, &b);
    raw_vk_fill(&p->vk, &vk, 0, size, 0x42424242u, NULL);
    raw_vk_read(&p->vk, &vk, size - 4, &word, 4);
    answer_word("Vulkan's last word without CUDA's half", word, 0x42424242u);
    raw_vk_buffer_destroy(&p->vk, &vk);
}

PAIR_AS(whole_buffer, vulkan_buffer(p, 0, SIZE, 0), .mark = TEST_BOTH, .smoke = true)
PAIR_AS(dedicated_buffer, vulkan_buffer(p, RAW_VK_DEDICATED, SIZE, 0), .mark = TEST_BOTH)
PAIR_AS(buffer_at_an_offset, vulkan_buffer(p, 0, 100000, 3 * 65536), .mark = TEST_BOTH)

/* A dedicated import of the size that its buffer needs, where the allocation has more. */
static VkResult import_less(pair *p, CUmemGenericAllocationHandle handle, VkDeviceSize size,
                            VkBufferUsageFlags usage, uint32_t type, bool *open)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo buffer_info = raw_vk_buffer_info(size, usage);
    buffer_info.pNext = &external;
    const int fd = vmm_export(p, handle);
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkMemoryRequirements needs;
    VK_OK(vkCreateBuffer(p->vk.device, &buffer_info, NULL, &buffer));
    vkGetBufferMemoryRequirements(p->vk.device, buffer, &needs);
    if (!(needs.memoryTypeBits >> type & 1)) {
        vkDestroyBuffer(p->vk.device, buffer, NULL);
        close(fd);
        return VK_ERROR_UNKNOWN;
    }
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = buffer};
    const VkResult r = vk_import(p, fd, needs.size, type, &dedicated, &memory);
    *open = fd_open(fd);
    if (r != VK_SUCCESS && *open) close(fd);
    vkDestroyBuffer(p->vk.device, buffer, NULL);
    vkFreeMemory(p->vk.device, memory, NULL);
    return r;
}

PAIR_CASE(
    dedicated_buffer_of_less, .mark = TEST_TWIN_STRICTER,
    .reason = "the twin refuses each size that is not the allocation's; an H200 takes all of these")
{
    static const VkDeviceSize sizes[] = {819200, 1, 4097, 65536, 1 << 20, VMM_SIZE - 65536};
    CUmemGenericAllocationHandle handle = pair_handle(p, VMM_SIZE, POSIX_FD);
    static const VkBufferUsageFlags usages[] = {
        VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
            VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t u = 0; u < COUNT_OF(usages); u++) {
            VkResult first = VK_ERROR_UNKNOWN;
            bool first_open = false, alike = true;
            for (uint32_t type = 0; type < 8; type++) {
                bool open = false;
                const VkResult r = import_less(p, handle, sizes[i], usages[u], type, &open);
                if (r == VK_ERROR_UNKNOWN) continue; /* no such type for it */
                if (first == VK_ERROR_UNKNOWN) first_open = open;
                if (first == VK_ERROR_UNKNOWN) first = r;
                alike = alike && r == first && open == first_open;
                if (p->cu->software) REQUIRE_EQ(r, VK_ERROR_OUT_OF_DEVICE_MEMORY);
                REQUIRE(r == VK_SUCCESS || r == VK_ERROR_OUT_OF_DEVICE_MEMORY);
            }
            ANSWER(answer_key("%zu bytes, usage %#x", (size_t)sizes[i], (unsigned)usages[u]),
                   "VkResult %d, fd %s, %s", (int)first, first_open ? "open" : "closed",
                   alike ? "in every memory type" : "not in every memory type");
        }
}

/* Nothing is bound: the size alone is answered for. */
static VkResult import_more(pair *p, int fd, VkDeviceSize size, uint32_t type, const char *what)
{
    VkDeviceMemory memory = VK_NULL_HANDLE;
    const VkResult r = vk_import(p, fd, size, type, NULL, &memory);
    ANSWER(what, "VkResult %d, fd %s", (int)r, fd_open(fd) ? "open" : "closed");
    if (r != VK_SUCCESS && fd_open(fd)) close(fd);
    vkFreeMemory(p->vk.device, memory, NULL);
    return r;
}

/* Vulkan imports with an allocationSize that nobody exported. */
PAIR_CASE(vulkan_import_of_more, .mark = TEST_TWIN_STRICTER,
          .reason = "of NVIDIA's driver reported; lavapipe refuses what would reach beyond")
{
    CUmemGenericAllocationHandle handle = pair_handle(p, VMM_SIZE, POSIX_FD);
    raw_vk_buffer vk = pair_vk_buffer(p, 819200, RAW_VK_EXPORT);
    for (unsigned more = 0; more < 2; more++) {
        const VkResult r = import_more(
                           p, vmm_export(p, handle), (1u + more) * VMM_SIZE, vk.memory_type,
                           more ? "twice the 2 MiB of cuMemCreate" : "2 MiB of cuMemCreate"),
                       own = import_more(p, raw_vk_buffer_fd(&p->vk, &vk),
                                         (1u + more) * vk.allocation_size, vk.memory_type,
                                         more ? "twice Vulkan's own 819,200 bytes"
                                              : "Vulkan's own 819,200 bytes");
        const VkResult expected = more ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS;
        if (!more || p->cu->software) REQUIRE(r == expected && own == expected);
        /* Vulkan forbids twice its own size (VUID-VkMemoryAllocateInfo-allocationSize-01742), and
         * validation layers newer than Debian 12's say so. */
        if (more && p->vk.validation_messages == 1) p->vk.validation_messages = 0;
    }
}

/* Chunks of one vector, a buffer each: the older ones need no second import. */
PAIR_CASE(grown, .mark = TEST_BOTH)
{
    enum { CHUNKS = 3 };
    CUmemGenericAllocationHandle chunks[CHUNKS];
    raw_vk_buffer vk[CHUNKS];
    const CUdeviceptr base = pair_range(p, CHUNKS * SIZE);
    const raw_vk_buffer usual = like(p, SIZE, 0, 0);
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = vmm_create(p, SIZE, POSIX_FD);
        vmm_map(p, base + i * SIZE, SIZE, chunks[i]);
        raw_vk_buffer_import(&p->vk, vmm_export(p, chunks[i]), &usual, &vk[i]);
        CU_OK(words_run(p, "pattern_write", base, (i + 1) * SIZE, i));
        unsigned right = 0;
        for (unsigned j = 0; j <= i; j++) {
            uint32_t word = 0;
            raw_vk_read(&p->vk, &vk[j], 8, &word, 4);
            right += word == (uint32_t)(j * SIZE / 4 + 2) * 2654435761u + i;
        }
        answer_number(answer_key("buffers that see the kernel over %u", i + 1), right, i + 1);
    }
    CU_OK(p->cu->MemUnmap(base, CHUNKS * SIZE));
    for (unsigned i = 0; i < CHUNKS; i++) {
        CU_OK(p->cu->MemRelease(chunks[i]));
        raw_vk_buffer_destroy(&p->vk, &vk[i]);
    }
}

/* The fd also goes in as external memory, dedicated or not. */
PAIR_CASE(external_memory, .mark = TEST_BOTH)
{
    vmm_block b = pair_vmm(p, SIZE, POSIX_FD);
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        const uint32_t seed = 60 + (uint32_t)dedicated;
        CUexternalMemory memory =
            raw_cuda_imported(p->cu, vmm_export(p, b.handle), SIZE, dedicated);
        CUdeviceptr pointer = raw_cuda_mapped(p->cu, memory, 0, SIZE);
        CU_OK(raw_cuda_upload(p->cu, pointer, pattern_words(SIZE, seed), SIZE));
        answer_words(p, dedicated ? "imported as dedicated" : "imported as not dedicated",
                     b.pointer, SIZE, seed, 0);
    }
}

PAIR_CASE(imported_back, .mark = TEST_BOTH)
{
    vmm_block b;
    CUmemGenericAllocationHandle first, second;
    vmm_open(p, SIZE, POSIX_FD, &b);
    const int fd = vmm_export(p, b.handle), other = vmm_export(p, b.handle);
    REQUIRE(fd != other);
    ANSWER("the exported fd", "%s",
           fcntl(fd, F_GETFD) & FD_CLOEXEC ? "close-on-exec" : "not close-on-exec");
    CU_OK(vmm_import(p, fd, &first));
    CU_OK(vmm_import(p, fd, &second)); /* an import leaves the fd as it is */
    answer_so("the fd after two imports", fd_open(fd), "closed");
    close(fd);
    ANSWER("the handle of an import", "%s as the exporter's, %s as a second import's",
           first == b.handle ? "the same" : "not the same",
           first == second ? "the same" : "not the same");
    CUmemAllocationProp prop;
    CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&prop, first));
    REQUIRE_EQ(prop.location.id, p->device);
    REQUIRE_EQ(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_NONE); /* who made it shares it */
    int again = -1;
    const CUresult result = p->cu->MemExportToShareableHandle(&again, first, POSIX_FD, 0);
    ANSWER("an import's requestedHandleTypes, its export", "0x%x, %s",
           (unsigned)prop.requestedHandleTypes, raw_cuda_result_name(result));
    CU_OK(p->cu->MemRelease(second));
    const CUdeviceptr pointer = pair_range(p, SIZE);
    vmm_map(p, pointer, SIZE, first);
    set_words(p, b.pointer, 0x70707070u, SIZE / 4);
    REQUIRE_EQ(cuda_word(p, pointer + SIZE - 4), 0x70707070u);
    /* The exporter's half goes first. */
    vmm_close(p, &b);
    answer_word("by an import without the exporter's half", cuda_word(p, pointer), 0x70707070u);
    CU_OK(p->cu->MemUnmap(pointer, SIZE));
    CU_OK(p->cu->MemRelease(first));
    /* An fd alone keeps the memory too. */
    CU_OK(vmm_import(p, other, &first));
    vmm_map(p, pointer, SIZE, first);
    answer_word("by an import of an fd that was all that was left", cuda_word(p, pointer + 4),
                0x70707070u);
    CU_OK(p->cu->MemUnmap(pointer, SIZE));
    CU_OK(p->cu->MemRelease(first));
    close(other);
}

PAIR_CASE(fds_return, .mark = TEST_BOTH)
{
    size_t before = 0;
    for (int turn = 0; turn < 20; turn++) {
        vmm_block b;
        CUmemGenericAllocationHandle imported;
        vmm_open(p, VMM_SIZE, POSIX_FD, &b);
        const int fd = vmm_export(p, b.handle);
        CU_OK(vmm_import(p, fd, &imported));
        CU_OK(p->cu->MemRelease(imported));
        close(fd);
        vmm_close(p, &b);
        if (turn == 1) before = test_open_fds(); /* a driver may keep some since its first export */
    }
    answer_number("fds after 18 more turns", (int64_t)test_open_fds(), (int64_t)before);
}

/* In a process of its own, with the fd that CONTRACT_FD says: reads what the other one wrote, and
 * answers. */
TEST(other_process_child)
{
    const char *text = getenv("CONTRACT_FD");
    if (text == NULL) SKIP("only as a child");
    pair p;
    CUmemGenericAllocationHandle handle;
    pair_open(&p);
    CU_OK(vmm_import(&p, atoi(text), &handle));
    const CUdeviceptr pointer = pair_range(&p, SIZE);
    pair_map(&p, pointer, SIZE, handle);
    answer_words(&p, "read by the importer", pointer, SIZE, 80, 0);
    CU_OK(words_run(&p, "pattern_add", pointer, SIZE, 1000));
    CU_OK(p.cu->MemRelease(handle));
    pair_close(&p);
}

PAIR_CASE(other_process, .mark = TEST_BOTH, .own = true)
{
    vmm_block b;
    char number[16];
    vmm_open(p, SIZE, POSIX_FD, &b);
    CU_OK(raw_cuda_upload(p->cu, b.pointer, pattern_words(SIZE, 80), SIZE));
    const int fd = vmm_export(p, b.handle);
    REQUIRE(fcntl(fd, F_SETFD, 0) == 0);
    snprintf(number, sizeof number, "%d", fd);
    REQUIRE(setenv("CONTRACT_FD", number, 1) == 0);
    REQUIRE_EQ(test_run_child("vmm_shared.other_process_child"), 0);
    answer_words(p, "read by the exporter", b.pointer, SIZE, 80, 1000);
    close(fd);
    vmm_close(p, &b);
}

/* A VkDeviceMemory's fd goes in as a VMM allocation too: culv_vk_device_desc::allow_other_gpu rests
 * on it. */
PAIR_CASE(vulkans_memory, .mark = TEST_BOTH)
{
    CUmemGenericAllocationHandle handle = 0;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    const int fd = raw_vk_buffer_fd(&p->vk, &vk);
    const CUresult result = vmm_import(p, fd, &handle);
    answer_with("cuMemImportFromShareableHandle", result, "fd %s", fd_open(fd) ? "open" : "closed");
    CU_OK(result);
    const CUdeviceptr pointer = vmm_reserve(p, SIZE);
    answer_ok("cuMemMap", p->cu->MemMap(pointer, SIZE, 0, handle, 0));
    answer_ok("cuMemSetAccess", vmm_allow(p, pointer, SIZE));
    uint32_t word = 0;
    raw_vk_fill(&p->vk, &vk, 0, SIZE, 0x51525354u, NULL);
    const bool read = cuda_word(p, pointer + SIZE - 4) == 0x51525354u;
    answer_so("CUDA reads what Vulkan wrote", read, "no");
    set_words(p, pointer, 0x61626364u, SIZE / 4);
    raw_vk_read(&p->vk, &vk, SIZE - 4, &word, 4);
    answer_so("Vulkan reads what CUDA wrote", word == 0x61626364u, "no");
    vmm_unmap(p, pointer, SIZE);
    CU_OK(p->cu->MemRelease(handle));
    if (fd_open(fd)) close(fd);
}

/* Which sizes of Vulkan's memory map, and into how much: handles map whole or not at all. */
PAIR_CASE(vulkans_sizes, .mark = TEST_BOTH)
{
    enum { MIB = 1 << 20 };
    static const struct {
        const char *what;
        size_t size, mapped;
        unsigned flags;
    } rows[] = {
        {"4 MiB into 4", 4 * MIB, 4 * MIB, 0},
        {"4 MiB, dedicated, into 4", 4 * MIB, 4 * MIB, RAW_VK_DEDICATED},
        {"4 MiB into 2", 4 * MIB, 2 * MIB, 0},
        {"4 MiB into 6", 4 * MIB, 6 * MIB, 0},
        {"3 MiB into 4", 3 * MIB, 4 * MIB, 0},
        {"3 MiB, dedicated, into 4", 3 * MIB, 4 * MIB, RAW_VK_DEDICATED},
        {"3 MiB, dedicated, into 2", 3 * MIB, 2 * MIB, RAW_VK_DEDICATED},
        {"1 MiB into 2", 1 * MIB, 2 * MIB, 0},
        {"1 MiB, dedicated, into 2", 1 * MIB, 2 * MIB, RAW_VK_DEDICATED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        raw_vk_buffer vk;
        CUmemGenericAllocationHandle handle = 0;
        raw_vk_buffer_create(&p->vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &vk);
        const int fd = raw_vk_buffer_fd(&p->vk, &vk);
        CUresult result = vmm_import(p, fd, &handle);
        close(fd);
        if (result == CUDA_SUCCESS) {
            const CUdeviceptr pointer = vmm_reserve(p, SIZE);
            result = p->cu->MemMap(pointer, rows[i].mapped, 0, handle, 0);
            if (result == CUDA_SUCCESS) {
                CU_OK(vmm_allow(p, pointer, rows[i].mapped));
                raw_vk_fill(&p->vk, &vk, 0, rows[i].size, 0x51525354u, NULL);
                ANSWER(answer_key("%s: Vulkan's last word", rows[i].what), "%x",
                       cuda_word(p, pointer + rows[i].size - 4));
                CU_OK(p->cu->MemUnmap(pointer, rows[i].mapped));
            }
            CU_OK(p->cu->MemAddressFree(pointer, SIZE));
            CU_OK(p->cu->MemRelease(handle));
        }
        answer_call(rows[i].what, result);
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
}

/* Contract rows: what belongs to virtual memory management besides single allocations: ranges of
 * several devices' memory, memory pools, and stream captures meanwhile. */
#undef TEST_GROUP
#define TEST_GROUP "vmm_pools."

#undef SIZE
#define SIZE (1u << 20)

static CUmemoryPool make_pool(const pair *p, unsigned handle_types)
{
    const CUmemPoolProps props = raw_cuda_pool_props(p->device, handle_types);
    CUmemoryPool pool = NULL;
    CU_OK(p->cu->MemPoolCreate(&pool, &props));
    return pool;
}

/* Of a pool, all words `value`. */
static CUdeviceptr allocate(const pair *p, CUmemoryPool pool, uint32_t value)
{
    CUdeviceptr memory = 0;
    CU_OK(p->cu->MemAllocFromPoolAsync(&memory, SIZE, pool, p->stream));
    set_words(p, memory, value, SIZE / 4);
    return memory;
}

static void give_back(const pair *p, CUdeviceptr memory)
{
    CU_OK(p->cu->MemFreeAsync(memory, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

PAIR_CASE(memory_of_a_pool, .title = "vmm_pools.memory", .mark = TEST_BOTH)
{
    const raw_cuda *cu = p->cu;
    CUmemoryPool pool = make_pool(p, 0), found = NULL;
    CUmemGenericAllocationHandle handle = 0;
    uint64_t value = 99;
    const CUdeviceptr memory = allocate(p, pool, 0x31415926u);
    answer_word("cuMemsetD32Async's last word", cuda_word(p, memory + SIZE - 4), 0x31415926u);
    /* R31 [measure]: what is asked when such memory is to be exported. */
    CU_OK(cu->PointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
    answer_so("MEMPOOL_HANDLE", found == pool, "another one");
    CUresult result =
        cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, memory);
    answer_with("ALLOWED_HANDLE_TYPES", result, "0x%llx", (unsigned long long)value);
    answer_call("MEMORY_BLOCK_ID",
                cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, memory));
    result = cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
    answer_with("CONTEXT", result, "%s", value == 0 ? "NULL" : "a context");
    result = cu->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)memory);
    answer_call("cuMemRetainAllocationHandle", result);
    if (result == CUDA_SUCCESS) CU_OK(cu->MemRelease(handle));
    give_back(p, memory);
    CU_OK(p->cu->MemPoolDestroy(pool));
}

TEST(of_another_process_child)
{
    const char *text = getenv("CONTRACT_POOL");
    if (text == NULL) SKIP("only as a child");
    pair opened, *p = &opened;
    CUmemPoolPtrExportData data;
    CUmemoryPool pool = NULL;
    CUdeviceptr memory = 0, more = 0;
    int fd = -1, pipe_fd = -1;
    pair_open(p);
    REQUIRE(sscanf(text, "%d,%d", &fd, &pipe_fd) == 2);
    REQUIRE(read(pipe_fd, &data, sizeof data) == (ssize_t)sizeof data);
    CU_OK(p->cu->MemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, POSIX_FD, 0));
    ANSWER("imported: the fd", "%s", fd_open(fd) ? "open" : "closed");
    answer_refused("imported: cuMemAllocFromPoolAsync",
                   p->cu->MemAllocFromPoolAsync(&more, SIZE, pool, p->stream));
    CU_OK(p->cu->MemPoolImportPointer(&memory, pool, &data));
    answer_word("imported: the exporter's last word", cuda_word(p, memory + SIZE - 4), 0x27182818u);
    set_words(p, memory, 0x28182845u, SIZE / 4);
    give_back(p, memory);
    CU_OK(p->cu->MemPoolDestroy(pool));
    pair_close(p);
}

/* Without an IMEX channel the pool is made, and its export must tell. With one the bytes are the
 * pool. FABRIC is cuda.h's from 12.3 on; an H200 says that it has them (0x9). */
enum { FABRIC = 8 };

TEST(by_fabric, .mark = TEST_BOTH, .own = true)
{
    pair opened, *p = &opened;
    const raw_cuda *cu = raw_cuda_open();
    int supported = 0;
    if (cu->software) {
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
        cu->SoftPlayFabric(0);
    }
    pair_open(p);
    CU_OK(cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
                                 p->device));
    if (!(supported & FABRIC)) SKIP("pools of this device have no fabric handles");
    const CUmemAllocationHandleType type = (CUmemAllocationHandleType)FABRIC;
    CUmemoryPool pool = make_pool(p, FABRIC), imported = NULL;
    CUmemPoolPtrExportData data;
    CUdeviceptr there = 0;
    uint32_t word = 0;
    unsigned char bytes[64];
    CUresult result = p->cu->MemPoolExportToShareableHandle(bytes, pool, type, 0);
    if (result != CUDA_SUCCESS)
        answer_call("cuMemPoolExportToShareableHandle without an IMEX channel", result);
    if (cu->software) {
        cu->SoftPlayFabric(1);
        result = p->cu->MemPoolExportToShareableHandle(bytes, pool, type, 0);
        CU_OK(result);
    }
    /* cuMemPoolDestroy may crash after an export that failed (measured of an fd's): it stays. */
    if (result == CUDA_SUCCESS) {
        const CUdeviceptr memory = allocate(p, pool, 0x27182818u);
        CU_OK(p->cu->MemPoolExportPointer(&data, memory));
        /* In this same process; what a driver says of that is no promise of Culvert's. */
        result = p->cu->MemPoolImportFromShareableHandle(&imported, bytes, type, 0);
        MEASURED("pool_by_fabric_in_its_own_process", "%s", raw_cuda_result_name(result));
        REQUIRE(result == CUDA_SUCCESS || !cu->software);
        if (result == CUDA_SUCCESS &&
            p->cu->MemPoolImportPointer(&there, imported, &data) == CUDA_SUCCESS) {
            word = cuda_word(p, there + SIZE - 4);
            REQUIRE_EQ(word, 0x27182818u);
            CU_OK(p->cu->MemFreeAsync(there, p->stream));
        }
        REQUIRE(word != 0 || !cu->software);
        give_back(p, memory);
        if (imported != NULL) CU_OK(p->cu->MemPoolDestroy(imported));
        CU_OK(p->cu->MemPoolDestroy(pool));
    }
    pair_close(p);
}

/* To other CUDA processes it goes; to Vulkan it does not. */
PAIR_CASE(of_another_process, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    const CUmemPoolProps by_fabric = raw_cuda_pool_props(p->device, FABRIC);
    CUmemPoolPtrExportData data;
    CUmemoryPool fabric;
    char text[64];
    int fd = -1, ends[2], supported = 0;
    CU_OK(cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
                                 p->device));
    ANSWER("MEMPOOL_SUPPORTED_HANDLE_TYPES", "0x%x", (unsigned)supported);
    REQUIRE(supported & POSIX_FD);
    CUmemoryPool pool = make_pool(p, POSIX_FD), closed = make_pool(p, 0);
    CUresult result = p->cu->MemPoolCreate(&fabric, &by_fabric);
    answer_call("cuMemPoolCreate for fabric handles", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MemPoolDestroy(fabric));
    answer_refused("cuMemPoolExportToShareableHandle of a pool not made for it",
                   p->cu->MemPoolExportToShareableHandle(&fd, closed, POSIX_FD, 0));
    CU_OK(p->cu->MemPoolDestroy(closed));
    const CUdeviceptr memory = allocate(p, pool, 0x27182818u);
    /* cuda.h: the pointer is one "from an already shared memory pool". */
    answer_call("cuMemPoolExportPointer before the pool's export",
                p->cu->MemPoolExportPointer(&data, memory));
    CU_OK(p->cu->MemPoolExportToShareableHandle(&fd, pool, POSIX_FD, 0));
    CU_OK(p->cu->MemPoolExportPointer(&data, memory));
    result = p->cu->MemPoolExportPointer(&data, memory + 4096);
    answer_call("cuMemPoolExportPointer from the middle of an allocation", result);
    if (cu->software) CU_IS(result, CUDA_ERROR_INVALID_VALUE);
    CU_OK(p->cu->MemPoolExportPointer(&data, memory));

    const raw_vk_buffer usual = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    VkDeviceMemory imported = VK_NULL_HANDLE;
    const VkResult vk =
        vk_import(p, fcntl(fd, F_DUPFD_CLOEXEC, 0), SIZE, usual.memory_type, NULL, &imported);
    /* An H200 refused it in one run and took it in another, so nobody may rely on either; the twin
     * refuses. */
    MEASURED("pool_in_vulkan", "VkResult %d", (int)vk);
    REQUIRE(vk != VK_SUCCESS || !cu->software);
    vkFreeMemory(p->vk.device, imported, NULL);

    REQUIRE(pipe(ends) == 0 && write(ends[1], &data, sizeof data) == (ssize_t)sizeof data);
    REQUIRE(fcntl(fd, F_SETFD, 0) == 0);
    snprintf(text, sizeof text, "%d,%d", fd, ends[0]);
    REQUIRE(setenv("CONTRACT_POOL", text, 1) == 0);
    REQUIRE_EQ(test_run_child("vmm_pools.of_another_process_child"), 0);
    answer_word("the importer's first word", cuda_word(p, memory), 0x28182845u);
    close(ends[0]);
    close(ends[1]);
    close(fd);
    give_back(p, memory);
    CU_OK(p->cu->MemPoolDestroy(pool));
}

static void two_devices_open(pair *p)
{
    raw_cuda_two_devices();
    pair_open(p);
}

/* R26: one range, every other chunk another device's. */
TEST_ON(pair, p, two_devices_open(p), pair_close(p), striped_range, .mark = TEST_BOTH)
{
    enum { CHUNKS = 4 };
    const raw_cuda *cu = p->cu;
    CUmemGenericAllocationHandle chunks[CHUNKS];
    CUmemAccessDesc access[2];
    CUcontext contexts[2];
    int can = 0, ordinal = -1;
    if (cu->device_count < 2) SKIP("one CUDA device only");
    CU_OK(cu->DeviceCanAccessPeer(&can, 0, 1));
    if (!can) SKIP("devices 0 and 1 are no peers");
    for (int i = 0; i < 2; i++) {
        access[i] = raw_cuda_access(i, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        contexts[i] = raw_cuda_context(cu, i);
    }
    const CUdeviceptr base = vmm_reserve(p, CHUNKS * VMM_SIZE);
    for (unsigned i = 0; i < CHUNKS; i++) {
        const CUmemAllocationProp prop = raw_cuda_memory_prop((int)(i % 2), 0);
        CU_OK(cu->MemCreate(&chunks[i], VMM_SIZE, &prop, 0));
        CU_OK(cu->MemMap(base + i * VMM_SIZE, VMM_SIZE, 0, chunks[i], 0));
    }
    CU_OK(cu->MemSetAccess(base, CHUNKS * VMM_SIZE, access, 2));
    for (int i = 0; i < 2; i++) {
        CUstream stream;
        CU_OK(cu->CtxSetCurrent(contexts[i]));
        CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CUmodule module = raw_cuda_load(cu, "pattern");
        CUfunction kernel = raw_cuda_function(cu, module, i == 0 ? "pattern_write" : "pattern_add");
        CU_OK(words_launch(cu, kernel, base, CHUNKS * VMM_SIZE / 4, 17, stream));
        CU_OK(cu->StreamSynchronize(stream));
        CU_OK(cu->ModuleUnload(module));
        CU_OK(cu->StreamDestroy(stream));
    }
    answer_words(p, "a kernel of each device over all chunks", base, CHUNKS * VMM_SIZE, 17, 17);
    CU_OK(cu->PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base + VMM_SIZE));
    answer_number("DEVICE_ORDINAL of the second chunk", ordinal, 1);
    CU_OK(cu->CtxSetCurrent(p->context));
    for (int i = 0; i < 2; i++)
        CU_OK(cu->DevicePrimaryCtxRelease(i));
    vmm_unmap(p, base, CHUNKS * VMM_SIZE);
    for (unsigned i = 0; i < CHUNKS; i++)
        CU_OK(cu->MemRelease(chunks[i]));
}

/* R8: growing does not break a capture, by the same thread, in the strictest mode. */
PAIR_CASE(during_a_capture, .mark = TEST_BOTH)
{
    static const char *const calls[] = {"cuMemCreate",     "cuMemAddressReserve", "cuMemMap",
                                        "cuMemSetAccess",  "cuMemUnmap",          "cuMemRelease",
                                        "cuMemAddressFree"};
    const CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, 0);
    for (size_t call = 0; call < COUNT_OF(calls); call++) {
        CUmemGenericAllocationHandle handle = call >= 1 ? vmm_create(p, VMM_SIZE, 0) : 0;
        CUdeviceptr base = call >= 2 ? vmm_reserve(p, VMM_SIZE) : 0;
        CUgraph graph = NULL;
        if (call == 3 || call == 4) CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
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
        const CUresult end = p->cu->StreamEndCapture(p->stream, &graph);
        answer_with(calls[call], result, "cuStreamEndCapture %s", raw_cuda_result_name(end));
        CU_OK(result);
        CU_OK(end);
        if (graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
        if (call == 2 || call == 3) CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
        if (handle != 0 && call != 5) CU_OK(p->cu->MemRelease(handle));
        if (base != 0 && call != 6) CU_OK(p->cu->MemAddressFree(base, VMM_SIZE));
    }
}

/* Contract rows: sparse arrays and mipmapped arrays, mapped on tile pools (R22). */
#undef TEST_GROUP
#define TEST_GROUP "vmm_sparse."

#define TILE_BYTES 65536u
#define POOL_SIZE  (4 * VMM_SIZE)

typedef struct sparse_pair {
    pair p;
    CUmemGenericAllocationHandle pool;
} sparse_pair;

static CUmemGenericAllocationHandle sparse_pool(const pair *p) /* of POOL_SIZE */
{
    CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, 0);
    CUmemGenericAllocationHandle handle = 0;
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CU_OK(p->cu->MemCreate(&handle, POOL_SIZE, &prop, 0));
    return handle;
}

/* Skips where there are no sparse arrays. */
static void sparse_open(sparse_pair *f)
{
    int supported = 0;
    pair *p = &f->p;
    pair_open(p);
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
                                    p->device));
    if (!supported) SKIP("no sparse arrays");
    f->pool = sparse_pool(p);
}

static void sparse_close(sparse_pair *f)
{
    if (f->pool != 0) CU_OK(f->p.cu->MemRelease(f->pool));
    pair_close(&f->p);
}
#define SPARSE_CASE(...) TEST_ON(sparse_pair, f, sparse_open(f), sparse_close(f), __VA_ARGS__)

static void map_tiles(const sparse_pair *f, CUarrayMapInfo *info, unsigned count)
{
    CU_OK(f->p.cu->MemMapArrayAsync(info, count, f->p.stream));
    CU_OK(f->p.cu->StreamSynchronize(f->p.stream));
}

/* Of 32-bit words. */
static CUDA_ARRAY3D_DESCRIPTOR sparse_desc(size_t width, size_t height, size_t depth,
                                           unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR)TEST_ROW(width, height, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1,
                                             CUDA_ARRAY3D_SPARSE | flags);
}

/* pool 0: unmaps. What is mapped there is left to fill in. */
static CUarrayMapInfo sparse_info(const pair *p, CUmemGenericAllocationHandle pool, uint64_t offset)
{
    CUarrayMapInfo info;
    memset(&info, 0, sizeof info);
    info.memOperationType = pool != 0 ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = pool;
    info.offset = offset;
    info.deviceBitMask = 1u << p->device;
    return info;
}

/* So many tiles of 128 x 128 words side by side. */
static CUarrayMapInfo sparse_tiles(const pair *p, CUarray array, unsigned x, unsigned y,
                                   unsigned count, CUmemGenericAllocationHandle pool,
                                   uint64_t offset)
{
    CUarrayMapInfo info = sparse_info(p, pool, offset);
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel.offsetX = x * 128;
    info.subresource.sparseLevel.offsetY = y * 128;
    info.subresource.sparseLevel.extentWidth = count * 128;
    info.subresource.sparseLevel.extentHeight = 128;
    info.subresource.sparseLevel.extentDepth = 1;
    return info;
}

/* Words of a rectangle of a level, to or from host memory. */
static void sparse_copy(const pair *p, CUarray array, unsigned x, unsigned y, unsigned width,
                        unsigned height, uint32_t *words, bool upload)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = upload ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = upload ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = words;
    copy.srcPitch = copy.dstPitch = (size_t)width * 4;
    copy.srcArray = copy.dstArray = array;
    *(upload ? &copy.dstXInBytes : &copy.srcXInBytes) = (size_t)x * 4;
    *(upload ? &copy.dstY : &copy.srcY) = y;
    copy.WidthInBytes = (size_t)width * 4;
    copy.Height = height;
    CU_OK(p->cu->Memcpy2D(&copy));
    CU_OK(p->cu->CtxSynchronize());
}

static size_t sparse_wrong_bytes(const pair *p, CUarray array, unsigned x, unsigned y,
                                 unsigned width, unsigned height, const uint32_t *expected)
{
    const size_t words = (size_t)width * height;
    uint32_t *found = test_memory(words * 4);
    sparse_copy(p, array, x, y, width, height, found, false);
    return 4 * words_wrong(found, expected, words);
}

static void answer_rectangle(const pair *p, const char *key, CUarray array, unsigned x, unsigned y,
                             unsigned width, unsigned height, const uint32_t *expected)
{
    const size_t wrong = sparse_wrong_bytes(p, array, x, y, width, height, expected);
    answer_bytes(key, wrong);
}

static void report_properties(const char *what, CUresult result,
                              const CUDA_ARRAY_SPARSE_PROPERTIES *found)
{
    answer_with(what, result, "tile %u x %u x %u, tail from level %u, %llu bytes, flags 0x%x",
                found->tileExtent.width, found->tileExtent.height, found->tileExtent.depth,
                found->miptailFirstLevel, found->miptailSize, found->flags);
}

SPARSE_CASE(properties, .mark = TEST_BOTH)
{
    static const struct {
        const char *what;
        size_t width, height, depth;
        unsigned flags, levels; /* levels 0: an array */
    } rows[] = {{"array 512 x 384", 512, 384, 0, 0, 0},
                {"array 300 x 200", 300, 200, 0, 0, 0},
                {"array 64 x 64", 64, 64, 0, 0, 0},
                {"layered array 256 x 256, 3 layers", 256, 256, 3, CUDA_ARRAY3D_LAYERED, 0},
                {"array 128 x 128 x 64", 128, 128, 64, 0, 0},
                {"mipmapped array 512 x 512, 10 levels", 512, 512, 0, 0, 10},
                {"layered mipmapped array 512 x 512, 2 layers, 10 levels", 512, 512, 2,
                 CUDA_ARRAY3D_LAYERED, 10}};
    pair *p = &f->p;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const CUDA_ARRAY3D_DESCRIPTOR desc =
            sparse_desc(rows[i].width, rows[i].height, rows[i].depth, rows[i].flags);
        CUDA_ARRAY_SPARSE_PROPERTIES found;
        memset(&found, 0, sizeof found);
        CUarray array = NULL;
        CUmipmappedArray mipmap = NULL;
        CUresult made = rows[i].levels == 0
                            ? p->cu->Array3DCreate(&array, &desc)
                            : p->cu->MipmappedArrayCreate(&mipmap, &desc, rows[i].levels);
        if (made != CUDA_SUCCESS && !p->cu->software && i > 0) {
            ANSWER(rows[i].what, "not made, %s", raw_cuda_result_name(made));
            continue;
        }
        CU_OK(made);
        if (array != NULL) {
            report_properties(rows[i].what, f->p.cu->ArrayGetSparseProperties(&found, array),
                              &found);
            CU_OK(p->cu->ArrayDestroy(array));
        } else {
            CUDA_ARRAY_SPARSE_PROPERTIES none;
            report_properties(rows[i].what,
                              f->p.cu->MipmappedArrayGetSparseProperties(&found, mipmap), &found);
            REQUIRE(found.miptailSize % TILE_BYTES == 0);
            CU_OK(p->cu->MipmappedArrayGetLevel(&array, mipmap, 0));
            answer_call(answer_key("a level of a %s", rows[i].what),
                        f->p.cu->ArrayGetSparseProperties(&none, array)); /* cuda.h */
            CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
        }
        /* Vulkan's standard shape for 32 bits. */
        if (i == 0) REQUIRE(found.tileExtent.width == 128 && found.tileExtent.height == 128);
    }
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(256, 256, 0, 0);
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    desc.Flags = 0;
    CUarray plain = raw_cuda_array(p->cu, &desc);
    answer_call("an array that is not sparse", f->p.cu->ArrayGetSparseProperties(&found, plain));
}

/* Tiles hold what is put there, and the pool's memory keeps it for the next tile. */
SPARSE_CASE(array_tiles, .mark = TEST_BOTH)
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair *p = &f->p;
    CUarray array;
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0),
                                  surface = sparse_desc(512, 384, 0, CUDA_ARRAY3D_SURFACE_LDST);
    answer_call("cuArray3DCreate with SURFACE_LDST", p->cu->Array3DCreate(&array, &surface));
    array = raw_cuda_array(p->cu, &desc);
    CUarrayMapInfo info[2] = {sparse_tiles(p, array, 1, 0, 2, f->pool, 0),
                              sparse_tiles(p, array, 0, 2, 1, f->pool, 8 * TILE_BYTES)};
    map_tiles(f, &info[0], 1);
    map_tiles(f, &info[1], 1);
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5),
             *other = pattern_words(128 * 128 * 4, 6);
    sparse_copy(p, array, 128, 0, WIDTH, HEIGHT, words, true);
    sparse_copy(p, array, 0, 256, 128, 128, other, true);
    answer_rectangle(p, "two tiles", array, 128, 0, WIDTH, HEIGHT, words);
    answer_rectangle(p, "a third one", array, 0, 256, 128, 128, other);
    /* The first two go, and come back elsewhere. */
    info[0] = sparse_tiles(p, array, 1, 0, 2, 0, 0);
    map_tiles(f, info, 1);
    info[0] = sparse_tiles(p, array, 2, 1, 2, f->pool, 0);
    map_tiles(f, info, 1);
    answer_rectangle(p, "the two mapped elsewhere", array, 256, 128, WIDTH, HEIGHT, words);
    answer_rectangle(p, "the third one then", array, 0, 256, 128, 128, other);
    CU_OK(p->cu->MemRelease(f->pool)); /* its mappings keep it */
    f->pool = 0;
    answer_rectangle(p, "the two when the pool is released", array, 256, 128, WIDTH, HEIGHT, words);
    info[0] = sparse_tiles(p, array, 2, 1, 2, 0, 0);
    info[1] = sparse_tiles(p, array, 0, 2, 1, 0, 0);
    map_tiles(f, &info[0], 1);
    map_tiles(f, &info[1], 1);
}

/* [measure] */
SPARSE_CASE(two_in_a_list, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    enum { WIDTH = 256, HEIGHT = 128 };
    pair *p = &f->p;
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p->cu, &desc);
    uint32_t *words = pattern_words(WIDTH * HEIGHT * 4, 5),
             *other = pattern_words(128 * 128 * 4, 6);
    CUarrayMapInfo info[2] = {sparse_tiles(p, array, 1, 0, 2, f->pool, 0),
                              sparse_tiles(p, array, 0, 2, 1, f->pool, 8 * TILE_BYTES)};
    map_tiles(f, info, 2);
    sparse_copy(p, array, 128, 0, WIDTH, HEIGHT, words, true);
    sparse_copy(p, array, 0, 256, 128, 128, other, true);
    const size_t wrong[] = {sparse_wrong_bytes(p, array, 128, 0, WIDTH, HEIGHT, words),
                            sparse_wrong_bytes(p, array, 0, 256, 128, 128, other)};
    ANSWER("wrong bytes", "the first %zu, the second %zu", wrong[0], wrong[1]);
}

SPARSE_CASE(refusals, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    pair *p = &f->p;
    CUarray flat = NULL, level;
    CUmemGenericAllocationHandle memory = pair_handle(p, VMM_SIZE, 0);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p->cu, &desc);
    CUmipmappedArray mipmap = raw_cuda_mipmap(p->cu, &desc, 2);
    CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, 0));
    CUarrayMapInfo info = sparse_tiles(p, array, 0, 0, 1, memory, 0);
    answer_call("memory that is no tile pool", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 4096);
    answer_call("an offset within a tile's bytes", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, POOL_SIZE);
    answer_call("past the pool", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 0);
    info.subresource.sparseLevel.offsetX = 64;
    answer_call("an offset within a tile", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, array, 3, 0, 2, f->pool, 0);
    answer_call("past the array", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 0);
    info.deviceBitMask = 0;
    answer_call("for no device", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, array, 0, 0, 1, f->pool, 0);
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    answer_call("unmapping with a pool", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, level, 0, 0, 1, f->pool, 0);
    answer_call("a level of a mipmapped array", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    desc.Flags = 0;
    CUarray plain = raw_cuda_array(p->cu, &desc);
    info = sparse_tiles(p, plain, 0, 0, 1, f->pool, 0);
    answer_call("an array that is not sparse", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    const CUdeviceptr range = pair_range(p, POOL_SIZE);
    CUresult result = p->cu->MemMap(range, POOL_SIZE, 0, f->pool, 0);
    answer_call("a tile pool in cuMemMap", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MemUnmap(range, POOL_SIZE));
    desc = sparse_desc(512, 0, 0, 0);
    result = p->cu->Array3DCreate(&flat, &desc);
    answer_call("a sparse 1D array", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->ArrayDestroy(flat));
    /* An edge that is none of a tile. */
    desc = sparse_desc(300, 200, 0, 0);
    CUarray odd = raw_cuda_array(p->cu, &desc);
    info = sparse_tiles(p, odd, 2, 1, 1, f->pool, 0);
    answer_call("a whole tile over the edge", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, odd, 2, 0, 1, f->pool, TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300 - 256;
    answer_ok("the part of a tile up to the edge", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info.subresource.sparseLevel.extentWidth = 300 - 256 - 1;
    answer_call("less than the part up to the edge",
                f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    info = sparse_tiles(p, odd, 0, 1, 1, f->pool, 2 * TILE_BYTES);
    info.subresource.sparseLevel.extentWidth = 300; /* a row of tiles, up to both edges */
    info.subresource.sparseLevel.extentHeight = 200 - 128;
    answer_call("a row of tiles up to the edges", f->p.cu->MemMapArrayAsync(&info, 1, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    uint32_t *words = pattern_words(300 * 72 * 4, 3);
    sparse_copy(p, odd, 0, 128, 300, 72, words, true);
    const size_t wrong = sparse_wrong_bytes(p, odd, 0, 128, 300, 72, words);
    ANSWER("that row of tiles", "%zu of %d bytes wrong", wrong, 300 * 72 * 4);
    if (p->cu->software) REQUIRE_EQ(wrong, 0);
}

/* What is written there is lost, and zeros are read. */
SPARSE_CASE(where_nothing_is_mapped, .mark = TEST_BOTH)
{
    enum { SIDE = 128 };
    pair *p = &f->p;
    uint32_t *words = pattern_words(3 * SIDE * SIDE * 4, 9),
             *zeros = test_memory(3 * SIDE * SIDE * 4);
    const CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(512, 384, 0, 0);
    CUarray array = raw_cuda_array(p->cu, &desc);
    sparse_copy(p, array, 0, 0, SIDE, SIDE, words, true);
    answer_rectangle(p, "zeros where nothing is mapped", array, 0, 0, SIDE, SIDE, zeros);
    /* Beside a tile that is mapped, in one copy; the tile keeps its part. */
    CUarrayMapInfo info = sparse_tiles(p, array, 1, 0, 1, f->pool, 0);
    map_tiles(f, &info, 1);
    sparse_copy(p, array, 0, 0, 3 * SIDE, SIDE, words, true);
    for (size_t y = 0; y < SIDE; y++)
        memcpy(zeros + (y * 3 + 1) * SIDE, words + (y * 3 + 1) * SIDE, SIDE * 4);
    const size_t beside = sparse_wrong_bytes(p, array, 0, 0, 3 * SIDE, SIDE, zeros);
    ANSWER("a tile between two that are not mapped", "%zu of %d bytes wrong", beside,
           3 * SIDE * SIDE * 4);
    if (p->cu->software) REQUIRE_EQ(beside, 0);
    /* [measure] Unmapped and mapped again, does the pool have it? */
    CUarrayMapInfo unmap = sparse_tiles(p, array, 1, 0, 1, 0, 0);
    map_tiles(f, &unmap, 1);
    memset(zeros, 0, SIDE * SIDE * 4);
    const size_t unmapped = sparse_wrong_bytes(p, array, SIDE, 0, SIDE, SIDE, zeros);
    ANSWER("an unmapped tile", "%zu bytes other than 0", unmapped);
    if (p->cu->software) REQUIRE_EQ(unmapped, 0);
}

/* 256 texels of a level by a texture of the mipmapped array: it may see what copies do not. */
static size_t wrong_in_texture(const pair *p, CUmipmappedArray mipmap, unsigned size,
                               unsigned level, const uint32_t *expected)
{
    const unsigned extent = size >> level, step = extent >= 16 ? extent / 16 : 1;
    int count = 0;
    place places[256];
    uint32_t wanted[256], found[256];
    const CUDA_TEXTURE_DESC desc =
        image_sampling(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES, (float)level);
    CUtexObject texture = 0;
    for (unsigned y = 0; y < extent; y += step)
        for (unsigned x = 0; x < extent; x += step, count++) {
            places[count] = (place){.x = ((float)x + 0.5f) / (float)extent,
                                    .y = ((float)y + 0.5f) / (float)extent,
                                    .level = (float)level};
            wanted[count] = expected[y * extent + x];
        }
    CU_OK(raw_cuda_mip_texture(p->cu, mipmap, &desc, &texture));
    read_places(p, "read_2d_float", texture, places, count, found, sizeof found[0]);
    CU_OK(p->cu->TexObjectDestroy(texture));
    return words_wrong(found, wanted, (size_t)count);
}

typedef struct tail_variant {
    const char *what;
    unsigned size; /* of level 0 */
    enum { ONE_LIST, TAIL_FIRST_IN_LIST, LEVEL_THEN_TAIL, TAIL_THEN_LEVEL, TAIL_ONLY } how;
    uint64_t offset; /* of the tail in the pool */
    bool own_pool;   /* the tail's */
} tail_variant;

static size_t map_with_tail(const sparse_pair *f, const tail_variant *v)
{
    const pair *p = &f->p;
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY_SPARSE_PROPERTIES found;
    const unsigned levels = image_full_chain(v->size, v->size);
    CUDA_ARRAY3D_DESCRIPTOR desc = sparse_desc(v->size, v->size, 0, 0);
    desc.Format = CU_AD_FORMAT_FLOAT;
    CUmemGenericAllocationHandle tails = v->own_pool ? sparse_pool(p) : f->pool;
    CU_OK(p->cu->MipmappedArrayCreate(&mipmap, &desc, levels));
    CU_OK(f->p.cu->MipmappedArrayGetSparseProperties(&found, mipmap));
    const unsigned first = found.miptailFirstLevel;
    REQUIRE(found.miptailSize > 0 && first >= 1 && first < levels);
    CUarrayMapInfo whole = sparse_tiles(p, NULL, 0, 0, v->size / 128, f->pool, 0),
                   tail = sparse_info(p, tails, v->offset);
    whole.resourceType = tail.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    whole.resource.mipmap = tail.resource.mipmap = mipmap;
    whole.subresource.sparseLevel.extentHeight = v->size; /* all of level 0 */
    tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    tail.subresource.miptail.size = found.miptailSize;
    const bool tail_first = v->how == TAIL_FIRST_IN_LIST || v->how == TAIL_THEN_LEVEL;
    CUarrayMapInfo list[2] = {tail_first ? tail : whole, tail_first ? whole : tail};
    if (v->how == ONE_LIST || v->how == TAIL_FIRST_IN_LIST) {
        map_tiles(f, list, 2);
    } else if (v->how == TAIL_ONLY) {
        map_tiles(f, &tail, 1);
    } else {
        map_tiles(f, &list[0], 1);
        map_tiles(f, &list[1], 1);
    }
    const size_t count = (size_t)v->size * v->size + 16;
    uint32_t *words = pattern_words(count * 4, 7);
    for (size_t i = 0; i < count; i++)
        words[i] = 0x3f800000u | words[i] >> 9; /* floats from 1 to 2 */
    size_t wrong = 0, wrong_first = 0, wrong_tail = 0, wrong_texels = 0;
    for (unsigned i = v->how == TAIL_ONLY ? first : 0; i < levels; i = i == 0 ? first : i + 1) {
        CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        sparse_copy(p, level, 0, 0, v->size >> i, v->size >> i, words + i, true);
    }
    for (unsigned i = v->how == TAIL_ONLY ? first : 0; i < levels; i = i == 0 ? first : i + 1) {
        CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, i));
        const size_t bytes =
            sparse_wrong_bytes(p, level, 0, 0, v->size >> i, v->size >> i, words + i);
        *(i == 0 ? &wrong : i == first ? &wrong_first : &wrong_tail) += bytes;
        if (i == first || i == first + 1)
            wrong_texels += wrong_in_texture(p, mipmap, v->size, i, words + i);
    }
    ANSWER(v->what,
           "tail from level %u, %llu bytes; "
           "wrong bytes: level 0 %zu, level %u %zu, the smaller ones %zu; "
           "wrong texels of a texture there %zu",
           first, found.miptailSize, wrong, first, wrong_first, wrong_tail, wrong_texels);
    if (tails != f->pool) CU_OK(p->cu->MemRelease(tails));
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap)); /* mapped as it is */
    return wrong + wrong_first + wrong_tail + wrong_texels;
}

/* The first of these reads zeros from level 2 on. */
SPARSE_CASE(mip_tail, .mark = TEST_BOTH)
{
    static const tail_variant variants[] = {
        {"256 x 256, level 0 and the tail in one list", 256, ONE_LIST, 16 * TILE_BYTES, false},
        {"the tail first in the list", 256, TAIL_FIRST_IN_LIST, 16 * TILE_BYTES, false},
        {"level 0, then the tail", 256, LEVEL_THEN_TAIL, 16 * TILE_BYTES, false},
        {"the tail, then level 0", 256, TAIL_THEN_LEVEL, 16 * TILE_BYTES, false},
        {"the tail only", 256, TAIL_ONLY, 16 * TILE_BYTES, false},
        {"the tail only, at 0", 256, TAIL_ONLY, 0, false},
        {"the tail only, at 2 MiB", 256, TAIL_ONLY, VMM_SIZE, false},
        {"level 0, then the tail on a pool of its own", 256, LEVEL_THEN_TAIL, 0, true},
        {"512 x 512, level 0, then the tail", 512, LEVEL_THEN_TAIL, 32 * TILE_BYTES, false}};
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        const size_t wrong = map_with_tail(f, &variants[i]);
        /* A tail that comes after tiles in one list is not mapped. */
        REQUIRE((wrong != 0) == (variants[i].how == ONE_LIST));
    }
}
