/* SPDX-License-Identifier: MIT */
/* Torture of culv_vector: each driver call and each allocation on the ways of growing, moving,
 * reserving, shrinking and retiring fails once. A vector that answers with an error is as it was,
 * and does it the next time. */
#include "torture.h"

enum { CHUNK = 2 << 20 };

static CUdeviceptr wall;
static unsigned moved;

/* What of a vector an error leaves as it was. */
typedef struct seen {
    culv_vector_stats stats;
    CUdeviceptr base;
    uint64_t generation, moved; /* no padding: it is compared as bytes */
    size_t count;
    culv_vector_chunk chunks[16];
} seen;

static seen look(const culv_vector *v)
{
    seen s;
    memset(&s, 0, sizeof s);
    s.stats = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v, &s.stats));
    s.base = culv_vector_pointer(v);
    LIB_OK(culv_vector_get_chunks(v, s.chunks, 16, &s.count, &s.generation));
    REQUIRE(s.count <= 16);
    s.moved = moved;
    return s;
}

static bool same(const culv_vector *v, const seen *before)
{
    const seen now = look(v);
    return memcmp(&now, before, sizeof now) == 0;
}

/* Of several old ones some may have gone. */
static bool same_but_for_old_addresses(const culv_vector *v, seen *before)
{
    const uint64_t left = look(v).stats.retiring;
    REQUIRE(left > 0 && left <= before->stats.retiring);
    before->stats.retiring = left;
    return same(v, before);
}

static void note_move(void *context, culv_vector *v, CUdeviceptr before, CUdeviceptr now)
{
    (void)context;
    REQUIRE(before != now && culv_vector_pointer(v) == now);
    moved++;
}

static void write_words(CUdeviceptr at, uint64_t bytes, uint32_t value)
{
    LIB_CU_OK(&torture.w, torture.w.cu->MemsetD32Async(at, value, (size_t)bytes / 4, NULL));
    lib_finish(&torture.w, NULL);
}

static void require_word(CUdeviceptr at, uint32_t value)
{
    uint32_t word = 0;
    LIB_CU_OK(&torture.w, torture.w.cu->MemcpyDtoH(&word, at, sizeof word));
    REQUIRE_EQ(word, value);
}

/* The first word of each chunk has its number. */
static void require_data(CUdeviceptr base, unsigned chunks)
{
    for (unsigned i = 0; i < chunks; i++)
        require_word(base + (CUdeviceptr)i * CHUNK, i + 1);
}

static void open_device(void)
{
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &torture.w.device));
    torture.w.context = culv_device_context(torture.w.device);
    moved = 0;
}

/* Nothing of virtual memory management is left, however often something failed. */
static void close_device(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    DO(culv_device_close(&torture.w.device));
    torture.w.cu->SoftCounts(&c);
    if (c.physical_allocations + c.reservations + c.virtual_mappings != 0)
        torture_complain("leaves %d allocations, %d reservations, %d mappings",
                         (int)c.physical_allocations, (int)c.reservations, (int)c.virtual_mappings);
}

static void take_what_is_behind(const culv_vector *v)
{
    culv_vector_stats stats = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v, &stats));
    LIB_CU_OK(&torture.w, torture.w.cu->MemAddressReserve(
                              &wall, CHUNK, 0, culv_vector_pointer(v) + stats.reserved, 0));
}

static void give_the_wall_back(void)
{
    LIB_CU_OK(&torture.w, torture.w.cu->MemAddressFree(wall, CHUNK));
}

#define AGAIN(made)                                                                                \
    do {                                                                                           \
        const seen before_ = look(v);                                                              \
        TRY_AGAIN(made, same(v, &before_));                                                        \
    } while (0)

static void grow_and_move(void)
{
    culv_vector *v = NULL;
    open_device();
    culv_vector_desc d = culv_vector_desc_init();
    d.size = 1;
    d.reserve = 4 * CHUNK;
    d.max_chunk = CHUNK;
    d.growth_percent = 30;
    d.moved = note_move;
    TRY_AGAIN(culv_vector_create(torture.w.device, &d, &v), v == NULL);
    AGAIN(culv_vector_grow(v, 2 * CHUNK));
    AGAIN(culv_vector_grow(v, 4 * CHUNK)); /* two chunks */
    const CUdeviceptr old = culv_vector_pointer(v);
    for (unsigned i = 0; i < 4; i++)
        write_words(old + (CUdeviceptr)i * CHUNK, 64, i + 1);
    take_what_is_behind(v);
    AGAIN(culv_vector_grow(v, 5 * CHUNK)); /* moves */
    REQUIRE_EQ(moved, 1);
    REQUIRE(culv_vector_pointer(v) != old);
    require_data(culv_vector_pointer(v), 4);
    require_data(old, 4);
    AGAIN(culv_vector_reserve(v, 40 * CHUNK)); /* in place, or it moves once more */
    require_data(culv_vector_pointer(v), 4);
    seen had = look(v);
    TRY_AGAIN(culv_vector_retire(v, 0, NULL), same_but_for_old_addresses(v, &had));
    culv_vector_stats stats = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v, &stats));
    REQUIRE_EQ(stats.retiring, 0);
    AGAIN(culv_vector_grow(v, 6 * CHUNK));
    require_data(culv_vector_pointer(v), 4);
    give_the_wall_back();
    DO(culv_vector_destroy(&v, NULL));
    close_device();
}

/* Where the driver has addresses behind the vector. */
static void extend_in_place(void)
{
    culv_vector *v = NULL;
    CUdeviceptr room = 0;
    open_device();
    LIB_CU_OK(&torture.w, torture.w.cu->MemAddressReserve(&room, (size_t)1 << 30, 0, 0, 0));
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 2 * CHUNK;
    d.no_move = 1;
    TRY_AGAIN(culv_vector_create(torture.w.device, &d, &v), v == NULL);
    AGAIN(culv_vector_grow(v, CHUNK));
    write_words(culv_vector_pointer(v), 64, 1);
    CUcontext before = lib_enter(&torture.w);
    CU_OK(torture.w.cu->MemAddressFree(room, (size_t)1 << 30));
    CU_OK(torture.w.cu->MemAddressReserve(&room, 16 * CHUNK, 0, culv_vector_pointer(v) + 2 * CHUNK,
                                          0));
    const bool is_free = room == culv_vector_pointer(v) + 2 * CHUNK;
    CU_OK(torture.w.cu->MemAddressFree(room, 16 * CHUNK));
    lib_leave(&torture.w, before);
    if (!is_free) SKIP("no addresses are free behind the vector");
    AGAIN(culv_vector_grow(v, 4 * CHUNK)); /* a chunk before the seam, and one behind it */
    AGAIN(culv_vector_reserve(v, 6 * CHUNK));
    require_data(culv_vector_pointer(v), 1);
    DO(culv_vector_destroy(&v, NULL));
    close_device();
}

static void shrink_and_regrow(void)
{
    culv_vector *v = NULL;
    open_device();
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 4 * CHUNK;
    d.max_chunk = CHUNK;
    d.moved = note_move;
    TRY_AGAIN(culv_vector_create(torture.w.device, &d, &v), v == NULL);
    AGAIN(culv_vector_grow(v, 4 * CHUNK));
    for (unsigned i = 0; i < 4; i++)
        write_words(culv_vector_pointer(v) + (CUdeviceptr)i * CHUNK, 64, i + 1);
    AGAIN(culv_vector_shrink(v, 2 * CHUNK, NULL));
    REQUIRE_EQ(culv_vector_committed(v), 2 * CHUNK);
    AGAIN(culv_vector_grow(v, 3 * CHUNK)); /* where memory waits for a stream */
    require_data(culv_vector_pointer(v), 2);
    write_words(culv_vector_pointer(v) + 2 * CHUNK, 64, 3);
    take_what_is_behind(v);
    AGAIN(culv_vector_grow(v, 5 * CHUNK));
    require_data(culv_vector_pointer(v), 3);
    const CUdeviceptr now = culv_vector_pointer(v);
    lib_forget_error();
    const seen had = look(v);
    torture_arm();
    const culv_result result = culv_vector_shrink(v, CHUNK, NULL); /* at both addresses */
    const bool hit = torture_disarm();
    if (result != CULV_OK) {
        torture_failed("culv_vector_shrink", result, hit, false);
        REQUIRE(same(v, &had));
        LIB_OK(culv_vector_shrink(v, CHUNK, NULL));
    }
    REQUIRE_EQ(culv_vector_pointer(v), now);
    require_data(now, 1);
    give_the_wall_back();
    DO(culv_vector_destroy(&v, &(CUstream){NULL}));
    close_device();
}

static const torture_path growing = {.run = grow_and_move, .least = {20, 0, 10}};
static const torture_path extending = {.run = extend_in_place, .least = {10, 0, 5}};
static const torture_path shrinking = {.run = shrink_and_regrow, .least = {10, 0, 5}};
TORTURE_CUDA_CASES("grow", growing)
TORTURE_CUDA_CASES("extend", extending)
TORTURE_CUDA_CASES("shrink", shrinking)
