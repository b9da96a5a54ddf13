/* SPDX-License-Identifier: MIT */
/* Calls that look something up and act on it, with another thread in each gap between the two. */
#include "gaps.h"

#include <culvert/dlpack.h>
#include <culvert/torch.h>

#define CHUNK (UINT64_C(2) << 20)

/* What the paths share; each uses some of it. [0] is the first thread's, [1] the other one's. */
static struct {
    lib_world w; /* its device alone */
    culv_kernels *kernels;
    culv_kernel *kernel[2];
    CUdeviceptr memory;
    CUstream stream;
    culv_vmm_range *range;
    culv_vmm_allocation *allocation;
    culv_vmm_adopted *adopted[2];
    culv_vector *vector;
    culv_dl_managed_tensor_versioned *tensor;
    void *blocks[2];
} s;

static void open_device(void)
{
    memset(&s, 0, sizeof s);
    s.w.cu = lib_driver();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &s.w.device));
    s.w.context = culv_device_context(s.w.device);
}

static void close_device(void)
{
    lib_settle(&s.w);
    lib_require_no_objects(&s.w);
    culv_device_close(&s.w.device);
}

/* One name, asked for by two threads, is one kernel -------------------------------------------- */

static void load_kernels(void)
{
    char share[TEST_PATH_MAX];
    open_device();
    LIB_OK(culv_kernels_load(s.w.device, test_path(share, "share/culvert"), "block_kernels",
                             &s.kernels));
}

static void get_kernel(int i)
{
    LIB_OK(culv_kernels_get(s.kernels, "block_touch", &s.kernel[i]));
}

static void get_0(void)
{
    get_kernel(0);
}

static void get_1(void)
{
    get_kernel(1);
}

static void one_kernel(void)
{
    REQUIRE(s.kernel[0] == s.kernel[1]);
    culv_kernels_unload(&s.kernels);
    close_device();
}

static const gaps_path kernels_get = {load_kernels, get_0, get_1, one_kernel, .least = {1, 3}};

/* One kernel, launched with different dynamic shared memory ------------------------------------ */

enum { FEW = 60000, MANY = 80000 };

static void launch(int bytes)
{
    unsigned seed = 3;
    culv_launch_desc d = culv_launch_1d(1, 100, s.stream);
    d.shared_bytes = (uint32_t)bytes;
    LIB_OK(CULV_LAUNCH(s.kernel[0], &d, CULV_ARG(s.memory), CULV_ARG(bytes), CULV_ARG(seed)));
}

static void open_kernel(void)
{
    load_kernels();
    get_kernel(0);
    s.stream = lib_stream(&s.w);
    LIB_CU_OK(&s.w, s.w.cu->MemAlloc(&s.memory, MANY));
}

static void launch_few(void)
{
    launch(FEW);
}

static void launch_many(void)
{
    launch(MANY);
}

static void launch_again(void)
{
    launch(MANY);
    launch(FEW);
    lib_finish(&s.w, s.stream);
    LIB_CU_OK(&s.w, s.w.cu->MemFree(s.memory));
    lib_stream_destroy(&s.w, s.stream);
    culv_kernels_unload(&s.kernels);
    close_device();
}

static const gaps_path launches = {open_kernel, launch_few, launch_many, launch_again,
                                   .least = {0, 2}};

/* One chunk, adopted by two threads, has one number -------------------------------------------- */

static void map_chunk(void)
{
    open_device();
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    r.size = a.size = CHUNK;
    a.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_range_create(s.w.device, &r, &s.range));
    LIB_OK(culv_vmm_allocation_create(s.w.device, &a, &s.allocation));
    LIB_OK(culv_vmm_map(s.range, 0, s.allocation, NULL, 0));
    s.memory = culv_vmm_range_pointer(s.range);
}

static void adopt_0(void)
{
    LIB_OK(culv_vmm_adopt(s.w.device, s.memory, CHUNK, &s.adopted[0]));
}

static void adopt_1(void)
{
    LIB_OK(culv_vmm_adopt(s.w.device, s.memory, CHUNK, &s.adopted[1]));
}

static void one_number(void)
{
    culv_vmm_adopted_chunk chunks[2];
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        LIB_OK(culv_vmm_adopted_get_chunks(s.adopted[i], &chunks[i], 1, &count));
        REQUIRE_EQ(count, 1);
    }
    REQUIRE_EQ(chunks[0].id, chunks[1].id);
    for (int i = 0; i < 2; i++)
        culv_vmm_adopted_destroy(&s.adopted[i]);
    LIB_OK(culv_vmm_unmap(s.range, 0, CHUNK));
    culv_vmm_allocation_destroy(&s.allocation);
    culv_vmm_range_destroy(&s.range);
    close_device();
}

static const gaps_path adopts = {map_chunk, adopt_0, adopt_1, one_number, .least = {3, 3}};

/* A vector goes while its last tensor does ----------------------------------------------------- */

static void make_tensor(void)
{
    open_device();
    culv_vector_desc d = culv_vector_desc_init();
    d.size = CHUNK;
    d.label = "gaps";
    LIB_OK(culv_vector_create(s.w.device, &d, &s.vector));
    LIB_OK(culv_vector_get_dlpack(s.vector, NULL, &s.tensor));
}

static void destroy_vector(void)
{
    culv_vector_destroy_after(&s.vector, NULL);
}

static void delete_tensor(void)
{
    s.tensor->deleter(s.tensor);
}

static const gaps_path tensors = {make_tensor, destroy_vector, delete_tensor, close_device,
                                  .least = {1, 0}};

/* A vector grows in two threads ---------------------------------------------------------------- */

static void make_vector(void)
{
    open_device();
    culv_vector_desc d = culv_vector_desc_init();
    d.size = CHUNK;
    LIB_OK(culv_vector_create(s.w.device, &d, &s.vector));
}

static void grow_far(void)
{
    LIB_OK(culv_vector_grow(s.vector, 5 * CHUNK));
}

static void grow_less(void)
{
    LIB_OK(culv_vector_reserve(s.vector, 2 * CHUNK));
    LIB_OK(culv_vector_grow(s.vector, 3 * CHUNK + 4));
    LIB_OK(culv_vector_retire(s.vector, 0, NULL));
}

static void grown(void)
{
    culv_vector_chunk chunks[8];
    size_t count = 0;
    uint64_t end = 0;
    LIB_OK(culv_vector_get_chunks(s.vector, chunks, 8, &count, NULL));
    for (size_t i = 0; i < count; end += chunks[i++].size)
        REQUIRE_EQ(chunks[i].offset, end);
    REQUIRE_EQ(culv_vector_size(s.vector), 5 * CHUNK);
    REQUIRE_EQ(culv_vector_committed(s.vector), end);
    REQUIRE(end >= 5 * CHUNK);
    culv_vector_destroy(&s.vector);
    close_device();
}

static const gaps_path grows = {make_vector, grow_far, grow_less, grown, .least = {3, 3}};

/* culv_torch_malloc beside culv_torch_free
 * ----------------------------------------------------------- */

static void make_block(void)
{
    memset(&s, 0, sizeof s);
    s.w.cu = lib_driver();
    s.blocks[0] = culv_torch_malloc(12345, 0, NULL);
    REQUIRE(s.blocks[0] != NULL);
}

static void free_block(void)
{
    culv_torch_free(s.blocks[0], 12345, 0, NULL);
}

static void take_block(void)
{
    s.blocks[1] = culv_torch_malloc(54321, 0, NULL);
    REQUIRE(s.blocks[1] != NULL);
}

static void block_works(void)
{
    enum { WORDS = 54321 / 4 };
    uint32_t words[WORDS];
    CUcontext context = raw_cuda_context(s.w.cu, 0);
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)s.blocks[1];
    CU_OK(s.w.cu->MemsetD32Async(at, 0xa5b6c7d8u, WORDS, NULL));
    CU_OK(s.w.cu->MemcpyDtoH(words, at, sizeof words));
    for (size_t i = 0; i < WORDS; i++)
        REQUIRE_EQ(words[i], 0xa5b6c7d8u);
    CU_OK(s.w.cu->CtxPopCurrent(&context));
    CU_OK(s.w.cu->DevicePrimaryCtxRelease(0));
    culv_torch_free(s.blocks[1], 54321, 0, NULL);
}

static const gaps_path blocks = {make_block, free_block, take_block, block_works, .least = {2, 2}};

/* What a round leaves would be the next one's. */
#define CASE(path)                                                                                 \
    TEST_AS(path##_in_gaps, gaps_all(&(path)), .title = "gaps." #path, .time_limit = 300,          \
            .own = true)
CASE(kernels_get)
CASE(launches)
CASE(adopts)
CASE(tensors)
CASE(grows)
CASE(blocks)
