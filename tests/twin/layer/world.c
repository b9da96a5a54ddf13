/* SPDX-License-Identifier: MIT */
/* layer-test CASE [--validation]: one case of the layer's tests. This sets up Vulkan for it, and is
 * the other side of an fd. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VOLK_IMPLEMENTATION
#include "layer_test.h"

#include "allowed.h"

#ifdef __SANITIZE_THREAD__
#    define TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define TSAN 1
#    endif
#endif
#ifdef TSAN
#    include <sanitizer/tsan_interface.h>
#    define PAGE_ACQUIRE() __tsan_acquire((void *)&environ) /* the key of the layer's submit.c */
#    define PAGE_RELEASE() __tsan_release((void *)&environ)
#else
#    define PAGE_ACQUIRE() ((void)0)
#    define PAGE_RELEASE() ((void)0)
#endif

bool test_validation;
_Atomic int test_messages;
static _Atomic uint32_t validation_version;

_Noreturn void test_fail(const char *file, int line, const char *what, long long value)
{
    fprintf(stderr, "%s:%d: %s (%lld)\n", file, line, what, value);
    _exit(1);
}

_Noreturn void test_skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(77);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity;
    (void)type;
    (void)user;
    if (test_message_allowed(ALLOWED_VUIDS, data->pMessageIdName, data->pMessage,
                             validation_version))
        return VK_FALSE;
    fprintf(stderr, "validation: %s\n", data->pMessage);
    atomic_fetch_add(&test_messages, 1);
    return VK_FALSE;
}

/* The version of a layer, 0 if there is none. */
static uint32_t layer_version(const char *name)
{
    uint32_t count = 0;
    CHECK_VK(vkEnumerateInstanceLayerProperties(&count, NULL));
    VkLayerProperties *list = calloc(count + 1u, sizeof(*list));
    CHECK(list);
    CHECK_VK(vkEnumerateInstanceLayerProperties(&count, list));
    uint32_t version = 0;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].layerName, name) == 0) version = list[i].specVersion;
    free(list);
    return version;
}

/* volk's pointers are global; the loader's functions behind them serve every instance, so once is
 * enough. */
static pthread_mutex_t volk_lock = PTHREAD_MUTEX_INITIALIZER;

static VkResult volk_start(void)
{
    pthread_mutex_lock(&volk_lock);
    VkResult result = vkCreateInstance ? VK_SUCCESS : volkInitialize();
    pthread_mutex_unlock(&volk_lock);
    return result;
}

static void volk_load(VkInstance instance)
{
    static bool loaded;
    pthread_mutex_lock(&volk_lock);
    if (!loaded) volkLoadInstanceOnly(instance);
    loaded = true;
    pthread_mutex_unlock(&volk_lock);
}

static VkResult open_instance(world *w, const world_options *options)
{
    static const char *const validation_layer = "VK_LAYER_KHRONOS_validation";
    const char *layers[2], *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    uint32_t layer_count = 0;
    if (volk_start() != VK_SUCCESS) test_skip("no Vulkan loader");
    if (test_validation) {
        validation_version = layer_version(validation_layer);
        if (validation_version == 0) test_skip("no validation layer");
    }
    if (test_validation) layers[layer_count++] = validation_layer;
    if (!options->without_layer) layers[layer_count++] = LAYER_NAME;

    const VkValidationFeatureEnableEXT enabled =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &enabled};
    const VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .pNext = &features,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = test_validation ? &messenger : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = layer_count,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = test_validation ? 1 : 0,
                                       .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &w->instance);
    if (result != VK_SUCCESS) return result;
    volk_load(w->instance);
    if (test_validation) {
        VkDebugUtilsMessengerCreateInfoEXT alone = messenger;
        alone.pNext = NULL;
        CHECK_VK(vkCreateDebugUtilsMessengerEXT(w->instance, &alone, NULL, &w->messenger));
    }
    return VK_SUCCESS;
}

static VkResult find_device(world *w, bool other)
{
    VkPhysicalDevice list[16];
    uint32_t count = 16;
    VkResult result = vkEnumeratePhysicalDevices(w->instance, &count, list);
    if (result < 0) return result;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceIDProperties id = {.sType =
                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
        vkGetPhysicalDeviceProperties2(list[i], &properties);
        if ((properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) == other) continue;
        w->physical = list[i];
        memcpy(w->uuid, id.deviceUUID, sizeof(w->uuid));
        return VK_SUCCESS;
    }
    test_skip(other ? "no other Vulkan device" : "no CPU-type Vulkan device");
}

static VkResult open_device(world *w, const world_options *options)
{
    VkResult result = find_device(w, options->other);
    if (result != VK_SUCCESS) return result;
    const float priority = 1;
    const char *extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &timeline,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = options->without_extension || options->without_layer ? 1 : 2,
        .ppEnabledExtensionNames = extensions};
    result = vkCreateDevice(w->physical, &info, NULL, &w->device);
    if (result != VK_SUCCESS) return result;
    volkLoadDeviceTable(&w->d, w->device);
    w->d.vkGetDeviceQueue(w->device, 0, 0, &w->queue);
    return VK_SUCCESS;
}

VkResult world_try_open(world *w, const world_options *options)
{
    static const world_options none;
    memset(w, 0, sizeof(*w));
    if (!options) options = &none;
    VkResult result = open_instance(w, options);
    if (result == VK_SUCCESS) result = open_device(w, options);
    if (result != VK_SUCCESS) world_close(w);
    return result;
}

void world_open(world *w, const world_options *options)
{
    CHECK_VK(world_try_open(w, options));
}

void world_open_beside(world *w, const world *first)
{
    *w = (world){.instance = first->instance, .borrowed = true};
    CHECK_VK(open_device(w, &(world_options){.other = false}));
}

void world_close(world *w)
{
    if (w->device) w->d.vkDestroyDevice(w->device, NULL);
    if (w->messenger) vkDestroyDebugUtilsMessengerEXT(w->instance, w->messenger, NULL);
    if (w->instance && !w->borrowed) vkDestroyInstance(w->instance, NULL);
    memset(w, 0, sizeof(*w));
}

VkResult make_semaphore(world *w, VkSemaphoreType type, bool exportable, uint64_t value,
                        VkSemaphore *out)
{
    VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                          .handleTypes = OPAQUE_FD};
    VkSemaphoreTypeCreateInfo kind = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .pNext = exportable ? &export : NULL,
                                      .semaphoreType = type,
                                      .initialValue = value};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &kind};
    return w->d.vkCreateSemaphore(w->device, &info, NULL, out);
}

VkSemaphore exportable_timeline(world *w, uint64_t value)
{
    VkSemaphore semaphore;
    CHECK_VK(make_semaphore(w, VK_SEMAPHORE_TYPE_TIMELINE, true, value, &semaphore));
    return semaphore;
}

int export_fd(world *w, VkSemaphore semaphore)
{
    const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = semaphore,
                                          .handleType = OPAQUE_FD};
    int fd = -1;
    CHECK_VK(w->d.vkGetSemaphoreFdKHR(w->device, &info, &fd));
    CHECK(fd >= 0);
    return fd;
}

VkResult import_fd(world *w, VkSemaphore semaphore, int fd)
{
    const VkImportSemaphoreFdInfoKHR info = {.sType =
                                                 VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                             .semaphore = semaphore,
                                             .handleType = OPAQUE_FD,
                                             .fd = fd};
    return w->d.vkImportSemaphoreFdKHR(w->device, &info);
}

VkResult submit(world *w, VkSemaphore wait, uint64_t value, VkSemaphore signal,
                uint64_t signal_value)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = wait ? 1 : 0,
        .pWaitSemaphoreValues = &value,
        .signalSemaphoreValueCount = signal ? 1 : 0,
        .pSignalSemaphoreValues = &signal_value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait ? 1 : 0,
                               .pWaitSemaphores = &wait,
                               .pWaitDstStageMask = &stage,
                               .signalSemaphoreCount = signal ? 1 : 0,
                               .pSignalSemaphores = &signal};
    return w->d.vkQueueSubmit(w->queue, 1, &info, VK_NULL_HANDLE);
}

VkResult wait_value(world *w, VkSemaphore semaphore, uint64_t value, uint64_t timeout)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    return w->d.vkWaitSemaphores(w->device, &info, timeout);
}

uint64_t counter(world *w, VkSemaphore semaphore)
{
    uint64_t value = 0;
    CHECK_VK(w->d.vkGetSemaphoreCounterValue(w->device, semaphore, &value));
    return value;
}

VkResult host_signal(world *w, VkSemaphore semaphore, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    return w->d.vkSignalSemaphore(w->device, &info);
}

culv_soft_timeline *page_map(int fd)
{
    void *map = mmap(NULL, CULV_SOFT_TIMELINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    return map;
}

void page_unmap(culv_soft_timeline *page)
{
    CHECK(munmap(page, CULV_SOFT_TIMELINE_SIZE) == 0);
}

void page_raise(culv_soft_timeline *page, uint64_t value)
{
    CHECK(atomic_load(&page->value) < value);
    PAGE_RELEASE();
    atomic_store(&page->value, value);
    atomic_fetch_add(&page->seq, 1);
    syscall(SYS_futex, (void *)&page->seq, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

bool page_wait(culv_soft_timeline *page, uint64_t value, uint64_t timeout)
{
    const uint64_t end = now() + timeout;
    for (;;) {
        uint32_t seq = atomic_load(&page->seq);
        if (atomic_load(&page->value) >= value) {
            PAGE_ACQUIRE();
            return true;
        }
        uint64_t left = now() < end ? end - now() : 0;
        if (!left) return false;
        struct timespec rest = {.tv_sec = (time_t)(left / SECOND),
                                .tv_nsec = (long)(left % SECOND)};
        syscall(SYS_futex, (void *)&page->seq, FUTEX_WAIT, seq, &rest, NULL, 0);
    }
}

int page_fd(const char *magic, const uint8_t *uuid, size_t size, uint64_t value)
{
    int fd = memfd_create("layer test", MFD_CLOEXEC);
    culv_soft_timeline head = {.value = value};
    memcpy(head.magic, magic, sizeof(head.magic));
    memcpy(head.device_uuid, uuid, sizeof(head.device_uuid));
    CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    CHECK(size < sizeof(head) || pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
    return fd;
}

uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void nap(unsigned milliseconds)
{
    struct timespec t = {.tv_sec = milliseconds / 1000,
                         .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR) {
    }
}

static unsigned entries(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);
    CHECK(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

unsigned open_fds(void)
{
    return entries("/proc/self/fd");
}

unsigned live_threads(void)
{
    return entries("/proc/self/task");
}

void check_threads(unsigned before)
{
    const uint64_t end = now() + 60 * SECOND;
    while (live_threads() > before && now() < end)
        nap(1);
    CHECK(live_threads() <= before);
}

static void *layer_symbol(const char *name)
{
    static void *library; /* kept: the layer must not go with the last instance */
    if (!library) library = dlopen(LAYER_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    void *symbol = dlsym(library, name);
    CHECK(symbol);
    return symbol;
}

void layer_counts_into(culv_soft_vk_counts *out)
{
    void (*counts)(culv_soft_vk_counts *);
    void *symbol = layer_symbol("culvSoftVkCounts");
    memcpy(&counts, &symbol, sizeof(counts));
    counts(out);
}

culv_soft_vk_counts layer_counts(void)
{
    culv_soft_vk_counts out = {.struct_size = sizeof(out)};
    layer_counts_into(&out);
    return out;
}

void layer_fail_at(uint64_t n, int error)
{
    void (*fail_at)(uint64_t, int);
    void *symbol = layer_symbol("culvSoftVkFailAt");
    memcpy(&fail_at, &symbol, sizeof(fail_at));
    fail_at(n, error);
}

int layer_delay(const char *call, unsigned ms)
{
    int (*delay)(const char *, unsigned);
    void *symbol = layer_symbol("culvSoftVkDelay");
    memcpy(&delay, &symbol, sizeof(delay));
    return delay(call, ms);
}

void layer_before(uint64_t n, void (*hook)(void *user, const char *call), void *user)
{
    void (*before)(uint64_t, void (*)(void *, const char *), void *);
    void *symbol = layer_symbol("culvSoftVkBefore");
    memcpy(&before, &symbol, sizeof(before));
    before(n, hook, user);
}

const char *layer_failed_call(void)
{
    const char *(*failed_call)(void);
    void *symbol = layer_symbol("culvSoftVkFailedCall");
    memcpy(&failed_call, &symbol, sizeof(failed_call));
    return failed_call();
}

void check_all_gone(void)
{
    culv_soft_vk_counts counts = layer_counts();
    CHECK_IS(counts.instances, 0);
    CHECK_IS(counts.devices, 0);
    CHECK_IS(counts.semaphores, 0);
    CHECK_IS(counts.all_semaphores, 0);
    CHECK_IS(counts.memories, 0);
    CHECK_IS(counts.buffers, 0);
    CHECK_IS(counts.images, 0);
    CHECK_IS(counts.fds, 0);
    CHECK_IS(counts.threads, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name, validation) {#name, case_##name},
    LAYER_CASES(CASE)
#undef CASE
};

int main(int argc, char **argv)
{
    test_validation = argc == 3 && strcmp(argv[2], "--validation") == 0;
    for (size_t i = 0; argc >= 2 && i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        cases[i].run();
        check_all_gone();
        CHECK_IS(test_messages, 0);
        return 0;
    }
    fprintf(stderr, "usage: layer-test CASE [--validation]\n");
    return 2;
}
