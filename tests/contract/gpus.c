/* SPDX-License-Identifier: MIT */
/* Contract rows: several GPUs, where the drivers do silent damage. On the twin the second device is
 * an invented copy of the first one: all Vulkan memory is another device's to it. */
#define TEST_GROUP "gpus."
#include "binaries.h"

#include <fcntl.h>
#include <unistd.h>

#define SIZE (2u << 20)

/* Vulkan on device 0, the current context on device 1. */
static void open_crossed(pair *p)
{
    raw_cuda_two_devices();
    if (raw_cuda_open()->device_count < 2) SKIP("one CUDA device only");
    pair_open_on(p, 1);
}

#define PAIR_CROSSED_CASE(...) TEST_ON(pair, p, open_crossed(p), pair_close(p), __VA_ARGS__)

PAIR_CROSSED_CASE(memory_of_another_gpu, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk);
    int given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = raw_cuda_import_memory(p->cu, given, vk.allocation_size, false, &memory);
    const bool still_open = fd_open(given) && same_file(given, fd);
    ANSWER("import", "%s, fd %s", raw_cuda_result_name(result), still_open ? "open" : "closed");
    CU_IS(result, CUDA_ERROR_UNKNOWN);
    REQUIRE(memory == NULL);
    REQUIRE(!still_open); /* the failed import closed it */
    REQUIRE(fd_open(fd));
    close(fd);
}

static void require_vmm(const raw_cuda *cu)
{
    if (cu->MemCreate == NULL || cu->MemExportToShareableHandle == NULL)
        SKIP("this driver has no virtual memory management");
}

/* One word by CUDA, seen by Vulkan, and the reverse, at the end of the buffer. */
static void carry_words(pair *p, const char *key, raw_vk_buffer *vk, CUdeviceptr pointer)
{
    uint32_t found[2] = {0, 0};
    const uint32_t vulkans = 0x600df00du;
    const VkDeviceSize last = vk->size / 4 * 4 - 4;
    CU_OK(p->cu->MemsetD32Async(pointer + last, 0x1badb002u, 1, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_read(&p->vk, vk, last, &found[0], sizeof found[0]);
    raw_vk_write(&p->vk, vk, 0, &vulkans, sizeof vulkans);
    cuda_read(p, pointer, &found[1], sizeof found[1]);
    answer_so(key, found[0] == 0x1badb002u && found[1] == vulkans, "right", "wrong");
}

/* Memory that is dedicated to a buffer can be imported in the other context. */
PAIR_CROSSED_CASE(dedicated_memory_of_another_gpu, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer = 0;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE / 2 + 4097, RAW_VK_EXPORT | RAW_VK_DEDICATED);
    const int fd = raw_vk_buffer_fd(&p->vk, &vk), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const CUresult result = raw_cuda_import_memory(p->cu, given, vk.allocation_size, true, &memory);
    ANSWER("import", "%s, fd %s", raw_cuda_result_name(result),
           fd_open(given) && same_file(given, fd) ? "open" : "closed");
    CU_OK(result);
    CU_OK(raw_cuda_map_buffer(p->cu, memory, 0, vk.allocation_size, &pointer));
    carry_words(p, "words", &vk, pointer);
    CU_OK(p->cu->MemFree(pointer));
    CU_OK(p->cu->DestroyExternalMemory(memory));
    close(fd);
}

/* Vulkan's own file descriptor as a handle of VMM: mapped whole, for the other GPU alone. */
PAIR_CROSSED_CASE(vulkans_fd_as_a_vmm_handle, .mark = TEST_BOTH)
{
    static const struct {
        const char *name;
        VkDeviceSize size;
        unsigned flags;
        bool maps;
    } rows[] = {{"4 MiB", 2 * SIZE, 0, true},
                {"dedicated, 2 MiB and 64 KiB", SIZE + 65536, RAW_VK_DEDICATED, true},
                {"2 MiB and 64 KiB", SIZE + 65536, 0, false},
                {"dedicated, 64 KiB", 65536, RAW_VK_DEDICATED, false}};
    require_vmm(p->cu);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        raw_vk_buffer vk;
        CUmemGenericAllocationHandle handle = 0;
        CUdeviceptr pointer = 0;
        CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = p->device;
        raw_vk_buffer_create(&p->vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &vk);
        const size_t size = (size_t)((vk.allocation_size + SIZE - 1) / SIZE * SIZE);
        const int fd = raw_vk_buffer_fd(&p->vk, &vk), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        CUresult result = p->cu->MemImportFromShareableHandle(
            &handle, (void *)(intptr_t)given, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        ANSWER(answer_key("%s: import", rows[i].name), "%s, fd %s", raw_cuda_result_name(result),
               fd_open(given) && same_file(given, fd) ? "open" : "closed");
        if (fd_open(given)) close(given);
        close(fd);
        if (rows[i].maps) CU_OK(result);
        if (result == CUDA_SUCCESS) {
            CU_OK(p->cu->MemAddressReserve(&pointer, size, 0, 0, 0));
            result = p->cu->MemMap(pointer, size, 0, handle, 0);
            answer_call(answer_key("%s: map", rows[i].name), result);
            REQUIRE_EQ(result == CUDA_SUCCESS, rows[i].maps);
            if (rows[i].maps) {
                CU_OK(p->cu->MemSetAccess(pointer, size, &access, 1));
                carry_words(p, answer_key("%s: words", rows[i].name), &vk, pointer);
                CU_OK(p->cu->MemUnmap(pointer, size));
            }
            CU_OK(p->cu->MemAddressFree(pointer, size));
            CU_OK(p->cu->MemRelease(handle));
        }
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
}

PAIR_CROSSED_CASE(
    timeline_of_another_gpu, .mark = TEST_TWIN_STRICTER,
    .reason = "of NVIDIA's driver reported: two H200 hear of it, and nothing promises it")
{
    shared_timeline t = pair_timeline(p, 0); /* imports */
    answer_is("signal", raw_cuda_signal(p->cu, t.cu, 5, p->stream), CUDA_SUCCESS);
    answer_is("the stream then", p->cu->StreamSynchronize(p->stream), CUDA_SUCCESS);
    /* Two H200 on NVLink: the other side hears of it, which nothing promises. */
    bool heard = raw_vk_timeline_wait(&p->vk, t.vk, 1, patience(p, 200));
    MEASURED("timeline_of_another_gpu", "signaled 5, Vulkan %s; its counter is %llu",
             heard ? "heard of it" : "never heard of it",
             (unsigned long long)raw_vk_timeline_value(&p->vk, t.vk));
    if (p->cu->software) REQUIRE(heard);
}

/* Presumably as with timelines: reported, and of the twin required. */
PAIR_CROSSED_CASE(
    binary_of_another_gpu, .mark = TEST_BOTH,
    .reason = "of NVIDIA's driver reported: two H200 hear of it, and nothing promises it",
    .own = true)
{
    raw_binary binary;
    CUexternalSemaphore semaphore = NULL;
    raw_binary_create(&p->vk, p->cu, &binary);
    int fd = raw_binary_fd(&p->vk, &binary), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = raw_cuda_import_binary(p->cu, given, &semaphore);
    ANSWER("import", "%s, fd %s", raw_cuda_result_name(result),
           fd_open(given) && same_file(given, fd) ? "open" : "closed");
    close(fd);
    if (result != CUDA_SUCCESS) test_pass();
    result = raw_cuda_signal(p->cu, semaphore, 0, p->stream);
    CUresult after = stream_result(p, patience(p, 3000));
    bool came = raw_binary_wait(&p->vk, p->cu, &binary, patience(p, 500));
    ANSWER("signal", "%s, the stream %s", raw_cuda_result_name(result),
           raw_cuda_result_name(after));
    MEASURED("binary_of_another_gpu", "Vulkan's wait: %s", came ? "taken" : "not there");
    if (!p->cu->software) test_pass(); /* Vulkan may wait for ever */
    CU_OK(after);
    REQUIRE(came);
    CU_OK(p->cu->DestroyExternalSemaphore(semaphore));
    raw_binary_destroy(&p->vk, &binary);
}

/* A VMM allocation of the current device, mapped for it, and exported; `peer` (or -1) gets access
 * too. */
typedef struct vmm {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr pointer;
    int fd;
} vmm;

static void vmm_open(const pair *p, CUdevice peer, vmm *out)
{
    CUmemAllocationProp prop;
    CUmemAccessDesc access[2];
    memset(&prop, 0, sizeof prop);
    memset(access, 0, sizeof access);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = p->device;
    access[0].location = prop.location;
    access[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access[1] = access[0];
    access[1].location.id = peer;
    CU_OK(p->cu->MemCreate(&out->handle, SIZE, &prop, 0));
    CU_OK(p->cu->MemAddressReserve(&out->pointer, SIZE, 0, 0, 0));
    CU_OK(p->cu->MemMap(out->pointer, SIZE, 0, out->handle, 0));
    CU_OK(p->cu->MemSetAccess(out->pointer, SIZE, access, peer >= 0 ? 2 : 1));
    CU_OK(p->cu->MemExportToShareableHandle(&out->fd, out->handle,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

static void vmm_close(const pair *p, vmm *memory)
{
    CU_OK(p->cu->MemUnmap(memory->pointer, SIZE));
    CU_OK(p->cu->MemAddressFree(memory->pointer, SIZE));
    CU_OK(p->cu->MemRelease(memory->handle));
    close(memory->fd);
}

/* Reported: whether Vulkan on GPU 0 takes it, and how many words it then sees right. It is nothing
 * to rely on. */
PAIR_CROSSED_CASE(vmm_memory_of_another_gpu, .mark = TEST_BOTH, .reason = "silently wrong on both")
{
    vmm memory;
    require_vmm(p->cu);
    vmm_open(p, -1, &memory);
    CU_OK(p->cu->MemsetD32Async(memory.pointer, 0x13572468u, SIZE / 4, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_buffer usual;
    raw_vk_buffer_create(&p->vk, SIZE, RAW_VK_EXPORT, &usual);
    const uint32_t memory_type = usual.memory_type;
    raw_vk_buffer_destroy(&p->vk, &usual);

    const VkImportMemoryFdInfoKHR import_info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = fcntl(memory.fd, F_DUPFD_CLOEXEC, 0)};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &import_info,
                                       .allocationSize = SIZE,
                                       .memoryTypeIndex = memory_type};
    VkDeviceMemory imported = VK_NULL_HANDLE;
    VkResult result = vkAllocateMemory(p->vk.device, &info, NULL, &imported);
    ANSWER("Vulkan's import", "VkResult %d", (int)result);
    if (result == VK_SUCCESS) {
        raw_vk_buffer like = {.size = SIZE, .allocation_size = SIZE, .memory_type = memory_type},
                      vk;
        uint32_t *found = test_memory(SIZE);
        size_t right = 0;
        vkFreeMemory(p->vk.device, imported, NULL);
        raw_vk_buffer_import(&p->vk, fcntl(memory.fd, F_DUPFD_CLOEXEC, 0), &like, &vk);
        raw_vk_read(&p->vk, &vk, 0, found, SIZE);
        for (size_t i = 0; i < SIZE / 4; i++)
            right += found[i] == 0x13572468u;
        MEASURED("words_right_of_another_gpus_vmm", "%zu of %u", right, SIZE / 4);
        answer_so("what Vulkan then sees", right < SIZE / 4, "wrong words", "the memory");
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
    vmm_close(p, &memory);
}

PAIR_CROSSED_CASE(vmm_access_for_peers, .mark = TEST_BOTH)
{
    vmm memory;
    int can = 0;
    uint32_t word = 0;
    require_vmm(p->cu);
    REQUIRE(p->cu->DeviceCanAccessPeer != NULL);
    CU_OK(p->cu->DeviceCanAccessPeer(&can, 0, p->device));
    if (!can) SKIP("devices 0 and 1 are no peers");
    vmm_open(p, 0, &memory);
    CU_OK(p->cu->MemsetD32Async(memory.pointer, 0x24681357u, SIZE / 4, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CUcontext other = raw_cuda_context(p->cu, 0);
    REQUIRE(other != NULL);
    cuda_read(p, memory.pointer + SIZE - 4, &word, sizeof word);
    answer_so("a word read by the peer", word == 0x24681357u, "right", "wrong");
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->DevicePrimaryCtxRelease(0));
    vmm_close(p, &memory);
}

/* What a kernel of device 1 writes to memory that it reaches, and what becomes of it where it does
 * not: the context is lost. */
static CUresult write_by_kernel(const pair *p, CUdeviceptr memory)
{
    unsigned count = 64, seed = 7;
    void *args[] = {&memory, &count, &seed};
    CUfunction write = raw_cuda_function(p->cu, raw_cuda_load(p->cu, "pattern"), "pattern_write");
    CU_OK(p->cu->LaunchKernel(write, 1, 1, 1, 64, 1, 1, 0, p->stream, args, NULL));
    return p->cu->StreamSynchronize(p->stream);
}

typedef enum reach { OF_PEER, OF_VMM, OF_VULKAN } reach;

static void kernels_reach(reach what)
{
    pair p;
    CUdeviceptr near = 0, far = 0;
    CUexternalMemory memory[2];
    raw_vk_buffer vk;
    vmm v;
    int can = 0;
    open_crossed(&p);
    const raw_cuda *cu = p.cu;
    CU_OK(cu->DeviceCanAccessPeer(&can, p.device, 0));
    if (!can) SKIP("devices 0 and 1 are no peers");
    CUcontext first = raw_cuda_context(cu, 0);
    if (what == OF_PEER) CU_OK(cu->MemAlloc(&near, SIZE));
    if (what == OF_VULKAN) {
        raw_vk_buffer_create(&p.vk, SIZE, RAW_VK_EXPORT | RAW_VK_DEDICATED, &vk);
        for (int i = 0; i < 2; i++) {
            CU_OK(cu->CtxSetCurrent(i == 0 ? first : p.context));
            CU_OK(raw_cuda_import_memory(cu, raw_vk_buffer_fd(&p.vk, &vk), vk.allocation_size, true,
                                         &memory[i]));
            CU_OK(raw_cuda_map_buffer(cu, memory[i], 0, SIZE, i == 0 ? &far : &near));
        }
    }
    CU_OK(cu->CtxSetCurrent(p.context));
    if (what != OF_VMM) CU_OK(cu->CtxEnablePeerAccess(first, 0));
    if (what == OF_VMM) {
        const CUdevice own = p.device;
        p.device = 0;
        vmm_open(&p, own, &v);
        p.device = own;
        near = v.pointer;
    }
    answer_is(what == OF_VULKAN ? "imported in its own context" : "with access",
              write_by_kernel(&p, near), CUDA_SUCCESS);
    if (what == OF_PEER) CU_OK(cu->CtxDisablePeerAccess(first));
    if (what == OF_VMM) {
        CUmemAccessDesc none = {.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
        none.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        none.location.id = p.device;
        CU_OK(cu->MemSetAccess(near, SIZE, &none, 1));
    }
    answer_is(what == OF_VULKAN ? "imported in the other, with peer access" : "taken away",
              write_by_kernel(&p, far != 0 ? far : near), CUDA_ERROR_ILLEGAL_ADDRESS);
    test_pass(); /* the context is lost */
}
TEST_AS(kernels_reach_peers, kernels_reach(OF_PEER), .mark = TEST_BOTH, .faults = true)
TEST_AS(kernels_reach_vmm, kernels_reach(OF_VMM), .mark = TEST_BOTH, .faults = true)
TEST_AS(kernels_reach_vulkans, kernels_reach(OF_VULKAN), .mark = TEST_BOTH, .faults = true)
