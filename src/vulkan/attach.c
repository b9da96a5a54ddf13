/* SPDX-License-Identifier: MIT */
/* culv_vk_device: the caller's VkDevice, attached. */
#include "graphics/graphics_ring.h"
#include "vulkan/vk_resource.h"

#include <stdio.h>

/* The members of culvi_vk_table, one after another, each behind whether it is required. */
#define REQUIRED "!"
#define OPTIONAL "?"
static const char procs[] =
#define CULV_VK_INSTANCE(name, need)
#define CULV_VK_DEVICE(name, need) need #name "\0"
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
    ;

static culv_result load_device(culv_vk_device *vk, const culvi_voice *voice, uint32_t api_version)
{
    char *at = (char *)&vk->table;
    for (const char *name = procs; name[0] != '\0'; name += strlen(name) + 1) {
        const PFN_vkVoidFunction found = vk->instance.vkGetDeviceProcAddr(vk->vk_device, name + 1);
        memcpy(at, &found, sizeof found);
        at += sizeof found;
        CULVI_REFUSE_IF(found == NULL && name[0] == '!', voice, vk->base.label,
                        CULV_REASON_VULKAN_VERSION, "the VkDevice lacks %s, which Vulkan 1.1 has",
                        name + 1);
    }
    CULVI_REFUSE_IF(
        api_version >= VK_API_VERSION_1_3 &&
            vk->instance.vkGetDeviceProcAddr(vk->vk_device, "vkCmdPipelineBarrier2") == NULL,
        voice, vk->base.label, CULV_REASON_VULKAN_VERSION,
        "culv_vk_device_desc.api_version is 1.3, and the VkDevice lacks vkCmdPipelineBarrier2: functions of Vulkan 1.3 are NULL if the VkInstance is older; create it with VkApplicationInfo::apiVersion 1.3");
    culvi_vk_table *t = &vk->table;
    /* Some drivers hand core functions out that the instance's version does not have. */
    if (api_version < VK_API_VERSION_1_3) {
        t->vkGetDeviceBufferMemoryRequirements = t->vkGetDeviceBufferMemoryRequirementsKHR;
        t->vkGetDeviceImageMemoryRequirements = t->vkGetDeviceImageMemoryRequirementsKHR;
    }
    if (api_version < VK_API_VERSION_1_2)
        t->vkGetBufferDeviceAddress = t->vkGetBufferDeviceAddressKHR;
    if (t->vkGetSemaphoreCounterValue == NULL)
        t->vkGetSemaphoreCounterValue = t->vkGetSemaphoreCounterValueKHR;
    if (t->vkWaitSemaphores == NULL) t->vkWaitSemaphores = t->vkWaitSemaphoresKHR;
    if (t->vkSignalSemaphore == NULL) t->vkSignalSemaphore = t->vkSignalSemaphoreKHR;
    if (t->vkQueueSubmit2 == NULL) t->vkQueueSubmit2 = t->vkQueueSubmit2KHR;
    vk->kernels = vk->how.kernels != 0 && t->vkCmdCuLaunchKernelNVX != NULL &&
                  t->vkGetImageViewHandleNVX != NULL && t->vkGetBufferDeviceAddress != NULL;
    vk->tells_needs = t->vkGetDeviceBufferMemoryRequirements != NULL &&
                      t->vkGetDeviceImageMemoryRequirements != NULL;
    return CULV_OK;
}

/* What the gate goes by and nobody changes. */
static void ask_physical_device(culv_vk_device *vk)
{
    VkPhysicalDeviceMaintenance4Properties maintenance4 = {
        CULVI_STYPE(PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES)};
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        CULVI_STYPE(PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT)};
    VkPhysicalDeviceProperties2 properties = {CULVI_STYPE(PHYSICAL_DEVICE_PROPERTIES_2)};
    bool takes_pages = vk->table.vkGetMemoryHostPointerPropertiesEXT != NULL;
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceProperties,
                 (vk->physical_device, &vk->properties));
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceMemoryProperties,
                 (vk->physical_device, &vk->memory_types));
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceQueueFamilyProperties,
                 (vk->physical_device, &vk->queue_families, NULL));
    VkQueueFamilyProperties families[64];
    uint32_t known = vk->queue_families < 64 ? vk->queue_families : 64;
    if (vk->kernels)
        CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceQueueFamilyProperties,
                     (vk->physical_device, &known, families));
    for (uint32_t i = 0; vk->kernels && i < known; i++)
        if (families[i].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
            vk->kernel_families |= UINT64_C(1) << i;
    if (vk->tells_needs) properties.pNext = &maintenance4;
    if (takes_pages) {
        host.pNext = properties.pNext;
        properties.pNext = &host;
    }
    if (properties.pNext != NULL)
        CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceProperties2,
                     (vk->physical_device, &properties));
    vk->max_buffer_size = maintenance4.maxBufferSize != 0 ? maintenance4.maxBufferSize : UINT64_MAX;
    VkDeviceSize page = culvi_page_size(); /* what CUDA registers */
    VkDeviceSize imported = host.minImportedHostPointerAlignment;
    if (takes_pages) vk->host_alignment = imported > page ? imported : page;
}

/* A function that is missing tells an extension that was not enabled. */
static culv_result check_extensions(culv_vk_device *vk, const culvi_voice *voice,
                                    const culv_vk_candidate *c)
{
    const char *extension = !culvi_vk_exports_memory(vk)       ? culvi_vk_memory_extension
                            : !culvi_vk_exports_semaphores(vk) ? culvi_vk_semaphore_extension
                                                               : NULL;
    if (extension == NULL || vk->how.fallback != 0) return CULV_OK;
    if (c->has_external_memory && !c->has_external_semaphore && vk->base.device->caps.is_software) {
        CULVI_TEXT(hint, 1024);
        culvi_vk_add_layer_hint(&hint);
        return culvi_fail(
            voice, vk->base.label, CULV_ERROR_INVALID, CULV_REASON_LAYER_MISSING,
            "the VkInstance of '%s' was created without the layer %s, which gives software Vulkan exportable timelines; %s. Then enable the device extension %s too",
            vk->base.name, culvi_vk_soft_layer, hint.data, extension);
    }
    return culvi_fail(
        voice, vk->base.label, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without the extension %s; enable what culv_vk_device_extensions() lists. If you cannot, because an engine made it, set culv_vk_device_desc.fallback to CULV_FALLBACK_ANY: what the device can share is shared, and the rest is copied",
        vk->base.name, extension);
}

static culv_result check_identity(culv_vk_device *vk, const culvi_voice *voice,
                                  const culv_vk_device_desc *d, const culv_vk_candidate *c)
{
    CULVI_TRY(culvi_vk_check_versions(voice, vk->base.label, c, d->api_version));
    CULVI_TRY(culvi_graphics_identify(&vk->base, d->fallback, d->allow_other_gpu != 0));
    CULVI_REFUSE_IF(
        d->num_physical_devices > 1 || (d->num_physical_devices == 0 && c->group_size > 1), voice,
        vk->base.label, CULV_REASON_DEVICE_GROUP,
        "'%s' is one of %u linked GPUs and culv_vk_device_desc.num_physical_devices is %u; memory of a device group has instances on several GPUs and CUDA would see one of them. Create the VkDevice from one physical device and set num_physical_devices to 1",
        vk->base.name, c->group_size, d->num_physical_devices);
    return CULV_OK;
}

/* What the VkDevice is and has. */
static culv_result look(culv_vk_device *vk, const culv_vk_device_desc *d)
{
    const culvi_voice *voice = vk->voice;
    culv_vk_candidate c;
    CULVI_TRY(culvi_vk_instance_load(voice, d->get_instance_proc_addr, d->instance, &vk->instance));
    CULVI_TRY(culvi_vk_examine(voice, &vk->instance, d->physical_device, &c));
    snprintf(vk->base.name, sizeof vk->base.name, "%s", c.name);
    vk->base.uuid = c.uuid;
    vk->base.luid = c.luid;
    vk->base.node_mask = c.node_mask;
    CULVI_TRY(check_identity(vk, voice, d, &c));
    const uint32_t version = d->api_version != 0 ? d->api_version : VK_API_VERSION_1_1;
    CULVI_TRY(load_device(vk, voice, version < c.api_version ? version : c.api_version));
    return check_extensions(vk, voice, &c);
}

culv_result culv_vk_attach(culv_device *device, const culv_vk_device_desc *desc,
                           culv_vk_device **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    const culvi_voice *voice = &device->voice;
    CULVI_READ(voice, culv_vk_device_desc, d, desc);
    CULVI_TRY(culvi_check_fallback(voice, d.label, "culv_vk_device_desc", d.fallback));
    CULVI_REQUIRE_FIELD(voice, culv_vk_device_desc, d, get_instance_proc_addr);
    CULVI_REQUIRE_FIELD(voice, culv_vk_device_desc, d, instance);
    CULVI_REQUIRE_FIELD(voice, culv_vk_device_desc, d, physical_device);
    CULVI_REQUIRE_FIELD(voice, culv_vk_device_desc, d, device);
    CULVI_NEW(culv_vk_device, vk, voice, d.label);
    culvi_graphics_init(&vk->base, &culvi_vk_api, device, d.label);
    vk->voice = voice;
    vk->physical_device = d.physical_device;
    vk->vk_device = d.device;
    vk->how = d;
    vk->how.label = NULL;
    if (d.allocation_callbacks != NULL) {
        vk->allocation = *d.allocation_callbacks;
        vk->how.allocation_callbacks = vk->callbacks = &vk->allocation;
    }
    CULVI_TRY_OR(look(vk, &d), culvi_free(vk));
    culvi_mutex_init(&vk->adopted_lock);
    ask_physical_device(vk);
    culvi_graphics_attached(&vk->base);
    *out = vk;
    return CULV_OK;
}

static void free_attachment(culvi_graphics *graphics)
{
    culv_vk_device *vk = culvi_vk_of(graphics);
    culvi_mutex_destroy(&vk->adopted_lock);
    culvi_free(vk);
}

static culv_result attach_again(culvi_graphics *graphics, culv_device *device, culvi_graphics **out)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    culv_vk_device *again = NULL;
    CULVI_TRY(culv_vk_attach(device, &vk->how, &again));
    *out = &again->base;
    return CULV_OK;
}

static culv_result check_exports(const culvi_graphics *graphics, const char *label, bool semaphores)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    const char *extension =
        semaphores && !culvi_vk_exports_semaphores(vk) ? culvi_vk_semaphore_extension
        : !semaphores && !culvi_vk_exports_memory(vk)  ? culvi_vk_memory_extension
                                                       : NULL;
    if (extension == NULL) return CULV_OK;
    return culvi_fail(
        &graphics->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without the extension %s, so nothing of it can be shared",
        graphics->name, extension);
}

static culv_result export_memory(const culvi_graphics *graphics, const char *label, uint64_t memory,
                                 culv_handle *out)
{
    return culvi_vk_memory_export(culvi_vk_of(graphics), label, (VkDeviceMemory)memory,
                                  (culv_handle_type)CULVI_HANDLE_OPAQUE, out);
}

static culv_result export_semaphore(const culvi_graphics *graphics, const char *label,
                                    uint64_t semaphore, culv_handle *out)
{
    return culvi_vk_semaphore_export(culvi_vk_of(graphics), label, (VkSemaphore)semaphore,
                                     (culv_handle_type)CULVI_HANDLE_OPAQUE, out);
}

static culv_result check_timelines(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    if (use != CULVI_HOST_READS) return culvi_vk_check_host_timelines(vk, label);
    return culvi_vk_reads_timelines(vk) ? CULV_OK : culvi_vk_refuse_timelines(vk, label);
}

static culv_result fail(const culvi_graphics *graphics, const char *label, int code,
                        const char *call, const char *what)
{
    return culvi_fail_vk(&graphics->device->voice, label, (VkResult)code, call,
                         CULV_REASON_DRIVER_REFUSED, "%s", what);
}

const culvi_words culvi_vk_words = {
    .api = CULV_NATIVE_VULKAN,
    .name = "Vulkan",
    .physical_device = "VkPhysicalDevice",
    .memory = "VkDeviceMemory",
    .semaphore = "VkSemaphore",
    .size = "VkMemoryAllocateInfo::allocationSize",
    .dedicated = "VkMemoryDedicatedAllocateInfo",
    .buffer_offset = "memoryOffset of vkBindBufferMemory",
    .image_offset = "memoryOffset of vkBindImageMemory",
    .plane_offset = "memoryOffset of VkBindImagePlaneMemoryInfo's bind of a DISJOINT image",
    .map_rows = "a LINEAR one by culv_vk_image_map_pitched()",
    .read_call = "vkGetSemaphoreCounterValue",
    .wait_call = "vkWaitSemaphores",
    .signal_call = "vkSignalSemaphore",
    .attach_desc = "culv_vk_device_desc",
    .cross =
        "set culv_vk_device_desc.allow_other_gpu to 1 and work on that GPU's buffers in place from this one, ",
    .open_call = "culv_device_open_for_vk",
    .memory_desc = "culv_vk_memory_desc",
    .memory_size = "allocation_size",
};

const culvi_graphics_api culvi_vk_api = {
    .words = &culvi_vk_words,
    .free = free_attachment,
    .attach_again = attach_again,
    .check_exports = check_exports,
    .export_memory = export_memory,
    .export_semaphore = export_semaphore,
    .exports_again = true,
    .plan = culvi_vk_plan_native,
    .make = culvi_vk_make,
    .unmake = culvi_vk_unmake,
    .stage = culvi_vk_stage,
    .make_semaphore = culvi_vk_make_semaphore,
    .unmake_semaphore = culvi_vk_unmake_semaphore,
    .check_timelines = check_timelines,
    .timeline_value = culvi_vk_timeline_value,
    .timeline_wait = culvi_vk_timeline_wait,
    .waits_late = true,
    .timeline_signal = culvi_vk_timeline_signal,
    .fail = fail,
};

culv_result culv_vk_device_lost(culv_vk_device *vk)
{
    CULVI_REQUIRE(NULL, vk);
    culvi_graphics_lose(&vk->base);
    return CULV_OK;
}

void culv_vk_detach(culv_vk_device **vk)
{
    CULVI_TAKE(culv_vk_device, mine, vk);
    culvi_graphics_unref(&mine->base);
}
