/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments to calls about memory, copies, sets and pointers. */
#define TEST_GROUP "bad."
#include "bad_arguments.h"

#include <sys/mman.h>

#define EXBIBYTE ((size_t)1 << 60)
#define MEBIBYTE ((size_t)1 << 20)

static char pageable[4096];

/* Device memory ------------------------------------------------------------------------------- */

static void pitched(const bad *b)
{
    static const struct {
        const char *name;
        size_t width, height;
        unsigned element;
    } rows[] = {{"cuMemAllocPitch: elements of 3", 64, 64, 3},
                {"cuMemAllocPitch: elements of 1", 64, 64, 1},
                {"cuMemAllocPitch: width 0", 0, 64, 4},
                {"cuMemAllocPitch: height 0", 64, 0, 4}};
    CUdeviceptr pointer = 0;
    size_t pitch;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUresult result =
            b->MemAllocPitch(&pointer, &pitch, rows[i].width, rows[i].height, rows[i].element);
        bad_row(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemFree(pointer));
    }
    bad_row("cuMemAllocPitch: NULL pitch", b->MemAllocPitch(&pointer, NULL, 64, 64, 4));
}

BAD_CASE(device_memory, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, base, freed;
    size_t size;
    const raw_cuda *cu = b->cu;
    bad_row("cuMemAlloc: NULL", cu->MemAlloc(NULL, 4));
    bad_row("cuMemAlloc: 0 bytes", cu->MemAlloc(&pointer, 0));
    bad_row("cuMemAlloc: 1 EiB", cu->MemAlloc(&pointer, EXBIBYTE));
    pitched(b);
    bad_row("cuMemFree: 0", cu->MemFree(0));
    bad_row("cuMemFree: garbage", cu->MemFree(BAD_ADDRESS));
    bad_row("cuMemFree: in the middle", cu->MemFree(b->memory + 256));
    bad_row("cuMemFree: host memory", cu->MemFree((CUdeviceptr)(uintptr_t)b->pinned));
    CU_OK(cu->MemAlloc(&freed, MEBIBYTE));
    CU_OK(cu->MemFree(freed));
    bad_row("cuMemFree: twice", cu->MemFree(freed));
    bad_row("cuMemGetInfo: NULL", cu->MemGetInfo(NULL, NULL));
    bad_row("cuMemGetAddressRange: a pointer that nobody knows",
            b->MemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)pageable));
    bad_row("cuMemGetAddressRange: 0", b->MemGetAddressRange(&base, &size, 0));
    bad_row("cuMemGetAddressRange: freed memory", b->MemGetAddressRange(&base, &size, freed));
    bad_row("cuMemGetAddressRange: NULL", b->MemGetAddressRange(NULL, NULL, b->memory));
}

/* Host memory --------------------------------------------------------------------------------- */

static unsigned char *pages(int protection)
{
    void *made = mmap(NULL, BAD_PINNED, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(made != MAP_FAILED);
    return made;
}

static void registered(const bad *b)
{
    const raw_cuda *cu = b->cu;
    unsigned char *own = pages(PROT_READ | PROT_WRITE);
    unsigned flags = 77;
    CUdeviceptr base;
    size_t size;
    CU_OK(cu->MemHostRegister(own, BAD_PINNED / 2, 0));
    bad_row("cuMemHostRegister: twice", cu->MemHostRegister(own, BAD_PINNED / 2, 0));
    bad_row("cuMemHostRegister: overlapping",
            cu->MemHostRegister(own + BAD_PINNED / 4, BAD_PINNED / 2, 0));
    bad_row("cuMemHostUnregister: in the middle", cu->MemHostUnregister(own + 4096));
    bad_row("cuMemFreeHost: registered memory", cu->MemFreeHost(own));
    CUresult result = b->MemHostGetFlags(&flags, own);
    bad_row_with("cuMemHostGetFlags: registered memory", result, "%u", flags);
    bad_row("cuMemGetAddressRange: registered memory",
            b->MemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)own));
    CU_OK(cu->MemHostUnregister(own));
    REQUIRE_EQ(munmap(own, BAD_PINNED), 0);
    own = pages(PROT_READ);
    bad_row("cuMemHostRegister: read-only pages", cu->MemHostRegister(own, BAD_PINNED, 0));
    REQUIRE_EQ(munmap(own, BAD_PINNED), 0);
    bad_row("cuMemHostRegister: pages that are not there", cu->MemHostRegister(own, BAD_PINNED, 0));
}

BAD_CASE(host_memory, .mark = TEST_BOTH)
{
    void *memory = NULL;
    CUdeviceptr pointer;
    unsigned flags = 77;
    const raw_cuda *cu = b->cu;
    bad_row("cuMemAllocHost: NULL", b->MemAllocHost(NULL, 4));
    CUresult result = b->MemAllocHost(&memory, 0);
    bad_row("cuMemAllocHost: 0 bytes", result);
    if (memory != NULL) (void)cu->MemFreeHost(memory); /* what it was given is nobody's promise */
    bad_row("cuMemHostAlloc: flags 0x80", cu->MemHostAlloc(&memory, 64, 0x80));
    bad_row("cuMemFreeHost: NULL", cu->MemFreeHost(NULL));
    bad_row("cuMemFreeHost: the stack", cu->MemFreeHost(&memory));
    bad_row("cuMemFreeHost: device memory", cu->MemFreeHost((void *)(uintptr_t)b->memory));
    bad_row("cuMemHostRegister: NULL", cu->MemHostRegister(NULL, 64, 0));
    bad_row("cuMemHostRegister: 0 bytes", cu->MemHostRegister(pageable, 0, 0));
    bad_row("cuMemHostRegister: flags 0x80", cu->MemHostRegister(pageable, 64, 0x80));
    bad_row("cuMemHostRegister: memory of cuMemAllocHost", cu->MemHostRegister(b->pinned, 4096, 0));
    bad_row("cuMemHostUnregister: NULL", cu->MemHostUnregister(NULL));
    bad_row("cuMemHostUnregister: not registered", cu->MemHostUnregister(pageable));
    bad_row("cuMemHostUnregister: memory of cuMemAllocHost", cu->MemHostUnregister(b->pinned));
    registered(b);
    bad_row("cuMemHostGetDevicePointer: not pinned",
            cu->MemHostGetDevicePointer(&pointer, pageable, 0));
    bad_row("cuMemHostGetDevicePointer: flags 1",
            cu->MemHostGetDevicePointer(&pointer, b->pinned, 1));
    bad_row("cuMemHostGetDevicePointer: NULL", cu->MemHostGetDevicePointer(NULL, b->pinned, 0));
    bad_row("cuMemHostGetFlags: not pinned", b->MemHostGetFlags(&flags, pageable));
    bad_row("cuMemHostGetFlags: NULL", b->MemHostGetFlags(NULL, b->pinned));
    result = b->MemHostGetFlags(&flags, b->pinned);
    bad_row_with("cuMemHostGetFlags: memory of cuMemAllocHost", result, "%u", flags);
}

/* Copies and sets ----------------------------------------------------------------------------- */

static void linear_copies(const bad *b)
{
    const raw_cuda *cu = b->cu;
    const CUdeviceptr host = (CUdeviceptr)(uintptr_t)pageable;
    char *more = calloc(4, MEBIBYTE);
    REQUIRE(more != NULL);
    bad_row("cuMemcpyHtoD: NULL source", cu->MemcpyHtoD(b->memory, NULL, 64));
    bad_row("cuMemcpyHtoD: to 0", cu->MemcpyHtoD(0, pageable, 64));
    bad_row("cuMemcpyHtoD: past the end", cu->MemcpyHtoD(b->memory, more, 4 * MEBIBYTE));
    bad_row("cuMemcpyHtoD: 0 bytes between bad pointers", cu->MemcpyHtoD(0x1234, NULL, 0));
    bad_row("cuMemcpyHtoD: to pageable memory", cu->MemcpyHtoD(host, pageable + 64, 64));
    bad_row("cuMemcpyHtoD: to pinned memory",
            cu->MemcpyHtoD((CUdeviceptr)(uintptr_t)b->pinned, pageable, 64));
    bad_row("cuMemcpyDtoH: from pageable memory", cu->MemcpyDtoH(pageable, host + 64, 64));
    bad_row("cuMemcpyDtoH: to device memory",
            cu->MemcpyDtoH((void *)(uintptr_t)b->memory, b->memory + 4096, 64));
    bad_row("cuMemcpyDtoD: from garbage", b->MemcpyDtoD(b->memory, BAD_ADDRESS, 64));
    bad_row("cuMemcpyDtoD: overlapping", b->MemcpyDtoD(b->memory, b->memory + 16, 64));
    bad_row("cuMemcpy: between pageable memory", b->Memcpy(host, host + 64, 64));
    CU_OK(cu->CtxSynchronize());
    free(more);
}

/* What is bad about a copy of 4 rows of 64 bytes, from the host to the device. */
enum flaw {
    NARROW_PITCH,
    HUGE_PITCH,
    NO_TYPE,
    NO_ARRAY,
    BELOW_ARRAY,
    NO_ROWS,
    IN_A_TEXEL,
    NO_PITCH
};

static void copies_2d(const bad *b, CUarray array)
{
    static const struct {
        const char *name;
        enum flaw flaw;
    } rows[] = {{"cuMemcpy2D: a pitch less than the width", NARROW_PITCH},
                {"cuMemcpy2D: a pitch beyond MAX_PITCH", HUGE_PITCH},
                {"cuMemcpy2D: memory type 9", NO_TYPE},
                {"cuMemcpy2D: a NULL array", NO_ARRAY},
                {"cuMemcpy2D: past the array's height", BELOW_ARRAY},
                {"cuMemcpy2D: height 0", NO_ROWS},
                {"cuMemcpy2D: to within a texel of an array", IN_A_TEXEL},
                {"cuMemcpy2D: pitch 0, 4 rows", NO_PITCH}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = pageable,
                              .srcPitch = 64,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = b->memory,
                              .dstPitch = 64,
                              .WidthInBytes = 64,
                              .Height = 4};
        switch (rows[i].flaw) {
        case NARROW_PITCH: copy.srcPitch = 32; break;
        case HUGE_PITCH: copy.dstPitch = (size_t)1 << 33; break;
        case NO_TYPE: copy.srcMemoryType = (CUmemorytype)9; break;
        case NO_ARRAY: copy.dstMemoryType = CU_MEMORYTYPE_ARRAY; break;
        case BELOW_ARRAY:
            copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
            copy.dstArray = array;
            copy.dstY = 62;
            break;
        case NO_ROWS: copy.Height = 0; break;
        case IN_A_TEXEL:
            copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
            copy.dstArray = array;
            copy.dstXInBytes = 2;
            copy.WidthInBytes = 62;
            break;
        case NO_PITCH: copy.srcPitch = 0; break;
        }
        bad_row(rows[i].name, b->cu->Memcpy2D(&copy));
    }
    bad_row("cuMemcpy2D: NULL", b->cu->Memcpy2D(NULL));
}

static void copies_3d(const bad *b)
{
    const CUDA_MEMCPY3D good = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = pageable,
                                .srcPitch = 64,
                                .srcHeight = 4,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = b->memory,
                                .dstPitch = 64,
                                .dstHeight = 4,
                                .WidthInBytes = 64,
                                .Height = 4,
                                .Depth = 1};
    bad_row("cuMemcpy3D: NULL", b->cu->Memcpy3D(NULL));
    CUDA_MEMCPY3D copy = good;
    copy.srcLOD = 1;
    bad_row("cuMemcpy3D: srcLOD 1", b->cu->Memcpy3D(&copy));
    copy = good;
    copy.Depth = 0;
    bad_row("cuMemcpy3D: depth 0", b->cu->Memcpy3D(&copy));
    copy = good;
    copy.Depth = 2;
    copy.srcHeight = 2;
    bad_row("cuMemcpy3D: a height less than the rows", b->cu->Memcpy3D(&copy));
}

BAD_CASE(copies, .mark = TEST_BOTH)
{
    CUarray array;
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4};
    CU_OK(b->cu->Array3DCreate(&array, &desc));
    linear_copies(b);
    copies_2d(b, array);
    copies_3d(b);
    bad_row("cuMemsetD16: an odd address", b->MemsetD16(b->memory + 1, 0, 4));
    bad_row("cuMemsetD32: an address that is no multiple of 4", b->MemsetD32(b->memory + 2, 0, 4));
    bad_row("cuMemsetD32: 0 elements", b->MemsetD32(b->memory, 0, 0));
    bad_row("cuMemsetD8: past the end", b->MemsetD8(b->memory, 0, 4 * MEBIBYTE));
    bad_row("cuMemsetD8: address 0", b->MemsetD8(0, 0, 4));
    bad_row("cuMemsetD8: pinned memory", b->MemsetD8((CUdeviceptr)(uintptr_t)b->pinned, 0, 4));
    CU_OK(b->cu->ArrayDestroy(array));
}

/* Pointers ------------------------------------------------------------------------------------ */

BAD_CASE(pointers, .mark = TEST_BOTH)
{
    union {
        unsigned word;
        unsigned long long number;
        void *pointer;
        unsigned long long tokens[2]; /* more than the two of P2P_TOKENS need */
    } value = {.number = 0};
    int fd = BAD_NO_FD;
    const raw_cuda *cu = b->cu;
    const CUdeviceptr host = (CUdeviceptr)(uintptr_t)pageable;
    CUpointer_attribute type = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    bad_row("cuPointerGetAttribute: NULL", cu->PointerGetAttribute(NULL, type, b->memory));
    bad_row("cuPointerGetAttribute: attribute 999",
            cu->PointerGetAttribute(&value, (CUpointer_attribute)999, b->memory));
    bad_row("cuPointerGetAttribute: pageable memory", cu->PointerGetAttribute(&value, type, host));
    bad_row("cuPointerGetAttribute: HOST_POINTER of device memory",
            cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_HOST_POINTER, b->memory));
    bad_row("cuPointerGetAttribute: P2P_TOKENS",
            cu->PointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_P2P_TOKENS, b->memory));
    bad_row("cuPointerGetAttributes: none", b->PointerGetAttributes(0, NULL, NULL, b->memory));
    value.word = 9;
    void *out = &value.word;
    CUresult result = b->PointerGetAttributes(1, &type, &out, host);
    bad_row_with("cuPointerGetAttributes: pageable memory", result, "%u", value.word);
    value.word = 1;
    bad_row("cuPointerSetAttribute: MEMORY_TYPE", cu->PointerSetAttribute(&value, type, b->memory));
    bad_row("cuPointerSetAttribute: NULL",
            cu->PointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b->memory));
    const CUmemRangeHandleType dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    bad_row("cuMemGetHandleForAddressRange: NULL",
            cu->MemGetHandleForAddressRange(NULL, b->memory, 4096, dma_buf, 0));
    bad_row("cuMemGetHandleForAddressRange: type 9",
            cu->MemGetHandleForAddressRange(&fd, b->memory, 4096, (CUmemRangeHandleType)9, 0));
    bad_row("cuMemGetHandleForAddressRange: 100 bytes",
            cu->MemGetHandleForAddressRange(&fd, b->memory, 100, dma_buf, 0));
}
