#!/bin/sh
# The pipeline cache UUID of Debian 12's lavapipe is a format string.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: pipelineCacheUUID tells one build of a driver from another, so a program may keep its
#   pipeline caches by it (and by vendorID and deviceID, which are those of every lavapipe).
# Behaviour: it is the text "val-%s" and zeros, the build's name was never put in. It is in the
#   header of vkGetPipelineCacheData, too. Keep such caches by deviceUUID or driverInfo as well.
# Seen: pipelineCacheUUID val-%s, in the cache's header val-%s, deviceUUID mesa22.3.6, driverInfo Mesa 22.3.6 (LLVM 15.0.6)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
compile uuid -lvulkan <<'END'
#include "vk.h"

int main(void)
{
    VkPhysicalDeviceVulkan12Properties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceVulkan11Properties ids = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &driver};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &ids};
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkPipelineCache cache;
    VkPipelineCacheHeaderVersionOne header;
    size_t size = sizeof header;
    start(NULL, 0, NULL);
    vkGetPhysicalDeviceProperties2(gpu, &all);
    OK(vkCreatePipelineCache(device, &info, NULL, &cache));
    vkGetPipelineCacheData(device, cache, &size, &header);
    printf(
        "pipelineCacheUUID %.16s, in the cache's header %.16s, deviceUUID %.16s, driverInfo %s\n",
        (const char *)all.properties.pipelineCacheUUID, (const char *)header.pipelineCacheUUID,
        (const char *)ids.deviceUUID, driver.driverInfo);
    return 0;
}
END
same "pipelineCacheUUID val-%s, in the cache's header val-%s, deviceUUID mesa22.3.6, driverInfo Mesa 22.3.6 (LLVM 15.0.6)" \
    "$("$work/uuid")"
