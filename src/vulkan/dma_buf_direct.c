/* SPDX-License-Identifier: MIT */
/* A dma-buf in CUDA itself: rows without a copy, where CUDA's driver takes dma-bufs. */
#include "base/attempt.h"
#include "base/handle.h"
#include "culvert/memory.h"
#include "vulkan/vk_dma_buf.h"

#include <inttypes.h>

culv_result culvi_vk_dma_buf_check_direct(const culv_vk_device *vk, const culvi_vk_dma_buf_plan *p)
{
    const culv_vk_dma_buf_desc *d = &p->d;
    const char *wrong = NULL;
    if (!d->direct) return CULV_OK;
    if (!d->to_buffer)
        wrong = "to_buffer is not set; CUDA maps no arrays on a dma-buf";
    else if (!p->imported)
        wrong = "handle is none; what Culvert makes is copied into";
    else if (d->modifier != 0 || d->num_planes != 1)
        wrong = "the dma-buf is not one LINEAR plane, and CUDA reads rows";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(&vk->base.device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_dma_buf_desc.direct is set, but %s", wrong);
}

culv_result culvi_vk_dma_buf_try_direct(culv_vk_device *vk, culvi_vk_dma_buf_plan *p)
{
    culv_device *device = vk->base.device;
    const culv_vk_dma_buf_desc *d = &p->d;
    culvi_handle_facts facts;
    if (!d->direct) return CULV_OK;
    culv_result result =
        culvi_handle_check(&device->voice, d->label, "culv_vk_dma_buf_desc.handle",
                           "the compositor, the camera or the capture tool", &d->handle, &facts);
    if (result != CULV_OK) return result;
    const uint64_t row = (uint64_t)d->width * p->row->block_bytes;
    const uint64_t needed = d->plane_offsets[0] + d->plane_pitches[0] * (d->height - 1) + row;
    const uint64_t size = culvi_dma_buf_size(&d->handle, &facts);
    if (size < needed)
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "the dma-buf has %" PRIu64 " bytes, but such rows, with their offset and "
                          "pitch, need %" PRIu64,
                          size, needed);
    culv_memory_desc m = culv_memory_desc_init();
    m.handle = d->handle;
    m.size = size != UINT64_MAX ? size : needed;
    m.label = d->label;
    /* Only an import tells. NVIDIA's driver 580 answers CUDA_ERROR_NOT_SUPPORTED (801) on desktops;
     * what one says of a dma-buf that it cannot reach, nobody has measured. */
    culvi_attempt_begin();
    result = culv_memory_import(device, &m, &p->direct);
    const bool refused = result == CULV_ERROR_UNSUPPORTED || result == CULV_ERROR_DRIVER;
    result = culvi_attempt_end(refused ? NULL : &device->voice, result);
    return refused ? CULV_OK : result;
}

culv_result culvi_vk_dma_buf_map_direct(culv_vk_dma_buf_bridge *b, culvi_vk_dma_buf_plan *p)
{
    culv_buffer_desc d = culv_buffer_desc_init();
    b->direct = p->direct;
    p->direct = NULL;
    d.label = b->label;
    culv_result result = culv_buffer_map(b->direct, &d, &b->rows);
    if (result == CULV_OK) result = culv_handle_dup(&p->d.handle, &b->handle);
    b->info.direct = 1;
    b->info.buffer_pitch = p->d.plane_pitches[0];
    return result;
}

void culvi_vk_dma_buf_direct_drop(culv_vk_dma_buf_bridge *b)
{
    culv_buffer_unmap(&b->rows, NULL);
    culv_memory_destroy(&b->direct);
}
