/* SPDX-License-Identifier: MIT */
/* What the library rests on and the texts leave open: answers; asserted only what is needed. */
#define TEST_GROUP "measured."
#include "contract.h"

#include <fcntl.h>
#include <unistd.h>

static const char *present(PFN_vkVoidFunction function)
{
    return function != NULL ? "not NULL" : "NULL";
}

/* A driver may answer with a function that must not be called: so an attachment cannot find out by
 * asking. */
TEST(procs_of_extensions_not_enabled)
{
    static const char *const names[] = {"vkGetMemoryFdKHR", "vkGetMemoryFdPropertiesKHR",
                                        "vkGetSemaphoreFdKHR", "vkImportSemaphoreFdKHR"};
    const raw_cuda *cu = raw_cuda_open();
    raw_vk vk;
    CUuuid uuid;
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    for (int enabled = 0; enabled < 2; enabled++) {
        raw_vk_open(&vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                           .software = cu->software,
                                           .without_memory_fd = !enabled,
                                           .without_semaphore_fd = !enabled});
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            PFN_vkVoidFunction function = vkGetDeviceProcAddr(vk.device, names[i]);
            ANSWER(answer_key("vkGetDeviceProcAddr: %s, extension %s", names[i],
                              enabled ? "enabled" : "not enabled"),
                   "%s", present(function));
            if (enabled) REQUIRE(function != NULL);
        }
        ANSWER(answer_key("vkGetInstanceProcAddr: vkGetMemoryFdKHR, extension %s",
                          enabled ? "enabled" : "not enabled"),
               "%s", present(vkGetInstanceProcAddr(vk.instance, "vkGetMemoryFdKHR")));
        raw_vk_close(&vk);
    }
}

/* `current` is NULL where it depends on the machine whether there is such a context. */
static void answer_calls(const pair *p, const shared_timeline *t, CUevent event, uint64_t value,
                         const char *current)
{
    static const char *const calls[] = {"signal", "wait", "cuEventRecord", "cuStreamSynchronize",
                                        "cuEventQuery"};
    CUresult signal = raw_cuda_signal(p->cu, t->cu, value, p->stream);
    /* A value that nobody signals would be waited for without end; 0 was there from the start. */
    CUresult wait = raw_cuda_wait(p->cu, t->cu, signal == CUDA_SUCCESS ? value : 0, p->stream);
    CUresult record = p->cu->EventRecord(event, p->stream);
    CUresult synchronize = p->cu->StreamSynchronize(p->stream);
    const CUresult results[] = {signal, wait, record, synchronize, p->cu->EventQuery(event)};
    for (size_t i = 0; i < 5; i++) {
        if (current != NULL)
            answer_call(answer_key("%s current: %s", current, calls[i]), results[i]);
        else
            MEASURED("calls_by_context", "another device's context current: %s %s", calls[i],
                     raw_cuda_result_name(results[i]));
        /* The library makes no context current for a stream that it knows. */
        CU_IS(results[i], CUDA_SUCCESS);
    }
    MEASURED("calls_by_context", "%s current: cuStreamQuery %s, cuStreamWaitEvent %s",
             current != NULL ? current : "another device's context",
             raw_cuda_result_name(p->cu->StreamQuery(p->stream)),
             raw_cuda_result_name(p->cu->StreamWaitEvent(p->stream, event, 0)));
}

/* With an explicit stream: does signaling need that stream's context current, or any? */
PAIR_CASE(signal_without_the_context, .own = true)
{
    shared_timeline t;
    CUevent event = NULL;
    uint64_t value = 0;
    shared_timeline_open(p, 0, &t);
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    answer_calls(p, &t, event, ++value, "its context");

    CU_OK(p->cu->CtxSetCurrent(NULL));
    answer_calls(p, &t, event, ++value, "no context");

    if (p->cu->device_count > 1) {
        CUcontext other = raw_cuda_context(p->cu, 1);
        REQUIRE(other != NULL);
        answer_calls(p, &t, event, ++value, NULL);
        CU_OK(p->cu->CtxSetCurrent(NULL));
        CU_OK(p->cu->DevicePrimaryCtxRelease(1));
    }
    CUcontext created = NULL;
    if (p->cu->CtxCreate != NULL && p->cu->CtxCreate(&created, 0, p->device) == CUDA_SUCCESS) {
        answer_calls(p, &t, event, ++value, "another context of the device");
        CU_OK(p->cu->CtxDestroy(created));
    }
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(p->cu->EventDestroy(event));
    shared_timeline_close(p, &t);
}

static char logged[512];

static void CUDA_CB on_log(void *data, int level, char *message, size_t length)
{
    (void)data;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "[level %d] %.*s ", level, (int)length, message);
}

/* What the driver logged since the last time. */
static void answer_log(const char *step)
{
    for (char *c = logged; *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    for (size_t length = strlen(logged); length > 0 && logged[length - 1] == ' ';)
        logged[--length] = '\0';
    ANSWER(step, "%s", logged[0] != '\0' ? logged : "no text came");
    logged[0] = '\0';
}

PAIR_CASE(driver_logs, .own = true)
{
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer = 0;
    void *callback = NULL;
    if (p->cu->LogsRegisterCallback == NULL || p->cu->LogsUnregisterCallback == NULL)
        SKIP("this driver has no cuLogsRegisterCallback");
    CUresult result = p->cu->LogsRegisterCallback(on_log, NULL, &callback);
    answer_call("cuLogsRegisterCallback", result);
    raw_vk_buffer vk = pair_vk_buffer(p, 1u << 20, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk), null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)raw_cuda_import_memory(p->cu, fd, 0, false, &memory);
    answer_log("import, size 0");
    (void)raw_cuda_import_memory(p->cu, null_fd, 1u << 20, false, &memory);
    answer_log("import, /dev/null");
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = null_fd;
    desc.size = 4096;
    desc.flags = 0x80000000u;
    (void)p->cu->ImportExternalMemory(&memory, &desc);
    answer_log("import, bad flags");
    REQUIRE(memory == NULL);
    memory = raw_cuda_imported(p->cu, fd, vk.allocation_size, false);
    (void)raw_cuda_map_buffer(p->cu, memory, 65536, vk.allocation_size, &pointer);
    answer_log("map past the end");
    (void)raw_cuda_map_buffer(p->cu, memory, 0, 0, &pointer);
    answer_log("map size 0");
    if (result == CUDA_SUCCESS) CU_OK(p->cu->LogsUnregisterCallback(callback));
    close(null_fd);
}

/* Do the CUDA objects live on when Vulkan's are gone first? */
PAIR_CASE(cuda_outlives_vulkan, .own = true)
{
    shared_buffer b;
    shared_timeline t;
    uint32_t word = 0;
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_timeline_open(p, 0, &t);
    raw_vk_fill(&p->vk, &b.vk, 0, 1u << 20, 0x77777777u, NULL);
    raw_vk_buffer_destroy(&p->vk, &b.vk);
    raw_vk_timeline_destroy(&p->vk, t.vk);
    CUresult result = p->cu->MemcpyDtoH(&word, b.pointer, sizeof word);
    ANSWER("a copy from the memory", "%s, data %s", raw_cuda_result_name(result),
           word == 0x77777777u ? "right" : "wrong");
    result = raw_cuda_signal(p->cu, t.cu, 4, p->stream);
    CUresult wait = raw_cuda_wait(p->cu, t.cu, result == CUDA_SUCCESS ? 4 : 0, p->stream);
    CUresult synchronize = stream_result(p, patience(p, 3000));
    answer_call("a signal of the timeline", result);
    answer_call("a wait for the timeline", wait);
    answer_call("the stream then", synchronize);
    if (synchronize != CUDA_SUCCESS) test_pass(); /* nothing more can be done with it */
    CU_OK(p->cu->DestroyExternalSemaphore(t.cu));
    CU_OK(p->cu->MemFree(b.pointer));
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
}

/* The mapping freed after the memory it was made from, as a careless program would. */
PAIR_CASE(memory_destroyed_before_its_mapping, .own = true)
{
    shared_buffer b;
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    size_t before = test_open_fds();
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
    ANSWER("fds closed by cuDestroyExternalMemory", "%ld", (long)before - (long)test_open_fds());
    answer_call("then a write to the mapping", p->cu->MemsetD32Async(b.pointer, 5, 16, p->stream));
    answer_call("and its end", p->cu->StreamSynchronize(p->stream));
    answer_call("then cuMemFree", p->cu->MemFree(b.pointer));
    test_pass(); /* the context may be broken now */
}
