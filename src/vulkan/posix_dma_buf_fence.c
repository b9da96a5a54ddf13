/* SPDX-License-Identifier: MIT */
/* The fences that others and we leave in a dma-buf (implicit synchronization). */
#include "vulkan/vk_dma_buf.h"
#include "vulkan/vk_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* linux/dma-buf.h: older headers lack them. */
typedef struct sync_file {
    uint32_t flags;
    int32_t fd;
} sync_file;
#define SYNC_READ  1u
#define SYNC_WRITE 2u
#define EXPORT     _IOWR('b', 2, sync_file)
#define IMPORT     _IOW('b', 3, sync_file)

uint64_t culvi_dma_buf_size(const culv_handle *handle, const culvi_handle_facts *facts)
{
    if (facts->reopens) return facts->size_limit; /* a file, which has an offset to leave alone */
    const off_t end = lseek(handle->value.fd, 0, SEEK_END);
    if (end <= 0) return UINT64_MAX;
    (void)lseek(handle->value.fd, 0, SEEK_SET);
    return (uint64_t)end;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

culv_result culv_vk_dma_buf_bridge_wait(culv_vk_dma_buf_bridge *bridge, uint64_t timeout)
{
    CULVI_REQUIRE(NULL, bridge);
    const uint64_t ms = timeout / 1000000 + (timeout % 1000000 != 0), begin = now_ms();
    /* A reader waits for the writers; a writer for all. */
    struct pollfd p = {.fd = bridge->handle.value.fd,
                       .events = bridge->direction == CULV_VK_DMA_BUF_IN ? POLLIN : POLLOUT};
    for (;;) {
        const uint64_t passed = now_ms() - begin, left = ms > passed ? ms - passed : 0;
        const int n = poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);
        if (n > 0 && (p.revents & p.events) != 0) return CULV_OK;
        if (n > 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return culvi_fail_native(&bridge->vk->base.device->voice, bridge->label,
                                     CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_OS,
                                     n > 0 ? EIO : errno, "poll",
                                     "the dma-buf does not tell when the others are done");
        if (left == 0)
            return culvi_fail(&bridge->vk->base.device->voice, bridge->label, CULV_ERROR_TIMEOUT,
                              CULV_REASON_NOT_READY,
                              "the others are not done with the dma-buf yet; wait longer, or show "
                              "the frame before");
    }
}

static culv_result fail_ioctl(const culv_vk_dma_buf_bridge *b, const char *name)
{
    const int error = errno;
    const culvi_voice *voice = &b->vk->base.device->voice;
    if (error == ENOTTY || error == EINVAL || error == ENOSYS)
        return culvi_fail_native(
            voice, b->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_OS, CULV_NATIVE_OS, error, name,
            "the kernel hands no fences of this dma-buf out: it is older than Linux 6.0, or the "
            "file is no dma-buf; use culv_vk_dma_buf_bridge_wait(), and wait for Vulkan on the CPU "
            "before the others may go on");
    const bool full = error == EMFILE || error == ENFILE;
    return culvi_fail_native(voice, b->label, full ? CULV_ERROR_INVALID : CULV_ERROR_DRIVER,
                             CULV_REASON_OS, CULV_NATIVE_OS, error, name, "%s failed%s", name,
                             full ? ": the process has no file descriptor left" : "");
}

/* Whether binary semaphores can be made of and become such fences. */
static culv_result check_semaphores(const culv_vk_device *vk, const char *label, bool import)
{
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT};
    VkExternalSemaphoreProperties has = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceExternalSemaphoreProperties,
                 (vk->physical_device, &info, &has));
    const VkExternalSemaphoreFeatureFlags wanted =
        import ? VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT
               : VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
    const bool function =
        import ? vk->table.vkImportSemaphoreFdKHR != NULL : vk->table.vkGetSemaphoreFdKHR != NULL;
    if (function && (has.externalSemaphoreFeatures & wanted) != 0) return CULV_OK;
    return culvi_fail(&vk->base.device->voice, label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_EXTENSION_MISSING,
                      "semaphores of '%s' %s SYNC_FD here; wait on the CPU instead", vk->base.name,
                      import ? "take no" : "give no");
}

culv_result culv_vk_dma_buf_bridge_import_fence(culv_vk_dma_buf_bridge *bridge,
                                                VkSemaphore semaphore)
{
    CULVI_REQUIRE(NULL, bridge);
    culv_vk_device *vk = bridge->vk;
    const culvi_voice *voice = &vk->base.device->voice;
    if (semaphore == VK_NULL_HANDLE) return culvi_fail_null(voice, __func__, "semaphore");
    culv_result result = check_semaphores(vk, bridge->label, true);
    if (result != CULV_OK) return result;
    sync_file file = {.flags = bridge->direction == CULV_VK_DMA_BUF_IN ? SYNC_READ
                                                                       : SYNC_READ | SYNC_WRITE,
                      .fd = -1};
    if (ioctl(bridge->handle.value.fd, EXPORT, &file) != 0)
        return fail_ioctl(bridge, "DMA_BUF_IOCTL_EXPORT_SYNC_FILE");
    const VkImportSemaphoreFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
        .semaphore = semaphore,
        .flags = VK_SEMAPHORE_IMPORT_TEMPORARY_BIT, /* what SYNC_FD has only */
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
        .fd = file.fd};
    VkResult r = CULVI_VK(vk, vkImportSemaphoreFdKHR, (vk->vk_device, &info));
    if (r == VK_SUCCESS) return CULV_OK; /* the fd is the driver's now */
    close(file.fd);
    return culvi_fail_vk(voice, bridge->label, r, "vkImportSemaphoreFdKHR",
                         CULV_REASON_HANDLE_REFUSED,
                         "the fences of the dma-buf could not be given to the semaphore");
}

culv_result culv_vk_dma_buf_bridge_export_fence(culv_vk_dma_buf_bridge *bridge,
                                                VkSemaphore semaphore)
{
    CULVI_REQUIRE(NULL, bridge);
    culv_vk_device *vk = bridge->vk;
    const culvi_voice *voice = &vk->base.device->voice;
    if (semaphore == VK_NULL_HANDLE) return culvi_fail_null(voice, __func__, "semaphore");
    culv_result result = check_semaphores(vk, bridge->label, false);
    if (result != CULV_OK) return result;
    const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = semaphore,
                                          .handleType =
                                              VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT};
    sync_file file = {.flags = bridge->direction == CULV_VK_DMA_BUF_IN ? SYNC_READ : SYNC_WRITE,
                      .fd = -1};
    VkResult r = CULVI_VK(vk, vkGetSemaphoreFdKHR, (vk->vk_device, &info, &file.fd));
    if (r != VK_SUCCESS) {
        result = culvi_handle_check_left(voice, bridge->label, "vkGetSemaphoreFdKHR", "semaphore");
        return result != CULV_OK
                   ? result
                   : culvi_fail_vk(voice, bridge->label, r, "vkGetSemaphoreFdKHR",
                                   CULV_REASON_NOT_EXPORTABLE,
                                   "the semaphore's fence could not be exported; create it with "
                                   "VkExportSemaphoreCreateInfo, handleTypes SYNC_FD");
    }
    if (file.fd < 0) return CULV_OK; /* it has been signaled: nobody has to wait */
    result = ioctl(bridge->handle.value.fd, IMPORT, &file) == 0
                 ? CULV_OK
                 : fail_ioctl(bridge, "DMA_BUF_IOCTL_IMPORT_SYNC_FILE");
    close(file.fd);
    return result;
}
