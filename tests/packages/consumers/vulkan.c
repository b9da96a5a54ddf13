/* SPDX-License-Identifier: MIT */
/* culvert/vulkan.h is opt-in, and a program that includes it has the Vulkan headers itself. */
#include <culvert/culvert.h>
#include <culvert/vulkan.h>
#include <stdio.h>

int main(void)
{
    printf("culvert %s\n", culv_version_string());
    return culv_vk_device_extensions(VK_API_VERSION_1_2, 0, NULL) < 16 ? 0 : 1;
}
