/* SPDX-License-Identifier: MIT */
/* See series.h. */
#include "series.h"

#include <stdlib.h>

#include "../common/report.h"

bool series_create(series *s, size_t capacity)
{
    *s = (series){.values = calloc(capacity, sizeof *s->values), .capacity = capacity};
    if (!s->values) report("out of memory for %zu times", capacity);
    return s->values != NULL;
}

void series_destroy(series *s)
{
    free(s->values);
    *s = (series){0};
}

void series_add(series *s, double value)
{
    if (s->count == s->capacity) return;
    s->values[s->count++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double series_percentile(series *s, unsigned percent)
{
    if (s->count == 0) return 0.0;
    qsort(s->values, s->count, sizeof *s->values, compare);
    size_t rank = (s->count * percent + 99) / 100; /* the nearest rank, from 1 on */
    return s->values[rank ? rank - 1 : 0];
}
