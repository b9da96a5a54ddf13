/* SPDX-License-Identifier: MIT */
/* Adopted memory in Vulkan: a buffer on each chunk, which all views share, or one sparse buffer. */
#include "culvert/vulkan_vmm.h"

#include "vmm/share.h"
#include "vulkan/vk_export.h"

/* What a VkDevice has of a chunk, once for each usage. In the attachment's tree, by chunk and use;
 * guarded by its lock. */
typedef struct culvi_vk_adopted_part {
    culvi_tree_node node;
    culvi_adopted_chunk *chunk; /* a reference */
    uint32_t refs;              /* views */
    bool sparse;                /* memory alone, to be bound to sparse buffers */
    VkBuffer buffer;
    VkDeviceMemory memory;
} part;

struct culv_vk_adopted {
    culv_vk_device *vk; /* a reference */
    char label[64];
    VkBufferUsageFlags usage;
    VkQueue queue;
    VkBuffer sparse; /* NULL: a buffer a chunk */
    uint64_t offset, size;
    size_t count;
    part *parts[];
};

static const char where[] = " on adopted memory"; /* for messages */

/* Parts ---------------------------------------------------------------------------------------- */

static VkBufferCreateInfo buffer_info(const culv_vk_adopted *view, VkDeviceSize size, bool sparse)
{
    return (VkBufferCreateInfo){CULVI_STYPE(BUFFER_CREATE_INFO),
                                .flags = sparse ? CULVI_VK_SPARSE : 0, .size = size,
                                .usage = view->usage};
}

static culv_result fill(const culv_vk_adopted *view, uint32_t type_bits, part *p)
{
    const VkBufferCreateInfo info = buffer_info(view, p->chunk->size, p->sparse);
    CULVI_TRY(culvi_vk_vmm_check(view->vk, view->label, p->chunk->allocation));
    return culvi_vk_vmm_show(view->vk, view->label, p->chunk->allocation, &info, where, type_bits,
                             &p->buffer, &p->memory);
}

/* The caller holds the tree's lock. */
static culv_result take_part(const culv_vk_adopted *view, culvi_adopted_chunk *chunk,
                             uint32_t type_bits, part **out)
{
    culv_vk_device *vk = view->vk;
    const bool sparse = view->sparse != VK_NULL_HANDLE;
    const uint64_t of = (uint64_t)(uintptr_t)chunk;
    const uint64_t use = (uint64_t)view->usage << 1 | (uint64_t)sparse;
    part *there = CULVI_TREE_OBJECT(culvi_tree_find(&vk->adopted, of, use), part, node);
    if (there != NULL) {
        there->refs++;
        *out = there;
        return CULV_OK;
    }
    CULVI_NEW(part, made, vk->voice, view->label);
    made->chunk = chunk;
    made->refs = 1;
    made->sparse = sparse;
    CULVI_TRY_OR(fill(view, type_bits, made), culvi_free(made));
    CULVI_LOCKED(&chunk->device->lock, chunk->refs++);
    culvi_tree_add(&vk->adopted, &made->node, of, use);
    *out = made;
    return CULV_OK;
}

/* The caller holds the tree's lock. */
static void give_part(culv_vk_device *vk, part *p)
{
    if (--p->refs > 0) return;
    culvi_tree_remove(&vk->adopted, &p->node);
    if (p->buffer != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, p->buffer, vk->callbacks));
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, p->memory, vk->callbacks));
    culvi_adopted_chunk_unref(p->chunk);
    culvi_free(p);
}

/* Views ---------------------------------------------------------------------------------------- */

/* One sparse buffer, where the device allows it. */
static void try_sparse(culv_vk_adopted *view, const culv_vmm_adopted *adopted, uint32_t *type_bits)
{
    culv_vk_device *vk = view->vk;
    const culv_error error = culvi_thread_state()->error;
    const culvi_adopted_chunk *first = adopted->chunks[0],
                              *last = adopted->chunks[adopted->count - 1];
    const VkBufferCreateInfo info = buffer_info(view, last->base + last->size - first->base, true);
    VkDeviceSize alignment;
    culvi_attempt_begin();
    culv_result result = culvi_vk_check_sparse(vk, view->label, &info);
    if (result == CULV_OK)
        result = culvi_vk_create_buffer(vk, view->label, &info, culvi_vk_opaque_bit(), "buffer",
                                        where, &view->sparse);
    (void)culvi_attempt_end(vk->voice, CULV_OK);
    culvi_thread_state()->error = error;
    if (result != CULV_OK) return;
    culvi_vk_sparse_needs(vk, view->sparse, &alignment, type_bits);
    bool aligned = true;
    for (size_t i = 0; i < adopted->count; i++)
        aligned = aligned && adopted->chunks[i]->size % alignment == 0;
    if (aligned) return;
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, view->sparse, vk->callbacks));
    view->sparse = VK_NULL_HANDLE;
}

static culv_result bind(const culv_vk_adopted *view)
{
    CULVI_NEW_LIST(VkSparseMemoryBind, binds, view->count, view->vk->voice, view->label);
    for (size_t i = 0; i < view->count; i++)
        binds[i] = (VkSparseMemoryBind){.resourceOffset = view->parts[i]->chunk->base -
                                                          view->parts[0]->chunk->base,
                                        .size = view->parts[i]->chunk->size,
                                        .memory = view->parts[i]->memory};
    const culv_result result = culvi_vk_bind_sparse(view->vk, view->label, view->queue,
                                                    view->sparse, binds, (uint32_t)view->count);
    culvi_free(binds);
    return result;
}

static void release(culv_vk_adopted *view)
{
    culv_vk_device *vk = view->vk;
    if (view->sparse != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, view->sparse, vk->callbacks));
    culvi_mutex_lock(&vk->adopted_lock);
    for (size_t i = 0; i < view->count; i++)
        give_part(vk, view->parts[i]);
    culvi_mutex_unlock(&vk->adopted_lock);
    culvi_free(view);
}

static culv_result check_usage(culv_vk_device *vk, const culv_vk_adopted *view)
{
    const VkBufferCreateInfo info = buffer_info(view, 65536, false);
    const culvi_vk_ask ask = {.label = view->label, .origin = CULVI_VK_MADE_HERE};
    culvi_vk_verdict verdict;
    return culvi_vk_check_buffer(vk, &ask, &info, &verdict);
}

culv_result culv_vk_adopted_create(culv_vk_device *vk, culv_vmm_adopted *adopted,
                                   const culv_vk_adopted_desc *desc, culv_vk_adopted **out)
{
    CULVI_REQUIRE_WITH3(vk, vk->voice, adopted, desc, out);
    CULVI_READ(vk->voice, culv_vk_adopted_desc, d, desc);
    CULVI_REFUSE_IF(
        d.usage == 0, vk->voice, d.label, CULV_REASON_VALUE,
        "culv_vk_adopted_desc.usage is 0; say what Vulkan does with the buffers, STORAGE_BUFFER for one");
    culv_vk_adopted *view = culvi_alloc(sizeof *view + adopted->count * sizeof(part *));
    if (view == NULL) return culvi_fail_host_memory(vk->voice, d.label);
    view->vk = vk;
    culvi_label_set(view->label, d.label);
    view->usage = d.usage | (vk->kernels ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
    view->queue = d.sparse_queue;
    view->offset = adopted->offset;
    view->size = adopted->size;
    uint32_t type_bits = 0;
    culv_result result = check_usage(vk, view);
    if (result == CULV_OK && d.sparse_queue != VK_NULL_HANDLE && adopted->count > 1)
        try_sparse(view, adopted, &type_bits);
    culvi_mutex_lock(&vk->adopted_lock);
    for (size_t i = 0; i < adopted->count && result == CULV_OK; i++) {
        result = take_part(view, adopted->chunks[i], type_bits, &view->parts[i]);
        if (result == CULV_OK) view->count++;
    }
    culvi_mutex_unlock(&vk->adopted_lock);
    if (result == CULV_OK && view->sparse != VK_NULL_HANDLE) result = bind(view);
    CULVI_TRY_OR(result, release(view));
    culvi_graphics_object_made(&vk->base);
    culvi_log_object(vk->voice, "made", "view of adopted memory", view->label, view->size);
    *out = view;
    return CULV_OK;
}

void culv_vk_adopted_destroy(culv_vk_adopted **view)
{
    CULVI_TAKE(culv_vk_adopted, mine, view);
    culv_vk_device *vk = mine->vk;
    culvi_log_object(vk->voice, "destroyed", "view of adopted memory", mine->label, mine->size);
    release(mine);
    culvi_graphics_object_gone(&vk->base);
}

culv_result culv_vk_adopted_get_parts(const culv_vk_adopted *view, culv_part *parts,
                                      size_t capacity, size_t *count)
{
    CULVI_REQUIRE_WITH(view, view->vk->voice, count);
    if (capacity > 0) CULVI_REQUIRE(view->vk->voice, parts);
    const bool sparse = view->sparse != VK_NULL_HANDLE;
    if (sparse && capacity > 0)
        parts[0] = (culv_part){
            .buffer = (uint64_t)view->sparse, .inner_offset = view->offset, .size = view->size};
    uint64_t done = 0;
    for (size_t i = 0; !sparse && i < view->count && i < capacity; done += parts[i++].size) {
        const culvi_adopted_chunk *chunk = view->parts[i]->chunk;
        const uint64_t inner = i == 0 ? view->offset : 0, there = chunk->size - inner;
        const uint64_t rest = view->size - done;
        parts[i] = (culv_part){.id = chunk->id,
                               .offset = done,
                               .size = there < rest ? there : rest,
                               .inner_offset = inner,
                               .buffer = (uint64_t)view->parts[i]->buffer};
    }
    *count = sparse ? 1 : view->count;
    return CULV_OK;
}
