/* SPDX-License-Identifier: MIT */
/* The fences that others and we leave in a dma-buf (implicit synchronization). */
#include "dma_buf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
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

uint64_t culvi_dma_buf_size(int fd)
{
    struct stat file; /* a file, not a dma-buf, has an offset to leave alone */
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) return (uint64_t)file.st_size;
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end <= 0) return UINT64_MAX;
    (void)lseek(fd, 0, SEEK_SET);
    return (uint64_t)end;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

culv_result culvi_dma_buf_wait(const culv_vk_dma_buf_bridge *b, uint64_t timeout)
{
    const uint64_t ms = timeout / 1000000 + (timeout % 1000000 != 0), begin = now_ms();
    /* A reader waits for the writers; a writer for all. */
    struct pollfd p = {.fd = b->info.handle.value.fd,
                       .events = b->d.direction == CULV_VK_DMA_BUF_IN ? POLLIN : POLLOUT};
    for (;;) {
        const uint64_t passed = now_ms() - begin, left = ms > passed ? ms - passed : 0;
        const int n = poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);
        if (n > 0 && (p.revents & p.events) != 0) return CULV_OK;
        if (n > 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return culvi_x_fail_os(b->device, b->label, CULV_ERROR_DRIVER, n > 0 ? EIO : errno,
                                   "poll", "the dma-buf does not tell when the others are done");
        CULVI_DMA_BUF_FAIL_IF(
            left == 0, b, TIMEOUT, NOT_READY,
            "the others are not done with the dma-buf yet; wait longer, or show the frame before");
    }
}

static culv_result fail_ioctl(const culv_vk_dma_buf_bridge *b, const char *name)
{
    const int error = errno;
    if (error == ENOTTY || error == EINVAL || error == ENOSYS)
        return culvi_x_fail_os(
            b->device, b->label, CULV_ERROR_UNSUPPORTED, error, name,
            "the kernel hands no fences of this dma-buf out: it is older than Linux 6.0, or the file is no dma-buf; wait by culv_vk_dma_buf_bridge_next(), and wait for Vulkan on the CPU before the others may go on");
    return error == EMFILE || error == ENFILE
               ? culvi_x_fail_os(b->device, b->label, CULV_ERROR_INVALID, error, name,
                                 "the process has no file descriptor left")
               : culvi_x_fail_os(b->device, b->label, CULV_ERROR_DRIVER, error, name,
                                 "the fences stayed where they are");
}

/* Whether binary semaphores can be made of and become such fences. */
static culv_result check_semaphores(const culv_vk_dma_buf_bridge *b, bool import, bool function)
{
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT};
    VkExternalSemaphoreProperties has = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    CULVI_X_VKI(&b->vk, vkGetPhysicalDeviceExternalSemaphoreProperties)
    (b->vk.d.physical_device, &info, &has);
    const VkExternalSemaphoreFeatureFlags wanted =
        import ? VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT
               : VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
    if (function && (has.externalSemaphoreFeatures & wanted) != 0) return CULV_OK;
    return CULVI_DMA_BUF_FAIL(b, UNSUPPORTED, EXTENSION_MISSING,
                              "semaphores of '%s' %s SYNC_FD here; wait on the CPU instead",
                              culvi_x_vk_name(&b->vk).text, import ? "take no" : "give no");
}

static culv_result from_dma_buf(const culv_vk_dma_buf_bridge *b, VkSemaphore semaphore)
{
    const PFN_vkImportSemaphoreFdKHR import = CULVI_X_VK(&b->vk, vkImportSemaphoreFdKHR);
    CULVI_X_TRY(check_semaphores(b, true, import != NULL));
    sync_file file = {.flags =
                          b->d.direction == CULV_VK_DMA_BUF_IN ? SYNC_READ : SYNC_READ | SYNC_WRITE,
                      .fd = -1};
    if (ioctl(b->info.handle.value.fd, EXPORT, &file) != 0)
        return fail_ioctl(b, "DMA_BUF_IOCTL_EXPORT_SYNC_FILE");
    const VkImportSemaphoreFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
        .semaphore = semaphore,
        .flags = VK_SEMAPHORE_IMPORT_TEMPORARY_BIT, /* what SYNC_FD has only */
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
        .fd = file.fd};
    const VkResult r = import(b->vk.d.device, &info);
    if (r == VK_SUCCESS) return CULV_OK; /* the fd is the driver's now */
    close(file.fd);
    return culvi_x_vk_result(&b->vk, b->label, r, "vkImportSemaphoreFdKHR",
                             CULV_REASON_HANDLE_REFUSED,
                             "the fences of the dma-buf could not be given to the semaphore");
}

static culv_result to_dma_buf(const culv_vk_dma_buf_bridge *b, VkSemaphore semaphore)
{
    const PFN_vkGetSemaphoreFdKHR export = CULVI_X_VK(&b->vk, vkGetSemaphoreFdKHR);
    culv_handle left;
    culv_result result = check_semaphores(b, false, export != NULL);
    if (result == CULV_OK) /* the driver does not say that no file descriptor is left */
        result = culv_handle_dup(&b->info.handle, &left);
    if (result != CULV_OK) return result;
    culv_handle_close(&left);
    const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = semaphore,
                                          .handleType =
                                              VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT};
    sync_file file = {.flags = b->d.direction == CULV_VK_DMA_BUF_IN ? SYNC_READ : SYNC_WRITE,
                      .fd = -1};
    const VkResult r = export(b->vk.d.device, &info, &file.fd);
    CULVI_X_TRY(culvi_x_vk_result(
        &b->vk, b->label, r, "vkGetSemaphoreFdKHR", CULV_REASON_NOT_EXPORTABLE,
        "the semaphore's fence could not be exported; create it with VkExportSemaphoreCreateInfo, handleTypes SYNC_FD"));
    if (file.fd < 0) return CULV_OK; /* it has been signaled: nobody has to wait */
    if (ioctl(b->info.handle.value.fd, IMPORT, &file) != 0)
        result = fail_ioctl(b, "DMA_BUF_IOCTL_IMPORT_SYNC_FILE");
    close(file.fd);
    return result;
}

culv_result culv_vk_dma_buf_bridge_move_fence(culv_vk_dma_buf_bridge *bridge, VkSemaphore semaphore,
                                              culv_bool to_others)
{
    CULVI_X_REQUIRE(NULL, bridge);
    if (semaphore == VK_NULL_HANDLE)
        return culvi_x_fail_null(bridge->device, __func__, "semaphore");
    return to_others ? to_dma_buf(bridge, semaphore) : from_dma_buf(bridge, semaphore);
}
