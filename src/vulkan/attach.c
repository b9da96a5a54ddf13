/* culv_vk: the caller's VkDevice, attached. SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_fallback.h"

#include <stdio.h>
#include <string.h>

enum { REQUIRED = 1, OPTIONAL = 0 };

static culv_result load_device(culv_vk *vk, const culvi_voice *voice, uint32_t api_version)
{
#define CULV_VK_INSTANCE(name, need)
#define CULV_VK_DEVICE(name, need)                                                                           \
    vk->table.name = (PFN_##name)vk->instance.vkGetDeviceProcAddr(vk->vk_device, #name);                     \
    if (vk->table.name == NULL && (need) == REQUIRED)                                                        \
        return culvi_fail(voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_VULKAN_VERSION,                  \
                          "the VkDevice lacks %s, which Vulkan 1.1 has", #name);
#include "vulkan/vk_procs.h"
#undef CULV_VK_INSTANCE
#undef CULV_VK_DEVICE
    /* Some drivers hand core functions out that the instance's version does not have. */
    if (api_version < VK_API_VERSION_1_3) {
        vk->table.vkGetDeviceBufferMemoryRequirements = vk->table.vkGetDeviceBufferMemoryRequirementsKHR;
        vk->table.vkGetDeviceImageMemoryRequirements = vk->table.vkGetDeviceImageMemoryRequirementsKHR;
    }
    vk->tells_needs = vk->table.vkGetDeviceBufferMemoryRequirements != NULL &&
                      vk->table.vkGetDeviceImageMemoryRequirements != NULL;
    return CULV_OK;
}

/* What the gate goes by and nobody changes. */
static void ask_physical_device(culv_vk *vk)
{
    VkPhysicalDeviceMaintenance4Properties maintenance4 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    bool takes_pages = vk->table.vkGetMemoryHostPointerPropertiesEXT != NULL;
    vk->instance.vkGetPhysicalDeviceMemoryProperties(vk->physical_device, &vk->memory_types);
    vk->instance.vkGetPhysicalDeviceQueueFamilyProperties(vk->physical_device, &vk->queue_families, NULL);
    if (vk->tells_needs) properties.pNext = &maintenance4;
    if (takes_pages) {
        host.pNext = properties.pNext;
        properties.pNext = &host;
    }
    if (properties.pNext != NULL)
        vk->instance.vkGetPhysicalDeviceProperties2(vk->physical_device, &properties);
    vk->max_buffer_size = maintenance4.maxBufferSize != 0 ? maintenance4.maxBufferSize : UINT64_MAX;
    VkDeviceSize page = culvi_page_size(); /* what CUDA registers */
    VkDeviceSize imported = host.minImportedHostPointerAlignment;
    if (takes_pages) vk->host_alignment = imported > page ? imported : page;
}

/* A function that is missing tells an extension that was not enabled. */
static culv_result check_extensions(culv_vk *vk, const culvi_voice *voice, const culv_vk_candidate *c)
{
    const char *extension = !culvi_vk_exports_memory(vk)       ? culvi_vk_memory_extension
                            : !culvi_vk_exports_semaphores(vk) ? culvi_vk_semaphore_extension
                                                               : NULL;
    if (extension == NULL || vk->how.fallback != 0) return CULV_OK;
    if (c->has_external_memory_fd && !c->has_external_semaphore_fd && vk->device->caps.is_software)
        return culvi_fail(
            voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_LAYER_MISSING,
            "the VkInstance of '%s' was created without the layer %s, which gives software Vulkan "
            "exportable timelines; enable what culv_vk_instance_layers() lists, after validation layers, "
            "and then the device extension %s",
            vk->name, culvi_vk_soft_layer, extension);
    return culvi_fail(voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING,
                      "the VkDevice of '%s' was created without the extension %s; enable what "
                      "culv_vk_device_extensions() lists",
                      vk->name, extension);
}

static culv_result check_identity(culv_vk *vk, const culvi_voice *voice, const culv_vk_desc *d,
                                  const culv_vk_candidate *c)
{
    if (c->api_version < VK_API_VERSION_1_1)
        return culvi_fail(voice, vk->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VULKAN_VERSION,
                          "'%s' has Vulkan 1.0; Culvert needs 1.1, which tells a device's UUID", vk->name);
    if (d->api_version != 0 && d->api_version < VK_API_VERSION_1_1)
        return culvi_fail(voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_VULKAN_VERSION,
                          "culv_vk_desc.api_version is %u.%u; create the VkInstance with "
                          "VkApplicationInfo::apiVersion 1.1 or later",
                          VK_API_VERSION_MAJOR(d->api_version), VK_API_VERSION_MINOR(d->api_version));
    vk->foreign = !culvi_uuid_equal(&c->uuid, &vk->device->caps.uuid);
    if (vk->foreign && d->fallback == 0) {
        char buffer[512];
        culvi_text text = {buffer, sizeof buffer, 0};
        culvi_text_add(&text, "'%.120s' UUID ", vk->name);
        culvi_text_add_uuid(&text, &c->uuid);
        culvi_text_add(&text, ", but the culv_device is '%.120s' UUID ", vk->device->caps.name);
        culvi_text_add_uuid(&text, &vk->device->caps.uuid);
        return culvi_fail(
            voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
            "the VkPhysicalDevice is %s; open the device with culv_vk_device_open(), which finds the one "
            "that matches, or set culv_vk_desc.fallback for copies",
            buffer);
    }
    const culv_device_caps *caps = &vk->device->caps;
    if (!vk->foreign && !culvi_vk_same_node(c, caps->luid_valid != 0, &caps->luid, caps->node_mask))
        return culvi_fail(
            voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_GROUP,
            "'%s' is of node mask %#x among linked GPUs, and the culv_device '%s' of node mask %#x; open "
            "the device of that node (culv_device_open_by_luid())",
            vk->name, (unsigned)c->node_mask, caps->name, (unsigned)caps->node_mask);
    if (d->num_physical_devices > 1 || (d->num_physical_devices == 0 && c->group_size > 1))
        return culvi_fail(
            voice, vk->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_GROUP,
            "'%s' is one of %u linked GPUs and culv_vk_desc.num_physical_devices is %u; memory of a "
            "device group has instances on several GPUs and CUDA would see one of them. Create the "
            "VkDevice from one physical device and set num_physical_devices to 1",
            vk->name, c->group_size, d->num_physical_devices);
    return CULV_OK;
}

culv_result culv_vk_attach(culv_device *device, const culv_vk_desc *desc, culv_vk **out)
{
    culv_vk_desc d;
    culv_vk_candidate candidate;
    if (device == NULL || desc == NULL || out == NULL)
        return culvi_fail(device != NULL ? &device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_attach: %s is NULL",
                          device == NULL ? "device"
                          : desc == NULL ? "desc"
                                         : "out");
    const culvi_voice *voice = &device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_desc");
    if (result != CULV_OK) return result;
    result = culvi_vk_check_fallback(voice, d.label, "culv_vk_desc", d.fallback);
    if (result != CULV_OK) return result;
    const char *missing = d.get_instance_proc_addr == NULL ? "get_instance_proc_addr"
                          : d.instance == NULL             ? "instance"
                          : d.physical_device == NULL      ? "physical_device"
                          : d.device == NULL               ? "device"
                                                           : NULL;
    if (missing != NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_desc.%s is NULL", missing);
    culv_vk *vk = culvi_alloc(sizeof *vk);
    if (vk == NULL) return culvi_fail_host_memory(voice, d.label);
    vk->device = device;
    vk->physical_device = d.physical_device;
    vk->vk_device = d.device;
    vk->how = d;
    vk->how.label = NULL;
    culvi_label_set(vk->label, d.label);
    result = culvi_vk_instance_load(voice, d.get_instance_proc_addr, d.instance, &vk->instance);
    if (result == CULV_OK) result = culvi_vk_examine(voice, &vk->instance, d.physical_device, &candidate);
    if (result != CULV_OK) goto free_vk;
    snprintf(vk->name, sizeof vk->name, "%s", candidate.name);
    vk->uuid = candidate.uuid;
    result = check_identity(vk, voice, &d, &candidate);
    uint32_t api_version = d.api_version != 0 ? d.api_version : VK_API_VERSION_1_1;
    if (api_version > candidate.api_version) api_version = candidate.api_version;
    if (result == CULV_OK) result = load_device(vk, voice, api_version);
    if (result == CULV_OK) result = check_extensions(vk, voice, &candidate);
    if (result == CULV_OK && !culvi_mutex_init(&vk->known.lock))
        result = culvi_fail_host_memory(voice, d.label);
    if (result != CULV_OK) goto free_vk;
    ask_physical_device(vk);
    atomic_init(&vk->refs, 1);
    culvi_device_ref(device);
    culvi_mutex_lock(&device->lock);
    device->counts.attachments++;
    vk->id = ++device->attached;
    culvi_mutex_unlock(&device->lock);
    culvi_log(voice, CULV_LOG_INFO, "attached Vulkan device '%s'%s", vk->name,
              vk->foreign ? ", which is another GPU: nothing is shared with it" : "");
    *out = vk;
    return CULV_OK;

free_vk:
    culvi_free(vk);
    return result;
}

void culvi_vk_ref(culv_vk *vk)
{
    atomic_fetch_add_explicit(&vk->refs, 1, memory_order_relaxed);
}

void culvi_vk_unref(culv_vk *vk)
{
    culv_device *device = vk->device;
    if (atomic_fetch_sub_explicit(&vk->refs, 1, memory_order_acq_rel) != 1) return;
    /* What Culvert made with it makes its last Vulkan calls. */
    culvi_drain_for(device, vk);
    culv_vk_detach(&vk->peer_vk);
    culv_device *peer = NULL;
    culvi_mutex_lock(&device->lock);
    if (vk->peer != NULL) peer = culvi_peer_release(device, vk->peer);
    device->counts.attachments--;
    culvi_mutex_unlock(&device->lock);
    culv_device_close(&peer);
    culvi_mutex_destroy(&vk->known.lock);
    culvi_free(vk);
    culvi_device_unref(device);
}

void culvi_vk_count_created(culv_vk *vk, bool more)
{
    culv_device *device = vk->device;
    culvi_mutex_lock(&device->lock);
    if (more)
        device->counts.created++;
    else
        device->counts.created--;
    culvi_mutex_unlock(&device->lock);
}

void culv_vk_detach(culv_vk **vk)
{
    if (vk == NULL || *vk == NULL) return;
    culv_vk *mine = *vk;
    *vk = NULL;
    culvi_vk_unref(mine);
}
