/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory pools. */
#ifndef SOFT_MEM_POOL_H_
#define SOFT_MEM_POOL_H_

#include "vmm.h"

struct soft_pooled { /* one allocation */
    struct soft_pool *pool;
    struct soft_pooled *next; /* in soft_pool.extents */
    unsigned owners;          /* the range, and operations that are still to run */
    void *map;
    size_t map_size;
    void *start;
    size_t size;     /* whole pages */
    uint64_t offset; /* in the pool's file */
};

struct soft_pool {
    struct soft_object object; /* in the registry unless it was destroyed */
    CUmemPoolProps props;
    int device;
    bool is_default, imported, destroyed;
    bool exported;               /* its pointers may be */
    bool export_failed;          /* for lack of a file descriptor */
    int fd;                      /* of a pool that may be exported, or was imported; -1 */
    uint64_t id;                 /* in the file: which pool a pointer is of */
    uint64_t file_size;          /* its first page is a label */
    struct soft_pooled *extents; /* by offset */
    size_t allocations;
    uint64_t used, used_high;
    uint64_t release_threshold;
    int reuse[3];
    uint8_t access[SOFT_MAX_DEVICES + 1];
};

/* --- mem_pool.c */
struct soft_pool *soft_pool_find(CUmemoryPool handle);
struct soft_pool *soft_pool_new(const CUmemPoolProps *props); /* NULL: no memory */
/* The file becomes the pool's. */
void soft_pool_own_file(struct soft_pool *pool, int fd, uint64_t size);
void soft_pool_settle(struct soft_pool *pool); /* one that was destroyed and is empty goes */
/* The pool that cuMemAllocAsync takes from; NULL: no memory. */
struct soft_pool *soft_pool_of_device(CUdevice device);
uint64_t soft_pool_count(void); /* but for the devices' own */
uint64_t soft_pool_fds(void);

/* --- mem_pool_alloc.c */
/* `size` bytes of the pool, in the table of ranges, inaccessible unless `open`. `offset`: which
 * bytes of the file they are, in an imported pool; NULL: any. */
CUresult soft_pooled_new(struct soft_pool *pool, size_t size, const uint64_t *offset, bool open,
                         struct soft_range **out);
/* Takes the range out of the table, and the memory with it once no operation needs it. */
void soft_pooled_free(struct soft_range *range);

/* Work that graphs of the twin have no nodes for breaks the capture, where there is one. */
CUresult soft_capture_refuse(struct soft_stream *stream);

/* --- mem_pool_share.c */
bool soft_pool_label(const struct soft_pool *pool); /* says in its file what it is */

#endif
