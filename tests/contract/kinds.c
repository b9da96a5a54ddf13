/* SPDX-License-Identifier: MIT */
/* Contract rows: dedicated memory and other memory for buffers. What each is worth in speed is
 * measured by culvert-bench-kinds; here is what Vulkan says of it, and that both hold the data. */
#define TEST_GROUP "kinds."
#include "vmm.h"

#define MIB(n) ((VkDeviceSize)(n) << 20)

static const VkDeviceSize sizes[] = {4096, MIB(2), MIB(64), MIB(1024)};
enum { SIZES = sizeof sizes / sizeof sizes[0], END = 65536 };

static const char *text(char out[64], const VkMemoryDedicatedRequirements *d)
{
    snprintf(out, 64, "prefers %u, requires %u", (unsigned)d->prefersDedicatedAllocation,
             (unsigned)d->requiresDedicatedAllocation);
    return out;
}

/* What a buffer that exists is said to prefer, and one that is planned. */
PAIR_CASE(preference, .mark = TEST_BOTH)
{
    for (int shared = 0; shared < 2; shared++) {
        for (size_t i = 0; i < SIZES; i++) {
            const VkExternalMemoryBufferCreateInfo external = {
                .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
            const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                             .pNext = shared ? &external : NULL,
                                             .size = sizes[i],
                                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT};
            VkMemoryDedicatedRequirements made = {
                .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
            VkMemoryDedicatedRequirements planned = made;
            VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                           .pNext = &made};
            VkMemoryRequirements2 needs_planned = needs;
            char a[64], b[64];
            VkBuffer buffer = VK_NULL_HANDLE;
            needs_planned.pNext = &planned;
            VK_OK(vkCreateBuffer(p->vk.device, &info, NULL, &buffer));
            const VkBufferMemoryRequirementsInfo2 ask = {
                .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = buffer};
            const VkDeviceBufferMemoryRequirements plan = {
                .sType = VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS, .pCreateInfo = &info};
            vkGetBufferMemoryRequirements2(p->vk.device, &ask, &needs);
            vkGetDeviceBufferMemoryRequirements(p->vk.device, &plan, &needs_planned);
            vkDestroyBuffer(p->vk.device, buffer, NULL);
            const char *what = shared ? "exportable" : "not exportable";
            ANSWER(answer_key("%s, %llu bytes", what, (unsigned long long)sizes[i]), "%s",
                   text(a, &made));
            ANSWER(answer_key("%s, %llu bytes, planned", what, (unsigned long long)sizes[i]), "%s",
                   text(b, &planned));
            REQUIRE_EQ(made.prefersDedicatedAllocation, planned.prefersDedicatedAllocation);
            REQUIRE_EQ(made.requiresDedicatedAllocation, planned.requiresDedicatedAllocation);
            /* That is why a program that follows Vulkan's wish has the fast kind. */
            if (shared && sizes[i] >= MIB(64)) REQUIRE_EQ(made.prefersDedicatedAllocation, VK_TRUE);
            /* Both kinds are to be had. */
            REQUIRE_EQ(made.requiresDedicatedAllocation, VK_FALSE);
        }
    }
}

/* Vulkan's own memory of each kind, at both ends. */
PAIR_CASE(own_memory, .mark = TEST_BOTH)
{
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        for (size_t i = 1; i < SIZES; i++) {
            shared_buffer b;
            shared_buffer_open(p, sizes[i], dedicated ? RAW_VK_DEDICATED : 0, dedicated != 0, &b);
            const char *what = dedicated ? "dedicated" : "not dedicated";
            answer_same_memory(
                p, answer_key("%s, %llu bytes, the beginning", what, (unsigned long long)sizes[i]),
                &b.vk, 0, b.pointer, END, 10);
            answer_same_memory(
                p, answer_key("%s, %llu bytes, the end", what, (unsigned long long)sizes[i]), &b.vk,
                sizes[i] - END, b.pointer + sizes[i] - END, END, 20);
            shared_buffer_close(p, &b);
        }
    }
}

/* A VMM allocation in a buffer that has all of it: so its import may be dedicated. */
VMM_PAIR_CASE(imported_memory, .mark = TEST_BOTH)
{
    for (size_t i = 1; i < SIZES; i++) {
        const unsigned long long size = sizes[i];
        raw_vk_buffer like, vk;
        vmm_block b;
        raw_vk_buffer_create(&p->vk, sizes[i], RAW_VK_EXPORT | RAW_VK_DEDICATED, &like);
        const raw_vk_buffer usual = like;
        raw_vk_buffer_destroy(&p->vk, &like);
        ANSWER(answer_key("what a buffer of %llu bytes needs", size), "%llu bytes",
               (unsigned long long)usual.allocation_size);
        REQUIRE_EQ(usual.allocation_size, sizes[i]);
        vmm_open(p, (size_t)sizes[i], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &b);
        raw_vk_buffer_import(&p->vk, vmm_export(p, b.handle), &usual, &vk);
        answer_same_memory(p, answer_key("dedicated, %llu bytes, the beginning", size), &vk, 0,
                           b.pointer, END, 30);
        answer_same_memory(p, answer_key("dedicated, %llu bytes, the end", size), &vk,
                           sizes[i] - END, b.pointer + sizes[i] - END, END, 40);
        raw_vk_buffer_destroy(&p->vk, &vk);
        vmm_close(p, &b);
    }
}
