/* SPDX-License-Identifier: MIT */
/* Dma-bufs of ranges: which pages they are, which flags were granted. On the twin the card is
 * played by the memory that the dma-buf stands for. */
#define TEST_GROUP "dma_buf."
#include "rdma_stage.h"

#include <fcntl.h>
#include <unistd.h>

static culv_rdma_dma_buf export(const rdma_stage *s, CUdeviceptr p, uint64_t size, uint64_t flags)
{
    culv_rdma_dma_buf b = culv_rdma_dma_buf_init();
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    LIB_OK(culv_rdma_dma_buf_export_dup(s->w.device, p, size, flags, &b));
    REQUIRE_EQ(fcntl(b.handle.value.fd, F_GETFD), FD_CLOEXEC);
    REQUIRE(b.handle.type == CULV_HANDLE_DMA_BUF_FD);
    REQUIRE(b.start % page == 0 && b.size % page == 0 && b.start + b.offset == p);
    REQUIRE(b.offset < page && b.offset + size <= b.size && b.size - size < 2 * page);
    if (s->w.cu->software) {
        culv_soft_dma_buf range;
        REQUIRE_EQ(s->w.cu->SoftDmaBufRange(b.handle.value.fd, &range), 0);
        REQUIRE(range.address == b.start && range.size == b.size);
        REQUIRE_EQ(range.flags, b.pcie ? 1 : 0);
    }
    return b;
}

/* What a card would write through the dma-buf; the twin alone has none. */
static void card_writes(const rdma_stage *s, const culv_rdma_dma_buf *b, const void *bytes,
                        size_t size)
{
    culv_soft_dma_buf range;
    REQUIRE_EQ(s->w.cu->SoftDmaBufRange(b->handle.value.fd, &range), 0);
    memcpy((char *)(uintptr_t)range.address + b->offset, bytes, size);
}

RDMA_CASE(ranges)
{
    if (!s->dma_bufs) SKIP("the device makes no dma-bufs");
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const size_t size = 1 << 20;
    CUdeviceptr p = rdma_alloc(s, size);
    const struct {
        uint64_t offset, size;
    } rows[] = {{0, size}, {0, 1}, {page - 1, 2}, {page, page}, {12345, 99999}, {size - 1, 1}};
    size_t fds = test_open_fds();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_rdma_dma_buf b = export(s, p + rows[i].offset, rows[i].size, 0);
        if (s->w.cu->software) {
            uint8_t there = 0, sent = (uint8_t)(i + 17);
            card_writes(s, &b, &sent, 1);
            CU_OK(s->w.cu->MemcpyDtoH(&there, p + rows[i].offset, 1));
            REQUIRE_EQ(there, sent);
        }
        culv_handle_close(&b.handle);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    rdma_free(s, &p);
    /* An odd size: its last page is partly its own. */
    p = rdma_alloc(s, 100001);
    culv_rdma_dma_buf b = export(s, p, 100001, 0);
    culv_handle_close(&b.handle);
    rdma_free(s, &p);
}

RDMA_CASE(mappings)
{
    if (!s->dma_bufs) SKIP("the device makes no dma-bufs");
    rdma_vmm vmm;
    rdma_vmm_make(s, &vmm, 2, CULV_VMM_USAGE_RDMA);
    culv_rdma_dma_buf b = export(s, vmm.pointer + RDMA_BLOCK - 100, 200, 0); /* spans both */
    culv_handle_close(&b.handle);
    b = export(s, vmm.pointer, 2 * RDMA_BLOCK, 0);
    culv_handle_close(&b.handle);
    culv_rdma_dma_buf none = culv_rdma_dma_buf_init();
    /* Where nothing is mapped any more the driver says so. */
    culv_result r =
        culv_rdma_dma_buf_export_dup(s->w.device, vmm.pointer, 3 * RDMA_BLOCK, 0, &none);
    printf("%s\n", culv_last_error_message());
    REQUIRE(r == CULV_ERROR_DRIVER);
    LIB_INVALID(culv_rdma_dma_buf_export_dup(s->w.device, vmm.pointer, 5 * RDMA_BLOCK, 0, &none),
                RANGE);
    rdma_vmm_unmake(&vmm);
}

RDMA_CASE(pcie)
{
    static const CUresult answers[] = {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE,
                                       CUDA_ERROR_NOT_SUPPORTED};
    if (!s->dma_bufs) SKIP("the device makes no dma-bufs");
    CUdeviceptr p = rdma_alloc(s, 65536);
    for (int i = 0; i < (s->w.cu->software ? 3 : 1); i++) {
        if (s->w.cu->software) s->w.cu->SoftPlayDmaBufPcie((int)answers[i]);
        culv_rdma_dma_buf b = export(s, p, 65536, CULV_DMA_BUF_PCIE);
        MEASURED("rdma.pcie", "%s", b.pcie ? "granted" : "made without");
        if (s->w.cu->software) REQUIRE_EQ(b.pcie, answers[i] == CUDA_SUCCESS);
        culv_handle_close(&b.handle);
    }
    culv_rdma_dma_buf none = culv_rdma_dma_buf_init();
    if (s->w.cu->software) { /* what is not of the flag is not tried again */
        s->w.cu->SoftPlayDmaBufPcie(CUDA_ERROR_OUT_OF_MEMORY);
        LIB_ERROR(culv_rdma_dma_buf_export_dup(s->w.device, p, 4096, CULV_DMA_BUF_PCIE, &none),
                  OUT_OF_MEMORY, DEVICE_MEMORY);
    }
    LIB_INVALID(culv_rdma_dma_buf_export_dup(s->w.device, p, 4096, 2, &none), VALUE);
    void *pinned = NULL;
    CU_OK(s->w.cu->MemHostAlloc(&pinned, 4096, 0));
    LIB_INVALID(
        culv_rdma_dma_buf_export_dup(s->w.device, (CUdeviceptr)(uintptr_t)pinned, 4096, 0, &none),
        HOST_POINTER);
    CU_OK(s->w.cu->MemFreeHost(pinned));
    rdma_free(s, &p);
}
