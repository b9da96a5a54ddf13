/* SPDX-License-Identifier: MIT */
/* Shared memory whose size the launch says, its limits, and what the driver knows of a kernel. */
#define TEST_GROUP "limits."
#include "stage.h"

typedef struct calls {
    PFN_cuFuncGetAttribute_v2020 get;
    PFN_cuFuncSetAttribute_v9000 set;
} calls;

static calls get_calls(const stage *s)
{
    calls c;
    raw_cuda_find(s->cu, "cuFuncGetAttribute", 2020, &c.get);
    raw_cuda_find(s->cu, "cuFuncSetAttribute", 9000, &c.set);
    return c;
}

static int attribute(const calls *c, CUfunction function, CUfunction_attribute which)
{
    int value = -77;
    CU_OK(c->get(&value, which, function));
    return value;
}

KERNEL_CASE(reversed, "block_kernels", .mark = TEST_BOTH)
{
    enum { BLOCKS = 4 };
    static const unsigned sizes[] = {1, 31, 33, 96, 257, 1024};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const unsigned block = sizes[k], all = BLOCKS * block;
        double *in = stage_alloc(all * sizeof *in), *out = stage_alloc(all * sizeof *out);
        for (unsigned i = 0; i < all; i++)
            in[i] = (double)stage_random(i);
        CUdeviceptr from = stage_buffer(s, in, all * sizeof *in),
                    to = stage_buffer(s, NULL, all * sizeof *out);
        void *params[] = {&from, &to};
        stage_run(s, "block_reverse",
                  (stage_shape){{BLOCKS}, {block}, block * (unsigned)sizeof(double)}, params);
        stage_take(s, to, out, all * sizeof *out);
        CU_OK(s->cu->MemFree(from));
        for (unsigned i = 0; i < all; i++)
            REQUIRE(out[i] == in[i / block * block + block - 1 - i % block]);
        free(in);
        free(out);
    }
}

static void touch(const stage *s, unsigned bytes)
{
    enum { BLOCKS = 3 };
    int count = (int)bytes;
    unsigned seed = 11;
    unsigned char *out = stage_alloc((size_t)BLOCKS * bytes + 1);
    CUdeviceptr to = stage_buffer(s, NULL, (size_t)BLOCKS * bytes + 1);
    void *params[] = {&to, &count, &seed};
    stage_run(s, "block_touch", (stage_shape){{BLOCKS}, {128}, bytes}, params);
    stage_take(s, to, out, (size_t)BLOCKS * bytes + 1);
    for (size_t i = 0; i < (size_t)BLOCKS * bytes; i++) {
        unsigned at = bytes - 1 - (unsigned)(i % bytes);
        REQUIRE_EQ(out[i], (unsigned char)(at * 7 + seed + (at & 3)));
    }
    REQUIRE_EQ(out[(size_t)BLOCKS * bytes], 0xee);
    free(out);
}

/* 48 KiB in all without asking; as much as the device has after asking; not a byte more. */
KERNEL_CASE(dynamic, "block_kernels", .mark = TEST_BOTH)
{
    enum { STATIC = 16 };
    const calls c = get_calls(s);
    CUfunction function = raw_cuda_function(s->cu, s->module, "block_touch");
    int usual = 0, most = 0;
    CU_OK(s->cu->DeviceGetAttribute(&usual, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 0));
    CU_OK(
        s->cu->DeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    REQUIRE_EQ(usual, 48 * 1024);
    REQUIRE(most > usual);
    if (s->cu->software) REQUIRE_EQ(most, 227 * 1024);
    REQUIRE_EQ(attribute(&c, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), STATIC);
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
    CU_IS(c.set(function, limit, most - STATIC + 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(c.set(function, limit, -1), CUDA_ERROR_INVALID_VALUE);
    CU_OK(c.set(function, limit, most - STATIC));
    REQUIRE_EQ(attribute(&c, function, limit), most - STATIC);
    touch(s, (unsigned)most - STATIC);
    CU_IS(stage_launch(s, "block_touch", (stage_shape){{1}, {1}, (unsigned)most - STATIC + 1},
                       params),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(s->cu->MemFree(to));
}

KERNEL_CASE(attributes, "block_kernels", .mark = TEST_BOTH)
{
    static const struct {
        const char *kernel;
        int bytes;
    } rows[] = {{"block_sum", 4096},       {"block_scan", 128},         {"block_histogram", 1024},
                {"block_transpose", 4224}, {"block_votes", 0},          {"block_leave", 16},
                {"block_reverse", 0},      {"block_neighbours", 16384}, {"block_none", 0}};
    const calls c = get_calls(s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUfunction function = raw_cuda_function(s->cu, s->module, rows[i].kernel);
        REQUIRE_EQ(attribute(&c, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), rows[i].bytes);
        REQUIRE_EQ(attribute(&c, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
        CU_IS(c.set(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0), CUDA_ERROR_INVALID_VALUE);
    }
}

/* The module's kernels by name, and their parameters. */
KERNEL_CASE(enumerated, "block_kernels", .mark = TEST_BOTH)
{
    PFN_cuModuleGetFunctionCount_v12040 get_count;
    PFN_cuModuleEnumerateFunctions_v12040 enumerate;
    PFN_cuFuncGetName_v12030 get_name;
    PFN_cuFuncGetParamInfo_v12040 get_param;
    PFN_cuFuncGetModule_v11000 get_module;
    raw_cuda_find(s->cu, "cuModuleGetFunctionCount", 12040, &get_count);
    raw_cuda_find(s->cu, "cuModuleEnumerateFunctions", 12040, &enumerate);
    raw_cuda_find(s->cu, "cuFuncGetName", 12030, &get_name);
    raw_cuda_find(s->cu, "cuFuncGetParamInfo", 12040, &get_param);
    raw_cuda_find(s->cu, "cuFuncGetModule", 11000, &get_module);
    unsigned count = 0, sums = 0;
    CUfunction functions[32];
    CU_OK(get_count(&count, s->module));
    REQUIRE_EQ(count, 14);
    CU_OK(enumerate(functions, count, s->module));
    for (unsigned i = 0; i < count; i++) {
        const char *name = NULL;
        CUmodule module = NULL;
        size_t offset = 77, size = 77;
        CU_OK(get_name(&name, functions[i]));
        CU_OK(get_module(&module, functions[i]));
        REQUIRE(module == s->module);
        REQUIRE(strncmp(name, "block_", 6) == 0);
        if (strcmp(name, "block_sum") != 0) continue;
        sums++;
        CU_OK(get_param(functions[i], 0, &offset, &size));
        REQUIRE(offset == 0 && size == 8);
        CU_OK(get_param(functions[i], 1, &offset, &size));
        REQUIRE(offset == 8 && size == 8);
        CU_OK(get_param(functions[i], 2, &offset, &size));
        REQUIRE(offset == 16 && size == 4);
        CU_IS(get_param(functions[i], 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    }
    REQUIRE_EQ(sums, 1);
}
