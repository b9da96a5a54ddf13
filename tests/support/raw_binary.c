/* SPDX-License-Identifier: MIT */
/* Binary semaphores with their partner in Vulkan. See raw_binary.h. */
#include "raw_binary.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

VkExternalSemaphoreProperties raw_binary_properties(const raw_vk *vk)
{
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(vk->physical, &info, &properties);
    return properties;
}

void raw_binary_create(raw_vk *vk, const raw_cuda *cu, raw_binary *out)
{
    VkExternalSemaphoreFeatureFlags features = raw_binary_properties(vk).externalSemaphoreFeatures;
    if (!(features & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT))
        SKIP("this Vulkan driver exports no binary semaphore as an opaque fd");
    *out = (raw_binary){.vk = raw_vk_binary(vk, true), .peer = -1};
}

void raw_binary_create_played(const raw_cuda *cu, const uint8_t uuid[16], raw_binary *out)
{
    *out = (raw_binary){.vk = VK_NULL_HANDLE, .peer = -1};
    REQUIRE(cu->SoftBinaryCreate != NULL);
    REQUIRE_EQ(cu->SoftBinaryCreate(uuid, &out->peer), 0);
}

int raw_binary_fd(raw_vk *vk, const raw_binary *binary)
{
    if (binary->vk != VK_NULL_HANDLE) return raw_vk_semaphore_fd(vk, binary->vk);
    int fd = fcntl(binary->peer, F_DUPFD_CLOEXEC, 0);
    REQUIRE(fd >= 0);
    return fd;
}

void raw_binary_destroy(raw_vk *vk, raw_binary *binary)
{
    if (binary->vk != VK_NULL_HANDLE) {
        raw_vk_idle(vk); /* the submissions that name it are over, and known to be */
        raw_vk_semaphore_destroy(vk, binary->vk);
    } else
        close(binary->peer);
    *binary = (raw_binary){.vk = VK_NULL_HANDLE, .peer = -1};
}

static bool played(const raw_binary *binary)
{
    return binary != NULL && binary->peer >= 0;
}

const raw_vk_job *raw_binary_turn_begin(const raw_cuda *cu, raw_binary_turn *turn)
{
    turn->job = (raw_vk_job){.queue = turn->queue};
    if (turn->wait != NULL) turn->job.wait = turn->wait->vk;
    if (turn->signal != NULL) turn->job.signal = turn->signal->vk;
    turn->job.pending = true;
    return &turn->job;
}

void raw_binary_signal(raw_vk *vk, const raw_cuda *cu, const raw_binary *binary)
{
    if (played(binary))
        REQUIRE_EQ(cu->SoftBinarySignal(binary->peer), 0);
    else
        raw_vk_submit(vk, raw_vk_begin(vk, 0),
                      &(raw_vk_job){.signal = binary->vk, .pending = true});
}

bool raw_binary_wait(raw_vk *vk, const raw_cuda *cu, const raw_binary *binary, unsigned timeout_ms)
{
    if (played(binary)) {
        int error = cu->SoftBinaryWait(binary->peer, timeout_ms);
        if (error != ETIMEDOUT) REQUIRE_EQ(error, 0);
        return error == 0;
    }
    /* A timeline of Vulkan's own says when the wait is over, and can be asked with a time limit. */
    VkSemaphore over = raw_vk_timeline(vk, 0, false);
    raw_vk_submit(
        vk, raw_vk_begin(vk, 0),
        &(raw_vk_job){.wait = binary->vk, .signal = over, .signal_value = 1, .pending = true});
    if (!raw_vk_timeline_wait(vk, over, 1, timeout_ms)) return false;
    raw_vk_idle(vk);
    raw_vk_semaphore_destroy(vk, over);
    return true;
}
