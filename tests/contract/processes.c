/* SPDX-License-Identifier: MIT */
/* Contract rows: memory of cuMemAlloc and events in another process (cuIpc...), calls in a child
 * without exec, and what a checkpoint and its restore leave of a process, and of what it shares. */
#define TEST_GROUP "cuda_ipc."
#include "contract.h"
#include "raw_checkpoint.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((size_t)2 << 20)

typedef struct ipc_pair {
    pair p;
    PFN_cuIpcGetMemHandle_v4010 get_memory;
    PFN_cuIpcOpenMemHandle_v11000 open_memory;
    PFN_cuIpcCloseMemHandle_v4010 close_memory;
    PFN_cuIpcGetEventHandle_v4010 get_event;
    PFN_cuIpcOpenEventHandle_v4010 open_event;
} ipc_pair;

typedef struct both { /* what goes to the other process */
    CUipcMemHandle memory;
    CUipcEventHandle event;
} both;

static void ipc_open(ipc_pair *f)
{
    pair_open(&f->p);
    raw_cuda_find(f->p.cu, "cuIpcGetMemHandle", 4010, &f->get_memory);
    raw_cuda_find(f->p.cu, "cuIpcOpenMemHandle", 11000, &f->open_memory);
    raw_cuda_find(f->p.cu, "cuIpcCloseMemHandle", 4010, &f->close_memory);
    raw_cuda_find(f->p.cu, "cuIpcGetEventHandle", 4010, &f->get_event);
    raw_cuda_find(f->p.cu, "cuIpcOpenEventHandle", 4010, &f->open_event);
}

TEST(other_process_child)
{
    const char *text = getenv("CONTRACT_IPC");
    if (text == NULL) SKIP("only as a child");
    ipc_pair f;
    pair *p = &f.p;
    both got;
    CUdeviceptr memory = 0, again = 0;
    CUevent event = NULL;
    ipc_open(&f);
    REQUIRE(read(atoi(text), &got, sizeof got) == (ssize_t)sizeof got);
    CUresult result = f.open_memory(&memory, got.memory, 0);
    answer_call("cuIpcOpenMemHandle with flags 0", result);
    if (result == CUDA_SUCCESS) CU_OK(f.close_memory(memory));
    CU_OK(f.open_memory(&memory, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    result = f.open_memory(&again, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    answer_with("cuIpcOpenMemHandle once more", result, "%s",
                again == memory ? "the same address" : "another address");
    if (result == CUDA_SUCCESS) CU_OK(f.close_memory(again));
    answer_word("the exporter's last word", cuda_word(p, memory + 2 * BLOCK - 4), 0x27182818u);
    answer_refused("cuMemFree of opened memory", p->cu->MemFree(memory));
    CU_OK(f.open_event(&event, got.event));
    CU_OK(p->cu->StreamWaitEvent(p->stream, event, 0));
    CU_OK(p->cu->MemsetD32Async(memory, 0x28182845u, BLOCK / 2, p->stream));
    CU_OK(p->cu->EventRecord(event, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_call("cuEventQuery of an opened event", p->cu->EventQuery(event));
    CU_OK(p->cu->EventDestroy(event));
    answer_refused("cuIpcCloseMemHandle in the middle", f.close_memory(memory + 4096));
    CU_OK(f.close_memory(memory));
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

TEST_ON(ipc_pair, f, ipc_open(f), pair_close(&f->p), other_process, .mark = TEST_BOTH, .own = true)
{
    pair *p = &f->p;
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
    answer_call("cuIpcGetMemHandle of 4096 bytes", f->get_memory(&small_handle, small));
    answer_call("cuIpcGetMemHandle in the middle", f->get_memory(&give.memory, memory + BLOCK));
    CU_OK(f->get_memory(&give.memory, memory));
    answer_refused("cuIpcOpenMemHandle in the exporting process",
                   f->open_memory(&own, give.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CU_OK(p->cu->EventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    answer_refused("cuIpcGetEventHandle of an event for one process",
                   f->get_event(&give.event, plain));
    CU_OK(f->get_event(&give.event, event));
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
