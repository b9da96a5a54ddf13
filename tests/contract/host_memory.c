/* SPDX-License-Identifier: MIT */
/* Contract rows: host memory that CUDA knows, and dma-bufs that it does not import. */
#define TEST_GROUP "host."
#include "images.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define REPORTED "the twin's answers are required, NVIDIA's reported"

#define DMABUF_CHILD "CULVERT_TEST_DMABUF_CHILD"

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static unsigned char *map_pages(size_t count)
{
    void *pages =
        mmap(NULL, count * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    return pages;
}

/* Registered pages are device memory: written by a kernel, copied from, the same pointer on both
 * sides. */
PAIR_CASE(registered, .mark = TEST_BOTH)
{
    enum { WORDS = 4096 };
    CUdeviceptr pointer;
    unsigned count = WORDS, seed = 99;
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    const size_t size = WORDS * 4, pages = (size + page_size() - 1) / page_size();
    unsigned char *memory = map_pages(pages);
    uint32_t *words = (uint32_t *)(void *)memory, first[4];
    CU_OK(p->cu->MemHostRegister(memory, pages * page_size(),
                                 CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    CU_OK(p->cu->MemHostGetDevicePointer(&pointer, memory, 0));
    ANSWER("the device's pointer", "%s", pointer == (uintptr_t)memory ? "the host's" : "another");
    void *args[] = {&pointer, &count, &seed};
    CU_OK(p->cu->LaunchKernel(raw_cuda_function(p->cu, module, "pattern_write"), WORDS / 64, 1, 1,
                              64, 1, 1, 0, p->stream, args, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    uint32_t *expected = pattern_words(size, seed);
    size_t wrong = 0;
    for (size_t i = 0; i < WORDS; i++)
        wrong += words[i] != expected[i];
    answer_wrong("words that a kernel wrote", wrong, WORDS);
    cuda_read(p, pointer, first, sizeof first);
    REQUIRE_EQ_BYTES(first, words, sizeof first);
    answer_is("registered twice", p->cu->MemHostRegister(memory, page_size(), 0),
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CU_OK(p->cu->MemHostUnregister(memory));
    answer_is("unregistered twice", p->cu->MemHostUnregister(memory),
              CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    REQUIRE(munmap(memory, pages * page_size()) == 0);
}

static void unregister_if(const pair *p, CUresult result, void *memory)
{
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MemHostUnregister(memory));
}

PAIR_CASE(wrong_registrations, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    static const char row[] = "host_register_wrong";
    const size_t page = page_size();
    unsigned char *memory = map_pages(4);
    image_answer(row, "size 0", p->cu->MemHostRegister(memory, 0, 0));
    CUresult result = p->cu->MemHostRegister(memory, page, 0x100);
    image_answer(row, "flag 0x100", result);
    unregister_if(p, result, memory);
    result = p->cu->MemHostRegister(memory + 8, page, 0);
    image_answer(row, "8 bytes into a page", result);
    unregister_if(p, result, memory + 8);
    CU_OK(p->cu->MemHostRegister(memory, 2 * page, 0));
    result = p->cu->MemHostRegister(memory + page, 2 * page, 0);
    image_answer(row, "overlapping", result);
    unregister_if(p, result, memory + page);
    result = p->cu->MemHostUnregister(memory + page);
    image_answer(row, "unregistered from its middle", result);
    if (result != CUDA_SUCCESS) CU_OK(p->cu->MemHostUnregister(memory));
    REQUIRE(mprotect(memory, page, PROT_READ) == 0);
    result = p->cu->MemHostRegister(memory, page, CU_MEMHOSTREGISTER_READ_ONLY);
    image_answer(row, "read-only pages, said to be", result);
    unregister_if(p, result, memory);
    result = p->cu->MemHostRegister(memory, page, 0);
    answer_call(answer_key("%s: read-only pages", row), result);
    /* The twin needs Linux 5.14 to tell. */
    if (!p->cu->software || madvise(memory, 0, 23 /* MADV_POPULATE_WRITE */) == 0)
        CU_IS(result, CUDA_ERROR_INVALID_VALUE);
    unregister_if(p, result, memory);
    REQUIRE(munmap(memory + 3 * page, page) == 0);
    result = p->cu->MemHostRegister(memory + page, 3 * page, 0);
    image_answer(row, "pages that are not there", result);
    unregister_if(p, result, memory + page);
    CU_OK(p->cu->CtxSynchronize());
    REQUIRE(munmap(memory, 3 * page) == 0);
}

/* cuda.h, cuImportExternalMemory: dma-bufs on Tegra only. With CUDA's own where it makes one, else
 * with a memfd. */
PAIR_CASE(import_dma_buf_child, .title = "host.dma_buf_child")
{
    if (getenv(DMABUF_CHILD) == NULL) SKIP("only as a child");
    int fd = -1, supported = -1;
    const size_t size = 2u << 20;
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, p->device));
    CUdeviceptr pointer = raw_cuda_memory(p->cu, size);
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (p->cu->MemGetHandleForAddressRange != NULL)
        result = p->cu->MemGetHandleForAddressRange(&fd, pointer, size,
                                                    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    MEASURED("dma_buf", "attribute %d; of a range: %s", supported, raw_cuda_result_name(result));
    ANSWER("the attribute and cuMemGetHandleForAddressRange", "%s",
           supported == (result == CUDA_SUCCESS) ? "agree" : "do not agree");
    if (!supported) REQUIRE(result != CUDA_SUCCESS);
    if (p->cu->software) REQUIRE_EQ(result, CUDA_ERROR_NOT_SUPPORTED);
    if (result != CUDA_SUCCESS) {
        fd = memfd_create("no dma-buf", MFD_CLOEXEC);
        REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    }
    for (unsigned flags = 0; flags < 2; flags++) {
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
        CUexternalMemory memory = NULL;
        memset(&desc, 0, sizeof desc);
        /* CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, from cuda.h 13.0 on. */
        desc.type = (CUexternalMemoryHandleType)(CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF + 1);
        desc.handle.fd = fd;
        desc.size = size;
        desc.flags = flags;
        CUresult imported = p->cu->ImportExternalMemory(&memory, &desc);
        ANSWER(answer_key("import as a dma-buf, flags %u", flags), "%s, the fd is %s",
               raw_cuda_result_name(imported), fd_open(fd) ? "open" : "closed");
        if (imported == CUDA_SUCCESS) CU_OK(p->cu->DestroyExternalMemory(memory));
        if (!fd_open(fd)) break;
    }
    if (fd_open(fd)) close(fd);
}

TEST(import_dma_buf, .title = "host.dma_buf", .mark = TEST_TWIN_STRICTER, .reason = REPORTED,
     .own = true)
{
    (void)raw_cuda_open(); /* whose answers these are */
    REQUIRE(setenv(DMABUF_CHILD, "0", 1) == 0);
    const int status = test_run_child("host.dma_buf_child");
    ANSWER("the process ended with status", "%d", status);
}

static unsigned char *map_shared(int fd)
{
    void *pages = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(pages != MAP_FAILED);
    return pages;
}

/* Counters in a sealed file that two processes map: a stream waits for a word, another stream or
 * the host writes it, by whichever mapping. Rings between processes rest on it. */
PAIR_CASE(shared_words, .mark = TEST_BOTH)
{
    enum { AT = 128 };
    CUstream waits, writes;
    CUdeviceptr here, there;
    const int fd = memfd_create("words", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)page_size()) == 0);
    REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    unsigned char *one = map_shared(fd), *two = map_shared(fd);
    const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    CU_OK(p->cu->MemHostRegister(one, page_size(), flags));
    CU_OK(p->cu->MemHostRegister(two, page_size(), flags));
    CU_OK(p->cu->MemHostGetDevicePointer(&here, one, 0));
    CU_OK(p->cu->MemHostGetDevicePointer(&there, two, 0));
    CU_OK(p->cu->StreamCreate(&waits, CU_STREAM_NON_BLOCKING));
    CU_OK(p->cu->StreamCreate(&writes, CU_STREAM_NON_BLOCKING));
    CU_OK(p->cu->StreamWaitValue64(waits, here + AT, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CU_OK(p->cu->StreamWriteValue64(waits, here, 77, CU_STREAM_WRITE_VALUE_DEFAULT));
    REQUIRE_EQ(p->cu->StreamQuery(waits), CUDA_ERROR_NOT_READY);
    /* By the other mapping, as the other process has it; a greater value does as well. */
    CU_OK(p->cu->StreamWriteValue64(writes, there + AT, 5, CU_STREAM_WRITE_VALUE_DEFAULT));
    CU_OK(p->cu->StreamSynchronize(waits));
    REQUIRE_EQ(atomic_load((_Atomic uint64_t *)(void *)two), 77);
    REQUIRE_EQ(atomic_load((_Atomic uint64_t *)(void *)(one + AT)), 5);
    /* The host, in place of a process that has ended. */
    CU_OK(p->cu->StreamWaitValue64(waits, here + AT, 9, CU_STREAM_WAIT_VALUE_GEQ));
    REQUIRE_EQ(p->cu->StreamQuery(waits), CUDA_ERROR_NOT_READY);
    atomic_store((_Atomic uint64_t *)(void *)(two + AT), 9);
    CU_OK(p->cu->StreamSynchronize(waits));
    answer_call("a word that is not at a multiple of 8",
                p->cu->StreamWriteValue64(writes, here + 4, 1, 0));
    CU_OK(p->cu->StreamDestroy(waits));
    CU_OK(p->cu->StreamDestroy(writes));
    CU_OK(p->cu->MemHostUnregister(one));
    CU_OK(p->cu->MemHostUnregister(two));
    REQUIRE(munmap(one, page_size()) == 0 && munmap(two, page_size()) == 0);
    close(fd);
}

/* Who sees what who wrote, by who allocated: an answer for each. A kernel that adds 1 reads and
 * writes, and what CUDA wrote the host always sees. */
enum { IMPORTED, MAPPED, CUDAS, HOLDERS };
enum { SEEN_WORDS = 1024, SEEN_ROUNDS = 3 };

typedef struct seen_memory {
    raw_vk_buffer vk;
    CUexternalMemory memory;
    CUdeviceptr pointer;
    uint32_t *host;
    CUfunction add;
} seen_memory;

static void add_one(const pair *p, const seen_memory *m)
{
    CUdeviceptr pointer = m->pointer;
    unsigned count = SEEN_WORDS, one = 1;
    void *args[] = {&pointer, &count, &one};
    CU_OK(p->cu->LaunchKernel(m->add, SEEN_WORDS / 64, 1, 1, 64, 1, 1, 0, p->stream, args, NULL));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* What is not `value` everywhere was not seen. */
static void answer_seen(const char *holder, const char *what, const uint32_t *words,
                        const uint32_t *values)
{
    size_t old = 0;
    for (size_t round = 0; round < SEEN_ROUNDS; round++)
        for (size_t i = 0; i < SEEN_WORDS; i++)
            old += words[round * SEEN_WORDS + i] != values[round];
    ANSWER(answer_key("%s: %s", holder, what), "%s",
           old == 0                          ? "new words"
           : old == SEEN_ROUNDS * SEEN_WORDS ? "old words"
                                             : "old words in some rounds");
}

static void all_are(uint32_t *words, uint32_t value)
{
    for (size_t i = 0; i < SEEN_WORDS; i++)
        words[i] = value;
}

static void who_sees_what(pair *p, const char *holder, const seen_memory *m)
{
    static uint32_t seen[SEEN_ROUNDS * SEEN_WORDS], words[SEEN_WORDS];
    static const char *const ways[] = {
        "the host writes, a kernel reads", "the host writes, Vulkan reads, a kernel reads",
        "CUDA writes, the host reads",     "the host writes, Vulkan reads",
        "Vulkan writes, the host reads",   "Vulkan writes, a kernel reads"};
    const size_t size = sizeof words;
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        uint32_t values[SEEN_ROUNDS];
        if (m->vk.buffer == VK_NULL_HANDLE && way != 0 && way != 2) continue;
        all_are(m->host, 7);
        add_one(p, m); /* CUDA has read it */
        for (uint32_t round = 0; round < SEEN_ROUNDS; round++) {
            uint32_t *to = seen + round * SEEN_WORDS;
            const uint32_t value = 100 * (round + 1) + (uint32_t)way;
            const bool vulkan_writes = way >= 4, kernel_last = way <= 2 || way == 5;
            all_are(vulkan_writes ? words : m->host, value);
            if (vulkan_writes) raw_vk_write(&p->vk, &m->vk, 0, words, size);
            if (way == 1 || way == 3) raw_vk_read(&p->vk, &m->vk, 0, words, size);
            if (way == 2) { /* reads no word */
                CU_OK(p->cu->MemsetD32Async(m->pointer, value + 1, SEEN_WORDS, p->stream));
                CU_OK(p->cu->StreamSynchronize(p->stream));
            } else if (kernel_last)
                add_one(p, m);
            values[round] = kernel_last ? value + 1 : value;
            memcpy(to, way == 3 ? words : m->host, size);
        }
        answer_seen(holder, ways[way], seen, values);
    }
}

PAIR_CASE(
    who_sees, .mark = TEST_TWIN_STRICTER,
    .reason = "the twin's memory is coherent; what CUDA reads of Vulkan's memory is old on a GPU")
{
    static const char *const holders[HOLDERS] = {"Vulkan's, imported",
                                                 "Vulkan's, its mapping registered", "CUDA's"};
    const size_t size = SEEN_WORDS * sizeof(uint32_t);
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    for (int holder = 0; holder < HOLDERS; holder++) {
        seen_memory m = {.add = raw_cuda_function(p->cu, module, "pattern_add")};
        shared_buffer shared;
        if (holder == CUDAS) {
            CU_OK(p->cu->MemHostAlloc((void **)&m.host, size, CU_MEMHOSTALLOC_DEVICEMAP));
            CU_OK(p->cu->MemHostGetDevicePointer(&m.pointer, m.host, 0));
        } else if (holder == IMPORTED) {
            shared_buffer_open(p, size, RAW_VK_HOST | RAW_VK_DEDICATED, true, &shared);
            m.vk = shared.vk;
            m.pointer = shared.pointer;
        } else {
            raw_vk_buffer_create(&p->vk, size, RAW_VK_HOST, &m.vk);
            CU_OK(p->cu->MemHostRegister(m.vk.mapped, size, CU_MEMHOSTREGISTER_DEVICEMAP));
            CU_OK(p->cu->MemHostGetDevicePointer(&m.pointer, m.vk.mapped, 0));
        }
        if (holder != CUDAS) m.host = m.vk.mapped;
        who_sees_what(p, holders[holder], &m);
        if (holder == CUDAS) CU_OK(p->cu->MemFreeHost(m.host));
        if (holder == IMPORTED) shared_buffer_close(p, &shared);
        if (holder == MAPPED) {
            CU_OK(p->cu->MemHostUnregister(m.host));
            raw_vk_buffer_destroy(&p->vk, &m.vk);
        }
    }
}
