/* SPDX-License-Identifier: MIT */
/* Growing by culv_vector. */
#include "growable.h"

culv_vector *growable_vector(memory_bench *b, const culv_vector_desc *desc)
{
    culv_vector *vector = NULL;
    CULV_OK_OR_EXIT(culv_vector_create(b->bench.rig.device, desc, &vector));
    return vector;
}

static void vector_open(growable *g, uint64_t first)
{
    culv_vector_desc desc = culv_vector_desc_init();
    desc.reserve = g->scheme->reserved ? g->limit : first;
    g->vector = growable_vector(g->b, &desc);
    g->pointer = culv_vector_pointer(g->vector);
}

static void vector_grow(growable *g, uint64_t size)
{
    CULV_OK_OR_EXIT(culv_vector_grow(g->vector, size));
    CUdeviceptr now = culv_vector_pointer(g->vector);
    if (now != g->pointer && g->size != 0) {
        /* The old address goes at once: nothing uses it. */
        CULV_OK_OR_EXIT(culv_vector_retire(g->vector, g->pointer, g->b->bench.rig.stream));
        memory_collect(g->b);
        g->moves++;
    }
    g->pointer = now;
    g->size = size;
    g->committed = culv_vector_committed(g->vector);
    if (g->at_peak != NULL) g->at_peak(g);
}

static void vector_close(growable *g)
{
    culv_vector_destroy(&g->vector);
}

const scheme scheme_vector = {.name = "culv_vector",
                              .variant = "reserved",
                              .reserved = true,
                              .open = vector_open,
                              .grow = vector_grow,
                              .close = vector_close};
const scheme scheme_vector_extended = {.name = "culv_vector",
                                       .variant = "not reserved",
                                       .extends = true,
                                       .open = vector_open,
                                       .grow = vector_grow,
                                       .close = vector_close};
const scheme scheme_vector_moved = {.name = "culv_vector",
                                    .variant = "not reserved, moves",
                                    .extends = true,
                                    .walled = true,
                                    .open = vector_open,
                                    .grow = vector_grow,
                                    .close = vector_close};
