/* SPDX-License-Identifier: MIT */
/* dma-bufs, played over memfds where CULVERT_SOFT_DMA_BUF=1 asks for it: lavapipe of Mesa 22 knows
 * none, and later ones import them only. Images with a DRM modifier are rows in such a file, which
 * can be copied and nothing else: copies become copies of buffers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "soft_vk.h"

enum { PLANES = 2 };

typedef struct image {
    struct image *link;
    const soft_vk_device *device;
    VkImage handle; /* one texel of the driver's, to have a handle */
    uint32_t width, height, texel;
    uint64_t modifier;
    uint32_t planes;
    VkSubresourceLayout layouts[PLANES];
    VkDeviceSize size;
    VkBuffer buffer; /* of the memory that it is bound to */
} image;

typedef struct memory {
    struct memory *link;
    const soft_vk_device *device;
    VkDeviceMemory handle; /* the mapped file, as host memory */
    VkBuffer buffer;       /* all of it */
    void *map;
    size_t size;
    int fd; /* of what was made here; -1: imported */
} memory;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static image *images;
static memory *memories;

static bool is_on;

static void read_environment(void)
{
    const char *text = secure_getenv("CULVERT_SOFT_DMA_BUF");
    is_on = text && strcmp(text, "1") == 0;
}

bool soft_vk_dma_bufs_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return is_on;
}

/* What is played ------------------------------------------------------------------------------- */

/* Bytes of a texel; 0: the format is not played. */
static uint32_t texel_size(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_R8_UNORM: return 1;
    case VK_FORMAT_R8G8_UNORM:
    case VK_FORMAT_R16_UNORM:
    case VK_FORMAT_R5G6B5_UNORM_PACK16: return 2;
    case VK_FORMAT_R8G8B8_UNORM:
    case VK_FORMAT_B8G8R8_UNORM: return 3;
    case VK_FORMAT_B8G8R8A8_UNORM:
    case VK_FORMAT_B8G8R8A8_SRGB:
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R8G8B8A8_SRGB:
    case VK_FORMAT_A2R10G10B10_UNORM_PACK32:
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
    case VK_FORMAT_R16G16_UNORM: return 4;
    case VK_FORMAT_R16G16B16A16_UNORM:
    case VK_FORMAT_R16G16B16A16_SFLOAT: return 8;
    default: return 0;
    }
}

enum { COPIED = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT };

/* What control.h says of them. */
static uint32_t planes_of(uint64_t modifier)
{
    return modifier == CULV_SOFT_MODIFIER_TWO_PLANES ? 2 : 1;
}

static bool has_images(uint64_t modifier)
{
    return modifier == CULV_SOFT_MODIFIER_LINEAR || modifier == CULV_SOFT_MODIFIER_TWO_PLANES;
}

static bool plays_for(soft_vk_instance *instance, VkPhysicalDevice handle)
{
    bool native[SOFT_VK_LENT_COUNT];
    if (!soft_vk_dma_bufs_on()) return false;
    /* The loader takes a megabyte each time that it is asked for extensions. */
    if (atomic_load(&instance->without_dma_bufs) == handle) return true;
    if (!soft_vk_is_lavapipe(instance, handle, NULL) ||
        soft_vk_has_lent(instance, handle, native) != VK_SUCCESS || native[SOFT_VK_LENT_MODIFIERS])
        return false;
    atomic_store(&instance->without_dma_bufs, handle);
    return true;
}

static const struct {
    uint64_t modifier;
    uint32_t planes;
    VkFormatFeatureFlags features;
} listed[] = {{CULV_SOFT_MODIFIER_REFUSED, 1, COPIED},
              {CULV_SOFT_MODIFIER_LINEAR, 1, COPIED},
              {CULV_SOFT_MODIFIER_TWO_PLANES, 2, COPIED},
              {CULV_SOFT_MODIFIER_SAMPLED, 1, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT}};

/* The two forms of the list. */
static void list_modifiers(uint32_t count, uint32_t room,
                           VkDrmFormatModifierPropertiesListEXT *list)
{
    VkDrmFormatModifierPropertiesEXT *to = list->pDrmFormatModifierProperties;
    list->drmFormatModifierCount = !to || room > count ? count : room;
    for (uint32_t i = 0; to && i < list->drmFormatModifierCount; i++)
        to[i] = (VkDrmFormatModifierPropertiesEXT){listed[i].modifier, listed[i].planes,
                                                   listed[i].features};
}

static void list_modifiers2(uint32_t count, uint32_t room,
                            VkDrmFormatModifierPropertiesList2EXT *list)
{
    VkDrmFormatModifierProperties2EXT *to = list->pDrmFormatModifierProperties;
    list->drmFormatModifierCount = !to || room > count ? count : room;
    for (uint32_t i = 0; to && i < list->drmFormatModifierCount; i++)
        to[i] = (VkDrmFormatModifierProperties2EXT){listed[i].modifier, listed[i].planes,
                                                    listed[i].features};
}

static void *find_answer(VkFormatProperties2 *out, VkStructureType type)
{
    VkBaseOutStructure *s = out->pNext;
    while (s && s->sType != type)
        s = s->pNext;
    return s;
}

void VKAPI_CALL soft_vk_format_properties2(VkPhysicalDevice handle, VkFormat format,
                                           VkFormatProperties2 *out)
{
    const uint32_t count = texel_size(format) ? sizeof(listed) / sizeof(listed[0]) : 0;
    soft_vk_instance *instance = soft_vk_instance_find(handle);
    VkDrmFormatModifierPropertiesListEXT *list =
        find_answer(out, VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT);
    VkDrmFormatModifierPropertiesList2EXT *list2 =
        find_answer(out, VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT);
    /* A driver that has modifiers writes its own count. */
    const uint32_t room = list ? list->drmFormatModifierCount : 0,
                   room2 = list2 ? list2->drmFormatModifierCount : 0;
    instance->next.GetPhysicalDeviceFormatProperties2(handle, format, out);
    if (!plays_for(instance, handle)) return;
    if (list) list_modifiers(count, room, list);
    if (list2) list_modifiers2(count, room2, list2);
}

VkResult
soft_vk_GetPhysicalDeviceImageFormatProperties2(soft_vk_instance *instance, VkPhysicalDevice handle,
                                                const VkPhysicalDeviceImageFormatInfo2 *info,
                                                VkImageFormatProperties2 *out)
{
    const VkImageUsageFlags copies =
        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT || !plays_for(instance, handle))
        return instance->next.GetPhysicalDeviceImageFormatProperties2(handle, info, out);
    const VkPhysicalDeviceImageDrmFormatModifierInfoEXT *which = soft_vk_in_chain(
        info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT);
    const VkPhysicalDeviceExternalImageFormatInfo *shared =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    if (!which || !has_images(which->drmFormatModifier) || !texel_size(info->format) ||
        info->type != VK_IMAGE_TYPE_2D || info->flags != 0 || (info->usage & ~copies) != 0 ||
        (shared && shared->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    out->imageFormatProperties = (VkImageFormatProperties){.maxExtent = {16384, 16384, 1},
                                                           .maxMipLevels = 1,
                                                           .maxArrayLayers = 1,
                                                           .sampleCounts = VK_SAMPLE_COUNT_1_BIT,
                                                           .maxResourceSize = UINT64_C(1) << 31};
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        VkExternalImageFormatProperties *external = (void *)s;
        if (s->sType != VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES) continue;
        external->externalMemoryProperties = (VkExternalMemoryProperties){0};
        if (!shared) continue;
        external->externalMemoryProperties.externalMemoryFeatures =
            VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT |
            (which->drmFormatModifier == CULV_SOFT_MODIFIER_LINEAR
                 ? VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT
                 : 0);
        external->externalMemoryProperties.compatibleHandleTypes =
            VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    }
    return VK_SUCCESS;
}

/* Images --------------------------------------------------------------------------------------- */

static image *find_image(const soft_vk_device *device, VkImage handle)
{
    if (!device->dma_bufs) return NULL;
    pthread_mutex_lock(&lock);
    image *i = images;
    while (i && (i->device != device || i->handle != handle))
        i = i->link;
    pthread_mutex_unlock(&lock);
    return i;
}

bool soft_vk_dma_buf_plays(const soft_vk_device *device, const VkImageCreateInfo *info)
{
    return device->dma_bufs && info->tiling == VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
}

static VkResult lay_out(const VkImageCreateInfo *info, image *out)
{
    const VkImageDrmFormatModifierExplicitCreateInfoEXT *given = soft_vk_in_chain(
        info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);
    const VkImageDrmFormatModifierListCreateInfoEXT *list = soft_vk_in_chain(
        info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);
    const uint64_t row = (uint64_t)info->extent.width * out->texel;
    bool has_linear = false;
    for (uint32_t i = 0; list && i < list->drmFormatModifierCount; i++)
        has_linear = has_linear || list->pDrmFormatModifiers[i] == CULV_SOFT_MODIFIER_LINEAR;
    if (!out->texel || (!given && !has_linear)) return VK_ERROR_UNKNOWN;
    out->modifier = given ? given->drmFormatModifier : CULV_SOFT_MODIFIER_LINEAR;
    out->planes = planes_of(out->modifier);
    if (!given) {
        out->layouts[0].rowPitch = (row + 255) / 256 * 256;
    } else {
        if (given->drmFormatModifierPlaneCount != out->planes)
            return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
        memcpy(out->layouts, given->pPlaneLayouts, out->planes * sizeof(out->layouts[0]));
    }
    const VkSubresourceLayout *first = &out->layouts[0];
    if (first->rowPitch < row || first->rowPitch % out->texel || first->offset % out->texel)
        return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
    out->size = first->offset + first->rowPitch * (info->extent.height - 1) + row;
    /* The second plane means nothing, and has a row. */
    if (out->planes > 1 && out->layouts[1].offset + out->layouts[1].rowPitch > out->size)
        out->size = out->layouts[1].offset + out->layouts[1].rowPitch;
    return VK_SUCCESS;
}

VkResult soft_vk_dma_buf_create(soft_vk_device *device, const VkImageCreateInfo *info, VkImage *out)
{
    image *made = calloc(1, sizeof(*made));
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    made->device = device;
    made->width = info->extent.width;
    made->height = info->extent.height;
    made->texel = texel_size(info->format);
    VkResult result = lay_out(info, made);
    if (result == VK_SUCCESS) {
        VkImageCreateInfo handle_only = *info;
        handle_only.pNext = NULL;
        handle_only.format = VK_FORMAT_R8_UNORM; /* which every driver has */
        handle_only.tiling = VK_IMAGE_TILING_LINEAR;
        handle_only.extent = (VkExtent3D){1, 1, 1};
        result = device->next.CreateImage(device->handle, &handle_only, NULL, &made->handle);
    }
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    *out = made->handle;
    pthread_mutex_lock(&lock);
    made->link = images;
    images = made;
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

void soft_vk_dma_buf_image_gone(const soft_vk_device *device, VkImage handle)
{
    if (!device->dma_bufs) return;
    pthread_mutex_lock(&lock);
    image **link = &images;
    while (*link && ((*link)->device != device || (*link)->handle != handle))
        link = &(*link)->link;
    image *gone = *link;
    if (gone) *link = gone->link;
    pthread_mutex_unlock(&lock);
    free(gone);
}

static VkMemoryRequirements needs_of(const image *i)
{
    return (VkMemoryRequirements){.size = i->size, .alignment = 64, .memoryTypeBits = 1};
}

void VKAPI_CALL soft_vk_image_needs(VkDevice handle, VkImage which, VkMemoryRequirements *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    const image *i = find_image(device, which);
    if (i)
        *out = needs_of(i);
    else
        device->next.GetImageMemoryRequirements(handle, which, out);
}

void VKAPI_CALL soft_vk_image_needs2(VkDevice handle, const VkImageMemoryRequirementsInfo2 *info,
                                     VkMemoryRequirements2 *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    const image *i = find_image(device, info->image);
    if (!i) {
        device->next.GetImageMemoryRequirements2(handle, info, out);
        return;
    }
    out->memoryRequirements = needs_of(i);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) {
            ((VkMemoryDedicatedRequirements *)(void *)s)->prefersDedicatedAllocation = VK_TRUE;
            ((VkMemoryDedicatedRequirements *)(void *)s)->requiresDedicatedAllocation = VK_FALSE;
        }
}

void VKAPI_CALL soft_vk_subresource_layout(VkDevice handle, VkImage which,
                                           const VkImageSubresource *subresource,
                                           VkSubresourceLayout *out)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    const image *i = find_image(device, which);
    if (i)
        *out = i->layouts[subresource->aspectMask == VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT];
    else
        device->next.GetImageSubresourceLayout(handle, which, subresource, out);
}

VkResult soft_vk_GetImageDrmFormatModifierPropertiesEXT(soft_vk_device *device, VkDevice handle,
                                                        VkImage which,
                                                        VkImageDrmFormatModifierPropertiesEXT *out)
{
    const image *i = find_image(device, which);
    if (!i) return device->next.GetImageDrmFormatModifierPropertiesEXT(handle, which, out);
    out->drmFormatModifier = i->modifier;
    return VK_SUCCESS;
}

/* Memory --------------------------------------------------------------------------------------- */

static const VkImportMemoryFdInfoKHR *imports(const VkMemoryAllocateInfo *info)
{
    const VkImportMemoryFdInfoKHR *import =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    return import && import->handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT ? import
                                                                                          : NULL;
}

bool soft_vk_dma_buf_is_memory(const soft_vk_device *device, const VkMemoryAllocateInfo *info)
{
    const VkExportMemoryAllocateInfo *shared =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    return device->dma_bufs &&
           (imports(info) ||
            (shared && (shared->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)));
}

/* The size of what plays a dma-buf; 0: it plays none. */
static uint64_t file_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* The driver's memory of the mapping, and a buffer of all of it. */
static VkResult take_pages(soft_vk_device *device, uint32_t type, memory *m)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const VkImportMemoryHostPointerInfoEXT pages = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = m->map};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &pages,
                                       .allocationSize = (m->size + page - 1) / page * page,
                                       .memoryTypeIndex = type};
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    const VkBufferCreateInfo all = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                    .pNext = &external,
                                    .size = m->size,
                                    .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                             VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkResult result =
        device->next.AllocateMemory(device->handle, &info, soft_vk_recycles(NULL), &m->handle);
    if (result != VK_SUCCESS) return result;
    result = device->next.CreateBuffer(device->handle, &all, NULL, &m->buffer);
    if (result == VK_SUCCESS) {
        result = device->next.BindBufferMemory(device->handle, m->buffer, m->handle, 0);
        if (result == VK_SUCCESS) return VK_SUCCESS;
        device->next.DestroyBuffer(device->handle, m->buffer, NULL);
    }
    device->next.FreeMemory(device->handle, m->handle, soft_vk_recycles(NULL));
    return result;
}

VkResult soft_vk_dma_buf_allocate(soft_vk_device *device, const VkMemoryAllocateInfo *info,
                                  VkDeviceMemory *out)
{
    const VkImportMemoryFdInfoKHR *import = imports(info);
    VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
    memory *made = calloc(1, sizeof(*made));
    if (!made) return result;
    made->device = device;
    made->size = info->allocationSize;
    made->fd = -1;
    if (import) {
        made->size = file_size(import->fd);
        result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
        if (made->size < info->allocationSize || made->size == 0) goto free_record;
    } else {
        made->fd = memfd_create("culvert dma-buf", MFD_CLOEXEC);
        if (made->fd < 0) goto free_record;
        if (ftruncate(made->fd, (off_t)made->size) != 0) goto close_fd;
    }
    made->map = mmap(NULL, made->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                     import ? import->fd : made->fd, 0);
    if (made->map == MAP_FAILED) goto close_fd;
    result = take_pages(device, info->memoryTypeIndex, made);
    if (result != VK_SUCCESS) goto unmap;
    if (import)
        close(import->fd); /* the driver's since it succeeded */
    else
        atomic_fetch_add(&soft_vk_fds, 1);
    pthread_mutex_lock(&lock);
    made->link = memories;
    memories = made;
    pthread_mutex_unlock(&lock);
    *out = made->handle;
    return VK_SUCCESS;

unmap:
    munmap(made->map, made->size);
close_fd:
    if (made->fd >= 0) close(made->fd);
free_record:
    free(made);
    return result;
}

static memory **find_memory(const soft_vk_device *device, VkDeviceMemory handle)
{
    memory **link = &memories;
    while (*link && ((*link)->device != device || (*link)->handle != handle))
        link = &(*link)->link;
    return link;
}

void soft_vk_dma_buf_memory_gone(const soft_vk_device *device, VkDeviceMemory handle)
{
    if (!device->dma_bufs) return;
    pthread_mutex_lock(&lock);
    memory **link = find_memory(device, handle), *gone = *link;
    if (gone) *link = gone->link;
    pthread_mutex_unlock(&lock);
    if (!gone) return;
    device->next.DestroyBuffer(device->handle, gone->buffer, NULL);
    munmap(gone->map, gone->size);
    if (gone->fd >= 0) {
        close(gone->fd);
        atomic_fetch_sub(&soft_vk_fds, 1);
    }
    free(gone);
}

void soft_vk_dma_bufs_end(const soft_vk_device *device)
{
    pthread_mutex_lock(&lock);
    for (image **link = &images; *link;) {
        image *i = *link;
        if (i->device == device) {
            *link = i->link;
            free(i);
        } else {
            link = &i->link;
        }
    }
    pthread_mutex_unlock(&lock);
}

bool soft_vk_dma_buf_bind(const soft_vk_device *device, VkImage which, VkDeviceMemory handle)
{
    image *i = find_image(device, which);
    if (!i) return false;
    pthread_mutex_lock(&lock);
    const memory *m = *find_memory(device, handle);
    i->buffer = m ? m->buffer : VK_NULL_HANDLE;
    pthread_mutex_unlock(&lock);
    return true;
}

VkResult soft_vk_GetMemoryFdKHR(soft_vk_device *device, VkDevice handle,
                                const VkMemoryGetFdInfoKHR *info, int *fd)
{
    if (!info->memory) { /* lavapipe would crash; FFmpeg 7.1 does this */
        fprintf(stderr, "VK_LAYER_CULVERT_soft: vkGetMemoryFdKHR: memory is VK_NULL_HANDLE\n");
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    if (!device->dma_bufs || info->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
        return device->next.GetMemoryFdKHR(handle, info, fd);
    pthread_mutex_lock(&lock);
    const memory *m = *find_memory(device, info->memory);
    const int copy = m && m->fd >= 0 ? fcntl(m->fd, F_DUPFD_CLOEXEC, 0) : -1;
    const VkResult result = !m || m->fd < 0 ? VK_ERROR_INVALID_EXTERNAL_HANDLE
                            : copy < 0      ? VK_ERROR_TOO_MANY_OBJECTS
                                            : VK_SUCCESS;
    pthread_mutex_unlock(&lock);
    if (result == VK_SUCCESS) *fd = copy;
    return result;
}

VkResult soft_vk_GetMemoryFdPropertiesKHR(soft_vk_device *device, VkDevice handle,
                                          VkExternalMemoryHandleTypeFlagBits type, int fd,
                                          VkMemoryFdPropertiesKHR *out)
{
    if (!device->dma_bufs || type != VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
        return device->next.GetMemoryFdPropertiesKHR(handle, type, fd, out);
    if (file_size(fd) == 0) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    out->memoryTypeBits = 1;
    return VK_SUCCESS;
}

/* Copies --------------------------------------------------------------------------------------- */

/* Where a texel lies in the image's file. */
static VkDeviceSize place(const image *i, VkOffset3D at)
{
    return i->layouts[0].offset + (VkDeviceSize)at.y * i->layouts[0].rowPitch +
           (VkDeviceSize)at.x * i->texel;
}

static VkBufferImageCopy as_buffer(const image *i, VkOffset3D at,
                                   const VkImageSubresourceLayers *other, VkOffset3D other_at,
                                   VkExtent3D extent)
{
    return (VkBufferImageCopy){.bufferOffset = place(i, at),
                               .bufferRowLength = (uint32_t)(i->layouts[0].rowPitch / i->texel),
                               .imageSubresource = *other,
                               .imageOffset = other_at,
                               .imageExtent = extent};
}

/* Rows of bytes between two buffers. */
static void copy_rows(const soft_vk_device *device, VkCommandBuffer commands, VkBuffer from,
                      VkDeviceSize from_at, VkDeviceSize from_pitch, VkBuffer to,
                      VkDeviceSize to_at, VkDeviceSize to_pitch, VkDeviceSize row, uint32_t rows)
{
    PFN_vkCmdCopyBuffer copy = device->next.CmdCopyBuffer;
    for (uint32_t y = 0; y < rows; y++) {
        const VkBufferCopy region = {from_at + y * from_pitch, to_at + y * to_pitch, row};
        copy(commands, from, to, 1, &region);
    }
}

void VKAPI_CALL soft_vk_cmd_copy_image(VkCommandBuffer commands, VkImage from,
                                       VkImageLayout from_layout, VkImage to,
                                       VkImageLayout to_layout, uint32_t count,
                                       const VkImageCopy *regions)
{
    const soft_vk_device *device = soft_vk_device_find(commands);
    const image *a = find_image(device, from), *b = find_image(device, to);
    if (!a && !b)
        device->next.CmdCopyImage(commands, from, from_layout, to, to_layout, count, regions);
    for (uint32_t i = 0; i < count && (a || b); i++) {
        const VkImageCopy *r = &regions[i];
        VkBufferImageCopy region;
        if (a && b) {
            copy_rows(device, commands, a->buffer, place(a, r->srcOffset), a->layouts[0].rowPitch,
                      b->buffer, place(b, r->dstOffset), b->layouts[0].rowPitch,
                      (VkDeviceSize)r->extent.width * a->texel, r->extent.height);
        } else if (a) {
            region = as_buffer(a, r->srcOffset, &r->dstSubresource, r->dstOffset, r->extent);
            device->next.CmdCopyBufferToImage(commands, a->buffer, to, to_layout, 1, &region);
        } else {
            region = as_buffer(b, r->dstOffset, &r->srcSubresource, r->srcOffset, r->extent);
            device->next.CmdCopyImageToBuffer(commands, from, from_layout, b->buffer, 1, &region);
        }
    }
}

/* Between a played image and a buffer, either way. */
static void copy_regions(const soft_vk_device *device, VkCommandBuffer commands, const image *i,
                         VkBuffer buffer, bool to_buffer, uint32_t count,
                         const VkBufferImageCopy *regions)
{
    for (uint32_t n = 0; n < count; n++) {
        const VkBufferImageCopy *r = &regions[n];
        const uint32_t texels = r->bufferRowLength ? r->bufferRowLength : r->imageExtent.width;
        const VkDeviceSize pitch = (VkDeviceSize)texels * i->texel,
                           row = (VkDeviceSize)r->imageExtent.width * i->texel,
                           at = place(i, r->imageOffset);
        if (to_buffer)
            copy_rows(device, commands, i->buffer, at, i->layouts[0].rowPitch, buffer,
                      r->bufferOffset, pitch, row, r->imageExtent.height);
        else
            copy_rows(device, commands, buffer, r->bufferOffset, pitch, i->buffer, at,
                      i->layouts[0].rowPitch, row, r->imageExtent.height);
    }
}

void VKAPI_CALL soft_vk_cmd_copy_image_to_buffer(VkCommandBuffer commands, VkImage from,
                                                 VkImageLayout layout, VkBuffer to, uint32_t count,
                                                 const VkBufferImageCopy *regions)
{
    const soft_vk_device *device = soft_vk_device_find(commands);
    const image *i = find_image(device, from);
    if (i)
        copy_regions(device, commands, i, to, true, count, regions);
    else
        device->next.CmdCopyImageToBuffer(commands, from, layout, to, count, regions);
}

void VKAPI_CALL soft_vk_cmd_copy_buffer_to_image(VkCommandBuffer commands, VkBuffer from,
                                                 VkImage to, VkImageLayout layout, uint32_t count,
                                                 const VkBufferImageCopy *regions)
{
    const soft_vk_device *device = soft_vk_device_find(commands);
    const image *i = find_image(device, to);
    if (i)
        copy_regions(device, commands, i, from, false, count, regions);
    else
        device->next.CmdCopyBufferToImage(commands, from, to, layout, count, regions);
}
