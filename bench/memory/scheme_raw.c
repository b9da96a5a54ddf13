/* SPDX-License-Identifier: MIT */
/* Growing by the driver's own calls: what culv_vector does, written by hand. */
#include "growable.h"

static void map_chunk(growable *g, const raw_chunk *chunk)
{
    raw_map(g->b, g->pointer + chunk->offset, chunk->size, chunk->handle, &g->b->access, 1);
}

void growable_raw_chunk(growable *g, uint64_t size)
{
    REQUIRE(g->num_chunks < GROWABLE_CHUNKS);
    raw_chunk *chunk = &g->chunks[g->num_chunks++];
    *chunk = (raw_chunk){raw_create(g->b, size), g->committed, size};
    map_chunk(g, chunk);
    g->committed += size;
}

static void unmap_at(growable *g, CUdeviceptr base)
{
    for (size_t i = 0; i < g->num_chunks; i++)
        raw_unmap(g->b, base + g->chunks[i].offset, g->chunks[i].size);
}

void growable_raw_unmap(growable *g)
{
    unmap_at(g, g->pointer);
    for (size_t i = 0; i < g->num_chunks; i++)
        raw_release(g->b, g->chunks[i].handle);
    g->num_chunks = 0;
    g->committed = 0;
}

static void unreserve(growable *g)
{
    while (g->num_ranges > 0) {
        const raw_range *range = &g->ranges[--g->num_ranges];
        raw_unreserve(g->b, range->base, range->size);
    }
    g->reserved = 0;
}

static void reserve(growable *g, CUdeviceptr base, uint64_t size)
{
    REQUIRE(g->num_ranges < GROWABLE_RANGES);
    g->ranges[g->num_ranges++] = (raw_range){base, size};
    g->reserved += size;
}

/* Everything that is mapped, at a larger range. */
static void move(growable *g, uint64_t size)
{
    CUdeviceptr before = g->pointer;
    raw_range old[GROWABLE_RANGES];
    size_t num_old = g->num_ranges;
    for (size_t i = 0; i < num_old; i++)
        old[i] = g->ranges[i];
    g->pointer = raw_reserve(g->b, size, 0);
    g->num_ranges = 0;
    g->reserved = 0;
    reserve(g, g->pointer, size);
    for (size_t i = 0; i < g->num_chunks; i++)
        map_chunk(g, &g->chunks[i]);
    /* What used the old address is over. */
    RIG_CU(g->b->bench.rig.cu->StreamSynchronize(g->b->bench.rig.stream));
    unmap_at(g, before);
    for (size_t i = num_old; i-- > 0;)
        raw_unreserve(g->b, old[i].base, old[i].size);
    g->moves++;
}

/* Addresses behind those that it has, or elsewhere. */
static void make_room(growable *g, uint64_t size)
{
    CUdeviceptr behind = g->pointer + g->reserved;
    uint64_t more = size - g->reserved;
    CUdeviceptr got = raw_reserve(g->b, more, behind);
    if (got == behind) {
        reserve(g, got, more);
        return;
    }
    raw_unreserve(g->b, got, more);
    move(g, size);
}

static void raw_open(growable *g, uint64_t first)
{
    uint64_t size = g->scheme->reserved ? g->limit : first;
    g->pointer = raw_reserve(g->b, size, 0);
    reserve(g, g->pointer, size);
}

static void raw_grow(growable *g, uint64_t size)
{
    if (size > g->reserved) make_room(g, size);
    growable_raw_chunk(g, size - g->committed);
    g->size = size;
    if (g->at_peak != NULL) g->at_peak(g);
}

static void raw_close(growable *g)
{
    growable_raw_unmap(g);
    unreserve(g);
}

const scheme scheme_raw = {.name = "raw VMM",
                           .variant = "reserved",
                           .reserved = true,
                           .open = raw_open,
                           .grow = raw_grow,
                           .close = raw_close};
const scheme scheme_raw_again = {.name = "raw VMM (A/A)",
                                 .variant = "reserved",
                                 .reserved = true,
                                 .raw_again = true,
                                 .open = raw_open,
                                 .grow = raw_grow,
                                 .close = raw_close};
const scheme scheme_raw_extended = {.name = "raw VMM",
                                    .variant = "not reserved",
                                    .extends = true,
                                    .open = raw_open,
                                    .grow = raw_grow,
                                    .close = raw_close};
const scheme scheme_raw_moved = {.name = "raw VMM",
                                 .variant = "not reserved, moves",
                                 .extends = true,
                                 .walled = true,
                                 .open = raw_open,
                                 .grow = raw_grow,
                                 .close = raw_close};

void growable_wall(growable *g)
{
    uint64_t size = g->b->granularity;
    CUdeviceptr end = g->pointer + g->reserved;
    if (g->vector != NULL) {
        culv_vector_stats stats = culv_vector_stats_init();
        CULV_OK_OR_EXIT(culv_vector_get_stats(g->vector, &stats));
        end = g->pointer + stats.reserved;
    }
    growable_unwall(g);
    CUdeviceptr got = raw_reserve(g->b, size, end);
    if (got == end)
        g->wall = got;
    else
        raw_unreserve(g->b, got, size); /* somebody else is there: as good */
}

void growable_unwall(growable *g)
{
    if (g->wall != 0) raw_unreserve(g->b, g->wall, g->b->granularity);
    g->wall = 0;
}
