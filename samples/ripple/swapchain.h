/* SPDX-License-Identifier: MIT */
/* ripple's swapchain: finished pictures are copied to its images. */
#ifndef RIPPLE_SWAPCHAIN_H_
#define RIPPLE_SWAPCHAIN_H_

#include "../common/vulkan_setup.h"

#define SWAPCHAIN_MAX_IMAGES 8u
#define SWAPCHAIN_MAX_SLOTS  4u

typedef struct swapchain {
    const vulkan_setup *vulkan;
    VkSurfaceKHR surface;
    VkSurfaceFormatKHR format;
    VkFormat color_format; /* of pictures: its copies are shown as they are */
    VkSwapchainKHR handle;
    VkExtent2D extent;
    uint32_t num_images;
    VkImage images[SWAPCHAIN_MAX_IMAGES];
    VkSemaphore finished[SWAPCHAIN_MAX_IMAGES]; /* of the copy: presenting waits for it */
    /* Of the image, for each frame in flight: the copy waits */
    VkSemaphore available[SWAPCHAIN_MAX_SLOTS];
    bool stale; /* it no longer fits the surface */
} swapchain;

/* Where a frame goes. */
typedef struct swapchain_image {
    uint32_t index;
    VkImage image;
    VkSemaphore available, finished;
} swapchain_image;

/* Takes the surface. False, with a message, on failure; destroy it either way. */
bool swapchain_create(swapchain *s, const vulkan_setup *v, VkSurfaceKHR surface);
void swapchain_destroy(swapchain *s);

/* Makes images for the surface's present size, or for `wanted` where the surface leaves the choice;
 * nothing of the old ones may be in use. */
bool swapchain_fit(swapchain *s, VkExtent2D wanted);

/* The next image for a frame that uses this slot. False without a message when the swapchain is
 * stale. */
bool swapchain_acquire(swapchain *s, uint32_t slot, swapchain_image *out);
/* Copies a picture in TRANSFER_SRC_OPTIMAL and of the swapchain's extent to it. */
void swapchain_record_copy(const swapchain *s, VkCommandBuffer commands, VkImage picture,
                           const swapchain_image *to);
bool swapchain_present(swapchain *s, const swapchain_image *image);

#endif
