/* SPDX-License-Identifier: MIT */
/* What the cases of the layer's tests share. */
#ifndef LAYER_TEST_H_
#define LAYER_TEST_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volk.h>

#include "control.h"
#include "pages.h"

#define LAYER_NAME "VK_LAYER_CULVERT_soft"
#define SECOND     UINT64_C(1000000000)
#define OPAQUE_FD  VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) test_fail(__FILE__, __LINE__, #condition, 0);                            \
    } while (0)
#define CHECK_VK(expression)                                                                       \
    do {                                                                                           \
        long long result_ = (long long)(expression);                                               \
        if (result_ != VK_SUCCESS) test_fail(__FILE__, __LINE__, #expression, result_);            \
    } while (0)
#define CHECK_IS(expression, expected)                                                             \
    do {                                                                                           \
        long long result_ = (long long)(expression);                                               \
        if (result_ != (long long)(expected))                                                      \
            test_fail(__FILE__, __LINE__, #expression " is " #expected, result_);                  \
    } while (0)

_Noreturn void test_fail(const char *file, int line, const char *what, long long value);
_Noreturn void test_skip(const char *why);

typedef struct world_options {
    bool without_layer;
    bool without_extension;
    bool other; /* the first device that is not of the CPU type */
} world_options;

/* An instance, the CPU-type device and its queue. */
typedef struct world {
    VkInstance instance;
    bool borrowed; /* the instance is another world's */
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    uint8_t uuid[VK_UUID_SIZE];
    struct VolkDeviceTable d;
} world;

extern bool
    /* --validation: the validation layer above ours, with synchronization validation */
    test_validation;
extern _Atomic int test_messages; /* of the validation layer, warnings and errors */

/* Errors end the program, except in world_try_open, which returns the first and leaves nothing
 * behind. */
void world_open(world *w, const world_options *options);
VkResult world_try_open(world *w, const world_options *options);
/* Another device of the first one's instance. */
void world_open_beside(world *w, const world *first);
void world_close(world *w);
/* Begins a case that has a world of its own, which the body that follows knows as `w`. */
#define WORLD_CASE(name)                                                                           \
    static void name##_in(world *w);                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        world itself, *const w = &itself;                                                          \
        world_open(w, NULL);                                                                       \
        name##_in(w);                                                                              \
        world_close(w);                                                                            \
    }                                                                                              \
    static void name##_in(world *w)

VkResult make_semaphore(world *w, VkSemaphoreType type, bool exportable, uint64_t value,
                        VkSemaphore *out);
VkSemaphore exportable_timeline(world *w, uint64_t value);
int export_fd(world *w, VkSemaphore semaphore);
VkResult import_fd(world *w, VkSemaphore semaphore, int fd);
VkResult submit(world *w, VkSemaphore wait, uint64_t wait_value, VkSemaphore signal,
                uint64_t signal_value);
VkResult wait_value(world *w, VkSemaphore semaphore, uint64_t value, uint64_t timeout);
uint64_t counter(world *w, VkSemaphore semaphore);
VkResult host_signal(world *w, VkSemaphore semaphore, uint64_t value);

/* The other side of an fd, as the CUDA half has it. page_map leaves the fd open. */
culv_soft_timeline *page_map(int fd);
void page_unmap(culv_soft_timeline *page);
void page_raise(culv_soft_timeline *page, uint64_t value);
bool page_wait(culv_soft_timeline *page, uint64_t value, uint64_t timeout);
/* A page of the test's own making. */
int page_fd(const char *magic, const uint8_t *uuid, size_t size, uint64_t value);

uint64_t now(void);
void nap(unsigned milliseconds);
unsigned open_fds(void);
unsigned live_threads(void);
/* Waits until no more threads live than did. One that was joined may be listed for a moment. */
void check_threads(unsigned before);
culv_soft_vk_counts layer_counts(void);
void layer_counts_into(culv_soft_vk_counts *out); /* struct_size is the caller's */
void layer_fail_at(uint64_t n, int error);
int layer_delay(const char *call, unsigned ms);
void layer_before(uint64_t n, void (*hook)(void *user, const char *call), void *user);
const char *layer_failed_call(void);
void check_all_gone(void);
/* Lets the n-th Vulkan call of `program` fail, for each n, until none is left to fail; after each,
 * nothing may be left behind. Returns how many failed. */
unsigned fail_each_call(VkResult (*program)(void));

/* name of the case; also run under the validation layer? */
#define LAYER_CASES(X)                                                                             \
    X(extension, 1)                                                                                \
    X(binary, 1)                                                                                   \
    X(binary_shared, 1)                                                                            \
    X(disabled, 0)                                                                                 \
    X(chain, 0)                                                                                    \
    X(other_device, 0)                                                                             \
    X(page_to_host, 1)                                                                             \
    X(queue_to_page, 1)                                                                            \
    X(page_to_queue, 1)                                                                            \
    X(fence_to_page, 1)                                                                            \
    X(wait_before_signal, 1)                                                                       \
    X(up_to_date, 0)                                                                               \
    X(ping_pong, 1)                                                                                \
    X(shared, 1)                                                                                   \
    X(reimport, 0)                                                                                 \
    X(bad_fd, 0)                                                                                   \
    X(destroy, 1)                                                                                  \
    X(destroy_device, 0)                                                                           \
    X(destroy_device_clean, 0)                                                                     \
    X(several, 1)                                                                                  \
    X(hammer, 0)                                                                                   \
    X(counts, 1)                                                                                   \
    X(leaked, 0)                                                                                   \
    X(fail_at, 0)                                                                                  \
    X(fail_resources, 0)                                                                           \
    X(fail_environment, 0)                                                                         \
    X(fail_never, 0)                                                                               \
    X(delay, 0)
#define DECLARE_CASE(name, validation) void case_##name(void);
LAYER_CASES(DECLARE_CASE)
#undef DECLARE_CASE

#endif
