/* SPDX-License-Identifier: MIT */
/* Windows has no dma-bufs. No bridge can have been made. */
#include "vulkan/vk_dma_buf.h"

static culv_result refuse(const char *call)
{
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,
                      "%s: Windows has no dma-bufs", call);
}

uint64_t culvi_dma_buf_size(const culv_handle *handle, const culvi_handle_facts *facts)
{
    (void)handle;
    return facts->size_limit;
}

culv_result culv_vk_dma_buf_bridge_wait(culv_vk_dma_buf_bridge *bridge, uint64_t timeout)
{
    (void)timeout;
    CULVI_REQUIRE(NULL, bridge);
    return refuse(__func__);
}

culv_result culv_vk_dma_buf_bridge_import_fence(culv_vk_dma_buf_bridge *bridge,
                                                VkSemaphore semaphore)
{
    (void)semaphore;
    CULVI_REQUIRE(NULL, bridge);
    return refuse(__func__);
}

culv_result culv_vk_dma_buf_bridge_export_fence(culv_vk_dma_buf_bridge *bridge,
                                                VkSemaphore semaphore)
{
    (void)semaphore;
    CULVI_REQUIRE(NULL, bridge);
    return refuse(__func__);
}
