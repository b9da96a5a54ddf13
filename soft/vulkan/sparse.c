/* SPDX-License-Identifier: MIT */
/* Sparse buffers, played, also at an address of the application's choice
 * (VkBufferOpaqueCaptureAddressCreateInfo). lavapipe's device addresses are the CPU's, and it takes
 * any range of them as memory: the twin's CUDA driver reserves addresses (shared/layer_calls.h),
 * the driver gets a plain buffer on all of them, and a bind maps the memory's file there.
 *
 * Of memory it takes what was imported from cuMemExportToShareableHandle(). It plays where the
 * driver has sparse buffers of its own, too (Mesa from 25 on): in those, a chunk that CUDA had
 * written before it was bound read as zeros. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "labels.h"
#include "soft_vk.h"

/* What a GPU of NVIDIA's has. lavapipe's buffers have less than 4 GiB. */
#define BLOCK       ((VkDeviceSize)65536)
#define MOST        ((VkDeviceSize)1 << 31)
#define REPLAY_FLAG VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT
#define SPARSE_FLAGS                                                                               \
    (VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |                 \
     VK_BUFFER_CREATE_SPARSE_ALIASED_BIT)

typedef struct played_buffer {
    struct played_buffer *link;
    VkBuffer handle;
    VkDeviceMemory memory; /* the driver's, on the reserved addresses */
    uint64_t address;
    VkDeviceSize size;
} played_buffer;

typedef struct played_memory {
    struct played_memory *link;
    VkDeviceMemory handle;
    int fd;
    uint64_t offset; /* of the memory in the file */
    VkDeviceSize size;
} played_memory;

/* The bind of one buffer's part, resolved. */
typedef struct part {
    uint64_t address, size, offset;
    int fd; /* -1: unbind */
} part;

/* Binds that wait for semaphores. */
typedef struct job {
    struct job *link;
    VkFence waited;
    uint64_t value; /* of the timeline that what comes behind waits for */
    uint32_t count;
    part parts[];
} job;

struct soft_vk_sparse {
    pthread_mutex_t lock;
    played_buffer *buffers;
    played_memory *memories;
    job *jobs, **tail;
    bool has_thread, ended; /* it ends with the last job; whoever starts the next one joins it */
    pthread_t thread;
    VkSemaphore timeline;
    uint64_t value;
};

/* What the physical device says --------------------------------------------------------------- */

static bool plays(const soft_vk_instance *instance, VkPhysicalDevice handle)
{
    return soft_vk_is_lavapipe(instance, handle, NULL) && soft_vk_cuda_half();
}

static void add_features(VkPhysicalDeviceFeatures *features)
{
    features->sparseBinding = VK_TRUE;
    features->sparseResidencyBuffer = VK_TRUE;
}

void VKAPI_CALL soft_vk_features(VkPhysicalDevice handle, VkPhysicalDeviceFeatures *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceFeatures(handle, out);
    if (plays(instance, handle)) add_features(out);
}

/* The feature of capture and replay, in whatever struct. */
static VkBool32 *replay_of(VkBaseOutStructure *s)
{
    void *of = s;
    switch ((int)s->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        return &((VkPhysicalDeviceVulkan12Features *)of)->bufferDeviceAddressCaptureReplay;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        return &((VkPhysicalDeviceBufferDeviceAddressFeatures *)of)
                    ->bufferDeviceAddressCaptureReplay;
    default: return NULL;
    }
}

void VKAPI_CALL soft_vk_features2(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2 *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceFeatures2(handle, out);
    if (!plays(instance, handle)) return;
    add_features(&out->features);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        VkBool32 *replay = replay_of(s);
        if (replay) *replay = VK_TRUE;
    }
}

static void add_limits(VkPhysicalDeviceProperties *properties)
{
    if (properties->limits.sparseAddressSpaceSize < MOST)
        properties->limits.sparseAddressSpaceSize = MOST;
}

void VKAPI_CALL soft_vk_properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceProperties(handle, out);
    if (plays(instance, handle)) add_limits(out);
}

void VKAPI_CALL soft_vk_properties2(VkPhysicalDevice handle, VkPhysicalDeviceProperties2 *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceProperties2(handle, out);
    if (plays(instance, handle)) add_limits(&out->properties);
    if (soft_vk_is_lavapipe(instance, handle, NULL)) soft_vk_external_queue_limits(out);
}

void VKAPI_CALL soft_vk_queue_families(VkPhysicalDevice handle, uint32_t *count,
                                       VkQueueFamilyProperties *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceQueueFamilyProperties(handle, count, out);
    for (uint32_t i = 0; out && i < *count && plays(instance, handle); i++)
        out[i].queueFlags |= VK_QUEUE_SPARSE_BINDING_BIT;
}

void VKAPI_CALL soft_vk_queue_families2(VkPhysicalDevice handle, uint32_t *count,
                                        VkQueueFamilyProperties2 *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceQueueFamilyProperties2(handle, count, out);
    for (uint32_t i = 0; out && i < *count && plays(instance, handle); i++)
        out[i].queueFamilyProperties.queueFlags |= VK_QUEUE_SPARSE_BINDING_BIT;
}

/* Devices -------------------------------------------------------------------------------------- */

/* The driver must not be asked for what only the layer has. The application's structs are changed
 * for the time of its call, because a chain can be copied only by who knows all of its structs. */
bool soft_vk_sparse_begin(const soft_vk_instance *instance, VkPhysicalDevice handle,
                          const VkDeviceCreateInfo *info, VkDeviceCreateInfo *copy,
                          VkPhysicalDeviceFeatures *features, soft_vk_asked *asked)
{
    VkPhysicalDeviceFeatures native;
    VkPhysicalDeviceFeatures *of = NULL;
    memset(asked, 0, sizeof(*asked));
    if (!soft_vk_cuda_half()) return false;
    instance->next.GetPhysicalDeviceFeatures(handle, &native);
    asked->native = native.sparseBinding;
    const VkBaseInStructure *item = info->pNext;
    for (; item; item = item->pNext) {
        VkBaseOutStructure *s = (VkBaseOutStructure *)(uintptr_t)item;
        VkBool32 *replay = replay_of(s);
        void *any = s;
        if (replay && *replay) {
            *replay = VK_FALSE;
            asked->replay = replay;
        }
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            of = &((VkPhysicalDeviceFeatures2 *)any)->features;
    }
    if (info->pEnabledFeatures) {
        *features = *info->pEnabledFeatures;
        copy->pEnabledFeatures = features;
        if (!of) of = features;
    }
    const bool sparse = of && of->sparseBinding;
    if (sparse && !native.sparseBinding) {
        of->sparseBinding = VK_FALSE;
        if (of != features) asked->binding = &of->sparseBinding;
    }
    if (of && of->sparseResidencyBuffer && !native.sparseResidencyBuffer) {
        of->sparseResidencyBuffer = VK_FALSE;
        if (of != features) asked->residency = &of->sparseResidencyBuffer;
    }
    return sparse;
}

void soft_vk_sparse_end(const soft_vk_asked *asked)
{
    if (asked->replay) *asked->replay = VK_TRUE;
    if (asked->binding) *asked->binding = VK_TRUE;
    if (asked->residency) *asked->residency = VK_TRUE;
}

soft_vk_sparse *soft_vk_sparse_make(void)
{
    soft_vk_sparse *sparse = calloc(1, sizeof(*sparse));
    if (!sparse) return NULL;
    pthread_mutex_init(&sparse->lock, NULL);
    sparse->tail = &sparse->jobs;
    return sparse;
}

/* vkDestroyDevice: all work is done. */
void soft_vk_sparse_drop(soft_vk_device *device)
{
    soft_vk_sparse *sparse = device->sparse;
    if (!sparse) return;
    if (sparse->has_thread) pthread_join(sparse->thread, NULL);
    if (sparse->timeline) device->next.DestroySemaphore(device->handle, sparse->timeline, NULL);
    while (sparse->buffers) {
        played_buffer *buffer = sparse->buffers;
        sparse->buffers = buffer->link;
        soft_vk_cuda_half()->release(buffer->address);
        free(buffer);
    }
    while (sparse->memories) {
        played_memory *memory = sparse->memories;
        sparse->memories = memory->link;
        close(memory->fd);
        atomic_fetch_sub(&soft_vk_fds, 1);
        free(memory);
    }
    pthread_mutex_destroy(&sparse->lock);
    free(sparse);
}

/* Memory --------------------------------------------------------------------------------------- */

/* The driver takes the fd, so a duplicate is made before. -1: not memory that can be bound. */
int soft_vk_sparse_fd(const soft_vk_device *device, const VkMemoryAllocateInfo *info)
{
    char magic[sizeof(CULV_SOFT_VMM_LABEL_MAGIC) - 1];
    const VkImportMemoryFdInfoKHR *import =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    if (!device->sparse || !import || import->fd < 0 ||
        pread(import->fd, magic, sizeof(magic), CULV_SOFT_VMM_LABEL_AT) != (ssize_t)sizeof(magic) ||
        memcmp(magic, CULV_SOFT_VMM_LABEL_MAGIC, sizeof(magic)) != 0)
        return -1;
    return dup(import->fd);
}

void soft_vk_sparse_memory_made(soft_vk_device *device, int fd, const VkMemoryAllocateInfo *info,
                                VkDeviceMemory handle)
{
    uint64_t header[2] = {0, 0}; /* Mesa's: the size of the file, and where the memory begins */
    played_memory *made = calloc(1, sizeof(*made));
    if (!made || pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        free(made);
        close(fd);
        return; /* then it cannot be bound */
    }
    *made = (played_memory){
        .handle = handle, .fd = fd, .offset = header[1], .size = info->allocationSize};
    atomic_fetch_add(&soft_vk_fds, 1);
    pthread_mutex_lock(&device->sparse->lock);
    made->link = device->sparse->memories;
    device->sparse->memories = made;
    pthread_mutex_unlock(&device->sparse->lock);
}

void soft_vk_sparse_memory_gone(soft_vk_device *device, VkDeviceMemory handle)
{
    soft_vk_sparse *sparse = device->sparse;
    if (!sparse) return;
    pthread_mutex_lock(&sparse->lock);
    played_memory **link = &sparse->memories;
    while (*link && (*link)->handle != handle)
        link = &(*link)->link;
    played_memory *found = *link;
    if (found) *link = found->link;
    pthread_mutex_unlock(&sparse->lock);
    if (!found) return;
    close(found->fd);
    atomic_fetch_sub(&soft_vk_fds, 1);
    free(found);
}

/* Buffers -------------------------------------------------------------------------------------- */

static played_buffer *find_buffer(const soft_vk_sparse *sparse, VkBuffer handle)
{
    played_buffer *buffer = sparse->buffers;
    while (buffer && buffer->handle != handle)
        buffer = buffer->link;
    return buffer;
}

bool soft_vk_sparse_plays(const soft_vk_device *device, const VkBufferCreateInfo *info)
{
    return device->sparse && (info->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT);
}

/* The driver's buffer on all of the addresses. */
static VkResult make_plain(const soft_vk_device *device, const VkBufferCreateInfo *info,
                           played_buffer *made)
{
    void *pages;
    const uintptr_t address = (uintptr_t)made->address;
    memcpy(&pages, &address, sizeof(pages));
    VkBufferCreateInfo plain = *info;
    plain.pNext = NULL;
    plain.flags = 0;
    VkMemoryRequirements needs;
    VkResult result = device->next.CreateBuffer(device->handle, &plain, NULL, &made->handle);
    if (result != VK_SUCCESS) return result;
    device->next.GetBufferMemoryRequirements(device->handle, made->handle, &needs);
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .pNext = &flags,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = pages};
    uint32_t type = 0;
    while (type < 31 && !(needs.memoryTypeBits >> type & 1))
        type++;
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &import,
                                         .allocationSize =
                                             needs.size > made->size ? needs.size : made->size,
                                         .memoryTypeIndex = type};
    result = device->next.AllocateMemory(device->handle, &memory, NULL, &made->memory);
    if (result == VK_SUCCESS) {
        result = device->next.BindBufferMemory(device->handle, made->handle, made->memory, 0);
        if (result == VK_SUCCESS) return result;
        device->next.FreeMemory(device->handle, made->memory, NULL);
    }
    device->next.DestroyBuffer(device->handle, made->handle, NULL);
    return result;
}

VkResult soft_vk_sparse_create(soft_vk_device *device, const VkBufferCreateInfo *info,
                               VkBuffer *out)
{
    const VkBufferOpaqueCaptureAddressCreateInfo *wish =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO);
    const uint64_t address = wish && (info->flags & REPLAY_FLAG) ? wish->opaqueCaptureAddress : 0;
    if (info->size > MOST) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    played_buffer *made = calloc(1, sizeof(*made));
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    made->size = (info->size + BLOCK - 1) / BLOCK * BLOCK;
    if (address % BLOCK != 0 ||
        soft_vk_cuda_half()->reserve(address, made->size, &made->address) != 0) {
        free(made);
        return address != 0 ? VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS
                            : VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    VkResult result = make_plain(device, info, made);
    if (result != VK_SUCCESS) {
        soft_vk_cuda_half()->release(made->address);
        free(made);
        return result;
    }
    pthread_mutex_lock(&device->sparse->lock);
    made->link = device->sparse->buffers;
    device->sparse->buffers = made;
    pthread_mutex_unlock(&device->sparse->lock);
    *out = made->handle;
    return VK_SUCCESS;
}

/* Before the driver's buffer goes. */
void soft_vk_sparse_buffer_gone(soft_vk_device *device, VkBuffer handle, VkDeviceMemory *memory,
                                uint64_t *address)
{
    soft_vk_sparse *sparse = device->sparse;
    *memory = VK_NULL_HANDLE;
    *address = 0;
    if (!sparse) return;
    pthread_mutex_lock(&sparse->lock);
    played_buffer **link = &sparse->buffers;
    while (*link && (*link)->handle != handle)
        link = &(*link)->link;
    played_buffer *found = *link;
    if (found) *link = found->link;
    pthread_mutex_unlock(&sparse->lock);
    if (!found) return;
    *memory = found->memory;
    *address = found->address;
    free(found);
}

void soft_vk_sparse_release(uint64_t address)
{
    if (address != 0) soft_vk_cuda_half()->release(address);
}

static void add_needs(const soft_vk_device *device, VkBuffer handle, VkMemoryRequirements *needs)
{
    if (!device->sparse) return;
    pthread_mutex_lock(&device->sparse->lock);
    const played_buffer *found = find_buffer(device->sparse, handle);
    if (found) {
        needs->size = found->size;
        needs->alignment = BLOCK;
    }
    pthread_mutex_unlock(&device->sparse->lock);
}

void VKAPI_CALL soft_vk_buffer_needs(VkDevice handle, VkBuffer buffer, VkMemoryRequirements *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    device->next.GetBufferMemoryRequirements(handle, buffer, out);
    add_needs(device, buffer, out);
}

void VKAPI_CALL soft_vk_buffer_needs2(VkDevice handle, const VkBufferMemoryRequirementsInfo2 *info,
                                      VkMemoryRequirements2 *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    device->next.GetBufferMemoryRequirements2(handle, info, out);
    add_needs(device, info->buffer, &out->memoryRequirements);
    soft_vk_prefer_dedicated(device, info->buffer, out);
}

uint64_t VKAPI_CALL soft_vk_capture_address(VkDevice handle, const VkBufferDeviceAddressInfo *info)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    uint64_t address = 0;
    bool found = false;
    if (device->sparse) {
        pthread_mutex_lock(&device->sparse->lock);
        const played_buffer *buffer = find_buffer(device->sparse, info->buffer);
        found = buffer != NULL;
        if (found) address = buffer->address;
        pthread_mutex_unlock(&device->sparse->lock);
    }
    return found ? address : device->next.GetBufferOpaqueCaptureAddress(handle, info);
}

/* Binding -------------------------------------------------------------------------------------- */

static bool resolve(const soft_vk_sparse *sparse, const played_buffer *buffer,
                    const VkSparseMemoryBind *bind, part *out)
{
    *out = (part){.address = buffer->address + bind->resourceOffset, .size = bind->size, .fd = -1};
    if (bind->resourceOffset % BLOCK != 0 || bind->size == 0 ||
        bind->resourceOffset > buffer->size || bind->size > buffer->size - bind->resourceOffset)
        return false;
    if (bind->memory == VK_NULL_HANDLE) return true;
    const played_memory *memory = sparse->memories;
    while (memory && memory->handle != bind->memory)
        memory = memory->link;
    if (!memory || bind->memoryOffset % BLOCK != 0 || bind->memoryOffset > memory->size ||
        bind->size > memory->size - bind->memoryOffset)
        return false;
    out->offset = memory->offset + bind->memoryOffset;
    out->fd = dup(memory->fd);
    return out->fd >= 0;
}

static void drop_job(job *j)
{
    for (uint32_t i = 0; i < j->count; i++)
        if (j->parts[i].fd >= 0) close(j->parts[i].fd);
    free(j);
}

static bool carry_out(const job *j)
{
    bool good = true;
    for (uint32_t i = 0; i < j->count; i++) {
        const part *p = &j->parts[i];
        good = soft_vk_cuda_half()->bind(p->address, p->size, p->fd, p->offset) == 0 && good;
    }
    return good;
}

/* The binds of one VkBindSparseInfo; NULL: one of them cannot be. */
static job *make_job(soft_vk_sparse *sparse, const VkBindSparseInfo *info)
{
    size_t count = 0;
    for (uint32_t i = 0; i < info->bufferBindCount; i++)
        count += info->pBufferBinds[i].bindCount;
    job *made = calloc(1, sizeof(*made) + count * sizeof(part));
    if (!made) return NULL;
    bool good = info->imageBindCount == 0 && info->imageOpaqueBindCount == 0;
    pthread_mutex_lock(&sparse->lock);
    for (uint32_t i = 0; good && i < info->bufferBindCount; i++) {
        const VkSparseBufferMemoryBindInfo *of = &info->pBufferBinds[i];
        const played_buffer *buffer = find_buffer(sparse, of->buffer);
        for (uint32_t k = 0; good && k < of->bindCount; k++) {
            good = buffer && resolve(sparse, buffer, &of->pBinds[k], &made->parts[made->count]);
            if (good) made->count++;
        }
    }
    pthread_mutex_unlock(&sparse->lock);
    if (good) return made;
    drop_job(made);
    return NULL;
}

/* Carries jobs out, the last one too. */
static void *run(void *argument)
{
    soft_vk_device *device = argument;
    soft_vk_sparse *sparse = device->sparse;
    for (bool last = false; !last;) {
        pthread_mutex_lock(&sparse->lock);
        job *next = sparse->jobs;
        pthread_mutex_unlock(&sparse->lock);
        device->next.WaitForFences(device->handle, 1, &next->waited, VK_TRUE, UINT64_MAX);
        device->next.DestroyFence(device->handle, next->waited, NULL);
        carry_out(next);
        const VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                              .semaphore = sparse->timeline,
                                              .value = next->value};
        pthread_mutex_lock(&sparse->lock);
        sparse->jobs = next->link;
        last = sparse->jobs == NULL;
        if (last) {
            sparse->tail = &sparse->jobs;
            sparse->ended = true;
            atomic_fetch_sub(&soft_vk_threads, 1);
        }
        pthread_mutex_unlock(&sparse->lock);
        drop_job(next); /* first, so that who waits finds its descriptors closed */
        device->next.SignalSemaphore(device->handle, &signal);
    }
    return NULL;
}

/* The timeline that what comes behind a job waits for. */
static VkResult make_timeline(soft_vk_device *device)
{
    soft_vk_sparse *sparse = device->sparse;
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&sparse->lock);
    if (!sparse->timeline)
        result = device->next.CreateSemaphore(device->handle, &info, NULL, &sparse->timeline);
    pthread_mutex_unlock(&sparse->lock);
    return result;
}

/* Enters a job, whose value it sets. False: there is no thread to be had. */
static bool enter(soft_vk_device *device, job *j, uint64_t *value)
{
    soft_vk_sparse *sparse = device->sparse;
    pthread_mutex_lock(&sparse->lock);
    *value = j->value = ++sparse->value;
    *sparse->tail = j;
    sparse->tail = &j->link;
    const bool starts = !sparse->has_thread || sparse->ended;
    if (starts && sparse->has_thread) pthread_join(sparse->thread, NULL);
    if (starts) {
        sparse->ended = false;
        sparse->has_thread = pthread_create(&sparse->thread, NULL, run, device) == 0;
        if (sparse->has_thread) atomic_fetch_add(&soft_vk_threads, 1);
    }
    const bool good = sparse->has_thread;
    if (!good) {
        sparse->jobs = NULL; /* it was alone */
        sparse->tail = &sparse->jobs;
    }
    pthread_mutex_unlock(&sparse->lock);
    return good;
}

/* What waits in the queue until the thread has carried the job out. */
static VkResult submit_waiting(soft_vk_device *device, VkQueue queue, const VkBindSparseInfo *info,
                               const VkTimelineSemaphoreSubmitInfo *values, job *j)
{
    VkPipelineStageFlags *stages;
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = make_timeline(device);
    if (result != VK_SUCCESS) return result;
    stages = malloc((info->waitSemaphoreCount + (size_t)1) * sizeof(*stages));
    if (!stages) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo wait_values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = values ? values->waitSemaphoreValueCount : 0,
        .pWaitSemaphoreValues = values ? values->pWaitSemaphoreValues : NULL};
    const VkSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &wait_values,
                               .waitSemaphoreCount = info->waitSemaphoreCount,
                               .pWaitSemaphores = info->pWaitSemaphores,
                               .pWaitDstStageMask = stages};
    result = device->next.CreateFence(device->handle, &fence, NULL, &j->waited);
    if (result == VK_SUCCESS) {
        result = device->next.QueueSubmit(queue, 1, &wait, j->waited);
        if (result != VK_SUCCESS) device->next.DestroyFence(device->handle, j->waited, NULL);
    }
    free(stages);
    return result;
}

/* What comes behind the binds: the caller's signals, and the fence. */
static VkResult submit_signals(soft_vk_device *device, VkQueue queue, const VkBindSparseInfo *info,
                               const VkTimelineSemaphoreSubmitInfo *values, uint64_t behind,
                               VkFence fence)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo all = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = behind != 0,
        .pWaitSemaphoreValues = &behind,
        .signalSemaphoreValueCount = values ? values->signalSemaphoreValueCount : 0,
        .pSignalSemaphoreValues = values ? values->pSignalSemaphoreValues : NULL};
    const VkSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &all,
                                 .waitSemaphoreCount = behind != 0,
                                 .pWaitSemaphores = &device->sparse->timeline,
                                 .pWaitDstStageMask = &stage,
                                 .signalSemaphoreCount = info->signalSemaphoreCount,
                                 .pSignalSemaphores = info->pSignalSemaphores};
    return soft_vk_QueueSubmit(device, queue, 1, &signal, fence);
}

/* Whether nothing is left to wait for. Binary semaphores cannot be asked. */
static bool waits_for_nothing(soft_vk_device *device, const VkBindSparseInfo *info,
                              const VkTimelineSemaphoreSubmitInfo *values)
{
    pthread_mutex_lock(&device->sparse->lock);
    bool nothing = device->sparse->jobs == NULL; /* those are before it */
    pthread_mutex_unlock(&device->sparse->lock);
    if (info->waitSemaphoreCount > 0 &&
        (!values || values->waitSemaphoreValueCount != info->waitSemaphoreCount))
        return false;
    for (uint32_t i = 0; nothing && i < info->waitSemaphoreCount; i++) {
        uint64_t value = 0;
        nothing = soft_vk_is_timeline(device, info->pWaitSemaphores[i]) &&
                  soft_vk_GetSemaphoreCounterValue(device, device->handle, info->pWaitSemaphores[i],
                                                   &value) == VK_SUCCESS &&
                  value >= values->pWaitSemaphoreValues[i];
    }
    return nothing;
}

static VkResult bind(soft_vk_device *device, VkQueue queue, const VkBindSparseInfo *info,
                     VkFence fence)
{
    soft_vk_sparse *sparse = device->sparse;
    uint64_t behind = 0;
    const VkTimelineSemaphoreSubmitInfo *values =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    job *j = make_job(sparse, info);
    if (!j) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (waits_for_nothing(device, info, values)) {
        const bool good = carry_out(j);
        drop_job(j);
        if (!good) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    } else {
        VkResult result = submit_waiting(device, queue, info, values, j);
        if (result != VK_SUCCESS) {
            drop_job(j);
            return result;
        }
        if (!enter(device, j, &behind)) {
            device->next.WaitForFences(device->handle, 1, &j->waited, VK_TRUE, UINT64_MAX);
            device->next.DestroyFence(device->handle, j->waited, NULL);
            drop_job(j);
            return VK_ERROR_OUT_OF_HOST_MEMORY;
        }
    }
    return submit_signals(device, queue, info, values, behind, fence);
}

VkResult soft_vk_QueueBindSparse(soft_vk_device *device, VkQueue handle, uint32_t count,
                                 const VkBindSparseInfo *infos, VkFence fence)
{
    bool own = false; /* some buffer is the driver's */
    for (uint32_t i = 0; device->sparse && i < count; i++) {
        pthread_mutex_lock(&device->sparse->lock);
        for (uint32_t k = 0; k < infos[i].bufferBindCount; k++)
            own = own || !find_buffer(device->sparse, infos[i].pBufferBinds[k].buffer);
        pthread_mutex_unlock(&device->sparse->lock);
        own = own || infos[i].imageBindCount > 0 || infos[i].imageOpaqueBindCount > 0;
    }
    if (!device->sparse || (own && device->native_sparse))
        return device->next.QueueBindSparse(handle, count, infos, fence);
    if (count == 0) return device->next.QueueSubmit(handle, 0, NULL, fence);
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        result = bind(device, handle, &infos[i], i + 1 == count ? fence : VK_NULL_HANDLE);
    return result;
}
