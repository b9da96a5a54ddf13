/* SPDX-License-Identifier: MIT */
/* A culv_vector in Vulkan: a buffer on each chunk, or one sparse buffer on all of them. */
#include "culvert/vulkan_kernel.h"
#include "graphics/pair.h"
#include "graphics/vector_view.h"
#include "vulkan/vk_export.h"

typedef struct vk_view {
    culv_vector_view base;
    culv_vk_device *vk; /* its graphics */
    VkBufferUsageFlags usage;
    VkQueue queue; /* NULL: a buffer a chunk */
    VkBuffer sparse;
    VkDeviceSize sparse_size;
    VkDeviceSize alignment; /* of what is bound to the sparse buffer */
    uint32_t type_bits;
} vk_view;

/* Parts ---------------------------------------------------------------------------------------- */

static void drop(culv_vector_view *base, const culvi_view_part *part)
{
    const culv_vk_device *vk = ((const vk_view *)base)->vk;
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, (VkBuffer)part->object, vk->callbacks));
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, (VkDeviceMemory)part->memory, vk->callbacks));
}

static VkBufferCreateInfo buffer_info(const vk_view *view, VkDeviceSize size)
{
    return (VkBufferCreateInfo){CULVI_STYPE(BUFFER_CREATE_INFO),
                                .flags = view->queue != NULL ? CULVI_VK_SPARSE : 0, .size = size,
                                .usage = view->usage};
}

/* What is to be bound to the sparse buffer. */
static culv_result check_place(const vk_view *view, const culv_part *chunk)
{
    CULVI_REFUSE_IF(
        chunk->offset > view->sparse_size || chunk->size > view->sparse_size - chunk->offset,
        view->vk->voice, view->base.label, CULV_REASON_VALUE,
        "culv_vk_vector_view_desc.sparse_size is %" PRIu64 ", but the vector has committed %" PRIu64
        " bytes, including those ahead; make the view again with a larger sparse_size, which costs no memory",
        view->sparse_size, chunk->offset + chunk->size);
    CULVI_UNSUPPORTED_IF(chunk->offset % view->alignment != 0 || chunk->size % view->alignment != 0,
                         view->vk->voice, view->base.label, CULV_REASON_USAGE,
                         "the sparse buffer is bound in multiples of %" PRIu64
                         " bytes, and a chunk of the vector has %" PRIu64 " from %" PRIu64
                         " on; make the view without sparse_queue",
                         view->alignment, chunk->size, chunk->offset);
    return CULV_OK;
}

static culv_result make(culv_vector_view *base, const culv_part *chunk, culvi_view_part *part)
{
    const vk_view *view = (const vk_view *)base;
    const VkBufferCreateInfo info = buffer_info(view, chunk->size);
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    CULVI_TRY(culvi_vk_vmm_check(view->vk, base->label, chunk->allocation));
    if (view->queue != NULL) CULVI_TRY(check_place(view, chunk));
    CULVI_TRY(culvi_vk_vmm_show(view->vk, base->label, chunk->allocation, &info, "",
                                view->type_bits, &buffer, &memory));
    part->object = (uint64_t)buffer;
    part->memory = (uint64_t)memory;
    return CULV_OK;
}

/* Binding -------------------------------------------------------------------------------------- */

culv_result culvi_vk_bind_sparse(const culv_vk_device *vk, const char *label, VkQueue queue,
                                 VkBuffer buffer, const VkSparseMemoryBind *binds, uint32_t count)
{
    const VkSparseBufferMemoryBindInfo bind = {
        .buffer = buffer, .bindCount = count, .pBinds = binds};
    const VkBindSparseInfo info = {CULVI_STYPE(BIND_SPARSE_INFO), .bufferBindCount = 1,
                                   .pBufferBinds = &bind};
    const VkFenceCreateInfo fence_info = {CULVI_STYPE(FENCE_CREATE_INFO)};
    VkFence fence = VK_NULL_HANDLE;
    const char *call = NULL;
    VkResult r = VK_SUCCESS;
    CULVI_VK_MAKE(r, call, vk, vkCreateFence, (vk->vk_device, &fence_info, vk->callbacks, &fence),
                  fence);
    CULVI_VK_NEXT(r, call, vk, vkQueueBindSparse, (queue, 1, &info, fence));
    if (r == VK_SUCCESS) {
        call = "vkWaitForFences";
        r = culvi_vk_wait_for_fence(vk, fence);
    }
    if (fence != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyFence, (vk->vk_device, fence, vk->callbacks));
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_vk_failed(vk, label, r, call,
                           "%" PRIu32 " ranges of the sparse buffer could not be bound", count);
}

/* Binds what is new in `parts`, and nothing behind the last of them, where others were: in one
 * batch, so that a range must not be in it twice. Chunks lie side by side from offset 0 on. */
static culv_result bind(culv_vector_view *base, const culvi_view_part *parts, size_t count)
{
    const vk_view *view = (const vk_view *)base;
    const VkDeviceSize before = culvi_vector_view_end(base->parts, base->num_parts);
    const VkDeviceSize now = culvi_vector_view_end(parts, count);
    uint32_t n = 0;
    culv_result result = CULV_OK;
    CULVI_NEW_LIST(VkSparseMemoryBind, binds, count + 1, view->vk->voice, base->label);
    for (size_t i = 0; i < count; i++)
        if (!culvi_vector_view_has(base, &parts[i]))
            binds[n++] = (VkSparseMemoryBind){.resourceOffset = parts[i].offset,
                                              .size = parts[i].size,
                                              .memory = (VkDeviceMemory)parts[i].memory};
    if (before > now)
        binds[n++] = (VkSparseMemoryBind){.resourceOffset = now, .size = before - now};
    if (n > 0)
        result = culvi_vk_bind_sparse(view->vk, base->label, view->queue, view->sparse, binds, n);
    culvi_free(binds);
    return result;
}

/* The sparse buffer goes before the memory that is bound to it. */
static void end(culv_vector_view *base)
{
    const vk_view *view = (const vk_view *)base;
    const culv_vk_device *vk = view->vk;
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, view->sparse, vk->callbacks));
}

static const culvi_vector_view_api with_buffers = {.make = make, .drop = drop};
static const culvi_vector_view_api with_sparse_buffer = {
    .make = make, .drop = drop, .show = bind, .end = end};

/* Creation ------------------------------------------------------------------------------------- */

static culv_result check_desc(const culv_vk_device *vk, const culv_vk_vector_view_desc *d)
{
    const char *wrong = NULL;
    if (d->usage == 0)
        wrong = "usage is 0; say what Vulkan does with the buffers, VERTEX_BUFFER for one";
    else if (d->sparse_queue == NULL && d->sparse_size != 0)
        wrong =
            "sparse_size is given without sparse_queue; give both for one sparse buffer, or none";
    else if (d->sparse_queue != NULL && d->sparse_size == 0)
        wrong =
            "sparse_queue is given without sparse_size; set it to the most bytes that the vector will have";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(vk->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_vector_view_desc.%s", wrong);
}

static culv_result fail_sparse(const culv_vk_device *vk, const char *label, const char *why)
{
    return culvi_fail(vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                      "'%s' %s; leave sparse_queue out, to get a buffer for each chunk",
                      vk->base.name, why);
}

VkDeviceSize culvi_vk_most_sparse(const culv_vk_device *vk)
{
    const VkDeviceSize sparse = vk->properties.limits.sparseAddressSpaceSize;
    return sparse < vk->max_buffer_size ? sparse : vk->max_buffer_size;
}

culv_result culvi_vk_check_sparse(culv_vk_device *vk, const char *label,
                                  const VkBufferCreateInfo *info)
{
    VkPhysicalDeviceFeatures2 features = {CULVI_STYPE(PHYSICAL_DEVICE_FEATURES_2)};
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceFeatures2, (vk->physical_device, &features));
    if (vk->table.vkQueueBindSparse == NULL || !features.features.sparseBinding ||
        !features.features.sparseResidencyBuffer)
        return fail_sparse(vk, label,
                           "has no sparse buffers (sparseBinding, sparseResidencyBuffer)");
    /* Mesa 25 reports no error and maps file descriptor 0 in the place of the import, whose own it
     * does not keep (lp_texture.c, llvmpipe_resource_bind_backing() and
     * llvmpipe_import_memory_fd()); every word was wrong. */
    if (vk->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
        return fail_sparse(
            vk, label,
            "is software Vulkan, whose sparse buffers do not show memory that was imported");
    if (!culvi_vk_imports_buffers(vk, info, culvi_vk_opaque_bit()))
        return fail_sparse(
            vk, label,
            "cannot import memory for sparse buffers with this usage (vkGetPhysicalDeviceExternalBufferProperties)");
    const VkDeviceSize most = culvi_vk_most_sparse(vk);
    if (info->size <= most) return CULV_OK;
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "a sparse buffer (of a vector: sparse_size) is to have %" PRIu64
                      " bytes; '%s' has sparse buffers of up to %" PRIu64
                      " bytes (sparseAddressSpaceSize, maxBufferSize)",
                      info->size, vk->base.name, most);
}

static culv_result check_usage(culv_vk_device *vk, const char *label,
                               const VkBufferCreateInfo *info)
{
    const culvi_vk_ask ask = {.label = label, .origin = CULVI_VK_MADE_HERE};
    culvi_vk_verdict verdict;
    return info->flags != 0 ? culvi_vk_check_sparse(vk, label, info)
                            : culvi_vk_check_buffer(vk, &ask, info, &verdict);
}

culv_result culv_vk_vector_view_create(culv_vk_device *vk, culv_vector *vector,
                                       const culv_vk_vector_view_desc *desc, culv_vector_view **out)
{
    CULVI_REQUIRE_WITH3(vk, vk->voice, vector, desc, out);
    CULVI_READ(vk->voice, culv_vk_vector_view_desc, d, desc);
    if (d.label == NULL) d.label = vector->label;
    CULVI_TRY(check_desc(vk, &d));
    /* Chunks to come are like this, whether there are any now or not. */
    const culv_vmm_allocation like = {.device = vector->device,
                                      .kind = vector->chunk.kind,
                                      .uuid = vector->device->caps.uuid,
                                      .handle_types = vector->chunk.handle_types,
                                      .usage = vector->chunk.usage};
    CULVI_TRY(culvi_vk_vmm_check(vk, d.label, &like));
    CULVI_NEW(vk_view, view, vk->voice, d.label);
    culvi_vector_view_init(&view->base,
                           d.sparse_queue != NULL ? &with_sparse_buffer : &with_buffers, &vk->base,
                           vector, d.label);
    view->vk = vk;
    view->usage = d.usage | (vk->kernels ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
    view->queue = d.sparse_queue;
    view->sparse_size = d.sparse_size;
    const VkBufferCreateInfo info =
        buffer_info(view, view->queue != NULL ? view->sparse_size : vector->granularity);
    culv_result result = check_usage(vk, d.label, &info);
    if (result == CULV_OK && view->queue != NULL)
        result = culvi_vk_create_buffer(vk, view->base.label, &info, culvi_vk_opaque_bit(),
                                        "sparse buffer", "", &view->sparse);
    if (result == CULV_OK && view->queue != NULL) {
        view->base.whole = (uint64_t)view->sparse;
        culvi_vk_sparse_needs(vk, view->sparse, &view->alignment, &view->type_bits);
    }
    return culvi_vector_view_made(&view->base, result, out);
}

culv_result culv_vk_vector_view_get_address(const culv_vector_view *view, VkDeviceAddress *out)
{
    CULVI_REQUIRE(NULL, view);
    const culvi_voice *voice = &view->graphics->device->voice;
    CULVI_REQUIRE(voice, out);
    CULVI_TRY(culvi_check_made_by(view->graphics, &culvi_vk_api, view->label, __func__));
    const vk_view *mine = (const vk_view *)view;
    CULVI_REFUSE_IF(
        !(mine->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT), voice, NULL, CULV_REASON_USAGE,
        "the view's buffers have no address; add VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT to culv_vk_vector_view_desc.usage");
    CULVI_UNSUPPORTED_IF(
        mine->queue == NULL && view->num_parts != 1, voice, NULL, CULV_REASON_ADDRESS,
        "the view shows the vector as %zu buffers, each with an address of its own; a sparse view has one (culv_vk_vector_view_desc.sparse_queue)",
        view->num_parts);
    const VkBuffer buffer = mine->queue != NULL ? mine->sparse : (VkBuffer)view->parts[0].object;
    const VkDeviceAddress address = culvi_vk_buffer_address(mine->vk, buffer);
    if (address == 0) return culvi_vk_refuse_addresses(mine->vk);
    *out = address;
    return CULV_OK;
}
