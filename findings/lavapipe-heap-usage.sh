#!/bin/sh
# heapUsage of lavapipe is what the whole machine uses, and an allocation is not in it.
# Version: mesa-vulkan-drivers 25.0.7-2~bpo12+1 (22.3.6 has no VK_EXT_memory_budget).
# Guess: heapUsage of VK_EXT_memory_budget is this process's share of the heap: it grows by an
#   allocation of 1 GiB, and not by what another process does.
# Behaviour: 1 GiB of VkDeviceMemory changes nothing until it is written. 1 GiB that another
#   process writes, without Vulkan, is in it.
# Seen: grows by 1 GiB: at an allocation no, when it is written yes, when another process writes its own yes
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe25
compile usage -lvulkan <<'END'
#include "vk.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define GIB ((size_t)1 << 30)

static VkDeviceSize used(void)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget};
    vkGetPhysicalDeviceMemoryProperties2(gpu, &all);
    return budget.heapUsage[0];
}

static const char *grew(VkDeviceSize before)
{
    return used() > before + GIB / 2 ? "yes" : "no";
}

int main(void)
{
    const char *extension = "VK_EXT_memory_budget";
    void *host;
    int done[2], go[2];
    char byte = 0;
    start(&extension, 1, NULL);
    if (pipe(done) || pipe(go)) return 3;
    VkDeviceSize before = used();
    VkDeviceMemory own = memory(GIB, NULL);
    printf("grows by 1 GiB: at an allocation %s, ", grew(before));
    OK(vkMapMemory(device, own, 0, VK_WHOLE_SIZE, 0, &host));
    before = used();
    memset(host, 1, GIB);
    printf("when it is written %s, ", grew(before));
    fflush(stdout);
    before = used();
    if (!fork()) {
        void *other = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(other, 1, GIB);
        _exit(write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1);
    }
    if (read(done[0], &byte, 1) != 1) return 3;
    printf("when another process writes its own %s\n", grew(before));
    if (write(go[1], &byte, 1) != 1) return 3;
    return wait(NULL) < 0;
}
END
same "grows by 1 GiB: at an allocation no, when it is written yes, when another process writes its own yes" "$("$work/usage")"
