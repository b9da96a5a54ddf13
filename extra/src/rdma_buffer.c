/* SPDX-License-Identifier: MIT */
/* Memory that is CUDA's, a VkBuffer and a dma-buf at once: a vector whose chunks have both. */
#include "culvert/extra/vulkan_rdma.h"

#include "inside.h"

struct culv_vk_rdma_buffer {
    culv_device *device;
    culv_vk_device *vk;
    culv_vector *vector;
    culv_vector_view *view;
    uint64_t size;
    culv_vk_rdma_part *parts;
    size_t count;
    char label[64];
};

static void close_parts(culv_vk_rdma_part *parts, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        culv_handle_close(&parts[i].dma_buf);
}

static culv_result export_part(const culv_vk_rdma_buffer *b, culv_vk_rdma_part *part)
{
    culv_device *device = b->device;
    culv_rdma_dma_buf dma_buf = culv_rdma_dma_buf_init();
    if (!culvi_x_caps(device).dma_buf_export) return CULV_OK;
    CULVI_X_TRY(culv_rdma_dma_buf_export_dup(device, part->pointer, part->size, CULV_DMA_BUF_PCIE,
                                             &dma_buf));
    part->dma_buf = dma_buf.handle;
    part->pcie = dma_buf.pcie;
    return CULV_OK;
}

/* Lists the parts again: chunks of the vector never go, so those that were listed come first. */
static culv_result list(culv_vk_rdma_buffer *b)
{
    size_t count = 0;
    culv_result result = culv_vector_view_get_parts(b->view, NULL, 0, &count);
    if (result != CULV_OK || count == b->count) return result;
    culv_vk_rdma_part *parts = culvi_x_alloc(count * sizeof *parts);
    culv_part *buffers = culvi_x_alloc(count * sizeof *buffers);
    result = parts != NULL && buffers != NULL
                 ? culv_vector_view_get_parts(b->view, buffers, count, &count)
                 : culvi_x_fail_host_memory(b->device, b->label);
    if (result == CULV_OK && b->count > 0) memcpy(parts, b->parts, b->count * sizeof *parts);
    for (size_t i = b->count; i < count && result == CULV_OK; i++) {
        parts[i].id = buffers[i].id;
        parts[i].offset = buffers[i].offset;
        parts[i].size = buffers[i].size;
        parts[i].buffer = (VkBuffer)buffers[i].buffer;
        parts[i].pointer = culv_vector_pointer(b->vector) + (CUdeviceptr)buffers[i].offset;
        result = export_part(b, &parts[i]);
        if (result != CULV_OK) close_parts(parts, b->count, i);
    }
    culvi_x_free(buffers);
    culvi_x_free(result == CULV_OK ? b->parts : parts);
    if (result != CULV_OK) return result;
    b->parts = parts;
    b->count = count;
    return CULV_OK;
}

static void destroy(culv_vk_rdma_buffer *b)
{
    if (b == NULL) return;
    close_parts(b->parts, 0, b->count);
    culvi_x_free(b->parts);
    culv_vector_view_destroy(&b->view);
    culv_vector_destroy(&b->vector, NULL);
    culvi_x_free(b);
}

static culv_result check(culv_device *device, const culv_vk_rdma_buffer_desc *d)
{
    culv_rdma_caps caps = culv_rdma_caps_init();
    CULVI_X_REFUSE_IF(d->size == 0 || (d->reserve != 0 && d->reserve < d->size), device, d->label,
                      CULV_REASON_SIZE,
                      "culv_vk_rdma_buffer_desc.size is %" PRIu64
                      "; it is at least 1, and at most reserve (%" PRIu64 ")",
                      d->size, d->reserve);
    CULVI_X_TRY(culv_rdma_get_caps(device, &caps));
    CULVI_X_UNSUPPORTED_IF(
        !caps.with_vmm, device, d->label, CULV_REASON_USAGE,
        "'%s' has no VMM memory that cards reach (GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED is 0)",
        culvi_x_caps(device).name);
    return CULV_OK;
}

static culv_result make(culv_vk_rdma_buffer *b, const culv_vk_rdma_buffer_desc *d)
{
    culv_device *device = b->device;
    culv_vector_desc vd = culv_vector_desc_init();
    vd.size = d->size;
    vd.reserve = d->reserve != 0 ? d->reserve : d->size;
    vd.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    vd.usage = CULV_VMM_USAGE_RDMA;
    vd.no_move = 1;
    vd.label = d->label;
    CULVI_X_TRY(culv_vector_create(device, &vd, &b->vector));
    culv_vk_vector_view_desc view = culv_vk_vector_view_desc_init();
    view.usage = d->usage;
    view.label = d->label;
    CULVI_X_TRY(culv_vk_vector_view_create(b->vk, b->vector, &view, &b->view));
    return list(b);
}

culv_result culv_vk_rdma_buffer_create(culv_device *device, culv_vk_device *vk,
                                       const culv_vk_rdma_buffer_desc *desc,
                                       culv_vk_rdma_buffer **out)
{
    CULVI_X_REQUIRE_WITH(device, device, vk);
    CULVI_X_REQUIRE2(device, desc, out);
    CULVI_X_READ(device, culv_vk_rdma_buffer_desc, d, desc);
    CULVI_X_TRY(check(device, &d));
    CULVI_X_NEW(culv_vk_rdma_buffer, b, device, d.label);
    b->device = device;
    b->vk = vk;
    b->size = d.size;
    culvi_x_label_set(b->label, d.label);
    CULVI_X_TRY_OR(make(b, &d), destroy(b));
    *out = b;
    return CULV_OK;
}

void culv_vk_rdma_buffer_destroy(culv_vk_rdma_buffer **buffer)
{
    destroy(culvi_x_take(buffer));
}

culv_result culv_vk_rdma_buffer_grow(culv_vk_rdma_buffer *buffer, uint64_t size)
{
    CULVI_X_REQUIRE(NULL, buffer);
    if (size <= buffer->size) return CULV_OK;
    /* What a grow commits stays committed when a later step fails: the next one finds it. */
    culv_result result = culv_vector_grow(buffer->vector, size);
    if (result == CULV_OK) result = culv_vector_view_update(buffer->view);
    if (result == CULV_OK) result = list(buffer);
    if (result == CULV_OK) buffer->size = size;
    return result;
}

culv_result culv_vk_rdma_buffer_get_parts(const culv_vk_rdma_buffer *buffer,
                                          culv_vk_rdma_part *parts, size_t capacity, size_t *count)
{
    CULVI_X_REQUIRE_WITH(buffer, buffer->device, count);
    if (capacity > 0) CULVI_X_REQUIRE(buffer->device, parts);
    for (size_t i = 0; i < buffer->count && i < capacity; i++)
        parts[i] = buffer->parts[i];
    *count = buffer->count;
    return CULV_OK;
}

CUdeviceptr culv_vk_rdma_buffer_pointer(const culv_vk_rdma_buffer *buffer)
{
    return buffer != NULL ? culv_vector_pointer(buffer->vector) : 0;
}

uint64_t culv_vk_rdma_buffer_size(const culv_vk_rdma_buffer *buffer)
{
    return buffer != NULL ? buffer->size : 0;
}
