/* SPDX-License-Identifier: MIT */
/* See nccl.h. The few declarations of nccl.h of NCCL 2 that are needed: a result is an int, 0 is
 * success; ncclUint32 is 3. */
#include "nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENDER, RECEIVER, UINT32 = 3 };

static bool load(nccl *n)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"ncclCommInitAll", &n->init},   {"ncclCommDestroy", &n->destroy},
                     {"ncclGroupStart", &n->begin},   {"ncclGroupEnd", &n->end},
                     {"ncclSend", &n->send},          {"ncclRecv", &n->receive},
                     {"ncclGetErrorString", &n->text}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(n->library, functions[i].name);
        if (function == NULL) return false;
        memcpy(functions[i].to, &function, sizeof function);
    }
    return true;
}

bool nccl_open(nccl *n, const raw_cuda *cu, int sender, int receiver, char why[96])
{
    const int devices[] = {[SENDER] = sender, [RECEIVER] = receiver};
    CUcontext current = NULL;
    memset(n, 0, sizeof *n);
    setenv("NCCL_NVLS_ENABLE", "0", 0); /* no multicast: a container may not have it */
    n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL || !load(n)) {
        snprintf(why, 96, "NCCL: libnccl.so.2 was not found (LD_LIBRARY_PATH)");
        nccl_close(n);
        return false;
    }
    exits_watch(300, "ncclCommInitAll");
    RIG_CU(cu->CtxGetCurrent(&current));
    const int result = n->init(n->communicators, 2, devices);
    RIG_CU(cu->CtxSetCurrent(current));
    if (result == 0) return true;
    snprintf(why, 96, "NCCL: ncclCommInitAll: %s", n->text(result));
    memset(n->communicators, 0, sizeof n->communicators);
    nccl_close(n);
    return false;
}

void nccl_close(nccl *n)
{
    for (int i = 0; i < 2; i++)
        if (n->communicators[i] != NULL) n->destroy(n->communicators[i]);
    memset(n, 0, sizeof *n); /* the library stays: its threads may still be on their way out */
}

static void require(const nccl *n, int result, const char *call)
{
    if (result != 0) FAIL("%s: %s", call, n->text(result));
}

void nccl_carry(const nccl *n, CUdeviceptr from, CUstream sender, CUdeviceptr to, CUstream receiver,
                size_t words)
{
    require(n, n->begin(), "ncclGroupStart");
    require(n,
            n->send((const void *)(uintptr_t)from, words, UINT32, RECEIVER,
                    n->communicators[SENDER], sender),
            "ncclSend");
    require(n,
            n->receive((void *)(uintptr_t)to, words, UINT32, SENDER, n->communicators[RECEIVER],
                       receiver),
            "ncclRecv");
    require(n, n->end(), "ncclGroupEnd");
}
