/* SPDX-License-Identifier: MIT */
/* Order statistics and the bootstrap. See statistics.h. */
#include "statistics.h"

#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 1000 };

uint64_t random_next(random_source *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t random_below(random_source *random, size_t bound)
{
    /* The top bits; the bias, bound / 2^32, is far below what is measured. */
    return (size_t)(((random_next(random) >> 32) * (uint64_t)bound) >> 32);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* By linear interpolation between the two samples next to it. */
static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static double *copy_of(const double *samples, size_t n)
{
    double *copy = malloc(n * sizeof *copy);
    REQUIRE(copy != NULL);
    if (samples != NULL) memcpy(copy, samples, n * sizeof *copy);
    return copy;
}

spread statistics_spread(const double *samples, size_t n)
{
    double *sorted = copy_of(samples, n);
    qsort(sorted, n, sizeof *sorted, compare);
    spread s = {.n = n,
                .median = quantile(sorted, n, 0.5),
                .p10 = quantile(sorted, n, 0.1),
                .p90 = quantile(sorted, n, 0.9)};
    free(sorted);
    return s;
}

double statistics_quantile(const double *samples, size_t n, double q)
{
    double *sorted = copy_of(samples, n);
    qsort(sorted, n, sizeof *sorted, compare);
    double result = quantile(sorted, n, q);
    free(sorted);
    return result;
}

/* Hoare's selection: afterwards values[k] is the one that sorting would put there, and none before
 * it is greater. */
static double select_kth(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j) break;
            double swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        /* Now values[low..j] <= pivot <= values[j + 1..high]; where i met j on the pivot, j stays
         * left. */
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

static double median_of(double *values, size_t n)
{
    double upper = select_kth(values, n, n / 2);
    if (n % 2 != 0) return upper;
    double lower = values[0];
    for (size_t i = 1; i < n / 2; i++)
        if (values[i] > lower) lower = values[i];
    return (lower + upper) / 2.0;
}

/* About the cube root of n, the length that is usual for blocks. */
static size_t block_length(size_t n)
{
    size_t length = 1;
    while ((length + 1) * (length + 1) * (length + 1) <= n)
        length++;
    return length;
}

/* The two statistics of samples that may be reordered. */
static void estimate(double *a, double *b, double *differences, size_t n, double *ratio,
                     double *added)
{
    for (size_t i = 0; i < n; i++)
        differences[i] = a[i] - b[i];
    *added = median_of(differences, n);
    *ratio = median_of(a, n) / median_of(b, n);
}

static interval interval_of(double value, double *resampled)
{
    qsort(resampled, RESAMPLES, sizeof *resampled, compare);
    return (interval){.value = value,
                      .low = quantile(resampled, RESAMPLES, 0.025),
                      .high = quantile(resampled, RESAMPLES, 0.975)};
}

comparison statistics_compare(const double *a, const double *b, size_t n, random_source *random)
{
    double *drawn_a = copy_of(a, n), *drawn_b = copy_of(b, n), *differences = copy_of(NULL, n);
    double *ratios = copy_of(NULL, RESAMPLES), *added = copy_of(NULL, RESAMPLES);
    double ratio_value, added_value;
    estimate(drawn_a, drawn_b, differences, n, &ratio_value, &added_value);
    size_t length = block_length(n);
    for (size_t r = 0; r < RESAMPLES; r++) {
        for (size_t filled = 0; filled < n;) {
            size_t start = random_below(random, n);
            for (size_t i = 0; i < length && filled < n; i++, filled++) {
                size_t from = (start + i) % n;
                drawn_a[filled] = a[from];
                drawn_b[filled] = b[from];
            }
        }
        estimate(drawn_a, drawn_b, differences, n, &ratios[r], &added[r]);
    }
    comparison result = {.ratio = interval_of(ratio_value, ratios),
                         .added = interval_of(added_value, added)};
    free(drawn_a);
    free(drawn_b);
    free(differences);
    free(ratios);
    free(added);
    return result;
}
