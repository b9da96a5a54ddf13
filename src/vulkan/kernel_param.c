/* SPDX-License-Identifier: MIT */
/* What kernels in command buffers get: addresses of buffers, handles of image views. */
#include "culvert/vulkan_kernel.h"

#include "vulkan/vk_resource.h"
#include "vulkan/vk_trace.h"

VkDeviceAddress culvi_vk_buffer_address(const culv_vk_device *vk, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer};
    return vk->table.vkGetBufferDeviceAddress != NULL
               ? vk->table.vkGetBufferDeviceAddress(vk->vk_device, &info)
               : 0;
}

culv_result culvi_vk_refuse_addresses(const culv_vk_device *vk)
{
    return culvi_fail(&vk->base.device->voice, NULL, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_EXTENSION_MISSING,
                      "the VkDevice of '%s' tells no addresses of buffers; it needs Vulkan 1.2 or "
                      "VK_KHR_buffer_device_address, and the feature bufferDeviceAddress",
                      vk->base.name);
}

VkDeviceAddress culv_vk_buffer_address(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_vk_api);
    if (half == NULL || !(half->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)) return 0;
    return culvi_vk_buffer_address(culvi_vk_of(buffer->pair.graphics),
                                   culvi_vk_native_buffer(half));
}

culv_result culv_vk_get_buffer_address(const culv_vk_device *vk, VkBuffer buffer,
                                       VkDeviceAddress *out)
{
    CULVI_REQUIRE(NULL, vk);
    CULVI_REQUIRE(&vk->base.device->voice, out);
    if (buffer == VK_NULL_HANDLE)
        return culvi_fail_null(&vk->base.device->voice, __func__, "buffer");
    const VkDeviceAddress address = culvi_vk_buffer_address(vk, buffer);
    if (address == 0) return culvi_vk_refuse_addresses(vk);
    *out = address;
    return CULV_OK;
}

/* The 32-bit call's numbers are the 64-bit handles of kernels (measured). The 64-bit call is not
 * used: a validation layer that does not know it hands its own numbers of image views on to the
 * driver. */
culv_result culv_vk_get_view_handle(const culv_vk_device *vk, VkImageView view, VkSampler sampler,
                                    uint64_t *out)
{
    CULVI_REQUIRE(NULL, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE(voice, out);
    if (view == VK_NULL_HANDLE) return culvi_fail_null(voice, __func__, "view");
    const VkImageViewHandleInfoNVX info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_HANDLE_INFO_NVX,
        .imageView = view,
        .descriptorType = sampler != VK_NULL_HANDLE ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                                                    : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
        .sampler = sampler};
    if (!vk->kernels) return culvi_vk_refuse_kernels(vk, NULL);
    const uint32_t handle = vk->table.vkGetImageViewHandleNVX(vk->vk_device, &info);
    if (handle == 0)
        return culvi_fail_native(
            voice, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED, CULV_NATIVE_VULKAN, 0,
            "vkGetImageViewHandleNVX",
            "vkGetImageViewHandleNVX gave no handle of the image view; the image needs the usage "
            "%s, and memory must be bound to it",
            sampler != VK_NULL_HANDLE ? "SAMPLED" : "STORAGE");
    *out = handle;
    return CULV_OK;
}
