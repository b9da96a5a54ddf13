/* SPDX-License-Identifier: MIT */
/* What the suites of VMM memory in Vulkan share: exportable allocations, their addresses, buffers
 * without memory, and both sides' views of the same words. */
#ifndef CULVERT_TESTS_LIBRARY_VULKAN_VMM_STAGE_H_
#define CULVERT_TESTS_LIBRARY_VULKAN_VMM_STAGE_H_

#include "library.h"

#define VMM_MIB (UINT64_C(1) << 20)

typedef struct vmm_stage {
    lib_world w;
    CUmodule module;
    CUstream stream;
} vmm_stage;

/* Skips where there is no virtual memory management. */
void vmm_stage_open(vmm_stage *s);
/* The same with a Vulkan device that binds sparse buffers, or skips. `loader`: by what Culvert is
 * to find Vulkan; NULL: as ever. */
void vmm_stage_open_sparse(vmm_stage *s, PFN_vkGetInstanceProcAddr loader);
/* CUDA's kernels and stream, after the device was opened in another way. */
void vmm_stage_begin(vmm_stage *s);
void vmm_stage_close(vmm_stage *s);
#define VMM_CASE(...) TEST_ON(vmm_stage, s, vmm_stage_open(s), vmm_stage_close(s), __VA_ARGS__)

/* The twin plays what it has not by itself; called before a device is opened. */
enum {
    VMM_HOST_NUMA = 141
}; /* CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
void vmm_stage_play(int attribute);

/* Device memory, exportable, of a label. */
culv_vmm_allocation_desc vmm_stage_desc(uint64_t size);
culv_vmm_allocation *vmm_stage_allocate(const vmm_stage *s, uint64_t size);
/* All of it, for reading and writing. */
CUdeviceptr vmm_stage_map(const vmm_stage *s, culv_vmm_allocation *allocation,
                          culv_vmm_range **range);
void vmm_stage_unmap(culv_vmm_range **range);

/* A buffer that takes memory of another API's; one without memory. */
VkBuffer vmm_stage_buffer(vmm_stage *s, VkDeviceSize size, VkBufferUsageFlags usage);
void vmm_stage_drop(vmm_stage *s, VkBuffer *buffer, VkDeviceMemory *memory);

/* library_write or library_add on `size` bytes, waited for. */
void vmm_stage_kernel(vmm_stage *s, const char *kernel, CUdeviceptr at, uint64_t size,
                      uint32_t argument);
/* By copies, waited for. */
void vmm_stage_cuda_read(vmm_stage *s, CUdeviceptr at, uint64_t size, uint32_t *words);
void vmm_stage_vulkan_read(vmm_stage *s, VkBuffer buffer, uint64_t size, uint32_t *words);
void vmm_stage_vulkan_write(vmm_stage *s, VkBuffer buffer, uint64_t size, const uint32_t *words);
/* Words of lib_word(first + i, seed). */
void vmm_stage_fill(uint32_t *words, uint64_t size, uint32_t first, uint32_t seed);
uint64_t vmm_stage_wrong(const uint32_t *words, uint64_t size, uint32_t first, uint32_t seed);
/* By each side's copies and kernels, in both directions, with words that drivers compress and
 * others. */
void vmm_stage_require_same(vmm_stage *s, VkBuffer buffer, CUdeviceptr at, uint64_t size,
                            uint32_t seed);

/* Vulkan's objects that are there, where the layer counts them. */
typedef struct vmm_stage_objects {
    uint64_t buffers, memories, images;
    size_t fds;
} vmm_stage_objects;
vmm_stage_objects vmm_stage_count(void);
bool vmm_stage_same(const vmm_stage_objects *before);

#endif
