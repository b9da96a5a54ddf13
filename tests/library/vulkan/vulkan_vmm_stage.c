/* SPDX-License-Identifier: MIT */
/* See vulkan_vmm_stage.h. */
#include "vulkan_vmm_stage.h"

void vmm_stage_begin(vmm_stage *s)
{
    culv_device_caps caps = lib_caps(s->w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    CUcontext before = lib_enter(&s->w);
    s->module = raw_cuda_load(s->w.cu, "library_kernels");
    lib_leave(&s->w, before);
    s->stream = lib_stream(&s->w);
}

void vmm_stage_open(vmm_stage *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    vmm_stage_begin(s);
}

void vmm_stage_open_sparse(vmm_stage *s, PFN_vkGetInstanceProcAddr loader)
{
    lib_world *w = &s->w;
    CUuuid uuid;
    memset(s, 0, sizeof *s);
    w->cu = lib_driver();
    CU_OK(w->cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software,
                                          .sparse_buffers = true});
    w->fds = test_open_fds();
    /* NVIDIA's driver opens files of its own with each context; library-endurance shows that none
     * is leaked. */
    if (!w->cu->software) w->fds += 1000;
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                                   &w->device));
    culv_vk_device_desc d = lib_vk_desc(w);
    if (loader != NULL) d.get_instance_proc_addr = loader;
    LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    w->context = culv_device_context(w->device);
    vmm_stage_begin(s);
}

void vmm_stage_close(vmm_stage *s)
{
    LIB_CU_OK(&s->w, s->w.cu->ModuleUnload(s->module));
    lib_stream_destroy(&s->w, s->stream);
    lib_close(&s->w);
}

void vmm_stage_play(int attribute)
{
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayAttribute != NULL) cu->SoftPlayAttribute(attribute, 1);
}

culv_vmm_allocation_desc vmm_stage_desc(uint64_t size)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = size;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.label = "cells";
    return d;
}

culv_vmm_allocation *vmm_stage_allocate(const vmm_stage *s, uint64_t size)
{
    const culv_vmm_allocation_desc d = vmm_stage_desc(size);
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    return allocation;
}

CUdeviceptr vmm_stage_map(const vmm_stage *s, culv_vmm_allocation *allocation,
                          culv_vmm_range **range)
{
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = info.size;
    LIB_OK(culv_vmm_range_create(s->w.device, &d, range));
    LIB_OK(culv_vmm_map(*range, 0, allocation, NULL, 0));
    return culv_vmm_range_pointer(*range);
}

void vmm_stage_unmap(culv_vmm_range **range)
{
    LIB_OK(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL));
    LIB_OK(culv_vmm_range_destroy(range));
    REQUIRE(*range == NULL);
}

VkBuffer vmm_stage_buffer(vmm_stage *s, VkDeviceSize size, VkBufferUsageFlags usage)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = size,
                                     .usage = usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer = VK_NULL_HANDLE;
    VK_OK(vkCreateBuffer(s->w.vk.device, &info, NULL, &buffer));
    return buffer;
}

void vmm_stage_drop(vmm_stage *s, VkBuffer *buffer, VkDeviceMemory *memory)
{
    vkDestroyBuffer(s->w.vk.device, *buffer, NULL);
    vkFreeMemory(s->w.vk.device, *memory, NULL);
    *buffer = VK_NULL_HANDLE;
    *memory = VK_NULL_HANDLE;
}

/* Data ----------------------------------------------------------------------------------------- */

void vmm_stage_kernel(vmm_stage *s, const char *kernel, CUdeviceptr at, uint64_t size,
                      uint32_t argument)
{
    const raw_cuda *cu = s->w.cu;
    unsigned count = (unsigned)(size / 4);
    void *params[] = {&at, &count, &argument};
    LIB_CU_OK(&s->w, cu->LaunchKernel(raw_cuda_function(cu, s->module, kernel), (count + 255) / 256,
                                      1, 1, 256, 1, 1, 0, s->stream, params, NULL));
    lib_finish(&s->w, s->stream);
}

void vmm_stage_cuda_read(vmm_stage *s, CUdeviceptr at, uint64_t size, uint32_t *words)
{
    LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoHAsync(words, at, (size_t)size, s->stream));
    lib_finish(&s->w, s->stream);
}

void vmm_stage_vulkan_read(vmm_stage *s, VkBuffer buffer, uint64_t size, uint32_t *words)
{
    const raw_vk_buffer b = {.buffer = buffer, .size = size, .flags = RAW_VK_IMPORT};
    raw_vk_read(&s->w.vk, &b, 0, words, size);
}

void vmm_stage_vulkan_write(vmm_stage *s, VkBuffer buffer, uint64_t size, const uint32_t *words)
{
    const raw_vk_buffer b = {.buffer = buffer, .size = size, .flags = RAW_VK_IMPORT};
    raw_vk_write(&s->w.vk, &b, 0, words, size);
}

void vmm_stage_fill(uint32_t *words, uint64_t size, uint32_t first, uint32_t seed)
{
    for (uint32_t i = 0; i < size / 4; i++)
        words[i] = lib_word(first + i, seed);
}

uint64_t vmm_stage_wrong(const uint32_t *words, uint64_t size, uint32_t first, uint32_t seed)
{
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < size / 4; i++)
        wrong += words[i] != lib_word(first + i, seed);
    return wrong;
}

/* Words of three kinds: no two alike, and two that drivers compress. */
typedef enum words_kind { MIXED, SMOOTH, UNIFORM, KINDS } words_kind;

static uint32_t word_of(words_kind kind, uint32_t i, uint32_t seed)
{
    return kind == MIXED ? lib_word(i, seed) : kind == SMOOTH ? i / 16 + seed : seed;
}

static void require_kind(words_kind kind, const char *step, const uint32_t *words, uint64_t size,
                         uint32_t seed)
{
    static const char *const names[KINDS] = {"mixed", "smooth", "uniform"};
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < size / 4; i++)
        wrong += words[i] != word_of(kind, i, seed);
    if (wrong > 0)
        FAIL("%s words, %s: %llu of %llu wrong", names[kind], step, (unsigned long long)wrong,
             (unsigned long long)size / 4);
}

static void fill_kind(words_kind kind, uint32_t *words, uint64_t size, uint32_t seed)
{
    for (uint32_t i = 0; i < size / 4; i++)
        words[i] = word_of(kind, i, seed);
}

static void cuda_write(vmm_stage *s, CUdeviceptr at, uint64_t size, const uint32_t *words)
{
    LIB_CU_OK(&s->w, s->w.cu->MemcpyHtoDAsync(at, words, (size_t)size, s->stream));
    lib_finish(&s->w, s->stream);
}

void vmm_stage_require_same(vmm_stage *s, VkBuffer buffer, CUdeviceptr at, uint64_t size,
                            uint32_t seed)
{
    const raw_vk_buffer b = {.buffer = buffer, .size = size, .flags = RAW_VK_IMPORT};
    LIB_BLOCK(uint32_t, words, size);
    for (words_kind kind = MIXED; kind < KINDS; kind++) {
        fill_kind(kind, words, size, seed);
        cuda_write(s, at, size, words);
        vmm_stage_vulkan_read(s, buffer, size, words);
        require_kind(kind, "CUDA's copy to Vulkan", words, size, seed);
        vmm_stage_kernel(s, "library_add", at, size, 1);
        vmm_stage_vulkan_read(s, buffer, size, words);
        require_kind(kind, "CUDA's kernel to Vulkan", words, size, seed + 1);
        fill_kind(kind, words, size, seed + 2);
        vmm_stage_vulkan_write(s, buffer, size, words);
        memset(words, 0, (size_t)size);
        vmm_stage_cuda_read(s, at, size, words);
        require_kind(kind, "Vulkan's copy to CUDA's copy", words, size, seed + 2);
        vmm_stage_kernel(s, "library_add", at, size, 1);
        vmm_stage_cuda_read(s, at, size, words);
        require_kind(kind, "Vulkan's copy to CUDA's kernel", words, size, seed + 3);
    }
    raw_vk_fill(&s->w.vk, &b, 0, size, seed + 4, NULL);
    vmm_stage_kernel(s, "library_add", at, size, 1);
    vmm_stage_cuda_read(s, at, size, words);
    require_kind(UNIFORM, "Vulkan's fill to CUDA's kernel", words, size, seed + 5);
}

/* Objects -------------------------------------------------------------------------------------- */

vmm_stage_objects vmm_stage_count(void)
{
    lib_layer layer;
    vmm_stage_objects out = {0};
    if (!lib_layer_find(&layer))
        return out; /* NVIDIA's driver keeps files of its own from each first use on */
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    layer.counts(&counts);
    out.fds = test_open_fds();
    out.buffers = counts.buffers;
    out.memories = counts.memories;
    out.images = counts.images;
    return out;
}

bool vmm_stage_same(const vmm_stage_objects *before)
{
    const vmm_stage_objects now = vmm_stage_count();
    return memcmp(&now, before, sizeof now) == 0;
}
