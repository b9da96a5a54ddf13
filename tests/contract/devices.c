/* SPDX-License-Identifier: MIT */
/* Contract rows: devices and their identity. */
#define TEST_GROUP "devices."
#include "contract.h"
#include "raw_binary.h"

#include <fcntl.h>
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

PAIR_CASE(no_luid_on_linux, .mark = TEST_BOTH)
{
    char luid[8];
    unsigned mask = 0;
    answer_call("cuDeviceGetLuid", p->cu->DeviceGetLuid(luid, &mask, p->device));
    answer_number("deviceLUIDValid of Vulkan", (int)p->vk.id.deviceLUIDValid, VK_FALSE);
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

/* Reported: whether Vulkan on GPU 0 takes it, and how many words it then sees right. It is nothing
 * to rely on. */
PAIR_CROSSED_CASE(vmm_memory_of_another_gpu, .mark = TEST_BOTH, .reason = "silently wrong on both")
{
    const vmm_block b = pair_vmm(p, SIZE, POSIX_FD);
    const int fd = vmm_export(p, b.handle);
    set_words(p, b.pointer, 0x13572468u, SIZE / 4);
    raw_vk_buffer like = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT), vk;
    VkDeviceMemory imported = VK_NULL_HANDLE;
    const VkResult result =
        vk_import(p, fcntl(fd, F_DUPFD_CLOEXEC, 0), SIZE, like.memory_type, NULL, &imported);
    ANSWER("Vulkan's import", "VkResult %d", (int)result);
    if (result == VK_SUCCESS) {
        uint32_t *found = test_memory(SIZE);
        vkFreeMemory(p->vk.device, imported, NULL);
        like.allocation_size = SIZE;
        like.offset = 0;
        raw_vk_buffer_import(&p->vk, fcntl(fd, F_DUPFD_CLOEXEC, 0), &like, &vk);
        raw_vk_read(&p->vk, &vk, 0, found, SIZE);
        answer_so("what Vulkan then sees", words_not(found, 0x13572468u, SIZE / 4) > 0,
                  "the memory");
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
    close(fd);
}

/* A kernel of device 1 reaches memory that Vulkan dedicated to a buffer where its own context has
 * imported it, and not by another context's import: the context is lost. */
PAIR_CROSSED_CASE(kernels_reach_vulkans, .mark = TEST_BOTH, .faults = true)
{
    CUdeviceptr near = 0, far = 0;
    CUexternalMemory memory[2];
    raw_vk_buffer vk;
    int can = 0;
    const raw_cuda *cu = p->cu;
    CU_OK(cu->DeviceCanAccessPeer(&can, p->device, 0));
    if (!can) SKIP("devices 0 and 1 are no peers");
    CUcontext first = raw_cuda_context(cu, 0);
    raw_vk_buffer_create(&p->vk, SIZE, RAW_VK_EXPORT | RAW_VK_DEDICATED, &vk);
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(i == 0 ? first : p->context));
        CU_OK(raw_cuda_import_memory(cu, raw_vk_buffer_fd(&p->vk, &vk), vk.allocation_size, true,
                                     &memory[i]));
        CU_OK(raw_cuda_map_buffer(cu, memory[i], 0, SIZE, i == 0 ? &far : &near));
    }
    CU_OK(cu->CtxEnablePeerAccess(first, 0));
    answer_ok("imported in its own context", words_run(p, "pattern_write", near, 256, 7));
    answer_call("imported in the other, with peer access",
                words_run(p, "pattern_write", far, 256, 7));
    test_pass();
}

/* Contract rows: what a checkpoint and its restore leave of a process, and of what it shares. */
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
