/* SPDX-License-Identifier: MIT */
/* UCX's structure of a registration cache, rebuilt to stand beside Culvert's in one run: its page
 * table (ucs/datastruct/pgtable.c), which takes 4 bits of an address at a level, and its cache
 * (ucs/memory/rcache.c), which holds a lock for reading while it looks up, and a spin lock for the
 * list of what is not in use. Nothing is pinned, freed or evicted. Written from its design; no code
 * of it is here. */
#ifndef CULVERT_BENCH_UCX_H_
#define CULVERT_BENCH_UCX_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct ucx_cache ucx_cache;
typedef struct ucx_region ucx_region;

/* NULL: out of memory. */
ucx_cache *ucx_open(void);
void ucx_close(ucx_cache *cache);
/* [start, end), multiples of 16; no other region has a part of it. False: out of memory. */
bool ucx_insert(ucx_cache *cache, uint64_t start, uint64_t end, void *cookie);
ucx_region *ucx_get(ucx_cache *cache, uint64_t start, uint64_t size);
void ucx_put(ucx_cache *cache, ucx_region *region);
void *ucx_cookie(const ucx_region *region);

#endif
