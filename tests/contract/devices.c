/* SPDX-License-Identifier: MIT */
/* Contract rows: devices and their identity. */
#define TEST_GROUP "devices."
#include "contract.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int attribute(const raw_cuda *cu, CUdevice_attribute which, CUdevice device)
{
    int value = 0;
    CU_OK(cu->DeviceGetAttribute(&value, which, device));
    return value;
}

TEST(uuid_matches_one_vulkan_device, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    raw_vk_open_instance(&vk, &(raw_vk_options){.software = cu->software});
    int without = 0, alike = 0;
    for (int i = 0; i < cu->device_count; i++) {
        CUdevice device;
        CUuuid uuid;
        char name[256] = "";
        CU_OK(cu->DeviceGet(&device, i));
        CU_OK(cu->DeviceGetName(name, sizeof name, device));
        CU_OK(cu->DeviceGetUuid(&uuid, device));
        REQUIRE(name[0] != '\0');
        unsigned found = raw_vk_find(&vk, (const uint8_t *)uuid.bytes, NULL);
        MEASURED("device", "%d %s, driver %d, %u Vulkan devices with its UUID", i, name,
                 cu->driver_version, found);
        without += found != 1;
        for (int k = 0; k < i; k++) {
            CUuuid other;
            CUdevice other_device;
            CU_OK(cu->DeviceGet(&other_device, k));
            CU_OK(cu->DeviceGetUuid(&other, other_device));
            alike += memcmp(&uuid, &other, sizeof uuid) == 0;
        }
    }
    answer_number("CUDA devices that not exactly one Vulkan device matches", without, 0);
    answer_number("CUDA devices with the same UUID", alike, 0);
    raw_vk_close(&vk);
}

TEST(uuid_versions_agree, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    int differ = 0;
    for (int i = 0; i < cu->device_count; i++) {
        CUdevice device;
        CUuuid first, second;
        CU_OK(cu->DeviceGet(&device, i));
        CU_OK(cu->DeviceGetUuid_v1(&first, device));
        CU_OK(cu->DeviceGetUuid(&second, device));
        differ += memcmp(&first, &second, sizeof first) != 0;
    }
    /* They may differ on a MIG slice, which has no graphics. */
    answer_number("devices whose two UUIDs differ", differ, 0);
}

PAIR_CASE(no_luid_on_linux, .mark = TEST_BOTH)
{
    char luid[8];
    unsigned mask = 0;
    answer_call("cuDeviceGetLuid", p->cu->DeviceGetLuid(luid, &mask, p->device));
    answer_number("deviceLUIDValid of Vulkan", (int)p->vk.id.deviceLUIDValid, VK_FALSE);
}

TEST(device_groups_of_one, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    raw_vk_open_instance(&vk, &(raw_vk_options){.software = cu->software});
    VkPhysicalDeviceGroupProperties groups[16];
    uint32_t count = 16;
    for (uint32_t i = 0; i < count; i++)
        groups[i] = (VkPhysicalDeviceGroupProperties){
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES};
    VK_OK(vkEnumeratePhysicalDeviceGroups(vk.instance, &count, groups));
    REQUIRE(count > 0);
    uint32_t larger = 0;
    for (uint32_t i = 0; i < count; i++)
        larger += groups[i].physicalDeviceCount != 1;
    answer_number("groups of more than one device", larger, 0);
    raw_vk_close(&vk);
}

PAIR_CASE(queue_families, .mark = TEST_NVIDIA_ONLY,
          .reason = "lavapipe has one family that does everything")
{
    const VkQueueFlags transfer = VK_QUEUE_TRANSFER_BIT, compute = VK_QUEUE_COMPUTE_BIT,
                       graphics = VK_QUEUE_GRAPHICS_BIT, all = graphics | compute | transfer;
    answer_so("family 0 has graphics, compute and transfer", (p->vk.queues[0].flags & all) == all,
              "no");
    if (p->cu->software) {
        REQUIRE_EQ(p->vk.queue_count, 1);
    } else {
        REQUIRE(p->vk.queue_count >= 3);
        REQUIRE_EQ(p->vk.queues[1].flags & all, transfer);
        REQUIRE_EQ(p->vk.queues[2].flags & (graphics | compute), compute);
    }
}

TEST(timeline_attribute, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    int value = attribute(cu, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0);
    answer_number("TIMELINE_SEMAPHORE_INTEROP_SUPPORTED", value, 1);
}

/* What Culvert asks of a context to know whether it is a CUDA-in-graphics one. */
TEST(cig_limits, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    ANSWER("D3D12_CIG_SUPPORTED", "%d", attribute(cu, CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED, 0));
    ANSWER("VULKAN_CIG_SUPPORTED", "%d",
           attribute(cu, CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED, 0));
    (void)raw_cuda_context(cu, 0);
    size_t value = 99;
    CUresult result = cu->CtxGetLimit(&value, CU_LIMIT_CIG_ENABLED);
    answer_with("cuCtxGetLimit CIG_ENABLED in the primary context", result, "%zu", value);
    REQUIRE(result != CUDA_SUCCESS || value == 0);
    answer_call("cuCtxSetLimit CIG_ENABLED", cu->CtxSetLimit(CU_LIMIT_CIG_ENABLED, 1));
    answer_call("cuCtxSetLimit CIG_SHMEM_FALLBACK_ENABLED in the primary context",
                cu->CtxSetLimit(CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED, 0));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* GStreamer 1.26 asks for it and sets it again after each library that it loads. */
TEST(stack_limit, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    size_t before = 0, after = 0;
    (void)raw_cuda_context(cu, 0);
    CU_OK(cu->CtxGetLimit(&before, CU_LIMIT_STACK_SIZE));
    ANSWER("cuCtxGetLimit STACK_SIZE", "%zu", before);
    CU_OK(cu->CtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    CU_OK(cu->CtxGetLimit(&after, CU_LIMIT_STACK_SIZE));
    ANSWER("cuCtxGetLimit STACK_SIZE after 2,048 was set", "%zu", after);
    CU_OK(cu->CtxSetLimit(CU_LIMIT_STACK_SIZE, before));
    CU_OK(cu->CtxGetLimit(&after, CU_LIMIT_STACK_SIZE));
    REQUIRE_EQ(after, before);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

TEST(memory_attributes, .mark = TEST_NVIDIA_ONLY,
     .reason = "the twin claims what it has entry points for, no more")
{
    static const struct {
        CUdevice_attribute which;
        const char *name;
        int nvidia; /* -1: it depends on the machine */
    } rows[] = {
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "vmm", 1},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "posix_fd", 1},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, "fabric", -1},
        {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, "multicast", -1},
        {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, "compressible", -1},
        {CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, "dma_buf", -1},
        {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, "sparse_arrays", -1},
        {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, "deferred_mapping", -1},
        {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, "rdma_with_vmm", -1},
    };
    const raw_cuda *cu = raw_cuda_open();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int value = attribute(cu, rows[i].which, 0);
        if (rows[i].nvidia >= 0)
            ANSWER(rows[i].name, "%d", value);
        else
            MEASURED("attribute", "%s %d", rows[i].name, value);
        if (!cu->software && rows[i].nvidia >= 0) REQUIRE_EQ(value, rows[i].nvidia);
    }
}

TEST(vmm_granularity, .mark = TEST_BOTH)
{
    const raw_cuda *cu = raw_cuda_open();
    const CUmemAllocationProp prop = raw_cuda_memory_prop(0, POSIX_FD);
    size_t minimum = 0, recommended = 0;
    CU_OK(cu->MemGetAllocationGranularity(&minimum, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CU_OK(
        cu->MemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    answer_number("minimum", (int64_t)minimum, 2 << 20);
    answer_number("recommended", (int64_t)recommended, 2 << 20);
}

TEST(fabric_needs_imex, .mark = TEST_NVIDIA_ONLY, .reason = "the twin has no fabric handles")
{
    const raw_cuda *cu = raw_cuda_open();
    if (attribute(cu, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0) == 0)
        SKIP("the device says that it has no fabric handles");
    CUcontext context = raw_cuda_context(cu, 0);
    REQUIRE(context != NULL && cu->MemCreate != NULL && cu->MemRelease != NULL);
    const CUmemAllocationProp prop = raw_cuda_memory_prop(0, CU_MEM_HANDLE_TYPE_FABRIC);
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = cu->MemCreate(&handle, 2u << 20, &prop, 0);
    if (result == CUDA_SUCCESS) {
        CU_OK(cu->MemRelease(handle));
        CU_OK(cu->DevicePrimaryCtxRelease(0));
        SKIP("there is an IMEX channel here");
    }
    /* The attribute is no promise: without an IMEX channel it is refused. */
    answer_call("cuMemCreate without an IMEX channel", result);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* A reset and the next retain leave the handle as it was, and the id tells the two contexts
 * apart. */
TEST(context_id, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = raw_cuda_open();
    CUcontext context = raw_cuda_context(cu, 0), again = NULL;
    unsigned long long id = 0, other = 0;
    CU_OK(cu->CtxGetId(context, &id));
    REQUIRE_EQ(id, 1); /* the process's first context */
    CU_OK(cu->DevicePrimaryCtxRetain(&again, 0));
    REQUIRE(again == context);
    CU_OK(cu->CtxGetId(again, &other));
    REQUIRE_EQ(other, id);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->DevicePrimaryCtxReset(0));
    answer_call("cuCtxGetId after a reset", cu->CtxGetId(context, &other));
    REQUIRE_EQ(other, id);
    CU_OK(cu->DevicePrimaryCtxRetain(&again, 0));
    CU_OK(cu->CtxGetId(again, &other));
    ANSWER("the next context's handle", "%s", again == context ? "the same" : "another");
    answer_number("the next context's id", (int64_t)other, 2);
    /* The retain of the context that was reset is given back, and the new one stays. */
    int active = 0;
    unsigned flags = 0;
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->DevicePrimaryCtxGetState(0, &flags, &active));
    answer_number("it is active once the retain from before the reset is released", active, 1);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

/* Contract rows: several GPUs, where the drivers do silent damage. On the twin the second device is
 * an invented copy of the first one: all Vulkan memory is another device's to it. */
#undef TEST_GROUP
#define TEST_GROUP "gpus."

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
    const int given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = raw_cuda_import_memory(p->cu, given, vk.allocation_size, false, &memory);
    answer_with("import", result, "fd %s", fd_state(given, fd)); /* the failed import closed it */
    REQUIRE(memory == NULL && fd_open(fd));
    close(fd);
}

/* One word by CUDA, seen by Vulkan, and the reverse, at the end of the buffer. */
static void carry_words(pair *p, const char *key, raw_vk_buffer *vk, CUdeviceptr pointer)
{
    uint32_t found = 0;
    const uint32_t vulkans = 0x600df00du;
    const VkDeviceSize last = vk->size / 4 * 4 - 4;
    set_words(p, pointer + last, 0x1badb002u, 1);
    raw_vk_read(&p->vk, vk, last, &found, sizeof found);
    raw_vk_write(&p->vk, vk, 0, &vulkans, sizeof vulkans);
    answer_so(key, found == 0x1badb002u && cuda_word(p, pointer) == vulkans, "wrong");
}

/* Memory that is dedicated to a buffer can be imported in the other context. */
PAIR_CROSSED_CASE(dedicated_memory_of_another_gpu, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer = 0;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE / 2 + 4097, RAW_VK_EXPORT | RAW_VK_DEDICATED);
    const int fd = raw_vk_buffer_fd(&p->vk, &vk), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const CUresult result = raw_cuda_import_memory(p->cu, given, vk.allocation_size, true, &memory);
    answer_with("import", result, "fd %s", fd_state(given, fd));
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
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        raw_vk_buffer vk;
        CUmemGenericAllocationHandle handle = 0;
        CUdeviceptr pointer = 0;
        raw_vk_buffer_create(&p->vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &vk);
        const size_t size = (size_t)((vk.allocation_size + SIZE - 1) / SIZE * SIZE);
        const int fd = raw_vk_buffer_fd(&p->vk, &vk), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        CUresult result = vmm_import(p, given, &handle);
        answer_with(answer_key("%s: import", rows[i].name), result, "fd %s", fd_state(given, fd));
        if (fd_open(given)) close(given);
        close(fd);
        if (rows[i].maps) CU_OK(result);
        if (result == CUDA_SUCCESS) {
            pointer = vmm_reserve(p, size);
            result = p->cu->MemMap(pointer, size, 0, handle, 0);
            answer_call(answer_key("%s: map", rows[i].name), result);
            REQUIRE_EQ(result == CUDA_SUCCESS, rows[i].maps);
            if (rows[i].maps) {
                CU_OK(vmm_allow(p, pointer, size));
                carry_words(p, answer_key("%s: words", rows[i].name), &vk, pointer);
                CU_OK(p->cu->MemUnmap(pointer, size));
            }
            CU_OK(p->cu->MemAddressFree(pointer, size));
            CU_OK(p->cu->MemRelease(handle));
        }
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
}

#define HEARD "of NVIDIA's driver reported: two H200 hear of it, and nothing promises it"

PAIR_CROSSED_CASE(timeline_of_another_gpu, .mark = TEST_TWIN_STRICTER, .reason = HEARD)
{
    shared_timeline t = pair_timeline(p, 0); /* imports */
    answer_ok("signal", raw_cuda_signal(p->cu, t.cu, 5, p->stream));
    answer_ok("the stream then", p->cu->StreamSynchronize(p->stream));
    bool heard = raw_vk_timeline_wait(&p->vk, t.vk, 1, patience(p, 200));
    MEASURED("timeline_of_another_gpu", "signaled 5, Vulkan %s; its counter is %llu",
             heard ? "heard of it" : "never heard of it",
             (unsigned long long)raw_vk_timeline_value(&p->vk, t.vk));
    if (p->cu->software) REQUIRE(heard);
}

PAIR_CROSSED_CASE(binary_of_another_gpu, .mark = TEST_BOTH, .reason = HEARD, .own = true)
{
    raw_binary binary;
    CUexternalSemaphore semaphore = NULL;
    raw_binary_create(&p->vk, p->cu, &binary);
    int fd = raw_binary_fd(&p->vk, &binary), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = raw_cuda_import_binary(p->cu, given, &semaphore);
    answer_with("import", result, "fd %s", fd_state(given, fd));
    close(fd);
    if (result != CUDA_SUCCESS) test_pass();
    result = raw_cuda_signal(p->cu, semaphore, 0, p->stream);
    CUresult after = stream_result(p, patience(p, 3000));
    bool came = raw_binary_wait(&p->vk, p->cu, &binary, patience(p, 500));
    answer_with("signal", result, "the stream %s", raw_cuda_result_name(after));
    MEASURED("binary_of_another_gpu", "Vulkan's wait: %s", came ? "taken" : "not there");
    if (!p->cu->software) test_pass(); /* Vulkan may wait for ever */
    CU_OK(after);
    REQUIRE(came);
    CU_OK(p->cu->DestroyExternalSemaphore(semaphore));
    raw_binary_destroy(&p->vk, &binary);
}

/* A VMM allocation of a device's, mapped for it, and exported; `peer` (or -1) gets access too. */
typedef struct peer_memory {
    vmm_block b;
    int fd;
} peer_memory;

static peer_memory peer_memory_open(const pair *p, CUdevice device, CUdevice peer)
{
    peer_memory m = {.b = {.pointer = vmm_reserve(p, SIZE), .size = SIZE}};
    const CUmemAllocationProp prop = raw_cuda_memory_prop(device, POSIX_FD);
    const CUmemAccessDesc access[] = {raw_cuda_access(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                                      raw_cuda_access(peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
    CU_OK(p->cu->MemCreate(&m.b.handle, SIZE, &prop, 0));
    CU_OK(p->cu->MemMap(m.b.pointer, SIZE, 0, m.b.handle, 0));
    CU_OK(p->cu->MemSetAccess(m.b.pointer, SIZE, access, peer >= 0 ? 2 : 1));
    m.fd = vmm_export(p, m.b.handle);
    return m;
}

static void peer_memory_close(const pair *p, peer_memory *m)
{
    vmm_close(p, &m->b);
    close(m->fd);
}

/* Reported: whether Vulkan on GPU 0 takes it, and how many words it then sees right. It is nothing
 * to rely on. */
PAIR_CROSSED_CASE(vmm_memory_of_another_gpu, .mark = TEST_BOTH, .reason = "silently wrong on both")
{
    peer_memory m = peer_memory_open(p, p->device, -1);
    set_words(p, m.b.pointer, 0x13572468u, SIZE / 4);
    raw_vk_buffer like = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT), vk;
    VkDeviceMemory imported = VK_NULL_HANDLE;
    const VkResult result =
        vk_import(p, fcntl(m.fd, F_DUPFD_CLOEXEC, 0), SIZE, like.memory_type, NULL, &imported);
    ANSWER("Vulkan's import", "VkResult %d", (int)result);
    if (result == VK_SUCCESS) {
        uint32_t *found = test_memory(SIZE);
        vkFreeMemory(p->vk.device, imported, NULL);
        like.allocation_size = SIZE;
        like.offset = 0;
        raw_vk_buffer_import(&p->vk, fcntl(m.fd, F_DUPFD_CLOEXEC, 0), &like, &vk);
        raw_vk_read(&p->vk, &vk, 0, found, SIZE);
        answer_so("what Vulkan then sees", words_not(found, 0x13572468u, SIZE / 4) > 0,
                  "the memory");
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
    peer_memory_close(p, &m);
}

PAIR_CROSSED_CASE(vmm_access_for_peers, .mark = TEST_BOTH)
{
    int can = 0;
    CU_OK(p->cu->DeviceCanAccessPeer(&can, 0, p->device));
    if (!can) SKIP("devices 0 and 1 are no peers");
    peer_memory m = peer_memory_open(p, p->device, 0);
    set_words(p, m.b.pointer, 0x24681357u, SIZE / 4);
    REQUIRE(raw_cuda_context(p->cu, 0) != NULL);
    answer_so("a word read by the peer", cuda_word(p, m.b.pointer + SIZE - 4) == 0x24681357u,
              "wrong");
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->DevicePrimaryCtxRelease(0));
    peer_memory_close(p, &m);
}

/* What a kernel of device 1 writes to memory that it reaches, and what becomes of it where it does
 * not: the context is lost. */
typedef enum reach { OF_PEER, OF_VMM, OF_VULKAN } reach;

static void kernels_reach(pair *p, reach what)
{
    CUdeviceptr near = 0, far = 0;
    CUexternalMemory memory[2];
    raw_vk_buffer vk;
    int can = 0;
    const raw_cuda *cu = p->cu;
    CU_OK(cu->DeviceCanAccessPeer(&can, p->device, 0));
    if (!can) SKIP("devices 0 and 1 are no peers");
    CUcontext first = raw_cuda_context(cu, 0);
    if (what == OF_PEER) CU_OK(cu->MemAlloc(&near, SIZE));
    if (what == OF_VULKAN) {
        raw_vk_buffer_create(&p->vk, SIZE, RAW_VK_EXPORT | RAW_VK_DEDICATED, &vk);
        for (int i = 0; i < 2; i++) {
            CU_OK(cu->CtxSetCurrent(i == 0 ? first : p->context));
            CU_OK(raw_cuda_import_memory(cu, raw_vk_buffer_fd(&p->vk, &vk), vk.allocation_size,
                                         true, &memory[i]));
            CU_OK(raw_cuda_map_buffer(cu, memory[i], 0, SIZE, i == 0 ? &far : &near));
        }
    }
    CU_OK(cu->CtxSetCurrent(p->context));
    if (what == OF_VMM) near = peer_memory_open(p, 0, p->device).b.pointer;
    if (what != OF_VMM) CU_OK(cu->CtxEnablePeerAccess(first, 0));
    answer_ok(what == OF_VULKAN ? "imported in its own context" : "with access",
              words_run(p, "pattern_write", near, 256, 7));
    if (what == OF_PEER) CU_OK(cu->CtxDisablePeerAccess(first));
    const CUmemAccessDesc none = raw_cuda_access(p->device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    if (what == OF_VMM) CU_OK(cu->MemSetAccess(near, SIZE, &none, 1));
    answer_call(what == OF_VULKAN ? "imported in the other, with peer access" : "taken away",
                words_run(p, "pattern_write", far != 0 ? far : near, 256, 7));
    test_pass(); /* the context is lost */
}

#define REACH_CASE(name, what)                                                                     \
    PAIR_CROSSED_CASE(name, .mark = TEST_BOTH, .faults = true)                                     \
    {                                                                                              \
        kernels_reach(p, what);                                                                    \
    }
REACH_CASE(kernels_reach_peers, OF_PEER)
REACH_CASE(kernels_reach_vmm, OF_VMM)
REACH_CASE(kernels_reach_vulkans, OF_VULKAN)

#define COPIED (4u << 20)

typedef struct two {
    const raw_cuda *cu;
    CUcontext context[2];
    CUstream stream[2];
    CUdeviceptr memory[2];
    int peers;
} two;

static void two_open(two *w)
{
    memset(w, 0, sizeof *w);
    raw_cuda_two_devices();
    w->cu = raw_cuda_open();
    if (w->cu->device_count < 2) SKIP("one CUDA device only");
    CU_OK(w->cu->DeviceCanAccessPeer(&w->peers, 0, 1));
    for (int i = 0; i < 2; i++) {
        w->context[i] = raw_cuda_context(w->cu, i);
        CU_OK(w->cu->StreamCreate(&w->stream[i], CU_STREAM_NON_BLOCKING));
        CU_OK(w->cu->MemAlloc(&w->memory[i], COPIED));
    }
    CU_OK(w->cu->CtxSetCurrent(w->context[0]));
}

static void two_close(two *w)
{
    for (int i = 0; i < 2; i++) {
        CU_OK(w->cu->CtxSetCurrent(w->context[i]));
        CU_OK(w->cu->MemFree(w->memory[i]));
        CU_OK(w->cu->StreamDestroy(w->stream[i]));
        CU_OK(w->cu->CtxSetCurrent(NULL));
        CU_OK(w->cu->DevicePrimaryCtxRelease(i));
    }
    raw_cuda_require_empty(w->cu);
}

#define TWO_CASE(...) TEST_ON(two, w, two_open(w), two_close(w), __VA_ARGS__)

/* The words of memory[1], which were copied there. */
static size_t copied_wrong(const two *w, const uint32_t *expected)
{
    uint32_t *found = test_memory(COPIED);
    CU_OK(w->cu->MemcpyDtoH(found, w->memory[1], COPIED));
    return bytes_wrong(found, expected, COPIED);
}

TWO_CASE(copies, .mark = TEST_BOTH)
{
    const raw_cuda *cu = w->cu;
    static const char *const ways[] = {"cuMemcpyPeerAsync in the source's stream",
                                       "cuMemcpyPeerAsync in the destination's stream",
                                       "cuMemcpyPeer"};
    /* Neither needs access to be enabled; each in a stream of either device, then synchronous. */
    for (int way = 0; way < 3; way++) {
        uint32_t *words = pattern_words(COPIED, (uint32_t)way * 77);
        CU_OK(cu->CtxSetCurrent(w->context[0]));
        CU_OK(raw_cuda_upload(cu, w->memory[0], words, COPIED));
        if (way < 2) {
            CU_OK(cu->CtxSetCurrent(w->context[way]));
            CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0],
                                      COPIED, w->stream[way]));
            CU_OK(cu->StreamSynchronize(w->stream[way]));
        } else {
            CU_OK(cu->MemcpyPeer(w->memory[1], w->context[1], w->memory[0], w->context[0], COPIED));
            CU_OK(cu->CtxSetCurrent(w->context[1]));
            CU_OK(cu->CtxSynchronize());
        }
        CU_OK(cu->CtxSetCurrent(w->context[1]));
        answer_wrong(ways[way], copied_wrong(w, words), COPIED);
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    if (w->peers) {
        CU_OK(cu->CtxEnablePeerAccess(w->context[1], 0));
        CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        uint32_t *words = pattern_words(COPIED, 5);
        CU_OK(raw_cuda_upload(cu, w->memory[0], words, COPIED));
        CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0], COPIED,
                                  w->stream[0]));
        CU_OK(cu->StreamSynchronize(w->stream[0]));
        REQUIRE_EQ(copied_wrong(w, words), 0);
        CU_OK(cu->CtxDisablePeerAccess(w->context[1]));
        CU_IS(cu->CtxDisablePeerAccess(w->context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    } else {
        CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    answer_call("peer access with an unknown flag", cu->CtxEnablePeerAccess(w->context[1], 1));
}

/* Arrays of two devices, by boxes; and an event of one that the other waits for. */
TWO_CASE(copies_of_arrays, .mark = TEST_BOTH)
{
    enum { W = 61, H = 29, D = 5, BYTES = W * 4 * H * D };
    const raw_cuda *cu = w->cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUarray array[2];
    CUevent written;
    uint32_t *words = pattern_words(BYTES, 3), *found = test_memory(BYTES);
    desc.Depth = D;
    desc.Flags |= CUDA_ARRAY3D_LAYERED;
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->Array3DCreate(&array[i], &desc));
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventCreate(&written, CU_EVENT_DISABLE_TIMING));
    const CUDA_MEMCPY3D in =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = words, .srcPitch = W * 4,
                 .srcHeight = H, .dstArray = array[0], .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                 .WidthInBytes = W * 4, .Height = H, .Depth = D);
    CU_OK(cu->Memcpy3DAsync(&in, w->stream[0]));
    CU_OK(cu->EventRecord(written, w->stream[0]));
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], written, 0));
    CUDA_MEMCPY3D_PEER c =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array[0],
                 .srcContext = w->context[0], .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                 .dstArray = array[1], .dstContext = w->context[1], .WidthInBytes = W * 4,
                 .Height = H, .Depth = D);
    CUresult result = cu->Memcpy3DPeerAsync(&c, w->stream[1]);
    answer_call("array to array", result);
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    if (result == CUDA_SUCCESS) {
        CU_OK(raw_cuda_read_box(cu, array[1], found, W * 4, H, D));
        answer_wrong("bytes of it", bytes_wrong(found, words, BYTES), BYTES);
    }
    /* An array here from memory there, which needs no array access over the link. */
    for (size_t i = 0; i < BYTES / 4; i++)
        words[i] = ~words[i];
    CU_OK(raw_cuda_upload(cu, w->memory[1], words, BYTES));
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = w->memory[1];
    c.srcContext = w->context[1];
    c.srcPitch = W * 4;
    c.srcHeight = H;
    c.dstArray = array[0];
    c.dstContext = w->context[0];
    result = cu->Memcpy3DPeerAsync(&c, w->stream[1]);
    answer_call("memory to array", result);
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    if (result == CUDA_SUCCESS) {
        CU_OK(raw_cuda_read_box(cu, array[0], found, W * 4, H, D));
        answer_wrong("bytes of that", bytes_wrong(found, words, BYTES), BYTES);
    }
    CU_OK(cu->EventDestroy(written));
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}

/* Memory that is said to be another device's than it is. */
TWO_CASE(copies_in_wrong_contexts, .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .own = true)
{
    const raw_cuda *cu = w->cu;
    CUcontext *of = w->context;
    image_answer("peer_copy_wrong", "the other context for the destination",
                 cu->MemcpyPeer(w->memory[1], of[0], w->memory[0], of[0], COPIED));
    image_answer("peer_copy_wrong", "the other context for the source",
                 cu->MemcpyPeer(w->memory[1], of[1], w->memory[0], of[1], COPIED));
    image_answer("peer_copy_wrong", "one byte too many",
                 cu->MemcpyPeer(w->memory[1], of[1], w->memory[0], of[0], COPIED + 1));
    if (!cu->software) test_pass(); /* NVIDIA's driver may have copied past an end */
}

/* What a fallback by host memory does: an array to pinned memory and from there to another, in
 * streams of two devices that an event holds together. */
TWO_CASE(copies_through_host_memory, .mark = TEST_BOTH)
{
    enum { W = 61, H = 29, BYTES = W * 4 * H };
    const raw_cuda *cu = w->cu;
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUarray array[2];
    CUevent copied;
    void *pinned;
    uint32_t *words = pattern_words(BYTES, 13), *found = test_memory(BYTES);
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->Array3DCreate(&array[i], &desc));
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    CU_OK(cu->MemHostAlloc(&pinned, BYTES, CU_MEMHOSTALLOC_PORTABLE));
    CU_OK(raw_cuda_write_array(cu, array[0], words, W * 4, H));
    CUDA_MEMCPY3D c =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array[0],
                 .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned, .dstPitch = W * 4,
                 .dstHeight = H, .WidthInBytes = W * 4, .Height = H, .Depth = 1);
    CU_OK(cu->Memcpy3DAsync(&c, w->stream[0]));
    CU_OK(cu->EventRecord(copied, w->stream[0]));
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], copied, 0));
    c = (CUDA_MEMCPY3D)TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pinned,
                                .srcPitch = W * 4, .srcHeight = H, .dstArray = array[1],
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = W * 4,
                                .Height = H, .Depth = 1);
    CU_OK(cu->Memcpy3DAsync(&c, w->stream[1]));
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(raw_cuda_read_array(cu, array[1], found, W * 4, H));
    answer_wrong("bytes of an array through pinned memory", bytes_wrong(found, words, BYTES),
                 BYTES);
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventDestroy(copied));
    CU_OK(cu->MemFreeHost(pinned));
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}

/* Contract rows: memory of cuMemAlloc and events in another process (cuIpc...), calls in a child
 * without exec, and what a checkpoint and its restore leave of a process, and of what it shares. */
#undef TEST_GROUP
#define TEST_GROUP "cuda_ipc."

#define BLOCK ((size_t)2 << 20)

typedef struct both { /* what goes to the other process */
    CUipcMemHandle memory;
    CUipcEventHandle event;
} both;

TEST(other_process_child)
{
    const char *text = getenv("CONTRACT_IPC");
    if (text == NULL) SKIP("only as a child");
    pair opened, *p = &opened;
    both got;
    CUdeviceptr memory = 0, again = 0;
    CUevent event = NULL;
    pair_open(p);
    REQUIRE(read(atoi(text), &got, sizeof got) == (ssize_t)sizeof got);
    CUresult result = p->cu->IpcOpenMemHandle(&memory, got.memory, 0);
    answer_call("cuIpcOpenMemHandle with flags 0", result);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->IpcCloseMemHandle(memory));
    CU_OK(p->cu->IpcOpenMemHandle(&memory, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    result = p->cu->IpcOpenMemHandle(&again, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    answer_with("cuIpcOpenMemHandle once more", result, "%s",
                again == memory ? "the same address" : "another address");
    if (result == CUDA_SUCCESS) CU_OK(p->cu->IpcCloseMemHandle(again));
    answer_word("the exporter's last word", cuda_word(p, memory + 2 * BLOCK - 4), 0x27182818u);
    answer_refused("cuMemFree of opened memory", p->cu->MemFree(memory));
    CU_OK(p->cu->IpcOpenEventHandle(&event, got.event));
    CU_OK(p->cu->StreamWaitEvent(p->stream, event, 0));
    CU_OK(p->cu->MemsetD32Async(memory, 0x28182845u, BLOCK / 2, p->stream));
    CU_OK(p->cu->EventRecord(event, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_call("cuEventQuery of an opened event", p->cu->EventQuery(event));
    CU_OK(p->cu->EventDestroy(event));
    answer_refused("cuIpcCloseMemHandle in the middle", p->cu->IpcCloseMemHandle(memory + 4096));
    CU_OK(p->cu->IpcCloseMemHandle(memory));
    pair_close(p);
}

/* Programs print the words of handles. */
static unsigned words_of(const void *handle)
{
    uint32_t words[16];
    unsigned count = 0;
    memcpy(words, handle, sizeof words);
    for (int i = 0; i < 16; i++)
        count += words[i] != 0;
    return count;
}

PAIR_CASE(other_process, .mark = TEST_BOTH, .own = true)
{
    both give;
    CUipcMemHandle small_handle;
    CUdeviceptr memory = 0, small = 0, own = 0;
    CUevent event = NULL, plain = NULL;
    char text[16];
    int ends[2];
    CU_OK(p->cu->MemAlloc(&small, 4096));
    CU_OK(p->cu->MemAlloc(&memory, 2 * BLOCK));
    ANSWER("cuMemAlloc of 4 MiB", "at %s of 2 MiB",
           memory % BLOCK == 0 ? "a multiple" : "no multiple");
    answer_call("cuIpcGetMemHandle of 4096 bytes", p->cu->IpcGetMemHandle(&small_handle, small));
    answer_call("cuIpcGetMemHandle in the middle",
                p->cu->IpcGetMemHandle(&give.memory, memory + BLOCK));
    CU_OK(p->cu->IpcGetMemHandle(&give.memory, memory));
    answer_refused("cuIpcOpenMemHandle in the exporting process",
                   p->cu->IpcOpenMemHandle(&own, give.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CU_OK(p->cu->EventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    answer_refused("cuIpcGetEventHandle of an event for one process",
                   p->cu->IpcGetEventHandle(&give.event, plain));
    CU_OK(p->cu->IpcGetEventHandle(&give.event, event));
    ANSWER("words that are not zero", "%u of a memory handle's 16, %u of an event handle's",
           words_of(&small_handle), words_of(&give.event));
    CU_OK(p->cu->MemsetD32Async(memory, 0x27182818u, BLOCK / 2, p->stream));
    CU_OK(p->cu->EventRecord(event, p->stream));
    REQUIRE(pipe(ends) == 0 && write(ends[1], &give, sizeof give) == (ssize_t)sizeof give);
    snprintf(text, sizeof text, "%d", ends[0]);
    REQUIRE(setenv("CONTRACT_IPC", text, 1) == 0);
    REQUIRE_EQ(test_run_child("cuda_ipc.other_process_child"), 0);
    CU_OK(p->cu->StreamWaitEvent(p->stream, event, 0));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_word("the importer's first word", cuda_word(p, memory), 0x28182845u);
    close(ends[0]);
    close(ends[1]);
    CU_OK(p->cu->EventDestroy(event));
    CU_OK(p->cu->EventDestroy(plain));
    CU_OK(p->cu->MemFree(memory));
    CU_OK(p->cu->MemFree(small));
}

/* What calls answer in a child process that called no exec. Each is asked by a child of its own,
 * since some of them crash there. */
#define ASKED(X)                                                                                   \
    X(Init, (0))                                                                                   \
    X(DriverGetVersion, (&number))                                                                 \
    X(DeviceGetCount, (&number))                                                                   \
    X(DeviceGet, (&device, 0))                                                                     \
    X(DeviceGetAttribute, (&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, p->device))                     \
    X(DevicePrimaryCtxRetain, (&context, p->device))                                               \
    X(CtxGetCurrent, (&context))                                                                   \
    X(CtxSetCurrent, (p->context))                                                                 \
    X(CtxPushCurrent, (p->context))                                                                \
    X(CtxPopCurrent, (&context))                                                                   \
    X(CtxSynchronize, ())                                                                          \
    X(StreamCreate, (&stream, CU_STREAM_NON_BLOCKING))                                             \
    X(StreamQuery, (p->stream))                                                                    \
    X(StreamSynchronize, (p->stream))                                                              \
    X(EventQuery, (event))                                                                         \
    X(MemAlloc, (&more, 4096))                                                                     \
    X(MemcpyDtoH, (&word, memory, sizeof word))                                                    \
    X(MemsetD32Async, (memory, 0, 1, p->stream))                                                   \
    X(MemFree, (memory))                                                                           \
    X(EventDestroy, (event))

static CUresult ask(const pair *p, CUdeviceptr memory, CUevent event, const char *call)
{
    const raw_cuda *cu = p->cu;
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUdeviceptr more = 0;
    CUdevice device = 0;
    uint32_t word = 0;
    int number = 0;
#define ASK(name, args)                                                                            \
    if (strcmp(call, "cu" #name) == 0) return cu->name args;
    ASKED(ASK)
#undef ASK
    return CUDA_ERROR_NOT_FOUND;
}

static void answer_of_child(const pair *p, CUdeviceptr memory, CUevent event, const char *call)
{
    CUresult got = CUDA_SUCCESS;
    int ends[2], status = 0;
    REQUIRE(pipe(ends) == 0);
    fflush(NULL);
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        alarm(5); /* a call that does not return by then never does */
        for (int number = SIGILL; number <= SIGSEGV; number++)
            signal(number, SIG_DFL);
        got = ask(p, memory, event, call);
        _exit(write(ends[1], &got, sizeof got) == (ssize_t)sizeof got ? 0 : 1);
    }
    REQUIRE_EQ(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        ANSWER(call, "%s", WTERMSIG(status) == SIGALRM ? "never returns" : "crashes");
    } else {
        REQUIRE(WEXITSTATUS(status) == 0 && read(ends[0], &got, sizeof got) == sizeof got);
        answer_call(call, got);
    }
    close(ends[0]);
    close(ends[1]);
}

PAIR_CASE(forked_child, .mark = TEST_BOTH, .own = true)
{
    CUdeviceptr memory = raw_cuda_memory(p->cu, BLOCK);
    CU_OK(p->cu->MemsetD32Async(memory, 0x27182818u, BLOCK / 4, p->stream));
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(p->cu->EventRecord(event, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
#define ANSWER_OF_CHILD(name, args) answer_of_child(p, memory, event, "cu" #name);
    ASKED(ANSWER_OF_CHILD)
#undef ANSWER_OF_CHILD
    /* Nobody else notices. */
    answer_word("a word of the parent's afterwards", cuda_word(p, memory + BLOCK - 4), 0x27182818u);
}

#undef TEST_GROUP
#define TEST_GROUP "checkpoints."
#define AGENT      "checkpoints.alone_child"

TEST(alone_child)
{
    raw_checkpoint_agent();
}

static const char *state_name(CUprocessState state)
{
    static const char *const names[] = {"RUNNING", "LOCKED", "CHECKPOINTED", "FAILED"};
    return (unsigned)state < 4 ? names[state] : "?";
}

static raw_checkpoint answer_checkpoint(const pair *p)
{
    const raw_checkpoint c = raw_checkpoint_run(p->cu, AGENT);
    answer_with("lock", c.lock, "then %s", state_name(c.locked));
    answer_with("checkpoint", c.checkpoint, "then %s", state_name(c.checkpointed));
    answer_call("restore", c.restore);
    answer_with("unlock", c.unlock, "then %s", state_name(c.last));
    CU_OK(c.checkpoint);
    return c;
}

PAIR_CASE(alone, .mark = TEST_BOTH, .own = true)
{
    CUdeviceptr memory = raw_cuda_memory(p->cu, VMM_SIZE);
    CU_OK(p->cu->MemsetD32Async(memory, 0x27182818u, VMM_SIZE / 4, NULL));
    answer_checkpoint(p);
    answer_word("its last word afterwards", cuda_word(p, memory + VMM_SIZE - 4), 0x27182818u);
}

/* The process is lost, and nothing of CUDA's can be closed. */
PAIR_CASE(imports, .mark = TEST_BOTH, .own = true)
{
    shared_buffer buffer;
    CUdeviceptr more = 0;
    shared_buffer_open(p, VMM_SIZE, 0, false, &buffer);
    CU_IS(answer_checkpoint(p).restore, CUDA_ERROR_NOT_SUPPORTED);
    if (p->cu->software) CU_IS(p->cu->MemAlloc(&more, 1), CUDA_ERROR_ILLEGAL_STATE);
    test_pass();
}

/* No call fails, and CUDA and Vulkan have two memories afterwards. */
PAIR_CASE(vmm_exported, .mark = TEST_BOTH, .own = true)
{
    raw_vk_buffer vk, anew;
    uint32_t word = 0;
    raw_vk_buffer usual = pair_vk_buffer(p, VMM_SIZE, RAW_VK_EXPORT);
    usual.allocation_size = VMM_SIZE;
    vmm_block b = pair_vmm(p, VMM_SIZE, POSIX_FD);
    raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &vk);
    set_words(p, b.pointer, 1, VMM_SIZE / 4);
    CU_OK(answer_checkpoint(p).unlock);
    ANSWER("CUDA's last word afterwards", "%u", cuda_word(p, b.pointer + VMM_SIZE - 4));
    set_words(p, b.pointer, 2, VMM_SIZE / 4);
    raw_vk_read(&p->vk, &vk, VMM_SIZE - 4, &word, 4);
    ANSWER("Vulkan's, after CUDA wrote 2", "%u", word);
    raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &anew);
    raw_vk_read(&p->vk, &anew, VMM_SIZE - 4, &word, 4);
    answer_number("Vulkan's, of a new export", word, 2);
    raw_vk_buffer_destroy(&p->vk, &anew);
    raw_vk_buffer_destroy(&p->vk, &vk);
}
