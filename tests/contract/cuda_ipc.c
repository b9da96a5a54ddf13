/* SPDX-License-Identifier: MIT */
/* Contract rows: memory of cuMemAlloc and events in another process (cuIpc...). */
#define TEST_GROUP "cuda_ipc."
#include "images.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((size_t)2 << 20)

typedef struct ipc_procs {
    PFN_cuIpcGetMemHandle_v4010 get_memory;
    PFN_cuIpcOpenMemHandle_v11000 open_memory;
    PFN_cuIpcCloseMemHandle_v4010 close_memory;
    PFN_cuIpcGetEventHandle_v4010 get_event;
    PFN_cuIpcOpenEventHandle_v4010 open_event;
} ipc_procs;

typedef struct both { /* what goes to the other process */
    CUipcMemHandle memory;
    CUipcEventHandle event;
} both;

static ipc_procs open_pair(pair *p)
{
    ipc_procs f;
    pair_open(p);
    raw_cuda_find(p->cu, "cuIpcGetMemHandle", 4010, &f.get_memory);
    raw_cuda_find(p->cu, "cuIpcOpenMemHandle", 11000, &f.open_memory);
    raw_cuda_find(p->cu, "cuIpcCloseMemHandle", 4010, &f.close_memory);
    raw_cuda_find(p->cu, "cuIpcGetEventHandle", 4010, &f.get_event);
    raw_cuda_find(p->cu, "cuIpcOpenEventHandle", 4010, &f.open_event);
    return f;
}

TEST(child, .title = "cuda_ipc.other_process_child")
{
    const char *text = getenv("CONTRACT_IPC");
    if (text == NULL) SKIP("only as a child");
    pair p;
    const ipc_procs f = open_pair(&p);
    both got;
    CUdeviceptr memory = 0, again = 0;
    CUevent event = NULL;
    uint32_t word = 0;
    REQUIRE(read(atoi(text), &got, sizeof got) == (ssize_t)sizeof got);
    CUresult result = f.open_memory(&memory, got.memory, 0);
    answer_call("cuIpcOpenMemHandle with flags 0", result);
    if (result == CUDA_SUCCESS) CU_OK(f.close_memory(memory));
    CU_OK(f.open_memory(&memory, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    result = f.open_memory(&again, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    ANSWER("cuIpcOpenMemHandle once more", "%s, %s", raw_cuda_result_name(result),
           again == memory ? "the same address" : "another address");
    if (result == CUDA_SUCCESS) CU_OK(f.close_memory(again));
    CU_OK(p.cu->MemcpyDtoH(&word, memory + 2 * BLOCK - 4, 4));
    answer_word("the exporter's last word", word, 0x27182818u);
    result = p.cu->MemFree(memory);
    answer_call("cuMemFree of opened memory", result);
    REQUIRE(result != CUDA_SUCCESS);
    CU_OK(f.open_event(&event, got.event));
    CU_OK(p.cu->StreamWaitEvent(p.stream, event, 0));
    CU_OK(p.cu->MemsetD32Async(memory, 0x28182845u, BLOCK / 2, p.stream));
    CU_OK(p.cu->EventRecord(event, p.stream));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    answer_call("cuEventQuery of an opened event", p.cu->EventQuery(event));
    CU_OK(p.cu->EventDestroy(event));
    result = f.close_memory(memory + 4096);
    answer_call("cuIpcCloseMemHandle in the middle", result);
    REQUIRE(result != CUDA_SUCCESS);
    CU_OK(f.close_memory(memory));
    pair_close(&p);
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

TEST(other_process, .mark = TEST_BOTH, .own = true)
{
    pair p;
    const ipc_procs f = open_pair(&p);
    both give;
    CUipcMemHandle small_handle;
    CUdeviceptr memory = 0, small = 0, own = 0;
    CUevent event = NULL, plain = NULL;
    uint32_t word = 0;
    char text[16];
    int ends[2];
    CU_OK(p.cu->MemAlloc(&small, 4096));
    CU_OK(p.cu->MemAlloc(&memory, 2 * BLOCK));
    ANSWER("cuMemAlloc of 4 MiB", "at %s of 2 MiB",
           memory % BLOCK == 0 ? "a multiple" : "no multiple");
    answer_call("cuIpcGetMemHandle of 4096 bytes", f.get_memory(&small_handle, small));
    answer_call("cuIpcGetMemHandle in the middle", f.get_memory(&give.memory, memory + BLOCK));
    CU_OK(f.get_memory(&give.memory, memory));
    CUresult result = f.open_memory(&own, give.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    answer_call("cuIpcOpenMemHandle in the exporting process", result);
    REQUIRE(result != CUDA_SUCCESS);
    CU_OK(p.cu->EventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    CU_OK(p.cu->EventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    result = f.get_event(&give.event, plain);
    answer_call("cuIpcGetEventHandle of an event for one process", result);
    REQUIRE(result != CUDA_SUCCESS);
    CU_OK(f.get_event(&give.event, event));
    ANSWER("words that are not zero", "%u of a memory handle's 16, %u of an event handle's",
           words_of(&small_handle), words_of(&give.event));
    CU_OK(p.cu->MemsetD32Async(memory, 0x27182818u, BLOCK / 2, p.stream));
    CU_OK(p.cu->EventRecord(event, p.stream));
    REQUIRE(pipe(ends) == 0 && write(ends[1], &give, sizeof give) == (ssize_t)sizeof give);
    snprintf(text, sizeof text, "%d", ends[0]);
    REQUIRE(setenv("CONTRACT_IPC", text, 1) == 0);
    REQUIRE_EQ(test_run_child("cuda_ipc.other_process_child"), 0);
    CU_OK(p.cu->StreamWaitEvent(p.stream, event, 0));
    CU_OK(p.cu->StreamSynchronize(p.stream));
    CU_OK(p.cu->MemcpyDtoH(&word, memory, 4));
    answer_word("the importer's first word", word, 0x28182845u);
    close(ends[0]);
    close(ends[1]);
    CU_OK(p.cu->EventDestroy(event));
    CU_OK(p.cu->EventDestroy(plain));
    CU_OK(p.cu->MemFree(memory));
    CU_OK(p.cu->MemFree(small));
    pair_close(&p);
}

/* What calls answer in a child process that called no exec. Each is asked by a child of its own,
 * since some of them crash there. */
enum { ASKED = 20 };

static const char *const asked[ASKED] = {
    "cuInit",          "cuDriverGetVersion",   "cuDeviceGetCount",
    "cuDeviceGet",     "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
    "cuCtxGetCurrent", "cuCtxSetCurrent",      "cuCtxPushCurrent",
    "cuCtxPopCurrent", "cuCtxSynchronize",     "cuStreamCreate",
    "cuStreamQuery",   "cuStreamSynchronize",  "cuEventQuery",
    "cuMemAlloc",      "cuMemcpyDtoH",         "cuMemsetD32Async",
    "cuMemFree",       "cuEventDestroy"};

static CUresult ask(const pair *p, CUdeviceptr memory, CUevent event, unsigned which)
{
    const raw_cuda *cu = p->cu;
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUdeviceptr more = 0;
    CUdevice device = 0;
    uint32_t word = 0;
    int number = 0;
    switch (which) {
    case 0: return cu->Init(0);
    case 1: return cu->DriverGetVersion(&number);
    case 2: return cu->DeviceGetCount(&number);
    case 3: return cu->DeviceGet(&device, 0);
    case 4: return cu->DeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, p->device);
    case 5: return cu->DevicePrimaryCtxRetain(&context, p->device);
    case 6: return cu->CtxGetCurrent(&context);
    case 7: return cu->CtxSetCurrent(p->context);
    case 8: return cu->CtxPushCurrent(p->context);
    case 9: return cu->CtxPopCurrent(&context);
    case 10: return cu->CtxSynchronize();
    case 11: return cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    case 12: return cu->StreamQuery(p->stream);
    case 13: return cu->StreamSynchronize(p->stream);
    case 14: return cu->EventQuery(event);
    case 15: return cu->MemAlloc(&more, 4096);
    case 16: return cu->MemcpyDtoH(&word, memory, sizeof word);
    case 17: return cu->MemsetD32Async(memory, 0, 1, p->stream);
    case 18: return cu->MemFree(memory);
    default: return cu->EventDestroy(event);
    }
}

static void answer_of_child(const pair *p, CUdeviceptr memory, CUevent event, unsigned which)
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
        got = ask(p, memory, event, which);
        _exit(write(ends[1], &got, sizeof got) == (ssize_t)sizeof got ? 0 : 1);
    }
    REQUIRE_EQ(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        ANSWER(asked[which], "%s", WTERMSIG(status) == SIGALRM ? "never returns" : "crashes");
    } else {
        REQUIRE(WEXITSTATUS(status) == 0 && read(ends[0], &got, sizeof got) == sizeof got);
        answer_call(asked[which], got);
    }
    close(ends[0]);
    close(ends[1]);
}

PAIR_CASE(forked_child, .mark = TEST_BOTH, .own = true)
{
    uint32_t word = 0;
    CUdeviceptr memory = raw_cuda_memory(p->cu, BLOCK);
    CU_OK(p->cu->MemsetD32Async(memory, 0x27182818u, BLOCK / 4, p->stream));
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(p->cu->EventRecord(event, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    for (unsigned i = 0; i < ASKED; i++)
        answer_of_child(p, memory, event, i);
    /* Nobody else notices. */
    CU_OK(p->cu->MemcpyDtoH(&word, memory + BLOCK - 4, 4));
    ANSWER("a word of the parent's afterwards", "0x%x", word);
}
