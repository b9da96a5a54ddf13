/* SPDX-License-Identifier: MIT */
/* Growing by a larger buffer and a copy, with cuMemAlloc and with managed memory. */
#include "growable.h"

static void copy_from(growable *g, CUdeviceptr to)
{
    const rig *r = &g->b->bench.rig;
    if (g->size == 0) return;
    RIG_CU(r->cu->MemcpyDtoDAsync(to, g->pointer, (size_t)g->size, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
}

/* The larger buffer takes the place of the other one, whose contents it has. */
static void replace(growable *g, CUdeviceptr larger, uint64_t size)
{
    if (g->at_peak != NULL) g->at_peak(g);
    if (g->pointer != 0) raw_free(g->b, g->pointer);
    g->pointer = larger;
    g->size = g->committed = size;
}

static void copy_open(growable *g, uint64_t first)
{
    (void)first;
    if (!g->scheme->reserved) return;
    g->pointer = raw_alloc(g->b, g->limit);
    g->committed = g->limit;
}

static void copy_grow(growable *g, uint64_t size)
{
    if (g->scheme->reserved) {
        g->size = size;
        if (g->at_peak != NULL) g->at_peak(g);
        return;
    }
    CUdeviceptr larger = raw_alloc(g->b, size);
    copy_from(g, larger);
    replace(g, larger, size);
}

static void copy_close(growable *g)
{
    raw_free(g->b, g->pointer);
}

const scheme scheme_copy = {.name = "cuMemAlloc + copy",
                            .variant = "not reserved",
                            .open = copy_open,
                            .grow = copy_grow,
                            .close = copy_close};
const scheme scheme_copy_reserved = {.name = "cuMemAlloc",
                                     .variant = "reserved",
                                     .reserved = true,
                                     .open = copy_open,
                                     .grow = copy_grow,
                                     .close = copy_close};

/* Managed -------------------------------------------------------------------------------------- */

static void managed_open(growable *g, uint64_t first)
{
    (void)first;
    if (g->scheme->reserved) g->pointer = raw_alloc_managed(g->b, g->limit);
}

static void managed_copy_grow(growable *g, uint64_t size)
{
    CUdeviceptr larger = raw_alloc_managed(g->b, size);
    copy_from(g, larger);
    replace(g, larger, size);
}

static void managed_prefetch_grow(growable *g, uint64_t size)
{
    uint64_t before = g->size;
    if (g->scheme->reserved)
        g->size = g->committed = size;
    else
        managed_copy_grow(g, size);
    raw_prefetch(g->b, g->pointer + before, size - before);
    if (g->at_peak != NULL) g->at_peak(g);
}

const scheme scheme_managed_copy = {.name = "managed + copy",
                                    .variant = "not reserved",
                                    .managed = true,
                                    .open = managed_open,
                                    .grow = managed_copy_grow,
                                    .close = copy_close};
const scheme scheme_managed_prefetch = {.name = "managed + copy + prefetch",
                                        .variant = "not reserved",
                                        .managed = true,
                                        .open = managed_open,
                                        .grow = managed_prefetch_grow,
                                        .close = copy_close};
const scheme scheme_managed_reserved = {.name = "managed + prefetch",
                                        .variant = "reserved",
                                        .reserved = true,
                                        .managed = true,
                                        .open = managed_open,
                                        .grow = managed_prefetch_grow,
                                        .close = copy_close};
