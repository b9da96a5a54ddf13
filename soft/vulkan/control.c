/* SPDX-License-Identifier: MIT */
/* The layer's counters and the call that fails on demand (control.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/delay.h"
#include "../shared/fail_at.h"
#include "soft_vk.h"

_Atomic uint64_t soft_vk_instances, soft_vk_devices, soft_vk_semaphores, soft_vk_memories,
    soft_vk_fds, soft_vk_threads, soft_vk_all_semaphores, soft_vk_buffers, soft_vk_images,
    soft_vk_dedicated, soft_vk_modules, soft_vk_functions;

static _Atomic uint64_t calls;
static _Atomic uint64_t countdown; /* 0: nothing armed */
static _Atomic int armed_error;
static _Atomic(const char *) failed_call;
static _Atomic uint64_t
    wanted_by_environment;                 /* N of CULVERT_SOFT_FAIL_AT; 0: none, or armed anew */
static pid_t reader;                       /* who read it; a child of fork() tells nothing */
static _Atomic(const char *) call_to_fail; /* NULL: any call counts */

static struct soft_delays delays = SOFT_DELAYS_INIT;

static void arm(const char *call, uint64_t n, int error)
{
    atomic_store(&countdown, 0);
    atomic_store(&wanted_by_environment, 0);
    atomic_store(&call_to_fail, call);
    atomic_store(&failed_call, NULL);
    /* A failure that says success would leave the outputs unwritten. */
    atomic_store(&armed_error, error == VK_SUCCESS ? VK_ERROR_OUT_OF_HOST_MEMORY : error);
    atomic_store(&countdown, n);
}

static void read_environment(void)
{
    static const char prefix[] = "vulkan:";
    soft_delays_read(&delays, "vulkan", secure_getenv("CULVERT_SOFT_DELAY"));
    const char *text = secure_getenv("CULVERT_SOFT_FAIL_AT");
    if (!text || strncmp(text, prefix, sizeof(prefix) - 1)) return;
    static struct soft_fail_at at; /* its call's name is kept */
    long error = 0;
    bool good = soft_fail_at_parse(text + sizeof(prefix) - 1, &at);
    if (good && at.error) {
        char *end = NULL;
        errno = 0;
        error = strtol(at.error, &end, 10);
        good = !*end && !errno && error >= INT32_MIN && error <= INT32_MAX;
    }
    if (!good) {
        fprintf(stderr,
                "culvert: CULVERT_SOFT_FAIL_AT=%s is not vulkan:[CALL:]N[:ERROR], ignored\n", text);
        return;
    }
    if (at.call[0] && !soft_vk_can_fail(at.call)) {
        fprintf(stderr,
                "culvert: CULVERT_SOFT_FAIL_AT=%s: %s is no call of the layer's that can fail, "
                "ignored\n",
                text, at.call);
        return;
    }
    arm(at.call[0] ? at.call : NULL, at.n, (int)error);
    atomic_store(&wanted_by_environment, at.n);
    reader = getpid();
}

__attribute__((destructor)) static void tell_what_never_failed(void)
{
    const uint64_t left = atomic_load(&countdown), wanted = atomic_load(&wanted_by_environment);
    if (left > 0 && wanted > 0 && reader == getpid())
        soft_fail_at_tell_none("Vulkan", atomic_load(&call_to_fail), wanted - left, wanted);
}

void soft_vk_control_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

bool soft_vk_must_fail(const char *name, VkResult *error)
{
    atomic_fetch_add(&calls, 1);
    soft_delays_pass(&delays, name);
    const char *call = atomic_load(&call_to_fail);
    if (call && !soft_fail_at_counts(call, name)) return false;
    uint64_t left = atomic_load(&countdown);
    while (left && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
    }
    if (left != 1) return false;
    atomic_store(&failed_call, name);
    *error = (VkResult)atomic_load(&armed_error);
    const uint64_t wanted = atomic_load(&wanted_by_environment);
    if (wanted > 0) soft_fail_at_tell(name, wanted);
    return true;
}

SOFT_VK_EXPORT void culvSoftVkCounts(culv_soft_vk_counts *out)
{
    if (!out) return;
    culv_soft_vk_counts now = {
        .struct_size = out->struct_size,
        .instances = atomic_load(&soft_vk_instances),
        .devices = atomic_load(&soft_vk_devices),
        .semaphores = atomic_load(&soft_vk_semaphores),
        .memories = atomic_load(&soft_vk_memories),
        .fds = atomic_load(&soft_vk_fds),
        .threads = atomic_load(&soft_vk_threads),
        .calls = atomic_load(&calls),
        .all_semaphores = atomic_load(&soft_vk_all_semaphores),
        .buffers = atomic_load(&soft_vk_buffers),
        .images = atomic_load(&soft_vk_images),
        .dedicated = atomic_load(&soft_vk_dedicated),
        .modules = atomic_load(&soft_vk_modules),
        .functions = atomic_load(&soft_vk_functions),
    };
    memcpy(out, &now, now.struct_size < sizeof(now) ? now.struct_size : sizeof(now));
}

SOFT_VK_EXPORT void culvSoftVkFailAt(uint64_t n, int error)
{
    soft_vk_control_init();
    arm(NULL, n, error);
}

SOFT_VK_EXPORT const char *culvSoftVkFailedCall(void)
{
    return atomic_load(&failed_call);
}

SOFT_VK_EXPORT int culvSoftVkDelay(const char *call, unsigned ms)
{
    soft_vk_control_init();
    return soft_delays_set(&delays, call, call ? strlen(call) : 0, ms);
}

SOFT_VK_EXPORT void culvSoftVkBefore(uint64_t n, void (*hook)(void *user, const char *call),
                                     void *user)
{
    soft_delays_before(&delays, n, hook, user);
}
