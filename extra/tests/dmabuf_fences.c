/* SPDX-License-Identifier: MIT */
/* The fences that are kept in a dma-buf. A memfd keeps none: the kernel's answers are played here,
 * and so are Vulkan's semaphores of SYNC_FD, which lavapipe of Mesa 22 and 25 lacks. */
#define TEST_GROUP "dmabuf_fences."
#include "dmabuf_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const dmabuf_rows rows = {61, 33, 4, 64, 512};

/* linux/dma-buf.h */
typedef struct sync_file {
    uint32_t flags;
    int32_t fd;
} sync_file;
#define EXPORT _IOWR('b', 2, sync_file)
#define IMPORT _IOW('b', 3, sync_file)

/* The kernel, of this process. */
static struct {
    bool plays;
    int error;                 /* of both ioctls */
    unsigned exports, imports; /* of dma-bufs that succeeded */
    uint32_t flags;            /* of the last one */
    int not_ready;             /* so many polls say so; -1: all */
    int poll_error;            /* then this */
    short poll_events;         /* of the last one */
} kernel;

int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (!kernel.plays || (request != EXPORT && request != IMPORT))
        return (int)syscall(SYS_ioctl, fd, request, argument);
    sync_file *file = argument;
    if (kernel.error != 0) {
        errno = kernel.error;
        return -1;
    }
    kernel.flags = file->flags;
    if (request == EXPORT) {
        kernel.exports++;
        file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* some file of its own */
        return file->fd >= 0 ? 0 : -1;
    }
    REQUIRE(fcntl(file->fd, F_GETFD) >= 0);
    kernel.imports++;
    return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (kernel.plays && count == 1) {
        const struct pollfd *volatile asked = fds; /* glibc says that it is only written */
        kernel.poll_events = asked->events;
        if (kernel.not_ready != 0) {
            if (kernel.not_ready > 0) kernel.not_ready--;
            fds[0].revents = 0;
            return 0;
        }
        if (kernel.poll_error != 0) {
            errno = kernel.poll_error;
            return -1;
        }
    }
    struct timespec wait = {timeout / 1000, timeout % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, fds, count, timeout >= 0 ? &wait : NULL, NULL, 0);
}

/* Vulkan's semaphores. */
static struct {
    VkExternalSemaphoreFeatureFlags features;
    VkResult result; /* of both calls */
    bool signaled;   /* an export has no fence any more */
    unsigned taken;
} vulkan;

static VKAPI_ATTR VkResult VKAPI_CALL take(VkDevice device, const VkImportSemaphoreFdInfoKHR *info)
{
    (void)device;
    REQUIRE_EQ(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT);
    REQUIRE_EQ(info->flags, VK_SEMAPHORE_IMPORT_TEMPORARY_BIT);
    if (vulkan.result != VK_SUCCESS) return vulkan.result;
    vulkan.taken++;
    REQUIRE(close(info->fd) == 0);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL give(VkDevice device, const VkSemaphoreGetFdInfoKHR *info,
                                           int *fd)
{
    if (info->handleType != VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT)
        return vkGetSemaphoreFdKHR(device, info, fd);
    if (vulkan.result != VK_SUCCESS) return vulkan.result;
    *fd = vulkan.signaled ? -1 : open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL tell(VkPhysicalDevice device,
                                       const VkPhysicalDeviceExternalSemaphoreInfo *info,
                                       VkExternalSemaphoreProperties *out)
{
    vkGetPhysicalDeviceExternalSemaphoreProperties(device, info, out);
    if (info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT)
        out->externalSemaphoreFeatures = vulkan.features;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    if (strcmp(name, "vkImportSemaphoreFdKHR") == 0) return (PFN_vkVoidFunction)take;
    if (strcmp(name, "vkGetSemaphoreFdKHR") == 0) return (PFN_vkVoidFunction)give;
    return vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL loader(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)device_proc;
    if (strcmp(name, "vkGetPhysicalDeviceExternalSemaphoreProperties") == 0)
        return (PFN_vkVoidFunction)tell;
    return vkGetInstanceProcAddr(instance, name);
}

typedef struct scene {
    dmabuf_stage s;
    dmabuf_file file;
    culv_vk_dma_buf_bridge *in, *out;
    VkSemaphore semaphore;
    size_t fds;
} scene;

static void open_scene(scene *x)
{
    lib_world *w = &x->s.w;
    memset(&kernel, 0, sizeof kernel);
    memset(&vulkan, 0, sizeof vulkan);
    vulkan.features =
        VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
    dmabuf_open_by(w, loader);
    x->s.stream = lib_stream(w);
    x->file = dmabuf_file_make(&rows, 0);
    culv_vk_dma_buf_desc d = dmabuf_describe(x->file.fd, DRM_XR24, &rows);
    LIB_OK(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &x->in));
    d.direction = CULV_VK_DMA_BUF_OUT;
    LIB_OK(culv_vk_dma_buf_bridge_create(w->device, w->attachment, &d, &x->out));
    x->semaphore = raw_vk_binary(&w->vk, false);
    x->fds = test_open_fds();
    kernel.plays = true;
}

static void close_scene(scene *x)
{
    REQUIRE_EQ(test_open_fds(), x->fds);
    kernel.plays = false;
    raw_vk_semaphore_destroy(&x->s.w.vk, x->semaphore);
    culv_vk_dma_buf_bridge_destroy(&x->in);
    culv_vk_dma_buf_bridge_destroy(&x->out);
    dmabuf_file_done(&x->file);
    dmabuf_close(&x->s);
}

#define SCENE_CASE(...) TEST_ON(scene, x, open_scene(x), close_scene(x), __VA_ARGS__)

enum { READ = 1, WRITE = 2 };

/* A reader waits for writers and leaves a reader's fence; a writer waits for all. */
SCENE_CASE(carried, .own = true)
{
    LIB_OK(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 0));
    REQUIRE_EQ(kernel.flags, READ);
    LIB_OK(culv_vk_dma_buf_bridge_move_fence(x->out, x->semaphore, 0));
    REQUIRE_EQ(kernel.flags, READ | WRITE);
    REQUIRE_EQ(kernel.exports, 2);
    REQUIRE_EQ(vulkan.taken, 2);
    LIB_OK(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 1));
    REQUIRE_EQ(kernel.flags, READ);
    LIB_OK(culv_vk_dma_buf_bridge_move_fence(x->out, x->semaphore, 1));
    REQUIRE_EQ(kernel.flags, WRITE);
    REQUIRE_EQ(kernel.imports, 2);
    vulkan.signaled = true; /* nobody has to wait, so there is nothing to leave */
    LIB_OK(culv_vk_dma_buf_bridge_move_fence(x->out, x->semaphore, 1));
    REQUIRE_EQ(kernel.imports, 2);
}

SCENE_CASE(refused, .own = true)
{
    static const struct {
        int error;
        culv_result result;
    } errors[] = {{ENOTTY, CULV_ERROR_UNSUPPORTED},
                  {EINVAL, CULV_ERROR_UNSUPPORTED},
                  {ENOSYS, CULV_ERROR_UNSUPPORTED},
                  {EMFILE, CULV_ERROR_INVALID},
                  {ENOMEM, CULV_ERROR_DRIVER}};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        kernel.error = errors[i].error;
        LIB_FAILS(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 0), errors[i].result,
                  CULV_REASON_OS);
        LIB_FAILS(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 1), errors[i].result,
                  CULV_REASON_OS);
        REQUIRE_EQ(test_open_fds(), x->fds);
    }
    kernel.error = 0;
    vulkan.result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    LIB_ERROR(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 0), DRIVER, HANDLE_REFUSED);
    LIB_INVALID(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 1), NOT_EXPORTABLE);
    vulkan.result = VK_SUCCESS;
    vulkan.features = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
    LIB_ERROR(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 0), UNSUPPORTED,
              EXTENSION_MISSING);
    LIB_OK(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 1));
    vulkan.features = VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
    LIB_ERROR(culv_vk_dma_buf_bridge_move_fence(x->in, x->semaphore, 1), UNSUPPORTED,
              EXTENSION_MISSING);
}

static culv_result waits(culv_vk_dma_buf_bridge *bridge, uint64_t timeout)
{
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    return culv_vk_dma_buf_bridge_next(bridge, &timeout, &turn);
}

SCENE_CASE(waited, .own = true)
{
    culv_vk_dma_buf_turn turn = culv_vk_dma_buf_turn_init();
    LIB_OK(waits(x->in, 0));
    REQUIRE_EQ(kernel.poll_events, POLLIN);
    LIB_OK(waits(x->out, 1));
    REQUIRE_EQ(kernel.poll_events, POLLOUT);
    kernel.not_ready = 3; /* wakes up for nothing */
    LIB_OK(waits(x->in, UINT64_MAX));
    REQUIRE_EQ(kernel.not_ready, 0);
    kernel.not_ready = -1;
    LIB_ERROR(waits(x->in, 0), TIMEOUT, NOT_READY);
    LIB_ERROR(waits(x->in, 2000001), TIMEOUT, NOT_READY);
    kernel.not_ready = 0;
    kernel.poll_error = ENOMEM;
    LIB_ERROR(waits(x->in, 0), DRIVER, OS);
    LIB_OK(culv_vk_dma_buf_bridge_next(x->in, NULL, &turn)); /* nobody is asked */
    REQUIRE_EQ(turn.signal_value, 5);                        /* a failed wait begins no frame */
    kernel.poll_error = 0;
}

/* What a memfd and this machine say by themselves. */
DMABUF_CASE(not_here, .own = true)
{
    dmabuf_file file = dmabuf_file_make(&rows, 0);
    const culv_vk_dma_buf_desc d = dmabuf_describe(file.fd, DRM_XR24, &rows);
    culv_vk_dma_buf_bridge *bridge = NULL;
    VkSemaphore semaphore = raw_vk_binary(&s->w.vk, false);
    LIB_OK(culv_vk_dma_buf_bridge_create(s->w.device, s->w.attachment, &d, &bridge));
    lib_forget_error();
    REQUIRE_EQ(culv_vk_dma_buf_bridge_move_fence(bridge, semaphore, 0), CULV_ERROR_UNSUPPORTED);
    raw_vk_semaphore_destroy(&s->w.vk, semaphore);
    culv_vk_dma_buf_bridge_destroy(&bridge);
    dmabuf_file_done(&file);
}
