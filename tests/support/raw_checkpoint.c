/* SPDX-License-Identifier: MIT */
/* Checkpoints of the process under test. See raw_cuda.h. */
#include "raw_cuda.h"

#include <unistd.h>

#define AGENT "TEST_CHECKPOINT_OF" /* a process, and where the results go */
#define CALL(name)                                                                                 \
    PFN_cuCheckpointProcess##name##_v12080 name;                                                   \
    find(cu, "cuCheckpointProcess" #name, &name)

static void find(const raw_cuda *cu, const char *name, void *function)
{
    void *address = NULL;
    if (cu->driver_version >= 12080) CU_OK(cu->GetProcAddress(name, &address, 12080, 0, NULL));
    if (address == NULL) SKIP("no %s", name);
    memcpy(function, &address, sizeof address);
}

static raw_checkpoint run(const raw_cuda *cu, int pid)
{
    raw_checkpoint c;
    CUcheckpointLockArgs args = {.timeoutMs = 10000};
    CALL(Lock);
    CALL(Checkpoint);
    CALL(Restore);
    CALL(Unlock);
    CALL(GetState);
    c.lock = Lock(pid, &args);
    CU_OK(GetState(pid, &c.locked));
    c.checkpoint = Checkpoint(pid, NULL);
    CU_OK(GetState(pid, &c.checkpointed));
    c.restore = Restore(pid, NULL);
    c.unlock = Unlock(pid, NULL);
    CU_OK(GetState(pid, &c.last));
    return c;
}

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
    CALL(Lock); /* or it is skipped */
    if (Lock != NULL && cu->software) return run(cu, (int)getpid());
    REQUIRE(pipe(ends) == 0);
    snprintf(text, sizeof text, "%d %d", (int)getpid(), ends[1]);
    REQUIRE(setenv(AGENT, text, 1) == 0);
    REQUIRE_EQ(test_run_child(agent), 0);
    REQUIRE(read(ends[0], &c, sizeof c) == (ssize_t)sizeof c);
    close(ends[0]);
    close(ends[1]);
    return c;
}
