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
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MemFree(pointer));
    }
    CALL_ROW(b, MemAllocPitch, "NULL pitch", &pointer, NULL, 64, 64, 4);
}

BAD_CASE(device_memory, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0, base, freed;
    size_t size;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, MemAlloc, "NULL", NULL, 4);
    CALL_ROW(cu, MemAlloc, "0 bytes", &pointer, 0);
    CALL_ROW(cu, MemAlloc, "1 EiB", &pointer, EXBIBYTE);
    pitched(b);
    CALL_ROW(cu, MemFree, "0", 0);
    CALL_ROW(cu, MemFree, "garbage", BAD_ADDRESS);
    CALL_ROW(cu, MemFree, "in the middle", b->memory + 256);
    CALL_ROW(cu, MemFree, "host memory", (CUdeviceptr)(uintptr_t)b->pinned);
    CU_OK(cu->MemAlloc(&freed, MEBIBYTE));
    CU_OK(cu->MemFree(freed));
    CALL_ROW(cu, MemFree, "twice", freed);
    CALL_ROW(cu, MemGetInfo, "NULL", NULL, NULL);
    CALL_ROW(b, MemGetAddressRange, "a pointer that nobody knows", &base, &size,
             (CUdeviceptr)(uintptr_t)pageable);
    CALL_ROW(b, MemGetAddressRange, "0", &base, &size, 0);
    CALL_ROW(b, MemGetAddressRange, "freed memory", &base, &size, freed);
    CALL_ROW(b, MemGetAddressRange, "NULL", NULL, NULL, b->memory);
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
    CALL_ROW(cu, MemHostRegister, "twice", own, BAD_PINNED / 2, 0);
    CALL_ROW(cu, MemHostRegister, "overlapping", own + BAD_PINNED / 4, BAD_PINNED / 2, 0);
    CALL_ROW(cu, MemHostUnregister, "in the middle", own + 4096);
    CALL_ROW(cu, MemFreeHost, "registered memory", own);
    CUresult result = b->MemHostGetFlags(&flags, own);
    bad_row_with("cuMemHostGetFlags: registered memory", result, "%u", flags);
    CALL_ROW(b, MemGetAddressRange, "registered memory", &base, &size, (CUdeviceptr)(uintptr_t)own);
    CU_OK(cu->MemHostUnregister(own));
    REQUIRE_EQ(munmap(own, BAD_PINNED), 0);
    own = pages(PROT_READ);
    CALL_ROW(cu, MemHostRegister, "read-only pages", own, BAD_PINNED, 0);
    REQUIRE_EQ(munmap(own, BAD_PINNED), 0);
    CALL_ROW(cu, MemHostRegister, "pages that are not there", own, BAD_PINNED, 0);
}

BAD_CASE(host_memory, .mark = TEST_BOTH)
{
    void *memory = NULL;
    CUdeviceptr pointer;
    unsigned flags = 77;
    const raw_cuda *cu = b->cu;
    CALL_ROW(b, MemAllocHost, "NULL", NULL, 4);
    CALL_ROW(b, MemAllocHost, "0 bytes", &memory, 0);
    if (memory != NULL) (void)cu->MemFreeHost(memory); /* what it was given is nobody's promise */
    CALL_ROW(cu, MemHostAlloc, "flags 0x80", &memory, 64, 0x80);
    CALL_ROW(cu, MemFreeHost, "NULL", NULL);
    CALL_ROW(cu, MemFreeHost, "the stack", &memory);
    CALL_ROW(cu, MemFreeHost, "device memory", (void *)(uintptr_t)b->memory);
    CALL_ROW(cu, MemHostRegister, "NULL", NULL, 64, 0);
    CALL_ROW(cu, MemHostRegister, "0 bytes", pageable, 0, 0);
    CALL_ROW(cu, MemHostRegister, "flags 0x80", pageable, 64, 0x80);
    CALL_ROW(cu, MemHostRegister, "memory of cuMemAllocHost", b->pinned, 4096, 0);
    CALL_ROW(cu, MemHostUnregister, "NULL", NULL);
    CALL_ROW(cu, MemHostUnregister, "not registered", pageable);
    CALL_ROW(cu, MemHostUnregister, "memory of cuMemAllocHost", b->pinned);
    registered(b);
    CALL_ROW(cu, MemHostGetDevicePointer, "not pinned", &pointer, pageable, 0);
    CALL_ROW(cu, MemHostGetDevicePointer, "flags 1", &pointer, b->pinned, 1);
    CALL_ROW(cu, MemHostGetDevicePointer, "NULL", NULL, b->pinned, 0);
    CALL_ROW(b, MemHostGetFlags, "not pinned", &flags, pageable);
    CALL_ROW(b, MemHostGetFlags, "NULL", NULL, b->pinned);
    CUresult result = b->MemHostGetFlags(&flags, b->pinned);
    bad_row_with("cuMemHostGetFlags: memory of cuMemAllocHost", result, "%u", flags);
}

/* Copies and sets ----------------------------------------------------------------------------- */

static void linear_copies(const bad *b)
{
    const raw_cuda *cu = b->cu;
    const CUdeviceptr host = (CUdeviceptr)(uintptr_t)pageable;
    char *more = test_memory(4 * MEBIBYTE);
    CALL_ROW(cu, MemcpyHtoD, "NULL source", b->memory, NULL, 64);
    CALL_ROW(cu, MemcpyHtoD, "to 0", 0, pageable, 64);
    CALL_ROW(cu, MemcpyHtoD, "past the end", b->memory, more, 4 * MEBIBYTE);
    CALL_ROW(cu, MemcpyHtoD, "0 bytes between bad pointers", 0x1234, NULL, 0);
    CALL_ROW(cu, MemcpyHtoD, "to pageable memory", host, pageable + 64, 64);
    CALL_ROW(cu, MemcpyHtoD, "to pinned memory", (CUdeviceptr)(uintptr_t)b->pinned, pageable, 64);
    CALL_ROW(cu, MemcpyDtoH, "from pageable memory", pageable, host + 64, 64);
    CALL_ROW(cu, MemcpyDtoH, "to device memory", (void *)(uintptr_t)b->memory, b->memory + 4096,
             64);
    CALL_ROW(b, MemcpyDtoD, "from garbage", b->memory, BAD_ADDRESS, 64);
    CALL_ROW(b, MemcpyDtoD, "overlapping", b->memory, b->memory + 16, 64);
    CALL_ROW(b, Memcpy, "between pageable memory", host, host + 64, 64);
    CU_OK(cu->CtxSynchronize());
}

/* 4 rows of 64 bytes, from the host to the device, with one thing changed. */
static void copies_2d(const bad *b, CUarray array)
{
    const CUDA_MEMCPY2D good = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = pageable,
                                .srcPitch = 64,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = b->memory,
                                .dstPitch = 64,
                                .WidthInBytes = 64,
                                .Height = 4};
    CUDA_MEMCPY2D copy = good, to_array = good;
    copy.srcPitch = 32;
    CALL_ROW(b->cu, Memcpy2D, "a pitch less than the width", &copy);
    copy = good;
    copy.dstPitch = (size_t)1 << 33;
    CALL_ROW(b->cu, Memcpy2D, "a pitch beyond MAX_PITCH", &copy);
    copy = good;
    copy.srcMemoryType = (CUmemorytype)9;
    CALL_ROW(b->cu, Memcpy2D, "memory type 9", &copy);
    to_array.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    CALL_ROW(b->cu, Memcpy2D, "a NULL array", &to_array);
    to_array.dstArray = array;
    to_array.dstY = 62;
    CALL_ROW(b->cu, Memcpy2D, "past the array's height", &to_array);
    copy = good;
    copy.Height = 0;
    CALL_ROW(b->cu, Memcpy2D, "height 0", &copy);
    to_array.dstY = 0;
    to_array.dstXInBytes = 2;
    to_array.WidthInBytes = 62;
    CALL_ROW(b->cu, Memcpy2D, "to within a texel of an array", &to_array);
    copy = good;
    copy.srcPitch = 0;
    CALL_ROW(b->cu, Memcpy2D, "pitch 0, 4 rows", &copy);
    CALL_ROW(b->cu, Memcpy2D, "NULL", NULL);
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
    CALL_ROW(b->cu, Memcpy3D, "NULL", NULL);
    CUDA_MEMCPY3D copy = good;
    copy.srcLOD = 1;
    CALL_ROW(b->cu, Memcpy3D, "srcLOD 1", &copy);
    copy = good;
    copy.Depth = 0;
    CALL_ROW(b->cu, Memcpy3D, "depth 0", &copy);
    copy = good;
    copy.Depth = 2;
    copy.srcHeight = 2;
    CALL_ROW(b->cu, Memcpy3D, "a height less than the rows", &copy);
}

BAD_CASE(copies, .mark = TEST_BOTH)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4};
    CUarray array = raw_cuda_array(b->cu, &desc);
    linear_copies(b);
    copies_2d(b, array);
    copies_3d(b);
    CALL_ROW(b, MemsetD16, "an odd address", b->memory + 1, 0, 4);
    CALL_ROW(b, MemsetD32, "an address that is no multiple of 4", b->memory + 2, 0, 4);
    CALL_ROW(b, MemsetD32, "0 elements", b->memory, 0, 0);
    CALL_ROW(b, MemsetD8, "past the end", b->memory, 0, 4 * MEBIBYTE);
    CALL_ROW(b, MemsetD8, "address 0", 0, 0, 4);
    CALL_ROW(b, MemsetD8, "pinned memory", (CUdeviceptr)(uintptr_t)b->pinned, 0, 4);
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
    CALL_ROW(cu, PointerGetAttribute, "NULL", NULL, type, b->memory);
    CALL_ROW(cu, PointerGetAttribute, "attribute 999", &value, (CUpointer_attribute)999, b->memory);
    CALL_ROW(cu, PointerGetAttribute, "pageable memory", &value, type, host);
    CALL_ROW(cu, PointerGetAttribute, "HOST_POINTER of device memory", &value,
             CU_POINTER_ATTRIBUTE_HOST_POINTER, b->memory);
    CALL_ROW(cu, PointerGetAttribute, "P2P_TOKENS", &value, CU_POINTER_ATTRIBUTE_P2P_TOKENS,
             b->memory);
    CALL_ROW(b, PointerGetAttributes, "none", 0, NULL, NULL, b->memory);
    value.word = 9;
    void *out = &value.word;
    CUresult result = b->PointerGetAttributes(1, &type, &out, host);
    bad_row_with("cuPointerGetAttributes: pageable memory", result, "%u", value.word);
    value.word = 1;
    CALL_ROW(cu, PointerSetAttribute, "MEMORY_TYPE", &value, type, b->memory);
    CALL_ROW(cu, PointerSetAttribute, "NULL", NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b->memory);
    const CUmemRangeHandleType dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    CALL_ROW(cu, MemGetHandleForAddressRange, "NULL", NULL, b->memory, 4096, dma_buf, 0);
    CALL_ROW(cu, MemGetHandleForAddressRange, "type 9", &fd, b->memory, 4096,
             (CUmemRangeHandleType)9, 0);
    CALL_ROW(cu, MemGetHandleForAddressRange, "100 bytes", &fd, b->memory, 100, dma_buf, 0);
}
