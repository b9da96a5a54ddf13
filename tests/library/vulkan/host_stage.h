/* SPDX-License-Identifier: MIT */
/* Buffers in host memory: what their suites share. */
#ifndef CULVERT_TESTS_LIBRARY_HOST_STAGE_H_
#define CULVERT_TESTS_LIBRARY_HOST_STAGE_H_

#include "image_stage.h"

/* Where the pages come from. */
typedef enum host_origin { HOST_CULVERTS, HOST_CALLERS, HOST_ORIGINS } host_origin;

/* Whole pages of the test's own, from malloc(): as much as `bytes` need. */
typedef struct host_pages {
    void *start;
    size_t size;
    void *block;
} host_pages;

/* Skips where the device takes no host memory. */
void host_require(const lib_world *w);
host_pages host_pages_alloc(const lib_world *w, size_t bytes);
void host_pages_free(host_pages *pages);
VkBufferCreateInfo host_info(VkDeviceSize size);
/* Of the caller's pages; NULL: of Culvert's. */
culv_shared_buffer *host_make(const lib_world *w, VkDeviceSize size, const host_pages *pages);
/* CUDA knows nothing of these pages: it takes them, and gives them back. */
void host_require_unregistered(const lib_world *w, const host_pages *pages);

#endif
