/* SPDX-License-Identifier: MIT */
/* culv_vector: growing. */
#include "vector_stage.h"

#include <unistd.h>

/* Doubling: what was written stays, the address too, and each step is one chunk and a
 * generation. */
VECTOR_CASE(doubles)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.label = "doubling";
    culv_vector *v = vector_make(s, &d);
    const CUdeviceptr base = culv_vector_pointer(v);
    REQUIRE(base != 0 && base % s->chunk == 0);
    REQUIRE_EQ(culv_vector_size(v), 0);
    REQUIRE_EQ(culv_vector_committed(v), 0);
    REQUIRE_EQ(culv_vector_generation(v), 1);
    REQUIRE(vector_stats(v).reserved >= GIB);
    uint64_t had = 0, generation = 1;
    for (uint64_t size = s->chunk; size <= 16 * s->chunk; had = size, size *= 2) {
        LIB_OK(culv_vector_grow(v, size));
        REQUIRE_EQ(culv_vector_pointer(v), base);
        REQUIRE_EQ(culv_vector_size(v), size);
        REQUIRE_EQ(culv_vector_committed(v), size);
        REQUIRE_EQ(culv_vector_generation(v), ++generation);
        vector_write(s, base, had, size, 7);
        REQUIRE_EQ(vector_check(v), generation - 1);
    }
    vector_require(s, base, had, 7, 0);
    vector_add(s, base, had, 5); /* one kernel over all chunks */
    vector_require(s, base, had, 7, 5);
    LIB_OK(culv_vector_grow(v, had - 1)); /* no shrink */
    LIB_OK(culv_vector_grow(v, 0));
    LIB_OK(culv_vector_reserve(v, had));
    REQUIRE_EQ(culv_vector_size(v), had);
    REQUIRE_EQ(culv_vector_generation(v), generation);
    const culv_vector_stats stats = vector_stats(v);
    REQUIRE_EQ(stats.peak, had);
    REQUIRE_EQ(stats.moves + stats.extensions + stats.retiring + stats.ahead_commits +
                   stats.ahead_misses,
               0);
    culv_vector_destroy(&v, NULL);
    REQUIRE(v == NULL);
    culv_vector_destroy(&v, NULL);
}

/* What a grow makes the driver do, when addresses are there: as much as raw code. */
VECTOR_CASE(calls)
{
    culv_vector *v = vector_make(s, NULL);
    LIB_OK(culv_vector_grow(v, s->chunk));
    if (s->w.cu->SoftCounts != NULL) {
        culv_soft_counts before = {.struct_size = sizeof before},
                         after = {.struct_size = sizeof after};
        CUcontext current = lib_enter(&s->w);
        s->w.cu->SoftCounts(&before);
        LIB_OK(culv_vector_grow(v, 2 * s->chunk));
        s->w.cu->SoftCounts(&after);
        lib_leave(&s->w, current);
        MEASURED("vector_grow_calls", "%d", (int)(after.calls - before.calls));
        /* Three of virtual memory management, and with two of them one that looks whether the
         * context is still there, one whether it is current, and two that spare captures. */
        REQUIRE(after.calls - before.calls <= 3 + 2 * 4);
        s->w.cu->SoftCounts(&before);
        LIB_OK(culv_vector_grow(v, 2 * s->chunk - 5));
        s->w.cu->SoftCounts(&after);
        REQUIRE_EQ(after.calls, before.calls);
    }
    culv_vector_destroy(&v, NULL);
}

/* Sizes begin anywhere; a size to begin with is there; memory of a vector that grows while a kernel
 * runs is not touched. */
VECTOR_CASE(begins)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.size = 3 * s->chunk + 12;
    d.reserve = 8 * s->chunk - 1;
    culv_vector *v = vector_make(s, &d);
    const CUdeviceptr base = culv_vector_pointer(v);
    REQUIRE_EQ(culv_vector_size(v), d.size);
    REQUIRE_EQ(culv_vector_committed(v), 4 * s->chunk);
    REQUIRE_EQ(vector_stats(v).reserved, 8 * s->chunk);
    REQUIRE_EQ(vector_check(v), 1);
    vector_hold(s);
    LIB_OK(culv_vector_grow(v, 5 * s->chunk)); /* waits for nothing */
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    vector_let_go(s);
    vector_write(s, base, 0, 5 * s->chunk, 1);
    vector_require(s, base, 5 * s->chunk, 1, 0);
    culv_vector_destroy(&v, NULL);
    d.size = 8 * s->chunk + 1; /* more than is to be reserved */
    v = vector_make(s, &d);
    REQUIRE_EQ(vector_stats(v).reserved, 9 * s->chunk);
    culv_vector_destroy(&v, NULL);
    d.reserve = 0;
    d.size = 128 * MIB;
    v = vector_make(s, &d);
    REQUIRE_EQ(vector_stats(v).reserved, 16 * d.size);
    culv_vector_destroy(&v, NULL);
}

static void require_chunk(const culv_vector *v, size_t index, uint64_t size)
{
    culv_vector_chunk chunks[16];
    size_t count = 0;
    LIB_OK(culv_vector_get_chunks(v, chunks, 16, &count, NULL));
    REQUIRE(index < count && count <= 16);
    REQUIRE_EQ(chunks[index].size, size);
}

/* Sizes of chunks. */
VECTOR_CASE(policies)
{
    const uint64_t c = s->chunk;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 64 * c;
    d.min_chunk = 4 * c - 1;
    culv_vector *v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 1));
    require_chunk(v, 0, 4 * c);
    LIB_OK(culv_vector_grow(v, 10 * c));
    require_chunk(v, 1, 6 * c);
    REQUIRE_EQ(vector_check(v), 2);
    culv_vector_destroy(&v, NULL);

    d.min_chunk = 0;
    d.max_chunk = 3 * c + 1;
    v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 8 * c - 7));
    REQUIRE_EQ(vector_check(v), 3);
    require_chunk(v, 0, 3 * c);
    require_chunk(v, 2, 2 * c);
    REQUIRE_EQ(culv_vector_generation(v), 2); /* one grow, one generation */
    culv_vector_destroy(&v, NULL);

    d.max_chunk = 0;
    d.growth_percent = 50;
    v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 8 * c));
    LIB_OK(culv_vector_grow(v, 9 * c));
    require_chunk(v, 1, 4 * c);
    REQUIRE_EQ(culv_vector_size(v), 9 * c);
    LIB_OK(culv_vector_grow(v, 12 * c)); /* it is there */
    REQUIRE_EQ(culv_vector_generation(v), 3);
    LIB_OK(culv_vector_grow(v, 13 * c));
    require_chunk(v, 2, 6 * c);
    culv_vector_destroy(&v, NULL);

    d.max_chunk = 2 * c; /* the part that is committed besides is one chunk at most */
    v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 8 * c));
    LIB_OK(culv_vector_grow(v, 9 * c));
    REQUIRE_EQ(culv_vector_committed(v), 10 * c);
    REQUIRE_EQ(vector_check(v), 5);
    culv_vector_destroy(&v, NULL);

    /* Where there is no memory for the policy, or no addresses, what is asked for is enough. */
    d.max_chunk = 0;
    d.growth_percent = UINT32_MAX;
    d.reserve = 512 * GIB;
    v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 2 * c));
    LIB_OK(culv_vector_grow(v, 3 * c));
    REQUIRE_EQ(culv_vector_committed(v), 3 * c);
    culv_vector_destroy(&v, NULL);
    d.reserve = 8 * c;
    d.no_move = 1;
    v = vector_make(s, &d);
    LIB_OK(culv_vector_grow(v, 5 * c));
    LIB_OK(culv_vector_grow(v, 6 * c));
    REQUIRE_EQ(culv_vector_committed(v), 8 * c);
    culv_vector_destroy(&v, NULL);
}

/* Addresses for 64 GiB, memory for what is used. */
VECTOR_CASE(reserves_much)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 64 * GIB;
    d.size = s->chunk;
    culv_vector *v = vector_make(s, &d);
    REQUIRE_EQ(vector_stats(v).reserved, 64 * GIB);
    LIB_OK(culv_vector_reserve(v, 64 * GIB));
    REQUIRE_EQ(vector_stats(v).committed, s->chunk);
    vector_write(s, culv_vector_pointer(v), 0, s->chunk, 3);
    vector_require(s, culv_vector_pointer(v), s->chunk, 3, 0);
    culv_vector_destroy(&v, NULL);
}

/* Each chunk goes out and comes in again, as another process would have it. */
VECTOR_CASE(exports)
{
    enum { CHUNKS = 3 };
    culv_vector_desc d = culv_vector_desc_init();
    culv_vector_chunk chunks[CHUNKS];
    culv_vmm_allocation *in[CHUNKS] = {NULL};
    culv_vmm_range *range = NULL;
    size_t count = 0;
    uint64_t generation = 0;
    d.handle_types = 1 << CULV_HANDLE_OPAQUE_FD;
    culv_vector *v = vector_make(s, &d);
    for (uint64_t i = 1; i <= CHUNKS; i++)
        LIB_OK(culv_vector_grow(v, i * s->chunk));
    LIB_OK(culv_vector_get_chunks(v, chunks, CHUNKS, &count, &generation));
    REQUIRE_EQ(count, CHUNKS);
    REQUIRE_EQ(generation, 1 + CHUNKS);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = CHUNKS * s->chunk;
    LIB_OK(culv_vmm_range_create(s->w.device, &rd, &range));
    for (size_t i = 0; i < CHUNKS; i++) {
        culv_vmm_import_desc id = culv_vmm_import_desc_init();
        LIB_OK(culv_vmm_export_dup(chunks[i].allocation, CULV_HANDLE_OPAQUE_FD, &id.handle));
        id.size = chunks[i].size;
        LIB_TAKE(culv_vmm_import(s->w.device, &id, &in[i]), &id.handle);
        LIB_OK(culv_vmm_map(range, chunks[i].offset, in[i], NULL, 0));
    }
    vector_write(s, culv_vector_pointer(v), 0, rd.size, 9);
    vector_require(s, culv_vmm_range_pointer(range), rd.size, 9, 0);
    vector_add(s, culv_vmm_range_pointer(range), rd.size, 1);
    vector_require(s, culv_vector_pointer(v), rd.size, 9, 1);
    culv_vector_destroy(&v, NULL); /* what was imported stays */
    vector_require(s, culv_vmm_range_pointer(range), rd.size, 9, 1);
    LIB_OK(culv_vmm_unmap(range, 0, rd.size, NULL));
    for (size_t i = 0; i < CHUNKS; i++)
        culv_vmm_allocation_destroy(&in[i]);
    LIB_OK(culv_vmm_range_destroy(&range));
}

/* A second device writes, and the vector's own sees it; of a chunk that came by growing too. */
TEST(two_devices)
{
    vector_stage s;
    raw_cuda_two_devices();
    const raw_cuda *cu = lib_driver();
    culv_device *other = NULL;
    int reach = 0;
    if (cu->device_count < 2) SKIP("one CUDA device only");
    vector_stage_open(&s);
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    LIB_OK(culv_device_open_by_ordinal(1, &dd, &other));
    CU_OK(cu->DeviceCanAccessPeer(&reach, 1, 0));
    if (!reach) SKIP("the second device does not reach the first one's memory");
    culv_vmm_access access[2];
    memset(access, 0, sizeof access);
    access[0].flags = access[1].flags = CULV_VMM_ACCESS_READ_WRITE;
    access[1].device = other;
    culv_vector_desc d = culv_vector_desc_init();
    d.reserve = 4 * s.chunk;
    d.access = access;
    d.access_count = 2;
    d.size = s.chunk;
    culv_vector *v = vector_make(&s, &d);
    vector_stage there = s;
    there.w.context = culv_device_context(other);
    there.stream = lib_stream(&there.w);
    CUcontext before = lib_enter(&there.w);
    there.module = raw_cuda_load(cu, "library_kernels");
    there.write = raw_cuda_function(cu, there.module, "library_write");
    there.add = raw_cuda_function(cu, there.module, "library_add");
    lib_leave(&there.w, before);
    vector_wall(&s, v);
    for (uint64_t size = s.chunk; size <= 8 * s.chunk;
         size *= 2) { /* the last one moves or extends */
        LIB_OK(culv_vector_grow(v, size));
        vector_write(&there, culv_vector_pointer(v), 0, size, (uint32_t)size);
        vector_require(&s, culv_vector_pointer(v), size, (uint32_t)size, 0);
        vector_add(&s, culv_vector_pointer(v), size, 1);
        vector_require(&there, culv_vector_pointer(v), size, (uint32_t)size, 1);
    }
    culv_vector_destroy(&v, NULL);
    LIB_CU_OK(&there.w, cu->ModuleUnload(there.module));
    lib_stream_destroy(&there.w, there.stream);
    culv_device_close(&other);
    vector_stage_close(&s);
}

/* A vector goes before or after its device is closed. */
VECTOR_CASE(outlives_its_device)
{
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = s->w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    culv_device *second = NULL;
    culv_vector *v = NULL;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &second));
    LIB_OK(culv_vector_create(second, NULL, &v));
    LIB_OK(culv_vector_grow(v, s->chunk));
    culv_device_close(&second);
    LIB_OK(culv_vector_grow(v, 2 * s->chunk));
    vector_write(s, culv_vector_pointer(v), 0, 2 * s->chunk, 4);
    vector_require(s, culv_vector_pointer(v), 2 * s->chunk, 4, 0);
    culv_vector_destroy(&v, NULL);
}
