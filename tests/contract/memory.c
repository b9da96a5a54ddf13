/* SPDX-License-Identifier: MIT */
/* Contract rows: importing Vulkan memory as an opaque fd, where it works. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

static void import_and_compare(unsigned vk_flags, bool dedicated_flag)
{
    static const size_t sizes[] = {4, 4096, 65536, 1000000, 8u << 20};
    pair p;
    pair_open(&p);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        shared_buffer b;
        shared_buffer_open(&p, sizes[i], vk_flags, dedicated_flag, &b);
        require_same_memory(&p, &b.vk, 0, b.pointer, sizes[i], 0x1000u + (uint32_t)i);
        shared_buffer_close(&p, &b);
    }
    pair_close(&p);
}

static void plain(void)
{
    import_and_compare(0, false);
}

static void dedicated(void)
{
    import_and_compare(RAW_VK_DEDICATED, true);
}

static void dedicated_without_flag(void)
{
    import_and_compare(RAW_VK_DEDICATED, false);
}

static void plain_with_flag(void)
{
    import_and_compare(0, true);
}

static void buffer_at_an_offset(void)
{
    pair p;
    raw_vk_buffer vk;
    CUexternalMemory memory;
    CUdeviceptr pointer;
    const size_t size = 100000;
    pair_open(&p);
    raw_vk_buffer_create_at(&p.vk, size, 70000, RAW_VK_EXPORT, &vk);
    REQUIRE(vk.offset >= 70000);
    CU_OK(raw_cuda_import_memory(p.cu, raw_vk_buffer_fd(&p.vk, &vk), vk.allocation_size, false,
                                 &memory));
    CU_OK(raw_cuda_map_buffer(p.cu, memory, vk.offset, size, &pointer));
    require_same_memory(&p, &vk, 0, pointer, size, 77);
    CU_OK(p.cu->MemFree(pointer));
    CU_OK(p.cu->DestroyExternalMemory(memory));
    raw_vk_buffer_destroy(&p.vk, &vk);
    pair_close(&p);
}

static void half_the_size(void)
{
    pair p;
    raw_vk_buffer vk;
    CUexternalMemory memory;
    CUdeviceptr pointer;
    const size_t size = 1u << 20;
    pair_open(&p);
    raw_vk_buffer_create(&p.vk, size, RAW_VK_EXPORT, &vk);
    CU_OK(raw_cuda_import_memory(p.cu, raw_vk_buffer_fd(&p.vk, &vk), size / 2, false, &memory));
    CU_OK(raw_cuda_map_buffer(p.cu, memory, 0, size / 2, &pointer));
    require_same_memory(&p, &vk, 0, pointer, size / 2, 5);
    CU_OK(p.cu->MemFree(pointer));
    CU_OK(p.cu->DestroyExternalMemory(memory));
    raw_vk_buffer_destroy(&p.vk, &vk);
    pair_close(&p);
}

static void overlapping_mappings(void)
{
    pair p;
    shared_buffer b;
    CUdeviceptr second = 0;
    const size_t size = 1u << 20, offset = 256 * 1024;
    pair_open(&p);
    shared_buffer_open(&p, size, 0, false, &b);
    CU_OK(raw_cuda_map_buffer(p.cu, b.memory, offset, size - offset, &second));
    REQUIRE(second != 0 && second != b.pointer);
    require_same_memory(&p, &b.vk, offset, second, size - offset, 11);
    require_same_memory(&p, &b.vk, 0, b.pointer, size, 12);

    uint32_t word = 0;
    CU_OK(p.cu->MemsetD32Async(second, 0xabcd0123u, 16, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    cuda_read(&p, b.pointer + offset, &word, sizeof word);
    REQUIRE_EQ(word, 0xabcd0123u);

    CU_OK(p.cu->MemFree(second));
    require_same_memory(&p, &b.vk, 0, b.pointer, size, 13); /* the first goes on alone */
    shared_buffer_close(&p, &b);
    pair_close(&p);
}

static void fds_return(void)
{
    pair p;
    pair_open(&p);
    size_t before = 0;
    for (int turn = 0; turn < 20; turn++) {
        shared_buffer b;
        shared_buffer_open(&p, 65536, turn % 2 ? RAW_VK_DEDICATED : 0, turn % 2, &b);
        shared_buffer_close(&p, &b);
        if (turn == 1) before = test_open_fds(); /* a driver may keep some since its first import */
    }
    REQUIRE_EQ(test_open_fds(), before);
    pair_close(&p);
}

static void fd_is_consumed(void)
{
    pair p;
    raw_vk_buffer vk;
    CUexternalMemory memory;
    pair_open(&p);
    raw_vk_buffer_create(&p.vk, 65536, RAW_VK_EXPORT, &vk);
    int fd = raw_vk_buffer_fd(&p.vk, &vk), other = raw_vk_buffer_fd(&p.vk, &vk);
    CU_OK(raw_cuda_import_memory(p.cu, fd, vk.allocation_size, false, &memory));
    MEASURED("imported_fd", "%s",
             fd_open(fd) ? "still open, the driver's" : "closed by the import");
    CU_OK(p.cu->DestroyExternalMemory(memory));
    REQUIRE(!fd_open(fd) ||
            !same_file(fd, other)); /* gone, though a driver may have taken the number again */
    CU_OK(raw_cuda_import_memory(p.cu, other, vk.allocation_size, false,
                                 &memory)); /* a second fd is another import */
    CU_OK(p.cu->DestroyExternalMemory(memory));
    raw_vk_buffer_destroy(&p.vk, &vk);
    pair_close(&p);
}

static unsigned long long buffer_id(const pair *p, CUdeviceptr pointer)
{
    unsigned long long id = 0;
    CU_OK(p->cu->PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer));
    return id;
}

/* Every allocation and every mapping has a number of its own, also one at an address that was used
 * before. */
static void pointer_attributes(void)
{
    enum { PLAIN, MAPPED, AGAIN, ANEW, IDS };
    pair p;
    shared_buffer b;
    CUdeviceptr plain = 0;
    unsigned long long ids[IDS];
    int on = 1;
    pair_open(&p);
    if (p.cu->PointerGetAttribute == NULL || p.cu->PointerSetAttribute == NULL)
        SKIP("no pointer attributes");
    CU_OK(p.cu->MemAlloc(&plain, 65536));
    ids[PLAIN] = buffer_id(&p, plain);
    CU_OK(p.cu->MemFree(plain));
    shared_buffer_open(&p, 65536, 0, false, &b);
    ids[MAPPED] = buffer_id(&p, b.pointer);
    REQUIRE_EQ(buffer_id(&p, b.pointer + 4096), ids[MAPPED]);
    CU_OK(p.cu->MemFree(b.pointer));
    CU_OK(raw_cuda_map_buffer(p.cu, b.memory, 0, 65536, &b.pointer));
    ids[AGAIN] = buffer_id(&p, b.pointer);
    CU_OK(p.cu->MemAlloc(&plain, 65536));
    ids[ANEW] = buffer_id(&p, plain);
    CU_OK(p.cu->MemFree(plain));
    for (int i = 0; i < IDS; i++) {
        MEASURED("buffer_id", "%llu", ids[i]);
        REQUIRE(ids[i] != 0);
        for (int k = 0; k < i; k++)
            REQUIRE(ids[i] != ids[k]);
    }
    CU_OK(p.cu->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b.pointer));
    shared_buffer_close(&p, &b);
    pair_close(&p);
}

static void no_dma_buf_of_a_mapping(void)
{
    pair p;
    shared_buffer b;
    CUdeviceptr own = 0;
    int fd = -1;
    pair_open(&p);
    if (p.cu->MemGetHandleForAddressRange == NULL) {
        int claimed = 1;
        CU_OK(p.cu->DeviceGetAttribute(&claimed, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, p.device));
        REQUIRE_EQ(claimed, 0);
        pair_close(&p);
        return;
    }
    shared_buffer_open(&p, 2u << 20, 0, false, &b);
    CU_IS(p.cu->MemGetHandleForAddressRange(&fd, b.pointer, 65536,
                                            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
          CUDA_ERROR_INVALID_VALUE);
    shared_buffer_close(&p, &b);

    CU_OK(p.cu->MemAlloc(&own, 2u << 20));
    CUresult result =
        p.cu->MemGetHandleForAddressRange(&fd, own, 65536, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    MEASURED("dma_buf_of_own_memory", "%s", raw_cuda_result_name(result));
    CU_OK(p.cu->MemFree(own));
    pair_close(&p);
}

static void launch(const pair *p, CUfunction kernel, CUdeviceptr data, unsigned count,
                   unsigned last)
{
    void *args[] = {&data, &count, &last};
    CU_OK(p->cu->LaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, p->stream, args,
                              NULL));
}

static void kernel_writes(void)
{
    pair p;
    shared_buffer b;
    const unsigned count = 300001;
    const size_t size = count * sizeof(uint32_t);
    pair_open(&p);
    CUmodule module = raw_cuda_load(p.cu, "pattern");
    CUfunction write = raw_cuda_function(p.cu, module, "pattern_write");
    CUfunction add = raw_cuda_function(p.cu, module, "pattern_add");
    uint32_t *found = malloc(size), *expected = pattern_words(size, 99);
    REQUIRE(found != NULL);
    shared_buffer_open(&p, size, RAW_VK_DEDICATED, true, &b);

    launch(&p, write, b.pointer, count, 99);
    CU_OK(p.cu->StreamSynchronize(p.stream));
    raw_vk_read(&p.vk, &b.vk, 0, found, size);
    REQUIRE_EQ_BYTES(found, expected, size);

    raw_vk_fill(&p.vk, &b.vk, 0, size, 1000,
                NULL); /* Vulkan's words, read and changed by the kernel */
    launch(&p, add, b.pointer, count, 234);
    CU_OK(p.cu->StreamSynchronize(p.stream));
    raw_vk_read(&p.vk, &b.vk, 0, found, size);
    for (unsigned i = 0; i < count; i++)
        expected[i] = 1234;
    REQUIRE_EQ_BYTES(found, expected, size);

    free(found);
    free(expected);
    shared_buffer_close(&p, &b);
    CU_OK(p.cu->ModuleUnload(module));
    pair_close(&p);
}

static void every_queue_family(void)
{
    pair p;
    shared_buffer b;
    const size_t size = 65536;
    pair_open(&p);
    shared_buffer_open(&p, size, 0, false, &b);
    for (uint32_t q = 0; q < p.vk.queue_count; q++) {
        /* Families of video engines and such have no transfer operations. */
        const VkQueueFlags can =
            VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
        uint32_t words[2] = {0, 0};
        if ((p.vk.queues[q].flags & can) == 0) continue;
        raw_vk_fill(&p.vk, &b.vk, 0, size, 0x7700u + q, &(raw_vk_job){.queue = q});
        cuda_read(&p, b.pointer + size - 8, words, sizeof words);
        REQUIRE_EQ(words[0], 0x7700u + q);
        REQUIRE_EQ(words[1], 0x7700u + q);
    }
    shared_buffer_close(&p, &b);
    pair_close(&p);
}

static void second_vulkan_buffer(void)
{
    pair p;
    shared_buffer b;
    raw_vk_buffer again;
    const size_t size = 65536;
    uint32_t word = 0;
    pair_open(&p);
    shared_buffer_open(&p, size, 0, false, &b);
    raw_vk_buffer_import(&p.vk, raw_vk_buffer_fd(&p.vk, &b.vk), &b.vk, &again);
    require_same_memory(&p, &again, 0, b.pointer, size, 21);
    CU_OK(p.cu->MemsetD32Async(b.pointer, 0x600df00du, size / 4, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    raw_vk_read(&p.vk, &again, size - 4, &word, 4);
    REQUIRE_EQ(word, 0x600df00du);
    raw_vk_buffer_destroy(&p.vk, &again);
    shared_buffer_close(&p, &b);
    pair_close(&p);
}

static void costs(void)
{
    static const size_t sizes[] = {65536, 8u << 20, 64u << 20, 1u << 30};
    pair p;
    pair_open(&p);
    for (size_t i = 0; i < (p.cu->software ? 3 : 4); i++) {
        raw_vk_buffer vk;
        CUexternalMemory memory;
        CUdeviceptr pointer;
        raw_vk_buffer_create(&p.vk, sizes[i], RAW_VK_EXPORT, &vk);
        int fd = raw_vk_buffer_fd(&p.vk, &vk);
        double start = test_now_us();
        CU_OK(raw_cuda_import_memory(p.cu, fd, vk.allocation_size, false, &memory));
        double imported = test_now_us();
        CU_OK(raw_cuda_map_buffer(p.cu, memory, 0, sizes[i], &pointer));
        double mapped = test_now_us();
        CU_OK(p.cu->MemFree(pointer));
        double unmapped = test_now_us();
        CU_OK(p.cu->DestroyExternalMemory(memory));
        MEASURED("import_cost", "%zu KiB: import %.1f us, map %.1f us, unmap %.1f us",
                 sizes[i] / 1024, imported - start, mapped - imported, unmapped - mapped);
        raw_vk_buffer_destroy(&p.vk, &vk);
    }
    pair_close(&p);
}

const test_case memory_cases[] = {
    {.name = "memory.plain", .run = plain, .mark = TEST_BOTH, .smoke = true},
    {.name = "memory.dedicated", .run = dedicated, .mark = TEST_BOTH},
    {.name = "memory.dedicated_without_flag",
     .run = dedicated_without_flag,
     .mark = TEST_BOTH,
     .reason = "neither driver sees the missing flag; the library does"},
    {.name = "memory.plain_with_flag",
     .run = plain_with_flag,
     .mark = TEST_BOTH,
     .reason = "neither driver sees the flag too many; the library does"},
    {.name = "memory.buffer_at_an_offset", .run = buffer_at_an_offset, .mark = TEST_BOTH},
    {.name = "memory.half_the_size", .run = half_the_size, .mark = TEST_BOTH},
    {.name = "memory.overlapping_mappings", .run = overlapping_mappings, .mark = TEST_BOTH},
    {.name = "memory.fds_return", .run = fds_return, .mark = TEST_BOTH},
    {.name = "memory.fd_is_consumed", .run = fd_is_consumed, .mark = TEST_BOTH},
    {.name = "memory.pointer_attributes", .run = pointer_attributes, .mark = TEST_BOTH},
    {.name = "memory.no_dma_buf_of_a_mapping",
     .run = no_dma_buf_of_a_mapping,
     .mark = TEST_NVIDIA_ONLY,
     .reason = "the twin has no dma-bufs and says so"},
    {.name = "memory.kernel_writes", .run = kernel_writes, .mark = TEST_BOTH, .smoke = true},
    {.name = "memory.every_queue_family", .run = every_queue_family, .mark = TEST_BOTH},
    {.name = "memory.second_vulkan_buffer", .run = second_vulkan_buffer, .mark = TEST_BOTH},
    {.name = "memory.costs", .run = costs, .mark = TEST_BOTH, .reason = "reported, never asserted"},
    {.name = NULL}};
