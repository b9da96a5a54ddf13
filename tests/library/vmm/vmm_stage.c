/* SPDX-License-Identifier: MIT */
/* The stage of virtual memory management. */
#include "vmm_stage.h"

#include <stdatomic.h>

static void open_stage(vmm_stage *s, int32_t ordinal)
{
    memset(s, 0, sizeof *s);
    s->w.cu = lib_driver();
    if (ordinal >= s->w.cu->device_count) SKIP("one CUDA device only");
    /* NVIDIA's driver opens files of its own with the first context and keeps them, and with the
     * first export. */
    s->w.device = lib_another_device(ordinal, NULL);
    culv_device_caps caps = lib_caps(s->w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    s->w.context = culv_device_context(s->w.device);
    s->fds = test_open_fds();
}

void vmm_stage_open(vmm_stage *s)
{
    open_stage(s, 0);
}

void vmm_stage_open_second(vmm_stage *s)
{
    raw_cuda_two_devices();
    open_stage(s, 1);
}

void vmm_stage_open_two(vmm_stage *s)
{
    raw_cuda_two_devices();
    vmm_stage_open(s);
    if (s->w.cu->device_count < 2) {
        culv_device_close(&s->w.device);
        SKIP("one CUDA device only");
    }
    s->other = lib_another_device(1, NULL);
    s->fds = test_open_fds();
}

void vmm_require_counts(const vmm_stage *s, uint64_t allocations, uint64_t ranges,
                        uint64_t mappings)
{
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.vmm_allocations, allocations);
    REQUIRE_EQ(c.vmm_ranges, ranges);
    REQUIRE_EQ(c.vmm_mappings, mappings);
    if (s->w.cu->SoftCounts == NULL || s->other != NULL) return;
    const culv_soft_counts driver = lib_soft_counts(s->w.cu);
    REQUIRE_EQ(driver.reservations, ranges);
    REQUIRE_EQ(driver.virtual_mappings, mappings);
}

void vmm_stage_close(vmm_stage *s)
{
    test_settle();
    if (s->w.device != NULL) {
        lib_settle(&s->w);
        vmm_require_counts(s, 0, 0, 0);
        lib_require_no_objects(&s->w);
        if (s->w.cu->software) test_settle_fds(s->fds, "the case");
    }
    culv_device_close(&s->other);
    culv_device_close(&s->w.device);
    raw_cuda_require_empty(s->w.cu);
}

culv_vmm_allocation *vmm_allocation_on(culv_device *device, uint64_t blocks, uint32_t handle_types,
                                       const char *label)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = blocks * VMM_BLOCK;
    d.handle_types = handle_types;
    d.label = label;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, device, &d);
    return allocation;
}

culv_vmm_allocation *vmm_allocation(const vmm_stage *s, uint64_t blocks, uint32_t handle_types)
{
    return vmm_allocation_on(s->w.device, blocks, handle_types, "cells");
}

culv_vmm_range *vmm_range(const vmm_stage *s, uint64_t blocks)
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = blocks * VMM_BLOCK;
    d.label = "room";
    NEW(culv_vmm_range, range, culv_vmm_range_create, s->w.device, &d);
    return range;
}

culv_vmm_range *vmm_mapped(const vmm_stage *s, culv_vmm_allocation *memory)
{
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(memory, &info));
    culv_vmm_range *range = vmm_range(s, info.size / VMM_BLOCK);
    LIB_OK(culv_vmm_map(range, 0, memory, NULL, 0));
    return range;
}

void vmm_unmapped(culv_vmm_range **range, culv_vmm_allocation **memory)
{
    LIB_OK(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL));
    LIB_OK(culv_vmm_range_destroy(range));
    culv_vmm_allocation_destroy(memory);
}

uint64_t vmm_count_mappings(const vmm_stage *s)
{
    return lib_counts(&s->w).vmm_mappings; /* which collects */
}

culv_vmm_access_flags vmm_access_of(const raw_cuda *cu, culv_vmm_range *range, uint64_t offset,
                                    const culv_device *device)
{
    unsigned long long flags = 99;
    const CUmemLocation place = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                 .id = lib_caps(device).ordinal};
    CU_OK(cu->MemGetAccess(&flags, &place, culv_vmm_range_pointer(range) + offset));
    return (culv_vmm_access_flags)flags;
}

CUdeviceptr vmm_address(const culv_vmm_range *range, uint64_t block)
{
    return culv_vmm_range_pointer(range) + block * VMM_BLOCK;
}

static CUcontext enter(const culv_device *device, const raw_cuda *cu)
{
    CUcontext before = NULL;
    CU_OK(cu->CtxGetCurrent(&before));
    CU_OK(cu->CtxSetCurrent(culv_device_context(device)));
    return before;
}

void vmm_write(const culv_device *device, const raw_cuda *cu, CUdeviceptr at, size_t words,
               uint32_t seed)
{
    uint32_t *data = malloc(words * sizeof *data);
    REQUIRE(data != NULL);
    lib_fill(data, words, seed);
    CUcontext before = enter(device, cu);
    CU_OK(raw_cuda_upload(cu, at, data, words * sizeof *data));
    CU_OK(cu->CtxSetCurrent(before));
    free(data);
}

void vmm_require_words(const culv_device *device, const raw_cuda *cu, CUdeviceptr at, size_t words,
                       uint32_t seed)
{
    uint32_t *data = calloc(words, sizeof *data);
    REQUIRE(data != NULL);
    CUcontext before = enter(device, cu);
    CU_OK(cu->MemcpyDtoH(data, at, words * sizeof *data));
    CU_OK(cu->CtxSetCurrent(before));
    REQUIRE_WORDS(data, words, seed);
    free(data);
}

CUresult vmm_try_read(const vmm_stage *s, CUdeviceptr at)
{
    uint32_t word = 0;
    CUcontext before = lib_enter(&s->w);
    CUresult r = s->w.cu->MemcpyDtoH(&word, at, sizeof word);
    lib_leave(&s->w, before);
    return r;
}

static void CUDA_CB wait_for_gate(void *user)
{
    vmm_gate *gate = user;
    while (!atomic_load(&gate->open))
        lib_sleep_ms(1);
}

void vmm_gate_begin(const vmm_stage *s, vmm_gate *gate)
{
    atomic_init(&gate->open, 0);
    gate->stream = lib_stream(&s->w);
    LIB_CU_OK(&s->w, s->w.cu->LaunchHostFunc(gate->stream, wait_for_gate, gate));
}

void vmm_gate_open(const vmm_stage *s, vmm_gate *gate)
{
    atomic_store(&gate->open, 1);
    lib_finish(&s->w, gate->stream);
}

void vmm_gate_end(const vmm_stage *s, vmm_gate *gate)
{
    vmm_gate_open(s, gate);
    lib_stream_destroy(&s->w, gate->stream);
}
