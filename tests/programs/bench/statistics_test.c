/* SPDX-License-Identifier: MIT */
/* The benchmarks' statistics, on numbers whose answers are known. */
#include "statistics.h"

#include "harness.h"

#include <math.h>

enum { N = 600 };

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

TEST(quantiles)
{
    double samples[101];
    for (size_t i = 0; i < 101; i++)
        samples[i] = (double)((i * 37) % 101); /* 0 .. 100, each once, in disorder */
    spread s = statistics_spread(samples, 101);
    REQUIRE_EQ(s.n, 101);
    REQUIRE(near(s.median, 50.0));
    REQUIRE(near(s.p10, 10.0));
    REQUIRE(near(s.p90, 90.0));
    REQUIRE(near(samples[1], 37.0)); /* and are left as they were */
    const double four[] = {4.0, 1.0, 3.0, 2.0};
    REQUIRE(near(statistics_spread(four, 4).median, 2.5));
    const double one[] = {7.0};
    s = statistics_spread(one, 1);
    REQUIRE(near(s.median, 7.0) && near(s.p10, 7.0) && near(s.p90, 7.0));
}

static double noise(random_source *random)
{
    return (double)random_below(random, 1000) / 1000.0; /* 0 .. 1 */
}

/* A ratio that is really there is found, and lies in its interval. */
TEST(ratio_of_known_medians)
{
    random_source random = {.state = 5};
    double a[N], b[N];
    for (size_t i = 0; i < N; i++) {
        a[i] = 110.0 + noise(&random) * 4.0 - 2.0;
        b[i] = 100.0 + noise(&random) * 4.0 - 2.0;
    }
    comparison compared = statistics_compare(a, b, N, &random);
    interval ratio = compared.ratio, added = compared.added;
    REQUIRE(fabs(ratio.value - 1.1) < 0.005);
    REQUIRE(ratio.low <= 1.1 && ratio.high >= 1.1);
    REQUIRE(ratio.low < ratio.value && ratio.value < ratio.high);
    REQUIRE(ratio.high - ratio.low < 0.02);
    REQUIRE(fabs(added.value - 10.0) < 0.5);
    REQUIRE(added.low <= 10.0 && added.high >= 10.0);
    REQUIRE(added.low < added.value && added.value < added.high);
}

/* Against itself it is 1 whatever the machine did, because pairs stay together. */
TEST(ratio_of_the_same)
{
    random_source random = {.state = 6};
    double a[N];
    for (size_t i = 0; i < N; i++)
        a[i] = 50.0 + (double)i / 10.0 + noise(&random);
    comparison compared = statistics_compare(a, a, N, &random);
    interval ratio = compared.ratio, added = compared.added;
    REQUIRE(near(ratio.value, 1.0) && near(ratio.low, 1.0) && near(ratio.high, 1.0));
    REQUIRE(fabs(added.value) + fabs(added.low) + fabs(added.high) < 1e-12);
}

/* Two moods of the machine that take turns move the median of either side; the median difference of
 * neighbours stays. */
TEST(added_between_moods)
{
    random_source random = {.state = 9};
    double a[N], b[N];
    for (size_t i = 0; i < N; i++) {
        double slow = random_below(&random, 2) == 0 ? 0.0 : 50.0;
        a[i] = 11.0 + slow + noise(&random) * 0.1;
        b[i] = 10.0 + slow + noise(&random) * 0.1;
    }
    interval added = statistics_compare(a, b, N, &random).added;
    REQUIRE(fabs(added.value - 1.0) < 0.05 && added.low > 0.9 && added.high < 1.1);
}

/* Of 400 comparisons of like with like (100 in slow, sanitized builds), about 95 % have 1 in their
 * interval, with independent samples and with ones whose neighbours are alike. */
TEST(intervals_hold)
{
    enum { SAMPLES = 120 };
    const unsigned trials = test_sanitized() ? 100 : 400;
    for (int alike = 0; alike < 2; alike++) {
        random_source random = {.state = 7};
        unsigned held = 0, added_held = 0;
        for (unsigned t = 0; t < trials; t++) {
            double a[SAMPLES], b[SAMPLES], mood = 0.0;
            for (size_t i = 0; i < SAMPLES; i++) {
                if (alike && i % 3 == 0) mood = noise(&random);
                a[i] = 10.0 + noise(&random) + mood;
                b[i] = 10.0 + noise(&random) + mood;
            }
            comparison compared = statistics_compare(a, b, SAMPLES, &random);
            held += compared.ratio.low <= 1.0 && compared.ratio.high >= 1.0;
            added_held += compared.added.low <= 0.0 && compared.added.high >= 0.0;
        }
        printf("%s: ratio %u, added %u of %u\n", alike ? "neighbours alike" : "independent", held,
               added_held, trials);
        REQUIRE(held >= trials * 90 / 100 && added_held >= trials * 90 / 100);
    }
}

/* Ties, few samples, sorted and reversed: the selection under the bootstrap agrees with sorting. */
TEST(selection_agrees)
{
    random_source random = {.state = 8};
    for (size_t n = 1; n <= 40; n++) {
        double a[40], ones[40];
        for (unsigned kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < n; i++) {
                a[i] = kind == 0   ? (double)i + 1.0
                       : kind == 1 ? (double)(n - i)
                       : kind == 2 ? 3.0
                                   : (double)random_below(&random, 5) + 1.0;
                ones[i] = 1.0;
            }
            REQUIRE(near(statistics_compare(a, ones, n, &random).ratio.value,
                         statistics_spread(a, n).median));
        }
    }
}

/* All values below a bound come, about equally often, and the same seed gives the same. */
TEST(random_numbers)
{
    random_source random = {.state = 1}, again = {.state = 1};
    unsigned counts[7] = {0};
    for (unsigned i = 0; i < 70000; i++) {
        size_t value = random_below(&random, 7);
        REQUIRE(value < 7);
        counts[value]++;
        REQUIRE_EQ(random_below(&again, 7), value);
    }
    for (size_t i = 0; i < 7; i++)
        REQUIRE(counts[i] > 9500 && counts[i] < 10500);
    REQUIRE_EQ(random_below(&random, 1), 0);
}
