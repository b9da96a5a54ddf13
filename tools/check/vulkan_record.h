/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: what its files that look at recorded commands share. */
#ifndef CHECK_VULKAN_RECORD_H_
#define CHECK_VULKAN_RECORD_H_

#include "vulkan.h"

#define CHECK_SETS    8
#define CHECK_DYNAMIC 16
#define CHECK_PUSHED  UINT64_MAX /* not a set: what the command buffer was given */

typedef struct check_descriptor {
    uint32_t binding, element;
    VkDescriptorType type;
    uint64_t buffer, view; /* keys; one of them is 0 */
    uint64_t offset, range;
    VkImageLayout layout;
} check_descriptor;

/* Bindings whose offsets come with vkCmdBindDescriptorSets. */
typedef struct check_dynamic {
    uint32_t binding, count;
} check_dynamic;

typedef struct check_set {
    check_descriptor *list;
    unsigned count;
    check_dynamic dynamic[CHECK_DYNAMIC];
    unsigned num_dynamic;
} check_set;

/* A command buffer, with what it does to shared memory since it was begun. */
typedef struct check_commands {
    check_access *accesses;
    unsigned count, room;
    uint64_t sets[2][CHECK_SETS]; /* graphics, compute */
    check_set pushed[2];          /* by vkCmdPushDescriptorSetKHR */
    uint64_t pipelines[2];
    uint32_t offsets[2][CHECK_SETS][CHECK_DYNAMIC];
    bool runs_code;
    bool ordered;  /* a barrier was recorded: what comes after it may be after more than it shows */
    uint8_t stage; /* of the command that is looked at */
} check_commands;

check_commands *check_vk_commands(VkCommandBuffer handle);
void check_vk_add(check_commands *c, const check_access *access);

/* vulkan_shaders.c: the storage buffers that a pipeline's shaders declare. NULL: not known. */
struct check_shaders;
bool check_vk_may_write(const struct check_shaders *shaders, uint32_t set, uint32_t binding);

/* vulkan_layouts.c. The owner is the queue family from which the image comes. */
bool check_vk_is_whole(const check_resource *r, const VkImageSubresourceRange *part);
void check_vk_change(check_commands *c, VkImage image, VkImageLayout from, VkImageLayout to,
                     const VkImageSubresourceRange *part, uint32_t owner, const char *how);
void check_vk_pass_changes(check_commands *c, VkRenderPass pass, unsigned attachment, uint64_t view,
                           const char *how);

#endif
