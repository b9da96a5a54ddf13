/* SPDX-License-Identifier: MIT */
/* dma-bufs as a compositor would send them: files of rows, with their place and pitch. On the twin
 * the layer plays them over memfds (CULVERT_SOFT_DMA_BUF=1). */
#ifndef CULVERT_TESTS_DMABUF_STAGE_H_
#define CULVERT_TESTS_DMABUF_STAGE_H_

#include "library.h"

#include "culvert/extra/vulkan_dma_buf.h"

#define DRM(a, b, c, d)                                                                            \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define DRM_AR24 DRM('A', 'R', '2', '4')
#define DRM_XR24 DRM('X', 'R', '2', '4')
#define DRM_NV12 DRM('N', 'V', '1', '2')

/* An image in a file: where its rows lie. */
typedef struct dmabuf_rows {
    uint32_t width, height, texel; /* texel in bytes */
    size_t offset, pitch;
} dmabuf_rows;

typedef struct dmabuf_file {
    int fd;
    size_t size;
    uint8_t *bytes; /* mapped */
} dmabuf_file;

typedef struct dmabuf_stage {
    lib_world w;
    CUstream stream;
} dmabuf_stage;

/* Begins a case; it skips where nothing plays dma-bufs. First of all calls. */
void dmabuf_needs_player(void);
void dmabuf_open(dmabuf_stage *s);
/* Begins a case too: a world on the twin whose VkDevice is attached by that loader. */
void dmabuf_open_by(lib_world *w, PFN_vkGetInstanceProcAddr loader);
/* The VkDevice that dmabuf_describe() names. A case that attaches one by itself sets it. */
extern culv_vk_device_desc dmabuf_vulkan;
void dmabuf_close(dmabuf_stage *s);
#define DMABUF_CASE(...) TEST_ON(dmabuf_stage, s, dmabuf_open(s), dmabuf_close(s), __VA_ARGS__)

/* Ends right behind the last row, unless `more` bytes are added. Filled with 0xee. */
dmabuf_file dmabuf_file_make(const dmabuf_rows *rows, size_t more);
void dmabuf_file_done(dmabuf_file *file);
/* Byte i of row y of a frame. */
uint8_t dmabuf_byte(uint32_t frame, uint32_t y, uint32_t i);
void dmabuf_fill(const dmabuf_file *file, const dmabuf_rows *rows, uint32_t frame);
/* The rows are that frame's, and all between them is still 0xee. */
void dmabuf_require(const dmabuf_file *file, const dmabuf_rows *rows, uint32_t frame);

/* A descriptor of one plane. */
culv_vk_dma_buf_desc dmabuf_describe(int fd, uint32_t fourcc, const dmabuf_rows *rows);
/* One frame from the file to CUDA, which sees the frame's bytes; or from CUDA to the file. The
 * submission and the stream are ordered by the timeline alone. */
culv_vk_dma_buf_info dmabuf_info(const culv_vk_dma_buf_bridge *bridge);
void dmabuf_in(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge, VkCommandBuffer commands,
               const dmabuf_rows *rows, uint32_t frame);
void dmabuf_out(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge, const dmabuf_rows *rows,
                uint32_t frame);
/* OUT: gives CUDA its image. */
void dmabuf_first(dmabuf_stage *s, culv_vk_dma_buf_bridge *bridge);

#endif
