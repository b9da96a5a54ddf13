/* SPDX-License-Identifier: MIT */
/* A Vulkan that no machine has: what it answers is the input's, and what it is asked to make is
 * held against that, as the specification says and a driver need not. Fast, too. Then the gate, and
 * what stands behind it, on such machines. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct fake_machine {
    uint32_t api_version;
    uint32_t families;
    VkPhysicalDeviceMemoryProperties memory;
    VkDeviceSize max_buffer_size; /* of maintenance4 */
    bool tells_needs;             /* has vkGetDevice...MemoryRequirements */
    VkExternalMemoryProperties buffers, images;
    VkResult image_result; /* of vkGetPhysicalDeviceImageFormatProperties2 */
    VkImageFormatProperties most;
    VkMemoryRequirements needs;
    VkBool32 requires_dedicated, prefers_dedicated;
    uint32_t fails;  /* 0: nothing; else which of the functions that make something */
    VkResult result; /* with which */
    /* vkGetImageSubresourceLayout: rowPitch, depthPitch, arrayPitch are multiplied by these */
    VkExtent3D lies;
} fake_machine;

static fake_machine fake;
static culv_vk_device_desc fake_desc(void);
static VkImage fake_image_create(const VkImageCreateInfo *info);

/* Which of them fails: fake_machine::fails. */
typedef enum fake_failure {
    FAKE_NOTHING,
    FAKE_CREATE_BUFFER,
    FAKE_CREATE_IMAGE,
    FAKE_ALLOCATE,
    FAKE_BIND,
    FAKE_GET_FD,
    FAKE_GET_NO_FD, /* succeeds, as Mesa does, with fd -1 */
    FAKE_CREATE_SEMAPHORE,
    FAKE_COUNTER,
    FAKE_FAILURES
} fake_failure;

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

static VkResult fake_create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                   const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    VkExternalMemoryHandleTypeFlags types = check_buffer(info);
    if (fails(FAKE_CREATE_BUFFER)) return fake.result;
    made_disjoint = false;
    object *o = make(BUFFER);
    o->types = types;
    o->size = info->size;
    *out = (VkBuffer)(uintptr_t)o;
    return VK_SUCCESS;
}

static VkResult fake_create_image(VkDevice device, const VkImageCreateInfo *info,
                                  const VkAllocationCallbacks *callbacks, VkImage *out)
{
    VkExternalMemoryHandleTypeFlags types = check_image(info);
    if (fails(FAKE_CREATE_IMAGE)) return fake.result;
    made_disjoint = disjoint(info);
    *out = fake_image_create(info);
    object *o = at(*out, IMAGE);
    o->types = types;
    o->callers = false;
    return VK_SUCCESS;
}

/* An image of the caller's; never NULL. */
static VkImage fake_image_create(const VkImageCreateInfo *info)
{
    object *o = make(IMAGE);
    o->image = *info;
    o->image.pNext = NULL;
    o->callers = true;
    return (VkImage)(uintptr_t)o;
}

#define DESTROYS(name, type, of)                                                                   \
    static void name(VkDevice device, type handle, const VkAllocationCallbacks *callbacks)         \
    {                                                                                              \
        destroy(handle, of);                                                                       \
    }
DESTROYS(fake_destroy_buffer, VkBuffer, BUFFER)
DESTROYS(fake_free_memory, VkDeviceMemory, MEMORY)
DESTROYS(fake_destroy_semaphore, VkSemaphore, SEMAPHORE)

static void fake_destroy_image(VkDevice device, VkImage image,
                               const VkAllocationCallbacks *callbacks)
{
    FUZZ_REQUIRE(image == VK_NULL_HANDLE || !at(image, IMAGE)->callers, "the caller's image");
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

static void fake_buffer_needs(VkDevice device, const VkBufferMemoryRequirementsInfo2 *info,
                              VkMemoryRequirements2 *out)
{
    (void)at(info->buffer, BUFFER);
    answer_needs(NULL, 0, out);
}

static void fake_image_needs(VkDevice device, const VkImageMemoryRequirementsInfo2 *info,
                             VkMemoryRequirements2 *out)
{
    const VkImagePlaneMemoryRequirementsInfo *plane =
        fuzz_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO);
    answer_needs(&at(info->image, IMAGE)->image,
                 plane != NULL ? (VkImageAspectFlags)plane->planeAspect : 0, out);
}

static void fake_device_buffer_needs(VkDevice device, const VkDeviceBufferMemoryRequirements *info,
                                     VkMemoryRequirements2 *out)
{
    FUZZ_REQUIRE(fake.tells_needs, "maintenance4 is not there");
    (void)check_buffer(info->pCreateInfo);
    answer_needs(NULL, 0, out);
}

static void fake_device_image_needs(VkDevice device, const VkDeviceImageMemoryRequirements *info,
                                    VkMemoryRequirements2 *out)
{
    FUZZ_REQUIRE(fake.tells_needs, "maintenance4 is not there");
    (void)check_image(info->pCreateInfo);
    answer_needs(info->pCreateInfo, (VkImageAspectFlags)info->planeAspect, out);
}

static void fake_subresource_layout(VkDevice device, VkImage image, const VkImageSubresource *what,
                                    VkSubresourceLayout *out)
{
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

static VkResult fake_allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
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

static VkResult fake_bind_buffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                 VkDeviceSize offset)
{
    (void)at(buffer, BUFFER);
    FUZZ_REQUIRE(offset <= at(memory, MEMORY)->size, "VUID-vkBindBufferMemory-memoryOffset-01031");
    return fails(FAKE_BIND) ? fake.result : VK_SUCCESS;
}

static VkResult fake_bind_image(VkDevice device, VkImage image, VkDeviceMemory memory,
                                VkDeviceSize offset)
{
    (void)at(image, IMAGE);
    FUZZ_REQUIRE(offset <= at(memory, MEMORY)->size, "VUID-vkBindImageMemory-memoryOffset-01046");
    return fails(FAKE_BIND) ? fake.result : VK_SUCCESS;
}

static VkResult fake_bind_images(VkDevice device, uint32_t count,
                                 const VkBindImageMemoryInfo *infos)
{
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

static VkResult fake_memory_fd(VkDevice device, const VkMemoryGetFdInfoKHR *info, int *out)
{
    object *o = at(info->memory, MEMORY);
    FUZZ_REQUIRE(one_bit(info->handleType) && (o->types & info->handleType) != 0,
                 "VUID-VkMemoryGetFdInfoKHR-handleType-00671: %#x", info->handleType);
    *out = -1;
    if (fails(FAKE_GET_FD)) return fake.result;
    if (!fails(FAKE_GET_NO_FD))
        *out = fcntl(o->fd, F_DUPFD_CLOEXEC, 0); /* Mesa succeeds without one, too */
    return VK_SUCCESS;
}

static VkResult fake_create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                      const VkAllocationCallbacks *callbacks, VkSemaphore *out)
{
    if (fails(FAKE_CREATE_SEMAPHORE)) return fake.result;
    *out = (VkSemaphore)(uintptr_t)make(SEMAPHORE);
    return VK_SUCCESS;
}

/* A file that no driver knows for a semaphore. */
static VkResult fake_semaphore_fd(VkDevice device, const VkSemaphoreGetFdInfoKHR *info, int *out)
{
    (void)at(info->semaphore, SEMAPHORE);
    *out = -1;
    if (fails(FAKE_GET_FD)) return fake.result;
    if (!fails(FAKE_GET_NO_FD)) *out = memfd_create("fake", MFD_CLOEXEC);
    return VK_SUCCESS;
}

static VkResult fake_counter(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    (void)at(semaphore, SEMAPHORE);
    *out = 7;
    return fails(FAKE_COUNTER) ? fake.result : VK_SUCCESS;
}

/* What the machine answers. */

static void *chain_find(void *chain, VkStructureType type)
{
    return (void *)(uintptr_t)fuzz_chain_find(chain, type);
}

/* Queries -------------------------------------------------------------------------------------- */

static VkResult devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *out)
{
    if (out != NULL && *count > 0) out[0] = fake_desc().physical_device;
    *count = 1;
    return VK_SUCCESS;
}

static VkResult groups(VkInstance instance, uint32_t *count, VkPhysicalDeviceGroupProperties *out)
{
    if (out != NULL && *count > 0) {
        out[0].physicalDeviceCount = 1;
        out[0].physicalDevices[0] = fake_desc().physical_device;
    }
    *count = 1;
    return VK_SUCCESS;
}

static void properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *out)
{
    memset(out, 0, sizeof *out);
    out->apiVersion = fake.api_version;
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    strcpy(out->deviceName, "fake");
}

static void properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out)
{
    properties(device, &out->properties);
    VkPhysicalDeviceIDProperties *id =
        chain_find(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    if (id != NULL) memcpy(id->deviceUUID, fuzz.caps.uuid.bytes, VK_UUID_SIZE);
    VkPhysicalDeviceMaintenance4Properties *maintenance4 =
        chain_find(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    if (maintenance4 != NULL) maintenance4->maxBufferSize = fake.max_buffer_size;
}

static void features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out)
{
    VkPhysicalDeviceTimelineSemaphoreFeatures *timeline =
        chain_find(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    if (timeline != NULL) timeline->timelineSemaphore = VK_TRUE;
}

static void memory_properties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *out)
{
    *out = fake.memory;
}

static void queue_families(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *out)
{
    for (uint32_t i = 0; out != NULL && i < *count && i < fake.families; i++)
        out[i] = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_GRAPHICS_BIT, .queueCount = 1};
    if (out == NULL || *count > fake.families) *count = fake.families;
}

static void format_properties(VkPhysicalDevice device, VkFormat format, VkFormatProperties *out)
{
    FUZZ_REQUIRE(fuzz_planes(format) > 1, "format %d has one plane", (int)format);
    out->linearTilingFeatures = out->optimalTilingFeatures = VK_FORMAT_FEATURE_DISJOINT_BIT;
}

/* Mesa 22.3 follows a NULL pointer where one of the two structs is there without the other. */
static VkResult image_format(VkPhysicalDevice device, const VkPhysicalDeviceImageFormatInfo2 *info,
                             VkImageFormatProperties2 *out)
{
    const VkPhysicalDeviceExternalImageFormatInfo *external =
        fuzz_chain_find(info, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    VkExternalImageFormatProperties *shared =
        chain_find(out, VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    FUZZ_REQUIRE((external != NULL) == (shared != NULL), "half of a question");
    FUZZ_REQUIRE(info->usage != 0, "VUID-VkPhysicalDeviceImageFormatInfo2-usage-requiredbitmask");
    FUZZ_REQUIRE(info->format != VK_FORMAT_UNDEFINED,
                 "VUID-VkPhysicalDeviceImageFormatInfo2-format-parameter");
    FUZZ_REQUIRE((uint32_t)info->type <= VK_IMAGE_TYPE_3D &&
                     (uint32_t)info->tiling <= VK_IMAGE_TILING_LINEAR,
                 "type %d, tiling %d", (int)info->type, (int)info->tiling);
    FUZZ_REQUIRE(external == NULL || one_bit(external->handleType), "handle type %#x",
                 external->handleType);
    if (shared != NULL) shared->externalMemoryProperties = fake.images;
    out->imageFormatProperties = fake.most;
    return fake.image_result;
}

static void external_buffer(VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo *info,
                            VkExternalBufferProperties *out)
{
    FUZZ_REQUIRE(info->usage != 0, "VUID-VkPhysicalDeviceExternalBufferInfo-usage-requiredbitmask");
    FUZZ_REQUIRE(one_bit(info->handleType), "handle type %#x", info->handleType);
    out->externalMemoryProperties = fake.buffers;
}

static void external_semaphore(VkPhysicalDevice device,
                               const VkPhysicalDeviceExternalSemaphoreInfo *info,
                               VkExternalSemaphoreProperties *out)
{
    out->externalSemaphoreFeatures = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
}

static VkResult extensions(VkPhysicalDevice device, const char *layer, uint32_t *count,
                           VkExtensionProperties *out)
{
    static const char *const names[] = {
        VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
        VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME};
    for (uint32_t i = 0; out != NULL && i < *count && i < 4; i++)
        strcpy(out[i].extensionName, names[i]);
    if (out == NULL || *count > 4) *count = 4;
    return VK_SUCCESS;
}

/* The machine ---------------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    PFN_vkVoidFunction function;
} row;

static PFN_vkVoidFunction find_device(VkDevice device, const char *name);

/* Without a fallback there is nothing to copy. */
static void never(void)
{
    FUZZ_REQUIRE(false, "a function of fallbacks");
}

/* By name, for bsearch(). */
#define ROW(name, function)                                                                        \
    {                                                                                              \
#        name, (PFN_vkVoidFunction)(function)                                                      \
    }
static const row rows[] = {
    ROW(vkAllocateCommandBuffers, never),
    ROW(vkAllocateMemory, fake_allocate),
    ROW(vkBeginCommandBuffer, never),
    ROW(vkBindBufferMemory, fake_bind_buffer),
    ROW(vkBindImageMemory, fake_bind_image),
    ROW(vkBindImageMemory2, fake_bind_images),
    ROW(vkCmdCopyBuffer, never),
    ROW(vkCmdCopyBufferToImage, never),
    ROW(vkCmdCopyImageToBuffer, never),
    ROW(vkCmdFillBuffer, never),
    ROW(vkCmdPipelineBarrier, never),
    ROW(vkCmdPipelineBarrier2, never),
    ROW(vkCreateBuffer, fake_create_buffer),
    ROW(vkCreateCommandPool, never),
    ROW(vkCreateFence, never),
    ROW(vkCreateImage, fake_create_image),
    ROW(vkCreateSemaphore, fake_create_semaphore),
    ROW(vkDestroyBuffer, fake_destroy_buffer),
    ROW(vkDestroyCommandPool, never),
    ROW(vkDestroyFence, never),
    ROW(vkDestroyImage, fake_destroy_image),
    ROW(vkDestroySemaphore, fake_destroy_semaphore),
    ROW(vkEndCommandBuffer, never),
    ROW(vkEnumerateDeviceExtensionProperties, extensions),
    ROW(vkEnumeratePhysicalDeviceGroups, groups),
    ROW(vkEnumeratePhysicalDevices, devices),
    ROW(vkFreeMemory, fake_free_memory),
    ROW(vkGetBufferMemoryRequirements2, fake_buffer_needs),
    ROW(vkGetDeviceBufferMemoryRequirements, fake_device_buffer_needs),
    ROW(vkGetDeviceBufferMemoryRequirementsKHR, fake_device_buffer_needs),
    ROW(vkGetDeviceImageMemoryRequirements, fake_device_image_needs),
    ROW(vkGetDeviceImageMemoryRequirementsKHR, fake_device_image_needs),
    ROW(vkGetDeviceProcAddr, find_device),
    ROW(vkGetImageMemoryRequirements2, fake_image_needs),
    ROW(vkGetImageSubresourceLayout, fake_subresource_layout),
    ROW(vkGetMemoryFdKHR, fake_memory_fd),
    ROW(vkGetPhysicalDeviceExternalBufferProperties, external_buffer),
    ROW(vkGetPhysicalDeviceExternalSemaphoreProperties, external_semaphore),
    ROW(vkGetPhysicalDeviceFeatures2, features2),
    ROW(vkGetPhysicalDeviceFormatProperties, format_properties),
    ROW(vkGetPhysicalDeviceImageFormatProperties2, image_format),
    ROW(vkGetPhysicalDeviceMemoryProperties, memory_properties),
    ROW(vkGetPhysicalDeviceProperties, properties),
    ROW(vkGetPhysicalDeviceProperties2, properties2),
    ROW(vkGetPhysicalDeviceQueueFamilyProperties, queue_families),
    ROW(vkGetSemaphoreCounterValue, fake_counter),
    ROW(vkGetSemaphoreCounterValueKHR, fake_counter),
    ROW(vkGetSemaphoreFdKHR, fake_semaphore_fd),
    ROW(vkMapMemory, never),
    ROW(vkQueueSubmit, never),
    ROW(vkWaitForFences, never),
};
#undef ROW

static int compare(const void *name, const void *row_)
{
    return strcmp(name, ((const row *)row_)->name);
}

static PFN_vkVoidFunction find(VkInstance instance, const char *name)
{
    const row *found = bsearch(name, rows, sizeof rows / sizeof rows[0], sizeof rows[0], compare);
    bool needs =
        strncmp(name, "vkGetDevice", 11) == 0 && strstr(name, "MemoryRequirements") != NULL;
    return found == NULL || (needs && !fake.tells_needs) ? NULL : found->function;
}

static PFN_vkVoidFunction find_device(VkDevice device, const char *name)
{
    return find(NULL, name);
}

/* What culv_vk_attach() takes. */
static culv_vk_device_desc fake_desc(void)
{
    static int instance, physical_device, device;
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = find;
    d.instance = (VkInstance)(void *)&instance;
    d.physical_device = (VkPhysicalDevice)(void *)&physical_device;
    d.device = (VkDevice)(void *)&device;
    d.api_version = VK_API_VERSION_1_3;
    return d;
}

static VkExternalMemoryProperties read_sharing(fuzz_reader *r)
{
    VkExternalMemoryProperties p = {
        .externalMemoryFeatures =
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
        .exportFromImportedHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .compatibleHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    uint8_t how = fuzz_u8(r);
    if (how < 192) return p;
    p.externalMemoryFeatures = how & 7;
    p.compatibleHandleTypes = fuzz_bits(r, p.compatibleHandleTypes);
    return p;
}

static void read_memory(fuzz_reader *r)
{
    VkPhysicalDeviceMemoryProperties *m = &fake.memory;
    m->memoryHeapCount = 1;
    m->memoryHeaps[0] =
        (VkMemoryHeap){.size = UINT64_C(1) << 32, .flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    m->memoryTypeCount = 1;
    m->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (fuzz_rarely(r, 8)) {
        m->memoryTypeCount = fuzz_u8(r) % (VK_MAX_MEMORY_TYPES + 1u);
        for (uint32_t i = 0; i < m->memoryTypeCount; i++)
            m->memoryTypes[i].propertyFlags = fuzz_u8(r);
    }
    fake.needs.size = fuzz_value(r, 65536);
    fake.needs.alignment = UINT64_C(1) << (fuzz_rarely(r, 8) ? fuzz_u8(r) & 31 : 6);
    fake.needs.memoryTypeBits = fuzz_bits(r, UINT32_MAX);
    uint8_t dedicated = fuzz_u8(r);
    fake.requires_dedicated = dedicated >= 192;
    fake.prefers_dedicated = (dedicated & 1) != 0;
}

/* A machine as the input says; for the empty input one that shares everything. */
static void fake_read(fuzz_reader *r)
{
    static const VkResult results[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                       VK_ERROR_OUT_OF_HOST_MEMORY,
                                       VK_ERROR_TOO_MANY_OBJECTS,
                                       VK_ERROR_DEVICE_LOST,
                                       VK_ERROR_UNKNOWN,
                                       VK_ERROR_INVALID_EXTERNAL_HANDLE};
    static const uint32_t versions[] = {VK_API_VERSION_1_3, VK_API_VERSION_1_3, VK_API_VERSION_1_3,
                                        VK_API_VERSION_1_2, VK_API_VERSION_1_1};
    memset(&fake, 0, sizeof fake);
    fake.api_version = versions[fuzz_pick(r, 5)];
    fake.families = 1 + fuzz_pick(r, 4);
    fake.max_buffer_size = fuzz_value(r, UINT64_C(1) << 31);
    if (fake.max_buffer_size == 0) fake.max_buffer_size = 1;
    fake.tells_needs = !fuzz_rarely(r, 4);
    fake.buffers = read_sharing(r);
    fake.images = read_sharing(r);
    fake.most.maxExtent.width = fuzz_value32(r, 16384);
    fake.most.maxExtent.height = fuzz_value32(r, 16384);
    fake.most.maxExtent.depth = fuzz_value32(r, 2048);
    fake.most.maxMipLevels = fuzz_value32(r, 15);
    fake.most.maxArrayLayers = fuzz_value32(r, 2048);
    fake.most.sampleCounts = fuzz_bits(r, VK_SAMPLE_COUNT_1_BIT);
    fake.most.maxResourceSize = fuzz_value(r, UINT64_C(1) << 31);
    if (fuzz_rarely(r, 16)) {
        fake.image_result = fuzz_flag(r) ? VK_ERROR_FORMAT_NOT_SUPPORTED : results[fuzz_pick(r, 6)];
        if (fuzz_flag(r)) memset(&fake.most, 0, sizeof fake.most);
    }
    read_memory(r);
    if (fuzz_rarely(r, 4)) {
        fake.fails = 1 + fuzz_pick(r, FAKE_FAILURES - 1);
        fake.result = results[fuzz_pick(r, 6)];
    }
    fake.lies = (VkExtent3D){fuzz_value32(r, 1), fuzz_value32(r, 1), fuzz_value32(r, 1)};
}

/* The gate, and what stands behind it, on machines of the input's own making: what
 * may be shared, what is made, mapped, refused. */

void fuzz_target_open(void)
{
    fuzz_reader nothing = {.left = 0};
    culv_vk_device *vk = NULL;
    fuzz_open_cuda();
    /* A plain machine must do, or everything would be refused for what it lacks. */
    fake_read(&nothing);
    const culv_vk_device_desc d = fake_desc();
    FUZZ_REQUIRE(culv_vk_attach(fuzz.device, &d, &vk) == CULV_OK, "%s", culv_last_error_message());
    culv_vk_detach(&vk);
}

static culv_vk_check_desc *read_desc(fuzz_reader *r)
{
    culv_vk_check_desc d = culv_vk_check_desc_init();
    uint8_t how = fuzz_u8(r);
    if (how < 64) return NULL;
    if (how >= 128) {
        d.handle_type = (culv_handle_type)fuzz_enum(r, 5);
        d.memory_properties = fuzz_bits(r, 0);
        d.texels = (culv_texels)fuzz_enum(r, 2);
        d.no_surfaces = fuzz_value32(r, 0);
        d.label = fuzz_label(r);
    }
    return fuzz_box(r, &d, sizeof d);
}

static void drop(void *box)
{
    if (box != NULL) fuzz_unbox(box);
}

/* What the gate lets through. */
static void check_sharing(const culv_vk_sharing_info *s, const culv_vk_check_desc *desc)
{
    culv_handle_type type =
        desc != NULL && desc->handle_type != 0 ? desc->handle_type : CULV_HANDLE_OPAQUE_FD;
    FUZZ_REQUIRE(s->handle_type == type && (s->handle_types & (1u << type)) != 0,
                 "handle type %d of %#x", (int)s->handle_type, s->handle_types);
    FUZZ_REQUIRE(s->requirements_known <= 1 && (!s->requirements_known || fake.tells_needs),
                 "requirements_known");
    if (!s->requirements_known) return;
    const VkMemoryRequirements *one =
        s->plane_requirements[0].size != 0 ? &s->plane_requirements[0] : &s->requirements;
    FUZZ_REQUIRE(one->size == fake.needs.size && one->alignment == fake.needs.alignment &&
                     one->memoryTypeBits == fake.needs.memoryTypeBits &&
                     s->requirements.memoryTypeBits == fake.needs.memoryTypeBits,
                 "other requirements");
    for (int i = 0; i < 3; i++)
        FUZZ_REQUIRE(
            s->plane_requirements[i].size == 0 ||
                (s->image.plane_offsets[i] <= s->requirements.size &&
                 s->plane_requirements[i].size <= s->requirements.size - s->image.plane_offsets[i]),
            "plane %d leaves the block", i);
    FUZZ_REQUIRE(!fake.requires_dedicated || s->dedicated_required || one != &s->requirements,
                 "it must be dedicated");
    if (s->memory_type_index == UINT32_MAX) return;
    FUZZ_REQUIRE(s->memory_type_index < fake.memory.memoryTypeCount &&
                     (fake.needs.memoryTypeBits & (1u << s->memory_type_index)) != 0,
                 "memory type %u", s->memory_type_index);
    VkMemoryPropertyFlags wanted = desc != NULL && desc->memory_properties != 0
                                       ? desc->memory_properties
                                       : (VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    FUZZ_REQUIRE((fake.memory.memoryTypes[s->memory_type_index].propertyFlags & wanted) == wanted,
                 "memory type %u lacks properties", s->memory_type_index);
}

static void check_image_sharing(const culv_vk_sharing_info *s, const VkImageCreateInfo *i)
{
    const VkImageFormatProperties *most = &fake.most;
    FUZZ_REQUIRE(s->access == (i->tiling == VK_IMAGE_TILING_OPTIMAL ? CULV_VK_ACCESS_ARRAY
                                                                    : CULV_VK_ACCESS_PITCHED),
                 "access %d of tiling %d", (int)s->access, (int)i->tiling);
    FUZZ_REQUIRE(i->samples == VK_SAMPLE_COUNT_1_BIT, "%d samples", (int)i->samples);
    FUZZ_REQUIRE(i->extent.width != 0 && i->extent.width <= most->maxExtent.width &&
                     i->extent.height != 0 && i->extent.height <= most->maxExtent.height &&
                     i->extent.depth != 0 && i->extent.depth <= most->maxExtent.depth,
                 "%u x %u x %u", i->extent.width, i->extent.height, i->extent.depth);
    FUZZ_REQUIRE(i->mipLevels != 0 && i->mipLevels <= most->maxMipLevels && i->arrayLayers != 0 &&
                     i->arrayLayers <= most->maxArrayLayers,
                 "%u levels, %u layers", i->mipLevels, i->arrayLayers);
    if (s->access != CULV_VK_ACCESS_ARRAY) return;
    FUZZ_REQUIRE(s->image.width == i->extent.width && s->image.mip_levels == i->mipLevels &&
                     (uint32_t)s->image.format == (uint32_t)i->format && s->image.offset == 0 &&
                     s->image.label == NULL,
                 "it is mapped as another image");
}

/* Not byte by byte: Vulkan's struct within has padding. */
static void require_same(const culv_vk_sharing_info *a, const culv_vk_sharing_info *b)
{
    FUZZ_REQUIRE(a->access == b->access && a->handle_types == b->handle_types &&
                     a->handle_type == b->handle_type &&
                     a->dedicated_required == b->dedicated_required &&
                     a->dedicated_preferred == b->dedicated_preferred &&
                     a->requirements_known == b->requirements_known &&
                     a->memory_type_index == b->memory_type_index,
                 "another answer");
    FUZZ_REQUIRE(a->requirements.size == b->requirements.size &&
                     a->requirements.alignment == b->requirements.alignment &&
                     a->requirements.memoryTypeBits == b->requirements.memoryTypeBits,
                 "other requirements");
    FUZZ_REQUIRE(a->image.format == b->image.format && a->image.type == b->image.type &&
                     a->image.width == b->image.width && a->image.height == b->image.height &&
                     a->image.depth == b->image.depth &&
                     a->image.array_layers == b->image.array_layers &&
                     a->image.mip_levels == b->image.mip_levels &&
                     a->image.no_surfaces == b->image.no_surfaces,
                 "another image");
}

/* The gate keeps what it was told: a second answer is the first. */
static void ask_again(culv_vk_device *vk, const void *info, bool image, culv_vk_check_desc *desc,
                      culv_result first, const culv_vk_sharing_info *before)
{
    culv_error error = fuzz_error;
    culv_vk_sharing_info after = culv_vk_sharing_info_init();
    culv_result second = image ? FUZZ_CALL(culv_vk_check_image(vk, info, desc, &after))
                               : FUZZ_CALL(culv_vk_check_buffer(vk, info, desc, &after));
    FUZZ_REQUIRE(first == second, "%s, and then %s", culv_result_name(first),
                 culv_result_name(second));
    if (first != CULV_OK)
        FUZZ_REQUIRE(error.reason == fuzz_error.reason &&
                         strcmp(error.message, fuzz_error.message) == 0,
                     "\"%s\", and then \"%s\"", error.message, fuzz_error.message);
    else
        require_same(before, &after);
}

static void check(fuzz_reader *r, culv_vk_device *vk, bool image)
{
    fuzz_chain chain = {.count = 0};
    VkBufferCreateInfo b;
    VkImageCreateInfo i;
    culv_vk_check_desc *desc = read_desc(r);
    culv_vk_sharing_info *out = fuzz_box_out(r, sizeof *out);
    if (image)
        fuzz_image_info(r, &chain, &i);
    else
        fuzz_buffer_info(r, &chain, &b);
    culv_result result = image ? FUZZ_ARMED(r, culv_vk_check_image(vk, &i, desc, out))
                               : FUZZ_ARMED(r, culv_vk_check_buffer(vk, &b, desc, out));
    bool whole = fuzz_box_whole(out) && (desc == NULL || fuzz_box_whole(desc));
    if (result != CULV_OK)
        fuzz_require_untouched(out);
    else if (whole) {
        check_sharing(out, desc);
        if (image)
            check_image_sharing(out, &i);
        else
            FUZZ_REQUIRE(out->access == CULV_VK_ACCESS_POINTER, "access %d", (int)out->access);
    }
    if (whole && !fuzz_injected())
        ask_again(vk, image ? (void *)&i : (void *)&b, image, desc, result, out);
    fuzz_unbox(out);
    drop(desc);
    fuzz_chain_free(&chain);
}

static void create_buffer(fuzz_reader *r, culv_vk_device *vk)
{
    fuzz_chain chain = {.count = 0};
    VkBufferCreateInfo info;
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = FUZZ_POISON(culv_shared_buffer);
    fuzz_buffer_info(r, &chain, &info);
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.memory_properties = fuzz_bits(r, 0);
    d.label = fuzz_label(r);
    culv_vk_buffer_create_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_result result = FUZZ_ARMED(r, culv_vk_buffer_create(vk, desc, &buffer));
    if (result == CULV_OK) {
        VkDeviceSize size = 0;
        FUZZ_REQUIRE(culv_vk_buffer_handle(buffer) != VK_NULL_HANDLE &&
                         culv_vk_buffer_memory(buffer, &size) != VK_NULL_HANDLE &&
                         size == fake.needs.size,
                     "%llu bytes", (unsigned long long)size);
        FUZZ_REQUIRE(culv_buffer_pointer(culv_shared_buffer_cuda(buffer)) != 0 &&
                         culv_buffer_size(culv_shared_buffer_cuda(buffer)) == info.size,
                     "no pointer");
        culv_shared_buffer_destroy(&buffer, NULL);
        FUZZ_REQUIRE(buffer == NULL, "it is not NULL");
    } else
        FUZZ_REQUIRE(buffer == FUZZ_POISON(culv_shared_buffer), "written after an error");
    fuzz_unbox(desc);
    fuzz_chain_free(&chain);
}

static void create_image(fuzz_reader *r, culv_vk_device *vk)
{
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_shared_image *image = FUZZ_POISON(culv_shared_image);
    fuzz_image_info(r, &chain, &info);
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.memory_properties = fuzz_bits(r, 0);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.no_surfaces = fuzz_value32(r, 0);
    d.label = fuzz_label(r);
    culv_vk_image_create_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_result result = FUZZ_ARMED(r, culv_vk_image_create(vk, desc, &image));
    if (result == CULV_OK) {
        const culv_image *cuda = culv_shared_image_cuda(image);
        FUZZ_REQUIRE(culv_vk_image_handle(image) != VK_NULL_HANDLE, "half an image");
        culv_image_desc told = culv_image_desc_init();
        FUZZ_REQUIRE(culv_image_get_desc(cuda, &told) == CULV_OK &&
                         told.mip_levels == info.mipLevels &&
                         (uint32_t)told.format == (uint32_t)info.format,
                     "another image");
        culv_shared_image_destroy(&image, NULL);
        FUZZ_REQUIRE(image == NULL, "it is not NULL");
    } else
        FUZZ_REQUIRE(image == FUZZ_POISON(culv_shared_image), "written after an error");
    fuzz_unbox(desc);
    fuzz_chain_free(&chain);
}

/* Memory of the caller's that an image of the caller's is said to lie in. */
static culv_memory *import(fuzz_reader *r)
{
    culv_memory_desc d = culv_memory_desc_init();
    culv_memory *memory = NULL;
    int fd = fuzz_memory_file(65536);
    d.size = fuzz_value(r, 65536);
    d.dedicated = fuzz_flag(r);
    d.handle = culv_handle_opaque_fd(fd);
    if (FUZZ_CALL(culv_memory_import(fuzz.device, &d, &memory)) != CULV_OK) memory = NULL;
    close(fd);
    return memory;
}

static void map_image(fuzz_reader *r, culv_vk_device *vk)
{
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info;
    culv_vk_image_desc d = culv_vk_image_desc_init();
    culv_memory *memory = import(r);
    if (memory == NULL) return;
    fuzz_image_info(r, &chain, &info);
    VkImage image = fake_image_create(&info);
    d.image = fuzz_rarely(r, 64) ? VK_NULL_HANDLE : image;
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.offset = fuzz_value(r, 0);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.no_surfaces = fuzz_value32(r, 0);
    d.label = fuzz_label(r);
    if (fuzz_planes(info.format) > 1)
        for (int i = 0; i < 3; i++)
            d.plane_offsets[i] = fuzz_value(r, (uint64_t)i * 0x4000);
    bool pitched = fuzz_flag(r);
    uint32_t level = fuzz_value32(r, 0), plane = fuzz_value32(r, 0);
    culv_vk_image_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_subresource_layout *layout = fuzz_box_out(r, sizeof *layout);
    culv_image *mapped = FUZZ_POISON(culv_image);
    culv_buffer *buffer = FUZZ_POISON(culv_buffer);
    culv_result result = pitched ? FUZZ_ARMED(r, culv_vk_image_map_pitched(vk, memory, desc, level,
                                                                           plane, &buffer, layout))
                                 : FUZZ_ARMED(r, culv_vk_image_map(vk, memory, desc, &mapped));
    if (pitched ? result != CULV_OK : true) {
        FUZZ_REQUIRE(buffer == FUZZ_POISON(culv_buffer), "written after an error");
        fuzz_require_untouched(layout);
    }
    if (pitched || result != CULV_OK)
        FUZZ_REQUIRE(mapped == FUZZ_POISON(culv_image), "written after an error");
    if (result == CULV_OK && pitched) {
        FUZZ_REQUIRE(info.tiling == VK_IMAGE_TILING_LINEAR, "tiling %d", (int)info.tiling);
        FUZZ_REQUIRE(culv_buffer_size(buffer) <= culv_memory_size(memory), "it leaves the memory");
        if (fuzz_box_whole(layout))
            FUZZ_REQUIRE(layout->pointer == culv_buffer_pointer(buffer) &&
                             layout->size == culv_buffer_size(buffer),
                         "the layout is of other memory");
        culv_buffer_unmap(&buffer, NULL);
    }
    if (result == CULV_OK && !pitched) {
        FUZZ_REQUIRE(info.tiling == VK_IMAGE_TILING_OPTIMAL, "tiling %d", (int)info.tiling);
        culv_image_unmap(&mapped, NULL);
    }
    fuzz_unbox(layout);
    fuzz_unbox(desc);
    culv_memory_destroy(&memory);
    destroy(image, IMAGE);
    fuzz_chain_free(&chain);
}

void fuzz_target_run(fuzz_reader *r)
{
    fake_read(r);
    culv_vk_device_desc d = fake_desc();
    culv_vk_device *vk = FUZZ_POISON(culv_vk_device);
    d.label = fuzz_label(r);
    d.api_version = fuzz_rarely(r, 16) ? fuzz_value32(r, VK_API_VERSION_1_0) : VK_API_VERSION_1_3;
    d.num_physical_devices = fuzz_value32(r, 0);
    culv_vk_device_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_result result = FUZZ_ARMED(r, culv_vk_attach(fuzz.device, desc, &vk));
    if (result != CULV_OK)
        FUZZ_REQUIRE(vk == FUZZ_POISON(culv_vk_device), "written after an error");
    for (int i = 0; result == CULV_OK && i < 4 && (i == 0 || r->left > 0); i++)
        switch (fuzz_pick(r, 16)) {
        default: check(r, vk, true); break;
        case 8:
        case 9:
        case 10:
        case 11: check(r, vk, false); break;
        case 12: create_image(r, vk); break;
        case 13: create_buffer(r, vk); break;
        case 14:
        case 15: map_image(r, vk);
        }
    if (result == CULV_OK) culv_vk_detach(&vk);
    fuzz_unbox(desc);
    FUZZ_REQUIRE(alive == 0, "%u Vulkan objects are left", alive);
}
