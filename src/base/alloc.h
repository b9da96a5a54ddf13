/* SPDX-License-Identifier: MIT */
/* Allocation on the host. */
#ifndef CULVI_BASE_ALLOC_H_
#define CULVI_BASE_ALLOC_H_

#include <stddef.h>
#include <stdint.h>

/* All allocation goes through here, so that tests can make it fail. */
void *culvi_alloc(size_t size);
void culvi_free(void *memory);
/* Pages to be pinned: `size` zeroed bytes that start at a multiple of `alignment`, a power of two.
 * They are zeroed because pinning needs pages that are present. *block is for culvi_free(). NULL:
 * out of memory. */
void *culvi_alloc_pages(uint64_t size, uint64_t alignment, void **block);

#define CULVI_CONTAINER(pointer, type, member)                                                     \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
