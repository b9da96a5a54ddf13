/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: checkpoints of its own process, and what they cost it, as measured on an
 * H200 (580.159.04). The memory stays where it is, since it is the process's.
 *
 * A checkpoint succeeds with imports, the restore after it does not, and the process's CUDA is
 * lost. NVIDIA's driver was not seen to answer after that. The twin's calls answer
 * ILLEGAL_STATE, so that a test fails and does not hang. */
#include "vmm.h"

#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#    include <unistd.h>
#endif

static CUprocessState state = CU_PROCESS_STATE_RUNNING;
static bool lost; /* a restore has failed; the state stays CHECKPOINTED, as measured */

CUresult soft_checkpoint_pass(const char *call)
{
    if (strncmp(call, "cuCheckpoint", 12) == 0) return CUDA_SUCCESS;
    while (state != CU_PROCESS_STATE_RUNNING && !lost)
        pthread_cond_wait(&soft.progress, &soft.lock);
    return lost ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

#ifndef _WIN32
static bool zeros(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)bytes)[i] != 0) return false;
    return true;
}

/* Locked on success. The twin does this for the calling process alone. */
static CUresult begin(const char *call, int pid, bool valid, CUprocessState wanted)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (pid <= 0 || !valid) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (pid != (int)getpid()) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    return state == wanted ? CUDA_SUCCESS : soft_end(CUDA_ERROR_ILLEGAL_STATE);
}

static CUresult pass_to(CUprocessState next)
{
    state = next;
    pthread_cond_broadcast(&soft.progress);
    return soft_end(CUDA_SUCCESS);
}

struct contexts {
    struct soft_context **list;
    size_t count;
};

static void gather(void *object, void *arg)
{
    struct contexts *all = arg;
    all->list[all->count++] = object;
}

/* Nobody makes or ends a context meanwhile: the process is locked. */
static CUresult wait_for_work(void)
{
    struct contexts all = {
        .list = calloc((size_t)soft_object_count(SOFT_CONTEXT) + 1, sizeof(struct soft_context *))};
    if (all.list == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    soft_objects_each(SOFT_CONTEXT, gather, &all);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i]->active) (void)soft_context_wait(all.list[i]);
    free(all.list);
    return CUDA_SUCCESS;
}

/* Registered objects and memory of another process's cuMemAlloc were not measured. */
static bool has_imports(void)
{
    return soft_object_count(SOFT_EXTERNAL_MEMORY) + soft_object_count(SOFT_EXTERNAL_SEMAPHORE) +
               soft_range_count(SOFT_RANGE_MAPPED) + soft_mipmaps_mapped() +
               soft_object_count(SOFT_GRAPHICS) + soft_range_count(SOFT_RANGE_OPENED) +
               soft_physical_imports() >
           0;
}

CUresult CUDAAPI cuCheckpointProcessGetState(int pid, CUprocessState *out)
{
    CUresult result = begin(__func__, pid, out != NULL, state);
    if (result != CUDA_SUCCESS) return result;
    *out = state;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
    CUresult result = begin(
        __func__, pid,
        args == NULL || (args->reserved0 == 0 && zeros(args->reserved1, sizeof(args->reserved1))),
        CU_PROCESS_STATE_RUNNING);
    return result == CUDA_SUCCESS ? pass_to(CU_PROCESS_STATE_LOCKED) : result;
}

CUresult CUDAAPI cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
    CUresult result =
        begin(__func__, pid, args == NULL || zeros(args->reserved, sizeof(args->reserved)),
              CU_PROCESS_STATE_LOCKED);
    if (result != CUDA_SUCCESS) return result;
    result = wait_for_work();
    if (result == CUDA_SUCCESS) result = soft_physicals_part();
    return result == CUDA_SUCCESS ? pass_to(CU_PROCESS_STATE_CHECKPOINTED) : soft_end(result);
}

CUresult CUDAAPI cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
    CUresult result = begin(
        __func__, pid,
        args == NULL || (zeros(args->reserved, sizeof(args->reserved)) && args->reserved1 == 0),
        CU_PROCESS_STATE_CHECKPOINTED);
    if (result != CUDA_SUCCESS) return result;
    /* Onto other GPUs: there is nothing to move. */
    if (args != NULL && args->gpuPairsCount != 0) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (!has_imports()) return pass_to(CU_PROCESS_STATE_LOCKED);
    lost = true;
    pthread_cond_broadcast(&soft.progress);
    return soft_end(CUDA_ERROR_NOT_SUPPORTED);
}

CUresult CUDAAPI cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
    CUresult result =
        begin(__func__, pid, args == NULL || zeros(args->reserved, sizeof(args->reserved)),
              CU_PROCESS_STATE_LOCKED);
    return result == CUDA_SUCCESS ? pass_to(CU_PROCESS_STATE_RUNNING) : result;
}
#endif
