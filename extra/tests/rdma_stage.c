/* SPDX-License-Identifier: MIT */
/* What the suites of RDMA share. */
#include "rdma_stage.h"

void rdma_stage_open(rdma_stage *s)
{
    memset(s, 0, sizeof *s);
    const raw_cuda *cu = lib_driver();
    if (cu->software) {
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1);
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1);
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 1);
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 1);
        cu->SoftRdmaCounts(&s->counts);
    }
    lib_open(&s->w);
    s->dma_bufs = lib_caps(s->w.device).dma_buf_export != 0;
    s->before = lib_enter(&s->w);
}

void rdma_stage_close(rdma_stage *s)
{
    test_settle(); /* in the context */
    lib_leave(&s->w, s->before);
    lib_close(&s->w);
    if (lib_driver()->software) {
        lib_driver()->SoftPlayAttribute(0, 0);
        lib_driver()->SoftPlayDmaBufPcie(CUDA_ERROR_NOT_SUPPORTED);
    }
}

culv_soft_rdma_counts rdma_counted(const rdma_stage *s)
{
    culv_soft_rdma_counts now = {0};
    if (!s->w.cu->software) return now;
    s->w.cu->SoftRdmaCounts(&now);
    now.sync_memops -= s->counts.sync_memops;
    now.context_sync_memops -= s->counts.context_sync_memops;
    now.tokens -= s->counts.tokens;
    now.dma_bufs -= s->counts.dma_bufs;
    now.flushes -= s->counts.flushes;
    return now;
}

CUdeviceptr rdma_alloc(const rdma_stage *s, size_t size)
{
    return raw_cuda_memory(s->w.cu, size);
}

CUdeviceptr rdma_chunks(const rdma_stage *s, size_t chunks)
{
    const uint64_t chunk = CULV_RDMA_CHUNK;
    return (rdma_alloc(s, (chunks + 1) * chunk) + chunk - 1) / chunk * chunk;
}

void rdma_free(const rdma_stage *s, CUdeviceptr *pointer)
{
    test_forget(pointer, sizeof *pointer);
    CU_OK(s->w.cu->MemFree(*pointer));
    *pointer = 0;
}

void rdma_import_make(rdma_stage *s, rdma_import *out, uint64_t size)
{
    memset(out, 0, sizeof *out);
    raw_vk_buffer_create(&s->w.vk, size, RAW_VK_EXPORT, &out->vk);
    out->memory = lib_import(&s->w, &out->vk);
    LIB_OK(culv_buffer_map(out->memory, NULL, &out->buffer));
    out->pointer = culv_buffer_pointer(out->buffer);
}

void rdma_import_unmake(rdma_stage *s, rdma_import *import)
{
    culv_buffer_unmap(&import->buffer, NULL);
    culv_memory_destroy(&import->memory);
    raw_vk_buffer_destroy(&s->w.vk, &import->vk);
}

void rdma_vmm_make(const rdma_stage *s, rdma_vmm *out, unsigned blocks, uint32_t usage)
{
    memset(out, 0, sizeof *out);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 4 * RDMA_BLOCK;
    LIB_OK(culv_vmm_range_create(s->w.device, &rd, &out->range));
    out->pointer = culv_vmm_range_pointer(out->range);
    out->count = blocks;
    for (unsigned i = 0; i < blocks; i++) {
        culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
        d.size = RDMA_BLOCK;
        d.usage = usage;
        LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &out->allocation[i]));
        LIB_OK(culv_vmm_map(out->range, i * RDMA_BLOCK, out->allocation[i], NULL, 0));
    }
}

void rdma_vmm_unmake(rdma_vmm *vmm)
{
    LIB_OK(culv_vmm_unmap(vmm->range, 0, vmm->count * RDMA_BLOCK, NULL));
    for (unsigned i = 0; i < vmm->count; i++)
        culv_vmm_allocation_destroy(&vmm->allocation[i]);
    LIB_OK(culv_vmm_range_destroy(&vmm->range));
}
