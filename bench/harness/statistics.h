/* SPDX-License-Identifier: MIT */
/* Order statistics of samples, and how sure a ratio of medians is. */
#ifndef CULVERT_BENCH_STATISTICS_H_
#define CULVERT_BENCH_STATISTICS_H_

#include <stddef.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators"). */
typedef struct random_source {
    uint64_t state;
} random_source;

uint64_t random_next(random_source *random);
/* 0 <= result < bound, which is not 0. */
size_t random_below(random_source *random, size_t bound);

typedef struct spread {
    size_t n;
    double median, p10, p90;
} spread;

/* n > 0. */
spread statistics_spread(const double *samples, size_t n);

/* By linear interpolation, 0 <= q <= 1. n > 0. */
double statistics_quantile(const double *samples, size_t n, double q);

typedef struct interval {
    double value, low, high;
} interval;

typedef struct comparison {
    interval ratio; /* of the medians of a and b */
    interval added; /* the median of a[i] - b[i] */
} comparison;

/* Compares a with b, a[i] and b[i] being measured next to each other in time, with 95 % confidence
 * intervals: a bootstrap by blocks of neighbouring pairs, since a clock that drifts or a machine
 * that is busy for a while makes neighbours alike. n > 0. */
comparison statistics_compare(const double *a, const double *b, size_t n, random_source *random);

#endif
