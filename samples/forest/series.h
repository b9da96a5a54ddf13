/* SPDX-License-Identifier: MIT */
/* forest: measured times, and what is told of them. */
#ifndef FOREST_SERIES_H_
#define FOREST_SERIES_H_

#include <stdbool.h>
#include <stddef.h>

typedef struct series {
    double *values;
    size_t count, capacity;
} series;

/* For as many values. False, with a message, when there is no memory. */
bool series_create(series *s, size_t capacity);
void series_destroy(series *s);

void series_add(series *s, double value);
/* The value that `percent` of the values do not exceed: 50 for the median. Sorts them. */
double series_percentile(series *s, unsigned percent);

#endif
