/* SPDX-License-Identifier: MIT */
/* Virtual memory management: what waits for a stream, captures, and contexts that are broken or
 * gone. */
#define TEST_GROUP "deferred."
#include "vmm_stage.h"

#include <stdatomic.h>

enum { WORDS = 1000 };

/* Nothing goes before the stream got there, and nothing waits meanwhile. */
VMM_CASE(after_a_stream)
{
    vmm_gate gate;
    culv_vmm_range *range = vmm_range(s, 4);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 3 * VMM_BLOCK, one, NULL, 0));
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 1);
    vmm_gate_begin(s, &gate);
    LIB_CU_OK(&s->w,
              s->w.cu->MemsetD32Async(vmm_address(range, 1), 3, 2 * VMM_BLOCK / 4, gate.stream));
    LIB_OK(culv_vmm_unmap(range, 0, 3 * VMM_BLOCK, &gate.stream));
    culv_vmm_allocation_destroy(&two);
    vmm_require_counts(s, 1, 1, 3);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.deferred, 1); /* one event for all of it */
    REQUIRE_EQ(lib_allocation(one).mappings, 2);
    LIB_ERROR(culv_vmm_map(range, 0, one, NULL, 0), BUSY, MAPPED, "waits for a stream");
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL), NOT_MAPPED, "waits for a stream");
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &gate.stream), NOT_MAPPED);
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED, "(unmapped: it waits for a stream)");
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL)); /* what is there still */
    REQUIRE_EQ(vmm_count_mappings(s), 2);
    REQUIRE_EQ(culv_device_collect(s->w.device), 1);
    vmm_gate_open(s, &gate);
    /* A call for the range finds it done. */
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    REQUIRE_EQ(vmm_count_mappings(s), 1);
    REQUIRE_EQ(lib_counts(&s->w).deferred, 0);
    LIB_ERROR(culv_vmm_range_destroy(&range), BUSY, MAPPED);
    REQUIRE(strstr(culv_last_error_message(), "waits for a stream") == NULL);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 1);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, &gate.stream)); /* which is idle */
    lib_settle(&s->w);
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
    vmm_gate_end(s, &gate);
}

typedef struct heard {
    uint64_t queries, warnings;
} heard;

static void listen(void *user, culv_log_level level, const char *message)
{
    heard *h = user;
    h->queries += strncmp(message, "cuEventQuery", strlen("cuEventQuery")) == 0;
    h->warnings +=
        level == CULV_LOG_WARNING && strstr(message, "1024 objects that were given up") != NULL;
}

/* Of what waits for a stream each call asks once, not once for each unmapping before it; what
 * another stream has passed meanwhile is found, and so is all in the end. The log warns of many. */
VMM_CASE(asked_once_a_stream)
{
    enum { BLOCKS = 1025 };
    vmm_gate gate;
    heard h = {0, 0};
    culv_device *quiet = s->w.device;
    culv_device_desc d = culv_device_desc_init();
    d.driver = s->w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    d.log = (culv_log){listen, &h, CULV_LOG_DEBUG};
    LIB_OK(culv_device_open_by_ordinal(0, &d, &s->w.device));
    culv_vmm_range *range = vmm_range(s, BLOCKS), *other = vmm_range(s, 2);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0);
    CUstream idle = lib_stream(&s->w);
    vmm_gate_begin(s, &gate);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
        LIB_OK(culv_vmm_unmap(range, i * VMM_BLOCK, VMM_BLOCK, &gate.stream));
    }
    printf("%llu queries\n", (unsigned long long)h.queries);
    REQUIRE(h.queries <= 2 * BLOCKS);
    REQUIRE_EQ(h.warnings, 1);
    REQUIRE_EQ(lib_counts(&s->w).deferred, BLOCKS);
    REQUIRE_EQ(vmm_count_mappings(s), BLOCKS);
    /* In a range of its own, and behind all of them. */
    LIB_OK(culv_vmm_map(other, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(other, VMM_BLOCK, one, NULL, 0));
    LIB_OK(culv_vmm_unmap(other, 0, VMM_BLOCK, &gate.stream));
    LIB_OK(culv_vmm_unmap(other, VMM_BLOCK, VMM_BLOCK, &idle));
    lib_finish(&s->w, idle);
    LIB_OK(culv_vmm_map(other, VMM_BLOCK, one, NULL, 0));
    LIB_ERROR(culv_vmm_map(other, 0, one, NULL, 0), BUSY, MAPPED);
    REQUIRE_EQ(lib_counts(&s->w).deferred, BLOCKS + 1);
    vmm_gate_open(s, &gate);
    h.queries = 0;
    LIB_OK(culv_vmm_map(range, (BLOCKS - 1) * VMM_BLOCK, one, NULL, 0));
    REQUIRE(h.queries <= BLOCKS + 1);
    REQUIRE_EQ(vmm_count_mappings(s), 2); /* and the other range's */
    REQUIRE_EQ(culv_device_collect(s->w.device), 0);
    LIB_OK(culv_vmm_unmap(range, 0, BLOCKS * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_unmap(other, 0, 2 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    LIB_OK(culv_vmm_range_destroy(&other));
    culv_vmm_allocation_destroy(&one);
    vmm_gate_end(s, &gate);
    lib_stream_destroy(&s->w, idle);
    vmm_require_counts(s, 0, 0, 0);
    culv_device_close(&s->w.device);
    s->w.device = quiet;
}

static atomic_int gate_open;
static void CUDA_CB wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&gate_open))
        lib_sleep_ms(1);
}

/* Of one stream's unmappings the first has passed and goes; more come behind those that stay. */
VMM_CASE(behind_what_has_passed)
{
    OWN(culv_vmm_range) *range = vmm_range(s, 5);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    CUstream stream = lib_stream(&s->w);
    atomic_store(&gate_open, 0);
    for (uint64_t i = 0; i < 5; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &stream));
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(stream, wait_for_gate, NULL));
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, &stream));
    LIB_OK(culv_vmm_unmap(range, 2 * VMM_BLOCK, VMM_BLOCK, &stream));
    for (unsigned i = 0; i < TEST_FAR_MS && culv_device_collect(s->w.device) > 2; i++)
        lib_sleep_ms(1);
    REQUIRE_EQ(culv_device_collect(s->w.device), 2);
    LIB_OK(culv_vmm_unmap(range, 3 * VMM_BLOCK, VMM_BLOCK, &stream));
    LIB_OK(culv_vmm_unmap(range, 4 * VMM_BLOCK, VMM_BLOCK, &stream));
    REQUIRE_EQ(culv_device_collect(s->w.device), 4);
    atomic_store(&gate_open, 1);
    lib_finish(&s->w, stream);
    REQUIRE_EQ(culv_device_collect(s->w.device), 0);
    REQUIRE_EQ(vmm_count_mappings(s), 0);
    lib_stream_destroy(&s->w, stream);
}

/* The default streams are streams too. */
VMM_CASE(default_streams)
{
    OWN(culv_vmm_range) *range = vmm_range(s, 3);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    const CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (uint64_t i = 0; i < 3; i++) {
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
        LIB_OK(culv_vmm_unmap(range, i * VMM_BLOCK, VMM_BLOCK, &streams[i]));
    }
    lib_settle(&s->w);
    REQUIRE_EQ(vmm_count_mappings(s), 0);
}

VMM_TWO_CASE(refused_streams)
{
    const raw_cuda *cu = s->w.cu;
    OWN(culv_vmm_range) *range = vmm_range(s, 1);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    lib_world other = s->w;
    other.device = s->other;
    other.context = culv_device_context(s->other);
    CUstream theirs = lib_stream(&other);
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &theirs), STREAM_DEVICE);
    lib_stream_destroy(&other, theirs);
    CUstream stream = lib_stream(&s->w);
    CUgraph graph = NULL;
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &stream), CAPTURE);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamEndCapture(stream, &graph));
    size_t nodes = 9;
    CU_OK(cu->GraphGetNodes(graph, NULL, &nodes));
    REQUIRE_EQ(nodes, 0);
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(&s->w, before);
    vmm_require_counts(s, 1, 1, 1);
    REQUIRE_EQ(lib_counts(&s->w).deferred, 0);
    vmm_write(s->w.device, cu, vmm_address(range, 0), WORDS, 1);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    lib_stream_destroy(&s->w, stream);
}

/* The legacy stream waits for every blocking stream, one that is being captured included. */
VMM_CASE(legacy_during_a_capture)
{
    const raw_cuda *cu = s->w.cu;
    CUstream blocking = NULL;
    CUgraph graph = NULL;
    OWN(culv_vmm_range) *range = vmm_range(s, 1);
    OWN(culv_vmm_allocation) *one = vmm_allocation(s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_CU_OK(&s->w, cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    LIB_CU_OK(&s->w, cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    LIB_INVALID(culv_vmm_unmap(range, 0, VMM_BLOCK, &(CUstream){NULL}), CAPTURE);
    REQUIRE_EQ(vmm_count_mappings(s), 1);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamEndCapture(blocking, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->StreamDestroy(blocking));
    lib_leave(&s->w, before);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &(CUstream){NULL}));
    lib_settle(&s->w);
}

/* After a kernel's fault all that is there can be given up. */
TEST(after_a_fault, .faults = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    culv_vmm_range *range = vmm_range(&s, 3);
    culv_vmm_allocation *one = vmm_allocation(&s, 1, 0), *two = vmm_allocation(&s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, NULL, 0));
    LIB_OK(culv_vmm_map(range, 2 * VMM_BLOCK, one, NULL, 0));
    CUstream stream = lib_stream(&s.w);
    LIB_OK(culv_vmm_unmap(range, 2 * VMM_BLOCK, VMM_BLOCK, &stream));
    CUdeviceptr nowhere = 0x1000;
    uint32_t value = 1;
    void *params[] = {&nowhere, &value};
    CUcontext before = lib_enter(&s.w);
    CUmodule module = raw_cuda_load(cu, "library_kernels");
    CU_OK(cu->LaunchKernel(raw_cuda_function(cu, module, "library_poke"), 1, 1, 1, 32, 1, 1, 0,
                           stream, params, NULL));
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < TEST_FAR_MS && (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY); i++) {
        r = cu->StreamQuery(stream);
        lib_sleep_ms(1);
    }
    REQUIRE_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    (void)cu->CtxSetCurrent(before);
    culv_vmm_allocation *more = NULL;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    culv_result result = culv_vmm_allocation_create(s.w.device, &d, &more);
    MEASURED("library.vmm_allocate_after_a_fault", "%s", culv_result_name(result));
    culv_vmm_allocation_destroy(&more);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, &stream)); /* nothing runs any more */
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, NULL));
    lib_settle(&s.w);
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&two);
    LIB_OK(culv_vmm_range_destroy(&range));
    vmm_require_counts(&s, 0, 0, 0);
    culv_device_close(&s.w.device);
    if (cu->SoftCounts != NULL) {
        culv_soft_counts c = {.struct_size = sizeof c};
        cu->SoftCounts(&c);
        REQUIRE(c.physical_allocations == 0 && c.reservations == 0 && c.virtual_mappings == 0);
    }
    test_pass(); /* the broken context's module and stream go with the process */
}

static void reset(const vmm_stage *s)
{
    CUresult(CUDAAPI * primary_reset)(CUdevice) = NULL;
    void (*found)(void) = culv_device_cuda_proc(s->w.device, "cuDevicePrimaryCtxReset", 11000);
    REQUIRE(found != NULL);
    memcpy(&primary_reset, &found, sizeof found);
    CU_OK(primary_reset(lib_caps(s->w.device).ordinal));
}

/* With the context gone every release is quiet, and counted. */
TEST(after_a_reset, .own = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    size_t before = 0, after = 0, total = 0;
    (void)lib_enter(&s.w);
    CU_OK(cu->MemGetInfo(&before, &total));
    culv_vmm_range *range = vmm_range(&s, 2);
    culv_vmm_allocation *one = vmm_allocation(&s, 1, 0);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, one, NULL, 0));
    reset(&s);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_unmap(range, VMM_BLOCK, VMM_BLOCK, &(CUstream){NULL}));
    culv_vmm_allocation_destroy(&one);
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_device_counts c = lib_counts(&s.w);
    REQUIRE(c.vmm_allocations == 0 && c.vmm_ranges == 0 && c.vmm_mappings == 0 && c.deferred == 0);
    /* Such memory is the process's: it was there still, and is given back. */
    REQUIRE_EQ(c.late_destroys, 0);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 1;
    LIB_REFUSES(one, culv_vmm_allocation_create(s.w.device, &d, &one), ASYNC, DEVICE_LOST);
    culv_device_close(&s.w.device);
    REQUIRE(raw_cuda_context(cu, 0) != NULL);
    CU_OK(cu->MemGetInfo(&after, &total));
    /* Of a GPU all processes' memory is told. */
    if (cu->software) REQUIRE(after + VMM_BLOCK > before);
    test_pass();
}
