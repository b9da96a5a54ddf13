/* SPDX-License-Identifier: MIT */
/* What culvert-mpi-measure calls of NCCL, by MPI: the twin's device memory is the CPU's.
 * PLAYED_NCCL=spoils: the first word of each part is lost. */
#include <cuda.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

typedef struct unique_id {
    char bytes[128];
} unique_id;

EXPORTED int ncclGetUniqueId(unique_id *out);
EXPORTED int ncclCommInitRank(void **out, int count, unique_id id, int rank);
EXPORTED int ncclCommDestroy(void *of);
EXPORTED int ncclGroupStart(void);
EXPORTED int ncclGroupEnd(void);
EXPORTED int ncclSend(const void *from, size_t count, int type, int peer, void *of, CUstream s);
EXPORTED int ncclRecv(void *to, size_t count, int type, int peer, void *of, CUstream s);
EXPORTED const char *ncclGetErrorString(int result);

int ncclGetUniqueId(unique_id *out)
{
    out->bytes[127] = 42;
    return 0;
}

int ncclCommInitRank(void **out, int count, unique_id id, int rank)
{
    *out = (void *)(uintptr_t)1;
    return count > rank && id.bytes[127] == 42 ? 0 : 4;
}

int ncclCommDestroy(void *of)
{
    return of ? 0 : 4;
}

int ncclGroupStart(void)
{
    return 0;
}

int ncclGroupEnd(void)
{
    return 0;
}

int ncclSend(const void *from, size_t count, int type, int peer, void *of, CUstream s)
{
    const size_t lost = getenv("PLAYED_NCCL") != NULL;
    if (type != 3 || !of || cuStreamSynchronize(s) != CUDA_SUCCESS) return 4;
    return MPI_Send((const uint32_t *)from + lost, (int)(count - lost), MPI_UINT32_T, peer, 7,
                    MPI_COMM_WORLD);
}

int ncclRecv(void *to, size_t count, int type, int peer, void *of, CUstream s)
{
    if (type != 3 || !of || cuStreamSynchronize(s) != CUDA_SUCCESS) return 4;
    return MPI_Recv(to, (int)count, MPI_UINT32_T, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

const char *ncclGetErrorString(int result)
{
    return result == 4 ? "invalid argument" : "played";
}
