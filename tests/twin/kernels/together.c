/* SPDX-License-Identifier: MIT */
/* Warps: shuffles, votes, masks; and __device__ functions. */
#define TEST_GROUP "together."
#include "stage.h"

typedef struct votes {
    uint32_t ballot, any, all, count, block_and, block_or, equal;
    int32_t all_equal;
} votes;

static votes votes_of(const uint32_t *block, unsigned threads, unsigned t)
{
    const unsigned first = t / 32 * 32, end = first + 32 < threads ? first + 32 : threads;
    votes v = {.all = 1, .block_and = 1, .all_equal = 1};
    for (unsigned i = first; i < end; i++) {
        if (block[i] & 1u) v.ballot |= 1u << (i - first);
        if ((block[i] & 6u) == 6u) v.any = 1;
        if ((block[i] & 24u) == 0) v.all = 0;
        if ((block[i] & 3u) == (block[t] & 3u)) v.equal |= 1u << (i - first);
        if (block[i] >> 31 != block[t] >> 31) v.all_equal = 0;
    }
    for (unsigned i = 0; i < threads; i++) {
        v.count += block[i] & 1u;
        if ((block[i] & 24u) == 0) v.block_and = 0;
        if ((block[i] & 0x40000006u) == 0x40000006u) v.block_or = 1;
    }
    return v;
}

KERNEL_CASE(voted, "block_kernels", .mark = TEST_BOTH)
{
    static const unsigned blocks[][3] = {{1, 1, 1},   {31, 1, 1},   {33, 1, 1}, {96, 1, 1},
                                         {257, 1, 1}, {1024, 1, 1}, {7, 5, 1},  {8, 8, 3}};
    enum { BLOCKS = 9 };
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++) {
        const unsigned *b = blocks[k], threads = b[0] * b[1] * b[2], all = threads * BLOCKS;
        uint32_t *in = stage_alloc(all * sizeof *in);
        votes *out = stage_alloc(all * sizeof *out);
        for (unsigned i = 0; i < all; i++) {
            /* Some blocks and warps agree, others do not. */
            in[i] = stage_random(i);
            if (i / threads % 3 == 1) in[i] |= 8u;
            if (i / threads % 3 == 2) in[i] &= ~(i % threads < 64 ? 0x80000004u : 4u);
        }
        CUdeviceptr from = stage_buffer(s, in, all * sizeof *in),
                    to = stage_buffer(s, NULL, all * sizeof *out);
        void *params[] = {&from, &to};
        stage_run(s, "block_votes", (stage_shape){{BLOCKS}, {b[0], b[1], b[2]}, 0}, params);
        stage_take(s, to, out, all * sizeof *out);
        CU_OK(s->cu->MemFree(from));
        for (unsigned i = 0; i < all; i++) {
            votes right = votes_of(&in[i / threads * threads], threads, i % threads);
            REQUIRE_EQ_BYTES(&out[i], &right, sizeof right);
        }
        free(in);
        free(out);
    }
}

KERNEL_CASE(shuffled, "block_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 2, BLOCK = 96, ALL = BLOCKS * BLOCK };
    static const int widths[] = {32, 16, 8, 4, 2, 1};
    static int32_t ints[ALL];
    static double doubles[ALL];
    static unsigned long long longs[ALL];
    static float floats[ALL];
    for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
        int width = widths[k];
        CUdeviceptr i = stage_buffer(s, NULL, sizeof ints),
                    d = stage_buffer(s, NULL, sizeof doubles),
                    l = stage_buffer(s, NULL, sizeof longs),
                    f = stage_buffer(s, NULL, sizeof floats);
        void *params[] = {&i, &d, &l, &f, &width};
        stage_run(s, "block_shuffles", (stage_shape){{BLOCKS}, {BLOCK}, 0}, params);
        stage_take(s, i, ints, sizeof ints);
        stage_take(s, d, doubles, sizeof doubles);
        stage_take(s, l, longs, sizeof longs);
        stage_take(s, f, floats, sizeof floats);
        for (int n = 0; n < ALL; n++) {
            /* CUDA C++ Programming Guide, "Warp shuffle functions" */
            const int t = n % BLOCK, lane = t % 32, part = t - t % width, in_part = t % width;
            const int by_index = part + (lane + 5) % width;
            const int up = in_part >= 3 ? t - 3 : t;
            const int down = in_part + 2 < width ? t + 2 : t;
            int crossed =
                lane ^ 5; /* to an earlier part it may reach, to a later one it does not */
            if (crossed >= lane - lane % width + width) crossed = lane;
            crossed += t - lane;
            REQUIRE_EQ(ints[n], by_index * 3 + 1);
            REQUIRE(doubles[n] == (double)(up * 3 + 1) * 0.1);
            REQUIRE(longs[n] == (unsigned long long)(down * 3 + 1) * 0x100000001ull);
            REQUIRE(floats[n] == (float)(crossed * 3 + 1) * 0.5f);
        }
    }
}

/* Parts of a warp go different ways. */
KERNEL_CASE(halves, "block_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 2, BLOCK = 128, ALL = BLOCKS * BLOCK };
    static uint32_t out[ALL];
    CUdeviceptr to = stage_buffer(s, NULL, sizeof out);
    void *params[] = {&to};
    stage_run(s, "block_halves", (stage_shape){{BLOCKS}, {BLOCK}, 0}, params);
    stage_take(s, to, out, sizeof out);
    for (unsigned first = 0; first < ALL; first += 32) {
        uint32_t sum[32], next[12];
        for (unsigned lane = 0; lane < 32; lane++)
            sum[lane] = lane < 12 ? first % BLOCK + lane
                                  : (first % BLOCK + lane) * 3 + (0xaaaaaaaau & 0xfffff000u);
        for (unsigned by = 1; by < 4; by++) {
            for (unsigned lane = 0; lane < 12; lane++)
                next[lane] = sum[lane] + sum[(lane + by) % 12];
            memcpy(sum, next, sizeof next);
        }
        for (unsigned lane = 0; lane < 32; lane++)
            REQUIRE_EQ(out[first + lane], sum[31 - lane]);
    }
}

KERNEL_CASE(device_functions, "device_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 6, LARGEST = 1024 };
    static const unsigned sizes[] = {32, 96, 256, LARGEST};
    static uint32_t in[BLOCKS * LARGEST], out[BLOCKS * 2];
    for (unsigned i = 0; i < BLOCKS * LARGEST; i++)
        in[i] = stage_random(i);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        CUdeviceptr from = stage_buffer(s, in, sizeof in), to = stage_buffer(s, NULL, sizeof out);
        void *params[] = {&from, &to};
        stage_run(s, "device_sum", (stage_shape){{BLOCKS}, {sizes[k]}, 0}, params);
        stage_take(s, to, out, sizeof out);
        CU_OK(s->cu->MemFree(from));
        for (unsigned b = 0; b < BLOCKS; b++) {
            uint32_t sum = 0, squares = 0;
            for (unsigned t = 0; t < sizes[k]; t++) {
                uint32_t value = in[b * sizes[k] + t];
                sum += value;
                squares += value * value;
            }
            REQUIRE_EQ(out[2 * b], sum);
            REQUIRE_EQ(out[2 * b + 1], squares);
        }
    }
}

/* Two streams at once: each block has its own shared memory. */
TEST(side_by_side, .mark = TEST_BOTH)
{
    enum { BLOCKS = 200, BLOCK = 96, ALL = BLOCKS * BLOCK, TURNS = 4 };
    static uint32_t in[2][ALL], out[2][ALL];
    stage s = stage_open("block_kernels");
    stage other = s;
    CUdeviceptr from[2], to[2];
    int n = ALL;
    CU_OK(s.cu->StreamCreate(&other.stream, CU_STREAM_NON_BLOCKING));
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < ALL; i++)
            in[k][i] = stage_random(i * 2 + k);
        from[k] = stage_buffer(&s, in[k], sizeof in[k]);
        to[k] = stage_buffer(&s, NULL, sizeof out[k]);
    }
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned k = 0; k < 2; k++) {
            void *params[] = {&from[k], &to[k], &n};
            CU_OK(stage_launch(k ? &other : &s, "block_scan", (stage_shape){{BLOCKS}, {BLOCK}, 0},
                               params));
        }
    CU_OK(s.cu->StreamSynchronize(s.stream));
    CU_OK(s.cu->StreamSynchronize(other.stream));
    for (unsigned k = 0; k < 2; k++) {
        stage_take(&s, to[k], out[k], sizeof out[k]);
        CU_OK(s.cu->MemFree(from[k]));
        uint32_t sum = 0;
        for (unsigned i = 0; i < ALL; i++) {
            sum = i % BLOCK == 0 ? in[k][i] : sum + in[k][i];
            REQUIRE_EQ(out[k][i], sum);
        }
    }
    CU_OK(s.cu->StreamDestroy(other.stream));
    stage_close(&s);
}
