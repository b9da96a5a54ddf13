/* SPDX-License-Identifier: MIT */
/* suballocator: the contact sheet: every resource is copied or blitted into one image, which
 * becomes a PNG. */
#ifndef SUBALLOCATOR_SHEET_H_
#define SUBALLOCATOR_SHEET_H_

#include "resources.h"

enum { SHEET_COLUMNS = 4, SHEET_ROWS = NUM_RESOURCES / SHEET_COLUMNS };
enum { SHEET_WIDTH = SHEET_COLUMNS * TILE_WIDTH, SHEET_HEIGHT = SHEET_ROWS * TILE_HEIGHT };

typedef struct sheet {
    vulkan_image image;
    vulkan_buffer pixels; /* host-visible */
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence done;
} sheet;

bool sheet_create(const vulkan_setup *v, sheet *out);
/* Submits: waits for `ready`, takes each resource from CUDA, shows it. Then waits for the end. */
bool sheet_draw(const vulkan_setup *v, sheet *s, const resource *resources, VkSemaphore ready,
                uint64_t value);
bool sheet_write(const sheet *s, const char *path);
void sheet_destroy(const vulkan_setup *v, sheet *s);

#endif
