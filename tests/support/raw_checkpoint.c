/* SPDX-License-Identifier: MIT */
/* Checkpoints of the process under test. See raw_checkpoint.h. */
#include "raw_checkpoint.h"

#include <unistd.h>

static void find(const raw_cuda *cu, const char *name, void *function)
{
    void *address = NULL;
    CUresult result = cu->GetProcAddress(name, &address, 12080, 0, NULL);
    if (result != CUDA_SUCCESS || address == NULL) SKIP("no %s", name);
    memcpy(function, &address, sizeof address);
}

void raw_checkpoint_need(const raw_cuda *cu)
{
    PFN_cuCheckpointProcessLock_v12080 lock;
    if (cu->driver_version < 12080) SKIP("a driver of CUDA %d", cu->driver_version);
    find(cu, "cuCheckpointProcessLock", &lock);
}

static raw_checkpoint run(const raw_cuda *cu, int pid)
{
    PFN_cuCheckpointProcessLock_v12080 lock;
    PFN_cuCheckpointProcessCheckpoint_v12080 checkpoint;
    PFN_cuCheckpointProcessRestore_v12080 restore;
    PFN_cuCheckpointProcessUnlock_v12080 unlock;
    PFN_cuCheckpointProcessGetState_v12080 get;
    raw_checkpoint c = {.lock = CUDA_ERROR_UNKNOWN};
    CUcheckpointLockArgs args = {.timeoutMs = 10000};
    find(cu, "cuCheckpointProcessLock", &lock);
    find(cu, "cuCheckpointProcessCheckpoint", &checkpoint);
    find(cu, "cuCheckpointProcessRestore", &restore);
    find(cu, "cuCheckpointProcessUnlock", &unlock);
    find(cu, "cuCheckpointProcessGetState", &get);
    c.lock = lock(pid, &args);
    CU_OK(get(pid, &c.locked));
    c.checkpoint = checkpoint(pid, NULL);
    CU_OK(get(pid, &c.checkpointed));
    c.restore = restore(pid, NULL);
    c.unlock = unlock(pid, NULL);
    CU_OK(get(pid, &c.last));
    return c;
}

#define AGENT "TEST_CHECKPOINT_OF" /* a process and where the results go */

void raw_checkpoint_agent(void)
{
    int pid = 0, end = -1;
    const char *text = getenv(AGENT);
    if (text == NULL || sscanf(text, "%d %d", &pid, &end) != 2) SKIP("only as a child");
    const raw_checkpoint c = run(raw_cuda_open(), pid);
    REQUIRE(write(end, &c, sizeof c) == (ssize_t)sizeof c);
}

raw_checkpoint raw_checkpoint_run(const raw_cuda *cu, const char *agent)
{
    raw_checkpoint c;
    char text[40];
    int ends[2];
    if (cu->software) return run(cu, (int)getpid());
    REQUIRE(pipe(ends) == 0);
    snprintf(text, sizeof text, "%d %d", (int)getpid(), ends[1]);
    REQUIRE(setenv(AGENT, text, 1) == 0);
    REQUIRE_EQ(test_run_child(agent), 0);
    REQUIRE(read(ends[0], &c, sizeof c) == (ssize_t)sizeof c);
    REQUIRE(unsetenv(AGENT) == 0);
    close(ends[0]);
    close(ends[1]);
    return c;
}
