/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: which layouts barriers and render passes give to images. */
#include "vulkan_record.h"

#include <stdlib.h>

/* The layouts of a render pass's attachments, before and after it. */
typedef struct pass {
    unsigned count;
    struct {
        VkImageLayout from, to;
    } attachments[];
} pass;

static void pass_made(VkRenderPass handle, pass *made)
{
    check_model *m = made != NULL && check_inside == 0 ? check_open() : NULL;
    if (m == NULL) {
        free(made);
        return;
    }
    free(check_put(CHECK_OF_VK_PASS, CHECK_KEY(handle), made));
    check_close();
}

#define PASS(name, type)                                                                           \
    VkResult VKAPI_CALL check_vk##name(VkDevice handle, const type *info,                          \
                                       const VkAllocationCallbacks *callbacks, VkRenderPass *out)  \
    {                                                                                              \
        const VkResult result = check_vk_find(handle)->next.name(handle, info, callbacks, out);    \
        pass *made =                                                                               \
            result == VK_SUCCESS                                                                   \
                ? calloc(1, sizeof *made + info->attachmentCount * sizeof *made->attachments)      \
                : NULL;                                                                            \
        for (uint32_t i = 0; made != NULL && i < info->attachmentCount; i++) {                     \
            made->attachments[i].from = info->pAttachments[i].initialLayout;                       \
            made->attachments[i].to = info->pAttachments[i].finalLayout;                           \
            made->count++;                                                                         \
        }                                                                                          \
        if (made != NULL) pass_made(*out, made);                                                   \
        return result;                                                                             \
    }
PASS(CreateRenderPass, VkRenderPassCreateInfo)
PASS(CreateRenderPass2, VkRenderPassCreateInfo2)

void VKAPI_CALL check_vkDestroyRenderPass(VkDevice handle, VkRenderPass gone,
                                          const VkAllocationCallbacks *callbacks)
{
    check_model *m = gone != VK_NULL_HANDLE && check_inside == 0 ? check_open() : NULL;
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_PASS, CHECK_KEY(gone), NULL));
        check_close();
    }
    check_vk_find(handle)->next.DestroyRenderPass(handle, gone, callbacks);
}

bool check_vk_is_whole(const check_resource *r, const VkImageSubresourceRange *part)
{
    return part->baseMipLevel == 0 && part->baseArrayLayer == 0 &&
           (part->levelCount == VK_REMAINING_MIP_LEVELS || part->levelCount == r->levels) &&
           (part->layerCount == VK_REMAINING_ARRAY_LAYERS || part->layerCount == r->layers);
}

static void add_change(check_commands *c, const check_resource *r, VkImageLayout from,
                       VkImageLayout to, bool whole, bool acquires, const char *how)
{
    if (c == NULL || r == NULL || r->payload == NULL || (from == to && !acquires)) return;
    const check_access a = {.payload = r->payload,
                            .begin = r->offset,
                            .end = r->offset + r->size,
                            .kind = CHECK_LAYOUT,
                            .how = how,
                            .image = r->image,
                            .layout = (uint32_t)to,
                            .from = (uint32_t)from,
                            .whole = whole,
                            .acquires = acquires};
    check_vk_add(c, &a);
}

void check_vk_change(check_commands *c, VkImage image, VkImageLayout from, VkImageLayout to,
                     const VkImageSubresourceRange *part, uint32_t owner, const char *how)
{
    const check_resource *r = check_get(CHECK_OF_VK_IMAGE, CHECK_KEY(image));
    if (r != NULL)
        add_change(c, r, from, to, check_vk_is_whole(r, part),
                   owner == VK_QUEUE_FAMILY_EXTERNAL || owner == VK_QUEUE_FAMILY_FOREIGN_EXT, how);
}

void check_vk_pass_changes(check_commands *c, VkRenderPass handle, unsigned attachment,
                           uint64_t view, const char *how)
{
    const pass *p = check_get(CHECK_OF_VK_PASS, CHECK_KEY(handle));
    const check_resource *r =
        check_get(CHECK_OF_VK_IMAGE, CHECK_KEY(check_get(CHECK_OF_VK_VIEW, view)));
    if (p == NULL || attachment >= p->count) return;
    add_change(c, r, p->attachments[attachment].from, p->attachments[attachment].to,
               check_get(CHECK_OF_VK_PART, view) == NULL, false, how);
}
