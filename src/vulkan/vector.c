/* SPDX-License-Identifier: MIT */
/* A culv_vector in Vulkan: a buffer on each chunk, or one sparse buffer on all of them. */
#include "base/alloc.h"
#include "base/desc.h"
#include "culvert/vulkan_kernel.h"
#include "graphics/vector_view.h"
#include "vulkan/vk_trace.h"
#include "vulkan/vk_vmm.h"

#include <inttypes.h>

struct culv_vk_vector {
    culvi_vector_view base; /* its graphics is vk, its vector a reference */
    culv_vk_device *vk;     /* a reference */
    VkBufferUsageFlags usage;
    VkQueue queue; /* NULL: a buffer a chunk */
    VkBuffer sparse;
    VkDeviceSize sparse_size;
    VkDeviceSize alignment; /* of what is bound to the sparse buffer */
    uint32_t type_bits;
};

static culv_result null_argument(const culv_vk_device *vk, const char *call, const char *what)
{
    return culvi_fail_null(vk != NULL ? &vk->base.device->voice : NULL, call, what);
}

static VkMemoryAllocateFlags allocate_flags(const culv_vk_vector *view)
{
    /* VUID-vkBindBufferMemory-bufferDeviceAddress-03339 */
    return view->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
               ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
               : 0;
}

/* Parts ---------------------------------------------------------------------------------------- */

static void drop(culvi_vector_view *base, const culvi_view_part *part)
{
    const culv_vk_device *vk = ((const culv_vk_vector *)base)->vk;
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, (VkBuffer)part->object, NULL));
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, (VkDeviceMemory)part->memory, NULL));
}

static VkBufferCreateInfo buffer_info(const culv_vk_vector *view, VkDeviceSize size,
                                      const VkExternalMemoryBufferCreateInfo *external)
{
    return (VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .pNext = external,
                                .flags = view->queue != NULL
                                             ? VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
                                                   VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT
                                             : 0,
                                .size = size,
                                .usage = view->usage,
                                .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
}

static VkExternalMemoryHandleTypeFlagBits handle_bit(void)
{
    return culvi_vk_memory_handle_bit((culv_handle_type)CULVI_HANDLE_OPAQUE);
}

static culv_result create_buffer(const culv_vk_vector *view, VkDeviceSize size, VkBuffer *out)
{
    const culv_vk_device *vk = view->vk;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = handle_bit()};
    const VkBufferCreateInfo info = buffer_info(view, size, &external);
    VkBuffer buffer = VK_NULL_HANDLE;
    VkResult r = CULVI_VK(vk, vkCreateBuffer, (vk->vk_device, &info, NULL, &buffer));
    if (r != VK_SUCCESS)
        return culvi_fail_vk(&vk->base.device->voice, view->base.label, r, "vkCreateBuffer",
                             CULV_REASON_DRIVER_REFUSED,
                             "a %sbuffer of %" PRIu64 " bytes could not be made",
                             view->queue != NULL ? "sparse " : "", size);
    *out = buffer;
    return CULV_OK;
}

static culv_result make_buffer(const culv_vk_vector *view, const culv_vector_chunk *chunk,
                               VkBuffer *out, VkDeviceMemory *memory, culv_memory_kind *kind)
{
    culv_vk_device *vk = view->vk;
    VkBuffer buffer = VK_NULL_HANDLE;
    culv_result result = create_buffer(view, chunk->size, &buffer);
    if (result == CULV_OK)
        result = culvi_vk_vmm_bind_buffer(vk, view->base.label, buffer, chunk->allocation, 0,
                                          allocate_flags(view), memory, kind);
    if (result == CULV_OK)
        *out = buffer;
    else
        CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, buffer, NULL));
    return result;
}

/* The memory that is to be bound to the sparse buffer. */
static culv_result make_memory(const culv_vk_vector *view, const culv_vector_chunk *chunk,
                               VkDeviceMemory *out)
{
    const culvi_voice *voice = &view->vk->base.device->voice;
    if (chunk->offset > view->sparse_size || chunk->size > view->sparse_size - chunk->offset)
        return culvi_fail(
            voice, view->base.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_vk_vector_desc.sparse_size is %" PRIu64 ", but the vector has committed %" PRIu64
            " bytes, including those ahead; make the view again with a larger sparse_size, which "
            "costs no memory",
            view->sparse_size, chunk->offset + chunk->size);
    if (chunk->offset % view->alignment != 0 || chunk->size % view->alignment != 0)
        return culvi_fail(voice, view->base.label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "the sparse buffer is bound in multiples of %" PRIu64
                          " bytes, and a chunk of the vector has %" PRIu64 " from %" PRIu64
                          " on; make the view without sparse_queue",
                          view->alignment, chunk->size, chunk->offset);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.memory_type_bits = view->type_bits;
    d.allocate_flags = allocate_flags(view);
    d.label = view->base.label;
    return culvi_vk_vmm_import(view->vk, chunk->allocation, &d, out);
}

static culv_result make(culvi_vector_view *base, const culv_vector_chunk *chunk,
                        culvi_view_part *part)
{
    const culv_vk_vector *view = (const culv_vk_vector *)base;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    /* What is bound to a sparse buffer is as slow for Vulkan as memory that is not dedicated
     * (measured: docs/memory-kinds.md). */
    culv_memory_kind kind = chunk->allocation->usage & CULV_VMM_USAGE_COMPRESSIBLE
                                ? CULV_MEMORY_KIND_COMPRESSIBLE
                            : view->queue != NULL ? CULV_MEMORY_KIND_PLAIN
                                                  : CULV_MEMORY_KIND_FAST;
    culv_result result = culvi_vk_vmm_check(view->vk, base->label, chunk->allocation);
    if (result == CULV_OK)
        result = view->queue != NULL ? make_memory(view, chunk, &memory)
                                     : make_buffer(view, chunk, &buffer, &memory, &kind);
    if (result != CULV_OK) return result;
    part->kind = kind;
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
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &bind};
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    const char *call = "vkCreateFence";
    VkResult r = CULVI_VK(vk, vkCreateFence, (vk->vk_device, &fence_info, NULL, &fence));
    if (r == VK_SUCCESS) {
        call = "vkQueueBindSparse";
        r = CULVI_VK(vk, vkQueueBindSparse, (queue, 1, &info, fence));
        if (r == VK_SUCCESS) {
            call = "vkWaitForFences";
            r = CULVI_VK(vk, vkWaitForFences, (vk->vk_device, 1, &fence, VK_TRUE, UINT64_MAX));
            /* What an error takes back may still be on its way, unless the device is lost, which it
             * stays. */
            if (r != VK_SUCCESS)
                r = CULVI_VK(vk, vkWaitForFences, (vk->vk_device, 1, &fence, VK_TRUE, UINT64_MAX));
        }
        CULVI_VK_DO(vk, vkDestroyFence, (vk->vk_device, fence, NULL));
    }
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&vk->base.device->voice, label, r, call, CULV_REASON_DRIVER_REFUSED,
                         "%" PRIu32 " ranges of the sparse buffer could not be bound", count);
}

/* Binds what is new in `parts`, and nothing behind the last of them, where others were: in one
 * batch, so that a range must not be in it twice. Chunks lie side by side from offset 0 on. */
static culv_result bind(culvi_vector_view *base, const culvi_view_part *parts, size_t count)
{
    const culv_vk_vector *view = (const culv_vk_vector *)base;
    const VkDeviceSize before = culvi_vector_view_end(base->parts, base->num_parts);
    const VkDeviceSize now = culvi_vector_view_end(parts, count);
    VkSparseMemoryBind *binds = culvi_alloc((count + 1) * sizeof *binds);
    uint32_t n = 0;
    culv_result result = CULV_OK;
    if (binds == NULL) return culvi_fail_host_memory(&view->vk->base.device->voice, base->label);
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

#define CALLS .update_call = "culv_vk_vector_update", .destroy_call = "culv_vk_vector_destroy"
static const culvi_vector_view_api with_buffers = {CALLS, .make = make, .drop = drop};
static const culvi_vector_view_api with_sparse_buffer = {CALLS, .make = make, .drop = drop,
                                                         .show = bind};

culv_result culv_vk_vector_update(culv_vk_vector *view)
{
    if (view == NULL) return null_argument(NULL, "culv_vk_vector_update", "view");
    return culvi_vector_view_update(&view->base);
}

/* Creation ------------------------------------------------------------------------------------- */

static culv_result check_desc(const culv_vk_device *vk, const culv_vk_vector_desc *d)
{
    const char *wrong = NULL;
    if (d->usage == 0)
        wrong = "usage is 0; say what Vulkan does with the buffers, VERTEX_BUFFER for one";
    else if (d->sparse_queue == NULL && d->sparse_size != 0)
        wrong =
            "sparse_size is given without sparse_queue; give both for one sparse buffer, or none";
    else if (d->sparse_queue != NULL && d->sparse_size == 0)
        wrong =
            "sparse_queue is given without sparse_size; set it to the most bytes that the vector "
            "will have";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(&vk->base.device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_vector_desc.%s", wrong);
}

/* Chunks to come are like this, whether there are any now or not. */
static culv_result check_vector(const culv_vk_device *vk, const char *label,
                                const culv_vector *vector)
{
    const culv_vmm_allocation like = {.device = vector->device,
                                      .kind = vector->chunk.kind,
                                      .uuid = vector->device->caps.uuid,
                                      .handle_types = vector->chunk.handle_types,
                                      .usage = vector->chunk.usage};
    return culvi_vk_vmm_check(vk, label, &like);
}

static culv_result fail_sparse(const culv_vk_device *vk, const char *label, const char *why)
{
    return culvi_fail(&vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                      "'%s' %s; leave sparse_queue out, to get a buffer for each chunk",
                      vk->base.name, why);
}

culv_result culvi_vk_check_sparse(culv_vk_device *vk, const char *label,
                                  const VkBufferCreateInfo *info)
{
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDeviceProperties properties;
    VkExternalMemoryProperties external;
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceProperties, (vk->physical_device, &properties));
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceFeatures2, (vk->physical_device, &features));
    if (vk->table.vkQueueBindSparse == NULL || !features.features.sparseBinding ||
        !features.features.sparseResidencyBuffer)
        return fail_sparse(vk, label,
                           "has no sparse buffers (sparseBinding, sparseResidencyBuffer)");
    /* Mesa 25 reports no error and maps file descriptor 0 in the place of the import, whose own it
     * does not keep (lp_texture.c, llvmpipe_resource_bind_backing() and
     * llvmpipe_import_memory_fd()); every word was wrong. */
    if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
        return fail_sparse(
            vk, label,
            "is software Vulkan, whose sparse buffers do not show memory that was imported");
    culvi_vk_ask_buffer_sharing(vk, info, handle_bit(), &external);
    if (!(external.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return fail_sparse(vk, label,
                           "cannot import memory for sparse buffers with this usage "
                           "(vkGetPhysicalDeviceExternalBufferProperties)");
    const VkDeviceSize most = properties.limits.sparseAddressSpaceSize;
    if (info->size <= most && info->size <= vk->max_buffer_size) return CULV_OK;
    return culvi_fail(&vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "a sparse buffer (of a vector: sparse_size) is to have %" PRIu64
                      " bytes; '%s' has sparse buffers of up to %" PRIu64
                      " bytes (sparseAddressSpaceSize, maxBufferSize)",
                      info->size, vk->base.name,
                      most < vk->max_buffer_size ? most : vk->max_buffer_size);
}

static culv_result create_sparse(culv_vk_vector *view)
{
    culvi_vk_needs needs;
    culv_result result = create_buffer(view, view->sparse_size, &view->sparse);
    if (result != CULV_OK) return result;
    culvi_vk_buffer_needs(view->vk, view->sparse, &needs);
    view->alignment = needs.memory.alignment != 0 ? needs.memory.alignment : 1;
    view->type_bits = needs.memory.memoryTypeBits;
    return CULV_OK;
}

static culv_result check_usage(culv_vk_device *vk, const char *label, const culv_vk_vector *view)
{
    const VkBufferCreateInfo info = buffer_info(
        view, view->queue != NULL ? view->sparse_size : view->base.vector->granularity, NULL);
    const culvi_vk_ask ask = {.label = label, .origin = CULVI_VK_MADE_HERE};
    culvi_vk_verdict verdict;
    return view->queue != NULL ? culvi_vk_check_sparse(vk, label, &info)
                               : culvi_vk_check_buffer(vk, &ask, &info, &verdict);
}

static void release(culv_vk_vector *view)
{
    const culv_vk_device *vk = view->vk;
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, view->sparse, NULL));
    culvi_vector_view_clear(&view->base);
    culvi_free(view);
}

culv_result culv_vk_vector_create(culv_vk_device *vk, culv_vector *vector,
                                  const culv_vk_vector_desc *desc, culv_vk_vector **out)
{
    culv_vk_vector_desc d;
    const char *missing = vk == NULL       ? "vk"
                          : vector == NULL ? "vector"
                          : desc == NULL   ? "desc"
                          : out == NULL    ? "out"
                                           : NULL;
    if (missing != NULL) return null_argument(vk, "culv_vk_vector_create", missing);
    const culvi_voice *voice = &vk->base.device->voice;
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_vector_desc");
    if (result != CULV_OK) return result;
    if (d.label == NULL) d.label = vector->label;
    result = check_desc(vk, &d);
    if (result == CULV_OK) result = check_vector(vk, d.label, vector);
    if (result != CULV_OK) return result;
    culv_vk_vector *view = culvi_alloc(sizeof *view);
    if (view == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_vector_view_init(&view->base,
                           d.sparse_queue != NULL ? &with_sparse_buffer : &with_buffers, &vk->base,
                           vector, d.label);
    view->vk = vk;
    view->usage = d.usage | (vk->kernels ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
    view->queue = d.sparse_queue;
    view->sparse_size = d.sparse_size;
    result = check_usage(vk, d.label, view);
    if (result == CULV_OK && view->queue != NULL) result = create_sparse(view);
    if (result == CULV_OK) result = culvi_vector_view_update(&view->base);
    if (result != CULV_OK) {
        release(view);
        return result;
    }
    culvi_graphics_ref(&vk->base);
    culvi_graphics_count_created(&vk->base, true);
    culvi_log_object(voice, "made", "view of a vector", view->base.label, 0);
    *out = view;
    return CULV_OK;
}

void culv_vk_vector_destroy(culv_vk_vector **view)
{
    if (view == NULL || *view == NULL) return;
    culv_vk_vector *mine = *view;
    culv_vk_device *vk = mine->vk;
    *view = NULL;
    culvi_log_object(&vk->base.device->voice, "destroyed", "view of a vector", mine->base.label, 0);
    release(mine);
    culvi_graphics_count_created(&vk->base, false);
    culvi_graphics_unref(&vk->base);
}

culv_result culv_vk_vector_get_address(const culv_vk_vector *view, VkDeviceAddress *out)
{
    if (view == NULL || out == NULL)
        return null_argument(view != NULL ? view->vk : NULL, __func__,
                             view == NULL ? "view" : "out");
    const culvi_vector_view *base = &view->base;
    const culvi_voice *voice = &view->vk->base.device->voice;
    if (!(view->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT))
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "the view's buffers have no address; add "
                          "VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT to culv_vk_vector_desc.usage");
    if (view->queue == NULL && base->num_parts != 1)
        return culvi_fail(voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_ADDRESS,
                          "the view shows the vector as %zu buffers, each with an address of its "
                          "own; a sparse view has one (culv_vk_vector_desc.sparse_queue)",
                          base->num_parts);
    const VkBuffer buffer = view->queue != NULL ? view->sparse : (VkBuffer)base->parts[0].object;
    const VkDeviceAddress address = culvi_vk_buffer_address(view->vk, buffer);
    if (address == 0) return culvi_vk_refuse_addresses(view->vk);
    *out = address;
    return CULV_OK;
}

culv_result culv_vk_vector_get_buffers(const culv_vk_vector *view, culv_vk_vector_buffer *parts,
                                       size_t capacity, size_t *count)
{
    const char *missing = view == NULL                     ? "view"
                          : count == NULL                  ? "count"
                          : parts == NULL && capacity != 0 ? "parts"
                                                           : NULL;
    if (missing != NULL)
        return null_argument(view != NULL ? view->vk : NULL, "culv_vk_vector_get_buffers", missing);
    const culvi_vector_view *base = &view->base;
    if (view->queue != NULL && capacity > 0)
        parts[0] = (culv_vk_vector_buffer){
            .buffer = view->sparse, .size = culvi_vector_view_end(base->parts, base->num_parts)};
    for (size_t i = 0; view->queue == NULL && i < base->num_parts && i < capacity; i++)
        parts[i] = (culv_vk_vector_buffer){.buffer = (VkBuffer)base->parts[i].object,
                                           .offset = base->parts[i].offset,
                                           .size = base->parts[i].size,
                                           .chunk = base->parts[i].chunk};
    *count = view->queue != NULL ? 1 : base->num_parts;
    return CULV_OK;
}

culv_memory_kind culv_vk_vector_memory_kind(const culv_vk_vector *view)
{
    culv_memory_kind kind = CULV_MEMORY_KIND_UNKNOWN;
    if (view == NULL) return kind;
    /* All chunks have the same usage, so they differ in nothing but whether one is plain. */
    for (size_t i = 0; i < view->base.num_parts; i++)
        if (kind != CULV_MEMORY_KIND_PLAIN) kind = view->base.parts[i].kind;
    return kind;
}

uint64_t culv_vk_vector_generation(const culv_vk_vector *view)
{
    return view != NULL ? atomic_load(&view->base.generation) : 0;
}
