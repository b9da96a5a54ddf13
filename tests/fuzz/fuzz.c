/* SPDX-License-Identifier: MIT */
/* The world of the fuzz targets, and what must hold in it. */
#include "fuzz.h"

#include "control.h"

#include <culvert/soft.h>

#include <cuda.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

fuzz_world fuzz;
culv_error fuzz_error;
bool fuzz_trace;

/* The input that runs, for messages. */
static struct {
    const uint8_t *data;
    size_t size;
} running;

/* As a line of corpus/. */
static void print_input(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (running.data == NULL) return;
    fprintf(stderr, "the input: ");
    for (size_t i = 0; i < running.size; i += 3) {
        size_t left = running.size - i;
        uint32_t bits = (uint32_t)running.data[i] << 16;
        if (left > 1) bits |= (uint32_t)running.data[i + 1] << 8;
        if (left > 2) bits |= running.data[i + 2];
        fputc(digits[bits >> 18], stderr);
        fputc(digits[bits >> 12 & 63], stderr);
        fputc(left > 1 ? digits[bits >> 6 & 63] : '=', stderr);
        fputc(left > 2 ? digits[bits & 63] : '=', stderr);
    }
    fputc('\n', stderr);
}

_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: %s: ", file, line, condition);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    print_input();
    abort();
}

/* The world ------------------------------------------------------------------------------------ */

/* The build tree's or bundle's lib, two directories above the program's own. */
static void find_twin(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    FUZZ_REQUIRE(length > 0, "readlink");
    path[length] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    strcat(path, "/lib");
    setenv("CULVERT_SOFT_PATH", path, 1);
    setenv("CULVERT_SOFT", "1", 0);
}

static void opened(void)
{
    fuzz.caps = culv_device_caps_init();
    FUZZ_REQUIRE(culv_device_get_caps(fuzz.device, &fuzz.caps) == CULV_OK, "%s",
                 culv_last_error_message());
}

void fuzz_open_cuda(void)
{
    find_twin();
    FUZZ_REQUIRE(culv_device_open_by_ordinal(0, NULL, &fuzz.device) == CULV_OK, "%s",
                 culv_last_error_message());
    opened();
}

static void open_instance(void)
{
    const char *layers[4];
    FUZZ_REQUIRE(volkInitialize() == VK_SUCCESS, "there is no libvulkan.so.1");
    FUZZ_REQUIRE(culv_soft_enable() == CULV_OK, "%s", culv_last_error_message());
    uint32_t layer_count = culv_vk_instance_layers(vkGetInstanceProcAddr, 4, layers);
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "culvert fuzz",
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = layer_count,
                                       .ppEnabledLayerNames = layers};
    FUZZ_REQUIRE(vkCreateInstance(&info, NULL, &fuzz.instance) == VK_SUCCESS, "vkCreateInstance");
    volkLoadInstance(fuzz.instance);
}

static bool has_extension(const char *name)
{
    static VkExtensionProperties list[512];
    uint32_t count = 512;
    FUZZ_REQUIRE(vkEnumerateDeviceExtensionProperties(fuzz.physical, NULL, &count, list) >=
                     VK_SUCCESS,
                 "extensions");
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0) return true;
    return false;
}

static void open_device(void)
{
    const char *extensions[16], *optional[8];
    uint32_t extension_count = culv_vk_device_extensions(VK_API_VERSION_1_3, 8, extensions);
    static const float priority = 1.0f;
    uint32_t optional_count = culv_vk_optional_device_extensions(VK_API_VERSION_1_3, 8, optional);
    for (uint32_t i = 0; i < optional_count; i++)
        if (has_extension(optional[i])) extensions[extension_count++] = optional[i];
    VkPhysicalDeviceVulkan13Features has13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &has13};
    vkGetPhysicalDeviceFeatures2(fuzz.physical, &has);
    VkPhysicalDeviceVulkan13Features use13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .maintenance4 = has13.maintenance4};
    VkPhysicalDeviceVulkan12Features use12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &use13,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &use12,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = extension_count,
                                     .ppEnabledExtensionNames = extensions};
    FUZZ_REQUIRE(vkCreateDevice(fuzz.physical, &info, NULL, &fuzz.vk_device) == VK_SUCCESS,
                 "vkCreateDevice");
}

static void open_stream(void)
{
    void (*found[])(void) = {culv_device_cuda_proc(fuzz.device, "cuCtxSetCurrent", 4000),
                             culv_device_cuda_proc(fuzz.device, "cuStreamCreate", 2000)};
    CUresult (*set_current)(CUcontext);
    CUresult (*create)(CUstream *, unsigned);
    FUZZ_REQUIRE(found[0] != NULL && found[1] != NULL, "no such driver");
    memcpy(&set_current, &found[0], sizeof found[0]);
    memcpy(&create, &found[1], sizeof found[1]);
    FUZZ_REQUIRE(set_current(culv_device_context(fuzz.device)) == CUDA_SUCCESS &&
                     create(&fuzz.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                     set_current(NULL) == CUDA_SUCCESS,
                 "no stream");
}

static void open_commands(void)
{
    VkCommandPool pool = VK_NULL_HANDLE;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .flags =
                                                   VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    FUZZ_REQUIRE(vkCreateCommandPool(fuzz.vk_device, &pool_info, NULL, &pool) == VK_SUCCESS,
                 "a command pool");
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    FUZZ_REQUIRE(vkAllocateCommandBuffers(fuzz.vk_device, &info, &fuzz.commands) == VK_SUCCESS,
                 "a command buffer");
}

void fuzz_open_vulkan(void)
{
    uint32_t count = 1;
    culv_vk_candidate first = culv_vk_candidate_init();
    find_twin();
    open_instance();
    FUZZ_REQUIRE(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, fuzz.instance, NULL, &first,
                                               count, &count) == CULV_OK,
                 "%s", culv_last_error_message());
    FUZZ_REQUIRE(count > 0 && first.reachable, "no Vulkan device that CUDA can reach: %s",
                 first.reason_text);
    fuzz.physical = first.physical_device;
    open_device();
    FUZZ_REQUIRE(culv_device_open_for_vk(vkGetInstanceProcAddr, fuzz.instance, fuzz.physical, NULL,
                                         &fuzz.device) == CULV_OK,
                 "%s", culv_last_error_message());
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = vkGetInstanceProcAddr;
    d.instance = fuzz.instance;
    d.physical_device = fuzz.physical;
    d.device = fuzz.vk_device;
    d.api_version = VK_API_VERSION_1_3;
    FUZZ_REQUIRE(culv_vk_attach(fuzz.device, &d, &fuzz.vk) == CULV_OK, "%s",
                 culv_last_error_message());
    opened();
    open_stream();
    open_commands();
}

/* What is alive -------------------------------------------------------------------------------- */

enum { WATCHED_FDS = 256 };

/* The drivers' own controls; NULL where NVIDIA's driver serves. */
static struct {
    void (*counts)(culv_soft_counts *);
    void (*fail_at)(uint64_t, int);
    const char *(*failed_call)(void);
} cuda;
static struct {
    void (*counts)(culv_soft_vk_counts *);
    void (*fail_at)(uint64_t, int);
    const char *(*failed_call)(void);
} layer;

typedef struct alive {
    culv_device_counts culvert;
    culv_soft_counts cuda;
    culv_soft_vk_counts layer;
    uint8_t fds[WATCHED_FDS];
} alive;

static alive baseline;

/* One system call, so that it can be made after each input. */
static void list_fds(uint8_t out[WATCHED_FDS])
{
    struct pollfd fds[WATCHED_FDS];
    for (int i = 0; i < WATCHED_FDS; i++)
        fds[i] = (struct pollfd){.fd = i};
    FUZZ_REQUIRE(poll(fds, WATCHED_FDS, 0) >= 0, "poll");
    for (int i = 0; i < WATCHED_FDS; i++)
        out[i] = (fds[i].revents & POLLNVAL) == 0;
}

static const char *fd_name(int fd)
{
    static char name[256];
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return name;
}

static void count_alive(alive *out)
{
    memset(out, 0, sizeof *out);
    out->culvert = culv_device_counts_init();
    /* What was deferred goes once the streams are done with it. */
    for (int i = 0; i < 60000; i++) {
        FUZZ_REQUIRE(culv_device_get_counts(fuzz.device, &out->culvert) == CULV_OK, "%s",
                     culv_last_error_message());
        if (out->culvert.deferred == 0) break;
        usleep(1000);
    }
    out->cuda.struct_size = sizeof out->cuda;
    if (cuda.counts != NULL) cuda.counts(&out->cuda);
    out->layer.struct_size = sizeof out->layer;
    if (layer.counts != NULL) layer.counts(&out->layer);
    list_fds(out->fds);
}

static void find_controls(void)
{
    void (*found[])(void) = {culv_device_cuda_proc(fuzz.device, "culvSoftCounts", 0),
                             culv_device_cuda_proc(fuzz.device, "culvSoftFailAt", 0),
                             culv_device_cuda_proc(fuzz.device, "culvSoftFailedCall", 0)};
    if (!fuzz.caps.is_software) return;
    FUZZ_REQUIRE(found[0] != NULL && found[1] != NULL && found[2] != NULL,
                 "the twin has no controls");
    memcpy(&cuda.counts, &found[0], sizeof found[0]);
    memcpy(&cuda.fail_at, &found[1], sizeof found[1]);
    memcpy(&cuda.failed_call, &found[2], sizeof found[2]);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libVkLayer_culvert_soft.so", getenv("CULVERT_SOFT_PATH"));
    void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (module == NULL) return;
    void *symbols[] = {dlsym(module, "culvSoftVkCounts"), dlsym(module, "culvSoftVkFailAt"),
                       dlsym(module, "culvSoftVkFailedCall")};
    FUZZ_REQUIRE(symbols[0] != NULL && symbols[1] != NULL && symbols[2] != NULL,
                 "the layer has no controls");
    memcpy(&layer.counts, &symbols[0], sizeof symbols[0]);
    memcpy(&layer.fail_at, &symbols[1], sizeof symbols[1]);
    memcpy(&layer.failed_call, &symbols[2], sizeof symbols[2]);
}

void fuzz_set_baseline(void)
{
    if (fuzz.device == NULL) return;
    count_alive(&baseline);
    FUZZ_REQUIRE(baseline.culvert.deferred == 0, "%" PRIu64 " deferred", baseline.culvert.deferred);
}

#define SAME(struct_, field)                                                                       \
    FUZZ_REQUIRE(now.struct_.field == baseline.struct_.field,                                      \
                 "%" PRIu64 " are alive, not %" PRIu64, now.struct_.field, baseline.struct_.field)

static void require_baseline(void)
{
    alive now;
    if (fuzz.device == NULL) return;
    count_alive(&now);
    SAME(culvert, memories);
    SAME(culvert, mappings);
    SAME(culvert, buffers);
    SAME(culvert, images);
    SAME(culvert, semaphores);
    SAME(culvert, attached_devices);
    SAME(culvert, created);
    SAME(culvert, deferred);
    SAME(culvert, late_destroys);
    SAME(cuda, contexts);
    SAME(cuda, streams);
    SAME(cuda, events);
    SAME(cuda, device_allocations);
    SAME(cuda, host_allocations);
    SAME(cuda, external_memories);
    SAME(cuda, external_mappings);
    SAME(cuda, external_semaphores);
    /* A device keeps one array of each format that it asked the driver about
     * (src/cuda/format_support.c). */
    FUZZ_REQUIRE(now.cuda.arrays - baseline.cuda.arrays < 256, "%" PRIu64 " arrays are alive",
                 now.cuda.arrays);
    SAME(cuda, mipmapped_arrays);
    SAME(cuda, surfaces);
    SAME(cuda, textures);
    SAME(cuda, fds);
    SAME(layer, semaphores);
    SAME(layer, all_semaphores);
    SAME(layer, memories);
    SAME(layer, buffers);
    SAME(layer, images);
    SAME(layer, fds);
    if (!fuzz.caps.is_software) return; /* NVIDIA's driver opens files of its own as it goes */
    for (int i = 0; i < WATCHED_FDS; i++)
        FUZZ_REQUIRE(now.fds[i] == baseline.fds[i],
                     "file descriptor %d (%s) is %s, which it was not before", i, fd_name(i),
                     now.fds[i] ? "open" : "closed");
}

/* Injected failures ---------------------------------------------------------------------------- */

/* Of libculvert's static form for tests (src/message.c). */
extern _Atomic long culvi_alloc_countdown;

static bool injected, armed;

void fuzz_arm(fuzz_reader *r)
{
    static const int cuda_codes[] = {2 /* OUT_OF_MEMORY */, 1 /* INVALID_VALUE */,
                                     999 /* UNKNOWN */, 801 /* NOT_SUPPORTED */};
    static const int vulkan_codes[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                       VK_ERROR_TOO_MANY_OBJECTS, VK_ERROR_UNKNOWN};
    uint8_t how = fuzz_u8(r);
    if (how < 232) return;
    uint8_t nth = fuzz_u8(r);
    uint64_t n = 1 + nth % 16u;
    armed = true;
    if (fuzz_trace)
        fprintf(stderr, "the next failure: %s %d\n",
                how % 3 == 0   ? "allocation"
                : how % 3 == 1 ? "CUDA call"
                               : "Vulkan call",
                (int)n);
    switch (how % 3) {
    case 0: atomic_store(&culvi_alloc_countdown, (long)n); break;
    case 1:
        if (cuda.fail_at != NULL) cuda.fail_at(n, cuda_codes[nth >> 6]);
        break;
    default:
        if (layer.fail_at != NULL) layer.fail_at(n, vulkan_codes[nth >> 6]);
    }
}

/* The countdown stands at 0 when it was never armed, and after the failure: so it is set to -1
 * while it is not. */
void fuzz_disarm(void)
{
    if (!armed) return;
    armed = false;
    if (atomic_exchange(&culvi_alloc_countdown, -1) == 0) injected = true;
    if (cuda.failed_call != NULL && cuda.failed_call() != NULL) injected = true;
    if (layer.failed_call != NULL && layer.failed_call() != NULL) injected = true;
    if (cuda.fail_at != NULL) cuda.fail_at(0, 0);
    if (layer.fail_at != NULL) layer.fail_at(0, 0);
}

bool fuzz_injected(void)
{
    if (!armed) return injected;
    return injected || atomic_load(&culvi_alloc_countdown) == 0 ||
           (cuda.failed_call != NULL && cuda.failed_call() != NULL) ||
           (layer.failed_call != NULL && layer.failed_call() != NULL);
}

/* Errors --------------------------------------------------------------------------------------- */

static const char forgotten[] = "no call has failed since";

void fuzz_forget_error(void)
{
    static culv_error none;
    if (none.struct_size == 0) {
        none = culv_error_init();
        none.result = CULV_ERROR_INTERNAL;
        memcpy(none.message, forgotten, sizeof forgotten);
    }
    (void)culv_last_error_set(&none);
}

culv_result fuzz_judge(const char *call, culv_result result)
{
    if (fuzz_trace)
        fprintf(stderr, "%s: %s%s%s\n", call, culv_result_name(result),
                result != CULV_OK ? ": " : "", result != CULV_OK ? culv_last_error_message() : "");
    if (result == CULV_OK) return CULV_OK;
    culv_error *e = &fuzz_error;
    *e = culv_error_init();
    culv_last_error(e);
    FUZZ_REQUIRE(strcmp(culv_result_name(result), "unknown") != 0, "%s is %d", call, (int)result);
    FUZZ_REQUIRE(strcmp(e->message, forgotten) != 0, "%s is %s and recorded no error", call,
                 culv_result_name(result));
    FUZZ_REQUIRE(e->result == result, "%s is %s, but the last error is %s: %s", call,
                 culv_result_name(result), culv_result_name(e->result), e->message);
    FUZZ_REQUIRE(e->reason > CULV_REASON_NONE && e->reason < CULV_REASON_COUNT_,
                 "%s has reason %d: %s", call, (int)e->reason, e->message);
    FUZZ_REQUIRE(strlen(e->message) >= 15, "%s says \"%s\"", call, e->message);
    FUZZ_REQUIRE((e->native_api == CULV_NATIVE_NONE) == (e->native_call[0] == '\0'),
                 "%s: native_api %d, \"%s\"", call, (int)e->native_api, e->native_call);
    FUZZ_REQUIRE(result != CULV_ERROR_INTERNAL, "%s: %s", call, e->message);
    /* A fault of CUDA's device: every later input would fail for it. */
    FUZZ_REQUIRE(result != CULV_ERROR_ASYNC || e->native_api == CULV_NATIVE_VULKAN, "%s: %s", call,
                 e->message);
    return result;
}

/* Inputs --------------------------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* libFuzzer leaves arguments with two dashes alone. */
    for (int i = 1; argc != NULL && i < *argc; i++)
        fuzz_trace = fuzz_trace || strcmp((*argv)[i], "--trace") == 0;
    /* Vulkan drivers make files for exported memory: those that are too large fail, as on a full
     * machine, and before they cost anything. */
    struct rlimit limit;
    FUZZ_REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
    limit.rlim_cur = FUZZ_MOST_MEMORY;
    FUZZ_REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    atomic_store(&culvi_alloc_countdown, -1);
    fuzz_target_open();
    if (fuzz.device != NULL) find_controls();
    fuzz_set_baseline();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader reader = {.data = data, .left = size};
    injected = false;
    running.data = data;
    running.size = size;
    signal(SIGXFSZ, SIG_IGN); /* libFuzzer has a handler of its own by now */
    list_fds(baseline.fds);   /* the fuzzer opens files as it goes, too */
    fuzz_target_run(&reader);
    fuzz_disarm();
    require_baseline();
    running.data = NULL;
    return 0;
}
