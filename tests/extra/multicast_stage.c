/* SPDX-License-Identifier: MIT */
/* See multicast_stage.h. */
#include "multicast_stage.h"

culv_multicast_desc multicast_describe(uint64_t size)
{
    culv_multicast_desc d = culv_multicast_desc_init();
    d.num_devices = 2;
    d.opt_in = 1;
    d.size = size;
    d.label = "team";
    return d;
}

void multicast_stage_open(multicast_stage *m)
{
    memset(m, 0, sizeof *m);
    raw_cuda_two_devices();
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayAttribute == NULL)
        SKIP(
            "a multicast object sets up NVSwitches, which may disturb others on a shared machine: none is made on NVIDIA's driver");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
    sparse_stage_open(&m->s);
    m->devices[0] = m->s.w.device;
    m->devices[1] = sparse_stage_second(&m->s);
    REQUIRE(m->devices[1] != NULL);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 2 * MULTICAST_CHUNK;
    LIB_OK(culv_vmm_range_create(m->devices[0], &rd, &m->range));
    for (uint64_t i = 0; i < 2; i++) {
        const culv_vmm_access both[2] = {
            {.device = m->devices[0], .flags = CULV_VMM_ACCESS_READ_WRITE},
            {.device = m->devices[1], .flags = CULV_VMM_ACCESS_READ_WRITE}};
        culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
        d.size = MULTICAST_CHUNK;
        LIB_OK(culv_vmm_allocation_create(m->devices[i], &d, &m->memory[i]));
        LIB_OK(culv_vmm_map(m->range, i * MULTICAST_CHUNK, m->memory[i], both, 2));
        m->mapped[i] = culv_vmm_range_pointer(m->range) + i * MULTICAST_CHUNK;
        d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
        LIB_OK(culv_vmm_allocation_create(m->devices[i], &d, &m->shared[i]));
    }
}

void multicast_stage_close(multicast_stage *m)
{
    LIB_OK(culv_vmm_unmap(m->range, 0, 2 * MULTICAST_CHUNK, NULL));
    LIB_OK(culv_vmm_range_destroy(&m->range));
    for (int i = 0; i < 2; i++) {
        culv_vmm_allocation_destroy(&m->memory[i]);
        culv_vmm_allocation_destroy(&m->shared[i]);
    }
    culv_device_close(&m->devices[1]);
    sparse_stage_close(&m->s);
}

void multicast_write(const multicast_stage *m, CUdeviceptr at, uint32_t value)
{
    LIB_CU_OK(&m->s.w, m->s.w.cu->MemsetD32Async(at, value, MULTICAST_CHUNK / 4, m->s.stream));
    lib_finish(&m->s.w, m->s.stream);
}

uint32_t multicast_read(const multicast_stage *m, CUdeviceptr at)
{
    uint32_t word = 0;
    LIB_CU_OK(&m->s.w, m->s.w.cu->MemcpyDtoH(&word, at + MULTICAST_CHUNK - 4, 4));
    return word;
}
