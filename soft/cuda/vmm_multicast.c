/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: multicast objects, where culvSoftPlayAttribute says that the devices have
 * them.
 *
 * The processor has no instructions that reach every replica at once: a mapping of a multicast
 * object is the memory that the device which was added first has bound. All else is as cuda.h says,
 * waiting for the team included. */
#include "vmm.h"

#include <stdlib.h>

#define RECOMMENDED_GRANULARITY ((size_t)512 << 20)

struct binding {
    struct binding *next;
    int device;
    size_t start, size; /* in the multicast object */
    struct soft_physical *physical;
    size_t offset; /* in the memory */
};

struct soft_team {
    unsigned wanted, count;
    int devices[SOFT_MAX_DEVICES];
    struct binding *bindings;
};

static bool supported(void)
{
    return soft_attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0) != 0;
}

/* Locked on success. */
static CUresult begin(const char *call)
{
    CUresult result = soft_vmm_begin(call);
    if (result != CUDA_SUCCESS) return result;
    return supported() ? CUDA_SUCCESS : soft_end(CUDA_ERROR_NOT_SUPPORTED);
}

static CUresult check(const CUmulticastObjectProp *prop)
{
    if (prop == NULL || prop->numDevices == 0 || prop->numDevices > (unsigned)soft.device_count ||
        prop->flags != 0 ||
        (prop->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                           CUmulticastGranularity_flags option)
{
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    if (!supported()) return soft_end(CUDA_ERROR_NOT_SUPPORTED); /* told first (measured) */
    if (granularity == NULL || (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
                                option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = check(prop);
    if (result == CUDA_SUCCESS)
        *granularity =
            option == CU_MULTICAST_GRANULARITY_MINIMUM ? SOFT_GRANULARITY : RECOMMENDED_GRANULARITY;
    return soft_end(result);
}

CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle,
                                   const CUmulticastObjectProp *prop)
{
    CUresult result = begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    if (mcHandle == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = check(prop);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (prop->size == 0 || prop->size % SOFT_GRANULARITY != 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const CUmemAllocationProp as_memory = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .requestedHandleTypes =
                                               (CUmemAllocationHandleType)prop->handleTypes,
                                           .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    struct soft_team *team = calloc(1, sizeof(*team));
    struct soft_physical *physical =
        team == NULL ? NULL : soft_physical_new(&as_memory, prop->size);
    if (physical == NULL) {
        free(team);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    team->wanted = prop->numDevices;
    physical->team = team;
    *mcHandle = soft_physical_handle(physical);
    return soft_end(CUDA_SUCCESS);
}

static struct soft_physical *find(CUmemGenericAllocationHandle handle)
{
    struct soft_physical *physical = soft_physical_find(handle);
    return physical != NULL && physical->team != NULL ? physical : NULL;
}

static bool is_member(const struct soft_team *team, int device)
{
    for (unsigned i = 0; i < team->count; i++)
        if (team->devices[i] == device) return true;
    return false;
}

CUresult CUDAAPI cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
    CUresult result = begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    struct soft_physical *physical = find(mcHandle);
    if (physical == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    struct soft_team *team = physical->team;
    if (team->count == team->wanted || is_member(team, dev))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (team->count == 0) physical->prop.location.id = dev;
    team->devices[team->count++] = dev;
    pthread_cond_broadcast(&soft.progress);
    return soft_end(CUDA_SUCCESS);
}

bool soft_team_wait(struct soft_physical *physical)
{
    physical->uses++;
    while (physical->references > 0 && physical->team->count < physical->team->wanted)
        pthread_cond_wait(&soft.progress, &soft.lock);
    const bool alive = physical->references > 0;
    soft_physical_unuse(physical);
    return alive;
}

CUresult soft_team_place(const struct soft_physical *physical, void *at)
{
    const struct soft_team *team = physical->team;
    if (!soft_blank(at, physical->size)) return CUDA_ERROR_OUT_OF_MEMORY;
    for (const struct binding *b = team->bindings; b != NULL; b = b->next)
        if (b->device == team->devices[0] &&
            !soft_pages_place((uint8_t *)at + b->start, b->size, b->physical->pages,
                              b->physical->fd, b->physical->payload + b->offset))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

/* Its mappings show what is bound now. */
static CUresult refresh(const struct soft_physical *physical)
{
    CUresult result = CUDA_SUCCESS;
    const struct soft_range *range;
    for (uintptr_t at = 0; (range = soft_range_first(at, UINTPTR_MAX - at)) != NULL;
         at = range->start + range->size)
        if (range->kind == SOFT_RANGE_VIRTUAL && range->virtual->physical == physical) {
            const CUresult one = soft_virtual_refresh(range);
            if (one != CUDA_SUCCESS) result = one;
        }
    return result;
}

static bool overlaps(const struct binding *b, int device, size_t start, size_t size)
{
    return b->device == device && b->start < start + size && start < b->start + b->size;
}

static void drop(struct binding **link)
{
    struct binding *gone = *link;
    *link = gone->next;
    soft_physical_unuse(gone->physical);
    free(gone);
}

/* Unlocks in any case. */
static CUresult bind_and_end(struct soft_physical *object, size_t start,
                             struct soft_physical *memory, size_t offset, size_t size,
                             unsigned long long flags)
{
    if (object == NULL || memory == NULL || memory->team != NULL || flags != 0 || size == 0 ||
        (start | offset | size) % SOFT_GRANULARITY != 0 || size > object->size ||
        start > object->size - size || size > memory->size || offset > memory->size - size)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* cuda.h: what may be shared is bound to shareable memory only. */
    if (object->prop.requestedHandleTypes != 0 && memory->prop.requestedHandleTypes == 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const int device =
        soft_on_host(&memory->prop.location) ? CU_DEVICE_CPU : memory->prop.location.id;
    memory->uses++; /* while the lock is given back, and then by the binding */
    CUresult result = CUDA_SUCCESS;
    if (!soft_team_wait(object)) {
        result = CUDA_ERROR_INVALID_VALUE;
        goto unuse;
    }
    if (!is_member(object->team, device)) {
        result = CUDA_ERROR_INVALID_DEVICE;
        goto unuse;
    }
    for (const struct binding *b = object->team->bindings; b != NULL; b = b->next)
        if (overlaps(b, device, start, size)) {
            result = CUDA_ERROR_INVALID_VALUE;
            goto unuse;
        }
    struct binding *binding = malloc(sizeof(*binding));
    if (binding == NULL) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
        goto unuse;
    }
    *binding = (struct binding){.next = object->team->bindings,
                                .device = device,
                                .start = start,
                                .size = size,
                                .physical = memory,
                                .offset = offset};
    object->team->bindings = binding;
    result = refresh(object);
    if (result != CUDA_SUCCESS) {
        drop(&object->team->bindings);
        refresh(object);
    }
    return soft_end(result);
unuse:
    soft_physical_unuse(memory);
    return soft_end(result);
}

CUresult CUDAAPI cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                    CUmemGenericAllocationHandle memHandle, size_t memOffset,
                                    size_t size, unsigned long long flags)
{
    CUresult result = begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    return bind_and_end(find(mcHandle), mcOffset, soft_physical_find(memHandle), memOffset, size,
                        flags);
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                     CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    CUresult result = begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_range *range = soft_range_find((uintptr_t)memptr);
    if (range == NULL || range->kind != SOFT_RANGE_VIRTUAL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    return bind_and_end(find(mcHandle), mcOffset, range->virtual->physical,
                        (uintptr_t)memptr - range->start, size, flags);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                   size_t mcOffset, size_t size)
{
    CUresult result = begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    struct soft_physical *object = find(mcHandle);
    if (object == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    struct binding **link = &object->team->bindings;
    /* cuda.h: anything but what was bound is undefined; here it is refused. */
    while (*link != NULL &&
           ((*link)->device != dev || (*link)->start != mcOffset || (*link)->size != size))
        link = &(*link)->next;
    if (*link == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    drop(link);
    return soft_end(refresh(object));
}

void soft_team_free(struct soft_physical *physical)
{
    while (physical->team->bindings != NULL)
        drop(&physical->team->bindings);
    free(physical->team);
}
