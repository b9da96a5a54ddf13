/* SPDX-License-Identifier: MIT */
/* Buffers of each kind, from both sides. */
#include "kinds.h"

#include <culvert/vector.h>
#include <culvert/vmm.h>

#include <stdio.h>
#include <string.h>

typedef enum scheme {
    CUDA_ALLOC,
    OWN,
    OWN_DEDICATED,
    EXPORTED,
    EXPORTED_DEDICATED,
    MADE,
    MADE_COMPRESSIBLE,
    VMM,
    VMM_DEDICATED,
    VMM_COMPRESSIBLE,
    VMM_COMPRESSIBLE_DEDICATED,
    VECTOR,
    VECTOR_SPARSE,
    SCHEMES
} scheme;

static const struct {
    const char *name;
    double goal; /* of random reads, to cuMemAlloc's: what Culvert gives by default */
} schemes[SCHEMES] = {
    [CUDA_ALLOC] = {"cuMemAlloc", 0},
    [OWN] = {"Vulkan's, not exportable", 0},
    [OWN_DEDICATED] = {"Vulkan's, not exportable, dedicated", 0},
    [EXPORTED] = {"Vulkan's, exportable", 0},
    [EXPORTED_DEDICATED] = {"Vulkan's, exportable, dedicated", 0},
    [MADE] = {"culv_vk_buffer_create()", 0.97},
    [MADE_COMPRESSIBLE] = {"culv_vk_buffer_create(), compressible", 0},
    [VMM] = {"VMM, imported", 0},
    [VMM_DEDICATED] = {"VMM, imported dedicated", 0.97},
    [VMM_COMPRESSIBLE] = {"compressible VMM, imported", 0},
    [VMM_COMPRESSIBLE_DEDICATED] = {"compressible VMM, imported dedicated", 0},
    [VECTOR] = {"culv_vector, a buffer a chunk", 0.97},
    [VECTOR_SPARSE] = {"culv_vector, one sparse buffer", 0.97},
};

typedef struct subject {
    CUdeviceptr own; /* cuMemAlloc's */
    VkBuffer buffer;
    VkDeviceMemory memory;
    culv_memory *import;
    culv_buffer *mapped;
    culv_shared_buffer *made;
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    culv_vector *vector;
    culv_vector_view *view;
    culv_memory_kind kind;
    kinds_job job;
} subject;

enum {
    USAGE = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
            VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT
};

static void left_out(kinds *k, scheme which, const char *why)
{
    char text[96];
    snprintf(text, sizeof text, "%s: %s", schemes[which].name, why);
    if (k->bench.num_gaps < BENCH_MAX_GAPS) bench_left_out(&k->bench, text);
}

static VkBuffer make_buffer(const kinds *k, uint64_t bytes, bool shared)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = shared ? &external : NULL,
                                     .size = bytes,
                                     .usage = USAGE};
    VkBuffer buffer = VK_NULL_HANDLE;
    VK_OK(vkCreateBuffer(k->bench.rig.vk.device, &info, NULL, &buffer));
    return buffer;
}

/* By the raw calls, as a program without Culvert does it. */
static void allocate(const kinds *k, subject *s, uint64_t bytes, bool shared, bool dedicated)
{
    const raw_vk *vk = &k->bench.rig.vk;
    s->buffer = make_buffer(k, bytes, shared);
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryDedicatedAllocateInfo to_it = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .pNext = shared ? &exported : NULL,
        .buffer = s->buffer};
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .pNext = dedicated ? &to_it : to_it.pNext,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryRequirements needs;
    uint32_t type = 0;
    vkGetBufferMemoryRequirements(vk->device, s->buffer, &needs);
    while (type < vk->memory.memoryTypeCount &&
           ((needs.memoryTypeBits >> type & 1) == 0 || (vk->memory.memoryTypes[type].propertyFlags &
                                                        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) == 0))
        type++;
    REQUIRE(type < vk->memory.memoryTypeCount);
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &flags,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = type};
    VK_OK(vkAllocateMemory(vk->device, &info, NULL, &s->memory));
    VK_OK(vkBindBufferMemory(vk->device, s->buffer, s->memory, 0));
    if (!shared) return;
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = s->memory;
    d.allocation_size = needs.size;
    d.dedicated = dedicated;
    d.buffer = s->buffer;
    CULV_OK_OR_EXIT(culv_vk_memory_import(k->bench.rig.attached, &d, &s->import));
    CULV_OK_OR_EXIT(culv_buffer_map(s->import, NULL, &s->mapped));
    s->kind = culv_buffer_memory_kind(s->mapped);
    s->job.pointer = culv_buffer_pointer(s->mapped);
}

static void make(const kinds *k, subject *s, uint64_t bytes, culv_memory_kind kind)
{
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = USAGE};
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.memory_kind = kind;
    CULV_OK_OR_EXIT(culv_vk_buffer_create(k->bench.rig.attached, &d, &s->made));
    s->kind = culv_buffer_memory_kind(culv_shared_buffer_cuda(s->made));
    s->job.pointer = culv_shared_buffer_pointer(s->made);
}

/* False: the device does not grant compressible memory, or Vulkan does not take it. */
static bool from_vmm(const kinds *k, subject *s, uint64_t bytes, bool dedicated, bool compressible)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_range_desc range = culv_vmm_range_desc_init();
    culv_vk_memory_from_handle_desc from = culv_vk_memory_from_handle_desc_init();
    const rig *r = &k->bench.rig;
    d.size = bytes;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.usage = compressible ? CULV_VMM_USAGE_COMPRESSIBLE : 0;
    CULV_OK_OR_EXIT(culv_vmm_allocation_create(r->device, &d, &s->allocation));
    CULV_OK_OR_EXIT(culv_vmm_allocation_get_info(s->allocation, &info));
    if (compressible && !(info.usage & CULV_VMM_USAGE_COMPRESSIBLE)) return false;
    range.size = info.size;
    CULV_OK_OR_EXIT(culv_vmm_range_create(r->device, &range, &s->range));
    CULV_OK_OR_EXIT(culv_vmm_map(s->range, 0, s->allocation, NULL, 0));
    s->buffer = make_buffer(k, bytes, true);
    from.buffer = s->buffer;
    from.dedicated = dedicated;
    from.allocate_flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    const culv_result result =
        culv_vk_memory_from_vmm(r->attached, s->allocation, &from, &s->memory);
    /* No driver that was measured says whether it takes this. */
    if (compressible && result != CULV_OK) return false;
    CULV_OK_OR_EXIT(result);
    VK_OK(vkBindBufferMemory(r->vk.device, s->buffer, s->memory, 0));
    s->kind = compressible ? CULV_MEMORY_KIND_COMPRESSIBLE
              : dedicated  ? CULV_MEMORY_KIND_FAST
                           : CULV_MEMORY_KIND_PLAIN;
    s->job.pointer = culv_vmm_range_pointer(s->range);
    return true;
}

/* False: no queue binds sparse memory, or Culvert takes none of the device's. */
static bool vector(const kinds *k, subject *s, uint64_t bytes, bool sparse)
{
    const rig *r = &k->bench.rig;
    culv_vector_desc d = culv_vector_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    culv_vk_vector_view_buffer part;
    size_t parts = 0;
    d.size = d.reserve = d.max_chunk = bytes;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    vd.usage = USAGE;
    for (uint32_t i = 0; sparse && i < r->vk.queue_count && vd.sparse_queue == NULL; i++)
        if (r->vk.queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT)
            vd.sparse_queue = r->vk.queues[i].queue;
    if (sparse && vd.sparse_queue == NULL) return false;
    vd.sparse_size = sparse ? bytes : 0;
    CULV_OK_OR_EXIT(culv_vector_create(r->device, &d, &s->vector));
    const culv_result result = culv_vk_vector_view_create(r->attached, s->vector, &vd, &s->view);
    if (sparse && result == CULV_ERROR_UNSUPPORTED) return false;
    CULV_OK_OR_EXIT(result);
    CULV_OK_OR_EXIT(culv_vk_vector_view_get_buffers(s->view, &part, 1, &parts));
    REQUIRE_EQ(parts, 1);
    s->job.address = vkGetBufferDeviceAddress(
        r->vk.device,
        &(VkBufferDeviceAddressInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                     .buffer = part.buffer});
    s->kind = culv_vk_vector_view_memory_kind(s->view);
    s->job.pointer = culv_vector_pointer(s->vector);
    return true;
}

static bool open_subject(kinds *k, subject *s, scheme which, uint64_t bytes)
{
    const rig *r = &k->bench.rig;
    *s = (subject){.job = {.bytes = bytes}};
    switch (which) {
    case CUDA_ALLOC:
        RIG_CU(r->cu->MemAlloc(&s->own, (size_t)bytes));
        s->job.pointer = s->own;
        break;
    case OWN:
    case OWN_DEDICATED: allocate(k, s, bytes, false, which == OWN_DEDICATED); break;
    case EXPORTED:
    case EXPORTED_DEDICATED: allocate(k, s, bytes, true, which == EXPORTED_DEDICATED); break;
    case MADE: make(k, s, bytes, CULV_MEMORY_KIND_UNKNOWN); break;
    case MADE_COMPRESSIBLE: make(k, s, bytes, CULV_MEMORY_KIND_COMPRESSIBLE); break;
    case VMM:
    case VMM_DEDICATED:
        if (!r->caps.vmm) return false;
        return from_vmm(k, s, bytes, which == VMM_DEDICATED, false);
    case VMM_COMPRESSIBLE:
    case VMM_COMPRESSIBLE_DEDICATED:
        if (!r->caps.vmm) return false;
        return from_vmm(k, s, bytes, which == VMM_COMPRESSIBLE_DEDICATED, true);
    default:
        if (!r->caps.vmm) return false;
        return vector(k, s, bytes, which == VECTOR_SPARSE);
    }
    return true;
}

static void close_subject(kinds *k, subject *s)
{
    const rig *r = &k->bench.rig;
    if (s->own != 0) RIG_CU(r->cu->MemFree(s->own));
    culv_buffer_unmap(&s->mapped, NULL);
    culv_memory_destroy(&s->import);
    culv_shared_buffer_destroy(&s->made, NULL);
    culv_vector_view_destroy(&s->view);
    culv_vector_destroy(&s->vector, NULL);
    vkDestroyBuffer(r->vk.device, s->buffer, NULL);
    vkFreeMemory(r->vk.device, s->memory, NULL);
    if (s->range != NULL) {
        CULV_OK_OR_EXIT(culv_vmm_unmap(s->range, 0, culv_vmm_range_size(s->range), NULL));
        CULV_OK_OR_EXIT(culv_vmm_range_destroy(&s->range));
    }
    culv_vmm_allocation_destroy(&s->allocation);
    (void)culv_device_collect(r->device);
}

static void address_of(const kinds *k, subject *s)
{
    const VkBuffer buffer = s->made != NULL ? culv_vk_buffer_handle(s->made) : s->buffer;
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer};
    if (buffer != VK_NULL_HANDLE)
        s->job.address = vkGetBufferDeviceAddress(k->bench.rig.vk.device, &info);
}

/* Noise and the same word everywhere, streamed through; noise, read at random. */
static void measure(kinds *k, subject *s, scheme which)
{
    kinds_job *job = &s->job;
    const double moved = 2.0 * (double)job->bytes, reads = (double)k->threads * k->reads;
    const kinds_side first = job->pointer != 0 ? KINDS_CUDA : KINDS_VULKAN;
    for (uint32_t noise = 0; noise < 2; noise++) {
        job->noise = noise;
        kinds_do(k, job, first, KINDS_FILL);
        for (kinds_side side = 0; side < KINDS_SIDES; side++) {
            if (side == KINDS_CUDA ? job->pointer == 0 : job->address == 0) continue;
            spread rate = kinds_measure(k, job, side, KINDS_ADD, moved);
            kinds_row *row =
                kinds_add_row(k, schemes[which].name, noise ? "stream, noise" : "stream, constant",
                              side, job->bytes, rate);
            row->kind = kinds_kind_name(s->kind);
            kinds_end_row(k, row, schemes[CUDA_ALLOC].name, 0.0);
        }
    }
    for (kinds_side side = 0; side < KINDS_SIDES; side++) {
        if (side == KINDS_CUDA ? job->pointer == 0 : job->address == 0) continue;
        kinds_try_check(k, job, side);
        spread rate = kinds_measure(k, job, side, KINDS_RANDOM, reads);
        kinds_row *row = kinds_add_row(k, schemes[which].name, "random", side, job->bytes, rate);
        row->kind = kinds_kind_name(s->kind);
        kinds_end_row(k, row, schemes[CUDA_ALLOC].name, schemes[which].goal);
    }
}

void kinds_buffers(kinds *k, const uint64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (scheme which = 0; which < SCHEMES; which++) {
            subject s;
            bench_variant(&k->bench, "%s", schemes[which].name);
            if (open_subject(k, &s, which, sizes[i])) {
                if (s.job.address == 0) address_of(k, &s);
                measure(k, &s, which);
            } else if (i == 0) {
                left_out(k, which, "the device does not have it");
            }
            close_subject(k, &s);
        }
    }
}
