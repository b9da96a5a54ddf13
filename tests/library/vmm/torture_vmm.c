/* SPDX-License-Identifier: MIT */
/* Torture of virtual memory management: allocations, ranges, mappings, access, export and import,
 * deferred unmapping. A call that fails leaves all of it as it was. */
#include "torture.h"

#include "vmm/mapping.h"

#include <culvert/vmm.h>

#include <culvert/fabric.h>
#include <unistd.h>

#define BLOCK ((uint64_t)2 << 20)

static culv_device *other; /* a second device of the same driver */

static void begin(void)
{
    lib_with_environment("CULVERT_SOFT_DEVICES", "2");
}

/* How often the places of a range are mapped, as Culvert tells and as the driver does. */
static bool has_mappings(culv_vmm_range *range, size_t expected)
{
    return range->num_mappings == expected &&
           lib_soft_counts(torture.w.cu).virtual_mappings == expected;
}

/* Those included that were released meanwhile, since their stream had got there. */
static bool has_mappings_left(culv_vmm_range *range, size_t least, size_t most)
{
    const size_t count = range->num_mappings;
    return count >= least && count <= most && has_mappings(range, count);
}

static bool fd_is(const culv_handle *handle, int number)
{
    return handle->type == CULV_HANDLE_OPAQUE_FD && handle->value.fd == number;
}

/* As raw CUDA shows it: what a failed call left in the driver would be there. */
static void use(culv_vmm_range *range, CUstream stream)
{
    LIB_CU_OK(&torture.w, torture.w.cu->MemsetD32Async(culv_vmm_range_pointer(range), 7,
                                                       2 * BLOCK / 4, stream));
    /* What Culvert takes for a sticky error ends all work, which an injected one does not. */
    if (torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_ILLEGAL_ADDRESS)
        lib_finish(&torture.w, stream);
}

static void run_with(lib_world *w, CUstream stream)
{
    culv_vmm_allocation *in = POISON(culv_vmm_allocation);
    culv_vmm_range *exact = POISON(culv_vmm_range);
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    r.size = 6 * BLOCK;
    r.label = "tortured";
    TRY_NEW(culv_vmm_range, range, culv_vmm_range_create, w->device, &r);
    /* Where something was a moment ago, so that it is free: not every address is the driver's to
     * give. It is the lowest of many, since whoever else looks for a place gets the highest. */
    r.size = 64 * BLOCK;
    TRY_AGAIN(culv_vmm_range_create(w->device, &r, &exact), exact == POISON(culv_vmm_range));
    r.address = culv_vmm_range_pointer(exact);
    TRY_AGAIN(culv_vmm_range_destroy(&exact), exact != NULL);
    exact = POISON(culv_vmm_range);
    r.size = BLOCK;
    TRY_AGAIN(culv_vmm_range_create(w->device, &r, &exact), exact == POISON(culv_vmm_range));
    TRY_AGAIN(culv_vmm_range_destroy(&exact), exact != NULL);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    TRY_NEW(culv_vmm_allocation, one, culv_vmm_allocation_create, w->device, &d);
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    TRY_NEW(culv_vmm_allocation, two, culv_vmm_allocation_create, w->device, &d);
    d.usage = 0;
    TRY_NEW(culv_vmm_allocation, far, culv_vmm_allocation_create, other, &d);

    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = other, .flags = CULV_VMM_ACCESS_READ}};
    TRY_AGAIN(culv_vmm_map(range, 0, one, NULL, 0), has_mappings(range, 0));
    TRY_AGAIN(culv_vmm_map(range, BLOCK, two, both, 2), has_mappings(range, 1));
    TRY_AGAIN(culv_vmm_map(range, 2 * BLOCK, one, NULL, 0), has_mappings(range, 2));
    TRY_AGAIN(culv_vmm_map(range, 3 * BLOCK, far, both, 1), has_mappings(range, 3));

    culv_handle handle = culv_handle_opaque_fd(-7);
    TRY_AGAIN(culv_vmm_export_dup(one, CULV_HANDLE_OPAQUE_FD, &handle), fd_is(&handle, -7));
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    i.handle = handle;
    i.size = BLOCK;
    i.label = "in";
    lib_fd fd = lib_fd_watch(handle.value.fd);
    TRY_AGAIN(culv_vmm_import(w->device, &i, &in), in == POISON(culv_vmm_allocation));
    lib_fd_require_untouched(&fd);
    DO(culv_vmm_allocation_destroy(&in));
    in = POISON(culv_vmm_allocation);
    /* By a device that it does not lie on. */
    culv_device_caps caps = lib_caps(w->device);
    i.exporter = caps.uuid;
    TRY_AGAIN(culv_vmm_import(other, &i, &in), in == POISON(culv_vmm_allocation));
    lib_fd_end(&fd, true);
    TRY_NEW(culv_vmm_adopted, again, culv_vmm_adopt, w->device,
            culv_vmm_range_pointer(range) + BLOCK, 1);
    TRY_AGAIN(culv_vmm_map(range, 4 * BLOCK, in, NULL, 0), has_mappings(range, 4));
    DO(culv_vmm_allocation_destroy(&in));
    DO(culv_vmm_adopted_destroy(&again));
    DO(culv_vmm_allocation_destroy(&one)); /* while it is mapped */

    use(range, stream);
    /* One deferred batch, and what is unmapped at once. */
    TRY_AGAIN(culv_vmm_unmap(range, 0, 2 * BLOCK, &stream), has_mappings(range, 5));
    lib_finish(w, stream);
    culv_device_counts c = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(w->device, &c), true);
    /* What is refused stays, and what came before is unmapped. */
    lib_forget_error();
    torture_arm();
    culv_result result = culv_vmm_unmap(range, 2 * BLOCK, 4 * BLOCK, NULL);
    bool hit = torture_disarm();
    if (result != CULV_OK) {
        torture_failed("culv_vmm_unmap", result, hit, false);
        lib_settle(w);
        const size_t left = range->num_mappings;
        REQUIRE(left > 0 && has_mappings(range, left));
        LIB_OK(culv_vmm_unmap(range, 2 * BLOCK, 4 * BLOCK, NULL));
    }
    lib_settle(w);
    REQUIRE(has_mappings(range, 0));
    TRY_AGAIN(culv_vmm_map(range, 5 * BLOCK, two, NULL, 0), has_mappings(range, 0));
    DO(culv_vmm_allocation_destroy(&two));
    DO(culv_vmm_allocation_destroy(&far));
    TRY_AGAIN(culv_vmm_unmap(range, 5 * BLOCK, BLOCK, NULL), has_mappings(range, 1));
    TRY_AGAIN(culv_vmm_range_destroy(&range), range != NULL);
    REQUIRE(range == NULL);
    lib_settle(w);
    c = lib_counts(w);
    REQUIRE(c.vmm_allocations == 0 && c.vmm_ranges == 0 && c.vmm_mappings == 0);
}

/* What culv_vector does with ranges. */
static void run_inner(lib_world *w, CUstream stream)
{
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    CUmemAccessDesc access[2];
    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = other, .flags = CULV_VMM_ACCESS_READ}};
    r.size = 4 * BLOCK;
    d.size = BLOCK;
    NEW(culv_vmm_range, range, culv_vmm_range_create, w->device, &r);
    NEW(culv_vmm_allocation, one, culv_vmm_allocation_create, w->device, &d);
    TRY_AGAIN(culvi_vmm_access_resolve(w->device, both, 2, access), true);
    for (uint64_t i = 0; i < 4; i++)
        TRY_AGAIN(culvi_vmm_map_resolved(range, i * BLOCK, one, access, 2), has_mappings(range, i));
    culv_vmm_allocation_destroy(&one);
    use(range, stream);
    TRY_AGAIN(culv_vmm_unmap(range, 0, BLOCK, &stream), has_mappings(range, 4));
    TRY_AGAIN(culv_vmm_unmap(range, BLOCK, BLOCK, &stream), has_mappings_left(range, 3, 4));
    TRY_AGAIN(culvi_vmm_wait_and_collect(range, 0, 2 * BLOCK), has_mappings_left(range, 2, 4));
    REQUIRE(has_mappings(range, 2));
    TRY_AGAIN(culv_vmm_unmap(range, 2 * BLOCK, BLOCK, &stream), has_mappings(range, 2));
    lib_finish(w, stream);
    DO(culvi_vmm_unmap_or_defer(range, 0, culv_vmm_range_size(range)));
    DO(culvi_vmm_range_release_or_defer(&range));
    DO(culv_device_collect(w->device));
    lib_settle(w);
    culv_device_counts c = lib_counts(w);
    REQUIRE(c.vmm_allocations == 0 && c.vmm_ranges == 0 && c.vmm_mappings == 0);

    /* What nobody unmaps goes with the device, which begins here. */
    LIB_OK(culv_vmm_range_create(w->device, &r, &range));
    LIB_OK(culv_vmm_allocation_create(w->device, &d, &one));
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, BLOCK, one, NULL, 0));
    LIB_OK(culv_vmm_unmap(range, 0, BLOCK, &stream));
    DO(culvi_vmm_range_release_or_defer(&range));
    DO(culv_vmm_allocation_destroy(&one));
}

/* The allocator for PyTorch, whose device stays open. */
static culv_result allocate(void **out, ptrdiff_t size)
{
    void *made = culv_torch_malloc(size, 0, NULL);
    culv_error e = culv_error_init();
    if (made != NULL) {
        *out = made;
        return CULV_OK;
    }
    culv_last_error(&e);
    return e.result;
}

/* Nothing of it stays, once later calls have collected what was refused. */
static void allocator_settles(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    for (unsigned i = 0; i < TEST_FAR_MS; i++) {
        void *next = culv_torch_malloc(1, 0, NULL);
        REQUIRE(next != NULL);
        culv_torch_free(next, 1, 0, NULL);
        c = lib_soft_counts(torture.w.cu);
        if (c.reservations == 0 && c.physical_allocations == 0) return;
        lib_sleep_ms(1);
    }
    FAIL("%u reservations and %u allocations stay", (unsigned)c.reservations,
         (unsigned)c.physical_allocations);
}

static void run_allocator(lib_world *w, CUstream stream)
{
    const raw_cuda *cu = w->cu;
    void *a = POISON(void), *b = POISON(void), *c = POISON(void);
    CUgraph graph = NULL;
    CUstream blocking = NULL;
    TRY_AGAIN(allocate(&a, 70001), a == POISON(void));
    TRY_AGAIN(allocate(&b, (ptrdiff_t)BLOCK + 1), b == POISON(void));
    TRY_AGAIN(allocate(&c, 4099), c == POISON(void));
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemsetD32Async((CUdeviceptr)(uintptr_t)a, 7, 1000, stream));
    /* What Culvert takes for a sticky error ends all work, which an injected one does not. */
    if (torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_ILLEGAL_ADDRESS)
        lib_finish(w, stream);
    DO(culv_torch_free(a, 70001, 0, stream));
    /* In a capture, and beside one, where the call waits for all work of the context. */
    CU_OK(cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    DO(culv_torch_free(b, 0, 0, blocking));
    DO(culv_torch_free(c, 4099, 0, NULL));
    CU_OK(cu->StreamEndCapture(blocking, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(blocking));
    lib_leave(w, before);
    allocator_settles();
}

static void run_scene(void (*scene)(lib_world *w, CUstream stream))
{
    lib_world *w = &torture.w;
    w->device = lib_another_device(0, NULL);
    other = lib_another_device(1, NULL);
    w->context = culv_device_context(w->device);
    CUstream stream = lib_stream(w);
    scene(w, stream);
    lib_finish(w, stream);
    lib_stream_destroy(w, stream);
    DO(culv_device_close(&other));
    DO(culv_device_close(&w->device));
    REQUIRE(other == NULL && w->device == NULL);
}

static void run(void)
{
    run_scene(run_with);
}
static void inner(void)
{
    run_scene(run_inner);
}
static void allocator(void)
{
    run_scene(run_allocator);
}

/* With a device that stays open. */
static void leave(void)
{
    test_pass();
}

TORTURE_CUDA(vmm, .begin = begin, .run = run, .least = {110, 0, 15})
TORTURE_CUDA(inner, .begin = begin, .run = inner, .least = {20, 0, 4})
TORTURE_CUDA(allocator, .begin = begin, .run = allocator, .end = leave, .least = {20, 0, 6})

/* Torture of culv_vector: each driver call and each allocation on the ways of growing, moving,
 * reserving, shrinking and retiring fails once. A vector that answers with an error is as it was,
 * and does it the next time. */

enum { CHUNK = 2 << 20 };
static CUdeviceptr wall;
static unsigned moved;

/* What of a vector an error leaves as it was. */
typedef struct seen {
    culv_vector_stats stats;
    CUdeviceptr base;
    uint64_t generation, moved; /* no padding: it is compared as bytes */
    size_t count;
    culv_part chunks[16];
} seen;

static seen look(const culv_vector *v)
{
    seen s;
    memset(&s, 0, sizeof s);
    s.stats = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v, &s.stats));
    s.base = culv_vector_pointer(v);
    LIB_OK(culv_vector_get_parts(v, s.chunks, 16, &s.count, &s.generation));
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
    torture.w.device = lib_another_device(0, NULL);
    torture.w.context = culv_device_context(torture.w.device);
    moved = 0;
}

static culv_vector *make_vector(uint64_t reserve, bool fixed)
{
    culv_vector *v = NULL;
    culv_vector_desc d = culv_vector_desc_init();
    d.size = 1;
    d.reserve = reserve;
    d.max_chunk = CHUNK;
    d.growth_percent = 30;
    d.no_move = fixed;
    if (!fixed) d.moved = note_move;
    TRY_AGAIN(culv_vector_create(torture.w.device, &d, &v), v == NULL);
    return v;
}

/* Nothing of virtual memory management is left, however often something failed. */
static void close_device(void)
{
    DO(culv_device_close(&torture.w.device));
    const culv_soft_counts c = lib_soft_counts(torture.w.cu);
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
    open_device();
    culv_vector *v = make_vector(4 * CHUNK, false);
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
    CUdeviceptr room = 0;
    open_device();
    LIB_CU_OK(&torture.w, torture.w.cu->MemAddressReserve(&room, (size_t)1 << 30, 0, 0, 0));
    culv_vector *v = make_vector(2 * CHUNK, true);
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
    open_device();
    culv_vector *v = make_vector(4 * CHUNK, false);
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
    AGAIN(culv_vector_shrink(v, CHUNK, NULL)); /* at both addresses */
    REQUIRE_EQ(culv_vector_pointer(v), now);
    require_data(now, 1);
    give_the_wall_back();
    DO(culv_vector_destroy(&v, &(CUstream){NULL}));
    close_device();
}

TORTURE_CUDA(grow, .run = grow_and_move, .least = {20, 0, 10})
TORTURE_CUDA(extend, .run = extend_in_place, .least = {10, 0, 5})
TORTURE_CUDA(shrink, .run = shrink_and_regrow, .least = {10, 0, 5})

/* Torture of fabric handles: tried, exported and imported. */

enum { BYTES = 2 << 20 };

static void fabric_begin(void)
{
    lib_with_option("--validation=off");
    torture.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    torture.w.cu->SoftPlayFabric(1);
}

static void fabric_run(void)
{
    lib_world *w = &torture.w;
    const culv_handle none = {0};
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    d.size = i.size = BYTES;
    d.fabric = CULV_FABRIC_REQUIRED;
    CUstream stream = torture_open();
    TRY_NEW(culv_vmm_allocation, made, culv_vmm_allocation_create, w->device, &d);
    TRY_AGAIN(culv_check_fabric(w->device), true);
    TRY_AGAIN(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &i.handle),
              memcmp(&i.handle, &none, sizeof none) == 0);
    TRY_NEW(culv_vmm_allocation, in, culv_vmm_import, w->device, &i);
    DO(culv_vmm_allocation_destroy(&in));
    DO(culv_vmm_allocation_destroy(&made));
    REQUIRE(in == NULL && made == NULL);
    torture_close(stream);
}

TORTURE(fabric, .begin = fabric_begin, .run = fabric_run, .least = {8, 0, 2})
