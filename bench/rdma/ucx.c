/* SPDX-License-Identifier: MIT */
/* UCX's structure, rebuilt. */
#include "ucx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ORDER = 4, FIRST_SHIFT = 4, WAYS = 1 << ORDER, REGION = 1, DIRECTORY = 2, TAG = 3 };

struct ucx_region {
    uint64_t start, end;
    atomic_uint uses;
    bool listed;
    ucx_region *before, *after; /* of what is not in use */
    ucx_region *next;           /* of all */
    void *cookie;
};

typedef struct directory {
    uintptr_t entries[WAYS];
    struct directory *next; /* of all */
} directory;

struct ucx_cache {
    pthread_rwlock_t lock;
    pthread_spinlock_t lru_lock;
    ucx_region lru;
    /* The table has addresses whose bits above `shift` are `base`. */
    uintptr_t root;
    uint64_t base;
    unsigned shift;
    directory *directories;
    ucx_region *regions;
};

ucx_cache *ucx_open(void)
{
    ucx_cache *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->shift = FIRST_SHIFT;
    c->lru.before = c->lru.after = &c->lru;
    if (pthread_rwlock_init(&c->lock, NULL) != 0) goto free_cache;
    if (pthread_spin_init(&c->lru_lock, PTHREAD_PROCESS_PRIVATE) != 0) goto destroy_lock;
    return c;
destroy_lock:
    pthread_rwlock_destroy(&c->lock);
free_cache:
    free(c);
    return NULL;
}

void ucx_close(ucx_cache *c)
{
    while (c->directories != NULL) {
        directory *d = c->directories;
        c->directories = d->next;
        free(d);
    }
    while (c->regions != NULL) {
        ucx_region *r = c->regions;
        c->regions = r->next;
        free(r);
    }
    pthread_spin_destroy(&c->lru_lock);
    pthread_rwlock_destroy(&c->lock);
    free(c);
}

static directory *new_directory(ucx_cache *c)
{
    directory *d = calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    d->next = c->directories;
    c->directories = d;
    return d;
}

static uint64_t above(uint64_t address, unsigned shift)
{
    return shift >= 64 ? 0 : address >> shift << shift;
}

/* Puts the region at the block of 2^order bytes at `address`. */
static bool insert_block(ucx_cache *c, uint64_t address, unsigned order, const ucx_region *region)
{
    if (c->root == 0) {
        c->shift = order;
        c->base = above(address, order);
    }
    while (above(address, c->shift) != c->base || order > c->shift) { /* a level more */
        directory *d = new_directory(c);
        if (d == NULL) return false;
        d->entries[c->base >> c->shift & (WAYS - 1)] = c->root;
        c->root = (uintptr_t)d | DIRECTORY;
        c->shift += ORDER;
        c->base = above(c->base, c->shift);
    }
    uintptr_t *entry = &c->root;
    for (unsigned shift = c->shift; shift > order;) {
        if (*entry == 0) {
            directory *d = new_directory(c);
            if (d == NULL) return false;
            *entry = (uintptr_t)d | DIRECTORY;
        }
        shift -= ORDER;
        entry = &((directory *)(*entry & ~(uintptr_t)TAG))->entries[address >> shift & (WAYS - 1)];
    }
    *entry = (uintptr_t)region | REGION;
    return true;
}

static void list_add(ucx_cache *c, ucx_region *r)
{
    r->before = c->lru.before;
    r->after = &c->lru;
    r->before->after = r;
    c->lru.before = r;
    r->listed = true;
}

bool ucx_insert(ucx_cache *c, uint64_t start, uint64_t end, void *cookie)
{
    ucx_region *r = calloc(1, sizeof *r);
    if (r == NULL) return false;
    r->start = start;
    r->end = end;
    r->cookie = cookie;
    r->next = c->regions;
    c->regions = r;
    /* Blocks as large as their place and what is left allow. */
    for (uint64_t at = start; at < end;) {
        unsigned order = FIRST_SHIFT;
        while (order + ORDER < 60 && at % (UINT64_C(1) << (order + ORDER)) == 0 &&
               at + (UINT64_C(1) << (order + ORDER)) <= end)
            order += ORDER;
        if (!insert_block(c, at, order, r)) return false;
        at += UINT64_C(1) << order;
    }
    list_add(c, r);
    return true;
}

static ucx_region *look_up(const ucx_cache *c, uint64_t address)
{
    uintptr_t entry = c->root;
    if (above(address, c->shift) != c->base) return NULL;
    for (unsigned shift = c->shift;;) {
        if ((entry & REGION) != 0) {
            ucx_region *r = (ucx_region *)(entry & ~(uintptr_t)TAG);
            return address >= r->start && address < r->end ? r : NULL;
        }
        if (entry == 0) return NULL;
        shift -= ORDER;
        entry =
            ((const directory *)(entry & ~(uintptr_t)TAG))->entries[address >> shift & (WAYS - 1)];
    }
}

ucx_region *ucx_get(ucx_cache *c, uint64_t start, uint64_t size)
{
    pthread_rwlock_rdlock(&c->lock);
    ucx_region *r = look_up(c, start);
    if (r != NULL && start + size > r->end) r = NULL;
    if (r != NULL) {
        atomic_fetch_add(&r->uses, 1);
        pthread_spin_lock(&c->lru_lock);
        if (r->listed) {
            r->before->after = r->after;
            r->after->before = r->before;
            r->listed = false;
        }
        pthread_spin_unlock(&c->lru_lock);
    }
    pthread_rwlock_unlock(&c->lock);
    return r;
}

void ucx_put(ucx_cache *c, ucx_region *r)
{
    pthread_spin_lock(&c->lru_lock);
    if (!r->listed) list_add(c, r);
    pthread_spin_unlock(&c->lru_lock);
    atomic_fetch_sub(&r->uses, 1);
}

void *ucx_cookie(const ucx_region *region)
{
    return region->cookie;
}
