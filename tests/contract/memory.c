/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan memory imported as an opaque fd, where it works and where it fails, and the
 * fd after that; dedicated memory and other memory for buffers. */
#define TEST_GROUP "memory."
#include "contract.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
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

PAIR_CASE(buffer_at_an_offset, .mark = TEST_BOTH)
{
    raw_vk_buffer vk;
    const size_t size = 100000;
    raw_vk_buffer_create_at(&p->vk, size, 70000, RAW_VK_EXPORT, &vk);
    REQUIRE(vk.offset >= 70000);
    CUexternalMemory memory =
        raw_cuda_imported(p->cu, raw_vk_buffer_fd(&p->vk, &vk), vk.allocation_size, false);
    CUdeviceptr pointer = raw_cuda_mapped(p->cu, memory, vk.offset, size);
    answer_same_memory(p, "at an offset of 70,000 or more", &vk, 0, pointer, size, 77);
    raw_vk_buffer_destroy(&p->vk, &vk);
}

PAIR_CASE(half_the_size, .mark = TEST_BOTH)
{
    const size_t size = 1u << 20;
    raw_vk_buffer vk = pair_vk_buffer(p, size, RAW_VK_EXPORT);
    CUexternalMemory memory =
        raw_cuda_imported(p->cu, raw_vk_buffer_fd(&p->vk, &vk), size / 2, false);
    CUdeviceptr pointer = raw_cuda_mapped(p->cu, memory, 0, size / 2);
    answer_same_memory(p, "its first half", &vk, 0, pointer, size / 2, 5);
}

PAIR_CASE(overlapping_mappings, .mark = TEST_BOTH)
{
    CUdeviceptr second = 0;
    const size_t size = 1u << 20, offset = 256 * 1024;
    shared_buffer b = pair_buffer(p, size, 0, false);
    CU_OK(raw_cuda_map_buffer(p->cu, b.memory, offset, size - offset, &second));
    REQUIRE(second != 0 && second != b.pointer);
    answer_same_memory(p, "the second mapping", &b.vk, offset, second, size - offset, 11);
    answer_same_memory(p, "the first mapping beside it", &b.vk, 0, b.pointer, size, 12);

    set_words(p, second, 0xabcd0123u, 16);
    answer_word("written by the second, read by the first", cuda_word(p, b.pointer + offset),
                0xabcd0123u);
    CU_OK(p->cu->MemFree(second));
    answer_same_memory(p, "the first mapping alone again", &b.vk, 0, b.pointer, size, 13);
}

PAIR_CASE(fds_return, .mark = TEST_BOTH)
{
    size_t before = 0;
    for (int turn = 0; turn < 20; turn++) {
        shared_buffer b;
        shared_buffer_open(p, 65536, turn % 2 ? RAW_VK_DEDICATED : 0, turn % 2, &b);
        shared_buffer_close(p, &b);
        if (turn == 1) before = test_open_fds(); /* a driver may keep some since its first import */
    }
    answer_number("fds after 18 more imports", (int64_t)test_open_fds(), (int64_t)before);
}

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

PAIR_CASE(no_dma_buf_of_a_mapping, .mark = TEST_NVIDIA_ONLY,
          .reason = "the twin has no dma-bufs and says so")
{
    int fd = -1;
    shared_buffer b = pair_buffer(p, 2u << 20, 0, false);
    answer_call("of a mapping", p->cu->MemGetHandleForAddressRange(
                                    &fd, b.pointer, 65536, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
}

PAIR_CASE(kernel_writes, .mark = TEST_BOTH, .smoke = true)
{
    const unsigned count = 300001;
    const size_t size = count * sizeof(uint32_t);
    uint32_t *found = test_memory(size);
    shared_buffer b = pair_buffer(p, size, RAW_VK_DEDICATED, true);
    CU_OK(words_run(p, "pattern_write", b.pointer, size, 99));
    raw_vk_read(&p->vk, &b.vk, 0, found, size);
    answer_wrong("words that a kernel wrote, read by Vulkan",
                 words_wrong(found, pattern_words(size, 99), count), count);
    raw_vk_fill(&p->vk, &b.vk, 0, size, 1000, NULL); /* read and changed by the kernel */
    CU_OK(words_run(p, "pattern_add", b.pointer, size, 234));
    raw_vk_read(&p->vk, &b.vk, 0, found, size);
    answer_wrong("Vulkan's words that a kernel changed", words_not(found, 1234, count), count);
}

PAIR_CASE(every_queue_family, .mark = TEST_BOTH)
{
    const size_t size = 65536;
    shared_buffer b = pair_buffer(p, size, 0, false);
    unsigned wrong = 0;
    for (uint32_t q = 0; q < p->vk.queue_count; q++) {
        /* Families of video engines and such have no transfer operations. */
        const VkQueueFlags can =
            VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
        uint32_t words[2] = {0, 0};
        if ((p->vk.queues[q].flags & can) == 0) continue;
        raw_vk_fill(&p->vk, &b.vk, 0, size, 0x7700u + q, &(raw_vk_job){.queue = q});
        cuda_read(p, b.pointer + size - 8, words, sizeof words);
        wrong += words[0] != 0x7700u + q || words[1] != 0x7700u + q;
    }
    answer_number("families whose words are wrong", wrong, 0);
}

PAIR_CASE(second_vulkan_buffer, .mark = TEST_BOTH)
{
    raw_vk_buffer again;
    const size_t size = 65536;
    uint32_t word = 0;
    shared_buffer b = pair_buffer(p, size, 0, false);
    raw_vk_buffer_import(&p->vk, raw_vk_buffer_fd(&p->vk, &b.vk), &b.vk, &again);
    answer_same_memory(p, "CUDA's memory in a second buffer", &again, 0, b.pointer, size, 21);
    set_words(p, b.pointer, 0x600df00du, size / 4);
    raw_vk_read(&p->vk, &again, size - 4, &word, 4);
    answer_word("its last word", word, 0x600df00du);
    raw_vk_buffer_destroy(&p->vk, &again);
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

TEST(kcmp_tells_files_apart, .mark = TEST_BOTH)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC), other = open("/dev/null", O_RDWR | O_CLOEXEC);
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    REQUIRE(fd >= 0 && other >= 0 && duplicate >= 0);
    pid_t self = getpid();
    long order = syscall(SYS_kcmp, self, self, 0 /* KCMP_FILE */, fd, duplicate);
    if (order < 0) MEASURED("kcmp", "%s", strerror(errno));
    (void)raw_cuda_open(); /* whose answers these are */
    answer_so("a duplicate", same_file(fd, duplicate), "another file");
    if (order >= 0) REQUIRE(!same_file(fd, other));
    close(duplicate);
    answer_so("a closed duplicate", !same_file(fd, duplicate), "the same file");
    close(fd);
    close(other);
}

/* Kinds: what each is worth in speed is in docs/measured/memory-kinds.md ----------------------- */

#undef TEST_GROUP
#define TEST_GROUP "kinds."

#define MIB(n) ((VkDeviceSize)(n) << 20)

static const VkDeviceSize sizes[] = {4096, MIB(2), MIB(64), MIB(1024)};
enum { SIZES = sizeof sizes / sizeof sizes[0], END = 65536 };

static const char *text(char out[64], const VkMemoryDedicatedRequirements *d)
{
    snprintf(out, 64, "prefers %u, requires %u", (unsigned)d->prefersDedicatedAllocation,
             (unsigned)d->requiresDedicatedAllocation);
    return out;
}

/* What a buffer that exists is said to prefer, and one that is planned. */
PAIR_CASE(preference, .mark = TEST_BOTH)
{
    for (int shared = 0; shared < 2; shared++) {
        for (size_t i = 0; i < SIZES; i++) {
            const unsigned long long size = sizes[i];
            const VkExternalMemoryBufferCreateInfo external = {
                .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
            VkBufferCreateInfo info = raw_vk_buffer_info(
                sizes[i], VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
            info.pNext = shared ? &external : NULL;
            VkMemoryDedicatedRequirements made = {
                .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
            VkMemoryDedicatedRequirements planned = made;
            VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                           .pNext = &made};
            VkMemoryRequirements2 needs_planned = needs;
            char a[64], b[64];
            VkBuffer buffer = VK_NULL_HANDLE;
            needs_planned.pNext = &planned;
            VK_OK(vkCreateBuffer(p->vk.device, &info, NULL, &buffer));
            const VkBufferMemoryRequirementsInfo2 ask = {
                .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = buffer};
            const VkDeviceBufferMemoryRequirements plan = {
                .sType = VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS, .pCreateInfo = &info};
            vkGetBufferMemoryRequirements2(p->vk.device, &ask, &needs);
            vkGetDeviceBufferMemoryRequirements(p->vk.device, &plan, &needs_planned);
            vkDestroyBuffer(p->vk.device, buffer, NULL);
            const char *what = shared ? "exportable" : "not exportable";
            ANSWER(answer_key("%s, %llu bytes", what, size), "%s", text(a, &made));
            ANSWER(answer_key("%s, %llu bytes, planned", what, size), "%s", text(b, &planned));
            REQUIRE_EQ_STR(a, b);
        }
    }
}

/* Vulkan's own memory of each kind, at both ends. */
PAIR_CASE(own_memory, .mark = TEST_BOTH)
{
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        for (size_t i = 1; i < SIZES; i++) {
            shared_buffer b;
            const unsigned long long size = sizes[i];
            shared_buffer_open(p, sizes[i], dedicated ? RAW_VK_DEDICATED : 0, dedicated != 0, &b);
            const char *what = dedicated ? "dedicated" : "not dedicated";
            answer_same_memory(p, answer_key("%s, %llu bytes, the beginning", what, size), &b.vk, 0,
                               b.pointer, END, 10);
            answer_same_memory(p, answer_key("%s, %llu bytes, the end", what, size), &b.vk,
                               sizes[i] - END, b.pointer + sizes[i] - END, END, 20);
            shared_buffer_close(p, &b);
        }
    }
}

/* A VMM allocation in a buffer that has all of it: so its import may be dedicated. */
PAIR_CASE(imported_memory, .mark = TEST_BOTH)
{
    for (size_t i = 1; i < SIZES; i++) {
        const unsigned long long size = sizes[i];
        raw_vk_buffer like, vk;
        vmm_block b;
        raw_vk_buffer_create(&p->vk, sizes[i], RAW_VK_EXPORT | RAW_VK_DEDICATED, &like);
        const raw_vk_buffer usual = like;
        raw_vk_buffer_destroy(&p->vk, &like);
        answer_number(answer_key("what a buffer of %llu bytes needs", size),
                      (int64_t)usual.allocation_size, (int64_t)sizes[i]);
        vmm_open(p, (size_t)sizes[i], POSIX_FD, &b);
        raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &vk);
        answer_same_memory(p, answer_key("dedicated, %llu bytes, the beginning", size), &vk, 0,
                           b.pointer, END, 30);
        answer_same_memory(p, answer_key("dedicated, %llu bytes, the end", size), &vk,
                           sizes[i] - END, b.pointer + sizes[i] - END, END, 40);
        raw_vk_buffer_destroy(&p->vk, &vk);
        vmm_close(p, &b);
    }
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
