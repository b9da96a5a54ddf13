/* SPDX-License-Identifier: MIT */
/* Tests of culvert-mpi. A case runs itself as the ranks of an MPI program; rank 0 is the renderer,
 * and Vulkan reads every byte. */
#include "library.h"
#include "run.h"

#include <culvert/mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INSIDE "--inside"
#define FAR    (UINT64_C(1000000) * TEST_FAR_MS)
enum { BYTES = 100003 * 4, RANGES = 4, FRAMES = 12 };

typedef struct stage {
    int rank, ranks;
    lib_world w; /* without Vulkan at other ranks than 0 */
    CUstream stream;
    culv_mpi *mpi;
    culv_mpi_desc desc;
    culv_mpi_range ranges[RANGES];
    raw_vk_buffer slots[CULV_MPI_MAX_SLOTS];
    uint8_t bytes[BYTES];
} stage;

/* What this MPI wants to hear, so that more ranks run than there are cores, as root too. */
static void run_ranks(run_result *out, int ranks, bool one_dies, const char *const *arguments)
{
    char number[16];
    const char *argv[32] = {MPIEXEC};
    size_t n = 1;
    snprintf(number, sizeof number, "%d", ranks);
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    (void)setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
#ifndef OPEN_MPI
    if (one_dies) argv[n++] = "-disable-auto-cleanup";
#elif OMPI_MAJOR_VERSION < 5
    argv[n++] = "--oversubscribe";
    if (one_dies) argv[n++] = "--enable-recovery";
#else
    if (one_dies) argv[n++] = "--with-ft", argv[n++] = "ulfm";
#endif
    argv[n++] = "-n";
    argv[n++] = number;
    for (size_t i = 0; arguments[i] && n < 31; i++)
        argv[n++] = arguments[i];
    run_command(out, argv);
    if (out->status == 127) SKIP("there is no %s", MPIEXEC);
}

/* The owner of a byte: stripes of each rank, from one end of the frame to the other. */
static int owner(uint64_t at, int ranks)
{
    const int parts = ranks > 3 ? ranks - 1 : ranks;
    const uint64_t stripe = BYTES / (uint64_t)(parts * RANGES) - 1;
    const uint64_t index = at / stripe;
    if (index >= (uint64_t)(parts * RANGES)) return -1; /* nobody's, at the end */
    const int part = (int)(index % (uint64_t)parts);
    return part < 3 ? part : part + 1; /* rank 3 has none */
}

static void my_ranges(stage *s)
{
    s->desc.ranges = s->ranges;
    for (uint64_t from = 0, to; from < BYTES; from = to) {
        const int rank = owner(from, s->ranks);
        for (to = from; to < BYTES && owner(to, s->ranks) == rank;)
            to++;
        if (rank == s->rank) s->ranges[s->desc.num_ranges++] = (culv_mpi_range){from, to - from};
    }
}

/* In place of MPI's own: whether it takes device pointers. */
int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
    return getenv("PLAYED_POINTERS") != NULL;
}

static void begin(stage *s)
{
    memset(s, 0, sizeof *s);
    REQUIRE_EQ(MPI_Init(NULL, NULL), MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
    s->w.cu = lib_driver();
    if (getenv("PLAYED_FABRIC")) {
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
        s->w.cu->SoftPlayFabric(1);
    }
    if (s->rank == 0) lib_open(&s->w);
    if (s->rank != 0) LIB_OK(culv_device_open_by_ordinal(0, NULL, &s->w.device));
    s->w.context = culv_device_context(s->w.device);
    s->stream = lib_stream(&s->w);
    s->desc = culv_mpi_desc_init();
    s->desc.frame_size = BYTES;
    s->desc.timeout = FAR;
    s->desc.chunk_size = 4099; /* many, of an odd size */
    my_ranges(s);
}

/* In the case's process: runs `ranks` of it, and requires that all ended well. False; true in a
 * rank, whose stage is open. */
static bool as_ranks(stage *s, int ranks, bool one_dies)
{
    static run_result result;
    char self[TEST_PATH_MAX], driver[32];
    const char *const arguments[] = {test_path(self, SELF), test_case_name(), driver, INSIDE, NULL};
    if (test_has_option(INSIDE)) {
        begin(s);
        return true;
    }
    snprintf(driver, sizeof driver, "--driver=%s", run_device());
    run_ranks(&result, ranks, one_dies, arguments);
    /* MPICH ends with the dead rank's status. */
    if (result.status != 0 && (!one_dies || strstr(result.text, "FAILED")))
        FAIL("%d ranks: status %d\n%s", ranks, result.status, result.text);
    return false;
}

static uint8_t byte_of(uint64_t frame, uint64_t at)
{
    return (uint8_t)((at * 2654435761u + frame * 97u) >> 7);
}

static void make(stage *s)
{
    LIB_OK(culv_mpi_create(s->w.device, MPI_COMM_WORLD, &s->desc, &s->mpi));
    for (uint32_t i = 0; s->rank == 0 && culv_mpi_slot(s->mpi, i); i++) {
        culv_vmm_allocation *allocation = culv_mpi_slot(s->mpi, i);
        culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
        LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
        const VkExternalMemoryBufferCreateInfo external = {
            .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
            .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
        VkBufferCreateInfo create = raw_vk_buffer_info(
            info.size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                           VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
        create.pNext = &external;
        raw_vk_buffer *b = &s->slots[i];
        *b = (raw_vk_buffer){.size = info.size, .flags = RAW_VK_IMPORT};
        REQUIRE_EQ(vkCreateBuffer(s->w.vk.device, &create, NULL, &b->buffer), VK_SUCCESS);
        LIB_OK(culv_vk_buffer_bind_vmm(s->w.attachment, b->buffer, allocation, 0, &b->memory));
        /* A byte that no rank writes is 0xee. */
        raw_vk_fill(&s->w.vk, b, 0, info.size, 0xeeeeeeee, NULL);
        raw_vk_idle(&s->w.vk);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* before a rank writes */
}

/* Writes the next frame's part, and hands it over; returns what culv_mpi_acquire() said. */
static culv_result write_part(stage *s, uint64_t timeout)
{
    culv_mpi_part part = culv_mpi_part_init();
    const culv_result r = culv_mpi_acquire(s->mpi, timeout, &part);
    if (r != CULV_OK) return r;
    REQUIRE_EQ(part.num_ranges, s->desc.num_ranges);
    for (size_t i = 0; i < part.num_ranges; i++) {
        const culv_mpi_range range = s->ranges[i];
        for (uint64_t at = 0; at < range.size; at++)
            s->bytes[range.offset + at] = byte_of(part.number, range.offset + at);
        REQUIRE_EQ(culv_mpi_pointer(s->mpi, i) % 16, range.offset % 16);
        LIB_CU_OK(&s->w,
                  s->w.cu->MemcpyHtoDAsync(culv_mpi_pointer(s->mpi, i), s->bytes + range.offset,
                                           (size_t)range.size, s->stream));
    }
    return culv_mpi_release(s->mpi, s->stream);
}

/* Writes until the renderer is gone. */
static void write_to_the_end(stage *s, culv_reason reason)
{
    while (write_part(s, FAR) == CULV_OK) {
    }
    culv_error e = culv_error_init();
    culv_last_error(&e);
    if (e.reason != reason) FAIL("%s", e.message);
}

/* Vulkan reads the frame that is held. */
static void check(stage *s, const culv_mpi_frame *frame)
{
    raw_vk_read(&s->w.vk, &s->slots[frame->slot], 0, s->bytes, BYTES);
    for (uint64_t at = 0; at < BYTES; at++) {
        const int rank = owner(at, s->ranks);
        const uint8_t expected = rank < 0 ? 0xee : byte_of(frame->number, at);
        if (s->bytes[at] != expected)
            FAIL("frame %d, byte %d of rank %d: %02x, not %02x", (int)frame->number, (int)at, rank,
                 s->bytes[at], expected);
    }
}

/* Takes the next frame, requires its number, checks it and gives it back. */
static void draw(stage *s, uint64_t number)
{
    culv_mpi_frame frame = culv_mpi_frame_init();
    LIB_OK(culv_mpi_acquire_frame(s->mpi, FAR, &frame));
    REQUIRE_EQ(frame.number, number);
    check(s, &frame);
    LIB_OK(culv_mpi_release_frame(s->mpi, NULL, 0));
}

static void end(stage *s)
{
    culv_mpi_destroy(&s->mpi);
    REQUIRE(s->mpi == NULL);
    for (uint32_t i = 0; s->rank == 0 && i < CULV_MPI_MAX_SLOTS; i++) {
        vkDestroyBuffer(s->w.vk.device, s->slots[i].buffer, NULL);
        vkFreeMemory(s->w.vk.device, s->slots[i].memory, NULL);
    }
    lib_stream_destroy(&s->w, s->stream);
    culv_vk_detach(&s->w.attachment);
    lib_require_no_objects(&s->w); /* counts, and so collects what is deferred */
    culv_device_close(&s->w.device);
    if (s->rank == 0) raw_vk_close(&s->w.vk);
    REQUIRE_EQ(MPI_Finalize(), MPI_SUCCESS);
}

static culv_mpi_rank_info info_of(stage *s, int rank)
{
    culv_mpi_rank_info ranks[8];
    size_t count = 0;
    ranks[0] = culv_mpi_rank_info_init();
    LIB_OK(culv_mpi_get_ranks(s->mpi, ranks, 8, &count));
    REQUIRE_EQ(count, s->ranks);
    return ranks[rank];
}

/* All frames by one way: 1 to 5 ranks, rank 3 without a part, and both kinds of release. */
static void frames_by(const char *name, culv_mpi_way way)
{
    static const int ranks[] = {1, 2, 3, 5};
    static stage s;
    (void)setenv("CULVERT_MPI_WAY", name, 1);
    for (int i = 0; !as_ranks(&s, ranks[i], false); i++) {
        if (i == 3) return;
    }
    if (s.rank == 0) s.desc.way = CULV_MPI_WAY_DIRECT; /* its own part is in place */
    s.desc.overlap = s.rank % 2 == 1;
    make(&s);
    for (uint64_t i = 0; i < FRAMES; i++) {
        LIB_OK(write_part(&s, FAR));
        if (s.rank == 0) draw(&s, i);
    }
    for (int i = 0; s.rank == 0 && i < s.ranks; i++) {
        const culv_mpi_rank_info info = info_of(&s, i);
        REQUIRE_EQ(info.way, i == 3 ? CULV_MPI_WAY_NONE : i == 0 ? CULV_MPI_WAY_DIRECT : way);
        REQUIRE(info.why[0] != 0 && (info.bytes == 0) == (i == 3));
        if (i != 3) REQUIRE_EQ(info.frames, FRAMES);
    }
    /* It has no part, so that the renderer waits for none of its frames. */
    int done = 0;
    if (s.rank == 3) MPI_Send(&done, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (s.rank == 0 && s.ranks > 3)
        MPI_Recv(&done, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    end(&s);
}
TEST_AS(direct, frames_by("direct", CULV_MPI_WAY_DIRECT), .own = true, .time_limit = 300,
        .smoke = true)
TEST_AS(device, frames_by("device", CULV_MPI_WAY_DEVICE), .own = true, .time_limit = 300)
TEST_AS(host, frames_by("host", CULV_MPI_WAY_HOST), .own = true, .time_limit = 300, .smoke = true)

/* What AUTO takes where the rank's network namespace is another one, and what it says of the ways
 * that it did not take: with fabric handles, with an MPI that takes device pointers, with neither.
 * Rank 2 is beside the renderer. */
static void apart(bool fabric, bool pointers, culv_mpi_way way, const char *why)
{
    static stage s;
    if (pointers) (void)setenv("PLAYED_POINTERS", "1", 1);
    if (fabric) (void)setenv("PLAYED_FABRIC", "1", 1);
    if (!lib_driver()->software) SKIP("IMEX and what MPI takes are played on the twin");
    if (!as_ranks(&s, 3, false)) return;
    int alone = s.rank == 1 ? unshare(CLONE_NEWNET) == 0 : 1, all;
    MPI_Allreduce(&alone, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) SKIP("network namespaces are forbidden here");
    make(&s);
    for (uint64_t i = 0; i < FRAMES; i++) {
        LIB_OK(write_part(&s, FAR));
        if (s.rank == 0) draw(&s, i);
    }
    if (s.rank == 0) {
        REQUIRE_EQ(info_of(&s, 1).way, way);
        if (strcmp(info_of(&s, 1).why, why) != 0) FAIL("%s", info_of(&s, 1).why);
        REQUIRE_EQ(info_of(&s, 2).way, CULV_MPI_WAY_DIRECT);
    }
    end(&s);
}
#define NO_SOCKET "the renderer is in another network namespace (container)"
#define NO_FABRIC NO_SOCKET ", whose memory has no fabric handles (IMEX)"
TEST_AS(apart_fabric,
        apart(true, true, CULV_MPI_WAY_DIRECT,
              NO_SOCKET "; its memory is mapped here by fabric handles"),
        .own = true, .time_limit = 300)
TEST_AS(apart_device,
        apart(false, true, CULV_MPI_WAY_DEVICE,
              NO_FABRIC "; MPI takes device pointers (MPIX_Query_cuda_support())"),
        .own = true, .time_limit = 300)
TEST_AS(apart_host,
        apart(false, false, CULV_MPI_WAY_HOST,
              NO_FABRIC
              "; MPI does not take device pointers (MPIX_Query_cuda_support()) at rank 1"),
        .own = true, .time_limit = 300)

/* Two renderers, ranks 0 and 1 of 3, by an object each. All ranks write a part for both, of an odd
 * size, through the host and without overlap: a release waits for the other renderer, which is in a
 * release of its own. */
TEST(renderers, .own = true, .time_limit = 300)
{
    enum { SIZES = 2, SMALL = 70001 };
    static stage s;
    static const uint64_t sizes[SIZES] = {SMALL, SMALL / 3 + 2};
    culv_mpi *mpi[SIZES] = {NULL, NULL};
    culv_mpi_range parts[SIZES];
    if (!as_ranks(&s, 3, false)) return;
    for (int r = 0; r < SIZES; r++) {
        const uint64_t third = sizes[r] / 3 + 1, first = (uint64_t)s.rank * third;
        parts[r] = (culv_mpi_range){first, s.rank == 2 ? sizes[r] - first : third};
        s.desc.renderer = r;
        s.desc.frame_size = sizes[r];
        s.desc.ranges = &parts[r];
        s.desc.num_ranges = 1;
        s.desc.way = s.rank == r ? CULV_MPI_WAY_AUTO : CULV_MPI_WAY_HOST;
        LIB_OK(culv_mpi_create(s.w.device, MPI_COMM_WORLD, &s.desc, &mpi[r]));
    }
    for (uint64_t i = 0; i < FRAMES; i++) {
        for (int k = 0; k < SIZES; k++) {
            const int r =
                s.rank == 0 ? 1 - k : k; /* each renderer writes for the other one first */
            culv_mpi_part part = culv_mpi_part_init();
            LIB_OK(culv_mpi_acquire(mpi[r], FAR, &part));
            REQUIRE_EQ(part.number, i);
            for (uint64_t at = 0; at < parts[r].size; at++)
                s.bytes[at] = byte_of(i + 50 * (uint64_t)r, parts[r].offset + at);
            LIB_CU_OK(&s.w, s.w.cu->MemcpyHtoDAsync(culv_mpi_pointer(mpi[r], 0), s.bytes,
                                                    (size_t)parts[r].size, s.stream));
            lib_finish(&s.w, s.stream);
            LIB_OK(culv_mpi_release(mpi[r], s.stream));
        }
        if (s.rank >= SIZES) continue;
        culv_mpi_frame frame = culv_mpi_frame_init();
        LIB_OK(culv_mpi_acquire_frame(mpi[s.rank], FAR, &frame));
        REQUIRE_EQ(frame.number, i);
        LIB_CU_OK(&s.w, s.w.cu->MemcpyDtoH(s.bytes, frame.pointer, (size_t)sizes[s.rank]));
        for (uint64_t at = 0; at < sizes[s.rank]; at++)
            REQUIRE_EQ(s.bytes[at], byte_of(i + 50 * (uint64_t)s.rank, at));
        LIB_OK(culv_mpi_release_frame(mpi[s.rank], NULL, 0));
    }
    for (int r = 0; r < SIZES; r++)
        culv_mpi_destroy(&mpi[r]);
    end(&s);
}

/* Unasked, a rank of the same machine writes straight. The renderer's queue says by a timeline that
 * it has read a frame; until then the slot is not given again. */
TEST(slots_wait, .own = true)
{
    static stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!as_ranks(&s, 2, false)) return;
    s.desc.num_slots = 1;
    make(&s);
    LIB_OK(write_part(&s, FAR));
    if (s.rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD); /* the frame was released, and its timeline stands */
        LIB_ERROR(write_part(&s, 100000000), TIMEOUT, RING_FULL, "rank 0");
        MPI_Barrier(MPI_COMM_WORLD);
        LIB_OK(write_part(&s, FAR));
        end(&s);
        return;
    }
    VkSemaphore timeline = raw_vk_timeline(&s.w.vk, 0, true);
    culv_semaphore *done = lib_import_timeline(&s.w, timeline);
    REQUIRE_EQ(info_of(&s, 1).way, CULV_MPI_WAY_DIRECT);
    LIB_OK(culv_mpi_acquire_frame(s.mpi, FAR, &frame));
    check(&s, &frame);
    LIB_OK(culv_mpi_release_frame(s.mpi, done, 7));
    MPI_Barrier(MPI_COMM_WORLD);
    LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 200000000, &frame), TIMEOUT, RING_EMPTY,
              "no slot is free");
    raw_vk_timeline_signal(&s.w.vk, timeline, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    LIB_OK(write_part(&s, FAR));
    draw(&s, 1);
    culv_semaphore_destroy(&done, NULL);
    raw_vk_timeline_destroy(&s.w.vk, timeline);
    end(&s);
}

/* MAILBOX: no rank waits for the renderer, which gets the newest frame, or the last one again. */
TEST(newest, .own = true)
{
    static stage s;
    if (!as_ranks(&s, 3, false)) return;
    s.desc.policy = CULV_RING_MAILBOX;
    make(&s);
    for (uint64_t i = 0; i < FRAMES; i++)
        LIB_OK(write_part(&s, FAR));
    if (s.rank == 0) {
        culv_mpi_frame frame = culv_mpi_frame_init();
        uint64_t seen = 0;
        do {
            LIB_OK(culv_mpi_acquire_frame(s.mpi, FAR, &frame));
            REQUIRE(frame.number + frame.repeated >= seen && frame.number < FRAMES);
            REQUIRE_EQ(frame.skipped, frame.repeated ? 0 : frame.number - seen);
            check(&s, &frame);
            LIB_OK(culv_mpi_release_frame(s.mpi, NULL, 0));
            seen = frame.number + 1;
        } while (seen < FRAMES);
        LIB_OK(culv_mpi_acquire_frame(s.mpi, 0, &frame));
        REQUIRE(frame.number == FRAMES - 1 && frame.repeated);
        check(&s, &frame);
        LIB_OK(culv_mpi_release_frame(s.mpi, NULL, 0));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    end(&s);
}

/* Naps of this thread's calls. */
static _Thread_local int num_naps;
int nanosleep(const struct timespec *time, struct timespec *left)
{
    num_naps++;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

/* A wait gives the CPU away by naps, but not just after a chunk of a part that is not all there. */
TEST(naps, .own = true)
{
    enum { ROUNDS = 6, LOOKS = 40 }; /* rounds of two chunks each at most */
    static stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!as_ranks(&s, 2, false)) return;
    s.desc.overlap = 1;
    s.desc.way = s.rank == 1 ? CULV_MPI_WAY_HOST : CULV_MPI_WAY_AUTO;
    make(&s);
    for (num_naps = 0; s.rank == 0 && num_naps == 0;) /* nothing has come */
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 10000000, &frame), TIMEOUT, RING_EMPTY);
    LIB_OK(write_part(&s, FAR));
    for (int i = 0; i < ROUNDS; i++) {
        LIB_CU_OK(&s.w, s.w.cu->CtxSynchronize());
        LIB_OK(culv_mpi_progress(s.mpi, 0, NULL));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = num_naps = 0; s.rank == 0 && i < LOOKS; i++) {
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 900000, &frame), TIMEOUT, RING_EMPTY, "rank 1");
        REQUIRE_EQ(num_naps, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    LIB_OK(culv_mpi_progress(s.mpi, FAR, NULL));
    if (s.rank == 0) draw(&s, 0);
    end(&s);
}

/* A late rank is named, and nobody else; afterwards all goes on. */
TEST(late, .own = true)
{
    static stage s;
    if (!as_ranks(&s, 3, false)) return;
    make(&s);
    if (s.rank == 2) MPI_Barrier(MPI_COMM_WORLD); /* until the renderer has missed it */
    LIB_OK(write_part(&s, FAR));
    if (s.rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    if (s.rank == 0) {
        culv_mpi_frame frame = culv_mpi_frame_init();
        do {
            LIB_ERROR(culv_mpi_acquire_frame(s.mpi, 50000000, &frame), TIMEOUT, RING_EMPTY);
        } while (strstr(culv_last_error_message(), "rank 1"));
        LIB_SAYS("frame 0 lacks the part of rank 2 (for");
        REQUIRE(info_of(&s, 2).behind == 1 && info_of(&s, 2).late >= 50000000);
        MPI_Barrier(MPI_COMM_WORLD);
        draw(&s, 0);
    }
    end(&s);
}

/* A rank is killed, the renderer or another one. The renderer gets the whole frames, then an error
 * that names the rank, and so do the ranks if it is the renderer. Nobody hangs. */
static void dies_as(int dead)
{
    static stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!as_ranks(&s, 3, true)) return;
    s.desc.timeout = UINT64_C(3000000000); /* of the end: the dead rank does not come */
    make(&s);
    for (uint64_t i = 0; i < 2; i++) {
        LIB_OK(write_part(&s, FAR));
        if (s.rank == 0) draw(&s, i);
    }
    if (s.rank == dead) {
        (void)raise(SIGKILL);
    } else if (s.rank == 0) {
        LIB_OK(write_part(&s, FAR));
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, FAR, &frame), ASYNC, IPC_GONE, "rank 2 (pid ");
        REQUIRE(info_of(&s, 2).ended && !info_of(&s, 1).ended);
    } else {
        write_to_the_end(&s, dead ? CULV_REASON_RING_STOPPED : CULV_REASON_IPC_GONE);
        LIB_SAYS(dead ? "(rank 0) has ended its side after an error" : "process (rank 0, pid ");
    }
    culv_mpi_destroy(&s.mpi);
    test_pass(); /* MPI_Finalize() would wait for the dead rank */
}
TEST_AS(dies, dies_as(2), .own = true)
TEST_AS(renderer_dies, dies_as(0), .own = true)

/* A rank never comes: the others wait for it as long as they said. */
TEST(absent, .own = true)
{
    static stage s;
    if (!as_ranks(&s, 3, true)) return;
    s.desc.timeout = UINT64_C(500000000);
    if (s.rank != 1)
        LIB_REFUSES(s.mpi, culv_mpi_create(s.w.device, MPI_COMM_WORLD, &s.desc, &s.mpi), TIMEOUT,
                    IPC_GONE);
    MPI_Barrier(MPI_COMM_WORLD);
    test_pass(); /* MPI_Finalize() would wait for what was begun */
}

/* A side ends before the others: a rank, and then the renderer. */
TEST(ends, .own = true)
{
    static stage s;
    culv_mpi_frame frame = culv_mpi_frame_init();
    if (!as_ranks(&s, 3, false)) return;
    s.desc.overlap = 1;
    s.desc.way = s.rank == 2 ? CULV_MPI_WAY_HOST : CULV_MPI_WAY_AUTO;
    make(&s);
    LIB_OK(write_part(&s, FAR));
    if (s.rank == 1) LIB_OK(write_part(&s, FAR));
    if (s.rank == 2) culv_mpi_destroy(&s.mpi); /* its frame is on its way */
    if (s.rank == 0) {
        draw(&s, 0);
        LIB_ERROR(culv_mpi_acquire_frame(s.mpi, FAR, &frame), ASYNC, RING_STOPPED,
                  "rank 2 has ended its side after 1 frames");
        culv_mpi_destroy(&s.mpi);
    }
    if (s.rank == 1) write_to_the_end(&s, CULV_REASON_RING_STOPPED);
    end(&s);
}

/* What one rank does wrong, all are told. */
TEST(refused, .own = true)
{
    static const char *const says[] = {
        "ranks 0 and 1 have the same bytes, from 100 on",
        "rank 2 has 100 bytes from 400000 on, and a frame has 400012",
        "no rank has a part",
        "rank 1: ranges is NULL",
        "num_slots is less than 3, which MAILBOX needs",
        "frame_size of the renderer is 0",
        "rank 2: the way is none of",
        "rank 1: chunk_size is more than 1 GiB"};
    static stage s;
    if (!as_ranks(&s, 3, false)) return;
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
        LIB_REFUSES_AS(s.mpi, culv_mpi_create(s.w.device, MPI_COMM_WORLD, &d, &s.mpi),
                       CULV_ERROR_INVALID, i < 2 ? CULV_REASON_RANGE : CULV_REASON_VALUE, says[i]);
    }
    make(&s);
    culv_mpi_part part = culv_mpi_part_init();
    culv_mpi_frame frame = culv_mpi_frame_init();
    LIB_INVALID(culv_mpi_release(s.mpi, s.stream), RING_ORDER);
    LIB_OK(culv_mpi_acquire(s.mpi, FAR, &part));
    LIB_INVALID(culv_mpi_acquire(s.mpi, 0, &part), RING_ORDER);
    LIB_OK(culv_mpi_release(s.mpi, s.stream));
    if (s.rank == 0) {
        LIB_INVALID(culv_mpi_release_frame(s.mpi, NULL, 0), RING_ORDER);
        LIB_OK(culv_mpi_acquire_frame(s.mpi, FAR, &frame));
        LIB_INVALID(culv_mpi_acquire_frame(s.mpi, 0, &frame), RING_ORDER);
    } else {
        LIB_INVALID(culv_mpi_acquire_frame(s.mpi, 0, &frame), VALUE);
        REQUIRE(culv_mpi_slot(s.mpi, 0) == NULL);
    }
    frame.struct_size = 1;
    LIB_INVALID(culv_mpi_acquire_frame(s.mpi, 0, &frame), STRUCT_SIZE);
    LIB_INVALID(culv_mpi_acquire(NULL, 0, &part), NULL_ARGUMENT);
    end(&s);
}

/* culvert-mpi-measure: each way, NCCL's (played), one that loses a word, the renderer's time, and
 * HOST beside MPI_Gatherv. */
TEST(measure, .own = true, .time_limit = 300)
{
#ifdef PLAYED_NCCL
    static const char *const options[] = {"--sizes=1", "--sizes=1", "--sizes=1", "--cpu", "--host"};
    static const char *const says[] = {"| NCCL   ", "NCCL, send and receive", "WRONG", "farthest",
                                       "| host  "};
    static run_result result;
    if (!lib_driver()->software) SKIP("NCCL is played on the twin");
    for (int i = 0; i < 5; i++) {
        char program[TEST_PATH_MAX];
        const char *const arguments[] = {test_path(program, "bin/culvert-mpi-measure"), options[i],
                                         "--frames=3", i == 4 ? "--sizes=1" : NULL, NULL};
        if (i == 1) (void)setenv("LD_LIBRARY_PATH", PLAYED_NCCL, 1);
        if (i == 2) (void)setenv("PLAYED_NCCL", "spoils", 1);
        run_ranks(&result, 3, false, arguments);
        if ((result.status != 0) != (i == 2) || !strstr(result.text, says[i]))
            FAIL("status %d, and not '%s':\n%s", result.status, says[i], result.text);
    }
#else
    SKIP("the program is built for another MPI, or there is no twin");
#endif
}
