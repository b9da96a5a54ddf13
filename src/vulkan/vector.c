/* A culv_vector in Vulkan: a buffer on each chunk, or one sparse buffer on all of them. SPDX-License-Identifier: MIT */
#include "vmm/vector.h"
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_vmm.h"

#include <inttypes.h>

/* What was imported of a chunk. */
typedef struct view_part {
    uint64_t chunk; /* culv_vector_chunk::id */
    VkDeviceSize offset, size;
    VkBuffer buffer; /* of its own; none of a sparse view */
    VkDeviceMemory memory;
} view_part;

struct culv_vk_vector {
    culv_vk *vk; /* a reference */
    culv_vector *vector;
    VkBufferUsageFlags usage;
    VkQueue queue; /* NULL: a buffer a chunk */
    VkBuffer sparse;
    VkDeviceSize sparse_size;
    VkDeviceSize alignment; /* of what is bound to the sparse buffer */
    uint32_t type_bits;
    view_part *parts; /* sorted by offset */
    size_t num_parts;
    _Atomic uint64_t generation;
    char label[64];
};

static culv_result null_argument(const culv_vk *vk, const char *call, const char *what)
{
    return culvi_fail(vk != NULL ? &vk->base.device->voice : NULL, NULL, CULV_ERROR_INVALID,
                      CULV_REASON_NULL_ARGUMENT, "%s: %s is NULL", call, what);
}

static VkMemoryAllocateFlags allocate_flags(const culv_vk_vector *view)
{
    /* VUID-vkBindBufferMemory-bufferDeviceAddress-03339 */
    return view->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
                                                                   : 0;
}

/* Parts ---------------------------------------------------------------------------------------------------- */

/* The part that shows a chunk, in a list that is sorted by offset; NULL: there is none. */
static const view_part *find(const view_part *parts, size_t count, uint64_t chunk, VkDeviceSize offset)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parts[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && parts[low].offset == offset && parts[low].chunk == chunk ? &parts[low] : NULL;
}

static VkDeviceSize end_of(const view_part *parts, size_t count)
{
    return count > 0 ? parts[count - 1].offset + parts[count - 1].size : 0;
}

static void drop(const culv_vk_vector *view, const view_part *part)
{
    const culv_vk *vk = view->vk;
    vk->table.vkDestroyBuffer(vk->vk_device, part->buffer, NULL);
    vk->table.vkFreeMemory(vk->vk_device, part->memory, NULL);
}

/* Drops those of `parts` that `others` have not. */
static void drop_others(const culv_vk_vector *view, const view_part *parts, size_t count,
                        const view_part *others, size_t num_others)
{
    for (size_t i = 0; i < count; i++)
        if (find(others, num_others, parts[i].chunk, parts[i].offset) == NULL) drop(view, &parts[i]);
}

static VkBufferCreateInfo buffer_info(const culv_vk_vector *view, VkDeviceSize size,
                                      const VkExternalMemoryBufferCreateInfo *external)
{
    return (VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .pNext = external,
                                .flags = view->queue != NULL ? VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
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
    const culv_vk *vk = view->vk;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = handle_bit()};
    const VkBufferCreateInfo info = buffer_info(view, size, &external);
    VkBuffer buffer = VK_NULL_HANDLE;
    VkResult r = vk->table.vkCreateBuffer(vk->vk_device, &info, NULL, &buffer);
    if (r != VK_SUCCESS)
        return culvi_fail_vk(&vk->base.device->voice, view->label, r, "vkCreateBuffer",
                             CULV_REASON_DRIVER_REFUSED, "a %sbuffer of %" PRIu64 " bytes could not be made",
                             view->queue != NULL ? "sparse " : "", size);
    *out = buffer;
    return CULV_OK;
}

static culv_result make_buffer(const culv_vk_vector *view, const culv_vector_chunk *chunk, view_part *part)
{
    culv_vk *vk = view->vk;
    VkBuffer buffer = VK_NULL_HANDLE;
    culv_result result = create_buffer(view, chunk->size, &buffer);
    if (result == CULV_OK)
        result = culvi_vk_vmm_bind_buffer(vk, view->label, buffer, chunk->allocation, 0, allocate_flags(view),
                                          &part->memory);
    if (result == CULV_OK)
        part->buffer = buffer;
    else
        vk->table.vkDestroyBuffer(vk->vk_device, buffer, NULL);
    return result;
}

/* The memory that is to be bound to the sparse buffer. */
static culv_result make_memory(const culv_vk_vector *view, const culv_vector_chunk *chunk, view_part *part)
{
    const culvi_voice *voice = &view->vk->base.device->voice;
    if (chunk->offset > view->sparse_size || chunk->size > view->sparse_size - chunk->offset)
        return culvi_fail(voice, view->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_vector_desc.sparse_size is %" PRIu64
                          ", but the vector has committed %" PRIu64
                          " bytes, those ahead included; make the view anew with more, which costs no memory",
                          view->sparse_size, chunk->offset + chunk->size);
    if (chunk->offset % view->alignment != 0 || chunk->size % view->alignment != 0)
        return culvi_fail(voice, view->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "the sparse buffer is bound in multiples of %" PRIu64
                          " bytes, and a chunk of the vector has %" PRIu64 " from %" PRIu64
                          " on; make the view without sparse_queue",
                          view->alignment, chunk->size, chunk->offset);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.memory_type_bits = view->type_bits;
    d.allocate_flags = allocate_flags(view);
    d.label = view->label;
    return culvi_vk_vmm_import(view->vk, chunk->allocation, &d, &part->memory);
}

static culv_result make_part(const culv_vk_vector *view, const culv_vector_chunk *chunk, view_part *part)
{
    culv_result result = culvi_vk_vmm_check(view->vk, view->label, chunk->allocation);
    if (result != CULV_OK) return result;
    *part = (view_part){.chunk = chunk->id, .offset = chunk->offset, .size = chunk->size};
    return view->queue != NULL ? make_memory(view, chunk, part) : make_buffer(view, chunk, part);
}

/* Binding ---------------------------------------------------------------------------------------------------- */

static culv_result submit(const culv_vk_vector *view, const VkSparseMemoryBind *binds, uint32_t count)
{
    const culv_vk *vk = view->vk;
    const culvi_vk_device *table = &vk->table;
    const VkSparseBufferMemoryBindInfo bind = {.buffer = view->sparse, .bindCount = count, .pBinds = binds};
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &bind};
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    const char *call = "vkCreateFence";
    VkResult r = table->vkCreateFence(vk->vk_device, &fence_info, NULL, &fence);
    if (r == VK_SUCCESS) {
        call = "vkQueueBindSparse";
        r = table->vkQueueBindSparse(view->queue, 1, &info, fence);
        if (r == VK_SUCCESS) {
            call = "vkWaitForFences";
            r = table->vkWaitForFences(vk->vk_device, 1, &fence, VK_TRUE, UINT64_MAX);
            /* What an error takes back may still be on its way, unless the device is lost, which it stays. */
            if (r != VK_SUCCESS) r = table->vkWaitForFences(vk->vk_device, 1, &fence, VK_TRUE, UINT64_MAX);
        }
        table->vkDestroyFence(vk->vk_device, fence, NULL);
    }
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&vk->base.device->voice, view->label, r, call, CULV_REASON_DRIVER_REFUSED,
                         "%" PRIu32 " ranges of the sparse buffer could not be bound", count);
}

/* Binds what is new in `parts`, and nothing behind the last of them, where others were: in one batch, so that a range must
 * not be in it twice. Chunks lie side by side from offset 0 on. */
static culv_result bind(const culv_vk_vector *view, const view_part *parts, size_t count)
{
    const VkDeviceSize before = end_of(view->parts, view->num_parts), now = end_of(parts, count);
    VkSparseMemoryBind *binds = culvi_alloc((count + 1) * sizeof *binds);
    uint32_t n = 0;
    culv_result result = CULV_OK;
    if (binds == NULL) return culvi_fail_host_memory(&view->vk->base.device->voice, view->label);
    for (size_t i = 0; i < count; i++)
        if (find(view->parts, view->num_parts, parts[i].chunk, parts[i].offset) == NULL)
            binds[n++] = (VkSparseMemoryBind){
                .resourceOffset = parts[i].offset, .size = parts[i].size, .memory = parts[i].memory};
    if (before > now) binds[n++] = (VkSparseMemoryBind){.resourceOffset = now, .size = before - now};
    if (n > 0) result = submit(view, binds, n);
    culvi_free(binds);
    return result;
}

/* Updates ---------------------------------------------------------------------------------------------------- */

static culv_result list_chunks(const culv_vk_vector *view, culv_vector_chunk **out, size_t *count,
                               uint64_t *generation)
{
    size_t there = 0, capacity = 0;
    culv_result result = culv_vector_get_chunks(view->vector, NULL, 0, &there, generation);
    culv_vector_chunk *list = NULL;
    while (result == CULV_OK && (list == NULL || there > capacity)) {
        culvi_free(list);
        capacity = there; /* of which a thread that commits ahead may meanwhile make more */
        list = culvi_alloc((capacity + 1) * sizeof *list);
        if (list == NULL) return culvi_fail_host_memory(&view->vk->base.device->voice, view->label);
        result = culv_vector_get_chunks(view->vector, list, capacity, &there, generation);
    }
    if (result != CULV_OK) {
        culvi_free(list);
        return result;
    }
    *out = list;
    *count = there;
    return CULV_OK;
}

static culv_result update(culv_vk_vector *view)
{
    culv_vector_chunk *chunks = NULL;
    view_part *parts = NULL;
    size_t count = 0, made = 0;
    uint64_t generation = 0;
    culv_result result = list_chunks(view, &chunks, &count, &generation);
    if (result != CULV_OK) return result;
    parts = culvi_alloc((count + 1) * sizeof *parts);
    if (parts == NULL) {
        result = culvi_fail_host_memory(&view->vk->base.device->voice, view->label);
        goto free_chunks;
    }
    for (; made < count; made++) {
        const culv_vector_chunk *chunk = &chunks[made];
        const view_part *old = find(view->parts, view->num_parts, chunk->id, chunk->offset);
        if (old != NULL)
            parts[made] = *old;
        else
            result = make_part(view, chunk, &parts[made]);
        if (result != CULV_OK) goto drop_new;
    }
    if (view->queue != NULL) result = bind(view, parts, count);
    if (result != CULV_OK) goto drop_new;
    drop_others(view, view->parts, view->num_parts, parts, count);
    culvi_free(view->parts);
    view->parts = parts;
    view->num_parts = count;
    atomic_store(&view->generation, generation);
    culvi_free(chunks);
    return CULV_OK;

drop_new:
    drop_others(view, parts, made, view->parts, view->num_parts);
    culvi_free(parts);
free_chunks:
    culvi_free(chunks);
    return result;
}

culv_result culv_vk_vector_update(culv_vk_vector *view)
{
    if (view == NULL) return null_argument(NULL, "culv_vk_vector_update", "view");
    if (culv_vector_generation(view->vector) == atomic_load(&view->generation)) return CULV_OK;
    return update(view);
}

/* Creation --------------------------------------------------------------------------------------------------- */

static culv_result check_desc(const culv_vk *vk, const culv_vk_vector_desc *d)
{
    const char *wrong = NULL;
    if (d->usage == 0)
        wrong = "usage is 0; say what Vulkan does with the buffers, VERTEX_BUFFER for one";
    else if (d->sparse_queue == NULL && d->sparse_size != 0)
        wrong = "sparse_size is given without sparse_queue; give both for one sparse buffer, or none";
    else if (d->sparse_queue != NULL && d->sparse_size == 0)
        wrong = "sparse_queue is given without sparse_size: the bytes that the vector will have at the most";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(&vk->base.device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_vector_desc.%s", wrong);
}

/* Chunks to come are like this, whether there are any now or not. */
static culv_result check_vector(const culv_vk *vk, const char *label, const culv_vector *vector)
{
    const culv_vmm_allocation like = {.device = vector->device,
                                      .kind = vector->chunk.kind,
                                      .uuid = vector->device->caps.uuid,
                                      .handle_types = vector->chunk.handle_types,
                                      .usage = vector->chunk.usage};
    return culvi_vk_vmm_check(vk, label, &like);
}

static culv_result fail_sparse(const culv_vk *vk, const char *label, const char *why)
{
    return culvi_fail(&vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                      "'%s' %s; leave sparse_queue out, for a buffer a chunk", vk->base.name, why);
}

static culv_result check_sparse(culv_vk *vk, const char *label, const culv_vk_vector *view)
{
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDeviceProperties properties;
    VkExternalMemoryProperties external;
    const VkBufferCreateInfo info = buffer_info(view, view->sparse_size, NULL);
    vk->instance.vkGetPhysicalDeviceProperties(vk->physical_device, &properties);
    vk->instance.vkGetPhysicalDeviceFeatures2(vk->physical_device, &features);
    if (vk->table.vkQueueBindSparse == NULL || !features.features.sparseBinding ||
        !features.features.sparseResidencyBuffer)
        return fail_sparse(vk, label, "has no sparse buffers (sparseBinding, sparseResidencyBuffer)");
    /* Mesa 25 reports no error and maps file descriptor 0 in the place of the import, whose own it does not keep
     * (lp_texture.c, llvmpipe_resource_bind_backing() and llvmpipe_import_memory_fd()); every word was wrong. */
    if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
        return fail_sparse(vk, label,
                           "is software Vulkan, whose sparse buffers do not show memory that was imported");
    culvi_vk_ask_buffer_sharing(vk, &info, handle_bit(), &external);
    if (!(external.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return fail_sparse(vk, label,
                           "takes no memory from elsewhere for sparse buffers with this usage "
                           "(vkGetPhysicalDeviceExternalBufferProperties)");
    const VkDeviceSize most = properties.limits.sparseAddressSpaceSize;
    if (view->sparse_size <= most && view->sparse_size <= vk->max_buffer_size) return CULV_OK;
    return culvi_fail(
        &vk->base.device->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_vk_vector_desc.sparse_size is %" PRIu64 "; '%s' has sparse buffers of up to %" PRIu64
        " bytes (sparseAddressSpaceSize, maxBufferSize)",
        view->sparse_size, vk->base.name, most < vk->max_buffer_size ? most : vk->max_buffer_size);
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

static culv_result check_usage(culv_vk *vk, const char *label, const culv_vk_vector *view)
{
    const VkBufferCreateInfo info = buffer_info(view, view->vector->granularity, NULL);
    const culvi_vk_ask ask = {.label = label, .origin = CULVI_VK_MADE_HERE};
    culvi_vk_verdict verdict;
    return view->queue != NULL ? check_sparse(vk, label, view)
                               : culvi_vk_check_buffer(vk, &ask, &info, &verdict);
}

static void release(culv_vk_vector *view)
{
    const culv_vk *vk = view->vk;
    vk->table.vkDestroyBuffer(vk->vk_device, view->sparse, NULL);
    drop_others(view, view->parts, view->num_parts, NULL, 0);
    culvi_free(view->parts);
    culvi_free(view);
}

culv_result culv_vk_vector_create(culv_vk *vk, culv_vector *vector, const culv_vk_vector_desc *desc,
                                  culv_vk_vector **out)
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
    view->vk = vk;
    view->vector = vector;
    view->usage = d.usage;
    view->queue = d.sparse_queue;
    view->sparse_size = d.sparse_size;
    culvi_label_set(view->label, d.label);
    result = check_usage(vk, d.label, view);
    if (result == CULV_OK && view->queue != NULL) result = create_sparse(view);
    if (result == CULV_OK) result = update(view);
    if (result != CULV_OK) {
        release(view);
        return result;
    }
    culvi_graphics_ref(&vk->base);
    culvi_graphics_count_created(&vk->base, true);
    *out = view;
    return CULV_OK;
}

void culv_vk_vector_destroy(culv_vk_vector **view)
{
    if (view == NULL || *view == NULL) return;
    culv_vk_vector *mine = *view;
    culv_vk *vk = mine->vk;
    *view = NULL;
    release(mine);
    culvi_graphics_count_created(&vk->base, false);
    culvi_graphics_unref(&vk->base);
}

culv_result culv_vk_vector_get_parts(const culv_vk_vector *view, culv_vk_vector_part *parts, size_t capacity,
                                     size_t *count)
{
    const char *missing = view == NULL                     ? "view"
                          : count == NULL                  ? "count"
                          : parts == NULL && capacity != 0 ? "parts"
                                                           : NULL;
    if (missing != NULL)
        return null_argument(view != NULL ? view->vk : NULL, "culv_vk_vector_get_parts", missing);
    if (view->queue != NULL && capacity > 0)
        parts[0] =
            (culv_vk_vector_part){.buffer = view->sparse, .size = end_of(view->parts, view->num_parts)};
    for (size_t i = 0; view->queue == NULL && i < view->num_parts && i < capacity; i++)
        parts[i] = (culv_vk_vector_part){.buffer = view->parts[i].buffer,
                                         .offset = view->parts[i].offset,
                                         .size = view->parts[i].size,
                                         .chunk = view->parts[i].chunk};
    *count = view->queue != NULL ? 1 : view->num_parts;
    return CULV_OK;
}

uint64_t culv_vk_vector_generation(const culv_vk_vector *view)
{
    return view != NULL ? atomic_load(&view->generation) : 0;
}
