/* Contract rows: what virtual memory management refuses. Of the twin the code is required; of NVIDIA's driver that it
 * refuses, where the library counts on that, and the code is reported. SPDX-License-Identifier: MIT */
#include "vmm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POSIX_FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static void report(const pair *p, const char *what, CUresult result, CUresult twin)
{
    MEASURED("vmm_answer", "%s: %s", what, raw_cuda_result_name(result));
    if (p->cu->software) CU_IS(result, twin);
}

static void refused(const pair *p, const char *what, CUresult result, CUresult twin)
{
    report(p, what, result, twin);
    if (result == CUDA_SUCCESS) FAIL("%s is not refused", what);
}

static void creating(void)
{
    pair p;
    CUmemGenericAllocationHandle handle = 77;
    vmm_pair_open(&p);
    const CUmemAllocationProp good = vmm_prop(&p, 0);
    refused(&p, "cuMemCreate of half a granule", p.cu->MemCreate(&handle, VMM_SIZE / 2, &good, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemCreate of no bytes", p.cu->MemCreate(&handle, 0, &good, 0), CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemCreate with a flag", p.cu->MemCreate(&handle, VMM_SIZE, &good, 1),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemCreate of 1 EiB", p.cu->MemCreate(&handle, (size_t)1 << 60, &good, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
    CUmemAllocationProp prop = good;
    prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    refused(&p, "cuMemCreate of no type", p.cu->MemCreate(&handle, VMM_SIZE, &prop, 0),
            CUDA_ERROR_INVALID_VALUE);
    prop = good;
    prop.location.id = 4711;
    refused(&p, "cuMemCreate on device 4711", p.cu->MemCreate(&handle, VMM_SIZE, &prop, 0),
            CUDA_ERROR_INVALID_DEVICE);
    prop = good;
    prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    refused(&p, "cuMemCreate nowhere", p.cu->MemCreate(&handle, VMM_SIZE, &prop, 0),
            CUDA_ERROR_INVALID_VALUE);
    prop = good;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    refused(&p, "cuMemCreate for Win32 handles", p.cu->MemCreate(&handle, VMM_SIZE, &prop, 0),
            CUDA_ERROR_INVALID_VALUE);
    prop = good;
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    refused(&p, "cuMemCreate on the current NUMA node", p.cu->MemCreate(&handle, VMM_SIZE, &prop, 0),
            CUDA_ERROR_INVALID_VALUE);
    prop = vmm_prop(&p, POSIX_FD);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
    refused(&p, "cuMemCreate on the host for an fd", p.cu->MemCreate(&handle, VMM_SIZE, &prop, 0),
            CUDA_ERROR_INVALID_VALUE); /* R27 */
    REQUIRE_EQ(handle, 77);
    pair_close(&p);
}

static void reserving(void)
{
    pair p;
    CUdeviceptr pointer = 0;
    vmm_pair_open(&p);
    refused(&p, "cuMemAddressReserve of 100 bytes", p.cu->MemAddressReserve(&pointer, 100, 0, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemAddressReserve of no bytes", p.cu->MemAddressReserve(&pointer, 0, 0, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemAddressReserve aligned to 3", p.cu->MemAddressReserve(&pointer, VMM_SIZE, 3, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemAddressReserve with a flag", p.cu->MemAddressReserve(&pointer, VMM_SIZE, 0, 0, 1),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemAddressReserve of 1 EiB", p.cu->MemAddressReserve(&pointer, (size_t)1 << 60, 0, 0, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = p.cu->MemAddressReserve(&pointer, 4096, 0, 0, 0);
    report(&p, "cuMemAddressReserve of 4096 bytes", result, CUDA_SUCCESS);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemAddressFree(pointer, 4096));
    pointer = vmm_reserve(&p, 4 * VMM_SIZE);
    refused(&p, "cuMemAddressFree of half", p.cu->MemAddressFree(pointer, 2 * VMM_SIZE),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemAddressFree from the middle",
            p.cu->MemAddressFree(pointer + 2 * VMM_SIZE, 2 * VMM_SIZE), CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle handle = vmm_create(&p, VMM_SIZE, 0);
    vmm_map(&p, pointer + VMM_SIZE, VMM_SIZE, handle);
    refused(&p, "cuMemAddressFree of a range still mapped", p.cu->MemAddressFree(pointer, 4 * VMM_SIZE),
            CUDA_ERROR_INVALID_VALUE);
    CU_OK(p.cu->MemUnmap(pointer + VMM_SIZE, VMM_SIZE)); /* as good as before */
    CU_OK(p.cu->MemRelease(handle));
    CU_OK(p.cu->MemAddressFree(pointer, 4 * VMM_SIZE));
    pair_close(&p);
}

static void mapping(void)
{
    pair p;
    CUdeviceptr next = 0;
    vmm_pair_open(&p);
    const CUdeviceptr base = vmm_reserve(&p, 4 * VMM_SIZE);
    CUmemGenericAllocationHandle two = vmm_create(&p, 2 * VMM_SIZE, 0), one = vmm_create(&p, VMM_SIZE, 0);
    refused(&p, "cuMemMap at an odd address", p.cu->MemMap(base + 4096, 2 * VMM_SIZE, 0, two, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemMap with a flag", p.cu->MemMap(base, 2 * VMM_SIZE, 0, two, 1),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemMap of twice the allocation", p.cu->MemMap(base, 4 * VMM_SIZE, 0, two, 0),
            CUDA_ERROR_INVALID_VALUE);
    CUresult result = p.cu->MemMap(base, VMM_SIZE, 0, two, 0); /* 002: "the sizes need to match" */
    report(&p, "cuMemMap of half the allocation", result, CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemUnmap(base, VMM_SIZE));
    result = p.cu->MemMap(base, VMM_SIZE, VMM_SIZE, two, 0); /* cuda.h: "currently must be zero" */
    report(&p, "cuMemMap from the middle of the allocation", result, CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemUnmap(base, VMM_SIZE));
    refused(&p, "cuMemMap past the reservation", p.cu->MemMap(base + 3 * VMM_SIZE, 2 * VMM_SIZE, 0, two, 0),
            CUDA_ERROR_INVALID_VALUE);
    CU_OK(p.cu->MemMap(base, 2 * VMM_SIZE, 0, two, 0));
    refused(&p, "cuMemMap of the same range again", p.cu->MemMap(base, 2 * VMM_SIZE, 0, two, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemMap over the end of a mapping", p.cu->MemMap(base + VMM_SIZE, VMM_SIZE, 0, one, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemUnmap of half a mapping", p.cu->MemUnmap(base, VMM_SIZE), CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemUnmap of more than is mapped", p.cu->MemUnmap(base, 3 * VMM_SIZE),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemUnmap of what is not mapped", p.cu->MemUnmap(base + 2 * VMM_SIZE, VMM_SIZE),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemFree of a mapping", p.cu->MemFree(base), CUDA_ERROR_INVALID_VALUE);
    CU_OK(vmm_allow(&p, base, 2 * VMM_SIZE)); /* and the mapping is what it was */
    CU_OK(p.cu->MemUnmap(base, 2 * VMM_SIZE));
    refused(&p, "cuMemUnmap again", p.cu->MemUnmap(base, 2 * VMM_SIZE), CUDA_ERROR_INVALID_VALUE);
    /* A reservation that was extended by another behind it is two. */
    CU_OK(p.cu->MemAddressReserve(&next, 4 * VMM_SIZE, 0, base + 4 * VMM_SIZE, 0));
    if (next == base + 4 * VMM_SIZE) {
        result = p.cu->MemMap(next - VMM_SIZE, 2 * VMM_SIZE, 0, two, 0);
        report(&p, "cuMemMap across two reservations", result, CUDA_ERROR_INVALID_VALUE);
        if (result == CUDA_SUCCESS) CU_OK(p.cu->MemUnmap(next - VMM_SIZE, 2 * VMM_SIZE));
        CU_OK(p.cu->MemMap(next - VMM_SIZE, VMM_SIZE, 0, one, 0));
        CU_OK(p.cu->MemMap(next, 2 * VMM_SIZE, 0, two, 0));
        result = vmm_allow(&p, next - VMM_SIZE, 3 * VMM_SIZE);
        report(&p, "cuMemSetAccess across two reservations", result, CUDA_ERROR_INVALID_VALUE);
        CU_OK(vmm_allow(&p, next - VMM_SIZE, VMM_SIZE));
        CU_OK(vmm_allow(&p, next, 2 * VMM_SIZE));
        uint32_t *words = pattern_words(3 * VMM_SIZE, 6);
        CU_OK(p.cu->MemcpyHtoD(next - VMM_SIZE, words, 3 * VMM_SIZE)); /* to copies it is one range */
        CU_OK(p.cu->CtxSynchronize());
        vmm_require_words(&p, next - VMM_SIZE, 3 * VMM_SIZE, 6, 0);
        free(words);
        result = p.cu->MemUnmap(next - VMM_SIZE, 3 * VMM_SIZE);
        report(&p, "cuMemUnmap across two reservations", result, CUDA_ERROR_INVALID_VALUE);
        if (result != CUDA_SUCCESS) {
            CU_OK(p.cu->MemUnmap(next - VMM_SIZE, VMM_SIZE));
            CU_OK(p.cu->MemUnmap(next, 2 * VMM_SIZE));
        }
    }
    CU_OK(p.cu->MemRelease(one));
    CU_OK(p.cu->MemRelease(two));
    CU_OK(p.cu->MemAddressFree(next, 4 * VMM_SIZE));
    CU_OK(p.cu->MemAddressFree(base, 4 * VMM_SIZE));
    pair_close(&p);
}

static void retaining(void)
{
    pair p;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr plain = 0;
    vmm_pair_open(&p);
    const CUdeviceptr base = vmm_reserve(&p, VMM_SIZE);
    refused(&p, "cuMemRetainAllocationHandle where nothing is mapped",
            p.cu->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)base), CUDA_ERROR_INVALID_VALUE);
    CU_OK(p.cu->MemAlloc(&plain, VMM_SIZE));
    CUresult result = p.cu->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)plain);
    report(&p, "cuMemRetainAllocationHandle of cuMemAlloc's memory", result, CUDA_ERROR_INVALID_VALUE);
    if (result == CUDA_SUCCESS) CU_OK(p.cu->MemRelease(handle));
    CU_OK(p.cu->MemFree(plain));
    CU_OK(p.cu->MemAddressFree(base, VMM_SIZE));
    pair_close(&p);
}

static void exporting(void)
{
    pair p;
    int fd = -1;
    vmm_pair_open(&p);
    CUmemGenericAllocationHandle closed = vmm_create(&p, VMM_SIZE, 0),
                                 open_one = vmm_create(&p, VMM_SIZE, POSIX_FD);
    refused(&p, "cuMemExportToShareableHandle, not asked for at cuMemCreate",
            p.cu->MemExportToShareableHandle(&fd, closed, POSIX_FD, 0), CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemExportToShareableHandle as a Win32 handle",
            p.cu->MemExportToShareableHandle(&fd, open_one, CU_MEM_HANDLE_TYPE_WIN32, 0),
            CUDA_ERROR_INVALID_VALUE);
    refused(&p, "cuMemExportToShareableHandle with a flag",
            p.cu->MemExportToShareableHandle(&fd, open_one, POSIX_FD, 1), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(fd, -1);
    CU_OK(p.cu->MemRelease(closed));
    CU_OK(p.cu->MemRelease(open_one));
    pair_close(&p);
}

static void importing(void)
{
    pair p;
    CUmemGenericAllocationHandle handle = 0;
    int ends[2];
    vmm_pair_open(&p);
    REQUIRE(pipe(ends) == 0);
    const struct {
        const char *what;
        int fd;
    } rows[] = {{"cuMemImportFromShareableHandle of /dev/null", open("/dev/null", O_RDWR | O_CLOEXEC)},
                {"cuMemImportFromShareableHandle of a pipe", ends[0]},
                {"cuMemImportFromShareableHandle of a memfd", memfd_create("plain", MFD_CLOEXEC)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int keep = dup(rows[i].fd);
        refused(&p, rows[i].what, vmm_import(&p, rows[i].fd, &handle), CUDA_ERROR_INVALID_VALUE);
        MEASURED("vmm_answer", "%s, and the fd is %s", rows[i].what,
                 same_file(rows[i].fd, keep) ? "open" : "closed");
        if (p.cu->software) REQUIRE(same_file(rows[i].fd, keep));
        close(keep);
        close(rows[i].fd);
    }
    close(ends[1]);
    pair_close(&p);
}

/* Undefined on NVIDIA's driver, by cuda.h. */
static void stale_handles(void)
{
    pair p;
    CUmemAllocationProp prop;
    int fd = -1;
    vmm_pair_open(&p);
    if (!p.cu->software) SKIP("undefined there");
    CUmemGenericAllocationHandle handle = vmm_create(&p, VMM_SIZE, POSIX_FD);
    const CUdeviceptr base = vmm_reserve(&p, VMM_SIZE);
    CU_OK(p.cu->MemRelease(handle));
    CU_IS(p.cu->MemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    CU_IS(p.cu->MemMap(base, VMM_SIZE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(p.cu->MemExportToShareableHandle(&fd, handle, POSIX_FD, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(p.cu->MemGetAllocationPropertiesFromHandle(&prop, handle), CUDA_ERROR_INVALID_VALUE);
    CU_OK(p.cu->MemAddressFree(base, VMM_SIZE));
    pair_close(&p);
}

const test_case vmm_error_cases[] = {{.name = "vmm_errors.creating", .run = creating, .mark = TEST_BOTH},
                                     {.name = "vmm_errors.reserving", .run = reserving, .mark = TEST_BOTH},
                                     {.name = "vmm_errors.mapping", .run = mapping, .mark = TEST_BOTH},
                                     {.name = "vmm_errors.retaining", .run = retaining, .mark = TEST_BOTH},
                                     {.name = "vmm_errors.exporting", .run = exporting, .mark = TEST_BOTH},
                                     {.name = "vmm_errors.importing", .run = importing, .mark = TEST_BOTH},
                                     {.name = "vmm_errors.stale_handles",
                                      .run = stale_handles,
                                      .mark = TEST_TWIN_STRICTER,
                                      .reason = "cuda.h leaves them undefined"},
                                     {.name = NULL}};
