/* Vulkan semaphores in CUDA: the caller's own, and those that Culvert makes. SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_fallback.h"

#include <inttypes.h>

static culv_result check_type(const culv_vk *vk, const char *label, const char *desc,
                              culv_semaphore_type type, uint32_t untracked)
{
    if (type != CULV_SEMAPHORE_TIMELINE && type != CULV_SEMAPHORE_BINARY)
        return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s.type is %d; it is CULV_SEMAPHORE_TIMELINE (%d) or CULV_SEMAPHORE_BINARY (%d)",
                          desc, (int)type, (int)CULV_SEMAPHORE_TIMELINE, (int)CULV_SEMAPHORE_BINARY);
    if (type == CULV_SEMAPHORE_TIMELINE && untracked)
        return culvi_fail(&vk->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s.untracked is for binary semaphores", desc);
    return CULV_OK;
}

/* As far as the device's functions tell it. */
static culv_result check_timelines(const culv_vk *vk, const char *label)
{
    return culvi_vk_reads_timelines(vk) ? CULV_OK : culvi_vk_refuse_timelines(vk, label, CULV_ERROR_INVALID);
}

static culv_result read_counter(const culv_vk *vk, const char *label, VkSemaphore semaphore, uint64_t *out)
{
    culv_result result = check_timelines(vk, label);
    if (result != CULV_OK) return result;
    VkResult r = culvi_vk_timeline_read(vk, semaphore, out);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&vk->device->voice, label, r, "vkGetSemaphoreCounterValue",
                         CULV_REASON_DRIVER_REFUSED, "the timeline's counter could not be read");
}

/* Exports the semaphore and imports it. */
static culv_result share(culv_vk *vk, VkSemaphore semaphore, culv_semaphore_desc *import,
                         culv_semaphore **out)
{
    culv_result result = culvi_vk_semaphore_export(vk, import->label, semaphore,
                                                   (culv_handle_type)CULVI_HANDLE_OPAQUE, &import->handle);
    return result == CULV_OK ? culvi_semaphore_import_exported(vk->device, import, out) : result;
}

culv_result culv_vk_semaphore_import(culv_vk *vk, const culv_vk_semaphore_desc *desc, culv_semaphore **out)
{
    culv_vk_semaphore_desc d;
    if (vk == NULL || desc == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_semaphore_import: %s is NULL",
                          vk == NULL     ? "vk"
                          : desc == NULL ? "desc"
                                         : "out");
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_semaphore_desc");
    if (result != CULV_OK) return result;
    if (d.semaphore == VK_NULL_HANDLE)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_semaphore_desc.semaphore is VK_NULL_HANDLE");
    result = check_type(vk, d.label, "culv_vk_semaphore_desc", d.type, d.untracked);
    if (result == CULV_OK) result = culvi_vk_check_shares(vk, d.label, true);
    if (result == CULV_OK && d.type == CULV_SEMAPHORE_TIMELINE && d.signal_pending)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_semaphore_desc.signal_pending is for binary semaphores; tell of promised "
                          "values by culv_semaphore_note_value()");
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.type = d.type;
    import.signal_pending = d.signal_pending;
    import.untracked = d.untracked;
    import.label = d.label;
    if (result == CULV_OK && d.type == CULV_SEMAPHORE_TIMELINE)
        result = read_counter(vk, d.label, d.semaphore, &import.value);
    if (result != CULV_OK) return result;
    return share(vk, d.semaphore, &import, out);
}

static culv_result check_exportable(const culv_vk *vk, const char *label, VkSemaphoreType type)
{
    if (culvi_vk_semaphore_exportable(&vk->instance, vk->physical_device, type)) return CULV_OK;
    return culvi_fail(&vk->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
                      "'%s' exports no %s semaphores by an opaque handle "
                      "(vkGetPhysicalDeviceExternalSemaphoreProperties)%s",
                      vk->name, type == VK_SEMAPHORE_TYPE_TIMELINE ? "timeline" : "binary",
                      type == VK_SEMAPHORE_TYPE_TIMELINE ? "" : "; use a timeline");
}

culv_result culvi_vk_semaphore_make(culv_vk *vk, const culv_vk_semaphore_create_desc *d, bool exportable,
                                    VkSemaphore *out)
{
    VkSemaphoreType type =
        d->type == CULV_SEMAPHORE_BINARY ? VK_SEMAPHORE_TYPE_BINARY : VK_SEMAPHORE_TYPE_TIMELINE;
    culv_result result = type == VK_SEMAPHORE_TYPE_TIMELINE ? check_timelines(vk, d->label) : CULV_OK;
    if (result == CULV_OK && exportable) result = check_exportable(vk, d->label, type);
    if (result != CULV_OK) return result;
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = type,
                                      .initialValue = d->initial_value};
    VkExportSemaphoreCreateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .pNext = type == VK_SEMAPHORE_TYPE_TIMELINE ? &kind : NULL,
        .handleTypes = (VkExternalSemaphoreHandleTypeFlags)culvi_vk_semaphore_handle_bit(
            (culv_handle_type)CULVI_HANDLE_OPAQUE)};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = exportable ? &export_info : export_info.pNext};
    VkResult r = vk->table.vkCreateSemaphore(vk->vk_device, &info, NULL, out);
    if (r == VK_SUCCESS) return CULV_OK;
    *out = VK_NULL_HANDLE;
    return culvi_fail_vk(&vk->device->voice, d->label, r, "vkCreateSemaphore", CULV_REASON_DRIVER_REFUSED,
                         "%s semaphore could not be made", exportable ? "an exportable" : "a");
}

culv_result culvi_vk_semaphore_share(culv_vk_semaphore *s, const culv_vk_semaphore_create_desc *d)
{
    culv_vk *vk = s->vk;
    culv_result result = culvi_vk_check_shares(vk, d->label, true);
    if (result == CULV_OK) result = culvi_vk_semaphore_make(vk, d, true, &s->semaphore);
    if (result != CULV_OK) return result;
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.type = d->type;
    import.value = d->initial_value;
    import.untracked = d->untracked;
    import.label = d->label;
    result = share(vk, s->semaphore, &import, &s->cuda);
    if (result == CULV_OK) {
        s->cuda->owned = true;
        return CULV_OK;
    }
    vk->table.vkDestroySemaphore(vk->vk_device, s->semaphore, NULL);
    s->semaphore = VK_NULL_HANDLE;
    return result;
}

bool culvi_vk_semaphore_reached(const culv_vk *vk, VkSemaphore semaphore, uint64_t value)
{
    uint64_t now = 0;
    return culvi_vk_timeline_read(vk, semaphore, &now) == VK_SUCCESS && now >= value;
}

culv_result culv_vk_semaphore_create(culv_vk *vk, const culv_vk_semaphore_create_desc *desc,
                                     culv_vk_semaphore **out)
{
    culv_vk_semaphore_create_desc d;
    if (vk == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_vk_semaphore_create: %s is NULL",
                          vk == NULL ? "vk" : "out");
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_semaphore_create_desc");
    if (result != CULV_OK) return result;
    if (d.type == CULV_SEMAPHORE_NONE) d.type = CULV_SEMAPHORE_TIMELINE;
    result = check_type(vk, d.label, "culv_vk_semaphore_create_desc", d.type, d.untracked);
    if (result != CULV_OK) return result;
    if (d.type == CULV_SEMAPHORE_BINARY && d.initial_value != 0)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_semaphore_create_desc.initial_value is %" PRIu64
                          "; a binary semaphore begins unsignalled",
                          d.initial_value);
    culv_vk_semaphore *semaphore = culvi_alloc(sizeof *semaphore);
    if (semaphore == NULL) return culvi_fail_host_memory(voice, d.label);
    semaphore->vk = vk;
    result = d.fallback != 0 ? culvi_vk_semaphore_fall_back(semaphore, &d)
                             : culvi_vk_semaphore_share(semaphore, &d);
    if (result != CULV_OK) {
        culvi_free(semaphore);
        return result;
    }
    culvi_vk_ref(vk);
    culvi_vk_count_created(vk, true);
    *out = semaphore;
    return CULV_OK;
}

static void destroy(culv_vk_semaphore **semaphore, bool has_last_use, CUstream last_use)
{
    if (semaphore == NULL || *semaphore == NULL) return;
    culv_vk_semaphore *mine = *semaphore;
    culv_semaphore *cuda = mine->cuda;
    culv_vk *vk = mine->vk;
    /* Host functions that are on their way use it: all of it goes with CUDA's half. */
    bool used = culv_semaphore_path(cuda) == CULV_PATH_HOST;
    *semaphore = NULL;
    if (!has_last_use) culvi_relay_quiesce(cuda);
    culvi_semaphore_give_up(cuda, has_last_use, last_use);
    if (!used) {
        vk->table.vkDestroySemaphore(vk->vk_device, mine->semaphore, NULL);
        culvi_free(mine);
    }
    culvi_vk_count_created(vk, false);
    culvi_vk_unref(vk);
}

void culv_vk_semaphore_destroy(culv_vk_semaphore **semaphore)
{
    destroy(semaphore, false, NULL);
}

void culv_vk_semaphore_destroy_after(culv_vk_semaphore **semaphore, CUstream last_use)
{
    destroy(semaphore, true, last_use);
}

VkSemaphore culv_vk_semaphore_handle(const culv_vk_semaphore *semaphore)
{
    return semaphore != NULL ? semaphore->semaphore : VK_NULL_HANDLE;
}

culv_semaphore *culv_vk_semaphore_cuda(const culv_vk_semaphore *semaphore)
{
    return semaphore != NULL ? semaphore->cuda : NULL;
}
