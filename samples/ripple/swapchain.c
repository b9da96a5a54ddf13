/* SPDX-License-Identifier: MIT */
/* ripple's swapchain. */
#include "swapchain.h"

#include <string.h>

#include "../common/report.h"

#define MAX_FORMATS 64u

/* A picture's bytes are copied, so a format of the same bytes is all that is needed; the sRGB
 * encoding is in them already. */
static bool choose_format(swapchain *s)
{
    VkSurfaceFormatKHR formats[MAX_FORMATS];
    uint32_t count = MAX_FORMATS;
    VkResult result = vkGetPhysicalDeviceSurfaceFormatsKHR(s->vulkan->physical_device, s->surface,
                                                           &count, formats);
    if (result != VK_INCOMPLETE && !vk_ok(result, "vkGetPhysicalDeviceSurfaceFormatsKHR"))
        return false;
    static const struct {
        VkFormat shown, drawn;
    } wanted[] = {{VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_SRGB},
                  {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_B8G8R8A8_SRGB},
                  {VK_FORMAT_R8G8B8A8_SRGB, VK_FORMAT_R8G8B8A8_SRGB},
                  {VK_FORMAT_B8G8R8A8_SRGB, VK_FORMAT_B8G8R8A8_SRGB}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        for (uint32_t j = 0; j < count; j++) {
            if (formats[j].format != wanted[i].shown ||
                formats[j].colorSpace != VK_COLOR_SPACE_SRGB_NONLINEAR_KHR)
                continue;
            s->format = formats[j];
            s->color_format = wanted[i].drawn;
            return true;
        }
    }
    report("the window has no 8-bit RGBA format");
    return false;
}

static bool create_semaphore(const swapchain *s, VkSemaphore *out)
{
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    return vk_ok(vkCreateSemaphore(s->vulkan->device, &info, NULL, out), "vkCreateSemaphore");
}

bool swapchain_create(swapchain *s, const vulkan_setup *v, VkSurfaceKHR surface)
{
    memset(s, 0, sizeof *s);
    s->vulkan = v;
    s->surface = surface;
    VkBool32 presents = VK_FALSE;
    if (!vk_ok(vkGetPhysicalDeviceSurfaceSupportKHR(v->physical_device, v->queue_family, surface,
                                                    &presents),
               "vkGetPhysicalDeviceSurfaceSupportKHR"))
        return false;
    if (!presents) {
        report("%s cannot present to this window", v->candidate.name);
        return false;
    }
    for (uint32_t i = 0; i < SWAPCHAIN_MAX_SLOTS; i++) {
        if (!create_semaphore(s, &s->available[i])) return false;
    }
    for (uint32_t i = 0; i < SWAPCHAIN_MAX_IMAGES; i++) {
        if (!create_semaphore(s, &s->finished[i])) return false;
    }
    return choose_format(s);
}

void swapchain_destroy(swapchain *s)
{
    if (!s->vulkan) return;
    VkDevice device = s->vulkan->device;
    for (uint32_t i = 0; i < SWAPCHAIN_MAX_SLOTS; i++)
        vkDestroySemaphore(device, s->available[i], NULL);
    for (uint32_t i = 0; i < SWAPCHAIN_MAX_IMAGES; i++)
        vkDestroySemaphore(device, s->finished[i], NULL);
    if (s->handle) vkDestroySwapchainKHR(device, s->handle, NULL);
    vkDestroySurfaceKHR(s->vulkan->instance, s->surface, NULL);
    memset(s, 0, sizeof *s);
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static VkCompositeAlphaFlagBitsKHR choose_alpha(const VkSurfaceCapabilitiesKHR *can)
{
    if (can->supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR)
        return VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    return VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR;
}

bool swapchain_fit(swapchain *s, VkExtent2D wanted)
{
    const vulkan_setup *v = s->vulkan;
    VkSurfaceCapabilitiesKHR can;
    if (!vk_ok(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(v->physical_device, s->surface, &can),
               "vkGetPhysicalDeviceSurfaceCapabilitiesKHR"))
        return false;
    if (!(can.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_DST_BIT)) {
        report("the window's images cannot be copied to");
        return false;
    }
    VkExtent2D extent = can.currentExtent;
    if (extent.width == UINT32_MAX) {
        extent.width = clamp(wanted.width, can.minImageExtent.width, can.maxImageExtent.width);
        extent.height = clamp(wanted.height, can.minImageExtent.height, can.maxImageExtent.height);
    }
    if (extent.width == 0 || extent.height == 0) { /* minimized in the meantime */
        s->stale = true;
        return true;
    }
    uint32_t most = can.maxImageCount ? can.maxImageCount : SWAPCHAIN_MAX_IMAGES;
    VkSwapchainKHR old = s->handle;
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                     .surface = s->surface,
                                     .minImageCount = clamp(can.minImageCount + 1, 1, most),
                                     .imageFormat = s->format.format,
                                     .imageColorSpace = s->format.colorSpace,
                                     .imageExtent = extent,
                                     .imageArrayLayers = 1,
                                     .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                     .preTransform = can.currentTransform,
                                     .compositeAlpha = choose_alpha(&can),
                                     .presentMode = VK_PRESENT_MODE_FIFO_KHR,
                                     .clipped = VK_TRUE,
                                     .oldSwapchain = old};
    bool made =
        vk_ok(vkCreateSwapchainKHR(v->device, &info, NULL, &s->handle), "vkCreateSwapchainKHR");
    if (old) vkDestroySwapchainKHR(v->device, old, NULL);
    if (!made) {
        s->handle = VK_NULL_HANDLE;
        return false;
    }
    s->extent = extent;
    s->stale = false;
    s->num_images = SWAPCHAIN_MAX_IMAGES;
    return vk_ok(vkGetSwapchainImagesKHR(v->device, s->handle, &s->num_images, s->images),
                 "vkGetSwapchainImagesKHR");
}

bool swapchain_acquire(swapchain *s, uint32_t slot, swapchain_image *out)
{
    uint32_t index = 0;
    VkResult result = vkAcquireNextImageKHR(s->vulkan->device, s->handle, UINT64_MAX,
                                            s->available[slot], VK_NULL_HANDLE, &index);
    /* A suboptimal image is an image: it is drawn and shown once more. */
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) s->stale = true;
    if (result == VK_ERROR_OUT_OF_DATE_KHR) return false;
    if (result != VK_SUBOPTIMAL_KHR && !vk_ok(result, "vkAcquireNextImageKHR")) return false;
    *out = (swapchain_image){index, s->images[index], s->available[slot], s->finished[index]};
    return true;
}

void swapchain_record_copy(const swapchain *s, VkCommandBuffer commands, VkImage picture,
                           const swapchain_image *to)
{
    vulkan_use before = {VK_PIPELINE_STAGE_2_COPY_BIT, 0, VK_IMAGE_LAYOUT_UNDEFINED};
    vulkan_use copying = {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                          VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
    vulkan_use presenting = {VK_PIPELINE_STAGE_2_NONE, 0, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR};
    VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    VkImageCopy copy = {.srcSubresource = whole,
                        .dstSubresource = whole,
                        .extent = {s->extent.width, s->extent.height, 1}};
    vulkan_image_barrier(commands, to->image, VK_IMAGE_ASPECT_COLOR_BIT, before, copying);
    vkCmdCopyImage(commands, picture, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to->image,
                   copying.layout, 1, &copy);
    vulkan_image_barrier(commands, to->image, VK_IMAGE_ASPECT_COLOR_BIT, copying, presenting);
}

bool swapchain_present(swapchain *s, const swapchain_image *image)
{
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                             .waitSemaphoreCount = 1,
                             .pWaitSemaphores = &image->finished,
                             .swapchainCount = 1,
                             .pSwapchains = &s->handle,
                             .pImageIndices = &image->index};
    VkResult result = vkQueuePresentKHR(s->vulkan->queue, &info);
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) {
        s->stale = true;
        return true;
    }
    return vk_ok(result, "vkQueuePresentKHR");
}
