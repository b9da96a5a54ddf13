/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the Vulkan devices whose memory it shares, lavapipe's and SwiftShader's.
 * It opens Vulkan at run time. */
#include "partner.h"
#include "array.h"
#include "semaphore_page.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GET(name) PFN_##name name = (PFN_##name)get(instance, #name)

static int read_devices(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                        struct soft_found_device *found, int capacity)
{
    GET(vkEnumeratePhysicalDevices);
    GET(vkGetPhysicalDeviceProperties2);
    if (vkEnumeratePhysicalDevices == NULL || vkGetPhysicalDeviceProperties2 == NULL) return 0;
    uint32_t total = 0;
    if (vkEnumeratePhysicalDevices(instance, &total, NULL) != VK_SUCCESS || total == 0) return 0;
    VkPhysicalDevice *devices = calloc(total, sizeof(VkPhysicalDevice));
    if (devices == NULL) return 0;
    int count = 0;
    if (vkEnumeratePhysicalDevices(instance, &total, devices) != VK_SUCCESS) total = 0;
    for (uint32_t i = 0; i < total && count < capacity; i++) {
        VkPhysicalDeviceProperties properties;
        VkPhysicalDeviceIDProperties id;
        const enum soft_partner partner =
            soft_partner_of(vkGetPhysicalDeviceProperties2, devices[i], &properties, &id);
        const char *differs = partner == SOFT_SWIFTSHADER
                                  ? soft_swiftshader_differs(instance, get, devices[i])
                                  : NULL;
        if (differs != NULL)
            fprintf(stderr,
                    "culvert software twin: %s is no device of it: the twin does not know its %s\n",
                    properties.deviceName, differs);
        if (partner == SOFT_NO_PARTNER || differs != NULL) continue;
        found[count].partner = partner;
        snprintf(found[count].name, sizeof(found[count].name), "%s", properties.deviceName);
        memcpy(found[count].uuid, id.deviceUUID, sizeof(found[count].uuid));
        count++;
    }
    free(devices);
    return count;
}

/* The loader unloads its drivers with the last instance, and NVIDIA's takes the thread's current
 * EGL context with it then (measured with 580). */
void soft_vulkan_keep_drivers(void)
{
    static const char *const names[] = {"libGLX_nvidia.so.0", "libEGL_nvidia.so.0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
        if (library != NULL) dlclose(library);
    }
}

VkInstance soft_vulkan_open(PFN_vkGetInstanceProcAddr *out)
{
    /* Never closed: drivers behind the loader do not all survive being unloaded. */
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get = NULL;
    VkInstance instance = VK_NULL_HANDLE;
    if (library == NULL) return instance;
    void *symbol = dlsym(library, "vkGetInstanceProcAddr");
    memcpy(&get, &symbol, sizeof(get));
    if (get == NULL) return instance;
    GET(vkCreateInstance);
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "culvert software twin",
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (vkCreateInstance == NULL || vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    soft_vulkan_keep_drivers();
    *out = get;
    return instance;
}

void soft_vulkan_close(VkInstance instance, PFN_vkGetInstanceProcAddr get)
{
    GET(vkDestroyInstance);
    if (vkDestroyInstance != NULL) vkDestroyInstance(instance, NULL);
}

VkDevice soft_vulkan_device(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                            VkPhysicalDevice physical, const char *const *extensions,
                            uint32_t num_extensions, PFN_vkGetDeviceProcAddr *get_of_device)
{
    GET(vkCreateDevice);
    GET(vkGetDeviceProcAddr);
    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = num_extensions,
                                     .ppEnabledExtensionNames = extensions};
    VkDevice device = VK_NULL_HANDLE;
    if (vkCreateDevice == NULL || vkGetDeviceProcAddr == NULL ||
        vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    *get_of_device = vkGetDeviceProcAddr;
    return device;
}

void soft_vulkan_device_close(VkDevice device, PFN_vkGetDeviceProcAddr get_of_device)
{
    PFN_vkDestroyDevice destroy = (PFN_vkDestroyDevice)get_of_device(device, "vkDestroyDevice");
    if (destroy != NULL) destroy(device, NULL);
}

int soft_vulkan_devices(struct soft_found_device *found, int capacity)
{
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance = soft_vulkan_open(&get);
    if (instance == VK_NULL_HANDLE) return 0;
    const int count = read_devices(instance, get, found, capacity);
    soft_vulkan_close(instance, get);
    return count;
}

/* What memory looks like that Vulkan exports. */

#ifdef SOFT_POSING

bool soft_vulkan_memory_header(uint8_t header[32])
{
    (void)header;
    return false; /* it asks Vulkan nothing */
}

#else

#    define GETD(name) PFN_##name name = (PFN_##name)get_of_device(device, #    name)

static bool read_header(VkDevice device, PFN_vkGetDeviceProcAddr get_of_device, uint8_t header[32])
{
    GETD(vkAllocateMemory);
    GETD(vkFreeMemory);
    GETD(vkGetMemoryFdKHR);
    if (vkAllocateMemory == NULL || vkFreeMemory == NULL || vkGetMemoryFdKHR == NULL) return false;
    const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExportMemoryAllocateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = type};
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &shared, .allocationSize = 64};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    if (vkAllocateMemory(device, &info, NULL, &memory) != VK_SUCCESS) return false;
    const VkMemoryGetFdInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = memory, .handleType = type};
    int fd = -1;
    bool found = false;
    if (vkGetMemoryFdKHR(device, &which, &fd) == VK_SUCCESS && fd >= 0) {
        found = soft_read_at(fd, header, 32, 0);
        soft_close(fd);
    }
    vkFreeMemory(device, memory, NULL);
    return found;
}

static bool open_device(VkInstance instance, PFN_vkGetInstanceProcAddr get, uint8_t header[32])
{
    GET(vkEnumeratePhysicalDevices);
    GET(vkGetPhysicalDeviceProperties2);
    if (vkEnumeratePhysicalDevices == NULL || vkGetPhysicalDeviceProperties2 == NULL) return false;
    VkPhysicalDevice devices[SOFT_MAX_DEVICES];
    uint32_t count = SOFT_MAX_DEVICES;
    const VkResult listed = vkEnumeratePhysicalDevices(instance, &count, devices);
    if (listed != VK_SUCCESS && listed != VK_INCOMPLETE) return false;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        VkPhysicalDeviceIDProperties id;
        if (soft_partner_of(vkGetPhysicalDeviceProperties2, devices[i], &properties, &id) !=
            SOFT_LAVAPIPE)
            continue;
        const char *const extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
        PFN_vkGetDeviceProcAddr get_of_device;
        const VkDevice device =
            soft_vulkan_device(instance, get, devices[i], &extension, 1, &get_of_device);
        if (device == VK_NULL_HANDLE) continue;
        const bool found = read_header(device, get_of_device, header);
        soft_vulkan_device_close(device, get_of_device);
        if (found) return true;
    }
    return false;
}

bool soft_vulkan_memory_header(uint8_t header[32])
{
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance = soft_vulkan_open(&get);
    if (instance == VK_NULL_HANDLE) return false;
    const bool found = open_device(instance, get, header);
    soft_vulkan_close(instance, get);
    return found;
}

#endif

/* SwiftShader, Chromium's Vulkan on the CPU. It exports memory and binary
 * semaphores without a layer. What they are inside was seen and is promised by nobody, so cuInit
 * tries each thing that the twin builds on, and takes no device where one differs. */

bool soft_swiftshader_made(int fd, const char *what)
{
    char path[32], target[64], name[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    snprintf(name, sizeof(name), "/memfd:SwiftShader.%s.", what);
    const ssize_t length = readlink(path, target, sizeof(target));
    return length > (ssize_t)strlen(name) && memcmp(target, name, strlen(name)) == 0;
}

#define FAR_NS 10000000000u /* none of it takes as long, on a busy machine either */

#define CALLS(X)                                                                                   \
    X(vkGetDeviceQueue)                                                                            \
    X(vkQueueSubmit)                                                                               \
    X(vkCreateFence)                                                                               \
    X(vkDestroyFence)                                                                              \
    X(vkWaitForFences)                                                                             \
    X(vkResetFences)                                                                               \
    X(vkCreateSemaphore)                                                                           \
    X(vkDestroySemaphore)                                                                          \
    X(vkGetSemaphoreFdKHR)                                                                         \
    X(vkAllocateMemory)                                                                            \
    X(vkFreeMemory)                                                                                \
    X(vkMapMemory)                                                                                 \
    X(vkGetMemoryFdKHR)                                                                            \
    X(vkCreateImage)                                                                               \
    X(vkDestroyImage)                                                                              \
    X(vkGetImageSubresourceLayout)
struct driver {
    VkDevice device;
#define X(name) PFN_##name name;
    CALLS(X)
#undef X
};

/* Of an odd size: what Vulkan wrote at both ends is in the file, and the other way round. */
static bool memory_is_known(const struct driver *vk)
{
    enum { SIZE = 20001 };
    const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExportMemoryAllocateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = type};
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &shared, .allocationSize = SIZE};
    VkMemoryGetFdInfoKHR which = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                  .handleType = type};
    if (vk->vkAllocateMemory(vk->device, &info, NULL, &which.memory) != VK_SUCCESS) return false;
    uint8_t seen[2] = {0}, *mapped;
    uint64_t size = 0;
    int fd = -1;
    bool known = vk->vkGetMemoryFdKHR(vk->device, &which, &fd) == VK_SUCCESS &&
                 vk->vkMapMemory(vk->device, which.memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped) ==
                     VK_SUCCESS;
    if (known) {
        mapped[0] = 0x5a;
        mapped[SIZE - 1] = 0xa5;
        known = soft_swiftshader_made(fd, "Memory") && soft_file_size(fd, &size) &&
                size == SIZE + SOFT_SWIFTSHADER_SPARE && soft_read_at(fd, seen, 1, 0) &&
                soft_read_at(fd, seen + 1, 1, SIZE - 1) && seen[0] == 0x5a && seen[1] == 0xa5 &&
                pwrite(fd, "\x33", 1, SIZE / 2) == 1 && mapped[SIZE / 2] == 0x33;
    }
    if (fd >= 0) soft_close(fd);
    vk->vkFreeMemory(vk->device, which.memory, NULL);
    return known;
}

static bool image_is_known(const struct driver *vk, const VkImageCreateInfo *info,
                           const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    struct soft_layout layout;
    VkImage image;
    if (soft_layout_in_swiftshader(desc, info->mipLevels, &layout) != CUDA_SUCCESS ||
        vk->vkCreateImage(vk->device, info, NULL, &image) != VK_SUCCESS)
        return false;
    const uint64_t border = desc->Flags & CUDA_ARRAY3D_CUBEMAP ? 1 : 0;
    bool known = true;
    for (uint32_t i = 0; i < info->mipLevels; i++)
        for (uint32_t j = 0; j < info->arrayLayers; j++) {
            const VkImageSubresource which = {VK_IMAGE_ASPECT_COLOR_BIT, i, j};
            const struct soft_level *level = &layout.levels[i];
            VkSubresourceLayout is;
            vk->vkGetImageSubresourceLayout(vk->device, image, &which, &is);
            /* It leaves out the border. */
            known = known &&
                    is.offset == level->offset - border * (level->pitch + 4) + j * level->slice &&
                    is.rowPitch == level->pitch &&
                    (info->extent.depth == 1 || is.depthPitch == level->slice);
        }
    vk->vkDestroyImage(vk->device, image, NULL);
    return known;
}

/* Odd sizes, layers, faces, levels, blocks, a depth: SwiftShader answers of both tilings, and has
 * the same for both. */
static bool images_are_known(const struct driver *vk)
{
    static const struct {
        VkFormat format;
        CUDA_ARRAY3D_DESCRIPTOR desc;
        uint32_t levels;
    } images[] = {
        {VK_FORMAT_R8G8B8A8_UNORM,
         {253, 127, 3, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED},
         8},
        {VK_FORMAT_R8G8B8A8_UNORM,
         {13, 13, 6, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_CUBEMAP},
         4},
        {VK_FORMAT_R8_UNORM, {13, 9, 5, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, 4},
        {VK_FORMAT_R32_SFLOAT, {61, 0, 2, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED}, 3},
        {VK_FORMAT_BC1_RGBA_UNORM_BLOCK,
         {61, 37, 2, CU_AD_FORMAT_BC1_UNORM, 4, CUDA_ARRAY3D_LAYERED},
         6},
    };
    bool known = true;
    for (size_t i = 0; i < 2 * sizeof(images) / sizeof(images[0]); i++) {
        const CUDA_ARRAY3D_DESCRIPTOR *desc = &images[i / 2].desc;
        const bool cube = desc->Flags & CUDA_ARRAY3D_CUBEMAP;
        const bool layers = cube || (desc->Flags & CUDA_ARRAY3D_LAYERED);
        const VkImageCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
            .flags = cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
            .imageType = desc->Height == 0 ? VK_IMAGE_TYPE_1D
                         : layers          ? VK_IMAGE_TYPE_2D
                                           : VK_IMAGE_TYPE_3D,
            .format = images[i / 2].format,
            .extent = {(uint32_t)desc->Width, desc->Height != 0 ? (uint32_t)desc->Height : 1,
                       layers ? 1 : (uint32_t)desc->Depth},
            .mipLevels = images[i / 2].levels,
            .arrayLayers = layers ? (uint32_t)desc->Depth : 1,
            .samples = VK_SAMPLE_COUNT_1_BIT,
            .tiling = i % 2 ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL,
            .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
        known = known && image_is_known(vk, &info, desc);
    }
    return known;
}

/* What the queue signals is signaled here, and what is signaled here releases the queue. */
static bool try_semaphore(const struct driver *vk, VkQueue queue, VkFence fence,
                          VkSemaphore semaphore, union soft_page *page)
{
    const struct soft_context context = {.dying = true}; /* it waits for nothing else */
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo signals = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                  .signalSemaphoreCount = 1,
                                  .pSignalSemaphores = &semaphore};
    const VkSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &semaphore,
                                .pWaitDstStageMask = &stage};
    if (page->swiftshader.references != 2 || page->swiftshader.signaled ||
        vk->vkQueueSubmit(queue, 1, &signals, fence) != VK_SUCCESS ||
        vk->vkWaitForFences(vk->device, 1, &fence, VK_TRUE, FAR_NS) != VK_SUCCESS ||
        soft_page_wait(page, SOFT_PAGE_SWIFTSHADER, 0, &context) != CUDA_SUCCESS ||
        page->swiftshader.signaled || vk->vkResetFences(vk->device, 1, &fence) != VK_SUCCESS ||
        vk->vkQueueSubmit(queue, 1, &waits, fence) != VK_SUCCESS)
        return false;
    soft_page_signal(page, SOFT_PAGE_SWIFTSHADER, 0);
    return vk->vkWaitForFences(vk->device, 1, &fence, VK_TRUE, FAR_NS) == VK_SUCCESS &&
           !page->swiftshader.signaled;
}

static bool semaphores_are_known(const struct driver *vk)
{
    const VkExternalSemaphoreHandleTypeFlagBits type =
        VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExportSemaphoreCreateInfo shared = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, .handleTypes = type};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &shared};
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSemaphoreGetFdInfoKHR which = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                     .handleType = type};
    VkFence fence = VK_NULL_HANDLE;
    VkQueue queue;
    void *map;
    size_t map_size;
    int fd = -1;
    bool known = false;
    vk->vkGetDeviceQueue(vk->device, 0, 0, &queue);
    if (vk->vkCreateFence(vk->device, &fence_info, NULL, &fence) == VK_SUCCESS &&
        vk->vkCreateSemaphore(vk->device, &info, NULL, &which.semaphore) == VK_SUCCESS &&
        vk->vkGetSemaphoreFdKHR(vk->device, &which, &fd) == VK_SUCCESS) {
        union soft_page *page = soft_page_map(fd, SOFT_PAGE_SWIFTSHADER, &map, &map_size);
        soft_close(fd);
        known = page != NULL && try_semaphore(vk, queue, fence, which.semaphore, page);
        if (page != NULL) {
            soft_page_leave(page, SOFT_PAGE_SWIFTSHADER);
            soft_unmap(map, map_size);
        }
    }
    if (!known) return false; /* a queue may wait for ever: its device stays, too */
    vk->vkDestroySemaphore(vk->device, which.semaphore, NULL);
    vk->vkDestroyFence(vk->device, fence, NULL);
    return true;
}

const char *soft_swiftshader_differs(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                                     VkPhysicalDevice physical)
{
    struct driver vk;
    PFN_vkGetDeviceProcAddr get_of_device;
    const char *const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                      VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    vk.device = soft_vulkan_device(instance, get, physical, extensions, 2, &get_of_device);
    if (vk.device == VK_NULL_HANDLE) return "device";
    bool complete = true;
#define X(name)                                                                                    \
    vk.name = (PFN_##name)get_of_device(vk.device, #name);                                         \
    complete = complete && vk.name != NULL;
    CALLS(X)
#undef X
    if (!complete) return "list of functions";
    if (!semaphores_are_known(&vk)) return "binary semaphore";
    const char *differs = !memory_is_known(&vk)    ? "memory"
                          : !images_are_known(&vk) ? "images' layout"
                                                   : NULL;
    soft_vulkan_device_close(vk.device, get_of_device);
    return differs;
}
