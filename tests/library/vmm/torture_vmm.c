/* SPDX-License-Identifier: MIT */
/* Torture of virtual memory management: allocations, ranges, mappings, access, export and import,
 * deferred unmapping. A call that fails leaves all of it as it was. */
#include "torture.h"

#include "vmm/access.h"
#include "vmm/mapping.h"

#include <culvert/torch.h>

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
    size_t count = 0;
    culv_soft_counts c = {.struct_size = sizeof c};
    torture.w.cu->SoftCounts(&c);
    LIB_OK(culv_vmm_get_mappings(range, NULL, 0, &count));
    return count == expected && c.virtual_mappings == expected;
}

/* Those included that were released meanwhile, since their stream had got there. */
static bool has_mappings_left(culv_vmm_range *range, size_t least, size_t most)
{
    size_t count = 0;
    LIB_OK(culv_vmm_get_mappings(range, NULL, 0, &count));
    return count >= least && count <= most && has_mappings(range, count);
}

static bool has_access(culv_vmm_range *range, uint64_t offset, culv_device *device,
                       culv_vmm_access_flags flags)
{
    culv_vmm_access a = {.device = device};
    LIB_OK(culv_vmm_get_access(range, offset, &a));
    return a.flags == flags;
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
    culv_vmm_allocation *one = POISON(culv_vmm_allocation), *two = POISON(culv_vmm_allocation),
                        *in = POISON(culv_vmm_allocation), *again = POISON(culv_vmm_allocation),
                        *far = POISON(culv_vmm_allocation);
    culv_vmm_range *range = POISON(culv_vmm_range), *exact = POISON(culv_vmm_range);
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    r.size = 6 * BLOCK;
    r.label = "tortured";
    TRY_AGAIN(culv_vmm_range_create(w->device, &r, &range), range == POISON(culv_vmm_range));
    /* Where something was a moment ago, so that it is free: not every address is the driver's to
     * give. It is the lowest of many, since whoever else looks for a place gets the highest. */
    r.size = 64 * BLOCK;
    TRY_AGAIN(culv_vmm_range_create(w->device, &r, &exact), exact == POISON(culv_vmm_range));
    r.address = culv_vmm_range_pointer(exact);
    TRY_AGAIN(culv_vmm_range_destroy(&exact), exact != NULL);
    exact = POISON(culv_vmm_range);
    r.size = BLOCK;
    r.fixed_address = 1;
    TRY_AGAIN(culv_vmm_range_create(w->device, &r, &exact), exact == POISON(culv_vmm_range));
    TRY_AGAIN(culv_vmm_range_destroy(&exact), exact != NULL);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    TRY_AGAIN(culv_vmm_allocation_create(w->device, &d, &one), one == POISON(culv_vmm_allocation));
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    TRY_AGAIN(culv_vmm_allocation_create(w->device, &d, &two), two == POISON(culv_vmm_allocation));
    d.usage = 0;
    TRY_AGAIN(culv_vmm_allocation_create(other, &d, &far), far == POISON(culv_vmm_allocation));

    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = other, .flags = CULV_VMM_ACCESS_READ}};
    TRY_AGAIN(culv_vmm_map(range, 0, one, NULL, 0), has_mappings(range, 0));
    TRY_AGAIN(culv_vmm_map(range, BLOCK, two, both, 2), has_mappings(range, 1));
    TRY_AGAIN(culv_vmm_map(range, 2 * BLOCK, one, NULL, 0), has_mappings(range, 2));
    TRY_AGAIN(culv_vmm_map(range, 3 * BLOCK, far, both, 1), has_mappings(range, 3));
    TRY_AGAIN(culv_vmm_set_access(range, 0, 6 * BLOCK, both, 2),
              has_access(range, 0, other, CULV_VMM_ACCESS_NONE) &&
                  has_access(range, BLOCK, other, CULV_VMM_ACCESS_READ) &&
                  has_access(range, 2 * BLOCK, other, CULV_VMM_ACCESS_NONE) &&
                  has_access(range, 0, NULL, CULV_VMM_ACCESS_READ_WRITE));
    REQUIRE(has_access(range, 0, other, CULV_VMM_ACCESS_READ) &&
            has_access(range, 3 * BLOCK, other, CULV_VMM_ACCESS_READ));
    culv_vmm_access asked = {.device = other, .flags = (culv_vmm_access_flags)5};
    TRY_AGAIN(culv_vmm_get_access(range, 0, &asked), (int)asked.flags == 5);

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
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    TRY_AGAIN(
        culv_vmm_allocation_retain_at(w->device, culv_vmm_range_pointer(range) + BLOCK, &again),
        again == POISON(culv_vmm_allocation));
    TRY_AGAIN(culv_vmm_map(range, 4 * BLOCK, in, NULL, 0), has_mappings(range, 4));
    DO(culv_vmm_allocation_destroy(&in));
    DO(culv_vmm_allocation_destroy(&again));
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
        size_t left = 0;
        LIB_OK(culv_vmm_get_mappings(range, NULL, 0, &left));
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
    culv_vmm_allocation *one = NULL;
    culv_vmm_range *range = NULL;
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    CUmemAccessDesc access[2];
    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = other, .flags = CULV_VMM_ACCESS_READ}};
    r.size = 4 * BLOCK;
    d.size = BLOCK;
    LIB_OK(culv_vmm_range_create(w->device, &r, &range));
    LIB_OK(culv_vmm_allocation_create(w->device, &d, &one));
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
        torture.w.cu->SoftCounts(&c);
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
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = CULV_DRIVER_SOFT;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &w->device));
    LIB_OK(culv_device_open_by_ordinal(1, &dd, &other));
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

static const torture_path path = {.begin = begin, .run = run, .least = {130, 0, 20}};
static const torture_path inner_path = {.begin = begin, .run = inner, .least = {20, 0, 5}};
static const torture_path allocator_path = {
    .begin = begin, .run = allocator, .end = leave, .least = {20, 0, 6}};

TORTURE_CUDA_CASES("vmm", path)
TORTURE_CUDA_CASES("inner", inner_path)
TORTURE_CUDA_CASES("allocator", allocator_path)
