/* SPDX-License-Identifier: MIT */
/* Imported memory: data both ways, offsets, several buffers on one mapping, barriers. */
#define TEST_GROUP "handle."
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

/* Runs a kernel of library_kernels.cu over WORDS words, and waits. */
static void launch(const lib_world *w, const char *kernel, CUdeviceptr data, uint32_t argument)
{
    const raw_cuda *cu = w->cu;
    uint32_t count = WORDS;
    void *params[] = {&data, &count, &argument};
    CUcontext before = lib_enter(w);
    CUmodule module = raw_cuda_load(cu, "library_kernels");
    CUfunction function = raw_cuda_function(cu, module, kernel);
    CU_OK(cu->LaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    CU_OK(cu->CtxSynchronize());
    CU_OK(cu->ModuleUnload(module));
    lib_leave(w, before);
}

static void cuda_read(const lib_world *w, CUdeviceptr from, void *to, size_t size)
{
    LIB_CU_OK(w, w->cu->MemcpyDtoH(to, from, size));
}

static void cuda_write(const lib_world *w, CUdeviceptr to, const void *from, size_t size)
{
    const raw_cuda *cu = w->cu;
    LIB_CU_OK(w, raw_cuda_upload(cu, to, from, size));
}

static culv_buffer *map(culv_memory *memory, uint64_t offset, uint64_t size)
{
    culv_buffer_desc d = culv_buffer_desc_init();
    d.offset = offset;
    d.size = size;
    NEW(culv_buffer, buffer, culv_buffer_map, memory, &d);
    REQUIRE(culv_buffer_pointer(buffer) != 0);
    return buffer;
}

/* Both directions through one buffer: Vulkan's words in CUDA, then a kernel's and a copy's in
 * Vulkan. */
static void exchange(lib_world *w, const raw_vk_buffer *vk, const culv_buffer *buffer,
                     uint32_t seed)
{
    static uint32_t words[WORDS], back[WORDS];
    CUdeviceptr p = culv_buffer_pointer(buffer);
    lib_fill(words, WORDS, seed);
    raw_vk_write(&w->vk, vk, 0, words, BYTES);
    cuda_read(w, p, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed);
    raw_vk_fill(&w->vk, vk, BYTES / 2, BYTES / 2, 0x600d600d, NULL);
    cuda_read(w, p, back, BYTES);
    REQUIRE_WORDS(back, WORDS / 2, seed);
    for (uint32_t i = WORDS / 2; i < WORDS; i++)
        REQUIRE_EQ(back[i], 0x600d600d);

    launch(w, "library_write", p, seed + 17);
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed + 17);
    launch(w, "library_add", p, 5);
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed + 22);
    cuda_write(w, p, words, BYTES);
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed);
    const raw_cuda *cu = w->cu;
    LIB_CU_OK(w, cu->MemsetD32Async(p + BYTES / 2, 0xabcd0123, WORDS / 2, NULL));
    LIB_CU_OK(w, cu->CtxSynchronize());
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS / 2, seed);
    for (uint32_t i = WORDS / 2; i < WORDS; i++)
        REQUIRE_EQ(back[i], 0xabcd0123);
}

static void data(unsigned flags, VkDeviceSize min_offset)
{
    static uint32_t back[WORDS];
    lib_world w;
    lib_open(&w);
    raw_vk_buffer vk;
    raw_vk_buffer_create_at(&w.vk, BYTES, min_offset, RAW_VK_EXPORT | flags, &vk);
    culv_memory *memory = lib_import(&w, &vk);
    REQUIRE_EQ(culv_memory_size(memory), vk.allocation_size);
    culv_buffer *buffer = map(memory, vk.offset, BYTES);
    REQUIRE_EQ(culv_buffer_size(buffer), BYTES);
    exchange(&w, &vk, buffer, 1);
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(buffer == NULL);
    culv_buffer_unmap(&buffer, NULL);
    /* A second mapping after the first was given up. */
    buffer = map(memory, vk.offset, BYTES);
    exchange(&w, &vk, buffer, 1000);
    culv_memory_destroy(&memory);
    REQUIRE(memory == NULL);
    culv_memory_destroy(&memory);
    exchange(&w, &vk, buffer, 2000);   /* the buffer keeps the import */
    raw_vk_buffer_destroy(&w.vk, &vk); /* and that the memory, without Vulkan's handle of it */
    launch(&w, "library_write", culv_buffer_pointer(buffer), 3);
    cuda_read(&w, culv_buffer_pointer(buffer), back, BYTES);
    REQUIRE_WORDS(back, WORDS, 3);
    culv_buffer_unmap(&buffer, &(CUstream){NULL});
    lib_close(&w);
}

/* Whether it is dedicated is the caller's word, which CUDA gets as it is. */
LIB_CASE(told_dedicated, .title = "data.told_dedicated")
{
    if (w->cu->SoftCounts == NULL) {
        lib_close(w);
        SKIP("only the twin tells what it was given");
    }
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        raw_vk_buffer vk;
        OWN(culv_memory) *memory = NULL;
        raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0),
                             &vk);
        culv_memory_desc d = lib_memory_desc(w, &vk, raw_vk_buffer_fd(&w->vk, &vk));
        d.dedicated = dedicated ? 1 : 0;
        LIB_TAKE(culv_memory_import(w->device, &d, &memory), &d.handle);
        const culv_soft_counts c = lib_soft_counts(w->cu);
        REQUIRE_EQ(c.external_memories, 1);
        REQUIRE_EQ(c.dedicated_memories, dedicated);
        raw_vk_buffer_destroy(&w->vk, &vk);
        lib_settle(w);
    }
}

TEST_AS(data_at_zero, data(0, 0), .title = "data.at_zero")
TEST_AS(data_dedicated, data(RAW_VK_DEDICATED, 0), .title = "data.dedicated")
TEST_AS(data_at_an_offset, data(0, 3 * 65536 + 4096), .title = "data.at_an_offset", .smoke = true)

/* Two VkBuffers in one VkDeviceMemory, and more ranges besides: one import, one mapping at the
 * driver. */
LIB_CASE(ranges_share_one_mapping, .title = "ranges.share_one_mapping")
{
    static uint32_t back[WORDS];
    raw_vk_buffer vk;
    raw_vk_buffer_create_at(&w->vk, BYTES, 1 << 20, RAW_VK_EXPORT, &vk);
    OWN(culv_memory) *memory = lib_import(w, &vk);
    REQUIRE_EQ(lib_counts(w).mappings, 0); /* none before the first buffer is asked for */
    enum { RANGES = 9 };
    culv_buffer *buffers[RANGES];
    NEW(culv_buffer, whole, culv_buffer_map, memory, NULL);
    REQUIRE_EQ(culv_buffer_size(whole), vk.allocation_size);
    for (uint32_t i = 0; i < RANGES; i++) {
        buffers[i] = map(memory, vk.offset + i * 1024, i % 2 == 0 ? 1024 : 0);
        REQUIRE_EQ(culv_buffer_pointer(buffers[i]),
                   culv_buffer_pointer(whole) + vk.offset + i * 1024);
        REQUIRE_EQ(culv_buffer_size(buffers[i]),
                   i % 2 == 0 ? 1024 : vk.allocation_size - vk.offset - i * 1024);
    }
    culv_device_counts c = lib_counts(w);
    REQUIRE(c.memories == 1 && c.mappings == 1 && c.buffers == RANGES + 1);
    if (w->cu->SoftCounts != NULL) {
        const culv_soft_counts s = lib_soft_counts(w->cu);
        REQUIRE_EQ(s.external_memories, 1);
        REQUIRE_EQ(s.external_mappings, 1);
        /* What a frame asks a buffer is no call of a driver's. */
        culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
        VkBufferMemoryBarrier2 barrier;
        t.queue_family = 0;
        t.buffer = vk.buffer;
        LIB_OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
        REQUIRE(culv_buffer_pointer(whole) != 0);
        REQUIRE_EQ(lib_soft_counts(w->cu).calls, s.calls);
    }
    launch(w, "library_write", culv_buffer_pointer(whole) + vk.offset, 9);
    cuda_read(w, culv_buffer_pointer(buffers[3]), back, BYTES - 3 * 1024);
    for (uint32_t i = 0; i < WORDS - 3 * 256; i++)
        REQUIRE_EQ(back[i], lib_word(i + 3 * 256, 9));
    culv_buffer_unmap(&whole, NULL);
    for (uint32_t i = 0; i < RANGES; i++) {
        REQUIRE_EQ(lib_counts(w).mappings, 1); /* the last range holds it */
        culv_buffer_unmap(&buffers[i], NULL);
    }
    lib_settle(w);
    c = lib_counts(w);
    REQUIRE(c.mappings == 0 && c.memories == 1);
    raw_vk_buffer_destroy(&w->vk, &vk);
}

/* One fd borrowed again and again: each import reads it from its start, whatever its offset. */
LIB_CASE(borrow_again)
{
    raw_vk_buffer vk = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    culv_memory *memories[8];
    culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
    memset(&d.exporter, 0, sizeof d.exporter); /* not given: the caller vouches */
    for (int i = 0; i < 8; i++)
        LIB_OK(culv_memory_import(w->device, &d, &memories[i]));
    lib_fd_require_untouched(&fd);
    REQUIRE_EQ(lib_counts(w).memories, 8);
    for (int i = 0; i < 8; i++)
        culv_memory_destroy(&memories[i]);
    lib_fd_end(&fd, true);
    /* Closed it is gone, unless the driver has the number by now. */
    if (fcntl(d.handle.value.fd, F_GETFD) < 0)
        LIB_REFUSES(memories[0], culv_memory_import(w->device, &d, &memories[0]), INVALID,
                    HANDLE_BAD);
}

#undef TEST_GROUP
#define TEST_GROUP "errors."
/* Imports and mappings that are wrong: each its class and reason, nothing consumed. */

static void refuse(const lib_world *w, const bad_handle *handle)
{
    culv_memory *memory = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_opaque_fd(handle->fd);
    d.size = 32768;
    LIB_REFUSES_AS(memory, culv_memory_import(w->device, &d, &memory), handle->result,
                   handle->reason);
}

LIB_CASE(wrong_fds)
{
    bad_handles_try(w, 65536, refuse);
}

LIB_CASE(wrong_descriptors)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    const culv_memory_desc right = lib_memory_desc(w, &vk, fd.fd);
    culv_memory *memory = NULL;
    culv_memory_desc d = right;
    d.size = 0;
    LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), INVALID, SIZE);
    d = right;
    d.exporter.bytes[5] ^= 1; /* another device's */
    d.label = "heights";
    LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), INVALID, DEVICE_MISMATCH,
                "'heights'");
    lib_fd_end(&fd, true);
}

/* A size beyond the allocation's. Where the handle tells its size (a memfd), the import is refused;
 * NVIDIA's driver takes it (measured), and then the mapping must be refused. */
LIB_CASE(size_is_too_big)
{
    raw_vk_buffer vk = lib_case_buffer(w, 1 << 20, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    static const uint64_t sizes[] = {UINT64_C(2) << 20, UINT64_C(1) << 45, UINT64_MAX};
    static const culv_reason reasons[] = {CULV_REASON_SIZE, CULV_REASON_SIZE,
                                          CULV_REASON_DEVICE_MEMORY};
    for (int i = 0; i < 3; i++) {
        culv_memory *memory = POISON(culv_memory);
        culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
        d.size = sizes[i];
        culv_result r = culv_memory_import(w->device, &d, &memory);
        printf("%s\n", r == CULV_OK ? "imported" : culv_last_error_message());
        if (r == CULV_OK) {
            culv_buffer *buffer = NULL;
            REQUIRE(!w->cu->software);
            LIB_REFUSES_AS(buffer, culv_buffer_map(memory, NULL, &buffer),
                           reasons[i] == CULV_REASON_SIZE ? CULV_ERROR_DRIVER
                                                          : CULV_ERROR_OUT_OF_MEMORY,
                           reasons[i]);
            REQUIRE_EQ(lib_counts(w).mappings, 0);
            culv_memory_destroy(&memory);
        } else if (w->cu->software) {
            REQUIRE_EQ(r, CULV_ERROR_INVALID);
            const culv_error e = lib_last_error();
            REQUIRE_EQ(e.reason, CULV_REASON_SIZE);
            REQUIRE(memory == POISON(culv_memory));
        } else {
            REQUIRE(r == CULV_ERROR_INVALID || r == CULV_ERROR_DRIVER ||
                    r == CULV_ERROR_OUT_OF_MEMORY);
            REQUIRE(memory == POISON(culv_memory));
        }
        lib_fd_require_untouched(&fd);
    }
    lib_fd_done(&fd, true);
}

LIB_CASE(ranges)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    OWN(culv_memory) *memory = lib_import(w, &vk);
    uint64_t end = vk.allocation_size;
    const struct {
        uint64_t offset, size;
    } bad[] = {{end, 0},
               {end, 1},
               {end + 1, 0},
               {0, end + 1},
               {1, end},
               {end - 1, 2},
               {UINT64_MAX, 0},
               {UINT64_MAX, 1},
               {0, UINT64_MAX},
               {1, UINT64_MAX},
               {end / 2, UINT64_MAX - end / 2 + 1},
               {4096, UINT64_MAX - 4095},
               {UINT64_MAX, UINT64_MAX}};
    OWN(culv_buffer) *buffer = NULL;
    culv_buffer_desc d = culv_buffer_desc_init();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        d.offset = bad[i].offset;
        d.size = bad[i].size;
        LIB_REFUSES(buffer, culv_buffer_map(memory, &d, &buffer), INVALID, RANGE,
                    "culv_buffer_desc.offset", "(culv_vk_memory_desc.allocation_size)");
    }
    REQUIRE_EQ(lib_counts(w).buffers, 0);
    REQUIRE_EQ(lib_counts(w).mappings, 0);
    d.offset = end - 1; /* the last byte is in */
    d.size = 1;
    LIB_OK(culv_buffer_map(memory, &d, &buffer));
}

/* The Vulkan road: what Vulkan says of the buffer is held against what the caller says. */
LIB_CASE(vulkan_contradicts)
{
    raw_vk_buffer vk;
    raw_vk_buffer_create_at(&w->vk, 65536, 1 << 20, RAW_VK_EXPORT, &vk);
    raw_vk_buffer dedicated = lib_case_buffer(w, 65536, RAW_VK_EXPORT | RAW_VK_DEDICATED);
    culv_memory *memory = NULL;
    culv_vk_memory_desc right = culv_vk_memory_desc_init();
    right.memory = vk.memory;
    right.allocation_size = vk.allocation_size;
    right.buffer = vk.buffer;
    right.buffer_offset = vk.offset;
    const struct {
        VkDeviceMemory memory;
        VkDeviceSize allocation_size, offset;
        VkBool32 dedicated;
        culv_reason reason;
    } rows[] = {
        {VK_NULL_HANDLE, vk.allocation_size, vk.offset, VK_FALSE, CULV_REASON_NULL_ARGUMENT},
        {vk.memory, 0, vk.offset, VK_FALSE, CULV_REASON_SIZE},
        {vk.memory, vk.size - 1, 0, VK_FALSE, CULV_REASON_SIZE},
        {vk.memory, vk.allocation_size - 1, vk.offset, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, vk.allocation_size, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, UINT64_MAX, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, UINT64_MAX - 65535, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, vk.offset - 1, VK_FALSE,
         CULV_REASON_RANGE}, /* not aligned */
        {vk.memory, vk.allocation_size, vk.offset, VK_TRUE, CULV_REASON_DEDICATED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_memory_desc d = right;
        d.memory = rows[i].memory;
        d.allocation_size = rows[i].allocation_size;
        d.buffer_offset = rows[i].offset;
        d.dedicated = rows[i].dedicated;
        LIB_REFUSES_AS(memory, culv_vk_memory_import(w->attachment, &d, &memory),
                       CULV_ERROR_INVALID, rows[i].reason);
        if (rows[i].reason == CULV_REASON_RANGE) LIB_SAYS("culv_vk_memory_desc.buffer_offset");
    }
    /* Without its buffer nothing of Vulkan's contradicts; on the twin and on Mesa the file does. */
    culv_vk_memory_desc large = right;
    large.buffer = VK_NULL_HANDLE;
    large.allocation_size = UINT64_C(1) << 40;
    if (lib_caps(w->device).is_software) {
        LIB_REFUSES(memory, culv_vk_memory_import(w->attachment, &large, &memory), INVALID, SIZE,
                    "culv_vk_memory_desc.allocation_size", "VkMemoryAllocateInfo::allocationSize");
    }
    /* The size told is the fault, and the offset is right. */
    culv_buffer *buffer = NULL;
    culv_buffer_desc whole = culv_buffer_desc_init();
    LIB_OK(culv_vk_memory_import(w->attachment, &right, &memory));
    whole.size = vk.allocation_size + 1;
    LIB_REFUSES(buffer, culv_buffer_map(memory, &whole, &buffer), INVALID, RANGE,
                "culv_vk_memory_desc.allocation_size");
    culv_memory_destroy(&memory);

    /* A buffer that Vulkan wants dedicated, said not to be. */
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.requires_dedicated = true};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, lying, culv_vk_attach, w->device, &vd);
    LIB_REFUSES(memory, culv_vk_memory_import(lying, &right, &memory), INVALID, DEDICATED);
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = dedicated.memory;
    d.allocation_size = dedicated.allocation_size;
    d.buffer = dedicated.buffer;
    d.dedicated = VK_TRUE;
    LIB_OK(culv_vk_memory_import(lying, &d, &memory));
    culv_memory_destroy(&memory);
    culv_vk_detach(&lying);
    raw_vk_buffer_destroy(&w->vk, &vk);
}

/* The process may open no more files: the caller's descriptor stays what it was. */
LIB_CASE(out_of_file_descriptors, .own = true)
{
    struct rlimit before;
    culv_memory *memory = POISON(culv_memory);
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_handle out = {0}, exported = {0};
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    culv_vmm_import_desc vd = culv_vmm_import_desc_init();
    culv_vmm_allocation *in = POISON(culv_vmm_allocation);
    ad.size = vd.size = 1 << 21;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    NEW(OWN(culv_vmm_allocation), allocation, culv_vmm_allocation_create, w->device, &ad);
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &exported));
    vd.handle = exported;
    lib_fd vmm_fd = lib_fd_watch(exported.value.fd);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    enum { CALLS = 5 };
    culv_error e[CALLS];
    for (int i = 0; i < CALLS; i++)
        e[i] = culv_error_init();
    culv_result r[CALLS] = {culv_memory_import(w->device, &d, &memory)};
    culv_last_error(&e[0]);
    r[1] = culv_vk_memory_export_dup(w->attachment, vk.memory, CULV_HANDLE_OPAQUE_FD, &out);
    culv_last_error(&e[1]);
    r[2] = culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &out);
    culv_last_error(&e[2]);
    r[3] = culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &out);
    culv_last_error(&e[3]);
    r[4] = culv_vmm_import(w->device, &vd, &in);
    culv_last_error(&e[4]);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int i = 0; i < CALLS; i++) {
        printf("%s\n", e[i].message);
        REQUIRE_EQ(r[i], CULV_ERROR_INVALID);
        REQUIRE_EQ(e[i].reason, CULV_REASON_OS);
        REQUIRE_EQ(e[i].native_api, CULV_NATIVE_OS);
        REQUIRE_EQ(e[i].native_code, EMFILE);
        REQUIRE(strstr(e[i].message, "RLIMIT_NOFILE") != NULL);
    }
    REQUIRE(memory == POISON(culv_memory) && in == POISON(culv_vmm_allocation));
    REQUIRE_EQ(out.type, CULV_HANDLE_NONE);
    lib_fd_end(&fd, true);
    lib_fd_end(&vmm_fd, true);
}
