/* SPDX-License-Identifier: MIT */
/* What the suite of virtual memory management shares: one CUDA device, or two, without Vulkan. */
#ifndef CULVERT_TESTS_VMM_STAGE_H_
#define CULVERT_TESTS_VMM_STAGE_H_

#include "library.h"

#define VMM_BLOCK ((uint64_t)2 << 20) /* the granularity of an H200, and of the twin */

typedef struct vmm_stage {
    lib_world w;        /* without Vulkan */
    culv_device *other; /* NULL with one device */
    size_t fds;
} vmm_stage;

/* Skips where the device has no virtual memory management. */
void vmm_stage_open(vmm_stage *s);
/* Fabric handles: the twin plays the attribute and the IMEX channel; skips on hardware. */
void vmm_open_fabric(vmm_stage *s, int attribute, int channel);
/* With a second device of the same driver; skips where there is none. */
void vmm_stage_open_two(vmm_stage *s);
/* The second device alone; skips where there is none. */
void vmm_stage_open_second(vmm_stage *s);
/* Requires that nothing is left. */
void vmm_stage_close(vmm_stage *s);
#define VMM_CASE(...) TEST_ON(vmm_stage, s, vmm_stage_open(s), vmm_stage_close(s), __VA_ARGS__)
#define VMM_TWO_CASE(...)                                                                          \
    TEST_ON(vmm_stage, s, vmm_stage_open_two(s), vmm_stage_close(s), __VA_ARGS__)
#define VMM_FABRIC_CASE(attribute, channel, ...)                                                   \
    TEST_ON(vmm_stage, s, vmm_open_fabric(s, attribute, channel), vmm_stage_close(s), __VA_ARGS__)
void vmm_require_counts(const vmm_stage *s, uint64_t allocations, uint64_t ranges,
                        uint64_t mappings);

/* `blocks` granules of device memory; handle_types as in its descriptor. */
culv_vmm_allocation *vmm_allocation(const vmm_stage *s, uint64_t blocks, uint32_t handle_types);
culv_vmm_allocation *vmm_allocation_on(culv_device *device, uint64_t blocks, uint32_t handle_types,
                                       const char *label);
culv_vmm_range *vmm_range(const vmm_stage *s, uint64_t blocks);
/* A range with that mapped in it; and the end of both. */
culv_vmm_range *vmm_mapped(const vmm_stage *s, culv_vmm_allocation *memory);
void vmm_unmapped(culv_vmm_range **range, culv_vmm_allocation **memory);
uint64_t vmm_count_mappings(const vmm_stage *s);
/* What the driver says that a device may do at an offset. */
culv_vmm_access_flags vmm_access_of(const raw_cuda *cu, culv_vmm_range *range, uint64_t offset,
                                    const culv_device *device);
CUdeviceptr vmm_address(const culv_vmm_range *range, uint64_t block);

/* The words of lib_word(), by a copy that has ended. `device` does the copy. */
void vmm_write(const culv_device *device, const raw_cuda *cu, CUdeviceptr at, size_t words,
               uint32_t seed);
void vmm_require_words(const culv_device *device, const raw_cuda *cu, CUdeviceptr at, size_t words,
                       uint32_t seed);
/* What a copy of a few bytes to the host says, and one from it. */
CUresult vmm_try_read(const vmm_stage *s, CUdeviceptr at);

/* Work in a stream that ends when it is told to. */
typedef struct vmm_gate {
    CUstream stream;
    _Atomic int open;
} vmm_gate;

void vmm_gate_begin(const vmm_stage *s, vmm_gate *gate);
void vmm_gate_open(const vmm_stage *s, vmm_gate *gate); /* waits for the stream */
void vmm_gate_end(const vmm_stage *s, vmm_gate *gate);

#endif
