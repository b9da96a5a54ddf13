/* SPDX-License-Identifier: MIT */
/* Copies, pointers, and memory imported from files that look like lavapipe's. */
#define TEST_GROUP "memory."
#include "twin.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 20000 };

TWIN_CASE(imported, CU_STREAM_NON_BLOCKING)
{
    PROC(t->cu, PointerGetAttribute, 4000);
    unsigned char *payload, back[SIZE];
    CUexternalMemory memory;
    CUdeviceptr whole, part;
    unsigned long long id = 0;
    int fd = twin_memory_fd(SIZE, &payload);
    CU_OK(raw_cuda_import_memory(t->cu, fd, SIZE, false, &memory));
    REQUIRE_EQ(twin_counts(t->cu).fds, 1);
    REQUIRE(!twin_fd_open(fd));
    CU_OK(raw_cuda_map_buffer(t->cu, memory, 0, SIZE, &whole));
    CU_OK(raw_cuda_map_buffer(t->cu, memory, 5000, 100, &part));
    unsigned long long other = 0;
    CU_OK(PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, whole));
    CU_OK(PointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, part));
    REQUIRE(id != 0 && other != 0 && id != other);
    for (int i = 0; i < SIZE; i++)
        payload[i] = (unsigned char)i;
    CU_OK(t->cu->MemcpyDtoH(back, whole, SIZE));
    REQUIRE_EQ_BYTES(back, payload, SIZE);
    CU_OK(t->cu->MemcpyDtoH(back, part, 100));
    REQUIRE_EQ_BYTES(back, payload + 5000, 100);
    CU_IS(raw_cuda_map_buffer(t->cu, memory, 1, SIZE, &part), CUDA_ERROR_INVALID_VALUE);
    CU_IS(raw_cuda_map_buffer(t->cu, memory, UINT64_MAX, 2, &part), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(twin_counts(t->cu).external_mappings, 2);
    /* Mappings outlive the import. */
    CU_OK(t->cu->DestroyExternalMemory(memory));
    CU_IS(t->cu->DestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t->cu->MemsetD32Async(whole, 0x01010101, SIZE / 4, t->stream));
    CU_OK(t->cu->MemFree(whole));
    REQUIRE_EQ(payload[0], 1);
    CU_OK(t->cu->MemFree(part));
}

/* Another process cuts the file of an import off: the copy fails as one of memory that is not
 * there, and the process lives. No kernel was loaded before. */
TEST(cut_off, .faults = true)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    unsigned char *payload;
    uint32_t word = 0;
    CUexternalMemory memory;
    CUdeviceptr pointer;
    const int fd = twin_memory_fd(SIZE, &payload), theirs = dup(fd);
    CU_OK(raw_cuda_import_memory(t.cu, fd, SIZE, false, &memory));
    CU_OK(raw_cuda_map_buffer(t.cu, memory, 0, SIZE, &pointer));
    REQUIRE_EQ(ftruncate(theirs, 4096), 0);
    CU_IS(t.cu->MemcpyDtoH(&word, pointer + SIZE - 4, sizeof word), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(t.cu->MemsetD32Async(pointer, 1, 1, t.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    close(theirs);
}

/* The page of a timeline that could be cut off is none. */
TWIN_CASE(cut_off_timeline, CU_STREAM_NON_BLOCKING)
{
    culv_soft_timeline *page;
    CUexternalSemaphore semaphore;
    unsigned char bytes[CULV_SOFT_TIMELINE_SIZE];
    const int sealed = twin_timeline_fd(t->cu, &page),
              plain = memfd_create("timeline", MFD_CLOEXEC);
    memcpy(bytes, page, sizeof bytes);
    REQUIRE(plain >= 0 && write(plain, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    CU_IS(raw_cuda_import_timeline(t->cu, plain, &semaphore), CUDA_ERROR_UNKNOWN);
    CU_OK(raw_cuda_import_timeline(t->cu, sealed, &semaphore));
    CU_OK(t->cu->DestroyExternalSemaphore(semaphore));
}
