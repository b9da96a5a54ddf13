/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what virtual memory management asks of the operating system, POSIX
 * half. */
#include "vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reservations go where nothing else lies on the usual systems, one behind the other and never
 * again at an address that was used, so that there is room to extend one in place and a stale
 * address faults. Where that is refused (by a sanitizer, for one) they go anywhere. */
#define ARENA_START ((uintptr_t)0x200000000000)
#define ARENA_END   ((uintptr_t)0x500000000000)
#define ARENA_GAP   ((uintptr_t)1 << 30)

static void *nothing(uintptr_t hint, size_t size, int fixed)
{
    void *at = mmap((void *)hint, size, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *exactly_at(uintptr_t hint, size_t size)
{
    void *at = nothing(hint, size, 0);
    if (at == NULL || (uintptr_t)at == hint) return at;
    munmap(at, size);
    return NULL;
}

void *soft_reserve_at(uintptr_t start, size_t size)
{
    return start <= UINTPTR_MAX - size ? exactly_at(start, size) : NULL;
}

void *soft_reserve(size_t size, size_t alignment, uintptr_t hint)
{
    static uintptr_t next = ARENA_START;
    void *at;
    if (size > ARENA_END - ARENA_START || alignment > ARENA_END - ARENA_START) return NULL;
    if (hint != 0 && hint % alignment == 0 && hint <= UINTPTR_MAX - size) {
        at = exactly_at(hint, size);
        if (at != NULL) return at;
    }
    uintptr_t place = (next + alignment - 1) / alignment * alignment;
    if (place > ARENA_END - size) place = (ARENA_START + alignment - 1) / alignment * alignment;
    next = place + size + (size > ARENA_GAP ? size : ARENA_GAP);
    if (next > ARENA_END) next = ARENA_START;
    at = exactly_at(place, size);
    if (at != NULL) return at;
    const size_t room = size + alignment;
    uint8_t *base = nothing(0, room, 0);
    if (base == NULL) return NULL;
    const size_t before = (alignment - (uintptr_t)base % alignment) % alignment;
    if (before > 0) munmap(base, before);
    munmap(base + before + size, room - before - size);
    return base + before;
}

void *soft_reserve_anywhere(size_t size)
{
    return nothing(0, size, 0);
}

bool soft_blank(void *at, size_t size)
{
    return nothing((uintptr_t)at, size, MAP_FIXED) != NULL;
}

void *soft_pages_make(size_t size)
{
    void *pages = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void soft_pages_free(void *pages, size_t size)
{
    soft_unmap(pages, size);
}

bool soft_pages_place(void *at, size_t size, void *pages, int fd, uint64_t offset)
{
    /* With an old size of 0 the same shared pages appear once more (mremap(2)). */
    void *placed =
        fd < 0 ? mremap((uint8_t *)pages + offset, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at)
               : mmap(at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    if (placed != MAP_FAILED) return true;
    soft_blank(at, size); /* what was there may be gone */
    return false;
}

static int protection_of(CUmemAccess_flags access)
{
    return access == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? PROT_NONE
           : access == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ
                                                     : PROT_READ | PROT_WRITE;
}

bool soft_protect(void *at, size_t size, CUmemAccess_flags access)
{
    return mprotect(at, size, protection_of(access)) == 0;
}

bool soft_pages_show(void *at, size_t size, int fd, uint64_t offset, CUmemAccess_flags access)
{
    return mmap(at, size, protection_of(access), MAP_SHARED | MAP_FIXED, fd, (off_t)offset) !=
           MAP_FAILED;
}

int soft_duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int soft_reopen(int fd)
{
    char path[64];
    /* Mesa seeks and reads: duplicates would share the offset, and imports would disturb each
     * other. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    /* Without O_CLOEXEC: nothing promises it of what a driver exports. */
    int again = open(path, O_RDWR);
    return again >= 0 || errno == EMFILE || errno == ENFILE ? again : dup(fd);
}

bool soft_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
    ssize_t put;
    do {
        put = pwrite(fd, data, size, (off_t)offset);
    } while (put < 0 && errno == EINTR);
    return put >= 0 && (size_t)put == size;
}

void soft_punch(int fd, uint64_t offset, uint64_t size)
{
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

uint64_t soft_random(void)
{
    uint64_t value;
    if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value)) value = soft_now_ns();
    return value;
}

/* Handles -------------------------------------------------------------------------------------- */

size_t soft_share_alignment(void)
{
    return soft_page_size();
}

CUresult soft_share_check(const CUmemAllocationProp *prop)
{
    const unsigned wanted = (unsigned)prop->requestedHandleTypes;
    const unsigned fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (wanted & ~(fd | SOFT_HANDLE_TYPE_FABRIC)) return CUDA_ERROR_INVALID_VALUE; /* Windows' */
    if ((wanted & fd) &&
        !soft_attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                        prop->location.id))
        return CUDA_ERROR_NOT_SUPPORTED;
    return wanted & SOFT_HANDLE_TYPE_FABRIC ? soft_fabric_refusal() : CUDA_SUCCESS;
}

int soft_share_make(const CUmemAllocationProp *prop, size_t size)
{
    (void)prop;
    return soft_make_file("culvert vmm", size);
}

CUresult soft_share_export(struct soft_physical *physical, unsigned type, void *out)
{
    (void)type;
    const int fd = soft_reopen(physical->fd);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(out, &fd, sizeof(fd));
    return CUDA_SUCCESS;
}

CUresult soft_share_import(void *handle, unsigned type, int *out, struct soft_shared_memory *memory)
{
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    /* The number itself, not a pointer to it. */
    const uintptr_t number = (uintptr_t)handle;
    if (number > INT_MAX || (!soft_shared_memory_read((int)number, memory) &&
                             !soft_vulkan_file_read((int)number, memory)))
        return CUDA_ERROR_UNKNOWN; /* an H200's */
    if (memory->device == SOFT_NOT_HERE) return CUDA_ERROR_NOT_SUPPORTED;
    *out = soft_duplicate((int)number); /* the fd stays the caller's */
    return *out >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void soft_share_forget(struct soft_physical *physical)
{
    (void)physical;
}

/* Fabric handles, where culvSoftPlayFabric says that there is an IMEX
 * channel. The bytes say which file of which process holds the memory. */

#define MAGIC "culvfab"
struct bytes { /* CUmemFabricHandle */
    char magic[8];
    uint64_t device, inode; /* of the file */
    int32_t process, fd;
    uint8_t rest[32];
};
_Static_assert(sizeof(struct bytes) == 64, "as cuda.h has it");

static bool channel;

void culvSoftPlayFabric(int has_channel)
{
    pthread_mutex_lock(&soft.lock);
    channel = has_channel != 0;
    pthread_mutex_unlock(&soft.lock);
}

bool soft_fabric_channel(void)
{
    return channel;
}

bool soft_fabric_write(int file, void *out)
{
    struct bytes b = {.magic = MAGIC, .process = (int32_t)getpid(), .fd = file};
    struct stat st;
    if (fstat(file, &st) != 0) return false;
    b.device = (uint64_t)st.st_dev;
    b.inode = (uint64_t)st.st_ino;
    memcpy(out, &b, sizeof(b));
    return true;
}

int soft_fabric_open(const void *handle)
{
    struct bytes b;
    struct stat st;
    char path[64];
    memcpy(&b, handle, sizeof(b));
    if (memcmp(b.magic, MAGIC, sizeof(b.magic)) != 0) return -1;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)b.process, (int)b.fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_dev == b.device &&
        (uint64_t)st.st_ino == b.inode)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* GPUDirect RDMA, played. No card and no kernel driver is behind it. */

#define PCIE 1u /* CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE, from cuda.h 12.8 on */

/* All of it under the driver's lock. */
static culv_soft_rdma_counts counts;
static CUresult pcie_answer = CUDA_ERROR_NOT_SUPPORTED;

static bool supported(CUdevice device)
{
    return soft_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, device) != 0;
}

void soft_count_sync_memops(bool of_context)
{
    *(of_context ? &counts.context_sync_memops : &counts.sync_memops) += 1;
}

/* Text 000, "Tokens Usage": alike within a context, and random, for they let their bearer in. */
CUresult soft_p2p_tokens(struct soft_range *range, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *out)
{
    static unsigned long long secret;
    if (range == NULL || range->kind != SOFT_RANGE_DEVICE || range->managed ||
        !supported(range->device))
        return CUDA_ERROR_INVALID_VALUE;
    while (secret == 0)
        if (getrandom(&secret, sizeof secret, 0) < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memset(out, 0, sizeof *out);
    out->p2pToken = secret ^ range->context->id;
    out->vaSpaceToken = (unsigned)range->context->id;
    range->sync_memops = true;
    counts.tokens++;
    return CUDA_SUCCESS;
}

/* A dma-buf is the kernel's object, and the twin has none to offer: a file stands for it. */
typedef struct record {
    char magic[16];
    culv_soft_dma_buf range;
} record;
static const char magic[16] = "culvert dma-buf";

static CUresult make_file(const culv_soft_dma_buf *range, int *out)
{
    record r = {.range = *range};
    memcpy(r.magic, magic, sizeof r.magic);
    int fd = memfd_create("culvert dma-buf", 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    if (pwrite(fd, &r, sizeof r, 0) != (ssize_t)sizeof r) {
        close(fd);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *out = fd;
    return CUDA_SUCCESS;
}

/* The range that has all pages of [start, start + size). An allocation has its pages to itself. */
static const struct soft_range *holding_pages(uintptr_t start, size_t size)
{
    const uintptr_t page = soft_page_size();
    const struct soft_range *first = soft_range_first(start, size);
    if (first == NULL || first->kind == SOFT_RANGE_VIRTUAL) return soft_range_holding(start, size);
    const uintptr_t begin = first->start / page * page;
    const uintptr_t end = (first->start + first->size + page - 1) / page * page;
    return start >= begin && start <= end && size <= end - start ? first : NULL;
}

/* What is wrong with the arguments is told first. */
CUresult CUDAAPI cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
                                               CUmemRangeHandleType handleType,
                                               unsigned long long flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const uintptr_t start = (uintptr_t)dptr;
    int fd = -1;
    if (handle == NULL || handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
        (flags & ~(unsigned long long)PCIE) || size == 0 || dptr % soft_page_size() != 0 ||
        size % soft_page_size() != 0 || size > UINTPTR_MAX - start)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_range *range = holding_pages(start, size);
    /* An import is refused so on NVIDIA's driver (measured). */
    if (range == NULL || range->kind == SOFT_RANGE_MAPPED || range->managed)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, context->device) ||
        (range->kind != SOFT_RANGE_DEVICE && range->kind != SOFT_RANGE_VIRTUAL))
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (flags != 0 && pcie_answer != CUDA_SUCCESS) return soft_end(pcie_answer);
    SOFT_STEP(make_file(
        &(culv_soft_dma_buf){
            .address = start, .size = size, .flags = flags, .buffer_id = range->buffer_id},
        &fd));
    memcpy(handle, &fd, sizeof fd);
    counts.dma_bufs++;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                            CUflushGPUDirectRDMAWritesScope scope)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
         scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!supported(context->device)) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    counts.flushes++;
    return soft_end(CUDA_SUCCESS);
}

/* Controls ------------------------------------------------------------------------------------- */

int culvSoftDmaBufRange(int fd, culv_soft_dma_buf *out)
{
    record r;
    if (pread(fd, &r, sizeof r, 0) != (ssize_t)sizeof r ||
        memcmp(r.magic, magic, sizeof magic) != 0)
        return EINVAL;
    *out = r.range;
    return 0;
}

void culvSoftPlayDmaBufPcie(int answer)
{
    pthread_mutex_lock(&soft.lock);
    pcie_answer = (CUresult)answer;
    pthread_mutex_unlock(&soft.lock);
}

int culvSoftPlayManaged(uint64_t address)
{
    pthread_mutex_lock(&soft.lock);
    struct soft_range *range = soft_range_find((uintptr_t)address);
    if (range != NULL) range->managed = true;
    pthread_mutex_unlock(&soft.lock);
    return range != NULL ? 0 : EINVAL;
}

void culvSoftRdmaCounts(culv_soft_rdma_counts *out)
{
    pthread_mutex_lock(&soft.lock);
    *out = counts;
    pthread_mutex_unlock(&soft.lock);
}
