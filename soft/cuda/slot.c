/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: slots, in which kernels find what a surface or texture object is.
 *
 * The kernel shim reads a slot without asking (shared/module_abi.h). Slots are never given back to
 * the system, and a slot's turn is part of the handle: a kernel that uses an object which is gone,
 * or whose array is, finds nothing there and faults. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_AT_ONCE 64u
#define ALIGNMENT     64u

static uint64_t handle_of(const struct soft_slot *slot)
{
    return (uint64_t)*slot->turn << CULV_SOFT_TURN_SHIFT | (uintptr_t)slot->shared;
}

static size_t up(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_back(struct soft_slots *slots, struct soft_slot *slot)
{
    slot->next_free = NULL;
    *slots->last_free = slot; /* a queue: each turn lasts as long as can be */
    slots->last_free = &slot->next_free;
}

static bool grow(struct soft_slots *slots)
{
    const size_t shared = up(slots->shared_size), whole = shared + up(slots->slot_size);
    void *memory; /* never freed */
#ifdef _WIN32
    memory = _aligned_malloc(SLOTS_AT_ONCE * whole, ALIGNMENT);
    if (memory == NULL) return false;
#else
    if (posix_memalign(&memory, ALIGNMENT, SLOTS_AT_ONCE * whole) != 0) return false;
#endif
    memset(memory, 0, SLOTS_AT_ONCE * whole);
    for (size_t i = 0; i < SLOTS_AT_ONCE; i++) {
        unsigned char *at = (unsigned char *)memory + i * whole;
        struct soft_slot *slot = (struct soft_slot *)(void *)(at + shared);
        slot->shared = at;
        slot->turn = (uint16_t *)(void *)at;
        slot->slots = slots;
        put_back(slots, slot);
    }
    return true;
}

void *soft_slot_take(struct soft_slots *slots, struct soft_context *context, uint64_t *handle)
{
    if (slots->last_free == NULL) slots->last_free = &slots->first_free;
    if (slots->first_free == NULL && !grow(slots)) return NULL;
    struct soft_slot *slot = slots->first_free;
    slots->first_free = slot->next_free;
    if (slots->first_free == NULL) slots->last_free = &slots->first_free;
    soft_object_add(&slot->object, slots->kind, context);
    *handle = handle_of(slot);
    return slot;
}

void *soft_slot_find(const struct soft_slots *slots, uint64_t handle)
{
    const uintptr_t place = CULV_SOFT_ADDRESS(handle) + up(slots->shared_size);
    struct soft_slot *slot = soft_object_find((const void *)place, slots->kind);
    return slot != NULL && handle_of(slot) == handle ? slot : NULL;
}

void soft_slot_close(struct soft_slot *slot)
{
    const uint16_t turn = *slot->turn;
    memset(slot->shared, 0, slot->slots->shared_size);
    *slot->turn = turn;
    slot->array = NULL;
}

void soft_slot_free(void *handle)
{
    struct soft_slot *slot = handle;
    soft_slot_close(slot);
    ++*slot->turn;
    soft_object_remove(&slot->object);
    put_back(slot->slots, slot);
}

static void forget(void *handle, void *array)
{
    struct soft_slot *slot = handle;
    if (slot->array == array) soft_slot_close(slot);
}

void soft_slots_forget(const void *array)
{
    soft_objects_each(SOFT_SURFACE, forget, (void *)(uintptr_t)array);
    soft_objects_each(SOFT_TEXTURE, forget, (void *)(uintptr_t)array);
}
