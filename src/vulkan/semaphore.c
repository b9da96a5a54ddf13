/* SPDX-License-Identifier: MIT */
/* Vulkan semaphores in CUDA: the caller's own, and those that Culvert makes. */
#include "vulkan/vk_resource.h"

/* Timelines on the host ------------------------------------------------------------------------ */

bool culvi_vk_reads_timelines(const culv_vk_device *vk)
{
    return vk->table.vkGetSemaphoreCounterValue != NULL;
}

culv_result culvi_vk_refuse_timelines(const culv_vk_device *vk, const char *label)
{
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice has no timeline semaphores; create it with Vulkan 1.2 or VK_KHR_timeline_semaphore, and with the feature timelineSemaphore");
}

culv_result culvi_vk_check_host_timelines(const culv_vk_device *vk, const char *label)
{
    if (culvi_vk_reads_timelines(vk) && vk->table.vkWaitSemaphores != NULL &&
        vk->table.vkSignalSemaphore != NULL)
        return CULV_OK;
    return culvi_vk_refuse_timelines(vk, label);
}

int culvi_vk_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    return vk->table.vkGetSemaphoreCounterValue(vk->vk_device, (VkSemaphore)semaphore, out);
}

int culvi_vk_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                           uint64_t timeout_ns)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    const VkSemaphore handle = (VkSemaphore)semaphore;
    const VkSemaphoreWaitInfo info = {CULVI_STYPE(SEMAPHORE_WAIT_INFO), .semaphoreCount = 1,
                                      .pSemaphores = &handle, .pValues = &value};
    return vk->table.vkWaitSemaphores(vk->vk_device, &info, timeout_ns);
}

int culvi_vk_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    const VkSemaphoreSignalInfo info = {CULVI_STYPE(SEMAPHORE_SIGNAL_INFO),
                                        .semaphore = (VkSemaphore)semaphore, .value = value};
    return vk->table.vkSignalSemaphore(vk->vk_device, &info);
}

/* Semaphores ----------------------------------------------------------------------------------- */

static culv_result check_exportable(const culv_vk_device *vk, const char *label,
                                    VkSemaphoreType type)
{
    if (culvi_vk_semaphore_exportable(&vk->instance, vk->physical_device, type)) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
        "'%s' exports no %s semaphores by an opaque handle (vkGetPhysicalDeviceExternalSemaphoreProperties); use a %s",
        vk->base.name, type == VK_SEMAPHORE_TYPE_TIMELINE ? "timeline" : "binary",
        type == VK_SEMAPHORE_TYPE_TIMELINE ? "binary one" : "timeline");
}

culv_result culv_vk_semaphore_import(culv_vk_device *vk, const culv_vk_semaphore_desc *desc,
                                     culv_semaphore **out)
{
    CULVI_REQUIRE_WITH2(vk, vk->voice, desc, out);
    CULVI_READ(vk->voice, culv_vk_semaphore_desc, d, desc);
    CULVI_REFUSE_IF(d.semaphore == VK_NULL_HANDLE, vk->voice, d.label, CULV_REASON_NULL_ARGUMENT,
                    "culv_vk_semaphore_desc.semaphore is VK_NULL_HANDLE");
    const bool binary = d.type == CULV_SEMAPHORE_BINARY;
    /* Asked first: a driver that exports none of that type may crash when it is to. What there is
     * no such type or extension for is refused for that. */
    if (culvi_vk_exports_semaphores(vk) && (binary || d.type == CULV_SEMAPHORE_TIMELINE))
        CULVI_TRY(check_exportable(vk, d.label,
                                   binary ? VK_SEMAPHORE_TYPE_BINARY : VK_SEMAPHORE_TYPE_TIMELINE));
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.type = d.type;
    import.signal_pending = d.signal_pending;
    import.untracked = d.untracked;
    import.label = d.label;
    return culvi_graphics_import_semaphore(&vk->base, (uint64_t)d.semaphore, &import,
                                           "culv_vk_semaphore_desc", out);
}

culv_result culvi_vk_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                    bool exportable, uint64_t *out)
{
    culv_vk_device *vk = culvi_vk_of(graphics);
    VkSemaphore made = VK_NULL_HANDLE;
    VkSemaphoreType type =
        plan->type == CULV_SEMAPHORE_BINARY ? VK_SEMAPHORE_TYPE_BINARY : VK_SEMAPHORE_TYPE_TIMELINE;
    if (type == VK_SEMAPHORE_TYPE_TIMELINE && !culvi_vk_reads_timelines(vk))
        return culvi_vk_refuse_timelines(vk, plan->label);
    if (exportable) CULVI_TRY(check_exportable(vk, plan->label, type));
    VkSemaphoreTypeCreateInfo kind = {CULVI_STYPE(SEMAPHORE_TYPE_CREATE_INFO),
                                      .semaphoreType = type, .initialValue = plan->initial_value};
    VkExportSemaphoreCreateInfo export_info = {
        CULVI_STYPE(EXPORT_SEMAPHORE_CREATE_INFO),
        .pNext = type == VK_SEMAPHORE_TYPE_TIMELINE ? &kind : NULL,
        .handleTypes = (VkExternalSemaphoreHandleTypeFlags)culvi_vk_semaphore_handle_bit(
            (culv_handle_type)CULVI_HANDLE_OPAQUE)};
    VkSemaphoreCreateInfo info = {CULVI_STYPE(SEMAPHORE_CREATE_INFO),
                                  .pNext = exportable ? &export_info : export_info.pNext};
    VkResult r = CULVI_VK(vk, vkCreateSemaphore, (vk->vk_device, &info, vk->callbacks, &made));
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, plan->label, r, "vkCreateSemaphore",
                               "%s semaphore could not be made",
                               exportable ? "an exportable" : "a");
    *out = (uint64_t)made;
    return CULV_OK;
}

void culvi_vk_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    CULVI_VK_DO(vk, vkDestroySemaphore, (vk->vk_device, (VkSemaphore)semaphore, vk->callbacks));
}

culv_result culv_vk_semaphore_create(culv_vk_device *vk, const culv_vk_semaphore_create_desc *desc,
                                     culv_shared_semaphore **out)
{
    CULVI_REQUIRE_WITH(vk, vk->voice, out);
    CULVI_READ(vk->voice, culv_vk_semaphore_create_desc, d, desc);
    culvi_semaphore_plan plan = {.label = d.label,
                                 .desc_name = "culv_vk_semaphore_create_desc",
                                 .fallback = d.fallback,
                                 .type = d.type,
                                 .initial_value = d.initial_value,
                                 .untracked = d.untracked != 0};
    return culvi_shared_semaphore_create(&vk->base, &plan, out);
}

VkSemaphore culv_vk_semaphore_handle(const culv_shared_semaphore *semaphore)
{
    return (VkSemaphore)culvi_semaphore_half(semaphore, &culvi_vk_api);
}
