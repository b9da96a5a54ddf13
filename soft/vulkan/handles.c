/* SPDX-License-Identifier: MIT */
/* The handle of a VkDeviceMemory that was freed is the next one's. A driver may give it out again
 * at any time, and a program that takes the number for the memory finds that out here. lavapipe's
 * handles are the addresses of its objects, so the objects come from here. */
#include <stdlib.h>
#include <string.h>

#include "soft_vk.h"

enum { ALIGNMENT = 64 };

typedef union block {
    struct {
        union block *next;
        size_t size;
    } head;
    unsigned char room[ALIGNMENT]; /* the object begins behind it */
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *freed; /* the last one first */

static void *VKAPI_CALL allocate(void *user, size_t size, size_t alignment,
                                 VkSystemAllocationScope scope)
{
    (void)user;
    (void)scope;
    if (size == 0 || alignment > ALIGNMENT || size > SIZE_MAX / 2) return NULL;
    pthread_mutex_lock(&lock);
    block **link = &freed;
    while (*link && (*link)->head.size != size)
        link = &(*link)->head.next;
    block *found = *link;
    if (found) *link = found->head.next;
    pthread_mutex_unlock(&lock);
    if (!found)
        found = aligned_alloc(ALIGNMENT,
                              (sizeof(block) + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!found) return NULL;
    found->head.size = size;
    return found + 1;
}

static void VKAPI_CALL release(void *user, void *object)
{
    (void)user;
    if (!object) return;
    block *gone = (block *)object - 1;
    pthread_mutex_lock(&lock);
    gone->head.next = freed;
    freed = gone;
    pthread_mutex_unlock(&lock);
}

static void *VKAPI_CALL reallocate(void *user, void *object, size_t size, size_t alignment,
                                   VkSystemAllocationScope scope)
{
    void *grown = size > 0 ? allocate(user, size, alignment, scope) : NULL;
    if (object && grown) {
        const size_t before = ((block *)object - 1)->head.size;
        memcpy(grown, object, before < size ? before : size);
    }
    if (grown || size == 0) release(user, object);
    return grown;
}

const VkAllocationCallbacks *soft_vk_recycles(const VkAllocationCallbacks *theirs)
{
    static const VkAllocationCallbacks own = {
        .pfnAllocation = allocate, .pfnReallocation = reallocate, .pfnFree = release};
    return theirs ? theirs : &own;
}
