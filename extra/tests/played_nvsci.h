/* SPDX-License-Identifier: MIT */
/* NvSci's objects as played_nvsci.c makes them, and what nvsci_driver.c saw of them. */
#ifndef CULVERT_TESTS_PLAYED_NVSCI_H_
#define CULVERT_TESTS_PLAYED_NVSCI_H_

#include <stdint.h>

enum { PLAYED_BUFFER = 0x6275666f, PLAYED_SYNC = 0x73796e63, PLAYED_LIST = 0x6c697374 };
enum { PLAYED_READ_ONLY = 1, PLAYED_READ_WRITE = 3 };

typedef struct played_buffer {
    int magic, perm;
    void *memory;
    uint64_t size;
} played_buffer;

typedef struct played_sync {
    int magic;
    uint64_t next;         /* the next fence's value */
    _Atomic(uint64_t) now; /* signaled */
} played_sync;

typedef struct played_fence { /* 0: cleared */
    played_sync *sync;
    uint64_t value;
} played_fence;

typedef struct played_list {
    int magic, roles, device;
} played_list;

/* Of libnvscibuf.so.1 */
typedef struct played_nvsci {
    unsigned duplicates, freed;
    int answer; /* of the next duplicate */
} played_nvsci;

/* Of the driver */
typedef struct nvsci_driver {
    unsigned memories, semaphores, mappings; /* alive */
    int perm;                                /* of what was imported last */
    unsigned signal_flags, wait_flags;
    unsigned levels; /* asked for last */
    int answer;      /* CUresult of the next import */
} nvsci_driver;

#endif
