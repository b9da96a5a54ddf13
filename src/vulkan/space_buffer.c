/* SPDX-License-Identifier: MIT */
/* Parts of a space: the space's VkBuffer at an offset, or a sparse VkBuffer of their own on the
 * same memory. */
#include "base/alloc.h"
#include "base/desc.h"
#include "vulkan/vk_space.h"

#include <inttypes.h>

struct culv_vk_space_buffer {
    culv_vk_space *space; /* a reference, by its claim */
    uint64_t offset, size;
    VkBuffer own; /* VK_NULL_HANDLE: the space's */
};

/* Vertices, indices and inputs and storage of acceleration structures need 256 bytes at most
 * (vkCmdBuildAccelerationStructuresKHR); so do cuMemAlloc's pointers. */
enum { LEAST_ALIGNMENT = 256 };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t alignment_of(const culv_vk_space *s, const culv_vk_space_buffer_desc *d)
{
    VkPhysicalDeviceProperties p;
    const culv_vk_device *vk = s->vk;
    uint64_t a = larger(LEAST_ALIGNMENT, d->alignment);
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceProperties, (vk->physical_device, &p));
    if (d->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
        a = larger(a, p.limits.minStorageBufferOffsetAlignment);
    if (d->usage & VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT)
        a = larger(a, p.limits.minUniformBufferOffsetAlignment);
    if (d->usage &
        (VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT))
        a = larger(a, p.limits.minTexelBufferOffsetAlignment);
    return d->own_handle != NULL ? larger(a, s->alignment) : a;
}

static culv_result check_desc(const culv_vk_space *s, const culv_vk_space_buffer_desc *d,
                              uint64_t alignment, uint64_t size)
{
    const culvi_voice *voice = &s->base.device->voice;
    const uint64_t all = culv_vmm_range_size(s->base.range);
    if ((d->alignment & (d->alignment - 1)) != 0 || alignment > s->granularity)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_space_buffer_desc.alignment is %" PRIu64
                          "; give a power of two up to the granularity of %" PRIu64 " bytes",
                          d->alignment, s->granularity);
    if (d->usage == 0 && d->own_handle != NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_space_buffer_desc.usage is 0, and a VkBuffer of its own needs a "
                          "usage");
    if (d->own_handle != NULL && (d->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT))
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "culv_vk_space_buffer_desc.usage has SHADER_DEVICE_ADDRESS: a VkBuffer "
                          "of its own would have a second address; take "
                          "culv_vk_space_buffer_pointer(), or leave own_handle out");
    if (d->own_handle == NULL && (d->usage & ~s->usage) != 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "culv_vk_space_buffer_desc.usage has %#" PRIx32 ", which the space's "
                          "VkBuffer lacks; add it to culv_vk_space_desc.buffer_usage, or set "
                          "own_handle",
                          d->usage & ~s->usage);
    if (d->offset != CULV_VK_SPACE_ANYWHERE && d->offset % alignment != 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_space_buffer_desc.offset is %" PRIu64
                          ", and its use needs a multiple of %" PRIu64,
                          d->offset, alignment);
    if (d->size == 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_vk_space_buffer_desc.size is 0; a buffer has a byte or more");
    if (size > all || (d->offset != CULV_VK_SPACE_ANYWHERE && d->offset > all - size))
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "culv_vk_space_buffer_desc: %" PRIu64
                          " bytes leave the space, which has %" PRIu64 " bytes",
                          d->size, all);
    return CULV_OK;
}

/* The first bytes in [at, end) that have no memory, up to the next memory. With the lock. */
static uint64_t find_gap(const culv_vk_space *s, uint64_t *at, uint64_t end)
{
    for (size_t i = culvi_vk_space_find(s, *at); i < s->num_chunks; i++) {
        const culvi_vk_chunk *c = &s->chunks[i];
        if (c->going || c->offset + c->size <= *at) continue;
        if (c->offset > *at) return c->offset < end ? c->offset : end;
        *at = c->offset + c->size;
        if (*at >= end) return end;
    }
    return end;
}

/* What was committed for a buffer. */
enum { MOST_GAPS = 64 };
typedef struct filled {
    size_t count;
    struct {
        uint64_t offset, size;
    } gaps[MOST_GAPS];
} filled;

static void undo(culv_vk_space *s, filled *f)
{
    for (; f->count > 0; f->count--)
        culvi_vk_space_empty(s, f->gaps[f->count - 1].offset, f->gaps[f->count - 1].size);
}

/* Commits what is missing. An error leaves in *f what undo() takes out. */
static culv_result fill_gaps(culv_vk_space *s, uint64_t offset, uint64_t size, filled *f)
{
    const uint64_t g = s->granularity;
    const uint64_t end = (offset + size + g - 1) / g * g;
    uint64_t at = offset / g * g;
    f->count = 0;
    while (at < end) {
        culvi_mutex_lock(&s->lock);
        const uint64_t stop = find_gap(s, &at, end);
        culvi_mutex_unlock(&s->lock);
        if (at >= end) break;
        if (f->count == MOST_GAPS)
            return culvi_fail(&s->base.device->voice, s->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
                              "the buffer would need more than %d chunks between those that are "
                              "there; commit its bytes first",
                              MOST_GAPS);
        culv_result result = culvi_vk_space_fill(s, at, stop - at, NULL);
        if (result != CULV_OK) return result;
        f->gaps[f->count].offset = at;
        f->gaps[f->count++].size = stop - at;
        at = stop;
    }
    return CULV_OK;
}

/* A sparse buffer on the memory that is there. */
static culv_result make_own(culv_vk_space *s, const culv_vk_space_buffer_desc *d, uint64_t offset,
                            uint64_t size, VkBuffer *out)
{
    const culv_vk_device *vk = s->vk;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = culvi_vk_memory_handle_bit((culv_handle_type)CULVI_HANDLE_OPAQUE)};
    const VkBufferCreateInfo info = culvi_vk_space_buffer_info(size, d->usage, false, &external);
    const size_t first = culvi_vk_space_find(s, offset);
    size_t end = first;
    uint32_t n = 0;
    uint64_t value = 0;
    VkBuffer buffer = VK_NULL_HANDLE;
    while (end < s->num_chunks && s->chunks[end].offset < offset + size)
        end++;
    VkSparseMemoryBind *binds = culvi_alloc((end - first) * sizeof *binds);
    if (binds == NULL) return culvi_fail_host_memory(&vk->base.device->voice, d->label);
    for (size_t i = first; i < end; i++) {
        const culvi_vk_chunk *c = &s->chunks[i];
        const uint64_t from = larger(offset, c->offset);
        const uint64_t to =
            offset + size < c->offset + c->size ? offset + size : c->offset + c->size;
        binds[n++] = (VkSparseMemoryBind){.resourceOffset = from - offset,
                                          .size = to - from,
                                          .memory = c->memory,
                                          .memoryOffset = from - c->offset};
    }
    culv_result result = CULV_OK;
    VkResult r = CULVI_VK(vk, vkCreateBuffer, (vk->vk_device, &info, vk->callbacks, &buffer));
    if (r != VK_SUCCESS) {
        result = culvi_fail_vk(&vk->base.device->voice, d->label, r, "vkCreateBuffer",
                               CULV_REASON_DRIVER_REFUSED,
                               "a sparse buffer of %" PRIu64 " bytes could not be made", size);
    } else {
        result = culvi_vk_space_bind(s, buffer, binds, n, &value);
        if (result == CULV_OK) result = culvi_vk_space_wait(s, value);
        if (result != CULV_OK)
            CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, buffer, vk->callbacks));
    }
    culvi_free(binds);
    if (result == CULV_OK) *out = buffer;
    return result;
}

culv_result culv_vk_space_buffer_create(culv_vk_space *space, const culv_vk_space_buffer_desc *desc,
                                        culv_vk_space_buffer **out)
{
    culv_vk_space_buffer_desc d;
    filled f = {.count = 0};
    CULVI_REQUIRE(NULL, space);
    const culvi_voice *voice = &space->base.device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_space_buffer_desc");
    if (result != CULV_OK) return result;
    if (d.label == NULL) d.label = space->label;
    const uint64_t alignment = alignment_of(space, &d);
    /* A VkBuffer of its own is bound in whole blocks. */
    uint64_t size = d.size, offset = d.offset;
    if (d.own_handle != NULL && size <= UINT64_MAX - space->alignment)
        size = (size + space->alignment - 1) / space->alignment * space->alignment;
    result = check_desc(space, &d, alignment, size);
    if (result != CULV_OK) return result;
    culv_vk_space_buffer *buffer = culvi_alloc(sizeof *buffer);
    if (buffer == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_mutex_lock(&space->turn);
    result = culvi_vk_space_take(space, d.label, size, alignment, &offset);
    const bool taken = result == CULV_OK;
    if (result == CULV_OK) result = fill_gaps(space, offset, size, &f);
    if (result == CULV_OK && d.own_handle != NULL)
        result = make_own(space, &d, offset, size, &buffer->own);
    if (result != CULV_OK) undo(space, &f);
    if (result != CULV_OK && taken) culvi_vk_space_untake(space, offset);
    culvi_mutex_unlock(&space->turn);
    if (result != CULV_OK) {
        if (taken) culvi_vk_space_unref(space);
        culvi_free(buffer);
        return result;
    }
    buffer->space = space;
    buffer->offset = offset;
    buffer->size = d.size;
    if (d.own_handle != NULL) *d.own_handle = buffer->own;
    culvi_log_object(voice, "made", "part of a space", d.label, d.size);
    *out = buffer;
    return CULV_OK;
}

void culv_vk_space_buffer_destroy(culv_vk_space_buffer **buffer)
{
    if (buffer == NULL || *buffer == NULL) return;
    culv_vk_space_buffer *mine = *buffer;
    culv_vk_space *space = mine->space;
    const culv_vk_device *vk = space->vk;
    *buffer = NULL;
    if (mine->own != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, mine->own, vk->callbacks));
    culvi_log_object(&vk->base.device->voice, "destroyed", "part of a space", space->label,
                     mine->size);
    culvi_vk_space_unclaim(&space->base, mine->offset);
    culvi_free(mine);
}

CUdeviceptr culv_vk_space_buffer_pointer(const culv_vk_space_buffer *buffer)
{
    return buffer != NULL ? culv_vk_space_pointer(buffer->space) + buffer->offset : 0;
}
