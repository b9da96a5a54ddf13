/* SPDX-License-Identifier: MIT */
/* The page behind an exported timeline semaphore of the software twin: the fd that the twin's
 * Vulkan layer hands out (a memfd of one page) and the twin's CUDA driver imports. */
#ifndef CULV_SOFT_PAGES_H_
#define CULV_SOFT_PAGES_H_

#include <stdatomic.h>
#include <stdint.h>

#define CULV_SOFT_TIMELINE_MAGIC "CULVTML1" /* 8 bytes, no terminator in the page */
#define CULV_SOFT_TIMELINE_SIZE  4096u

typedef struct culv_soft_timeline {
    char magic[8];
    uint8_t device_uuid[16]; /* of the Vulkan device that made the semaphore */
    _Atomic uint64_t value;  /* the counter; never lowered */
    /* Futex word, not FUTEX_PRIVATE: incremented and woken after every change of value */
    _Atomic uint32_t seq;
    /* Nonzero once the exporting VkSemaphore is gone; importers go on alone */
    _Atomic uint32_t closed;
} culv_soft_timeline;

/* ThreadSanitizer does not know that two mappings are one page: both halves tell it with one key,
 * before they publish a value and after they have read one. */
#if defined(__SANITIZE_THREAD__)
#    define CULV_SOFT_TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define CULV_SOFT_TSAN 1
#    endif
#endif
#ifdef CULV_SOFT_TSAN
#    include <sanitizer/tsan_interface.h>
#    include <unistd.h>
#    define CULV_SOFT_PAGE_ACQUIRE() __tsan_acquire((void *)&environ)
#    define CULV_SOFT_PAGE_RELEASE() __tsan_release((void *)&environ)
#else
#    define CULV_SOFT_PAGE_ACQUIRE() ((void)0)
#    define CULV_SOFT_PAGE_RELEASE() ((void)0)
#endif

/* The pages behind opaque fds of binary semaphores, as the software twin has them: a memfd of one
 * page.
 *
 * lavapipe exports no binary semaphores. The twin's Vulkan layer makes them of timelines, which
 * count, and so does culvSoftBinaryCreate() (control.h), by which tests play the other API. */

#define CULV_SOFT_COUNTED_MAGIC "CULVCNT1" /* 8 bytes, no terminator in the page */

/* The value of the timeline is how often the semaphore was signaled. Signals and waits get their
 * numbers where they are submitted, on either side: the wait of number n is for the signal of that
 * number. */
typedef struct culv_soft_counted {
    culv_soft_timeline timeline;
    _Atomic uint64_t signals, waits; /* submitted */
} culv_soft_counted;

#endif
