/* SPDX-License-Identifier: MIT */
/* culvert-bench-memory: what growing and freeing costs. What its sections stand on: the devices,
 * kernels that write and check, and the driver's calls, each object counted. */
#ifndef CULVERT_BENCH_MEMORY_H_
#define CULVERT_BENCH_MEMORY_H_

#include "measure.h"
#include "results.h"

#include <culvert/vector.h>
#include <culvert/vmm.h>

#define MEMORY_MIB(n) ((uint64_t)(n) << 20)
#define MEMORY_GIB(n) ((uint64_t)(n) << 30)

/* What the raw drivers of tests/support have not; NULL where the driver has none (the twin has no
 * managed memory). */
typedef struct memory_procs {
    PFN_cuMemAllocManaged_v6000 MemAllocManaged;
    PFN_cuMemPrefetchAsync_v12020 MemPrefetchAsync;
    PFN_cuMemPrefetchAsync_v8000 MemPrefetchAsync_v1; /* of drivers before CUDA 12.2 */
    PFN_cuMemAllocAsync_v11020 MemAllocAsync;
    PFN_cuMemFreeAsync_v11020 MemFreeAsync;
} memory_procs;

/* Objects that this program had from the driver itself, and gave back. */
typedef struct memory_tally {
    uint64_t made, freed;
} memory_tally;

typedef struct memory_kernels {
    CUmodule module;
    CUfunction fill, check, pulse;
    CUdeviceptr wrong; /* where check counts */
} memory_kernels;

typedef struct memory_bench {
    bench bench;
    results results;
    memory_procs procs;
    memory_kernels kernels;
    memory_tally tally;
    CUmemAllocationProp prop; /* the device's memory, not exported: culv_vector's default */
    CUmemAccessDesc access;
    uint64_t granularity;
    unsigned blocks;
    uint64_t limit; /* bytes that the sections grow to */
    uint64_t free_at_start;
    uint64_t checked; /* words; one that is wrong ends the program */
    uint32_t seed;    /* of the contents; another one for each turn */
} memory_bench;

/* After rig_open(). */
void memory_open(memory_bench *b);
/* Requires that what was made was freed, Culvert's objects included. */
void memory_close(memory_bench *b);
void memory_require_freed(memory_bench *b);

void memory_kernels_open(memory_kernels *k, const raw_cuda *cu);
void memory_kernels_close(memory_kernels *k, const raw_cuda *cu);

/* Device memory that is free now. */
uint64_t memory_free(const memory_bench *b);
/* Whether so many bytes leave a tenth of that alone. */
bool memory_fits(const memory_bench *b, uint64_t bytes);

/* Writes bytes [from, to) of a buffer, and waits; checks them. Multiples of 16. */
void memory_fill(memory_bench *b, CUdeviceptr buffer, uint64_t from, uint64_t to);
void memory_check(memory_bench *b, CUdeviceptr buffer, uint64_t from, uint64_t to,
                  const char *what);
/* The same by kernels of another context, which is current. */
void memory_check_by(memory_bench *b, const memory_kernels *kernels, CUstream stream,
                     CUdeviceptr buffer, uint64_t from, uint64_t to, const char *what);
/* One word, read by the host. */
void memory_check_word(memory_bench *b, CUdeviceptr buffer, uint64_t offset, const char *what);

/* The driver's calls: end the program where they fail. Mapping grants access, too. */
CUdeviceptr raw_alloc(memory_bench *b, uint64_t bytes);
void raw_free(memory_bench *b, CUdeviceptr pointer);
CUdeviceptr raw_reserve(memory_bench *b, uint64_t bytes, CUdeviceptr at);
void raw_unreserve(memory_bench *b, CUdeviceptr at, uint64_t bytes);
CUmemGenericAllocationHandle raw_create(memory_bench *b, uint64_t bytes);
void raw_release(memory_bench *b, CUmemGenericAllocationHandle handle);
void raw_map(memory_bench *b, CUdeviceptr at, uint64_t bytes, CUmemGenericAllocationHandle handle,
             const CUmemAccessDesc *access, size_t count);
void raw_unmap(memory_bench *b, CUdeviceptr at, uint64_t bytes);
/* Managed memory that the device has without a copy at each launch; false: there is none. */
bool raw_has_managed(const memory_bench *b);
CUdeviceptr raw_alloc_managed(memory_bench *b, uint64_t bytes);
/* Brings it to the device, and waits. */
void raw_prefetch(memory_bench *b, CUdeviceptr at, uint64_t bytes);

/* Waits for the rig's stream, then has Culvert release what it deferred for that; ends the program
 * where something stays. */
void memory_collect(memory_bench *b);

#endif
