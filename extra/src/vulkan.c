/* SPDX-License-Identifier: MIT */
/* Vulkan by its own functions. */
#include "vulkan.h"

#include <stdarg.h>
#include <stdio.h>

culv_result culvi_x_vk_read(culvi_x_vk *out, culv_device *device, const culv_vk_device_desc *desc,
                            const char *name)
{
    memset(out, 0, sizeof *out);
    out->device = device;
    CULVI_X_TRY(culvi_x_desc_read(device, &out->d, sizeof out->d, desc, "culv_vk_device_desc"));
    CULVI_X_REFUSE_IF(
        out->d.get_instance_proc_addr == NULL || out->d.instance == VK_NULL_HANDLE ||
            out->d.physical_device == VK_NULL_HANDLE || out->d.device == VK_NULL_HANDLE,
        device, out->d.label, CULV_REASON_NULL_ARGUMENT,
        "%s: get_instance_proc_addr, instance, physical_device or device of the culv_vk_device_desc is NULL",
        name);
    out->get = CULVI_X_VKI(out, vkGetDeviceProcAddr);
    CULVI_X_REFUSE_IF(out->get == NULL, device, out->d.label, CULV_REASON_VALUE,
                      "%s: get_instance_proc_addr has no vkGetDeviceProcAddr", name);
    if (out->d.allocation_callbacks == NULL) return CULV_OK;
    out->copied = *out->d.allocation_callbacks;
    out->callbacks = &out->copied;
    return CULV_OK;
}

culvi_x_vk_text culvi_x_vk_name(const culvi_x_vk *vk)
{
    culvi_x_vk_text out;
    VkPhysicalDeviceProperties properties;
    CULVI_X_VKI(vk, vkGetPhysicalDeviceProperties)(vk->d.physical_device, &properties);
    memcpy(out.text, properties.deviceName, sizeof out.text);
    return out;
}

culv_result culvi_x_fail_vk(const culvi_x_vk *vk, const char *object, VkResult code,
                            const char *call, culv_reason refused, const char *format, ...)
{
    const bool host = code == VK_ERROR_OUT_OF_HOST_MEMORY;
    culv_result result = CULV_ERROR_DRIVER;
    culv_reason reason = refused;
    char text[sizeof((culv_error *)0)->message];
    va_list args;
    if (host || code == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        result = CULV_ERROR_OUT_OF_MEMORY;
        reason = host ? CULV_REASON_HOST_MEMORY : CULV_REASON_DEVICE_MEMORY;
    } else if (code == VK_ERROR_DEVICE_LOST) {
        result = CULV_ERROR_ASYNC;
        reason = CULV_REASON_DEVICE_LOST;
    } else if (refused == CULV_REASON_NOT_EXPORTABLE && code == VK_ERROR_INVALID_EXTERNAL_HANDLE) {
        result = CULV_ERROR_INVALID; /* so drivers say that it was not created for export */
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return culvi_x_fail_as(vk->device, object, result, reason, CULV_NATIVE_VULKAN, code, call,
                           "%s: %s answered %d", text, call, (int)code);
}
