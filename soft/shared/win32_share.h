/* SPDX-License-Identifier: MIT */
/* What a shared handle of Direct3D is under Wine, which implements none: a section object that
 * holds one of these records. The tests make them in place of CreateSharedHandle(), the twin's CUDA
 * driver reads them. Names, duplicates, references and closing are the system's own, of a real NT
 * object. The record serves in the process that made it. A section cannot hold a reference to a COM
 * object, so the object must be there until it is imported, which is stricter than Windows.
 *
 * A record with `inside` serves in every process: it has no functions and no pages, and the memory,
 * or the fence's value, are in the section itself. No Direct3D of Wine's has such objects: they
 * stand for what another process would share. */
#ifndef CULV_SOFT_WIN32_SHARE_H_
#define CULV_SOFT_WIN32_SHARE_H_

#include <stdint.h>

#define CULV_SOFT_SHARE_MAGIC "CULVD3D1" /* 8 bytes, no terminator */
/* A share is a CUexternalMemoryHandleType, or this much more than a CUexternalSemaphoreHandleType.
 * A texture with a keyed mutex is both, by one handle. */
#define CULV_SOFT_SHARE_SEMAPHORE 100u

typedef struct culv_soft_share {
    char magic[8];
    uint32_t process;
    uint32_t type;      /* of the memory, or of a fence */
    uint32_t mutex;     /* of the keyed mutex besides; 0: none */
    uint32_t dedicated; /* memory of one resource */
    void *object;
    void (*ref)(void *object);
    void (*unref)(void *object);
    /* Memory. */
    void *pages;
    uint64_t size;
    /* A fence's value, a keyed mutex's key. Nonzero: it failed. */
    int (*signal)(void *object, uint64_t value);
    /* 1: the fence has the value, or the key was acquired. 0: not in that time. */
    int (*wait)(void *object, uint64_t value, unsigned timeout_ms);
    uint32_t inside;
} culv_soft_share;

/* Where the memory, or a fence's value of 8 bytes, begins in such a section. */
#define CULV_SOFT_SHARE_INSIDE 4096u

/* The name of the section of a KMT handle, which is a number: printf's arguments are the process
 * and that number. */
#define CULV_SOFT_SHARE_KMT L"Local\\culvert soft kmt %lx %lx"

#endif
