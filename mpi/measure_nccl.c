/* SPDX-License-Identifier: MIT */
/* See measure_nccl.h. The few declarations of nccl.h of NCCL 2 that are needed: a result is an int,
 * 0 is success; ncclUint32 is 3; an ncclUniqueId is 128 bytes. */
#include "measure_nccl.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UINT32 = 3 };

typedef struct unique_id {
    char bytes[128];
} unique_id;

static struct {
    int (*name)(unique_id *out);
    int (*init)(void **out, int count, unique_id id, int rank);
    int (*destroy)(void *communicator);
    int (*begin)(void);
    int (*end)(void);
    int (*send)(const void *from, size_t count, int type, int peer, void *of, CUstream stream);
    int (*receive)(void *to, size_t count, int type, int peer, void *of, CUstream stream);
    const char *(*text)(int result);
} nccl;

static int load(void)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"ncclGetUniqueId", &nccl.name},    {"ncclCommInitRank", &nccl.init},
                     {"ncclCommDestroy", &nccl.destroy}, {"ncclGroupStart", &nccl.begin},
                     {"ncclGroupEnd", &nccl.end},        {"ncclSend", &nccl.send},
                     {"ncclRecv", &nccl.receive},        {"ncclGetErrorString", &nccl.text}};
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL); /* stays: it has threads */
    for (size_t i = 0; library && i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) return 0;
        memcpy(functions[i].to, &function, sizeof function);
    }
    return library != NULL;
}

void *measure_nccl_open(int rank, int ranks, int apart, char why[MEASURE_NCCL_TEXT])
{
    unique_id id;
    void *communicator = NULL;
    setenv("NCCL_NVLS_ENABLE", "0", 0); /* no multicast: a container may not have it */
    int fine = load(), all = 0, result = 0;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    snprintf(why, MEASURE_NCCL_TEXT, "libnccl.so.2 was not found by all ranks (LD_LIBRARY_PATH)");
    if (!all) return NULL;
    MPI_Allreduce(&apart, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    snprintf(why, MEASURE_NCCL_TEXT, "two ranks share a GPU, which NCCL does not allow");
    if (!all) return NULL;
    memset(&id, 0, sizeof id);
    if (rank == 0) result = nccl.name(&id);
    MPI_Bcast(&result, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (result == 0) result = nccl.init(&communicator, ranks, id, rank);
    snprintf(why, MEASURE_NCCL_TEXT, "NCCL has no communicator: %s", nccl.text(result));
    fine = result == 0;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all ? communicator : NULL;
}

void measure_nccl_close(void *communicator)
{
    if (communicator) nccl.destroy(communicator);
}

static void require(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "culvert-mpi-measure: %s: %s\n", call, nccl.text(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void measure_nccl_begin(void)
{
    require(nccl.begin(), "ncclGroupStart");
}

void measure_nccl_send(void *of, CUdeviceptr from, size_t words, CUstream stream)
{
    require(nccl.send((const void *)(uintptr_t)from, words, UINT32, 0, of, stream), "ncclSend");
}

void measure_nccl_receive(void *of, CUdeviceptr to, size_t words, int rank, CUstream stream)
{
    require(nccl.receive((void *)(uintptr_t)to, words, UINT32, rank, of, stream), "ncclRecv");
}

void measure_nccl_end(void)
{
    require(nccl.end(), "ncclGroupEnd");
}
