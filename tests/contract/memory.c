/* SPDX-License-Identifier: MIT */
/* Contract rows: importing Vulkan memory as an opaque fd, where it works. */
#define TEST_GROUP "memory."
#include "contract.h"

static void import_and_compare(unsigned vk_flags, bool dedicated_flag)
{
    static const size_t sizes[] = {4, 4096, 65536, 1000000, 8u << 20};
    pair p;
    pair_open(&p);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        shared_buffer b = pair_buffer(&p, sizes[i], vk_flags, dedicated_flag);
        answer_same_memory(&p, answer_key("a buffer of %zu", sizes[i]), &b.vk, 0, b.pointer,
                           sizes[i], 0x1000u + (uint32_t)i);
    }
    pair_close(&p);
}

TEST_AS(plain, import_and_compare(0, false), .mark = TEST_BOTH, .smoke = true)
TEST_AS(dedicated, import_and_compare(RAW_VK_DEDICATED, true), .mark = TEST_BOTH)
TEST_AS(dedicated_without_flag, import_and_compare(RAW_VK_DEDICATED, false), .mark = TEST_BOTH,
        .reason = "neither driver sees the missing flag; the library does")
TEST_AS(plain_with_flag, import_and_compare(0, true), .mark = TEST_BOTH,
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

    uint32_t word = 0;
    CU_OK(p->cu->MemsetD32Async(second, 0xabcd0123u, 16, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    cuda_read(p, b.pointer + offset, &word, sizeof word);
    answer_word("written by the second, read by the first", word, 0xabcd0123u);

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
    const size_t after = test_open_fds();
    ANSWER("fds more after 18 imports", "%ld", (long)after - (long)before);
    REQUIRE_EQ(after, before);
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
    answer_is("an import of a second fd",
              raw_cuda_import_memory(p->cu, other, vk.allocation_size, false, &memory),
              CUDA_SUCCESS);
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
    if (p->cu->PointerGetAttribute == NULL || p->cu->PointerSetAttribute == NULL)
        SKIP("no pointer attributes");
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
        MEASURED("buffer_id", "%llu", ids[i]);
        zero += ids[i] == 0;
        for (int k = 0; k < i; k++)
            alike += ids[i] == ids[k];
    }
    ANSWER("buffer ids of two allocations and two mappings", "%d zero, %d alike", zero, alike);
    REQUIRE(zero == 0 && alike == 0);
    answer_is("SYNC_MEMOPS of a mapping",
              p->cu->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b.pointer),
              CUDA_SUCCESS);
}

TEST(no_dma_buf_of_a_mapping, .mark = TEST_NVIDIA_ONLY,
     .reason = "the twin has no dma-bufs and says so")
{
    pair p;
    shared_buffer b;
    int fd = -1;
    pair_open(&p);
    if (p.cu->MemGetHandleForAddressRange == NULL) {
        int claimed = 1;
        CU_OK(p.cu->DeviceGetAttribute(&claimed, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, p.device));
        ANSWER("of a mapping", "no such call");
        REQUIRE_EQ(claimed, 0);
        pair_close(&p);
        return;
    }
    shared_buffer_open(&p, 2u << 20, 0, false, &b);
    CUresult result = p.cu->MemGetHandleForAddressRange(&fd, b.pointer, 65536,
                                                        CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    answer_is("of a mapping", result, CUDA_ERROR_INVALID_VALUE);
    shared_buffer_close(&p, &b);

    CUdeviceptr own = raw_cuda_memory(p.cu, 2u << 20);
    result =
        p.cu->MemGetHandleForAddressRange(&fd, own, 65536, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    MEASURED("dma_buf_of_own_memory", "%s", raw_cuda_result_name(result));
    pair_close(&p);
}

static void launch(const pair *p, CUfunction kernel, CUdeviceptr data, unsigned count,
                   unsigned last)
{
    void *args[] = {&data, &count, &last};
    CU_OK(p->cu->LaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, p->stream, args,
                              NULL));
}

static size_t wrong_words(const uint32_t *found, const uint32_t *expected, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += found[i] != expected[i];
    return wrong;
}

PAIR_CASE(kernel_writes, .mark = TEST_BOTH, .smoke = true)
{
    const unsigned count = 300001;
    const size_t size = count * sizeof(uint32_t);
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    CUfunction add = raw_cuda_function(p->cu, module, "pattern_add");
    uint32_t *found = test_memory(size), *expected = pattern_words(size, 99);
    shared_buffer b = pair_buffer(p, size, RAW_VK_DEDICATED, true);

    launch(p, write, b.pointer, count, 99);
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_read(&p->vk, &b.vk, 0, found, size);
    answer_wrong("words that a kernel wrote, read by Vulkan", wrong_words(found, expected, count),
                 count);

    raw_vk_fill(&p->vk, &b.vk, 0, size, 1000,
                NULL); /* Vulkan's words, read and changed by the kernel */
    launch(p, add, b.pointer, count, 234);
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_read(&p->vk, &b.vk, 0, found, size);
    for (unsigned i = 0; i < count; i++)
        expected[i] = 1234;
    answer_wrong("Vulkan's words that a kernel changed", wrong_words(found, expected, count),
                 count);
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
    CU_OK(p->cu->MemsetD32Async(b.pointer, 0x600df00du, size / 4, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_read(&p->vk, &again, size - 4, &word, 4);
    answer_word("its last word", word, 0x600df00du);
    raw_vk_buffer_destroy(&p->vk, &again);
}

PAIR_CASE(costs, .mark = TEST_BOTH, .reason = "reported, never asserted")
{
    static const size_t sizes[] = {65536, 8u << 20, 64u << 20, 1u << 30};
    unsigned made = 0;
    for (size_t i = 0; i < (p->cu->software ? 3 : 4); i++) {
        raw_vk_buffer vk;
        CUexternalMemory memory;
        CUdeviceptr pointer;
        raw_vk_buffer_create(&p->vk, sizes[i], RAW_VK_EXPORT, &vk);
        int fd = raw_vk_buffer_fd(&p->vk, &vk);
        double start = test_now_us();
        CU_OK(raw_cuda_import_memory(p->cu, fd, vk.allocation_size, false, &memory));
        double imported = test_now_us();
        CU_OK(raw_cuda_map_buffer(p->cu, memory, 0, sizes[i], &pointer));
        double mapped = test_now_us();
        CU_OK(p->cu->MemFree(pointer));
        double unmapped = test_now_us();
        CU_OK(p->cu->DestroyExternalMemory(memory));
        made += i < 3;
        MEASURED("import_cost", "%zu KiB: import %.1f us, map %.1f us, unmap %.1f us",
                 sizes[i] / 1024, imported - start, mapped - imported, unmapped - mapped);
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
    ANSWER("sizes up to 64 MiB imported, mapped and given back", "%u of 3", made);
}
