/* SPDX-License-Identifier: MIT */
/* The null API's own side: memory and timelines, as a driver would have them. */
#include "null.h"

#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static CUmemAllocationProp properties(const null_native *native)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, native->ordinal}};
}

void null_native_open(null_native *native)
{
    const raw_cuda *cu = native->cu;
    CUmemAllocationProp p = properties(native);
    CU_OK(cu->DeviceGetUuid(&native->uuid, native->ordinal));
    CU_OK(cu->DevicePrimaryCtxRetain(&native->context, native->ordinal));
    CU_OK(cu->MemGetAllocationGranularity(&native->granularity, &p,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

void null_native_close(null_native *native)
{
    const raw_cuda *cu = native->cu;
    CU_OK(cu->DevicePrimaryCtxRelease(native->ordinal));
}

/* Any thread may call the null API. */
static void enter(const null_native *native)
{
    const raw_cuda *cu = native->cu;
    CU_OK(cu->CtxPushCurrent(native->context));
}

static void leave(const null_native *native)
{
    const raw_cuda *cu = native->cu;
    CUcontext mine;
    CU_OK(cu->CtxPopCurrent(&mine));
}

CUresult null_memory_create(const null_native *native, uint64_t size, null_memory *out,
                            const char **call)
{
    const raw_cuda *cu = native->cu;
    CUmemAllocationProp p = properties(native);
    CUmemAccessDesc access = {.location = p.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    null_memory made = {.size = (size / native->granularity + (size % native->granularity != 0)) *
                                native->granularity};
    *call = "cuMemCreate";
    CUresult r = cu->MemCreate(&made.handle, made.size, &p, 0);
    if (r != CUDA_SUCCESS) return r;
    *call = "cuMemAddressReserve";
    r = cu->MemAddressReserve(&made.address, made.size, 0, 0, 0);
    if (r != CUDA_SUCCESS) goto release;
    *call = "cuMemMap";
    r = cu->MemMap(made.address, made.size, 0, made.handle, 0);
    if (r != CUDA_SUCCESS) goto free_address;
    *call = "cuMemSetAccess";
    r = cu->MemSetAccess(made.address, made.size, &access, 1);
    if (r == CUDA_SUCCESS) {
        *out = made;
        return r;
    }
    CU_OK(cu->MemUnmap(made.address, made.size));
free_address:
    CU_OK(cu->MemAddressFree(made.address, made.size));
release:
    CU_OK(cu->MemRelease(made.handle));
    return r;
}

/* A release that a test makes fail is tried again. */
#define RELEASE(call)                                                                              \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS) CU_OK(call);                                                   \
    } while (0)

void null_memory_destroy(const null_native *native, null_memory *memory)
{
    const raw_cuda *cu = native->cu;
    if (memory->size == 0) return;
    RELEASE(cu->MemUnmap(memory->address, memory->size));
    RELEASE(cu->MemAddressFree(memory->address, memory->size));
    RELEASE(cu->MemRelease(memory->handle));
    *memory = (null_memory){.size = 0};
}

void null_memory_write(const null_native *native, const null_memory *memory, const void *data,
                       size_t size)
{
    enter(native);
    CU_OK(raw_cuda_upload(native->cu, memory->address, data, size));
    leave(native);
}

void null_memory_read(const null_native *native, const null_memory *memory, void *data, size_t size)
{
    const raw_cuda *cu = native->cu;
    enter(native);
    CU_OK(cu->MemcpyDtoH(data, memory->address, size));
    leave(native);
}

/* Timelines ------------------------------------------------------------------------------------ */

struct null_timeline {
    culv_soft_timeline *page;
    int fd;
};

int null_timeline_create(const null_native *native, uint64_t value, null_timeline **out)
{
    null_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL) return ENOMEM;
    timeline->fd = memfd_create("null timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (timeline->fd < 0) goto free_timeline;
    if (ftruncate(timeline->fd, CULV_SOFT_TIMELINE_SIZE) != 0 ||
        fcntl(timeline->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        goto close_fd;
    void *page =
        mmap(NULL, CULV_SOFT_TIMELINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, timeline->fd, 0);
    if (page == MAP_FAILED) goto close_fd;
    timeline->page = page;
    memcpy(timeline->page->magic, CULV_SOFT_TIMELINE_MAGIC, sizeof timeline->page->magic);
    memcpy(timeline->page->device_uuid, native->uuid.bytes, sizeof timeline->page->device_uuid);
    atomic_store(&timeline->page->value, value);
    *out = timeline;
    return 0;

close_fd:
    close(timeline->fd);
free_timeline:
    free(timeline);
    return errno != 0 ? errno : ENOMEM;
}

void null_timeline_destroy(null_timeline *timeline)
{
    munmap(timeline->page, CULV_SOFT_TIMELINE_SIZE);
    close(timeline->fd);
    free(timeline);
}

int null_timeline_fd(const null_timeline *timeline)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", timeline->fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

int null_timeline_value(const null_timeline *timeline, uint64_t *out)
{
    *out = atomic_load(&timeline->page->value);
    CULV_SOFT_PAGE_ACQUIRE();
    return 0;
}

int null_timeline_signal(null_timeline *timeline, uint64_t value)
{
    culv_soft_timeline *page = timeline->page;
    if (atomic_load(&page->value) >= value) return EINVAL;
    CULV_SOFT_PAGE_RELEASE();
    atomic_store(&page->value, value);
    atomic_fetch_add(&page->seq, 1);
    (void)syscall(SYS_futex, (void *)&page->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return 0;
}

int null_timeline_wait(null_timeline *timeline, uint64_t value, uint64_t timeout_ns)
{
    culv_soft_timeline *page = timeline->page;
    const struct timespec slice = {.tv_nsec = 10000000};
    for (uint64_t waited = 0;; waited += 10000000) {
        uint32_t seq = atomic_load(&page->seq);
        uint64_t now = 0;
        (void)null_timeline_value(timeline, &now);
        if (now >= value) return 0;
        if (waited >= timeout_ns) return ETIMEDOUT;
        (void)syscall(SYS_futex, (void *)&page->seq, FUTEX_WAIT, seq, &slice, NULL, 0);
    }
}
