/* SPDX-License-Identifier: MIT */
/* The page behind an opaque fd of a binary semaphore, as the software twin has it: a memfd of one
 * page.
 *
 * lavapipe exports no binary semaphores, so nobody makes such a page but culvSoftBinaryCreate()
 * (control.h), by which tests play the other API. */
#ifndef CULV_SOFT_BINARY_PAGE_H_
#define CULV_SOFT_BINARY_PAGE_H_

#include <stdatomic.h>
#include <stdint.h>

#define CULV_SOFT_BINARY_MAGIC "CULVBIN1" /* 8 bytes, no terminator in the page */
#define CULV_SOFT_BINARY_SIZE  4096u

/* Who signaled matters: a signal of CUDA is for a wait of the other API, and the other way
 * round. */
enum {
    CULV_SOFT_BINARY_UNSIGNALLED = 0,
    CULV_SOFT_BINARY_BY_PEER = 1,
    CULV_SOFT_BINARY_BY_CUDA = 2
};

typedef struct culv_soft_binary {
    char magic[8];
    /* Of the device that made the semaphore; here as in culv_soft_timeline */
    uint8_t device_uuid[16];
    /* One of the above; futex word, not FUTEX_PRIVATE, woken after a signal */
    _Atomic uint32_t state;
    /* The other API's device is lost: CUDA may signal in its place, and twice */
    _Atomic uint32_t lost;
} culv_soft_binary;

#endif
