/* SPDX-License-Identifier: MIT */
/* ripple's staging memory: host pages that CUDA copies to and Vulkan copies from. */
#ifndef RIPPLE_STAGING_H_
#define RIPPLE_STAGING_H_

#include "../common/report.h"
#include "../common/vulkan_setup.h"

typedef struct staging {
    void *host;
    VkBuffer buffer; /* the same bytes */
    VkDeviceMemory memory;
    void *pages; /* the program's own pages, given to Vulkan; NULL: Vulkan's, mapped */
    bool pinned; /* for CUDA: it copies without a detour */
} staging;

/* False, with a message, on failure; destroy it either way. */
bool staging_create(const vulkan_setup *v, const culv_cuda_api *cu, VkDeviceSize size,
                    staging *out);
/* After all copies. */
void staging_destroy(const vulkan_setup *v, const culv_cuda_api *cu, staging *s);

#endif
