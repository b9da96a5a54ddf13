/* SPDX-License-Identifier: MIT */
/* The least that a program can do with Culvert, with culvert/vulkan.h, whose users have Vulkan's
 * headers themselves, and with culvert-extra. Also compiled as C++. */
#include <culvert/culvert.h>
#ifdef CONSUMER_VULKAN
#    include <culvert/vulkan.h>
#endif
#ifdef CONSUMER_EXTRA
#    include <culvert/extra/rdma.h>
#endif
#include <stdio.h>

#if defined(CONSUMER_C99) && __STDC_VERSION__ != 199901L
#    error "culvert's targets raise the C standard of what uses them"
#endif

int main(void)
{
    printf("culvert %s\n", culv_version_string());
#ifdef CONSUMER_VULKAN
    if (culv_vk_device_extensions(VK_API_VERSION_1_2, 0, NULL) >= 16) return 1;
#endif
#ifdef CONSUMER_EXTRA
    culv_rdma_cost cost = culv_rdma_cost_init();
    if (culv_rdma_get_cost(65541, 65536, &cost) != CULV_OK || cost.chunks != 2) return 1;
#endif
    return culv_version() == CULV_VERSION ? 0 : 1;
}
