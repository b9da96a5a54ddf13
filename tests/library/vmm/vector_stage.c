/* SPDX-License-Identifier: MIT */
/* Stage of the suites of culv_vector. */
#include "vector_stage.h"

static uint32_t seed_at(uint64_t offset, uint32_t seed)
{
    return lib_word((uint32_t)(offset / 4), seed);
}

void vector_stage_open(vector_stage *s)
{
    memset(s, 0, sizeof *s);
    s->w.cu = lib_driver();
    const raw_cuda *cu = s->w.cu;
    culv_device_desc dd = culv_device_desc_init();
    culv_device_caps caps = culv_device_caps_init();
    dd.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    s->w.fds = test_open_fds();
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &s->w.device));
    LIB_OK(culv_device_get_caps(s->w.device, &caps));
    if (!caps.vmm) SKIP("the device has no virtual memory management");
    s->w.context = culv_device_context(s->w.device);
    s->stream = lib_stream(&s->w);
    CUcontext before = lib_enter(&s->w);
    s->module = raw_cuda_load(cu, "library_kernels");
    s->write = raw_cuda_function(cu, s->module, "library_write");
    s->add = raw_cuda_function(cu, s->module, "library_add");
    lib_leave(&s->w, before);
    const culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    LIB_OK(culv_vmm_get_granularity(s->w.device, &d, &s->chunk));
}

void vector_stage_close(vector_stage *s)
{
    const raw_cuda *cu = s->w.cu;
    vector_objects left;
    vector_let_go(s);
    lib_finish(&s->w, s->stream);
    vector_open_wall(s);
    LIB_CU_OK(&s->w, cu->ModuleUnload(s->module));
    lib_stream_destroy(&s->w, s->stream);
    lib_settle(&s->w);
    lib_require_no_objects(&s->w);
    if (vector_objects_of(s, &left)) {
        REQUIRE_EQ(left.mappings, 0);
        REQUIRE_EQ(left.reservations, 0);
        REQUIRE_EQ(left.allocations, 0);
    }
    culv_device_close(&s->w.device);
    if (cu->software) REQUIRE_EQ(test_open_fds(), s->w.fds);
    raw_cuda_require_empty(cu);
}

static void launch(const vector_stage *s, CUfunction kernel, CUdeviceptr at, uint64_t bytes,
                   uint32_t value)
{
    unsigned count = (unsigned)(bytes / 4);
    void *params[] = {&at, &count, &value};
    REQUIRE(bytes % 4 == 0 && bytes / 4 <= UINT32_MAX);
    if (count == 0) return;
    LIB_CU_OK(&s->w, s->w.cu->LaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0,
                                           s->stream, params, NULL));
    lib_finish(&s->w, s->stream);
}

void vector_write(const vector_stage *s, CUdeviceptr base, uint64_t from, uint64_t to,
                  uint32_t seed)
{
    launch(s, s->write, base + from, to - from, seed_at(from, seed));
}

void vector_add(const vector_stage *s, CUdeviceptr base, uint64_t size, uint32_t addend)
{
    launch(s, s->add, base, size, addend);
}

void vector_require(const vector_stage *s, CUdeviceptr base, uint64_t size, uint32_t seed,
                    uint32_t addend)
{
    enum { PART = 4 << 20 };
    const raw_cuda *cu = s->w.cu;
    uint32_t *found = malloc(PART);
    REQUIRE(found != NULL);
    CUcontext before = lib_enter(&s->w);
    for (uint64_t at = 0; at < size; at += PART) {
        const uint64_t bytes = size - at < PART ? size - at : PART;
        CU_OK(cu->MemcpyDtoHAsync(found, base + at, (size_t)bytes, s->stream));
        CU_OK(cu->StreamSynchronize(s->stream));
        REQUIRE_WORDS(found, (size_t)(bytes / 4), seed_at(at, seed) + addend);
    }
    lib_leave(&s->w, before);
    free(found);
}

static void CUDA_CB hold(void *user)
{
    const atomic_bool *held = user;
    while (atomic_load(held))
        lib_sleep_ms(1);
}

void vector_hold(vector_stage *s)
{
    atomic_store(&s->held, true);
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(s->stream, hold, &s->held));
}

void vector_let_go(vector_stage *s)
{
    atomic_store(&s->held, false);
}

culv_vector *vector_make(const vector_stage *s, const culv_vector_desc *d)
{
    culv_vector *v = NULL;
    LIB_OK(culv_vector_create(s->w.device, d, &v));
    return v;
}

culv_vector_stats vector_stats(const culv_vector *v)
{
    culv_vector_stats out = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v, &out));
    return out;
}

static size_t check_once(const culv_vector *v, bool *changed);

size_t vector_check(const culv_vector *v)
{
    bool changed = true; /* by a thread that commits ahead */
    size_t count = 0;
    for (int i = 0; changed && i < 100; i++)
        count = check_once(v, &changed);
    REQUIRE(!changed);
    return count;
}

static size_t check_once(const culv_vector *v, bool *changed)
{
    size_t count = 0, again = 0;
    uint64_t end = 0, id = 0, generation = 0, before = 0, after = 0;
    LIB_OK(culv_vector_get_chunks(v, NULL, 0, &count, &before));
    culv_vector_chunk *chunks = calloc(count + 1, sizeof *chunks);
    REQUIRE(chunks != NULL);
    LIB_OK(culv_vector_get_chunks(v, chunks, count, &again, &generation));
    const uint64_t committed = culv_vector_committed(v), size = culv_vector_size(v);
    const culv_vector_stats stats = vector_stats(v);
    size_t at_last = 0;
    LIB_OK(culv_vector_get_chunks(v, NULL, 0, &at_last, &after));
    *changed = after != before;
    if (!*changed) {
        REQUIRE_EQ(again, count);
        REQUIRE_EQ(generation, before);
        for (size_t i = 0; i < count; i++) {
            culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
            LIB_OK(culv_vmm_allocation_get_info(chunks[i].allocation, &info));
            REQUIRE_EQ(info.size, chunks[i].size);
            REQUIRE_EQ(chunks[i].offset, end);
            REQUIRE(chunks[i].id > id && chunks[i].size > 0);
            end += chunks[i].size;
            id = chunks[i].id;
        }
        REQUIRE_EQ(committed, end);
        REQUIRE(size <= end);
        REQUIRE_EQ(stats.chunks, count);
        REQUIRE(stats.peak >= end && stats.reserved >= end);
    }
    free(chunks);
    return count;
}

void vector_wall(vector_stage *s, const culv_vector *v)
{
    const raw_cuda *cu = s->w.cu;
    const CUdeviceptr end = culv_vector_pointer(v) + vector_stats(v).reserved;
    REQUIRE(s->wall == 0);
    CUcontext before = lib_enter(&s->w);
    /* Where something else is already, the driver chooses another place; small ones NVIDIA's puts
     * elsewhere in any case. */
    for (s->wall_size = s->chunk; s->wall_size <= 256 * s->chunk; s->wall_size *= 16) {
        CU_OK(cu->MemAddressReserve(&s->wall, (size_t)s->wall_size, 0, end, 0));
        if (s->wall == end || s->wall_size == 256 * s->chunk) break;
        CU_OK(cu->MemAddressFree(s->wall, (size_t)s->wall_size));
    }
    lib_leave(&s->w, before);
}

void vector_open_wall(vector_stage *s)
{
    if (s->wall == 0) return;
    LIB_CU_OK(&s->w, s->w.cu->MemAddressFree(s->wall, (size_t)s->wall_size));
    s->wall = 0;
}

bool vector_objects_of(const vector_stage *s, vector_objects *out)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (s->w.cu->SoftCounts == NULL) return false;
    s->w.cu->SoftCounts(&c);
    *out = (vector_objects){c.physical_allocations, c.reservations, c.virtual_mappings};
    return true;
}
