/* SPDX-License-Identifier: MIT */
/* What the rows of virtual memory management share. */
#ifndef CULVERT_TESTS_VMM_H_
#define CULVERT_TESTS_VMM_H_

#include "contract.h"

#define VMM_SIZE ((size_t)2 << 20) /* the granularity of an H200, and of the twin */

/* An allocation mapped whole at a range of its own. */
typedef struct vmm_block {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr pointer;
    size_t size;
} vmm_block;

/* pair_open; skips where the driver has no virtual memory management. */
void vmm_pair_open(pair *p);
#define VMM_PAIR_CASE(...) TEST_ON(pair, p, vmm_pair_open(p), pair_close(p), __VA_ARGS__)
/* Of device memory; `handle_types` is a CUmemAllocationHandleType. */
CUmemAllocationProp vmm_prop(const pair *p, unsigned handle_types);
CUmemGenericAllocationHandle vmm_create(const pair *p, size_t size, unsigned handle_types);
CUdeviceptr vmm_reserve(const pair *p, size_t size);
/* Read and write for the pair's device. */
CUresult vmm_allow(const pair *p, CUdeviceptr pointer, size_t size);
void vmm_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle);
void vmm_open(const pair *p, size_t size, unsigned handle_types, vmm_block *out);
void vmm_close(const pair *p, vmm_block *block);
/* The same until the case ends. */
vmm_block pair_vmm(const pair *p, size_t size, unsigned handle_types);
CUmemGenericAllocationHandle pair_handle(const pair *p, size_t size, unsigned handle_types);
CUdeviceptr pair_range(const pair *p, size_t size);
void pair_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle);
int vmm_export(const pair *p, CUmemGenericAllocationHandle handle);
/* The number goes in itself. */
CUresult vmm_import(const pair *p, int fd, CUmemGenericAllocationHandle *out);

/* pattern_write and pattern_add, waited for; what the stream says then. */
CUresult vmm_kernel(const pair *p, CUfunction kernel, CUdeviceptr data, size_t size, unsigned last);
void vmm_require_words(const pair *p, CUdeviceptr pointer, size_t size, uint32_t seed,
                       uint32_t addend);
/* The same, with the bytes that are wrong counted, and answered. */
void vmm_answer_words(const pair *p, const char *key, CUdeviceptr pointer, size_t size,
                      uint32_t seed, uint32_t addend);

#endif
