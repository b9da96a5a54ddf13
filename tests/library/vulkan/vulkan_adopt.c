/* SPDX-License-Identifier: MIT */
/* Adopted memory: chunks that somebody else mapped, as a program does that knows nothing of Culvert
 * (PyTorch's expandable segments: chunks side by side, a tensor across them). */
#define TEST_GROUP "vk_adopt."
#include "vulkan_vmm_stage.h"

#include <culvert/vmm.h>
#include <culvert/vulkan_vmm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { CHUNKS = 4 };
#define CHUNK (2 * VMM_MIB)

/* Somebody's addresses, with chunks of their own in them. */
typedef struct theirs {
    vmm_stage s;
    CUdeviceptr base; /* 0: given back */
    CUmemGenericAllocationHandle chunks[CHUNKS];
} theirs;

static void map_chunk(theirs *t, size_t i, bool exportable)
{
    const raw_cuda *cu = t->s.w.cu;
    CUmemAllocationProp prop;
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (exportable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    access.location = prop.location;
    LIB_CU_OK(&t->s.w, cu->MemCreate(&t->chunks[i], CHUNK, &prop, 0));
    LIB_CU_OK(&t->s.w, cu->MemMap(t->base + i * CHUNK, CHUNK, 0, t->chunks[i], 0));
    LIB_CU_OK(&t->s.w, cu->MemSetAccess(t->base + i * CHUNK, CHUNK, &access, 1));
}

static void unmap_chunk(theirs *t, size_t i)
{
    LIB_CU_OK(&t->s.w, t->s.w.cu->MemUnmap(t->base + i * CHUNK, CHUNK));
    LIB_CU_OK(&t->s.w, t->s.w.cu->MemRelease(t->chunks[i]));
    t->chunks[i] = 0;
}

/* Behind the stage's opening, and before its end, if the case has not done so. */
static void make_theirs(theirs *t)
{
    t->base = 0;
    memset(t->chunks, 0, sizeof t->chunks);
    LIB_CU_OK(&t->s.w, t->s.w.cu->MemAddressReserve(&t->base, CHUNKS * CHUNK, 0, 0, 0));
    for (size_t i = 0; i < CHUNKS; i++)
        map_chunk(t, i, true);
}

static void free_theirs(theirs *t)
{
    for (size_t i = 0; i < CHUNKS; i++)
        if (t->chunks[i] != 0) unmap_chunk(t, i);
    if (t->base != 0) LIB_CU_OK(&t->s.w, t->s.w.cu->MemAddressFree(t->base, CHUNKS * CHUNK));
    t->base = 0;
}

#define THEIRS_CASE(open, ...)                                                                     \
    TEST_ON(theirs, t, (open, make_theirs(t)), (free_theirs(t), vmm_stage_close(&t->s)),           \
            __VA_ARGS__)

/* CUDA's words there. */
static void upload(theirs *t, uint64_t offset, uint64_t size, uint32_t seed)
{
    LIB_BLOCK(uint32_t, words, size);
    vmm_stage_fill(words, size, 0, seed);
    LIB_CU_OK(&t->s.w, raw_cuda_upload(t->s.w.cu, t->base + offset, words, size));
}

static void require_in_cuda(theirs *t, uint64_t offset, uint64_t size, uint32_t seed)
{
    LIB_BLOCK(uint32_t, words, size);
    LIB_CU_OK(&t->s.w, t->s.w.cu->MemcpyDtoH(words, t->base + offset, size));
    REQUIRE_EQ(vmm_stage_wrong(words, size, 0, seed), 0);
}

static culv_vk_adopted *view_of(const vmm_stage *s, culv_vmm_adopted *adopted, VkQueue queue)
{
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    d.sparse_queue = queue;
    d.label = "tensor";
    NEW(culv_vk_adopted, view, culv_vk_adopted_create, s->w.attachment, adopted, &d);
    return view;
}

static raw_vk_buffer buffer_of(const culv_part *part)
{
    return (raw_vk_buffer){.buffer = (VkBuffer)part->buffer,
                           .size = part->inner_offset + part->size};
}

/* Words of Vulkan's, through the view's buffers, are words `first` and on of `seed`. */
static void require_in_vulkan(vmm_stage *s, const culv_vk_adopted *view, uint64_t size,
                              uint32_t seed)
{
    culv_part parts[CHUNKS];
    size_t count = 0;
    uint64_t done = 0;
    LIB_OK(culv_vk_adopted_get_parts(view, parts, CHUNKS, &count));
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQ(parts[i].offset, done);
        LIB_BLOCK(uint32_t, words, parts[i].size);
        const raw_vk_buffer raw = buffer_of(&parts[i]);
        raw_vk_read(&s->w.vk, &raw, parts[i].inner_offset, words, parts[i].size);
        REQUIRE_EQ(vmm_stage_wrong(words, parts[i].size, (uint32_t)(done / 4), seed), 0);
        done += parts[i].size;
    }
    REQUIRE_EQ(done, size);
}

static void write_by_vulkan(vmm_stage *s, const culv_vk_adopted *view, uint32_t seed)
{
    culv_part parts[CHUNKS];
    size_t count = 0;
    LIB_OK(culv_vk_adopted_get_parts(view, parts, CHUNKS, &count));
    for (size_t i = 0; i < count; i++) {
        LIB_BLOCK(uint32_t, words, parts[i].size);
        vmm_stage_fill(words, parts[i].size, (uint32_t)(parts[i].offset / 4), seed);
        const raw_vk_buffer raw = buffer_of(&parts[i]);
        raw_vk_write(&s->w.vk, &raw, parts[i].inner_offset, words, parts[i].size);
    }
}

/* From the middle of a chunk to the middle of another, and in one. */
THEIRS_CASE(vmm_stage_open(&t->s), both_ways, .smoke = true)
{
    vmm_stage *s = &t->s;
    static const struct {
        uint64_t offset, size;
        size_t chunks;
    } rows[] = {
        {0, CHUNK, 1},
        {512, 4000, 1},
        {CHUNK - 4096, 8192, 2},
        {CHUNK / 2, 2 * CHUNK, 3},
        {0, CHUNKS * CHUNK, CHUNKS},
        {CHUNK + 16, 4, 1},
        {CHUNK, CHUNK + 4, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_part chunks[CHUNKS];
        size_t count = 0;
        uint64_t done = 0;
        NEW(culv_vmm_adopted, adopted, culv_vmm_adopt, s->w.device, t->base + rows[i].offset,
            rows[i].size);
        REQUIRE_EQ(culv_vmm_adopted_size(adopted), rows[i].size);
        LIB_OK(culv_vmm_adopted_get_parts(adopted, chunks, CHUNKS, &count));
        REQUIRE_EQ(count, rows[i].chunks);
        for (size_t k = 0; k < count; k++) {
            REQUIRE_EQ(chunks[k].inner_offset, k == 0 ? rows[i].offset % CHUNK : 0);
            REQUIRE_EQ(chunks[k].offset, done);
            REQUIRE_EQ(lib_allocation(chunks[k].allocation).size, CHUNK);
            done += chunks[k].size;
        }
        LIB_OK(culv_vmm_check_adopted(adopted));
        culv_vk_adopted *view = view_of(s, adopted, VK_NULL_HANDLE);
        LIB_OK(culv_vk_adopted_get_parts(view, NULL, 0, &count));
        REQUIRE_EQ(count, rows[i].chunks);
        upload(t, rows[i].offset, rows[i].size, (uint32_t)i);
        require_in_vulkan(s, view, rows[i].size, (uint32_t)i);
        write_by_vulkan(s, view, (uint32_t)i + 100);
        require_in_cuda(t, rows[i].offset, rows[i].size, (uint32_t)i + 100);
        /* Either may go first. */
        if (i % 2 == 0) culv_vmm_adopted_destroy(&adopted);
        culv_vk_adopted_destroy(&view);
        culv_vmm_adopted_destroy(&adopted);
        REQUIRE(view == NULL && adopted == NULL);
        REQUIRE_EQ(lib_counts(&s->w).vmm_allocations, 0);
    }
}

/* Two tensors in one chunk have one VkBuffer, which is imported once. */
THEIRS_CASE(vmm_stage_open(&t->s), shared_chunks)
{
    vmm_stage *s = &t->s;
    culv_part of_a[2], of_b[1];
    culv_part in_a[2], in_b[1];
    size_t count = 0;
    NEW(culv_vmm_adopted, a, culv_vmm_adopt, s->w.device, t->base + 4096, CHUNK);
    NEW(culv_vmm_adopted, b, culv_vmm_adopt, s->w.device, t->base + 8192, 4000);
    LIB_OK(culv_vmm_adopted_get_parts(a, of_a, 2, &count));
    LIB_OK(culv_vmm_adopted_get_parts(b, of_b, 1, &count));
    REQUIRE_EQ(of_a[0].id, of_b[0].id);
    REQUIRE(of_a[0].id != of_a[1].id && of_a[0].allocation == of_b[0].allocation);
    REQUIRE_EQ(lib_counts(&s->w).vmm_allocations, 2);
    lib_forget_error();
    culv_vmm_allocation_destroy(&of_b[0].allocation);
    REQUIRE(of_b[0].allocation == of_a[0].allocation);
    LIB_SAYS("culv_vmm_adopted_destroy() destroys both");
    culv_vk_adopted *view_a = view_of(s, a, VK_NULL_HANDLE);
    culv_vk_adopted *view_b = view_of(s, b, VK_NULL_HANDLE);
    LIB_OK(culv_vk_adopted_get_parts(view_a, in_a, 2, &count));
    LIB_OK(culv_vk_adopted_get_parts(view_b, in_b, 1, &count));
    REQUIRE(in_a[0].buffer == in_b[0].buffer && in_a[0].buffer != in_a[1].buffer);
    REQUIRE_EQ(in_b[0].inner_offset, 8192);
    REQUIRE_EQ(in_b[0].size, 4000);
    /* Another usage is another buffer of the same memory. */
    culv_part in_other[1];
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    NEW(culv_vk_adopted, other, culv_vk_adopted_create, s->w.attachment, b, &d);
    LIB_OK(culv_vk_adopted_get_parts(other, in_other, 1, &count));
    REQUIRE(in_other[0].buffer != in_b[0].buffer);
    culv_vk_adopted_destroy(&other);
    culv_vk_adopted_destroy(&view_a);
    culv_vmm_adopted_destroy(&a);
    upload(t, 8192, 4000, 9);
    require_in_vulkan(s, view_b, 4000, 9);
    /* The view keeps the chunk when the range and the owner's mapping are gone. */
    culv_vmm_adopted_destroy(&b);
    free_theirs(t);
    require_in_vulkan(s, view_b, 4000, 9);
    culv_vk_adopted_destroy(&view_b);
}

/* A chunk that was unmapped, or another one in its place, is noticed. */
THEIRS_CASE(vmm_stage_open(&t->s), stale)
{
    vmm_stage *s = &t->s;
    culv_vmm_adopted *anew = NULL;
    NEW(culv_vmm_adopted, adopted, culv_vmm_adopt, s->w.device, t->base, 2 * CHUNK);
    LIB_OK(culv_vmm_check_adopted(adopted));
    unmap_chunk(t, 1);
    LIB_INVALID(culv_vmm_check_adopted(adopted), NOT_MAPPED, "was unmapped");
    LIB_REFUSES(anew, culv_vmm_adopt(s->w.device, t->base, 2 * CHUNK, &anew), INVALID, NOT_MAPPED);
    map_chunk(t, 1, true);
    LIB_INVALID(culv_vmm_check_adopted(adopted), NOT_MAPPED, "replaced");
    LIB_OK(culv_vmm_adopt(s->w.device, t->base, 2 * CHUNK, &anew));
    LIB_OK(culv_vmm_check_adopted(anew));
    culv_part old[2], now[2];
    size_t count = 0;
    LIB_OK(culv_vmm_adopted_get_parts(adopted, old, 2, &count));
    LIB_OK(culv_vmm_adopted_get_parts(anew, now, 2, &count));
    REQUIRE(old[0].id == now[0].id && old[1].id != now[1].id);
    culv_vk_adopted *view = view_of(s, anew, VK_NULL_HANDLE);
    upload(t, 0, 2 * CHUNK, 3);
    require_in_vulkan(s, view, 2 * CHUNK, 3);
    culv_vk_adopted_destroy(&view);
    culv_vmm_adopted_destroy(&adopted);
    culv_vmm_adopted_destroy(&anew);
}

/* What lies directly before and behind what is mapped: no byte of it is taken. */
THEIRS_CASE(vmm_stage_open(&t->s), neighbours)
{
    vmm_stage *s = &t->s;
    static const struct {
        bool end; /* from there; else from the start */
        int offset;
        uint64_t size;
        bool taken;
    } rows[] = {{false, -8, 8, false}, {false, -1, 1, false}, {false, -1, 2, false},
                {false, 0, 1, true},   {true, -1, 1, true},   {true, -1, 2, false},
                {true, -8, 8, true},   {true, 0, 1, false},   {true, 1, 1, false},
                {true, 8, 8, false}};
    unmap_chunk(t, 0);
    unmap_chunk(t, CHUNKS - 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OWN(culv_vmm_adopted) *adopted = NULL;
        const CUdeviceptr at = t->base + (rows[i].end ? (CHUNKS - 1) * CHUNK : CHUNK) +
                               (CUdeviceptr)(int64_t)rows[i].offset;
        if (!rows[i].taken) {
            LIB_REFUSES(adopted, culv_vmm_adopt(s->w.device, at, rows[i].size, &adopted), INVALID,
                        NOT_MAPPED);
            continue;
        }
        LIB_OK(culv_vmm_adopt(s->w.device, at, rows[i].size, &adopted));
    }
    REQUIRE_EQ(lib_counts(&s->w).vmm_allocations, 0);
}

THEIRS_CASE(vmm_stage_open(&t->s), refused)
{
    vmm_stage *s = &t->s;
    culv_device *device = s->w.device;
    culv_vmm_adopted *adopted = NULL;
    CUdeviceptr plain = 0;
    LIB_CU_OK(&s->w, s->w.cu->MemAlloc(&plain, 65536));
    unmap_chunk(t, 2);
    map_chunk(t, 2, false);
#define ROW(at, size, ...)                                                                         \
    LIB_REFUSES(adopted, culv_vmm_adopt(device, at, size, &adopted), INVALID, __VA_ARGS__)
    ROW(plain, 4096, NOT_EXPORTABLE, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        " bytes of cudaMalloc, which");
    ROW(t->base + CHUNK, 2 * CHUNK, NOT_EXPORTABLE, "requestedHandleTypes");
    ROW(0x1000, 4096, NOT_MAPPED);
    ROW(t->base, 0, SIZE);
    ROW(t->base, UINT64_MAX, SIZE);
    ROW(0, 1, NULL_ARGUMENT);
#undef ROW
    REQUIRE(culv_vmm_adopted_size(NULL) == 0);
    LIB_OK(culv_vmm_adopt(device, t->base, CHUNK, &adopted));
    culv_vk_adopted *view = NULL;
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    LIB_REFUSES(view, culv_vk_adopted_create(s->w.attachment, adopted, &d, &view), INVALID, VALUE);
    d.struct_size = 0;
    LIB_REFUSES(view, culv_vk_adopted_create(s->w.attachment, adopted, &d, &view), INVALID,
                STRUCT_SIZE);
    culv_vmm_adopted_destroy(&adopted);
    culv_vmm_adopted_destroy(&adopted);
    culv_vmm_adopted_destroy(NULL);
    culv_vk_adopted_destroy(NULL);
    REQUIRE_EQ(lib_counts(&s->w).vmm_allocations, 0);
    LIB_CU_OK(&s->w, s->w.cu->MemFree(plain));
}

/* One sparse buffer where the device has such, and a buffer a chunk where it does not. */
THEIRS_CASE(vmm_stage_open_sparse(&t->s, NULL), sparse)
{
    vmm_stage *s = &t->s;
    size_t count = 0;
    VkPhysicalDeviceFeatures features;
    vkGetPhysicalDeviceFeatures(s->w.vk.physical, &features);
    uint32_t family = 0;
    while (family < s->w.vk.queue_count &&
           !(s->w.vk.queues[family].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        family++;
    const bool has = !s->w.cu->software && family < s->w.vk.queue_count && features.sparseBinding &&
                     features.sparseResidencyBuffer;
    VkQueue queue = s->w.vk.queues[has ? family : 0].queue;
    NEW(OWN(culv_vmm_adopted), adopted, culv_vmm_adopt, s->w.device, t->base + CHUNK / 2,
        2 * CHUNK);
    culv_vk_adopted *view = view_of(s, adopted, queue);
    LIB_OK(culv_vk_adopted_get_parts(view, NULL, 0, &count));
    REQUIRE_EQ(count, has ? 1 : 3);
    upload(t, CHUNK / 2, 2 * CHUNK, 5);
    require_in_vulkan(s, view, 2 * CHUNK, 5);
    write_by_vulkan(s, view, 6);
    require_in_cuda(t, CHUNK / 2, 2 * CHUNK, 6);
    culv_vk_adopted_destroy(&view);
}

#undef TEST_GROUP
#define TEST_GROUP "torch."
/* The allocator for PyTorch, as PyTorch calls it, and its memory in Vulkan. It keeps its device
 * open, so each process ends at once. */
#define TORCH_CASE(...) TEST_ON(vmm_stage, s, vmm_stage_open(s), _exit(0), __VA_ARGS__, .own = true)

TORCH_CASE(allocates, .smoke = true)
{
    uint32_t words[1024];
    void *a = culv_torch_malloc(20 << 20, 0, s->stream), *b = culv_torch_malloc(4000, 0, s->stream);
    REQUIRE(a != NULL && b != NULL && a != b);
    REQUIRE((uintptr_t)a % 512 == 0 && (uintptr_t)b % 512 == 0);
    culv_part part;
    size_t count = 0;
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    NEW(OWN(culv_vmm_adopted), adopted, culv_vmm_adopt, s->w.device,
        (CUdeviceptr)(uintptr_t)a + 512, 4096);
    NEW(culv_vk_adopted, view, culv_vk_adopted_create, s->w.attachment, adopted, &d);
    LIB_OK(culv_vk_adopted_get_parts(view, &part, 1, &count));
    REQUIRE(count == 1 && part.inner_offset == 512 && part.size == 4096);
    vmm_stage_fill(words, sizeof words, 0, 4);
    LIB_CU_OK(&s->w,
              raw_cuda_upload(s->w.cu, (CUdeviceptr)(uintptr_t)a + 512, words, sizeof words));
    memset(words, 0, sizeof words);
    const raw_vk_buffer raw = {.buffer = (VkBuffer)part.buffer,
                               .size = part.inner_offset + part.size};
    raw_vk_read(&s->w.vk, &raw, part.inner_offset, words, sizeof words);
    REQUIRE_EQ(vmm_stage_wrong(words, sizeof words, 0, 4), 0);
    culv_torch_free(a, 20 << 20, 0, s->stream);
    culv_torch_free(b, 4000, 0, NULL);
    raw_vk_read(&s->w.vk, &raw, part.inner_offset, words,
                sizeof words); /* what is imported stays */
    REQUIRE_EQ(vmm_stage_wrong(words, sizeof words, 0, 4), 0);
    LIB_INVALID(culv_vmm_check_adopted(adopted), NOT_MAPPED);
    culv_vk_adopted_destroy(&view);
}

TEST(refuses, .own = true)
{
    (void)lib_driver();
    lib_forget_error();
    REQUIRE(culv_torch_malloc(0, 0, NULL) == NULL);
    REQUIRE(culv_torch_malloc(4096, -1, NULL) == NULL);
    LIB_SAYS("no device -1");
    REQUIRE(culv_torch_malloc(4096, 63, NULL) == NULL);
    LIB_SAYS("63");
    culv_torch_free(NULL, 0, 0, NULL);
    void *a = culv_torch_malloc(4096, 0, NULL);
    REQUIRE(a != NULL);
    lib_forget_error();
    culv_torch_free((char *)a + 512, 4096, 0, NULL);
    LIB_SAYS("not memory of culv_torch_malloc()");
    culv_torch_free(a, 4096, 0, NULL);
    lib_forget_error();
    culv_torch_free(a, 4096, 0, NULL);
    LIB_SAYS("not memory of culv_torch_malloc()");
    REQUIRE(culv_torch_malloc(PTRDIFF_MAX, 0, NULL) == NULL);
    _exit(0);
}

static atomic_int open_gate;
static void CUDA_CB wait_for_gate(void *user)
{
    while (!atomic_load(&open_gate))
        lib_sleep_ms(1);
}

static void *open_later(void *user)
{
    lib_sleep_ms(20);
    atomic_store(&open_gate, 1);
    return NULL;
}

/* The stream still uses the memory when it is given back: its work must end first. Without the
 * wait it faults. */
TORCH_CASE(waits_for_the_stream)
{
    pthread_t thread;
    void *a = culv_torch_malloc(4096, 0, s->stream);
    REQUIRE(a != NULL);
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)a;
    CUcontext before = lib_enter(&s->w);
    CU_OK(s->w.cu->LaunchHostFunc(s->stream, wait_for_gate, NULL));
    CU_OK(s->w.cu->MemsetD32Async(at, 7, 1024, s->stream));
    REQUIRE(pthread_create(&thread, NULL, open_later, NULL) == 0);
    culv_torch_free(a, 4096, 0, s->stream);
    REQUIRE_EQ(s->w.cu->StreamQuery(s->stream), CUDA_SUCCESS);
    REQUIRE(pthread_join(thread, NULL) == 0);
    lib_leave(&s->w, before);
}

/* Captures ------------------------------------------------------------------------------------- */

static uint64_t reserved(const vmm_stage *s)
{
    culv_soft_counts driver = {.struct_size = sizeof driver};
    if (s->w.cu->SoftCounts != NULL) s->w.cu->SoftCounts(&driver);
    return driver.reservations;
}

/* Later calls free what earlier ones have left, once that may go. */
static void require_freed(const vmm_stage *s, uint64_t expected)
{
    for (unsigned i = 0; i < TEST_FAR_MS && reserved(s) != expected; i++) {
        void *other = culv_torch_malloc(1, 0, NULL);
        REQUIRE(other != NULL);
        culv_torch_free(other, 1, 0, s->stream);
        if (reserved(s) != expected) lib_sleep_ms(1);
    }
    REQUIRE_EQ(reserved(s), expected);
}

/* A block that is given back in a capture belongs to the graph: the capture is whole, and what was
 * captured of the block works each time that the graph runs. */
TORCH_CASE(captured)
{
    enum { FEW = 1021 };
    static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                                CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                CU_STREAM_CAPTURE_MODE_RELAXED};
    uint32_t words[FEW];
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUdeviceptr out = 0;
    CU_OK(cu->MemAlloc(&out, sizeof words));
    const uint64_t had = reserved(s);
    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        CUDA_GRAPH_INSTANTIATE_PARAMS how;
        memset(&how, 0, sizeof how);
        void *block = culv_torch_malloc(sizeof words, 0, s->stream);
        REQUIRE(block != NULL);
        CU_OK(cu->StreamBeginCapture(s->stream, modes[i]));
        CU_OK(cu->MemsetD32Async((CUdeviceptr)(uintptr_t)block, 1000 + i, FEW, s->stream));
        CU_OK(cu->MemcpyDtoDAsync(out, (CUdeviceptr)(uintptr_t)block, sizeof words, s->stream));
        culv_torch_free(block, sizeof words, 0, s->stream);
        CU_OK(cu->StreamEndCapture(s->stream, &graph));
        require_freed(s, had + (cu->software ? 1 : 0));
        CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &how));
        CU_OK(cu->GraphDestroy(graph));
        for (int turn = 0; turn < 2; turn++) {
            CU_OK(cu->MemsetD32Async(out, 0, FEW, s->stream));
            CU_OK(cu->GraphLaunch(exec, s->stream));
            vmm_stage_cuda_read(s, out, sizeof words, words);
            REQUIRE_ALL(words, FEW, 1000 + i);
        }
        require_freed(s, had + (cu->software ? 1 : 0));
        CU_OK(cu->GraphExecDestroy(exec));
        require_freed(s, had);
    }
    CU_OK(cu->MemFree(out));
    lib_leave(&s->w, before);
}

/* The legacy stream waits for a blocking stream that is being captured, and may not be waited for.
 * A capture that is broken becomes no graph. */
TORCH_CASE(beside_a_capture)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUstream blocking = NULL;
    CUgraph graph = NULL;
    CU_OK(cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    void *a = culv_torch_malloc(4096, 0, NULL), *b = culv_torch_malloc(4096, 0, NULL);
    REQUIRE(a != NULL && b != NULL);
    const uint64_t had = reserved(s);
    pthread_t thread; /* the legacy one is at work on it */
    CU_OK(cu->LaunchHostFunc(NULL, wait_for_gate, NULL));
    CU_OK(cu->MemsetD32Async((CUdeviceptr)(uintptr_t)a, 7, 1024, NULL));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REQUIRE(pthread_create(&thread, NULL, open_later, NULL) == 0);
    culv_torch_free(a, 4096, 0, NULL);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CU_OK(cu->StreamEndCapture(blocking, &graph));
    CU_OK(cu->GraphDestroy(graph));
    require_freed(s, had - (cu->software ? 1 : 0));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_IS(cu->StreamSynchronize(blocking), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    culv_torch_free(b, 4096, 0, blocking);
    CU_IS(cu->StreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    require_freed(s, had - (cu->software ? 2 : 0));
    CU_OK(cu->StreamDestroy(blocking));
    lib_leave(&s->w, before);
}

/* Threads -------------------------------------------------------------------------------------- */

static void *churn(void *user)
{
    void *mine[8] = {NULL};
    for (size_t i = 0; i < 200; i++) {
        void **slot = &mine[i % 8];
        culv_torch_free(*slot, 0, 0, NULL);
        *slot = culv_torch_malloc((ptrdiff_t)(1 + i * 4096), 0, NULL);
        if (*slot == NULL) return user;
    }
    for (size_t i = 0; i < 8; i++)
        culv_torch_free(mine[i], 0, 0, NULL);
    return NULL;
}

/* Four threads, the first calls of all at once: nothing is left. */
TEST(threads, .own = true)
{
    const raw_cuda *cu = lib_driver();
    pthread_t thread[4];
    int mark = 0;
    for (size_t i = 0; i < 4; i++)
        REQUIRE(pthread_create(&thread[i], NULL, churn, &mark) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed = NULL;
        REQUIRE(pthread_join(thread[i], &failed) == 0);
        REQUIRE(failed == NULL);
    }
    if (cu->SoftCounts != NULL) {
        culv_soft_counts driver = {.struct_size = sizeof driver};
        cu->SoftCounts(&driver);
        REQUIRE(driver.reservations == 0 && driver.virtual_mappings == 0);
        REQUIRE_EQ(driver.contexts, 1);
    }
    _exit(0);
}
