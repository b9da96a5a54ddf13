/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: memory, resources, semaphores, fences and their descriptors. */
#include "vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver is asked between these. A call within a call is not the program's. */
#define BEGIN(handle)                                                                              \
    const check_vk_device *d = check_vk_find(handle);                                              \
    const bool own = check_inside++ == 0;
#define END check_inside--

static void look_for_loss(bool own, VkResult result)
{
    check_model *m = result == VK_ERROR_DEVICE_LOST ? open_if(own) : NULL;
    if (m == NULL) return;
    check_model_lost(m);
    check_close();
}

/* ---- memory ---- */

VkResult VKAPI_CALL check_vkAllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *info,
                                           const VkAllocationCallbacks *callbacks,
                                           VkDeviceMemory *out)
{
    BEGIN(handle)
    const VkExportMemoryAllocateInfo *exported =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkImportMemoryFdInfoKHR *imported =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    const VkMemoryDedicatedAllocateInfo *dedicated =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    if (imported != NULL && imported->handleType == 0) imported = NULL;
    check_site site = {0};
    check_payload *p = NULL;
    check_model *m = NULL;
    if (own && (exported != NULL || imported != NULL)) site = check_here("vkAllocateMemory");
    m = imported != NULL ? open_if(own) : NULL;
    if (m != NULL) {
        const check_identity now = check_identify(imported->fd);
        p = check_fd_asked(m, imported->fd, &now, &site);
        check_payload_keep(p);
        check_close();
    }
    const VkResult result = d->next.AllocateMemory(handle, info, callbacks, out);
    m = site.call != NULL ? open_if(own) : NULL;
    if (m != NULL) {
        if (imported != NULL && check_fd_is(m, imported->fd, p))
            check_fd_taken(m, imported->fd, result == VK_SUCCESS, &site);
        if (result == VK_SUCCESS && p == NULL) {
            char object[64];
            const check_payload_info made = {.kind = CHECK_MEMORY,
                                             .size = info->allocationSize,
                                             .uuid = d->has_uuid ? d->uuid : NULL,
                                             .shared = true,
                                             .foreign = imported != NULL,
                                             .dedicated = dedicated != NULL &&
                                                          (dedicated->buffer != VK_NULL_HANDLE ||
                                                           dedicated->image != VK_NULL_HANDLE)};
            (void)snprintf(object, sizeof object, "VkDeviceMemory 0x%llx",
                           (unsigned long long)CHECK_KEY(*out));
            p = check_payload_make(m, &made, object, &site);
        }
        if (result == VK_SUCCESS)
            check_payload_drop(m, check_put(CHECK_OF_VK_MEMORY, CHECK_KEY(*out), p));
        else
            check_payload_drop(m, p);
        check_close();
    }
    END;
    return result;
}

void VKAPI_CALL check_vkFreeMemory(VkDevice handle, VkDeviceMemory memory,
                                   const VkAllocationCallbacks *callbacks)
{
    BEGIN(handle)
    check_model *m = memory != VK_NULL_HANDLE ? open_if(own) : NULL;
    if (m != NULL) {
        check_payload_drop(m, check_put(CHECK_OF_VK_MEMORY, CHECK_KEY(memory), NULL));
        check_close();
    }
    d->next.FreeMemory(handle, memory, callbacks);
    END;
}

VkResult VKAPI_CALL check_vkGetMemoryFdKHR(VkDevice handle, const VkMemoryGetFdInfoKHR *info,
                                           int *out)
{
    BEGIN(handle)
    const VkResult result = d->next.GetMemoryFdKHR(handle, info, out);
    const check_site site = check_here("vkGetMemoryFdKHR");
    check_model *m = result == VK_SUCCESS ? open_if(own) : NULL;
    if (m != NULL) {
        const check_identity identity = check_identify(*out);
        check_payload *p = check_get(CHECK_OF_VK_MEMORY, CHECK_KEY(info->memory));
        check_payload_typed(p, (uint32_t)info->handleType);
        check_fd_born(m, *out, p, &identity, &site);
        check_close();
    }
    END;
    return result;
}

/* ---- buffers and images ---- */

static void resource_made(bool own, unsigned kind, uint64_t key, uint64_t size, VkSharingMode mode)
{
    check_model *m = open_if(own);
    check_resource *r = m != NULL ? calloc(1, sizeof *r) : NULL;
    if (r != NULL) {
        r->size = size;
        r->exclusive = mode == VK_SHARING_MODE_EXCLUSIVE;
        free(check_put(kind, key, r));
    }
    if (m != NULL) check_close();
}

static void resource_gone(bool own, unsigned kind, uint64_t key)
{
    check_model *m = key != 0 ? open_if(own) : NULL;
    if (m == NULL) return;
    check_resource *r = check_put(kind, key, NULL);
    if (r != NULL) {
        check_picture_gone(m, r->payload, r->image);
        check_payload_drop(m, r->payload);
    }
    free(r);
    check_close();
}

static void resource_bound(bool own, unsigned kind, uint64_t key, VkDeviceMemory memory,
                           uint64_t offset, uint64_t size)
{
    check_model *m = open_if(own);
    if (m == NULL) return;
    check_resource *r = check_get(kind, key);
    if (r != NULL) {
        check_payload *p = check_get(CHECK_OF_VK_MEMORY, CHECK_KEY(memory));
        check_payload_keep(p);
        check_payload_drop(m, r->payload);
        r->payload = p;
        r->offset = offset;
        if (size != 0) r->size = size;
        if (r->image != 0) check_picture_made(m, p, r->image, offset, r->size, r->stored);
    }
    check_close();
}

VkResult VKAPI_CALL check_vkCreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                                         const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    BEGIN(handle)
    const VkResult result = d->next.CreateBuffer(handle, info, callbacks, out);
    if (result == VK_SUCCESS &&
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO) !=
            NULL)
        resource_made(own, CHECK_OF_VK_BUFFER, CHECK_KEY(*out), info->size, info->sharingMode);
    END;
    return result;
}

void VKAPI_CALL check_vkDestroyBuffer(VkDevice handle, VkBuffer buffer,
                                      const VkAllocationCallbacks *callbacks)
{
    BEGIN(handle)
    resource_gone(own, CHECK_OF_VK_BUFFER, CHECK_KEY(buffer));
    d->next.DestroyBuffer(handle, buffer, callbacks);
    END;
}

VkResult VKAPI_CALL check_vkBindBufferMemory(VkDevice handle, VkBuffer buffer,
                                             VkDeviceMemory memory, VkDeviceSize offset)
{
    BEGIN(handle)
    const VkResult result = d->next.BindBufferMemory(handle, buffer, memory, offset);
    if (result == VK_SUCCESS)
        resource_bound(own, CHECK_OF_VK_BUFFER, CHECK_KEY(buffer), memory, offset, 0);
    END;
    return result;
}

VkResult VKAPI_CALL check_vkBindBufferMemory2(VkDevice handle, uint32_t count,
                                              const VkBindBufferMemoryInfo *infos)
{
    BEGIN(handle)
    const VkResult result = d->next.BindBufferMemory2(handle, count, infos);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        resource_bound(own, CHECK_OF_VK_BUFFER, CHECK_KEY(infos[i].buffer), infos[i].memory,
                       infos[i].memoryOffset, 0);
    END;
    return result;
}

/* Layouts are followed where all writes of Vulkan are commands that are seen, or shaders. */
static void image_made(bool own, VkImage image, const VkImageCreateInfo *info)
{
    const VkImageUsageFlags known =
        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
        VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
    resource_made(own, CHECK_OF_VK_IMAGE, CHECK_KEY(image), 1, info->sharingMode);
    check_model *m = open_if(own);
    check_resource *r = m != NULL ? check_get(CHECK_OF_VK_IMAGE, CHECK_KEY(image)) : NULL;
    if (r != NULL && info->tiling == VK_IMAGE_TILING_OPTIMAL && (info->usage & ~known) == 0) {
        r->image = CHECK_KEY(image);
        r->levels = info->mipLevels;
        r->layers = info->arrayLayers;
        r->stored = (info->usage & VK_IMAGE_USAGE_STORAGE_BIT) != 0;
    }
    if (m != NULL) check_close();
}

VkResult VKAPI_CALL check_vkCreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                        const VkAllocationCallbacks *callbacks, VkImage *out)
{
    BEGIN(handle)
    const VkResult result = d->next.CreateImage(handle, info, callbacks, out);
    if (result == VK_SUCCESS &&
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) != NULL)
        image_made(own, *out, info);
    END;
    return result;
}

void VKAPI_CALL check_vkDestroyImage(VkDevice handle, VkImage image,
                                     const VkAllocationCallbacks *callbacks)
{
    BEGIN(handle)
    resource_gone(own, CHECK_OF_VK_IMAGE, CHECK_KEY(image));
    d->next.DestroyImage(handle, image, callbacks);
    END;
}

static uint64_t image_size(const check_vk_device *d, VkImage image)
{
    VkMemoryRequirements needs;
    d->next.GetImageMemoryRequirements(d->handle, image, &needs);
    return needs.size;
}

VkResult VKAPI_CALL check_vkBindImageMemory(VkDevice handle, VkImage image, VkDeviceMemory memory,
                                            VkDeviceSize offset)
{
    BEGIN(handle)
    const VkResult result = d->next.BindImageMemory(handle, image, memory, offset);
    if (result == VK_SUCCESS)
        resource_bound(own, CHECK_OF_VK_IMAGE, CHECK_KEY(image), memory, offset,
                       image_size(d, image));
    END;
    return result;
}

VkResult VKAPI_CALL check_vkBindImageMemory2(VkDevice handle, uint32_t count,
                                             const VkBindImageMemoryInfo *infos)
{
    BEGIN(handle)
    const VkResult result = d->next.BindImageMemory2(handle, count, infos);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        /* The planes of a disjoint image lie apart; of those nothing is followed. */
        if (check_vk_in_chain(infos[i].pNext, VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO))
            continue;
        resource_bound(own, CHECK_OF_VK_IMAGE, CHECK_KEY(infos[i].image), infos[i].memory,
                       infos[i].memoryOffset, image_size(d, infos[i].image));
    }
    END;
    return result;
}

VkResult VKAPI_CALL check_vkCreateImageView(VkDevice handle, const VkImageViewCreateInfo *info,
                                            const VkAllocationCallbacks *callbacks,
                                            VkImageView *out)
{
    BEGIN(handle)
    const VkResult result = d->next.CreateImageView(handle, info, callbacks, out);
    check_model *m = result == VK_SUCCESS ? open_if(own) : NULL;
    if (m != NULL) {
        /* Views of what is not shared are not kept. */
        const check_resource *r = check_get(CHECK_OF_VK_IMAGE, CHECK_KEY(info->image));
        const bool shared = r != NULL;
        const bool part = shared && !check_vk_is_whole(r, &info->subresourceRange);
        (void)check_put(CHECK_OF_VK_PART, CHECK_KEY(*out), part ? (void *)1 : NULL);
        (void)check_put(CHECK_OF_VK_VIEW, CHECK_KEY(*out),
                        shared ? (void *)(uintptr_t)CHECK_KEY(info->image) : NULL);
        check_close();
    }
    END;
    return result;
}

void VKAPI_CALL check_vkDestroyImageView(VkDevice handle, VkImageView view,
                                         const VkAllocationCallbacks *callbacks)
{
    BEGIN(handle)
    check_model *m = view != VK_NULL_HANDLE ? open_if(own) : NULL;
    if (m != NULL) {
        (void)check_put(CHECK_OF_VK_VIEW, CHECK_KEY(view), NULL);
        (void)check_put(CHECK_OF_VK_PART, CHECK_KEY(view), NULL);
        check_close();
    }
    d->next.DestroyImageView(handle, view, callbacks);
    END;
}

VkResult VKAPI_CALL check_vkSetDebugUtilsObjectNameEXT(VkDevice handle,
                                                       const VkDebugUtilsObjectNameInfoEXT *info)
{
    BEGIN(handle)
    check_model *m = open_if(own);
    if (m != NULL) {
        const check_resource *r = NULL;
        if (info->objectType == VK_OBJECT_TYPE_DEVICE_MEMORY)
            check_payload_name(check_get(CHECK_OF_VK_MEMORY, info->objectHandle),
                               info->pObjectName);
        else if (info->objectType == VK_OBJECT_TYPE_SEMAPHORE)
            check_payload_name(check_get(CHECK_OF_VK_SEMAPHORE, info->objectHandle),
                               info->pObjectName);
        else if (info->objectType == VK_OBJECT_TYPE_BUFFER)
            r = check_get(CHECK_OF_VK_BUFFER, info->objectHandle);
        else if (info->objectType == VK_OBJECT_TYPE_IMAGE)
            r = check_get(CHECK_OF_VK_IMAGE, info->objectHandle);
        if (r != NULL) check_payload_name(r->payload, info->pObjectName);
        check_close();
    }
    /* A program that did not enable the extension may have the loader's function, by the instance
     * (libplacebo): it does nothing then. */
    const VkResult result = d->next.SetDebugUtilsObjectNameEXT == NULL
                                ? VK_SUCCESS
                                : d->next.SetDebugUtilsObjectNameEXT(handle, info);
    END;
    return result;
}

/* ---- semaphores ---- */

VkResult VKAPI_CALL check_vkCreateSemaphore(VkDevice handle, const VkSemaphoreCreateInfo *info,
                                            const VkAllocationCallbacks *callbacks,
                                            VkSemaphore *out)
{
    BEGIN(handle)
    const VkSemaphoreTypeCreateInfo *type =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    const VkExportSemaphoreCreateInfo *exported =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    const check_site site = check_here("vkCreateSemaphore");
    const VkResult result = d->next.CreateSemaphore(handle, info, callbacks, out);
    check_model *m = result == VK_SUCCESS ? open_if(own) : NULL;
    if (m != NULL) {
        const bool timeline = type != NULL && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
        if (timeline && !d->timelines)
            check_note(
                "vkCreateDevice did not enable the feature timelineSemaphore, which timelines "
                "need (with Culvert: culv_vk_merge_device_features())");
        char object[64];
        (void)snprintf(object, sizeof object, "VkSemaphore 0x%llx",
                       (unsigned long long)CHECK_KEY(*out));
        const check_payload_info made = {.kind = timeline ? CHECK_TIMELINE : CHECK_BINARY,
                                         .value = timeline ? type->initialValue : 0,
                                         .uuid = d->has_uuid ? d->uuid : NULL,
                                         .shared = exported != NULL && exported->handleTypes != 0};
        check_payload_drop(m, check_put(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(*out),
                                        check_payload_make(m, &made, object, &site)));
        check_close();
    }
    END;
    return result;
}

void VKAPI_CALL check_vkDestroySemaphore(VkDevice handle, VkSemaphore semaphore,
                                         const VkAllocationCallbacks *callbacks)
{
    BEGIN(handle)
    const check_site site = check_here("vkDestroySemaphore");
    check_model *m = semaphore != VK_NULL_HANDLE ? open_if(own) : NULL;
    if (m != NULL) {
        check_payload *p = check_put(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(semaphore), NULL);
        check_destroying(m, p, CHECK_VULKAN, &site);
        check_payload_drop(m, p);
        check_close();
    }
    d->next.DestroySemaphore(handle, semaphore, callbacks);
    END;
}

VkResult VKAPI_CALL check_vkGetSemaphoreFdKHR(VkDevice handle, const VkSemaphoreGetFdInfoKHR *info,
                                              int *out)
{
    BEGIN(handle)
    const VkResult result = d->next.GetSemaphoreFdKHR(handle, info, out);
    const check_site site = check_here("vkGetSemaphoreFdKHR");
    check_model *m = result == VK_SUCCESS ? open_if(own) : NULL;
    if (m != NULL) {
        check_payload *p = check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->semaphore));
        const check_identity identity = check_identify(*out);
        if (info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT) {
            check_payload_typed(p, (uint32_t)info->handleType);
            check_fd_born(m, *out, p, &identity, &site);
        } else {
            check_payload_opaque(p); /* a file that has the state of now alone */
            check_fd_forget(m, *out);
        }
        check_close();
    }
    END;
    return result;
}

VkResult VKAPI_CALL check_vkImportSemaphoreFdKHR(VkDevice handle,
                                                 const VkImportSemaphoreFdInfoKHR *info)
{
    BEGIN(handle)
    const check_site site = check_here("vkImportSemaphoreFdKHR");
    check_payload *p = NULL;
    check_model *m = open_if(own);
    if (m != NULL) {
        const check_identity now = check_identify(info->fd);
        p = check_fd_asked(m, info->fd, &now, &site);
        check_payload_keep(p);
        check_close();
    }
    const VkResult result = d->next.ImportSemaphoreFdKHR(handle, info);
    m = open_if(own);
    if (m != NULL) {
        if (check_fd_is(m, info->fd, p)) check_fd_taken(m, info->fd, result == VK_SUCCESS, &site);
        if (result == VK_SUCCESS && p != NULL && info->flags == 0)
            check_payload_drop(m, check_put(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->semaphore), p));
        else {
            if (result == VK_SUCCESS)
                check_payload_opaque(check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->semaphore)));
            check_payload_drop(m, p);
        }
        check_close();
    }
    END;
    return result;
}

VkResult VKAPI_CALL check_vkSignalSemaphore(VkDevice handle, const VkSemaphoreSignalInfo *info)
{
    BEGIN(handle)
    const uint64_t since = check_trace_now();
    const check_site site = check_here("vkSignalSemaphore");
    check_model *m = open_if(own);
    if (m != NULL) {
        check_host_signals(m, check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->semaphore)),
                           info->value, &site);
        check_close();
    }
    const VkResult result = d->next.SignalSemaphore(handle, info);
    if (own) check_trace_call("vkSignalSemaphore", since);
    look_for_loss(own, result);
    m = result != VK_SUCCESS ? open_if(own) : NULL;
    if (m != NULL) {
        check_payload_opaque(check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->semaphore)));
        check_close();
    }
    END;
    return result;
}

VkResult VKAPI_CALL check_vkWaitSemaphores(VkDevice handle, const VkSemaphoreWaitInfo *info,
                                           uint64_t timeout)
{
    BEGIN(handle)
    check_payload *first = NULL;
    check_model *asked = info->semaphoreCount == 1 ? open_if(own) : NULL;
    if (asked != NULL) {
        first = check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->pSemaphores[0]));
        check_close();
    }
    const int slot = own && timeout > 0
                         ? check_wait_begin("vkWaitSemaphores", first,
                                            info->semaphoreCount == 1 ? info->pValues[0] : 0)
                         : -1;
    const VkResult result = d->next.WaitSemaphores(handle, info, timeout);
    check_wait_end(slot);
    look_for_loss(own, result);
    const bool all = (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) == 0 || info->semaphoreCount == 1;
    for (uint32_t i = 0; result == VK_SUCCESS && i < info->semaphoreCount; i++) {
        uint64_t value = info->pValues[i];
        if (!all &&
            (d->next.GetSemaphoreCounterValue(handle, info->pSemaphores[i], &value) != VK_SUCCESS ||
             value < info->pValues[i]))
            continue;
        check_model *m = open_if(own);
        if (m == NULL) break;
        check_host_saw_value(m, check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(info->pSemaphores[i])),
                             value);
        check_close();
    }
    END;
    return result;
}

VkResult VKAPI_CALL check_vkGetSemaphoreCounterValue(VkDevice handle, VkSemaphore semaphore,
                                                     uint64_t *out)
{
    BEGIN(handle)
    const VkResult result = d->next.GetSemaphoreCounterValue(handle, semaphore, out);
    look_for_loss(own, result);
    check_model *m = result == VK_SUCCESS ? open_if(own) : NULL;
    if (m != NULL) {
        check_host_saw_value(m, check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(semaphore)), *out);
        check_close();
    }
    END;
    return result;
}

/* ---- fences ---- */

static void saw_fence(bool own, VkFence fence)
{
    check_model *m = open_if(own);
    if (m == NULL) return;
    check_host_saw_mark(m, check_get(CHECK_OF_VK_FENCE, CHECK_KEY(fence)));
    check_close();
}

VkResult VKAPI_CALL check_vkWaitForFences(VkDevice handle, uint32_t count, const VkFence *fences,
                                          VkBool32 all, uint64_t timeout)
{
    BEGIN(handle)
    const int slot = own && timeout > 0 ? check_wait_begin("vkWaitForFences", NULL, 0) : -1;
    const VkResult result = d->next.WaitForFences(handle, count, fences, all, timeout);
    check_wait_end(slot);
    look_for_loss(own, result);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        if (all || count == 1 || d->next.GetFenceStatus(handle, fences[i]) == VK_SUCCESS)
            saw_fence(own, fences[i]);
    END;
    return result;
}

VkResult VKAPI_CALL check_vkGetFenceStatus(VkDevice handle, VkFence fence)
{
    BEGIN(handle)
    const VkResult result = d->next.GetFenceStatus(handle, fence);
    look_for_loss(own, result);
    if (result == VK_SUCCESS) saw_fence(own, fence);
    END;
    return result;
}

void VKAPI_CALL check_vkDestroyFence(VkDevice handle, VkFence fence,
                                     const VkAllocationCallbacks *callbacks)
{
    BEGIN(handle)
    check_model *m = fence != VK_NULL_HANDLE ? open_if(own) : NULL;
    if (m != NULL) {
        check_mark_drop(check_put(CHECK_OF_VK_FENCE, CHECK_KEY(fence), NULL));
        check_close();
    }
    d->next.DestroyFence(handle, fence, callbacks);
    END;
}
