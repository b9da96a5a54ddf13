/* SPDX-License-Identifier: MIT */
/* Tests of culvert-mpi. Each case runs itself as several ranks; rank 0 is the renderer, and Vulkan
 * reads every byte. */
#include "mpi_stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 12 };

static culv_mpi_rank_info info_of(mpi_stage *s, int rank)
{
    culv_mpi_rank_info ranks[8];
    size_t count = 0;
    ranks[0] = culv_mpi_rank_info_init();
    LIB_OK(culv_mpi_get_ranks(s->mpi, ranks, 8, &count));
    REQUIRE_EQ(count, s->ranks);
    REQUIRE_EQ(ranks[rank].rank, rank);
    return ranks[rank];
}

/* All frames by one way: 1 to 5 ranks, rank 3 without a part, and both kinds of release. */
static void frames_by(const char *name, culv_mpi_way way)
{
    static const int ranks[] = {1, 2, 3, 5};
    char variable[64];
    mpi_stage s;
    snprintf(variable, sizeof variable, "CULVERT_MPI_WAY=%s", name);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        if (mpi_ranks(&s, ranks[i], variable, false)) break;
        if (i + 1 == sizeof ranks / sizeof ranks[0]) return;
    }
    if (s.rank == 0) s.desc.way = CULV_MPI_WAY_DIRECT; /* its own part is in place */
    s.desc.overlap = s.rank % 2 == 1;
    mpi_create(&s);
    for (uint64_t i = 0; i < FRAMES; i++) {
        LIB_OK(mpi_write(&s, MPI_FAR));
        if (s.rank == 0) mpi_draw(&s, i);
    }
    for (int i = 0; s.rank == 0 && i < s.ranks; i++) {
        const culv_mpi_rank_info info = info_of(&s, i);
        REQUIRE_EQ(info.way, i == 3 ? CULV_MPI_WAY_NONE : i == 0 ? CULV_MPI_WAY_DIRECT : way);
        REQUIRE(info.why[0] != 0);
        REQUIRE_EQ(info.bytes == 0, i == 3);
        if (i != 3) REQUIRE_EQ(info.frames, FRAMES);
    }
    mpi_close(&s);
}
TEST_AS(direct, frames_by("direct", CULV_MPI_WAY_DIRECT))
TEST_AS(device, frames_by("device", CULV_MPI_WAY_DEVICE))
TEST_AS(host, frames_by("host", CULV_MPI_WAY_HOST))

/* Unasked, a rank of the same machine writes straight. The renderer's queue says by a timeline that
 * it has read a frame; until then the slot is not given again. */
static void slots_wait(void)
{
    mpi_stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!mpi_ranks(&s, 2, NULL, false)) return;
    s.desc.num_slots = 1;
    mpi_create(&s);
    if (s.rank == 1) {
        LIB_OK(mpi_write(&s, MPI_FAR));
        MPI_Barrier(MPI_COMM_WORLD); /* the frame was released, and its timeline stands */
        LIB_ERROR(mpi_write(&s, 100000000), CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL);
        LIB_SAYS("rank 0");
        MPI_Barrier(MPI_COMM_WORLD);
        LIB_OK(mpi_write(&s, MPI_FAR));
        mpi_close(&s);
        return;
    }
    VkSemaphore timeline = raw_vk_timeline(&s.w.vk, 0, true);
    culv_semaphore *done = lib_import_timeline(&s.w, timeline);
    REQUIRE_EQ(info_of(&s, 1).way, CULV_MPI_WAY_DIRECT);
    LIB_OK(mpi_write(&s, MPI_FAR));
    LIB_OK(culv_mpi_acquire_frame(s.mpi, MPI_FAR, &frame));
    mpi_check(&s, &frame);
    LIB_OK(culv_mpi_release_frame(s.mpi, done, 7));
    MPI_Barrier(MPI_COMM_WORLD);
    LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 200000000, &frame), CULV_ERROR_TIMEOUT,
              CULV_REASON_RING_EMPTY);
    LIB_SAYS("no slot is free");
    raw_vk_timeline_signal(&s.w.vk, timeline, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    LIB_OK(mpi_write(&s, MPI_FAR));
    mpi_draw(&s, 1);
    culv_semaphore_destroy(&done);
    raw_vk_timeline_destroy(&s.w.vk, timeline);
    mpi_close(&s);
}

/* MAILBOX: no rank waits for the renderer, which gets the newest frame, or the last one again. */
static void newest(void)
{
    mpi_stage s;
    if (!mpi_ranks(&s, 3, NULL, false)) return;
    s.desc.policy = CULV_RING_MAILBOX;
    mpi_create(&s);
    if (s.rank == 0) { /* others are ahead by all frames, if the slots are passed on */
        for (uint64_t i = 0; i < FRAMES; i++) {
            LIB_OK(mpi_write(&s, MPI_FAR));
            LIB_OK(culv_mpi_progress(s.mpi, 0, NULL));
        }
        culv_mpi_frame frame = culv_mpi_frame_init();
        uint64_t seen = 0;
        do {
            LIB_OK(culv_mpi_acquire_frame(s.mpi, MPI_FAR, &frame));
            REQUIRE(frame.number >= seen && frame.number < FRAMES);
            REQUIRE_EQ(frame.skipped, frame.repeated ? 0 : frame.number - seen);
            mpi_check(&s, &frame);
            LIB_OK(culv_mpi_release_frame(s.mpi, NULL, 0));
            seen = frame.number + 1;
        } while (seen < FRAMES);
        LIB_OK(culv_mpi_acquire_frame(s.mpi, 0, &frame));
        REQUIRE_EQ(frame.number, FRAMES - 1);
        REQUIRE_EQ(frame.repeated, 1);
        mpi_check(&s, &frame);
        LIB_OK(culv_mpi_release_frame(s.mpi, NULL, 0));
    } else {
        for (uint64_t i = 0; i < FRAMES; i++)
            LIB_OK(mpi_write(&s, MPI_FAR));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    mpi_close(&s);
}

/* A late rank is named, and nobody else; afterwards all goes on. */
static void late(void)
{
    mpi_stage s;
    if (!mpi_ranks(&s, 3, NULL, false)) return;
    mpi_create(&s);
    if (s.rank == 2) MPI_Barrier(MPI_COMM_WORLD); /* until the renderer has missed it */
    LIB_OK(mpi_write(&s, MPI_FAR));
    if (s.rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    if (s.rank == 0) {
        culv_mpi_frame frame = culv_mpi_frame_init();
        do {
            LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 50000000, &frame), CULV_ERROR_TIMEOUT,
                      CULV_REASON_RING_EMPTY);
        } while (info_of(&s, 1).frames == 0);
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 0, &frame), CULV_ERROR_TIMEOUT,
                  CULV_REASON_RING_EMPTY);
        LIB_SAYS("frame 0 lacks the part of rank 2 (for");
        REQUIRE(strstr(culv_last_error_message(), "rank 1") == NULL);
        REQUIRE_EQ(info_of(&s, 2).behind, 1);
        REQUIRE(info_of(&s, 2).late >= 50000000);
        MPI_Barrier(MPI_COMM_WORLD);
        mpi_draw(&s, 0);
    }
    mpi_close(&s);
}

/* A rank is killed: the renderer gets the whole frames, then an error that names it; the other rank
 * is told. Nobody hangs. */
static void dies(void)
{
    mpi_stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!mpi_ranks(&s, 3, NULL, true)) return;
    s.desc.timeout = UINT64_C(3000000000); /* of the end: the dead rank does not come */
    mpi_create(&s);
    for (uint64_t i = 0; i < 2; i++) {
        LIB_OK(mpi_write(&s, MPI_FAR));
        if (s.rank == 0) mpi_draw(&s, i);
    }
    if (s.rank == 2) {
        (void)raise(SIGKILL);
    } else if (s.rank == 0) {
        LIB_OK(mpi_write(&s, MPI_FAR));
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, MPI_FAR, &frame), CULV_ERROR_ASYNC,
                  CULV_REASON_IPC_GONE);
        LIB_SAYS("rank 2 (pid ");
        REQUIRE_EQ(info_of(&s, 2).ended, 1);
        REQUIRE_EQ(info_of(&s, 1).ended, 0);
    } else {
        culv_result r = CULV_OK;
        while (r == CULV_OK)
            r = mpi_write(&s, MPI_FAR);
        REQUIRE_EQ(r, CULV_ERROR_ASYNC);
        LIB_SAYS("the renderer (rank 0) has ended its side after an error");
    }
    culv_mpi_destroy(&s.mpi);
    test_pass(); /* MPI_Finalize() would wait for the dead rank */
}

/* A side ends before the others: a rank, and then the renderer. */
static void ends(void)
{
    mpi_stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!mpi_ranks(&s, 3, NULL, false)) return;
    s.desc.overlap = 1;
    s.desc.way = s.rank == 2 ? CULV_MPI_WAY_HOST : CULV_MPI_WAY_AUTO;
    mpi_create(&s);
    LIB_OK(mpi_write(&s, MPI_FAR));
    if (s.rank == 1) LIB_OK(mpi_write(&s, MPI_FAR));
    if (s.rank == 2) culv_mpi_destroy(&s.mpi); /* its frame is on its way */
    if (s.rank == 0) {
        mpi_draw(&s, 0);
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, MPI_FAR, &frame), CULV_ERROR_ASYNC,
                  CULV_REASON_RING_STOPPED);
        LIB_SAYS("rank 2 has ended its side after 1 frames");
        culv_mpi_destroy(&s.mpi);
    }
    culv_result r = CULV_OK;
    while (s.rank == 1 && r == CULV_OK)
        r = mpi_write(&s, MPI_FAR);
    if (s.rank == 1) {
        REQUIRE_EQ(r, CULV_ERROR_ASYNC);
        REQUIRE_EQ(culv_last_error_reason(), CULV_REASON_RING_STOPPED);
    }
    mpi_close(&s);
}

/* What one rank does wrong, all are told. */
static void refused(void)
{
    static const char *const says[] = {
        "ranks 0 and 1 have the same bytes, from 100 on",
        "rank 2 has 100 bytes from 400000 on, and a frame has 400012",
        "no rank has a part",
        "rank 1: ranges is NULL",
        "num_slots is less than 3, which MAILBOX needs",
        "frame_size of the renderer is 0",
        "rank 2: the way is none of",
        "rank 1: chunk_size is more than 1 GiB",
    };
    mpi_stage s;
    if (!mpi_ranks(&s, 3, NULL, false)) return;
    for (int i = 0; i < (int)(sizeof says / sizeof says[0]); i++) {
        culv_mpi_desc d = s.desc;
        const culv_mpi_range same = {s.rank == 0 ? 0 : 100, 200}, beyond = {400000, 100};
        if (i == 0) d.ranges = &same, d.num_ranges = s.rank < 2;
        if (i == 1 && s.rank == 2) d.ranges = &beyond, d.num_ranges = 1;
        if (i == 2) d.num_ranges = 0;
        if (i == 3 && s.rank == 1) d.ranges = NULL;
        if (i == 4) d.policy = CULV_RING_MAILBOX, d.num_slots = 2;
        if (i == 5) d.frame_size = 0;
        if (i == 6 && s.rank == 2) d.way = CULV_MPI_WAY_NONE;
        if (i == 7 && s.rank == 1) d.chunk_size = UINT64_C(1) << 31;
        LIB_REFUSES(culv_mpi, s.mpi, culv_mpi_create(s.w.device, MPI_COMM_WORLD, &d, &s.mpi),
                    CULV_ERROR_INVALID, i < 2 ? CULV_REASON_RANGE : CULV_REASON_VALUE);
        LIB_SAYS(says[i]);
    }
    mpi_create(&s);
    culv_mpi_part part = culv_mpi_part_init();
    culv_mpi_frame frame = culv_mpi_frame_init();
    LIB_INVALID(culv_mpi_release(s.mpi, s.stream), CULV_REASON_RING_ORDER);
    LIB_OK(culv_mpi_acquire(s.mpi, MPI_FAR, &part));
    LIB_INVALID(culv_mpi_acquire(s.mpi, 0, &part), CULV_REASON_RING_ORDER);
    LIB_OK(culv_mpi_release(s.mpi, s.stream));
    if (s.rank == 0) {
        LIB_INVALID(culv_mpi_release_frame(s.mpi, NULL, 0), CULV_REASON_RING_ORDER);
        LIB_OK(culv_mpi_acquire_frame(s.mpi, MPI_FAR, &frame));
        LIB_INVALID(culv_mpi_acquire_frame(s.mpi, 0, &frame), CULV_REASON_RING_ORDER);
        LIB_OK(culv_mpi_release_frame(s.mpi, NULL, 0));
    } else {
        LIB_INVALID(culv_mpi_acquire_frame(s.mpi, 0, &frame), CULV_REASON_VALUE);
        REQUIRE(culv_mpi_slot(s.mpi, 0) == NULL);
    }
    frame.struct_size = 1;
    LIB_INVALID(culv_mpi_acquire_frame(s.mpi, 0, &frame), CULV_REASON_STRUCT_SIZE);
    LIB_INVALID(culv_mpi_acquire(NULL, 0, &part), CULV_REASON_NULL_ARGUMENT);
    mpi_close(&s);
}

/* ripple's picture is that of one process, byte for byte. */
static void ripple(void)
{
    static const struct {
        int ranks;
        const char *way, *idle;
    } rows[] = {{1, "auto", NULL},   {2, "direct", NULL}, {3, "host", NULL},
                {4, "device", NULL}, {4, "host", "2"},    {4, "auto", "1,3"}};
    static run_result result;
    char one[TEST_PATH_MAX], many[TEST_PATH_MAX], output[TEST_PATH_MAX + 16], idle[32], device[32];
    char program[TEST_PATH_MAX];
    const char *arguments[] = {"--size=101x67",
                               "--resolution=160x90",
                               "--frames=5",
                               "--quiet",
                               device,
                               output,
                               idle,
                               NULL};
    const char *ranks[] = {
        test_path(program, "bin/ripple-mpi"), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    snprintf(device, sizeof device, "--device=%s", run_device());
    snprintf(output, sizeof output, "--output=%s", run_scratch_path(one, "one.png"));
    arguments[6] = NULL;
    run_program(&result, "ripple", run_scratch(), arguments);
    REQUIRE_EQ(result.status, 0);
    snprintf(output, sizeof output, "--output=%s", run_scratch_path(many, "many.png"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const same[] = {"cmp", one, many, NULL};
        snprintf(idle, sizeof idle, "--idle=%s", rows[i].idle ? rows[i].idle : "");
        arguments[6] = rows[i].idle ? idle : NULL;
        memcpy(ranks + 1, arguments, sizeof arguments);
        REQUIRE(setenv("CULVERT_MPI_WAY", rows[i].way, 1) == 0);
        (void)unlink(many);
        mpi_run(&result, rows[i].ranks, false, ranks);
        if (result.status != 0) FAIL("row %zu: status %d\n%s", i, result.status, result.text);
        run_command(&result, same);
        if (result.status != 0) FAIL("row %zu: another picture: %s", i, result.text);
    }
}

static const test_case cases[] = {
    {.name = "direct", .run = direct, .own = true, .smoke = true},
    {.name = "device", .run = device, .own = true},
    {.name = "host", .run = host, .own = true, .smoke = true},
    {.name = "slots_wait", .run = slots_wait, .own = true},
    {.name = "newest", .run = newest, .own = true},
    {.name = "late", .run = late, .own = true},
    {.name = "dies", .run = dies, .own = true},
    {.name = "ends", .run = ends, .own = true},
    {.name = "refused", .run = refused, .own = true},
    {.name = "ripple", .run = ripple, .own = true},
    {.name = NULL},
};
TEST_SUITE(cases);
