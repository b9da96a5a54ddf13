/* SPDX-License-Identifier: MIT */
/* VK_NVX_image_view_handle, played: what a kernel sees of an image view.
 *
 * On the twin a surface or texture object is the address of a struct (module_abi.h), and these
 * handles have 32 bits: the structs lie below 4 GiB, in pages that are never given back. A handle
 * whose view or sampler is gone has a struct of zeros, on which kernels fault. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "soft_vk.h"

#define CHUNK     (UINT64_C(1) << 20)
#define LOWEST    UINT64_C(0x10000000)
#define HIGHEST   UINT64_C(0xf0000000)
#define SLOT_SIZE ((sizeof(culv_soft_texture) + 63) / 64 * 64)

_Static_assert(sizeof(culv_soft_surface) <= sizeof(culv_soft_texture), "a slot has either");

typedef struct slot {
    struct slot *link;
    VkSampler sampler; /* null: a surface */
    unsigned char *shared;
} slot;

/* An image, an image view or a sampler of a device that has the extension. */
typedef struct item {
    struct item *link;
    const soft_vk_device *device;
    enum { IMAGE, VIEW, SAMPLER } kind;
    uint64_t handle;
    VkImageCreateInfo image;
    VkImageViewCreateInfo view;
    VkSamplerCreateInfo sampler;
    VkDeviceMemory memory;
    VkDeviceSize offset;
    slot *slots; /* a view's */
} item;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static item *items[256];
static slot *free_slots;

/* What the twin reads of a format; B, G, R, A are taken for R, G, B, A. */
typedef struct format {
    VkFormat vk;
    int cuda; /* CUarray_format */
    uint8_t channels, texel;
} format;

#define CHANNELS(bits, suffix, cuda, texel)                                                        \
    {VK_FORMAT_R##bits##_##suffix, cuda, 1, texel},                                                \
        {VK_FORMAT_R##bits##G##bits##_##suffix, cuda, 2, texel},                                   \
    {                                                                                              \
        VK_FORMAT_R##bits##G##bits##B##bits##A##bits##_##suffix, cuda, 4, texel                    \
    }
static const format formats[] = {
    CHANNELS(8, UNORM, 0x01, CULV_SOFT_UNORM8),
    CHANNELS(8, SNORM, 0x08, CULV_SOFT_SNORM8),
    CHANNELS(8, UINT, 0x01, CULV_SOFT_UINT8),
    CHANNELS(8, SINT, 0x08, CULV_SOFT_SINT8),
    CHANNELS(16, UNORM, 0x02, CULV_SOFT_UNORM16),
    CHANNELS(16, SNORM, 0x09, CULV_SOFT_SNORM16),
    CHANNELS(16, UINT, 0x02, CULV_SOFT_UINT16),
    CHANNELS(16, SINT, 0x09, CULV_SOFT_SINT16),
    CHANNELS(16, SFLOAT, 0x10, CULV_SOFT_HALF),
    CHANNELS(32, UINT, 0x03, CULV_SOFT_UINT32),
    CHANNELS(32, SINT, 0x0a, CULV_SOFT_SINT32),
    CHANNELS(32, SFLOAT, 0x20, CULV_SOFT_FLOAT),
    {VK_FORMAT_R8G8B8A8_SRGB, 0x01, 4, CULV_SOFT_SRGB8},
    {VK_FORMAT_B8G8R8A8_UNORM, 0x01, 4, CULV_SOFT_UNORM8},
};

static item **place(const soft_vk_device *device, int kind, uint64_t handle)
{
    item **link = &items[(handle >> 4 ^ handle >> 12) % 256];
    while (*link &&
           ((*link)->device != device || (int)(*link)->kind != kind || (*link)->handle != handle))
        link = &(*link)->link;
    return link;
}

/* Without memory there is no item, and no handle of it. */
static void add(const item *like)
{
    if (!like->device->enabled[SOFT_VK_LENT_HANDLES]) return;
    item *made = malloc(sizeof(*made));
    if (!made) return;
    *made = *like;
    pthread_mutex_lock(&lock);
    item **link = place(like->device, (int)like->kind, like->handle);
    made->link = *link;
    *link = made;
    pthread_mutex_unlock(&lock);
}

static void close_slot(slot **link)
{
    slot *gone = *link;
    *link = gone->link;
    memset(gone->shared, 0, SLOT_SIZE);
    gone->link = free_slots;
    free_slots = gone;
}

static void drop(const soft_vk_device *device, int kind, uint64_t handle)
{
    if (!device->enabled[SOFT_VK_LENT_HANDLES]) return;
    pthread_mutex_lock(&lock);
    item **link = place(device, kind, handle), *found = *link;
    if (found) {
        *link = found->link;
        while (found->slots)
            close_slot(&found->slots);
    }
    if (kind == SAMPLER)
        for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
            for (item *view = items[i]; view; view = view->link)
                for (slot **s = &view->slots; *s;) {
                    if (view->device == device && (uint64_t)(uintptr_t)(*s)->sampler == handle)
                        close_slot(s);
                    else
                        s = &(*s)->link;
                }
    pthread_mutex_unlock(&lock);
    free(found);
}

void soft_vk_views_end(const soft_vk_device *device)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
        for (item **link = &items[i]; *link;) {
            item *found = *link;
            if (found->device != device) {
                link = &found->link;
                continue;
            }
            *link = found->link;
            while (found->slots)
                close_slot(&found->slots);
            free(found);
        }
    pthread_mutex_unlock(&lock);
}

/* What Vulkan makes --------------------------------------------------------------------------- */

void soft_vk_view_image_made(const soft_vk_device *device, const VkImageCreateInfo *info,
                             VkImage image)
{
    add(&(item){
        .device = device, .kind = IMAGE, .handle = (uint64_t)(uintptr_t)image, .image = *info});
}

void soft_vk_view_image_bound(const soft_vk_device *device, VkImage image, VkDeviceMemory memory,
                              VkDeviceSize offset)
{
    pthread_mutex_lock(&lock);
    item *found = *place(device, IMAGE, (uint64_t)(uintptr_t)image);
    if (found) {
        found->memory = memory;
        found->offset = offset;
    }
    pthread_mutex_unlock(&lock);
}

void soft_vk_view_image_gone(const soft_vk_device *device, VkImage image)
{
    drop(device, IMAGE, (uint64_t)(uintptr_t)image);
}

VkResult soft_vk_CreateImageView(soft_vk_device *device, VkDevice handle,
                                 const VkImageViewCreateInfo *info,
                                 const VkAllocationCallbacks *callbacks, VkImageView *out)
{
    VkResult result = device->next.CreateImageView(handle, info, callbacks, out);
    if (result == VK_SUCCESS)
        add(&(item){
            .device = device, .kind = VIEW, .handle = (uint64_t)(uintptr_t)*out, .view = *info});
    return result;
}

void VKAPI_CALL soft_vk_destroy_image_view(VkDevice handle, VkImageView view,
                                           const VkAllocationCallbacks *callbacks)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    if (device->soft) drop(device, VIEW, (uint64_t)(uintptr_t)view);
    device->next.DestroyImageView(handle, view, callbacks);
}

VkResult soft_vk_CreateSampler(soft_vk_device *device, VkDevice handle,
                               const VkSamplerCreateInfo *info,
                               const VkAllocationCallbacks *callbacks, VkSampler *out)
{
    VkResult result = device->next.CreateSampler(handle, info, callbacks, out);
    if (result == VK_SUCCESS)
        add(&(item){.device = device,
                    .kind = SAMPLER,
                    .handle = (uint64_t)(uintptr_t)*out,
                    .sampler = *info});
    return result;
}

void VKAPI_CALL soft_vk_destroy_sampler(VkDevice handle, VkSampler sampler,
                                        const VkAllocationCallbacks *callbacks)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    if (device->soft && sampler != VK_NULL_HANDLE)
        drop(device, SAMPLER, (uint64_t)(uintptr_t)sampler);
    device->next.DestroySampler(handle, sampler, callbacks);
}

/* Handles ------------------------------------------------------------------------------------- */

/* The place of a chunk below 4 GiB that nobody has. */
static void *low_pages(void)
{
    for (uint64_t at = LOWEST; at < HIGHEST; at += CHUNK) {
        void *wanted = (void *)(uintptr_t)at;
        void *got = mmap(wanted, CHUNK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == wanted) return got;
        if (got != MAP_FAILED) munmap(got, CHUNK); /* a kernel that takes it for a hint */
    }
    return NULL;
}

static slot *take_slot(void)
{
    if (!free_slots) {
        unsigned char *pages = low_pages();
        if (!pages) return NULL;
        for (size_t at = 0; at + SLOT_SIZE <= CHUNK; at += SLOT_SIZE) {
            slot *made = calloc(1, sizeof(*made));
            if (!made) break;
            made->shared = pages + at;
            made->link = free_slots;
            free_slots = made;
        }
    }
    slot *taken = free_slots;
    if (taken) free_slots = taken->link;
    return taken;
}

static unsigned char *start_of(const item *image)
{
    void *mapped = NULL;
    const soft_vk_device *device = image->device;
    /* lavapipe's memory is mapped all the time, and this only asks where. */
    if (image->memory == VK_NULL_HANDLE ||
        device->next.MapMemory(device->handle, image->memory, 0, VK_WHOLE_SIZE, 0, &mapped) !=
            VK_SUCCESS)
        return NULL;
    return (unsigned char *)mapped + image->offset;
}

static uint32_t rest(uint32_t count, uint32_t all, uint32_t base)
{
    return count == VK_REMAINING_MIP_LEVELS && all > base ? all - base : count;
}

static bool describe(const item *view, culv_soft_queue_view *out)
{
    static const uint8_t dimensions[] = {
        CULV_SOFT_1D,         CULV_SOFT_2D,         CULV_SOFT_3D,          CULV_SOFT_CUBE,
        CULV_SOFT_1D_LAYERED, CULV_SOFT_2D_LAYERED, CULV_SOFT_CUBE_LAYERED};
    const item *image = *place(view->device, IMAGE, (uint64_t)(uintptr_t)view->view.image);
    const VkImageSubresourceRange *range = &view->view.subresourceRange;
    size_t i = 0;
    while (i < sizeof(formats) / sizeof(formats[0]) && formats[i].vk != view->view.format)
        i++;
    if (!image || i == sizeof(formats) / sizeof(formats[0])) return false;
    const VkImageCreateInfo *made = &image->image;
    const bool cubes = view->view.viewType == VK_IMAGE_VIEW_TYPE_CUBE ||
                       view->view.viewType == VK_IMAGE_VIEW_TYPE_CUBE_ARRAY;
    *out = (culv_soft_queue_view){
        .start = start_of(image),
        .format = formats[i].cuda,
        .channels = formats[i].channels,
        .width = made->extent.width,
        .height = made->imageType == VK_IMAGE_TYPE_1D ? 0 : made->extent.height,
        .depth = made->imageType == VK_IMAGE_TYPE_3D ? made->extent.depth : 0,
        .levels = made->mipLevels,
        .layers = made->arrayLayers,
        .dimensions = dimensions[view->view.viewType],
        .texel = formats[i].texel,
        .base_level = range->baseMipLevel,
        .num_levels = rest(range->levelCount, made->mipLevels, range->baseMipLevel),
        .base_layer = range->baseArrayLayer,
        .num_layers = rest(range->layerCount, made->arrayLayers, range->baseArrayLayer)};
    return out->start != NULL && (!cubes || out->num_layers % 6 == 0);
}

/* CUaddress_mode of a VkSamplerAddressMode. */
static uint8_t address_mode(VkSamplerAddressMode mode)
{
    static const uint8_t modes[] = {0, 2, 1, 3};
    return (unsigned)mode < sizeof(modes) ? modes[mode] : 1;
}

static void sample(const VkSamplerCreateInfo *info, culv_soft_texture *out)
{
    out->address[0] = address_mode(info->addressModeU);
    out->address[1] = address_mode(info->addressModeV);
    out->address[2] = address_mode(info->addressModeW);
    out->normalized = !info->unnormalizedCoordinates;
    out->linear = info->magFilter == VK_FILTER_LINEAR;
    out->mip_linear = info->mipmapMode == VK_SAMPLER_MIPMAP_MODE_LINEAR;
    out->seamless = 1;
    out->bias = info->mipLodBias;
    out->min_level = info->minLod;
    out->max_level = info->maxLod;
    const bool white = info->borderColor == VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE,
               opaque = white || info->borderColor == VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK;
    for (int c = 0; c < 4; c++)
        out->border[c] = c == 3 ? (float)opaque : (float)white;
}

/* Locked; 0: there is none. */
static uint64_t handle_of(item *view, VkSampler sampler)
{
    culv_soft_queue_view described;
    const struct soft_vk_cuda *cuda = soft_vk_cuda_half();
    for (slot *s = view->slots; s; s = s->link)
        if (s->sampler == sampler) return (uintptr_t)s->shared;
    const item *settings = sampler != VK_NULL_HANDLE
                               ? *place(view->device, SAMPLER, (uint64_t)(uintptr_t)sampler)
                               : NULL;
    if (!cuda || (sampler != VK_NULL_HANDLE && !settings) || !describe(view, &described)) return 0;
    slot *taken = take_slot();
    if (!taken) return 0;
    void *shared = taken->shared;
    taken->sampler = sampler;
    taken->link = view->slots;
    view->slots = taken;
    if (settings) sample(&settings->sampler, shared);
    const int result =
        settings ? cuda->texture(&described, shared) : cuda->surface(&described, shared);
    if (result == 0) return (uintptr_t)shared;
    close_slot(&view->slots);
    return 0;
}

uint64_t VKAPI_CALL soft_vk_image_view_handle_64(VkDevice handle,
                                                 const VkImageViewHandleInfoNVX *info)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    uint64_t found = 0;
    const bool texture = info->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    if (!device->soft || (!texture && info->descriptorType != VK_DESCRIPTOR_TYPE_STORAGE_IMAGE))
        return 0;
    pthread_mutex_lock(&lock);
    item *view = *place(device, VIEW, (uint64_t)(uintptr_t)info->imageView);
    if (view) found = handle_of(view, texture ? info->sampler : VK_NULL_HANDLE);
    pthread_mutex_unlock(&lock);
    return found;
}

uint32_t VKAPI_CALL soft_vk_image_view_handle(VkDevice handle, const VkImageViewHandleInfoNVX *info)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    if (!device->soft) return device->next.GetImageViewHandleNVX(handle, info);
    return (uint32_t)soft_vk_image_view_handle_64(handle, info);
}

VkResult soft_vk_GetImageViewAddressNVX(soft_vk_device *device, VkDevice handle, VkImageView object,
                                        VkImageViewAddressPropertiesNVX *out)
{
    (void)handle;
    culv_soft_queue_view described;
    culv_soft_surface surface = {.turn = 0};
    VkResult result = VK_ERROR_UNKNOWN;
    const struct soft_vk_cuda *cuda = soft_vk_cuda_half();
    pthread_mutex_lock(&lock);
    const item *view = *place(device, VIEW, (uint64_t)(uintptr_t)object);
    if (cuda && view && describe(view, &described) && cuda->surface(&described, &surface) == 0) {
        out->deviceAddress = (VkDeviceAddress)(uintptr_t)surface.start;
        out->size = surface.slice * surface.depth;
        result = VK_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
