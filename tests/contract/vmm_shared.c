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
    answer_so("a kernel's last word, by Vulkan", word == last, "right", "wrong");
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
    answer_so("the fd after two imports", fd_open(fd), "open", "closed");
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
    const size_t after = test_open_fds();
    answer_so("fds after 18 more turns", after == before, "as many", "not as many");
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
    answer_so("CUDA reads what Vulkan wrote", read, "yes", "no");
    set_words(p, pointer, 0x61626364u, SIZE / 4);
    raw_vk_read(&p->vk, &vk, SIZE - 4, &word, 4);
    answer_so("Vulkan reads what CUDA wrote", word == 0x61626364u, "yes", "no");
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
