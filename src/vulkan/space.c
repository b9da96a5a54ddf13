/* SPDX-License-Identifier: MIT */
/* One address: what a device needs for it, the search for an address that both sides give, and the
 * end. A capture address is meant for replays, and the specification lets a driver refuse any
 * (VkBufferOpaqueCaptureAddressCreateInfo); so both answers are checked, and another address is
 * tried. */
#include "vulkan/vk_resource.h"
#include "vulkan/vk_space.h"

static const culvi_space_api space_api = {.claim = culvi_vk_space_claim,
                                          .unclaim = culvi_vk_space_unclaim,
                                          .part = culvi_vk_space_part,
                                          .show = culvi_vk_space_show,
                                          .hide = culvi_vk_space_hide};

static VkBufferCreateInfo buffer_info(VkDeviceSize size, VkBufferUsageFlags usage, const void *next)
{
    return (VkBufferCreateInfo){
        CULVI_STYPE(BUFFER_CREATE_INFO), .pNext = next,
        .flags = (VkBufferCreateFlags)CULVI_VK_SPARSE |
                 (VkBufferCreateFlags)VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT,
        .size = size, .usage = usage};
}

void *culvi_vk_space_grow(void *array, size_t count, size_t more, size_t *capacity, size_t size)
{
    if (more <= *capacity - count) return array;
    size_t all = *capacity == 0 ? 8 : *capacity * 2;
    if (all < count + more) all = count + more;
    if (all > SIZE_MAX / size) return NULL;
    void *grown = culvi_alloc(all * size);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, array, count * size);
    culvi_free(array);
    *capacity = all;
    return grown;
}

/* What a device needs -------------------------------------------------------------------------- */

static culv_result lacks(const culv_vk_device *vk, const char *label, const char *how,
                         const char *what)
{
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
        "'%s' %s%s, so CUDA and Vulkan cannot have one address; a culv_vector with a view of culv_vk_vector_view_create() has two",
        vk->base.name, how, what);
}

static culv_result check_version(const culv_vk_device *vk, const char *label)
{
    const uint32_t version = vk->properties.apiVersion;
    if (version >= VK_API_VERSION_1_2 && vk->how.api_version >= VK_API_VERSION_1_2 &&
        vk->table.vkGetBufferDeviceAddress != NULL)
        return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VULKAN_VERSION,
        "one address needs Vulkan 1.2 (vkGetBufferDeviceAddress): '%s' has %u.%u, and culv_vk_device_desc.api_version is %u.%u",
        vk->base.name, VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
        VK_API_VERSION_MAJOR(vk->how.api_version), VK_API_VERSION_MINOR(vk->how.api_version));
}

static culv_result check_features(culv_vk_device *vk, const char *label)
{
    const VkBufferCreateInfo info = buffer_info(
        65536, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
        NULL);
    const char *feature = culvi_vk_lacks_for_one_address(&vk->instance, vk->physical_device);
    if (feature != NULL) return lacks(vk, label, "lacks the feature ", feature);
    if (vk->table.vkQueueBindSparse == NULL) return lacks(vk, label, "lacks ", "vkQueueBindSparse");
    if (vk->properties.limits.sparseAddressSpaceSize == 0)
        return lacks(vk, label, "has no addresses for sparse buffers ", "(sparseAddressSpaceSize)");
    if (!culvi_vk_imports_buffers(vk, &info, culvi_vk_opaque_bit()))
        return lacks(vk, label, "imports no memory for sparse buffers ",
                     "(vkGetPhysicalDeviceExternalBufferProperties)");
    return CULV_OK;
}

static culv_result check_device(culv_vk_device *vk, const char *label, const char *call,
                                culv_vk_space_info *info)
{
    culv_device *device = vk->base.device;
    culv_vmm_allocation_desc like = culv_vmm_allocation_desc_init();
    like.handle_types = UINT32_C(1) << CULVI_HANDLE_OPAQUE;
    info->max_size = culvi_vk_most_sparse(vk);
    CULVI_TRY(culvi_graphics_check_shares(&vk->base, label, CULVI_SHARE_CUDAS));
    CULVI_TRY(culvi_vmm_check_device(device, call));
    CULVI_TRY(check_version(vk, label));
    CULVI_TRY(culvi_vk_check_host_timelines(vk, label));
    CULVI_TRY(check_features(vk, label));
    return culv_vmm_get_granularity(device, &like, &info->granularity);
}

static culv_result refuse_value(const culv_vk_device *vk, const culv_vk_space_desc *d,
                                const char *what)
{
    return culvi_fail(vk->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_space_desc.%s", what);
}

static culv_result check_desc(const culv_vk_device *vk, const culv_vk_space_desc *d,
                              const culv_vk_space_info *info)
{
    const uint64_t g = info->granularity;
    CULVI_REFUSE_IF(
        d->queue == NULL, vk->voice, d->label, CULV_REASON_NULL_ARGUMENT,
        "culv_vk_space_desc.queue is NULL; give it a queue with VK_QUEUE_SPARSE_BINDING_BIT");
    CULVI_REFUSE_IF(
        d->size == 0 || d->size > info->max_size / g * g, vk->voice, d->label, CULV_REASON_SIZE,
        "culv_vk_space_desc.size is %" PRIu64 "; '%s' has sparse buffers of 1 to %" PRIu64
        " bytes (sparseAddressSpaceSize, maxBufferSize)",
        d->size, vk->base.name, info->max_size / g * g);
    if (d->address % g != 0)
        return refuse_value(vk, d, "address is not a multiple of the granularity");
    if ((d->lock_queue == NULL) != (d->unlock_queue == NULL))
        return refuse_value(vk, d, "lock_queue and unlock_queue are given both, or neither");
    if (d->access == NULL && d->access_count != 0)
        return refuse_value(vk, d, "access is NULL, but access_count is not 0");
    return CULV_OK;
}

/* The search for an address -------------------------------------------------------------------- */

enum { PLACES = 3, STEPS = 8 };

/* Returns an address near those where an H200 gave both the same one, in steps so that several
 * spaces find room (measured, docs/space.md). 0: CUDA's own choice, which comes last. */
static CUdeviceptr candidate(uint64_t size, uint32_t i)
{
    static const CUdeviceptr first[PLACES] = {0x400000000, 0x1000000000, 0x10000000000};
    const uint64_t step = (size + UINT32_MAX) >> 32 << 32; /* multiples of 4 GiB */
    return i < PLACES * STEPS ? first[i % PLACES] + i / PLACES * step : 0;
}

/* Vulkan's half at `address`; an address that it does not give is in *refused. */
static culv_result create_buffer(culv_vk_space *s, uint64_t size, CUdeviceptr address,
                                 bool *refused)
{
    const culv_vk_device *vk = s->vk;
    const VkExternalMemoryBufferCreateInfo external = {
        CULVI_STYPE(EXTERNAL_MEMORY_BUFFER_CREATE_INFO), .handleTypes = culvi_vk_opaque_bit()};
    const VkBufferOpaqueCaptureAddressCreateInfo place = {
        CULVI_STYPE(BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO), .pNext = &external,
        .opaqueCaptureAddress = address};
    const VkBufferCreateInfo info = buffer_info(size, s->usage, &place);
    VkBuffer buffer = VK_NULL_HANDLE;
    VkResult r = CULVI_VK(vk, vkCreateBuffer, (vk->vk_device, &info, vk->callbacks, &buffer));
    *refused = r == VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, s->label, r, "vkCreateBuffer",
                               "a sparse buffer of %" PRIu64 " bytes at %#" PRIx64
                               " could not be made",
                               size, (uint64_t)address);
    const VkDeviceAddress got = culvi_vk_buffer_address(vk, buffer);
    if (got == address) {
        s->buffer = buffer;
        return CULV_OK;
    }
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, buffer, vk->callbacks));
    *refused = true;
    return culvi_fail(vk->voice, s->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
                      "Vulkan made the buffer at %#" PRIx64 " instead of %#" PRIx64, (uint64_t)got,
                      (uint64_t)address);
}

/* Both halves at one address. *next: an address was refused, and another may be tried. */
static culv_result try_address(culv_vk_space *s, uint64_t size, CUdeviceptr address, bool *next)
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = size;
    d.address = address;
    d.label = s->label;
    s->attempts++;
    *next = false;
    culv_result result = culv_vmm_range_create(s->base.device, &d, &s->base.range);
    if (result != CULV_OK) {
        *next = culvi_thread_state()->error.reason == CULV_REASON_ADDRESS;
        s->refused_by_cuda += *next;
        return result;
    }
    result = create_buffer(s, size, culv_vmm_range_pointer(s->base.range), next);
    if (result == CULV_OK) return CULV_OK;
    s->refused_by_vulkan += *next;
    culvi_vmm_range_release_or_defer(&s->base.range);
    return result;
}

static culv_result find_address(culv_vk_space *s, const culv_vk_space_desc *d, uint64_t size)
{
    const culvi_voice *voice = &s->base.device->voice;
    culv_result result = CULV_OK;
    bool next = true;
    culvi_attempt_begin();
    if (d->address != 0) result = try_address(s, size, d->address, &next);
    for (uint32_t i = 0; d->address == 0 && next && i <= PLACES * STEPS; i++) {
        /* Vulkan takes none: only the address that CUDA chooses is left to try. */
        if (i == PLACES && s->refused_by_vulkan == PLACES) i = PLACES * STEPS;
        result = try_address(s, size, candidate(size, i), &next);
    }
    if (result != CULV_OK && next && d->address == 0 && s->refused_by_vulkan == s->attempts)
        result = culvi_fail(
            voice, s->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
            "Vulkan gives no sparse buffer at an address that it is told, not one of %" PRIu32
            ": the VkDevice was created without the features sparseBinding, sparseResidencyBuffer, bufferDeviceAddress and bufferDeviceAddressCaptureReplay (set culv_vk_device_features::one_address), or its driver has them in name only",
            s->attempts);
    else if (result != CULV_OK && next) {
        char why[512];
        culvi_text text = {why, sizeof why, 0};
        culvi_text_add(&text, "%s", culvi_thread_state()->error.message);
        result = culvi_fail(
            voice, s->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
            "no address is free in CUDA and in Vulkan for %" PRIu64 " bytes: of %" PRIu32
            " that were tried CUDA did not give %" PRIu32 " and Vulkan did not give %" PRIu32
            "; the last one: %s%s",
            size, s->attempts, s->refused_by_cuda, s->refused_by_vulkan, why,
            s->refused_by_vulkan == s->attempts
                ? ". Was the VkDevice created with bufferDeviceAddressCaptureReplay (culv_vk_device_features::one_address)?"
                : "");
    }
    return culvi_attempt_end(voice, result);
}

/* Making and ending ---------------------------------------------------------------------------- */

static culv_result create_timeline(culv_vk_space *s)
{
    const culvi_semaphore_plan plan = {.label = s->label, .type = CULV_SEMAPHORE_TIMELINE};
    uint64_t made = 0;
    CULVI_TRY(culvi_vk_make_semaphore(&s->vk->base, &plan, false, &made));
    s->timeline = (VkSemaphore)made;
    return CULV_OK;
}

static culv_result check_alignment(culv_vk_space *s)
{
    VkDeviceSize alignment;
    culvi_vk_sparse_needs(s->vk, s->buffer, &alignment, &s->type_bits);
    if (s->granularity % alignment == 0) return CULV_OK;
    return lacks(s->vk, s->label, "", "binds sparse buffers in blocks that are no part of CUDA's");
}

static culv_result resolve_access(culv_vk_space *s, const culv_vk_space_desc *d)
{
    s->access_count = d->access_count != 0 ? d->access_count : 1;
    if (s->access_count <= SIZE_MAX / sizeof *s->access)
        s->access = culvi_alloc(s->access_count * sizeof *s->access);
    if (s->access == NULL) return culvi_fail_host_memory(&s->base.device->voice, d->label);
    return culvi_vmm_access_resolve(s->base.device, d->access, d->access_count, s->access);
}

/* All but what vectors that have gone left to tensors. */
static void unmap_cuda(culv_vk_space *s)
{
    uint64_t at = 0;
    culvi_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->num_claims; i++) {
        const culvi_vk_claim *c = &s->claims[i];
        if (!c->apart) continue;
        if (c->offset > at) culvi_vmm_unmap_or_defer(s->base.range, at, c->offset - at);
        at = c->offset + c->size;
    }
    const uint64_t all = culv_vmm_range_size(s->base.range);
    if (at < all) culvi_vmm_unmap_or_defer(s->base.range, at, all - at);
    culvi_mutex_unlock(&s->lock);
}

/* Nothing of Vulkan's uses it any more. A bind operation that failed to be waited for may still be
 * on its way, so the last one is waited for. */
static void free_vulkan(culv_vk_space *s)
{
    const culv_vk_device *vk = s->vk;
    const uint64_t last = atomic_load(&s->value);
    if (last > 0) (void)culvi_vk_timeline_wait(&vk->base, (uint64_t)s->timeline, last, UINT64_MAX);
    culvi_vk_space_free_unbound(s, true);
    if (s->buffer != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, s->buffer, vk->callbacks));
    culvi_mutex_lock(&s->lock);
    const size_t count = s->num_chunks;
    s->num_chunks = 0;
    culvi_mutex_unlock(&s->lock);
    for (size_t i = 0; i < count; i++)
        CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, s->chunks[i].memory, vk->callbacks));
    if (s->timeline != VK_NULL_HANDLE)
        CULVI_VK_DO(vk, vkDestroySemaphore, (vk->vk_device, s->timeline, vk->callbacks));
    if (s->base.range != NULL) unmap_cuda(s);
}

void culvi_vk_space_end_half(culv_vk_space *s)
{
    if (atomic_fetch_sub(&s->halves, 1) != 1) return;
    if (s->base.range != NULL) culvi_vmm_range_release_or_defer(&s->base.range);
    culvi_free(s->chunks);
    culvi_free(s->unbound);
    culvi_free(s->claims);
    culvi_free(s->access);
    culvi_mutex_destroy(&s->lock);
    culvi_mutex_destroy(&s->turn);
    culvi_free(s);
}

culv_result culv_vk_space_create(culv_vk_device *vk, const culv_vk_space_desc *desc,
                                 culv_vk_space **out)
{
    culv_vk_space_info info = culv_vk_space_info_init();
    CULVI_REQUIRE_WITH2(vk, vk->voice, desc, out);
    CULVI_READ(vk->voice, culv_vk_space_desc, d, desc);
    CULVI_TRY(check_device(vk, d.label, __func__, &info));
    CULVI_TRY(check_desc(vk, &d, &info));
    CULVI_NEW(culv_vk_space, s, vk->voice, d.label);
    culvi_mutex_init(&s->lock);
    culvi_mutex_init(&s->turn);
    s->base.api = &space_api;
    s->base.device = vk->base.device;
    s->vk = vk;
    atomic_init(&s->refs, 1);
    atomic_init(&s->halves, 1);
    s->queue = d.queue;
    s->lock_queue = d.lock_queue;
    s->unlock_queue = d.unlock_queue;
    s->queue_context = d.queue_context;
    s->usage = d.buffer_usage | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    s->granularity = info.granularity;
    s->vectors_do_not_wait = d.vectors_do_not_wait != 0;
    culvi_label_set(s->label, d.label);
    culv_result result = resolve_access(s, &d);
    if (result == CULV_OK)
        result = find_address(
            s, &d, (d.size + info.granularity - 1) / info.granularity * info.granularity);
    if (result == CULV_OK) result = check_alignment(s);
    if (result == CULV_OK) result = create_timeline(s);
    CULVI_TRY_OR(result, (free_vulkan(s), culvi_vk_space_end_half(s)));
    culvi_graphics_object_made(&vk->base);
    culvi_log_object(vk->voice, "made", "space", s->label, culv_vmm_range_size(s->base.range));
    *out = s;
    return CULV_OK;
}

void culvi_vk_space_ref(culv_vk_space *space)
{
    atomic_fetch_add(&space->refs, 1);
}

void culvi_vk_space_unref(culv_vk_space *space)
{
    if (atomic_fetch_sub(&space->refs, 1) != 1) return;
    culv_vk_device *vk = space->vk;
    culvi_log_object(vk->voice, "destroyed", "space", space->label,
                     culv_vmm_range_size(space->base.range));
    free_vulkan(space);
    culvi_vk_space_end_half(space);
    culvi_graphics_object_gone(&vk->base);
}

void culv_vk_space_destroy(culv_vk_space **space)
{
    CULVI_TAKE(culv_vk_space, mine, space);
    culvi_vk_space_unref(mine);
}

/* What it tells -------------------------------------------------------------------------------- */

CULVI_GETTER(CUdeviceptr, culv_vk_space_pointer, culv_vk_space,
             culv_vmm_range_pointer(self->base.range), 0)

culv_result culv_vk_space_get_info(culv_vk_space *space, culv_vk_space_info *out)
{
    culv_vk_space_info info = culv_vk_space_info_init();
    CULVI_REQUIRE(NULL, space);
    const culv_vk_device *vk = space->vk;
    CULVI_REQUIRE(vk->voice, out);
    CULVI_TRY(culvi_struct_check(vk->voice, out, "culv_vk_space_info"));
    info.granularity = space->granularity;
    info.max_size = culvi_vk_most_sparse(vk);
    info.address = culv_vk_space_pointer(space);
    info.size = culv_vmm_range_size(space->base.range);
    info.attempts = space->attempts;
    info.refused_by_cuda = space->refused_by_cuda;
    info.refused_by_vulkan = space->refused_by_vulkan;
    info.base = &space->base;
    info.buffer = space->buffer;
    info.timeline = space->timeline;
    info.ready_value = atomic_load(&space->value);
    culvi_mutex_lock(&space->lock);
    for (size_t i = 0; i < space->num_chunks; i++) {
        const culvi_vk_chunk *chunk = &space->chunks[i];
        info.decommitting += chunk->going;
        info.chunks += !chunk->going;
        if (!chunk->going) info.committed += chunk->size;
    }
    info.decommitting += space->num_unbound;
    culvi_mutex_unlock(&space->lock);
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}
