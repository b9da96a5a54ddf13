/* SPDX-License-Identifier: MIT */
/* A registration cache over a card that is played: a table of what is pinned. */
#ifndef CULVERT_TESTS_CACHE_STAGE_H_
#define CULVERT_TESTS_CACHE_STAGE_H_

#include "rdma_stage.h"

#include <pthread.h>

typedef struct cache_wish {
    bool exact, notified;
    uint64_t max_bytes, max_entries;
    uint32_t whole_percent;
} cache_wish;

/* A cookie. It stays where it is after it was unpinned, so that a use of it shows. */
typedef struct cache_pin {
    struct cache_pin *next;
    unsigned number;
    _Atomic bool pinned;
    culv_pointer_kind kind;
    uint64_t start, size, id;
} cache_pin;

typedef struct cache_stage {
    rdma_stage r;
    culv_rdma_cache *cache;
    pthread_mutex_t lock; /* of what follows */
    cache_pin *all;
    unsigned pins, unpins, pinned;
    culv_rdma_unpin_why last_why;
    uint64_t last_start;
    /* What pin() does: */
    unsigned room;      /* registrations at a time; 0: any */
    uint64_t largest;   /* bytes; 0: any */
    culv_result answer; /* if not OK */
    CUdeviceptr inner;  /* looked up within it; 0: nothing */
    culv_result inner_result;
    bool yields;    /* others run while it pins */
    unsigned frees; /* times that it says that what it pins was freed */
} cache_stage;

/* wish: NULL for the default. */
void cache_stage_open(cache_stage *s, const cache_wish *wish);
void cache_stage_open_cache(cache_stage *s, const cache_wish *wish);
/* Requires that everything is unpinned then. */
void cache_stage_close_cache(cache_stage *s);
void cache_stage_close(cache_stage *s);
#define CACHE_CASE(name, ...)                                                                      \
    TEST_ON_(cache_stage, s, cache_stage_open(s, TEST_FIRST(__VA_ARGS__)), cache_stage_close(s),   \
             name, TEST_REST(__VA_ARGS__))
culv_rdma_cache_desc cache_desc(cache_stage *s, const cache_wish *wish);

/* Requires that the registration covers the range and is pinned. */
culv_rdma_registration *cache_get(cache_stage *s, CUdeviceptr p, uint64_t size);
void cache_put(cache_stage *s, culv_rdma_registration **r);
const cache_pin *cache_pin_of(const culv_rdma_registration *r);
void cache_require(const cache_stage *s, unsigned pinned, unsigned unpins);
culv_rdma_cache_stats cache_stats(const cache_stage *s);

#endif
