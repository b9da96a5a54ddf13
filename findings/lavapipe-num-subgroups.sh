#!/bin/sh
# gl_NumSubgroups of Debian 12's lavapipe forgets a subgroup that is not full.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2 (25.0.7 of backports says 2).
# Guess: a workgroup of 6 invocations with subgroups of 4 has two of them: gl_NumSubgroups is 2,
#   so a reduction that sums one value of each subgroup adds two.
# Behaviour: the invocations say that they are in subgroups 0 and 1, and gl_NumSubgroups is 1: it
#   is rounded down. The sum is short by what the last subgroup holds, without an error.
#   LP_NATIVE_VECTOR_WIDTH=128 makes subgroups of 4 on each processor.
# Seen: subgroupSize 4, gl_SubgroupID 0 0 0 0 1 1, gl_NumSubgroups 1, sum over the subgroups 4 of 6
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
shader reduce <<'END'
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 6) in;
layout(binding = 0) buffer Out { uint id[6]; uint count; uint sum; };
shared uint part[6];
void main()
{
    uint one = subgroupAdd(1u);
    id[gl_LocalInvocationIndex] = gl_SubgroupID;
    if (gl_SubgroupInvocationID == 0)
        part[gl_SubgroupID] = one;
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        count = gl_NumSubgroups;
        sum = 0;
        for (uint i = 0; i < gl_NumSubgroups; i++)
            sum += part[i];
    }
}
END
compile reduction -lvulkan <<'END'
#include "reduce.h"
#include "vk.h"

int main(void)
{
    VkPhysicalDeviceVulkan11Properties of_subgroups = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &of_subgroups};
    start(NULL, 0, NULL);
    vkGetPhysicalDeviceProperties2(gpu, &all);
    struct bytes out = bytes(32, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    compute(reduce, sizeof reduce, &out, 1);
    uint32_t *id = out.host;
    printf(
        "subgroupSize %u, gl_SubgroupID %u %u %u %u %u %u, gl_NumSubgroups %u, sum over the subgroups %u of 6\n",
        of_subgroups.subgroupSize, id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7]);
    return 0;
}
END
same "subgroupSize 4, gl_SubgroupID 0 0 0 0 1 1, gl_NumSubgroups 1, sum over the subgroups 4 of 6" \
    "$(LP_NATIVE_VECTOR_WIDTH=128 "$work/reduction")"
