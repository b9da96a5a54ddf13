/* SPDX-License-Identifier: MIT */
/* What a case has made and somebody else gives back. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

typedef struct later {
    struct later *before;
    test_end end;
    const void *of;
    void *thing;
    size_t size;
} later;

static later *last;

void test_later(test_end end, const void *of, const void *thing, size_t size)
{
    later *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    *l = (later){.before = last, .end = end, .of = of, .thing = malloc(size), .size = size};
    REQUIRE(l->thing != NULL);
    memcpy(l->thing, thing, size);
    last = l;
}

static void end_memory(const void *of, void *thing)
{
    (void)of;
    free(*(void **)thing);
}

static void end_one(later **at, bool ends)
{
    later *l = *at;
    *at = l->before;
    if (ends) l->end(l->of, l->thing);
    free(l->thing);
    free(l);
}

void test_forget(const void *thing, size_t size)
{
    later **at = &last;
    while (*at != NULL && ((*at)->size != size || memcmp((*at)->thing, thing, size) != 0))
        at = &(*at)->before;
    REQUIRE(*at != NULL);
    end_one(at, false);
}

void test_drop(void)
{
    while (last != NULL)
        end_one(&last, last->end == end_memory);
}

void test_settle(void)
{
    while (last != NULL)
        end_one(&last, true);
}

void *test_memory(size_t size)
{
    void *memory = calloc(1, size);
    REQUIRE(memory != NULL);
    test_later(end_memory, NULL, &memory, sizeof memory);
    return memory;
}
