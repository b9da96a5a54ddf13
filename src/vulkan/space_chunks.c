/* SPDX-License-Identifier: MIT */
/* Memory into a space and out of it. CUDA maps at once; Vulkan binds by a queue operation, each
 * behind the one before it, which signals the space's timeline. Memory is given up in two steps:
 * CUDA's mapping waits for the caller's stream (culvi_vmm_unmap_after()); once it has gone, so has
 * all work with the memory, and Vulkan's binding is taken out. A bind operation therefore never
 * waits for work that is still running. */
#include "vulkan/vk_resource.h"
#include "vulkan/vk_space.h"

size_t culvi_vk_space_find(const culv_vk_space *space, uint64_t offset)
{
    size_t low = 0, high = space->num_chunks;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (space->chunks[middle].offset + space->chunks[middle].size > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Queue operations ----------------------------------------------------------------------------- */

/* Binds, as one queue operation behind the earlier ones. *value: what it signals. */
static culv_result bind(culv_vk_space *space, const VkSparseMemoryBind *binds, uint32_t count,
                        uint64_t *value)
{
    const culv_vk_device *vk = space->vk;
    const uint64_t before = atomic_load(&space->value), after = before + 1;
    const VkTimelineSemaphoreSubmitInfo values = {
        CULVI_STYPE(TIMELINE_SEMAPHORE_SUBMIT_INFO), .waitSemaphoreValueCount = before > 0,
        .pWaitSemaphoreValues = &before, .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &after};
    const VkSparseBufferMemoryBindInfo parts = {
        .buffer = space->buffer, .bindCount = count, .pBinds = binds};
    const VkBindSparseInfo info = {CULVI_STYPE(BIND_SPARSE_INFO),
                                   .pNext = &values,
                                   .waitSemaphoreCount = before > 0,
                                   .pWaitSemaphores = &space->timeline,
                                   .bufferBindCount = 1,
                                   .pBufferBinds = &parts,
                                   .signalSemaphoreCount = 1,
                                   .pSignalSemaphores = &space->timeline};
    if (space->lock_queue != NULL) space->lock_queue(space->queue_context);
    const VkResult r =
        CULVI_VK(vk, vkQueueBindSparse, (space->queue, 1, &info, (VkFence)VK_NULL_HANDLE));
    if (space->unlock_queue != NULL) space->unlock_queue(space->queue_context);
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, space->label, r, "vkQueueBindSparse",
                               "%" PRIu32 " parts of the space could not be bound", count);
    atomic_store(&space->value, after);
    *value = after;
    return CULV_OK;
}

/* Waits without the turn. */
static culv_result wait_for(culv_vk_space *space, uint64_t value)
{
    const culv_vk_device *vk = space->vk;
    culvi_mutex_unlock(&space->turn);
    VkResult r =
        (VkResult)culvi_vk_timeline_wait(&vk->base, (uint64_t)space->timeline, value, UINT64_MAX);
    /* What an error takes back may still be on its way, unless the device is lost. */
    if (r != VK_SUCCESS && r != VK_ERROR_DEVICE_LOST)
        r = (VkResult)culvi_vk_timeline_wait(&vk->base, (uint64_t)space->timeline, value,
                                             UINT64_MAX);
    culvi_mutex_lock(&space->turn);
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_vk_failed(vk, space->label, r, "vkWaitSemaphores",
                           "the bind operations of the space could not be waited for");
}

void culvi_vk_space_free_unbound(culv_vk_space *space, bool wait)
{
    const culv_vk_device *vk = space->vk;
    uint64_t reached = 0;
    size_t kept = 0;
    if (space->num_unbound == 0) return;
    if (wait)
        reached = UINT64_MAX;
    else if (culvi_vk_timeline_value(&vk->base, (uint64_t)space->timeline, &reached) != VK_SUCCESS)
        return;
    culvi_mutex_lock(&space->lock);
    for (size_t i = 0; i < space->num_unbound; i++) {
        if (space->unbound[i].value > reached)
            space->unbound[kept++] = space->unbound[i];
        else
            CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, space->unbound[i].memory, vk->callbacks));
    }
    space->num_unbound = kept;
    culvi_mutex_unlock(&space->lock);
}

/* Taking out ----------------------------------------------------------------------------------- */

/* What CUDA has taken out, into `binds`, if any; at most `most`. */
static uint32_t list_gone(culv_vk_space *s, VkSparseMemoryBind *binds, uint32_t most)
{
    uint32_t n = 0;
    culvi_mutex_lock(&s->lock);
    culvi_mutex_lock(&s->base.device->lock);
    culvi_vmm_collect(s->base.range);
    for (size_t i = 0; i < s->num_chunks && n < most; i++) {
        const culvi_vk_chunk *chunk = &s->chunks[i];
        if (!chunk->going || culvi_vmm_is_unmapping(s->base.range, chunk->offset, chunk->size))
            continue;
        if (binds != NULL)
            binds[n] = (VkSparseMemoryBind){.resourceOffset = chunk->offset, .size = chunk->size};
        n++;
    }
    culvi_mutex_unlock(&s->base.device->lock);
    culvi_mutex_unlock(&s->lock);
    return n;
}

/* Unbinds what CUDA has taken out. `wait`: until Vulkan has, too. */
static culv_result collect(culv_vk_space *s, bool wait)
{
    const culvi_voice *voice = &s->base.device->voice;
    size_t kept = 0, taken = 0;
    uint64_t value = 0;
    culvi_vk_space_free_unbound(s, false);
    const uint32_t count = list_gone(s, NULL, UINT32_MAX);
    if (count == 0) return CULV_OK;
    VkSparseMemoryBind *binds = culvi_alloc(count * sizeof *binds);
    culvi_vk_unbound *unbound = culvi_vk_space_grow(s->unbound, s->num_unbound, count,
                                                    &s->unbound_capacity, sizeof *unbound);
    if (unbound != NULL) s->unbound = unbound;
    if (binds == NULL || unbound == NULL) {
        culvi_free(binds);
        return culvi_fail_host_memory(voice, s->label);
    }
    /* Another thread may collect for the device meanwhile: only the first `count` are taken. */
    const uint32_t n = list_gone(s, binds, count);
    culv_result result = bind(s, binds, n, &value);
    culvi_mutex_lock(&s->lock);
    for (size_t i = 0; result == CULV_OK && i < s->num_chunks; i++) {
        if (taken < n && s->chunks[i].offset == binds[taken].resourceOffset) {
            s->unbound[s->num_unbound++] = (culvi_vk_unbound){s->chunks[i].memory, value};
            taken++;
        } else {
            s->chunks[kept++] = s->chunks[i];
        }
    }
    if (result == CULV_OK) s->num_chunks = kept;
    culvi_mutex_unlock(&s->lock);
    culvi_free(binds);
    if (result != CULV_OK || !wait) return result;
    CULVI_TRY(wait_for(s, value));
    culvi_vk_space_free_unbound(s, false);
    return CULV_OK;
}

/* With the lock. */
static void mark_locked(culv_vk_space *s, uint64_t offset, uint64_t size)
{
    for (size_t i = culvi_vk_space_find(s, offset);
         i < s->num_chunks && s->chunks[i].offset < offset + size; i++)
        s->chunks[i].going = true;
}

static void mark_going(culv_vk_space *s, uint64_t offset, uint64_t size)
{
    CULVI_LOCKED(&s->lock, mark_locked(s, offset, size));
}

/* Calls that report no error use it, and destroys, which do not wait: a later one frees what Vulkan
 * has unbound by then, and tries again what failed. */
static void collect_quietly(culv_vk_space *s)
{
    const culv_error error = culvi_thread_state()->error;
    culvi_attempt_begin();
    if (collect(s, false) != CULV_OK)
        culvi_log(&s->base.device->voice, CULV_LOG_WARNING,
                  "%s: memory that was given up stays bound in Vulkan until a later call: %s",
                  culvi_named("space", s->label).text, culvi_thread_state()->error.message);
    (void)culvi_attempt_end(&s->base.device->voice, CULV_OK);
    culvi_thread_state()->error = error;
}

void culvi_vk_space_hide(culv_space *space, uint64_t offset, uint64_t size, bool now)
{
    culv_vk_space *s = culvi_vk_space_of(space);
    mark_going(s, offset, size);
    if (now) CULVI_LOCKED(&s->turn, collect_quietly(s));
}

void culvi_vk_space_empty(culv_vk_space *space, uint64_t offset, uint64_t size)
{
    culvi_vmm_unmap_or_defer(space->base.range, offset, size);
    mark_going(space, offset, size);
    collect_quietly(space);
}

/* Putting in ----------------------------------------------------------------------------------- */

/* Refuses what is there; with `going`, not what is given up, and says whether there is any. */
static culv_result check_free(culv_vk_space *s, uint64_t offset, uint64_t size, bool *going)
{
    culv_result result = CULV_OK;
    culvi_mutex_lock(&s->lock);
    for (size_t i = culvi_vk_space_find(s, offset);
         i < s->num_chunks && s->chunks[i].offset < offset + size && result == CULV_OK; i++) {
        const culvi_vk_chunk *chunk = &s->chunks[i];
        if (going != NULL && chunk->going)
            *going = true;
        else
            result = culvi_fail(
                &s->base.device->voice, s->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
                "%" PRIu64 " bytes at offset %" PRIu64 " of the space are not free: %s%" PRIu64
                " bytes are committed at offset %" PRIu64,
                size, offset, chunk->going ? "Vulkan or CUDA still has what was given up: " : "",
                chunk->size, chunk->offset);
    }
    culvi_mutex_unlock(&s->lock);
    return result;
}

/* Waits for what was given up there, and refuses what is there. */
static culv_result make_room(culv_vk_space *s, uint64_t offset, uint64_t size)
{
    bool going = false;
    CULVI_TRY(check_free(s, offset, size, &going));
    if (!going) return CULV_OK;
    culvi_mutex_unlock(&s->turn);
    culv_result result = culvi_vmm_wait_and_collect(s->base.range, offset, size);
    culvi_mutex_lock(&s->turn);
    if (result == CULV_OK) result = collect(s, false);
    return result == CULV_OK ? check_free(s, offset, size, NULL) : result;
}

static culv_result insert(culv_vk_space *s, uint64_t offset, uint64_t size, VkDeviceMemory memory)
{
    culvi_mutex_lock(&s->lock);
    culvi_vk_chunk *chunks =
        culvi_vk_space_grow(s->chunks, s->num_chunks, 1, &s->chunk_capacity, sizeof *chunks);
    if (chunks != NULL) {
        s->chunks = chunks;
        const size_t place = culvi_vk_space_find(s, offset);
        memmove(chunks + place + 1, chunks + place, (s->num_chunks - place) * sizeof *chunks);
        chunks[place] = (culvi_vk_chunk){.offset = offset, .size = size, .memory = memory};
        s->num_chunks++;
    }
    culvi_mutex_unlock(&s->lock);
    return chunks != NULL ? CULV_OK : culvi_fail_host_memory(&s->base.device->voice, s->label);
}

static void take_out(culv_vk_space *s, uint64_t offset)
{
    culvi_mutex_lock(&s->lock);
    const size_t place = culvi_vk_space_find(s, offset);
    memmove(s->chunks + place, s->chunks + place + 1,
            (s->num_chunks - place - 1) * sizeof *s->chunks);
    s->num_chunks--;
    culvi_mutex_unlock(&s->lock);
}

/* Vulkan's half of what CUDA has mapped. An error leaves nothing behind. */
static culv_result show(culv_vk_space *s, uint64_t offset, culv_vmm_allocation *a, uint64_t *ready)
{
    culv_vk_device *vk = s->vk;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint64_t value = 0;
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.memory_type_bits = s->type_bits;
    d.allocate_flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    d.label = s->label;
    CULVI_TRY(make_room(s, offset, a->size));
    CULVI_TRY(culvi_vk_vmm_import(vk, a, &d, &memory));
    VkSparseMemoryBind part = {.resourceOffset = offset, .size = a->size, .memory = memory};
    culv_result result = insert(s, offset, a->size, memory);
    if (result != CULV_OK) goto free_memory;
    result = bind(s, &part, 1, &value);
    if (result != CULV_OK) goto take_out;
    if (ready == NULL) result = wait_for(s, value);
    if (result != CULV_OK) goto unbind;
    if (ready != NULL) *ready = value;
    return CULV_OK;

    culv_error error;
unbind:
    error = culvi_thread_state()->error;
    part.memory = VK_NULL_HANDLE;
    if (bind(s, &part, 1, &value) == CULV_OK) (void)wait_for(s, value);
    culvi_thread_state()->error = error;
take_out:
    take_out(s, offset);
free_memory:
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, memory, vk->callbacks));
    return result;
}

culv_result culvi_vk_space_show(culv_space *space, uint64_t offset, culv_vmm_allocation *a)
{
    culv_vk_space *s = culvi_vk_space_of(space);
    uint64_t ready; /* culv_vk_space_info::ready_value */
    culvi_mutex_lock(&s->turn);
    culv_result result = show(s, offset, a, s->vectors_do_not_wait ? &ready : NULL);
    culvi_mutex_unlock(&s->turn);
    return result;
}

/* Both halves. */
static culv_result put(culv_vk_space *s, uint64_t offset, culv_vmm_allocation *a, uint64_t *ready,
                       const char *call)
{
    culv_result result;
    CULVI_TRY(make_room(s, offset, a->size));
    /* A vector may have come while that waited. */
    CULVI_LOCKED(&s->lock, result = culvi_vk_space_check_claims(s, offset, a->size, true, call));
    if (result != CULV_OK) return result;
    CULVI_TRY(culvi_vmm_map_resolved(s->base.range, offset, a, s->access, s->access_count));
    CULVI_TRY_OR(show(s, offset, a, ready),
                 culvi_vmm_unmap_or_defer(s->base.range, offset, a->size));
    return CULV_OK;
}

culv_result culvi_vk_space_fill(culv_vk_space *space, uint64_t offset, uint64_t size,
                                uint64_t *ready)
{
    culv_vmm_allocation *a = NULL;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = size;
    d.handle_types = UINT32_C(1) << CULVI_HANDLE_OPAQUE;
    d.label = space->label;
    CULVI_TRY(make_room(space, offset, size));
    CULVI_TRY(culv_vmm_allocation_create(space->base.device, &d, &a));
    culv_result result = put(space, offset, a, ready, "culv_vk_space_commit");
    culv_vmm_allocation_destroy(&a); /* the mapping and Vulkan's import have the memory */
    return result;
}

/* The calls ------------------------------------------------------------------------------------ */

static culv_result check_place(const culv_vk_space *s, uint64_t offset, uint64_t size,
                               const char *call)
{
    const uint64_t all = culv_vmm_range_size(s->base.range);
    CULVI_REFUSE_IF(offset % s->granularity != 0 || size % s->granularity != 0,
                    &s->base.device->voice, s->label, CULV_REASON_VALUE,
                    "%s: %" PRIu64 " bytes at offset %" PRIu64
                    " are not multiples of the granularity of %" PRIu64 " bytes",
                    call, size, offset, s->granularity);
    if (size != 0 && offset < all && size <= all - offset) return CULV_OK;
    return culvi_fail(&s->base.device->voice, s->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "%s: %" PRIu64 " bytes at offset %" PRIu64 " %s, which has %" PRIu64 " bytes",
                      call, size, offset,
                      size == 0 ? "name no part of the space" : "leave the space", all);
}

culv_result culv_vk_space_commit(culv_vk_space *space, uint64_t offset, uint64_t size,
                                 culv_vmm_allocation *allocation, uint64_t *ready)
{
    CULVI_REQUIRE(NULL, space);
    if (allocation != NULL) size = allocation->size;
    CULVI_TRY(check_place(space, offset, size, __func__));
    if (allocation != NULL) CULVI_TRY(culvi_vk_vmm_check(space->vk, space->label, allocation));
    culvi_mutex_lock(&space->turn);
    culv_result result;
    CULVI_LOCKED(&space->lock,
                 result = culvi_vk_space_check_claims(space, offset, size, true, __func__));
    if (result == CULV_OK)
        result = allocation != NULL ? put(space, offset, allocation, ready, __func__)
                                    : culvi_vk_space_fill(space, offset, size, ready);
    culvi_mutex_unlock(&space->turn);
    return result;
}

/* Gives CUDA's half up once the stream has got there. It takes no turn: whoever calls it may hold
 * the queue. */
static culv_result give_up(culv_vk_space *s, uint64_t offset, uint64_t size, CUstream last_use,
                           const char *call)
{
    CULVI_TRY(check_place(s, offset, size, call));
    culvi_mutex_lock(&s->lock);
    culv_result result = culvi_vk_space_check_claims(s, offset, size, false, call);
    if (result == CULV_OK)
        result = culvi_vmm_unmap_after(s->base.range, offset, size, last_use, call);
    if (result == CULV_OK) mark_locked(s, offset, size);
    culvi_mutex_unlock(&s->lock);
    return result;
}

culv_result culv_vk_space_decommit(culv_vk_space *space, uint64_t offset, uint64_t size,
                                   CUstream last_use, culv_bool wait)
{
    CULVI_REQUIRE(NULL, space);
    if (size > 0) {
        CULVI_TRY(give_up(space, offset, size, last_use, __func__));
        if (!wait) return CULV_OK;
        CULVI_TRY(culvi_vmm_wait_and_collect(space->base.range, offset, size));
    }
    culvi_mutex_lock(&space->turn);
    const culv_result result = collect(space, size > 0);
    if (size == 0) culvi_vk_space_free_unbound(space, false);
    culvi_mutex_unlock(&space->turn);
    return result;
}
