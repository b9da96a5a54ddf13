/* SPDX-License-Identifier: MIT */
/* Kernels whose threads work together, and how kernels are loaded and launched. */
#include "module_abi.h"
#include "raw_cuda.h"

#include <dlfcn.h>

typedef struct stage {
    const raw_cuda *cu;
    CUstream stream;
    CUmodule module;
} stage;

#define KERNEL_CASE(name, ...)                                                                     \
    TEST_ON_(stage, s, *s = stage_open(TEST_FIRST(__VA_ARGS__)), stage_close(s), name,             \
             TEST_REST(__VA_ARGS__))

typedef struct stage_shape {
    unsigned grid[3], block[3], shared;
} stage_shape;

static stage stage_open(const char *module)
{
    stage s = {.cu = raw_cuda_open()};
    raw_cuda_context(s.cu, 0);
    s.stream = raw_cuda_stream(s.cu);
    s.module = raw_cuda_module(s.cu, module);
    return s;
}

static void stage_close(stage *s)
{
    test_settle();
    raw_cuda_leave(s->cu, 0);
}

/* Memory of the device with `size` bytes of `from`, or of 0xee where that is NULL. */
static CUdeviceptr stage_buffer(const stage *s, const void *from, size_t size)
{
    CUdeviceptr buffer = raw_cuda_memory(s->cu, size);
    unsigned char *bytes = test_memory(size);
    memset(bytes, 0xee, size);
    if (from != NULL) memcpy(bytes, from, size);
    CU_OK(raw_cuda_upload(s->cu, buffer, bytes, size));
    return buffer;
}

static void stage_read(const stage *s, CUdeviceptr buffer, void *to, size_t size)
{
    CU_OK(s->cu->MemcpyDtoH(to, buffer, size));
}

static CUresult stage_launch(const stage *s, const char *kernel, stage_shape h, void **params)
{
    for (unsigned i = 0; i < 3; i++) {
        if (h.grid[i] == 0) h.grid[i] = 1;
        if (h.block[i] == 0) h.block[i] = 1;
    }
    CUfunction function = raw_cuda_function(s->cu, s->module, kernel);
    return s->cu->LaunchKernel(function, h.grid[0], h.grid[1], h.grid[2], h.block[0], h.block[1],
                               h.block[2], h.shared, s->stream, params, NULL);
}

/* Launches, and waits for the end. */
static void stage_run(const stage *s, const char *kernel, stage_shape shape, void **params)
{
    CU_OK(stage_launch(s, kernel, shape, params));
    CU_OK(s->cu->StreamSynchronize(s->stream));
}

/* Numbers without a pattern, the same each time. */
static uint32_t stage_random(uint32_t index)
{
    uint32_t h = index * 2654435761u + 12345u;
    h ^= h >> 15;
    h *= 0x7feb352du;
    h ^= h >> 13;
    return h;
}

/* Shared memory and barriers, at block sizes that are no multiples of anything too. What is right
 * is computed here, without threads. */
#undef TEST_GROUP
#define TEST_GROUP "blocks."

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
    float *in = test_memory(COUNT * sizeof *in), *out = test_memory(COUNT * sizeof *out);
    int n = COUNT;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = (float)(stage_random(i) >> 8) * (1.0f / 65536.0f) - 100.0f;
    for (size_t k = 0; k < NUM_SIZES; k++) {
        const unsigned block = sizes[k], blocks = (COUNT + block - 1) / block;
        CUdeviceptr from = stage_buffer(s, in, COUNT * sizeof *in),
                    to = stage_buffer(s, NULL, blocks * sizeof *out);
        void *params[] = {&from, &to, &n};
        stage_run(s, "block_sum", (stage_shape){{blocks}, {block}, 0}, params);
        stage_read(s, to, out, blocks * sizeof *out);
        for (unsigned b = 0; b < blocks; b++) {
            float part[1024];
            for (unsigned t = 0; t < block; t++)
                part[t] = b * block + t < COUNT ? in[b * block + t] : 0.0f;
            float expected = sum_by_halves(part, block);
            REQUIRE_EQ_BYTES(&out[b], &expected, sizeof expected);
        }
    }
}

KERNEL_CASE(scans, "block_kernels", .mark = TEST_BOTH)
{
    enum { COUNT = 5003 };
    uint32_t *in = test_memory(COUNT * sizeof *in), *out = test_memory(COUNT * sizeof *out);
    int n = COUNT;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = stage_random(i);
    for (size_t k = 0; k < NUM_SIZES; k++) {
        const unsigned block = sizes[k], blocks = (COUNT + block - 1) / block;
        CUdeviceptr from = stage_buffer(s, in, COUNT * sizeof *in),
                    to = stage_buffer(s, NULL, COUNT * sizeof *out);
        void *params[] = {&from, &to, &n};
        stage_run(s, "block_scan", (stage_shape){{blocks}, {block}, 0}, params);
        stage_read(s, to, out, COUNT * sizeof *out);
        uint32_t sum = 0;
        for (unsigned i = 0; i < COUNT; i++) {
            sum = i % block == 0 ? in[i] : sum + in[i];
            REQUIRE_EQ(out[i], sum);
        }
    }
}

/* Blocks of two and three dimensions: who is whose neighbour. */
KERNEL_CASE(neighbours, "block_kernels", .mark = TEST_BOTH)
{
    static const unsigned blocks[][3] = {{1, 1, 1},   {5, 3, 1},  {33, 2, 1}, {3, 5, 7},
                                         {16, 16, 4}, {1, 1, 64}, {1, 31, 1}, {32, 32, 1}};
    enum { X = 3, Y = 2, Z = 2 };
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++) {
        const unsigned *b = blocks[k], threads = b[0] * b[1] * b[2], all = threads * X * Y * Z;
        uint32_t(*out)[4] = test_memory(all * sizeof *out);
        CUdeviceptr to = stage_buffer(s, NULL, all * sizeof *out);
        void *params[] = {&to};
        stage_run(s, "block_neighbours", (stage_shape){{X, Y, Z}, {b[0], b[1], b[2]}, 0}, params);
        stage_read(s, to, out, all * sizeof *out);
        for (unsigned i = 0; i < all; i++) {
            const unsigned t = (i % threads + 1) % threads;
            REQUIRE_EQ(out[i][0], t % b[0]);
            REQUIRE_EQ(out[i][1], t / b[0] % b[1]);
            REQUIRE_EQ(out[i][2], t / b[0] / b[1]);
            REQUIRE_EQ(out[i][3], i / threads);
        }
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
        stage_read(s, to, out, sizeof out);
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
    stage_read(s, a, ints, sizeof ints);
    stage_read(s, w, words, sizeof words);
    stage_read(s, l, longs, sizeof longs);
    REQUIRE_EQ_BYTES(ints, ints_right, sizeof ints);
    REQUIRE_EQ_BYTES(words, right, sizeof words);
    REQUIRE_EQ_BYTES(longs, longs_right, sizeof longs);
}

/* Shared memory whose size the launch says, its limits, and what the driver knows of a kernel. */
#undef TEST_GROUP
#define TEST_GROUP "limits."

static int attribute(const stage *s, CUfunction function, CUfunction_attribute which)
{
    int value = -77;
    CU_OK(s->cu->FuncGetAttribute(&value, which, function));
    return value;
}

KERNEL_CASE(reversed, "block_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 4 };
    for (size_t k = 0; k < NUM_SIZES; k++) {
        const unsigned block = sizes[k], all = BLOCKS * block;
        double *in = test_memory(all * sizeof *in), *out = test_memory(all * sizeof *out);
        for (unsigned i = 0; i < all; i++)
            in[i] = (double)stage_random(i);
        CUdeviceptr from = stage_buffer(s, in, all * sizeof *in),
                    to = stage_buffer(s, NULL, all * sizeof *out);
        void *params[] = {&from, &to};
        stage_run(s, "block_reverse",
                  (stage_shape){{BLOCKS}, {block}, block * (unsigned)sizeof(double)}, params);
        stage_read(s, to, out, all * sizeof *out);
        for (unsigned i = 0; i < all; i++)
            REQUIRE(out[i] == in[i / block * block + block - 1 - i % block]);
    }
}

static void touch(const stage *s, unsigned bytes)
{
    enum { BLOCKS = 3 };
    int count = (int)bytes;
    unsigned seed = 11;
    unsigned char *out = test_memory((size_t)BLOCKS * bytes + 1);
    CUdeviceptr to = stage_buffer(s, NULL, (size_t)BLOCKS * bytes + 1);
    void *params[] = {&to, &count, &seed};
    stage_run(s, "block_touch", (stage_shape){{BLOCKS}, {128}, bytes}, params);
    stage_read(s, to, out, (size_t)BLOCKS * bytes + 1);
    for (size_t i = 0; i < (size_t)BLOCKS * bytes; i++) {
        unsigned at = bytes - 1 - (unsigned)(i % bytes);
        REQUIRE_EQ(out[i], (unsigned char)(at * 7 + seed + (at & 3)));
    }
    REQUIRE_EQ(out[(size_t)BLOCKS * bytes], 0xee);
}

/* 48 KiB in all without asking; as much as the device has after asking; not a byte more. */
KERNEL_CASE(dynamic, "block_kernels", .mark = TEST_BOTH)
{
    enum { STATIC = 16 };
    CUfunction function = raw_cuda_function(s->cu, s->module, "block_touch");
    int usual = 0, most = 0;
    CU_OK(s->cu->DeviceGetAttribute(&usual, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 0));
    CU_OK(
        s->cu->DeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    REQUIRE_EQ(usual, 48 * 1024);
    REQUIRE(most > usual);
    if (s->cu->software) REQUIRE_EQ(most, 227 * 1024);
    REQUIRE_EQ(attribute(s, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), STATIC);
    touch(s, 1);
    touch(s, 1000);
    touch(s, (unsigned)usual - STATIC);

    CUdeviceptr to = stage_buffer(s, NULL, 4);
    int count = 0;
    unsigned seed = 0;
    void *params[] = {&to, &count, &seed};
    CU_IS(stage_launch(s, "block_touch", (stage_shape){{1}, {1}, (unsigned)usual - STATIC + 1},
                       params),
          CUDA_ERROR_INVALID_VALUE);
    const CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CU_IS(s->cu->FuncSetAttribute(function, limit, most - STATIC + 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(s->cu->FuncSetAttribute(function, limit, -1), CUDA_ERROR_INVALID_VALUE);
    CU_OK(s->cu->FuncSetAttribute(function, limit, most - STATIC));
    REQUIRE_EQ(attribute(s, function, limit), most - STATIC);
    touch(s, (unsigned)most - STATIC);
    CU_IS(stage_launch(s, "block_touch", (stage_shape){{1}, {1}, (unsigned)most - STATIC + 1},
                       params),
          CUDA_ERROR_INVALID_VALUE);
}

KERNEL_CASE(attributes, "block_kernels", .mark = TEST_BOTH)
{
    static const struct {
        const char *kernel;
        int bytes;
    } rows[] = {{"block_sum", 4096}, {"block_scan", 128},  {"block_votes", 0},
                {"block_leave", 16}, {"block_reverse", 0}, {"block_neighbours", 16384},
                {"block_none", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUfunction function = raw_cuda_function(s->cu, s->module, rows[i].kernel);
        REQUIRE_EQ(attribute(s, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), rows[i].bytes);
        REQUIRE_EQ(attribute(s, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
        CU_IS(s->cu->FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0),
              CUDA_ERROR_INVALID_VALUE);
    }
}

/* The module's kernels by name, and their parameters. */
KERNEL_CASE(enumerated, "block_kernels", .mark = TEST_BOTH)
{
    if (s->cu->FuncGetParamInfo == NULL) SKIP("the driver has no cuFuncGetParamInfo");
    unsigned count = 0, sums = 0;
    CUfunction functions[32];
    CU_OK(s->cu->ModuleGetFunctionCount(&count, s->module));
    REQUIRE_EQ(count, 12);
    CU_OK(s->cu->ModuleEnumerateFunctions(functions, count, s->module));
    for (unsigned i = 0; i < count; i++) {
        const char *name = NULL;
        CUmodule module = NULL;
        size_t offset = 77, size = 77;
        CU_OK(s->cu->FuncGetName(&name, functions[i]));
        CU_OK(s->cu->FuncGetModule(&module, functions[i]));
        REQUIRE(module == s->module);
        REQUIRE(strncmp(name, "block_", 6) == 0);
        if (strcmp(name, "block_sum") != 0) continue;
        sums++;
        CU_OK(s->cu->FuncGetParamInfo(functions[i], 0, &offset, &size));
        REQUIRE(offset == 0 && size == 8);
        CU_OK(s->cu->FuncGetParamInfo(functions[i], 1, &offset, &size));
        REQUIRE(offset == 8 && size == 8);
        CU_OK(s->cu->FuncGetParamInfo(functions[i], 2, &offset, &size));
        REQUIRE(offset == 16 && size == 4);
        CU_IS(s->cu->FuncGetParamInfo(functions[i], 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    }
    REQUIRE_EQ(sums, 1);
}

/* Warps: shuffles, votes, masks; and __device__ functions. */
#undef TEST_GROUP
#define TEST_GROUP "together."

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
        uint32_t *in = test_memory(all * sizeof *in);
        votes *out = test_memory(all * sizeof *out);
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
        stage_read(s, to, out, all * sizeof *out);
        for (unsigned i = 0; i < all; i++) {
            votes right = votes_of(&in[i / threads * threads], threads, i % threads);
            REQUIRE_EQ_BYTES(&out[i], &right, sizeof right);
        }
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
        stage_read(s, i, ints, sizeof ints);
        stage_read(s, d, doubles, sizeof doubles);
        stage_read(s, l, longs, sizeof longs);
        stage_read(s, f, floats, sizeof floats);
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
    stage_read(s, to, out, sizeof out);
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
    static const unsigned whole[] = {32, 96, 256, LARGEST};
    static uint32_t in[BLOCKS * LARGEST], out[BLOCKS * 2];
    for (unsigned i = 0; i < BLOCKS * LARGEST; i++)
        in[i] = stage_random(i);
    for (size_t k = 0; k < sizeof whole / sizeof whole[0]; k++) {
        CUdeviceptr from = stage_buffer(s, in, sizeof in), to = stage_buffer(s, NULL, sizeof out);
        void *params[] = {&from, &to};
        stage_run(s, "device_sum", (stage_shape){{BLOCKS}, {whole[k]}, 0}, params);
        stage_read(s, to, out, sizeof out);
        for (unsigned b = 0; b < BLOCKS; b++) {
            uint32_t sum = 0, squares = 0;
            for (unsigned t = 0; t < whole[k]; t++) {
                uint32_t value = in[b * whole[k] + t];
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
    other.stream = raw_cuda_stream(s.cu);
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
        stage_read(&s, to[k], out[k], sizeof out[k]);
        uint32_t sum = 0;
        for (unsigned i = 0; i < ALL; i++) {
            sum = i % BLOCK == 0 ? in[k][i] : sum + in[k][i];
            REQUIRE_EQ(out[k][i], sum);
        }
    }
    stage_close(&s);
}

/* Faults between barriers, and what no GPU defines: the twin ends the kernel, and says why. */
#undef TEST_GROUP
#define TEST_GROUP "wrong."

/* Leaves the context broken; what was made in it is no more. */
static void end_broken(stage *s)
{
    test_drop();
    CU_OK(s->cu->DevicePrimaryCtxReset(0));
    CU_OK(s->cu->CtxSetCurrent(NULL));
    (void)s->cu->DevicePrimaryCtxRelease(0);
}

TEST(fault, .mark = TEST_BOTH, .faults = true)
{
    for (unsigned turn = 0; turn < 3; turn++) {
        stage s = stage_open("block_kernels");
        CUdeviceptr nowhere = 0x7ffffffffffc;
        int thread = (int)(turn * 100);
        void *params[] = {&nowhere, &thread};
        CU_OK(stage_launch(&s, "block_fault", (stage_shape){{64}, {257}, 0}, params));
        CU_IS(s.cu->StreamSynchronize(s.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
        if (!s.cu->software) test_pass(); /* no context of this process is to be had any more */
        end_broken(&s);
        /* Stacks on which threads had waited serve again. */
        s = stage_open("block_kernels");
        static int out[256];
        int n = 200;
        CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
        void *again[] = {&to, &n};
        stage_run(&s, "block_leave", (stage_shape){{1}, {256}, 0}, again);
        stage_read(&s, to, out, sizeof out);
        REQUIRE_EQ(out[0], 20100);
        stage_close(&s);
    }
}

static stage open_wrong(void)
{
    if (!raw_cuda_open()->software) SKIP("a GPU may hang");
    return stage_open("wrong_kernels");
}

static void check_wrong(const char *kernel, unsigned block, CUresult expected)
{
    stage s = open_wrong();
    CUdeviceptr to = stage_buffer(&s, NULL, 4096);
    int depth = 3;
    void *params[] = {&to, &depth};
    CU_OK(stage_launch(&s, kernel, (stage_shape){{4}, {block}, 0}, params));
    CU_IS(s.cu->StreamSynchronize(s.stream), expected);
    end_broken(&s);
}

TEST(waits_for_ever, .faults = true)
{
    check_wrong("wrong_halves", 32, CUDA_ERROR_LAUNCH_TIMEOUT);
    check_wrong("wrong_kinds", 33, CUDA_ERROR_LAUNCH_TIMEOUT);
    check_wrong("wrong_cluster_halves", 33, CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST_AS(static_shared_in_clusters,
        check_wrong("wrong_cluster_shared", 33, CUDA_ERROR_LAUNCH_FAILED), .faults = true)
TEST_AS(mask_without_itself, check_wrong("wrong_mask", 32, CUDA_ERROR_LAUNCH_FAILED),
        .faults = true)

/* A stack of the twin has 256 KiB. */
TEST(large_stack)
{
    stage s = open_wrong();
    static int out[300];
    CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
    int depth = 3;
    void *params[] = {&to, &depth};
    stage_run(&s, "wrong_stack", (stage_shape){{1}, {300}, 0}, params);
    stage_read(&s, to, out, sizeof out);
    for (unsigned i = 0; i < 300; i++)
        REQUIRE_EQ(out[i], 3);
    stage_close(&s);
}

TEST(other_barrier)
{
    stage s = open_wrong();
    static int out[64];
    CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
    void *params[] = {&to};
    stage_run(&s, "wrong_sites", (stage_shape){{1}, {64}, 0}, params);
    stage_read(&s, to, out, sizeof out);
    for (unsigned i = 0; i < 64; i++)
        REQUIRE_EQ(out[i], 1);
    stage_close(&s);
}

TEST(active)
{
    stage s = open_wrong();
    static uint32_t out[40];
    CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
    void *params[] = {&to};
    stage_run(&s, "wrong_active", (stage_shape){{1}, {40}, 0}, params);
    stage_read(&s, to, out, sizeof out);
    for (unsigned i = 0; i < 40; i++)
        REQUIRE_EQ(out[i], i < 10 ? 0x3ffu : i < 32 ? 0xfffffc00u ^ 0x80000000u : 0xffu);
    stage_close(&s);
}

/* Kernels whose threads do not wait keep their loop, beside others that do. */
TEST(loops)
{
    static const char *const loops_alone[] = {"block_none"};
    char path[TEST_PATH_MAX];
    if (!raw_cuda_open()->software) SKIP("the twin's modules");
    test_path(path, "share/culvert/block_kernels.soft.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    const culv_soft_module_table *table = dlsym(library, CULV_SOFT_MODULE_SYMBOL);
    REQUIRE(table != NULL);
    REQUIRE_EQ(table->num_kernels, 12);
    REQUIRE_EQ(*table->meets, 0);
    for (uint32_t i = 0; i < table->num_kernels; i++)
        REQUIRE_EQ(*table->kernels[i].meets, strcmp(table->kernels[i].name, loops_alone[0]) != 0);
    REQUIRE_EQ(dlclose(library), 0);

    test_path(path, "share/culvert/device_kernels.soft.so");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    table = dlsym(library, CULV_SOFT_MODULE_SYMBOL);
    REQUIRE_EQ(*table->meets, 1);
    REQUIRE_EQ(dlclose(library), 0);
}
