/* SPDX-License-Identifier: MIT */
/* What the machine of fake_vulkan.h makes: buffers, images, memory, semaphores, each held against
 * what the specification asks for and the machine's own answers. */
#include "fake_objects.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Everything that a handle stands for. */
typedef enum kind { BUFFER = 1, IMAGE, MEMORY, SEMAPHORE } kind;

typedef struct object {
    kind kind;
    bool callers;
    VkExternalMemoryHandleTypeFlags types; /* of the chain */
    VkImageCreateInfo image;               /* pNext is nothing */
    VkDeviceSize size;                     /* memory */
    int fd;                                /* memory; -1: not exportable */
} object;

static unsigned alive;
static bool made_disjoint; /* the last buffer or image */

static object *make(kind of)
{
    object *o = calloc(1, sizeof *o);
    FUZZ_REQUIRE(o != NULL, "calloc");
    o->kind = of;
    o->fd = -1;
    alive++;
    return o;
}

static object *at(const void *handle, kind of)
{
    object *o = (object *)(uintptr_t)handle;
    FUZZ_REQUIRE(o != NULL && o->kind == of, "a handle of kind %d", (int)of);
    return o;
}

static void destroy(const void *handle, kind of)
{
    if (handle == NULL) return;
    object *o = at(handle, of);
    if (o->fd >= 0) close(o->fd);
    free(o);
    alive--;
}

void fake_require_empty(void)
{
    FUZZ_REQUIRE(alive == 0, "%u Vulkan objects are left", alive);
}

static bool fails(fake_failure function)
{
    return fake.fails == (uint32_t)function;
}

static bool one_bit(uint32_t bits)
{
    return bits != 0 && (bits & (bits - 1)) == 0;
}

/* Resources ------------------------------------------------------------------------------------ */

/* What the specification asks of a create info and this machine's answers allow. */
static void check_families(VkSharingMode mode, uint32_t count, const uint32_t *families)
{
    FUZZ_REQUIRE(mode == VK_SHARING_MODE_EXCLUSIVE || mode == VK_SHARING_MODE_CONCURRENT,
                 "sharingMode %d", (int)mode);
    if (mode == VK_SHARING_MODE_EXCLUSIVE) return;
    FUZZ_REQUIRE(count > 1 && families != NULL, "VUID-VkImageCreateInfo-sharingMode-00942");
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(families[i] < fake.families,
                     "VUID-VkImageCreateInfo-sharingMode-01420: family %u", families[i]);
        for (uint32_t j = 0; j < i; j++)
            FUZZ_REQUIRE(families[i] != families[j],
                         "VUID-VkImageCreateInfo-sharingMode-01420: %u twice", families[i]);
    }
}

static void check_external(VkExternalMemoryHandleTypeFlags types,
                           const VkExternalMemoryProperties *has)
{
    FUZZ_REQUIRE(types != 0, "it is not made for sharing");
    FUZZ_REQUIRE(has->externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
                 "VUID-VkExportMemoryAllocateInfo-handleTypes-00656: it cannot be exported");
}

static unsigned count_type(const void *chain, VkStructureType type)
{
    unsigned n = 0;
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        n += s->sType == type;
    return n;
}

static VkExternalMemoryHandleTypeFlags check_buffer(const VkBufferCreateInfo *info)
{
    FUZZ_REQUIRE(count_type(info, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO) == 1,
                 "it is not made for sharing");
    const VkExternalMemoryBufferCreateInfo *external =
        fuzz_chain_find(info, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    FUZZ_REQUIRE(info->sType == VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO && info->usage != 0 &&
                     info->size != 0,
                 "usage %#x, size %llu", info->usage, (unsigned long long)info->size);
    FUZZ_REQUIRE(!fake.tells_needs || info->size <= fake.max_buffer_size,
                 "VUID-VkBufferCreateInfo-size-06409");
    check_families(info->sharingMode, info->queueFamilyIndexCount, info->pQueueFamilyIndices);
    check_external(external->handleTypes, &fake.buffers);
    return external->handleTypes;
}

static uint32_t most_levels(VkExtent3D e)
{
    uint32_t levels = 1;
    for (uint32_t most = e.width | e.height | e.depth; most > 1; most >>= 1)
        levels++;
    return levels;
}

static bool disjoint(const VkImageCreateInfo *info)
{
    return (info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) != 0 && fuzz_planes(info->format) > 1;
}

static VkExternalMemoryHandleTypeFlags check_image(const VkImageCreateInfo *info)
{
    const VkImageFormatProperties *most = &fake.most;
    const VkExtent3D *e = &info->extent;
    bool cube = (info->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) != 0;
    FUZZ_REQUIRE(count_type(info, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) == 1,
                 "it is not made for sharing");
    const VkExternalMemoryImageCreateInfo *external =
        fuzz_chain_find(info, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    FUZZ_REQUIRE(info->sType == VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO && info->usage != 0,
                 "usage %#x", info->usage);
    FUZZ_REQUIRE(fake.image_result == VK_SUCCESS,
                 "VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251");
    FUZZ_REQUIRE(!(info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) || disjoint(info),
                 "VUID-VkImageCreateInfo-format-01577");
    FUZZ_REQUIRE(e->width != 0 && e->height != 0 && e->depth != 0,
                 "VUID-VkImageCreateInfo-extent-00944");
    FUZZ_REQUIRE(e->width <= most->maxExtent.width && e->height <= most->maxExtent.height &&
                     e->depth <= most->maxExtent.depth,
                 "VUID-VkImageCreateInfo-extent-02252: %u x %u x %u", e->width, e->height,
                 e->depth);
    FUZZ_REQUIRE(info->mipLevels != 0 && info->mipLevels <= most->maxMipLevels &&
                     info->mipLevels <= most_levels(*e),
                 "VUID-VkImageCreateInfo-mipLevels-02255: %u levels", info->mipLevels);
    FUZZ_REQUIRE(info->arrayLayers != 0 && info->arrayLayers <= most->maxArrayLayers,
                 "VUID-VkImageCreateInfo-arrayLayers-02256: %u layers", info->arrayLayers);
    FUZZ_REQUIRE(info->samples == VK_SAMPLE_COUNT_1_BIT, "%d samples", (int)info->samples);
    FUZZ_REQUIRE(info->initialLayout == VK_IMAGE_LAYOUT_UNDEFINED,
                 "VUID-VkImageCreateInfo-pNext-01443");
    FUZZ_REQUIRE(info->imageType != VK_IMAGE_TYPE_1D || (e->height == 1 && e->depth == 1),
                 "VUID-VkImageCreateInfo-imageType-00956");
    FUZZ_REQUIRE(info->imageType != VK_IMAGE_TYPE_2D || e->depth == 1,
                 "VUID-VkImageCreateInfo-imageType-00957");
    FUZZ_REQUIRE(info->imageType != VK_IMAGE_TYPE_3D || info->arrayLayers == 1,
                 "VUID-VkImageCreateInfo-imageType-00961");
    FUZZ_REQUIRE(!cube || (info->imageType == VK_IMAGE_TYPE_2D && e->width == e->height &&
                           info->arrayLayers >= 6),
                 "VUID-VkImageCreateInfo-flags-00949, -08866: %u layers", info->arrayLayers);
    check_families(info->sharingMode, info->queueFamilyIndexCount, info->pQueueFamilyIndices);
    check_external(external->handleTypes, &fake.images);
    return external->handleTypes;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                  const VkAllocationCallbacks *callbacks,
                                                  VkBuffer *out)
{
    (void)device;
    (void)callbacks;
    VkExternalMemoryHandleTypeFlags types = check_buffer(info);
    if (fails(FAKE_CREATE_BUFFER)) return fake.result;
    made_disjoint = false;
    object *o = make(BUFFER);
    o->types = types;
    o->size = info->size;
    *out = (VkBuffer)(uintptr_t)o;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_create_image(VkDevice device, const VkImageCreateInfo *info,
                                                 const VkAllocationCallbacks *callbacks,
                                                 VkImage *out)
{
    (void)device;
    (void)callbacks;
    VkExternalMemoryHandleTypeFlags types = check_image(info);
    if (fails(FAKE_CREATE_IMAGE)) return fake.result;
    made_disjoint = disjoint(info);
    *out = fake_image_create(info);
    object *o = at(*out, IMAGE);
    o->types = types;
    o->callers = false;
    return VK_SUCCESS;
}

VkImage fake_image_create(const VkImageCreateInfo *info)
{
    object *o = make(IMAGE);
    o->image = *info;
    o->image.pNext = NULL;
    o->callers = true;
    return (VkImage)(uintptr_t)o;
}

VKAPI_ATTR void VKAPI_CALL fake_destroy_buffer(VkDevice device, VkBuffer buffer,
                                               const VkAllocationCallbacks *callbacks)
{
    (void)device;
    (void)callbacks;
    destroy(buffer, BUFFER);
}

VKAPI_ATTR void VKAPI_CALL fake_destroy_image(VkDevice device, VkImage image,
                                              const VkAllocationCallbacks *callbacks)
{
    (void)device;
    (void)callbacks;
    FUZZ_REQUIRE(image == VK_NULL_HANDLE || !at(image, IMAGE)->callers, "the caller's image");
    destroy(image, IMAGE);
}

void fake_image_destroy(VkImage image)
{
    destroy(image, IMAGE);
}

/* `image`: NULL of buffers; a plane is asked for where it has planes to be asked for. */
static void answer_needs(const VkImageCreateInfo *image, VkImageAspectFlags plane,
                         VkMemoryRequirements2 *out)
{
    const VkImageAspectFlags planes =
        VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT;
    bool by_plane = image != NULL && disjoint(image);
    FUZZ_REQUIRE(by_plane ? one_bit(plane) && (plane & planes) : plane == 0,
                 "VUID-VkImageMemoryRequirementsInfo2-image-01589, -01590: aspect %#x", plane);
    VkMemoryDedicatedRequirements *dedicated =
        (void *)(uintptr_t)fuzz_chain_find(out, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
    out->memoryRequirements = fake.needs;
    if (dedicated == NULL) return;
    dedicated->requiresDedicatedAllocation = fake.requires_dedicated && !by_plane;
    dedicated->prefersDedicatedAllocation = fake.prefers_dedicated;
}

VKAPI_ATTR void VKAPI_CALL fake_buffer_needs(VkDevice device,
                                             const VkBufferMemoryRequirementsInfo2 *info,
                                             VkMemoryRequirements2 *out)
{
    (void)device;
    (void)at(info->buffer, BUFFER);
    answer_needs(NULL, 0, out);
}

VKAPI_ATTR void VKAPI_CALL fake_image_needs(VkDevice device,
                                            const VkImageMemoryRequirementsInfo2 *info,
                                            VkMemoryRequirements2 *out)
{
    (void)device;
    const VkImagePlaneMemoryRequirementsInfo *plane =
        fuzz_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO);
    answer_needs(&at(info->image, IMAGE)->image,
                 plane != NULL ? (VkImageAspectFlags)plane->planeAspect : 0, out);
}

VKAPI_ATTR void VKAPI_CALL fake_device_buffer_needs(VkDevice device,
                                                    const VkDeviceBufferMemoryRequirements *info,
                                                    VkMemoryRequirements2 *out)
{
    (void)device;
    FUZZ_REQUIRE(fake.tells_needs, "maintenance4 is not there");
    (void)check_buffer(info->pCreateInfo);
    answer_needs(NULL, 0, out);
}

VKAPI_ATTR void VKAPI_CALL fake_device_image_needs(VkDevice device,
                                                   const VkDeviceImageMemoryRequirements *info,
                                                   VkMemoryRequirements2 *out)
{
    (void)device;
    FUZZ_REQUIRE(fake.tells_needs, "maintenance4 is not there");
    (void)check_image(info->pCreateInfo);
    answer_needs(info->pCreateInfo, (VkImageAspectFlags)info->planeAspect, out);
}

VKAPI_ATTR void VKAPI_CALL fake_subresource_layout(VkDevice device, VkImage image,
                                                   const VkImageSubresource *what,
                                                   VkSubresourceLayout *out)
{
    (void)device;
    const VkImageCreateInfo *i = &at(image, IMAGE)->image;
    FUZZ_REQUIRE(i->tiling == VK_IMAGE_TILING_LINEAR,
                 "VUID-vkGetImageSubresourceLayout-image-07790");
    FUZZ_REQUIRE(one_bit(what->aspectMask) && what->mipLevel < i->mipLevels &&
                     what->arrayLayer < i->arrayLayers,
                 "VUID-vkGetImageSubresourceLayout-mipLevel-01716: level %u, layer %u",
                 what->mipLevel, what->arrayLayer);
    out->offset = (VkDeviceSize)what->arrayLayer * 4096;
    out->rowPitch = (VkDeviceSize)i->extent.width * 16 * fake.lies.width;
    out->depthPitch = out->rowPitch * i->extent.height * fake.lies.height;
    out->arrayPitch = out->depthPitch * fake.lies.depth;
    out->size = out->arrayPitch;
}

/* Memory and semaphores ------------------------------------------------------------------------ */

VKAPI_ATTR VkResult VKAPI_CALL fake_allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                             const VkAllocationCallbacks *callbacks,
                                             VkDeviceMemory *out)
{
    (void)device;
    (void)callbacks;
    const VkExportMemoryAllocateInfo *export_info =
        fuzz_chain_find(info, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkMemoryDedicatedAllocateInfo *dedicated =
        fuzz_chain_find(info, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    bool is_image = dedicated != NULL && dedicated->image != VK_NULL_HANDLE;
    const VkExternalMemoryProperties *has = is_image ? &fake.images : &fake.buffers;
    FUZZ_REQUIRE(info->memoryTypeIndex < fake.memory.memoryTypeCount,
                 "VUID-vkAllocateMemory-pAllocateInfo-01714");
    FUZZ_REQUIRE(fake.needs.memoryTypeBits & (1u << info->memoryTypeIndex),
                 "VUID-vkBindImageMemory2-memory-01047");
    FUZZ_REQUIRE(info->allocationSize == fake.needs.size || (dedicated == NULL && made_disjoint),
                 "VUID-VkMemoryDedicatedAllocateInfo-image-02964");
    FUZZ_REQUIRE(!made_disjoint || dedicated == NULL,
                 "VUID-VkMemoryDedicatedAllocateInfo-image-01797");
    FUZZ_REQUIRE(export_info != NULL && export_info->handleTypes != 0, "it cannot be shared");
    FUZZ_REQUIRE(dedicated != NULL || !fake.requires_dedicated || made_disjoint,
                 "VUID-vkBindImageMemory2-image-01445");
    FUZZ_REQUIRE(dedicated == NULL ||
                     (dedicated->image == VK_NULL_HANDLE) != (dedicated->buffer == VK_NULL_HANDLE),
                 "VUID-VkMemoryDedicatedAllocateInfo-image-01432");
    FUZZ_REQUIRE(dedicated == NULL || has->externalMemoryFeatures != 0,
                 "VUID-VkMemoryAllocateInfo-pNext-00639");
    if (fails(FAKE_ALLOCATE)) return fake.result;
    if (info->allocationSize == 0 || info->allocationSize > FUZZ_MOST_MEMORY / 2)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    object *o = make(MEMORY);
    o->types = export_info->handleTypes;
    o->size = info->allocationSize;
    o->fd = fuzz_memory_file(o->size);
    *out = (VkDeviceMemory)(uintptr_t)o;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL fake_free_memory(VkDevice device, VkDeviceMemory memory,
                                            const VkAllocationCallbacks *callbacks)
{
    (void)device;
    (void)callbacks;
    destroy(memory, MEMORY);
}

VKAPI_ATTR VkResult VKAPI_CALL fake_bind_buffer(VkDevice device, VkBuffer buffer,
                                                VkDeviceMemory memory, VkDeviceSize offset)
{
    (void)device;
    (void)at(buffer, BUFFER);
    FUZZ_REQUIRE(offset <= at(memory, MEMORY)->size, "VUID-vkBindBufferMemory-memoryOffset-01031");
    return fails(FAKE_BIND) ? fake.result : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_bind_image(VkDevice device, VkImage image,
                                               VkDeviceMemory memory, VkDeviceSize offset)
{
    (void)device;
    (void)at(image, IMAGE);
    FUZZ_REQUIRE(offset <= at(memory, MEMORY)->size, "VUID-vkBindImageMemory-memoryOffset-01046");
    return fails(FAKE_BIND) ? fake.result : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_bind_images(VkDevice device, uint32_t count,
                                                const VkBindImageMemoryInfo *infos)
{
    (void)device;
    FUZZ_REQUIRE(count > 1 && count <= 3, "%u planes", count);
    for (uint32_t i = 0; i < count; i++) {
        const object *image = at(infos[i].image, IMAGE);
        const VkBindImagePlaneMemoryInfo *plane =
            fuzz_chain_find(infos[i].pNext, VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO);
        FUZZ_REQUIRE(disjoint(&image->image) && infos[i].image == infos[0].image &&
                         count == fuzz_planes(image->image.format),
                     "VUID-vkBindImageMemory2-pBindInfos-02858: %u planes", count);
        FUZZ_REQUIRE(plane != NULL &&
                         (uint32_t)plane->planeAspect == (uint32_t)VK_IMAGE_ASPECT_PLANE_0_BIT << i,
                     "VUID-VkBindImageMemoryInfo-image-07736");
        FUZZ_REQUIRE(infos[i].memoryOffset <= at(infos[i].memory, MEMORY)->size &&
                         fake.needs.size <=
                             at(infos[i].memory, MEMORY)->size - infos[i].memoryOffset,
                     "VUID-VkBindImageMemoryInfo-pNext-01621");
        FUZZ_REQUIRE(fake.needs.alignment == 0 || infos[i].memoryOffset % fake.needs.alignment == 0,
                     "VUID-VkBindImageMemoryInfo-pNext-01620");
    }
    return fails(FAKE_BIND) ? fake.result : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_memory_fd(VkDevice device, const VkMemoryGetFdInfoKHR *info,
                                              int *out)
{
    (void)device;
    object *o = at(info->memory, MEMORY);
    FUZZ_REQUIRE(one_bit(info->handleType) && (o->types & info->handleType) != 0,
                 "VUID-VkMemoryGetFdInfoKHR-handleType-00671: %#x", info->handleType);
    *out = -1;
    if (fails(FAKE_GET_FD)) return fake.result;
    if (!fails(FAKE_GET_NO_FD))
        *out = fcntl(o->fd, F_DUPFD_CLOEXEC, 0); /* Mesa succeeds without one, too */
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_create_semaphore(VkDevice device,
                                                     const VkSemaphoreCreateInfo *info,
                                                     const VkAllocationCallbacks *callbacks,
                                                     VkSemaphore *out)
{
    (void)device;
    (void)info;
    (void)callbacks;
    if (fails(FAKE_CREATE_SEMAPHORE)) return fake.result;
    *out = (VkSemaphore)(uintptr_t)make(SEMAPHORE);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL fake_destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                                  const VkAllocationCallbacks *callbacks)
{
    (void)device;
    (void)callbacks;
    destroy(semaphore, SEMAPHORE);
}

/* A file that no driver knows for a semaphore. */
VKAPI_ATTR VkResult VKAPI_CALL fake_semaphore_fd(VkDevice device,
                                                 const VkSemaphoreGetFdInfoKHR *info, int *out)
{
    (void)device;
    (void)at(info->semaphore, SEMAPHORE);
    *out = -1;
    if (fails(FAKE_GET_FD)) return fake.result;
    if (!fails(FAKE_GET_NO_FD)) *out = memfd_create("fake", MFD_CLOEXEC);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_counter(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    (void)device;
    (void)at(semaphore, SEMAPHORE);
    *out = 7;
    return fails(FAKE_COUNTER) ? fake.result : VK_SUCCESS;
}
