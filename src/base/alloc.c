/* SPDX-License-Identifier: MIT */
/* Allocation on the host. */
#include "base/alloc.h"

#include "base/platform.h"

#include <stdint.h>
#include <stdlib.h>

#ifdef CULVI_TEST_HOOKS
#    include <stdatomic.h>
/* The N-th allocation from now fails; counted down by tests. */
_Atomic long culvi_alloc_countdown;
_Atomic long culvi_alloc_count;

void *culvi_alloc(size_t size)
{
    atomic_fetch_add(&culvi_alloc_count, 1);
    if (atomic_load(&culvi_alloc_countdown) > 0 && atomic_fetch_sub(&culvi_alloc_countdown, 1) == 1)
        return NULL;
    return calloc(1, size);
}
#else
void *culvi_alloc(size_t size)
{
    if (size > PTRDIFF_MAX) return NULL; /* with -flto gcc warns of such a size */
    return calloc(1, size);
}
#endif

void culvi_free(void *memory)
{
    free(memory);
}

void *culvi_alloc_pages(uint64_t size, uint64_t alignment, void **block)
{
    if (alignment > SIZE_MAX / 4 || size > SIZE_MAX / 2) return NULL;
    char *start = culvi_alloc((size_t)size + (size_t)alignment);
    if (start == NULL) return NULL;
    *block = start;
    size_t over = (size_t)((uintptr_t)start % alignment);
    if (over != 0) start += (size_t)alignment - over;
    /* Volatile, or a compiler that sees through to calloc() leaves it out. */
    for (uint64_t i = 0, page = culvi_page_size(); i < size; i += page)
        *(volatile char *)(start + i) = 0;
    return start;
}
