/* SPDX-License-Identifier: MIT */
/* The world of the fuzz targets, and what must hold in it. */
#include "fuzz.h"
#include "control.h"

#include <cuda.h>
#include <culvert/device.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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
    memcpy(&cuda, found, sizeof cuda);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libVkLayer_culvert_soft.so", getenv("CULVERT_SOFT_PATH"));
    void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (module == NULL) return;
    void *symbols[] = {dlsym(module, "culvSoftVkCounts"), dlsym(module, "culvSoftVkFailAt"),
                       dlsym(module, "culvSoftVkFailedCall")};
    FUZZ_REQUIRE(symbols[0] != NULL && symbols[1] != NULL && symbols[2] != NULL,
                 "the layer has no controls");
    memcpy(&layer, symbols, sizeof layer);
}

void fuzz_set_baseline(void)
{
    count_alive(&baseline);
    FUZZ_REQUIRE(baseline.culvert.deferred == 0, "%" PRIu64 " deferred", baseline.culvert.deferred);
}

#define SAME(struct_, field)                                                                       \
    FUZZ_REQUIRE(now.struct_.field == baseline.struct_.field,                                      \
                 "%" PRIu64 " are alive, not %" PRIu64, now.struct_.field, baseline.struct_.field)

static void require_baseline(void)
{
    alive now;
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
    find_controls();
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

/* Descriptors in memory of just their size, labels, pNext chains and files. */

/* Lies before the struct, so that the end of the allocation is the struct's. */
typedef struct box {
    size_t known;     /* the struct's real size */
    size_t allocated; /* bytes of it that there are */
    size_t given;     /* what struct_size says */
    size_t unused;
} box;

_Static_assert(sizeof(box) % _Alignof(max_align_t) == 0, "structs behind it are aligned");

enum { PATTERN = 0xa5, LARGEST = 65536 };

static const box *box_of(const void *desc)
{
    return (const box *)desc - 1;
}

static void *box_new(fuzz_reader *r, size_t size)
{
    uint8_t how = fuzz_u8(r);
    size_t given = size;
    if (how >= 240) switch (how & 7) {
        case 0: given = fuzz_u8(r); break;
        case 1: given = size - 1 - fuzz_u8(r) % size; break;
        case 2: given = size + 1 + fuzz_u8(r); break;
        case 3: given = size - 8 * (fuzz_u8(r) % (size / 8)); break;
        case 4: given = (size_t)fuzz_bytes(r, 2); break;
        case 5: given = LARGEST + fuzz_u8(r) - 128; break;
        default: given = (size_t)fuzz_u64(r);
        }
    size_t bytes = given > LARGEST ? size : given < sizeof(size_t) ? sizeof(size_t) : given;
    box *b = malloc(sizeof *b + bytes);
    FUZZ_REQUIRE(b != NULL, "malloc");
    *b = (box){.known = size, .allocated = bytes, .given = given};
    return b + 1;
}

void *fuzz_box(fuzz_reader *r, const void *desc, size_t size)
{
    unsigned char *out = box_new(r, size);
    size_t bytes = box_of(out)->allocated;
    size_t given = box_of(out)->given;
    memset(out, 0, bytes);
    memcpy(out, desc, bytes < size ? bytes : size);
    memcpy(out, &given, sizeof given);
    /* A field of a later version. */
    if (bytes > size && fuzz_flag(r)) out[size + fuzz_bytes(r, 2) % (bytes - size)] = 1;
    return out;
}

void *fuzz_box_out(fuzz_reader *r, size_t size)
{
    unsigned char *out = box_new(r, size);
    size_t given = box_of(out)->given;
    memset(out, PATTERN, box_of(out)->allocated);
    memcpy(out, &given, sizeof given);
    return out;
}

void fuzz_require_untouched(const void *desc)
{
    const box *b = box_of(desc);
    const unsigned char *bytes = desc;
    FUZZ_REQUIRE(memcmp(bytes, &b->given, sizeof b->given) == 0,
                 "struct_size was written after an error");
    for (size_t i = sizeof b->given; i < b->allocated; i++)
        FUZZ_REQUIRE(bytes[i] == PATTERN, "byte %zu of %zu was written after an error", i,
                     b->allocated);
}

bool fuzz_box_whole(const void *desc)
{
    size_t given = box_of(desc)->given;
    return given >= box_of(desc)->known && given <= LARGEST && given % sizeof(size_t) == 0;
}

void fuzz_unbox(void *desc)
{
    free((box *)desc - 1);
}

const char *fuzz_label(fuzz_reader *r)
{
    static const char *const labels[] = {
        NULL,
        "",
        "fuzz",
        "%s%n%1000d",
        "\xff\xc3(",
        "a label that is much longer than the sixty-three bytes that are copied of it, and a good deal more"};
    return labels[fuzz_pick(r, sizeof labels / sizeof labels[0])];
}

/* A header, its offset once more, and then the memory. */
int fuzz_memory_file(uint64_t size)
{
    const uint64_t header[] = {4096 + 40 + size, 4096};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, (off_t)header[0]) == 0, "a file of %llu bytes",
                 (unsigned long long)size);
    ssize_t n = pwrite(fd, header, sizeof header, 0);
    if (n == (ssize_t)sizeof header) n = pwrite(fd, &header[1], sizeof header[1], 4096 - 8);
    FUZZ_REQUIRE(n == (ssize_t)sizeof header[1], "pwrite");
    return fd;
}

void *fuzz_chain_alloc(fuzz_chain *chain, size_t size)
{
    FUZZ_REQUIRE(chain->count < sizeof chain->pieces / sizeof chain->pieces[0],
                 "the chain is full");
    void *piece = calloc(1, size);
    FUZZ_REQUIRE(piece != NULL, "calloc");
    chain->pieces[chain->count++] = piece;
    return piece;
}

void fuzz_chain_free(fuzz_chain *chain)
{
    while (chain->count > 0)
        free(chain->pieces[--chain->count]);
}

const void *fuzz_chain_find(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        if (s->sType == type) return s;
    return NULL;
}

/* What an input shows of a real driver and is no failure: counted and told. */

enum { MOST_NOTES = 8 };

static struct {
    const char *name;
    unsigned count;
    char first[512];
} notes[MOST_NOTES];

unsigned fuzz_note(const char *name, const char *format, ...)
{
    unsigned i = 0;
    while (i < MOST_NOTES && notes[i].name != NULL && strcmp(notes[i].name, name) != 0)
        i++;
    FUZZ_REQUIRE(i < MOST_NOTES, "more than %d notes", MOST_NOTES);
    if (notes[i].name == NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(notes[i].first, sizeof notes[i].first, format, args);
        va_end(args);
        notes[i].name = name;
    }
    return ++notes[i].count;
}

void fuzz_each_note(void (*tell)(const char *name, unsigned count, const char *first))
{
    for (unsigned i = 0; i < MOST_NOTES && notes[i].name != NULL; i++)
        tell(notes[i].name, notes[i].count, notes[i].first);
}

/* VkBufferCreateInfo and VkImageCreateInfo of all sorts, with their chains. */

/* Where Vulkan ignores a pointer, nobody may follow it. */
#define IGNORED ((const uint32_t *)(uintptr_t)0x1000u)

VkFormat fuzz_format(fuzz_reader *r, VkFormat usual)
{
#define ROW(name, number) number,
    static const uint32_t formats[] = {CULV_FORMATS(ROW)};
#undef ROW
    uint8_t how = fuzz_u8(r);
    if (how < 96) return usual;
    if (how < 240)
        return (VkFormat)formats[fuzz_bytes(r, 2) % (sizeof formats / sizeof formats[0])];
    return (VkFormat)fuzz_value32(r, (uint32_t)usual);
}

static void *extend(fuzz_chain *chain, const void **head, int type, size_t size)
{
    VkBaseOutStructure *s = fuzz_chain_alloc(chain, size);
    s->sType = (VkStructureType)type;
    s->pNext = (VkBaseOutStructure *)(uintptr_t)*head;
    *head = s;
    return s;
}

#define EXTEND(type, stype) ((type *)extend(chain, head, (stype), sizeof(type)))

static void families(fuzz_reader *r, fuzz_chain *chain, VkSharingMode *mode, uint32_t *count,
                     const uint32_t **indices)
{
    uint8_t how = fuzz_u8(r);
    *mode = VK_SHARING_MODE_EXCLUSIVE;
    if (how < 192) {
        if (how & 1) {
            *count = fuzz_u8(r);
            *indices = IGNORED;
        }
        return;
    }
    *mode = how < 252 ? VK_SHARING_MODE_CONCURRENT : (VkSharingMode)fuzz_value32(r, 2);
    *count = fuzz_pick(r, 5);
    uint32_t *list = fuzz_chain_alloc(chain, *count != 0 ? *count * sizeof *list : 1);
    for (uint32_t i = 0; i < *count; i++)
        list[i] = fuzz_rarely(r, 16) ? fuzz_value32(r, VK_QUEUE_FAMILY_EXTERNAL) : fuzz_pick(r, 4);
    *indices = fuzz_rarely(r, 16) ? NULL : list;
}

/* A struct of some extension that means nothing here, or a header's alone that nobody knows. */
static void extend_strange(fuzz_reader *r, fuzz_chain *chain, const void **head)
{
    int type = fuzz_flag(r) ? 1000470006 /* VkBufferUsageFlags2CreateInfo */
                            : (int)fuzz_value32(r, 1000999000);
    /* As long as any struct, so that who mistakes it for one stays inside. */
    (void)extend(chain, head, type, 256);
}

static VkExternalMemoryHandleTypeFlags handle_types(fuzz_reader *r)
{
    return fuzz_bits(r, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
}

static void extend_buffer(fuzz_reader *r, fuzz_chain *chain, const void **head)
{
    switch (fuzz_pick(r, 4)) {
    case 0:
        EXTEND(VkExternalMemoryBufferCreateInfo,
               VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO)
            ->handleTypes = handle_types(r);
        break;
    case 1:
        EXTEND(VkBufferOpaqueCaptureAddressCreateInfo,
               VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO)
            ->opaqueCaptureAddress = fuzz_value(r, 0);
        break;
    case 2:
        EXTEND(VkDedicatedAllocationBufferCreateInfoNV,
               VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV)
            ->dedicatedAllocation = fuzz_pick(r, 2);
        break;
    default: extend_strange(r, chain, head);
    }
}

void fuzz_buffer_info(fuzz_reader *r, fuzz_chain *chain, VkBufferCreateInfo *out)
{
    const void *head = NULL;
    memset(out, 0, sizeof *out);
    out->sType = fuzz_rarely(r, 64) ? (VkStructureType)fuzz_value32(r, 0)
                                    : VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    out->size = fuzz_value(r, 65536);
    out->usage =
        fuzz_bits(r, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                         VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    out->flags = fuzz_bits(r, 0);
    families(r, chain, &out->sharingMode, &out->queueFamilyIndexCount, &out->pQueueFamilyIndices);
    for (uint8_t more = fuzz_u8(r); more >= 160 && chain->count < 16; more = fuzz_u8(r))
        extend_buffer(r, chain, &head);
    out->pNext = head;
}

static void extend_image(fuzz_reader *r, fuzz_chain *chain, const void **head, VkFormat format)
{
    switch (fuzz_pick(r, 7)) {
    case 0:
    case 1:
        EXTEND(VkExternalMemoryImageCreateInfo, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO)
            ->handleTypes = handle_types(r);
        break;
    case 2: {
        VkImageFormatListCreateInfo *list =
            EXTEND(VkImageFormatListCreateInfo, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
        uint32_t count = fuzz_pick(r, 10);
        VkFormat *formats = fuzz_chain_alloc(chain, count != 0 ? count * sizeof *formats : 1);
        for (uint32_t i = 0; i < count; i++)
            formats[i] = fuzz_format(r, format);
        list->viewFormatCount = count;
        list->pViewFormats = count == 0 ? NULL : formats;
        break;
    }
    case 3:
        EXTEND(VkImageStencilUsageCreateInfo, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO)
            ->stencilUsage = fuzz_bits(r, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        break;
    case 4:
        EXTEND(VkDedicatedAllocationImageCreateInfoNV,
               VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV)
            ->dedicatedAllocation = fuzz_pick(r, 2);
        break;
    case 5: {
        VkImageDrmFormatModifierListCreateInfoEXT *list =
            EXTEND(VkImageDrmFormatModifierListCreateInfoEXT,
                   VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);
        uint64_t *modifiers = fuzz_chain_alloc(chain, sizeof *modifiers);
        *modifiers = fuzz_value(r, 0);
        list->drmFormatModifierCount = 1;
        list->pDrmFormatModifiers = modifiers;
        break;
    }
    default: extend_strange(r, chain, head);
    }
}

uint32_t fuzz_planes(VkFormat format)
{
    culv_format_info f = culv_format_info_init();
    return culv_format_get_info((culv_format)format, &f) == CULV_OK ? f.planes : 1;
}

void fuzz_image_info(fuzz_reader *r, fuzz_chain *chain, VkImageCreateInfo *out)
{
    const void *head = NULL;
    static const uint32_t samples[] = {1, 1, 1, 1, 1, 1, 2, 4, 8, 64, 0, 3};
    memset(out, 0, sizeof *out);
    out->sType = fuzz_rarely(r, 64) ? (VkStructureType)fuzz_value32(r, 0)
                                    : VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    out->format = fuzz_format(r, VK_FORMAT_R8G8B8A8_UNORM);
    /* 2D for the byte 0. */
    out->imageType = (VkImageType)((fuzz_enum(r, 3) + 1) % 3 == 1 ? 1 : fuzz_enum(r, 3));
    out->extent.width = fuzz_value32(r, 64);
    out->extent.height = out->imageType == VK_IMAGE_TYPE_1D ? fuzz_value32(r, 1)
                                                            : fuzz_value32(r, out->extent.width);
    out->extent.depth = fuzz_value32(r, out->imageType == VK_IMAGE_TYPE_3D ? 4 : 1);
    out->mipLevels = fuzz_value32(r, 1);
    out->arrayLayers = fuzz_value32(r, 1);
    out->samples = (VkSampleCountFlagBits)samples[fuzz_pick(r, sizeof samples / sizeof samples[0])];
    out->tiling = (VkImageTiling)(fuzz_rarely(r, 3) ? fuzz_enum(r, 3) : VK_IMAGE_TILING_OPTIMAL);
    out->usage =
        fuzz_bits(r, VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                         VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    out->flags = fuzz_bits(r, 0);
    if (fuzz_planes(out->format) > 1 && !fuzz_rarely(r, 4))
        out->flags |= VK_IMAGE_CREATE_DISJOINT_BIT;
    if (fuzz_rarely(r, 4)) {
        out->flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
        out->arrayLayers *= 6;
    }
    families(r, chain, &out->sharingMode, &out->queueFamilyIndexCount, &out->pQueueFamilyIndices);
    out->initialLayout =
        (VkImageLayout)(fuzz_rarely(r, 32) ? fuzz_value32(r, VK_IMAGE_LAYOUT_PREINITIALIZED)
                                           : VK_IMAGE_LAYOUT_UNDEFINED);
    for (uint8_t more = fuzz_u8(r); more >= 160 && chain->count < 16; more = fuzz_u8(r))
        extend_image(r, chain, &head, out->format);
    out->pNext = head;
}

const char *fuzz_describe_image(const VkImageCreateInfo *info)
{
    static char text[512];
    int at = snprintf(
        text, sizeof text,
        "format %d, imageType %d, %u x %u x %u, %u levels, %u layers, %d samples, tiling %d, usage %#x, flags %#x, sharingMode %d, initialLayout %d, pNext:",
        (int)info->format, (int)info->imageType, info->extent.width, info->extent.height,
        info->extent.depth, info->mipLevels, info->arrayLayers, (int)info->samples,
        (int)info->tiling, info->usage, info->flags, (int)info->sharingMode,
        (int)info->initialLayout);
    for (const VkBaseInStructure *s = info->pNext; s != NULL && at > 0 && at < (int)sizeof text;
         s = s->pNext)
        at += snprintf(text + at, sizeof text - (size_t)at, " %d", (int)s->sType);
    return text;
}
