/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: CUDA's kernels in command buffers (VK_NVX_binary_import). What
 * they touch is known by their parameters: addresses of buffers. */
#include "vulkan.h"

#include <stdlib.h>
#include <string.h>

typedef struct addressed {
    struct addressed *next;
    const check_vk_device *device;
    uint64_t buffer, begin, end;
} addressed;
static addressed *all; /* under the model's lock */

VkDeviceAddress VKAPI_CALL check_vkGetBufferDeviceAddress(VkDevice handle,
                                                          const VkBufferDeviceAddressInfo *info)
{
    const check_vk_device *d = check_vk_find(handle);
    const VkDeviceAddress begin = d->next.GetBufferDeviceAddress(handle, info);
    check_model *m = begin != 0 && check_inside == 0 ? check_open() : NULL;
    if (m == NULL) return begin;
    const check_resource *r = check_get(CHECK_OF_VK_BUFFER, CHECK_KEY(info->buffer));
    const uint64_t end = begin + (r != NULL && r->size > 0 ? r->size : 1);
    for (addressed **link = &all; *link != NULL;) { /* what had the address is gone */
        addressed *at = *link;
        if (at->device == d && at->begin < end && begin < at->end) {
            *link = at->next;
            free(at);
        } else
            link = &at->next;
    }
    addressed *made = r != NULL ? calloc(1, sizeof *made) : NULL;
    if (made != NULL) {
        *made = (addressed){all, d, CHECK_KEY(info->buffer), begin, end};
        all = made;
    }
    check_close();
    return begin;
}

static void look_at(const check_vk_device *d, VkCommandBuffer commands, uint64_t word)
{
    for (const addressed *at = all; at != NULL; at = at->next) {
        if (at->device != d || word < at->begin || word >= at->end) continue;
        /* The byte pointed at is used, at least. */
        check_vk_use_buffer(commands, at->buffer, word - at->begin, 1, "vkCmdCuLaunchKernelNVX");
        return;
    }
}

void VKAPI_CALL check_vkCmdCuLaunchKernelNVX(VkCommandBuffer commands,
                                             const VkCuLaunchInfoNVX *info)
{
    const check_vk_device *d = check_vk_find(commands);
    check_model *m = check_inside == 0 ? check_open() : NULL;
    const unsigned char *block = NULL;
    size_t size = 0;
    /* CU_LAUNCH_PARAM_BUFFER_POINTER is 1, ..._SIZE is 2. */
    for (const void *const *at = info->pExtras; m != NULL && at != NULL && *at != NULL; at += 2) {
        if ((uintptr_t)*at == 1) block = at[1];
        if ((uintptr_t)*at == 2) memcpy(&size, at[1], sizeof size);
    }
    uint64_t word;
    for (size_t i = 0; m != NULL && block != NULL && i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, block + i, sizeof word);
        look_at(d, commands, word);
    }
    /* How large each parameter is, nobody says. One that is an address is aligned as one, and eight
     * bytes that are aligned can be read. */
    for (size_t i = 0; m != NULL && block == NULL && info->pParams != NULL && i < info->paramCount;
         i++) {
        if (info->pParams[i] == NULL || (uintptr_t)info->pParams[i] % sizeof word != 0) continue;
        memcpy(&word, info->pParams[i], sizeof word);
        look_at(d, commands, word);
    }
    if (m != NULL) check_close();
    d->next.CmdCuLaunchKernelNVX(commands, info);
}
