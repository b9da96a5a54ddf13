/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: physical allocations, and the handles that name them.
 *
 * What may be shared is a file of its own (vmm_share.c); all else is anonymous shared pages, which
 * are there once and appear wherever they are mapped. Codes are cuda.h's, where it says which. */
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

CUresult soft_vmm_begin(const char *call)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (!soft_attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0))
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    result = soft_cig_refusal();
    return result == CUDA_SUCCESS ? CUDA_SUCCESS : soft_end(result);
}

CUresult soft_vmm_error(void)
{
    const struct soft_context *current = soft_context_current();
    if (current == NULL || soft_object_find(current, SOFT_CONTEXT) == NULL || !current->active)
        return CUDA_SUCCESS;
    return (CUresult)current->error;
}

enum soft_partner soft_partner_at(const CUmemLocation *location)
{
    return soft.devices[soft_on_host(location) ? 0 : location->id].partner;
}

bool soft_on_host(const CUmemLocation *location)
{
    return location->type != CU_MEM_LOCATION_TYPE_DEVICE;
}

static CUresult check_location(const CUmemLocation *location)
{
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return soft_device_valid(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
        return soft_attribute(SOFT_ATTRIBUTE_HOST_VMM, 0) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        if (!soft_attribute(SOFT_ATTRIBUTE_HOST_NUMA_VMM, 0)) return CUDA_ERROR_NOT_SUPPORTED;
        return location->id == 0 ? CUDA_SUCCESS
                                 : CUDA_ERROR_INVALID_VALUE; /* cuda.h: 0 where there is no NUMA */
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult soft_fabric_refusal(void)
{
    return !soft_attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0)
               ? CUDA_ERROR_NOT_SUPPORTED
           : soft_fabric_channel() ? CUDA_SUCCESS
                                   : CUDA_ERROR_NOT_PERMITTED;
}

static CUresult check_handle_types(const CUmemAllocationProp *prop)
{
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        prop->location.type == CU_MEM_LOCATION_TYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return soft_share_check(prop);
}

CUresult soft_prop_check(const CUmemAllocationProp *prop)
{
    const unsigned known_usage =
        CU_MEM_CREATE_USAGE_TILE_POOL | 2u; /* HW_DECOMPRESS, from cuda.h 12.8 on */
    if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        (prop->win32HandleMetaData != NULL &&
         !((unsigned)prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_WIN32)) ||
        prop->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC ||
        prop->allocFlags.gpuDirectRDMACapable > 1 || (prop->allocFlags.usage & ~known_usage))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(prop->allocFlags.reserved); i++)
        if (prop->allocFlags.reserved[i] != 0) return CUDA_ERROR_INVALID_VALUE;
    SOFT_TRY(check_location(&prop->location));
    if (soft_on_host(&prop->location) && prop->allocFlags.usage != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->allocFlags.usage & 2u) return CUDA_ERROR_NOT_SUPPORTED;
    if (prop->allocFlags.gpuDirectRDMACapable &&
        !soft_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                        prop->location.id))
        return CUDA_ERROR_NOT_SUPPORTED;
    return check_handle_types(prop);
}

struct soft_physical *soft_physical_find(CUmemGenericAllocationHandle handle)
{
    return soft_object_find((const void *)(uintptr_t)handle, SOFT_PHYSICAL);
}

CUmemGenericAllocationHandle soft_physical_handle(const struct soft_physical *physical)
{
    return (CUmemGenericAllocationHandle)(uintptr_t)physical;
}

/* Every one alive, those without a handle too. */
static struct soft_physical **all;
static size_t num_all, all_capacity;

struct soft_physical *soft_physical_new(const CUmemAllocationProp *prop, size_t size)
{
    if (num_all == all_capacity) {
        const size_t more = all_capacity == 0 ? 64 : all_capacity * 2;
        struct soft_physical **grown = realloc(all, more * sizeof(*grown));
        if (grown == NULL) return NULL;
        all = grown;
        all_capacity = more;
    }
    struct soft_physical *physical = calloc(1, sizeof(*physical));
    if (physical == NULL) return NULL;
    physical->prop = *prop;
    physical->size = size;
    physical->fd = -1;
    physical->id = ++soft.next_id;
    all[num_all++] = physical;
    soft_physical_refer(physical);
    return physical;
}

static void destroy(struct soft_physical *physical)
{
    size_t at = 0;
    while (all[at] != physical)
        at++;
    all[at] = all[--num_all];
    if (num_all == 0) {
        free(all);
        all = NULL;
        all_capacity = 0;
    }
    if (physical->team != NULL) soft_team_free(physical);
    if (physical->window != NULL) soft_unmap(physical->window, physical->size);
    if (physical->pages != NULL) soft_pages_free(physical->pages, physical->size);
    soft_share_forget(physical);
    if (physical->fd >= 0) soft_close(physical->fd);
    free(physical);
}

bool soft_physical_open(struct soft_physical *physical)
{
    if (physical->window != NULL) return true;
    void *at = soft_reserve_anywhere(physical->size);
    if (at == NULL) return false;
    if (!soft_pages_place(at, physical->size, physical->pages, physical->fd, physical->payload) ||
        !soft_protect(at, physical->size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) {
        soft_unmap(at, physical->size);
        return false;
    }
    physical->window = at;
    return true;
}

void soft_physical_refer(struct soft_physical *physical)
{
    if (physical->references++ == 0) soft_object_add(&physical->object, SOFT_PHYSICAL, NULL);
}

void soft_physical_release(struct soft_physical *physical)
{
    if (--physical->references > 0) return;
    soft_object_remove(&physical->object);
    pthread_cond_broadcast(&soft.progress); /* for who waits for its team */
    if (physical->uses == 0) destroy(physical);
}

void soft_physical_unuse(struct soft_physical *physical)
{
    if (--physical->uses == 0 && physical->references == 0) destroy(physical);
}

uint64_t soft_physical_bytes(int device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < num_all; i++) {
        const struct soft_physical *physical = all[i];
        const int whose =
            soft_on_host(&physical->prop.location) ? CU_DEVICE_CPU : physical->prop.location.id;
        if (whose == device && !physical->imported && physical->team == NULL)
            bytes += physical->size;
    }
    return bytes;
}

uint64_t soft_physical_count(void)
{
    return num_all;
}

uint64_t soft_physical_fds(void)
{
    uint64_t count = 0;
    for (size_t i = 0; i < num_all; i++)
        count += all[i]->fd >= 0;
    return count;
}

/* A page before the memory for what it is, and one behind it: llvmpipe's GL wants spare bytes
 * there. SwiftShader reads from the file's first byte: there the page behind says what it is. The
 * memory that Vulkan finds in another device's file is other memory, behind that: as on
 * NVIDIA's driver the import succeeds and the data is wrong (measured). */
static CUresult make_pages(struct soft_physical *physical)
{
    const CUmemAllocationProp *prop = &physical->prop;
    const uint64_t page = soft_share_alignment();
    if (prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE) {
        physical->pages = soft_pages_make(physical->size);
        return physical->pages != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    const bool foreign = !soft_on_host(&prop->location) && soft.devices[prop->location.id].invented;
    const uint64_t one = physical->size + page;
    physical->fd = soft_share_make(prop, (size_t)(page + one + (foreign ? one : 0)));
    physical->prop.win32HandleMetaData = NULL; /* the caller's, read during the call */
    physical->payload = page;
    if (soft_partner_at(&prop->location) == SOFT_SWIFTSHADER) physical->payload = foreign ? one : 0;
    return physical->fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

uint64_t soft_physical_imports(void)
{
    uint64_t count = 0;
    for (size_t i = 0; i < num_all; i++)
        count += all[i]->imported;
    return count;
}

static bool copy_file(int from, int to, uint64_t start, uint64_t size)
{
    char buffer[65536];
    for (uint64_t at = start; at < start + size; at += sizeof(buffer)) {
        const uint64_t left = start + size - at;
        const size_t some = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
        if (!soft_read_at(from, buffer, some, at) || !soft_write_at(to, buffer, some, at))
            return false;
    }
    return true;
}

static bool show_again(const struct soft_physical *physical)
{
    bool done = true;
    for (const struct soft_range *range = soft_range_first(0, SIZE_MAX); range != NULL;
         range =
             soft_range_first(range->start + range->size, SIZE_MAX - (range->start + range->size)))
        if (range->kind == SOFT_RANGE_VIRTUAL && range->virtual->physical == physical)
            done = soft_virtual_refresh(range) == CUDA_SUCCESS && done;
    if (physical->window != NULL)
        done = soft_pages_show(physical->window, physical->size, physical->fd, physical->payload,
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE) &&
               done;
    return done;
}

CUresult soft_physicals_part(void)
{
    for (size_t i = 0; i < num_all; i++) {
        struct soft_physical *physical = all[i];
        const int shared = physical->fd;
        if (!physical->labelled || physical->imported || shared < 0) continue;
        CUresult result = make_pages(physical);
        if (result == CUDA_SUCCESS &&
            !copy_file(shared, physical->fd, physical->payload, physical->size)) {
            soft_close(physical->fd);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (result != CUDA_SUCCESS) {
            physical->fd = shared;
            return result;
        }
        soft_close(shared);
        physical->labelled = false;
        if (!show_again(physical)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    SOFT_TRY(soft_vmm_begin(__func__));
    if (handle == NULL || flags != 0 || size == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_prop_check(prop));
    if (size % SOFT_GRANULARITY != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const int whose = soft_on_host(&prop->location) ? CU_DEVICE_CPU : prop->location.id;
    const uint64_t used = soft_range_bytes(whose) + soft_physical_bytes(whose),
                   total = soft_memory_total();
    if (size > total || used > total - size) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    struct soft_physical *physical = soft_physical_new(prop, size);
    if (physical == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    /* Compression is a hint: what was granted is in the properties (004, 4.16.5.2). */
    if (!soft_attribute(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, prop->location.id))
        physical->prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    result = make_pages(physical);
    if (result != CUDA_SUCCESS) {
        soft_physical_release(physical);
        return soft_end(result);
    }
    *handle = soft_physical_handle(physical);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    SOFT_TRY(soft_vmm_begin(__func__));
    struct soft_physical *physical = soft_physical_find(handle);
    if (physical == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft_physical_release(physical);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    SOFT_TRY(soft_vmm_begin(__func__));
    if (granularity == NULL || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_prop_check(prop));
    *granularity = SOFT_GRANULARITY;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                        CUmemGenericAllocationHandle handle)
{
    SOFT_TRY(soft_vmm_begin(__func__));
    const struct soft_physical *physical = soft_physical_find(handle);
    if (prop == NULL || physical == NULL || physical->team != NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *prop = physical->prop;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    SOFT_TRY(soft_vmm_begin(__func__));
    const struct soft_range *range = soft_range_find((uintptr_t)addr);
    if (handle == NULL || range == NULL || range->kind != SOFT_RANGE_VIRTUAL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_physical *physical = range->virtual->physical;
    soft_physical_refer(physical);
    *handle = soft_physical_handle(physical);
    return soft_end(CUDA_SUCCESS);
}

/* Multicast objects, where culvSoftPlayAttribute says that the devices have
 * them.
 *
 * The processor has no instructions that reach every replica at once: a mapping of a multicast
 * object is the memory that the device which was added first has bound. All else is as cuda.h says,
 * waiting for the team included. */

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
    SOFT_TRY(soft_vmm_begin(call));
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
    SOFT_TRY(soft_vmm_begin(__func__));
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
    SOFT_TRY(begin(__func__));
    if (mcHandle == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(check(prop));
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
    SOFT_TRY(begin(__func__));
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
    SOFT_TRY(begin(__func__));
    return bind_and_end(find(mcHandle), mcOffset, soft_physical_find(memHandle), memOffset, size,
                        flags);
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                     CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    SOFT_TRY(begin(__func__));
    const struct soft_range *range = soft_range_find((uintptr_t)memptr);
    if (range == NULL || range->kind != SOFT_RANGE_VIRTUAL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    return bind_and_end(find(mcHandle), mcOffset, range->virtual->physical,
                        (uintptr_t)memptr - range->start, size, flags);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                   size_t mcOffset, size_t size)
{
    SOFT_TRY(begin(__func__));
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
