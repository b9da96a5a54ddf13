#!/bin/sh
# lavapipe binds external memory to a sparse buffer, and the buffer does not lie in it.
# Version: mesa-vulkan-drivers 25.0.7-2~bpo12+1 (22.3.6 has no sparse binding).
# Guess: sparseBinding is claimed and vkGetPhysicalDeviceExternalBufferProperties answers
#   EXPORTABLE and IMPORTABLE for a sparse buffer, so memory that is exportable, or imported from
#   a host pointer, can be bound by vkQueueBindSparse and holds the buffer's bytes.
# Behaviour: the bind succeeds, and reading through the buffer does not give what is in the
#   memory; with memory of Vulkan's own it does.
# Seen: plain: bind 0, 16384 of 16384 words of the memory are read through the buffer
#       opaque fd: features 6, bind 0, 0 of 16384 words of the memory are read through the buffer host pointer: features 4, bind 0, 0 of 16384 words of the memory are read through the buffer
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe25
compile sparse -lvulkan <<'END'
#include "vk.h"
enum { SIZE = 65536 };

static void measure(const char *name, VkExternalMemoryHandleTypeFlagBits type, const void *chain,
                    void *host)
{
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = type};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = type ? &external : NULL,
                               .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT,
                               .size = SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    VkPhysicalDeviceExternalBufferInfo ask = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .flags = info.flags,
        .usage = info.usage,
        .handleType = type};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    VkMemoryRequirements needs;
    VkBuffer buffer;
    unsigned right = 0;
    OK(vkCreateBuffer(device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkDeviceMemory under = memory(needs.size, chain);
    if (!host) OK(vkMapMemory(device, under, 0, VK_WHOLE_SIZE, 0, &host));
    for (uint32_t i = 0; i < SIZE / 4; i++)
        ((uint32_t *)host)[i] = 0xc0de0000 | i;
    VkSparseMemoryBind bind = {.size = needs.size, .memory = under};
    VkSparseBufferMemoryBindInfo of_buffer = {.buffer = buffer, .bindCount = 1, .pBinds = &bind};
    VkBindSparseInfo binds = {.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
                              .bufferBindCount = 1,
                              .pBufferBinds = &of_buffer};
    VkResult result = vkQueueBindSparse(queue, 1, &binds, VK_NULL_HANDLE);
    OK(vkQueueWaitIdle(queue));
    struct bytes out = bytes(SIZE, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkCommandBuffer commands = begin();
    vkCmdCopyBuffer(commands, buffer, out.buffer, 1, &(VkBufferCopy){.size = SIZE});
    run(commands);
    for (uint32_t i = 0; i < SIZE / 4; i++)
        right += ((uint32_t *)out.host)[i] == (0xc0de0000 | i);
    printf("%s: ", name);
    if (type) {
        vkGetPhysicalDeviceExternalBufferProperties(gpu, &ask, &answer);
        printf("features %u, ", answer.externalMemoryProperties.externalMemoryFeatures);
    }
    printf("bind %d, %u of %d words of the memory are read through the buffer\n", (int)result,
           right, SIZE / 4);
}

int main(void)
{
    const char *extensions[] = {"VK_KHR_external_memory_fd", "VK_EXT_external_memory_host"};
    VkPhysicalDeviceFeatures2 sparse = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .features.sparseBinding = VK_TRUE};
    VkExternalMemoryHandleTypeFlagBits fd = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkExternalMemoryHandleTypeFlagBits pointer =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkExportMemoryAllocateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                           .handleTypes = fd};
    VkImportMemoryHostPointerInfoEXT imported = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = pointer,
        .pHostPointer = aligned_alloc(4096, SIZE)};
    start(extensions, 2, &sparse);
    measure("plain", 0, NULL, NULL);
    measure("opaque fd", fd, &exported, NULL);
    measure("host pointer", pointer, &imported, imported.pHostPointer);
    return 0;
}
END
same "plain: bind 0, 16384 of 16384 words of the memory are read through the buffer
opaque fd: features 6, bind 0, 0 of 16384 words of the memory are read through the buffer
host pointer: features 4, bind 0, 0 of 16384 words of the memory are read through the buffer" "$("$work/sparse")"
