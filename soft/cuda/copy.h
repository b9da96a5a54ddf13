/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what copies of memory and of arrays share. */
#ifndef SOFT_COPY_H_
#define SOFT_COPY_H_

#include "soft.h"

struct soft_extent {
    size_t width; /* bytes */
    size_t height, depth;
};

enum soft_side_kind { SOFT_SIDE_DEVICE, SOFT_SIDE_HOST, SOFT_SIDE_ANY };

/* One side of a copy. */
struct soft_side {
    uintptr_t start; /* its first byte */
    size_t pitch;    /* bytes from row to row */
    size_t slice;    /* bytes from slice to slice */
    bool on_device;  /* copies between two of these are not waited for */
    bool pageable;   /* host memory that the driver does not know */
    enum soft_side_kind kind;
    struct { /* where it is an array's */
        CUarray array;
        size_t x, y, z;
    } in;
    struct soft_sparse *sparse; /* of a sparse array: what is not mapped there stays zero */
    unsigned sparse_level;
};

/* Whether `size` bytes at `start` may be what the kind says; fills in what kind of memory it is. */
bool soft_side_of_memory(enum soft_side_kind kind, uintptr_t start, size_t size,
                         struct soft_side *out);
/* As before, and whether a live context's device is where the memory is. */
bool soft_side_in_context(enum soft_side_kind kind, uintptr_t start, size_t size, CUcontext context,
                          struct soft_side *out);
CUresult soft_copy_make(const struct soft_side *to, const struct soft_side *from,
                        struct soft_extent extent, struct soft_op **out);
/* Submits the copy to the stream, and waits where the driver does. */
CUresult soft_copy(struct soft_stream *stream, bool synchronous, const struct soft_side *to,
                   const struct soft_side *from, struct soft_extent extent);

#endif
