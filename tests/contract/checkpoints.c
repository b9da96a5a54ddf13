/* SPDX-License-Identifier: MIT */
/* Contract rows: what a checkpoint and its restore leave of a process, and of what it shares. */
#define TEST_GROUP "checkpoints."
#include "raw_checkpoint.h"
#include "vmm.h"

#include <unistd.h>

#define AGENT "checkpoints.alone_child"

TEST(child, .title = "checkpoints.alone_child")
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
    ANSWER("lock", "%s, then %s", raw_cuda_result_name(c.lock), state_name(c.locked));
    ANSWER("checkpoint", "%s, then %s", raw_cuda_result_name(c.checkpoint),
           state_name(c.checkpointed));
    answer_call("restore", c.restore);
    ANSWER("unlock", "%s, then %s", raw_cuda_result_name(c.unlock), state_name(c.last));
    CU_OK(c.checkpoint);
    return c;
}

PAIR_CASE(alone, .mark = TEST_BOTH, .own = true)
{
    uint32_t word = 0;
    CUdeviceptr memory = raw_cuda_memory(p->cu, VMM_SIZE);
    CU_OK(p->cu->MemsetD32Async(memory, 0x27182818u, VMM_SIZE / 4, NULL));
    answer_checkpoint(p);
    CU_OK(p->cu->MemcpyDtoH(&word, memory + VMM_SIZE - 4, 4));
    answer_word("its last word afterwards", word, 0x27182818u);
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
VMM_PAIR_CASE(vmm_exported, .mark = TEST_BOTH, .own = true)
{
    raw_vk_buffer vk, anew;
    uint32_t word = 0;
    raw_vk_buffer usual = pair_vk_buffer(p, VMM_SIZE, RAW_VK_EXPORT);
    usual.allocation_size = VMM_SIZE;
    vmm_block b = pair_vmm(p, VMM_SIZE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &vk);
    CU_OK(p->cu->MemsetD32Async(b.pointer, 1, VMM_SIZE / 4, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    CU_OK(answer_checkpoint(p).unlock);
    CU_OK(p->cu->MemcpyDtoH(&word, b.pointer + VMM_SIZE - 4, 4));
    ANSWER("CUDA's last word afterwards", "%u", word);
    CU_OK(p->cu->MemsetD32Async(b.pointer, 2, VMM_SIZE / 4, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    raw_vk_read(&p->vk, &vk, VMM_SIZE - 4, &word, 4);
    ANSWER("Vulkan's, after CUDA wrote 2", "%u", word);
    raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &anew);
    raw_vk_read(&p->vk, &anew, VMM_SIZE - 4, &word, 4);
    answer_number("Vulkan's, of a new export", word, 2);
    raw_vk_buffer_destroy(&p->vk, &anew);
    raw_vk_buffer_destroy(&p->vk, &vk);
}
