/* SPDX-License-Identifier: MIT */
/* VMM allocations that Vulkan is not given: wrong calls, memory that is not for it, another
 * GPU's. */
#define TEST_GROUP "vk_vmm."
#include "fallback_scene.h"
#include "vulkan_vmm_stage.h"

VMM_CASE(wrong_calls)
{
    culv_vk_device *vk = s->w.attachment;
    const uint64_t size = 2 * VMM_MIB;
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, size);
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0), big = vmm_stage_buffer(s, size + 4, 0);
    VkImage image; /* only told of */
    memcpy(&image, &buffer, sizeof image);
    VkDeviceMemory out;
    const vmm_stage_objects before = vmm_stage_count();
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, VK_NULL_HANDLE, allocation, 0, &out), INVALID,
                NULL_ARGUMENT);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, NULL, 0, &out), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, NULL), NULL_ARGUMENT);
    VMM_REFUSES(out, culv_vk_image_bind_vmm(vk, image, NULL, allocation, 0, &out), INVALID,
                NULL_ARGUMENT, "create_info");

    const culv_vk_memory_from_handle_desc right = culv_vk_memory_from_handle_desc_init();
    culv_vk_memory_from_handle_desc d = right;
    d.struct_size = 3;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, STRUCT_SIZE);
    d = right;
    d.handle = culv_handle_opaque_fd(0);
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, VALUE, ".handle");
    d = right;
    d.size = size;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, VALUE, ".size");
    d = right;
    d.exporter.bytes[0] = 1;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, VALUE,
                ".exporter");
    d = right;
    d.allocate_flags = 0x100;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, VALUE,
                "allocate_flags");
    d = right;
    d.memory_type_bits = 1u << 31;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, MEMORY_TYPE);
    d = right;
    d.dedicated = VK_TRUE;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, VALUE);
    d.buffer = buffer;
    d.image = image;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, VALUE);
    d = right;
    d.image = image;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, DEDICATED,
                "CULV_VMM_USAGE_COMPRESSIBLE");
    d = right;
    d.buffer = big;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, SIZE,
                "the VMM allocation is 2097152 bytes", "cells");
    d.dedicated = VK_TRUE;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, allocation, &d, &out), INVALID, SIZE);

    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, big, allocation, 0, &out), INVALID, RANGE,
                "which has 2097152");
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, size, &out), INVALID, RANGE);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, size - 65536 + 1, &out),
                INVALID, RANGE);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, UINT64_MAX, &out), INVALID,
                RANGE);
    VMM_REFUSES(out, culv_vk_buffer_bind_vmm(vk, buffer, allocation, 1, &out), INVALID, VALUE,
                "alignment");
    REQUIRE(vmm_stage_same(&before));
    /* After all of that it is as new. */
    LIB_OK(culv_vk_buffer_bind_vmm(vk, buffer, allocation, 0, &out));
    vmm_stage_drop(s, &buffer, &out);
    vkDestroyBuffer(s->w.vk.device, big, NULL);
    culv_vmm_allocation_destroy(&allocation);
}

/* Descriptors of programs that are older than some fields, just as long as they say. */
VMM_CASE(older_descriptors)
{
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    size_t size = offsetof(culv_vk_memory_from_handle_desc, allocate_flags);
    culv_vk_memory_from_handle_desc *from = calloc(1, size);
    VkDeviceMemory memory = VK_NULL_HANDLE;
    REQUIRE(from != NULL);
    memcpy(from, &size, sizeof size);
    LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, allocation, from, &memory));
    vkFreeMemory(s->w.vk.device, memory, NULL);
    free(from);
    culv_vmm_allocation_destroy(&allocation);
    size = offsetof(culv_vk_vector_view_desc, sparse_queue);
    const culv_vector_desc d = {.struct_size = sizeof d,
                                .handle_types = 1u << CULV_HANDLE_OPAQUE_FD};
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    culv_vk_vector_view_desc *shown = calloc(1, size);
    REQUIRE(shown != NULL);
    memcpy(shown, &size, sizeof size);
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    memcpy((char *)shown + offsetof(culv_vk_vector_view_desc, usage), &usage, sizeof usage);
    LIB_OK(culv_vector_create(s->w.device, &d, &vector));
    LIB_OK(culv_vk_vector_view_create(s->w.attachment, vector, shown, &view));
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    free(shown);
}

/* Each road refuses it, with the same reason. */
static void refused(vmm_stage *s, culv_vmm_allocation *allocation, culv_result class,
                    culv_reason why, const char *says)
{
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0);
    const vmm_stage_objects before = vmm_stage_count();
    VkDeviceMemory out;
    VMM_REFUSES_AS(out, culv_vk_memory_from_vmm(s->w.attachment, allocation, NULL, &out), class,
                   why, says);
    VMM_REFUSES_AS(out, culv_vk_buffer_bind_vmm(s->w.attachment, buffer, allocation, 0, &out),
                   class, why, says);
    REQUIRE(vmm_stage_same(&before));
    vkDestroyBuffer(s->w.vk.device, buffer, NULL);
}

VMM_CASE(not_exportable)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    culv_vmm_allocation *allocation = NULL, *imported = NULL;
    d.handle_types = 0;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    refused(s, allocation, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE, "handle_types");
    culv_vmm_allocation_destroy(&allocation);
    /* An import cannot be handed on; its exporter's handle can, which is the way that the message
     * names. */
    allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    culv_vmm_import_desc id = culv_vmm_import_desc_init();
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &id.handle));
    id.size = 2 * VMM_MIB;
    LIB_OK(culv_vmm_import(s->w.device, &id, &imported));
    refused(s, imported, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
            "culv_vk_memory_from_handle()");
    culv_vk_memory_from_handle_desc hd = culv_vk_memory_from_handle_desc_init();
    VkBuffer buffer = vmm_stage_buffer(s, 2 * VMM_MIB, 0);
    VkDeviceMemory memory = VK_NULL_HANDLE;
    hd.handle = id.handle;
    hd.size = 2 * VMM_MIB;
    hd.buffer = buffer;
    LIB_OK(culv_vk_memory_from_handle(s->w.attachment, &hd, &memory));
    VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, memory, 0));
    culv_handle_close(&id.handle);
    culv_vmm_allocation_destroy(&allocation);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, imported, &range);
    vmm_stage_require_same(s, buffer, at, 2 * VMM_MIB, 90);
    vmm_stage_drop(s, &buffer, &memory);
    culv_vmm_allocation_destroy(&imported);
    vmm_stage_unmap(&range);
}

VMM_CASE(tile_pool)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    culv_vmm_allocation *allocation = NULL;
    d.usage = CULV_VMM_USAGE_TILE_POOL;
    d.handle_types = 0;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    refused(s, allocation, CULV_ERROR_INVALID, CULV_REASON_USAGE, "tile pool");
    culv_vmm_allocation_destroy(&allocation);
}

/* A VkDevice that is another GPU: refused whether the culv_device is the allocation's or the
 * VkDevice's. */
TEST(another_gpu)
{
    static scene s;
    raw_cuda_two_devices(); /* before vmm_stage_play() opens the driver */
    vmm_stage_play(VMM_HOST_NUMA);
    scene_open_bare(&s, SCENE_PEER);
    lib_world *w = &s.w;
    culv_device_caps caps = lib_caps(w->device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    culv_device *same = NULL;
    culv_vk_device *vk = NULL;
    culv_vmm_allocation *there = NULL, *here = NULL;
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                                   &same));
    const culv_vk_device_desc vd = lib_vk_desc(w);
    LIB_OK(culv_vk_attach(same, &vd, &vk));
    const culv_vmm_allocation_desc d = vmm_stage_desc(2 * VMM_MIB);
    LIB_OK(culv_vmm_allocation_create(w->device, &d, &there));
    LIB_OK(culv_vmm_allocation_create(same, &d, &here));
    VkDeviceMemory out;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, there, NULL, &out), INVALID, DEVICE_MISMATCH,
                w->vk.properties.deviceName);
    VMM_REFUSES(out, culv_vk_memory_from_vmm(w->attachment, there, NULL, &out), INVALID,
                DEVICE_MISMATCH);
    /* The same by their handles, whose exporter nobody tells. */
    culv_vk_memory_from_handle_desc from = culv_vk_memory_from_handle_desc_init();
    from.size = 2 * VMM_MIB;
    LIB_OK(culv_vmm_export_dup(there, CULV_HANDLE_OPAQUE_FD, &from.handle));
    culv_vk_device *const both[] = {vk, w->attachment};
    for (int i = 0; i < 2; i++) {
        VMM_REFUSES(out, culv_vk_memory_from_handle(both[i], &from, &out), INVALID,
                    DEVICE_MISMATCH);
    }
    culv_handle_close(&from.handle);
    LIB_OK(culv_vmm_export_dup(here, CULV_HANDLE_OPAQUE_FD, &from.handle));
    for (int i = 0; i < 2; i++) {
        LIB_OK(culv_vk_memory_from_handle(both[i], &from, &out));
        vkFreeMemory(w->vk.device, out, NULL);
    }
    culv_handle_close(&from.handle);
    culv_vmm_allocation_desc hd = d;
    culv_vmm_allocation *host = NULL;
    hd.kind = CULV_VMM_LOCATION_HOST_NUMA;
    if (culv_vmm_allocation_create(w->device, &hd, &host) == CULV_OK)
        VMM_REFUSES(out, culv_vk_memory_from_vmm(vk, host, NULL, &out), INVALID, DEVICE_MISMATCH);
    culv_vmm_allocation_destroy(&host);
    /* Attached for copies as another GPU, the VkDevice still takes memory of its own. */
    LIB_OK(culv_vk_memory_from_vmm(w->attachment, here, NULL, &out));
    vkFreeMemory(w->vk.device, out, NULL);

    culv_vector_desc vector_desc = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    culv_vk_vector_view_desc view_desc = culv_vk_vector_view_desc_init();
    vector_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    view_desc.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    for (int i = 0; i < 2; i++) { /* empty and not */
        vector_desc.size = (uint64_t)i * 2 * VMM_MIB;
        LIB_OK(culv_vector_create(w->device, &vector_desc, &vector));
        LIB_REFUSES(view, culv_vk_vector_view_create(vk, vector, &view_desc, &view), INVALID,
                    DEVICE_MISMATCH);
        culv_vector_destroy(&vector, NULL);
    }
    culv_vmm_allocation_destroy(&here);
    culv_vmm_allocation_destroy(&there);
    culv_vk_detach(&vk);
    culv_device_close(&same);
    scene_close(&s);
}

/* What needs an allocation of its own has it at offset 0, of its very size, and is refused in
 * another one. */
VMM_CASE(dedicated)
{
    culv_vk_device *lying = NULL;
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    lib_lying = (lib_lies){.requires_dedicated = true};
    vd.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(s->w.device, &vd, &lying));
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 4 * VMM_MIB);
    culv_vmm_range *range = NULL;
    CUdeviceptr at = vmm_stage_map(s, allocation, &range);
    VkBuffer buffer = vmm_stage_buffer(s, 65536, 0);
    VkDeviceMemory memory;
    VMM_REFUSES(memory, culv_vk_buffer_bind_vmm(lying, buffer, allocation, 2 * VMM_MIB, &memory),
                INVALID, DEDICATED, "at offset 0");
    VMM_REFUSES(memory, culv_vk_buffer_bind_vmm(lying, buffer, allocation, 0, &memory), INVALID,
                DEDICATED, "but the VMM allocation has 4194304");
    vkDestroyBuffer(s->w.vk.device, buffer, NULL);
    buffer = vmm_stage_buffer(s, 4 * VMM_MIB, 0);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.buffer = buffer;
    VMM_REFUSES(memory, culv_vk_memory_from_vmm(lying, allocation, &d, &memory), INVALID,
                DEDICATED);
    d.dedicated = VK_TRUE;
    lib_saw_dedicated = false;
    LIB_OK(culv_vk_memory_from_vmm(lying, allocation, &d, &memory));
    REQUIRE(lib_saw_dedicated);
    vkFreeMemory(s->w.vk.device, memory, NULL);
    lib_saw_dedicated = false;
    LIB_OK(culv_vk_buffer_bind_vmm(lying, buffer, allocation, 0, &memory));
    REQUIRE(lib_saw_dedicated);
    vmm_stage_require_same(s, buffer, at, 4 * VMM_MIB, 20);
    vmm_stage_drop(s, &buffer, &memory);
    culv_vmm_allocation_destroy(&allocation);
    vmm_stage_unmap(&range);
    culv_vk_detach(&lying);
}

/* A VkDevice without the extension by which handles come in. */
VMM_CASE(not_enabled)
{
    culv_vk_device *poor = NULL;
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    lib_lying = (lib_lies){.missing = "vkGetMemoryFdKHR"};
    vd.get_instance_proc_addr = lib_lying_loader;
    vd.fallback = CULV_FALLBACK_ANY;
    LIB_OK(culv_vk_attach(s->w.device, &vd, &poor));
    culv_vmm_allocation *allocation = vmm_stage_allocate(s, 2 * VMM_MIB);
    VkDeviceMemory out;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(poor, allocation, NULL, &out), UNSUPPORTED,
                EXTENSION_MISSING);
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_detach(&poor);
}
