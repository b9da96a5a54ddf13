/* SPDX-License-Identifier: MIT */
/* Shared memory and barriers, at block sizes that are no multiples of anything too. What is right
 * is computed here, without threads. */
#define TEST_GROUP "blocks."
#include "stage.h"

static const unsigned sizes[] = {1, 31, 33, 96, 257, 1024};
#define NUM_SIZES (sizeof sizes / sizeof sizes[0])

/* The kernel's own order of additions. */
static float sum_by_halves(float *part, unsigned size)
{
    while (size > 1) {
        unsigned half = (size + 1) / 2;
        for (unsigned t = 0; t + half < size; t++)
            part[t] += part[t + half];
        size = half;
    }
    return part[0];
}

KERNEL_CASE(sums, "block_kernels", .mark = TEST_BOTH, .smoke = true)
{
    enum { COUNT = 10007 };
    float *in = stage_alloc(COUNT * sizeof *in), *out = stage_alloc(COUNT * sizeof *out);
    int n = COUNT;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = (float)(stage_random(i) >> 8) * (1.0f / 65536.0f) - 100.0f;
    for (size_t k = 0; k < NUM_SIZES; k++) {
        const unsigned block = sizes[k], blocks = (COUNT + block - 1) / block;
        CUdeviceptr from = stage_buffer(s, in, COUNT * sizeof *in),
                    to = stage_buffer(s, NULL, blocks * sizeof *out);
        void *params[] = {&from, &to, &n};
        stage_run(s, "block_sum", (stage_shape){{blocks}, {block}, 0}, params);
        stage_take(s, to, out, blocks * sizeof *out);
        CU_OK(s->cu->MemFree(from));
        for (unsigned b = 0; b < blocks; b++) {
            float part[1024];
            for (unsigned t = 0; t < block; t++)
                part[t] = b * block + t < COUNT ? in[b * block + t] : 0.0f;
            float expected = sum_by_halves(part, block);
            REQUIRE_EQ_BYTES(&out[b], &expected, sizeof expected);
        }
    }
    free(in);
    free(out);
}

KERNEL_CASE(scans, "block_kernels", .mark = TEST_BOTH)
{
    enum { COUNT = 5003 };
    uint32_t *in = stage_alloc(COUNT * sizeof *in), *out = stage_alloc(COUNT * sizeof *out);
    int n = COUNT;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = stage_random(i);
    for (size_t k = 0; k < NUM_SIZES; k++) {
        const unsigned block = sizes[k], blocks = (COUNT + block - 1) / block;
        CUdeviceptr from = stage_buffer(s, in, COUNT * sizeof *in),
                    to = stage_buffer(s, NULL, COUNT * sizeof *out);
        void *params[] = {&from, &to, &n};
        stage_run(s, "block_scan", (stage_shape){{blocks}, {block}, 0}, params);
        stage_take(s, to, out, COUNT * sizeof *out);
        CU_OK(s->cu->MemFree(from));
        uint32_t sum = 0;
        for (unsigned i = 0; i < COUNT; i++) {
            sum = i % block == 0 ? in[i] : sum + in[i];
            REQUIRE_EQ(out[i], sum);
        }
    }
    free(in);
    free(out);
}

KERNEL_CASE(histograms, "block_kernels", .mark = TEST_BOTH)
{
    enum { COUNT = 30011 };
    unsigned char *in = stage_alloc(COUNT);
    uint32_t expected[256] = {0}, zeros[256] = {0}, counts[256];
    int n = COUNT;
    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = (unsigned char)(stage_random(i) & stage_random(i + 7)); /* not all equally often */
        expected[in[i]]++;
    }
    for (size_t k = 0; k < NUM_SIZES; k++) {
        CUdeviceptr from = stage_buffer(s, in, COUNT), to = stage_buffer(s, zeros, sizeof zeros);
        void *params[] = {&from, &to, &n};
        stage_run(s, "block_histogram", (stage_shape){{7}, {sizes[k]}, 0}, params);
        stage_take(s, to, counts, sizeof counts);
        CU_OK(s->cu->MemFree(from));
        REQUIRE_EQ_BYTES(counts, expected, sizeof counts);
    }
    free(in);
}

KERNEL_CASE(transposed, "block_kernels", .mark = TEST_BOTH)
{
    enum { WIDTH = 253, HEIGHT = 127 };
    static float in[HEIGHT][WIDTH], out[WIDTH][HEIGHT];
    int width = WIDTH, height = HEIGHT;
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            in[y][x] = (float)(y * 1000 + x);
    CUdeviceptr from = stage_buffer(s, in, sizeof in), to = stage_buffer(s, NULL, sizeof out);
    void *params[] = {&from, &to, &width, &height};
    stage_run(s, "block_transpose",
              (stage_shape){{(WIDTH + 31) / 32, (HEIGHT + 31) / 32}, {32, 8}, 0}, params);
    stage_take(s, to, out, sizeof out);
    CU_OK(s->cu->MemFree(from));
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            REQUIRE(out[x][y] == (float)(y * 1000 + x));
}

/* Blocks of two and three dimensions: who is whose neighbour. */
KERNEL_CASE(neighbours, "block_kernels", .mark = TEST_BOTH)
{
    static const unsigned blocks[][3] = {{1, 1, 1},   {5, 3, 1},  {33, 2, 1}, {3, 5, 7},
                                         {16, 16, 4}, {1, 1, 64}, {1, 31, 1}, {32, 32, 1}};
    enum { X = 3, Y = 2, Z = 2 };
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++) {
        const unsigned *b = blocks[k], threads = b[0] * b[1] * b[2], all = threads * X * Y * Z;
        uint32_t(*out)[4] = stage_alloc(all * sizeof *out);
        CUdeviceptr to = stage_buffer(s, NULL, all * sizeof *out);
        void *params[] = {&to};
        stage_run(s, "block_neighbours", (stage_shape){{X, Y, Z}, {b[0], b[1], b[2]}, 0}, params);
        stage_take(s, to, out, all * sizeof *out);
        for (unsigned i = 0; i < all; i++) {
            const unsigned t = (i % threads + 1) % threads;
            REQUIRE_EQ(out[i][0], t % b[0]);
            REQUIRE_EQ(out[i][1], t / b[0] % b[1]);
            REQUIRE_EQ(out[i][2], t / b[0] / b[1]);
            REQUIRE_EQ(out[i][3], i / threads);
        }
        free(out);
    }
}

/* Threads that have ended are waited for by nobody. */
KERNEL_CASE(ended, "block_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 3 };
    static const int counts[] = {1, 31, 32, 33, 100, 255, 256};
    static int out[BLOCKS * 256];
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        int n = counts[k];
        CUdeviceptr to = stage_buffer(s, NULL, sizeof out);
        void *params[] = {&to, &n};
        stage_run(s, "block_leave", (stage_shape){{BLOCKS}, {256}, 0}, params);
        stage_take(s, to, out, sizeof out);
        for (int i = 0; i < BLOCKS * 256; i++)
            REQUIRE_EQ(out[i], i % 256 < n ? n * (n + 1) / 2 : (int)0xeeeeeeee);
    }
}

static uint32_t reversed_bits(uint32_t x)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i++)
        r |= (x >> i & 1u) << (31 - i);
    return r;
}

static int counted_bits(uint32_t i)
{
    int ones = 0, leading = 0, first = 0;
    for (unsigned b = 0; b < 32; b++)
        ones += (int)(i >> b & 1u);
    while (leading < 32 && !(i >> (31 - leading) & 1u))
        leading++;
    for (unsigned b = 0; b < 32 && first == 0; b++)
        if (i >> b & 1u) first = (int)b + 1;
    return ones + leading * 64 + first * 4096;
}

/* On shared and on global memory. */
KERNEL_CASE(atomics, "block_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 5, BLOCK = 257 };
    int ints[4] = {0, 0x7fffffff, -0x7fffffff, 0}, ints_right[4] = {0, 0x7fffffff, -0x7fffffff, 0};
    uint32_t words[BLOCKS * 8 + 1] = {0}, right[BLOCKS * 8 + 1] = {0};
    unsigned long long longs[2] = {0}, longs_right[2] = {0};
    uint32_t sum = 0;
    for (unsigned b = 0; b < BLOCKS; b++) {
        uint32_t *r = &right[b * 8];
        r[1] = r[4] = 0xffffffffu;
        for (unsigned t = 0; t < BLOCK; t++) {
            const uint32_t i = b * BLOCK + t, h = i * 2654435761u;
            const int product = (int)(i * 7919u);
            r[0] += i;
            if (h < r[1]) r[1] = h;
            if (h > r[2]) r[2] = h;
            r[3] |= 1u << (i % 31);
            r[4] &= ~(1u << (i % 29));
            r[5] ^= i * 40503u;
            r[6] = r[6] >= 1000 ? 0 : r[6] + 1;
            r[7] += 3;
            sum += i;
            if (product < ints_right[1]) ints_right[1] = product;
            if (-(int)i > ints_right[2]) ints_right[2] = -(int)i;
            ints_right[3] += counted_bits(i);
            longs_right[0] += (unsigned long long)i << 20;
            if ((unsigned long long)i << 33 > longs_right[1])
                longs_right[1] = (unsigned long long)i << 33;
            right[BLOCKS * 8] ^= reversed_bits(i);
        }
    }
    ints_right[0] = -(int)sum;
    CUdeviceptr a = stage_buffer(s, ints, sizeof ints), w = stage_buffer(s, words, sizeof words),
                l = stage_buffer(s, longs, sizeof longs);
    void *params[] = {&a, &w, &l};
    stage_run(s, "block_atomics", (stage_shape){{BLOCKS}, {BLOCK}, 0}, params);
    stage_take(s, a, ints, sizeof ints);
    stage_take(s, w, words, sizeof words);
    stage_take(s, l, longs, sizeof longs);
    REQUIRE_EQ_BYTES(ints, ints_right, sizeof ints);
    REQUIRE_EQ_BYTES(words, right, sizeof words);
    REQUIRE_EQ_BYTES(longs, longs_right, sizeof longs);
}
