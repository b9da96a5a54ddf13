/* SPDX-License-Identifier: MIT */
/* VK_NV_external_compute_queue, played: a queue for another API is a name of the device, which
 * cuCtxCreate() of the twin takes. */
#include "external_queue.h"
#include "soft_vk.h"

#include "cig_blob.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_QUEUES = 16 };

struct VkExternalComputeQueueNV_T {
    culv_soft_cig_blob blob;
};

void soft_vk_external_queue_limits(VkPhysicalDeviceProperties2 *out)
{
    VkPhysicalDeviceExternalComputeQueuePropertiesNV *limits = (void *)(uintptr_t)soft_vk_in_chain(
        out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_COMPUTE_QUEUE_PROPERTIES_NV);
    if (!limits) return;
    limits->externalDataSize = sizeof(culv_soft_cig_blob);
    limits->maxExternalQueues = MAX_QUEUES;
}

VkResult soft_vk_CreateExternalComputeQueueNV(soft_vk_device *device, VkDevice handle,
                                              const VkExternalComputeQueueCreateInfoNV *info,
                                              const VkAllocationCallbacks *callbacks,
                                              VkExternalComputeQueueNV *out)
{
    (void)handle, (void)info, (void)callbacks;
    VkExternalComputeQueueNV made = calloc(1, sizeof(*made));
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    memcpy(made->blob.magic, CULV_SOFT_CIG_MAGIC, sizeof(made->blob.magic));
    memcpy(made->blob.device_uuid, device->uuid, sizeof(made->blob.device_uuid));
    *out = made;
    return VK_SUCCESS;
}

void VKAPI_CALL soft_vk_destroy_external_queue(VkDevice handle, VkExternalComputeQueueNV queue,
                                               const VkAllocationCallbacks *callbacks)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    if (!device->soft)
        device->next.DestroyExternalComputeQueueNV(handle, queue, callbacks);
    else
        free(queue);
}

/* The queue is no dispatchable handle of the loader's here: it is always the layer's own. */
void VKAPI_CALL soft_vk_external_queue_data(VkExternalComputeQueueNV queue,
                                            VkExternalComputeQueueDataParamsNV *params, void *data)
{
    (void)params;
    memcpy(data, &queue->blob, sizeof(queue->blob));
}
