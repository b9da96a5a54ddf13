/* SPDX-License-Identifier: MIT */
/* See endurance.h. */
#include "endurance.h"

enum { CHUNKS = 10 };

typedef struct growth {
    long fds, maps, threads, rss;
} growth;

static void add(growth *sum, const lib_level *from, const lib_level *to)
{
    sum->fds += (long)to->fds - (long)from->fds;
    sum->maps += (long)to->maps - (long)from->maps;
    sum->threads += (long)to->threads - (long)from->threads;
    sum->rss += to->rss - from->rss;
}

void endurance_run(lib_world *w, const endurance_pair *pair)
{
    long count = strtol(test_option("turns", "500"), NULL, 10);
    REQUIRE(count >= 100);
    growth raw = {0}, culvert = {0};
    lib_start_queue_threads(w);
    long turns = 0;
    for (int chunk = -2; chunk < CHUNKS; chunk++) { /* caches fill in the first two */
        lib_level start = lib_level_now();
        for (long i = 0; i < count / CHUNKS; i++)
            pair->raw_turn(pair->user, i);
        if (chunk >= 0) lib_wait_threads(start.threads);
        lib_level between = lib_level_now();
        for (long i = 0; i < count / CHUNKS; i++)
            pair->culvert_turn(pair->user, i);
        lib_settle(w);
        if (chunk >= 0) lib_wait_threads(between.threads);
        lib_level end = lib_level_now();
        if (chunk < 0) continue;
        add(&raw, &start, &between);
        add(&culvert, &between, &end);
        turns += count / CHUNKS;
    }
    char name[64];
    snprintf(name, sizeof name, "library.endurance_%s", pair->name);
    MEASURED(name,
             "%ld turns%s: growth of fds %ld, maps %ld, threads %ld, RSS %ld KiB; "
             "of the raw calls %ld, %ld, %ld, %ld KiB",
             turns, pair->note, culvert.fds, culvert.maps, culvert.threads, culvert.rss, raw.fds,
             raw.maps, raw.threads, raw.rss);
    REQUIRE_EQ(culvert.fds, 0);
    REQUIRE(culvert.threads <= 0); /* one that was about to end may have been counted */
    if (test_sanitized()) return;  /* whose allocators keep what was freed */
    growth base = w->cu->software ? (growth){0} : raw;
    REQUIRE(culvert.maps <= (base.maps > 0 ? base.maps : 0) + 16);
    REQUIRE(culvert.rss <= (base.rss > 0 ? base.rss * 5 / 4 : 0) + 4096);
}
